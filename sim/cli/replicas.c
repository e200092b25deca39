/* replicas.c: gdsim run --replicas: an interval around each prediction. See cli.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/load/calibration.h"
#include "sim/report/grid.h"
#include "sim/study/jitter.h"

int cli_check_calibration(struct scenario *scenario)
{
    struct calibration calibration;
    size_t outside = 0;
    enum status status = calibration_read(scenario, &calibration);
    if (status)
        return cli_fail_scenario(scenario, status);
    if (!calibration.given)
        return EXIT_FINE;
    for (size_t i = 0; i < scenario->size_count; i++)
        outside +=
            scenario->sizes_B[i] < calibration.from_B || scenario->sizes_B[i] > calibration.to_B;
    if (outside)
        fprintf(stderr,
                "%s: %zu of %zu sizes lie outside %.0f B to %.0f B, on which its values were "
                "fitted\n",
                scenario->path, outside, scenario->size_count, calibration.from_B,
                calibration.to_B);
    return EXIT_FINE;
}

/* The number of a value's draw: that of the first one that was fitted as the same unknown, or its
 * own. */
static size_t draw_of(const struct calibration *calibration, size_t i)
{
    const char *as = calibration->values[i].fitted_as;
    for (size_t j = 0; as && j < i; j++)
        if (calibration->values[j].fitted_as && strcmp(calibration->values[j].fitted_as, as) == 0)
            return j;
    return i;
}

/* An interval without the scatter of what it draws is that of the values alone: say so. */
static void warn_no_scatter(const struct scenario *scenario, const struct calibration *calibration)
{
    bool times = false, rates = false;
    struct address at;
    for (size_t i = 0; i < calibration->count; i++)
        if (address_first(&scenario->machine, calibration->values[i].key, &at))
            *(param_info(at.id)->dimension == DIM_TIME ? &times : &rates) = true;
    times = times && isnan(calibration->time_scatter);
    rates = rates && isnan(calibration->rate_scatter);
    if (times || rates)
        fprintf(stderr,
                "%s: its calibration has no %s%s%s: the interval says how well values are known, "
                "not how single measurements scatter\n",
                scenario->path, times ? "time_scatter" : "", times && rates ? " and no " : "",
                rates ? "rate_scatter" : "");
}

/* What is uncertain: each calibrated value by its own error and by how single measurements of its
 * kind scatter. */
static size_t uncertain(struct scenario *scenario, const struct calibration *calibration,
                        struct jitter_value *ret)
{
    size_t count = 0;
    for (size_t i = 0; i < calibration->count; i++) {
        struct address at;
        if (!address_first(&scenario->machine, calibration->values[i].key, &at))
            continue;
        bool time = param_info(at.id)->dimension == DIM_TIME;
        double scatter = time ? calibration->time_scatter : calibration->rate_scatter;
        scatter = isnan(scatter) ? 0 : scatter;
        double value = address_get(&scenario->machine, &at), own = calibration->values[i].error;
        if (value > 0 && isfinite(value))
            ret[count++] =
                (struct jitter_value){calibration->values[i].key, value,
                                      sqrt(own * own + scatter * scatter), draw_of(calibration, i)};
    }
    return count;
}

static const struct grid_column columns[] = {
    {.name = "mechanism", .kind = GRID_TEXT},
    {.name = "size_bytes", .title = "size B", .kind = GRID_REAL, .decimals = 0},
    {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 2},
    {.name = "low_us", .title = "5 % us", .kind = GRID_REAL, .decimals = 2},
    {.name = "median_us", .title = "50 % us", .kind = GRID_REAL, .decimals = 2},
    {.name = "high_us", .title = "95 % us", .kind = GRID_REAL, .decimals = 2},
};

static enum status add_column(struct experiment *experiment, size_t column,
                              const struct jitter_value *values, size_t count,
                              const struct replica_options *options, struct grid *grid,
                              struct error *error)
{
    const struct scenario *scenario = experiment->scenario;
    struct predict_job job = experiment_predict_job(experiment, column);
    struct jitter_interval *intervals = calloc(scenario->size_count + 1, sizeof *intervals);
    double *times = calloc(scenario->size_count + 1, sizeof *times);
    enum status status =
        intervals && times ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status =
            predict_times(&job, NULL, 0, scenario->sizes_B, scenario->size_count, times, error);
    if (!status)
        status = jitter_run(&job, values, count, scenario->sizes_B, scenario->size_count,
                            options->count, options->seed, intervals, error);
    for (size_t i = 0; i < scenario->size_count && !status; i++) {
        grid_row(grid);
        grid_set_text(grid, 0, job.mechanism->name);
        grid_set_real(grid, 1, scenario->sizes_B[i]);
        grid_set_real(grid, 2, times[i] * 1e6);
        grid_set_real(grid, 3, intervals[i].low_s * 1e6);
        grid_set_real(grid, 4, intervals[i].median_s * 1e6);
        grid_set_real(grid, 5, intervals[i].high_s * 1e6);
    }
    free(intervals);
    free(times);
    return status;
}

enum status cli_replicas(struct scenario *scenario, const char *algorithm,
                         const struct replica_options *options, struct grid **ret_grid,
                         struct error *error)
{
    struct calibration calibration;
    struct jitter_value values[CALIBRATION_MAX];
    struct experiment experiment;
    if (calibration_read(scenario, &calibration) || !calibration.given) {
        error_set(error, STATUS_INPUT, "%s has no calibration, so no spread is known",
                  scenario->path);
        return error_hint(error, "extend a file that gdsim calibrate wrote");
    }
    warn_no_scatter(scenario, &calibration);
    size_t count = uncertain(scenario, &calibration, values);
    enum status status = experiment_open(&experiment, scenario, algorithm, error);
    if (status)
        return status;
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < experiment.count && !status; i++)
        status = add_column(&experiment, i, values, count, options, grid, error);
    experiment_close(&experiment);
    if (status)
        grid_free(grid);
    else
        *ret_grid = grid;
    return status;
}
