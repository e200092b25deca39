/* facts.c: see facts.h. */
#include "probe/facts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct facts *facts_read(const struct sys *sys, double timeout_s)
{
    struct facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return NULL;
    pci_read(sys, &facts->pci);
    host_read(sys, &facts->pci, &facts->host);
    driver_read(sys, timeout_s, &facts->driver);
    settings_read(sys, &facts->settings);
    return facts;
}

void facts_free(struct facts *facts)
{
    if (!facts)
        return;
    pci_free(&facts->pci);
    host_free(&facts->host);
    driver_free(&facts->driver);
    settings_free(&facts->settings);
    free(facts);
}

struct finding finding(int holds, const char *format, ...)
{
    struct finding result = {holds, ""};
    va_list args;
    va_start(args, format);
    vsnprintf(result.sentence, sizeof result.sentence, format, args);
    va_end(args);
    return result;
}

/* ---- software -------------------------------------------------------------------------------- */

struct finding facts_module(const struct facts *facts, const char *name)
{
    int loaded = host_has_module(&facts->host, name);
    if (loaded == UNKNOWN)
        return finding(UNKNOWN, "%s", facts->host.modules.why.text);
    return finding(loaded, "%s is %sloaded (%s)", name, loaded ? "" : "not ",
                   facts->host.modules.source);
}

/* Any of the files that NCCL looks for, or the module under its names of now and then. */
struct finding facts_peer_module(const struct facts *facts)
{
    static const char *const names[] = {"nvidia_peermem", "nv_peer_mem"};
    if (facts->host.modules.peer_memory[0])
        return finding(YES, "%s is there", facts->host.modules.peer_memory);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (host_has_module(&facts->host, names[i]) == YES)
            return facts_module(facts, names[i]);
    if (host_has_module(&facts->host, names[0]) == UNKNOWN)
        return facts_module(facts, names[0]);
    return finding(NO, "neither nvidia_peermem nor nv_peer_mem is loaded (%s)",
                   facts->host.modules.source);
}

/* dma-buf needs all of: the kernel (5.12, when RDMA learnt it), every GPU's driver, the verbs
 * library. */
struct finding facts_dmabuf(const struct facts *facts)
{
    enum { KERNEL_WITH_DMABUF = 512 };
    const struct driver *driver = &facts->driver;
    long kernel = host_kernel_number(&facts->host);
    if (kernel > 0 && kernel < KERNEL_WITH_DMABUF)
        return finding(NO, "kernel %.40s is older than 5.12", facts->host.kernel);
    int gpus = driver->gpu_count > 0 ? YES : UNKNOWN;
    for (size_t i = 0; i < driver->gpu_count; i++) {
        if (driver->gpus[i].dmabuf == NO)
            return finding(NO, "GPU %zu: CUDA attribute 124 (DMA_BUF_SUPPORTED) is 0", i);
        if (driver->gpus[i].dmabuf == UNKNOWN)
            gpus = UNKNOWN;
    }
    if (driver->verbs_dmabuf == NO)
        return finding(NO, "libibverbs has no ibv_reg_dmabuf_mr");
    if (kernel == 0)
        return finding(UNKNOWN, "kernel version: %s", facts->host.kernel_why.text);
    if (gpus == UNKNOWN)
        return finding(UNKNOWN, "CUDA attribute 124: %s", driver_why(driver, "cuda"));
    if (driver->verbs_dmabuf == UNKNOWN)
        return finding(UNKNOWN, "verbs library: %s", driver_why(driver, "verbs"));
    return finding(YES, "kernel %.40s, CUDA attribute 124 and libibverbs have it",
                   facts->host.kernel);
}

