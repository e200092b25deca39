/* nccl_tuning.h: what an NCCL log says of its own cost model.
 *
 * NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING prints, among much else:
 *
 *   NCCL version 2.28.3+cuda13.0                                            version
 *   ... comm 0x.. rank 0 nranks 2 .. commId 0x.. - Init START               which communicator
 *   CPU/0-0 (1/1/4)                                                         arch, vendor, model
 *   Pattern 4, crossNic 0, nChannels 12, bw 30/30, type NVL/PIX, sameChannels 1
 *   comm 0x.. rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0
 *   threadThresholds 8/8/64 | 16/8/64 | 512 | 512
 *   24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, ..
 *   Algorithm | Protocol | Max NThreads | AllReduce .. |  7.8/ 141.0 | ..   its table, three
 *                                                                           algorithms a block
 *   AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}      what it chose
 *
 * nccl-tests adds "#  Rank 0 .. NVIDIA H200". Lines of several ranks are mixed; a line belongs to
 * the thread that its prefix "host:pid:tid [gpu] NCCL INFO" names. Choices carry no communicator,
 * so in a log of several nobody knows whose they are. Other lines are not looked at. Names stay
 * words here: the models give them meaning.
 */
#ifndef GDSIM_LOAD_NCCL_TUNING_H
#define GDSIM_LOAD_NCCL_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/load/nccl_graph.h"

enum { NCCL_LOG_BYTES = 1 << 30, NCCL_LOG_COMMS = 64, NCCL_LOG_WORD = 20 };

struct nccl_log_cell {
    char collective[NCCL_LOG_WORD], algorithm[NCCL_LOG_WORD], protocol[NCCL_LOG_WORD];
    double latency_us, bandwidth_GBps; /* as printed: one decimal */
    uint32_t line;
};

struct nccl_log_threads {
    char algorithm[NCCL_LOG_WORD], protocol[NCCL_LOG_WORD];
    int threads;
};

struct nccl_log_choice {
    char collective[NCCL_LOG_WORD], algorithm[NCCL_LOG_WORD], protocol[NCCL_LOG_WORD];
    uint64_t bytes;
    int lo, hi; /* channels; -1: older versions do not say */
    uint32_t line;
};

struct nccl_log_comm {
    char id[24];                   /* commId; "": not said */
    int ranks, nodes, local_ranks; /* local_ranks: of the fullest node; 0: not said */
    struct nccl_graph_row *graphs; /* of every rank */
    size_t graph_count;
    struct nccl_log_cell *cells;
    size_t cell_count;
    struct nccl_log_threads *threads;
    size_t threads_count;
    int thresholds[8]; /* tree LL, LL128, Simple; ring; CollNetDirect; CollNetChain */
    bool has_thresholds;
    int channels, nvls_channels; /* -1: not said */
};

struct nccl_log {
    int version;              /* 22803; 0: not said */
    char gpu[64];             /* "NVIDIA H200"; "": not said */
    int cpu_arch, cpu_vendor; /* NCCL's numbers; 0: not said; -1: they differ */
    bool nvswitch;
    int collnet_enable, ll128_c2c; /* NCCL_COLLNET_ENABLE, NCCL_LL128_C2C; -1: not set */
    double net_overhead_us;        /* NCCL_NET_OVERHEAD; -1: not set */
    char algo[64], proto[64];      /* NCCL_ALGO, NCCL_PROTO; "": not set */
    struct nccl_log_comm comms[NCCL_LOG_COMMS];
    size_t comm_count;
    struct nccl_log_choice *choices; /* each said once, in order */
    size_t choice_count;
};

/* Whether the text is a log of NCCL at all. */
bool nccl_log_is(const char *text);

/* Mistakes go to `diag`, which must outlive the log. *ret_log is for nccl_log_free. */
enum status nccl_log_read(const char *name, const char *text, size_t length,
                          struct nccl_log **ret_log, struct diag_list *diag);
void nccl_log_free(struct nccl_log *log);

#endif
