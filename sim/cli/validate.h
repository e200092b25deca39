/* validate.h: what the parts of gdsim validate share. */
#ifndef GDSIM_CLI_VALIDATE_H
#define GDSIM_CLI_VALIDATE_H

#include "sim/cli/measured.h"
#include "sim/report/grid.h"

enum validate_column {
    VALIDATE_CASE,
    VALIDATE_NAME,
    VALIDATE_METRIC,
    VALIDATE_PREDICTED,
    VALIDATE_MEASURED,
    VALIDATE_ERROR,
    VALIDATE_WANTED,
    VALIDATE_VERDICT,
    VALIDATE_LIMIT,
    VALIDATE_NOTE
};

struct tally {
    size_t met, missed;
    size_t unexplained; /* of the missed: without a note */
    size_t open;        /* measured, but nothing says how near is near enough */
    double worst;       /* largest error of what was measured, in percent, with its sign */
    bool measured;      /* there was any */
};

/* Whole measured runs of a scenario's block `data`: the median error of each, two rows a run (from
 * 64 KiB, and below). Prints what is wrong; returns the exit code. */
int validate_runs(const char *file, const char *name, struct grid *grid, struct tally *tally);

#endif
