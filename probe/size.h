/* size.h: sizes as people write them: 4096, 64KiB, 1 MB, 2G (K, M, G alone are 2^10, 2^20, 2^30).
 */
#ifndef GDPROBE_SIZE_H
#define GDPROBE_SIZE_H

#include <stdbool.h>
#include <stddef.h>

/* A size in bytes up to a comma or the end; NULL when it is none, else what follows it. */
const char *size_parse(const char *text, double *ret_bytes);
/* A whole list with commas; false when an entry is no size or there are more than `most`. */
bool size_list(const char *text, double *sizes, size_t most, size_t *ret_count);
/* "64 KiB", "1.5 GiB", "12 B". */
const char *size_text(double bytes, char *buffer, size_t size);

#endif
