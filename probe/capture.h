/* capture.h: a copy of all that gdprobe reads of a machine, as a tree that --sysroot reads. */
#ifndef GDPROBE_CAPTURE_H
#define GDPROBE_CAPTURE_H

#include "probe/sys.h"

/* Copy into `directory`, which must not exist yet, and nowhere else. What the drivers say goes to
 * gdprobe/driver in it. False with a reason; what was copied until then stays. */
bool capture_write(const struct sys *sys, double timeout_s, const char *directory,
                   size_t *ret_files, struct why *ret_why);

#endif
