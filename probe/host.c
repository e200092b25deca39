/* host.c: CPU, kernel, virtual machine, IOMMU, modules and the NVIDIA driver. See host.h. */
#include "probe/host.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/host_io.h"

/* ---- CPU ------------------------------------------------------------------------------------- */

/* The value of "key : value" in the first block of /proc/cpuinfo. */
static bool cpu_field(const char *text, const char *key, char *buffer, size_t size)
{
    size_t length = strlen(key);
    for (const char *at = text; at && *at && *at != '\n';
         at = strchr(at, '\n'), at = at ? at + 1 : at) {
        if (strncmp(at, key, length) != 0)
            continue;
        const char *value = at + length + strspn(at + length, " \t");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t");
        snprintf(buffer, size, "%.*s", (int)strcspn(value, "\n"), value);
        return true;
    }
    return false;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(text, word); at; at = strstr(at + length, word))
        if ((at == text || isspace((unsigned char)at[-1])) &&
            (!at[length] || isspace((unsigned char)at[length])))
            return true;
    return false;
}

static void read_cpu(const char *text, struct host_cpu *cpu)
{
    char flags[8192], number[32];
    cpu->family = cpu->model = -1;
    if (cpu_field(text, "vendor_id", cpu->vendor, sizeof cpu->vendor)) {
        bool wide = cpu_field(text, "flags", flags, sizeof flags) && has_word(flags, "lm");
        strcpy(cpu->arch, wide ? "x86_64" : "i686");
        cpu_field(text, "model name", cpu->name, sizeof cpu->name);
        if (cpu_field(text, "cpu family", number, sizeof number))
            cpu->family = strtol(number, NULL, 0);
        if (cpu_field(text, "model", number, sizeof number))
            cpu->model = strtol(number, NULL, 0);
    } else if (cpu_field(text, "CPU implementer", cpu->vendor, sizeof cpu->vendor)) {
        strcpy(cpu->arch, "aarch64");
        if (cpu_field(text, "CPU part", number, sizeof number))
            cpu->model = strtol(number, NULL, 0);
    } else {
        why_set(&cpu->why, "/proc/cpuinfo names no vendor");
    }
}

/* ---- virtual machine ------------------------------------------------------------------------- */

/* A hypervisor tells x86 guests by a flag of the CPU; elsewhere only the firmware's words help. */
static void read_vm(const struct sys *sys, const char *cpuinfo, struct host *host)
{
    static const char *const makers[] = {
        "QEMU", "KVM", "VMware", "Xen", "innotek", "Microsoft Corporation", "Google", "OpenStack"};
    char flags[8192], line[64];
    struct why why = {""};
    host->vm = UNKNOWN;
    if (cpuinfo && cpu_field(cpuinfo, "flags", flags, sizeof flags)) {
        host->vm = has_word(flags, "hypervisor");
        snprintf(host->vm_evidence, sizeof host->vm_evidence, "/proc/cpuinfo, flags: %shypervisor",
                 host->vm ? "" : "no ");
        return;
    }
    if (!sys_line(sys, "/sys/class/dmi/id/sys_vendor", line, sizeof line, &why)) {
        snprintf(host->vm_evidence, sizeof host->vm_evidence, "%.95s", why.text);
        return;
    }
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strstr(line, makers[i]))
            host->vm = YES;
    snprintf(host->vm_evidence, sizeof host->vm_evidence, "/sys/class/dmi/id/sys_vendor: %.60s",
             line);
}

/* ---- kernel modules -------------------------------------------------------------------------- */

