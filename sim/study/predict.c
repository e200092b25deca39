/* predict.c: see predict.h. */
#include "sim/study/predict.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/counters.h"
#include "sim/study/settle.h"

static const struct origin by_fit = {.kind = ORIGIN_SET, .file = "calibrate"};

static enum status changed_copy(const struct machine *machine, const struct predict_change *changes,
                                size_t count, struct machine *ret_copy, struct error *error)
{
    enum status status = machine_copy(machine, ret_copy, error);
    if (status)
        return status;
    for (size_t i = 0; i < count && status != STATUS_NOMEM; i++) {
        struct addresses found;
        status = address_find(ret_copy, changes[i].key, &found, NULL);
        for (size_t j = 0; !status && j < found.count; j++) {
            struct params *params = address_params(ret_copy, &found.at[j]);
            if (params)
                param_set(params, found.at[j].id, changes[i].value, by_fit);
        }
        free(found.at);
    }
    status = status == STATUS_NOMEM ? error_set(error, status, "out of memory") : STATUS_OK;
    if (!status)
        status = machine_finish(ret_copy, error);
    if (status)
        machine_free(ret_copy);
    return status;
}

/* The number of a resource; SIZE_MAX for NULL. */
static enum status find_resource(const struct machine *machine, const char *name, size_t *ret_at,
                                 struct error *error)
{
    const struct node_type *node = &machine->node;
    *ret_at = SIZE_MAX;
    for (size_t i = 0; name && i < node->resource_count; i++)
        if (strcmp(node->resources[i].name, name) == 0)
            *ret_at = i;
    return name && *ret_at == SIZE_MAX
               ? error_set(error, STATUS_INPUT, "there is no resource \"%s\" to count on", name)
               : STATUS_OK;
}

struct prediction {
    const struct predict_job *job;
    struct machine machine;
    struct routes routes;
    struct settled *settled;
    struct engine *engine;
    size_t counter; /* the resource; SIZE_MAX: none, seconds are wanted */
    double *bytes;  /* by resource */
};

/* One run: seconds, or the bytes that a counter shows. */
static enum status run(struct prediction *all, double size_B, double *ret, struct error *error)
{
    const struct predict_job *job = all->job;
    const struct ledger *ledger;
    struct routes *routes;
    enum status status =
        settle_routes(&all->settled, &all->routes, job->plan, size_B, &routes, error);
    if (status)
        return status;
    struct engine_job one = {.plan = job->plan,
                             .routes = routes,
                             .size_B = size_B,
                             .accounting = job->accounting,
                             .walk = job->walk};
    status = engine_rerun(all->engine, &one, &ledger, error);
    if (status)
        return status;
    *ret = (double)ledger->total_ps * 1e-12;
    if (all->counter != SIZE_MAX) {
        memset(all->bytes, 0, routes->machine->node.resource_count * sizeof *all->bytes);
        counters_add(routes, ledger, all->bytes);
        *ret = all->bytes[all->counter] / routes->machine->node_count;
    }
    return STATUS_OK;
}

static enum status predict(const struct predict_job *job, const char *resource,
                           const struct predict_change *changes, size_t change_count,
                           const double *sizes_B, size_t size_count, double *ret,
                           struct error *error)
{
    struct prediction all = {.job = job};
    enum status status = changed_copy(job->machine, changes, change_count, &all.machine, error);
    if (status)
        return status;
    all.bytes = calloc(all.machine.node.resource_count + 1, sizeof *all.bytes);
    status = all.bytes ? find_resource(&all.machine, resource, &all.counter, error)
                       : error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = engine_new(&all.engine, error);
    if (!status)
        status = routes_init(&all.routes, &all.machine, job->mechanism, error);
    if (!status) {
        routes_groups(&all.routes, job->groups);
        for (size_t i = 0; i < size_count && !status; i++)
            status = run(&all, sizes_B[i], &ret[i], error);
        settle_free(&all.settled);
        routes_free(&all.routes);
    }
    engine_free(all.engine);
    free(all.bytes);
    machine_free(&all.machine);
    return status;
}

enum status predict_times(const struct predict_job *job, const struct predict_change *changes,
                          size_t change_count, const double *sizes_B, size_t size_count,
                          double *ret_seconds, struct error *error)
{
    return predict(job, NULL, changes, change_count, sizes_B, size_count, ret_seconds, error);
}

enum status predict_counters(const struct predict_job *job, const char *resource,
                             const struct predict_change *changes, size_t change_count,
                             const double *sizes_B, size_t size_count, double *ret_bytes,
                             struct error *error)
{
    return predict(job, resource, changes, change_count, sizes_B, size_count, ret_bytes, error);
}
