/* cmd_calibrate.c: gdsim calibrate: fit named parameters to measured runs. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/calibrate.h"
#include "sim/core/units.h"
#include "sim/report/output.h"
#include "sim/study/blocks.h"

#define MAX_FILES 64

enum { KEY_HOLD_OUT = 310, KEY_SEED };

static const char doc[] =
    "Fit the parameters that the scenario's block `fit` names to the measured runs of its block "
    "`data` (or of --data), and write them as a file that any scenario can extend. Residuals are "
    "relative, wild points count little, values stay within their bounds, and what the data cannot "
    "tell keeps its source value. Data sets with `use: check`, and a share of the points, take no "
    "part and are only compared.\v"
    "Example:\n"
    "  gdsim calibrate scenarios/h200x2/calibrate.yaml -o out/h200x2.yaml\n";

struct calibrate_options {
    struct options common;
    const char *files[MAX_FILES];
    size_t count;
    double hold_out;
    unsigned long seed;
};

static const struct argp_option option_table[] = {
    {"data", 'd', "LOG", 0, "a measured run; may be repeated (default: the block `data`)", 0},
    {"hold-out", KEY_HOLD_OUT, "SHARE", 0, "of the points, drawn by --seed (default 20 %)", 0},
    {"seed", KEY_SEED, "N", 0, "which points are held out (default 1)", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct calibrate_options *options = state->input;
    struct error error;
    char *end;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case 'd':
        if (options->count == MAX_FILES)
            argp_error(state, "at most %d files", MAX_FILES);
        options->files[options->count++] = arg;
        return 0;
    case KEY_HOLD_OUT:
        if (units_parse(arg, strlen(arg), DIM_FRACTION, &options->hold_out, &error))
            argp_error(state, "--hold-out: %s", error.message);
        if (!(options->hold_out >= 0 && options->hold_out <= 0.9))
            argp_error(state, "--hold-out is 0 to 90 %%");
        return 0;
    case KEY_SEED:
        options->seed = strtoul(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end)
            argp_error(state, "--seed takes a whole number");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- parameters
 * ---------------------------------------------------------------------------------- */

/* A machine of the data sets that has the key: the parameter, and the value it has there. */
static bool find_key(const struct calibration_run *run, const char *key, struct address *ret,
                     double *ret_value)
{
    for (size_t i = 0; i < run->measured.set_count; i++) {
        const struct machine *machine = &run->measured.sets[i].scenario.machine;
        if (address_first(machine, key, ret) && ret->place != ADDRESS_NODES) {
            *ret_value = address_get(machine, ret);
            return true;
        }
    }
    return false;
}

/* A bound as text in the key's unit; by default a hundred times less or more. */
static bool read_bound(struct calibration_run *run, enum param_id id, const char *text,
                       struct mark mark, double *value)
{
    struct error error;
    if (!text || !param_parse(id, text, strlen(text), value, &error))
        return true;
    diag_add_error(&run->measured.scenario.diag, mark, &error);
    return false;
}

/* One parameter of the fit; false with a mistake noted. */
static bool add_parameter(struct calibration_run *run, const struct fit_entry *entry, size_t set,
                          enum param_id id, double value)
{
    struct diag_list *diag = &run->measured.scenario.diag;
    if (run->count == FIT_MAX_PARAMETERS) {
        diag_add(diag, entry->mark, NULL, "more than %d values to fit", FIT_MAX_PARAMETERS);
        return false;
    }
    struct calibrated *what = &run->what[run->count];
    struct fit_parameter *parameter = &run->parameters[run->count++];
    const struct param_info *info = param_info(id);
    *what = (struct calibrated){.entry = entry, .set = set, .id = id};
    snprintf(what->name, sizeof what->name, "%s%s%s", entry->name, set == EVERY_SET ? "" : ": ",
             set == EVERY_SET ? "" : run->measured.sets[set].about.name);
    *parameter = (struct fit_parameter){.name = what->name,
                                        .source = value,
                                        .low = fmax(value / 100, info->minimum),
                                        .high = fmin(value * 100, info->maximum)};
    if (!read_bound(run, id, entry->low_text, entry->low_mark, &parameter->low) ||
        !read_bound(run, id, entry->high_text, entry->high_mark, &parameter->high))
        return false;
    if (!(parameter->low > 0) || !(parameter->low < parameter->high) ||
        !isfinite(parameter->high)) {
        diag_add(diag, entry->mark, "write for example low: 1 us, high: 100 us",
                 "%s needs bounds above 0", entry->name);
        return false;
    }
    /* A source value of 0 or without limit says nothing: start in the middle. */
    parameter->start = value;
    if (!(value >= parameter->low && value <= parameter->high))
        parameter->start = sqrt(parameter->low * parameter->high);
    return true;
}

