/* cmd_whatif.c: gdsim whatif: before and after. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/report/grid.h"
#include "sim/study/remedy.h"

static const char doc[] =
    "Compare the scenario as it is with the scenario changed by --set, or with every remedy and "
    "upgrade that applies (--each), ranked by gain.\v"
    "Examples:\n"
    "  gdsim whatif scenarios/worked-table.yaml -m gdr --set 'node.devices.nic0.rate=400 Gb/s'\n"
    "  gdsim whatif scenarios/field-guide/acs.yaml --each\n";

struct whatif_options {
    struct options shared;
    bool each;
};

static const struct argp_option option_table[] = {
    {"each", 'e', NULL, 0, "try every change that is known, ranked by gain", 0}, {0}};
static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct whatif_options *options = state->input;
    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &options->shared;
        return 0;
    }
    if (key != 'e')
        return ARGP_ERR_UNKNOWN;
    options->each = true;
    return 0;
}

/* One run: the last size by the first mechanism. */
struct point {
    double time_us, busbw_GBps;
    char limit[96], taken[48];
};

static enum status measure(struct experiment *experiment, struct point *ret, struct error *error)
{
    struct results results;
    enum status status =
        experiment_run(experiment, experiment->scenario->accounting, &results, error);
    if (status)
        return status;
    size_t last = results.size_count - 1;
    const struct ledger *ledger = results_at(&results, last, 0);
    const struct routes *routes = experiment->columns[0].routes;
    const struct route *worst = NULL;
    for (size_t slot = 0; slot < ledger->route_count; slot++)
        if (ledger->route_bytes[slot] > 0 &&
            (!worst || route_worst(routes->slot[slot]) > route_worst(worst)))
            worst = routes->slot[slot];
    ret->time_us = (double)ledger->total_ps / 1e6;
    ret->busbw_GBps = results_busbw_Bps(&results, last, 0) / 1e9;
    snprintf(ret->limit, sizeof ret->limit, "%s",
             ledger_category_name(ledger, results.machine, ledger_limit(ledger)));
    snprintf(ret->taken, sizeof ret->taken, "%s", worst ? worst->taken->title : "none");
    experiment_free_results(&results);
    return status;
}

static enum status measure_scenario(const struct scenario *scenario, const char *algorithm,
                                    struct point *ret, struct error *error)
{
    struct experiment experiment;
    enum status status = experiment_open(&experiment, scenario, algorithm, error);
    if (status)
        return status;
    status = measure(&experiment, ret, error);
    experiment_close(&experiment);
    return status;
}

static const struct grid_column columns[] = {
    {.name = "change", .kind = GRID_TEXT},
    {.name = "kind", .kind = GRID_TEXT},
    {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 2},
    {.name = "busbw_GBps", .title = "busbw GB/s", .kind = GRID_REAL, .decimals = 2},
    {.name = "gain", .title = "times faster", .kind = GRID_REAL, .decimals = 2},
    {.name = "taken", .title = "path", .kind = GRID_TEXT},
    {.name = "limit", .title = "limited by", .kind = GRID_TEXT},
};

static void add_row(struct grid *grid, const char *change, const char *kind,
                    const struct point *before, const struct point *point)
{
    grid_row(grid);
    grid_set_text(grid, 0, change);
    grid_set_text(grid, 1, kind);
    grid_set_real(grid, 2, point->time_us);
    grid_set_real(grid, 3, point->busbw_GBps);
    grid_set_real(grid, 4, before->time_us / point->time_us);
    grid_set_text(grid, 5, point->taken);
    grid_set_text(grid, 6, point->limit);
}

struct tried {
    const struct remedy *remedy;
    struct point point;
};

static int by_gain(const void *a, const void *b)
{
    const struct tried *x = a, *y = b;
    if (x->point.time_us < y->point.time_us)
        return -1;
    if (x->point.time_us > y->point.time_us)
        return 1;
    return x->remedy < y->remedy ? -1 : x->remedy > y->remedy;
}

