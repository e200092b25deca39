/* paths.h: which path each transfer takes, and why. */
#ifndef GDSIM_REPORT_PATHS_H
#define GDSIM_REPORT_PATHS_H

#include "sim/report/results.h"

/* The routes that were made: asked, taken, and each verdict with how to see it and what mends it.
 * Returns the worst outcome; a path that is not the one asked for counts as broken. */
enum outcome paths_write(struct text *text, const struct routes *routes);

/* "gpu0 -> gpu1", "gpu0 -> next node's gpu0", "gpu0 -> switch". */
void paths_name(const struct routes *routes, size_t slot, char *buf, size_t size);

#endif
