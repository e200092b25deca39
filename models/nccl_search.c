/* nccl_search.c: see nccl_search.h. */
#include "models/nccl_search.h"

#include <math.h>
#include <string.h>

#define SPEEDS        20
#define CHANNELS_MOST 32  /* of a search: half of MAXCHANNELS */
#define INTEL_P2P     1.2 /* INTEL_P2P_OVERHEAD: 64 B packets through the root complex */

/* speedArrayIntra, Inter and so on: GB/s of a channel, ending in 0. Those of Blackwell below 40 are
 * taken from Hopper. */
static const double intra_old[SPEEDS] = {40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3};
static const double inter_old[SPEEDS] = {48, 30, 28, 24, 20, 18, 15,  12,  10,
                                         9,  7,  6,  5,  4,  3,  2.4, 1.2, .24};
static const double intra_hopper[SPEEDS] = {60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3};
static const double inter_hopper[SPEEDS] = {48,   45, 42, 40, 30, 24,  22,  20,
                                            17.5, 15, 12, 6,  3,  2.4, 1.2, .24};
static const double intra_blackwell[SPEEDS] = {90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18};
static const double inter_blackwell[SPEEDS] = {96, 86, 80,   48, 45.1, 42, 40, 30,  24,
                                               22, 20, 17.5, 15, 12,   6,  3,  2.4, 1.2};

static const double *speeds_of(const struct nccl_node *node)
{
    bool inter = node->nodes > 1;
    if (node->cc >= 100)
        return inter ? inter_blackwell : intra_blackwell;
    if (node->cc >= 90)
        return inter ? inter_hopper : intra_hopper;
    return inter ? inter_old : intra_old;
}

struct nvlink {
    int cc; /* from here on */
    double GBps;
    int most;
};

static const struct nvlink *nvlink_of(int cc)
{
    static const struct nvlink gpus[] = {{100, 40.1, 18}, {90, 20.6, 18}, {86, 12, 4},
                                         {80, 20, 12},    {70, 20, 6},    {0, 18, 4}};
    size_t i = 0;
    while (cc < gpus[i].cc)
        i++;
    return &gpus[i];
}

double nccl_nvlink_GBps(int cc, double rate_Bps)
{
    const struct nvlink *nvlink = nvlink_of(cc);
    /* What was measured is a little less than the links are good for. */
    double links = ceil(rate_Bps / 1e9 / nvlink->GBps - 0.05);
    return nvlink->GBps * fmin(fmax(links, 1), nvlink->most);
}

int nccl_nvlinks(int cc, double rate_GBps)
{
    return (int)lround(rate_GBps / nvlink_of(cc)->GBps);
}

double nccl_pci_GBps(int gen, int width)
{
    static const double lane[] = {0, 15, 30, 60, 120, 240, 480, 960}; /* 100 Mb/s a lane */
    return width * lane[gen < 1 ? 1 : gen > 7 ? 7 : gen] / 80;
}

/* GB/s of one GPU towards the others. */
static double link_GBps(const struct nccl_node *node)
{
    if (node->gpus == 1)
        return (double)INFINITY;
    if (node->nvlink_GBps > 0)
        return node->nvlink_GBps;
    double pci = node->pci_GBps > 0 ? node->pci_GBps : (double)INFINITY;
    return node->intel && node->gpu_gpu >= NCCL_PATH_PHB ? pci / INTEL_P2P : pci;
}

static double floor_near(double x)
{
    return floor(x + 1e-9); /* 48 / 1.2 / 20 is 2 */
}

/* Channels of s GB/s that fit. */
static int channels_of(const struct nccl_node *node, double s)
{
    double n = floor_near(link_GBps(node) / s);
    if (node->nodes > 1)
        n = fmin(n, node->nics * floor_near(node->nic_GBps / s));
    return (int)fmin(n, CHANNELS_MOST);
}

