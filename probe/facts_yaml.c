/* facts_yaml.c: the facts as sim/load/import_facts.c and scenarios/IMPORT.md define them. Functions
 * that no transfer passes are left out: it is GPUs, NICs, drives, NVSwitches and the bridges above
 * them. What is unknown is written as such, with the reason as a comment. */
#include "probe/facts.h"

#include <stdlib.h>
#include <string.h>

struct yaml {
    const struct facts *facts;
    FILE *to;
    const char *prefix;
};

/* A text in double quotes, whatever it holds. */
static void quote(const struct yaml *yaml, const char *text)
{
    fputc('"', yaml->to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(yaml->to, "\\%c", c);
        else
            fputc(c >= ' ' && c <= '~' ? c : '?', yaml->to);
    }
    fputc('"', yaml->to);
}

/* A reason after "# ", and the end of the line. */
static void reason(const struct yaml *yaml, const char *text)
{
    if (*text) {
        fputs("  # ", yaml->to);
        for (; *text; text++)
            fputc(*text >= ' ' && *text <= '~' ? *text : '?', yaml->to);
    }
    fputc('\n', yaml->to);
}

static const char *yes_no(int value)
{
    return value == YES ? "yes" : value == NO ? "no" : "unknown";
}

static void write_bytes(const struct yaml *yaml, const char *key, double bytes)
{
    if (bytes < 0)
        fprintf(yaml->to, ", %s: unknown", key);
    else if (bytes >= 1048576 && bytes / 1048576 == (double)(long long)(bytes / 1048576))
        fprintf(yaml->to, ", %s: %.0f MiB", key, bytes / 1048576);
    else
        fprintf(yaml->to, ", %s: %.0f B", key, bytes);
}

/* ---- host ------------------------------------------------------------------------------------ */

static void write_modules(const struct yaml *yaml)
{
    /* Of some hundred, those that GPUDirect has to do with. */
    static const char *const names[] = {"nvidia",    "nvidia_uvm", "nvidia_peermem", "nv_peer_mem",
                                        "nvidia_fs", "gdrdrv",     "mlx5_core",      "mlx5_ib",
                                        "ib_core",   "ib_uverbs",  "bnxt_re",        "irdma",
                                        "efa",       "nvme",       "nvme_rdma"};
    const struct host *host = &yaml->facts->host;
    struct finding peer = facts_peer_module(yaml->facts);
    const char *between = "";
    if (!host->modules.text) {
        fprintf(yaml->to, "%smodules: unknown", yaml->prefix);
        reason(yaml, host->modules.why.text);
        return;
    }
    fprintf(yaml->to, "%smodules: [", yaml->prefix);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (host_has_module(host, names[i]) == YES) {
            fprintf(yaml->to, "%s%s", between, names[i]);
            between = ", ";
        }
    /* Built in, or under a name that is not listed: its file in sysfs shows it. */
    if (peer.holds == YES && host_has_module(host, "nvidia_peermem") == NO &&
        host_has_module(host, "nv_peer_mem") == NO)
        fprintf(yaml->to, "%snvidia_peermem", between);
    fputs("]", yaml->to);
    reason(yaml, peer.holds == YES ? peer.sentence : "");
}

static void write_finding(const struct yaml *yaml, const char *key, struct finding finding)
{
    fprintf(yaml->to, "%s%s: %s", yaml->prefix, key, yes_no(finding.holds));
    reason(yaml, finding.sentence);
}

/* In gdsim's words, which have one for both ways through the CPU of a socket. */
static void write_level(const struct yaml *yaml, const char *key, const char *variable)
{
    static const char *const rows[][3] = {{"LOC", "0", "loc"},  {"PIX", "1", "pix"},
                                          {"PXB", "2", "pxb"},  {"PHB", "3", "phb"},
                                          {"NODE", "4", "phb"}, {"SYS", "5", "sys"}};
    char value[SETTING_VALUE];
    const char *where;
    if (!settings_find(&yaml->facts->settings, variable, value, &where))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strcmp(value, rows[i][0]) == 0 || strcmp(value, rows[i][1]) == 0)
            fprintf(yaml->to, "%s%s: %s  # %s=%s (%s)\n", yaml->prefix, key, rows[i][2], variable,
                    value, where);
}

