/* topology_settle.c: from what was found to what a scenario needs. See topology.h.
 *
 * Each value that is put in here is noted as assumed, with what it does to the result; each that
 * stays away is noted as not known. Per-lane rates of NVLink are those NCCL counts on
 * (models/nvlink.h has the table and its source). */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/load/topology.h"

enum { ASSUMED_GEN = 4, ASSUMED_WIDTH = 16, SWITCH_ONLY_LANES = 18 };
#define ASSUMED_NIC_BPS  1.25e9 /* 10 Gb/s, as NCCL does */
#define ASSUMED_LANE_BPS 20e9
#define ACS_REDIRECT     0x2Cu /* RR, CR, EC */

static const struct mark nowhere = {NULL, 0, 0};

/* ---- order and names ------------------------------------------------------------------------ */

/* Give the n-th device of a kind its name; GPUs and NICs in the order of their numbers. */
static void name_kind(struct topology *topology, enum device_kind kind, const char *prefix)
{
    for (size_t n = 0; n < topology->device_count; n++) {
        struct topology_device *next = NULL;
        for (size_t i = 0; i < topology->device_count; i++) {
            struct topology_device *device = &topology->devices[i];
            if (device->kind != kind || device->name[0])
                continue;
            if (!next || (kind == DEVICE_CPU ? device->numa < next->numa
                                             : device->order >= 0 && (next->order < 0 ||
                                                                      device->order < next->order)))
                next = device;
        }
        if (!next)
            return;
        snprintf(next->name, sizeof next->name, "%s%zu", prefix, n);
    }
}

static void give_names(struct topology *topology)
{
    for (size_t i = 0; i < topology->device_count; i++)
        topology->devices[i].name[0] = '\0';
    name_kind(topology, DEVICE_CPU, "cpu");
    name_kind(topology, DEVICE_PCIE_SWITCH, "sw");
    name_kind(topology, DEVICE_GPU, "gpu");
    name_kind(topology, DEVICE_NIC, "nic");
    name_kind(topology, DEVICE_NVME, "nvme");
    name_kind(topology, DEVICE_NVSWITCH, "nvs");
}

/* ---- the whole ------------------------------------------------------------------------------ */

static void check_whole(const struct topology *topology, struct diag_list *diag)
{
    if (topology_count(topology, DEVICE_GPU) == 0)
        diag_add(diag, topology->device_count ? topology->devices[0].mark : nowhere,
                 "was the text cut off, or has the machine no NVIDIA GPU?",
                 "there is no GPU in the input");
    for (size_t i = 0; i < topology->device_count; i++) {
        const struct topology_device *device = &topology->devices[i];
        int depth = 0;
        for (int up = (int)i; topology->devices[up].parent >= 0 && depth <= TOPOLOGY_DEPTH; depth++)
            up = topology->devices[up].parent;
        if (depth > TOPOLOGY_DEPTH)
            diag_add(diag, device->mark, NULL, "%s is more than %d links away from its CPU",
                     device->name, TOPOLOGY_DEPTH);
    }
    size_t cpus = topology_count(topology, DEVICE_CPU);
    if (topology->device_count + topology->pair_count + cpus * cpus / 2 > MACHINE_MAX_LINKS)
        diag_add(diag, nowhere, NULL, "more than %d links in one node", MACHINE_MAX_LINKS);
}

/* ---- PCIe links ----------------------------------------------------------------------------- */

/* gdsim's links have 1, 2, 4, 8, 16 or 32 lanes. */
static void round_width(struct topology *topology, int at, int *width)
{
    int lanes = *width;
    while (lanes & (lanes - 1))
        lanes &= lanes - 1;
    if (lanes != *width)
        topology_note(topology, TOPOLOGY_ASSUMED, at, topology->devices[at].mark,
                      "PCIe width x%d is none of 1, 2, 4, 8, 16 and 32: x%d is taken", *width,
                      lanes);
    *width = lanes;
}

static bool sane_link(struct topology *topology, int at)
{
    struct topology_device *device = &topology->devices[at];
    struct topology_link *up = &device->up;
    if (up->gen > 7)
        up->gen = 0;
    if (up->width < 0 || up->width > 32)
        up->width = 0;
    round_width(topology, at, &up->width);
    if (up->width_max < 0 || up->width_max > 32)
        up->width_max = 0;
    round_width(topology, at, &up->width_max);
    if ((up->gen && up->gen_max && up->gen > up->gen_max) ||
        (up->width && up->width_max && up->width > up->width_max)) {
        topology_note(topology, TOPOLOGY_FOUND, at, device->mark,
                      "trained above what the input says both ends can do; the trained values are "
                      "taken");
        up->gen_max = up->width_max = 0;
        return false;
    }
    return true;
}

