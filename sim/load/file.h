/* file.h: whole files into memory, and paths. */
#ifndef GDSIM_LOAD_FILE_H
#define GDSIM_LOAD_FILE_H

#include <stddef.h>

#include "sim/core/status.h"

/* Read a regular file of at most `limit` bytes; ends in NUL. The caller frees *ret_text. */
enum status file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length,
                      struct error *error);

/* The names of files in a folder that end so, without the ending, in order; at most `most`. The
 * caller frees each. */
size_t file_names(const char *directory, const char *ending, char **ret_names, size_t most);

/* What may have been meant by a name that no such file has: "did you mean ...?", or "" when nothing
 * is near or holds the word. */
void file_near(const char *directory, const char *ending, const char *word, char *buffer,
               size_t size);

/* Whether a regular file is there. */
int file_exists(const char *path);

/* printf into fresh memory; NULL without memory. */
char *file_path(const char *format, ...) PRINTF_LIKE(1, 2);

/* "dir/of" for "dir/of/file", "." for "file"; NULL without memory. */
char *file_directory(const char *path);

#endif
