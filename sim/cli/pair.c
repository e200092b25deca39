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

enum status pair_fits(const struct scenario *scenario, const struct plan *plan,
                      const char *algorithm, const struct mechanism *mechanism, struct error *error)
{
    if (scenario->transfer_count > 0)
        return STATUS_OK;
    if (plan_uses_switch(plan) && !mechanism->algorithm)
        return error_set(error, STATUS_INPUT, "%s reduces in a switch, and %s has none", plan->name,
                         mechanism->name);
    const char *root = cli_root();
    char *path;
    if (!algorithm || !mechanism->algorithm || !root)
        return STATUS_OK;
    enum status status = scenario_script_path(scenario, root, algorithm, &path, error);
    if (status)
        return status;
    if (strncmp(path, plan->source, sizeof plan->source - 1) != 0)
        status = error_set(error, STATUS_INPUT, "%s reduces in a switch, which %s does not use",
                           mechanism->name, algorithm);
    free(path);
    return status;
}

enum status pair_has_room(const struct mechanism *mechanism, const struct machine *machine,
                          uint32_t groups, struct error *error)
{
    char why[96];
    return mechanism_has_room(mechanism, machine, groups, why, sizeof why)
               ? STATUS_OK
               : error_set(error, STATUS_INPUT, "no room for it: %s", why);
}

enum status pair_open(struct pair *pair, const struct scenario *scenario, const char *algorithm,
                      const struct mechanism *mechanism, struct error *error)
{
    pair->mechanism = mechanism;
    pair->view = *scenario;
    pair->view.mechanisms[0] = mechanism;
    pair->view.mechanism_count = 1;
    /* A machine of its own: who asks may have changed parameters of the scenario's. */
    enum status status = machine_copy(&scenario->machine, &pair->view.machine, error);
    if (status)
        return status;
    status = machine_finish(&pair->view.machine, error);
    if (!status)
        status = experiment_open(&pair->experiment, &pair->view, algorithm, error);
    if (status) {
        machine_free(&pair->view.machine);
        return status;
    }
    snprintf(pair->algorithm, sizeof pair->algorithm, "%s",
             algorithm ? algorithm : pair->experiment.plans[0].name);
    const struct plan *plan = &pair->experiment.plans[0];
    const struct routes *routes = &pair->experiment.routes[0];
    if (!plan_uses_switch(plan)) /* and if one was asked for, another is in its place */
        status = pair_has_room(mechanism, routes->machine, routes->groups, error);
    if (!status)
        status = pair_fits(scenario, plan, algorithm, mechanism, error);
    if (status)
        pair_close(pair);
    return status;
}

void pair_close(struct pair *pair)
{
    experiment_close(&pair->experiment);
    machine_free(&pair->view.machine);
}
