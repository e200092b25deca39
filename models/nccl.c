/* nccl.c: NCCL's names, its choice for a size, and the channels and threads that work on it. See
 * nccl.h; the table of latencies and bandwidths is in nccl_tuning.c. */
#include "models/nccl.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "models/nccl_protocol.h"

#define WARP             32
#define THREADS_MOST     640
#define TRAFFIC_LEAST_B  (UINT64_C(16) << 10) /* MinTrafficPerChannel, enqueue.cc */
#define NVLS_CHUNK_B     (128 * 1024.0)       /* NCCL_NVLS_CHUNKSIZE */
#define OPS_A_BATCH      4                    /* NCCL_MAX_DEV_WORK_BATCH_COLLS */
#define TREE_CORRECTED   23                   /* NCCL stops one before its table's end */
#define NVTREE_CORRECTED 24

/* By what differs between versions: rows from old to new, the last that is not newer holds. */
static const struct {
    int since;
    int channels_most; /* MAXCHANNELS */
} versions[] = {
    {0, 32},
    {22500, 64},
};

/* treeCorrectionFactor, from 64 B on, doubling. */
static const double tree_correction[NCCL_PROTOCOLS][24] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/* ---- names --------------------------------------------------------------------------------- */

static const char *const collective_names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter",
                                               "AllReduce"};
static const char *const algorithm_names[] = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
static const char *const protocol_names[] = {"LL", "LL128", "Simple"};
static const char *const path_names[] = {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB",
                                         "P2C", "PXN", "PHB", "SYS", "NET", "DIS"};

const char *nccl_collective_name(enum nccl_collective collective)
{
    return collective_names[collective];
}

const char *nccl_algorithm_name(enum nccl_algorithm algorithm)
{
    return algorithm_names[algorithm];
}

const char *nccl_protocol_name(enum nccl_protocol protocol)
{
    return protocol_names[protocol];
}

const char *nccl_path_name(enum nccl_path path)
{
    return path_names[path];
}

static bool same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_')
            a++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

/* The place of `name` in the list, or the place it says; -1: none. */
static int find(const char *name, const char *const *names, int count, bool numbers)
{
    if (numbers && isdigit((unsigned char)name[0]) && !name[1])
        return name[0] - '0' < count ? name[0] - '0' : -1;
    for (int i = 0; i < count; i++)
        if (same_word(name, names[i]))
            return i;
    return -1;
}

bool nccl_collective_find(const char *name, enum nccl_collective *ret)
{
    int i = find(name, collective_names, NCCL_COLLECTIVES, false);
    if (i >= 0)
        *ret = (enum nccl_collective)i;
    return i >= 0;
}

bool nccl_algorithm_find(const char *name, enum nccl_algorithm *ret)
{
    int i = find(name, algorithm_names, NCCL_ALGORITHMS, true);
    if (i >= 0)
        *ret = (enum nccl_algorithm)i;
    return i >= 0;
}

bool nccl_protocol_find(const char *name, enum nccl_protocol *ret)
{
    int i = find(name, protocol_names, NCCL_PROTOCOLS, true);
    if (i >= 0)
        *ret = (enum nccl_protocol)i;
    return i >= 0;
}

bool nccl_path_find(const char *name, enum nccl_path *ret)
{
    int i = find(name, path_names, NCCL_PATHS, false);
    if (i >= 0)
        *ret = (enum nccl_path)i;
    return i >= 0;
}

int nccl_gpu_cc(const char *name)
{
    /* Compute capability by product (developer.nvidia.com/cuda-gpus). */
    static const struct {
        const char *word;
        int cc;
    } gpus[] = {{"P100", 60},  {"V100", 70},   {"T4", 75},    {"A100", 80},  {"A800", 80},
                {"A30", 80},   {"A10G", 86},   {"A10", 86},   {"A40", 86},   {"A6000", 86},
                {"L40S", 89},  {"L40", 89},    {"L4", 89},    {"L20", 89},   {"H100", 90},
                {"H200", 90},  {"H800", 90},   {"H20", 90},   {"GH200", 90}, {"B100", 100},
                {"B200", 100}, {"GB200", 100}, {"B300", 103}, {"GB300", 103}};
    for (const char *at = name; *at;) {
        size_t length = strcspn(at, " -_/");
        for (size_t i = 0; i < sizeof gpus / sizeof gpus[0]; i++)
            if (strlen(gpus[i].word) == length && strncmp(gpus[i].word, at, length) == 0)
                return gpus[i].cc;
        at += length;
        at += strspn(at, " -_/");
    }
    return 0;
}

