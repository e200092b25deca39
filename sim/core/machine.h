/* machine.h: nodes, their devices and links, the fabric, and what each can carry.
 *
 * A machine is one or more node types and a count of nodes. Everything that many nodes share is
 * stored once, in the type, so memory does not grow with the number of nodes. A resource is
 * anything that is busy while bytes pass: one direction of a link, a socket's DRAM, a port of
 * the fabric, a thread. Resource r of node k has the global id k * type->resource_count + r.
 *
 * Ranks are GPUs: rank = node * gpus per node + index of the GPU in its node.
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

enum device_kind { DEVICE_GPU, DEVICE_CPU, DEVICE_PCIE_SWITCH, DEVICE_NIC, DEVICE_KIND_COUNT };

enum resource_kind { RESOURCE_PCIE, RESOURCE_DRAM, RESOURCE_WIRE, RESOURCE_THREAD };

struct resource {
    char name[2 * MACHINE_NAME_LENGTH + 16];
    enum resource_kind kind;
    double rate_Bps; /* INFINITY: never limits */
    double latency_s;
};

struct device {
    char name[MACHINE_NAME_LENGTH];
    enum device_kind kind;
    struct params params;
    uint16_t resource; /* gpu: its proxy thread; cpu: DRAM; nic: wire tx, +1 wire rx */
};

struct link {
    uint16_t end[2]; /* devices */
    struct params params;
    uint16_t resource; /* end[0] to end[1]; +1 the other way */
};

struct node_type {
    struct device *devices;
    size_t device_count;
    struct link *links;
    size_t link_count;
    struct resource *resources; /* made by machine_finish */
    size_t resource_count;
    uint16_t gpus[MACHINE_MAX_DEVICES]; /* devices that are GPUs, in order */
    size_t gpu_count;
};

struct machine {
    struct node_type node;
    uint32_t node_count;
    struct params engine, software, fabric;
};

/* A way through one node's links: link i is passed in direction reversed[i] ? 1->0 : 0->1. */
struct path {
    uint16_t link[MACHINE_PATH_LENGTH];
    bool reversed[MACHINE_PATH_LENGTH];
    size_t length;
    uint16_t device[MACHINE_PATH_LENGTH + 1];
};

const char *device_kind_name(enum device_kind kind);
enum param_kind device_param_kind(enum device_kind kind);

/* Start an empty machine with every parameter at its default. machine_free takes it apart. */
void machine_init(struct machine *machine);
void machine_free(struct machine *machine);

/* Add a device or link at default parameters; *ret_index is its place. STATUS_INPUT when a name
 * is taken, an end unknown or the limit reached. */
enum status machine_add_device(struct machine *machine, const char *name, enum device_kind kind,
                               size_t *ret_index, struct error *error);
enum status machine_add_link(struct machine *machine, const char *end0, const char *end1,
                             size_t *ret_index, struct error *error);

/* Index of the device, or -1. */
int machine_find_device(const struct machine *machine, const char *name);

/* Check the whole and make the resources; call once, after the last parameter is set. */
enum status machine_finish(struct machine *machine, struct error *error);

/* Fewest links between two devices of a node; false when there is no way. Ties go to the link
 * added first. */
bool machine_path(const struct machine *machine, size_t from, size_t to, struct path *ret_path);

/* The nearest device of a kind (fewest links). Equally near ones are dealt out by the index of
 * the asking GPU, so that GPUs behind one switch with several NICs use them all. -1 if none. */
int machine_nearest(const struct machine *machine, size_t from, enum device_kind kind);

uint32_t machine_ranks(const struct machine *machine);

/* Payload bytes per second of a PCIe link in one direction: its `rate`, or from gen/width/mps. */
double link_rate_Bps(const struct link *link);

#endif
