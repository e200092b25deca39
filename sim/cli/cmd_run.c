/* cmd_run.c: gdsim run: load, plan, run, report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/report/comparison.h"
#include "sim/report/crossings.h"
#include "sim/report/head.h"
#include "sim/report/limit.h"
#include "sim/report/tidy.h"

static const char doc[] =
    "Run a scenario and print its result.\v"
    "Examples:\n"
    "  gdsim run scenarios/worked-table.yaml\n"
    "  gdsim run scenarios/worked-table.yaml --set nodes=16 --sizes '1 MB,1 GB'\n"
    "  gdsim run scenarios/worked-table.yaml --format csv -o out/table.csv\n"
    "  gdsim run scenarios/h200x2/runs.yaml --replicas 200\n";

enum { KEY_REPLICAS = 320, KEY_SEED };

struct run_options {
    struct options common;
    struct replica_options replicas;
};

static const struct argp_option option_table[] = {
    {"replicas", KEY_REPLICAS, "N", 0,
     "with calibrated values: N runs with each drawn from its spread, and the 5 to 95 % interval",
     0},
    {"seed", KEY_SEED, "N", 0, "what --replicas draws (default 1)", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct run_options *options = state->input;
    char *end;
    unsigned long number = 0;
    if (key == KEY_REPLICAS || key == KEY_SEED) {
        number = strtoul(arg, &end, 10);
        if (*arg < '0' || *arg > '9' || *end)
            argp_error(state, "--replicas and --seed take a whole number");
    }
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        return 0;
    case KEY_REPLICAS:
        if (number < 2 || number > 1000000)
            argp_error(state, "--replicas takes 2 to 1000000");
        options->replicas.count = number;
        return 0;
    case KEY_SEED:
        options->replicas.seed = number;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum status write_grid(const struct options *options, const struct grid *grid,
                              struct text *text, struct error *error)
{
    const char *format = options->format ? options->format : "table";
    if (strcmp(format, "csv") == 0)
        return grid_write_csv(grid, text, error);
    if (strcmp(format, "json") == 0)
        return grid_write_json(grid, text, error);
    return grid_write_table(grid, text, error);
}

/* The comparison for people: the serial table, and the pipelined one beside it; only one of them
 * when an accounting was asked for. */
static enum status write_comparison(const struct options *options, struct experiment *experiment,
                                    struct text *text, struct error *error)
{
    struct results first, second;
    enum accounting accounting = experiment->scenario->accounting;
    enum status status = experiment_run(experiment, accounting, &first, error);
    if (status)
        return status;
    if (accounting == ACCOUNTING_PIPELINED) {
        comparison_write_pipelined(text, &first);
    } else {
        comparison_write_serial(text, &first);
        if (!options->accounting) {
            status = experiment_run(experiment, ACCOUNTING_PIPELINED, &second, error);
            if (!status) {
                comparison_write_beside(text, &first, &second);
                experiment_free_results(&second);
            }
        }
    }
    experiment_free_results(&first);
    return status;
}

/* What to type for an algorithm whose bytes leave a node by all its NICs. */
static const char *uses_all(enum collective collective)
{
    switch (collective) {
    case COLLECTIVE_ALLREDUCE:
        return "; -A rings or -A nccl_tree uses all";
    case COLLECTIVE_ALLGATHER:
        return "; -A allgather_rings uses all";
    case COLLECTIVE_REDUCE_SCATTER:
        return "; -A reduce_scatter_rings uses all";
    default:
        return "";
    }
}

/* Who looks at a rate should know when another script would do better by the same wires: one ring
 * leaves a node by one NIC, and SHARP without a reduction inside the node sends S from every GPU.
 */
static void write_advice(struct text *text, const struct results *results)
{
    for (size_t c = 0; c < results->column_count; c++) {
        size_t used, all;
        const struct result_column *column = &results->columns[c];
        if (column->mechanism->algorithm && strcmp(column->plan->name, "sharp") == 0 &&
            results->machine->node.gpu_count > 1)
            text_printf(text,
                        "%s over %s: every GPU of a node sends its whole message to the switch; "
                        "collnet_direct adds up inside the node first\n",
                        column->plan->name, column->mechanism->name);
        limit_nics(results_at(results, results->size_count - 1, c), results->machine, &used, &all);
        if (used < all)
            text_printf(text,
                        "%s over %s: %zu of %zu NICs of a node carry bytes%s (lua/README.md, "
                        "Which NIC?)\n",
                        column->plan->name, column->mechanism->name, used, all,
                        uses_all(column->plan->collective));
    }
}

