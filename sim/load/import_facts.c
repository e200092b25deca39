/* import_facts.c: what gdprobe finds out on a machine, as YAML. This file and scenarios/IMPORT.md
 * define it. Every key but gdprobe_facts and pci may be left out, and any value may be `unknown`,
 * which is the same.
 *
 *   gdprobe_facts: 1
 *   cpu: {arch: x86_64, vendor: GenuineIntel, family: 6, model: 207}
 *   vm: yes
 *   iommu: off | identity | translating
 *   modules: [nvidia_peermem, gdrdrv, nvidia_fs]      all that are loaded
 *   dmabuf: yes
 *   p2p_driver: yes                                   peer access between GPUs without NVLink
 *   ats: no                                           the NICs translate addresses themselves
 *   gds_filesystem: yes                               a mount supports GPUDirect Storage
 *   gdr_level: sys    p2p_level: pxb                  where NCCL's settings say so
 *   pci:                                              every function, or at least the chains of
 *     - {busid: 0000:16:01.0, class: 0x0604, parent: root, numa: 0, acs: [SV, RR, CR, UF]}
 *     - {busid: 0000:17:00.0, class: 0x030200, vendor: 0x10de, device: 0x2335,
 *        parent: 0000:16:01.0, speed: 16.0 GT/s PCIe, width: 16, max_speed: 32.0 GT/s PCIe,
 *        max_width: 16, mps: 256 B, mrrs: 512 B, relaxed_ordering: yes, numa: 0, acs: unknown}
 *   gpus:    - {busid: 0000:17:00.0, index: 0, name: NVIDIA H200, sm: 90, memory: 141 GB,
 *               bar1: 256 GiB, bar1_used: 0 B, gdr: yes}
 *   nvlinks: - {gpu: 0000:17:00.0, to: 0000:18:00.0 | nvswitch, count: 18, rate: 370 GB/s}
 *   nics:    - {busid: 0000:1a:00.0, name: mlx5_0, rate: 400 Gb/s, gdr: no}
 *
 * acs lists the control bits that are set (SV TB RR CR UF EC DT); [] means that none is, or that
 * the port has no ACS. gdr: no is a NIC that is no RDMA device. speed and width are as trained,
 * max_* of this end alone. rate of an nvlink is of all its links, one direction. A bridge may say
 * port: root, up or down. Unlike the texts of other programs this one is ours, so unknown keys and
 * values out of range are mistakes.
 */
#include <stdio.h>
#include <string.h>

#include "sim/core/suggest.h"
#include "sim/core/units.h"
#include "sim/load/import.h"
#include "sim/load/pci_tree.h"
#include "sim/load/yaml_tree.h"

struct reader {
    struct topology *topology;
    struct diag_list *diag;
    struct pci_tree tree;
};

/* The text of a key; NULL when absent, `unknown`, or (with a mistake noted) no text. */
static const char *text_of(const struct reader *reader, struct yaml_node *map, const char *key,
                           struct mark *ret_mark)
{
    const struct yaml_node *node = yaml_map_get(map, key);
    if (!node || yaml_is_blank(node))
        return NULL;
    *ret_mark = node->mark;
    if (node->kind != YAML_TREE_SCALAR) {
        diag_add(reader->diag, node->mark, NULL, "%s must be a text, got %s", key,
                 yaml_kind_name(node));
        return NULL;
    }
    return strcmp(node->text, "unknown") == 0 ? NULL : node->text;
}

static long integer(const struct reader *reader, struct yaml_node *map, const char *key, long low,
                    long high, long unknown)
{
    struct mark mark;
    long value = unknown;
    const char *text = text_of(reader, map, key, &mark);
    if (text && !import_number(text, low, high, &value))
        diag_add(reader->diag, mark, NULL, "%s must be a whole number from %ld to %ld, got \"%s\"",
                 key, low, high, text);
    return value;
}

static double quantity(const struct reader *reader, struct yaml_node *map, const char *key,
                       enum dimension dimension, double low, double high, double unknown)
{
    struct mark mark;
    struct error error;
    double value = unknown;
    const char *text = text_of(reader, map, key, &mark);
    if (!text)
        return unknown;
    if (units_parse(text, strlen(text), dimension, &value, &error)) {
        diag_add_error(reader->diag, mark, &error);
        return unknown;
    }
    if (value >= low && value <= high)
        return value;
    diag_add(reader->diag, mark, NULL, "%s is out of range: \"%s\"", key, text);
    return unknown;
}

