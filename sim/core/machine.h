/* machine.h: nodes, their devices and links, the fabric, and what each can carry.
 *
 * A machine is a node type and a count of nodes; nodes that differ in parameters are in odd.h.
 * Everything that many nodes share is stored once, in the type. A resource is
 * anything that is busy while bytes pass: one direction of a link, a socket's DRAM, a port of
 * the fabric, a thread. Resource r of node k has the global id k * type->resource_count + r.
 *
 * Ranks are ports: rank = node * ports per node + index of the port in its node. The ports are the
 * GPUs, unless a job moves bytes between other devices.
 */
#ifndef GDSIM_CORE_MACHINE_H
#define GDSIM_CORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/param.h"
#include "sim/core/status.h"

#define MACHINE_NAME_LENGTH 32
#define MACHINE_MAX_DEVICES 256
#define MACHINE_MAX_LINKS   512
#define MACHINE_MAX_NODES   (1u << 22)
#define MACHINE_MAX_RANKS   (1u << 24)
#define MACHINE_PATH_LENGTH 16

struct odd_nodes;

enum device_kind {
    DEVICE_GPU,
    DEVICE_CPU,
    DEVICE_PCIE_SWITCH,
    DEVICE_NIC,
    DEVICE_NVME,
    DEVICE_NVSWITCH,
    DEVICE_KIND_COUNT
};

/* Bits, so that a search can be told which links it may take. */
enum link_kind { LINK_PCIE = 1, LINK_NVLINK = 2, LINK_C2C = 4, LINK_SOCKET = 8 };
#define LINK_DMA                                                                                   \
    (LINK_PCIE | LINK_C2C | LINK_SOCKET) /* what DMA through a host's tree may take                \
                                          */

enum resource_kind {
    RESOURCE_PCIE,   /* one direction of a PCIe link */
    RESOURCE_DUPLEX, /* both directions of a PCIe link that cannot run fully side by side */
    RESOURCE_NVLINK,
    RESOURCE_C2C,
    RESOURCE_SOCKET,
    RESOURCE_DRAM,
    RESOURCE_PEER, /* one peer flow through a root complex: each flow has this for itself */
    RESOURCE_WIRE,
    RESOURCE_UPLINK, /* between a leaf switch and the spine */
    RESOURCE_NIC,    /* inside a NIC: read credits, ordered writes, SHARP operations */
    RESOURCE_NVME,
    RESOURCE_COPY,    /* a CPU thread that copies */
    RESOURCE_BAR,     /* a CPU reaching through BAR1 */
    RESOURCE_CHANNEL, /* an SM that copies: one for each lane, so nobody waits for another's */
    RESOURCE_SM,      /* a GPU's channels together, where their number is known */
    RESOURCE_THREAD,
};

/* Distance between two devices of a node, or of two nodes: NCCL's path types, best to worst. */
enum path_class {
    PATH_LOC,
    PATH_NVL,
    PATH_NVB,
    PATH_C2C,
    PATH_PIX, /* one PCIe switch */
    PATH_PXB, /* several PCIe switches, no root complex */
    PATH_P2C, /* GPU - C2C - CPU - PCIe - NIC */
    PATH_PXN,
    PATH_PHB, /* through one root complex */
    PATH_SYS, /* across sockets */
    PATH_NET,
    PATH_NONE,
};

struct resource {
    char name[2 * MACHINE_NAME_LENGTH + 16];
    enum resource_kind kind;
    uint16_t sort;   /* the same for the same thing of, or between, devices of the same kinds */
    double rate_Bps; /* INFINITY: never limits */
    double latency_s;
};

/* Resources of a device, counted from device->resource. */
enum device_resource {
    GPU_PROXY = 0,
    GPU_CHANNEL = 1,
    GPU_BAR_WRITES = 2,
    GPU_BAR_READS = 3,
    GPU_FLAGS = 4,
    GPU_CHANNELS_OUT = 5,
    GPU_CHANNELS_IN = 6,
    CPU_DRAM = 0,
    CPU_PEER_WRITES = 1,
    CPU_PEER_READS = 2,
    CPU_COPIER = 3,
    NIC_TX = 0,
    NIC_RX = 1,
    NIC_READ_CREDITS = 2,
    NIC_ORDERED_WRITES = 3,
    NIC_TRANSLATED_READS = 4,
    NIC_TRANSLATED_WRITES = 5,
    NIC_SHARP_OPERATIONS = 6,
    NVME_READER = 0,
    NVME_WRITER = 1,
};

struct device {
    char name[MACHINE_NAME_LENGTH];
    enum device_kind kind;
    struct params params;
    uint16_t resource; /* the first of those listed at `enum device_resource` */
};

struct link {
    enum link_kind kind;
    uint16_t end[2]; /* devices; the first is the upper end (its port holds the ACS bits) */
    struct params params;
    uint16_t resource; /* end[0] to end[1]; +1 the other way; +2 both (PCIe with duplex < 1) */
    bool has_both;     /* the last exists: in this node, or in one that differs from it */
};

