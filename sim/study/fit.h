/* fit.h: parameters of any model from measured values, robustly and within bounds.
 *
 * The residual of point i is r_i = ln(predicted_i / measured_i): relative, so that microseconds and
 * milliseconds count alike. Minimised is sum w_i r_i^2 over
 *
 *   p_j = low_j (high_j / low_j)^s(x_j),   s(x) = 1 / (1 + e^-x),   x_j free
 *
 * so a parameter stays within its bounds (GSL multifit_nlinear, Levenberg-Marquardt, central
 * differences). Weights follow Cauchy, w = 1 / (1 + (r / (2.385 sigma))^2), sigma = 1.4826 times
 * the median of |r|, and are found again until they stand (iteratively reweighted least squares):
 * one wild point in ten moves nothing.
 *
 * Standard errors are those of an M-estimator (Huber 1981, 7.6): for ln p, with X = dr/dln p,
 *
 *   cov = k^2 n/(n-m) sigma^2 mean(psi^2) / mean(psi')^2 (X'X)^-1,   psi(u) = u / (1 + (u/c)^2)
 *
 * Correlations are those of this matrix, so of the logarithms of the values. Of what the data push
 * to a bound, or cannot tell, neither error nor correlation is known.
 *
 * Where a singular value s of X says that a direction of ln p is known worse than a factor e
 * (sigma_error / s > 1, or s < 1e-4 of the largest) the data cannot tell: the parameter with the
 * largest share of that direction is put back to its source value, and the rest fitted anew.
 */
#ifndef GDSIM_STUDY_FIT_H
#define GDSIM_STUDY_FIT_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/core/status.h"

#define FIT_MAX_PARAMETERS 96

enum fit_state {
    FIT_DONE,
    FIT_UNKNOWN,  /* the data cannot identify it: it has its source value */
    FIT_AT_BOUND, /* the data want it beyond its bounds */
};

struct fit_parameter {
    const char *name;
    double source;           /* what it has when the data cannot tell; may lie outside the bounds */
    double start, low, high; /* 0 < low <= start <= high */
    /* Results: */
    enum fit_state state;
    double value, error; /* one standard error; NAN where it was not fitted */
    double singular;     /* of the direction that it lies in most; small: badly known */
};

/* Predict all points with these values of all parameters. */
typedef enum status fit_model(void *context, const double *values, double *ret_predicted,
                              struct error *error);

struct fit_problem {
    struct fit_parameter *parameters;
    size_t parameter_count;
    const double *measured; /* > 0 */
    const bool *held_out;   /* takes no part; NULL: all do */
    size_t point_count;
    fit_model *model;
    void *context;
    double
        *ret_correlation; /* [parameter][parameter], NAN where one was not fitted; NULL: unasked */
};

struct fit_report {
    double sigma;                        /* scale of the residuals that were fitted: 0.03 is 3 % */
    size_t used;                         /* points */
    size_t outliers;                     /* of them, with a weight below 0.1 */
    size_t evaluations;                  /* of the model */
    double singular[FIT_MAX_PARAMETERS]; /* of the last fit, largest first */
    size_t singular_count;
};

/* Fit. `ret_predicted` has point_count entries: the model at the result. */
enum status fit_run(struct fit_problem *problem, struct fit_report *ret_report,
                    double *ret_predicted, struct error *error);

#endif