/* ---- NCCL_ALGO and NCCL_PROTO ---------------------------------------------------------------- */

/* The place of a word among the names; -1: none. */
static int find_word(const char *word, size_t length, const char *const *names, int count)
{
    char copy[24];
    if (length == 0 || length >= sizeof copy)
        return -1;
    memcpy(copy, word, length);
    copy[length] = '\0';
    return find(copy, names, count, false);
}

/* One part of such a list, "allreduce:^tree,nvls": off[collective * count + name]. */
static bool restrict_part(const char *part, size_t length, const char *const *names, int count,
                          bool *off, bool *given)
{
    const char *colon = memchr(part, ':', length), *end = part + length;
    int only =
        colon ? find_word(part, (size_t)(colon - part), collective_names, NCCL_COLLECTIVES) : -1;
    if (colon && only < 0)
        return false;
    const char *list = colon ? colon + 1 : part;
    bool without = list < end && *list == '^';
    bool named[NCCL_ALGORITHMS] = {false};
    for (const char *at = list + without;; at++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        int place = find_word(at, (size_t)(stop - at), names, count);
        if (place < 0)
            return false;
        named[place] = true;
        at = stop;
        if (!comma)
            break;
    }
    for (int c = only < 0 ? 0 : only; c <= (only < 0 ? NCCL_COLLECTIVES - 1 : only); c++) {
        given[c] = true;
        for (int i = 0; i < count; i++)
            off[c * count + i] = named[i] == without;
    }
    return true;
}

static bool restrict_all(const char *text, const char *const *names, int count, bool *off,
                         bool *given)
{
    for (const char *at = text; at; at++) {
        size_t length = strcspn(at, ";");
        if (!restrict_part(at, length, names, count, off, given))
            return false;
        at += length;
        if (!*at)
            break;
    }
    return true;
}

bool nccl_restrict(struct nccl_comm *comm, const char *algorithms, const char *protocols)
{
    struct nccl_comm changed = *comm;
    bool unused[NCCL_COLLECTIVES];
    if (!restrict_all(algorithms, algorithm_names, NCCL_ALGORITHMS, changed.no_algorithm[0],
                      unused) ||
        !restrict_all(protocols, protocol_names, NCCL_PROTOCOLS, changed.no_protocol[0],
                      changed.protocol_given))
        return false;
    *comm = changed;
    return true;
}

/* ---- graphs and channels -------------------------------------------------------------------- */

void nccl_graph_worst(struct nccl_graph *graph, const struct nccl_graph *other)
{
    if (other->channels < graph->channels)
        graph->channels = other->channels;
    if (other->pattern > graph->pattern) /* maxTreePattern */
        graph->pattern = other->pattern;
    if (other->bw_intra_GBps < graph->bw_intra_GBps)
        graph->bw_intra_GBps = other->bw_intra_GBps;
    if (other->bw_inter_GBps < graph->bw_inter_GBps)
        graph->bw_inter_GBps = other->bw_inter_GBps;
    if (other->latency_inter_us > graph->latency_inter_us)
        graph->latency_inter_us = other->latency_inter_us;
    if (other->type_intra > graph->type_intra)
        graph->type_intra = other->type_intra;
    if (other->type_inter > graph->type_inter)
        graph->type_inter = other->type_inter;
    graph->same_channels = graph->same_channels && other->same_channels;
}

int nccl_channels(const struct nccl_comm *comm)
{
    if (comm->channels)
        return comm->channels;
    int most = 0;
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++)
        if (comm->version >= versions[i].since)
            most = versions[i].channels_most;
    const struct nccl_graph *ring = &comm->graphs[NCCL_SEARCH_RING];
    const struct nccl_graph *tree = &comm->graphs[NCCL_SEARCH_TREE];
    int channels = 2 * (tree->channels < ring->channels ? tree->channels : ring->channels);
    if (channels > most)
        channels = most;
    if (comm->min_cc >= 90 && comm->nodes > 1 && ring->bw_intra_GBps > 45 && channels < 16)
        channels *= 2;
    return comm->channel_limit && comm->channel_limit < channels ? comm->channel_limit : channels;
}

