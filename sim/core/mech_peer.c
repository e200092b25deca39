/* mech_peer.c: GPU to GPU inside a node.
 *
 *   nvlink  GPU -> GPU over NVLink: no PCIe at all
 *   p2p     GPU -> GPU over PCIe: one crossing, subject to distance, root complex, ACS and IOMMU
 *   ipc     one process maps another's memory; the bytes go as with the two above
 *
 * What cannot go this way goes through host memory, as NCCL and cudaMemcpyPeer do, without a word.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

static enum status need_gpus(const struct machine *machine, const struct endpoints *ends,
                             struct route *route, struct error *error)
{
    if (ends->same_node && ends->src.kind == ENDPOINT_DEVICE && ends->dst.kind == ENDPOINT_DEVICE &&
        mechanism_kind(machine, &ends->src) == DEVICE_GPU &&
        mechanism_kind(machine, &ends->dst) == DEVICE_GPU)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s moves bytes between two GPUs of one node only",
                     route->taken->title);
}

static bool has_nvlink(const struct machine *machine, const struct endpoints *ends)
{
    struct path path;
    return machine_path(machine, ends->src.device, ends->dst.device, LINK_NVLINK, &path);
}

static enum status over_nvlink(const struct machine *machine, const struct endpoints *ends,
                               struct route *route, struct error *error)
{
    snprintf(route->setup, sizeof route->setup, "peer access enabled over NVLink");
    enum status status = mechanism_flag(machine, ends, route, error);
    return status ? status
                  : route_nvlink(route, machine, ends->src.device, ends->dst.device, error);
}

static enum outcome check_p2p(const struct machine *machine, const struct endpoints *ends,
                              struct route *route)
{
    struct path path;
    if (!(param_get(&machine->state, PARAM_STATE_P2P_DRIVER) > 0)) {
        route_note(route, PRE_P2P_DRIVER, OUTCOME_BREAKS, "the driver refuses PCIe peer access");
        return OUTCOME_BREAKS;
    }
    if (machine_path(machine, ends->src.device, ends->dst.device, LINK_DMA, &path)) {
        enum path_class at = machine_class(machine, &path);
        enum path_class level = (enum path_class)param_get(&machine->state, PARAM_STATE_P2P_LEVEL);
        if (at > level) {
            route_note(route, PRE_P2P_DISTANCE, OUTCOME_BREAKS,
                       "%s and %s are %s apart, P2P ends at %s",
                       machine->node.devices[ends->src.device].name,
                       machine->node.devices[ends->dst.device].name, path_class_name(at),
                       path_class_name(level));
            return OUTCOME_BREAKS;
        }
    }
    /* Peer copies push: the source's packets are writes. */
    return route_check_peer(route, machine, ends->src.device, ends->dst.device, false);
}

MECHANISM(p2p)
{
    bool done;
    enum status status = need_gpus(machine, ends, route, error);
    if (status)
        return status;
    status = mechanism_react(check_p2p(machine, ends, route), "host", machine, ends, route, &done,
                             error);
    if (status || done)
        return status;
    snprintf(route->setup, sizeof route->setup, "peer access enabled, memory mapped");
    status = mechanism_flag(machine, ends, route, error);
    return status ? status
                  : route_crossing(route, machine, END_SRC, ends->src.device, ends->dst.device,
                                   TLP_SM_STORE, error);
}

MECHANISM(nvlink)
{
    enum status status = need_gpus(machine, ends, route, error);
    if (status)
        return status;
    if (has_nvlink(machine, ends))
        return over_nvlink(machine, ends, route, error);
    route_note(route, PRE_NVLINK, OUTCOME_BREAKS, "no NVLink joins %s and %s",
               machine->node.devices[ends->src.device].name,
               machine->node.devices[ends->dst.device].name);
    return mechanism_fall_back("p2p", machine, ends, route, error);
}

enum status mechanism_peer(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error)
{
    if (has_nvlink(machine, ends))
        return over_nvlink(machine, ends, route, error);
    return mech_p2p_route(machine, ends, route, error);
}

MECHANISM(ipc)
{
    enum status status = need_gpus(machine, ends, route, error);
    return status ? status : mechanism_peer(machine, ends, route, error);
}
