/* routes.c: see routes.h. Slots: those of the run's mechanism, then those of each row of
 * mechanism_table; of each rail by rail; in each [same node][sender][receiver], then up, then
 * down, then both again for brief messages. All of that for each [kind of sender's node][kind of
 * receiver's]; a switch is taken to be of the other's kind. */
#include "sim/core/routes.h"

#include <stdlib.h>
#include <string.h>

enum status routes_init(struct routes *routes, const struct machine *machine,
                        const struct mechanism *mechanism, struct error *error)
{
    size_t ports = machine->node.port_count;
    memset(routes, 0, sizeof *routes);
    routes->machine = machine;
    routes->mechanism = mechanism;
    routes->rails = machine_rails(machine);
    routes->per_mechanism = routes->rails * (2 * ports * ports + 4 * ports);
    routes->kinds = machine_kind_count(machine);
    routes->per_kinds = routes->per_mechanism * (1 + mechanism_count);
    routes->slot_count = routes->kinds * routes->kinds * routes->per_kinds;
    routes->slot = calloc(routes->slot_count, sizeof *routes->slot);
    return routes->slot ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
}

void routes_free(struct routes *routes)
{
    if (!routes)
        return;
    for (size_t i = 0; i < routes->slot_count; i++)
        free(routes->slot[i]);
    free(routes->slot);
    memset(routes, 0, sizeof *routes);
}

static const struct mechanism *mechanism_at(const struct routes *routes, size_t which)
{
    return which ? &mechanism_table[which - 1] : routes->mechanism;
}

void routes_groups(struct routes *routes, uint32_t groups)
{
    for (size_t i = 0; i < routes->slot_count && routes->groups != groups; i++) {
        free(routes->slot[i]);
        routes->slot[i] = NULL;
    }
    routes->groups = groups;
}

static size_t kinds_slot(const struct routes *routes, const struct transfer *transfer)
{
    const uint32_t ports = (uint32_t)routes->machine->node.port_count;
    const uint32_t from = transfer->from == TRANSFER_SWITCH ? transfer->to : transfer->from;
    const uint32_t to = transfer->to == TRANSFER_SWITCH ? transfer->from : transfer->to;
    const size_t pair = machine_kind(routes->machine, from / ports) * routes->kinds +
                        machine_kind(routes->machine, to / ports);
    return pair * routes->per_kinds;
}

size_t routes_slot(const struct routes *routes, const struct transfer *transfer, double bytes)
{
    const uint32_t from = transfer->from, to = transfer->to, lane = transfer->op->lane;
    uint32_t ports = (uint32_t)routes->machine->node.port_count;
    size_t switches = 2u * (size_t)ports * ports;
    const struct mechanism *mechanism = mechanism_at(routes, transfer->op->mechanism);
    size_t rail = transfer->op->mechanism * routes->per_mechanism +
                  (lane % routes->rails) * (switches + 4u * ports) +
                  (routes->kinds > 1 ? kinds_slot(routes, transfer) : 0);
    if (mechanism->brief_B && bytes < mechanism->brief_B(routes->machine))
        switches += 2u * ports;
    if (to == TRANSFER_SWITCH)
        return rail + switches + from % ports;
    if (from == TRANSFER_SWITCH)
        return rail + switches + ports + to % ports;
    size_t same_node = from / ports == to / ports;
    return rail + (same_node * ports + from % ports) * ports + to % ports;
}

struct endpoints routes_endpoints(const struct routes *routes, size_t slot)
{
    const struct node_type *node = &routes->machine->node;
    size_t ports = node->port_count, pairs = ports * ports, rail = 2 * pairs + 4 * ports;
    struct endpoints ends = {.rail = (uint32_t)(slot % routes->per_mechanism / rail),
                             .groups = routes->groups};
    if (routes_kind(routes, slot, END_SRC) != routes_kind(routes, slot, END_DST))
        ends.receiver = machine_of_kind(routes->machine, routes_kind(routes, slot, END_DST));
    slot %= rail;
    if (slot < 2 * pairs) {
        ends.same_node = slot >= pairs;
        ends.src.device = node->ports[slot % pairs / ports];
        ends.dst.device = node->ports[slot % ports];
        return ends;
    }
    slot -= 2 * pairs;
    ends.brief = slot >= 2 * ports;
    slot %= 2 * ports;
    if (slot < ports) {
        ends.src.device = node->ports[slot];
        ends.dst.kind = ENDPOINT_SWITCH;
    } else {
        ends.src.kind = ENDPOINT_SWITCH;
        ends.dst.device = node->ports[slot - ports];
    }
    return ends;
}