int nccl_nvls_channels(const struct nccl_comm *comm)
{
    if (comm->nvls_channels || !comm->nvls)
        return comm->nvls_channels;
    return comm->min_cc >= 100 ? (comm->nodes > 1 ? 32 : 24) : 16;
}

/* ---- time and choice ------------------------------------------------------------------------ */

static int floor_log2_u64(uint64_t n)
{
    int log = -1;
    for (; n; n >>= 1)
        log++;
    return log;
}

double nccl_time_us(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                    enum nccl_collective c, enum nccl_algorithm a, enum nccl_protocol p,
                    uint64_t bytes, int ops)
{
    const struct nccl_cell *cell = &tuning->cells[c][a][p];
    double bandwidth = cell->bandwidth_GBps, latency = cell->latency_us;
    if (!(bandwidth > 0))
        return -1;
    int size = floor_log2_u64(bytes >> 6);
    bool x86 = comm->cpu == NCCL_CPU_INTEL || comm->cpu == NCCL_CPU_AMD;
    int corrected = c != NCCL_ALLREDUCE                                 ? 0
                    : a == NCCL_TREE                                    ? TREE_CORRECTED
                    : a == NCCL_NVLS_TREE && comm->min_cc >= 100 && x86 ? NVTREE_CORRECTED
                                                                        : 0;
    if (size >= 0 && size < corrected)
        bandwidth *= tree_correction[p][size];
    uint64_t parts = (uint64_t)nccl_channels(comm) * (uint64_t)comm->ranks;
    if (a == NCCL_RING && p == NCCL_SIMPLE && comm->nodes > 1 && c == NCCL_ALLREDUCE && parts > 0 &&
        bytes / parts >= 64)
        latency *= comm->min_cc < 80 ? 1.9 : 1.4; /* plateau effect of the ring */
    int launches = a == NCCL_RING ? ops : (ops + OPS_A_BATCH - 1) / OPS_A_BATCH;
    return latency * launches + (double)bytes / (1000 * bandwidth);
}

static int collnet_heads(const struct nccl_comm *comm)
{
    return comm->heads ? comm->heads : comm->graphs[NCCL_SEARCH_COLLNET_DIRECT].channels;
}

static double per_node(const struct nccl_comm *comm)
{
    return (double)(comm->ranks / comm->nodes);
}

/* Chunks of a message that are under way at once: of each channel one, or one for each head. */
static double lines_of(const struct nccl_comm *comm, const struct nccl_choice *choice)
{
    const enum nccl_algorithm a = choice->algorithm;
    double heads = a == NCCL_COLLNET_DIRECT                ? collnet_heads(comm)
                   : a == NCCL_NVLS || a == NCCL_NVLS_TREE ? comm->graphs[NCCL_SEARCH_NVLS].channels
                                                           : 1;
    return choice->channels * fmax(heads, 1);
}

/* NVLS over several nodes by less than 150 GB/s. */
static bool slow_nvls(const struct nccl_comm *comm)
{
    struct nccl_tuning tuning;
    nccl_tune(comm, &tuning);
    return tuning.cells[NCCL_ALLREDUCE][NCCL_NVLS][NCCL_SIMPLE].bandwidth_GBps < 150;
}

/* Halve a chunk while it is above `above` and the message has fewer than `loops` of it on every
 * channel and head. */
static double halved(double chunk_B, double above_B, double loops, double bytes, double lines)
{
    while (chunk_B > above_B && floor(bytes / (lines * chunk_B)) < loops)
        chunk_B /= 2;
    return chunk_B;
}

/* In one step to `to_B`. */
static double lowered(double chunk_B, double to_B, double loops, double bytes, double lines)
{
    return chunk_B > to_B && bytes < loops * lines * chunk_B ? to_B : chunk_B;
}

