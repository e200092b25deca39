/* experiment.c: from a scenario to plans, routes and runs. See cli.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"

#define FEW_NODES 64u /* plans for so many are made at once */

/* All transfers at once; those of one source in lanes of their own, so that they share it. */
static enum status transfers_plan(const struct scenario *scenario, struct plan *ret_plan,
                                  struct error *error)
{
    uint32_t ports = (uint32_t)scenario->machine.node.port_count, chunk = 0;
    struct plan plan;
    plan_init(&plan, machine_ranks(&scenario->machine));
    plan.collective = COLLECTIVE_TRANSFERS;
    snprintf(plan.name, sizeof plan.name, "transfers");
    snprintf(plan.source, sizeof plan.source, "%s", scenario->path);
    enum status status = plan_begin_step(&plan, error);
    for (size_t i = 0; i < scenario->transfer_count && !status; i++) {
        const struct scenario_transfer *transfer = &scenario->transfers[i];
        uint8_t lane = 0;
        for (size_t j = 0; j < i; j++)
            lane = (uint8_t)((lane + (scenario->transfers[j].from == transfer->from)) %
                             PLAN_MAX_LANES);
        struct plan_op op = {
            .kind = PLAN_SEND, .lane = lane, .count = rule_constant(transfer->share)};
        status = plan_add_op(&plan, &op, error);
        if (!status)
            status = plan_add_edge(
                &plan,
                (struct plan_edge){.from = transfer->from,
                                   .to = transfer->to + (transfer->remote ? ports : 0),
                                   .chunk = chunk},
                error);
        chunk += transfer->share;
    }
    plan.chunks = chunk;
    if (!status)
        status = plan_end_step(&plan, error);
    if (!status)
        status = plan_finish(&plan, error);
    if (status)
        plan_free(&plan);
    else
        *ret_plan = plan;
    return status;
}

enum status experiment_job(struct experiment *experiment, size_t column, double size_B,
                           enum accounting accounting, struct engine_job *ret_job,
                           struct error *error)
{
    struct routes *routes;
    enum status status = settle_routes(&experiment->settled[column], &experiment->routes[column],
                                       &experiment->plans[column], size_B, &routes, error);
    if (status)
        return status;
    experiment->columns[column].routes = routes;
    *ret_job = (struct engine_job){.plan = &experiment->plans[column],
                                   .routes = routes,
                                   .size_B = size_B,
                                   .accounting = accounting,
                                   .trace = true,
                                   .walk = experiment->scenario->walk,
                                   .watch = cli_watch()};
    return STATUS_OK;
}

struct predict_job experiment_predict_job(const struct experiment *experiment, size_t column)
{
    const struct scenario *scenario = experiment->scenario;
    return (struct predict_job){.machine = &scenario->machine,
                                .mechanism = experiment->columns[column].mechanism,
                                .plan = &experiment->plans[column],
                                .accounting = scenario->accounting,
                                .walk = scenario->walk,
                                .groups = experiment->routes[column].groups};
}

/* ---- columns -------------------------------------------------------------------------------- */

/* Close the column whose plan has been made. */
static enum status add_column(struct experiment *experiment, const struct mechanism *mechanism,
                              uint32_t groups, struct error *error)
{
    struct plan *plan = &experiment->plans[experiment->count];
    struct routes *routes = &experiment->routes[experiment->count];
    enum status status = routes_init(routes, &experiment->scenario->machine, mechanism, error);
    if (status) {
        plan_free(plan);
        return status;
    }
    routes_groups(routes, groups);
    experiment->columns[experiment->count++] = (struct result_column){mechanism, plan, routes};
    return STATUS_OK;
}

/* What the hosts run where a switch has no room: the scenario's own algorithm, if that is one. */
static const char *host_algorithm(const struct scenario *scenario, const char *refused)
{
    const char *own = scenario->algorithm;
    bool other = own && strcmp(own, refused) != 0;
    return other ? own : scenario->machine.node.port_count > 1 ? "rings" : "ring";
}

