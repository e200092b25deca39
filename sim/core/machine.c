/* machine.c: building a machine and finding ways through a node. See machine.h. */
#include "sim/core/machine.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/pcie.h"

/* DMA of this size is long enough that the last, partly filled TLP does not matter. */
#define LONG_DMA_B 65536.0

const char *device_kind_name(enum device_kind kind)
{
    static const char *const names[DEVICE_KIND_COUNT] = {"gpu", "cpu", "pcie_switch", "nic"};
    assert(kind < DEVICE_KIND_COUNT);
    return names[kind];
}

enum param_kind device_param_kind(enum device_kind kind)
{
    static const enum param_kind kinds[DEVICE_KIND_COUNT] = {KIND_GPU, KIND_CPU, KIND_PCIE_SWITCH,
                                                             KIND_NIC};
    assert(kind < DEVICE_KIND_COUNT);
    return kinds[kind];
}

void machine_init(struct machine *machine)
{
    memset(machine, 0, sizeof *machine);
    machine->node_count = 1;
    params_init(&machine->engine, KIND_ENGINE);
    params_init(&machine->software, KIND_SOFTWARE);
    params_init(&machine->fabric, KIND_FABRIC);
}

void machine_free(struct machine *machine)
{
    if (!machine)
        return;
    free(machine->node.devices);
    free(machine->node.links);
    free(machine->node.resources);
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

enum status machine_add_link(struct machine *machine, const char *end0, const char *end1,
                             size_t *ret_index, struct error *error)
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
    struct link *grown = realloc(node->links, (node->link_count + 1) * sizeof *node->links);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    node->links = grown;
    struct link *link = &grown[node->link_count];
    memset(link, 0, sizeof *link);
    link->end[0] = (uint16_t)ends[0];
    link->end[1] = (uint16_t)ends[1];
    params_init(&link->params, KIND_PCIE);
    *ret_index = node->link_count++;
    return STATUS_OK;
}

double link_rate_Bps(const struct link *link)
{
    double rate = param_get(&link->params, PARAM_PCIE_RATE);
    if (rate > 0)
        return rate;
    return pcie_write_Bps((int)param_get(&link->params, PARAM_PCIE_GEN),
                          (int)param_get(&link->params, PARAM_PCIE_WIDTH),
                          (int)param_get(&link->params, PARAM_PCIE_MPS), LONG_DMA_B);
}

static uint16_t add_resource(struct node_type *node, enum resource_kind kind, double rate_Bps,
                             double latency_s, const char *before, const char *between,
                             const char *after)
{
    struct resource *resource = &node->resources[node->resource_count];
    resource->kind = kind;
    resource->rate_Bps = rate_Bps;
    resource->latency_s = latency_s;
    snprintf(resource->name, sizeof resource->name, "%s%s%s", before, between, after);
    return (uint16_t)node->resource_count++;
}

static void make_device_resources(struct node_type *node, struct device *device)
{
    double rate;
    switch (device->kind) {
    case DEVICE_GPU:
        device->resource = add_resource(node, RESOURCE_THREAD, (double)INFINITY, 0, device->name,
                                        " proxy thread", "");
        break;
    case DEVICE_CPU:
        device->resource =
            add_resource(node, RESOURCE_DRAM, param_get(&device->params, PARAM_CPU_DRAM_RATE), 0,
                         device->name, " DRAM", "");
        break;
    case DEVICE_NIC:
        rate = param_get(&device->params, PARAM_NIC_RATE) *
               param_get(&device->params, PARAM_NIC_EFFICIENCY);
        device->resource = add_resource(node, RESOURCE_WIRE, rate, 0, device->name, " wire tx", "");
        add_resource(node, RESOURCE_WIRE, rate, 0, device->name, " wire rx", "");
        break;
    case DEVICE_PCIE_SWITCH:
    case DEVICE_KIND_COUNT:
        break;
    }
}

