/* mech_sharp.c: reduction in a switch.
 *
 *   sharp  up:   GPU -> NIC -> wire -> fabric switch (adds what arrives)
 *          down: fabric switch -> wire -> NIC -> GPU
 *   nvls   up:   GPU -> NVSwitch (adds);  down: NVSwitch -> GPU
 *
 * Each pass is one stage. The up pass is posted by software; the down pass is paced by the switch
 * and needs no handoff. The fabric switch adds `switch_reduce` to each pass. Ordinary transfers
 * between GPUs go by GPUDirect RDMA, or by the best peer path.
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
    if (up) {
        status = route_stage(route, machine, "post the reduction", PARAM_SOFTWARE_STEP_HANDOFF,
                             END_SRC, gpu, error);
        if (!status)
            status = route_crossing(route, machine, END_SRC, gpu, (size_t)nic, TLP_NIC_READ, error);
        if (!status)
            status = route_wire(route, machine, nic, -1, reduce_s, error);
    } else {
        status = route_stage_free(route, error);
        if (!status)
            status = route_wire(route, machine, -1, nic, reduce_s, error);
        if (!status)
            status =
                route_crossing(route, machine, END_DST, (size_t)nic, gpu, TLP_NIC_WRITE, error);
    }
    return status;
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
    enum status status = up ? route_stage(route, machine, "post the reduction",
                                          PARAM_SOFTWARE_STEP_HANDOFF, END_SRC, gpu, error)
                            : route_stage_free(route, error);
    return status ? status
                  : route_nvlink(route, machine, up ? gpu : nvswitch, up ? nvswitch : gpu, error);
}