/* The plan of one script, for `nodes` of the machine's. */
static enum status script_for(const struct scenario *scenario, const struct machine *machine,
                              const char *name, uint32_t nodes, struct plan *ret_plan,
                              struct error *error)
{
    const uint32_t ports = (uint32_t)machine->node.port_count;
    char *path;
    struct plan plan;
    const char *root = cli_root();
    enum status status = root ? scenario_script_path(scenario, root, name, &path, error)
                              : error_set(error, STATUS_FAILED, "cannot find the algorithms");
    if (status)
        return status;
    uint32_t root_rank = scenario->root_rank < nodes * ports ? scenario->root_rank : 0;
    status = cli_plan(path, nodes * ports, ports, machine_rails(machine), machine_nics(machine),
                      root_rank, &plan, error);
    if (!status && plan.collective != scenario->collective) {
        status = error_set(error, STATUS_INPUT, "%s does %s, but the scenario asks for %s", path,
                           collective_name(plan.collective), collective_name(scenario->collective));
        status =
            error_hint(error,
                       "-A with an algorithm for %s (gdsim list algorithms), or --set "
                       "collective=%s",
                       collective_name(scenario->collective), collective_name(plan.collective));
        plan_free(&plan);
    }
    free(path);
    if (!status)
        *ret_plan = plan;
    return status;
}

static enum status script_of(const struct scenario *scenario, const struct machine *machine,
                             const char *name, struct plan *ret_plan, struct error *error)
{
    return script_for(scenario, machine, name, machine->node_count, ret_plan, error);
}

enum status experiment_plan(const struct scenario *scenario, const struct machine *machine,
                            const char *algorithm, const struct mechanism *mechanism,
                            struct plan *ret_plan, const char **ret_name, struct error *error)
{
    struct plan plan;
    *ret_name = "";
    if (scenario->transfer_count > 0)
        return transfers_plan(scenario, ret_plan, error);
    const char *name = algorithm ? algorithm : scenario->algorithm ? scenario->algorithm : "ring";
    *ret_name = name;
    if (!mechanism->algorithm || strcmp(name, mechanism->algorithm) == 0)
        return script_of(scenario, machine, name, ret_plan, error);
    /* A mechanism that reduces in the network has its own script, unless the one asked for does.
     * Two nodes show that as well as many, for which a plan may be too large that will not run. */
    bool all = machine->node_count <= FEW_NODES;
    uint32_t nodes = all ? machine->node_count : 2;
    enum status status = script_for(scenario, machine, name, nodes, &plan, error);
    bool hosts = !status && !plan_uses_switch(&plan);
    if (all && !hosts) {
        if (!status)
            *ret_plan = plan;
        return status;
    }
    if (!status)
        plan_free(&plan);
    if (hosts)
        *ret_name = mechanism->algorithm;
    return script_of(scenario, machine, *ret_name, ret_plan, error);
}

static enum status load_column(struct experiment *experiment, const char *algorithm,
                               const struct mechanism *mechanism, struct error *error)
{
    const struct scenario *scenario = experiment->scenario;
    const struct machine *machine = &scenario->machine;
    struct plan *plan = &experiment->plans[experiment->count];
    char why[96];
    const char *name;
    uint32_t groups = 0; /* of a plan that the network has no room for */
    enum status status =
        experiment_plan(scenario, machine, algorithm, mechanism, plan, &name, error);
    if (!status && plan_uses_switch(plan) &&
        !mechanism_has_room(mechanism, machine, plan_groups(plan), why, sizeof why)) {
        groups = plan_groups(plan);
        plan_free(plan);
        status = script_of(scenario, machine, host_algorithm(scenario, name), plan, error);
    }
    if (!status)
        status = add_column(experiment, mechanism, groups, error);
    const char *asked = algorithm ? algorithm : scenario->algorithm;
    if (!status && asked && groups == 0 && strcmp(name, asked) != 0)
        experiment->instead_of[experiment->count - 1] = asked;
    return status;
}

void experiment_write_instead(const struct experiment *experiment, size_t columns,
                              struct text *text)
{
    char why[96];
    for (size_t c = 0; c < columns; c++) {
        const struct result_column *column = &experiment->columns[c];
        const char *name = column->mechanism->name;
        if (!plan_uses_switch(column->plan) &&
            !mechanism_has_room(column->mechanism, experiment->routes[c].machine,
                                experiment->routes[c].groups, why, sizeof why))
            text_printf(text, "# %s: no room for it (%s), so %s runs instead\n", name, why,
                        column->plan->name);
        if (experiment->instead_of[c] && experiment->scenario->report != REPORT_COMPARISON)
            text_printf(text, "# %s: %s leaves nothing to a switch, so lua/%s.lua runs instead\n",
                        name, experiment->instead_of[c], column->plan->name);
    }
}

