/* mechanism.c: the table, and what mechanisms share. See mechanism.h. */
#include "sim/core/mechanism.h"

#include <stdio.h>
#include <string.h>

#include "sim/core/protocol.h"

const struct mechanism mechanism_table[] = {
    {SPAN_NETWORK, "staged", "staged", "staged",
     "bounce buffers in pinned host memory at both ends, copy engine and NIC DMA", NULL,
     mech_staged_route},
    {SPAN_NETWORK, "pageable", "pageable", "pageable staging",
     "staged, but the user's buffer is pageable: a CPU copies it to and from the pinned one", NULL,
     mech_pageable_route},
    {SPAN_NETWORK, "host", "host", "host staging",
     "NCCL without GPUDirect: SMs store to and load from pinned host memory (SHM, NET)", NULL,
     mech_host_route},
    {SPAN_NETWORK, "socket", "socket", "sockets",
     "TCP: copies to host memory and into the kernel, and back at the other end", NULL,
     mech_socket_route},
    {SPAN_NETWORK, "gdr", "GDR", "GPUDirect",
     "GPUDirect RDMA: the NIC reads and writes device memory itself; inside a node the best peer "
     "path",
     NULL, mech_gdr_route},
    {SPAN_NETWORK, "async", "Async", "GPUDirect Async",
     "GPUDirect RDMA whose transfers the GPU posts itself: no CPU in the control path", NULL,
     mech_async_route},
    {SPAN_PEERS, "p2p", "P2P", "PCIe P2P", "GPU to GPU over PCIe, inside a node", NULL,
     mech_p2p_route},
    {SPAN_PEERS, "nvlink", "NVLink", "NVLink", "GPU to GPU over NVLink, inside a node", NULL,
     mech_nvlink_route},
    {SPAN_PEERS, "ipc", "IPC", "CUDA IPC",
     "GPU to GPU between processes: a mapping, over NVLink or PCIe, whichever is there", NULL,
     mech_ipc_route},
    {SPAN_MEMORY, "gdrcopy", "GDRCopy", "GDRCopy",
     "the CPU writes (combined) or reads (uncached) device memory through BAR1", NULL,
     mech_gdrcopy_route},
    {SPAN_DRIVE, "gds", "GDS", "GPUDirect Storage",
     "the drive's DMA goes straight to and from device memory", NULL, mech_gds_route},
    {SPAN_DRIVE, "gds_compat", "compat", "storage without GDS",
     "POSIX through the page cache, then a copy to the GPU (cuFile's compatibility mode)", NULL,
     mech_gds_compat_route},
    {SPAN_SWITCH, "sharp", "SHARP", "SHARP",
     "GPUDirect RDMA up to the switch, which reduces, and down again", "sharp", mech_sharp_route,
     mech_sharp_brief_B, mech_sharp_has_room},
    {SPAN_SWITCH, "nvls", "NVLS", "NVLS",
     "NVLink up to the NVSwitch, which reduces, and down again", "nvls", mech_nvls_route},
};
const size_t mechanism_count = sizeof mechanism_table / sizeof mechanism_table[0];

const struct mechanism *mechanism_find(const char *name)
{
    for (size_t i = 0; i < mechanism_count; i++)
        if (strcmp(mechanism_table[i].name, name) == 0)
            return &mechanism_table[i];
    return NULL;
}

enum status mechanism_route(const struct mechanism *mechanism, const struct machine *machine,
                            const struct endpoints *ends, struct route *route, struct error *error)
{
    route_init(route);
    route->asked = route->taken = mechanism;
    route->whose = machine->label;
    if (mechanism->span != SPAN_SWITCH &&
        (ends->src.kind == ENDPOINT_SWITCH || ends->dst.kind == ENDPOINT_SWITCH)) {
        error_set(error, STATUS_INPUT, "%s reduces in no switch", mechanism->title);
        return error_hint(error, "mechanism sharp does, in the network's switches, and nvls in a "
                                 "node's NVSwitch: run it with -m sharp or -m nvls");
    }
    enum status status = mechanism->route(machine, ends, route, error);
    return status ? status : protocol_lay(mechanism, machine, ends, route, error);
}

enum status mechanism_fall_back(const char *name, const struct machine *machine,
                                const struct endpoints *ends, struct route *route,
                                struct error *error)
{
    route->taken = mechanism_find(name);
    return route->taken->route(machine, ends, route, error);
}

bool mechanism_has_room(const struct mechanism *mechanism, const struct machine *machine,
                        uint32_t groups, char *why, size_t size)
{
    return !mechanism->has_room || mechanism->has_room(machine, groups, why, size);
}

static const char hangs[] = "hangs"; /* the subject of such an error */

bool mechanism_hangs(const struct error *error)
{
    return error->status == STATUS_FAILED && strcmp(error->subject, hangs) == 0;
}

enum status mechanism_hang(const struct route *route, struct error *error)
{
    size_t at = 0; /* the verdict that hangs may not be the last that was noted */
    while (at + 1 < route->verdict_count && route->verdicts[at].outcome < OUTCOME_HANGS)
        at++;
    error_set(error, STATUS_FAILED, "the transfer hangs: %s", route->verdicts[at].sentence);
    if (error)
        snprintf(error->subject, sizeof error->subject, "%s", hangs);
    return STATUS_FAILED;
}

enum status mechanism_react(enum outcome outcome, const char *fall_back,
                            const struct machine *machine, const struct endpoints *ends,
                            struct route *route, bool *ret_done, struct error *error)
{
    *ret_done = outcome >= OUTCOME_BREAKS;
    if (outcome == OUTCOME_HANGS)
        return mechanism_hang(route, error);
    if (outcome == OUTCOME_BREAKS)
        return mechanism_fall_back(fall_back, machine, ends, route, error);
    return STATUS_OK;
}

enum status mechanism_nic(const struct machine *machine, size_t device, uint32_t rail, int *ret_nic,
                          struct error *error)
{
    *ret_nic = machine_nearest(machine, device, DEVICE_NIC, rail);
    if (*ret_nic < 0)
        return error_set(error, STATUS_INPUT, "no chain of links leads from %s to a nic",
                         machine->node.devices[device].name);
    return STATUS_OK;
}

size_t mechanism_memory(const struct machine *machine, size_t device)
{
    int cpu = machine->node.devices[device].kind == DEVICE_CPU
                  ? (int)device
                  : machine_nearest(machine, device, DEVICE_CPU, 0);
    return cpu < 0 ? device : (size_t)cpu;
}

enum device_kind mechanism_kind(const struct machine *machine, const struct endpoint *endpoint)
{
    return machine->node.devices[endpoint->device].kind;
}

enum status mechanism_post(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error)
{
    return route_stage(route, machine, "post the transfer", PARAM_SOFTWARE_STEP_HANDOFF, END_SRC,
                       ends->src.device, error);
}

enum status mechanism_flag(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error)
{
    return route_stage(route, machine, "flag the peer", PARAM_SOFTWARE_PEER_HANDOFF, END_SRC,
                       ends->src.device, error);
}
