/* fit.c: see fit.h. */
#include "sim/study/fit.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CAUCHY       2.385
#define STEP         2e-3 /* of ln p, for differences: times are whole picoseconds */
#define REWEIGHTINGS 8
#define ITERATIONS   10 /* between two weighings */
#define SCAN         9  /* values of each parameter that are tried before the first fit */
#define WAKES        3  /* scans again for what no point felt */

struct work {
    struct fit_problem *problem;
    struct error *error;
    enum status status;
    size_t free[FIT_MAX_PARAMETERS]; /* parameters that are being fitted */
    size_t free_count;
    size_t *used; /* points */
    size_t used_count;
    double values[FIT_MAX_PARAMETERS];
    double *predicted, *ahead, *behind; /* all points */
    double *weight, *scratch;           /* used points */
    size_t evaluations;
};

static double share(double x)
{
    return 1 / (1 + exp(-x));
}

static double to_value(const struct fit_parameter *parameter, double x)
{
    return parameter->low * pow(parameter->high / parameter->low, share(x));
}

static double to_x(const struct fit_parameter *parameter, double value)
{
    double s = log(value / parameter->low) / log(parameter->high / parameter->low);
    s = fmin(fmax(s, 1e-3), 1 - 1e-3);
    return log(s / (1 - s));
}

/* d ln p / dx */
static double slope(const struct fit_parameter *parameter, double x)
{
    double s = share(x);
    return log(parameter->high / parameter->low) * s * (1 - s);
}

static int evaluate(struct work *work, const double *values, double *ret_predicted)
{
    work->evaluations++;
    work->status = work->problem->model(work->problem->context, values, ret_predicted, work->error);
    for (size_t i = 0; !work->status && i < work->used_count; i++)
        if (!(ret_predicted[work->used[i]] > 0) || !isfinite(ret_predicted[work->used[i]]))
            work->status = error_set(work->error, STATUS_FAILED, "the model predicts nothing");
    return work->status ? GSL_EBADFUNC : GSL_SUCCESS;
}

static void values_at(const struct work *work, const gsl_vector *x, double *ret_values)
{
    memcpy(ret_values, work->values, sizeof work->values);
    for (size_t j = 0; j < work->free_count; j++)
        ret_values[work->free[j]] =
            to_value(&work->problem->parameters[work->free[j]], gsl_vector_get(x, j));
}

static double residual(const struct work *work, size_t i, const double *predicted)
{
    return log(predicted[work->used[i]] / work->problem->measured[work->used[i]]);
}

static int function(const gsl_vector *x, void *data, gsl_vector *ret)
{
    struct work *work = data;
    double values[FIT_MAX_PARAMETERS];
    values_at(work, x, values);
    int code = evaluate(work, values, work->predicted);
    for (size_t i = 0; !code && i < work->used_count; i++)
        gsl_vector_set(ret, i, residual(work, i, work->predicted));
    return code;
}

/* Column j of dr/dln p, by central differences that stay within the bounds. */
static int difference(struct work *work, const double *values, size_t parameter, double *ret_column)
{
    const struct fit_parameter *info = &work->problem->parameters[parameter];
    double changed[FIT_MAX_PARAMETERS];
    memcpy(changed, values, sizeof changed);
    double up = fmin(values[parameter] * exp(STEP), info->high);
    double down = fmax(values[parameter] * exp(-STEP), info->low);
    changed[parameter] = up;
    int code = evaluate(work, changed, work->ahead);
    changed[parameter] = down;
    code = code ? code : evaluate(work, changed, work->behind);
    double width = log(up / down);
    for (size_t i = 0; !code && i < work->used_count; i++)
        ret_column[i] = log(work->ahead[work->used[i]] / work->behind[work->used[i]]) / width;
    return code;
}

static int jacobian(const gsl_vector *x, void *data, gsl_matrix *ret)
{
    struct work *work = data;
    double values[FIT_MAX_PARAMETERS];
    values_at(work, x, values);
    int code = GSL_SUCCESS;
    for (size_t j = 0; j < work->free_count && !code; j++) {
        code = difference(work, values, work->free[j], work->scratch);
        double inner = slope(&work->problem->parameters[work->free[j]], gsl_vector_get(x, j));
        for (size_t i = 0; !code && i < work->used_count; i++)
            gsl_matrix_set(ret, i, j, work->scratch[i] * inner);
    }
    return code;
}

/* 1.4826 times the median of |r|; never 0, for what is exact has no outliers. */
static double scale_of(struct work *work)
{
    for (size_t i = 0; i < work->used_count; i++)
        work->scratch[i] = fabs(residual(work, i, work->predicted));
    gsl_sort(work->scratch, 1, work->used_count);
    return fmax(1e-9,
                1.4826 * gsl_stats_median_from_sorted_data(work->scratch, 1, work->used_count));
}

