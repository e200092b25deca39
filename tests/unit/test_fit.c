/* test_fit.c: parameters that are known are found again: with noise, with wild points, within
 * bounds, and the data that cannot tell two apart say so.
 *
 * The model is t(S) = a + S/B, and t(S, c) = a + S/(c B) with channels c. Noise is lognormal.
 */
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/study/fit.h"

#define POINTS 60

enum { A, B, TWIN };

static const double truth[] = {20e-6, 25e9, 1};

static double size_of(size_t i)
{
    return 1024 * pow(2, (double)(i % 20));
}

static enum status line(void *context, const double *values, double *ret, struct error *error)
{
    (void)context;
    (void)error;
    for (size_t i = 0; i < POINTS; i++)
        ret[i] = values[A] + size_of(i) / values[B];
    return STATUS_OK;
}

/* B and TWIN only as a product: nobody can tell them apart. */
static enum status product(void *context, const double *values, double *ret, struct error *error)
{
    (void)context;
    (void)error;
    for (size_t i = 0; i < POINTS; i++)
        ret[i] = values[A] + size_of(i) / (values[B] * values[TWIN]);
    return STATUS_OK;
}

static struct fit_parameter parameters[3];
static double measured[POINTS], predicted[POINTS];

static void start(void)
{
    parameters[A] = (struct fit_parameter){
        .name = "a", .source = 5e-6, .start = 5e-6, .low = 1e-7, .high = 1e-3};
    parameters[B] = (struct fit_parameter){
        .name = "B", .source = 40e9, .start = 40e9, .low = 1e9, .high = 100e9};
    parameters[TWIN] =
        (struct fit_parameter){.name = "twin", .source = 1, .start = 1, .low = 0.1, .high = 10};
}

static void measure_by(fit_model *model, unsigned long seed, double noise, size_t wild)
{
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(random, seed);
    model(NULL, truth, measured, NULL);
    for (size_t i = 0; i < POINTS; i++)
        measured[i] *= exp(gsl_ran_gaussian(random, noise));
    for (size_t i = 0; i < wild; i++) /* one call in ten was disturbed: 3 to 20 times too slow */
        measured[(7 * i + seed) % POINTS] *= 3 + 17 * gsl_rng_uniform(random);
    gsl_rng_free(random);
}

static void measure(unsigned long seed, double noise, size_t wild)
{
    measure_by(line, seed, noise, wild);
}

static struct fit_report fit(size_t count, fit_model *model)
{
    struct fit_report report;
    struct error error;
    struct fit_problem problem = {.parameters = parameters,
                                  .parameter_count = count,
                                  .measured = measured,
                                  .point_count = POINTS,
                                  .model = model};
    if (fit_run(&problem, &report, predicted, &error))
        fail_msg("%s", error.message);
    return report;
}

/* 40 made-up measurements: each value within 3 standard errors but for what chance allows (0.3 % of
 * 80; at most 2), and the errors are of the right size: between a half and twice what is seen. */
static void known_parameters_are_found(void **state)
{
    (void)state;
    double square[2] = {0, 0};
    int outside = 0, runs = 40;
    for (int seed = 1; seed <= runs; seed++) {
        start();
        measure((unsigned long)seed, 0.03, 0);
        fit(2, line);
        for (int j = 0; j < 2; j++) {
            assert_int_equal(parameters[j].state, FIT_DONE);
            double z = (parameters[j].value - truth[j]) / parameters[j].error;
            square[j] += z * z / runs;
            outside += fabs(z) > 3;
        }
    }
    assert_true(outside <= 2);
    for (int j = 0; j < 2; j++)
        assert_true(square[j] > 0.25 && square[j] < 4);
}

/* 128 KiB to 1.3 MB: 5 to 54 us of S/B beside 20 us of a. */
static double middling(size_t i)
{
    return 131072 * (1 + (double)(i % 20) / 2);
}

static enum status middle_of_the_line(void *context, const double *values, double *ret,
                                      struct error *error)
{
    (void)context;
    (void)error;
    for (size_t i = 0; i < POINTS; i++)
        ret[i] = values[A] + middling(i) / values[B];
    return STATUS_OK;
}

/* The correlation is that of many fits, and the one by hand: with u = a/t and v = (S/B)/t, dr/dln a
 * = u and dr/dln B = -v, so cov of ln a and ln B is that of (X'X)^-1, r = sum uv / sqrt(sum u^2 sum
 * v^2): above 0, since both may grow together. 400 fits say a correlation within 1/sqrt(400). */