/* What a data set sets itself is its own, and not fitted there. */
static bool sets_itself(const struct dataset *about, const struct fit_entry *entry)
{
    for (size_t i = 0; i < about->set_count; i++)
        for (size_t k = 0; k < entry->key_count; k++) {
            size_t length = strlen(entry->keys[k]);
            if (strncmp(about->set[i], entry->keys[k], length) == 0 && about->set[i][length] == '=')
                return true;
        }
    return false;
}

/* Its times are fitted. */
static bool takes_part(const struct dataset *about)
{
    return !about->check && !about->counter;
}

/* In the block `data`, if it takes part or not. */
static bool is_listed(const struct calibration_run *run, const char *name)
{
    const struct datasets *all = &run->measured.datasets;
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return true;
    return false;
}

/* EVERY_SET: none. */
static size_t find_set(const struct calibration_run *run, const char *name)
{
    for (size_t i = 0; i < run->measured.set_count; i++)
        if (takes_part(&run->measured.sets[i].about) &&
            strcmp(run->measured.sets[i].about.name, name) == 0)
            return i;
    return EVERY_SET;
}

/* Why no machine of the data has the key, as --set would say it of the first of them. */
static void explain_key(struct calibration_run *run, const struct fit_entry *entry, const char *key)
{
    struct diag_list *diag = &run->measured.scenario.diag;
    struct addresses found = {0};
    struct error why = {0};
    const struct machine *machine = &run->measured.sets[0].scenario.machine;
    if (address_find(machine, key, &found, &why) == STATUS_INPUT)
        diag_add(diag, entry->mark, why.hint[0] ? why.hint : "a key is written as with --set",
                 "no machine of the data has \"%s\": %s", key, why.message);
    else
        diag_add(diag, entry->mark, NULL, "\"%s\" is no value that can be fitted", key);
    free(found.at);
}

static void open_entry(struct calibration_run *run, const struct fit_entry *entry)
{
    struct address at = {ADDRESS_NODES, 0, (enum param_id)0};
    double value = 0;
    for (size_t i = entry->key_count; i-- > 0;)
        if (!find_key(run, entry->keys[i], &at, &value)) {
            explain_key(run, entry, entry->keys[i]);
            return;
        }
    if (!entry->each && !add_parameter(run, entry, EVERY_SET, at.id, value))
        return;
    for (size_t i = 0; i < entry->own_count; i++) {
        size_t set = find_set(run, entry->own[i].name);
        if (set == EVERY_SET && !is_listed(run, entry->own[i].name))
            diag_add(&run->measured.scenario.diag, entry->own[i].mark, NULL,
                     "no data set has the name \"%s\"", entry->own[i].name);
        else if (set != EVERY_SET && !add_parameter(run, entry, set, at.id, value))
            return;
    }
    for (size_t i = 0; entry->each && i < run->measured.set_count; i++)
        if (takes_part(&run->measured.sets[i].about) &&
            !sets_itself(&run->measured.sets[i].about, entry) &&
            !add_parameter(run, entry, i, at.id, value))
            return;
}

/* ---- the model
 * ------------------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What an entry with a value for each data set is where a set has none of its own: the median. */
static double middle(const struct calibration_run *run, const struct fit_entry *entry,
                     const double *values)
{
    double own[FIT_MAX_PARAMETERS];
    size_t count = 0;
    for (size_t j = 0; j < run->count; j++)
        if (run->what[j].entry == entry)
            own[count++] = values[j];
    size_t known = 0; /* 0 is what one has that the data cannot tell */
    for (size_t j = 0; j < count; j++)
        if (own[j] > 0)
            own[known++] = own[j];
    count = known ? known : count;
    qsort(own, count, sizeof *own, by_value);
    return own[count / 2];
}

/* The parameter of an entry, whose first is `from`, that a set has: its own, or the one for all.
 * run->count: neither. */
static size_t parameter_of(const struct calibration_run *run, size_t from, size_t set)
{
    size_t found = run->count;
    for (size_t j = from; j < run->count && run->what[j].entry == run->what[from].entry; j++)
        if (run->what[j].set == set || (run->what[j].set == EVERY_SET && found == run->count))
            found = j;
    return found;
}

/* How many evaluations a fit will take is not known. */
static void tell(const struct calibration_run *run, size_t set)
{
    char passed[32];
    cli_duration(blocks_clock_s() - run->start_s, passed, sizeof passed);
    cli_step("fitting %zu values, %s: the model was evaluated %zu times, run %zu of %zu",
             run->count, passed, run->evaluations, set + 1, run->measured.set_count);
}