static void write_host(const struct yaml *yaml)
{
    const struct host *host = &yaml->facts->host;
    const struct host_cpu *cpu = &host->cpu;
    struct why why = {""};
    if (cpu->arch[0]) {
        fprintf(yaml->to, "%scpu: {arch: %s, vendor: ", yaml->prefix, cpu->arch);
        quote(yaml, cpu->vendor);
        if (cpu->family >= 0 && cpu->family <= 65535)
            fprintf(yaml->to, ", family: %ld", cpu->family);
        if (cpu->model >= 0 && cpu->model <= 65535)
            fprintf(yaml->to, ", model: %ld", cpu->model);
        fputs("}", yaml->to);
        reason(yaml, cpu->name);
    } else {
        fprintf(yaml->to, "%scpu: {}", yaml->prefix);
        reason(yaml, cpu->why.text);
    }
    fprintf(yaml->to, "%svm: %s", yaml->prefix, yes_no(host->vm));
    reason(yaml, host->vm_evidence);
    enum iommu_state iommu = facts_iommu(yaml->facts, &why);
    fprintf(yaml->to, "%siommu: %s", yaml->prefix, iommu_name(iommu));
    reason(yaml, iommu == IOMMU_UNKNOWN ? why.text : "");
    write_modules(yaml);
    write_finding(yaml, "dmabuf", facts_dmabuf(yaml->facts));
    write_finding(yaml, "p2p_driver", facts_p2p_driver(yaml->facts));
    write_finding(yaml, "ats", facts_ats(yaml->facts));
    write_finding(yaml, "gds_filesystem", facts_gds_mount(yaml->facts));
    write_level(yaml, "gdr_level", "NCCL_NET_GDR_LEVEL");
    write_level(yaml, "p2p_level", "NCCL_P2P_LEVEL");
}

/* ---- pci ------------------------------------------------------------------------------------- */

/* Linux writes "16.0 GT/s PCIe". */
static void write_speed(const struct yaml *yaml, const char *key, const char *speed)
{
    static const char plain[] = "0123456789./GTsPCIe ";
    if (!speed[0])
        return;
    fprintf(yaml->to, ", %s: ", key);
    if (speed[strspn(speed, plain)])
        quote(yaml, speed);
    else
        fputs(speed, yaml->to);
}

static void write_link(const struct yaml *yaml, const struct pci_device *device)
{
    write_speed(yaml, "speed", device->speed);
    if (device->width)
        fprintf(yaml->to, ", width: %d", device->width);
    write_speed(yaml, "max_speed", device->max_speed);
    if (device->max_width)
        fprintf(yaml->to, ", max_width: %d", device->max_width);
}

/* ACS bits count at ports; for others they would say nothing. */
static void write_config(const struct yaml *yaml, const struct pci_device *device)
{
    static const char *const ports[] = {
        [PORT_ROOT] = "root", [PORT_UP] = "up", [PORT_DOWN] = "down"};
    const struct config_space *config = &device->config;
    char bits[ACS_TEXT];
    if (config->mps_B > 0 && config->mps_B <= 4096)
        fprintf(yaml->to, ", mps: %d B", config->mps_B);
    if (config->mrrs_B > 0 && config->mrrs_B <= 4096)
        fprintf(yaml->to, ", mrrs: %d B", config->mrrs_B);
    if (device->kind == PCI_NIC && config->relaxed >= 0)
        fprintf(yaml->to, ", relaxed_ordering: %s", yes_no(config->relaxed));
    if (device->kind != PCI_BRIDGE)
        return;
    if (config->port >= PORT_ROOT && config->port <= PORT_DOWN)
        fprintf(yaml->to, ", port: %s", ports[config->port]);
    if (config->acs < 0)
        fputs(", acs: unknown", yaml->to);
    else
        fprintf(yaml->to, ", acs: [%s]", config->acs ? acs_text(config->acs, ", ", bits) : "");
}

