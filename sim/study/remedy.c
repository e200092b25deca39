/* remedy.c: the table. See remedy.h. */
#include "sim/study/remedy.h"

#include <math.h>
#include <stdio.h>

#include "sim/core/odd.h"

#include "sim/core/route.h"

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

static bool state_is(const struct machine *machine, enum param_id id)
{
    return param_get(&machine->state, id) > 0;
}

enum { ACS_REDIRECT = 0x2C }; /* RR | CR | EC; source validation and the like redirect nothing */

static unsigned redirects(const struct link *link)
{
    return link->kind == LINK_PCIE
               ? (unsigned)param_get(&link->params, PARAM_PCIE_ACS) & ACS_REDIRECT
               : 0;
}

/* A VM's isolation rests on ACS and on translation: there both stay, and ATS is the cure. Where
 * ATS is on, packets are translated before they reach a port, and pass. */
static bool acs_in_the_way(const struct machine *machine)
{
    if (state_is(machine, PARAM_STATE_VM) || state_is(machine, PARAM_STATE_ATS))
        return false;
    for (size_t i = 0; i < machine->node.link_count; i++)
        if (redirects(&machine->node.links[i]) &&
            machine->node.devices[machine->node.links[i].end[0]].kind == DEVICE_PCIE_SWITCH)
            return true;
    return false;
}

static bool acs_off(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct params *params = &machine->node.links[i].params;
        unsigned bits = redirects(&machine->node.links[i]);
        if (bits)
            changed = change(params, PARAM_PCIE_ACS,
                             (unsigned)param_get(params, PARAM_PCIE_ACS) - bits) ||
                      changed;
    }
    return changed;
}

static bool may_stop_translating(const struct machine *machine)
{
    return machine_translates(machine) && !state_is(machine, PARAM_STATE_VM);
}

static bool iommu_identity(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_IOMMU, 1);
}

/* ATS asks the IOMMU that translates; a VM has one below it, whatever it sees itself. */
static bool something_translates(const struct machine *machine)
{
    return machine_translates(machine) || state_is(machine, PARAM_STATE_VM);
}

static bool ats_on(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_ATS, 1);
}

static bool nobody_pins(const struct machine *machine)
{
    return !state_is(machine, PARAM_STATE_DMABUF);
}

static bool peermem(struct machine *machine)
{
    return change(&machine->state, PARAM_STATE_PEERMEM, 1);
}

/* To what both ends can do. A rate that was given outright grows as the link's own would. */
static bool retrain(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind != LINK_PCIE)
            continue;
        double rate = param_get(&link->params, PARAM_PCIE_RATE);
        double gen = param_get(&link->params, PARAM_PCIE_GEN_MAX);
        double width = param_get(&link->params, PARAM_PCIE_WIDTH_MAX);
        struct link trained = *link;
        param_set(&trained.params, PARAM_PCIE_RATE, 0, by_remedy);
        double before_Bps = link_rate_Bps(&trained);
        bool grows = false;
        if (gen > param_get(&link->params, PARAM_PCIE_GEN))
            grows = change(&trained.params, PARAM_PCIE_GEN, gen);
        if (width > param_get(&link->params, PARAM_PCIE_WIDTH))
            grows = change(&trained.params, PARAM_PCIE_WIDTH, width) || grows;
        if (!grows)
            continue;
        double after_Bps = link_rate_Bps(&trained);
        if (rate > 0)
            param_set(&trained.params, PARAM_PCIE_RATE, rate * after_Bps / before_Bps, by_remedy);
        link->params = trained.params;
        changed = true;
    }
    return changed;
}

/* A rate by hand that gen and width deny: what they carry instead. */
static bool lane_rates(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind == LINK_PCIE && route_rate_denied(link))
            changed = change(&link->params, PARAM_PCIE_RATE, 0) || changed;
    }
    return changed;
}

static bool relaxed_ordering(struct machine *machine)
{
    return change_devices(machine, DEVICE_NIC, PARAM_NIC_RELAXED_ORDERING, 1);
}