/* Predict one set; where no value that matters to it has changed, what it has still holds. */
static enum status predict_set(struct calibration_run *run, size_t set, const double *values,
                               struct error *error)
{
    struct predict_change changes[FIT_MAX_ENTRIES * FIT_MAX_KEYS];
    const bool *matters = &run->matters[set * FIT_MAX_PARAMETERS];
    double *last = &run->last[set * FIT_MAX_PARAMETERS];
    bool same = true;
    size_t count = 0;
    for (size_t j = 0; j < run->count; j++) {
        const struct fit_entry *entry = run->what[j].entry;
        if (j > 0 && run->what[j - 1].entry == entry)
            continue; /* not the first of its entry */
        if (sets_itself(&run->measured.sets[set].about, entry))
            continue;
        size_t at = parameter_of(run, j, set);
        double value = at < run->count ? values[at] : middle(run, entry, values);
        at = at < run->count ? at : j;
        same =
            same && (!matters[at] || !(last[at] < value || last[at] > value)) && !isnan(last[at]);
        last[at] = value;
        for (size_t k = 0; k < entry->key_count; k++)
            changes[count++] = (struct predict_change){entry->keys[k], value};
    }
    if (same && run->count > 0)
        return STATUS_OK;
    tell(run, set);
    return measured_predict(&run->measured, &run->measured.sets[set], changes, count, error);
}

static enum status model(void *context, const double *values, double *ret_predicted,
                         struct error *error)
{
    struct calibration_run *run = context;
    enum status status = STATUS_OK;
    run->evaluations++;
    for (size_t i = 0; i < run->measured.set_count && !status; i++)
        status = predict_set(run, i, values, error);
    for (size_t i = 0; i < run->measured.point_count && !status; i++)
        ret_predicted[i] = run->measured.points[i].predicted;
    return status;
}

/* A value matters to a set when its prediction moves between the value's bounds: predictions are
 * monotone in every rate and time. The last prediction, which is reported, takes no such
 * shortcut. */
static enum status find_what_matters(struct calibration_run *run, struct error *error)
{
    double values[FIT_MAX_PARAMETERS];
    size_t n = run->measured.point_count;
    double *low = calloc(n + 1, sizeof *low);
    enum status status = low ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t j = 0; j < run->count; j++)
        values[j] = run->parameters[j].start;
    for (size_t i = 0; i < run->measured.set_count * FIT_MAX_PARAMETERS; i++) {
        run->matters[i] = true;
        run->last[i] = (double)NAN;
    }
    for (size_t j = 0; j < run->count && !status; j++)
        for (size_t i = 0; i < run->measured.set_count && !status; i++) {
            const struct measured_set *set = &run->measured.sets[i];
            bool *matters = &run->matters[i * FIT_MAX_PARAMETERS + j], moves = false;
            if (run->what[j].set != EVERY_SET) {
                *matters = run->what[j].set == i || !takes_part(&set->about);
                continue;
            }
            values[j] = run->parameters[j].low;
            status = predict_set(run, i, values, error);
            for (size_t k = set->first; k < set->first + set->count; k++)
                low[k] = run->measured.points[k].predicted;
            values[j] = run->parameters[j].high;
            status = status ? status : predict_set(run, i, values, error);
            for (size_t k = set->first; k < set->first + set->count; k++)
                moves = moves || low[k] < run->measured.points[k].predicted ||
                        low[k] > run->measured.points[k].predicted;
            *matters = moves;
            values[j] = run->parameters[j].start;
        }
    free(low);
    return status;
}

/* splitmix64: which points are held out depends on the seed and on the point's number alone. */
static double draw(unsigned long seed, size_t point)
{
    uint64_t z = seed * 0x9E3779B97F4A7C15u + point * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static enum status prepare(struct calibration_run *run, const struct calibrate_options *options,
                           struct error *error)
{
    size_t n = run->measured.point_count;
    run->held_out = calloc(n + 1, sizeof *run->held_out);
    run->values = calloc(n + 1, sizeof *run->values);
    run->predicted = calloc(n + 1, sizeof *run->predicted);
    run->matters = calloc(run->measured.set_count * FIT_MAX_PARAMETERS, sizeof *run->matters);
    run->last = calloc(run->measured.set_count * FIT_MAX_PARAMETERS, sizeof *run->last);
    run->correlation = calloc(run->count * run->count + 1, sizeof *run->correlation);
    if (!run->held_out || !run->values || !run->predicted || !run->matters || !run->last ||
        !run->correlation)
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < n; i++) {
        const struct measured_point *point = &run->measured.points[i];
        run->values[i] = point->measured;
        const struct dataset *about = &run->measured.sets[point->set].about;
        run->held_out[i] = about->check || point->size_B > about->fit_to_B ||
                           draw(options->seed, i) < options->hold_out;
        run->measured.points[i].predicted = 1; /* until it is needed */
    }
    return STATUS_OK;
}

