/* machine.c: building a machine and finding ways through a node. See machine.h. */
#include "sim/core/machine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/iommu.h"
#include "models/nic.h"
#include "models/pcie.h"
#include "sim/core/odd.h"
#include "sim/core/protocol.h"

/* DMA of this size is long enough that the last, partly filled TLP does not matter. */
#define LONG_DMA_B 65536.0

const char *device_kind_name(enum device_kind kind)
{
    static const char *const names[DEVICE_KIND_COUNT] = {"gpu", "cpu",  "pcie_switch",
                                                         "nic", "nvme", "nvswitch"};
    assert(kind < DEVICE_KIND_COUNT);
    return names[kind];
}

enum param_kind device_param_kind(enum device_kind kind)
{
    /* An NVSwitch has no parameters of its own; it shares the (unused) row of the switches. */
    static const enum param_kind kinds[DEVICE_KIND_COUNT] = {KIND_GPU, KIND_CPU,  KIND_PCIE_SWITCH,
                                                             KIND_NIC, KIND_NVME, KIND_PCIE_SWITCH};
    assert(kind < DEVICE_KIND_COUNT);
    return kinds[kind];
}

const char *link_kind_name(enum link_kind kind)
{
    return kind == LINK_PCIE     ? "pcie"
           : kind == LINK_NVLINK ? "nvlink"
           : kind == LINK_C2C    ? "c2c"
                                 : "socket";
}

enum param_kind link_param_kind(enum link_kind kind)
{
    return kind == LINK_PCIE     ? KIND_PCIE
           : kind == LINK_NVLINK ? KIND_NVLINK
           : kind == LINK_C2C    ? KIND_C2C
                                 : KIND_SOCKET;
}

const char *path_class_name(enum path_class path_class)
{
    static const char *const names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                        "P2C", "PXN", "PHB", "SYS", "NET", "none"};
    return names[path_class];
}

void machine_init(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->node_count = 1;
    params_init(&machine->engine, KIND_ENGINE);
    params_init(&machine->software, KIND_SOFTWARE);
    params_init(&machine->fabric, KIND_FABRIC);
    params_init(&machine->sharp, KIND_SHARP);
    params_init(&machine->state, KIND_STATE);
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    free(machine->node.devices);
    free(machine->node.links);
    free(machine->node.resources);
    odd_free(machine);
    memset(machine, 0, sizeof *machine);
}

int machine_find_device(const struct machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (strcmp(machine->node.devices[i].name, name) == 0)
            return (int)i;
    return -1;
}

enum status machine_add_device(struct machine *machine, const char *name, enum device_kind kind,
                               size_t *ret_index, struct error *error)
{
    struct node_type *node = &machine->node;
    if (strlen(name) >= MACHINE_NAME_LENGTH || !*name)
        return error_set(error, STATUS_INPUT, "a device name has 1 to %d characters",
                         MACHINE_NAME_LENGTH - 1);
    if (machine_find_device(machine, name) >= 0)
        return error_set(error, STATUS_INPUT, "device \"%s\" exists already", name);
    if (node->device_count == MACHINE_MAX_DEVICES)
        return error_set(error, STATUS_INPUT, "a node has at most %d devices", MACHINE_MAX_DEVICES);
    struct device *grown = realloc(node->devices, (node->device_count + 1) * sizeof *node->devices);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    node->devices = grown;
    struct device *device = &grown[node->device_count];
    memset(device, 0, sizeof *device);
    snprintf(device->name, sizeof device->name, "%s", name);
    device->kind = kind;
    params_init(&device->params, device_param_kind(kind));
    if (kind == DEVICE_GPU)
        node->gpus[node->gpu_count++] = (uint16_t)node->device_count;
    *ret_index = node->device_count++;
    return STATUS_OK;
}

