/* states.c: see states.h. */
#include "sim/study/states.h"

#include <math.h>

static const struct origin by_diagnosis = {.kind = ORIGIN_SET, .file = "diagnosis"};

static bool put(struct params *params, enum param_id id, double value)
{
    double before = param_get(params, id);
    param_set(params, id, value, by_diagnosis);
    return before < value || before > value;
}

static bool no_peermem(struct machine *machine)
{
    bool changed = put(&machine->state, PARAM_STATE_PEERMEM, 0);
    return put(&machine->state, PARAM_STATE_DMABUF, 0) || changed;
}

static bool acs_on(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind == LINK_PCIE &&
            machine->node.devices[link->end[0]].kind == DEVICE_PCIE_SWITCH)
            changed = put(&link->params, PARAM_PCIE_ACS, 0x2C) || changed;
    }
    return changed;
}

static bool iommu_translates(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_IOMMU, 2);
}

static bool gdr_never(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_GDR_LEVEL, PATH_LOC);
}

static bool p2p_never(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_P2P_LEVEL, PATH_LOC);
}

static bool each_nic(struct machine *machine, enum param_id id, double value)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == DEVICE_NIC)
            changed = put(&machine->node.devices[i].params, id, value) || changed;
    return changed;
}

static bool strict_ordering(struct machine *machine)
{
    return each_nic(machine, PARAM_NIC_RELAXED_ORDERING, 0);
}

/* One link of a kind trains to half: the slowest decides, so all of the kind stand for it. */
static bool half_links(struct machine *machine, enum device_kind below)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind != LINK_PCIE || machine->node.devices[link->end[1]].kind != below)
            continue;
        double rate = param_get(&link->params, PARAM_PCIE_RATE);
        double width = param_get(&link->params, PARAM_PCIE_WIDTH);
        changed = (rate > 0     ? put(&link->params, PARAM_PCIE_RATE, rate / 2)
                   : width >= 2 ? put(&link->params, PARAM_PCIE_WIDTH, floor(width / 2))
                                : false) ||
                  changed;
    }
    return changed;
}

static bool half_gpu_links(struct machine *machine)
{
    return half_links(machine, DEVICE_GPU);
}

static bool half_nic_links(struct machine *machine)
{
    return half_links(machine, DEVICE_NIC);
}

static bool half_uplinks(struct machine *machine)
{
    return half_links(machine, DEVICE_PCIE_SWITCH);
}

const struct state_change state_table[] = {
    {"neither nvidia_peermem nor dma-buf", no_peermem},
    {"ACS redirects at every switch port", acs_on},
    {"the IOMMU translates", iommu_translates},
    {"GPUDirect RDMA off (NCCL_NET_GDR_LEVEL=LOC)", gdr_never},
    {"P2P off (NCCL_P2P_LEVEL=LOC)", p2p_never},
    {"NICs write in strict order", strict_ordering},
    {"links of the GPUs trained to half", half_gpu_links},
    {"links of the NICs trained to half", half_nic_links},
    {"uplinks of the PCIe switches trained to half", half_uplinks},
};
const size_t state_count = sizeof state_table / sizeof state_table[0];
