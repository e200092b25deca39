/* jitter.h: how far a prediction spreads when what it rests on does.
 *
 * Each replica multiplies every uncertain value of the machine by e^(sigma z), z normal: rates and
 * times stay positive, sigma is the relative spread, and a parameter stays within its range. Values
 * that are one unknown share one z: eight NICs whose one rate was fitted are equal in each replica,
 * where eight draws would let the slowest of eight rule. What a replica draws depends on the seed,
 * the replica's number and the draw's number only, so more replicas leave the first ones as they
 * were. Values that were fitted together err together: of the own errors the correlation is given,
 * and z = V sqrt(D) n with n independent and V D V' the correlation (what rounding makes negative
 * of D is 0). How single measurements scatter is drawn apart, independently. The interval runs from
 * the 5th to the 95th percentile (interpolated).
 */
#ifndef GDSIM_STUDY_JITTER_H
#define GDSIM_STUDY_JITTER_H

#include "sim/study/predict.h"

struct jitter_value {
    const char *key;
    double value;
    double sigma;   /* relative standard error: 0.05 is 5 % */
    double scatter; /* relative, of single measurements */
    size_t draw;    /* values with the same number share their z */
};

struct jitter_values {
    const struct jitter_value *items;
    size_t count;
    const double *correlation; /* [draw][draw], of the standard errors; NULL: none */
};

struct jitter_interval {
    double low_s, median_s, high_s;
};

/* `ret` has an entry for each size. At least 2 replicas. */
enum status jitter_run(const struct predict_job *job, const struct jitter_values *values,
                       const double *sizes_B, size_t size_count, size_t replicas,
                       unsigned long seed, struct jitter_interval *ret, struct error *error);

/* Draws that the values make: the greatest number and one. */
size_t jitter_draws(const struct jitter_values *values);

#endif