static void note_below_max(struct topology *topology, int at)
{
    const struct topology_device *device = &topology->devices[at];
    const struct topology_link *up = &device->up;
    if (up->gen && up->gen_max > up->gen)
        topology_note(
            topology, TOPOLOGY_FOUND, at, device->mark,
            "the PCIe link trained at Gen%d, both ends can do Gen%d%s", up->gen, up->gen_max,
            device->kind == DEVICE_GPU ? " (an idle GPU slows its link down: look again under load)"
                                       : "");
    if (up->width && up->width_max > up->width)
        topology_note(topology, TOPOLOGY_FOUND, at, device->mark,
                      "the PCIe link trained at x%d, both ends can do x%d: %.0f %% of the rate "
                      "(reseat the card, look at the slot)",
                      up->width, up->width_max, 100.0 * up->width / up->width_max);
}

static void settle_acs(struct topology *topology, int at)
{
    struct topology_device *device = &topology->devices[at];
    if (device->up.no_port)
        return;
    if (device->up.acs < 0) {
        topology_note(topology, TOPOLOGY_UNKNOWN, at, device->mark,
                      "ACS bits of the port above (gdsim takes none; only root sees them: sudo "
                      "lspci -vvv)");
        return;
    }
    char bits[TOPOLOGY_ACS];
    if ((unsigned)device->up.acs & ACS_REDIRECT)
        topology_note(topology, TOPOLOGY_FOUND, at, device->mark,
                      "ACS at the port above redirects peer transfers up to the root complex (bits "
                      "%s; RR, CR and EC do it): GPUDirect through this port is slow, refused or "
                      "hangs",
                      topology_acs(device->up.acs, bits));
}

static void settle_link(struct topology *topology, int at)
{
    struct topology_device *device = &topology->devices[at];
    struct topology_link *up = &device->up;
    if (sane_link(topology, at))
        note_below_max(topology, at);
    if ((!up->gen && up->gen_max) || (!up->width && up->width_max))
        topology_note(
            topology, TOPOLOGY_UNKNOWN, at, device->mark,
            "how the PCIe link trained: the input says what both ends can do, and that is "
            "taken (a link that trained lower does not show; sudo lspci -vvv tells)");
    if (!up->gen && !up->gen_max) {
        topology_note(topology, TOPOLOGY_ASSUMED, at, device->mark,
                      "PCIe speed not known: Gen%d. Rates through this link go with it: Gen3 is "
                      "half, Gen5 twice. (NCCL itself takes Gen3, and plans for that)",
                      ASSUMED_GEN);
        up->gen = ASSUMED_GEN;
    }
    if (!up->width && !up->width_max) {
        topology_note(
            topology, TOPOLOGY_ASSUMED, at, device->mark,
            "PCIe width not known: x%d, as NCCL takes it. Rates through this link go with "
            "it: x8 is half",
            ASSUMED_WIDTH);
        up->width = ASSUMED_WIDTH;
    }
    if (!up->gen)
        up->gen = up->gen_max;
    if (!up->width)
        up->width = up->width_max;
    settle_acs(topology, at);
}

/* ---- devices -------------------------------------------------------------------------------- */

static void settle_nic(struct topology *topology, int at, const struct topology_settings *settings)
{
    struct topology_device *nic = &topology->devices[at];
    if (nic->rate_Bps > 0 && nic->rate_Bps <= 1e14)
        return;
    nic->rate_Bps = settings->nic_rate_Bps;
    if (nic->rate_Bps > 0)
        return;
    nic->rate_Bps = ASSUMED_NIC_BPS;
    topology_note(topology, TOPOLOGY_ASSUMED, at, nic->mark,
                  "line rate not known: 10 Gb/s, as NCCL takes it. Give the true one (--nic-rate "
                  "'400 Gb/s', or the key \"rate\"): every result over the network goes with it");
}

/* What NCCL counts on for one NVLink of a GPU, one direction. */
static double lane_Bps(int sm)
{
    if (sm >= 100)
        return 40.1e9;
    if (sm >= 90)
        return 20.6e9;
    if (sm == 86)
        return 12e9;
    if (sm >= 70)
        return 20e9;
    return sm >= 60 ? 18e9 : 0;
}