static void make_link_resources(struct node_type *node, struct link *link)
{
    double rate = link_rate_Bps(link);
    double latency = param_get(&link->params, PARAM_PCIE_LATENCY);
    const char *a = node->devices[link->end[0]].name, *b = node->devices[link->end[1]].name;
    link->resource = add_resource(node, RESOURCE_PCIE, rate, latency, a, " -> ", b);
    add_resource(node, RESOURCE_PCIE, rate, latency, b, " -> ", a);
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
        if (machine_nearest(machine, node->gpus[g], DEVICE_CPU) < 0)
            return device_fault(error, &node->devices[node->gpus[g]],
                                "reaches no cpu by any chain of links");
    for (size_t i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];
        if (device->kind == DEVICE_NIC && !param_is_set(&device->params, PARAM_NIC_RATE))
            return device_fault(error, device, "has no rate");
    }
    return STATUS_OK;
}

enum status machine_finish(struct machine *machine, struct error *error)
{
    struct node_type *node = &machine->node;
    if (machine->node_count == 0 || machine->node_count > MACHINE_MAX_NODES)
        return error_set(error, STATUS_INPUT, "a machine has 1 to %u nodes", MACHINE_MAX_NODES);
    enum status status = check_node(machine, error);
    if (status)
        return status;
    if ((uint64_t)machine->node_count * node->gpu_count > MACHINE_MAX_RANKS)
        return error_set(error, STATUS_INPUT, "a machine has at most %u GPUs", MACHINE_MAX_RANKS);
    free(node->resources);
    node->resource_count = 0;
    node->resources = calloc(2 * (node->device_count + node->link_count), sizeof *node->resources);
    if (!node->resources)
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < node->device_count; i++)
        make_device_resources(node, &node->devices[i]);
    for (size_t i = 0; i < node->link_count; i++)
        make_link_resources(node, &node->links[i]);
    return STATUS_OK;
}

/* Breadth-first search from `from`; came_by[d] = link by which d was first reached, -1 if never.
 * Endpoints other than `from` pass nothing on: a GPU, NIC or DRAM is no way through, a switch
 * and a root complex are. */
static void search(const struct node_type *node, size_t from, int came_by[], unsigned hops[])
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
        if (at != from && kind != DEVICE_PCIE_SWITCH && kind != DEVICE_CPU)
            continue;
        for (size_t i = 0; i < node->link_count; i++) {
            const struct link *link = &node->links[i];
            if (link->end[0] != at && link->end[1] != at)
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

bool machine_path(const struct machine *machine, size_t from, size_t to, struct path *ret_path)
{
    const struct node_type *node = &machine->node;
    int came_by[MACHINE_MAX_DEVICES];
    unsigned hops[MACHINE_MAX_DEVICES];
    ret_path->length = 0;
    ret_path->device[0] = (uint16_t)from;
    if (from == to)
        return true;
    search(node, from, came_by, hops);
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

int machine_nearest(const struct machine *machine, size_t from, enum device_kind kind)
{
    const struct node_type *node = &machine->node;
    int came_by[MACHINE_MAX_DEVICES], near[MACHINE_MAX_DEVICES];
    unsigned hops[MACHINE_MAX_DEVICES], best = ~0u;
    size_t ties = 0;
    search(node, from, came_by, hops);
    for (size_t i = 0; i < node->device_count; i++) {
        if (node->devices[i].kind != kind || came_by[i] < 0 || hops[i] > best)
            continue;
        if (hops[i] < best)
            ties = 0;
        best = hops[i];
        near[ties++] = (int)i;
    }
    if (ties == 0)
        return -1;
    size_t index = 0;
    for (size_t g = 0; g < node->gpu_count; g++)
        if (node->gpus[g] == from)
            index = g;
    return near[index % ties];
}

uint32_t machine_ranks(const struct machine *machine)
{
    return machine->node_count * (uint32_t)machine->node.gpu_count;
}
