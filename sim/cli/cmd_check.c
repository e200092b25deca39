/* cmd_check.c: gdsim check: which path each transfer takes, and why. */
#include <stdio.h>

#include "sim/cli/cli.h"
#include "sim/report/paths.h"

static const char doc[] =
    "Say, for every pair that the job uses, which path is taken, why, how to see that on the "
    "machine, and what mends it. Exit code 1 when any path is worse than asked for.\v"
    "Example:\n"
    "  gdsim check scenarios/field-guide/acs.yaml\n";

static const struct argp_child children[] = {{&options_argp, 0, NULL, 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

/* Put the routes of the machine as it is in the place of those that a run used. One that hangs
 * stays without a way, but with its verdicts. */
static enum status as_it_is(const struct machine *machine, struct routes *routes,
                            const struct ledger *ledger, struct error *error)
{
    for (size_t slot = 0; slot < routes->slot_count; slot++) {
        struct endpoints ends = routes_endpoints(routes, slot);
        if (!routes->slot[slot] || !(ledger->route_bytes[slot] > 0))
            continue;
        enum status status =
            mechanism_route(routes->mechanism, machine, &ends, routes->slot[slot], error);
        if (status && !mechanism_hangs(error))
            return status;
    }
    return STATUS_OK;
}

/* The smallest size is enough: paths do not depend on it. */
static int check(const struct scenario *scenario, const struct machine *machine,
                 struct experiment *experiment, struct text *text)
{
    struct error error;
    enum outcome worst = OUTCOME_HOLDS;
    for (size_t c = 0; c < experiment->count; c++) {
        struct ledger ledger;
        struct engine_job job = {.plan = &experiment->plans[c],
                                 .routes = &experiment->routes[c],
                                 .size_B = scenario->size_count ? scenario->sizes_B[0] : 1e6,
                                 .accounting = ACCOUNTING_PIPELINED};
        if (engine_run(&job, &ledger, &error))
            return cli_fail(&error);
        enum status status = as_it_is(machine, &experiment->routes[c], &ledger, &error);
        enum outcome outcome = OUTCOME_HOLDS;
        if (!status) {
            text_printf(text, "%s# %s\n", c ? "\n" : "", experiment->columns[c].mechanism->name);
            outcome = paths_write(text, &experiment->routes[c], &ledger);
        }
        ledger_free(&ledger);
        if (status)
            return cli_fail(&error);
        worst = outcome > worst ? outcome : worst;
    }
    return worst == OUTCOME_HOLDS ? EXIT_FINE : EXIT_RUN_FAILED;
}

/* A machine that hangs runs nothing. One that is slow instead says which pairs the job uses. */
static enum status open_moving(struct scenario *moving, const struct scenario *scenario,
                               struct error *error)
{
    *moving = *scenario;
    enum status status = machine_copy(&scenario->machine, &moving->machine, error);
    if (status)
        return status;
    param_set(&moving->machine.state, PARAM_STATE_ACS_OUTCOME, 0,
              (struct origin){.kind = ORIGIN_SET, .file = "check"});
    status = machine_finish(&moving->machine, error);
    if (status)
        machine_free(&moving->machine);
    return status;
}

int cmd_check(int argc, char **argv)
{
    struct options options = {0};
    struct scenario scenario;
    struct experiment experiment;
    struct text text = {0};
    struct error error;
    const struct argp argp = {
        .parser = parse, .args_doc = "SCENARIO.yaml", .doc = doc, .children = children};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    int code = cli_refuse_format(&options, "check");
    code = code ? code : cli_load(&options, &scenario);
    if (code)
        return code;
    struct scenario moving;
    if (open_moving(&moving, &scenario, &error)) {
        scenario_free(&scenario);
        return cli_fail(&error);
    }
    if (experiment_open(&experiment, &moving, options.algorithm, &error)) {
        code = cli_fail(&error);
    } else {
        code = check(&scenario, &scenario.machine, &experiment, &text);
        int written = text.length ? cli_write(&options, &text) : EXIT_FINE;
        code = written ? written : code;
        experiment_close(&experiment);
    }
    text_free(&text);
    machine_free(&moving.machine);
    scenario_free(&scenario);
    return code;
}
