/* output.h: put finished bytes where the user wants them, whole or not at all.
 *
 * A regular file is written under another name in the same folder, flushed to disk and renamed, so
 * a reader sees the old file or the new one. A device, a pipe or a symbolic link (/dev/null,
 * /dev/stdout) is written in place: renaming over it would destroy it.
 */
#ifndef GDSIM_REPORT_OUTPUT_H
#define GDSIM_REPORT_OUTPUT_H

#include <stddef.h>

#include "sim/core/status.h"

/* Write `data` to `path`; "-" is standard output. Missing folders are created only for a path that
 * starts with "out/". On failure the old file, if any, is untouched and nothing is left behind. */
enum status output_write(const char *path, const char *data, size_t length, struct error *error);

/* ---- for files that grow --------------------------------------------------------------------- */

/* Create the folders of a path that starts with "out/" and does not leave it again. 0 or errno. */
int output_folders(const char *path);

/* Write all of it. 0 or errno. */
int output_write_all(int fd, const char *data, size_t length);

/* STATUS_FAILED: why `path` could not be written, with what to do. `code` is an errno. */
enum status output_fault(const char *path, int code, struct error *error);

#endif
