/* cmd_explain.c: gdsim explain: the working of one cell. */
#include <stdio.h>

#include "sim/cli/cli.h"
#include "sim/report/explain.h"

static const char doc[] =
    "Show the working of one cell: each step with formula and numbers, the sums, the bytes of "
    "each resource, what limits, and where every parameter came from.\v"
    "Example:\n"
    "  gdsim explain scenarios/worked-table.yaml --sizes '1 MB' --mechanism gdr\n";

/* --size reads better than --sizes for one cell. */
static const struct argp_option option_table[] = {
    {"size", 'z', "SIZE", 0, "the message size (default: the scenario's first)", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = options;
        return 0;
    case 'z':
        options->sizes = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static enum status explain(struct experiment *experiment, struct text *text, struct error *error)
{
    struct ledger serial, pipelined;
    if (experiment->count > 1)
        text_printf(text, "# the first of %zu mechanisms; --mechanism chooses another\n",
                    experiment->count);
    if (experiment->scenario->size_count > 1)
        text_printf(text, "# the first of %zu sizes; --size chooses another\n",
                    experiment->scenario->size_count);
    experiment_write_instead(experiment, 1, text);
    cli_prove(&experiment->plans[0]);
    struct engine_job job;
    enum status status = experiment_job(experiment, 0, experiment->scenario->sizes_B[0],
                                        ACCOUNTING_SERIAL, &job, error);
    if (!status)
        status = engine_run(&job, &serial, error);
    if (status)
        return status;
    if (experiment->scenario->stats)
        cli_stats(&job, &serial);
    job.accounting = ACCOUNTING_PIPELINED;
    status = engine_run(&job, &pipelined, error);
    if (!status) {
        if (experiment->scenario->stats)
            cli_stats(&job, &pipelined);
        struct explain_cell cell = {.machine = job.routes->machine,
                                    .column = &experiment->columns[0],
                                    .routes = job.routes,
                                    .size_B = job.size_B,
                                    .serial = &serial,
                                    .pipelined = &pipelined};
        status = explain_write(text, &cell, error);
        ledger_free(&pipelined);
    }
    ledger_free(&serial);
    if (!status)
        explain_write_parameters(text, job.routes->machine);
    return status;
}

int cmd_explain(int argc, char **argv)
{
    struct options options = {0};
    struct scenario scenario;
    struct experiment experiment;
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    int code = cli_load(&options, &scenario);
    if (code)
        return code;
    if (options.format || options.accounting)
        code = cli_fail(&(struct error){
            .status = STATUS_INPUT,
            .message = "explain prints text and both accountings: no --format, no --accounting"});
    else if (scenario.size_count == 0)
        code = cli_fail(&(struct error){.status = STATUS_INPUT, .message = "give --size"});
    else if (experiment_open(&experiment, &scenario, options.algorithm, &error))
        code = cli_fail(&error);
    else {
        code = explain(&experiment, &text, &error) ? cli_fail(&error) : cli_write(&options, &text);
        experiment_close(&experiment);
    }
    text_free(&text);
    scenario_free(&scenario);
    return code;
}
