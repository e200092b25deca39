/* nccl_tuning.c: latency and bandwidth of each collective, algorithm and protocol of NCCL. See
 * nccl.h; names of constants as in NVIDIA/nccl at 5067397c, src/graph/tuning.cc. */
#include "models/nccl_protocol.h"

#include <math.h>
#include <string.h>

enum generation { VOLTA, AMPERE, HOPPER, BLACKWELL, GENERATIONS };

#define MAX_LOCAL_COLLNET 8    /* NCCL_MAX_DIRECT_ARITY + 1 */
#define TREE_LL           3.8  /* Simple's rate of a tree over that by LL */
#define SLOW_GBPS         12.0 /* PCI_BW of tuning.cc: up to here a ring takes half the threads */
#define ARITY_US          0.4  /* CollNetDirect: serialisation for each peer of the node */

/* GB/s; columns: one node, two, more. llMaxBws is of the whole communicator, the others of a
 * channel (perChMax...). */
static const double ll_GBps[GENERATIONS][3] = {
    {39.0, 39.0, 20.4}, {87.7, 22.5, 19.0}, {141.0, 45.0, 35.0}, {282.0, 90.0, 70.0}};
static const double ring_ll128_GBps[GENERATIONS][3] = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 36.7}, {40.0, 40.0, 40.0}};
static const double tree_ll128_GBps[GENERATIONS][3] = {
    {20.0, 20.0, 20.0}, {20.0, 20.0, 20.0}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}};
static const double tree_GBps[GENERATIONS][3] = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {38.7, 41.4, 36.0}, {70.0, 42.8, 24.0}};
static const double nvls_tree_GBps[GENERATIONS][3] = {
    {26.5, 18.5, 10.0}, {24.0, 23.6, 17.8}, {0.0, 57.7, 45.5}, {0.0, 96.0, 80.0}};
static const double nvls_share[GENERATIONS] = {0, 0, 0.85, 0.74}; /* nvlsEfficiency */

static enum generation generation_of(int cc)
{
    return cc >= 100 ? BLACKWELL : cc >= 90 ? HOPPER : cc >= 80 ? AMPERE : VOLTA;
}

static int nodes_column(const struct nccl_comm *comm)
{
    return comm->nodes <= 2 ? comm->nodes - 1 : 2;
}

static int floor_log2(int n)
{
    int log = 0;
    while (n >>= 1)
        log++;
    return log;
}

static const struct nccl_graph *graph_of(const struct nccl_comm *comm, enum nccl_algorithm a)
{
    static const enum nccl_search search[NCCL_ALGORITHMS] = {
        [NCCL_TREE] = NCCL_SEARCH_TREE,
        [NCCL_RING] = NCCL_SEARCH_RING,
        [NCCL_COLLNET_DIRECT] = NCCL_SEARCH_COLLNET_DIRECT,
        [NCCL_COLLNET_CHAIN] = NCCL_SEARCH_COLLNET_CHAIN,
        [NCCL_NVLS] = NCCL_SEARCH_NVLS,
        [NCCL_NVLS_TREE] = NCCL_SEARCH_NVLS,
        [NCCL_PAT] = NCCL_SEARCH_TREE,
    };
    return &comm->graphs[search[a]];
}

static bool gathers(enum nccl_collective c)
{
    return c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER;
}

static double per_node(const struct nccl_comm *comm)
{
    return (double)(comm->ranks / comm->nodes);
}

static int local_ranks(const struct nccl_comm *comm)
{
    return comm->max_local_ranks ? comm->max_local_ranks
                                 : (comm->ranks + comm->nodes - 1) / comm->nodes;
}

static int steps_of(const struct nccl_comm *comm, enum nccl_collective c)
{
    int n = comm->ranks;
    return c == NCCL_ALLREDUCE ? 2 * (n - 1) : gathers(c) ? n - 1 : n;
}

