/* remedy.c: the table. See remedy.h. */
#include "sim/study/remedy.h"

#include <math.h>

static const struct origin by_remedy = {.kind = ORIGIN_SET, .file = "whatif"};

/* Set a parameter; whether that changed it. */
static bool change(struct params *params, enum param_id id, double value)
{
    double before = param_get(params, id);
    if (!(before < value) && !(before > value))
        return false;
    param_set(params, id, value, by_remedy);
    return true;
}

static bool change_devices(struct machine *machine, enum device_kind kind, enum param_id id,
                           double value)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == kind)
            changed = change(&machine->node.devices[i].params, id, value) || changed;
    return changed;
}

static bool change_pcie(struct machine *machine, enum param_id id, double value)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++)
        if (machine->node.links[i].kind == LINK_PCIE)
            changed = change(&machine->node.links[i].params, id, value) || changed;
    return changed;
}

static bool acs_off(struct machine *machine)
{
    return change_pcie(machine, PARAM_PCIE_ACS, 0);
}

static bool ats_on(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_ATS, 1);
}

static bool peermem(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_PEERMEM, 1);
}

static bool iommu_identity(struct machine *machine)
{
    if (param_get(&machine->state, PARAM_STATE_IOMMU) < 2)
        return false;
    return change(&machine->state, PARAM_STATE_IOMMU, 1);
}

static bool retrain(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct params *params = &machine->node.links[i].params;
        if (machine->node.links[i].kind != LINK_PCIE)
            continue;
        double gen = param_get(params, PARAM_PCIE_GEN_MAX);
        double width = param_get(params, PARAM_PCIE_WIDTH_MAX);
        if (gen > param_get(params, PARAM_PCIE_GEN))
            changed = change(params, PARAM_PCIE_GEN, gen);
        if (width > param_get(params, PARAM_PCIE_WIDTH))
            changed = change(params, PARAM_PCIE_WIDTH, width);
    }
    return changed;
}

static bool relaxed_ordering(struct machine *machine)
{
    return change_devices(machine, DEVICE_NIC, PARAM_NIC_RELAXED_ORDERING, 1);
}

/* As many reads as the line rate needs (Little's law). */
static bool more_reads(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.device_count; i++) {
        struct params *params = &machine->node.devices[i].params;
        if (machine->node.devices[i].kind == DEVICE_NIC && param_get(params, PARAM_NIC_READS) > 0)
            changed = change(params, PARAM_NIC_READS, 0) || changed;
    }
    return changed;
}

static bool gdr_level(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_GDR_LEVEL, PATH_SYS);
}

static bool p2p_level(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_P2P_LEVEL, PATH_SYS);
}

static bool p2p_driver(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_P2P_DRIVER, 1);
}

/* The upper end of the link by which a device hangs on the PCIe tree; -1 if there is none. */
static int link_below(const struct machine *machine, size_t device)
{
    for (size_t i = 0; i < machine->node.link_count; i++)
        if (machine->node.links[i].kind == LINK_PCIE && machine->node.links[i].end[1] == device)
            return (int)i;
    return -1;
}

/* NICs that hang on a root complex move to the switches of the GPUs, dealt out in turn. */
static bool move_nics(struct machine *machine)
{
    const struct node_type *node = &machine->node;
    size_t next = 0;
    bool changed = false;
    for (size_t i = 0; i < node->device_count; i++) {
        int link = node->devices[i].kind == DEVICE_NIC ? link_below(machine, i) : -1;
        if (link < 0 || node->devices[node->links[link].end[0]].kind != DEVICE_CPU)
            continue;
        for (size_t tried = 0; tried < node->gpu_count; tried++) {
            int gpu_link = link_below(machine, node->gpus[next++ % node->gpu_count]);
            if (gpu_link < 0 ||
                node->devices[node->links[gpu_link].end[0]].kind != DEVICE_PCIE_SWITCH)
                continue;
            machine->node.links[link].end[0] = node->links[gpu_link].end[0];
            changed = true;
            break;
        }
    }
    return changed;
}

