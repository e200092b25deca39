/* doctor_checks.c: see doctor_checks.h. */
#include "probe/doctor_checks.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BRIDGES = 128 };

const char *check_name(const struct facts *facts, size_t device, char name[DEVICE_NAME])
{
    const struct pci_device *function = &facts->pci.devices[device];
    int nic = facts_nic(facts, device);
    if (nic >= 0)
        snprintf(name, DEVICE_NAME, "%s", facts->host.nics[nic].name);
    else
        snprintf(name, DEVICE_NAME, "%s%s",
                 function->kind == PCI_GPU    ? "GPU "
                 : function->kind == PCI_NVME ? "drive "
                                              : "",
                 function->busid);
    return name;
}

/* ---- a GPU alone ----------------------------------------------------------------------------- */

struct finding check_gpu(const struct facts *facts, size_t gpu)
{
    const struct pci_device *device = &facts->pci.devices[gpu];
    if (device->config.silent)
        return finding(NO, "GPU %s: %s", device->busid, device->config.why.text);
    if (strcmp(device->driver, "nvidia") != 0)
        return finding(NO, "GPU %s: %s%s", device->busid,
                       device->driver[0] ? "bound to " : "no driver is bound", device->driver);
    if (!facts->host.nvidia_driver[0])
        return finding(UNKNOWN, "%s", facts->host.nvidia_why.text);
    return finding(YES, "%s", facts->host.nvidia_driver);
}

static const struct driver_gpu *told(const struct facts *facts, size_t gpu)
{
    int at = driver_find(&facts->driver, facts->pci.devices[gpu].busid);
    return at < 0 ? NULL : &facts->driver.gpus[at];
}

struct finding check_gpu_rdma(const struct facts *facts, size_t gpu)
{
    const struct driver_gpu *driver_gpu = told(facts, gpu);
    if (!driver_gpu || driver_gpu->gdr == UNKNOWN)
        return finding(UNKNOWN, "CUDA attribute 116: %s", driver_why(&facts->driver, "cuda"));
    return finding(driver_gpu->gdr, "GPU %s: CUDA attribute 116 is %d",
                   facts->pci.devices[gpu].busid, driver_gpu->gdr);
}

struct finding check_stream_memops(const struct facts *facts, size_t gpu)
{
    const struct driver_gpu *driver_gpu = told(facts, gpu);
    if (!driver_gpu || driver_gpu->stream_memops == UNKNOWN)
        return finding(UNKNOWN, "CUDA attribute 122: %s", driver_why(&facts->driver, "cuda"));
    return finding(driver_gpu->stream_memops, "GPU %s: CUDA attribute 122 is %d",
                   facts->pci.devices[gpu].busid, driver_gpu->stream_memops);
}

/* Buffers are mapped through the window. gdsim takes 256 MiB of them where nobody says how many. */
struct finding check_bar1(const struct facts *facts, size_t gpu)
{
    static const double buffers_B = 256.0 * 1048576;
    const char *busid = facts->pci.devices[gpu].busid;
    double total_B = facts_bar1_B(facts, gpu), used_B = facts_bar1_used_B(facts, gpu);
    if (total_B < 0)
        return finding(UNKNOWN, "GPU %s: %s", busid,
                       *facts->pci.devices[gpu].bar_why.text ? facts->pci.devices[gpu].bar_why.text
                                                             : "it shows no prefetchable BAR");
    if (used_B < 0 && total_B > buffers_B)
        return finding(YES, "GPU %s: %.0f MiB, use unknown (%s)", busid, total_B / 1048576,
                       driver_why(&facts->driver, "nvml"));
    if (used_B < 0)
        return finding(UNKNOWN, "GPU %s: %.0f MiB, and it is unknown how much is in use (%s)",
                       busid, total_B / 1048576, driver_why(&facts->driver, "nvml"));
    return finding(total_B - used_B >= buffers_B, "GPU %s: %.0f of %.0f MiB are in use", busid,
                   used_B / 1048576, total_B / 1048576);
}

/* ---- software -------------------------------------------------------------------------------- */

/* Either is enough. */
struct finding check_peer_memory(const struct facts *facts)
{
    struct finding module = facts_peer_module(facts), dmabuf = facts_dmabuf(facts);
    if (module.holds == YES)
        return module;
    if (dmabuf.holds == YES)
        return finding(YES, "dma-buf: %.240s", dmabuf.sentence);
    return finding(module.holds == NO && dmabuf.holds == NO ? NO : UNKNOWN,
                   "%.110s; dma-buf: %.120s", module.sentence, dmabuf.sentence);
}

