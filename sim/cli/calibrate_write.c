/* calibrate_write.c: what a calibration says: tables, and the file that scenarios extend. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/calibrate.h"
#include "sim/core/units.h"
#include "sim/load/calibration.h"
#include "sim/report/grid.h"

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double middle(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* What is written of a parameter. Of one with a value for each data set: their median, and how far
 * the sets spread around it (1.4826 times the median distance). */
static double value_of(const struct calibration_run *run, size_t parameter, double *ret_error)
{
    double values[FIT_MAX_PARAMETERS];
    size_t count = 0, known = parameter;
    *ret_error = run->parameters[parameter].error;
    if (run->what[parameter].set == EVERY_SET)
        return run->parameters[parameter].value;
    for (size_t j = 0; j < run->count; j++)
        if (run->what[j].entry == run->what[parameter].entry &&
            run->parameters[j].state != FIT_UNKNOWN)
            values[count++] = run->parameters[known = j].value;
    *ret_error = run->parameters[known].error;
    if (count <= 1)
        return run->parameters[known].value;
    double value = middle(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - value);
    *ret_error = 1.4826 * middle(values, count);
    return value;
}

static bool is_poor(double value, double error)
{
    return error > POOR_ERROR * value; /* never where there is none: NAN */
}

bool calibrate_few_points(const struct calibration_run *run, size_t *ret_values)
{
    *ret_values = 0;
    for (size_t j = 0; j < run->count; j++)
        *ret_values += run->parameters[j].state != FIT_UNKNOWN;
    return run->report.used < FEW_POINTS_A_VALUE * *ret_values;
}

/* ---- what was fitted
 * ------------------------------------------------------------------------------ */

static enum status write_parameters(const struct calibration_run *run, struct text *text,
                                    struct error *error)
{
    static const struct grid_column columns[] = {
        {.name = "parameter", .kind = GRID_TEXT},
        {.name = "source", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT},
        {.name = "fitted", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT},
        {.name = "error", .title = "+- 1 sigma", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT},
        {.name = "singular", .title = "singular value", .kind = GRID_REAL, .decimals = 3},
        {.name = "verdict", .kind = GRID_TEXT},
    };
    static const char *const verdicts[] = {
        [FIT_DONE] = "fitted",
        [FIT_UNKNOWN] = "the data cannot tell: source value kept",
        [FIT_AT_BOUND] = "at its bound",
    };
    struct grid *grid = grid_new();
    size_t poor = 0;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t j = 0; j < run->count; j++) {
        const struct fit_parameter *parameter = &run->parameters[j];
        char buffer[UNITS_TEXT_MAX];
        grid_row(grid);
        grid_set_text(grid, 0, parameter->name);
        grid_set_text(grid, 1,
                      param_format(run->what[j].id, parameter->source, buffer, sizeof buffer));
        grid_set_text(grid, 2,
                      param_format(run->what[j].id, parameter->value, buffer, sizeof buffer));
        if (!isnan(parameter->error))
            grid_set_text(grid, 3,
                          param_format(run->what[j].id, parameter->error, buffer, sizeof buffer));
        grid_set_real(grid, 4, parameter->singular);
        grid_set_text(grid, 5,
                      is_poor(parameter->value, parameter->error) ? "fitted, poorly determined"
                                                                  : verdicts[parameter->state]);
        poor += is_poor(parameter->value, parameter->error);
    }
    enum status status = grid_write_table(grid, text, error);
    grid_free(grid);
    if (poor)
        text_printf(text, "poorly determined: the standard error is above %.0f %% of the value\n",
                    100 * POOR_ERROR);
    return status;
}

static void set_percent(struct grid *grid, size_t column, double value)
{
    if (!isnan(value))
        grid_set_real(grid, column, 100 * value);
}