static bool large_bar(struct machine *machine)
{
    bool freed = change_devices(machine, DEVICE_GPU, PARAM_GPU_BAR1_USED, 0);
    return change_devices(machine, DEVICE_GPU, PARAM_GPU_BAR1, (double)INFINITY) || freed;
}

static bool cuda_buffers(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_CUDA_BUFFER, 1);
}

static bool persistent(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_REGISTERED, 1);
}

static bool gdrdrv(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_GDRDRV, 1);
}

static bool nvidia_fs(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_NVIDIA_FS, 1);
}

static bool filesystem(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_GDS_FILESYSTEM, 1);
}

static bool aligned(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_GDS_ALIGNED, 1);
}

static bool scale_devices(struct machine *machine, enum device_kind kind, enum param_id id)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.device_count; i++) {
        struct params *params = &machine->node.devices[i].params;
        if (machine->node.devices[i].kind == kind && !isinf(param_get(params, id)))
            changed = change(params, id, 2 * param_get(params, id)) || changed;
    }
    return changed;
}

static bool faster_nics(struct machine *machine)
{
    return scale_devices(machine, DEVICE_NIC, PARAM_NIC_RATE);
}

static bool faster_drives(struct machine *machine)
{
    return scale_devices(machine, DEVICE_NVME, PARAM_NVME_READ_RATE);
}

static bool faster_dram(struct machine *machine)
{
    return scale_devices(machine, DEVICE_CPU, PARAM_CPU_DRAM_RATE);
}

static bool next_pcie(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct params *params = &machine->node.links[i].params;
        if (machine->node.links[i].kind != LINK_PCIE)
            continue;
        double rate = param_get(params, PARAM_PCIE_RATE), gen = param_get(params, PARAM_PCIE_GEN);
        changed = (rate > 0  ? change(params, PARAM_PCIE_RATE, 2 * rate)
                   : gen < 7 ? change(params, PARAM_PCIE_GEN, gen + 1)
                             : false) ||
                  changed;
    }
    return changed;
}

const struct remedy remedy_table[] = {
    {"clear ACS redirect on every port", false, acs_off},
    {"ATS on", false, ats_on},
    {"load nvidia_peermem", false, peermem},
    {"IOMMU to identity (iommu=pt)", false, iommu_identity},
    {"retrain links to full speed and width", false, retrain},
    {"relaxed ordering on", false, relaxed_ordering},
    {"enough outstanding reads (MAX_ACC_OUT_READ)", false, more_reads},
    {"GDR level SYS (NCCL_NET_GDR_LEVEL=SYS)", false, gdr_level},
    {"P2P level SYS (NCCL_P2P_LEVEL=SYS)", false, p2p_level},
    {"a driver that allows P2P", false, p2p_driver},
    {"move the NICs to the GPUs' switches", false, move_nics},
    {"large BAR1, mappings freed", false, large_bar},
    {"buffers from cudaMalloc, drivers aligned", false, cuda_buffers},
    {"persistent, registered buffers", false, persistent},
    {"load gdrdrv", false, gdrdrv},
    {"load nvidia-fs", false, nvidia_fs},
    {"a file system that supports GDS", false, filesystem},
    {"align storage requests", false, aligned},
    {"NICs twice as fast", true, faster_nics},
    {"PCIe one generation up", true, next_pcie},
    {"host memory twice as fast", true, faster_dram},
    {"drives twice as fast", true, faster_drives},
};
const size_t remedy_count = sizeof remedy_table / sizeof remedy_table[0];

enum status remedy_apply(const struct remedy *remedy, const struct machine *machine,
                         struct machine *ret_copy, bool *ret_applies, struct error *error)
{
    struct machine copy;
    enum status status = machine_copy(machine, &copy, error);
    if (status)
        return status;
    *ret_applies = remedy->apply(&copy);
    if (*ret_applies)
        status = machine_finish(&copy, error);
    if (!*ret_applies || status)
        machine_free(&copy);
    else
        *ret_copy = copy;
    return status;
}