enum status machine_add_link(struct machine *machine, enum link_kind kind, const char *end0,
                             const char *end1, size_t *ret_index, struct error *error)
{
    struct node_type *node = &machine->node;
    const char *const names[2] = {end0, end1};
    int ends[2];
    for (int i = 0; i < 2; i++) {
        ends[i] = machine_find_device(machine, names[i]);
        if (ends[i] < 0)
            return error_set(error, STATUS_INPUT, "link to unknown device \"%s\"", names[i]);
    }
    if (ends[0] == ends[1])
        return error_set(error, STATUS_INPUT, "link from \"%s\" to itself", end0);
    if (node->link_count == MACHINE_MAX_LINKS)
        return error_set(error, STATUS_INPUT, "a node has at most %d links", MACHINE_MAX_LINKS);
    for (size_t i = 0; i < node->link_count; i++) {
        const struct link *link = &node->links[i];
        if (link->kind == kind && ((link->end[0] == ends[0] && link->end[1] == ends[1]) ||
                                   (link->end[0] == ends[1] && link->end[1] == ends[0])))
            return error_set(error, STATUS_INPUT, "%s and %s are linked already", end0, end1);
    }
    struct link *grown = realloc(node->links, (node->link_count + 1) * sizeof *node->links);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    node->links = grown;
    struct link *link = &grown[node->link_count];
    memset(link, 0, sizeof *link);
    link->end[0] = (uint16_t)ends[0];
    link->end[1] = (uint16_t)ends[1];
    link->kind = kind;
    params_init(&link->params, link_param_kind(kind));
    *ret_index = node->link_count++;
    return STATUS_OK;
}

double link_rate_Bps(const struct link *link)
{
    if (link->kind == LINK_NVLINK)
        return param_get(&link->params, PARAM_NVLINK_RATE);
    if (link->kind == LINK_C2C)
        return param_get(&link->params, PARAM_C2C_RATE);
    if (link->kind == LINK_SOCKET)
        return param_get(&link->params, PARAM_SOCKET_RATE);
    double rate = param_get(&link->params, PARAM_PCIE_RATE);
    if (rate > 0)
        return rate;
    return pcie_write_Bps((int)param_get(&link->params, PARAM_PCIE_GEN),
                          (int)param_get(&link->params, PARAM_PCIE_WIDTH),
                          (int)param_get(&link->params, PARAM_PCIE_MPS), LONG_DMA_B);
}

void machine_join(char *name, size_t size, const char *const parts[], size_t count)
{
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        for (const char *c = parts[i]; *c && at + 1 < size; c++)
            name[at++] = *c;
    name[at] = '\0';
}

static uint16_t add_resource(struct node_type *node, enum resource_kind kind, double rate_Bps,
                             double latency_s, const char *before, const char *between,
                             const char *after)
{
    struct resource *resource = &node->resources[node->resource_count];
    resource->kind = kind;
    resource->sort = (uint16_t)(kind << 8);
    resource->rate_Bps = rate_Bps;
    resource->latency_s = latency_s;
    machine_join(resource->name, sizeof resource->name,
                 (const char *const[]){before, between, after}, 3);
    return (uint16_t)node->resource_count++;
}

bool machine_translates(const struct machine *machine)
{
    enum { TRANSLATING = 2 };
    return (int)param_get(&machine->state, PARAM_STATE_IOMMU) == TRANSLATING;
}

double machine_iommu_misses(const struct machine *machine)
{
    return iommu_p_miss(param_get(&machine->state, PARAM_STATE_IOTLB_ENTRIES),
                        param_get(&machine->state, PARAM_STATE_IOMMU_PAGE),
                        param_get(&machine->state, PARAM_STATE_WORKING_SET));
}

/* What the NIC's own limits make of its reads and writes: reads it keeps outstanding over the round
 * trip to device memory (Little's law), and strictly ordered writes in its root complex. */