/* The first word of each line, between blanks. */
static char *first_words(const char *text)
{
    char *words = malloc(strlen(text) + 3), *to = words;
    if (!words)
        return NULL;
    *to++ = ' ';
    for (const char *at = text; *at;) {
        size_t length = strcspn(at, " \t\n");
        memcpy(to, at, length);
        to += length;
        if (length > 0)
            *to++ = ' ';
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    *to = '\0';
    return words;
}

/* A kernel that loads no modules has no /proc/modules; what is built in shows in /sys/module. */
static char *built_in(const struct sys *sys)
{
    struct sys_list list;
    char *text = NULL;
    size_t length = 0;
    if (!sys_list(sys, "/sys/module", &list, NULL))
        return NULL;
    if (list.count > 0)
        text = malloc(list.count * (SYS_NAME + 1));
    for (size_t i = 0; text && i < list.count; i++)
        length += (size_t)snprintf(text + length, SYS_NAME + 1, "%s\n", list.names[i]);
    sys_list_free(&list);
    return text;
}

static void read_modules(const struct sys *sys, struct host_modules *modules)
{
    static const char *const peer_files[] = {"/sys/kernel/mm/memory_peers/nv_mem/version",
                                             "/sys/kernel/mm/memory_peers/nv_mem_nc/version",
                                             "/sys/module/nvidia_peermem/version"};
    for (size_t i = 0; i < sizeof peer_files / sizeof peer_files[0]; i++)
        if (!modules->peer_memory[0] && sys_exists(sys, peer_files[i]))
            snprintf(modules->peer_memory, sizeof modules->peer_memory, "%s", peer_files[i]);
    modules->source = "/proc/modules";
    char *text = sys_text(sys, "/proc/modules", &modules->why);
    if (!text) {
        modules->source = "/sys/module";
        text = built_in(sys);
    }
    if (!text)
        return;
    modules->text = first_words(text);
    if (!modules->text)
        why_set(&modules->why, "out of memory");
    free(text);
}

int host_has_module(const struct host *host, const char *name)
{
    char word[64];
    if (!host->modules.text)
        return UNKNOWN;
    snprintf(word, sizeof word, " %s ", name);
    for (char *at = word; *at; at++)
        if (*at == '-')
            *at = '_';
    return strstr(host->modules.text, word) ? YES : NO;
}

/* ---- IOMMU ----------------------------------------------------------------------------------- */

static void read_iommu(const struct sys *sys, struct host_iommu *iommu)
{
    struct sys_list list;
    size_t length = 0;
    iommu->live = UNKNOWN;
    if (!sys_list(sys, "/sys/class/iommu", &list, &iommu->why))
        return;
    iommu->live = list.count > 0;
    for (size_t i = 0; i < list.count && length + 1 < sizeof iommu->names; i++)
        length += (size_t)snprintf(iommu->names + length, sizeof iommu->names - length, "%s%.40s",
                                   i ? " " : "", list.names[i]);
    sys_list_free(&list);
}

enum iommu_state host_iommu_of(const struct host *host, const struct pci_device *device,
                               struct why *ret_why)
{
    if (device->iommu_group < 0) {
        if (host->iommu.live == UNKNOWN)
            *ret_why = host->iommu.why;
        else if (host->iommu.live)
            why_set(ret_why, "%s is in no IOMMU group", device->busid);
        return host->iommu.live == NO ? IOMMU_OFF : IOMMU_UNKNOWN;
    }
    if (strcmp(device->iommu_type, "identity") == 0)
        return IOMMU_IDENTITY;
    if (strncmp(device->iommu_type, "DMA", 3) == 0)
        return IOMMU_TRANSLATING;
    if (device->iommu_type[0])
        why_set(ret_why, "IOMMU group %ld is of type \"%s\"", device->iommu_group,
                device->iommu_type);
    else
        *ret_why = device->iommu_why;
    return IOMMU_UNKNOWN;
}

/* ---- NVIDIA driver --------------------------------------------------------------------------- */

static void read_nvidia(const struct sys *sys, struct host *host)
{
    host->nvidia_open = UNKNOWN;
    if (sys_line(sys, "/proc/driver/nvidia/version", host->nvidia_driver,
                 sizeof host->nvidia_driver, &host->nvidia_why))
        host->nvidia_open = strstr(host->nvidia_driver, "Open Kernel Module") != NULL;
    host->nvidia_params = sys_text(sys, "/proc/driver/nvidia/params", &host->nvidia_params_why);
}

/* ---- all ------------------------------------------------------------------------------------- */

long host_kernel_number(const struct host *host)
{
    int major, minor;
    if (sscanf(host->kernel, "%3d.%3d", &major, &minor) != 2 || major < 0 || minor < 0)
        return 0;
    return major * 100L + (minor < 99 ? minor : 99);
}

void host_read(const struct sys *sys, const struct pci *pci, struct host *ret_host)
{
    *ret_host = (struct host){0};
    sys_line(sys, "/proc/sys/kernel/osrelease", ret_host->kernel, sizeof ret_host->kernel,
             &ret_host->kernel_why);
    ret_host->command_line = sys_text(sys, "/proc/cmdline", &ret_host->command_line_why);
    ret_host->cpu.family = ret_host->cpu.model = -1;
    char *cpuinfo = sys_text(sys, "/proc/cpuinfo", &ret_host->cpu.why);
    if (cpuinfo)
        read_cpu(cpuinfo, &ret_host->cpu);
    read_vm(sys, cpuinfo, ret_host);
    free(cpuinfo);
    read_modules(sys, &ret_host->modules);
    read_iommu(sys, &ret_host->iommu);
    read_nvidia(sys, ret_host);
    host_io_read(sys, pci, ret_host);
}

void host_free(struct host *host)
{
    free(host->command_line);
    free(host->modules.text);
    free(host->nvidia_params);
    free(host->nics);
    free(host->drives);
    free(host->mounts);
    free(host->nvidia_fs_stats);
    *host = (struct host){0};
}
