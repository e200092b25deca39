/* topology.c: the neutral form of an imported machine. See topology.h. */
#include "sim/load/topology.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct topology *topology_new(void)
{
    struct topology *topology = calloc(1, sizeof *topology);
    if (topology)
        topology->state = (struct topology_state){-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    return topology;
}

struct topology *topology_free(struct topology *topology)
{
    if (!topology)
        return NULL;
    for (size_t i = 0; i < topology->note_count; i++)
        free(topology->notes[i].text);
    free(topology);
    return NULL;
}

int topology_add(struct topology *topology, enum device_kind kind, int parent, struct mark mark,
                 struct diag_list *diag)
{
    if (topology->device_count == TOPOLOGY_DEVICES) {
        diag_add(diag, mark, NULL, "more than %d devices in one node", TOPOLOGY_DEVICES);
        return -1;
    }
    struct topology_device *device = &topology->devices[topology->device_count];
    memset(device, 0, sizeof *device);
    device->kind = kind;
    device->parent = parent;
    device->up.acs = -1;
    device->order = device->numa = device->gdr = device->relaxed = -1;
    device->memory_B = device->bar1_B = device->bar1_used_B = -1;
    device->mark = mark;
    return (int)topology->device_count++;
}

struct topology_pair *topology_pair(struct topology *topology, enum link_kind kind, int end0,
                                    int end1, struct mark mark, struct diag_list *diag)
{
    assert(end0 >= 0 && end1 >= 0 && end0 != end1);
    for (size_t i = 0; i < topology->pair_count; i++) {
        struct topology_pair *pair = &topology->pairs[i];
        if (pair->kind == kind && ((pair->end[0] == end0 && pair->end[1] == end1) ||
                                   (pair->end[0] == end1 && pair->end[1] == end0)))
            return pair;
    }
    if (topology->pair_count == TOPOLOGY_PAIRS) {
        diag_add(diag, mark, NULL, "more than %d links beside the PCIe tree", TOPOLOGY_PAIRS);
        return NULL;
    }
    struct topology_pair *pair = &topology->pairs[topology->pair_count++];
    *pair =
        (struct topology_pair){.kind = kind, .end = {(uint16_t)end0, (uint16_t)end1}, .mark = mark};
    return pair;
}

/* ---- bus ids and other texts ---------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* 1 to `most` hexadecimal digits, then `end`. */
static bool hex_field(const char **at, size_t most, char end, uint64_t *ret_value)
{
    uint64_t value = 0;
    size_t digits = 0;
    for (; digits < most && hex_digit(**at) >= 0; digits++, (*at)++)
        value = value << 4 | (uint64_t)hex_digit(**at);
    if (digits == 0 || **at != end)
        return false;
    *at += end != '\0';
    *ret_value = value;
    return true;
}

bool topology_parse_busid(const char *text, uint64_t *ret_key)
{
    uint64_t domain = 0, bus, device, function;
    const char *at = text, *first = strchr(text, ':');
    if (first && strchr(first + 1, ':') && !hex_field(&at, 8, ':', &domain))
        return false;
    if (!hex_field(&at, 2, ':', &bus) || !hex_field(&at, 2, '.', &device) ||
        !hex_field(&at, 1, '\0', &function) || device > 31 || function > 7)
        return false;
    *ret_key = domain << 16 | bus << 8 | device << 3 | function;
    return true;
}

bool topology_set_busid(struct topology_device *device, const char *text)
{
    uint64_t key;
    if (!topology_parse_busid(text, &key))
        return false;
    device->bus_key = key;
    snprintf(device->busid, sizeof device->busid, "%04x:%02x:%02x.%x",
             (unsigned)(key >> 16 & 0xFFFFFFFFu), (unsigned)(key >> 8 & 0xFFu),
             (unsigned)(key >> 3 & 31u), (unsigned)(key & 7u));
    return true;
}

void topology_clean(char *to, size_t size, const char *from)
{
    size_t length = 0;
    for (; from[length] && length + 1 < size; length++) {
        char c = from[length];
        to[length] = c >= ' ' && c <= '~' ? c : '?';
    }
    to[length] = '\0';
}

int topology_gen(const char *text)
{
    static const char *const speeds[] = {"2.5", "5", "8", "16", "32", "64", "128"};
    size_t digits = strspn(text, "0123456789.");
    if (strncmp(text + digits + strspn(text + digits, " "), "GT/s", 4) != 0)
        return 0;
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++) {
        size_t length = strlen(speeds[i]);
        if (length > digits || strncmp(text, speeds[i], length) != 0)
            continue;
        size_t rest = length;
        bool fraction = strchr(speeds[i], '.') != NULL;
        if (!fraction && text[rest] == '.') {
            fraction = true;
            rest++;
        }
        while (fraction && rest < digits && text[rest] == '0')
            rest++;
        if (rest == digits)
            return (int)i + 1;
    }
    return 0;
}