static void make_nic_resources(const struct machine *machine, struct node_type *node,
                               const struct device *device, double rate)
{
    const struct params *nic = &device->params;
    size_t at = (size_t)(device - node->devices);
    int gpu = machine_nearest(machine, at, DEVICE_GPU, 0);
    int cpu = machine_nearest(machine, at, DEVICE_CPU, 0);
    double credits = (double)INFINITY, ordered = (double)INFINITY, translated = (double)INFINITY;
    double request_B = param_get(nic, PARAM_NIC_READ_REQUEST);
    double rtt_s = gpu >= 0 ? param_get(&node->devices[gpu].params, PARAM_GPU_READ_LATENCY) : 0;
    double reads = param_get(nic, PARAM_NIC_READS);
    if (reads > 0 && gpu >= 0)
        credits = nic_read_Bps((double)INFINITY, reads, request_B, rtt_s);
    if (!(param_get(nic, PARAM_NIC_RELAXED_ORDERING) > 0) && cpu >= 0)
        ordered = rate * param_get(&node->devices[cpu].params, PARAM_CPU_STRICT_ORDER);
    add_resource(node, RESOURCE_NIC, credits, 0, device->name, " read credits", "");
    if (machine_translates(machine) && rtt_s > 0) {
        double need = reads > 0 ? reads : nic_reads_needed(rate, request_B, rtt_s);
        translated =
            iommu_rate_Bps(rate, need * request_B, rtt_s, machine_iommu_misses(machine),
                           param_get(&machine->state, PARAM_STATE_IOMMU_WALK), IOMMU_MAX_LOSS);
    }
    add_resource(node, RESOURCE_NIC, ordered, 0, device->name, " ordered writes", "");
    double walk_s = machine_translates(machine)
                        ? iommu_dma_s(0, machine_iommu_misses(machine),
                                      param_get(&machine->state, PARAM_STATE_IOMMU_WALK))
                        : 0;
    add_resource(node, RESOURCE_NIC, translated, walk_s, device->name, " translated reads", "");
    add_resource(node, RESOURCE_NIC, translated, walk_s, device->name, " translated writes", "");
    add_resource(node, RESOURCE_NIC, (double)INFINITY, 0, device->name, " SHARP operations", "");
}

static void make_device_resources(const struct machine *machine, struct node_type *node,
                                  struct device *device)
{
    const struct params *params = &device->params;
    double rate;
    device->resource = (uint16_t)node->resource_count;
    switch (device->kind) {
    case DEVICE_GPU:
        add_resource(node, RESOURCE_THREAD, protocol_flags_Bps(machine), 0, device->name,
                     " proxy thread", "");
        add_resource(node, RESOURCE_CHANNEL, param_get(params, PARAM_GPU_CHANNEL_RATE), 0,
                     device->name, " SM channel", "");
        add_resource(node, RESOURCE_BAR, param_get(params, PARAM_GPU_BAR_WRITE_RATE), 0,
                     device->name, " BAR1 writes", "");
        add_resource(node, RESOURCE_BAR, param_get(params, PARAM_GPU_BAR_READ_RATE), 0,
                     device->name, " BAR1 reads", "");
        add_resource(node, RESOURCE_THREAD, (double)INFINITY, 0, device->name, " flags", "");
        rate = protocol_push_Bps(machine, params);
        add_resource(node, RESOURCE_SM, rate, 0, device->name,
                     protocol_split(machine) ? " channels out" : " channels", "");
        add_resource(node, RESOURCE_SM, rate, 0, device->name, " channels in", "");
        break;
    case DEVICE_CPU:
        add_resource(node, RESOURCE_DRAM, param_get(params, PARAM_CPU_DRAM_RATE), 0, device->name,
                     " DRAM", "");
        add_resource(node, RESOURCE_PEER, param_get(params, PARAM_CPU_PEER_WRITE), 0, device->name,
                     " peer writes", "");
        add_resource(node, RESOURCE_PEER, param_get(params, PARAM_CPU_PEER_READ), 0, device->name,
                     " peer reads", "");
        add_resource(node, RESOURCE_COPY, param_get(params, PARAM_CPU_COPY_RATE), 0, device->name,
                     " memcpy", "");
        break;
    case DEVICE_NIC:
        rate = param_get(params, PARAM_NIC_RATE) * param_get(params, PARAM_NIC_EFFICIENCY) *
               (1 - param_get(params, PARAM_NIC_BACKGROUND));
        add_resource(node, RESOURCE_WIRE, rate, 0, device->name, " wire tx", "");
        add_resource(node, RESOURCE_WIRE, rate, 0, device->name, " wire rx", "");
        make_nic_resources(machine, node, device, rate);
        break;
    case DEVICE_NVME:
        add_resource(node, RESOURCE_NVME, param_get(params, PARAM_NVME_READ_RATE), 0, device->name,
                     " reads", "");
        add_resource(node, RESOURCE_NVME, param_get(params, PARAM_NVME_WRITE_RATE), 0, device->name,
                     " writes", "");
        break;
    case DEVICE_PCIE_SWITCH:
    case DEVICE_NVSWITCH:
    case DEVICE_KIND_COUNT:
        break;
    }
    for (size_t i = device->resource; i < node->resource_count; i++)
        node->resources[i].sort |= (uint16_t)(i - device->resource);
}

