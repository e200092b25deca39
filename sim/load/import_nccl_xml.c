/* import_nccl_xml.c: NCCL's topology XML, version 1 (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE).
 *
 *   system > cpu > pci (nested: 0x0604xx is a switch) > gpu > nvlink, c2c
 *                                                     > nic > net
 *          cpu > nic > net                   a NIC without PCIe of its own
 *          pci > pcilink                     a vendor's link between switches
 *
 * NCCL writes link_speed and link_width as the smaller of what device and port can do, so they are
 * taken as such; how the link trained is not in the file. Files for virtual machines are written by
 * hand: there a pci of a GPU or NIC may hold neither gpu nor nic, and link_width may be 0.
 *
 * Read by expat as a stream. A DOCTYPE is refused, and with it every entity of its own (NCCL writes
 * none). Attributes that say nothing about cost are known and not used: affinity, host_hash (but
 * that two hosts are refused), subsystem_*, vendor, device, rank, mlopart, latency, port, guid,
 * maxconn, coll, rail, plane, gin, rma, keep. All others are noted.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/import.h"
#include "sim/load/xml.h"

enum { DEPTH_MAX = 32, LATER_MAX = 1024, MAX_LANES = 64 };

/* clang-format off */
enum tag { TAG_SYSTEM, TAG_CPU, TAG_PCI, TAG_GPU, TAG_NVLINK, TAG_C2C, TAG_NIC, TAG_NET, TAG_PCILINK,
           TAG_COUNT, TAG_NONE = TAG_COUNT };
/* clang-format on */

static const struct {
    const char *name;
    unsigned parents;       /* bits of tags it may stand in */
    const char *attributes; /* with spaces around each */
} tags[TAG_COUNT] = {
    [TAG_SYSTEM] = {"system", 1u << TAG_NONE, " version "},
    [TAG_CPU] = {"cpu", 1u << TAG_SYSTEM,
                 " numaid affinity arch vendor familyid modelid host_hash keep "},
    [TAG_PCI] = {"pci", 1u << TAG_CPU | 1u << TAG_PCI,
                 " busid class vendor device subsystem_vendor subsystem_device link_speed "
                 "link_width keep "},
    [TAG_GPU] = {"gpu", 1u << TAG_PCI, " dev sm rank gdr mlopart keep "},
    [TAG_NVLINK] = {"nvlink", 1u << TAG_GPU, " target count tclass keep "},
    [TAG_C2C] = {"c2c", 1u << TAG_GPU, " bw count keep "},
    [TAG_NIC] = {"nic", 1u << TAG_PCI | 1u << TAG_CPU, " keep "},
    [TAG_NET] = {"net", 1u << TAG_NIC,
                 " name dev speed latency port guid maxconn gdr coll rail plane net gin rma keep "},
    [TAG_PCILINK] = {"pcilink", 1u << TAG_PCI, " target keep "},
};

/* An end that may stand further down in the file. */
struct later {
    enum link_kind kind;
    int from;
    uint64_t target;
    unsigned count;
    struct mark mark;
};

struct level {
    enum tag tag; /* TAG_NONE: unknown, its content is left out */
    int device;   /* what it stands for, or its parent's; -1: none */
};

struct reader {
    struct xml xml; /* first: see xml.h */
    struct topology *topology;
    struct level levels[DEPTH_MAX];
    size_t depth;
    struct later later[LATER_MAX];
    size_t later_count;
    int nvswitch; /* -1: none yet */
    char host[32];
};

/* A whole number; `fallback` without the attribute, or with a note when it is no such number. */
static long number(struct reader *reader, int device, const XML_Char **attributes, const char *name,
                   long low, long high, long fallback)
{
    const char *text = xml_attribute(attributes, name);
    long value = fallback;
    if (text && !import_number(text, low, high, &value))
        topology_note(reader->topology, TOPOLOGY_FOUND, device, xml_here(&reader->xml),
                      "%s=\"%.40s\" is no number from %ld to %ld and was left out", name, text, low,
                      high);
    return value;
}

