/* host_io.c: see host_io.h. */
#include "probe/host_io.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The PCI function behind a device of a class: .../device leads to it, or below it. -1: none. */
static int function_of(const struct sys *sys, const struct pci *pci, const char *class_path)
{
    char path[SYS_PATH], real[SYS_PATH], busid[PCI_BUSID];
    snprintf(path, sizeof path, "%.400s/device", class_path);
    if (!sys_exists(sys, path) || !sys_real(sys, path, real, NULL))
        return -1;
    for (char *slash; (slash = strrchr(real, '/')); *slash = '\0')
        if (pci_busid(slash + 1, busid))
            return pci_find(pci, busid);
    return -1;
}

/* Room for one more element of an array that grows by doubling; NULL without memory. */
static void *more(void **array, size_t count, size_t size)
{
    if ((count & (count - 1)) == 0) {
        void *grown = realloc(*array, (count ? 2 * count : 1) * size);
        if (!grown)
            return NULL;
        *array = grown;
    }
    char *slot = (char *)*array + count * size;
    memset(slot, 0, size);
    return slot;
}

/* ---- NICs ------------------------------------------------------------------------------------ */

static struct host_nic *add_nic(struct host *host, const char *name, int device)
{
    void *array = host->nics;
    struct host_nic *nic = more(&array, host->nic_count, sizeof *nic);
    host->nics = array;
    if (!nic) {
        why_set(&host->nics_why, "out of memory");
        return NULL;
    }
    host->nic_count++;
    snprintf(nic->name, sizeof nic->name, "%.31s", name);
    nic->device = device;
    nic->active = UNKNOWN;
    return nic;
}

/* "400 Gb/sec (4X NDR)" counts when the port is active: a port that is down shows any rate. */
static void read_port(const struct sys *sys, const char *port, struct host_nic *nic)
{
    char path[SYS_PATH], state[32], rate[64], *end;
    struct why why = {""};
    snprintf(path, sizeof path, "%.400s/state", port);
    if (!sys_line(sys, path, state, sizeof state, &nic->why))
        return;
    bool active = strstr(state, "ACTIVE") != NULL;
    nic->active = nic->active == YES || active;
    snprintf(path, sizeof path, "%.400s/link_layer", port);
    if (!nic->link_layer[0])
        sys_line(sys, path, nic->link_layer, sizeof nic->link_layer, &why);
    snprintf(path, sizeof path, "%.400s/rate", port);
    if (!sys_line(sys, path, rate, sizeof rate, &nic->why))
        return;
    if (!nic->rate[0])
        snprintf(nic->rate, sizeof nic->rate, "%s", rate);
    double value = strtod(rate, &end);
    if (!active)
        why_set(&nic->why, "a port is not active (%s)", state);
    else if (end == rate || strncmp(end, " Gb/sec", 7) != 0 ||
             !(value >= 0.001 && value <= NIC_MAX_RATE_Gbps))
        why_set(&nic->why, "%.60s says \"%.32s\"", path, rate);
    else
        nic->rate_Gbps += value;
}

static void read_rdma(const struct sys *sys, const struct pci *pci, struct host *host,
                      const char *name)
{
    char path[SYS_PATH];
    struct sys_list ports;
    struct why why = {""};
    snprintf(path, sizeof path, "/sys/class/infiniband/%s", name);
    struct host_nic *nic = add_nic(host, name, function_of(sys, pci, path));
    if (!nic)
        return;
    nic->rdma = true;
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/fw_ver", name);
    sys_line(sys, path, nic->firmware, sizeof nic->firmware, &why);
    snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports", name);
    if (!sys_list(sys, path, &ports, &nic->why))
        return;
    for (size_t i = 0; i < ports.count; i++) {
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%.16s", name, ports.names[i]);
        read_port(sys, path, nic);
    }
    sys_list_free(&ports);
}