/* One weighted fit from where the values are now. */
static enum status fit_once(struct work *work)
{
    size_t n = work->used_count, m = work->free_count;
    gsl_multifit_nlinear_parameters settings = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *solver =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &settings, n, m);
    gsl_vector *x = gsl_vector_alloc(m);
    gsl_vector_view weights = gsl_vector_view_array(work->weight, n);
    gsl_multifit_nlinear_fdf system = {
        .f = function, .df = jacobian, .n = n, .p = m, .params = work};
    int info, code = GSL_ENOMEM;
    if (solver && x) {
        for (size_t j = 0; j < m; j++)
            gsl_vector_set(
                x, j, to_x(&work->problem->parameters[work->free[j]], work->values[work->free[j]]));
        code = gsl_multifit_nlinear_winit(x, &weights.vector, &system, solver);
        if (!code)
            code = gsl_multifit_nlinear_driver(ITERATIONS, 1e-5, 1e-7, 1e-7, NULL, NULL, &info,
                                               solver);
        /* Out of iterations, or no further step: what it has is what there is. */
        if (code != GSL_ENOMEM && !work->status)
            code = GSL_SUCCESS;
        if (!code) {
            values_at(work, gsl_multifit_nlinear_position(solver), work->values);
            code = evaluate(work, work->values, work->predicted);
        }
    }
    gsl_multifit_nlinear_free(solver);
    gsl_vector_free(x);
    if (code == GSL_ENOMEM && !work->status)
        work->status = error_set(work->error, STATUS_NOMEM, "out of memory");
    return work->status;
}

/* Fit, weigh, and fit again until the weights stand. */
static enum status fit_robustly(struct work *work, double *ret_sigma)
{
    double before = (double)INFINITY;
    for (int turn = 0; turn < REWEIGHTINGS; turn++) {
        if (fit_once(work))
            return work->status;
        double sigma = scale_of(work);
        *ret_sigma = sigma;
        if (fabs(sigma - before) <= 5e-3 * sigma)
            break;
        before = sigma;
        for (size_t i = 0; i < work->used_count; i++) {
            double u = residual(work, i, work->predicted) / (CAUCHY * sigma);
            work->weight[i] = 1 / (1 + u * u);
        }
    }
    return STATUS_OK;
}

static double mean_distance(const struct work *work, const double *predicted)
{
    double sum = 0;
    for (size_t i = 0; i < work->used_count; i++)
        sum += fabs(residual(work, i, predicted));
    return sum;
}

/* A start from which every parameter can be felt: models with a max() or min() in them are flat in
 * some. Each in turn is set to what of a few values leaves the least mean distance. */
static enum status scan(struct work *work)
{
    double changed[FIT_MAX_PARAMETERS];
    memcpy(changed, work->values, sizeof changed);
    if (evaluate(work, changed, work->predicted))
        return work->status;
    double best = mean_distance(work, work->predicted);
    for (size_t j = 0; j < work->free_count; j++) {
        size_t at = work->free[j];
        const struct fit_parameter *info = &work->problem->parameters[at];
        for (int k = 0; k < SCAN; k++) {
            changed[at] = info->low * pow(info->high / info->low, (k + 0.5) / SCAN);
            if (evaluate(work, changed, work->ahead))
                return work->status;
            double distance = mean_distance(work, work->ahead);
            if (distance < best * (1 - 1e-6)) {
                best = distance;
                work->values[at] = changed[at];
            }
        }
        changed[at] = work->values[at];
    }
    return STATUS_OK;
}

/* The factor on (X'X)^-1 of an M-estimator; see fit.h. */
static double variance(const struct work *work, double sigma)
{
    double n = (double)work->used_count, m = (double)work->free_count;
    double psi2 = 0, steep = 0, steep2 = 0;
    for (size_t i = 0; i < work->used_count; i++) {
        double u = residual(work, i, work->predicted) / sigma, v = u * u / (CAUCHY * CAUCHY);
        double psi = u / (1 + v), derivative = (1 - v) / ((1 + v) * (1 + v));
        psi2 += psi * psi / n;
        steep += derivative / n;
        steep2 += derivative * derivative / n;
    }
    double spread = steep2 - steep * steep, k = 1 + m / n * spread / (steep * steep);
    return n > m && steep > 0 ? k * k * n / (n - m) * sigma * sigma * psi2 / (steep * steep)
                              : (double)INFINITY;
}