static struct topology_device *device_at(const struct reader *reader, int device)
{
    return &reader->topology->devices[device];
}

/* ---- elements ------------------------------------------------------------------------------- */

static void open_system(struct reader *reader, const XML_Char **attributes)
{
    const char *version = xml_attribute(attributes, "version");
    if (!version || strcmp(version, "1") != 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
                      "system version is \"%.20s\"; gdsim knows version 1", version ? version : "");
}

static int open_cpu(struct reader *reader, const XML_Char **attributes)
{
    const char *host = xml_attribute(attributes, "host_hash"),
               *arch = xml_attribute(attributes, "arch"),
               *vendor = xml_attribute(attributes, "vendor");
    if (host && reader->host[0] && strncmp(reader->host, host, sizeof reader->host - 1) != 0) {
        xml_stop(&reader->xml, "dump the topology of one host (a job on one node)",
                 "the file holds several hosts (host_hash differs)");
        return -1;
    }
    if (host)
        snprintf(reader->host, sizeof reader->host, "%s", host);
    if (topology_count(reader->topology, DEVICE_CPU) == TOPOLOGY_CPUS) {
        xml_stop(&reader->xml, NULL, "more than 16 CPUs");
        return -1;
    }
    int at =
        topology_add(reader->topology, DEVICE_CPU, -1, xml_here(&reader->xml), reader->xml.diag);
    if (at < 0)
        return -1;
    struct topology_device *cpu = device_at(reader, at);
    cpu->numa = (int)number(reader, at, attributes, "numaid", -1, 4095, -1);
    cpu->family = (int)number(reader, at, attributes, "familyid", 0, 65535, 0);
    cpu->model = (int)number(reader, at, attributes, "modelid", 0, 65535, 0);
    topology_clean(cpu->arch, sizeof cpu->arch, arch ? arch : "");
    topology_clean(cpu->vendor, sizeof cpu->vendor, vendor ? vendor : "");
    return at;
}

static void read_link(struct reader *reader, int at, const XML_Char **attributes)
{
    struct topology_device *device = device_at(reader, at);
    const char *speed = xml_attribute(attributes, "link_speed");
    device->up.gen_max = speed ? topology_gen(speed) : 0;
    if (speed && !device->up.gen_max && speed[0])
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "link_speed=\"%.40s\" names no PCIe speed", speed);
    device->up.width_max = (int)number(reader, at, attributes, "link_width", 0, 32, 0);
    if (xml_attribute(attributes, "link_width") && device->up.width_max == 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "link_width is 0, as in a virtual machine that hides the port above");
}

/* `kind` of a pci element: by its class, else by what stands in it (later). */
static bool kind_of_class(long class_code, enum device_kind *ret_kind)
{
    switch (class_code >> 8) {
    case 0x0604:
    case 0x0801: /* ConnectX-8 data direct: stands for a bridge */
        *ret_kind = DEVICE_PCIE_SWITCH;
        return true;
    case 0x0680:
        *ret_kind = DEVICE_NVSWITCH;
        return true;
    case 0x0108:
        *ret_kind = DEVICE_NVME;
        return true;
    default:
        *ret_kind = class_code >> 16 == 3 ? DEVICE_GPU : DEVICE_NIC;
        return class_code >> 16 == 3 || class_code >> 16 == 2;
    }
}

static int nvswitch_of(struct reader *reader)
{
    if (reader->nvswitch < 0)
        reader->nvswitch = topology_add(reader->topology, DEVICE_NVSWITCH, -1,
                                        xml_here(&reader->xml), reader->xml.diag);
    return reader->nvswitch;
}

