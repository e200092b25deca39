/* facts_report.c: the facts for a person. */
#include "probe/facts.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void line(FILE *to, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void line(FILE *to, const char *key, const char *format, ...)
{
    va_list args;
    fprintf(to, "  %-16s ", key);
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    fputc('\n', to);
}

/* ---- machine --------------------------------------------------------------------------------- */

/* The words of the kernel's command line that GPUDirect has to do with. */
static void write_command_line(FILE *to, const struct host *host)
{
    static const char *const words[] = {
        "iommu",      "intel_iommu=", "amd_iommu=",       "pci=", "pcie_", "nvidia",
        "rd.driver.", "modprobe.",    "module_blacklist="};
    if (!host->command_line) {
        line(to, "command line", "unknown: %s", host->command_line_why.text);
        return;
    }
    fprintf(to, "  %-16s", "command line");
    bool any = false;
    for (const char *at = host->command_line; *at;) {
        size_t length = strcspn(at, " \t\n");
        for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
            if (strncmp(at, words[i], strlen(words[i])) == 0) {
                fprintf(to, " %.*s", (int)length, at);
                any = true;
                break;
            }
        at += length + strspn(at + length, " \t\n");
    }
    fputs(any ? "\n" : " nothing on iommu=, pci= or nvidia\n", to);
}

static void write_machine(FILE *to, const struct facts *facts)
{
    const struct host *host = &facts->host;
    const char *vm = host->vm == YES ? "yes" : host->vm == NO ? "no" : "unknown";
    struct why why = {""};
    fputs("Machine\n", to);
    line(to, "kernel", "%s%s", host->kernel[0] ? host->kernel : "unknown: ",
         host->kernel[0] ? "" : host->kernel_why.text);
    write_command_line(to, host);
    if (host->cpu.arch[0])
        line(to, "CPU", "%s, %s family %ld model %ld%s%s", host->cpu.arch, host->cpu.vendor,
             host->cpu.family, host->cpu.model, host->cpu.name[0] ? ", " : "", host->cpu.name);
    else
        line(to, "CPU", "unknown: %s", host->cpu.why.text);
    line(to, "virtual machine", "%s (%s)", vm, host->vm_evidence);
    enum iommu_state iommu = facts_iommu(facts, &why);
    line(to, "IOMMU", "%s%s%s%s%s", iommu_name(iommu), iommu == IOMMU_UNKNOWN ? ": " : "",
         iommu == IOMMU_UNKNOWN ? why.text : "", host->iommu.names[0] ? ", " : "",
         host->iommu.names);
    line(to, "NVIDIA driver", "%s%s", host->nvidia_driver[0] ? host->nvidia_driver : "unknown: ",
         host->nvidia_driver[0] ? "" : host->nvidia_why.text);
    if (facts->driver.cuda_version > 0)
        line(to, "CUDA", "%d.%d", facts->driver.cuda_version / 1000,
             facts->driver.cuda_version % 1000 / 10);
    else
        line(to, "CUDA", "unknown: %s", driver_why(&facts->driver, "cuda"));
}

