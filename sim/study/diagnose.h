/* diagnose.h: which one change of a machine would explain best that measurements are off.
 *
 * The gap is the mean of |ln(predicted / measured)| over the points, said as a factor e^gap. Tried
 * are, each alone: other ways that the bytes may have gone (mechanisms), states that break or slow
 * a path and every remedy (study/remedy), and each rate, time and share of the machine, scaled by
 * the factor that leaves the smallest gap (Brent, from 1/64 to 64). What leaves the least is the
 * diagnosis (a scaled value must leave 10 % less than a state to come first); it is a suspicion
 * that the numbers allow, no proof. Where whatever is tried alone leaves more than 10 %, the
 * changes that leave least are also tried together with each other and with each value, and the
 * best pair is named if it leaves another 10 % less. Alone that is some 500 predictions of each
 * point, with pairs several thousand.
 */
#ifndef GDSIM_STUDY_DIAGNOSE_H
#define GDSIM_STUDY_DIAGNOSE_H

#include "sim/study/predict.h"

enum diagnosis_kind {
    DIAGNOSIS_PATH,
    DIAGNOSIS_STATE,
    DIAGNOSIS_REMEDY,
    DIAGNOSIS_VALUE,
    DIAGNOSIS_PAIR
};

struct diagnosis {
    enum diagnosis_kind kind;
    char
        what[320]; /* "load nvidia_peermem", "the bytes went: host staging", "nic rate 0.5 times" */
    double gap;    /* that is left: a factor, 1 is none */
};

struct diagnose_job {
    struct predict_job job;
    const double *sizes_B, *measured_s;
    size_t count;
};

#define DIAGNOSE_MAX 256

/* The changes that leave the smallest gap, best first, at most `limit`; *ret_gap is the gap as it
 * is; pairs: try them. Changes that leave more than it are not among them. */
enum status diagnose(const struct diagnose_job *jobs, size_t job_count, bool pairs,
                     struct diagnosis *ret, size_t limit, size_t *ret_count, double *ret_gap,
                     struct error *error);

#endif
