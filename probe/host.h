/* host.h: what is not PCI: CPU, kernel, virtual machine, IOMMU, modules, NICs, drives, mounts. */
#ifndef GDPROBE_HOST_H
#define GDPROBE_HOST_H

#include "probe/pci.h"
#include "probe/sys.h"

enum { UNKNOWN = -1, NO = 0, YES = 1 };
enum { NIC_MAX_RATE_Gbps = 10000 }; /* of one port; what is faster is a mistake */

struct host_cpu {
    char arch[16], vendor[32], name[64]; /* "": unknown */
    long family, model;                  /* -1: unknown */
    struct why why;
};

/* Loaded kernel modules. */
struct host_modules {
    char *text;           /* names, each between two blanks; NULL: unknown */
    const char *source;   /* the file or directory that they are from */
    char peer_memory[64]; /* the file that shows that some peer memory module is there; "" none */
    struct why why;
};

enum iommu_state { IOMMU_UNKNOWN = -1, IOMMU_OFF, IOMMU_IDENTITY, IOMMU_TRANSLATING };

struct host_iommu {
    int live;        /* an IOMMU driver is at work: YES, NO, UNKNOWN */
    char names[128]; /* dmar0 dmar1 ... */
    struct why why;
};

struct host_nic {
    char name[32]; /* mlx5_0; the interface's name if it is no RDMA device */
    char net[64];  /* its interfaces: "eth0 eth1" */
    int device;    /* in struct pci; -1: it has none */
    bool rdma;
    double rate_Gbps; /* of all its ports together; 0: unknown */
    int active;       /* a port is active: YES, NO, UNKNOWN */
    char link_layer[16], firmware[32];
    char rate[64]; /* of its first port, as sysfs writes it */
    struct why why;
};

struct host_drive {
    char name[16]; /* nvme0 */
    int device;    /* -1: remote, or unknown */
    char model[48], transport[16], address[64];
};

/* A mount that GPUDirect Storage may be used on. */
struct host_mount {
    char source[96], path[128], type[24];
    int supported; /* YES, NO, UNKNOWN */
    char sentence[128];
};

struct host {
    char kernel[96];
    struct why kernel_why;
    char *command_line; /* NULL: unknown */
    struct why command_line_why;
    struct host_cpu cpu;
    int vm; /* YES, NO, UNKNOWN */
    char vm_evidence[96];
    struct host_modules modules;
    struct host_iommu iommu;
    char nvidia_driver[160]; /* the version line; "": none */
    int nvidia_open;         /* the open kernel modules: YES, NO, UNKNOWN */
    struct why nvidia_why;
    char *nvidia_params; /* /proc/driver/nvidia/params; NULL: unknown */
    struct why nvidia_params_why;
    struct host_nic *nics;
    size_t nic_count;
    struct why nics_why;
    struct host_drive *drives;
    size_t drive_count;
    struct why drives_why;
    struct host_mount *mounts;
    size_t mount_count;
    struct why mounts_why;
    int cufile_compat; /* allow_compat_mode of cufile.json: YES, NO, UNKNOWN */
    struct why cufile_why;
    char *nvidia_fs_stats; /* NULL: unknown */
    struct why nvidia_fs_why;
};

void host_read(const struct sys *sys, const struct pci *pci, struct host *ret_host);
void host_free(struct host *host);

/* YES, NO, or UNKNOWN with the reason in modules.why. Dashes and underscores are the same. */
int host_has_module(const struct host *host, const char *name);

/* What the IOMMU does to the addresses of a device; UNKNOWN with the reason. */
enum iommu_state host_iommu_of(const struct host *host, const struct pci_device *device,
                               struct why *ret_why);

/* "5.15.0-91-generic" is 515; 0 when it cannot be read. */
long host_kernel_number(const struct host *host);

#endif