/* ---- what exists --------------------------------------------------------------------------- */

/* Why NCCL leaves a cell of its table at 0.0/ 0.0, NULL if it does not. */
static const char *not_in_table(const struct nccl_comm *comm, enum nccl_collective c,
                                enum nccl_algorithm a, enum nccl_protocol p)
{
    if ((c == NCCL_BROADCAST || c == NCCL_REDUCE) && a != NCCL_RING)
        return "broadcast and reduce have the ring only";
    if (gathers(c) && (a == NCCL_TREE || a == NCCL_COLLNET_CHAIN || a == NCCL_NVLS_TREE))
        return "all-gather and reduce-scatter have no such algorithm";
    if (c == NCCL_ALLREDUCE && a == NCCL_PAT)
        return "PAT is for all-gather and reduce-scatter";
    if ((a == NCCL_NVLS || a == NCCL_NVLS_TREE) && p != NCCL_SIMPLE)
        return "NVLS has the Simple protocol only";
    if ((a == NCCL_NVLS || a == NCCL_NVLS_TREE) && graph_of(comm, a)->channels < 2)
        return "the search found no NVLS graph of two channels or more";
    if (a == NCCL_PAT) {
        if (p != NCCL_SIMPLE)
            return "PAT has the Simple protocol only";
        if (comm->version < 22300)
            return "PAT exists since 2.23";
        if (comm->nodes != comm->ranks)
            return "PAT needs one GPU a node";
        if (comm->min_cc < 60 || comm->net_offload)
            return "PAT needs Pascal or later and a network that the host drives";
    }
    return NULL;
}

static const char *no_ll128(const struct nccl_comm *comm, enum nccl_algorithm a)
{
    const struct nccl_graph *graph = graph_of(comm, a);
    bool far = comm->min_cc >= 90 && !comm->no_ll128_pxn;
    if (graph->type_inter > (far ? NCCL_PATH_PXN : NCCL_PATH_PXB))
        return far ? "LL128 needs NICs within PXN" : "LL128 needs NICs within PXB";
    if (graph->type_intra > NCCL_PATH_NVB)
        return "LL128 needs NVLink inside the node";
    if (comm->min_cc != comm->max_cc && comm->min_cc < 90)
        return "LL128 needs GPUs of one compute capability";
    return comm->min_cc < 70 ? "LL128 needs Volta or later" : NULL;
}

/* Why a cell of the table has no bandwidth, though it may have a latency. */
static const char *disabled(const struct nccl_comm *comm, enum nccl_collective c,
                            enum nccl_algorithm a, enum nccl_protocol p)
{
    bool direct = a == NCCL_COLLNET_DIRECT, collnet = direct || a == NCCL_COLLNET_CHAIN;
    if (comm->no_algorithm[c][a])
        return "NCCL_ALGO leaves it out";
    if (comm->no_protocol[c][p])
        return "NCCL_PROTO leaves it out";
    if (a == NCCL_NVLS_TREE && comm->nodes == 1)
        return "NVLSTree is for several nodes";
    if (collnet && !comm->collnet)
        return "CollNet is off (NCCL_COLLNET_ENABLE) or no plugin offers it";
    if (a == NCCL_NVLS && !comm->collnet && comm->nodes > 1)
        return "NVLS between nodes needs CollNet";
    if ((a == NCCL_NVLS || a == NCCL_NVLS_TREE) && nvls_share[generation_of(comm->min_cc)] <= 0)
        return "NVLS needs Hopper or later";
    if (direct && !comm->nvswitch)
        return "CollNetDirect needs an NVSwitch";
    if (collnet && p != NCCL_SIMPLE)
        return "CollNet has the Simple protocol only";
    if (gathers(c) && (direct || a == NCCL_NVLS) && comm->nodes > 1) {
        int heads = comm->heads ? comm->heads : graph_of(comm, a)->channels;
        if (!comm->collnet || !comm->collnet_gather || local_ranks(comm) > heads)
            return "between nodes it needs a plugin that gathers, and a NIC for each GPU";
    }
    if (graph_of(comm, a)->channels == 0)
        return "the search found no graph";
    return p == NCCL_LL128 && !comm->protocol_given[c] ? no_ll128(comm, a) : NULL;
}

