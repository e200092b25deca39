/* doctor.h: whether the fast path can engage here: the preconditions of each path, one by one.
 *
 * A precondition holds, fails or is unknown, each with its evidence. What fails either sends the
 * transfer another way (without an error: that is why one looks), or makes it slower, or is only
 * worth knowing. Some can only be seen in a run; they are listed with the check, and not judged.
 */
#ifndef GDPROBE_DOCTOR_H
#define GDPROBE_DOCTOR_H

#include <stdio.h>

#include "probe/facts.h"

enum doctor_row {
    DOCTOR_CUDA_BUFFER,
    DOCTOR_PEER_MODULE,
    DOCTOR_BAR1,
    DOCTOR_DISTANCE,
    DOCTOR_P2P_DISTANCE,
    DOCTOR_P2P_DRIVER,
    DOCTOR_ROOT_COMPLEX,
    DOCTOR_ROOT_CEILING,
    DOCTOR_ACS,
    DOCTOR_IOMMU,
    DOCTOR_LINK_TRAINED,
    DOCTOR_NIC_SLOT,
    DOCTOR_RELAXED_ORDERING,
    DOCTOR_READ_CREDITS,
    DOCTOR_DUPLEX,
    DOCTOR_REGISTERED,
    DOCTOR_GDRDRV,
    DOCTOR_NVIDIA_FS,
    DOCTOR_FILESYSTEM,
    DOCTOR_ALIGNED,
    DOCTOR_STORAGE_DISTANCE,
    DOCTOR_NVLINK,
    DOCTOR_SHARED, /* gdsim has the rows before this one */
    DOCTOR_GPU = DOCTOR_SHARED,
    DOCTOR_GPU_RDMA,
    DOCTOR_NIC,
    DOCTOR_DRIVE,
    DOCTOR_COMPAT,
    DOCTOR_RDMA_PATH,
    DOCTOR_STREAM_MEMOPS,
    DOCTOR_DOORBELL,
    DOCTOR_SETTINGS,
    DOCTOR_SERVED,
    DOCTOR_COUNT
};

struct doctor_words {
    const char *name; /* a few words: "peer memory module or dma-buf" */
    const char *see;  /* the command a person runs */
    const char *fix;
    const char *see_in_vm, *fix_in_vm; /* NULL: the same */
};
extern const struct doctor_words doctor_words[DOCTOR_COUNT];

enum doctor_path {
    DOCTOR_P2P,
    DOCTOR_RDMA,
    DOCTOR_STORAGE,
    DOCTOR_ASYNC,
    DOCTOR_GDRCOPY,
    DOCTOR_PATHS
};

/* What it does when it fails. */
enum doctor_effect {
    EFFECT_NOTED,  /* worth knowing */
    EFFECT_SLOWS,  /* the fast path is taken, and slower than it could be */
    EFFECT_BREAKS, /* another way is taken */
};

enum { DOCTOR_ITEMS = 24, DOCTOR_SENTENCES = 3 };

/* One precondition over all devices of a path: the worst of them. */
struct doctor_item {
    enum doctor_row row;
    enum doctor_effect effect; /* when it fails */
    bool in_a_run;             /* only a run shows it: UNKNOWN, and not judged */
    int holds;                 /* YES, NO, UNKNOWN */
    size_t checked, like_it;   /* how many were looked at, how many are as `holds` says */
    char sentences[DOCTOR_SENTENCES][256]; /* different ones of these */
    size_t sentence_count, more;           /* and how many more different ones there are */
};

struct doctor_result {
    struct doctor_item items[DOCTOR_ITEMS];
    size_t count;
    int holds;    /* NO: something breaks the path; UNKNOWN: something is unknown */
    bool slower;  /* something that fails makes it slower */
    bool no_pair; /* P2P where there is one GPU: it does not apply */
};

struct doctor {
    bool vm;
    struct doctor_result paths[DOCTOR_PATHS];
};

/* Fill *ret_doctor; false without memory. */
bool doctor_examine(const struct facts *facts, struct doctor *ret_doctor);
/* quiet: without what holds, and without what only a run shows. */
void doctor_write(const struct doctor *doctor, bool quiet, FILE *to);
/* Whether any precondition fails that breaks a path or makes it slower. */
bool doctor_found(const struct doctor *doctor);

#endif
