/* mech_nvls.c: reduction in the NVSwitch of a node.
 *
 *   up: GPU -> NVSwitch (adds);  down: NVSwitch -> GPU; the GPU posts it by a flag
 *
 * Each pass is one stage; the down pass is paced by the switch and needs no handoff. Ordinary
 * transfers between GPUs go by the best peer path.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

/* Multicast and reduction leave part of the NVLink's rate unused: each byte keeps it busy longer.
 * The bytes stay what they are. */
static void slow_leg(struct route *route, const struct machine *machine, size_t from, size_t to)
{
    struct path path;
    struct route_leg *leg = &route->legs[route->leg_count - 1];
    if (!machine_path(machine, from, to, LINK_NVLINK, &path))
        return;
    for (size_t i = 0; i < path.length && i < leg->use_count; i++) { /* a use for each link */
        const struct link *link = &machine->node.links[path.link[i]];
        struct route_use *use = &route->uses[leg->first_use + i];
        use->efficiency = param_get(&link->params, PARAM_NVLINK_NVLS_EFFICIENCY);
        double rate_Bps = machine->node.resources[use->resource].rate_Bps * use->efficiency;
        if (i == 0 || rate_Bps < leg->rate_Bps) {
            leg->rate_Bps = rate_Bps;
            leg->slowest = (uint16_t)(leg->first_use + i);
        }
    }
}

MECHANISM(nvls)
{
    if (ends->src.kind == ENDPOINT_DEVICE && ends->dst.kind == ENDPOINT_DEVICE)
        return ends->same_node ? mechanism_peer(machine, ends, route, error)
                               : mech_gdr_route(machine, ends, route, error);
    bool up = ends->src.kind == ENDPOINT_DEVICE;
    size_t gpu = up ? ends->src.device : ends->dst.device, nvswitch = 0;
    while (nvswitch < machine->node.device_count &&
           machine->node.devices[nvswitch].kind != DEVICE_NVSWITCH)
        nvswitch++;
    if (nvswitch == machine->node.device_count)
        return error_set(error, STATUS_INPUT,
                         "NVLS reduces in the NVSwitch of a node, and there is none");
    snprintf(route->setup, sizeof route->setup, "multicast group set up");
    enum status status =
        up ? mechanism_flag(machine, ends, route, error) : route_stage_free(route, error);
    if (!status)
        status = route_nvlink(route, machine, up ? gpu : nvswitch, up ? nvswitch : gpu, error);
    if (!status)
        slow_leg(route, machine, up ? gpu : nvswitch, up ? nvswitch : gpu);
    return status;
}
