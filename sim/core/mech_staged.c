/* mech_staged.c: bounce buffers in host memory.
 *
 *   GPU -> DRAM | DRAM -> NIC -> wire -> NIC -> DRAM | DRAM -> GPU
 *
 * Three stages: each | is a handoff between the GPU's driver and the NIC's, so bytes are cut
 * through inside a stage and stored between stages. Two crossings at each host. Inside a node the
 * same with one buffer: GPU -> DRAM | DRAM -> GPU.
 */
#include "sim/core/mechanism.h"

enum status mech_staged_route(const struct machine *machine, const struct endpoints *ends,
                              struct route *route, struct error *error)
{
    if (ends->src.kind != ENDPOINT_GPU || ends->dst.kind != ENDPOINT_GPU)
        return error_set(error, STATUS_INPUT, "staged moves bytes between GPUs only");
    size_t src = ends->src.device, dst = ends->dst.device;
    int src_cpu = machine_nearest(machine, src, DEVICE_CPU);
    int dst_cpu = machine_nearest(machine, dst, DEVICE_CPU);
    enum status status = route_stage(route, machine, "post the transfer",
                                     PARAM_SOFTWARE_STEP_HANDOFF, END_SRC, src, error);
    if (!status)
        status = route_crossing(route, machine, END_SRC, src, (size_t)src_cpu, error);
    if (!status && !ends->same_node) {
        int src_nic, dst_nic;
        status = mechanism_nic(machine, src, &src_nic, error);
        if (!status)
            status = mechanism_nic(machine, dst, &dst_nic, error);
        if (!status)
            status = route_stage(route, machine, "copy done: tell the NIC",
                                 PARAM_SOFTWARE_COPY_HANDOFF, END_SRC, src, error);
        if (!status)
            status =
                route_crossing(route, machine, END_SRC, (size_t)src_cpu, (size_t)src_nic, error);
        if (!status)
            status = route_wire(route, machine, src_nic, dst_nic, 0, error);
        if (!status)
            status =
                route_crossing(route, machine, END_DST, (size_t)dst_nic, (size_t)dst_cpu, error);
    }
    if (!status)
        status = route_stage(route, machine, "data in host memory: start the copy",
                             PARAM_SOFTWARE_COPY_HANDOFF, END_DST, dst, error);
    if (!status)
        status = route_crossing(route, machine, END_DST, (size_t)dst_cpu, dst, error);
    return status;
}
