/* mech_sharp.c: reduction in a switch.
 *
 *   sharp  up:   GPU -> NIC -> wire -> fabric switch (adds what arrives)
 *          down: fabric switch -> wire -> NIC -> GPU
 *   nvls   up:   GPU -> NVSwitch (adds);  down: NVSwitch -> GPU; the GPU posts it by a flag
 *
 * Each pass is one stage. The up pass is posted by software; the down pass is paced by the switch
 * and needs no handoff. The fabric switch adds `switch_reduce` to each pass. Ordinary transfers
 * between GPUs go by GPUDirect RDMA, or by the best peer path.
 *
 * Where GPUDirect RDMA does not work at one end, the NIC reads or writes a buffer in host memory
 * there, and the GPU's SMs fill or empty it in a stage of their own.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

MECHANISM(sharp)
{
    if (ends->src.kind == ENDPOINT_DEVICE && ends->dst.kind == ENDPOINT_DEVICE)
        return mech_gdr_route(machine, ends, route, error);
    snprintf(route->setup, sizeof route->setup,
             "buffer registered with the NIC, reduction tree set up");
    bool up = ends->src.kind == ENDPOINT_DEVICE;
    size_t gpu = up ? ends->src.device : ends->dst.device;
    double reduce_s = param_get(&machine->fabric, PARAM_FABRIC_SWITCH_REDUCE);
    int nic;
    enum status status = mechanism_nic(machine, gpu, ends->rail, &nic, error);
    if (status)
        return status;
    enum outcome outcome = mechanism_check_nic(machine, gpu, (size_t)nic, up, route);
    if (outcome == OUTCOME_HANGS)
        return mechanism_hang(route, error);
    bool bounce = outcome == OUTCOME_BREAKS;
    size_t end = bounce ? mechanism_memory(machine, gpu) : gpu;
    if (up && bounce) {
        status = mechanism_post(machine, ends, route, error);
        if (!status)
            status = route_sm_crossing(route, machine, END_SRC, gpu, end, error);
    }
    if (!status && up)
        status = route_stage(route, machine, "post the reduction",
                             bounce ? PARAM_SOFTWARE_FLAG_HANDOFF : PARAM_SOFTWARE_STEP_HANDOFF,
                             END_SRC, gpu, error);
    else if (!status)
        status = route_stage_free(route, error);
    if (!status)
        status = up ? route_crossing(route, machine, END_SRC, end, (size_t)nic, TLP_NIC_READ, error)
                    : route_wire(route, machine, -1, nic, reduce_s, error);
    if (!status)
        status =
            up ? route_wire(route, machine, nic, -1, reduce_s, error)
               : route_crossing(route, machine, END_DST, (size_t)nic, end, TLP_NIC_WRITE, error);
    if (!status && !up && bounce) {
        status = route_stage(route, machine, "in host memory: flag the GPU",
                             PARAM_SOFTWARE_FLAG_HANDOFF, END_DST, gpu, error);
        if (!status)
            status = route_sm_crossing(route, machine, END_DST, end, gpu, error);
    }
    return status;
}

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
    if (nvswitch == machine->node.device_count || machine->node_count > 1)
        return error_set(error, STATUS_INPUT, "NVLS reduces in the NVSwitch of one node");
    snprintf(route->setup, sizeof route->setup, "multicast group set up");
    enum status status =
        up ? mechanism_flag(machine, ends, route, error) : route_stage_free(route, error);
    if (!status)
        status = route_nvlink(route, machine, up ? gpu : nvswitch, up ? nvswitch : gpu, error);
    if (!status)
        slow_leg(route, machine, up ? gpu : nvswitch, up ? nvswitch : gpu);
    return status;
}