static enum status write_sets(const struct calibration_run *run, struct text *text,
                              struct error *error)
{
    static const struct grid_column columns[] = {
        {.name = "data", .kind = GRID_TEXT},
        {.name = "use", .kind = GRID_TEXT},
        {.name = "points", .kind = GRID_INT},
        {.name = "below", .title = "below 64 KiB %", .kind = GRID_REAL, .decimals = 2},
        {.name = "from", .title = "from 64 KiB %", .kind = GRID_REAL, .decimals = 2},
        {.name = "worst_bytes", .title = "worst from 64 KiB: B", .kind = GRID_REAL, .decimals = 0},
        {.name = "worst_percent", .title = "off by %", .kind = GRID_REAL, .decimals = 1},
        {.name = "note", .kind = GRID_TEXT},
    };
    const struct measured *measured = &run->measured;
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < measured->set_count; i++) {
        const struct measured_set *set = &measured->sets[i];
        size_t count = 0, worst = SIZE_MAX;
        grid_row(grid);
        grid_set_text(grid, 0, set->about.name);
        grid_set_text(grid, 1, set->about.check ? "check" : "fit");
        grid_set_int(grid, 2, (int64_t)set->count);
        set_percent(grid, 3, measured_median_error(measured, set, 0, SMALL_B, NULL, NULL));
        set_percent(
            grid, 4,
            measured_median_error(measured, set, SMALL_B, (double)INFINITY, &count, &worst));
        if (count > 0) {
            const struct measured_point *point = &measured->points[worst];
            grid_set_real(grid, 5, point->size_B);
            grid_set_real(grid, 6, 100 * (point->predicted / point->measured - 1));
        }
        grid_set_text(grid, 7, set->about.note);
    }
    enum status status = grid_write_table(grid, text, error);
    grid_free(grid);
    return status;
}

/* Median of |predicted / measured - 1| over points that are chosen. */
static double median_of(const struct calibration_run *run, bool held_out, bool of_checks,
                        double low_B, double high_B, size_t *ret_count)
{
    const struct measured *measured = &run->measured;
    double *errors = malloc((measured->point_count + 1) * sizeof *errors), median = (double)NAN;
    size_t count = 0;
    for (size_t i = 0; errors && i < measured->point_count; i++) {
        const struct measured_point *point = &measured->points[i];
        const struct dataset *about = &measured->sets[point->set].about;
        if (run->held_out[i] == held_out && about->check == of_checks && !about->counter &&
            point->size_B >= low_B && point->size_B < high_B)
            errors[count++] = fabs(point->predicted / point->measured - 1);
    }
    if (count > 0)
        median = middle(errors, count);
    free(errors);
    if (ret_count)
        *ret_count = count;
    return median;
}

/* ---- scatter of single measurements
 * --------------------------------------------------------------- */

/* Where times decide, and where rates do. */
struct scatter {
    const char *name;
    double low_B, high_B;
    const char *sizes;
};

static const struct scatter scatters[] = {
    {"time_scatter", 0, SMALL_B, "below 64 KiB"},
    {"rate_scatter", 16 * SMALL_B, (double)INFINITY, "from 1 MiB"},
};

/* One line each: the value, or why there is none; or only the latter, each after `before`. */
static void write_scatters(const struct calibration_run *run, bool left_out, const char *before,
                           struct text *text)
{
    for (size_t i = 0; i < sizeof scatters / sizeof scatters[0]; i++) {
        const struct scatter *what = &scatters[i];
        size_t count;
        double median = median_of(run, false, false, what->low_B, what->high_B, &count);
        if (count < SCATTER_POINTS)
            text_printf(text, "%s%s left out: points fitted %s: %zu, needed: %d\n", before,
                        what->name, what->sizes, count, SCATTER_POINTS);
        else if (!left_out)
            text_printf(text, "  %s: %.3g %%\n", what->name, 148.26 * median);
    }
}

enum status calibrate_report(struct calibration_run *run, struct text *text, struct error *error)
{
    const struct fit_report *report = &run->report;
    size_t count, fitted;
    text_printf(text, "# %s\n# %zu points fitted, %zu wild ones among them, scatter %.2f %%\n",
                run->command, report->used, report->outliers, 100 * report->sigma);
    enum status status = write_parameters(run, text, error);
    if (status)
        return status;
    text_printf(text, "singular values of the last fit:");
    for (size_t i = 0; i < report->singular_count; i++)
        text_printf(text, " %.3g", report->singular[i]);
    text_printf(text, "\n");
    status = calibrate_correlations(run, text, error);
    if (status)
        return status;
    text_printf(text, "\nMedian error of each run:\n");
    status = write_sets(run, text, error);
    if (status)
        return status;
    double in = median_of(run, false, false, 0, (double)INFINITY, &fitted);
    double out = median_of(run, true, false, 0, (double)INFINITY, &count);
    text_printf(text, "\nfitted: median error %.2f %% of %zu points", 100 * in, fitted);
    if (count > 0)
        text_printf(text, "; held out of the same runs: %.2f %% of %zu", 100 * out, count);
    double check = median_of(run, true, true, 0, (double)INFINITY, &count);
    if (count > 0)
        text_printf(text, "; runs only checked: %.2f %% of %zu", 100 * check, count);
    text_printf(text, "\n");
    write_scatters(run, true, "", text);
    return STATUS_OK;
}