static const struct mechanism *slot_mechanism(const struct routes *routes, size_t slot)
{
    return mechanism_at(routes, slot % routes->per_kinds / routes->per_mechanism);
}

static enum status make_route(const struct routes *routes, size_t slot, struct route *route,
                              struct error *error)
{
    const struct endpoints ends = routes_endpoints(routes, slot);
    return mechanism_route(slot_mechanism(routes, slot),
                           machine_of_kind(routes->machine, routes_kind(routes, slot, END_SRC)),
                           &ends, route, error);
}

const struct route *routes_get(struct routes *routes, size_t slot, struct error *error)
{
    if (routes->slot[slot])
        return routes->slot[slot];
    struct route *route = malloc(sizeof *route);
    if (!route) {
        error_set(error, STATUS_NOMEM, "out of memory");
        return NULL;
    }
    if (make_route(routes, slot, route, error)) {
        free(route);
        return NULL;
    }
    routes->slot[slot] = route;
    return route;
}

static enum status fill_slot(struct routes *routes, size_t slot, struct error *error)
{
    if (routes->slot[slot])
        return STATUS_OK;
    routes->slot[slot] = malloc(sizeof *routes->slot[slot]);
    if (!routes->slot[slot])
        return error_set(error, STATUS_NOMEM, "out of memory");
    enum status status = make_route(routes, slot, routes->slot[slot], error);
    return status && mechanism_hangs(error) ? STATUS_OK : status;
}

static enum status fill_op(struct routes *routes, const struct plan *plan, const struct plan_op *op,
                           const struct plan_cursor *cursor, double size_B, struct error *error)
{
    for (uint32_t rank = 0; rank < plan->ranks; rank++)
        for (uint32_t index = 0;; index++) {
            struct transfer transfer;
            int found = plan_transfer(plan, op, cursor, rank, index, &transfer, error);
            if (found < 0)
                return STATUS_INPUT;
            if (found == 0)
                break;
            double bytes = size_B * transfer.count / plan->chunks;
            enum status status = fill_slot(routes, routes_slot(routes, &transfer, bytes), error);
            if (status)
                return status;
        }
    return STATUS_OK;
}

static enum status fill_plan(struct routes *routes, const struct plan *plan, double size_B,
                             struct error *error)
{
    /* Where nobody's partner depends on the turn, one turn shows all pairs. */
    bool *seen = calloc(plan->op_count + 1, sizeof *seen);
    if (!seen)
        return error_set(error, STATUS_NOMEM, "out of memory");
    enum status status = STATUS_OK;
    struct plan_cursor cursor;
    for (plan_first(plan, &cursor); !cursor.done && !status; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        for (uint32_t i = 0; i < in->op_count && !status; i++) {
            size_t at = in->first_op + i;
            const struct plan_op *op = &plan->ops[at];
            bool turns = op->edge_count == 0 &&
                         (op->to.uses_loops || (op->conditional && op->where.uses_loops));
            if (!seen[at] || turns)
                status = fill_op(routes, plan, op, &cursor, size_B, error);
            seen[at] = true;
        }
    }
    free(seen);
    return status;
}

enum status routes_fill(struct routes *routes, const struct plan *plan, double size_B,
                        struct error *error)
{
    if (plan_uses_switch(plan))
        routes_groups(routes, plan_groups(plan));
    return fill_plan(routes, plan_for(plan, size_B), size_B, error);
}

bool routes_same(const struct routes *routes, size_t slot, size_t other)
{
    const struct route *a = routes->slot[slot], *b = routes->slot[other];
    bool same = a->leg_count == b->leg_count && a->verdict_count == b->verdict_count &&
                a->taken == b->taken && !(a->line_factor < b->line_factor) &&
                !(a->line_factor > b->line_factor) && !(a->setup_s < b->setup_s) &&
                !(a->setup_s > b->setup_s);
    for (size_t i = 0; same && i < a->leg_count; i++)
        same = a->legs[i].kind == b->legs[i].kind;
    return same;
}
