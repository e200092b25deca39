/* driver.h: what the GPU driver and the verbs library say, asked through dlopen.
 *
 * The questions are asked in a child process, which may hang or die; what it said until then is
 * kept. It speaks in lines, which are also what `gdprobe capture` keeps, so that a captured tree
 * answers as the machine did (file gdprobe/driver in the tree):
 *
 *   driver_version 580.159.04
 *   cuda_version 13000
 *   gpu I busid 0000:17:00.0          I counts as nvidia-smi does
 *   gpu I name NVIDIA H200
 *   gpu I sm 90 | memory_B N | bar1_B N | bar1_used_B N
 *   gpu I gdr 0|1 | dmabuf 0|1 | multicast 0|1 | stream_memops 0|1      CUDA attributes
 *   nvlink I TO                       a link that is up, to a bus id, nvswitch or other
 *   nvlinks known                     after the last of them
 *   p2p I J ok | WORDS                NVML: the worse of read and write
 *   peer I J 0|1                      CUDA: access supported
 *   verbs_dmabuf 0|1                  libibverbs has ibv_reg_dmabuf_mr
 *   why nvml|cuda|verbs|gpu|nvlink|p2p WORDS     the reason of what is missing
 */
#ifndef GDPROBE_DRIVER_H
#define GDPROBE_DRIVER_H

#include "probe/pci.h"
#include "probe/sys.h"

enum { DRIVER_GPUS = 64, DRIVER_LINKS = 64, DRIVER_REASONS = 16 };

struct driver_gpu {
    char busid[PCI_BUSID]; /* "": not told */
    char name[64];
    int sm;                                    /* 0: unknown */
    double memory_B, bar1_B, bar1_used_B;      /* negative: unknown */
    int gdr, dmabuf, multicast, stream_memops; /* YES, NO, UNKNOWN */
    /* The links that are up, by where they lead. */
    struct driver_link {
        char to[PCI_BUSID]; /* a GPU's bus id, "nvswitch" or "other" */
        int count;
    } links[DRIVER_LINKS];
    size_t link_count;
};

struct driver {
    char version[32]; /* "": unknown */
    int cuda_version; /* 0: unknown */
    struct driver_gpu gpus[DRIVER_GPUS];
    size_t gpu_count;
    bool nvlinks_known, nvlinks_over;       /* over: more than DRIVER_LINKS of one GPU were told */
    char p2p[DRIVER_GPUS][DRIVER_GPUS][24]; /* "": unknown */
    signed char peer[DRIVER_GPUS][DRIVER_GPUS]; /* YES, NO, UNKNOWN */
    int verbs_dmabuf;
    struct {
        char what[12];
        struct why why;
    } reasons[DRIVER_REASONS];
    size_t reason_count;
    char *text; /* the lines themselves */
};

/* Ask, or read what was captured. Never fails: what is missing has a reason. */
void driver_read(const struct sys *sys, double timeout_s, struct driver *ret_driver);
void driver_free(struct driver *driver);

/* The lines above into *driver; lines that it does not know are skipped. */
void driver_parse(const char *text, struct driver *ret_driver);

/* Why something of nvml, cuda, verbs, gpu, nvlink or p2p is missing. */
const char *driver_why(const struct driver *driver, const char *what);

int driver_find(const struct driver *driver, const char *busid); /* -1: none */

#endif
