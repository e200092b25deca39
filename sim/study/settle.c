/* settle.c: see settle.h. */
#include "sim/study/settle.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/study/nccl_comm.h"

struct settled {
    struct settled *next;
    struct nccl_choice choice;
    struct nccl_cut cut;
    struct machine machine;
    struct routes routes;
    char why[96];
};

/* What NCCL would take where the scenario leaves it open. */
static enum status choose(const struct machine *machine, const struct mechanism *mechanism,
                          const struct plan *plan, double size_B, struct nccl_choice *ret_choice,
                          struct nccl_cut *ret_cut, struct error *error)
{
    bool any = (int)param_get(&machine->engine, PARAM_ENGINE_PROTOCOL) == PROTOCOL_AUTO;
    enum nccl_collective collective;
    enum nccl_algorithm algorithm;
    enum nccl_protocol protocol;
    struct nccl_comm comm;
    struct nccl_tuning tuning;
    protocol_of(machine, &protocol);
    bool known = nccl_algorithm_of(plan->name, &algorithm);
    double channels = param_get(&machine->engine, PARAM_ENGINE_CHANNELS);
    *ret_choice = (struct nccl_choice){.algorithm = known ? algorithm : NCCL_RING,
                                       .protocol = any ? NCCL_SIMPLE : protocol,
                                       .channels = (int)channels};
    *ret_cut = (struct nccl_cut){0};
    bool by_size = known && algorithm != NCCL_RING && algorithm != NCCL_PAT; /* its chunks */
    if (!any && channels > 0 && !by_size)
        return STATUS_OK;
    enum status status = nccl_comm_of(machine, mechanism, &comm, error);
    if (status)
        return status;
    if (nccl_sends(machine, mechanism, &comm, plan->collective, any ? NULL : &protocol, size_B,
                   ret_choice))
        return STATUS_OK;
    if (!nccl_collective_of(plan->collective, &collective)) {
        error_set(error, STATUS_INPUT, "NCCL's formula does not know %s",
                  collective_name(plan->collective));
        return error_hint(error, "give engine.protocol and engine.channels");
    }
    nccl_tune(&comm, &tuning);
    uint64_t bytes = size_B < 1 ? 1 : (uint64_t)size_B;
    /* A protocol that NCCL would not take here: its ring's channels, as when it is forced. */
    if (!nccl_choose_among(&comm, &tuning, collective, known ? &algorithm : NULL,
                           any ? NULL : &protocol, bytes, ret_choice))
        nccl_spread(&comm, &tuning, collective, bytes, ret_choice);
    if (channels > 0)
        ret_choice->channels = (int)channels;
    *ret_cut = nccl_cut_of(&comm, ret_choice, size_B, plan->chunks);
    return STATUS_OK;
}

/* A machine, finished, with protocol, channels, hops and slices where they are left open, and its
 * routes.
 */
static enum status make(struct settled *fresh, const struct routes *own, bool sends,
                        struct error *error)
{
    const struct nccl_choice *choice = &fresh->choice;
    enum status status = machine_copy(own->machine, &fresh->machine, error);
    if (status)
        return status;
    snprintf(fresh->why, sizeof fresh->why, "as NCCL would choose: %s, %s, %d channels",
             nccl_algorithm_name(choice->algorithm), nccl_protocol_name(choice->protocol),
             choice->channels);
    nccl_settle(&fresh->machine, choice, fresh->cut, fresh->why);
    if (sends && param_origin(&own->machine->engine, PARAM_ENGINE_SPLIT)->kind == ORIGIN_DEFAULT)
        param_set(&fresh->machine.engine, PARAM_ENGINE_SPLIT, 1,
                  (struct origin){.kind = ORIGIN_SET, .file = fresh->why});
    status = machine_finish(&fresh->machine, error);
    if (!status)
        status = routes_init(&fresh->routes, &fresh->machine, own->mechanism, error);
    if (status)
        machine_free(&fresh->machine);
    else
        routes_groups(&fresh->routes, own->groups);
    return status;
}

static bool alike(const struct nccl_choice *a, const struct nccl_choice *b)
{
    return a->algorithm == b->algorithm && a->protocol == b->protocol && a->channels == b->channels;
}

static bool same_cut(const struct nccl_cut *a, const struct nccl_cut *b)
{
    return a->slice_B == b->slice_B && a->window == b->window && a->chunk_B == b->chunk_B;
}

enum status settle_routes(struct settled **list, struct routes *own, const struct plan *plan,
                          double size_B, struct routes **ret_routes, struct error *error)
{
    struct nccl_choice choice;
    struct nccl_cut cut;
    *ret_routes = own;
    if ((int)param_get(&own->machine->engine, PARAM_ENGINE_PROTOCOL) == PROTOCOL_NONE)
        return STATUS_OK;
    enum status status = choose(own->machine, own->mechanism, plan, size_B, &choice, &cut, error);
    if (status)
        return status;
    struct settled *at = *list;
    while (at && !(alike(&at->choice, &choice) && same_cut(&at->cut, &cut)))
        at = at->next;
    if (at) {
        *ret_routes = &at->routes;
        return STATUS_OK;
    }
    struct settled *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return error_set(error, STATUS_NOMEM, "out of memory");
    fresh->choice = choice;
    fresh->cut = cut;
    status = make(
        fresh, own,
        plan->collective == COLLECTIVE_SENDRECV || plan->collective == COLLECTIVE_ALLTOALL, error);
    if (status) {
        free(fresh);
        return status;
    }
    fresh->next = *list;
    *list = fresh;
    *ret_routes = &fresh->routes;
    return STATUS_OK;
}

void settle_free(struct settled **list)
{
    for (struct settled *at = *list, *next; at; at = next) {
        next = at->next;
        routes_free(&at->routes);
        machine_free(&at->machine);
        free(at);
    }
    *list = NULL;
}
