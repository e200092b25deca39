/* pci_tree.c: see pci_tree.h. */
#include "sim/load/pci_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLIMB_MAX = 32 };

struct pci_function *pci_tree_add(struct pci_tree *tree, const char *busid, struct mark mark,
                                  struct diag_list *diag)
{
    if (tree->count == PCI_FUNCTIONS) {
        diag_add(diag, mark, NULL, "more than %d PCI functions", PCI_FUNCTIONS);
        return NULL;
    }
    if (tree->count == tree->capacity) {
        size_t capacity = tree->capacity ? 2 * tree->capacity : 64;
        struct pci_function *grown = realloc(tree->functions, capacity * sizeof *grown);
        if (!grown) {
            diag_add(diag, mark, NULL, "out of memory");
            return NULL;
        }
        tree->functions = grown;
        tree->capacity = capacity;
    }
    struct pci_function *function = &tree->functions[tree->count];
    struct topology_device id = {.busid = ""};
    memset(function, 0, sizeof *function);
    if (!topology_set_busid(&id, busid)) {
        diag_add(diag, mark, NULL, "\"%.24s\" is no bus id such as 0000:17:00.0", busid);
        return NULL;
    }
    if (pci_tree_find(tree, id.bus_key) >= 0) {
        diag_add(diag, mark, NULL, "%s stands twice in the file", id.busid);
        return NULL;
    }
    memcpy(function->busid, id.busid, sizeof function->busid);
    function->key = id.bus_key;
    function->class_code = function->parent = function->secondary = -1;
    function->relaxed = function->numa = function->device = function->placed = -1;
    function->link.acs = -1;
    function->mark = mark;
    tree->count++;
    return function;
}

void pci_tree_free(struct pci_tree *tree)
{
    free(tree->functions);
    *tree = (struct pci_tree){NULL, 0, 0};
}

int pci_tree_find(const struct pci_tree *tree, uint64_t key)
{
    for (size_t i = tree->count; i-- > 0;)
        if (tree->functions[i].key == key)
            return (int)i;
    return -1;
}

bool pci_kind(int class_code, enum device_kind *ret_kind)
{
    if (class_code == 0x0604)
        *ret_kind = DEVICE_PCIE_SWITCH;
    else if (class_code == 0x0680)
        *ret_kind = DEVICE_NVSWITCH;
    else if (class_code == 0x0108)
        *ret_kind = DEVICE_NVME;
    else if (class_code >> 8 == 3)
        *ret_kind = DEVICE_GPU;
    else if (class_code >> 8 == 2)
        *ret_kind = DEVICE_NIC;
    else
        return false;
    return true;
}

static bool is_bridge(const struct pci_function *function)
{
    return function->class_code == 0x0604;
}

void pci_tree_by_buses(struct pci_tree *tree, struct topology *topology, struct diag_list *diag)
{
    for (size_t i = 0; i < tree->count; i++) {
        struct pci_function *function = &tree->functions[i];
        if (is_bridge(function) && function->secondary < 0)
            topology_note(
                topology, TOPOLOGY_ASSUMED, -1, function->mark,
                "bus numbers of a bridge are not in the input (lspci -vvv has them): what "
                "is below it is put at the CPU");
        for (size_t j = 0; j < tree->count; j++) {
            const struct pci_function *bridge = &tree->functions[j];
            if (i == j || !is_bridge(bridge) || bridge->secondary <= 0 ||
                bridge->key >> 16 != function->key >> 16 ||
                (uint64_t)bridge->secondary != (function->key >> 8 & 0xFF))
                continue;
            if (function->parent >= 0)
                diag_add(diag, bridge->mark, NULL, "%s and %s both lead to bus %02x", bridge->busid,
                         tree->functions[function->parent].busid, (unsigned)bridge->secondary);
            else
                function->parent = (int)j;
        }
        if (diag_count(diag) >= DIAG_MAX)
            return;
    }
}

/* ---- building ------------------------------------------------------------------------------- */