struct finding check_doorbell(const struct facts *facts)
{
    const char *params = facts->host.nvidia_params;
    if (!params)
        return finding(UNKNOWN, "%s", facts->host.nvidia_params_why.text);
    bool set = strstr(params, "PeerMappingOverride=1") != NULL;
    return finding(set, "/proc/driver/nvidia/params, RegistryDwords: PeerMappingOverride is %s",
                   set ? "1" : "not set");
}

struct finding check_settings(const struct facts *facts, bool network)
{
    static const struct {
        bool network;
        const char *name, *value;
    } rows[] = {{false, "NCCL_P2P_DISABLE", "1"}, {false, "NCCL_P2P_LEVEL", "LOC"},
                {false, "NCCL_P2P_LEVEL", "0"},   {true, "NCCL_IB_DISABLE", "1"},
                {true, "NCCL_NET", "Socket"},     {true, "NCCL_NET_GDR_LEVEL", "LOC"},
                {true, "NCCL_NET_GDR_LEVEL", "0"}};
    char value[SETTING_VALUE];
    const char *where;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].network == network &&
            settings_find(&facts->settings, rows[i].name, value, &where) &&
            strcmp(value, rows[i].value) == 0)
            return finding(NO, "%s=%s (%s)", rows[i].name, value, where);
    if (!facts->settings.environment)
        return finding(UNKNOWN, "%s", facts->settings.why.text);
    return finding(YES, "none in this environment, none in /etc/nccl.conf");
}

/* A number in the nvidia-fs statistics: the line that starts with `line`, after `key`. */
static long stats_number(const char *text, const char *line, const char *key)
{
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *found = strstr(at, key);
        if (strncmp(at, line, strlen(line)) == 0 && found && found < at + strcspn(at, "\n"))
            return strtol(found + strlen(key), NULL, 10);
    }
    return -1;
}

/* Ops are requests under way; finished ones are counted only with rw_stats_enabled. */
struct finding check_served(const struct facts *facts)
{
    const char *stats = facts->host.nvidia_fs_stats;
    if (!stats)
        return finding(UNKNOWN, "%s", facts->host.nvidia_fs_why.text);
    long reads = stats_number(stats, "Reads", "n="), writes = stats_number(stats, "Writes", "n=");
    bool counted = strstr(stats, "IO stats: Enabled") != NULL;
    if (reads > 0 || writes > 0)
        return finding(YES, "%ld reads and %ld writes since it was loaded", reads, writes);
    if (!counted || reads < 0 || writes < 0)
        return finding(UNKNOWN, "/proc/driver/nvidia-fs/stats: IO stats are not enabled");
    return finding(NO, "no read and no write since it was loaded");
}

/* ---- between two functions ------------------------------------------------------------------- */

static struct finding pair(const struct facts *facts, size_t a, size_t b, int holds,
                           const char *words)
{
    char first[DEVICE_NAME], second[DEVICE_NAME];
    return finding(holds, "%s - %s: %s", check_name(facts, a, first), check_name(facts, b, second),
                   words);
}

/* In a virtual machine, devices that hang on the root complex may do so only as the guest sees it.
 */
static bool tree_is_hidden(const struct facts *facts, size_t a, size_t b)
{
    return facts->host.vm == YES &&
           (facts->pci.devices[a].parent < 0 || facts->pci.devices[b].parent < 0);
}

struct finding check_distance(const struct facts *facts, size_t a, size_t b,
                              enum pci_distance level, const char *variable)
{
    enum pci_distance distance = pci_distance(&facts->pci, a, b);
    const char *set = NULL;
    char words[120];
    if (tree_is_hidden(facts, a, b))
        return pair(facts, a, b, UNKNOWN, "the virtual machine hides the PCIe tree");
    if (variable)
        level = facts_level(facts, variable, level, &set);
    if (!variable)
        snprintf(words, sizeof words, "%s apart", pci_distance_name(distance));
    else if (set)
        snprintf(words, sizeof words, "%s apart; %s is set to %s (%s)", pci_distance_name(distance),
                 variable, pci_distance_name(level), set);
    else
        snprintf(words, sizeof words, "%s apart; %s ends at %s unless set",
                 pci_distance_name(distance), variable, pci_distance_name(level));
    return pair(facts, a, b, distance <= level, words);
}