static void read_interface(const struct sys *sys, const struct pci *pci, struct host *host,
                           const char *name)
{
    char path[SYS_PATH], state[32];
    long long speed_Mbps;
    snprintf(path, sizeof path, "/sys/class/net/%s", name);
    int device = function_of(sys, pci, path);
    if (device < 0)
        return; /* lo, bridges, bonds */
    for (size_t i = 0; i < host->nic_count; i++)
        if (host->nics[i].device == device && host->nics[i].rdma) {
            size_t length = strlen(host->nics[i].net);
            snprintf(host->nics[i].net + length, sizeof host->nics[i].net - length, "%s%.20s",
                     length ? " " : "", name);
            return;
        }
    struct host_nic *nic = add_nic(host, name, device);
    if (!nic)
        return;
    snprintf(nic->net, sizeof nic->net, "%.20s", name);
    strcpy(nic->link_layer, "Ethernet");
    snprintf(path, sizeof path, "/sys/class/net/%s/operstate", name);
    if (sys_line(sys, path, state, sizeof state, &nic->why) && strcmp(state, "unknown") != 0)
        nic->active = strcmp(state, "up") == 0;
    snprintf(path, sizeof path, "/sys/class/net/%s/speed", name);
    if (!sys_number(sys, path, &speed_Mbps, &nic->why))
        return;
    if (speed_Mbps > 0 && speed_Mbps <= 1000LL * NIC_MAX_RATE_Gbps)
        nic->rate_Gbps = (double)speed_Mbps / 1000;
    else
        why_set(&nic->why, "%s says %lld: the link is down, or virtual", path, speed_Mbps);
}

static void read_class(const struct sys *sys, const struct pci *pci, struct host *host,
                       const char *path, struct why *why,
                       void (*read)(const struct sys *, const struct pci *, struct host *,
                                    const char *))
{
    struct sys_list list;
    if (!sys_list(sys, path, &list, why))
        return;
    for (size_t i = 0; i < list.count; i++)
        read(sys, pci, host, list.names[i]);
    sys_list_free(&list);
}

/* ---- drives ---------------------------------------------------------------------------------- */

static void read_drive(const struct sys *sys, const struct pci *pci, struct host *host,
                       const char *name)
{
    char path[SYS_PATH];
    struct why why = {""};
    void *array = host->drives;
    struct host_drive *drive = more(&array, host->drive_count, sizeof *drive);
    host->drives = array;
    if (!drive) {
        why_set(&host->drives_why, "out of memory");
        return;
    }
    host->drive_count++;
    snprintf(drive->name, sizeof drive->name, "%.15s", name);
    snprintf(path, sizeof path, "/sys/class/nvme/%s/model", name);
    sys_line(sys, path, drive->model, sizeof drive->model, &why);
    snprintf(path, sizeof path, "/sys/class/nvme/%s/transport", name);
    sys_line(sys, path, drive->transport, sizeof drive->transport, &why);
    snprintf(path, sizeof path, "/sys/class/nvme/%s/address", name);
    sys_line(sys, path, drive->address, sizeof drive->address, &why);
    snprintf(path, sizeof path, "/sys/class/nvme/%s", name);
    drive->device = function_of(sys, pci, path);
}

/* ---- mounts ---------------------------------------------------------------------------------- */

static bool has_option(const char *options, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = options; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, option, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return false;
}

/* A file system on a local block device. */
static void judge_local(struct host_mount *mount, const char *options)
{
    const char *source = mount->source;
    if (strcmp(mount->type, "ext4") == 0 &&
        (has_option(options, "data=journal") || has_option(options, "data=writeback"))) {
        mount->supported = NO;
        snprintf(mount->sentence, sizeof mount->sentence, "ext4 must be mounted data=ordered");
    } else if (strncmp(source, "/dev/nvme", 9) == 0) {
        mount->supported = YES;
        snprintf(mount->sentence, sizeof mount->sentence, "%s on an NVMe drive", mount->type);
    } else if (strncmp(source, "/dev/md", 7) == 0 || strncmp(source, "/dev/mapper/", 12) == 0 ||
               strncmp(source, "/dev/dm-", 8) == 0) {
        mount->supported = UNKNOWN;
        snprintf(mount->sentence, sizeof mount->sentence,
                 "%s on %.40s: depends on the drives below it", mount->type, source);
    } else {
        mount->supported = NO;
        snprintf(mount->sentence, sizeof mount->sentence, "%.40s is no NVMe drive", source);
    }
}