/* ---- the file
 * -------------------------------------------------------------------------------------- */

struct leaf {
    char path[160]; /* "node.links.cpu0-gpu0.rate" */
    size_t parameter;
};

struct leaves {
    struct leaf *at;
    size_t count;
};

/* Once each; STATUS_NOMEM or fine. */
static enum status add_leaf(struct leaves *all, const char *path, size_t parameter)
{
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].path, path) == 0)
            return STATUS_OK;
    struct leaf *grown = realloc(all->at, (all->count + 1) * sizeof *grown);
    if (!grown)
        return STATUS_NOMEM;
    all->at = grown;
    snprintf(grown[all->count].path, sizeof grown->path, "%s", path);
    grown[all->count++].parameter = parameter;
    return STATUS_OK;
}

/* Paths of everything that a key names in a machine; the key itself where that has no such. */
static enum status expand(const struct machine *machine, const char *key, size_t parameter,
                          struct leaves *all)
{
    struct addresses found;
    char path[sizeof all->at->path];
    enum status status = address_find(machine, key, &found, NULL);
    if (status == STATUS_INPUT)
        return add_leaf(all, key, parameter);
    for (size_t i = 0; i < found.count && !status; i++) {
        address_key(machine, &found.at[i], path, sizeof path);
        status = add_leaf(all, path, parameter);
    }
    free(found.at);
    return status;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct leaf *)a)->path, ((const struct leaf *)b)->path);
}

/* All digits that matter, in a unit that people read. */
static void print_value(struct text *text, enum param_id id, double value)
{
    switch (param_info(id)->dimension) {
    case DIM_TIME:
        text_printf(text, "%.7g us", value * 1e6);
        return;
    case DIM_RATE:
        text_printf(text, "%.7g GB/s", value / 1e9);
        return;
    case DIM_BYTES:
        text_printf(text, "%.7g B", value);
        return;
    default:
        text_printf(text, "%.7g", value);
    }
}

/* Open the maps that this path needs and the one before it did not. */
static void open_maps(struct text *text, const char *before, const char *path)
{
    size_t same = 0, depth = 0;
    while (before[same] && before[same] == path[same])
        same++;
    while (same > 0 && path[same - 1] != '.')
        same--;
    for (size_t i = 0; i < same; i++)
        depth += path[i] == '.';
    const char *at = path + same, *dot;
    while ((dot = strchr(at, '.'))) {
        text_printf(text, "%*s%.*s:\n", (int)(2 * depth++), "", (int)(dot - at), at);
        at = dot + 1;
    }
    text_printf(text, "%*s%s: ", (int)(2 * depth), "", at);
}

static void size_range(const struct calibration_run *run, double *ret_low, double *ret_high)
{
    *ret_low = (double)INFINITY;
    *ret_high = 0;
    for (size_t i = 0; i < run->measured.point_count; i++)
        if (!run->held_out[i] && !run->measured.sets[run->measured.points[i].set].about.counter) {
            *ret_low = fmin(*ret_low, run->measured.points[i].size_B);
            *ret_high = fmax(*ret_high, run->measured.points[i].size_B);
        }
}

/* Values that each run has for itself. */
static void write_runs(const struct calibration_run *run, struct text *text)
{
    bool any = false;
    for (size_t i = 0; i < run->measured.set_count; i++) {
        bool first = true;
        for (size_t j = 0; j < run->count; j++) {
            if (run->what[j].set != i)
                continue;
            for (size_t k = 0; k < run->what[j].entry->key_count; k++) {
                text_printf(text, "%s", any ? "" : "  runs:\n");
                if (first)
                    text_printf(text, "    \"%s\": {", run->measured.sets[i].about.name);
                text_printf(text, "%s%s: ", first ? "" : ", ", run->what[j].entry->keys[k]);
                print_value(text, run->what[j].id, run->parameters[j].value);
                any = true;
                first = false;
            }
        }
        text_printf(text, "%s", first ? "" : "}\n");
    }
}

