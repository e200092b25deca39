/* pci.c: see pci.h. */
#include "probe/pci.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "/sys/bus/pci/devices"
enum { DEPTH_MAX = 64 };

static void file_of(const struct pci_device *device, const char *name, char path[SYS_PATH])
{
    snprintf(path, SYS_PATH, DEVICES "/%s/%s", device->busid, name);
}

bool pci_busid(const char *text, char ret_busid[PCI_BUSID])
{
    unsigned domain = 0, bus, slot, function;
    int used = 0;
    if (strlen(text) >= PCI_BUSID)
        return false;
    for (const char *at = text; *at; at++)
        if (!isxdigit((unsigned char)*at) && *at != ':' && *at != '.')
            return false;
    if (sscanf(text, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &used) != 4 ||
        text[used]) {
        domain = 0;
        used = 0;
        if (sscanf(text, "%2x:%2x.%1x%n", &bus, &slot, &function, &used) != 3 || text[used])
            return false;
    }
    if (slot > 31 || function > 7)
        return false;
    snprintf(ret_busid, PCI_BUSID, "%04x:%02x:%02x.%x", domain, bus, slot, function);
    return true;
}

static enum pci_kind kind_of(const struct pci_device *device)
{
    enum { NVIDIA = 0x10DE };
    if (device->class_code < 0)
        return PCI_OTHER;
    switch (device->class_code >> 8) {
    case 0x0604:
        return PCI_BRIDGE;
    case 0x0108:
        return PCI_NVME;
    case 0x0680:
        return device->vendor == NVIDIA ? PCI_NVSWITCH : PCI_OTHER;
    default:
        break;
    }
    if (device->class_code >> 16 == 0x02)
        return PCI_NIC;
    return device->class_code >> 16 == 0x03 && device->vendor == NVIDIA ? PCI_GPU : PCI_OTHER;
}

/* ---- one function ---------------------------------------------------------------------------- */

static long number(const struct sys *sys, const struct pci_device *device, const char *name,
                   long unknown, struct why *why)
{
    char path[SYS_PATH];
    long long value;
    file_of(device, name, path);
    return sys_number(sys, path, &value, why) && value >= 0 && value <= 0xFFFFFFFFL ? (long)value
                                                                                    : unknown;
}

static void read_speed(const struct sys *sys, struct pci_device *device, const char *name,
                       char speed[24])
{
    char path[SYS_PATH], line[64];
    file_of(device, name, path);
    if (!sys_line(sys, path, line, sizeof line, &device->link_why))
        return;
    if (pci_speed_GTps(line) > 0)
        snprintf(speed, 24, "%.23s", line);
    else
        why_set(&device->link_why, "%s says \"%.24s\"", name, line);
}

/* Linux writes 0 or 255 lanes where it does not know. */
static int read_width(const struct sys *sys, struct pci_device *device, const char *name)
{
    struct why why = {""};
    long width = number(sys, device, name, -1, &why);
    if (width > 0 && width <= 32)
        return (int)width;
    if (width < 0)
        device->link_why = why;
    else
        why_set(&device->link_why, "%s says %ld: the port above is hidden, as in a virtual machine",
                name, width);
    return 0;
}

static void read_bars(const struct sys *sys, struct pci_device *device)
{
    enum { IS_MEMORY = 0x200, PREFETCHABLE = 0x2000 };
    char path[SYS_PATH];
    file_of(device, "resource", path);
    char *text = sys_text(sys, path, &device->bar_why), *at = text;
    device->window = -1;
    for (int i = 0; text && i < PCI_BARS; i++) {
        char *end;
        unsigned long long start = strtoull(at, &end, 16), last = strtoull(end, &end, 16),
                           flags = strtoull(end, &end, 16);
        if (end == at || last < start)
            break;
        if (last - start >= PCI_MAX_BAR_B) {
            why_set(&device->bar_why, "%s says that BAR %d is larger than 1 PB", path, i);
            break;
        }
        device->bar_B[i] = last == 0 ? 0 : last - start + 1;
        if (flags & IS_MEMORY && flags & PREFETCHABLE && device->bar_B[i] > 0 &&
            (device->window < 0 || device->bar_B[i] > device->bar_B[device->window]))
            device->window = i;
        at = end;
    }
    free(text);
}

/* What the last name of a link is: the driver, or the number of the IOMMU group. Where it leads
 * need not be in a captured tree. */
static bool link_name(const struct sys *sys, const struct pci_device *device, const char *name,
                      char *buffer, size_t size)
{
    char path[SYS_PATH], real[SYS_PATH];
    file_of(device, name, path);
    if (!sys_real(sys, path, real, NULL) || strcmp(strrchr(real, '/') + 1, name) == 0)
        return false;
    snprintf(buffer, size, "%s", strrchr(real, '/') + 1);
    return true;
}

