/* nccl_search.h: what NCCL's graph search finds on a node that is the same all round, in short.
 *
 *   a channel passes every GPU of the node once: n channels of s GB/s need n s of every GPU's link
 *   ring : over s, from fast to slow down to half the first that fits: most n s
 *            n = min(floor(link / s), NICs * floor(nic / s))          between nodes, else the first
 *          channels are split in two where s >= 25 (from Hopper on: s >= 50, or n <= 4)
 *   tree : as many channels as the ring; the largest s with  n s <= link * g/(g-1)
 *          between nodes also  n s <= NICs * nic,  intra up to twice inter
 *   NVLS : a channel for each GPU; the largest s with  g s <= link,  inter up to twice that
 *
 * g = GPUs of a node; link = GB/s of one GPU, one direction, as NCCL counts: NVLinks times 20
 * (V100, A100), 20.6 (H100), 40.1 (B200), or PCIe, 12 for x16 of Gen3, 24, 48, 96, over 1.2 where
 * an Intel root complex is passed; s = one of NCCL's speeds.
 *
 * Source: NVIDIA/nccl at 5067397c (2.30.7), src/graph/search.cc and topo.h, as restated in our
 * notes. The order of the search and the limits on a ring's channels are from our knowledge of that
 * file. Checked against the graphs of two H200: NVLink (12 of 30, tree 12 of 60), host memory (2 of
 * 20, tree 2 of 40), sockets with one GPU a node (1 of 1.2, tree 1 of 2.4/1.2).
 *
 * Assumptions: every GPU looks the same; every NIC serves its own GPUs; nothing but the links of
 * GPUs and NICs limits (no shared PCIe uplink, no link between sockets). NCCL searches the real
 * graph: where its graph XML is known, take that.
 */
#ifndef GDSIM_MODELS_NCCL_SEARCH_H
#define GDSIM_MODELS_NCCL_SEARCH_H

#include "models/nccl.h"

struct nccl_node {
    int nodes, gpus, nics;
    int cc;                 /* compute capability times 10 */
    double nvlink_GBps;     /* of one GPU; 0: no NVLink between all of them */
    double pci_GBps;        /* of the slowest GPU's link; 0: unknown, as no limit */
    double nic_GBps;        /* of the slowest NIC, its PCIe link counted */
    enum nccl_path gpu_gpu; /* the farthest */
    enum nccl_path gpu_nic;
    bool intel, nvswitch;
};

/* GB/s of NVLinks with so many bytes per second of payload: NCCL counts links. */
double nccl_nvlink_GBps(int cc, double rate_Bps);

/* How many links those are. */
int nccl_nvlinks(int cc, double rate_GBps);

/* GB/s of a PCIe link. */
double nccl_pci_GBps(int gen, int width);

/* Fills comm->graphs; those of CollNet as if a plugin offered it. */
void nccl_search(const struct nccl_node *node, struct nccl_graph ret_graphs[NCCL_SEARCHES]);

#endif