static double link_latency_s(const struct link *link)
{
    return param_get(&link->params, link->kind == LINK_PCIE     ? PARAM_PCIE_LATENCY
                                    : link->kind == LINK_NVLINK ? PARAM_NVLINK_LATENCY
                                    : link->kind == LINK_C2C    ? PARAM_C2C_LATENCY
                                                                : PARAM_SOCKET_LATENCY);
}

static void make_link_resources(struct node_type *node, struct link *link)
{
    static const enum resource_kind kinds[] = {
        [LINK_PCIE] = RESOURCE_PCIE,
        [LINK_NVLINK] = RESOURCE_NVLINK,
        [LINK_C2C] = RESOURCE_C2C,
        [LINK_SOCKET] = RESOURCE_SOCKET,
    };
    double rate = link_rate_Bps(link), latency = link_latency_s(link);
    const char *a = node->devices[link->end[0]].name, *b = node->devices[link->end[1]].name;
    const unsigned upper = node->devices[link->end[0]].kind,
                   lower = node->devices[link->end[1]].kind;
    link->resource = add_resource(node, kinds[link->kind], rate, latency, a, " -> ", b);
    add_resource(node, kinds[link->kind], rate, latency, b, " -> ", a);
    if (link->has_both)
        add_resource(node, RESOURCE_DUPLEX, 2 * rate * param_get(&link->params, PARAM_PCIE_DUPLEX),
                     0, a, " <-> ", b);
    for (size_t i = link->resource; i < node->resource_count; i++)
        node->resources[i].sort |=
            (uint16_t)(i == link->resource + 1U ? lower << 4 | upper : upper << 4 | lower);
}

static enum status device_fault(struct error *error, const struct device *device, const char *what)
{
    error_set(error, STATUS_INPUT, "%s %s", device->name, what);
    if (error)
        snprintf(error->subject, sizeof error->subject, "%s", device->name);
    return STATUS_INPUT;
}