/* What NCCL takes as a distance: a word, or the number of old. */
enum pci_distance facts_level(const struct facts *facts, const char *variable,
                              enum pci_distance otherwise, const char **ret_set)
{
    static const struct {
        const char *word, *number;
        enum pci_distance level;
    } rows[] = {{"PIX", "1", PCI_PIX},
                {"PXB", "2", PCI_PXB},
                {"PHB", "3", PCI_PHB},
                {"NODE", "4", PCI_NODE},
                {"SYS", "5", PCI_SYS}};
    char value[SETTING_VALUE];
    *ret_set = NULL;
    if (settings_find(&facts->settings, variable, value, ret_set))
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
            if (strcmp(value, rows[i].word) == 0 || strcmp(value, rows[i].number) == 0)
                return rows[i].level;
    *ret_set = NULL;
    return otherwise;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

static const struct driver_gpu *driver_gpu(const struct facts *facts, size_t gpu)
{
    int at = driver_find(&facts->driver, facts->pci.devices[gpu].busid);
    return at < 0 ? NULL : &facts->driver.gpus[at];
}

struct finding facts_peer_access(const struct facts *facts, size_t gpu, size_t other)
{
    const struct driver *driver = &facts->driver;
    int i = driver_find(driver, facts->pci.devices[gpu].busid),
        j = driver_find(driver, facts->pci.devices[other].busid);
    if (i < 0 || j < 0)
        return finding(UNKNOWN, "%s", driver_why(driver, "gpu"));
    if (driver->p2p[i][j][0])
        return finding(strcmp(driver->p2p[i][j], "ok") == 0, "NVML, P2P status: %s",
                       driver->p2p[i][j]);
    if (driver->peer[i][j] != UNKNOWN)
        return finding(driver->peer[i][j], "cuDeviceCanAccessPeer: %d", driver->peer[i][j]);
    return finding(UNKNOWN, "%s",
                   *driver_why(driver, "p2p") ? driver_why(driver, "p2p")
                                              : driver_why(driver, "cuda"));
}

/* A link to a function that is no GPU of this machine leads to a switch. */
static bool leads_to_switch(const struct facts *facts, const char *to)
{
    int at = pci_find(&facts->pci, to);
    if (strcmp(to, "other") == 0)
        return false;
    return strcmp(to, "nvswitch") == 0 || at < 0 || facts->pci.devices[at].kind != PCI_GPU;
}

int facts_links_to(const struct facts *facts, size_t gpu, const char *busid)
{
    const struct driver_gpu *from = driver_gpu(facts, gpu);
    int count = 0;
    for (size_t i = 0; from && i < from->link_count; i++)
        if (busid ? strcmp(from->links[i].to, busid) == 0
                  : leads_to_switch(facts, from->links[i].to))
            count += from->links[i].count;
    return count;
}

struct finding facts_nvlink(const struct facts *facts, size_t gpu, size_t other)
{
    const char *busid = facts->pci.devices[other].busid;
    int direct = facts_links_to(facts, gpu, busid), up = facts_links_to(facts, gpu, NULL),
        down = facts_links_to(facts, other, NULL);
    if (direct > 0)
        return finding(YES, "%d NVLinks", direct);
    if (up > 0 && down > 0)
        return finding(YES, "%d NVLinks to switches", up < down ? up : down);
    if (!facts->driver.nvlinks_known)
        return finding(UNKNOWN, "%s", driver_why(&facts->driver, "nvlink"));
    return finding(NO, "no NVLink between them");
}

double facts_bar1_B(const struct facts *facts, size_t gpu)
{
    const struct driver_gpu *told = driver_gpu(facts, gpu);
    const struct pci_device *device = &facts->pci.devices[gpu];
    if (told && told->bar1_B >= 0)
        return told->bar1_B;
    return device->window >= 0 ? (double)device->bar_B[device->window] : -1;
}

double facts_bar1_used_B(const struct facts *facts, size_t gpu)
{
    const struct driver_gpu *told = driver_gpu(facts, gpu);
    return told ? told->bar1_used_B : -1;
}

/* ---- the rest -------------------------------------------------------------------------------- */

enum iommu_state facts_iommu(const struct facts *facts, struct why *ret_why)
{
    enum iommu_state worst = IOMMU_OFF;
    bool unknown = false;
    size_t seen = 0;
    for (size_t i = 0; i < facts->pci.count; i++) {
        const struct pci_device *device = &facts->pci.devices[i];
        if (device->kind != PCI_GPU && (facts_rdma(facts, i) < 0 || facts_unused_nic(facts, i)))
            continue;
        enum iommu_state state = host_iommu_of(&facts->host, device, ret_why);
        seen++;
        unknown = unknown || state == IOMMU_UNKNOWN;
        worst = state > worst ? state : worst;
    }
    if (worst == IOMMU_TRANSLATING)
        return worst;
    if (seen == 0)
        why_set(ret_why, "there is no GPU or RDMA NIC whose IOMMU group tells");
    if (unknown || seen == 0)
        return IOMMU_UNKNOWN;
    if (facts->host.vm == YES && worst == IOMMU_OFF) {
        why_set(ret_why, "a guest does not see the IOMMU of its host");
        return IOMMU_UNKNOWN;
    }
    return worst;
}

const char *iommu_name(enum iommu_state state)
{
    static const char *const names[] = {"unknown", "off", "identity", "translating"};
    return names[state + 1];
}

int facts_nic(const struct facts *facts, size_t device)
{
    for (size_t i = 0; i < facts->host.nic_count; i++)
        if (facts->host.nics[i].device == (int)device)
            return (int)i;
    return -1;
}

/* All of them, or one that is not, or else one that is unknown. */
static void join(struct finding *all, struct finding one)
{
    if (one.holds == NO || (one.holds == UNKNOWN && all->holds != NO) ||
        (all->holds == UNKNOWN && !all->sentence[0]))
        *all = one;
}

struct finding facts_p2p_driver(const struct facts *facts)
{
    const struct pci *pci = &facts->pci;
    struct finding all = {UNKNOWN, ""};
    for (size_t i = 0; i < pci->count; i++)
        for (size_t j = i + 1; j < pci->count; j++)
            if (pci->devices[i].kind == PCI_GPU && pci->devices[j].kind == PCI_GPU &&
                facts_nvlink(facts, i, j).holds != YES)
                join(&all, facts_peer_access(facts, i, j));
    if (!all.sentence[0])
        return finding(UNKNOWN, "there is no pair of GPUs without NVLink");
    return all;
}

struct finding facts_ats(const struct facts *facts)
{
    struct finding all = {UNKNOWN, ""};
    for (size_t i = 0; i < facts->host.nic_count; i++) {
        const struct host_nic *nic = &facts->host.nics[i];
        if (!nic->rdma || nic->device < 0)
            continue;
        const struct config_space *config = &facts->pci.devices[nic->device].config;
        join(&all, config->ats == UNKNOWN
                       ? finding(UNKNOWN, "%s: %s", nic->name, config->why_extended.text)
                       : finding(config->ats, "%s: ATS is %s", nic->name,
                                 config->ats ? "on" : "off, or it has none"));
    }
    if (!all.sentence[0])
        return finding(UNKNOWN, "there is no RDMA NIC on the PCI bus");
    return all;
}

/* One supported mount is enough; without one, those that may be. */
struct finding facts_gds_mount(const struct facts *facts)
{
    const struct host *host = &facts->host;
    static const int order[] = {YES, UNKNOWN, NO};
    if (*host->mounts_why.text)
        return finding(UNKNOWN, "%s", host->mounts_why.text);
    for (size_t o = 0; o < 3; o++)
        for (size_t i = 0; i < host->mount_count; i++)
            if (host->mounts[i].supported == order[o])
                return finding(order[o], "%s: %s", host->mounts[i].path, host->mounts[i].sentence);
    return finding(NO, "nothing is mounted but memory and kernel file systems");
}

bool facts_is_endpoint(const struct pci_device *device)
{
    return !device->is_virtual && (device->kind == PCI_GPU || device->kind == PCI_NIC ||
                                   device->kind == PCI_NVME || device->kind == PCI_NVSWITCH);
}

int facts_rdma(const struct facts *facts, size_t device)
{
    int nic = facts_nic(facts, device);
    return nic >= 0 && facts->host.nics[nic].rdma ? nic : -1;
}

/* A port whose state is unknown may be active. */
static bool is_ready(const struct facts *facts, size_t device)
{
    int nic = facts_rdma(facts, device);
    return nic >= 0 && facts->host.nics[nic].active != NO &&
           facts_is_endpoint(&facts->pci.devices[device]);
}

const char *facts_unused_nic(const struct facts *facts, size_t device)
{
    if (is_ready(facts, device))
        return NULL;
    for (size_t i = 0; i < facts->pci.count; i++)
        if (is_ready(facts, i))
            return facts_rdma(facts, device) < 0 ? "no RDMA device, and others are"
                                                 : "no port is active, and others have one";
    return NULL;
}

bool *facts_chains(const struct facts *facts, bool only_used)
{
    const struct pci *pci = &facts->pci;
    bool *chains = calloc(pci->count ? pci->count : 1, sizeof *chains);
    for (size_t i = 0; chains && i < pci->count; i++)
        if (facts_is_endpoint(&pci->devices[i]) &&
            !(only_used && pci->devices[i].kind == PCI_NIC && facts_unused_nic(facts, i)))
            for (int up = (int)i; up >= 0 && !chains[up]; up = pci->devices[up].parent)
                chains[up] = true;
    return chains;
}
