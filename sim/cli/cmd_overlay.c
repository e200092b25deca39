/* cmd_overlay.c: gdsim overlay: measured beside predicted, and what would explain the difference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/measured.h"
#include "sim/cli/overlay_ways.h"
#include "sim/report/grid.h"
#include "sim/report/head.h"
#include "sim/report/limit.h"
#include "sim/study/blocks.h"
#include "sim/study/diagnose.h"

#define MAX_FILES  64
#define DIAGNOSES  4
#define MOST_SIZES 8    /* of a data set, for the diagnosis: each is run some hundred times */
#define FEW_SIZES  3    /* where runs are long */
#define LONG_RUNS  5000 /* events in the mean run of a data set's sizes */
#define CLOSE      1.05
#define SMALL_GAIN 0.1 /* a change that closes less of the gap (ln) than this explains nothing */

enum { KEY_NO_DIAGNOSIS = 300 };

static const char doc[] =
    "Lay measured runs (any output that gdsim import reads) beside what the scenario predicts, "
    "size by size, and name the change of a state or a value (two, where none alone does) that "
    "would explain the difference best, and the options for another algorithm, protocol or path "
    "where "
    "that comes closer.\v"
    "Without --data: the scenario's own block `data`. Sizes and mechanisms of that block go with "
    "the files it names; any other file is compared with the scenario's own job.\n"
    "Example:\n"
    "  gdsim overlay scenarios/field-guide/peermem.yaml --data all_reduce.log\n";

struct overlay_options {
    struct options common;
    const char *files[MAX_FILES];
    size_t count;
    bool no_diagnosis;
};