struct node_type {
    struct device *devices;
    size_t device_count;
    struct link *links;
    size_t link_count;
    struct resource *resources; /* made by machine_finish */
    size_t resource_count;
    uint16_t uplinks;                   /* resources that stand for all uplinks: up, then down */
    uint16_t gpus[MACHINE_MAX_DEVICES]; /* devices that are GPUs, in order */
    size_t gpu_count;
    uint16_t ports[MACHINE_MAX_DEVICES]; /* devices that are ranks; by default the GPUs */
    size_t port_count;
};

struct machine {
    struct node_type node;
    uint32_t node_count;
    struct params engine, software, fabric, sharp, state;
    struct odd_nodes *odd; /* nodes that differ: odd.h */
    size_t odd_count;
    uint8_t *kinds;    /* of each node: 0 as above, k as odd[k - 1]; NULL: all are alike */
    const char *label; /* of a machine that stands for odd nodes: "node 17"; else NULL */
};

/* A way through one node's links: link i is passed in direction reversed[i] ? 1->0 : 0->1. */
struct path {
    uint16_t link[MACHINE_PATH_LENGTH];
    bool reversed[MACHINE_PATH_LENGTH];
    size_t length;
    uint16_t device[MACHINE_PATH_LENGTH + 1];
};

/* Put parts together to a name, as much as fits: not by printf, because a sweep does this for every
 * machine. */
void machine_join(char *name, size_t size, const char *const parts[], size_t count);

const char *device_kind_name(enum device_kind kind);
enum param_kind device_param_kind(enum device_kind kind);

/* Start an empty machine with every parameter at its default. machine_free takes it apart. */
void machine_init(struct machine *machine);
void machine_free(struct machine *machine);

/* Add a device or link at default parameters; *ret_index is its place. STATUS_INPUT when a name
 * is taken, an end unknown or the limit reached. */
enum status machine_add_device(struct machine *machine, const char *name, enum device_kind kind,
                               size_t *ret_index, struct error *error);
enum status machine_add_link(struct machine *machine, enum link_kind kind, const char *end0,
                             const char *end1, size_t *ret_index, struct error *error);

/* Index of the device, or -1. */
int machine_find_device(const struct machine *machine, const char *name);

/* Check the whole and make the resources; call once, after the last parameter is set. */
enum status machine_finish(struct machine *machine, struct error *error);

/* Fewest links of the given kinds between two devices of a node; false when there is no way. Ties
 * go to the link added first. Only switches and root complexes pass anything on. */
bool machine_path(const struct machine *machine, size_t from, size_t to, unsigned kinds,
                  struct path *ret_path);

/* How far apart the ends of a path are. */
enum path_class machine_class(const struct machine *machine, const struct path *path);
const char *path_class_name(enum path_class path_class);

/* The nearest device of a kind (by class of path, then fewest links). GPUs that share equally near
 * ones (NICs of one switch) deal them out: each has its own, or several, among which `rail`
 * chooses. -1 if none. */
int machine_nearest(const struct machine *machine, size_t from, enum device_kind kind,
                    uint32_t rail);

/* The most NICs that one GPU has for itself: how many rails its lanes are dealt to. */
uint32_t machine_rails(const struct machine *machine);

/* The NICs of a node that its GPUs use. */
uint32_t machine_nics(const struct machine *machine);

const char *link_kind_name(enum link_kind kind);
enum param_kind link_param_kind(enum link_kind kind);

/* A copy that can be changed and finished on its own. */
enum status machine_copy(const struct machine *from, struct machine *ret_copy, struct error *error);

/* Whether the IOMMU translates DMA addresses, and which share of them misses its cache. */
bool machine_translates(const struct machine *machine);
double machine_iommu_misses(const struct machine *machine);

/* The fabric above the nodes. A leaf is a node's group of nodes, or its NIC's rail. */
enum fabric_kind { FABRIC_ONE_SWITCH, FABRIC_LEAF_SPINE, FABRIC_RAIL };
enum fabric_kind machine_fabric(const struct machine *machine);
uint32_t machine_leaves(const struct machine *machine);

/* The uplink that a flow between two NICs takes, counted over all leaves of one direction:
 * ret_uplink[0] up from the sender's leaf, [1] down to the receiver's. False when both hang on
 * one leaf. `nic` are places among the node's NICs. */
bool machine_uplinks(const struct machine *machine, const uint32_t node[2], const uint32_t nic[2],
                     uint32_t lane, uint32_t ret_uplink[2]);

uint32_t machine_ranks(const struct machine *machine);

/* How many kinds of nodes there are, which one a node is, and the machine whose nodes are all so.
 */
static inline size_t machine_kind_count(const struct machine *machine)
{
    return machine->kinds ? 1 + machine->odd_count : 1;
}
static inline size_t machine_kind(const struct machine *machine, uint32_t node)
{
    return machine->kinds ? machine->kinds[node] : 0;
}
const struct machine *machine_of_kind(const struct machine *machine, size_t kind);

/* Payload bytes per second in one direction; of a PCIe link its `rate`, or from gen/width/mps. */
double link_rate_Bps(const struct link *link);

#endif
