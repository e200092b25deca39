/* topology.h: one machine as an importer found it, before it is a scenario.
 *
 * What the parsers (import.h) find out goes in here, and only that: every number has a value that
 * means "not known". topology_settle() then fills what a scenario must have, and notes each value
 * that it put in and each that nobody knows; topology_write() prints a scenario with those notes as
 * its head. So nothing is guessed silently, and two files about one machine can be laid together
 * (topology_merge) before anything is assumed.
 *
 * Names, rates and texts that people wrote are cleaned on their way in: whatever the input holds,
 * what is written loads.
 */
#ifndef GDSIM_LOAD_TOPOLOGY_H
#define GDSIM_LOAD_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/machine.h"
#include "sim/load/diag.h"

enum {
    TOPOLOGY_DEVICES = MACHINE_MAX_DEVICES,
    TOPOLOGY_PAIRS = MACHINE_MAX_LINKS - MACHINE_MAX_DEVICES,
    TOPOLOGY_CPUS = 16,
    TOPOLOGY_DEPTH = 7, /* links from a device up to its CPU */
    TOPOLOGY_NOTES = 200,
    TOPOLOGY_BUSID = 20,
    TOPOLOGY_LABEL = 48,
    TOPOLOGY_ACS = 32,
};

/* The PCIe link from a device up to its parent. */
struct topology_link {
    int gen, width;         /* as trained; 0: not known */
    int gen_max, width_max; /* what both ends can do; 0: not known */
    uint32_t mps_B;         /* 0: not known */
    int acs;      /* bits of the port at the upper end, as PARAM_PCIE_ACS; -1: not known */
    bool no_port; /* the device is part of the root complex: no port, no ACS */
};

/* What is published about a CPU's root complex; NAN: not known. */
struct topology_limits {
    const char *name, *source; /* not owned; NULL: the CPU is not known at all */
    double peer_write_Bps, peer_read_Bps, socket_Bps;
    double strict_low, strict_high;
};

struct topology_device {
    enum device_kind kind;
    int parent; /* -1: none */
    struct topology_link up;
    char busid[TOPOLOGY_BUSID]; /* "": not known */
    uint64_t bus_key;
    char label[TOPOLOGY_LABEL]; /* what people call it: "mlx5_0" */
    int order;                  /* its number where the input numbers them; -1: none */
    int numa;                   /* -1: not known */
    int gdr;                    /* GPU, NIC: the input says it can (1) or cannot (0); -1: silent */
    struct mark mark;
    char name[24]; /* by topology_settle() */

    int sm;                                /* GPU: compute capability, 90; 0: not known */
    double memory_B, bar1_B, bar1_used_B;  /* GPU; negative: not known */
    double rate_Bps;                       /* NIC; 0: not known */
    int relaxed;                           /* NIC: relaxed ordering on; -1: not known */
    uint32_t mrrs_B;                       /* NIC; 0: not known */
    int family, model;                     /* CPU; 0: not known */
    char arch[16], vendor[TOPOLOGY_LABEL]; /* CPU */
    struct topology_limits limits;         /* CPU; by topology_settle() */
};

/* A link that is not part of the PCIe tree. */
struct topology_pair {
    enum link_kind kind; /* LINK_PCIE: between two switches */
    uint16_t end[2];
    unsigned count;     /* NVLink lanes; 0: not known */
    double rate_Bps;    /* one direction; 0: not known */
    const char *source; /* static text, or NULL */
    struct mark mark;
};

/* 1 yes, 0 no, -1 not known. */
struct topology_state {
    int peermem, dmabuf, gdrdrv, nvidia_fs, vm;
    int p2p_driver, ats, gds_filesystem;
    /* As the words of PARAM_STATE_IOMMU, GDR_LEVEL and P2P_LEVEL. */
    int iommu, gdr_level, p2p_level;
};

