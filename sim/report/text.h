/* text.h: a growing string, the target of every writer in sim/report.
 *
 * Start with `struct text text = {0};`. The first failed allocation sets `failed` and makes every
 * later call a no-op, so a writer checks once, at its end. After any successful call `data` is
 * NUL-terminated (the NUL is not counted in `length`). Not for sharing between threads.
 */
#ifndef GDSIM_REPORT_TEXT_H
#define GDSIM_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

struct text {
    char *data; /* NULL until the first append */
    size_t length;
    size_t capacity;
    bool failed;
};

/* The arguments must not point into `text` itself: it may move. */
void text_append(struct text *text, const char *data, size_t length);
void text_printf(struct text *text, const char *format, ...) PRINTF_LIKE(2, 3);

/* Append `string` as valid UTF-8: each byte that is none becomes U+FFFD. */
void text_append_utf8(struct text *text, const char *string);

/* Append a number with so many decimals; with as many more as it takes to show two digits of a
 * small one, where it would look like zero. */
void text_printf_small(struct text *text, double value, int decimals);

/* Append `count` times the character `c`. */
void text_fill(struct text *text, char c, size_t count);

/* Make room for `extra` bytes (and a NUL) after `length`; false when that failed. */
bool text_reserve(struct text *text, size_t extra);

/* Cut back to `length` bytes; keeps `failed`. */
void text_truncate(struct text *text, size_t length);

/* Release the memory; the text is empty and usable again. */
void text_free(struct text *text);

#define TEXT_NOT_UTF8 UINT32_MAX

/* Decode the character at `string` (not at its final NUL): returns its length in bytes, or 1 with
 * *code = TEXT_NOT_UTF8 when the byte starts no valid character. */
size_t text_decode(const char *string, uint32_t *code);

/* How many columns of a terminal `string` takes. Independent of the locale, unlike wcwidth(). */
size_t text_width(const char *string);

#endif