static bool bridge_is_known(const struct pci *pci, const char *host, bool same_bridge)
{
    static const struct {
        long device;
        bool only_below_one;
    } rows[] = {{0x3C00, true},  {0x3C01, true},  {0x2F00, true},  {0x2F01, true},
                {0x2030, false}, {0x2031, false}, {0x2032, false}, {0x2033, false},
                {0x2020, false}, {0x09A2, false}};
    for (size_t i = 0; i < pci->count; i++) {
        const struct pci_device *device = &pci->devices[i];
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
            if (device->vendor == 0x8086 && device->device == rows[r].device &&
                strcmp(device->host, host) == 0 && (same_bridge || !rows[r].only_below_one))
                return true;
    }
    return false;
}

/* Linux lets peer traffic pass the root complexes that it knows (drivers/pci/p2pdma.c): AMD from
 * Zen on, and some Intel host bridges at both ends, those before Skylake only below one and the
 * same. */
struct finding check_root_complex(const struct facts *facts, size_t a, size_t b)
{
    const struct host_cpu *cpu = &facts->host.cpu;
    const struct pci *pci = &facts->pci;
    const char *host_a = pci->devices[a].host, *host_b = pci->devices[b].host;
    bool same_bridge = strcmp(host_a, host_b) == 0;
    if (tree_is_hidden(facts, a, b))
        return pair(facts, a, b, UNKNOWN, "the virtual machine hides the PCIe tree");
    if (strcmp(cpu->vendor, "AuthenticAMD") == 0 && cpu->family >= 0x17)
        return pair(facts, a, b, YES, "through an AMD root complex from Zen on");
    if (bridge_is_known(pci, host_a, same_bridge) && bridge_is_known(pci, host_b, same_bridge))
        return pair(facts, a, b, YES, "through Intel host bridges that Linux knows");
    return pair(facts, a, b, UNKNOWN, "through a root complex that is not on Linux's list");
}

/* Only where there is a common bridge: else the way leads through the root complex anyway. */
struct finding check_acs(const struct facts *facts, size_t a, size_t b)
{
    const struct pci *pci = &facts->pci;
    int bridges[PATH_MAX_BRIDGES], unknown = -1;
    size_t count = pci_path(pci, a, b, bridges, PATH_MAX_BRIDGES);
    char bits[ACS_TEXT], words[200], first[DEVICE_NAME], second[DEVICE_NAME];
    count = count < PATH_MAX_BRIDGES ? count : PATH_MAX_BRIDGES;
    if (tree_is_hidden(facts, a, b))
        return pair(facts, a, b, UNKNOWN, "the virtual machine hides the ports");
    check_name(facts, a, first);
    check_name(facts, b, second);
    if (pci_distance(pci, a, b) > PCI_PXB)
        return pair(facts, a, b, YES, "no common switch whose ACS could redirect");
    bool translated =
        pci->devices[a].config.ats == YES || pci->devices[b].config.ats == YES; /* by the device */
    for (size_t i = 0; i < count; i++) {
        const struct pci_device *bridge = &pci->devices[bridges[i]];
        enum { DIRECT_TRANSLATED = 0x40 };
        if (bridge->config.acs < 0)
            unknown = bridges[i];
        else if (bridge->config.acs & ACS_REDIRECT &&
                 !(translated && bridge->config.acs & DIRECT_TRANSLATED))
            return finding(NO, "%s: ACS %s on the way of %s - %s", bridge->busid,
                           acs_text(bridge->config.acs, " ", bits), first, second);
    }
    if (unknown >= 0) {
        const struct pci_device *bridge = &pci->devices[unknown];
        return finding(UNKNOWN, "%s: %s", bridge->busid, bridge->config.why_extended.text);
    }
    snprintf(words, sizeof words, "%zu port%s, none redirects", count, count == 1 ? "" : "s");
    return pair(facts, a, b, YES, words);
}

struct finding check_iommu(const struct facts *facts, size_t a, size_t b)
{
    const size_t ends[] = {a, b};
    const struct host *host = &facts->host;
    struct why why = {""};
    char name[DEVICE_NAME];
    enum iommu_state worst = IOMMU_OFF;
    for (size_t i = 0; i < 2; i++) {
        const struct pci_device *device = &facts->pci.devices[ends[i]];
        enum iommu_state state = host_iommu_of(host, device, &why);
        check_name(facts, ends[i], name);
        if (state == IOMMU_TRANSLATING && device->config.ats != YES)
            return finding(NO, "%s: IOMMU group %ld is of type %s", name, device->iommu_group,
                           device->iommu_type);
        if (state == IOMMU_UNKNOWN)
            return finding(UNKNOWN, "%s: %s", name, why.text);
        worst = state > worst ? state : worst;
    }
    if (host->vm == YES)
        return finding(UNKNOWN, "a guest does not see the IOMMU of its host");
    return finding(YES, worst == IOMMU_OFF ? "no IOMMU is at work (/sys/class/iommu is empty)"
                        : worst == IOMMU_IDENTITY ? "IOMMU groups of type identity"
                                                  : "translated, and the device has ATS on");
}

