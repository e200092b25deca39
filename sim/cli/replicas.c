/* replicas.c: gdsim run --replicas: an interval around each prediction. See cli.h. */
#include <math.h>
#include <stdint.h>
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
    calibration_free(&calibration);
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

/* What is at the bound of its fit may lie anywhere beyond: say that the interval does not know. */
static void warn_at_bound(const struct scenario *scenario, const struct calibration *calibration)
{
    size_t count = 0;
    const char *first = NULL;
    for (size_t i = 0; i < calibration->count; i++)
        if (isnan(calibration->values[i].error) && calibration_unknown(calibration, i) == i) {
            first = first ? first : calibration->values[i].key;
            count++;
        }
    if (count)
        fprintf(stderr,
                "%s: %s%s at the bound of the fit: how well %s known is not, and the interval "
                "leaves it out\n",
                scenario->path, first, count > 1 ? " and others are" : " is",
                count > 1 ? "they are" : "it is");
}

/* What replicas draw; `correlation` for jitter_values. */
struct uncertain {
    struct jitter_value items[CALIBRATION_MAX];
    double correlation[CALIBRATION_MAX * CALIBRATION_MAX];
    struct jitter_values values;
};

/* What is uncertain: each calibrated value by its own error, together with those that were fitted
 * with it, and by how single measurements of its kind scatter. Draws are numbered from 0. */
static void find_uncertain(const struct scenario *scenario, const struct calibration *calibration,
                           struct uncertain *ret)
{
    size_t number[CALIBRATION_MAX], first[CALIBRATION_MAX], draws = 0;
    size_t *count = &ret->values.count;
    *count = 0;
    for (size_t i = 0; i < calibration->count; i++)
        number[i] = SIZE_MAX;
    for (size_t i = 0; i < calibration->count; i++) {
        const struct calibrated_value *from = &calibration->values[i];
        size_t unknown = calibration_unknown(calibration, i);
        struct address at;
        if (!address_first(&scenario->machine, from->key, &at))
            continue;
        bool time = param_info(at.id)->dimension == DIM_TIME;
        double scatter = time ? calibration->time_scatter : calibration->rate_scatter;
        double value = address_get(&scenario->machine, &at);
        if (!(value > 0) || !isfinite(value))
            continue;
        if (number[unknown] == SIZE_MAX) {
            first[draws] = i;
            number[unknown] = draws++;
        }
        ret->items[(*count)++] =
            (struct jitter_value){.key = from->key,
                                  .value = value,
                                  .sigma = isnan(from->error) ? 0 : from->error,
                                  .scatter = isnan(scatter) ? 0 : scatter,
                                  .draw = number[unknown]};
    }
    for (size_t i = 0; i < draws; i++)
        for (size_t j = 0; j < draws; j++)
            ret->correlation[i * draws + j] =
                calibration_correlation(calibration, first[i], first[j]);
    ret->values.items = ret->items;
    ret->values.correlation = ret->correlation;
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
                              const struct jitter_values *values,
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
        status = jitter_run(&job, values, scenario->sizes_B, scenario->size_count, options->count,
                            options->seed, intervals, error);
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
    struct experiment experiment;
    struct uncertain *uncertain = malloc(sizeof *uncertain);
    enum status status = calibration_read(scenario, &calibration);
    if (!uncertain)
        status = error_set(error, STATUS_NOMEM, "out of memory");
    else if (status || !calibration.given) {
        status = error_set(error, STATUS_INPUT, "%s has no calibration, so no spread is known",
                           scenario->path);
        error_hint(error, "extend a file that gdsim calibrate wrote");
    } else {
        warn_no_scatter(scenario, &calibration);
        warn_at_bound(scenario, &calibration);
        find_uncertain(scenario, &calibration, uncertain);
        status = experiment_open(&experiment, scenario, algorithm, error);
    }
    calibration_free(&calibration);
    if (status) {
        free(uncertain);
        return status;
    }
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < experiment.count && !status; i++)
        status = add_column(&experiment, i, &uncertain->values, options, grid, error);
    experiment_close(&experiment);
    free(uncertain);
    if (status)
        grid_free(grid);
    else
        *ret_grid = grid;
    return status;
}
