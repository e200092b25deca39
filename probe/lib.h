/* lib.h: a vendor's library, found at run time.
 *
 * gdprobe is built without any vendor's header: each lib_NAME.h declares the few functions that it
 * calls, as the vendor's ABI has them, in one table. A library that is not there, or that lacks a
 * function which the table needs, is no fault: what it would have told is unknown, with the reason.
 *
 * GDPROBE_LIB_DIR (set by --lib-dir) names a directory to take the libraries from, and from nowhere
 * else: tests put theirs there.
 */
#ifndef GDPROBE_LIB_H
#define GDPROBE_LIB_H

#include <stdbool.h>
#include <stddef.h>

#include "probe/sys.h"

struct lib_symbol {
    const char *name;
    size_t offset; /* of the function pointer in the library's struct */
    bool needed;
};

/* Open the first of `sonames` (ended by NULL) that is there, and fill in the function pointers of
 * `table`; those that it lacks are NULL. False with a reason, and nothing open, when no library is
 * there or a needed function is missing. */
bool lib_open(const char *const *sonames, const struct lib_symbol *symbols, size_t count,
              void *table, void **ret_handle, struct why *ret_why);

#endif
