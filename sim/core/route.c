/* route.c: putting routes together. See route.h. */
#include "sim/core/route.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static enum status too_long(struct error *error)
{
    return error_set(error, STATUS_INPUT, "the route has too many stages, legs or links");
}

enum status route_stage_free(struct route *route, struct error *error)
{
    if (route->stage_count == ROUTE_MAX_STAGES)
        return too_long(error);
    struct route_stage *stage = &route->stages[route->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->first_leg = (uint16_t)route->leg_count;
    return STATUS_OK;
}

enum status route_stage(struct route *route, const struct machine *machine, const char *what,
                        enum param_id param, enum route_end end, size_t gpu, struct error *error)
{
    enum status status = route_stage_free(route, error);
    if (status)
        return status;
    struct route_handoff *handoff = &route->stages[route->stage_count - 1].handoff;
    snprintf(handoff->label, sizeof handoff->label, "%s", what);
    handoff->param = param;
    handoff->cost_s = param_get(&machine->software, param);
    handoff->end = end;
    handoff->thread = machine->node.devices[gpu].resource;
    handoff->wakes_cpu = param == PARAM_SOFTWARE_COPY_HANDOFF;
    handoff->blocking =
        handoff->wakes_cpu && param_get(&machine->software, PARAM_SOFTWARE_COPY_BLOCKING) > 0;
    return STATUS_OK;
}

static struct route_leg *open_leg(struct route *route, enum leg_kind kind)
{
    if (route->leg_count == ROUTE_MAX_LEGS || route->stage_count == 0)
        return NULL;
    struct route_leg *leg = &route->legs[route->leg_count++];
    memset(leg, 0, sizeof *leg);
    leg->kind = kind;
    leg->rate_Bps = (double)INFINITY;
    leg->first_use = (uint16_t)route->use_count;
    leg->slowest = leg->first_use;
    route->stages[route->stage_count - 1].leg_count++;
    return leg;
}

static bool add_use(struct route *route, struct route_leg *leg, const struct machine *machine,
                    enum route_end end, uint16_t resource)
{
    if (route->use_count == ROUTE_MAX_USES)
        return false;
    double rate = machine->node.resources[resource].rate_Bps;
    if (leg->use_count == 0 || rate < leg->rate_Bps) {
        leg->rate_Bps = rate;
        leg->slowest = (uint16_t)route->use_count;
    }
    leg->latency_s += machine->node.resources[resource].latency_s;
    leg->use_count++;
    route->uses[route->use_count++] =
        (struct route_use){.end = end, .resource = resource, .bytes_factor = 1.0};
    return true;
}

enum status route_crossing(struct route *route, const struct machine *machine, enum route_end end,
                           size_t from, size_t to, struct error *error)
{
    const struct node_type *node = &machine->node;
    struct path path;
    if (!machine_path(machine, from, to, &path))
        return error_set(error, STATUS_INPUT, "no PCIe path leads from %s to %s",
                         node->devices[from].name, node->devices[to].name);
    struct route_leg *leg = open_leg(route, LEG_CROSSING);
    if (!leg)
        return too_long(error);
    leg->end = end;
    const size_t ends[2] = {from, to};
    bool fits = true;
    for (size_t i = 0; i < path.length && fits; i++) {
        const struct link *link = &node->links[path.link[i]];
        fits = add_use(route, leg, machine, end,
                       (uint16_t)(link->resource + (path.reversed[i] ? 1 : 0)));
        const struct device *through = &node->devices[path.device[i + 1]];
        if (i + 1 < path.length && through->kind == DEVICE_PCIE_SWITCH)
            leg->latency_s += param_get(&through->params, PARAM_PCIE_SWITCH_LATENCY);
    }
    const char *names[2];
    for (int i = 0; i < 2 && fits; i++) {
        const struct device *device = &node->devices[ends[i]];
        names[i] =
            device->kind == DEVICE_CPU ? node->resources[device->resource].name : device->name;
        if (device->kind == DEVICE_CPU)
            fits = add_use(route, leg, machine, end, device->resource);
    }
    if (!fits)
        return too_long(error);
    snprintf(leg->label, sizeof leg->label, "%s -> %s (%s)", names[0], names[1],
             end == END_SRC ? "sender" : "receiver");
    return STATUS_OK;
}

enum status route_wire(struct route *route, const struct machine *machine, int src_nic, int dst_nic,
                       double extra_s, struct error *error)
{
    const struct node_type *node = &machine->node;
    struct route_leg *leg = open_leg(route, LEG_WIRE);
    if (!leg)
        return too_long(error);
    const int nics[2] = {src_nic, dst_nic};
    const char *names[2] = {"switch", "switch"};
    for (int i = 0; i < 2; i++) {
        if (nics[i] < 0)
            continue;
        const struct device *nic = &node->devices[nics[i]];
        names[i] = nic->name;
        leg->latency_s += param_get(&nic->params, PARAM_NIC_LATENCY) / 2;
        if (!add_use(route, leg, machine, i == 0 ? END_SRC : END_DST,
                     (uint16_t)(nic->resource + i)))
            return too_long(error);
    }
    /* A pass that ends in a switch has passed it; the pass down from it has not again. */
    if (src_nic >= 0)
        leg->latency_s += param_get(&machine->fabric, PARAM_FABRIC_HOP_LATENCY);
    leg->latency_s += extra_s;
    snprintf(leg->label, sizeof leg->label, "%s -> %s (wire)", names[0], names[1]);
    return STATUS_OK;
}

size_t route_count_legs(const struct route *route, enum leg_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < route->leg_count; i++)
        count += route->legs[i].kind == kind;
    return count;
}

size_t route_count_crossings_at(const struct route *route, enum route_end end)
{
    size_t count = 0;
    for (size_t i = 0; i < route->leg_count; i++)
        count += route->legs[i].kind == LEG_CROSSING && route->legs[i].end == end;
    return count;
}

size_t route_count_wakeups(const struct route *route)
{
    size_t count = 0;
    for (size_t i = 0; i < route->stage_count; i++)
        count += route->stages[i].handoff.wakes_cpu;
    return count;
}
