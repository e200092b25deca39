/* sweep_summary.h: what a planner wants to read after a sweep. */
#ifndef GDSIM_CLI_SWEEP_SUMMARY_H
#define GDSIM_CLI_SWEEP_SUMMARY_H

#include "sim/cli/sweep_file.h"

/* Print it: to stdout, or to stderr where the rows went to stdout. `before` rows were there
 * already; the rest took so many seconds. */
void sweep_summary(const struct sweep *sweep, const struct sweep_file *file, uint64_t before,
                   double seconds);

#endif