double nccl_chunk_B(const struct nccl_comm *comm, const struct nccl_choice *choice, double bytes)
{
    const enum nccl_algorithm a = choice->algorithm;
    const double local = per_node(comm), levels = floor_log2_u64((uint64_t)comm->nodes);
    const bool plain = a == NCCL_TREE || a == NCCL_RING;
    const double slot_B = nccl_slot_B(plain ? choice->protocol : NCCL_SIMPLE), KiB = 1024;
    double lines = lines_of(comm, choice), chunk_B, depth;
    switch (a) {
    case NCCL_TREE:
        if (choice->protocol == NCCL_LL)
            return slot_B;
        if (choice->protocol == NCCL_LL128) {
            depth = (1 + levels + 0.1 * local) / local;
            chunk_B = halved(slot_B, 128 * KiB, 64 * depth, bytes, lines);
            return halved(chunk_B, 32 * KiB, 16 * depth, bytes, lines);
        }
        depth = local - 1 + levels;
        chunk_B = halved(slot_B, 128 * KiB, 8 * depth, bytes, lines);
        chunk_B = halved(chunk_B, 64 * KiB, 4 * depth, bytes, lines);
        return halved(chunk_B, 32 * KiB, depth, bytes, lines);
    case NCCL_COLLNET_DIRECT:
    case NCCL_COLLNET_CHAIN:
        depth = a == NCCL_COLLNET_CHAIN ? local : 1 + (local > 1);
        chunk_B = a == NCCL_COLLNET_CHAIN ? slot_B / 2 : slot_B;
        chunk_B = halved(chunk_B, 128 * KiB, 64 * depth, bytes, lines);
        chunk_B = halved(chunk_B, 64 * KiB, 8 * depth, bytes, lines);
        return halved(chunk_B, 32 * KiB, (a == NCCL_COLLNET_CHAIN ? 1 : 8) * depth, bytes, lines);
    case NCCL_NVLS:
        chunk_B = comm->nodes > 1 && slow_nvls(comm) ? 32 * KiB : NVLS_CHUNK_B;
        chunk_B = lowered(chunk_B, 64 * KiB, 64, bytes, lines);
        chunk_B = lowered(chunk_B, 32 * KiB, 8, bytes, lines);
        return lowered(chunk_B, 16 * KiB, 2, bytes, lines);
    case NCCL_NVLS_TREE:
        chunk_B = comm->nodes >= 4 ? 64 * KiB : slot_B;
        chunk_B = lowered(chunk_B, 256 * KiB, 32, bytes, lines);
        chunk_B = lowered(chunk_B, 128 * KiB, 16, bytes, lines);
        chunk_B = lowered(chunk_B, 64 * KiB, 4, bytes, lines);
        return lowered(chunk_B, 32 * KiB, 1, bytes, lines);
    default:
        return slot_B;
    }
}

double nccl_loop_B(const struct nccl_comm *comm, const struct nccl_choice *choice, double bytes)
{
    return lines_of(comm, choice) * nccl_chunk_B(comm, choice, bytes);
}

