/* cmd_check.c: gdsim check: which path each transfer takes, and why. */
#include <stdio.h>

#include "sim/cli/cli.h"
#include "sim/report/explain.h"
#include "sim/report/paths.h"

static const char doc[] =
    "Say, for every pair that the job uses, which path is taken, why, how to see that on the "
    "machine, and what mends it. Exit code 1 when any path is worse than asked for.\v"
    "Example:\n"
    "  gdsim check scenarios/field-guide/acs.yaml\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
    (void)arg;
    if (key != ARGP_KEY_INIT)
        return ARGP_ERR_UNKNOWN;
    state->child_inputs[0] = state->input;
    return 0;
}

static int check(struct experiment *experiment, struct text *text)
{
    struct error error;
    enum outcome worst = OUTCOME_HOLDS;
    explain_write_odd(text, &experiment->scenario->machine);
    for (size_t c = 0; c < experiment->count; c++) {
        const struct scenario *scenario = experiment->scenario;
        for (size_t s = 0; s < scenario->size_count || s == 0; s++)
            if (routes_fill(&experiment->routes[c], &experiment->plans[c],
                            scenario->size_count ? scenario->sizes_B[s] : 1e6, &error))
                return cli_fail(&error);
        text_printf(text, "%s# %s\n", c ? "\n" : "", experiment->columns[c].mechanism->name);
        enum outcome outcome = paths_write(text, &experiment->routes[c]);
        worst = outcome > worst ? outcome : worst;
    }
    return worst == OUTCOME_HOLDS ? EXIT_FINE : EXIT_RUN_FAILED;
}

int cmd_check(int argc, char **argv)
{
    struct options options = {0};
    struct scenario scenario;
    struct experiment experiment;
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, NULL, parse, doc, &options);
    int code = cli_refuse_format(&options, "check");
    code = code ? code : cli_load(&options, &scenario);
    if (code)
        return code;
    if (experiment_open(&experiment, &scenario, options.algorithm, &error)) {
        code = cli_fail(&error);
    } else {
        code = check(&experiment, &text);
        int written = text.length ? cli_write(&options, &text) : EXIT_FINE;
        code = written ? written : code;
        experiment_close(&experiment);
    }
    text_free(&text);
    scenario_free(&scenario);
    return code;
}
