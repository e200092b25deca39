/* nccl.h: NCCL's own cost model: which algorithm, protocol and channels it takes for a size.
 *
 *   time  = latency * ops + bytes / (1000 bandwidth)            us, bytes, GB/s
 *   ring  : latency = base + (s - x) max(intra, post) + x inter
 *           bandwidth = n/s f(channels * bw)
 *   tree  : latency = base + 2 ((n/N - 1) intra + floor(log2 N) inter)
 *           bandwidth = 1/2 f(channels * bw);  times c(protocol, log2(bytes/64)) when it is timed
 *   choice: the least time of what exists; the first in NCCL's order where two are equal
 *
 * n = ranks, N = nodes, s = steps: 2(n-1) for all-reduce, n-1 for all-gather and reduce-scatter, n
 * else; x = steps between nodes: 2(N-1) or N-1, none on one node; intra, inter = latency of a hop
 * by hardware, algorithm and protocol; post = what posting to the network costs, on several nodes;
 * f = share and ceiling of the protocol; c = a table. CollNet, NVLS and PAT: nccl_tuning.c.
 * Channels, bw and the kind of path come from NCCL's search, which prints them ("Pattern ..."
 * lines, graph XML).
 *
 * bytes is what one GPU holds when all is there: of an all-gather or reduce-scatter the whole
 * array. Units are NCCL's, us and GB/s = 10^9 bytes/s, so that what is printed can be laid beside
 * its table.
 *
 * Channels for a size, in two steps. (1) While bytes < channels * threads * threshold, a channel is
 * dropped; at one channel, threads are halved. (2) The work is cut into cells that carry 16 KiB of
 * traffic, and every channel takes the same whole number of cells; so the last may stay idle.
 *
 * Chunk: what a channel hands on at once. A loop moves channels * heads * chunk bytes (heads: of
 * CollNetDirect and NVLS; else 1). It begins at c and gets smaller while there are fewer loops:
 *
 *                  c          128 KiB     64 KiB   32 KiB   while fewer than so many loops, halved
 *   tree, Simple   slot       8 d         4 d      d        d = g - 1 + log2 N
 *   tree, LL128    slot       64 d        -        16 d     d = (1 + log2 N + g/10)/g
 *   CollNetDirect  slot       64 d        8 d      8 d      d = 2 (1 with one GPU a node)
 *   CollNetChain   256 KiB    64 d        8 d      d        d = g
 *   NVLS           128 KiB    -           64       8        in one step; 16 KiB: 2
 *   NVLSTree       slot       16          4        1        in one step; 256 KiB: 32
 *
 * N nodes of g GPUs. Halved: until it is at most what stands above. NVLS over several nodes by less
 * than 150 GB/s begins at 32 KiB, NVLSTree over 4 and more nodes at 64 KiB. The ring takes slots.
 *
 * Source: NVIDIA/nccl at 5067397c (2.30.7), src/graph/tuning.cc, src/enqueue.cc and
 * src/graph/connect.cc, as restated in our notes. Step (2), what NCCL_ALGO does, channels of
 * CollNet and NVLS, and the chunks of CollNetDirect, of trees and of NVLSTree are from our
 * knowledge of src/enqueue.cc since 2.22, not from those notes. Checked against logs of two H200
 * (libraries 2.28.3 and 2.28.9; NVLS and CollNet off) over NVLink, SHM and sockets: 8 tables of 105
 * cells (5 of them different) and 1284 choices with their channels, of all five collectives, come
 * out without exception. No constant of 2.30.7 had to be changed. What two ranks cannot show stands
 * unchecked: NVLS and CollNet bandwidth, other GPUs, more than two nodes, latency of the NIC and of
 * posting, threads other than the maximum.
 *
 * Assumptions: NCCL computes in float, this in double: where a cell lies on a rounding edge or two
 * times are equal to 7 digits the answer may differ. One collective at a time, not a group of many.
 * As many ranks on each node. Not modelled: tuner plugins, fp8's guard, registered buffers,
 * NCCL_NTHREADS and thresholds that were set.
 */
#ifndef GDSIM_MODELS_NCCL_H
#define GDSIM_MODELS_NCCL_H

#include <stdbool.h>
#include <stdint.h>

/* In the order of NCCL's table. */
enum nccl_collective {
    NCCL_BROADCAST,
    NCCL_REDUCE,
    NCCL_ALLGATHER,
    NCCL_REDUCESCATTER,
    NCCL_ALLREDUCE,
    NCCL_COLLECTIVES
};

