/* precondition.h: what must hold for the fast path, and what was found.
 *
 * Nobody's fast path fails with an error. So every route carries the verdict of each precondition
 * that was met on its way, in the order hardware and software meet them: what it said and what it
 * did to the route. How a person sees it on a machine, and what mends it, is one table, which
 * `gdsim check` and the probe's `doctor` share in words. In a virtual machine some of it differs:
 * ACS and translation are what keeps guests apart, so they stay, and the cure is ATS.
 */
#ifndef GDSIM_CORE_PRECONDITION_H
#define GDSIM_CORE_PRECONDITION_H

#include "sim/core/machine.h"

enum precondition {
    PRE_CUDA_BUFFER,
    PRE_PEER_MODULE,
    PRE_BAR1,
    PRE_DISTANCE,
    PRE_P2P_DISTANCE,
    PRE_P2P_DRIVER,
    PRE_ROOT_COMPLEX,
    PRE_ROOT_CEILING,
    PRE_ACS,
    PRE_IOMMU,
    PRE_LINK_TRAINED,
    PRE_LINK_RATE,
    PRE_NIC_SLOT,
    PRE_RELAXED_ORDERING,
    PRE_READ_CREDITS,
    PRE_DUPLEX,
    PRE_REGISTERED,
    PRE_GDRDRV,
    PRE_NVIDIA_FS,
    PRE_FILESYSTEM,
    PRE_ALIGNED,
    PRE_STORAGE_DISTANCE,
    PRE_NVLINK,
    PRE_SHARP_TREE,
    PRE_SHARP_UPLINK,
    PRE_COUNT
};

enum outcome {
    OUTCOME_HOLDS,
    OUTCOME_SLOWS,  /* the path is taken and costs more */
    OUTCOME_BREAKS, /* another path is taken */
    OUTCOME_HANGS,  /* the transfer neither works nor fails */
};

struct precondition_info {
    const char *name; /* a few words: "peer memory module or dma-buf" */
    const char *see;  /* the command a person runs */
    const char *fix;
    const char *see_in_vm, *fix_in_vm; /* NULL: the same */
};

struct link;
struct verdict_item {
    enum precondition what;
    enum outcome outcome;
    const struct link *about; /* the one link that it is about, if any */
    char sentence[224];       /* with whose it is */
};

extern const struct precondition_info precondition_table[PRE_COUNT];

const char *outcome_name(enum outcome outcome);

#endif
