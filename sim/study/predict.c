/* predict.c: see predict.h. */
#include "sim/study/predict.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/counters.h"

#define MAX_ADDRESSES 64

static const struct origin by_fit = {.kind = ORIGIN_SET, .file = "calibrate"};

static enum status changed_copy(const struct machine *machine, const struct predict_change *changes,
                                size_t count, struct machine *ret_copy, struct error *error)
{
    struct address at[MAX_ADDRESSES];
    enum status status = machine_copy(machine, ret_copy, error);
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        size_t found = address_find(ret_copy, changes[i].key, at, MAX_ADDRESSES);
        for (size_t j = 0; j < found; j++)
            param_set(at[j].params, at[j].id, changes[i].value, by_fit);
    }
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

/* One run: seconds, or the bytes that a counter shows. */
static enum status run(struct engine *engine, const struct predict_job *job, struct routes *routes,
                       size_t counter, double size_B, double *bytes, double *ret,
                       struct error *error)
{
    const struct ledger *ledger;
    struct engine_job one = {
        .plan = job->plan, .routes = routes, .size_B = size_B, .accounting = job->accounting};
    enum status status = engine_rerun(engine, &one, &ledger, error);
    if (status)
        return status;
    *ret = (double)ledger->total_ps * 1e-12;
    if (counter != SIZE_MAX) {
        memset(bytes, 0, routes->machine->node.resource_count * sizeof *bytes);
        counters_add(routes, ledger, bytes);
        *ret = bytes[counter] / routes->machine->node_count;
    }
    return STATUS_OK;
}

static enum status predict(const struct predict_job *job, const char *resource,
                           const struct predict_change *changes, size_t change_count,
                           const double *sizes_B, size_t size_count, double *ret,
                           struct error *error)
{
    struct machine machine;
    struct routes routes;
    struct engine *engine = NULL;
    size_t counter;
    enum status status = changed_copy(job->machine, changes, change_count, &machine, error);
    if (status)
        return status;
    double *bytes = calloc(machine.node.resource_count + 1, sizeof *bytes);
    status = bytes ? find_resource(&machine, resource, &counter, error)
                   : error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = engine_new(&engine, error);
    if (!status)
        status = routes_init(&routes, &machine, job->mechanism, error);
    if (!status) {
        for (size_t i = 0; i < size_count && !status; i++)
            status = run(engine, job, &routes, counter, sizes_B[i], bytes, &ret[i], error);
        routes_free(&routes);
    }
    engine_free(engine);
    free(bytes);
    machine_free(&machine);
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