/* Of all that is being fitted: X'X = V S^2 V', and its inverse is normed to a diagonal of ones. */
static void correlate(const struct work *work, const gsl_matrix *v, const gsl_vector *s)
{
    size_t all = work->problem->parameter_count, m = work->free_count;
    double *ret = work->problem->ret_correlation;
    for (size_t i = 0; ret && i < all * all; i++)
        ret[i] = (double)NAN;
    for (size_t i = 0; ret && i < m; i++)
        for (size_t j = 0; j < m; j++) {
            double own[2] = {0, 0}, both = 0;
            for (size_t k = 0; k < m; k++) {
                double a = gsl_matrix_get(v, i, k) / gsl_vector_get(s, k);
                double b = gsl_matrix_get(v, j, k) / gsl_vector_get(s, k);
                own[0] += a * a;
                own[1] += b * b;
                both += a * b;
            }
            ret[work->free[i] * all + work->free[j]] = both / sqrt(own[0] * own[1]);
        }
}

/* Singular values and errors of the fit; *ret_worst is the parameter that the data cannot tell, or
 * FIT_MAX_PARAMETERS. */
static enum status judge(struct work *work, double sigma, struct fit_report *report,
                         size_t *ret_worst)
{
    size_t n = work->used_count, m = work->free_count;
    gsl_matrix *x = gsl_matrix_alloc(n, m), *v = gsl_matrix_alloc(m, m);
    gsl_vector *s = gsl_vector_alloc(m), *extra = gsl_vector_alloc(m);
    enum status status = STATUS_OK;
    *ret_worst = FIT_MAX_PARAMETERS;
    if (!x || !v || !s || !extra)
        status = error_set(work->error, STATUS_NOMEM, "out of memory");
    for (size_t j = 0; j < m && !status; j++) {
        if (difference(work, work->values, work->free[j], work->scratch))
            status = work->status;
        for (size_t i = 0; i < n && !status; i++)
            gsl_matrix_set(x, i, j, work->scratch[i]);
    }
    if (!status) {
        gsl_linalg_SV_decomp(x, v, s, extra);
        correlate(work, v, s);
        double factor = variance(work, sigma), largest = gsl_vector_get(s, 0);
        report->singular_count = m;
        for (size_t k = 0; k < m; k++)
            report->singular[k] = gsl_vector_get(s, k);
        double least = report->singular[m - 1];
        if (!(least > 1e-4 * largest) || !(sqrt(factor) / least < 1)) {
            double most = -1;
            for (size_t j = 0; j < m; j++)
                if (fabs(gsl_matrix_get(v, j, m - 1)) > most) {
                    most = fabs(gsl_matrix_get(v, j, m - 1));
                    *ret_worst = work->free[j];
                }
            work->problem->parameters[*ret_worst].singular = least;
        }
        for (size_t j = 0; j < m; j++) {
            struct fit_parameter *parameter = &work->problem->parameters[work->free[j]];
            double sum = 0, most = 0;
            for (size_t k = 0; k < m; k++) {
                double part = gsl_matrix_get(v, j, k);
                sum += part * part / (report->singular[k] * report->singular[k]);
                if (fabs(part) > most) {
                    most = fabs(part);
                    parameter->singular = report->singular[k];
                }
            }
            double felt = 0;
            for (size_t k = 0; k < m; k++)
                felt += fabs(gsl_matrix_get(v, j, k)) * report->singular[k];
            if (!(felt > 1e-9)) {
                parameter->singular = 0;
                parameter->error = (double)INFINITY;
                continue;
            }
            parameter->value = work->values[work->free[j]];
            parameter->error = parameter->value * sqrt(factor * sum);
        }
    }
    gsl_matrix_free(x);
    gsl_matrix_free(v);
    gsl_vector_free(s);
    gsl_vector_free(extra);
    return status;
}

static void release(struct work *work, size_t parameter, enum fit_state state, double value)
{
    struct fit_parameter *info = &work->problem->parameters[parameter];
    size_t kept = 0;
    for (size_t j = 0; j < work->free_count; j++)
        if (work->free[j] != parameter)
            work->free[kept++] = work->free[j];
    work->free_count = kept;
    size_t all = work->problem->parameter_count;
    double *correlation = work->problem->ret_correlation;
    for (size_t j = 0; correlation && j < all; j++)
        correlation[parameter * all + j] = correlation[j * all + parameter] = (double)NAN;
    info->state = state;
    info->value = work->values[parameter] = value;
    info->error = (double)NAN;
}

static bool is_silent(const struct fit_parameter *info)
{
    return !(info->singular > 0) && isinf(info->error);
}

