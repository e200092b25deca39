/* calibration.h: what `gdsim calibrate` says about the values it fitted, in the file it writes:
 *
 *   calibration:
 *     from: 8 B                    # sizes that were measured
 *     to: 1 GiB
 *     time_scatter: 4 %            # of single measurements where times decide (small sizes);
 *     rate_scatter: 1 %            # where rates decide (large ones); absent: not known
 *     values:                      # relative standard error of each fitted key
 *       software.launch: 1.5 %
 *       node.devices.nic0.rate: {error: 2 %, fitted_as: node.devices.nic*.rate}
 *       node.devices.nic1.rate: {error: 2 %, fitted_as: node.devices.nic*.rate}
 *       node.links.gpu0-gpu1.rate: at its bound     # the data want more: no error is known
 *     correlation:                 # of the errors of the logarithms, each with those before it
 *       - {of: software.launch}
 *       - {of: node.devices.nic*.rate, with: [-0.31]}
 *     runs: {ring LL: {software.issue: 26 us}}   # what was fitted to each run of `data` alone
 *
 * Keys with the same fitted_as are one unknown: one value was fitted, and all of them have it.
 * `of` names an unknown: its fitted_as, or its key.
 * With the block, a prediction outside the range warns, and `gdsim run --replicas` prints an
 * interval.
 */
#ifndef GDSIM_LOAD_CALIBRATION_H
#define GDSIM_LOAD_CALIBRATION_H

#include "sim/load/scenario.h"

#define CALIBRATION_MAX      128
#define CALIBRATION_AT_BOUND "at its bound"

struct calibrated_value {
    const char *key;
    double error;          /* relative; NAN: it is at its bound */
    const char *fitted_as; /* the same text: one unknown; NULL: an unknown of its own */
};

struct calibration {
    bool given;
    double from_B, to_B;
    double time_scatter, rate_scatter; /* NAN: not known */
    struct calibrated_value values[CALIBRATION_MAX];
    size_t count;
    const char *correlated[CALIBRATION_MAX]; /* unknowns */
    size_t correlated_count;
    double *correlation; /* [of][with], whole; NULL: none. calibration_free() */
};

/* Read the block of a loaded scenario; mistakes go to scenario->diag. Without one, given is false
 * and nothing scatters. */
enum status calibration_read(struct scenario *scenario, struct calibration *ret);
void calibration_free(struct calibration *calibration);

/* The number of a value's unknown: that of the first value that is the same unknown. */
size_t calibration_unknown(const struct calibration *calibration, size_t value);

/* Correlation of two values' unknowns; 0 where none is given. */
double calibration_correlation(const struct calibration *calibration, size_t value, size_t other);

#endif