static void write_modules(FILE *to, const struct facts *facts)
{
    static const char *const rows[] = {"gdrdrv", "nvidia_fs"};
    struct finding peer = facts_peer_module(facts), dmabuf = facts_dmabuf(facts);
    static const char *const words[] = {"unknown", "no", "yes"};
    fputs("\nModules\n", to);
    line(to, "peer memory", "%s: %s", words[peer.holds + 1], peer.sentence);
    line(to, "dma-buf", "%s: %s", words[dmabuf.holds + 1], dmabuf.sentence);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct finding module = facts_module(facts, rows[i]);
        line(to, rows[i], "%s: %s", words[module.holds + 1], module.sentence);
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

static const char *what_is(const struct pci_device *device)
{
    static const char *const kinds[] = {"function",   "GPU",    "NIC",
                                        "NVMe drive", "bridge", "NVSwitch"};
    static const char *const ports[] = {"bridge", "root port", "up port", "down port", "bridge"};
    return device->kind == PCI_BRIDGE && device->config.port >= PORT_ROOT
               ? ports[device->config.port]
               : kinds[device->kind];
}

static void write_speed(FILE *to, double GTps, int width)
{
    if (GTps > 0)
        fprintf(to, "%g GT/s", GTps);
    else
        fputs("? GT/s", to);
    if (width > 0)
        fprintf(to, " x%d", width);
    else
        fputs(" x?", to);
}

static void write_function(FILE *to, const struct pci *pci, size_t at, int depth)
{
    const struct pci_device *device = &pci->devices[at];
    const struct config_space *config = &device->config;
    char bits[ACS_TEXT];
    fprintf(to, "  %*s%s %s, ", depth * 2, "", device->busid, what_is(device));
    write_speed(to, pci_speed_GTps(device->speed), device->width);
    fputs(" of ", to);
    write_speed(to, pci_speed_GTps(device->max_speed), device->max_width);
    if (config->mps_B > 0)
        fprintf(to, ", MPS %d B, MRRS %d B", config->mps_B, config->mrrs_B);
    else if (config->mps_B < 0)
        fputs(", MPS and MRRS unknown", to);
    if (device->kind == PCI_BRIDGE)
        fprintf(to, ", ACS %s", config->acs < 0 ? "unknown" : acs_text(config->acs, " ", bits));
    if (device->kind == PCI_NIC && config->relaxed >= 0)
        fprintf(to, ", relaxed ordering %s", config->relaxed ? "on" : "off");
    if (device->kind == PCI_NIC && config->ats >= 0)
        fprintf(to, ", ATS %s", config->ats ? "on" : "off");
    if (device->window >= 0 && device->kind == PCI_GPU)
        fprintf(to, ", BAR %d %.0f MiB", device->window,
                (double)device->bar_B[device->window] / 1048576);
    if (device->iommu_group >= 0)
        fprintf(to, ", IOMMU group %ld %s", device->iommu_group,
                device->iommu_type[0] ? device->iommu_type : "unknown");
    if (device->numa >= 0)
        fprintf(to, ", NUMA node %d", device->numa);
    fputc('\n', to);
}

static void write_below(FILE *to, const struct pci *pci, const bool *chains, int parent, int depth,
                        const char *host)
{
    for (size_t i = 0; i < pci->count; i++) {
        const struct pci_device *device = &pci->devices[i];
        if (!chains[i] || device->parent != parent ||
            (parent < 0 && strcmp(device->host, host) != 0))
            continue;
        write_function(to, pci, i, depth);
        write_below(to, pci, chains, (int)i, depth + 1, host);
    }
}

/* Each reason once: a machine has hundreds of ports, and one cause. */
static void write_reasons(FILE *to, const struct pci *pci, const bool *chains)
{
    for (size_t i = 0; i < pci->count; i++) {
        const struct pci_device *device = &pci->devices[i];
        const struct why *reasons[] = {&device->config.why, &device->config.why_extended,
                                       &device->link_why};
        for (size_t r = 0; chains[i] && r < sizeof reasons / sizeof reasons[0]; r++) {
            bool seen = !reasons[r]->text[0];
            for (size_t j = 0; j <= i && !seen; j++) {
                const struct pci_device *other = &pci->devices[j];
                const struct why *others[] = {&other->config.why, &other->config.why_extended,
                                              &other->link_why};
                for (size_t q = 0; q < (j == i ? r : 3); q++)
                    seen = seen || (chains[j] && strcmp(others[q]->text, reasons[r]->text) == 0);
            }
            if (!seen)
                fprintf(to, "  unknown at %s: %s\n", device->busid, reasons[r]->text);
        }
    }
}

static void write_tree(FILE *to, const struct facts *facts)
{
    const struct pci *pci = &facts->pci;
    bool *chains = facts_chains(facts, false);
    size_t shown = 0;
    fputs("\nPCI (speed and width as trained, of what this end can do)\n", to);
    for (size_t i = 0; chains && i < pci->count; i++) {
        bool first = chains[i] && pci->devices[i].parent < 0;
        shown += chains[i];
        for (size_t j = 0; j < i && first; j++)
            first = !(chains[j] && pci->devices[j].parent < 0 &&
                      strcmp(pci->devices[j].host, pci->devices[i].host) == 0);
        if (!first)
            continue;
        fprintf(to, "  %s\n", pci->devices[i].host[0] ? pci->devices[i].host : "PCI");
        write_below(to, pci, chains, -1, 1, pci->devices[i].host);
    }
    if (chains)
        write_reasons(to, pci, chains);
    fprintf(to, "  and %zu other functions%s%s\n", pci->count - shown, *pci->why.text ? "; " : "",
            pci->why.text);
    free(chains);
}

/* ---- devices --------------------------------------------------------------------------------- */

static void write_gpu(FILE *to, const struct facts *facts, size_t at)
{
    const struct pci_device *device = &facts->pci.devices[at];
    int index = driver_find(&facts->driver, device->busid);
    const struct driver_gpu *told = index < 0 ? NULL : &facts->driver.gpus[index];
    double bar1_B = facts_bar1_B(facts, at), used_B = facts_bar1_used_B(facts, at);
    static const char *const words[] = {"unknown", "no", "yes"};
    const char *name = told && told->name[0] ? told->name : device->label;
    fprintf(to, "  %s %s", device->busid, *name ? name : "name unknown");
    if (told && told->sm > 0)
        fprintf(to, ", sm %d", told->sm);
    if (told && told->memory_B > 0)
        fprintf(to, ", %.0f MiB", told->memory_B / 1048576);
    fputs(", BAR1 ", to);
    if (bar1_B >= 0)
        fprintf(to, "%.0f MiB", bar1_B / 1048576);
    else
        fputs("unknown", to);
    if (used_B >= 0)
        fprintf(to, " (%.0f used)", used_B / 1048576);
    fprintf(to, ", GPUDirect RDMA %s, dma-buf %s, multicast %s", words[(told ? told->gdr : -1) + 1],
            words[(told ? told->dmabuf : -1) + 1], words[(told ? told->multicast : -1) + 1]);
    fprintf(to, "%s%s\n", device->driver[0] ? ", driver " : ", no driver bound", device->driver);
}

static void write_pairs(FILE *to, const struct facts *facts)
{
    static const char *const words[] = {"unknown", "no", "yes"};
    const struct pci *pci = &facts->pci;
    bool head = false;
    for (size_t i = 0; i < pci->count; i++)
        for (size_t j = i + 1; j < pci->count; j++) {
            if (pci->devices[i].kind != PCI_GPU || pci->devices[j].kind != PCI_GPU)
                continue;
            struct finding access = facts_peer_access(facts, i, j),
                           link = facts_nvlink(facts, i, j);
            if (!head)
                fputs("\nGPU pairs\n", to);
            head = true;
            fprintf(to, "  %s - %s %s, peer access %s (%s), NVLink %s (%s)\n",
                    pci->devices[i].busid, pci->devices[j].busid,
                    pci_distance_name(pci_distance(pci, i, j)), words[access.holds + 1],
                    access.sentence, words[link.holds + 1], link.sentence);
        }
}

static void write_gpus(FILE *to, const struct facts *facts)
{
    size_t count = 0;
    fputs("\nGPUs\n", to);
    for (size_t i = 0; i < facts->pci.count; i++)
        if (facts->pci.devices[i].kind == PCI_GPU) {
            write_gpu(to, facts, i);
            count++;
        }
    if (count == 0)
        fputs("  none on the PCI bus\n", to);
    for (size_t i = 0; i < facts->driver.gpu_count; i++)
        if (facts->driver.gpus[i].busid[0] &&
            pci_find(&facts->pci, facts->driver.gpus[i].busid) < 0)
            fprintf(to, "  %s %s: the driver names it, and the PCI bus does not show it\n",
                    facts->driver.gpus[i].busid, facts->driver.gpus[i].name);
    for (size_t i = 0; i < facts->driver.reason_count; i++)
        fprintf(to, "  unknown (%s): %s\n", facts->driver.reasons[i].what,
                facts->driver.reasons[i].why.text);
    write_pairs(to, facts);
}

static void write_nics(FILE *to, const struct facts *facts)
{
    const struct host *host = &facts->host;
    static const char *const states[] = {"state unknown", "not active", "active"};
    fputs("\nNICs\n", to);
    for (size_t i = 0; i < host->nic_count; i++) {
        const struct host_nic *nic = &host->nics[i];
        fprintf(to, "  %s %s, %s%s", nic->name,
                nic->device >= 0 ? facts->pci.devices[nic->device].busid : "not on PCI",
                nic->rdma ? "RDMA, " : "no RDMA device, ",
                nic->link_layer[0] ? nic->link_layer : "link layer unknown");
        fprintf(to, ", %s, ", states[nic->active + 1]);
        if (nic->rate_Gbps > 0)
            fprintf(to, "%g Gb/s", nic->rate_Gbps);
        else
            fprintf(to, "rate unknown: %s", nic->why.text);
        if (nic->rdma && nic->net[0])
            fprintf(to, ", interface %s", nic->net);
        if (nic->firmware[0])
            fprintf(to, ", firmware %s", nic->firmware);
        fputc('\n', to);
    }
    if (host->nic_count == 0)
        fprintf(to, "  none%s%s\n", *host->nics_why.text ? ": " : "", host->nics_why.text);
}

static void write_storage(FILE *to, const struct facts *facts)
{
    static const char *const words[] = {"unknown", "no", "yes"};
    const struct host *host = &facts->host;
    fputs("\nStorage\n", to);
    for (size_t i = 0; i < host->drive_count; i++) {
        const struct host_drive *drive = &host->drives[i];
        fprintf(to, "  %s %s%s%s%s%s\n", drive->name,
                drive->device >= 0 ? facts->pci.devices[drive->device].busid : "not on PCI",
                drive->transport[0] ? ", " : "", drive->transport, drive->model[0] ? ", " : "",
                drive->model);
    }
    if (host->drive_count == 0)
        fprintf(to, "  no NVMe drive%s%s\n", *host->drives_why.text ? ": " : "",
                host->drives_why.text);
    for (size_t i = 0; i < host->mount_count; i++)
        fprintf(to, "  %s on %s, %s: GPUDirect Storage %s, %s\n", host->mounts[i].path,
                host->mounts[i].source, host->mounts[i].type, words[host->mounts[i].supported + 1],
                host->mounts[i].sentence);
    if (*host->mounts_why.text)
        fprintf(to, "  mounts unknown: %s\n", host->mounts_why.text);
    fprintf(to, "  compatibility mode allowed: %s%s%s\n", words[host->cufile_compat + 1],
            *host->cufile_why.text ? ": " : "", host->cufile_why.text);
}

void facts_write_report(const struct facts *facts, FILE *to)
{
    write_machine(to, facts);
    write_modules(to, facts);
    write_tree(to, facts);
    write_gpus(to, facts);
    write_nics(to, facts);
    write_storage(to, facts);
}