static int yes_no(const struct reader *reader, struct yaml_node *map, const char *key)
{
    return (int)quantity(reader, map, key, DIM_BOOL, 0, 1, -1);
}

/* The bus id of a key; false when absent or (with a mistake noted) bad. */
static bool busid_of(const struct reader *reader, struct yaml_node *map, const char *key,
                     uint64_t *ret_key)
{
    struct mark mark;
    const char *text = text_of(reader, map, key, &mark);
    if (text && topology_parse_busid(text, ret_key))
        return true;
    if (text)
        diag_add(reader->diag, mark, NULL, "%s must be a bus id such as 0000:17:00.0, got \"%s\"",
                 key, text);
    return false;
}

static int word_of(const struct reader *reader, struct yaml_node *map, const char *key,
                   const char *const *words, size_t count)
{
    struct mark mark;
    const char *text = text_of(reader, map, key, &mark);
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(words[i], text) == 0)
            return (int)i;
    if (text)
        diag_add(reader->diag, mark, suggest_word(text, words, count), "unknown %s \"%s\"", key,
                 text);
    return -1;
}

static int choice_of(const struct reader *reader, struct yaml_node *map, const char *key,
                     enum param_id id)
{
    const char *const *words = param_words(id);
    size_t count = 0;
    while (words[count])
        count++;
    return word_of(reader, map, key, words, count);
}

/* ---- pci ------------------------------------------------------------------------------------ */

static int acs_of(const struct reader *reader, struct yaml_node *map)
{
    const struct yaml_node *node = yaml_map_get(map, "acs");
    const char *const *words = param_words(PARAM_PCIE_ACS);
    struct mark mark;
    int bits = 0;
    if (!node || node->kind == YAML_TREE_SCALAR) {
        const char *text = text_of(reader, map, "acs", &mark);
        if (text)
            diag_add(reader->diag, mark, "write for example acs: [SV, RR], [] or unknown",
                     "acs must be a list, got \"%s\"", text);
        return -1;
    }
    for (size_t i = 0; node->kind == YAML_TREE_LIST && i < node->count; i++) {
        const struct yaml_node *item = node->items[i];
        int at = 0;
        while (item->kind == YAML_TREE_SCALAR && words[at] && strcmp(words[at], item->text) != 0)
            at++;
        if (item->kind != YAML_TREE_SCALAR || !words[at])
            diag_add(reader->diag, item->mark, "bits: SV, TB, RR, CR, UF, EC, DT",
                     "unknown bit of ACS");
        else
            bits |= 1 << at;
    }
    if (node->kind != YAML_TREE_LIST)
        diag_add(reader->diag, node->mark, NULL, "acs must be a list, got %s",
                 yaml_kind_name(node));
    return bits;
}

static int gen_of(const struct reader *reader, struct yaml_node *map, const char *key, int device)
{
    struct mark mark;
    const char *text = text_of(reader, map, key, &mark);
    int gen = text ? topology_gen(text) : 0;
    if (text && gen == 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, device, mark,
                      "%s \"%.40s\" names no PCIe speed", key, text);
    return gen;
}

/* Linux writes 255 or 0 lanes where it does not know. */
static int width_of(const struct reader *reader, struct yaml_node *map, const char *key)
{
    long width = integer(reader, map, key, 0, 255, 0);
    return width <= 32 ? (int)width : 0;
}