static void read_config(const struct sys *sys, struct pci_device *device)
{
    char path[SYS_PATH];
    uint8_t bytes[CONFIG_BYTES];
    struct why why = {""};
    file_of(device, "config", path);
    long length = sys_bytes(sys, path, bytes, sizeof bytes, &why);
    config_space_parse(bytes, length < 0 ? 0 : (size_t)length, &device->config);
    if (length < 0)
        device->config.why = device->config.why_extended = why;
}

/* NVIDIA's driver tells everybody the model: "Model: \t\t NVIDIA H200". */
static void read_label(const struct sys *sys, struct pci_device *device)
{
    char path[SYS_PATH];
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/%s/information", device->busid);
    char *text = sys_text(sys, path, NULL), *model = text ? strstr(text, "Model:") : NULL;
    if (model) {
        model += strlen("Model:");
        model += strspn(model, " \t");
        snprintf(device->label, sizeof device->label, "%.*s", (int)strcspn(model, "\n"), model);
    }
    free(text);
}

static void read_function(const struct sys *sys, struct pci_device *device)
{
    char text[SYS_PATH], *end;
    device->class_code = number(sys, device, "class", -1, NULL);
    device->vendor = number(sys, device, "vendor", -1, NULL);
    device->device = number(sys, device, "device", -1, NULL);
    device->kind = kind_of(device);
    device->numa = (int)number(sys, device, "numa_node", -1, NULL);
    read_speed(sys, device, "current_link_speed", device->speed);
    read_speed(sys, device, "max_link_speed", device->max_speed);
    device->width = read_width(sys, device, "current_link_width");
    device->max_width = read_width(sys, device, "max_link_width");
    read_bars(sys, device);
    read_config(sys, device);
    link_name(sys, device, "driver", device->driver, sizeof device->driver);
    device->is_virtual = link_name(sys, device, "physfn", text, sizeof text);
    device->iommu_group = -1;
    if (link_name(sys, device, "iommu_group", text, sizeof text)) {
        long group = strtol(text, &end, 10);
        device->iommu_group = end != text && !*end ? group : -1;
    }
    if (device->iommu_group >= 0) { /* kernels before 5.11 do not tell the type */
        snprintf(text, sizeof text, "/sys/kernel/iommu_groups/%ld/type", device->iommu_group);
        sys_line(sys, text, device->iommu_type, sizeof device->iommu_type, &device->iommu_why);
    }
    if (device->kind == PCI_GPU)
        read_label(sys, device);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* /sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0: the host bridge, and the function above. */
static void read_place(const struct sys *sys, struct pci *pci, size_t at)
{
    struct pci_device *device = &pci->devices[at];
    char path[SYS_PATH], real[SYS_PATH], above[PCI_BUSID] = "", busid[PCI_BUSID];
    snprintf(path, sizeof path, DEVICES "/%s", device->busid);
    device->parent = -1;
    if (!sys_real(sys, path, real, &pci->why))
        return;
    for (char *save = NULL, *name = strtok_r(real, "/", &save); name;
         name = strtok_r(NULL, "/", &save)) {
        if (strncmp(name, "pci", 3) == 0)
            snprintf(device->host, sizeof device->host, "%.23s", name);
        else if (pci_busid(name, busid) && strcmp(busid, device->busid) != 0)
            strcpy(above, busid);
    }
    int parent = above[0] ? pci_find(pci, above) : -1;
    if (parent >= 0 && pci->devices[parent].kind == PCI_BRIDGE)
        device->parent = parent;
}

/* Links of a captured tree may say anything: cut chains that go round in a circle. */
static void cut_circles(struct pci *pci)
{
    for (size_t i = 0; i < pci->count; i++) {
        int steps = 0;
        for (int at = (int)i; at >= 0; at = pci->devices[at].parent)
            if (++steps > DEPTH_MAX) {
                pci->devices[i].parent = -1;
                why_set(&pci->why, "%s: the bridges above it go round in a circle",
                        pci->devices[i].busid);
                break;
            }
    }
}

void pci_read(const struct sys *sys, struct pci *ret_pci)
{
    struct sys_list list;
    *ret_pci = (struct pci){0};
    if (!sys_list(sys, DEVICES, &list, &ret_pci->why))
        return;
    size_t count = list.count < PCI_DEVICES_MAX ? list.count : PCI_DEVICES_MAX;
    ret_pci->devices = calloc(count ? count : 1, sizeof *ret_pci->devices);
    if (!ret_pci->devices) {
        why_set(&ret_pci->why, "out of memory");
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct pci_device *device = &ret_pci->devices[ret_pci->count];
        if (pci_busid(list.names[i], device->busid) && strcmp(device->busid, list.names[i]) == 0)
            read_function(sys, &ret_pci->devices[ret_pci->count++]);
        else
            memset(device, 0, sizeof *device);
    }
    sys_list_free(&list);
    for (size_t i = 0; i < ret_pci->count; i++)
        read_place(sys, ret_pci, i);
    cut_circles(ret_pci);
}

void pci_free(struct pci *pci)
{
    free(pci->devices);
    *pci = (struct pci){0};
}

int pci_find(const struct pci *pci, const char *busid)
{
    for (size_t i = 0; i < pci->count; i++)
        if (strcmp(pci->devices[i].busid, busid) == 0)
            return (int)i;
    return -1;
}

double pci_speed_GTps(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end != text && strncmp(end + strspn(end, " "), "GT/s", 4) == 0 && value > 0 &&
                   value < 1000
               ? value
               : 0;
}

/* ---- links, distances ------------------------------------------------------------------------ */

static double lower(double a, double b)
{
    return !(a > 0) || (b > 0 && b < a) ? b : a;
}

enum port_kind pci_port(const struct pci *pci, size_t bridge)
{
    const struct pci_device *device = &pci->devices[bridge];
    if (device->config.port != PORT_UNKNOWN)
        return device->config.port;
    if (device->parent < 0)
        return PORT_ROOT;
    return pci_port(pci, (size_t)device->parent) == PORT_UP ? PORT_DOWN : PORT_UP;
}

struct pci_link pci_link_above(const struct pci *pci, size_t at)
{
    const struct pci_device *device = &pci->devices[at];
    struct pci_link link = {.GTps = pci_speed_GTps(device->speed),
                            .max_GTps = pci_speed_GTps(device->max_speed),
                            .width = device->width,
                            .max_width = device->max_width,
                            .outside = device->kind != PCI_BRIDGE};
    if (device->parent < 0 || pci_port(pci, (size_t)device->parent) == PORT_UP)
        return link;
    const struct pci_device *port = &pci->devices[device->parent];
    link.outside = true;
    link.GTps = link.GTps > 0 ? link.GTps : pci_speed_GTps(port->speed);
    link.width = link.width ? link.width : port->width;
    link.max_GTps = lower(link.max_GTps, pci_speed_GTps(port->max_speed));
    link.max_width = (int)lower(link.max_width, port->max_width);
    return link;
}

/* The functions above `at`, itself first. */
static size_t chain(const struct pci *pci, size_t at, int ret_chain[DEPTH_MAX])
{
    size_t count = 0;
    for (int up = (int)at; up >= 0 && count < DEPTH_MAX; up = pci->devices[up].parent)
        ret_chain[count++] = up;
    return count;
}

/* How many of the two chains, from their tops, are the same. */
static size_t common(const int *a, size_t a_count, const int *b, size_t b_count)
{
    size_t same = 0;
    while (same < a_count && same < b_count && a[a_count - 1 - same] == b[b_count - 1 - same])
        same++;
    return same;
}

static int numa_of(const struct pci *pci, size_t at)
{
    for (int up = (int)at; up >= 0; up = pci->devices[up].parent)
        if (pci->devices[up].numa >= 0)
            return pci->devices[up].numa;
    return -1;
}

/* Switches, not ports: a pair below one switch has its down ports and one up port between. Two
 * functions right below one root port (no switch) share that port: PIX as well. */
enum pci_distance pci_distance(const struct pci *pci, size_t a, size_t b)
{
    int up_a[DEPTH_MAX], up_b[DEPTH_MAX];
    size_t count_a = chain(pci, a, up_a), count_b = chain(pci, b, up_b);
    size_t same = common(up_a, count_a, up_b, count_b);
    if (same > 0 && (count_a == same || count_b == same))
        return PCI_PIX; /* one and the same */
    if (same > 0)
        return count_a - same <= 2 && count_b - same <= 2 ? PCI_PIX : PCI_PXB;
    if (strcmp(pci->devices[a].host, pci->devices[b].host) == 0)
        return PCI_PHB;
    return numa_of(pci, a) == numa_of(pci, b) ? PCI_NODE : PCI_SYS;
}

const char *pci_distance_name(enum pci_distance distance)
{
    static const char *const names[] = {"PIX", "PXB", "PHB", "NODE", "SYS"};
    return names[distance];
}

int pci_common(const struct pci *pci, size_t a, size_t b)
{
    int up_a[DEPTH_MAX], up_b[DEPTH_MAX];
    size_t count_a = chain(pci, a, up_a), same = common(up_a, count_a, up_b, chain(pci, b, up_b));
    return same > 0 ? up_a[count_a - same] : -1;
}

size_t pci_path(const struct pci *pci, size_t a, size_t b, int *ret_bridges, size_t room)
{
    int up_a[DEPTH_MAX], up_b[DEPTH_MAX];
    size_t count_a = chain(pci, a, up_a), count_b = chain(pci, b, up_b), count = 0;
    size_t same = common(up_a, count_a, up_b, count_b);
    /* From a up to where the ways meet, that included; then what is below it on the side of b. */
    for (size_t i = 1; i < count_a - same + (same > 0) && i < count_a; i++, count++)
        if (count < room)
            ret_bridges[count] = up_a[i];
    for (size_t i = 1; i < count_b - same && i < count_b; i++, count++)
        if (count < room)
            ret_bridges[count] = up_b[i];
    return count;
}