enum topology_level {
    TOPOLOGY_FOUND,   /* worth knowing */
    TOPOLOGY_ASSUMED, /* the scenario says something that the input did not */
    TOPOLOGY_UNKNOWN, /* gdsim's default stands in */
};

/* One sentence about some devices. Read through topology_note_text(). */
struct topology_note {
    enum topology_level level;
    struct mark mark;
    uint64_t devices[TOPOLOGY_DEVICES / 64];
    char *text;
};

struct topology {
    struct topology_device devices[TOPOLOGY_DEVICES];
    size_t device_count;
    struct topology_pair pairs[TOPOLOGY_PAIRS];
    size_t pair_count;
    struct topology_state state;
    bool silent_nvlinks; /* the format does not show NVLinks */
    bool fitted_tree;    /* the PCIe tree is one that fits, not one that was seen */
    bool maybe_nvswitch; /* NVLinks between two GPUs that may lead through a switch */
    struct topology_note notes[TOPOLOGY_NOTES];
    size_t note_count, note_lost;
    bool nomem;
};

/* A new, empty topology; NULL without memory. */
struct topology *topology_new(void);
struct topology *topology_free(struct topology *topology); /* may be NULL; returns NULL */

/* Add a device with nothing known about it. Returns its index; -1 with a mistake noted. */
int topology_add(struct topology *topology, enum device_kind kind, int parent, struct mark mark,
                 struct diag_list *diag);

/* Add `count` lanes between two devices; a second call for the same two (either way round) returns
 * the first one's. NULL with a mistake noted when there are too many. */
struct topology_pair *topology_pair(struct topology *topology, enum link_kind kind, int end0,
                                    int end1, struct mark mark, struct diag_list *diag);

/* Set busid and its key; false when the text is none such as 0000:17:00.0 or 17:00.0. */
bool topology_set_busid(struct topology_device *device, const char *text);
bool topology_parse_busid(const char *text, uint64_t *ret_key);

/* Copy at most size-1 bytes, with '?' for whatever a comment in YAML may not hold. */
void topology_clean(char *to, size_t size, const char *from);

/* ACS bits as a scenario writes them: "SV+RR", "none". Returns `text`. */
const char *topology_acs(int bits, char text[TOPOLOGY_ACS]);

/* -1 if there is none. */
int topology_find(const struct topology *topology, uint64_t bus_key);
int topology_nth(const struct topology *topology, enum device_kind kind, size_t n);
size_t topology_count(const struct topology *topology, enum device_kind kind);

/* The CPU of a NUMA node, made if need be; numa -1 is a node of its own. -1 with a mistake noted.
 */
int topology_cpu(struct topology *topology, int numa, struct mark mark, struct diag_list *diag);

/* PCIe generation of "16 GT/s", "16.0 GT/s PCIe", "2.5GT/s"; 0 when the text names none. */
int topology_gen(const char *text);

/* Note a sentence about a device (-1: about the whole). The same sentence about several devices is
 * kept once, with all of them. */
void topology_note(struct topology *topology, enum topology_level level, int device,
                   struct mark mark, const char *format, ...) PRINTF_LIKE(5, 6);

/* Fill what `base` does not know from `extra`, another file about the same machine: devices are
 * matched by bus id, GPUs also by their order, NICs by their label. */
void topology_merge(struct topology *base, const struct topology *extra, struct diag_list *diag);

struct topology_settings {
    bool strict;         /* an assumption is a mistake */
    double nic_rate_Bps; /* of NICs whose rate is not known; 0: not given */
    /* Fill *limits for a CPU; may be NULL. */
    void (*limits)(const struct topology_device *cpu, struct topology_limits *ret_limits);
};

/* Name the devices, check the whole, and put in what a scenario needs. */
enum status topology_settle(struct topology *topology, const struct topology_settings *settings,
                            struct diag_list *diag);

/* A whole scenario as text, of a settled topology; `from` names the input in its head. The caller
 * frees *ret_text. */
enum status topology_write(const struct topology *topology, const char *from, char **ret_text,
                           size_t *ret_length);

#endif