static void read_function(struct reader *reader, struct yaml_node *map)
{
    static const char *const keys[] = {
        "busid",     "class",     "vendor", "device", "parent",           "port", "speed", "width",
        "max_speed", "max_width", "mps",    "mrrs",   "relaxed_ordering", "acs",  "numa",  "name"};
    static const char *const ports[] = {"unknown", "root", "up", "down"};
    struct mark mark = map->mark;
    if (yaml_check_keys(map, keys, sizeof keys / sizeof keys[0], "a pci function", reader->diag))
        return;
    const char *busid = text_of(reader, map, "busid", &mark), *name;
    struct pci_function *function =
        pci_tree_add(&reader->tree, busid ? busid : "", mark, reader->diag);
    if (!function)
        return;
    long class_code = integer(reader, map, "class", 0, 0xFFFFFF, -1);
    function->class_code = (int)(class_code > 0xFFFF ? class_code >> 8 : class_code);
    function->link.gen = gen_of(reader, map, "speed", -1);
    function->link.gen_max = gen_of(reader, map, "max_speed", -1);
    function->link.width = width_of(reader, map, "width");
    function->link.width_max = width_of(reader, map, "max_width");
    function->link.mps_B = (uint32_t)quantity(reader, map, "mps", DIM_BYTES, 128, 4096, 0);
    function->mrrs_B = (uint32_t)quantity(reader, map, "mrrs", DIM_BYTES, 128, 4096, 0);
    function->relaxed = yes_no(reader, map, "relaxed_ordering");
    function->numa = (int)integer(reader, map, "numa", -1, 4095, -1);
    function->link.acs = acs_of(reader, map);
    int port = word_of(reader, map, "port", ports, 4);
    function->port = port > 0 ? (enum pci_port)port : PCI_PORT_UNKNOWN;
    if ((name = text_of(reader, map, "name", &mark)))
        topology_clean(function->label, sizeof function->label, name);
}

/* Parents may stand after their children, so they are looked up when all are read. */
static void read_parent(struct reader *reader, struct yaml_node *map, size_t at)
{
    struct mark mark = map->mark;
    uint64_t key;
    const char *text = text_of(reader, map, "parent", &mark);
    if (!text || strcmp(text, "root") == 0 || !busid_of(reader, map, "parent", &key))
        return;
    int parent = pci_tree_find(&reader->tree, key);
    if (parent < 0)
        diag_add(reader->diag, mark, NULL, "the parent %s is not in the list", text);
    else if (reader->tree.functions[parent].class_code != 0x0604)
        diag_add(reader->diag, mark, NULL, "the parent %s is no bridge (class 0x0604)", text);
    else
        reader->tree.functions[at].parent = parent;
}

static struct yaml_node *list_of(const struct reader *reader, struct yaml_node *root,
                                 const char *key)
{
    struct yaml_node *node = yaml_map_get(root, key);
    if (!node || yaml_is_blank(node))
        return NULL;
    if (node->kind == YAML_TREE_LIST)
        return node;
    if (node->kind != YAML_TREE_SCALAR || strcmp(node->text, "unknown") != 0)
        diag_add(reader->diag, node->mark, NULL, "%s must be a list, got %s", key,
                 yaml_kind_name(node));
    return NULL;
}

static void read_pci(struct reader *reader, struct yaml_node *root)
{
    struct yaml_node *list = list_of(reader, root, "pci");
    size_t before = diag_count(reader->diag);
    if (!list)
        diag_add(reader->diag, root->mark, NULL, "there is no list \"pci\"");
    for (size_t i = 0; list && i < list->count; i++)
        read_function(reader, list->items[i]);
    for (size_t i = 0; list && i < list->count && diag_count(reader->diag) == before; i++)
        read_parent(reader, list->items[i], i);
    if (diag_count(reader->diag) == before)
        pci_tree_build(&reader->tree, reader->topology, reader->diag);
}

/* ---- gpus, nvlinks, nics, the rest ---------------------------------------------------------- */

/* The device of a kind that map[key] names; -1 with a mistake noted. */
static int device_of(const struct reader *reader, struct yaml_node *map, const char *key,
                     enum device_kind kind)
{
    uint64_t bus;
    const struct yaml_entry *entry = yaml_map_entry(map, key);
    if (!entry) {
        diag_add(reader->diag, map->mark, NULL, "\"%s\" is missing", key);
        return -1;
    }
    if (!busid_of(reader, map, key, &bus))
        return -1;
    int function = pci_tree_find(&reader->tree, bus);
    int at = function < 0 ? -1 : reader->tree.functions[function].device;
    if (at >= 0 && reader->topology->devices[at].kind == kind)
        return at;
    diag_add(reader->diag, entry->value->mark, NULL, "the list \"pci\" has no %s at that bus id",
             device_kind_name(kind));
    return -1;
}

