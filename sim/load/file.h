/* file.h: whole files into memory, and paths. */
#ifndef GDSIM_LOAD_FILE_H
#define GDSIM_LOAD_FILE_H

#include <stddef.h>

#include "sim/core/status.h"

/* Read a regular file of at most `limit` bytes; ends in NUL. The caller frees *ret_text. */
enum status file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length,
                      struct error *error);

/* Whether a regular file is there. */
int file_exists(const char *path);

/* printf into fresh memory; NULL without memory. */
char *file_path(const char *format, ...) PRINTF_LIKE(1, 2);

/* "dir/of" for "dir/of/file", "." for "file"; NULL without memory. */
char *file_directory(const char *path);

#endif