struct builder {
    struct pci_tree *tree;
    struct topology *topology;
    struct diag_list *diag;
    int home; /* NUMA node of devices that name none; -1: none names one */
};

/* Whether the chain up from a function ends. */
static bool check_climb(const struct builder *builder, size_t from)
{
    const struct pci_function *functions = builder->tree->functions;
    int steps = 0;
    for (int at = (int)from; functions[at].parent >= 0; at = functions[at].parent)
        if (++steps > CLIMB_MAX) {
            diag_add(builder->diag, functions[from].mark, NULL,
                     "the bridges above %s go round in a circle, or are more than %d",
                     functions[from].busid, CLIMB_MAX);
            return false;
        }
    return true;
}

/* The NUMA node of a function or of what is above it. */
static int numa_of(const struct builder *builder, int at)
{
    const struct pci_function *functions = builder->tree->functions;
    for (; at >= 0; at = functions[at].parent)
        if (functions[at].numa >= 0)
            return functions[at].numa;
    return -1;
}

static enum pci_port port_of(const struct pci_tree *tree, int at)
{
    const struct pci_function *bridge = &tree->functions[at];
    if (bridge->port != PCI_PORT_UNKNOWN)
        return bridge->port;
    if (bridge->parent < 0)
        return PCI_PORT_ROOT;
    return port_of(tree, bridge->parent) == PCI_PORT_UP ? PCI_PORT_DOWN : PCI_PORT_UP;
}

static int cpu_for(const struct builder *builder, int numa, struct mark mark)
{
    return topology_cpu(builder->topology, numa >= 0 ? numa : builder->home, mark, builder->diag);
}