static void write_pci(const struct yaml *yaml)
{
    const struct pci *pci = &yaml->facts->pci;
    bool *wanted = facts_chains(yaml->facts, true);
    size_t written = 0;
    for (size_t i = 0; wanted && i < pci->count; i++) {
        const struct pci_device *device = &pci->devices[i];
        if (!wanted[i])
            continue;
        if (written++ == 0)
            fprintf(yaml->to, "%spci:\n", yaml->prefix);
        fprintf(yaml->to, "%s  - {busid: \"%s\", class: 0x%06lx", yaml->prefix, device->busid,
                (unsigned long)device->class_code & 0xFFFFFFul);
        if (device->vendor >= 0 && device->device >= 0)
            fprintf(yaml->to, ", vendor: \"0x%04lx\", device: \"0x%04lx\"",
                    (unsigned long)device->vendor, (unsigned long)device->device);
        if (device->parent >= 0)
            fprintf(yaml->to, ", parent: \"%s\"", pci->devices[device->parent].busid);
        else
            fputs(", parent: root", yaml->to);
        write_link(yaml, device);
        write_config(yaml, device);
        if (device->numa >= 0 && device->numa <= 4095)
            fprintf(yaml->to, ", numa: %d", device->numa);
        fputs("}", yaml->to);
        reason(yaml, device->config.acs < 0 && device->kind == PCI_BRIDGE
                         ? device->config.why_extended.text
                         : device->config.why.text);
    }
    free(wanted);
    if (written == 0) {
        fprintf(yaml->to, "%spci: []", yaml->prefix);
        reason(yaml, *pci->why.text ? pci->why.text : "no GPU, NIC or drive");
    }
}

/* ---- devices --------------------------------------------------------------------------------- */

static void write_gpu(const struct yaml *yaml, size_t at)
{
    const struct facts *facts = yaml->facts;
    const struct pci_device *device = &facts->pci.devices[at];
    int index = driver_find(&facts->driver, device->busid);
    const struct driver_gpu *told = index < 0 ? NULL : &facts->driver.gpus[index];
    fprintf(yaml->to, "%s  - {busid: \"%s\"", yaml->prefix, device->busid);
    if (told)
        fprintf(yaml->to, ", index: %d", index);
    if ((told && told->name[0]) || device->label[0]) {
        fputs(", name: ", yaml->to);
        quote(yaml, told && told->name[0] ? told->name : device->label);
    }
    if (told && told->sm > 0)
        fprintf(yaml->to, ", sm: %d", told->sm);
    if (told && told->memory_B > 0)
        write_bytes(yaml, "memory", told->memory_B);
    write_bytes(yaml, "bar1", facts_bar1_B(facts, at));
    write_bytes(yaml, "bar1_used", facts_bar1_used_B(facts, at));
    fprintf(yaml->to, ", gdr: %s}", yes_no(told ? told->gdr : UNKNOWN));
    reason(yaml, told ? "" : driver_why(&facts->driver, "gpu"));
}

static void write_gpus(const struct yaml *yaml)
{
    size_t written = 0;
    for (size_t i = 0; i < yaml->facts->pci.count; i++) {
        if (yaml->facts->pci.devices[i].kind != PCI_GPU)
            continue;
        if (written++ == 0)
            fprintf(yaml->to, "%sgpus:\n", yaml->prefix);
        write_gpu(yaml, i);
    }
    if (written == 0)
        fprintf(yaml->to, "%sgpus: []\n", yaml->prefix);
}