static enum status check_node(const struct machine *machine, struct error *error)
{
    const struct node_type *node = &machine->node;
    if (node->gpu_count == 0)
        return error_set(error, STATUS_INPUT, "the node has no GPU");
    for (size_t g = 0; g < node->gpu_count; g++)
        if (machine_nearest(machine, node->gpus[g], DEVICE_CPU, 0) < 0)
            return device_fault(error, &node->devices[node->gpus[g]],
                                "reaches no cpu by any chain of links");
    for (size_t i = 0; i < node->device_count; i++) {
        enum device_kind kind = node->devices[i].kind;
        if ((kind == DEVICE_NIC || kind == DEVICE_NVME) &&
            machine_nearest(machine, i, DEVICE_CPU, 0) < 0)
            return device_fault(error, &node->devices[i], "reaches no cpu by any chain of links");
    }
    for (size_t i = 0; i < node->link_count; i++) {
        const struct link *link = &node->links[i];
        int width = link->kind == LINK_PCIE ? (int)param_get(&link->params, PARAM_PCIE_WIDTH) : 1;
        if ((width & (width - 1)) != 0)
            return device_fault(error, &node->devices[link->end[1]],
                                "has a PCIe link whose width is not 1, 2, 4, 8, 16 or 32");
        if (link->kind == LINK_NVLINK && !param_is_set(&link->params, PARAM_NVLINK_RATE))
            return device_fault(error, &node->devices[link->end[0]],
                                "has an nvlink without a rate");
    }
    for (size_t i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];
        if (device->kind == DEVICE_NIC && !param_is_set(&device->params, PARAM_NIC_RATE))
            return device_fault(error, device, "has no rate");
    }
    return STATUS_OK;
}

/* Resources have the same numbers in all kinds of nodes. */
static void mark_duplex(struct machine *machine)
{
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        link->has_both = link->kind == LINK_PCIE && param_get(&link->params, PARAM_PCIE_DUPLEX) < 1;
        for (size_t k = 0; k < machine->odd_count; k++)
            for (size_t c = 0; c < machine->odd[k].change_count; c++) {
                const struct odd_change *change = &machine->odd[k].changes[c];
                if (change->at.place == ADDRESS_LINK && change->at.index == i &&
                    change->at.id == PARAM_PCIE_DUPLEX && change->value < 1)
                    link->has_both = true;
            }
    }
}

static enum status make_resources(struct machine *machine, struct error *error)
{
    struct node_type *node = &machine->node;
    enum status status = check_node(machine, error);
    if (status)
        return status;
    const size_t most = 7 * node->device_count + 3 * node->link_count + 2;
    struct resource *resources = realloc(node->resources, most * sizeof *resources);
    if (!resources)
        return error_set(error, STATUS_NOMEM, "out of memory");
    node->resources = resources;
    node->resource_count = 0;
    for (size_t i = 0; i < node->device_count; i++)
        make_device_resources(machine, node, &node->devices[i]);
    for (size_t i = 0; i < node->link_count; i++)
        make_link_resources(node, &node->links[i]);
    double uplink_Bps = param_get(&machine->fabric, PARAM_FABRIC_UPLINK_RATE);
    node->uplinks = add_resource(node, RESOURCE_UPLINK, uplink_Bps, 0, "leaf -> spine", "", "");
    add_resource(node, RESOURCE_UPLINK, uplink_Bps, 0, "spine -> leaf", "", "");
    return STATUS_OK;
}

enum status machine_finish(struct machine *machine, struct error *error)
{
    struct node_type *node = &machine->node;
    if (machine->node_count == 0 || machine->node_count > MACHINE_MAX_NODES)
        return error_set(error, STATUS_INPUT, "a machine has 1 to %u nodes", MACHINE_MAX_NODES);
    if (node->port_count == 0) {
        memcpy(node->ports, node->gpus, sizeof node->ports);
        node->port_count = node->gpu_count;
    }
    if ((uint64_t)machine->node_count * node->port_count > MACHINE_MAX_RANKS)
        return error_set(error, STATUS_INPUT, "a machine has at most %u GPUs", MACHINE_MAX_RANKS);
    mark_duplex(machine);
    enum status status = make_resources(machine, error);
    return status ? status : odd_finish(machine, make_resources, error);
}

const struct machine *machine_of_kind(const struct machine *machine, size_t kind)
{
    return kind ? machine->odd[kind - 1].machine : machine;
}

