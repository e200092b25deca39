/* facts.h: what a machine is and can do: everything that was read, and the judgements on it that
 * the YAML, the report and the doctor share. */
#ifndef GDPROBE_FACTS_H
#define GDPROBE_FACTS_H

#include <stdio.h>

#include "probe/driver.h"
#include "probe/host.h"
#include "probe/pci.h"
#include "probe/settings.h"

struct facts {
    struct pci pci;
    struct host host;
    struct driver driver;
    struct settings settings;
};

/* Never fails but without memory (NULL): what is missing has its reason. timeout_s: of each
 * question to a driver. */
struct facts *facts_read(const struct sys *sys, double timeout_s);
void facts_free(struct facts *facts); /* may be NULL */

/* A statement about the machine: YES, NO or UNKNOWN, with its evidence or the reason. */
struct finding {
    int holds;
    char sentence[256];
};
struct finding finding(int holds, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct finding facts_peer_module(const struct facts *facts);
struct finding facts_dmabuf(const struct facts *facts);
struct finding facts_module(const struct facts *facts, const char *name);
/* Peer access between two GPUs (indices in pci), as the driver says. */
struct finding facts_peer_access(const struct facts *facts, size_t gpu, size_t other);
/* NVLinks from one GPU to another, whether direct or through switches. */
struct finding facts_nvlink(const struct facts *facts, size_t gpu, size_t other);

/* NVLinks from a GPU to a bus id; NULL: to switches. */
int facts_links_to(const struct facts *facts, size_t gpu, const char *busid);

/* Peer access between all GPUs that no NVLink joins; ATS of all RDMA NICs; a mount for GPUDirect
 * Storage. UNKNOWN as well when there is no such pair, NIC or mount. */
struct finding facts_p2p_driver(const struct facts *facts);
struct finding facts_ats(const struct facts *facts);
struct finding facts_gds_mount(const struct facts *facts);

/* The level that a variable sets; *ret_set is where, or NULL when it does not and `otherwise`
 * holds. */
enum pci_distance facts_level(const struct facts *facts, const char *variable,
                              enum pci_distance otherwise, const char **ret_set);

/* What the IOMMU does to GPUs and RDMA NICs: the worst of them. UNKNOWN with a reason. */
enum iommu_state facts_iommu(const struct facts *facts, struct why *ret_why);
const char *iommu_name(enum iommu_state state); /* in gdsim's words */

/* The BAR that holds device memory, and what of it is in use. Negative: unknown. */
double facts_bar1_B(const struct facts *facts, size_t gpu);
double facts_bar1_used_B(const struct facts *facts, size_t gpu);

/* The NIC of host.nics behind a function; -1: none. */
int facts_nic(const struct facts *facts, size_t device);

/* A GPU, NIC, drive or NVSwitch that is no virtual function. */
bool facts_is_endpoint(const struct pci_device *device);
/* For each function of pci whether it is one of these or a bridge above one. The caller frees it;
 * NULL without memory. only_used: without the NICs that are not used. */
bool *facts_chains(const struct facts *facts, bool only_used);
/* Why NCCL does not use the NIC of a function: it takes RDMA devices with an active port where
 * there are any. NULL when it may use it. */
const char *facts_unused_nic(const struct facts *facts, size_t device);
/* The RDMA device behind a function, in host.nics; -1: none. */
int facts_rdma(const struct facts *facts, size_t device);

/* YAML for `gdsim import`; `prefix` stands before each line. */
void facts_write_yaml(const struct facts *facts, FILE *to, const char *prefix);
/* For a person. */
void facts_write_report(const struct facts *facts, FILE *to);

#endif