static void search_ring(const struct nccl_node *node, struct nccl_graph *ring)
{
    const double *speeds = speeds_of(node);
    double best = 0;
    for (int i = 0; speeds[i] > 0; i++) {
        int n = channels_of(node, speeds[i]);
        if (ring->channels > 0 && speeds[i] / ring->bw_inter_GBps <= 0.49)
            break;
        if (n < 1 || n * speeds[i] <= best * (1 + 1e-9))
            continue;
        best = n * speeds[i];
        ring->channels = n;
        ring->bw_intra_GBps = ring->bw_inter_GBps = speeds[i];
    }
    bool split = ring->bw_intra_GBps >= 25 &&
                 (node->cc <= 80 || ring->bw_intra_GBps >= 50 || ring->channels <= 4);
    if (!split || ring->channels == 0)
        return;
    int twice = 2 * ring->channels < CHANNELS_MOST ? 2 * ring->channels : CHANNELS_MOST;
    double parts = ceil((double)twice / ring->channels);
    ring->channels = twice;
    ring->bw_intra_GBps /= parts;
    ring->bw_inter_GBps /= parts;
}

/* The fastest speed of which `channels` fit into `total` GB/s, at most `most`; 0: none. */
static double speed_that_fits(const struct nccl_node *node, int channels, double total, double most)
{
    const double *speeds = speeds_of(node);
    for (int i = 0; speeds[i] > 0; i++)
        if (speeds[i] <= most * (1 + 1e-9) && channels * speeds[i] <= total * (1 + 1e-9))
            return speeds[i];
    return 0;
}

/* As many channels as are given, between nodes by the NICs, intra up to twice that. */
static void search_fixed(const struct nccl_node *node, int channels, double link,
                         struct nccl_graph *graph)
{
    double inter = (double)INFINITY;
    graph->channels = channels;
    if (node->nodes > 1)
        graph->bw_inter_GBps = inter =
            speed_that_fits(node, channels, node->nics * node->nic_GBps, node->nic_GBps);
    graph->bw_intra_GBps = speed_that_fits(node, channels, link, 2 * inter);
    if (node->nodes == 1)
        graph->bw_inter_GBps = graph->bw_intra_GBps;
    if (!(graph->bw_intra_GBps > 0) || !(graph->bw_inter_GBps > 0))
        graph->channels = 0;
}

void nccl_search(const struct nccl_node *node, struct nccl_graph ret_graphs[NCCL_SEARCHES])
{
    struct nccl_graph *graphs = ret_graphs;
    struct nccl_graph *ring = &graphs[NCCL_SEARCH_RING], *nvls = &graphs[NCCL_SEARCH_NVLS];
    bool one = node->gpus == 1;
    memset(graphs, 0, NCCL_SEARCHES * sizeof *graphs);
    search_ring(node, ring);
    double tree_link = one ? (double)INFINITY : link_GBps(node) * node->gpus / (node->gpus - 1);
    search_fixed(node, ring->channels, tree_link, &graphs[NCCL_SEARCH_TREE]);
    graphs[NCCL_SEARCH_TREE].pattern = one ? NCCL_PATTERN_TREE : NCCL_PATTERN_BALANCED_TREE;
    if (node->nodes > 1) {
        search_fixed(node, ring->channels, tree_link, &graphs[NCCL_SEARCH_COLLNET_CHAIN]);
        graphs[NCCL_SEARCH_COLLNET_CHAIN].pattern = NCCL_PATTERN_TREE;
        search_fixed(node, node->nics, link_GBps(node), &graphs[NCCL_SEARCH_COLLNET_DIRECT]);
        graphs[NCCL_SEARCH_COLLNET_DIRECT].pattern = NCCL_PATTERN_COLLNET_DIRECT;
    }
    if (node->nvswitch && node->cc >= 90 && node->gpus > 1) {
        nvls->channels = node->gpus;
        nvls->bw_intra_GBps = speed_that_fits(node, node->gpus, link_GBps(node), (double)INFINITY);
        nvls->bw_inter_GBps =
            node->nodes > 1
                ? speed_that_fits(node, node->gpus, node->nics * node->nic_GBps, node->nic_GBps)
                : speed_that_fits(node, 1, (double)INFINITY, 2 * nvls->bw_intra_GBps);
        nvls->pattern = NCCL_PATTERN_NVLS;
    }
    ring->pattern = NCCL_PATTERN_RING;
    for (int id = 0; id < NCCL_SEARCHES; id++) {
        struct nccl_graph *graph = &graphs[id];
        if (graph->channels == 0) {
            memset(graph, 0, sizeof *graph);
            continue;
        }
        graph->type_intra = one ? NCCL_PATH_LOC : node->gpu_gpu;
        graph->type_inter = node->nodes > 1 ? node->gpu_nic : NCCL_PATH_PIX;
        graph->same_channels = id == NCCL_SEARCH_RING || one;
    }
}