const char *topology_acs(int bits, char text[TOPOLOGY_ACS])
{
    const char *const *words = param_words(PARAM_PCIE_ACS);
    size_t used = 0;
    memcpy(text, "none", sizeof "none");
    for (size_t i = 0; words[i]; i++)
        if ((unsigned)bits >> i & 1u)
            used += (size_t)snprintf(text + used, TOPOLOGY_ACS - used, "%s%s", used ? "+" : "",
                                     words[i]);
    return text;
}

/* ---- looking up ----------------------------------------------------------------------------- */

int topology_find(const struct topology *topology, uint64_t bus_key)
{
    for (size_t i = 0; i < topology->device_count; i++)
        if (topology->devices[i].busid[0] && topology->devices[i].bus_key == bus_key)
            return (int)i;
    return -1;
}

int topology_nth(const struct topology *topology, enum device_kind kind, size_t n)
{
    for (size_t i = 0; i < topology->device_count; i++)
        if (topology->devices[i].kind == kind && n-- == 0)
            return (int)i;
    return -1;
}

size_t topology_count(const struct topology *topology, enum device_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < topology->device_count; i++)
        count += topology->devices[i].kind == kind;
    return count;
}

int topology_cpu(struct topology *topology, int numa, struct mark mark, struct diag_list *diag)
{
    for (size_t i = 0; i < topology->device_count; i++)
        if (topology->devices[i].kind == DEVICE_CPU && topology->devices[i].numa == numa)
            return (int)i;
    if (topology_count(topology, DEVICE_CPU) == TOPOLOGY_CPUS) {
        diag_add(diag, mark, NULL, "more than %d CPUs or NUMA nodes", TOPOLOGY_CPUS);
        return -1;
    }
    int cpu = topology_add(topology, DEVICE_CPU, -1, mark, diag);
    if (cpu >= 0)
        topology->devices[cpu].numa = numa;
    return cpu;
}

/* ---- notes ---------------------------------------------------------------------------------- */