/* What no point felt from where the first scan had left it may be felt elsewhere, now that others
 * have moved. */
static bool wake_silent(struct work *work)
{
    double before[FIT_MAX_PARAMETERS];
    bool any = false;
    for (size_t j = 0; j < work->free_count; j++)
        any = any || is_silent(&work->problem->parameters[work->free[j]]);
    memcpy(before, work->values, sizeof before);
    if (!any || scan(work))
        return false;
    any = false;
    for (size_t j = 0; j < work->free_count; j++) {
        size_t at = work->free[j];
        bool moved = work->values[at] < before[at] || work->values[at] > before[at];
        any = any || (moved && is_silent(&work->problem->parameters[at]));
    }
    return any;
}

/* Those that no point feels at all, together. */
static bool release_silent(struct work *work)
{
    bool any = false;
    for (size_t j = work->free_count; j-- > 0;) {
        size_t at = work->free[j];
        struct fit_parameter *info = &work->problem->parameters[at];
        if (!is_silent(info))
            continue;
        release(work, at, FIT_UNKNOWN, info->source);
        any = true;
    }
    return any;
}

/* A parameter that the data push against its bound is put there, one at a time. */
static bool bound_one(struct work *work)
{
    for (size_t j = 0; j < work->free_count; j++) {
        size_t at = work->free[j];
        const struct fit_parameter *info = &work->problem->parameters[at];
        double s = log(work->values[at] / info->low) / log(info->high / info->low);
        if (s > 2e-3 && s < 1 - 2e-3)
            continue;
        release(work, at, FIT_AT_BOUND, s < 0.5 ? info->low : info->high);
        return true;
    }
    return false;
}

static enum status fit_all(struct work *work, struct fit_report *report)
{
    double sigma = 0;
    int wakes = 0;
    for (size_t i = 0; i < work->used_count; i++)
        work->weight[i] = 1;
    if (scan(work))
        return work->status;
    while (work->free_count > 0) {
        size_t worst;
        if (fit_robustly(work, &sigma) || judge(work, sigma, report, &worst))
            return work->status ? work->status : STATUS_FAILED;
        if ((wakes++ < WAKES && wake_silent(work)) || release_silent(work))
            continue;
        if (work->status)
            return work->status;
        if (worst < FIT_MAX_PARAMETERS)
            release(work, worst, FIT_UNKNOWN, work->problem->parameters[worst].source);
        else if (!bound_one(work))
            break;
    }
    if (evaluate(work, work->values, work->predicted))
        return work->status;
    report->sigma = scale_of(work);
    for (size_t i = 0; i < work->used_count; i++)
        report->outliers += fabs(residual(work, i, work->predicted)) > 3 * CAUCHY * report->sigma;
    report->used = work->used_count;
    report->evaluations = work->evaluations;
    return STATUS_OK;
}

enum status fit_run(struct fit_problem *problem, struct fit_report *ret_report,
                    double *ret_predicted, struct error *error)
{
    struct work work = {.problem = problem, .error = error, .predicted = ret_predicted};
    size_t n = problem->point_count;
    memset(ret_report, 0, sizeof *ret_report);
    if (problem->parameter_count > FIT_MAX_PARAMETERS)
        return error_set(error, STATUS_INPUT, "at most %d parameters are fitted at once",
                         FIT_MAX_PARAMETERS);
    for (size_t j = 0; j < problem->parameter_count; j++) {
        struct fit_parameter *info = &problem->parameters[j];
        if (!(info->low > 0) || !(info->low < info->high))
            return error_set(error, STATUS_INPUT, "%s: bounds must be above 0 and apart",
                             info->name);
        info->state = FIT_DONE;
        work.values[j] = info->start;
        work.free[work.free_count++] = j;
    }
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    work.used = calloc(n + 1, sizeof *work.used);
    work.ahead = calloc(4 * n + 4, sizeof *work.ahead);
    enum status status = STATUS_NOMEM;
    if (work.used && work.ahead) {
        work.behind = work.ahead + n + 1;
        work.weight = work.behind + n + 1;
        work.scratch = work.weight + n + 1;
        for (size_t i = 0; i < n; i++)
            if (!problem->held_out || !problem->held_out[i])
                work.used[work.used_count++] = i;
        status =
            work.used_count <= problem->parameter_count
                ? error_set(error, STATUS_INPUT, "%zu measured points cannot say %zu parameters",
                            work.used_count, problem->parameter_count)
                : fit_all(&work, ret_report);
    } else {
        error_set(error, STATUS_NOMEM, "out of memory");
    }
    free(work.used);
    free(work.ahead);
    gsl_set_error_handler(before);
    return status;
}