/* Breadth-first search from `from` over links of the given kinds; came_by[d] = link by which d was
 * first reached, -1 if never. A GPU, NIC or drive is no way through. */
static void search(const struct node_type *node, size_t from, unsigned kinds, int came_by[],
                   unsigned hops[])
{
    uint16_t queue[MACHINE_MAX_DEVICES];
    size_t head = 0, tail = 0;
    for (size_t i = 0; i < node->device_count; i++)
        came_by[i] = -1;
    hops[from] = 0;
    queue[tail++] = (uint16_t)from;
    while (head < tail) {
        uint16_t at = queue[head++];
        enum device_kind kind = node->devices[at].kind;
        if (at != from && kind != DEVICE_PCIE_SWITCH && kind != DEVICE_CPU &&
            kind != DEVICE_NVSWITCH)
            continue;
        for (size_t i = 0; i < node->link_count; i++) {
            const struct link *link = &node->links[i];
            if ((link->end[0] != at && link->end[1] != at) || !(link->kind & kinds))
                continue;
            uint16_t next = link->end[0] == at ? link->end[1] : link->end[0];
            if (next == from || came_by[next] >= 0)
                continue;
            came_by[next] = (int)i;
            hops[next] = hops[at] + 1;
            queue[tail++] = next;
        }
    }
}

static bool path_back(const struct node_type *node, size_t from, size_t to, const int came_by[],
                      const unsigned hops[], struct path *ret_path)
{
    ret_path->length = 0;
    ret_path->device[0] = (uint16_t)from;
    if (from == to)
        return true;
    if (came_by[to] < 0 || hops[to] > MACHINE_PATH_LENGTH)
        return false;
    ret_path->length = hops[to];
    size_t at = to;
    for (size_t i = ret_path->length; i-- > 0;) {
        const struct link *link = &node->links[came_by[at]];
        ret_path->link[i] = (uint16_t)came_by[at];
        ret_path->reversed[i] = link->end[0] == at;
        ret_path->device[i + 1] = (uint16_t)at;
        at = link->end[0] == at ? link->end[1] : link->end[0];
    }
    return true;
}

bool machine_path(const struct machine *machine, size_t from, size_t to, unsigned kinds,
                  struct path *ret_path)
{
    int came_by[MACHINE_MAX_DEVICES];
    unsigned hops[MACHINE_MAX_DEVICES];
    search(&machine->node, from, kinds, came_by, hops);
    return path_back(&machine->node, from, to, came_by, hops, ret_path);
}

enum path_class machine_class(const struct machine *machine, const struct path *path)
{
    const struct node_type *node = &machine->node;
    size_t switches = 0, roots = 0;
    unsigned kinds = 0;
    for (size_t i = 0; i < path->length; i++) {
        kinds |= (unsigned)node->links[path->link[i]].kind;
        if (i + 1 == path->length)
            break;
        enum device_kind through = node->devices[path->device[i + 1]].kind;
        switches += through == DEVICE_PCIE_SWITCH;
        roots += through == DEVICE_CPU;
    }
    if (path->length == 0)
        return PATH_LOC;
    if (kinds & LINK_NVLINK)
        return PATH_NVL;
    if (kinds & LINK_SOCKET)
        return PATH_SYS;
    if (roots > 0)
        return kinds & LINK_C2C ? PATH_P2C : PATH_PHB;
    if (kinds & LINK_C2C)
        return PATH_C2C;
    return switches > 1 ? PATH_PXB : PATH_PIX;
}