static void settle_nvlink(struct topology *topology, struct topology_pair *pair)
{
    int sm = 0, gpu = pair->end[0];
    for (int i = 0; i < 2; i++)
        if (topology->devices[pair->end[i]].kind == DEVICE_GPU) {
            gpu = pair->end[i];
            sm = topology->devices[gpu].sm;
        }
    if (pair->count == 0 && !(pair->rate_Bps > 0)) {
        topology_note(topology, TOPOLOGY_ASSUMED, gpu, pair->mark,
                      "count of NVLinks not known: 1. The rate goes with it");
        pair->count = 1;
    }
    if (pair->rate_Bps > 0)
        return;
    double lane = lane_Bps(sm);
    pair->source = "per link what NCCL counts on for this GPU";
    if (!(lane > 0)) {
        lane = ASSUMED_LANE_BPS;
        pair->source = "assumed: 20 GB/s a link";
        topology_note(
            topology, TOPOLOGY_ASSUMED, gpu, pair->mark,
            "GPU generation not known: an NVLink carries 20 GB/s each way, as of V100 and "
            "A100 (H100 and H200 20.6, Blackwell 40.1)");
    }
    pair->rate_Bps = lane * pair->count;
}

/* What the formats cannot show: lspci has the switches, and nothing of what leads to them. */
static void note_blind_spots(struct topology *topology)
{
    int nvswitch = topology_nth(topology, DEVICE_NVSWITCH, 0);
    bool some = false;
    for (size_t i = 0; i < topology->pair_count; i++)
        some = some || topology->pairs[i].kind == LINK_NVLINK;
    if (!some && nvswitch >= 0)
        topology_note(
            topology, TOPOLOGY_ASSUMED, nvswitch, topology->devices[nvswitch].mark,
            "there is an NVSwitch, but which NVLinks lead to it is not known: none is "
            "written, so the GPUs talk over PCIe here, far below the truth. Add nvidia-smi "
            "topo -m or NCCL's XML as a second file");
    else if (!some && topology->silent_nvlinks)
        topology_note(topology, TOPOLOGY_UNKNOWN, -1, nowhere,
                      "NVLinks: the input does not show them (gdsim: none). Add nvidia-smi topo -m "
                      "or NCCL's XML as a second file");
    if (topology->maybe_nvswitch)
        topology_note(topology, TOPOLOGY_UNKNOWN, -1, nowhere,
                      "whether an NVSwitch stands between the two GPUs (gdsim: no)");
    if (topology->fitted_tree)
        topology_note(
            topology, TOPOLOGY_UNKNOWN, -1, nowhere,
            "the PCIe tree itself: it is one that fits the classes (bridges that no class "
            "shows are left out). lspci -vvv or NCCL's XML have the true one");
}

static void settle_c2c(struct topology *topology, const struct topology_pair *pair)
{
    if (!(pair->rate_Bps > 0))
        topology_note(topology, TOPOLOGY_UNKNOWN, pair->end[0], pair->mark,
                      "rate of C2C to the CPU (gdsim takes 450 GB/s each way)");
}

static void settle_cpu(struct topology *topology, int at, const struct topology_settings *settings)
{
    struct topology_device *cpu = &topology->devices[at];
    struct topology_limits *limits = &cpu->limits;
    *limits = (struct topology_limits){NULL, NULL, (double)NAN, (double)NAN, (double)NAN, 0.4, 1};
    if (settings->limits)
        settings->limits(cpu, limits);
    if (!limits->name) {
        topology_note(topology, TOPOLOGY_UNKNOWN, at, cpu->mark,
                      "what this root complex does to peer transfers, and the rate between sockets "
                      "(gdsim: no limit, and 22 GB/s): %s%s%s",
                      cpu->vendor[0] ? "no published figures for a CPU of " : "the input names no ",
                      cpu->vendor[0] ? cpu->vendor : "CPU", cpu->vendor[0] ? " of this model" : "");
        return;
    }
    if (isnan(limits->peer_write_Bps))
        topology_note(topology, TOPOLOGY_UNKNOWN, at, cpu->mark,
                      "ceiling of peer writes through the root complex of %s (gdsim: no limit)",
                      limits->name);
    if (isnan(limits->peer_read_Bps))
        topology_note(topology, TOPOLOGY_UNKNOWN, at, cpu->mark,
                      "ceiling of peer reads through the root complex of %s (gdsim: no limit)",
                      limits->name);
    if (limits->strict_low < limits->strict_high)
        topology_note(topology, TOPOLOGY_UNKNOWN, at, cpu->mark,
                      "what strictly ordered writes cost on %s: from %g to %g of the rate (gdsim: "
                      "%g; it matters where relaxed ordering is off)",
                      limits->name, limits->strict_low, limits->strict_high, 1.0);
}