void topology_note(struct topology *topology, enum topology_level level, int device,
                   struct mark mark, const char *format, ...)
{
    char text[640], clean[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    topology_clean(clean, sizeof clean, text);
    struct topology_note *note = NULL;
    for (size_t i = 0; i < topology->note_count && !note; i++)
        if (topology->notes[i].level == level && strcmp(topology->notes[i].text, clean) == 0)
            note = &topology->notes[i];
    if (!note && topology->note_count == TOPOLOGY_NOTES) {
        topology->note_lost++;
        return;
    }
    if (!note) {
        size_t size = strlen(clean) + 1;
        note = &topology->notes[topology->note_count];
        *note = (struct topology_note){.level = level, .mark = mark, .text = malloc(size)};
        if (!note->text) {
            topology->nomem = true;
            return;
        }
        memcpy(note->text, clean, size);
        topology->note_count++;
    }
    if (device >= 0)
        note->devices[device / 64] |= (uint64_t)1 << (device % 64);
}

/* ---- two files about one machine ------------------------------------------------------------ */

/* The device of `base` that `from` is, -1 if none. */
static int counterpart(const struct topology *base, const struct topology *extra, size_t from)
{
    const struct topology_device *device = &extra->devices[from];
    if (device->busid[0]) {
        int at = topology_find(base, device->bus_key);
        if (at >= 0)
            return base->devices[at].kind == device->kind ? at : -1;
    }
    if (device->kind == DEVICE_NVSWITCH)
        return topology_nth(base, DEVICE_NVSWITCH, 0);
    for (size_t i = 0; i < base->device_count; i++) {
        const struct topology_device *other = &base->devices[i];
        bool blind = !other->busid[0] || !device->busid[0];
        if (other->kind != device->kind)
            continue;
        bool only = (other->numa < 0 || device->numa < 0) &&
                    topology_count(base, DEVICE_CPU) == 1 && topology_count(extra, DEVICE_CPU) == 1;
        if (device->kind == DEVICE_CPU ? only || other->numa == device->numa
                                       : device->kind == DEVICE_NIC && blind && device->label[0] &&
                                             strcmp(other->label, device->label) == 0)
            return (int)i;
    }
    if (device->kind != DEVICE_GPU ||
        topology_count(base, DEVICE_GPU) != topology_count(extra, DEVICE_GPU))
        return -1;
    size_t place = 0;
    for (size_t i = 0; i < from; i++)
        place += extra->devices[i].kind == DEVICE_GPU;
    int at = topology_nth(base, DEVICE_GPU, place);
    return at < 0 || (base->devices[at].busid[0] && device->busid[0]) ? -1 : at;
}

#define FILL(field, unknown)                                                                       \
    do {                                                                                           \
        if (to->field == (unknown))                                                                \
            to->field = from->field;                                                               \
    } while (0)

static void fill_device(struct topology_device *to, const struct topology_device *from)
{
    FILL(up.gen, 0);
    FILL(up.width, 0);
    FILL(up.gen_max, 0);
    FILL(up.width_max, 0);
    FILL(up.mps_B, 0);
    FILL(up.acs, -1);
    FILL(gdr, -1);
    FILL(numa, -1);
    FILL(order, -1);
    FILL(sm, 0);
    FILL(relaxed, -1);
    FILL(mrrs_B, 0);
    FILL(family, 0);
    FILL(model, 0);
    if (to->memory_B < 0)
        to->memory_B = from->memory_B;
    if (to->bar1_B < 0)
        to->bar1_B = from->bar1_B;
    if (to->bar1_used_B < 0)
        to->bar1_used_B = from->bar1_used_B;
    if (!(to->rate_Bps > 0))
        to->rate_Bps = from->rate_Bps;
    if (!to->label[0])
        memcpy(to->label, from->label, sizeof to->label);
    if (!to->arch[0])
        memcpy(to->arch, from->arch, sizeof to->arch);
    if (!to->vendor[0])
        memcpy(to->vendor, from->vendor, sizeof to->vendor);
    if (!to->busid[0]) {
        memcpy(to->busid, from->busid, sizeof to->busid);
        to->bus_key = from->bus_key;
    }
}

static void fill_state(struct topology_state *to, const struct topology_state *from)
{
    FILL(peermem, -1);
    FILL(dmabuf, -1);
    FILL(gdrdrv, -1);
    FILL(nvidia_fs, -1);
    FILL(vm, -1);
    FILL(p2p_driver, -1);
    FILL(ats, -1);
    FILL(gds_filesystem, -1);
    FILL(iommu, -1);
    FILL(gdr_level, -1);
    FILL(p2p_level, -1);
}

static bool has_nvlinks(const struct topology *topology)
{
    for (size_t i = 0; i < topology->pair_count; i++)
        if (topology->pairs[i].kind == LINK_NVLINK)
            return true;
    return false;
}

void topology_merge(struct topology *base, const struct topology *extra, struct diag_list *diag)
{
    int same[TOPOLOGY_DEVICES];
    bool take_nvlinks = !has_nvlinks(base);
    for (size_t i = 0; i < extra->device_count; i++) {
        const struct topology_device *from = &extra->devices[i];
        same[i] = counterpart(base, extra, i);
        if (same[i] >= 0)
            fill_device(&base->devices[same[i]], from);
        else if (from->kind == DEVICE_NVSWITCH)
            same[i] = topology_add(base, DEVICE_NVSWITCH, -1, from->mark, diag);
        else if (from->kind != DEVICE_CPU && from->kind != DEVICE_PCIE_SWITCH)
            topology_note(
                base, TOPOLOGY_FOUND, -1, from->mark,
                "some %ss of this file have no bus id or name that the first file knows, and "
                "were left out",
                device_kind_name(from->kind));
    }
    for (size_t i = 0; i < extra->pair_count; i++) {
        const struct topology_pair *from = &extra->pairs[i];
        int end0 = same[from->end[0]], end1 = same[from->end[1]];
        if (end0 < 0 || end1 < 0 || end0 == end1 || from->kind == LINK_PCIE ||
            (from->kind == LINK_NVLINK && !take_nvlinks))
            continue;
        struct topology_pair *to = topology_pair(base, from->kind, end0, end1, from->mark, diag);
        if (!to)
            return;
        FILL(count, 0);
        if (!(to->rate_Bps > 0)) {
            to->rate_Bps = from->rate_Bps;
            to->source = from->source;
        }
    }
    fill_state(&base->state, &extra->state);
    base->silent_nvlinks = base->silent_nvlinks && extra->silent_nvlinks;
    if (take_nvlinks)
        base->maybe_nvswitch = extra->maybe_nvswitch;
    for (size_t i = 0; i < extra->note_count; i++) {
        const struct topology_note *note = &extra->notes[i];
        bool about_some = false;
        for (size_t d = 0; d < extra->device_count; d++)
            if (note->devices[d / 64] >> (d % 64) & 1) {
                about_some = true;
                if (same[d] >= 0)
                    topology_note(base, note->level, same[d], note->mark, "%s", note->text);
            }
        if (!about_some)
            topology_note(base, note->level, -1, note->mark, "%s", note->text);
    }
}