/* The links from one end of the way to the other: above each end and each bridge below the one
 * where the ways meet. */
struct finding check_links(const struct facts *facts, size_t a, size_t b)
{
    const struct pci *pci = &facts->pci;
    int nodes[PATH_MAX_BRIDGES] = {(int)a, (int)b};
    size_t count = 2 + pci_path(pci, a, b, nodes + 2, PATH_MAX_BRIDGES - 2);
    struct finding unknown = {YES, ""};
    char name[DEVICE_NAME];
    count = count < PATH_MAX_BRIDGES ? count : PATH_MAX_BRIDGES;
    int common = pci_distance(pci, a, b) <= PCI_PXB ? pci_common(pci, a, b) : -1;
    for (size_t i = 0; i < count; i++) {
        const struct pci_device *device = &pci->devices[nodes[i]];
        struct pci_link link = pci_link_above(pci, (size_t)nodes[i]);
        if (nodes[i] == common || !link.outside)
            continue;
        check_name(facts, (size_t)nodes[i], name);
        bool narrow = link.width > 0 && link.width<link.max_width, slow = link.GTps> 0 &&
                      link.GTps < link.max_GTps;
        if (narrow || (slow && device->kind != PCI_GPU))
            return finding(NO, "%s: %g GT/s x%d, both ends could do %g GT/s x%d", name, link.GTps,
                           link.width, link.max_GTps, link.max_width);
        if (slow)
            unknown = finding(UNKNOWN,
                              "%s: %g of %g GT/s; a GPU that idles slows its link down: look "
                              "while it works",
                              name, link.GTps, link.max_GTps);
        else if (!(link.GTps > 0) || link.width == 0 || !(link.max_GTps > 0) || link.max_width == 0)
            unknown = finding(UNKNOWN, "%s: %s", name, device->link_why.text);
    }
    return unknown.holds == UNKNOWN ? unknown
                                    : pair(facts, a, b, YES, "each link as both ends can");
}

/* Of an encoded link, packet headers and flow control leave this much for payload by packets of
 * 256 B (pcie-bench, SIGCOMM 2018); of a port's line rate large messages reach 96 %. */
#define LINK_PAYLOAD 0.825
#define PORT_PAYLOAD 0.96

struct finding check_slot(const struct facts *facts, size_t nic)
{
    const struct pci_link link = pci_link_above(&facts->pci, nic);
    double port_Gbps = facts->host.nics[facts_rdma(facts, nic)].rate_Gbps;
    double link_Gbps = link.GTps * link.width * (link.GTps < 8 ? 8.0 / 10 : 128.0 / 130);
    char name[DEVICE_NAME];
    check_name(facts, nic, name);
    if (!(port_Gbps > 0))
        return finding(UNKNOWN, "%s: the rate of its ports is unknown", name);
    if (!link.outside || !(link_Gbps > 0))
        return finding(UNKNOWN, "%s: %s", name,
                       link.outside ? facts->pci.devices[nic].link_why.text
                                    : "no link above it is shown");
    return finding(LINK_PAYLOAD * link_Gbps < PORT_PAYLOAD * port_Gbps ? NO : YES,
                   "%s: %g GT/s x%d carry %.0f Gb/s, some %.0f of it payload; the ports %g", name,
                   link.GTps, link.width, link_Gbps, LINK_PAYLOAD * link_Gbps, port_Gbps);
}

struct finding check_relaxed_ordering(const struct facts *facts, size_t nic, size_t gpu)
{
    const struct config_space *config = &facts->pci.devices[nic].config;
    char name[DEVICE_NAME];
    check_name(facts, nic, name);
    if (pci_distance(&facts->pci, nic, gpu) <= PCI_PXB)
        return finding(YES, "%s: below one switch the order costs nothing", name);
    if (config->relaxed < 0)
        return finding(UNKNOWN, "%s: %s", name,
                       *config->why.text ? config->why.text : "it is no PCI Express device");
    return finding(config->relaxed, "%s: relaxed ordering is %s in device control", name,
                   config->relaxed ? "on" : "off");
}