/* Step (1) of nccl.h. */
static void shed(const struct nccl_comm *comm, const struct nccl_tuning *tuning, uint64_t bytes,
                 struct nccl_choice *choice)
{
    enum nccl_algorithm a = choice->algorithm;
    uint64_t channels = (uint64_t)nccl_channels(comm);
    uint64_t threads = (uint64_t)tuning->threads[a][choice->protocol];
    uint64_t threshold = (uint64_t)tuning->thresholds[a][choice->protocol];
    bool nvls = a == NCCL_NVLS || a == NCCL_NVLS_TREE;
    if (nvls) {
        uint64_t own = (uint64_t)nccl_nvls_channels(comm);
        channels = a == NCCL_NVLS && comm->nodes > 1 && channels < own ? channels : own;
    } else if (a == NCCL_COLLNET_DIRECT) {
        uint64_t heads = (uint64_t)collnet_heads(comm);
        for (uint64_t floor = 16; floor >= 1; floor /= 2) {
            while (channels > floor && bytes < channels * threads * heads * threshold) {
                if (channels == floor + floor / 2)
                    threshold /= 2;
                channels--;
            }
            if (bytes >= channels * threads * heads * threshold)
                break;
        }
    } else {
        while (channels >= 2 && bytes < channels * threads * threshold)
            channels--;
        while (bytes < channels * threads * threshold && threads % 128 == 0)
            threads /= 2;
    }
    if (choice->protocol == NCCL_SIMPLE && a == NCCL_RING)
        threads += WARP; /* one that synchronises */
    if (threads < 3 * WARP)
        threads = 3 * WARP;
    if (a == NCCL_TREE || a == NCCL_PAT)
        threads = THREADS_MOST;
    choice->channels_most = (int)channels;
    choice->threads = (int)threads;
}

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Step (2) of nccl.h: scheduleCollTasksToPlan for one task, of `count_B` as the caller counts. */
static int fill_cells(enum nccl_collective c, int ranks, bool ll, uint64_t count_B, int most,
                      int limit)
{
    uint64_t per_byte = c == NCCL_ALLREDUCE                              ? 2
                        : c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER ? (uint64_t)ranks
                                                                         : 1;
    if (ll)
        per_byte *= 4;
    uint64_t traffic = count_B * per_byte;
    if (traffic < TRAFFIC_LEAST_B)
        traffic = TRAFFIC_LEAST_B;
    uint64_t of_channel = traffic / (uint64_t)most;
    if (of_channel < TRAFFIC_LEAST_B)
        of_channel = TRAFFIC_LEAST_B;
    uint64_t cell_B = ceil_div(ceil_div(TRAFFIC_LEAST_B, per_byte), 16) * 16;
    uint64_t cells = ceil_div(count_B, cell_B);
    uint64_t each = ceil_div(of_channel, cell_B * per_byte);
    if (each > cells || limit == 1)
        each = cells;
    uint64_t channels = ceil_div(cells, each);
    return channels > (uint64_t)limit ? limit : (int)channels;
}

void nccl_spread(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                 enum nccl_collective c, uint64_t bytes, struct nccl_choice *choice)
{
    enum nccl_algorithm a = choice->algorithm;
    bool nvls = a == NCCL_NVLS || a == NCCL_NVLS_TREE;
    shed(comm, tuning, bytes, choice);
    choice->channels = choice->channels_most;
    bool collnet =
        a == NCCL_COLLNET_DIRECT || a == NCCL_COLLNET_CHAIN || (a == NCCL_NVLS && comm->nodes > 1);
    if (collnet || choice->channels_most < 1)
        return; /* CollNet takes all of them */
    uint64_t count_B = c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER
                           ? ceil_div(bytes, (uint64_t)comm->ranks)
                           : bytes;
    choice->channels =
        fill_cells(c, comm->ranks, choice->protocol == NCCL_LL, count_B, choice->channels_most,
                   nvls ? nccl_nvls_channels(comm) : nccl_channels(comm));
}

bool nccl_choose_among(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                       enum nccl_collective c, const enum nccl_algorithm *algorithm,
                       const enum nccl_protocol *protocol, uint64_t bytes,
                       struct nccl_choice *ret_choice)
{
    struct nccl_choice best = {.time_us = -1};
    for (int i = 0; i < NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++) {
        enum nccl_algorithm a = (enum nccl_algorithm)(i / NCCL_PROTOCOLS);
        enum nccl_protocol p = (enum nccl_protocol)(i % NCCL_PROTOCOLS);
        if ((algorithm && a != *algorithm) || (protocol && p != *protocol) ||
            nccl_unavailable(comm, c, a, p))
            continue;
        double time = nccl_time_us(comm, tuning, c, a, p, bytes, 1);
        if (time < 0 || (best.time_us >= 0 && time >= best.time_us))
            continue;
        best = (struct nccl_choice){.algorithm = a, .protocol = p, .time_us = time};
    }
    if (best.time_us < 0)
        return false;
    nccl_spread(comm, tuning, c, bytes, &best);
    *ret_choice = best;
    return true;
}

bool nccl_choose(const struct nccl_comm *comm, const struct nccl_tuning *tuning,
                 enum nccl_collective c, uint64_t bytes, struct nccl_choice *ret_choice)
{
    return nccl_choose_among(comm, tuning, c, NULL, NULL, bytes, ret_choice);
}