static void read_gpu(struct reader *reader, struct yaml_node *map)
{
    static const char *const keys[] = {"busid",  "index", "name",      "sm",
                                       "memory", "bar1",  "bar1_used", "gdr"};
    struct mark mark;
    if (yaml_check_keys(map, keys, sizeof keys / sizeof keys[0], "a gpu", reader->diag))
        return;
    int at = device_of(reader, map, "busid", DEVICE_GPU);
    if (at < 0)
        return;
    struct topology_device *gpu = &reader->topology->devices[at];
    const char *name = text_of(reader, map, "name", &mark);
    if (name)
        topology_clean(gpu->label, sizeof gpu->label, name);
    gpu->order = (int)integer(reader, map, "index", 0, 4095, -1);
    gpu->sm = (int)integer(reader, map, "sm", 0, 999, gpu->sm);
    gpu->memory_B = quantity(reader, map, "memory", DIM_BYTES, 1, 1e15, -1);
    gpu->bar1_B = quantity(reader, map, "bar1", DIM_BYTES, 0, 1e15, -1);
    gpu->bar1_used_B = quantity(reader, map, "bar1_used", DIM_BYTES, 0, 1e15, -1);
    gpu->gdr = yes_no(reader, map, "gdr");
}

static void read_nvlink(struct reader *reader, struct yaml_node *map)
{
    static const char *const keys[] = {"gpu", "to", "count", "rate"};
    struct mark mark;
    if (yaml_check_keys(map, keys, sizeof keys / sizeof keys[0], "an nvlink", reader->diag))
        return;
    int from = device_of(reader, map, "gpu", DEVICE_GPU), to;
    const char *target = text_of(reader, map, "to", &mark);
    if (target && strcmp(target, "nvswitch") == 0) {
        to = topology_nth(reader->topology, DEVICE_NVSWITCH, 0);
        if (to < 0)
            to = topology_add(reader->topology, DEVICE_NVSWITCH, -1, map->mark, reader->diag);
    } else {
        to = device_of(reader, map, "to", DEVICE_GPU);
    }
    if (from < 0 || to < 0)
        return;
    if (from == to) {
        diag_add(reader->diag, map->mark, NULL, "an nvlink from a GPU to itself");
        return;
    }
    struct topology_pair *pair =
        topology_pair(reader->topology, LINK_NVLINK, from, to, map->mark, reader->diag);
    if (!pair)
        return;
    unsigned count = (unsigned)integer(reader, map, "count", 1, 64, 0);
    double rate = quantity(reader, map, "rate", DIM_RATE, 1, 1e14, 0);
    if (pair->count && pair->count != count)
        diag_add(reader->diag, map->mark, NULL, "the same nvlink stands twice, with another count");
    pair->count = count;
    if (rate > 0) {
        pair->rate_Bps = rate;
        pair->source = "as gdprobe read it: what the links can do, not what payload reaches";
    }
}

static void read_nic(struct reader *reader, struct yaml_node *map)
{
    static const char *const keys[] = {"busid", "name", "rate", "gdr"};
    struct mark mark;
    if (yaml_check_keys(map, keys, sizeof keys / sizeof keys[0], "a nic", reader->diag))
        return;
    int at = device_of(reader, map, "busid", DEVICE_NIC);
    if (at < 0)
        return;
    struct topology_device *nic = &reader->topology->devices[at];
    const char *name = text_of(reader, map, "name", &mark);
    double rate = quantity(reader, map, "rate", DIM_RATE, 1, 1e13, 0);
    if (name)
        topology_clean(nic->label, sizeof nic->label, name);
    nic->rate_Bps += rate; /* ports of one card are one NIC */
    nic->gdr = yes_no(reader, map, "gdr");
}

/* A scenario has no switch for one NIC: where none is an RDMA device, nothing can register memory.
 */
static void read_rdma(struct topology *topology)
{
    size_t nics = topology_count(topology, DEVICE_NIC), without = 0;
    for (size_t i = 0; i < topology->device_count; i++)
        without += topology->devices[i].kind == DEVICE_NIC && topology->devices[i].gdr == 0;
    if (nics == 0 || without < nics)
        return;
    topology->state.peermem = topology->state.dmabuf = 0;
    topology_note(topology, TOPOLOGY_FOUND, -1, (struct mark){NULL, 0, 0},
                  "no NIC is an RDMA device, so none reaches GPU memory; written as peermem: no, "
                  "dmabuf: no");
}

static void read_all(struct reader *reader, struct yaml_node *root, const char *key,
                     void (*read)(struct reader *, struct yaml_node *))
{
    struct yaml_node *list = list_of(reader, root, key);
    for (size_t i = 0; list && i < list->count; i++)
        read(reader, list->items[i]);
}