/* Only sizes with a point that is fitted need a prediction on the way; in the end, all do. */
static enum status need_sizes(struct calibration_run *run, bool all, struct error *error)
{
    for (size_t i = 0; i < run->measured.set_count; i++) {
        struct measured_set *set = &run->measured.sets[i];
        free(set->needed);
        set->needed = all ? NULL : calloc(set->size_count + 1, sizeof *set->needed);
        if (!all && !set->needed)
            return error_set(error, STATUS_NOMEM, "out of memory");
        for (size_t k = 0; !all && k < set->count; k++)
            if (!run->held_out[set->first + k])
                set->needed[set->size_of_point[k]] = true;
    }
    return STATUS_OK;
}

static enum status fit(struct calibration_run *run, struct error *error)
{
    struct fit_problem problem = {.parameters = run->parameters,
                                  .parameter_count = run->count,
                                  .measured = run->values,
                                  .held_out = run->held_out,
                                  .point_count = run->measured.point_count,
                                  .model = model,
                                  .context = run,
                                  .ret_correlation = run->correlation};
    double values[FIT_MAX_PARAMETERS];
    run->start_s = blocks_clock_s();
    enum status status = need_sizes(run, false, error);
    if (!status)
        status = find_what_matters(run, error);
    if (!status)
        status = fit_run(&problem, &run->report, run->predicted, error);
    for (size_t i = 0; i < run->measured.set_count * FIT_MAX_PARAMETERS; i++)
        run->last[i] = (double)NAN;
    for (size_t j = 0; j < run->count; j++)
        values[j] = run->parameters[j].value;
    if (!status)
        status = need_sizes(run, true, error);
    status = status ? status : model(run, values, run->predicted, error);
    cli_step_end();
    return status;
}

static void warn_few_points(const struct calibration_run *run)
{
    size_t values;
    if (calibrate_few_points(run, &values))
        fprintf(stderr,
                "gdsim: %zu points for %zu fitted values: fewer than %d a value, so the fit may "
                "follow single points, and its errors may be too small\n",
                run->report.used, values, FEW_POINTS_A_VALUE);
}

static int finish(struct calibration_run *run, const struct options *options)
{
    struct text report = {0}, overlay = {0};
    struct error error;
    warn_few_points(run);
    enum status status = calibrate_report(run, &report, &error);
    if (!status)
        status = calibrate_overlay(run, &overlay, &error);
    const char *path = options->output ? options->output : "out/calibrated.yaml";
    if (!status)
        status = output_write(path, overlay.data, overlay.length, &error);
    if (!status) {
        text_printf(&report, "\nwritten: %s; a scenario takes it with `extends: [..., %s]`\n", path,
                    path);
        status = output_write("-", report.data, report.length, &error);
    }
    text_free(&report);
    text_free(&overlay);
    return status ? cli_fail(&error) : EXIT_FINE;
}

static int calibrate(struct calibration_run *run, const struct calibrate_options *options)
{
    struct scenario *scenario = &run->measured.scenario;
    struct error error;
    for (size_t i = 0; i < run->measured.datasets.fit_count; i++)
        open_entry(run, &run->measured.datasets.fits[i]);
    if (diag_count(&scenario->diag) > 0)
        return cli_fail_scenario(scenario, STATUS_INPUT);
    if (run->count == 0) {
        bool block = run->measured.datasets.fit_count > 0;
        fprintf(stderr, "%s: nothing to fit: %s\n  hint: %s\n", options->common.file,
                block ? "no data set takes part in its block `fit`" : "it has no block `fit`",
                block ? "a data set takes part unless it has `use: check` or a counter"
                      : "write for example fit: [{key: software.launch, low: 1 us, high: 100 us}] "
                        "(scenarios/README.md)");
        return EXIT_BAD_INPUT;
    }
    enum status status = prepare(run, options, &error);
    if (!status)
        status = fit(run, &error);
    return status ? cli_fail(&error) : finish(run, &options->common);
}

int cmd_calibrate(int argc, char **argv)
{
    struct calibrate_options options = {.hold_out = 0.2, .seed = 1};
    struct calibration_run run = {.count = 0};
    char command[512];
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    snprintf(command, sizeof command, "gdsim calibrate %s", options.common.file);
    run.command = command;
    int code = cli_refuse_format(&options.common, "a calibration");
    if (code)
        return code;
    code = measured_open(&options.common, options.files, options.count, &run.measured);
    if (!code)
        code = calibrate(&run, &options);
    free(run.held_out);
    free(run.values);
    free(run.predicted);
    free(run.correlation);
    free(run.matters);
    free(run.last);
    measured_close(&run.measured);
    return code;
}