static bool reads_too_few(const struct machine *machine)
{
    const struct node_type *node = &machine->node;
    for (size_t i = 0; i < node->device_count; i++) {
        const struct resource *own = &node->resources[node->devices[i].resource];
        if (node->devices[i].kind == DEVICE_NIC &&
            own[NIC_READ_CREDITS].rate_Bps < own[NIC_TX].rate_Bps)
            return true;
    }
    return false;
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

static bool to_sys(struct params *state, enum param_id id)
{
    return param_get(state, id) < PATH_SYS && change(state, id, PATH_SYS);
}

static bool gdr_level(struct machine *machine)
{
    return to_sys(&machine->state, PARAM_STATE_GDR_LEVEL);
}

static bool p2p_level(struct machine *machine)
{
    return to_sys(&machine->state, PARAM_STATE_P2P_LEVEL);
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

static bool bar1_too_small(const struct machine *machine)
{
    for (size_t g = 0; g < machine->node.gpu_count; g++) {
        const struct params *gpu = &machine->node.devices[machine->node.gpus[g]].params;
        double left = param_get(gpu, PARAM_GPU_BAR1) - param_get(gpu, PARAM_GPU_BAR1_USED);
        if (left < param_get(&machine->state, PARAM_STATE_WORKING_SET) || left <= 0)
            return true;
    }
    return false;
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

static bool faster_nvlink(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind == LINK_NVLINK)
            changed = change(&link->params, PARAM_NVLINK_RATE,
                             2 * param_get(&link->params, PARAM_NVLINK_RATE)) ||
                      changed;
    }
    return changed;
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

/* Where two cure the same, the one that leaves less to do comes first: remedy_apply_all. */
const struct remedy remedy_table[] = {
    {"clear ACS redirect on every port", false, acs_in_the_way, acs_off},
    {"IOMMU to identity (iommu=pt)", false, may_stop_translating, iommu_identity},
    {"ATS on", false, something_translates, ats_on},
    {"load nvidia_peermem", false, nobody_pins, peermem},
    {"retrain links to full speed and width", false, NULL, retrain},
    {"links at the rate of their lanes, not one by hand", false, NULL, lane_rates},
    {"relaxed ordering on", false, NULL, relaxed_ordering},
    {"enough outstanding reads (MAX_ACC_OUT_READ)", false, reads_too_few, more_reads},
    {"GDR level SYS (NCCL_NET_GDR_LEVEL=SYS)", false, NULL, gdr_level},
    {"P2P level SYS (NCCL_P2P_LEVEL=SYS)", false, NULL, p2p_level},
    {"a driver that allows P2P", false, NULL, p2p_driver},
    {"move the NICs to the GPUs' switches", false, NULL, move_nics},
    {"large BAR1, mappings freed", false, bar1_too_small, large_bar},
    {"buffers from cudaMalloc, drivers aligned", false, NULL, cuda_buffers},
    {"persistent, registered buffers", false, NULL, persistent},
    {"load gdrdrv", false, NULL, gdrdrv},
    {"load nvidia-fs", false, NULL, nvidia_fs},
    {"a file system that supports GDS", false, NULL, filesystem},
    {"align storage requests", false, NULL, aligned},
    {"NICs twice as fast", true, NULL, faster_nics},
    {"PCIe one generation up", true, NULL, next_pcie},
    {"NVLink twice as fast", true, NULL, faster_nvlink},
    {"host memory twice as fast", true, NULL, faster_dram},
    {"drives twice as fast", true, NULL, faster_drives},
};
const size_t remedy_count = sizeof remedy_table / sizeof remedy_table[0];

static bool wants(const struct remedy *remedy, const struct machine *machine)
{
    return !remedy->wanted || remedy->wanted(machine);
}

/* Whether there is anything to change. */
static bool wants_change(const struct remedy *remedy, const struct machine *machine)
{
    struct machine copy;
    if (!wants(remedy, machine) || machine_copy(machine, &copy, NULL))
        return false;
    bool any = remedy->apply(&copy);
    machine_free(&copy);
    return any;
}

/* Odd nodes, which have what they have by themselves. */
static enum status apply_to_odd(const struct remedy *remedy, const struct machine *machine,
                                struct machine *copy, bool *applies, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t k = 0; k < machine->odd_count && !status; k++) {
        const struct machine *own = machine->odd[k].machine;
        struct machine changed;
        status = machine_copy(own, &changed, error);
        if (status)
            break;
        bool any = wants(remedy, own) && remedy->apply(&changed);
        *applies = *applies || any;
        status = odd_set(copy, k, &changed, error);
        machine_free(&changed);
    }
    return status;
}

enum status remedy_apply(const struct remedy *remedy, const struct machine *machine,
                         struct machine *ret_copy, bool *ret_applies, struct error *error)
{
    struct machine copy;
    enum status status = machine_copy(machine, &copy, error);
    if (status)
        return status;
    *ret_applies = wants(remedy, machine) && remedy->apply(&copy);
    status = apply_to_odd(remedy, machine, &copy, ret_applies, error);
    if (!status && *ret_applies)
        status = machine_finish(&copy, error);
    if (!*ret_applies || status)
        machine_free(&copy);
    else
        *ret_copy = copy;
    return status;
}

void remedy_name(const struct remedy *remedy, const struct machine *machine, char *ret_name,
                 size_t size)
{
    size_t used = (size_t)snprintf(ret_name, size, "%s", remedy->name);
    if (machine->odd_count == 0 || wants_change(remedy, machine))
        return;
    const char *before = " on ";
    for (size_t k = 0; k < machine->odd_count && used < size; k++)
        if (wants_change(remedy, machine->odd[k].machine)) {
            used += (size_t)snprintf(ret_name + used, size - used, "%s%s", before,
                                     machine->odd[k].label);
            before = " and ";
        }
}

enum status remedy_apply_all(const bool *chosen, const struct machine *machine,
                             struct machine *ret_copy, struct error *error)
{
    struct machine best;
    enum status status = machine_copy(machine, &best, error);
    if (status)
        return status;
    status = machine_finish(&best, error);
    for (size_t i = 0; i < remedy_count && !status; i++) {
        struct machine next;
        bool applies = false;
        if (chosen[i])
            status = remedy_apply(&remedy_table[i], &best, &next, &applies, error);
        if (!applies || status)
            continue;
        machine_free(&best);
        best = next;
    }
    if (status)
        machine_free(&best);
    else
        *ret_copy = best;
    return status;
}