enum nccl_algorithm {
    NCCL_TREE,
    NCCL_RING,
    NCCL_COLLNET_DIRECT,
    NCCL_COLLNET_CHAIN,
    NCCL_NVLS,
    NCCL_NVLS_TREE,
    NCCL_PAT,
    NCCL_ALGORITHMS
};

enum nccl_protocol { NCCL_LL, NCCL_LL128, NCCL_SIMPLE, NCCL_PROTOCOLS };

/* Searches, by their id in the graph XML. NVLS_TREE takes that of NVLS, PAT that of the tree. */
enum nccl_search {
    NCCL_SEARCH_RING,
    NCCL_SEARCH_TREE,
    NCCL_SEARCH_COLLNET_CHAIN,
    NCCL_SEARCH_NVLS,
    NCCL_SEARCH_COLLNET_DIRECT,
    NCCL_SEARCHES
};

/* As in "Pattern p". */
enum nccl_pattern {
    NCCL_PATTERN_BALANCED_TREE = 1,
    NCCL_PATTERN_SPLIT_TREE,
    NCCL_PATTERN_TREE,
    NCCL_PATTERN_RING,
    NCCL_PATTERN_NVLS,
    NCCL_PATTERN_COLLNET_DIRECT
};

/* Kinds of path from near to far. P2C is since 2.27; the order of the others never changed. */
enum nccl_path {
    NCCL_PATH_LOC,
    NCCL_PATH_NVL,
    NCCL_PATH_NVB,
    NCCL_PATH_C2C,
    NCCL_PATH_PIX,
    NCCL_PATH_PXB,
    NCCL_PATH_P2C,
    NCCL_PATH_PXN,
    NCCL_PATH_PHB,
    NCCL_PATH_SYS,
    NCCL_PATH_NET,
    NCCL_PATH_DIS,
    NCCL_PATHS
};

enum nccl_cpu { NCCL_CPU_INTEL, NCCL_CPU_AMD, NCCL_CPU_POWER, NCCL_CPU_MIXED, NCCL_CPU_OTHER };

/* What a search found. All zero: no such graph. */
struct nccl_graph {
    int pattern; /* enum nccl_pattern */
    int channels;
    double bw_intra_GBps, bw_inter_GBps; /* of a channel */
    enum nccl_path type_intra, type_inter;
    double latency_inter_us; /* not in the log, only in the XML; 0 for IB and sockets */
    bool same_channels;
};

/* A communicator. The graphs are the worst of all ranks (nccl_graph_worst). */
struct nccl_comm {
    int version; /* 22803 is 2.28.3 */
    int ranks, nodes;
    int max_local_ranks; /* of the fullest node; 0: ranks / nodes */
    int min_cc, max_cc;  /* compute capability times 10: 90 is Hopper */
    enum nccl_cpu cpu;
    double net_overhead_us; /* < 0: by the CPU */
    bool collnet;           /* NCCL_COLLNET_ENABLE=1 and a plugin that can */
    bool collnet_gather;    /* the plugin offers iallgather and ireducescatter */
    int heads; /* NICs a node that CollNet uses; 0: as many as the graph has channels */
    bool nvswitch;
    bool nvls;         /* multicast found and not disabled */
    bool net_offload;  /* the network is not driven by the host: no PAT */
    bool no_ll128_pxn; /* NCCL_LL128_C2C=0 */
    int channel_limit; /* NCCL_MAX_CTAS, NCCL_MAX_NCHANNELS; 0: none */
    int channels;      /* known from the log; 0: nccl_channels() */
    int nvls_channels; /* known from the log; 0: nccl_nvls_channels() */
    /* By NCCL_ALGO and NCCL_PROTO, see nccl_restrict(). */
    bool no_algorithm[NCCL_COLLECTIVES][NCCL_ALGORITHMS];
    bool no_protocol[NCCL_COLLECTIVES][NCCL_PROTOCOLS];
    bool protocol_given[NCCL_COLLECTIVES]; /* then LL128 wherever it is told, fit or not */
    struct nccl_graph graphs[NCCL_SEARCHES];
};

struct nccl_cell {
    double latency_us, bandwidth_GBps; /* of the algorithm: bytes over time */
};

/* What NCCL prints as its table. bandwidth 0: does not exist. */
struct nccl_tuning {
    struct nccl_cell cells[NCCL_COLLECTIVES][NCCL_ALGORITHMS][NCCL_PROTOCOLS];
    int threads[NCCL_ALGORITHMS][NCCL_PROTOCOLS];    /* Max NThreads */
    int thresholds[NCCL_ALGORITHMS][NCCL_PROTOCOLS]; /* bytes a thread below which fewer work */
};