/* Each pair once, and each GPU's links to switches together. */
static size_t write_gpu_links(const struct yaml *yaml, size_t gpu, size_t written)
{
    const struct pci *pci = &yaml->facts->pci;
    int to_switch = facts_links_to(yaml->facts, gpu, NULL);
    if (to_switch > 0)
        fprintf(yaml->to, "%s%s  - {gpu: \"%s\", to: nvswitch, count: %d}\n",
                written++ ? "" : "nvlinks:\n", yaml->prefix, pci->devices[gpu].busid, to_switch);
    for (size_t j = gpu + 1; j < pci->count; j++) {
        int count = pci->devices[j].kind == PCI_GPU
                        ? facts_links_to(yaml->facts, gpu, pci->devices[j].busid)
                        : 0;
        if (count > 0)
            fprintf(yaml->to, "%s%s  - {gpu: \"%s\", to: \"%s\", count: %d}\n",
                    written++ ? "" : "nvlinks:\n", yaml->prefix, pci->devices[gpu].busid,
                    pci->devices[j].busid, count);
    }
    return written;
}

static void write_nvlinks(const struct yaml *yaml)
{
    const struct driver *driver = &yaml->facts->driver;
    size_t written = 0;
    if (!driver->nvlinks_known) {
        fprintf(yaml->to, "%snvlinks: unknown", yaml->prefix);
        reason(yaml, driver_why(driver, "nvlink"));
        return;
    }
    fputs(yaml->prefix, yaml->to);
    for (size_t i = 0; i < yaml->facts->pci.count; i++)
        if (yaml->facts->pci.devices[i].kind == PCI_GPU)
            written = write_gpu_links(yaml, i, written);
    if (written == 0)
        fputs("nvlinks: []\n", yaml->to);
}

static void write_nics(const struct yaml *yaml)
{
    const struct host *host = &yaml->facts->host;
    size_t written = 0;
    for (size_t i = 0; i < host->nic_count; i++) {
        const struct host_nic *nic = &host->nics[i];
        const char *unused =
            nic->device < 0 ? NULL : facts_unused_nic(yaml->facts, (size_t)nic->device);
        if (unused) {
            fprintf(yaml->to, "%s# left out: %s at %s: %s\n", yaml->prefix, nic->name,
                    yaml->facts->pci.devices[nic->device].busid, unused);
            continue;
        }
        if (nic->device < 0 || !facts_is_endpoint(&yaml->facts->pci.devices[nic->device]) ||
            yaml->facts->pci.devices[nic->device].kind != PCI_NIC)
            continue;
        if (written++ == 0)
            fprintf(yaml->to, "%snics:\n", yaml->prefix);
        fprintf(yaml->to, "%s  - {busid: \"%s\", name: ", yaml->prefix,
                yaml->facts->pci.devices[nic->device].busid);
        quote(yaml, nic->name);
        if (nic->rate_Gbps > 0)
            fprintf(yaml->to, ", rate: %.10g Gb/s", nic->rate_Gbps);
        else
            fputs(", rate: unknown", yaml->to);
        fputs(nic->rdma ? "}" : ", gdr: no}", yaml->to);
        reason(yaml, nic->rate_Gbps > 0 ? nic->rate : nic->why.text);
    }
    if (written == 0)
        fprintf(yaml->to, "%snics: []\n", yaml->prefix);
}

void facts_write_yaml(const struct facts *facts, FILE *to, const char *prefix)
{
    struct yaml yaml = {facts, to, prefix};
    fprintf(to, "%s# Written by gdprobe facts. What is unknown has its reason beside it.\n",
            prefix);
    fprintf(to, "%sgdprobe_facts: 1\n", prefix);
    write_host(&yaml);
    write_pci(&yaml);
    write_gpus(&yaml);
    write_nvlinks(&yaml);
    write_nics(&yaml);
}