static void errors_that_go_together_are_known(void **state)
{
    (void)state;
    enum { RUNS = 400 };
    double correlation[4], sum[3] = {0}, by_hand[3] = {0}, mean = 0;
    struct fit_report report;
    struct error error;
    for (size_t i = 0; i < POINTS; i++) {
        double t = truth[A] + middling(i) / truth[B], u = truth[A] / t, v = 1 - u;
        by_hand[0] += u * u;
        by_hand[1] += v * v;
        by_hand[2] += u * v;
    }
    double wanted = by_hand[2] / sqrt(by_hand[0] * by_hand[1]);
    for (int seed = 1; seed <= RUNS; seed++) {
        start();
        measure_by(middle_of_the_line, (unsigned long)seed, 0.03, 0);
        struct fit_problem problem = {.parameters = parameters,
                                      .parameter_count = 2,
                                      .measured = measured,
                                      .point_count = POINTS,
                                      .model = middle_of_the_line,
                                      .ret_correlation = correlation};
        assert_int_equal(fit_run(&problem, &report, predicted, &error), STATUS_OK);
        double a = log(parameters[A].value / truth[A]), b = log(parameters[B].value / truth[B]);
        sum[0] += a * a;
        sum[1] += b * b;
        sum[2] += a * b;
        mean += correlation[1] / RUNS;
        assert_true(fabs(correlation[0] - 1) < 1e-12 && fabs(correlation[3] - 1) < 1e-12);
        assert_true(fabs(correlation[1] - correlation[2]) < 1e-12);
    }
    double seen = sum[2] / sqrt(sum[0] * sum[1]);
    assert_true(fabs(mean - wanted) < 0.02);
    assert_true(fabs(mean - seen) < 3 / sqrt(RUNS));
    assert_true(wanted > 0.7); /* or this would show little */
}

static void wild_points_move_little(void **state)
{
    (void)state;
    for (unsigned long seed = 1; seed <= 20; seed++) {
        start();
        measure(seed, 0.02, POINTS / 10);
        struct fit_report report = fit(2, line);
        for (int j = 0; j < 2; j++)
            if (!(fabs(parameters[j].value / truth[j] - 1) < 0.05))
                fail_msg("seed %lu: %s is %g, not %g", seed, parameters[j].name,
                         parameters[j].value, truth[j]);
        assert_true(report.outliers >= POINTS / 10 - 1);
    }
}

static void what_cannot_be_told_keeps_its_source(void **state)
{
    (void)state;
    start();
    measure(3, 0.02, 0);
    fit(3, product);
    int unknown = (parameters[B].state == FIT_UNKNOWN) + (parameters[TWIN].state == FIT_UNKNOWN);
    assert_int_equal(unknown, 1);
    assert_true(fabs(parameters[B].value * parameters[TWIN].value / 25e9 - 1) < 0.05);
    int at = parameters[B].state == FIT_UNKNOWN ? B : TWIN;
    assert_true(parameters[at].value >= parameters[at].source &&
                parameters[at].value <= parameters[at].source);
    assert_true(isnan(parameters[at].error));
    assert_true(parameters[at].singular < 1e-3);
}

/* The data want 25 GB/s; only up to 20 is possible. */
static void bounds_hold(void **state)
{
    (void)state;
    start();
    parameters[B].high = 20e9;
    parameters[B].source = parameters[B].start = 10e9;
    measure(5, 0.01, 0);
    fit(2, line);
    assert_int_equal(parameters[B].state, FIT_AT_BOUND);
    assert_true(parameters[B].value <= 20e9 && parameters[B].value > 19.9e9);
}

/* Points that are held out do not move the fit. */
static void held_out_points_do_not_count(void **state)
{
    (void)state;
    bool held_out[POINTS] = {false};
    struct fit_report report;
    struct error error;
    start();
    measure(9, 0.01, 0);
    for (size_t i = 0; i < POINTS; i += 3) {
        held_out[i] = true;
        measured[i] *= 10;
    }
    struct fit_problem problem = {.parameters = parameters,
                                  .parameter_count = 2,
                                  .measured = measured,
                                  .held_out = held_out,
                                  .point_count = POINTS,
                                  .model = line};
    assert_int_equal(fit_run(&problem, &report, predicted, &error), STATUS_OK);
    assert_int_equal(report.used, POINTS - POINTS / 3);
    assert_true(fabs(parameters[B].value / truth[B] - 1) < 0.02);
    assert_true(predicted[0] < measured[0] / 8);
}

static void too_few_points_are_refused(void **state)
{
    (void)state;
    struct fit_report report;
    struct error error;
    start();
    measure(1, 0.01, 0);
    struct fit_problem problem = {.parameters = parameters,
                                  .parameter_count = 2,
                                  .measured = measured,
                                  .point_count = 2,
                                  .model = line};
    assert_int_equal(fit_run(&problem, &report, predicted, &error), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_parameters_are_found),
        cmocka_unit_test(errors_that_go_together_are_known),
        cmocka_unit_test(wild_points_move_little),
        cmocka_unit_test(what_cannot_be_told_keeps_its_source),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(held_out_points_do_not_count),
        cmocka_unit_test(too_few_points_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