static int smaller(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The link above a device: its own end, and the port at the other. */
static struct topology_link link_above(const struct builder *builder, int at)
{
    const struct pci_tree *tree = builder->tree;
    const struct pci_function *function = &tree->functions[at];
    struct topology_link link = function->link;
    link.acs = -1;
    if (function->parent < 0 || port_of(tree, function->parent) == PCI_PORT_UP) {
        link.no_port = true;
        return link;
    }
    const struct pci_function *port = &tree->functions[function->parent];
    link.acs = port->link.acs;
    link.gen = link.gen ? link.gen : port->link.gen;
    link.width = link.width ? link.width : port->link.width;
    link.gen_max = smaller(link.gen_max, port->link.gen_max);
    link.width_max = smaller(link.width_max, port->link.width_max);
    link.mps_B = (uint32_t)smaller((int)link.mps_B, (int)port->link.mps_B);
    return link;
}

/* What the functions below bridge `at` hang on: a switch, or a CPU. -1 with a mistake noted. */
static int place(struct builder *builder, int at, int numa)
{
    struct pci_function *bridge = &builder->tree->functions[at];
    bridge->used = true;
    if (bridge->placed >= 0)
        return bridge->placed;
    int above = bridge->parent < 0
                    ? cpu_for(builder, bridge->numa >= 0 ? bridge->numa : numa, bridge->mark)
                    : place(builder, bridge->parent, bridge->numa >= 0 ? bridge->numa : numa);
    enum pci_port port = port_of(builder->tree, at);
    if (above < 0 || port == PCI_PORT_ROOT || port == PCI_PORT_DOWN)
        return bridge->placed = above;
    int sw =
        topology_add(builder->topology, DEVICE_PCIE_SWITCH, above, bridge->mark, builder->diag);
    if (sw < 0)
        return -1;
    struct topology_device *device = &builder->topology->devices[sw];
    topology_set_busid(device, bridge->busid);
    memcpy(device->label, bridge->label, sizeof device->label);
    device->up = link_above(builder, at);
    bridge->device = sw;
    return bridge->placed = sw;
}

/* An earlier function of the same card, or -1. */
static int sibling(const struct pci_tree *tree, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (tree->functions[i].device >= 0 &&
            tree->functions[i].key >> 3 == tree->functions[at].key >> 3)
            return tree->functions[i].device;
    return -1;
}

/* Compute capability of the GPUs with NVLink, by the names of chips and cards; 0: not known. */
static int sm_of_name(const char *name)
{
    static const struct {
        const char *word;
        int sm;
    } rows[] = {{"GP100", 60}, {"P100", 60},  {"GV100", 70}, {"V100", 70},   {"GA100", 80},
                {"A100", 80},  {"A800", 80},  {"GA102", 86}, {"GH100", 90},  {"H100", 90},
                {"H200", 90},  {"H800", 90},  {"GH200", 90}, {"GB100", 100}, {"B100", 100},
                {"B200", 100}, {"GB200", 100}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strstr(name, rows[i].word))
            return rows[i].sm;
    return 0;
}

static void add_endpoint(struct builder *builder, size_t at, enum device_kind kind)
{
    struct pci_function *function = &builder->tree->functions[at];
    struct topology *topology = builder->topology;
    function->used = true;
    int twin = kind == DEVICE_NIC ? sibling(builder->tree, at) : -1;
    if (twin >= 0) {
        function->device = twin;
        topology_note(topology, TOPOLOGY_FOUND, twin, topology->devices[twin].mark,
                      "several functions (ports) of one card, which share its PCIe link: one NIC");
        return;
    }
    int numa = numa_of(builder, (int)at);
    int above = function->parent < 0 ? cpu_for(builder, numa, function->mark)
                                     : place(builder, function->parent, numa);
    int index = above < 0 ? -1 : topology_add(topology, kind, above, function->mark, builder->diag);
    if (index < 0)
        return;
    struct topology_device *device = &topology->devices[index];
    topology_set_busid(device, function->busid);
    memcpy(device->label, function->label, sizeof device->label);
    device->numa = numa;
    device->up = link_above(builder, (int)at);
    device->mrrs_B = function->mrrs_B;
    device->relaxed = function->relaxed;
    device->sm = kind == DEVICE_GPU ? sm_of_name(function->label) : 0;
    function->device = index;
    if (numa < 0)
        topology_note(topology, TOPOLOGY_ASSUMED, index, function->mark,
                      builder->home < 0
                          ? "NUMA node not known: all such devices are put on one CPU"
                          : "NUMA node not known: put on the first CPU that is named");
}

static void add_nvswitch(struct builder *builder, struct pci_function *function)
{
    int at = topology_nth(builder->topology, DEVICE_NVSWITCH, 0);
    if (at < 0)
        at = topology_add(builder->topology, DEVICE_NVSWITCH, -1, function->mark, builder->diag);
    function->device = at;
    function->used = true;
}

enum status pci_tree_build(struct pci_tree *tree, struct topology *topology, struct diag_list *diag)
{
    struct builder builder = {tree, topology, diag, -1};
    size_t before = diag_count(diag), left_out = 0, virtuals = 0;
    for (size_t i = 0; i < tree->count; i++)
        if (!check_climb(&builder, i))
            return STATUS_INPUT;
    for (size_t i = 0; i < tree->count; i++) {
        int numa = numa_of(&builder, (int)i);
        if (numa >= 0 && (builder.home < 0 || numa < builder.home))
            builder.home = numa;
    }
    for (size_t i = 0; i < tree->count; i++) {
        struct pci_function *function = &tree->functions[i];
        enum device_kind kind;
        if (!pci_kind(function->class_code, &kind) || kind == DEVICE_PCIE_SWITCH)
            continue;
        if (function->is_virtual)
            virtuals++;
        else if (kind == DEVICE_NVSWITCH)
            add_nvswitch(&builder, function);
        else
            add_endpoint(&builder, i, kind);
        if (diag_count(diag) > before)
            return STATUS_INPUT;
    }
    for (size_t i = 0; i < tree->count; i++)
        left_out += !tree->functions[i].used;
    if (left_out > 0)
        topology_note(topology, TOPOLOGY_FOUND, -1, (struct mark){NULL, 0, 0},
                      "%zu PCI functions are neither GPU, NIC, drive, NVSwitch nor a bridge above "
                      "one, and were left out (%zu of them virtual functions)",
                      left_out, virtuals);
    return STATUS_OK;
}
