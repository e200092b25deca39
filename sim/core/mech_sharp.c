/* mech_sharp.c: reduction in the fabric switch (SHARP).
 *
 *   up:   GPU -> NIC -> wire -> switch (adds what arrives)
 *   down: switch -> wire -> NIC -> GPU
 *
 * Each pass is one stage with one crossing, as GPUDirect RDMA. The up pass is posted by software;
 * the down pass is paced by the switch and needs no handoff. The switch adds `switch_reduce` to
 * each pass. Ordinary transfers between GPUs go by GPUDirect RDMA.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

enum status mech_sharp_route(const struct machine *machine, const struct endpoints *ends,
                             struct route *route, struct error *error)
{
    if (ends->src.kind == ENDPOINT_GPU && ends->dst.kind == ENDPOINT_GPU)
        return mech_gdr_route(machine, ends, route, error);
    snprintf(route->setup, sizeof route->setup,
             "buffer registered with the NIC, reduction tree set up");
    bool up = ends->src.kind == ENDPOINT_GPU;
    size_t gpu = up ? ends->src.device : ends->dst.device;
    double reduce_s = param_get(&machine->fabric, PARAM_FABRIC_SWITCH_REDUCE);
    int nic;
    enum status status = mechanism_nic(machine, gpu, &nic, error);
    if (status)
        return status;
    if (up) {
        status = route_stage(route, machine, "post the reduction", PARAM_SOFTWARE_STEP_HANDOFF,
                             END_SRC, gpu, error);
        if (!status)
            status = route_crossing(route, machine, END_SRC, gpu, (size_t)nic, error);
        if (!status)
            status = route_wire(route, machine, nic, -1, reduce_s, error);
    } else {
        status = route_stage_free(route, error);
        if (!status)
            status = route_wire(route, machine, -1, nic, reduce_s, error);
        if (!status)
            status = route_crossing(route, machine, END_DST, (size_t)nic, gpu, error);
    }
    return status;
}