static const struct argp_option option_table[] = {
    {"data", 'd', "LOG", 0, "a measured run; may be repeated", 0},
    {"no-diagnosis", KEY_NO_DIAGNOSIS, NULL, 0, "only the table", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct overlay_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case 'd':
        if (options->count == MAX_FILES)
            argp_error(state, "at most %d files", MAX_FILES);
        options->files[options->count++] = arg;
        return 0;
    case KEY_NO_DIAGNOSIS:
        options->no_diagnosis = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

enum column { NAME, SIZE, MEASURED, PREDICTED, RATIO, BUSBW, LIMIT };

static const struct grid_column columns[] = {
    [NAME] = {.name = "data", .kind = GRID_TEXT},
    [SIZE] = {.name = "size_bytes", .title = "size B", .kind = GRID_REAL, .decimals = 0},
    [MEASURED] = {.name = "measured_us", .title = "measured us", .kind = GRID_REAL, .decimals = 2},
    [PREDICTED] = {.name = "predicted_us",
                   .title = "predicted us",
                   .kind = GRID_REAL,
                   .decimals = 2},
    [RATIO] = {.name = "predicted_over_measured",
               .title = "predicted/measured",
               .kind = GRID_REAL,
               .decimals = 2},
    [BUSBW] = {.name = "measured_busbw_GBps",
               .title = "measured busbw GB/s",
               .kind = GRID_REAL,
               .decimals = 2,
               .small = true},
    [LIMIT] = {.name = "limit", .title = "prediction limited by", .kind = GRID_TEXT},
};

/* The geometric mean over the points of one size, out of place and in place together: their time,
 * or the busbw that the run printed; NAN: none. */
static double measured_at(const struct measured *measured, const struct measured_set *set,
                          size_t size, bool busbw)
{
    double sum = 0, count = 0, last = (double)NAN;
    for (size_t i = 0; i < set->count; i++) {
        const struct measured_point *point = &measured->points[set->first + i];
        double value = busbw ? measured->all.items[point->observation].busbw_Bps : point->measured;
        if (set->size_of_point[i] == size && value > 0) {
            sum += log(last = value);
            count++;
        }
    }
    return count > 1 ? exp(sum / count) : last; /* one as it is, to the last digit */
}

/* Whether some rows of the table are the mean of several measurements. */
static bool merges(const struct measured *measured)
{
    for (size_t i = 0; i < measured->set_count; i++)
        if (!measured->sets[i].about.counter &&
            measured->sets[i].count > measured->sets[i].size_count)
            return true;
    return false;
}

/* Adds to *events those that the run was gone through for, without what only repeats others. */
static enum status limit_at(struct measured_set *set, double size_B, double *ret_s,
                            char ret_limit[LIMIT_NAME_MAX], uint64_t *events, struct error *error)
{
    struct ledger ledger;
    struct engine_job job;
    enum status status =
        experiment_job(&set->pair.experiment, 0, size_B, set->scenario.accounting, &job, error);
    if (!status)
        status = engine_run(&job, &ledger, error);
    if (status)
        return status;
    *ret_s = (double)ledger.total_ps * 1e-12;
    if (ledger.slices > 0)
        *events += (uint64_t)((double)ledger.events * (double)(ledger.slices - ledger.skipped) /
                              (double)ledger.slices);
    int64_t critical_ps;
    limit_of(&ledger, job.routes->machine, ret_limit, &critical_ps);
    ledger_free(&ledger);
    return STATUS_OK;
}

static enum status add_set(struct measured *measured, struct measured_set *set, struct grid *grid,
                           double *measured_s, uint64_t *events, struct error *error)
{
    for (size_t i = 0; i < set->size_count; i++) {
        double predicted_s;
        char limit[LIMIT_NAME_MAX];
        enum status status = limit_at(set, set->sizes_B[i], &predicted_s, limit, events, error);
        if (status)
            return status;
        measured_s[i] = measured_at(measured, set, i, false);
        double busbw = measured_at(measured, set, i, true);
        grid_row(grid);
        grid_set_text(grid, NAME, set->about.name);
        grid_set_real(grid, SIZE, set->sizes_B[i]);
        grid_set_real(grid, MEASURED, measured_s[i] * 1e6);
        grid_set_real(grid, PREDICTED, predicted_s * 1e6);
        grid_set_real(grid, RATIO, predicted_s / measured_s[i]);
        if (!isnan(busbw))
            grid_set_real(grid, BUSBW, busbw / 1e9);
        grid_set_text(grid, LIMIT, limit);
    }
    return STATUS_OK;
}

/* What logs prove, beside what the scenario believes. */
static void evidence(const struct measured *measured, struct text *text)
{
    for (size_t i = 0; i < measured->all.run_count; i++) {
        const struct observed_run *run = &measured->all.runs[i];
        const struct observed_channels *ways = &run->channels;
        if (run->gdr_disabled)
            text_printf(text, "%s says: GPU Direct RDMA disabled for a NIC (%u lines)\n", run->file,
                        run->gdr_disabled);
        if (ways->net_staged)
            text_printf(text, "%s says: %u network connections without GDRDMA, %u with\n",
                        run->file, ways->net_staged, ways->net_gdr);
        if (ways->shm)
            text_printf(text, "%s says: %u connections through shared host memory, %u by P2P\n",
                        run->file, ways->shm, ways->p2p);
        if (run->compat_ops > 0)
            text_printf(text, "%s says: %.0f storage operations in compatibility mode\n", run->file,
                        run->compat_ops);
    }
}

/* `long_runs`: at fewer sizes, and no pairs of changes. Which depends on the runs, not on the
 * clock. */
static enum status explain(struct measured *measured, double *const *measured_s, bool long_runs,
                           struct text *text, struct error *error)
{
    const size_t most = long_runs ? FEW_SIZES : MOST_SIZES;
    size_t points = 0, of = 0;
    struct diagnosis found[DIAGNOSES];
    size_t count;
    double gap;
    struct diagnose_job *jobs = calloc(measured->set_count, sizeof *jobs);
    double *values = calloc(measured->set_count * 2 * MOST_SIZES + 1, sizeof *values);
    enum status status =
        jobs && values ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    size_t job_count = 0;
    for (size_t i = 0; i < measured->set_count && !status; i++) {
        const struct measured_set *set = &measured->sets[i];
        if (set->about.counter)
            continue;
        double *sizes_B = &values[i * 2 * MOST_SIZES], *times_s = sizes_B + MOST_SIZES;
        size_t kept = set->size_count < most ? set->size_count : most;
        points += kept;
        of += set->size_count;
        for (size_t k = 0; k < kept; k++) {
            size_t from = kept > 1 ? k * (set->size_count - 1) / (kept - 1) : 0;
            sizes_B[k] = set->sizes_B[from];
            times_s[k] = measured_s[i][from];
        }
        jobs[job_count++] = (struct diagnose_job){experiment_predict_job(&set->pair.experiment, 0),
                                                  sizes_B, times_s, kept};
    }
    if (!status)
        status = diagnose(jobs, job_count, !long_runs, found, DIAGNOSES, &count, &gap, error);
    struct text ways = {0};
    if (!status && gap >= CLOSE)
        status = overlay_ways(measured, jobs, job_count, CLOSE, &ways, error);
    free(jobs);
    free(values);
    if (status) {
        text_free(&ways);
        return status;
    }
    text_printf(text, "\nPredictions are off by a factor of %.2f (geometric mean", gap);
    if (points < of)
        text_printf(text, " of %zu of the %zu sizes", points, of);
    text_printf(text, ").\n");
    if (long_runs)
        text_printf(text, "Runs are long here: changes were tried alone, not in pairs.\n");
    evidence(measured, text);
    if (gap < CLOSE) {
        text_printf(text, "That is close: nothing needs to be explained.\n");
        return STATUS_OK;
    }
    if (ways.length)
        text_printf(text, "%s", ways.data);
    text->failed |= ways.failed;
    text_free(&ways);
    size_t shown = 0;
    for (size_t i = 0; i < count; i++) {
        if (log(found[i].gap) > (1 - SMALL_GAIN) * log(gap))
            break;
        text_printf(text, "%s %s: then off by a factor of %.2f\n",
                    shown++ == 0 ? "What would explain it best:\n -" : " -", found[i].what,
                    found[i].gap);
    }
    if (shown == 0)
        text_printf(text, "No change of a state or a value explains it: more things differ, or the "
                          "job does (algorithm, ranks, sizes).\n");
    return STATUS_OK;
}

/* What has been found so far goes to the terminal before the long search begins. */
static int write_part(const struct options *options, struct text *text)
{
    if (options->output)
        return EXIT_FINE; /* a file is written once, whole */
    int code = cli_write(options, text);
    text->length = 0;
    return code;
}

static void announce(const struct measured *measured, bool long_runs, double seconds)
{
    enum { PREDICTIONS = 500 }; /* of each point; see diagnose.h */
    char left[32];
    size_t sizes = 0, kept = 0;
    for (size_t i = 0; i < measured->set_count; i++) {
        size_t count = measured->sets[i].size_count;
        sizes += count;
        kept += count < FEW_SIZES ? count : FEW_SIZES;
    }
    if (!long_runs || sizes == 0)
        return;
    cli_duration(seconds * (double)kept / (double)sizes * PREDICTIONS, left, sizeof left);
    fprintf(stderr,
            "gdsim: looking for what would explain the difference takes about %s; --no-diagnosis "
            "leaves it out\n",
            left);
}

/* How the predictions were reckoned: a line for all data sets of which it is true. */
static void write_head(const struct measured *measured, struct text *text)
{
    struct text line = {0};
    for (size_t i = 0; i < measured->set_count; i++) {
        const struct scenario *scenario = &measured->sets[i].scenario;
        text_truncate(&line, 0);
        head_write(&line, &scenario->machine, scenario->accounting, scenario->transfer_count == 0);
        if (!line.failed && !(text->length && strstr(text->data, line.data)))
            text_printf(text, "%s", line.data);
    }
    text->failed |= line.failed;
    text_free(&line);
}

static enum status overlay(const struct overlay_options *options, struct measured *measured,
                           struct text *text, int *ret_code, struct error *error)
{
    struct grid *grid = grid_new();
    double **measured_s = calloc(measured->set_count, sizeof *measured_s);
    const double start_s = blocks_clock_s();
    uint64_t events = 0;
    size_t runs = 0;
    const char *format = options->common.format ? options->common.format : "table";
    enum status status = measured_s ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < measured->set_count && !status; i++) {
        struct measured_set *set = &measured->sets[i];
        measured_s[i] = calloc(set->size_count + 1, sizeof *measured_s[i]);
        if (!measured_s[i])
            status = error_set(error, STATUS_NOMEM, "out of memory");
        else if (!set->about.counter) /* counters have no time to lay beside */
            status = add_set(measured, set, grid, measured_s[i], &events, error);
        runs += set->size_count;
    }
    bool table = strcmp(format, "table") == 0;
    if (!status && table)
        write_head(measured, text);
    if (!status)
        status = table                        ? grid_write_table(grid, text, error)
                 : strcmp(format, "csv") == 0 ? grid_write_csv(grid, text, error)
                                              : grid_write_json(grid, text, error);
    if (!status && table && merges(measured))
        text_printf(text, "measured: the geometric mean of what a size has, such as out of place "
                          "and in place\n");
    if (!status && table && !options->no_diagnosis) {
        const bool long_runs = events > LONG_RUNS * runs;
        *ret_code = write_part(&options->common, text);
        announce(measured, long_runs, blocks_clock_s() - start_s);
        status = explain(measured, measured_s, long_runs, text, error);
    }
    for (size_t i = 0; measured_s && i < measured->set_count; i++)
        free(measured_s[i]);
    free(measured_s);
    grid_free(grid);
    return status;
}

int cmd_overlay(int argc, char **argv)
{
    struct overlay_options options = {0};
    struct measured measured;
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    int code = measured_open(&options.common, options.files, options.count, &measured);
    if (!code) {
        int part = EXIT_FINE;
        code = overlay(&options, &measured, &text, &part, &error)
                   ? cli_fail(&error)
                   : cli_write(&options.common, &text);
        code = code ? code : part;
    }
    text_free(&text);
    measured_close(&measured);
    return code;
}