static int open_pci(struct reader *reader, int parent, const XML_Char **attributes)
{
    const char *busid = xml_attribute(attributes, "busid"),
               *class = xml_attribute(attributes, "class");
    long code = number(reader, parent, attributes, "class", 0, 0xFFFFFF, -1);
    enum device_kind kind;
    if (code < 0 || !kind_of_class(code, &kind)) {
        topology_note(
            reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
            "pci %.24s of class \"%.16s\" is neither bridge, GPU, NIC nor drive: left out "
            "with what is in it",
            busid ? busid : "without busid", class ? class : "");
        return -1;
    }
    if (kind == DEVICE_NVSWITCH)
        return nvswitch_of(reader);
    if (device_at(reader, parent)->kind != DEVICE_CPU &&
        device_at(reader, parent)->kind != DEVICE_PCIE_SWITCH) {
        topology_note(reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
                      "pci %.24s stands in a pci that is no bridge and was left out",
                      busid ? busid : "without busid");
        return -1;
    }
    int at = topology_add(reader->topology, kind, parent, xml_here(&reader->xml), reader->xml.diag);
    if (at < 0)
        return -1;
    uint64_t key;
    if (busid && topology_parse_busid(busid, &key) && topology_find(reader->topology, key) >= 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "busid %.24s stands twice in the file; links to it go to the first", busid);
    if (!busid || !topology_set_busid(device_at(reader, at), busid))
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "busid \"%.24s\" is none such as 0000:17:00.0", busid ? busid : "");
    read_link(reader, at, attributes);
    return at;
}

static void open_gpu(struct reader *reader, int at, const XML_Char **attributes)
{
    struct topology_device *gpu = device_at(reader, at);
    if (gpu->kind != DEVICE_GPU) {
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "a gpu element stands in a pci whose class is no GPU's and was left out");
        return;
    }
    gpu->order = (int)number(reader, at, attributes, "dev", 0, 4095, -1);
    gpu->sm = (int)number(reader, at, attributes, "sm", 0, 999, 0);
    gpu->gdr = (int)number(reader, at, attributes, "gdr", 0, 1, -1);
    if (gpu->gdr == 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "gdr=0: this GPU cannot do GPUDirect RDMA. A scenario has no switch for one "
                      "GPU");
}

static void defer(struct reader *reader, enum link_kind kind, int from, const char *target,
                  unsigned count)
{
    uint64_t key;
    if (!topology_parse_busid(target, &key)) {
        topology_note(reader->topology, TOPOLOGY_FOUND, from, xml_here(&reader->xml),
                      "a link to \"%.24s\", which is no busid, was left out", target);
        return;
    }
    if (reader->later_count == LATER_MAX) {
        xml_stop(&reader->xml, NULL, "more than 1024 links");
        return;
    }
    reader->later[reader->later_count++] =
        (struct later){kind, from, key, count, xml_here(&reader->xml)};
}

static void open_nvlink(struct reader *reader, int gpu, const XML_Char **attributes)
{
    const char *target = xml_attribute(attributes, "target");
    long class_code = number(reader, gpu, attributes, "tclass", 0, 0xFFFFFF, 0);
    unsigned count = (unsigned)number(reader, gpu, attributes, "count", 1, MAX_LANES, 0);
    if (device_at(reader, gpu)->kind != DEVICE_GPU)
        return;
    if (class_code >> 8 == 0x0680) {
        /* All switches count as one: NCCL does the same. 0x068001 is a CPU's bridge (POWER). */
        int end = class_code == 0x068001 ? device_at(reader, gpu)->parent : nvswitch_of(reader);
        while (end >= 0 && class_code == 0x068001 && device_at(reader, end)->kind != DEVICE_CPU)
            end = device_at(reader, end)->parent;
        struct topology_pair *pair =
            end < 0
                ? NULL
                : topology_pair(reader->topology, class_code == 0x068001 ? LINK_C2C : LINK_NVLINK,
                                gpu, end, xml_here(&reader->xml), reader->xml.diag);
        if (pair)
            pair->count += count;
        if (pair && pair->kind == LINK_C2C) {
            pair->rate_Bps += 20e9 * count;
            pair->source = "assumed: 20 GB/s an NVLink";
            topology_note(reader->topology, TOPOLOGY_ASSUMED, gpu, xml_here(&reader->xml),
                          "NVLink to the CPU: 20 GB/s each way a link");
        }
        return;
    }
    defer(reader, LINK_NVLINK, gpu, target ? target : "", count);
}