/* Not what the data cannot tell; of a value for each data set, the median of the others. */
static bool is_written(const struct calibration_run *run, const struct leaf *leaf)
{
    return run->parameters[leaf->parameter].state != FIT_UNKNOWN ||
           run->what[leaf->parameter].set != EVERY_SET;
}

/* The relative error of each key. Keys of one entry of the block `fit` are one unknown: they say
 * what they were fitted as, the entry's keys. */
static void write_errors(const struct calibration_run *run, const struct leaves *all,
                         struct text *text)
{
    bool any = false;
    for (size_t i = 0; i < all->count; i++) {
        const struct leaf *leaf = &all->at[i];
        const struct fit_entry *entry = run->what[leaf->parameter].entry;
        double error_of, value = value_of(run, leaf->parameter, &error_of);
        size_t together = 0;
        if (!is_written(run, leaf))
            continue;
        for (size_t k = 0; k < all->count; k++)
            together += run->what[all->at[k].parameter].entry == entry;
        text_printf(text, "%s    %s: ", any ? "" : "  values:\n", leaf->path);
        any = true;
        bool alone = together == 1 && strcmp(entry->keys[0], leaf->path) == 0;
        text_printf(text, "%s", alone ? "" : "{error: ");
        if (isnan(error_of))
            text_printf(text, "%s", CALIBRATION_AT_BOUND);
        else
            text_printf(text, "%.3g %%", 100 * error_of / value);
        text_printf(text, "%s", alone ? "\n" : ", fitted_as: \"");
        if (alone)
            continue;
        calibrate_fitted_as(entry, text);
        text_printf(text, "\"}\n");
    }
}

enum status calibrate_overlay(struct calibration_run *run, struct text *text, struct error *error)
{
    struct leaves all = {NULL, 0};
    size_t runs = 0, fitted;
    double low_B, high_B;
    const char *before = "";
    for (size_t j = 0; j < run->count; j++)
        for (size_t k = 0; k < run->what[j].entry->key_count; k++)
            if (expand(&run->measured.scenario.machine, run->what[j].entry->keys[k], j, &all)) {
                free(all.at);
                return error_set(error, STATUS_NOMEM, "out of memory");
            }
    struct leaf *leaves = all.at;
    size_t count = all.count;
    for (size_t i = 0; i < run->measured.set_count; i++)
        runs += !run->measured.sets[i].about.check;
    if (leaves)
        qsort(leaves, count, sizeof *leaves, by_path);
    size_range(run, &low_B, &high_B);
    char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
    units_format(low_B, DIM_BYTES, low, sizeof low);
    units_format(high_B, DIM_BYTES, high, sizeof high);
    text_printf(text, "# Fitted values, written by: %s\n# %zu points of %zu runs, %s to %s\n",
                run->command, run->report.used, runs, low, high);
    if (calibrate_few_points(run, &fitted))
        text_printf(
            text,
            "# fewer than %d points for each of %zu fitted values: they may follow single points\n",
            FEW_POINTS_A_VALUE, fitted);
    for (size_t i = 0; i < count; i++) {
        enum param_id id = run->what[leaves[i].parameter].id;
        double error_of, value = value_of(run, leaves[i].parameter, &error_of);
        bool each = run->what[leaves[i].parameter].set != EVERY_SET;
        if (!is_written(run, &leaves[i]))
            continue;
        open_maps(text, before, leaves[i].path);
        before = leaves[i].path;
        text_printf(text, "{value: ");
        print_value(text, id, value);
        text_printf(text, ", source: \"%s%s", each ? "fitted to each run, median" : "fitted",
                    is_poor(value, error_of) ? ", poorly determined," : "");
        if (isnan(error_of)) {
            text_printf(text, ", at its bound");
        } else {
            text_printf(text, " +- ");
            print_value(text, id, error_of);
        }
        text_printf(text, " on %s to %s, %zu runs; %s\"}\n", low, high, runs, run->command);
    }
    text_printf(text, "calibration:\n  from: %.0f B\n  to: %.0f B\n", low_B, high_B);
    write_scatters(run, false, "  # ", text);
    write_errors(run, &all, text);
    calibrate_write_correlation(run, text);
    write_runs(run, text);
    free(leaves);
    return STATUS_OK;
}