void host_judge_mount(struct host_mount *mount, const char *options)
{
    static const char *const vendors[] = {"lustre", "wekafs", "gpfs", "beegfs", "vastnfs"};
    if (strcmp(mount->type, "ext4") == 0 || strcmp(mount->type, "xfs") == 0) {
        judge_local(mount, options);
        return;
    }
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; i++)
        if (strcmp(mount->type, vendors[i]) == 0) {
            mount->supported = UNKNOWN;
            snprintf(mount->sentence, sizeof mount->sentence,
                     "%s can, when its client has GPUDirect Storage", mount->type);
            return;
        }
    bool rdma = strncmp(mount->type, "nfs", 3) == 0 && has_option(options, "proto=rdma");
    mount->supported = rdma ? UNKNOWN : NO;
    snprintf(mount->sentence, sizeof mount->sentence,
             rdma ? "%s over RDMA can, with a client that has GPUDirect Storage"
                  : "%s is not on the list",
             mount->type);
}

/* Types that a person may think of; kernel file systems, overlays and the like are left out. */
static bool is_storage(const char *type)
{
    static const char *const types[] = {"ext2", "ext3",   "ext4", "xfs",    "btrfs",
                                        "zfs",  "f2fs",   "nfs",  "nfs4",   "lustre",
                                        "ceph", "wekafs", "gpfs", "beegfs", "vastnfs"};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

static void read_mounts(const struct sys *sys, struct host *host)
{
    char *text = sys_text(sys, "/proc/self/mounts", &host->mounts_why), *line_save = NULL;
    for (char *line = text ? strtok_r(text, "\n", &line_save) : NULL; line;
         line = strtok_r(NULL, "\n", &line_save)) {
        char *save = NULL, *source = strtok_r(line, " ", &save), *path = strtok_r(NULL, " ", &save),
             *type = strtok_r(NULL, " ", &save), *options = strtok_r(NULL, " ", &save);
        if (!type || !is_storage(type))
            continue;
        void *array = host->mounts;
        struct host_mount *mount = more(&array, host->mount_count, sizeof *mount);
        host->mounts = array;
        if (!mount) {
            why_set(&host->mounts_why, "out of memory");
            break;
        }
        host->mount_count++;
        snprintf(mount->source, sizeof mount->source, "%s", source);
        snprintf(mount->path, sizeof mount->path, "%s", path);
        snprintf(mount->type, sizeof mount->type, "%s", type);
        host_judge_mount(mount, options ? options : "");
    }
    free(text);
}

/* ---- GPUDirect Storage ----------------------------------------------------------------------- */

int host_cufile_compat(const char *text)
{
    static const char key[] = "\"allow_compat_mode\"";
    for (const char *at = strstr(text, key); at; at = strstr(at + 1, key)) {
        const char *line = at;
        bool comment = false;
        while (line > text && line[-1] != '\n')
            line--;
        for (; line + 1 < at; line++)
            comment = comment || (line[0] == '/' && line[1] == '/');
        if (comment)
            continue;
        const char *value = at + sizeof key - 1;
        value += strspn(value, " \t\r\n");
        if (*value != ':')
            continue;
        value += 1 + strspn(value + 1, " \t\r\n");
        if (strncmp(value, "true", 4) == 0)
            return YES;
        if (strncmp(value, "false", 5) == 0)
            return NO;
    }
    return UNKNOWN;
}

static void read_cufile(const struct sys *sys, struct host *host)
{
    char *text = sys_text(sys, "/etc/cufile.json", &host->cufile_why);
    host->cufile_compat = text ? host_cufile_compat(text) : UNKNOWN;
    if (text && host->cufile_compat == UNKNOWN)
        why_set(&host->cufile_why, "/etc/cufile.json: no allow_compat_mode");
    free(text);
    host->nvidia_fs_stats = sys_text(sys, "/proc/driver/nvidia-fs/stats", &host->nvidia_fs_why);
}

void host_io_read(const struct sys *sys, const struct pci *pci, struct host *host)
{
    struct why ignored = {""}; /* a machine without RDMA has no such class */
    read_class(sys, pci, host, "/sys/class/infiniband", &ignored, read_rdma);
    read_class(sys, pci, host, "/sys/class/net", &host->nics_why, read_interface);
    read_class(sys, pci, host, "/sys/class/nvme", &host->drives_why, read_drive);
    read_mounts(sys, host);
    read_cufile(sys, host);
}