static void open_c2c(struct reader *reader, int gpu, const XML_Char **attributes)
{
    long bandwidth = number(reader, gpu, attributes, "bw", 1, 100000000, 0);
    unsigned count = (unsigned)number(reader, gpu, attributes, "count", 1, MAX_LANES, 1);
    int cpu = gpu;
    while (cpu >= 0 && device_at(reader, cpu)->kind != DEVICE_CPU)
        cpu = device_at(reader, cpu)->parent;
    if (device_at(reader, gpu)->kind != DEVICE_GPU || cpu < 0)
        return;
    struct topology_pair *pair = topology_pair(reader->topology, LINK_C2C, gpu, cpu,
                                               xml_here(&reader->xml), reader->xml.diag);
    if (pair && bandwidth > 0) {
        double rate = pair->rate_Bps + 1e6 * (double)bandwidth * count;
        pair->rate_Bps = rate < 1e14 ? rate : 1e14;
        pair->source = "bw and count of the XML";
    }
}

/* A nic in a pci is that pci; one in a cpu is a device of its own, with a link nobody knows. */
static int open_nic(struct reader *reader, int parent)
{
    enum device_kind kind = device_at(reader, parent)->kind;
    if (kind == DEVICE_NIC)
        return parent;
    if (kind != DEVICE_CPU) {
        topology_note(reader->topology, TOPOLOGY_FOUND, parent, xml_here(&reader->xml),
                      "a nic element stands in a pci whose class is no NIC's and was left out");
        return -1;
    }
    int at = topology_add(reader->topology, DEVICE_NIC, parent, xml_here(&reader->xml),
                          reader->xml.diag);
    if (at >= 0) {
        device_at(reader, at)->up.no_port = true;
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "a NIC without PCIe address (virtual, or not to be seen from here)");
    }
    return at;
}

static void open_net(struct reader *reader, int at, const XML_Char **attributes)
{
    struct topology_device *nic = device_at(reader, at);
    const char *name = xml_attribute(attributes, "name");
    char label[TOPOLOGY_LABEL];
    if (!xml_attribute(attributes, "dev")) {
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "a net without dev, which NCCL leaves out too, was left out");
        return;
    }
    topology_clean(label, sizeof label, name ? name : "");
    long speed = number(reader, at, attributes, "speed", -1000000000, 100000000, 0);
    int gdr = (int)number(reader, at, attributes, "gdr", 0, 1, -1);
    if (nic->gdr < gdr)
        nic->gdr = gdr;
    if (!nic->label[0] && nic->order < 0) {
        memcpy(nic->label, label, sizeof nic->label);
        nic->order = (int)number(reader, at, attributes, "dev", 0, 4095, -1);
        nic->rate_Bps = speed > 0 ? (double)speed * 1e6 / 8 : 0;
    } else {
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "several nets on one NIC, which share its PCIe link: one NIC with the sum of "
                      "their rates");
        size_t used = strlen(nic->label);
        snprintf(nic->label + used, sizeof nic->label - used, "+%s", label);
        nic->rate_Bps =
            speed > 0 && nic->rate_Bps > 0 ? nic->rate_Bps + (double)speed * 1e6 / 8 : 0;
    }
    if (xml_attribute(attributes, "speed") && speed <= 0)
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "speed is %ld Mb/s, which means that NCCL could not find it out", speed);
    if (speed == 10000)
        topology_note(reader->topology, TOPOLOGY_FOUND, at, xml_here(&reader->xml),
                      "speed is 10000 Mb/s, which NCCL also writes where it does not know");
}

