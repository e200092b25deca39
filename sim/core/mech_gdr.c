/* mech_gdr.c: GPUDirect RDMA.
 *
 *   GPU -> NIC -> wire -> NIC -> GPU
 *
 * One stage from VRAM to VRAM, cut through: the NIC reads and writes device memory itself. One
 * crossing at each host. Inside a node: one peer crossing, GPU -> GPU over PCIe.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

enum status mech_gdr_route(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error)
{
    if (ends->src.kind != ENDPOINT_GPU || ends->dst.kind != ENDPOINT_GPU)
        return error_set(error, STATUS_INPUT, "GPUDirect RDMA moves bytes between GPUs only");
    size_t src = ends->src.device, dst = ends->dst.device;
    enum status status = route_stage(route, machine, "post the transfer",
                                     PARAM_SOFTWARE_STEP_HANDOFF, END_SRC, src, error);
    if (status)
        return status;
    if (ends->same_node) {
        snprintf(route->setup, sizeof route->setup, "peer access enabled, buffers mapped");
        return route_crossing(route, machine, END_SRC, src, dst, error);
    }
    snprintf(route->setup, sizeof route->setup, "buffer registered with the NIC");
    int src_nic, dst_nic;
    status = mechanism_nic(machine, src, &src_nic, error);
    if (!status)
        status = mechanism_nic(machine, dst, &dst_nic, error);
    if (!status)
        status = route_crossing(route, machine, END_SRC, src, (size_t)src_nic, error);
    if (!status)
        status = route_wire(route, machine, src_nic, dst_nic, 0, error);
    if (!status)
        status = route_crossing(route, machine, END_DST, (size_t)dst_nic, dst, error);
    return status;
}