/* Every CPU reaches every other in one step, as NCCL has it. */
static void join_sockets(struct topology *topology, struct diag_list *diag)
{
    size_t cpus = topology_count(topology, DEVICE_CPU);
    for (size_t i = 0; i < cpus; i++)
        for (size_t j = i + 1; j < cpus; j++) {
            int a = topology_nth(topology, DEVICE_CPU, i),
                b = topology_nth(topology, DEVICE_CPU, j);
            const struct topology_limits *limits = &topology->devices[a].limits;
            struct topology_pair *pair =
                topology_pair(topology, LINK_SOCKET, a, b, topology->devices[b].mark, diag);
            if (!pair)
                return;
            if (!(pair->rate_Bps > 0) && !isnan(limits->socket_Bps)) {
                pair->rate_Bps = limits->socket_Bps;
                pair->source = limits->source;
            }
            if (!(pair->rate_Bps > 0) && limits->name)
                topology_note(topology, TOPOLOGY_UNKNOWN, a, pair->mark,
                              "rate between sockets of %s (gdsim: 22 GB/s)", limits->name);
        }
    if (cpus > 2)
        topology_note(
            topology, TOPOLOGY_FOUND, -1, nowhere,
            "%zu NUMA nodes, each taken as a socket and joined with every other; nodes of "
            "one socket are nearer than that",
            cpus);
}

static void settle_state(struct topology *topology)
{
    const struct topology_state *state = &topology->state;
    const struct {
        int value;
        const char *what;
    } rows[] = {
        {state->peermem, "whether nvidia_peermem is loaded (gdsim: yes)"},
        {state->dmabuf, "whether dma-buf registers GPU memory (gdsim: no, peermem does)"},
        {state->gdrdrv, "whether gdrdrv (GDRCopy) is loaded (gdsim: yes)"},
        {state->nvidia_fs, "whether nvidia-fs (GPUDirect Storage) is loaded (gdsim: yes)"},
        {state->iommu, "what the IOMMU does (gdsim: off)"},
        {state->vm, "whether this is a virtual machine (gdsim: no)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value < 0 && !(i == 0 && state->dmabuf > 0) && !(i == 1 && state->peermem > 0))
            topology_note(topology, TOPOLOGY_UNKNOWN, -1, nowhere, "%s", rows[i].what);
}

static void refuse_assumptions(const struct topology *topology, struct diag_list *diag)
{
    for (size_t i = 0; i < topology->note_count; i++) {
        const struct topology_note *note = &topology->notes[i];
        size_t some = 0;
        const char *first = NULL;
        for (size_t d = 0; d < topology->device_count; d++)
            if (note->devices[d / 64] >> (d % 64) & 1 && some++ == 0)
                first = topology->devices[d].name;
        if (note->level == TOPOLOGY_ASSUMED)
            diag_add(diag, note->mark, "without --strict this is assumed, and said in the scenario",
                     "%s%s%s%s", first ? first : "", some > 1 ? " and others" : "",
                     first ? ": " : "", note->text);
    }
}

enum status topology_settle(struct topology *topology, const struct topology_settings *settings,
                            struct diag_list *diag)
{
    size_t before = diag_count(diag);
    give_names(topology);
    check_whole(topology, diag);
    if (diag_count(diag) > before)
        return STATUS_INPUT;
    for (size_t i = 0; i < topology->device_count; i++) {
        enum device_kind kind = topology->devices[i].kind;
        if (topology->devices[i].parent >= 0)
            settle_link(topology, (int)i);
        if (kind == DEVICE_NIC)
            settle_nic(topology, (int)i, settings);
        else if (kind == DEVICE_CPU)
            settle_cpu(topology, (int)i, settings);
    }
    for (size_t i = 0; i < topology->pair_count; i++) {
        if (topology->pairs[i].kind == LINK_NVLINK)
            settle_nvlink(topology, &topology->pairs[i]);
        else if (topology->pairs[i].kind == LINK_C2C)
            settle_c2c(topology, &topology->pairs[i]);
    }
    note_blind_spots(topology);
    join_sockets(topology, diag);
    settle_state(topology);
    if (settings->strict)
        refuse_assumptions(topology, diag);
    if (topology->nomem)
        return STATUS_NOMEM;
    return diag_count(diag) > before ? STATUS_INPUT : STATUS_OK;
}