const char *nccl_unavailable(const struct nccl_comm *comm, enum nccl_collective c,
                             enum nccl_algorithm a, enum nccl_protocol p)
{
    const char *why = not_in_table(comm, c, a, p);
    if (!why)
        why = disabled(comm, c, a, p);
    if (why)
        return why;
    if ((a == NCCL_COLLNET_DIRECT || a == NCCL_COLLNET_CHAIN) &&
        local_ranks(comm) > MAX_LOCAL_COLLNET)
        return "CollNet needs 8 GPUs a node or fewer";
    if ((a == NCCL_NVLS || a == NCCL_NVLS_TREE) && !comm->nvls)
        return "NVLS is off (NCCL_NVLS_ENABLE) or the GPUs have no multicast";
    return NULL;
}

/* ---- bandwidth ----------------------------------------------------------------------------- */

/* GB/s of one channel under NVLS, which needs channels >= 2. */
static double nvls_channel_GBps(const struct nccl_comm *comm, enum nccl_collective c,
                                enum nccl_algorithm a)
{
    const struct nccl_graph *graph = graph_of(comm, a);
    enum generation gpu = generation_of(comm->min_cc);
    double channels = (double)graph->channels;
    double intra = graph->bw_intra_GBps * nvls_share[gpu] * (channels - 1) / channels;
    double inter = graph->bw_inter_GBps;
    intra *= c == NCCL_ALLREDUCE ? 2 : (per_node(comm) - 1) / per_node(comm);
    if (a == NCCL_NVLS_TREE) {
        if (comm->nodes <= 2)
            inter *= 2;
        inter = fmin(inter, nvls_tree_GBps[gpu][nodes_column(comm)]);
    }
    return fmin(intra, inter);
}

static double tree_bus_GBps(const struct nccl_comm *comm, enum nccl_protocol p, double bus,
                            double ll_most)
{
    const struct nccl_graph *graph = graph_of(comm, NCCL_TREE);
    enum generation gpu = generation_of(comm->min_cc);
    int column = nodes_column(comm);
    double channels = (double)graph->channels;
    bus = fmin(0.92 * bus, channels * tree_GBps[gpu][column]);
    if (p == NCCL_LL)
        bus = fmin(bus / TREE_LL, ll_most);
    if (p == NCCL_LL128)
        bus = fmin(bus * (comm->nodes == 1 ? NCCL_TREE_LL128 : 120.0 / 128.0),
                   channels * tree_ll128_GBps[gpu][column]);
    return graph->pattern == NCCL_PATTERN_TREE ? 0.85 * bus : bus;
}

static double collnet_direct_bus_GBps(const struct nccl_comm *comm, enum nccl_collective c,
                                      double bus)
{
    const struct nccl_graph *graph = graph_of(comm, NCCL_COLLNET_DIRECT);
    if (gathers(c))
        return per_node(comm) * fmin(graph->bw_intra_GBps, 0.9 * graph->bw_inter_GBps);
    double factor = per_node(comm) / (double)graph->channels; /* GPUs a NIC */
    factor -= (factor - 1) / 2;
    return bus / factor * (comm->min_cc >= 90 ? 0.85 : 1);
}