/* One row a point. A comparison's rows hold both accountings, as its table does. */
static enum status write_tidy(const struct options *options, struct experiment *experiment,
                              struct text *text, struct error *error)
{
    const struct scenario *scenario = experiment->scenario;
    struct grid *grid = tidy_new();
    struct results results;
    struct text idle = {0};
    const char *untraced = "";
    bool both = scenario->report == REPORT_COMPARISON && !options->accounting &&
                scenario->accounting == ACCOUNTING_SERIAL;
    enum status status = experiment_run(experiment, scenario->accounting, &results, error);
    if (!status) {
        tidy_add(grid, &results);
        untraced = results_untraced(&results);
        if (scenario->transfer_count == 0)
            write_advice(&idle, &results);
        experiment_free_results(&results);
    }
    if (!status && both) {
        status = experiment_run(experiment, ACCOUNTING_PIPELINED, &results, error);
        if (!status) {
            tidy_add(grid, &results);
            untraced = *untraced ? untraced : results_untraced(&results);
            experiment_free_results(&results);
        }
    }
    if (!status)
        status = write_grid(options, grid, text, error);
    bool people = !options->format || strcmp(options->format, "table") == 0;
    if (!status && *untraced && people)
        text_printf(text, "share -: %s\n", untraced);
    if (!status && people && idle.length)
        text_printf(text, "%s", idle.data);
    text_free(&idle);
    grid_free(grid);
    return status;
}

static enum status write_crossings(const struct options *options, const struct scenario *scenario,
                                   struct text *text, struct error *error)
{
    struct grid *grid;
    enum status status = crossings_grid(&scenario->machine, scenario->mechanisms,
                                        scenario->mechanism_count, &grid, error);
    if (status)
        return status;
    status = write_grid(options, grid, text, error);
    grid_free(grid);
    return status;
}

static enum status run(const struct options *options, const struct scenario *scenario,
                       struct text *text, struct error *error)
{
    bool table = !options->format || strcmp(options->format, "table") == 0;
    if (table && scenario->title)
        text_printf(text, "# %s\n", scenario->title);
    if (table && scenario->report != REPORT_CROSSINGS)
        head_write(text, &scenario->machine, scenario->accounting, scenario->transfer_count == 0);
    if (scenario->report == REPORT_CROSSINGS)
        return write_crossings(options, scenario, text, error);
    struct experiment experiment;
    enum status status = experiment_open(&experiment, scenario, options->algorithm, error);
    if (status)
        return status;
    if (table)
        experiment_write_instead(&experiment, experiment.count, text);
    for (size_t c = 0; c < experiment.count; c++)
        if (!cli_same_script(&experiment, c)) {
            cli_prove(&experiment.plans[c]);
            if (table)
                cli_costs(text, &experiment.plans[c]);
        }
    status = table && scenario->report == REPORT_COMPARISON
                 ? write_comparison(options, &experiment, text, error)
                 : write_tidy(options, &experiment, text, error);
    experiment_close(&experiment);
    return status;
}

static enum status run_replicas(const struct run_options *options, struct scenario *scenario,
                                struct text *text, struct error *error)
{
    struct grid *grid;
    enum status status =
        cli_replicas(scenario, options->common.algorithm, &options->replicas, &grid, error);
    if (status)
        return status;
    if (!options->common.format || strcmp(options->common.format, "table") == 0)
        text_printf(text, "# %s\n# %zu replicas, seed %lu\n",
                    scenario->title ? scenario->title : scenario->path, options->replicas.count,
                    options->replicas.seed);
    status = write_grid(&options->common, grid, text, error);
    grid_free(grid);
    return status;
}

int cmd_run(int argc, char **argv)
{
    struct run_options all = {.replicas = {.seed = 1}};
    struct scenario scenario;
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &all);
    const struct options options = all.common;
    int code = cli_load(&options, &scenario);
    if (code)
        return code;
    code = cli_check_calibration(&scenario);
    if (code) {
        scenario_free(&scenario);
        return code;
    }
    if (scenario.report == REPORT_GUIDE) {
        if (scenario.title)
            text_printf(&text, "# %s\n", scenario.title);
        bool hangs = false;
        code = cli_refuse_format(&options, "a page of the field guide");
        if (!code)
            code = cli_guide(&options, &scenario, &text, &hangs);
        code = code ? code : cli_write(&options, &text);
        code = code ? code : hangs ? EXIT_RUN_FAILED : EXIT_FINE;
    } else {
        enum status status = all.replicas.count ? run_replicas(&all, &scenario, &text, &error)
                                                : run(&options, &scenario, &text, &error);
        code = status ? cli_fail(&error) : cli_write(&options, &text);
    }
    text_free(&text);
    scenario_free(&scenario);
    return code;
}