static void read_modules(struct reader *reader, struct yaml_node *root)
{
    struct topology_state *state = &reader->topology->state;
    struct yaml_node *list = list_of(reader, root, "modules");
    if (!list)
        return;
    state->peermem = state->gdrdrv = state->nvidia_fs = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct yaml_node *item = list->items[i];
        const char *text = item->kind == YAML_TREE_SCALAR ? item->text : "";
        if (strcmp(text, "nvidia_peermem") == 0 || strcmp(text, "nv_peer_mem") == 0)
            state->peermem = 1;
        state->gdrdrv |= strcmp(text, "gdrdrv") == 0;
        state->nvidia_fs |= strcmp(text, "nvidia_fs") == 0;
    }
}

static void read_cpu(struct reader *reader, struct yaml_node *root)
{
    static const char *const keys[] = {"arch", "vendor", "family", "model"};
    struct yaml_node *map = yaml_map_get(root, "cpu");
    struct mark mark;
    if (!map || yaml_check_keys(map, keys, 4, "cpu", reader->diag))
        return;
    const char *arch = text_of(reader, map, "arch", &mark),
               *vendor = text_of(reader, map, "vendor", &mark);
    int family = (int)integer(reader, map, "family", 0, 65535, 0),
        model = (int)integer(reader, map, "model", 0, 65535, 0);
    for (size_t i = 0; i < reader->topology->device_count; i++) {
        struct topology_device *cpu = &reader->topology->devices[i];
        if (cpu->kind != DEVICE_CPU)
            continue;
        topology_clean(cpu->arch, sizeof cpu->arch, arch ? arch : "");
        topology_clean(cpu->vendor, sizeof cpu->vendor, vendor ? vendor : "");
        cpu->family = family;
        cpu->model = model;
    }
}

static void read_root(struct reader *reader, struct yaml_node *root)
{
    static const char *const keys[] = {"gdprobe_facts",  "cpu",       "vm",         "iommu",
                                       "modules",        "dmabuf",    "p2p_driver", "ats",
                                       "gds_filesystem", "gdr_level", "p2p_level",  "pci",
                                       "gpus",           "nvlinks",   "nics"};
    struct topology_state *state = &reader->topology->state;
    size_t before = diag_count(reader->diag);
    yaml_check_keys(root, keys, sizeof keys / sizeof keys[0], NULL, reader->diag);
    if (root->kind != YAML_TREE_MAP)
        return;
    if (!yaml_map_entry(root, "gdprobe_facts"))
        diag_add(reader->diag, root->mark, NULL, "the file does not start with gdprobe_facts: 1");
    else
        integer(reader, root, "gdprobe_facts", 1, 1, 1);
    read_pci(reader, root);
    if (diag_count(reader->diag) > before)
        return;
    reader->topology->silent_nvlinks = !list_of(reader, root, "nvlinks");
    read_all(reader, root, "gpus", read_gpu);
    read_all(reader, root, "nvlinks", read_nvlink);
    read_all(reader, root, "nics", read_nic);
    read_modules(reader, root);
    read_cpu(reader, root);
    state->vm = yes_no(reader, root, "vm");
    state->dmabuf = yes_no(reader, root, "dmabuf");
    read_rdma(reader->topology);
    state->p2p_driver = yes_no(reader, root, "p2p_driver");
    state->ats = yes_no(reader, root, "ats");
    state->gds_filesystem = yes_no(reader, root, "gds_filesystem");
    state->iommu = choice_of(reader, root, "iommu", PARAM_STATE_IOMMU);
    state->gdr_level = choice_of(reader, root, "gdr_level", PARAM_STATE_GDR_LEVEL);
    state->p2p_level = choice_of(reader, root, "p2p_level", PARAM_STATE_P2P_LEVEL);
}

enum status import_facts(const struct import_text *in, struct topology *topology,
                         struct diag_list *diag)
{
    struct reader reader = {.topology = topology, .diag = diag};
    struct yaml_tree *tree = NULL;
    size_t before = diag_count(diag);
    enum status status = yaml_tree_parse(in->text, in->length, in->name, &tree, diag);
    if (status)
        return status;
    read_root(&reader, tree->root);
    yaml_tree_free(tree);
    pci_tree_free(&reader.tree);
    return diag_count(diag) > before ? STATUS_INPUT : STATUS_OK;
}
