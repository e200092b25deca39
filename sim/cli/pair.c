/* pair.c: one algorithm on one mechanism; see cli.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

void cli_reason(const struct error *error, char *buffer, size_t size)
{
    if (error->file[0] && error->line)
        snprintf(buffer, size, "%s:%u: %s", error->file, error->line, error->message);
    else
        snprintf(buffer, size, "%s%s%s", error->file, error->file[0] ? ": " : "", error->message);
}

/* A switch must be there where the algorithm uses one; where the mechanism brings one, a run would
 * put the mechanism's own algorithm in place of one that does not. */
static enum status check_switch(const struct pair *pair, const char *algorithm, struct error *error)
{
    const struct plan *plan = &pair->experiment.plans[0];
    const struct routes *routes = &pair->experiment.routes[0];
    char why[96];
    if (!plan_uses_switch(plan) &&
        !mechanism_has_room(pair->mechanism, routes->machine, routes->groups, why, sizeof why))
        return error_set(error, STATUS_INPUT, "no room for it: %s", why);
    if (plan_uses_switch(plan) && !pair->mechanism->algorithm)
        return error_set(error, STATUS_INPUT, "%s reduces in a switch, and %s has none", plan->name,
                         pair->mechanism->name);
    const char *root = cli_root();
    char *path;
    if (!algorithm || !pair->mechanism->algorithm || !root)
        return STATUS_OK;
    enum status status = scenario_script_path(&pair->view, root, algorithm, &path, error);
    if (status)
        return status;
    if (strncmp(path, plan->source, sizeof plan->source - 1) != 0)
        status = error_set(error, STATUS_INPUT, "%s reduces in a switch, which %s does not use",
                           pair->mechanism->name, algorithm);
    free(path);
    return status;
}

enum status pair_open(struct pair *pair, const struct scenario *scenario, const char *algorithm,
                      const struct mechanism *mechanism, struct error *error)
{
    pair->mechanism = mechanism;
    pair->view = *scenario;
    pair->view.mechanisms[0] = mechanism;
    pair->view.mechanism_count = 1;
    enum status status = experiment_open(&pair->experiment, &pair->view, algorithm, error);
    if (status)
        return status;
    snprintf(pair->algorithm, sizeof pair->algorithm, "%s",
             algorithm ? algorithm : pair->experiment.plans[0].name);
    if (scenario->transfer_count == 0)
        status = check_switch(pair, algorithm, error);
    if (status)
        pair_close(pair);
    return status;
}

void pair_close(struct pair *pair)
{
    experiment_close(&pair->experiment);
}