static double bandwidth_GBps(const struct nccl_comm *comm, enum nccl_collective c,
                             enum nccl_algorithm a, enum nccl_protocol p)
{
    const struct nccl_graph *graph = graph_of(comm, a);
    enum generation gpu = generation_of(comm->min_cc);
    int column = nodes_column(comm);
    bool collnet = a == NCCL_COLLNET_DIRECT || a == NCCL_COLLNET_CHAIN;
    double channels = (double)graph->channels;
    double channel = comm->nodes <= 2 || collnet ? graph->bw_intra_GBps : graph->bw_inter_GBps;
    if (a == NCCL_NVLS || a == NCCL_NVLS_TREE)
        channel = nvls_channel_GBps(comm, c, a);
    double bus = channels * channel;
    /* The row of the GPU on one node; between nodes that of the CPU. */
    int row = comm->nodes == 1                                           ? (int)gpu
              : comm->cpu == NCCL_CPU_AMD || comm->cpu == NCCL_CPU_MIXED ? 1
                                                                         : 0;
    double ll_most = ll_GBps[row][column];
    if (a == NCCL_RING && p == NCCL_LL)
        bus = fmin(ll_most, 0.5 * bus);
    if (a == NCCL_RING && p == NCCL_LL128)
        bus = fmin(0.92 * bus, channels * ring_ll128_GBps[gpu][column]);
    if (a == NCCL_TREE)
        bus = tree_bus_GBps(comm, p, bus, ll_most);
    if (a == NCCL_PAT)
        bus *= 0.75;
    if (a == NCCL_COLLNET_DIRECT)
        bus = collnet_direct_bus_GBps(comm, c, bus);
    if (a == NCCL_RING || a == NCCL_NVLS || a == NCCL_NVLS_TREE)
        return a != NCCL_RING && gathers(c) ? bus : bus * comm->ranks / steps_of(comm, c);
    return gathers(c) ? bus : 0.5 * bus;
}

double nccl_tree_channel_GBps(int cc, int nodes, enum nccl_protocol protocol)
{
    enum generation gpu = generation_of(cc);
    int column = nodes <= 2 ? nodes - 1 : 2;
    double bus = protocol == NCCL_LL128 ? tree_ll128_GBps[gpu][column] : tree_GBps[gpu][column];
    return 0.25 * (protocol == NCCL_LL ? bus / TREE_LL : bus);
}

/* ---- latency ------------------------------------------------------------------------------- */

static double intra_us(const struct nccl_comm *comm, enum nccl_hardware hardware,
                       enum nccl_algorithm a, enum nccl_protocol p)
{
    if (comm->cpu == NCCL_CPU_POWER && hardware == NCCL_HW_PCI && a == NCCL_TREE &&
        p == NCCL_SIMPLE)
        a = NCCL_RING;
    return nccl_hop_us(hardware, a, p);
}

static double ring_us(const struct nccl_comm *comm, enum nccl_collective c, enum nccl_protocol p,
                      enum nccl_hardware inside, double inter)
{
    int steps = steps_of(comm, c);
    if (c == NCCL_BROADCAST || c == NCCL_REDUCE) {
        enum nccl_hardware hardware = comm->nodes == 1 ? inside : NCCL_HW_NET;
        if (graph_of(comm, NCCL_RING)->same_channels)
            return intra_us(comm, hardware, NCCL_RING, p);
        return steps * intra_us(comm, hardware, p == NCCL_SIMPLE ? NCCL_TREE : NCCL_RING, p);
    }
    int between = c == NCCL_ALLREDUCE ? 2 * (comm->nodes - 1) : comm->nodes - 1;
    double intra = intra_us(comm, inside, NCCL_RING, p);
    if (comm->nodes > 1) {
        double post = comm->net_overhead_us >= 0  ? comm->net_overhead_us
                      : comm->cpu == NCCL_CPU_AMD ? 2.0
                                                  : 1.0;
        intra = fmax(intra, nccl_posts(p) * post);
    }
    return (steps - between) * intra + between * inter;
}

