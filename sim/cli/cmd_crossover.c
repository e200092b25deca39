/* cmd_crossover.c: gdsim crossover: where the faster of two ways changes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/crossover.h"

static const char doc[] =
    "Find where the faster of two ways changes, along an axis. A way is an algorithm (ring), a "
    "mechanism (gdr) or both (ring/gdr). Axes: size, nodes, rate (of every NIC), or any key of the "
    "scenario that takes a number, with --from and --to. Along other axes than size, messages have "
    "the last of the scenario's sizes.\v"
    "Examples:\n"
    "  gdsim crossover scenarios/worked-table.yaml -b ring/gdr,halving_doubling\n"
    "  gdsim crossover scenarios/worked-table.yaml -b ring/gdr,sharp -x rate\n"
    "  gdsim crossover scenarios/worked-table.yaml -b ring/gdr,binomial -x nodes\n"
    "  gdsim crossover scenarios/worked-table.yaml -b ring/gdr,recursive_doubling \\\n"
    "    --over software.step_handoff --from '0 us' --to '20 us' --sizes '1 MB'\n";

static const struct argp_option option_table[] = {
    {"between", 'b', "A,B", 0, "the two ways", 0},
    {"over", 'x', "size|nodes|rate|KEY", 0, "the axis (default size)", 0},
    {"from", 1001, "X", 0, "start of the axis (8 B, 2 nodes, 10 Gb/s)", 0},
    {"to", 1002, "Y", 0, "end of the axis (4 GiB, 1024 nodes, 1600 Gb/s)", 0},
    {"parts", 1003, "N", 0, "look at N equal parts of the axis, not at doublings", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct crossover_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->shared;
        return 0;
    case 'b':
        options->between = arg;
        return 0;
    case 'x':
        options->over = arg;
        return 0;
    case 1001:
        options->from = arg;
        return 0;
    case 1002:
        options->to = arg;
        return 0;
    case 1003:
        options->parts = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- the command ---------------------------------------------------------------------------- */

/* Where nothing ran there is nothing to search: say why. */
static enum status check_ran(const struct runner *runner, const struct crossover_result *found,
                             struct error *error)
{
    char reason[800];
    for (size_t i = 0; i < found->point_count; i++)
        if (found->points[i].winner != CROSSOVER_UNKNOWN)
            return STATUS_OK;
    int way = runner->refusals[0] ? 0 : 1;
    if (runner->refusals[way] == 0)
        return error_set(error, STATUS_FAILED, "nowhere on the axis do both take time");
    cli_reason(&runner->refusal[way], reason, sizeof reason);
    return error_set(error, runner->refusal[way].status, "%s does not run: %.380s",
                     runner->way[way].name, reason);
}

static enum status run(struct runner *runner, struct text *text, struct error *error)
{
    const struct options *options = &runner->options->shared;
    const struct crossover_ways ways = {.time = crossover_time_at, .owner = runner};
    struct crossover_result found;
    enum status status = crossover_find(&runner->axis->range, &ways, &found, error);
    cli_step_end();
    if (status)
        return status;
    bool people = !options->format || strcmp(options->format, "table") == 0;
    status = check_ran(runner, &found, error);
    if (!status)
        status = people ? crossover_write_people(text, runner, &found, error)
                        : crossover_write_programs(text, runner, &found, error);
    crossover_free(&found);
    return status;
}

int cmd_crossover(int argc, char **argv)
{
    struct crossover_options options = {0};
    struct axis axis;
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    struct runner *runner = calloc(1, sizeof *runner);
    if (!runner) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    *runner = (struct runner){.options = &options, .axis = &axis, .x = (double)NAN};
    int code = cli_load(&options.shared, &runner->scenario);
    runner->loaded = !code;
    if (!code && (crossover_read_axis(&options, &runner->scenario.machine, &axis, &error) ||
                  crossover_read_ways(&options, &runner->scenario, runner->way, &error)))
        code = cli_fail(&error);
    if (!code) {
        enum status status = run(runner, &text, &error);
        code = status == STATUS_OK ? cli_write(&options.shared, &text)
               : runner->printed   ? EXIT_BAD_INPUT
                                   : cli_fail(&error);
    }
    text_free(&text);
    crossover_unload(runner);
    free(runner);
    return code;
}