/* ---- expat's calls -------------------------------------------------------------------------- */

static enum tag tag_of(const char *name)
{
    for (size_t i = 0; i < TAG_COUNT; i++)
        if (strcmp(tags[i].name, name) == 0)
            return (enum tag)i;
    return TAG_NONE;
}

static void check_attributes(struct reader *reader, enum tag tag, const XML_Char **attributes)
{
    for (size_t i = 0; attributes[i]; i += 2) {
        char word[48];
        int length = snprintf(word, sizeof word, " %s ", attributes[i]);
        if (length >= (int)sizeof word || !strstr(tags[tag].attributes, word))
            topology_note(reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
                          "attribute \"%.40s\" of %s is not known and was left out", attributes[i],
                          tags[tag].name);
    }
}

static bool check_root(struct reader *reader, const char *name)
{
    if (strcmp(name, "system") == 0)
        return true;
    xml_stop(
        &reader->xml,
        strcmp(name, "graphs") == 0
            ? "this is a graph (NCCL_GRAPH_DUMP_FILE); dump the topology with NCCL_TOPO_DUMP_FILE"
        : strcmp(name, "topology") == 0 ? "this is hwloc's lstopo; gdsim reads NCCL_TOPO_DUMP_FILE"
                                        : "NCCL's topology starts with <system version=\"1\">",
        "the XML is no topology of NCCL");
    return false;
}

static void open_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = data;
    if (reader->xml.stopped || (reader->depth == 0 && !check_root(reader, name)))
        return;
    if (reader->depth == DEPTH_MAX) {
        xml_stop(&reader->xml, NULL, "elements stand in each other more than 32 deep");
        return;
    }
    struct level *level = &reader->levels[reader->depth];
    const struct level *up = reader->depth > 0 ? level - 1 : NULL;
    enum tag in = up ? up->tag : TAG_NONE;
    *level = (struct level){TAG_NONE, -1};
    reader->depth++;
    if (up && (in == TAG_NONE || (in != TAG_SYSTEM && up->device < 0)))
        return; /* in something left out, which was said there */
    enum tag tag = tag_of(name);
    if (tag == TAG_NONE || !(tags[tag].parents >> in & 1)) {
        topology_note(reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
                      "element \"%.40s\" in %s is not known and was left out with what is in it",
                      name, in == TAG_NONE ? "the file" : tags[in].name);
        return;
    }
    check_attributes(reader, tag, attributes);
    level->tag = tag;
    level->device = up ? up->device : -1;
    switch (tag) {
    case TAG_SYSTEM:
        open_system(reader, attributes);
        break;
    case TAG_CPU:
        level->device = open_cpu(reader, attributes);
        break;
    case TAG_PCI:
        level->device = open_pci(reader, up->device, attributes);
        break;
    case TAG_GPU:
        open_gpu(reader, level->device, attributes);
        break;
    case TAG_NVLINK:
        open_nvlink(reader, level->device, attributes);
        break;
    case TAG_C2C:
        open_c2c(reader, level->device, attributes);
        break;
    case TAG_NIC:
        level->device = open_nic(reader, up->device);
        break;
    case TAG_NET:
        open_net(reader, level->device, attributes);
        break;
    case TAG_PCILINK: {
        const char *target = xml_attribute(attributes, "target");
        defer(reader, LINK_PCIE, level->device, target ? target : "", 0);
        break;
    }
    case TAG_COUNT:
        break;
    }
}

static void close_element(void *data, const XML_Char *name)
{
    struct reader *reader = data;
    (void)name;
    if (reader->depth > 0)
        reader->depth--;
}

static void text_between(void *data, const XML_Char *text, int length)
{
    struct reader *reader = data;
    for (int i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i])) {
            topology_note(reader->topology, TOPOLOGY_FOUND, -1, xml_here(&reader->xml),
                          "text between the elements was left out");
            return;
        }
}

