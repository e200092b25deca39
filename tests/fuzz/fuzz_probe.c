/* fuzz_probe.c: any bytes in the files that gdprobe reads: an answer with no bad read, and YAML
 * that gdsim imports. The files of a small tree are filled from the input, which bytes of value
 * 0xFF divide. When its first byte is even, only the parsers that take bytes are tried: they need
 * no files, and so are tried more often. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/doctor.h"
#include "probe/host_io.h"
#include "sim/load/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GPU    "/sys/devices/pci0000:40/0000:40:01.0/0000:41:00.0"
#define NIC    "/sys/devices/pci0000:40/0000:42:00.0"
#define BRIDGE "/sys/devices/pci0000:40/0000:40:01.0"

static const struct {
    const char *path, *start; /* what stands before the piece */
} files[] = {
    {"/gdprobe/driver", "gpu 0 busid 0000:41:00.0\n"},
    {GPU "/config", ""},
    {GPU "/current_link_width", ""},
    {GPU "/max_link_speed", ""},
    {GPU "/resource", ""},
    {GPU "/numa_node", ""},
    {BRIDGE "/config", ""},
    {NIC "/config", ""},
    {"/proc/cpuinfo", ""},
    {"/proc/modules", ""},
    {"/proc/cmdline", ""},
    {"/proc/self/mounts", ""},
    {"/proc/sys/kernel/osrelease", ""},
    {"/etc/cufile.json", ""},
    {"/sys/kernel/iommu_groups/7/type", ""},
    {"/sys/class/infiniband/mlx5_0/ports/1/rate", ""},
    {"/sys/class/infiniband/mlx5_0/ports/1/state", ""},
    {"/proc/driver/nvidia/gpus/0000:41:00.0/information", "Model: "},
    {"/proc/driver/nvidia/params", ""},
    {"/proc/driver/nvidia-fs/stats", ""},
    {"/gdprobe/environment", ""},
    {"/etc/nccl.conf", ""},
};
enum { FILES = sizeof files / sizeof files[0] };

static char root[64];

static void make(const char *path, const void *data, size_t length, const char *start)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(full, 0777);
    }
    FILE *file = fopen(full, "wb");
    if (!file)
        abort();
    fputs(start, file);
    fwrite(data, 1, length, file);
    fclose(file);
}

static void join(const char *path, const char *target)
{
    char full[512];
    make(path, "", 0, "");
    snprintf(full, sizeof full, "%s%s", root, path);
    unlink(full);
    if (symlink(target, full) != 0)
        abort();
}

static void make_tree(void)
{
    snprintf(root, sizeof root, "out/fuzz/probe-tree-%ld", (long)getpid());
    mkdir("out", 0777);
    mkdir("out/fuzz", 0777);
    mkdir(root, 0777);
    make(GPU "/class", "0x030200\n", 9, "");
    make(GPU "/vendor", "0x10de\n", 7, "");
    make(BRIDGE "/class", "0x060400\n", 9, "");
    make(NIC "/class", "0x020700\n", 9, "");
    join("/sys/bus/pci/devices/0000:41:00.0", GPU);
    join("/sys/bus/pci/devices/0000:40:01.0", BRIDGE);
    join("/sys/bus/pci/devices/0000:42:00.0", NIC);
    join("/sys/class/infiniband/mlx5_0/device", NIC);
    join(GPU "/iommu_group", "/sys/kernel/iommu_groups/7");
}

static void parse_bytes(const uint8_t *data, size_t size)
{
    struct config_space config;
    char busid[PCI_BUSID];
    struct host_mount mount = {.source = "/dev/nvme0n1", .type = "ext4"};
    char *text = malloc(size + 1), *exact = malloc(size ? size : 1);
    struct driver *driver = malloc(sizeof *driver);
    if (!text || !exact || !driver)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    memcpy(exact, data, size); /* so that a read past its end is seen */
    config_space_parse((const uint8_t *)exact, size, &config);
    host_cufile_compat(text);
    driver_parse(text, driver);
    driver_free(driver);
    host_judge_mount(&mount, text);
    pci_busid(text, busid);
    free(exact);
    free(text);
    free(driver);
}

static void import(const char *text, size_t length)
{
    struct diag_list diag;
    struct topology_settings settings = {.nic_rate_Bps = 0};
    struct topology *topology = topology_new();
    char *rendered = NULL;
    if (!topology)
        abort();
    diag_init(&diag);
    if (import_read("fuzz", text, length, IMPORT_FACTS, topology, NULL, &diag) ||
        topology_settle(topology, &settings, &diag)) {
        if (!diag_render(&diag, &rendered))
            fprintf(stderr, "%s\n%s", rendered, text);
        abort();
    }
    topology_free(topology);
    diag_free(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sys sys;
    char *yaml = NULL, *report = NULL;
    size_t yaml_length, report_length;
    if (size == 0)
        return 0;
    if (data[0] % 2 == 0) {
        parse_bytes(data + 1, size - 1);
        return 0;
    }
    if (!root[0])
        make_tree();
    data++, size--;
    const uint8_t *at = data, *end = data + size;
    for (size_t i = 0; i < FILES; i++) {
        const uint8_t *stop = at < end ? memchr(at, 0xFF, (size_t)(end - at)) : NULL;
        size_t length = stop ? (size_t)(stop - at) : (size_t)(end - at);
        make(files[i].path, at, length, files[i].start);
        at = stop ? stop + 1 : end;
    }
    struct doctor *doctor = malloc(sizeof *doctor);
    if (!doctor || !sys_open(&sys, root, NULL))
        abort();
    struct facts *facts = facts_read(&sys, 1);
    if (!facts || !doctor_examine(facts, doctor))
        abort();
    FILE *to = open_memstream(&report, &report_length);
    facts_write_report(facts, to);
    doctor_write(doctor, false, to);
    fclose(to);
    to = open_memstream(&yaml, &yaml_length);
    facts_write_yaml(facts, to, "");
    fclose(to);
    import(yaml, yaml_length);
    free(yaml);
    free(report);
    free(doctor);
    facts_free(facts);
    return 0;
}