struct nccl_choice {
    enum nccl_algorithm algorithm;
    enum nccl_protocol protocol;
    double time_us;
    int channels_most; /* after step (1) */
    int channels;      /* after step (2): channel{Lo..Hi} is 0 .. channels - 1 */
    int threads;       /* of each channel, with the warps that synchronise */
};

/* ---- names --------------------------------------------------------------------------------- */

/* As NCCL's table prints them: "AllReduce", "CollNetDirect", "LL128", "PHB". */
const char *nccl_collective_name(enum nccl_collective collective);
const char *nccl_algorithm_name(enum nccl_algorithm algorithm);
const char *nccl_protocol_name(enum nccl_protocol protocol);
const char *nccl_path_name(enum nccl_path path);

/* From a name in any case, with or without '_', or a number as old logs have; false: no such. */
bool nccl_collective_find(const char *name, enum nccl_collective *ret);
bool nccl_algorithm_find(const char *name, enum nccl_algorithm *ret);
bool nccl_protocol_find(const char *name, enum nccl_protocol *ret);
bool nccl_path_find(const char *name, enum nccl_path *ret);

/* Compute capability times 10 of "NVIDIA H200"; 0: not known. */
int nccl_gpu_cc(const char *name);

/* ---- the model ----------------------------------------------------------------------------- */

/* Lay what another rank found on *graph: fewest channels, least bw, farthest path. */
void nccl_graph_worst(struct nccl_graph *graph, const struct nccl_graph *other);

/* Channels of the communicator, from what ring and tree search found: two a searched channel, four
 * on fast Hopper nodes, at most 64 (32 before 2.25). */
int nccl_channels(const struct nccl_comm *comm);
/* Hopper 16; Blackwell 24 on one node, else 32; 0 without NVLS. */
int nccl_nvls_channels(const struct nccl_comm *comm);

/* Lay NCCL_ALGO and NCCL_PROTO on it, as in "ring,tree", "^ll128" or
 * "allreduce:tree;broadcast:ring"; NULL: not set. False, and nothing done, where a word is none
 * that NCCL knows. */
bool nccl_restrict(struct nccl_comm *comm, const char *algorithms, const char *protocols);

/* The whole table. ranks >= nodes >= 1, ranks >= 2, equally many on each node. */
void nccl_tune(const struct nccl_comm *comm, struct nccl_tuning *ret_tuning);

/* NULL if NCCL may choose it, else why it cannot: "LL128 needs NVLink inside the node". */
const char *nccl_unavailable(const struct nccl_comm *comm, enum nccl_collective collective,
                             enum nccl_algorithm algorithm, enum nccl_protocol protocol);

/* Time of `ops` collectives of `bytes` in one launch; -1 for what does not exist. */
double nccl_time_us(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                    enum nccl_collective collective, enum nccl_algorithm algorithm,
                    enum nccl_protocol protocol, uint64_t bytes, int ops);

/* What NCCL takes for one collective of `bytes` > 0. False: nothing exists. */
bool nccl_choose(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                 enum nccl_collective collective, uint64_t bytes, struct nccl_choice *ret_choice);

/* The same where the algorithm or the protocol is given; NULL: any. */
bool nccl_choose_among(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                       enum nccl_collective collective, const enum nccl_algorithm *algorithm,
                       const enum nccl_protocol *protocol, uint64_t bytes,
                       struct nccl_choice *ret_choice);

/* Channels and threads of an algorithm and protocol that is given; fills those three fields. */
void nccl_spread(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                 enum nccl_collective collective, uint64_t bytes, struct nccl_choice *choice);

/* GB/s of the message that one of the communicator's channels moves at most in a tree over several
 * nodes: a quarter of the ceiling of a searched channel, which stands for two and is halved for the
 * algorithm. Inside one node two H200 moved 1.5 times as much by Simple, 1.1 by LL128. */
double nccl_tree_channel_GBps(int cc, int nodes, enum nccl_protocol protocol);

/* Payload in a chunk of one channel (for one head), with which a step begins and ends: by size,
 * algorithm and protocol, at most a slot. */
double nccl_chunk_B(const struct nccl_comm *comm, const struct nccl_choice *choice, double bytes);

/* Bytes of the message in one loop: a chunk of all channels and heads. */
double nccl_loop_B(const struct nccl_comm *comm, const struct nccl_choice *choice, double bytes);

#endif