/* ---- after the last line -------------------------------------------------------------------- */

static void join_later(struct reader *reader)
{
    struct topology *topology = reader->topology;
    for (size_t i = 0; i < reader->later_count; i++) {
        const struct later *later = &reader->later[i];
        int to = topology_find(topology, later->target);
        enum device_kind wanted = later->kind == LINK_PCIE ? DEVICE_PCIE_SWITCH : DEVICE_GPU;
        if (to < 0 || to == later->from || topology->devices[to].kind != wanted ||
            topology->devices[later->from].kind != wanted) {
            topology_note(topology, TOPOLOGY_FOUND, later->from, later->mark,
                          "a link to a busid that is no %s of this file was left out",
                          later->kind == LINK_PCIE ? "switch" : "GPU");
            continue;
        }
        if (later->kind == LINK_PCIE && (topology->devices[to].parent == later->from ||
                                         topology->devices[later->from].parent == to))
            continue; /* the tree has this link */
        struct topology_pair *pair =
            topology_pair(topology, later->kind, later->from, to, later->mark, reader->xml.diag);
        if (!pair)
            return;
        if (later->kind == LINK_PCIE && !(pair->rate_Bps > 0)) {
            pair->rate_Bps = 5e12;
            pair->source = "assumed: inside one chip, as NCCL has it";
            topology_note(topology, TOPOLOGY_ASSUMED, later->from, later->mark,
                          "rate of the vendor's link to another switch: 5000 GB/s, as NCCL takes "
                          "it");
        }
        if (later->kind == LINK_PCIE)
            continue;
        /* Each GPU lists the other; both lists must agree. */
        if (pair->count && pair->count != later->count)
            topology_note(topology, TOPOLOGY_FOUND, later->from, later->mark,
                          "the two GPUs disagree about how many NVLinks join them (%u and %u): the "
                          "smaller is taken",
                          pair->count, later->count);
        if (!pair->count || later->count < pair->count)
            pair->count = later->count;
    }
}

/* gdr of nets says what NCCL found, not by which module. */
static void read_gdr(struct topology *topology)
{
    bool yes = false, no = false;
    for (size_t i = 0; i < topology->device_count; i++) {
        const struct topology_device *nic = &topology->devices[i];
        if (nic->kind != DEVICE_NIC || nic->gdr < 0)
            continue;
        yes = yes || nic->gdr == 1;
        no = no || nic->gdr == 0;
    }
    if (no && !yes) {
        topology->state.peermem = topology->state.dmabuf = 0;
        topology_note(topology, TOPOLOGY_FOUND, -1, (struct mark){NULL, 0, 0},
                      "no net has gdr=1: NCCL finds GPUDirect RDMA with none of them (no peermem, "
                      "no dma-buf, or NICs without RDMA); written as peermem: no, dmabuf: no");
    }
    if (yes)
        topology->state.peermem = 1;
    if (yes && no)
        topology_note(topology, TOPOLOGY_FOUND, -1, (struct mark){NULL, 0, 0},
                      "some nets have gdr=0; a scenario has no switch for one NIC, so all can do "
                      "GPUDirect RDMA here");
}

enum status import_nccl_xml(const struct import_text *in, struct topology *topology,
                            struct diag_list *diag)
{
    size_t before = diag_count(diag);
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return STATUS_NOMEM;
    *reader = (struct reader){
        .xml = {.file = in->name, .diag = diag}, .topology = topology, .nvswitch = -1};
    const struct xml_handlers handlers = {open_element, close_element, text_between};
    enum status status = xml_read(&reader->xml, &handlers, in->text, in->length);
    if (!status && diag_count(diag) == before) {
        join_later(reader);
        read_gdr(topology);
    }
    free(reader);
    return status ? status : diag_count(diag) > before ? STATUS_INPUT : STATUS_OK;
}
