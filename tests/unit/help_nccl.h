/* help_nccl.h: communicators for tests of NCCL's model. */
#ifndef GDSIM_TESTS_HELP_NCCL_H
#define GDSIM_TESTS_HELP_NCCL_H

#include "models/nccl.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)

/* A communicator whose graphs are all alike, over NVLink, NICs behind one bridge. */
static inline struct nccl_comm plain(int ranks, int nodes, int cc, int channels, double bw)
{
    struct nccl_comm comm = {.version = 23007,
                             .ranks = ranks,
                             .nodes = nodes,
                             .min_cc = cc,
                             .max_cc = cc,
                             .net_overhead_us = -1,
                             .nvswitch = true,
                             .collnet = true,
                             .nvls = true};
    static const int patterns[] = {NCCL_PATTERN_RING, NCCL_PATTERN_BALANCED_TREE, NCCL_PATTERN_TREE,
                                   NCCL_PATTERN_NVLS, NCCL_PATTERN_COLLNET_DIRECT};
    for (int i = 0; i < NCCL_SEARCHES; i++)
        comm.graphs[i] = (struct nccl_graph){.pattern = patterns[i],
                                             .channels = channels,
                                             .bw_intra_GBps = bw,
                                             .bw_inter_GBps = bw,
                                             .type_intra = NCCL_PATH_NVL,
                                             .type_inter = NCCL_PATH_PIX,
                                             .same_channels = true};
    return comm;
}

#endif