/* The scenario with another machine; it shares everything else with the original. */
static enum status try_remedy(const struct scenario *scenario, const char *algorithm,
                              const struct remedy *remedy, struct point *ret, bool *ret_applies,
                              struct error *error)
{
    struct scenario changed = *scenario;
    enum status status =
        remedy_apply(remedy, &scenario->machine, &changed.machine, ret_applies, error);
    if (status || !*ret_applies)
        return status;
    status = measure_scenario(&changed, algorithm, ret, error);
    machine_free(&changed.machine);
    return status;
}

/* Changes that gain less are named together, in tables for people. */
#define NO_GAIN 1.005

static enum status each(const struct scenario *scenario, const char *algorithm,
                        const struct point *before, bool people, struct grid *grid,
                        struct text *idle, struct error *error)
{
    struct tried tried[64];
    size_t count = 0;
    for (size_t i = 0; i < remedy_count; i++) {
        bool applies;
        tried[count].remedy = &remedy_table[i];
        enum status status =
            try_remedy(scenario, algorithm, &remedy_table[i], &tried[count].point, &applies, error);
        if (status)
            return status;
        count += applies;
    }
    qsort(tried, count, sizeof tried[0], by_gain);
    *idle = (struct text){0};
    for (size_t i = 0; i < count; i++)
        if (before->time_us < tried[i].point.time_us * NO_GAIN)
            text_printf(idle, "%s%s",
                        idle->length ? "; " : "without effect here: ", tried[i].remedy->name);
    for (size_t i = 0; i < count; i++)
        if (!people || before->time_us >= tried[i].point.time_us * NO_GAIN)
            add_row(grid, tried[i].remedy->name, tried[i].remedy->upgrade ? "upgrade" : "remedy",
                    before, &tried[i].point);
    return STATUS_OK;
}

static int write_out(const struct options *options, const struct grid *grid,
                     const struct text *idle)
{
    struct text text = {0};
    struct error error;
    const char *format = options->format ? options->format : "table";
    enum status status = strcmp(format, "csv") == 0    ? grid_write_csv(grid, &text, &error)
                         : strcmp(format, "json") == 0 ? grid_write_json(grid, &text, &error)
                                                       : grid_write_table(grid, &text, &error);
    if (strcmp(format, "table") == 0 && idle->length)
        text_printf(&text, "%s\n", idle->data);
    int code = status ? cli_fail(&error) : cli_write(options, &text);
    text_free(&text);
    return code;
}

int cmd_whatif(int argc, char **argv)
{
    struct whatif_options options = {0};
    struct options as_is;
    struct scenario before, after;
    struct point first, second;
    struct text idle = {0};
    struct error error;
    const struct argp argp = {.options = option_table,
                              .parser = parse,
                              .args_doc = "SCENARIO.yaml",
                              .doc = doc,
                              .children = children};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    if (!options.each && options.shared.set_count == 0) {
        fprintf(stderr, "gdsim whatif: say what changes: --set key=value, or --each\n");
        return EXIT_BAD_INPUT;
    }
    as_is = options.shared;
    if (!options.each)
        as_is.set_count = 0;
    int code = cli_load(&as_is, &before);
    if (code)
        return code;
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    if (measure_scenario(&before, options.shared.algorithm, &first, &error)) {
        code = cli_fail(&error);
    } else if (options.each) {
        add_row(grid, "as it is", "", &first, &first);
        bool people = !options.shared.format || strcmp(options.shared.format, "table") == 0;
        if (each(&before, options.shared.algorithm, &first, people, grid, &idle, &error))
            code = cli_fail(&error);
    } else {
        add_row(grid, "before", "", &first, &first);
        code = cli_load(&options.shared, &after);
        if (!code) {
            if (measure_scenario(&after, options.shared.algorithm, &second, &error))
                code = cli_fail(&error);
            else
                add_row(grid, "after", "", &first, &second);
            scenario_free(&after);
        }
    }
    if (!code)
        code = write_out(&options.shared, grid, &idle);
    text_free(&idle);
    grid_free(grid);
    scenario_free(&before);
    return code;
}