/* All devices of a kind that are nearest to `from`. Returns how many. */
static size_t nearest_all(const struct machine *machine, size_t from, enum device_kind kind,
                          int near[])
{
    const struct node_type *node = &machine->node;
    int came_by[MACHINE_MAX_DEVICES];
    unsigned hops[MACHINE_MAX_DEVICES], best = ~0u;
    size_t ties = 0;
    search(node, from, LINK_DMA, came_by, hops);
    for (size_t i = 0; i < node->device_count; i++) {
        struct path path;
        if (node->devices[i].kind != kind || i == from ||
            !path_back(node, from, i, came_by, hops, &path))
            continue;
        unsigned distance = (unsigned)machine_class(machine, &path) * 64 + hops[i];
        if (distance > best)
            continue;
        if (distance < best)
            ties = 0;
        best = distance;
        near[ties++] = (int)i;
    }
    return ties;
}

/* GPUs that are nearest to the same devices share them out: how many devices each gets, and which
 * is the first of `from`'s. */
static size_t share_of(const struct machine *machine, size_t from, enum device_kind kind,
                       const int near[], size_t ties, size_t *ret_first)
{
    const struct node_type *node = &machine->node;
    int other[MACHINE_MAX_DEVICES];
    size_t group = 0, place = 0;
    for (size_t g = 0; g < node->gpu_count; g++) {
        bool same = node->gpus[g] == from;
        if (!same) {
            size_t count = nearest_all(machine, node->gpus[g], kind, other);
            same = count == ties && other[0] == near[0];
        }
        if (node->gpus[g] == from)
            place = group;
        group += same;
    }
    size_t share = group > 0 && ties > group ? ties / group : 1;
    *ret_first = place * share;
    return share;
}

int machine_nearest(const struct machine *machine, size_t from, enum device_kind kind,
                    uint32_t rail)
{
    int near[MACHINE_MAX_DEVICES];
    size_t first, ties = nearest_all(machine, from, kind, near);
    if (ties == 0)
        return -1;
    if (ties == 1)
        return near[0];
    size_t share = share_of(machine, from, kind, near, ties, &first);
    return near[(first + rail % share) % ties];
}

uint32_t machine_rails(const struct machine *machine)
{
    int near[MACHINE_MAX_DEVICES];
    size_t most = 1, first;
    for (size_t g = 0; g < machine->node.gpu_count; g++) {
        size_t ties = nearest_all(machine, machine->node.gpus[g], DEVICE_NIC, near);
        size_t share =
            ties > 1 ? share_of(machine, machine->node.gpus[g], DEVICE_NIC, near, ties, &first) : 1;
        most = share > most ? share : most;
    }
    return (uint32_t)most;
}

uint32_t machine_nics(const struct machine *machine)
{
    bool used[MACHINE_MAX_DEVICES] = {false};
    uint32_t count = 0, rails = machine_rails(machine);
    for (size_t g = 0; g < machine->node.gpu_count; g++)
        for (uint32_t rail = 0; rail < rails; rail++) {
            int nic = machine_nearest(machine, machine->node.gpus[g], DEVICE_NIC, rail);
            if (nic < 0 || used[nic])
                continue;
            used[nic] = true;
            count++;
        }
    return count;
}

enum status machine_copy(const struct machine *from, struct machine *ret_copy, struct error *error)
{
    struct machine copy = *from;
    const struct node_type *node = &from->node;
    copy.node.devices = malloc((node->device_count + 1) * sizeof *node->devices);
    copy.node.links = malloc((node->link_count + 1) * sizeof *node->links);
    copy.node.resources = NULL;
    copy.node.resource_count = 0;
    if (!copy.node.devices || !copy.node.links) {
        free(copy.node.devices);
        free(copy.node.links);
        return error_set(error, STATUS_NOMEM, "out of memory");
    }
    memcpy(copy.node.devices, node->devices, node->device_count * sizeof *node->devices);
    if (node->link_count)
        memcpy(copy.node.links, node->links, node->link_count * sizeof *node->links);
    enum status status = odd_copy(from, &copy, error);
    if (status)
        machine_free(&copy);
    else
        *ret_copy = copy;
    return status;
}

uint32_t machine_ranks(const struct machine *machine)
{
    return machine->node_count * (uint32_t)machine->node.port_count;
}