enum status experiment_open(struct experiment *experiment, const struct scenario *scenario,
                            const char *algorithm, struct error *error)
{
    memset(experiment, 0, sizeof *experiment);
    experiment->scenario = scenario;
    for (size_t i = 0; i < scenario->mechanism_count; i++) {
        enum status status = load_column(experiment, algorithm, scenario->mechanisms[i], error);
        if (status) {
            experiment_close(experiment);
            return status;
        }
    }
    return STATUS_OK;
}

void experiment_close(struct experiment *experiment)
{
    for (size_t i = 0; i < experiment->count; i++) {
        plan_free(&experiment->plans[i]);
        settle_free(&experiment->settled[i]);
        routes_free(&experiment->routes[i]);
    }
    experiment->count = 0;
}

void cli_stats(const struct engine_job *job, const struct ledger *ledger)
{
    char how[256];
    ledger_how(ledger, job->routes->machine, how, sizeof how);
    fprintf(stderr, "# %s, %s, %.0f B, %s: %llu transfers in %llu slices; %llu stages; %s\n",
            job->plan->name, job->routes->mechanism->name, job->size_B,
            accounting_name(job->accounting), (unsigned long long)ledger->transfers,
            (unsigned long long)ledger->slices, (unsigned long long)ledger->events, how);
}

static enum status run_one(struct experiment *experiment, enum accounting accounting, size_t size,
                           size_t column, struct ledger *ret_ledger, struct error *error)
{
    const struct scenario *scenario = experiment->scenario;
    struct engine_job job;
    enum status status =
        experiment_job(experiment, column, scenario->sizes_B[size], accounting, &job, error);
    if (!status)
        status = engine_run(&job, ret_ledger, error);
    if (!status && scenario->stats)
        cli_stats(&job, ret_ledger);
    if (status && error && error->line && !error->file[0])
        snprintf(error->file, sizeof error->file, "%s", experiment->plans[column].source);
    return status;
}

/* `why`: one for each run; NULL: the first that fails ends it, with the reason in `error`. */
static enum status run_all(struct experiment *experiment, enum accounting accounting,
                           struct results *ret_results, struct error *why, struct error *error)
{
    const struct scenario *scenario = experiment->scenario;
    size_t count = scenario->size_count * experiment->count;
    struct ledger *ledgers = calloc(count ? count : 1, sizeof *ledgers);
    enum status status = ledgers ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    *ret_results = (struct results){.machine = &scenario->machine,
                                    .accounting = accounting,
                                    .columns = experiment->columns,
                                    .column_count = experiment->count,
                                    .sizes_B = scenario->sizes_B,
                                    .size_count = scenario->size_count,
                                    .ledgers = ledgers};
    for (size_t i = 0; i < count && !status; i++) {
        status = run_one(experiment, accounting, i / experiment->count, i % experiment->count,
                         &ledgers[i], why ? &why[i] : error);
        if (why && status != STATUS_NOMEM) /* the ledger is empty then */
            status = STATUS_OK;
    }
    if (status)
        experiment_free_results(ret_results);
    return status;
}

enum status experiment_run(struct experiment *experiment, enum accounting accounting,
                           struct results *ret_results, struct error *error)
{
    return run_all(experiment, accounting, ret_results, NULL, error);
}

enum status experiment_run_most(struct experiment *experiment, enum accounting accounting,
                                struct results *ret_results, struct error *ret_why)
{
    return run_all(experiment, accounting, ret_results, ret_why, ret_why);
}

void experiment_free_results(struct results *results)
{
    /* The results own the ledgers; readers only see them const. */
    struct ledger *ledgers = (struct ledger *)(uintptr_t)results->ledgers;
    for (size_t i = 0; ledgers && i < results->size_count * results->column_count; i++)
        ledger_free(&ledgers[i]);
    free(ledgers);
    results->ledgers = NULL;
}