static double latency_us(const struct nccl_comm *comm, enum nccl_collective c,
                         enum nccl_algorithm a, enum nccl_protocol p)
{
    const struct nccl_graph *graph = graph_of(comm, a);
    enum nccl_hardware inside = graph->type_intra == NCCL_PATH_NVL ? NCCL_HW_NVLINK : NCCL_HW_PCI;
    double peers = per_node(comm) - 1, levels = floor_log2(comm->nodes);
    double intra = intra_us(comm, inside, a, p);
    /* With one GPU a node the network is fully exposed: the tree's value for all. */
    double inter = nccl_hop_us(NCCL_HW_NET, peers < 1 ? NCCL_TREE : a, p) +
                   graph->latency_inter_us * (p == NCCL_SIMPLE ? 2 : 1); /* Simple: and the flush */
    switch (a) {
    case NCCL_RING:
        return nccl_base_us(a, p) + ring_us(comm, c, p, inside, inter);
    case NCCL_TREE:
        return nccl_base_us(a, p) + 2 * (peers * intra + levels * inter);
    case NCCL_COLLNET_DIRECT:
        return nccl_base_us(a, p) + 2 * (fmin(1, peers) * intra + peers * ARITY_US) + inter;
    case NCCL_COLLNET_CHAIN:
        return nccl_base_us(a, p) + 2 * peers * intra + inter;
    case NCCL_NVLS:
        return intra + (comm->nodes > 1 ? inter : 0);
    case NCCL_NVLS_TREE:
        return nccl_base_us(a, p) + intra + 2 * levels * inter;
    case NCCL_PAT:
        return nccl_base_us(a, p) + levels * (inter / 3.5) + comm->ranks * 2.8;
    default:
        return 0;
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

static void tune_threads(const struct nccl_comm *comm, struct nccl_tuning *tuning)
{
    const struct nccl_graph *ring = &comm->graphs[NCCL_SEARCH_RING];
    bool slow = ring->bw_intra_GBps * ring->channels <= SLOW_GBPS;
    for (int a = 0; a < NCCL_ALGORITHMS; a++) {
        bool plain = a == NCCL_TREE || a == NCCL_RING;
        int *threads = tuning->threads[a], *thresholds = tuning->thresholds[a];
        threads[NCCL_LL] = plain ? 512 : 0;
        threads[NCCL_LL128] = plain ? 640 : 0;
        threads[NCCL_SIMPLE] = plain ? 512 : a == NCCL_PAT ? 0 : 640;
        thresholds[NCCL_LL] = a == NCCL_RING ? 8 * comm->ranks : 8;
        thresholds[NCCL_LL128] = 8;
        thresholds[NCCL_SIMPLE] = a == NCCL_COLLNET_DIRECT || a == NCCL_COLLNET_CHAIN ? 512 : 64;
    }
    if (slow)
        tuning->threads[NCCL_RING][NCCL_SIMPLE] = 256;
}

void nccl_tune(const struct nccl_comm *comm, struct nccl_tuning *tuning)
{
    memset(tuning, 0, sizeof *tuning);
    tune_threads(comm, tuning);
    for (int i = 0; i < NCCL_COLLECTIVES * NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++) {
        int p = i % NCCL_PROTOCOLS, a = i / NCCL_PROTOCOLS % NCCL_ALGORITHMS,
            c = i / NCCL_PROTOCOLS / NCCL_ALGORITHMS;
        struct nccl_cell *cell = &tuning->cells[c][a][p];
        if (not_in_table(comm, (enum nccl_collective)c, (enum nccl_algorithm)a,
                         (enum nccl_protocol)p))
            continue;
        cell->latency_us = latency_us(comm, (enum nccl_collective)c, (enum nccl_algorithm)a,
                                      (enum nccl_protocol)p);
        if (!disabled(comm, (enum nccl_collective)c, (enum nccl_algorithm)a, (enum nccl_protocol)p))
            cell->bandwidth_GBps = bandwidth_GBps(comm, (enum nccl_collective)c,
                                                  (enum nccl_algorithm)a, (enum nccl_protocol)p);
    }
}
