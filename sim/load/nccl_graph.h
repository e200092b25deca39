/* nccl_graph.h: what NCCL's search found, from its graph XML (NCCL_GRAPH_DUMP_FILE).
 *
 *   graphs version=1 > graph id pattern nchannels speedintra speedinter latencyinter typeintra
 *                      typeinter samechannels > channel > net, gpu
 *
 * id: 0 ring, 1 tree, 2 CollNet chain, 3 NVLS, 4 CollNetDirect. What the numbers mean is in
 * models/nccl.h; this room knows text only, so kinds of path stay words.
 */
#ifndef GDSIM_LOAD_NCCL_GRAPH_H
#define GDSIM_LOAD_NCCL_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/load/diag.h"

enum {
    NCCL_GRAPH_IDS = 5,
    NCCL_GRAPH_BYTES = 16 << 20, /* largest file */
    NCCL_GRAPH_CHANNELS = 1024,
    NCCL_GRAPH_GBPS = 100000 /* "speeds" beyond are refused */
};

/* One graph, of the XML or of a "Pattern" line of the log. */
struct nccl_graph_row {
    int id;
    int pattern, channels;
    double bw_intra_GBps, bw_inter_GBps, latency_inter_us;
    char type_intra[8], type_inter[8]; /* "NVL", "PHB" */
    bool same_channels;
    int gpus, nets; /* in the first channel: of one node; XML only */
    struct mark mark;
};

struct nccl_graph_file {
    struct nccl_graph_row rows[NCCL_GRAPH_IDS]; /* by id */
    bool present[NCCL_GRAPH_IDS];
};

/* Mistakes go to `diag`, which must outlive *ret_file. */
enum status nccl_graph_read(const char *name, const char *text, size_t length,
                            struct nccl_graph_file *ret_file, struct diag_list *diag);

#endif
