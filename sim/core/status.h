/* status.h: how every fallible function of gdsim answers.
 *
 * A function that can fail returns enum status and takes a struct error as its last parameter
 * (may be NULL). The failing layer fills it; outputs are untouched on failure. Nothing below
 * sim/cli prints or exits. STATUS_INPUT means the user's text is wrong (exit code 2),
 * STATUS_FAILED that the run itself failed (exit code 1).
 */
#ifndef GDSIM_CORE_STATUS_H
#define GDSIM_CORE_STATUS_H

#include <stdint.h>

enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_INPUT = 2,
    STATUS_NOMEM = 3,
};

struct error {
    enum status status;
    char file[256];  /* "" when the fault has no place in a file */
    uint32_t line;   /* 1-based; 0 unknown */
    uint32_t column; /* 1-based, in characters; 0 unknown */
    char message[512];
    char hint[256];   /* what to do about it; "" if nothing useful can be said */
    char subject[64]; /* name of the thing at fault, for a caller who knows its place */
};

#if defined(__GNUC__)
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#else
#define PRINTF_LIKE(f, a)
#endif

/* Fill `error` (if not NULL) and return `status`, so that callers can write
 * `return error_set(error, STATUS_INPUT, "...")`. */
enum status error_set(struct error *error, enum status status, const char *format, ...)
    PRINTF_LIKE(3, 4);

/* Add a hint to an error that was just set; returns its status. */
enum status error_hint(struct error *error, const char *format, ...) PRINTF_LIKE(2, 3);

#endif
