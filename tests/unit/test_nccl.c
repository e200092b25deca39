/* test_nccl.c: models/nccl against NCCL's formula by hand and against NCCL itself: the tables and
 * choices that NCCL 2.28.3 and 2.28.9 printed on two H200, over NVLink, SHM and sockets
 * (tests/data/h200x2/nccl-*.log); and the readers of logs and graph XML. */
#include "models/nccl.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/load/file.h"
#include "sim/load/nccl_tuning.h"
#include "tests/unit/help_core.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)
#define KIB (UINT64_C(1) << 10)

/* A communicator whose graphs are all alike, over NVLink, NICs behind one bridge. */
static struct nccl_comm plain(int ranks, int nodes, int cc, int channels, double bw)
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

/* ---- the formula ---------------------------------------------------------------------------- */

/* Latency is that of the table; where `plateau` is not 1 the time takes it times that. */
struct oracle {
    struct nccl_comm comm;
    enum nccl_collective c;
    enum nccl_algorithm a;
    enum nccl_protocol p;
    uint64_t bytes;
    double latency, plateau, algbw, time;
};

static void printed(const char *what, size_t row, double actual, double expected, int digits)
{
    char a[64], e[64];
    snprintf(a, sizeof a, "%.*f", digits, actual);
    snprintf(e, sizeof e, "%.*f", digits, expected);
    if (strcmp(a, e) != 0)
        fail_msg("row %zu, %s: %s, expected %s", row, what, a, e);
}

static void check_oracle(const struct oracle *row, size_t i)
{
    struct nccl_tuning tuning;
    nccl_tune(&row->comm, &tuning);
    const struct nccl_cell *cell = &tuning.cells[row->c][row->a][row->p];
    printed("latency", i, cell->latency_us * row->plateau, row->latency, 3);
    double time = nccl_time_us(&row->comm, &tuning, row->c, row->a, row->p, row->bytes, 1);
    printed("time", i, time, row->time, 3);
    /* What the time took for bandwidth: with the tree's correction. */
    printed("bandwidth", i, (double)row->bytes / 1000 / (time - row->latency), row->algbw, 4);
    assert_null(nccl_unavailable(&row->comm, row->c, row->a, row->p));
}

/* Bytes in one loop of CollNet over 2 nodes of 8 GPUs, 8 heads: channels * heads * chunk. */
static void loops_of_collnet(void **state)
{
    (void)state;
    struct nccl_comm sixteen = plain(16, 2, 100, 8, 48), single = plain(8, 8, 90, 8, 48);
    sixteen.heads = 8;
    single.heads = 1;
    static const struct {
        enum nccl_algorithm algorithm;
        bool one_a_node;
        int channels;
        double bytes, loop;
    } rows[] = {
        /* 11 * 8 * 512 KiB = 44 MiB: no loop; 128 KiB: 1 < 128; 64 KiB: 2 < 16; 32 KiB: 5, the
           least */
        {NCCL_COLLNET_DIRECT, false, 11, 16 * MIB, 11 * 8 * 32 * KIB},
        /* 16 * 8 * 512 KiB = 64 MiB: 16 loops < 64 * 2; 256 KiB: 32; 128 KiB: 64 >= 8 * 2 */
        {NCCL_COLLNET_DIRECT, false, 16, GIB, 16 * 8 * 128 * KIB},
        /* depth 1: 16 * 512 KiB = 8 MiB: 128 loops >= 64 */
        {NCCL_COLLNET_DIRECT, true, 16, GIB, 16 * 512 * KIB},
        /* chain, depth 8: 16 * 256 KiB = 4 MiB: 256 < 64 * 8; 128 KiB: 512 */
        {NCCL_COLLNET_CHAIN, false, 16, GIB, 16 * 128 * KIB},
        /* 4 MiB: 1 < 512; 128 KiB: 2 < 64; 64 KiB: 4 < 8; 32 KiB: 8 */
        {NCCL_COLLNET_CHAIN, false, 16, 4 * MIB, 16 * 32 * KIB},
        {NCCL_RING, false, 16, GIB, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nccl_choice choice = {.algorithm = rows[i].algorithm, .channels = rows[i].channels};
        double loop = nccl_loop_B(rows[i].one_a_node ? &single : &sixteen, &choice, rows[i].bytes);
        if (loop != rows[i].loop)
            fail_msg("row %zu: %.0f, not %.0f", i, loop, rows[i].loop);
    }
}

static void oracle_rows(void **state)
{
    (void)state;
    struct nccl_comm one16 = plain(8, 1, 90, 16, 20), one24 = plain(8, 1, 90, 24, 15);
    struct nccl_comm nvls = plain(8, 1, 90, 8, 40), eight = plain(8, 8, 80, 2, 12);
    struct nccl_comm pat = plain(8, 8, 90, 2, 24), four8 = plain(32, 4, 90, 8, 40);
    struct nccl_comm four16 = plain(32, 4, 90, 16, 20);
    nvls.graphs[NCCL_SEARCH_NVLS].bw_inter_GBps = 60;
    eight.cpu = NCCL_CPU_AMD;
    const struct oracle rows[] = {
        /* 8 ranks, 1 node: 14 steps of 3.4 us: 8.4 + 14*3.4 = 56; 16*20 = 320 GB/s * 8/14. */
        {one16, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, GIB, 56.000, 1, 182.8571, 5928.026},
        /* 6.6 + 14*.6 = 15; min(141, 320/2) = 141 * 8/14. */
        {one16, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 8 * KIB, 15.000, 1, 80.5714, 15.102},
        /* 40*.85*7/8*2 = 59.5 < 60 a channel; 8*59.5 = 476 * 8/14. */
        {nvls, NCCL_ALLREDUCE, NCCL_NVLS, NCCL_SIMPLE, GIB, 25.000, 1, 272.0000, 3972.580},
        /* 24*15 = 360 * 8/14. Our notes say 5275.567, against their own latency and bandwidth:
         * 2^30 * 14/8 / 360e3 = 5219.578, and 56. */
        {one24, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, GIB, 56.000, 1, 205.7143, 5275.578},
        /* 8 ranks on 8 nodes: all 14 steps on the wire, one GPU a node so at the tree's 14 us:
         * 8.4 + 14*14 = 204.4, times 1.4; 24 * 8/14. */
        {eight, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, GIB, 286.160, 1.4, 13.7143, 78579.835},
        /* 8.4 + 2*3*14 = 92.4; min(.92*24, 2*17.8) = 22.08 / 2 * .5 (1 MiB: i = 14). */
        {eight, NCCL_ALLREDUCE, NCCL_TREE, NCCL_SIMPLE, MIB, 92.400, 1, 5.5200, 282.359},
        /* 6.8 + 2*3*5 = 36.8; 22.08/3.8 = 5.8105 / 2 * .9 (1 KiB: i = 4). */
        {eight, NCCL_ALLREDUCE, NCCL_TREE, NCCL_LL, KIB, 36.800, 1, 2.6147, 37.192},
        /* 6.6 + 14*5 = 76.6; 12 * 8/14. */
        {eight, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, KIB, 76.600, 1, 6.8571, 76.749},
        /* no neighbours in the node: 14 alone; 24 / 2. */
        {eight, NCCL_ALLREDUCE, NCCL_COLLNET_CHAIN, NCCL_SIMPLE, 64 * MIB, 14.000, 1, 12.0000,
         5606.405},
        /* 8 + 3*14/3.5 + 8*2.8 = 42.4; 48 * .75. */
        {pat, NCCL_ALLGATHER, NCCL_PAT, NCCL_SIMPLE, MIB, 42.400, 1, 36.0000, 71.527},
        /* 25 + 2*2*20.9 = 108.6; min(59.5, 40, 45.5) = 40 * 8 = 320 * 32/62. */
        {four8, NCCL_ALLREDUCE, NCCL_NVLS_TREE, NCCL_SIMPLE, GIB, 108.600, 1, 165.1613, 6609.771},
        /* 62 steps, 6 between nodes: 8.4 + 56*3.4 + 6*14 = 282.8, times 1.4; 320 * 32/62. */
        {four16, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, GIB, 395.920, 1.4, 165.1613, 6897.091},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        check_oracle(&rows[i], i);
}

static void bandwidth_rules(void **state)
{
    (void)state;
    struct nccl_tuning tuning;
    /* 4 nodes of 8, 4 channels of 50: CollNetDirect f = 8/4 = 2, 2 - 1/2 = 1.5: 200/1.5*.85/2;
     * gathers: 8 * min(50, .9*50) = 360, only with a plugin that gathers and 8 heads. */
    struct nccl_comm comm = plain(32, 4, 90, 4, 50);
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_COLLNET_DIRECT][NCCL_SIMPLE].bandwidth_GBps,
                200 / 1.5 * 0.85 / 2, 1e-12);
    assert_near(tuning.cells[NCCL_ALLGATHER][NCCL_COLLNET_DIRECT][NCCL_SIMPLE].bandwidth_GBps, 0,
                0);
    comm.collnet_gather = true;
    comm.heads = 8;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLGATHER][NCCL_COLLNET_DIRECT][NCCL_SIMPLE].bandwidth_GBps, 360,
                1e-12);
    /* 2*(3.7 + 7*.4) + 31 = 44. */
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_COLLNET_DIRECT][NCCL_SIMPLE].latency_us, 44,
                1e-12);
    /* The row of the CPU holds for LL between nodes: Intel 20.4, AMD 19, not Hopper's 35. */
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_LL].bandwidth_GBps, 20.4 * 32 / 62,
                1e-12);
    comm.cpu = NCCL_CPU_AMD;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_LL].bandwidth_GBps, 19.0 * 32 / 62,
                1e-12);
    /* Posting costs an AMD host 3 * 2 us a step, more than NVLink's 3.4: 8.4 + 56*6 + 6*14. */
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_SIMPLE].latency_us, 428.4, 1e-12);
    comm.net_overhead_us = 0;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_SIMPLE].latency_us, 282.8, 1e-12);
    /* The latency of the NIC counts once for LL and twice, with the flush, for Simple. */
    comm.graphs[NCCL_SEARCH_TREE].latency_inter_us = 2;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_TREE][NCCL_LL].latency_us,
                6.8 + 2 * (7 * 0.6 + 2 * (5 + 2)), 1e-12);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_TREE][NCCL_SIMPLE].latency_us,
                8.4 + 2 * (7 * 4 + 2 * (14 + 4)), 1e-12);
    /* Rings that differ between channels: every step counts, Simple at the tree's 4 us. */
    comm = plain(8, 1, 90, 16, 20);
    comm.graphs[NCCL_SEARCH_RING].same_channels = false;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_BROADCAST][NCCL_RING][NCCL_LL].latency_us, 6.6 + 8 * 0.6, 1e-12);
    assert_near(tuning.cells[NCCL_BROADCAST][NCCL_RING][NCCL_SIMPLE].latency_us, 8.4 + 8 * 4,
                1e-12);
    /* POWER: the tree over PCI at the ring's 5.7 us. */
    comm.graphs[NCCL_SEARCH_TREE].type_intra = NCCL_PATH_PHB;
    comm.cpu = NCCL_CPU_POWER;
    nccl_tune(&comm, &tuning);
    assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_TREE][NCCL_SIMPLE].latency_us, 8.4 + 2 * 7 * 5.7,
                1e-12);
}

/* The tables of our notes (facts 1.2, 1.1) once more, so that no digit of them slips: with 1000
 * GB/s a channel every ceiling binds. */
static void ceilings(void **state)
{
    (void)state;
    static const struct {
        int cc, nodes;
        double ll, ring_ll128, tree_ll128, tree, nvls_tree;
    } rows[] = {
        {70, 1, 39, 20, 20, 26.5, 0},      {70, 2, 39, 20, 20, 18.5, 0},
        {70, 3, 20.4, 20, 20, 10, 0},      {80, 1, 87.7, 20, 20, 24, 0},
        {80, 2, 39, 20, 20, 23.6, 0},      {80, 3, 20.4, 20, 20, 17.8, 0},
        {90, 1, 141, 36.7, 36.7, 38.7, 0}, {90, 2, 39, 36.7, 36.7, 41.4, 57.7},
        {90, 3, 20.4, 36.7, 29, 36, 45.5}, {100, 1, 282, 40, 55.6, 70, 0},
        {100, 2, 39, 40, 31.67, 42.8, 96}, {100, 3, 20.4, 40, 20, 24, 80},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int nodes = rows[i].nodes, n = 8 * nodes;
        double ring = n / (2.0 * (n - 1)); /* all-reduce */
        struct nccl_comm comm = plain(n, nodes, rows[i].cc, 2, 1000);
        struct nccl_tuning tuning;
        nccl_tune(&comm, &tuning);
        struct nccl_cell(*cells)[NCCL_PROTOCOLS] = tuning.cells[NCCL_ALLREDUCE];
        double tree128 = 2 * rows[i].tree * (nodes == 1 ? 7.0 / 9 : 120.0 / 128);
        assert_near(cells[NCCL_RING][NCCL_LL].bandwidth_GBps, rows[i].ll * ring, 1e-12);
        assert_near(cells[NCCL_RING][NCCL_LL128].bandwidth_GBps, 2 * rows[i].ring_ll128 * ring,
                    1e-12);
        assert_near(cells[NCCL_TREE][NCCL_SIMPLE].bandwidth_GBps, rows[i].tree, 1e-12);
        assert_near(cells[NCCL_TREE][NCCL_LL128].bandwidth_GBps,
                    fmin(tree128, 2 * rows[i].tree_ll128) / 2, 1e-12);
        assert_near(cells[NCCL_NVLS_TREE][NCCL_SIMPLE].bandwidth_GBps, 2 * rows[i].nvls_tree * ring,
                    1e-12);
        comm.cpu = NCCL_CPU_AMD; /* between nodes the CPU has the say */
        nccl_tune(&comm, &tuning);
        double ll = nodes == 1 ? rows[i].ll : nodes == 2 ? 22.5 : 19;
        assert_near(cells[NCCL_RING][NCCL_LL].bandwidth_GBps, ll * ring, 1e-12);
    }
    /* NVLS on one node: 40 * share * 1/2 * 2 a channel, two of them. */
    for (int cc = 90; cc <= 100; cc += 10) {
        struct nccl_comm comm = plain(8, 1, cc, 2, 40);
        struct nccl_tuning tuning;
        nccl_tune(&comm, &tuning);
        assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_NVLS][NCCL_SIMPLE].bandwidth_GBps,
                    80 * (cc == 90 ? 0.85 : 0.74) * 8 / 14, 1e-12);
    }
}

static void tree_correction(void **state)
{
    (void)state;
    static const char *const rows[NCCL_PROTOCOLS] = {
        "1 1 1 1 .9 .8 .7 .7 .7 .7 .6 .5 .4 .4 .5 .6 .7 .8 .9 1 1 1 1",
        "1 1 1 1 1 .9 .8 .8 .8 .7 .6 .6 .6 .6 .6 .6 .8 .9 .9 .9 .9 1 1",
        ".9 .9 .9 .9 .9 .9 .9 .8 .7 .6 .6 .5 .5 .5 .5 .6 .7 .8 .7 .7 .8 .9 .9",
    };
    struct nccl_comm comm = plain(8, 1, 90, 16, 20);
    struct nccl_tuning tuning;
    nccl_tune(&comm, &tuning);
    for (int p = 0; p < NCCL_PROTOCOLS; p++) {
        const struct nccl_cell *cell = &tuning.cells[NCCL_ALLREDUCE][NCCL_TREE][p];
        char *at = NULL;
        const char *text = rows[p];
        for (int i = 0; i <= 24; i++) {
            /* The 24th is never looked up, nor what lies beyond; below 64 B there is none. */
            double expected = i < 23 ? strtod(text, &at) : 1;
            text = i < 23 ? at : text;
            uint64_t bytes = (UINT64_C(128) << i) - 1; /* up to the next power of two */
            double time = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_TREE,
                                       (enum nccl_protocol)p, bytes, 1);
            assert_near((time - cell->latency_us) * 1000 * cell->bandwidth_GBps * expected,
                        (double)bytes, 1e-9);
        }
    }
}

static void what_exists(void **state)
{
    (void)state;
    struct nccl_comm comm = plain(16, 2, 90, 4, 20);
#define EXISTS(c, a, p) (nccl_unavailable(&comm, NCCL_##c, NCCL_##a, NCCL_##p) == NULL)
    assert_true(EXISTS(ALLREDUCE, TREE, LL128));
    assert_false(EXISTS(BROADCAST, TREE, LL));
    assert_false(EXISTS(ALLGATHER, COLLNET_CHAIN, SIMPLE));
    assert_false(EXISTS(ALLREDUCE, PAT, SIMPLE));
    assert_false(EXISTS(ALLGATHER, PAT, SIMPLE)); /* 8 GPUs a node */
    assert_true(EXISTS(ALLREDUCE, NVLS_TREE, SIMPLE));
    assert_true(EXISTS(ALLREDUCE, NVLS, SIMPLE));
    assert_true(EXISTS(ALLREDUCE, COLLNET_DIRECT, SIMPLE));
    assert_false(EXISTS(ALLREDUCE, COLLNET_DIRECT, LL));
    comm.max_local_ranks = 9;
    assert_false(EXISTS(ALLREDUCE, COLLNET_DIRECT, SIMPLE));
    comm.max_local_ranks = 0;
    comm.nvswitch = false;
    assert_false(EXISTS(ALLREDUCE, COLLNET_DIRECT, SIMPLE));
    assert_true(EXISTS(ALLREDUCE, COLLNET_CHAIN, SIMPLE));
    comm.collnet = false;
    assert_false(EXISTS(ALLREDUCE, COLLNET_CHAIN, SIMPLE));
    assert_false(EXISTS(ALLREDUCE, NVLS, SIMPLE)); /* between nodes by CollNet */
    assert_true(EXISTS(ALLREDUCE, NVLS_TREE, SIMPLE));
    comm.nvls = false;
    assert_false(EXISTS(ALLREDUCE, NVLS_TREE, SIMPLE));
    /* LL128: PXN on Hopper unless NCCL_LL128_C2C=0; PXB before; NVLink in the node. */
    struct nccl_graph *ring = &comm.graphs[NCCL_SEARCH_RING];
    ring->type_inter = NCCL_PATH_PXN;
    assert_true(EXISTS(ALLREDUCE, RING, LL128));
    comm.no_ll128_pxn = true;
    assert_false(EXISTS(ALLREDUCE, RING, LL128));
    ring->type_inter = NCCL_PATH_PXB;
    assert_true(EXISTS(ALLREDUCE, RING, LL128));
    comm.min_cc = 80;
    assert_false(EXISTS(ALLREDUCE, RING, LL128)); /* with GPUs of 9.0 among them */
    comm.max_cc = 80;
    assert_true(EXISTS(ALLREDUCE, RING, LL128));
    ring->type_intra = NCCL_PATH_PIX;
    assert_false(EXISTS(ALLREDUCE, RING, LL128));
    assert_true(EXISTS(ALLREDUCE, RING, LL));
    comm = plain(8, 1, 90, 1, 20);
    assert_false(EXISTS(ALLREDUCE, NVLS_TREE, SIMPLE)); /* one node */
    assert_false(EXISTS(ALLREDUCE, NVLS, SIMPLE));      /* one channel */
    comm = plain(4, 4, 90, 4, 20);
    assert_true(EXISTS(ALLGATHER, PAT, SIMPLE));
    assert_false(EXISTS(ALLGATHER, PAT, LL));
    comm.version = 22205;
    assert_false(EXISTS(ALLGATHER, PAT, SIMPLE));
#undef EXISTS
    /* What does not exist is in the table without bandwidth, and takes no time. */
    struct nccl_tuning tuning;
    comm = plain(16, 2, 90, 4, 20);
    comm.collnet = false;
    nccl_tune(&comm, &tuning);
    for (int i = 0; i < NCCL_COLLECTIVES * NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++) {
        enum nccl_collective c = (enum nccl_collective)(i / 21);
        enum nccl_algorithm a = (enum nccl_algorithm)(i / 3 % 7);
        enum nccl_protocol p = (enum nccl_protocol)(i % 3);
        bool exists = nccl_unavailable(&comm, c, a, p) == NULL;
        assert_int_equal(exists, tuning.cells[c][a][p].bandwidth_GBps > 0);
        assert_int_equal(exists, nccl_time_us(&comm, &tuning, c, a, p, MIB, 1) >= 0);
    }
}

static void channels_of_a_communicator(void **state)
{
    (void)state;
    struct nccl_comm comm = plain(8, 1, 90, 12, 30);
    assert_int_equal(nccl_channels(&comm), 24);
    comm.graphs[NCCL_SEARCH_TREE].channels = 6; /* the fewer of ring and tree */
    assert_int_equal(nccl_channels(&comm), 12);
    comm = plain(32, 4, 90, 4, 48); /* fast Hopper nodes: four a searched channel */
    assert_int_equal(nccl_channels(&comm), 16);
    comm.graphs[NCCL_SEARCH_RING].bw_intra_GBps = 45;
    assert_int_equal(nccl_channels(&comm), 8);
    comm.channel_limit = 3;
    assert_int_equal(nccl_channels(&comm), 3);
    comm = plain(8, 1, 90, 40, 30);
    assert_int_equal(nccl_channels(&comm), 64);
    comm.version = 22403;
    assert_int_equal(nccl_channels(&comm), 32);
    assert_int_equal(nccl_nvls_channels(&comm), 16);
    comm.min_cc = 100;
    assert_int_equal(nccl_nvls_channels(&comm), 24);
    comm.nodes = 2;
    assert_int_equal(nccl_nvls_channels(&comm), 32);
    comm.nvls = false;
    assert_int_equal(nccl_nvls_channels(&comm), 0);
}

static void channels_of_a_size(void **state)
{
    (void)state;
    /* Two ranks, ring, 24 channels. LL: 512 threads of 8 * 2 bytes: a channel for 8 KiB.
     * All-reduce moves each byte twice and LL costs four times: cells of 16 KiB / 8 = 2 KiB.
     * 256 KiB: min(24, 32) = 24 channels; 128 cells; 2 MiB / 24 = 87381 B of traffic a channel,
     * of 16 KiB a cell: 6 cells each (5.33 rounded up), so 128/6 = 22 channels. */
    struct nccl_comm comm = plain(2, 1, 90, 12, 30);
    struct nccl_tuning tuning;
    nccl_tune(&comm, &tuning);
    static const struct {
        enum nccl_collective c;
        enum nccl_algorithm a;
        enum nccl_protocol p;
        uint64_t bytes;
        int most, channels, threads;
    } rows[] = {
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 1, 1, 1, 96}, /* three warps at least */
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 2048, 1, 1, 128},
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 8191, 1, 1, 256},
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 8192, 1, 1, 512},
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 131072, 16, 16, 512},
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 262144, 24, 22, 512},
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 524288, 24, 24, 512},
        /* 640 threads of 8 bytes; 160 and 80 are no multiples of 128: halving stops at 160. */
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_LL128, 640, 1, 1, 320},
        /* 512 threads of 64 bytes, and a warp that synchronises. */
        {NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 2 * MIB, 24, 24, 544},
        {NCCL_ALLREDUCE, NCCL_TREE, NCCL_SIMPLE, 2 * MIB, 24, 24, 640},
        /* 2 MiB in cells of 16 KiB: 128, each carrying 16 KiB; 6 each: 22. */
        {NCCL_BROADCAST, NCCL_RING, NCCL_SIMPLE, 2 * MIB, 24, 22, 544},
        /* Of an all-gather one rank's half counts: 1 MiB in cells of 8 KiB: 128. */
        {NCCL_ALLGATHER, NCCL_RING, NCCL_SIMPLE, 2 * MIB, 24, 22, 544},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nccl_choice choice = {.algorithm = rows[i].a, .protocol = rows[i].p};
        nccl_spread(&comm, &tuning, rows[i].c, rows[i].bytes, &choice);
        if (choice.channels_most != rows[i].most || choice.channels != rows[i].channels ||
            choice.threads != rows[i].threads)
            fail_msg("row %zu: %d, %d channels, %d threads", i, choice.channels_most,
                     choice.channels, choice.threads);
    }
    /* Slow rings work with half the threads: 2 * 6 GB/s does, 2 * 6.1 does not. */
    comm.graphs[NCCL_SEARCH_RING].channels = 2;
    comm.graphs[NCCL_SEARCH_RING].bw_intra_GBps = 6;
    nccl_tune(&comm, &tuning);
    assert_int_equal(tuning.threads[NCCL_RING][NCCL_SIMPLE], 256);
    comm.graphs[NCCL_SEARCH_RING].bw_intra_GBps = 6.1;
    nccl_tune(&comm, &tuning);
    assert_int_equal(tuning.threads[NCCL_RING][NCCL_SIMPLE], 512);
}

static void properties(void **state)
{
    (void)state;
    struct nccl_tuning tuning;
    uint64_t random = 1;
    for (int round = 0; round < 300; round++) {
        int nodes = 1 + (int)core_random_below(&random, 9);
        int ranks = nodes * (1 + (int)core_random_below(&random, 8));
        struct nccl_comm comm =
            plain(ranks < 2 ? 2 : ranks, nodes, 70 + 10 * (int)core_random_below(&random, 4),
                  1 + (int)core_random_below(&random, 32),
                  0.1 + (double)core_random_below(&random, 900) / 10);
        comm.collnet = core_random_below(&random, 2);
        nccl_tune(&comm, &tuning);
        for (int c = 0; c < NCCL_COLLECTIVES; c++) {
            struct nccl_choice before = {.time_us = 0}, choice;
            for (uint64_t bytes = 1; bytes <= GIB; bytes *= 4) {
                assert_true(nccl_choose(&comm, &tuning, (enum nccl_collective)c, bytes, &choice));
                /* The choice is the least of all, and more channels than there are never work. */
                for (int i = 0; i < NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++) {
                    double time = nccl_time_us(&comm, &tuning, (enum nccl_collective)c,
                                               (enum nccl_algorithm)(i / 3),
                                               (enum nccl_protocol)(i % 3), bytes, 1);
                    bool may = !nccl_unavailable(&comm, (enum nccl_collective)c,
                                                 (enum nccl_algorithm)(i / 3),
                                                 (enum nccl_protocol)(i % 3));
                    assert_true(!may || time >= choice.time_us);
                }
                assert_true(choice.channels >= 1 && choice.channels <= choice.channels_most);
                assert_true(choice.threads >= 96 && choice.threads <= 640);
                before = choice;
            }
            assert_true(before.time_us > 0);
        }
    }
    /* A batch of four costs a tree one latency, a ring four. */
    struct nccl_comm comm = plain(8, 1, 90, 16, 20);
    nccl_tune(&comm, &tuning);
    double ring = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, KIB, 4) -
                  nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, KIB, 1);
    double tree = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_TREE, NCCL_LL, KIB, 5) -
                  nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_TREE, NCCL_LL, KIB, 4);
    assert_near(ring, 3 * 15.0, 1e-9);
    assert_near(tree, 6.8 + 2 * 7 * 0.6, 1e-9);
}

static void names(void **state)
{
    (void)state;
    enum nccl_algorithm a;
    enum nccl_protocol p;
    enum nccl_collective c;
    enum nccl_path path;
    assert_true(nccl_algorithm_find("COLLNET_DIRECT", &a) && a == NCCL_COLLNET_DIRECT);
    assert_true(nccl_algorithm_find("NVLSTree", &a) && a == NCCL_NVLS_TREE);
    assert_true(nccl_algorithm_find("1", &a) && a == NCCL_RING);
    assert_false(nccl_algorithm_find("7", &a));
    assert_false(nccl_algorithm_find("", &a));
    assert_true(nccl_protocol_find("SIMPLE", &p) && p == NCCL_SIMPLE);
    assert_true(nccl_protocol_find("ll128", &p) && p == NCCL_LL128);
    assert_true(nccl_collective_find("allreduce", &c) && c == NCCL_ALLREDUCE);
    assert_false(nccl_collective_find("AllReduc", &c));
    assert_true(nccl_path_find("P2C", &path) && path == NCCL_PATH_P2C);
    assert_false(nccl_path_find("XYZ", &path));
    assert_string_equal(nccl_path_name(NCCL_PATH_DIS), "DIS");
    assert_int_equal(nccl_gpu_cc("NVIDIA H200"), 90);
    assert_int_equal(nccl_gpu_cc("NVIDIA A100-SXM4-80GB"), 80);
    assert_int_equal(nccl_gpu_cc("NVIDIA L40S"), 89);
    assert_int_equal(nccl_gpu_cc("NVIDIA GeForce"), 0);
    assert_int_equal(nccl_gpu_cc(""), 0);
}

/* ---- NCCL itself ---------------------------------------------------------------------------- */

static struct nccl_graph graph_of(const struct nccl_graph_row *row)
{
    struct nccl_graph graph = {.pattern = row->pattern,
                               .channels = row->channels,
                               .bw_intra_GBps = row->bw_intra_GBps,
                               .bw_inter_GBps = row->bw_inter_GBps,
                               .latency_inter_us = row->latency_inter_us,
                               .same_channels = row->same_channels};
    assert_true(nccl_path_find(row->type_intra, &graph.type_intra));
    assert_true(nccl_path_find(row->type_inter, &graph.type_inter));
    return graph;
}

static enum status read_log_text(const char *text, struct nccl_log **ret_log,
                                 struct diag_list *diag)
{
    diag_init(diag);
    return nccl_log_read("x.log", text, strlen(text), ret_log, diag);
}

static struct nccl_log *read_log(const char *path, struct diag_list *diag)
{
    struct error error;
    struct nccl_log *log = NULL;
    char *text;
    size_t length;
    assert_ok(file_read(path, NCCL_LOG_BYTES, &text, &length, &error), &error);
    assert_true(nccl_log_is(text));
    assert_int_equal(read_log_text(text, &log, diag), STATUS_OK);
    free(text);
    return log;
}

/* From the graphs of the log alone: its table, its channels and its choices are for comparing. */
static struct nccl_comm comm_of(const struct nccl_log *log)
{
    assert_int_equal(log->comm_count, 1);
    const struct nccl_log_comm *said = &log->comms[0];
    struct nccl_comm comm = {.version = log->version,
                             .ranks = said->ranks,
                             .nodes = said->nodes,
                             .max_local_ranks = said->local_ranks,
                             .min_cc = 90,
                             .max_cc = 90,
                             .cpu = NCCL_CPU_INTEL,
                             .net_overhead_us = -1,
                             .nvswitch = log->nvswitch};
    assert_true(!log->gpu[0] || nccl_gpu_cc(log->gpu) == 90); /* PyTorch does not say */
    assert_true(
        nccl_restrict(&comm, log->algo[0] ? log->algo : NULL, log->proto[0] ? log->proto : NULL));
    assert_int_equal(log->cpu_arch, 1);
    assert_int_equal(log->cpu_vendor, 1);
    for (size_t i = 0; i < said->graph_count; i++) {
        struct nccl_graph graph = graph_of(&said->graphs[i]);
        if (comm.graphs[said->graphs[i].id].pattern)
            nccl_graph_worst(&comm.graphs[said->graphs[i].id], &graph);
        else
            comm.graphs[said->graphs[i].id] = graph;
    }
    return comm;
}

/* All 105 cells, to the digit that NCCL prints. */
static void compare_cells(const char *path, const struct nccl_log_comm *said,
                          const struct nccl_tuning *tuning)
{
    assert_int_equal(said->cell_count, NCCL_COLLECTIVES * NCCL_ALGORITHMS * NCCL_PROTOCOLS);
    for (size_t i = 0; i < said->cell_count; i++) {
        const struct nccl_log_cell *cell = &said->cells[i];
        enum nccl_collective c;
        enum nccl_algorithm a;
        enum nccl_protocol p;
        char ours[64], theirs[64];
        if (!nccl_collective_find(cell->collective, &c) ||
            !nccl_algorithm_find(cell->algorithm, &a) || !nccl_protocol_find(cell->protocol, &p)) {
            fail_msg("%s:%u: unknown names", path, cell->line);
            return;
        }
        const struct nccl_cell *own = &tuning->cells[c][a][p];
        snprintf(ours, sizeof ours, "%8.1f/%6.1f", own->latency_us, own->bandwidth_GBps);
        snprintf(theirs, sizeof theirs, "%8.1f/%6.1f", cell->latency_us, cell->bandwidth_GBps);
        if (strcmp(ours, theirs) != 0)
            fail_msg("%s:%u: %s %s %s: %s, NCCL %s", path, cell->line, cell->collective,
                     cell->algorithm, cell->protocol, ours, theirs);
    }
    assert_int_equal(said->threads_count, NCCL_ALGORITHMS * NCCL_PROTOCOLS);
    for (size_t i = 0; i < said->threads_count; i++)
        assert_int_equal(said->threads[i].threads, tuning->threads[i / 3][i % 3]);
    assert_true(said->has_thresholds);
    for (int i = 0; i < 6; i++)
        assert_int_equal(said->thresholds[i], tuning->thresholds[i / 3][i % 3]);
    assert_int_equal(said->thresholds[6], tuning->thresholds[NCCL_COLLNET_DIRECT][NCCL_SIMPLE]);
    assert_int_equal(said->thresholds[7], tuning->thresholds[NCCL_COLLNET_CHAIN][NCCL_SIMPLE]);
}

/* Every choice of the log; NCCL counts the bytes of one rank. */
static void compare_choices(const char *path, const struct nccl_log *log,
                            const struct nccl_comm *comm, const struct nccl_tuning *tuning)
{
    for (size_t i = 0; i < log->choice_count; i++) {
        const struct nccl_log_choice *said = &log->choices[i];
        struct nccl_choice choice;
        enum nccl_collective c;
        enum nccl_algorithm a;
        enum nccl_protocol p;
        if (!nccl_collective_find(said->collective, &c) ||
            !nccl_algorithm_find(said->algorithm, &a) || !nccl_protocol_find(said->protocol, &p)) {
            fail_msg("%s:%u: unknown names", path, said->line);
            return;
        }
        bool gathers = c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER;
        uint64_t bytes = gathers ? said->bytes * (uint64_t)comm->ranks : said->bytes;
        assert_true(nccl_choose(comm, tuning, c, bytes, &choice));
        if (a != choice.algorithm || p != choice.protocol || said->lo != 0 ||
            said->hi != choice.channels - 1)
            fail_msg("%s:%u: %s %s, %d channels; NCCL took %s %s %d..%d", path, said->line,
                     nccl_algorithm_name(choice.algorithm), nccl_protocol_name(choice.protocol),
                     choice.channels, said->algorithm, said->protocol, said->lo, said->hi);
    }
}

static void tables_and_choices_of_nccl(void **state)
{
    (void)state;
    /* nccl-*: nccl-tests, all-reduce of 8 B .. 1 GiB, doubling. nccl-torch-*: all five collectives
     * of 48 sizes, every other one no power of two; -tree with NCCL_ALGO=allreduce:tree, which lets
     * the tree's correction decide, -ll128 with NCCL_PROTO=LL128. */
    static const struct {
        const char *name;
        int version, nodes, channels;
        double ring_Simple_GBps;
        size_t choices;
    } logs[] = {
        {"nvlink", 22803, 1, 24, 360, 28},    {"shm", 22803, 1, 4, 40, 28},
        {"socket", 22803, 2, 2, 1.2, 28},     {"torch-nvlink", 22809, 1, 24, 360, 240},
        {"torch-shm", 22809, 1, 4, 40, 240},  {"torch-socket", 22809, 2, 2, 1.2, 240},
        {"torch-tree", 22809, 1, 24, 0, 240}, {"torch-ll128", 22809, 1, 24, 0, 240},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char path[96];
        struct diag_list diag;
        struct nccl_tuning tuning;
        snprintf(path, sizeof path, "tests/data/h200x2/nccl-%s.log", logs[i].name);
        struct nccl_log *log = read_log(path, &diag);
        struct nccl_comm comm = comm_of(log);
        assert_int_equal(log->version, logs[i].version);
        assert_int_equal(comm.ranks, 2);
        assert_int_equal(comm.nodes, logs[i].nodes);
        assert_int_equal(nccl_channels(&comm), logs[i].channels);
        assert_int_equal(log->comms[0].channels, logs[i].channels);
        assert_int_equal(log->comms[0].nvls_channels, nccl_nvls_channels(&comm));
        nccl_tune(&comm, &tuning);
        /* Two ranks: 2 steps for 2 ranks, so the algorithm's rate is channels * bw. */
        assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_SIMPLE].bandwidth_GBps,
                    logs[i].ring_Simple_GBps, 1e-12);
        compare_cells(path, &log->comms[0], &tuning);
        assert_int_equal(log->choice_count, logs[i].choices);
        compare_choices(path, log, &comm, &tuning);
        nccl_log_free(log);
        diag_free(&diag);
    }
}

static void what_the_user_leaves_out(void **state)
{
    (void)state;
    struct nccl_comm comm = plain(16, 2, 90, 4, 20), before = comm;
    static const char *const bad[] = {"",      ",",         "rings", "allreduce:", "ring,,tree",
                                      "ring;", "sum:ring",  "^",     "ring:tree",  "ring,tree ",
                                      "1",     "allreduce", "a:b:c", ";ring",      "^ring,"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(nccl_restrict(&comm, bad[i], NULL));
        assert_false(nccl_restrict(&comm, NULL, bad[i]));
        assert_memory_equal(&comm, &before, sizeof comm);
    }
    assert_true(nccl_restrict(&comm, NULL, NULL));
    assert_true(nccl_restrict(&comm, "ring;allreduce:^ring,NVLS", "^ll"));
    for (int a = 0; a < NCCL_ALGORITHMS; a++) {
        assert_int_equal(comm.no_algorithm[NCCL_BROADCAST][a], a != NCCL_RING);
        assert_int_equal(comm.no_algorithm[NCCL_ALLREDUCE][a], a == NCCL_RING || a == NCCL_NVLS);
    }
    for (int p = 0; p < NCCL_PROTOCOLS; p++)
        assert_int_equal(comm.no_protocol[NCCL_REDUCE][p], p == NCCL_LL);
    /* Who asks for LL128 gets it, NVLink or not. */
    comm = plain(8, 1, 90, 4, 20);
    comm.graphs[NCCL_SEARCH_RING].type_intra = NCCL_PATH_PHB;
    assert_non_null(nccl_unavailable(&comm, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL128));
    assert_true(nccl_restrict(&comm, NULL, "allreduce:LL128"));
    assert_null(nccl_unavailable(&comm, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL128));
    assert_non_null(nccl_unavailable(&comm, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL));
    assert_non_null(nccl_unavailable(&comm, NCCL_BROADCAST, NCCL_RING, NCCL_LL128));
}

/* Between sockets NCCL takes LL at 32 KiB though Simple's table has the better time: the plateau
 * of 1.4. LL 16.6 + 32768/600 = 71.21; Simple 36.4 + 32768/1200 = 63.71, or 36.4*1.4 + 27.31 =
 * 78.27. */
static void the_plateau_decides(void **state)
{
    (void)state;
    struct diag_list diag;
    struct nccl_log *log = read_log("tests/data/h200x2/nccl-socket.log", &diag);
    struct nccl_comm comm = comm_of(log);
    struct nccl_tuning tuning;
    nccl_tune(&comm, &tuning);
    double ll = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 32768, 1);
    double simple = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 32768, 1);
    printed("LL", 0, ll, 71.21, 2);
    printed("Simple", 0, simple, 78.27, 2);
    /* Below 64 bytes a rank and channel there is none: 4 * 63 = 252 bytes. */
    simple = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 252, 1);
    printed("Simple", 1, simple, 36.4 + 252 / 1200.0, 3);
    nccl_log_free(log);
    diag_free(&diag);
}

/* ---- readers -------------------------------------------------------------------------------- */

static void graph_xml(void **state)
{
    (void)state;
    struct error error;
    struct diag_list diag;
    struct nccl_graph_file file;
    char *text;
    size_t length;
    diag_init(&diag);
    assert_ok(file_read("tests/data/h200x2/graph.xml", NCCL_GRAPH_BYTES, &text, &length, &error),
              &error);
    assert_int_equal(nccl_graph_read("graph.xml", text, length, &file, &diag), STATUS_OK);
    free(text);
    /* What the log of the same machine calls Pattern 4 and 1. */
    struct diag_list log_diag;
    struct nccl_log *log = read_log("tests/data/h200x2/nccl-nvlink.log", &log_diag);
    struct nccl_comm comm = comm_of(log);
    for (int id = 0; id < 2; id++) {
        struct nccl_graph graph = graph_of(&file.rows[id]);
        const struct nccl_graph *said = &comm.graphs[id];
        assert_int_equal(graph.pattern, said->pattern);
        assert_int_equal(graph.channels, said->channels);
        assert_int_equal(graph.type_intra, said->type_intra);
        assert_int_equal(graph.type_inter, said->type_inter);
        assert_int_equal(graph.same_channels, said->same_channels);
        assert_near(graph.bw_intra_GBps, said->bw_intra_GBps, 0);
        assert_near(graph.bw_inter_GBps, said->bw_inter_GBps, 0);
    }
    assert_int_equal(file.rows[0].gpus, 2);
    assert_int_equal(file.rows[0].nets, 0);
    assert_true(file.present[NCCL_SEARCH_NVLS]);
    assert_int_equal(file.rows[NCCL_SEARCH_NVLS].channels, 0);
    nccl_log_free(log);
    diag_free(&log_diag);
    diag_free(&diag);
}

#define GRAPH(id, channels)                                                                        \
    "<graph id=\"" id "\" pattern=\"4\" nchannels=\"" channels                                     \
    "\" speedintra=\"2.4\" speedinter=\"1.2\" typeintra=\"LOC\" typeinter=\"PHB\" "                \
    "samechannels=\"1\"/>\n"

static void bad_graph_xml(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } rows[] = {
        {"<system/>", "root is not <graphs>", 1},
        {"", "broken XML", 1},
        {"<graphs>\n" GRAPH("0", "2"), "broken XML", 3},
        {"<graphs>\n" GRAPH("0", "2") "</graphs>", "no graph of a tree", 0},
        {"<graphs>\n" GRAPH("0", "2") GRAPH("0", "2") "</graphs>", "a second graph", 3},
        {"<graphs>\n" GRAPH("0", "2") GRAPH("5", "2") "</graphs>", "from 0 to 4", 3},
        {"<graphs>\n" GRAPH("0", "1e9") "</graphs>", "nchannels=\"1e9\"", 2},
        {"<graphs>\n" GRAPH("0", "1.5") "</graphs>", "whole number", 2},
        {"<graphs>\n" GRAPH("0", "nan") "</graphs>", "nchannels=\"nan\"", 2},
        {"<graphs>\n<graph id=\"0\"/></graphs>", "graph without pattern", 2},
        {"<!DOCTYPE graphs>\n<graphs/>", "DOCTYPE", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diag_list diag;
        struct nccl_graph_file file;
        diag_init(&diag);
        assert_int_equal(nccl_graph_read("g.xml", rows[i].text, strlen(rows[i].text), &file, &diag),
                         STATUS_INPUT);
        const struct diag *first = diag_get(&diag, 0);
        if (!strstr(first->message, rows[i].message) || first->mark.line != rows[i].line)
            fail_msg("row %zu: line %u: %s", i, first->mark.line, first->message);
        diag_free(&diag);
    }
}

#define P "h:1:2 [0] NCCL INFO "
#define HEAD                                                                                       \
    P " Algorithm | Tree | Ring |\n" P "Protocol | LL | LL128 | Simple | LL | LL128 | Simple |\n"

static void bad_logs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } rows[] = {
        {P "Pattern 4, crossNic 0, nChannels 2, bw 1/1", "no graph", 1},
        {"\n" P "Pattern 9, crossNic 0, nChannels 2, bw 1/1, type LOC/PHB, sameChannels 1",
         "no graph", 2},
        {P "Pattern 4, crossNic 0, nChannels -2, bw 1/1, type LOC/PHB, sameChannels 1", "no graph",
         1},
        {P "Pattern 4, crossNic 0, nChannels 2, bw nan/1, type LOC/PHB, sameChannels 1", "no graph",
         1},
        {P "comm 0x1 rank 0 nRanks 2 nNodes 3 localRanks 1", "impossible", 1},
        {HEAD P "AllReduce | 1.0/ 2.0 | 1.0/ 2.0 |", "does not fit its head", 3},
        {HEAD P "AllReduce | 1/ 2 | 1/ 2 | 1/ 2 | 1/ 2 | 1/ 2 | what |", "no cell", 3},
        {HEAD P "Max NThreads | 1 | 2 | 3 | 4 | 5 | six |", "no number of threads", 3},
        {P "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..", "no range", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diag_list diag;
        struct nccl_log *log = NULL;
        assert_int_equal(read_log_text(rows[i].text, &log, &diag), STATUS_INPUT);
        const struct diag *first = diag_get(&diag, 0);
        if (!strstr(first->message, rows[i].message) || first->mark.line != rows[i].line)
            fail_msg("row %zu: line %u: %s", i, first->mark.line, first->message);
        diag_free(&diag);
    }
}

static void logs_of_many(void **state)
{
    (void)state;
    /* Two communicators set up at once on two threads each; old choices; a chain after the tree. */
    static const char text[] =
        "h:1:2 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 4 commId 0xaa - Init START\n"
        "h:1:3 [1] NCCL INFO ncclCommInitRank comm 0xb rank 0 nranks 2 commId 0xbb - Init START\n"
        "h:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 20.0/10.0, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:3 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 4, bw 1/1, type SYS/SYS, "
        "sameChannels 0\r\n"
        "h:1:2 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 2, bw 20/10, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:2 [0] NCCL INFO Pattern 3, crossNic 0, nChannels 1, bw 20/10, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:2 [0] NCCL INFO comm 0xa rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
        "h:1:3 [1] NCCL INFO comm 0xb rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n"
        "h:1:2 [0] NCCL INFO CPU/0-0 (1/1/4)\n"
        "h:1:2 [0] NCCL INFO CPU/0-1 (1/2/2)\n"
        "h:1:2 [0] NCCL INFO NCCL_NET_OVERHEAD set by environment to 1500.\n"
        "h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
        "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 1 proto 2 time 7.800000\n"
        "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 1 proto 2 time 7.800000\n";
    struct diag_list diag;
    struct nccl_log *log = NULL;
    assert_int_equal(read_log_text(text, &log, &diag), STATUS_OK);
    assert_int_equal(log->comm_count, 2);
    assert_int_equal(log->comms[0].ranks, 4);
    assert_int_equal(log->comms[0].nodes, 2);
    assert_int_equal(log->comms[0].graph_count, 3);
    assert_int_equal(log->comms[0].graphs[1].id, NCCL_SEARCH_TREE);
    assert_int_equal(log->comms[0].graphs[2].id, NCCL_SEARCH_COLLNET_CHAIN);
    assert_int_equal(log->comms[1].ranks, 2);
    assert_int_equal(log->comms[1].graph_count, 1);
    assert_string_equal(log->comms[1].graphs[0].type_inter, "SYS");
    assert_int_equal(log->cpu_vendor, -1);
    assert_near(log->net_overhead_us, 1.5, 1e-12);
    assert_string_equal(log->algo, "Ring");
    assert_string_equal(log->proto, "");
    assert_int_equal(log->choice_count, 1);
    assert_string_equal(log->choices[0].algorithm, "1");
    assert_int_equal(log->choices[0].hi, -1);
    nccl_log_free(log);
    diag_free(&diag);

    /* Ranks that found unlike graphs: the worst of each. */
    struct nccl_graph worst = {.pattern = 1,
                               .channels = 4,
                               .bw_intra_GBps = 20,
                               .bw_inter_GBps = 10,
                               .type_intra = NCCL_PATH_NVL,
                               .type_inter = NCCL_PATH_SYS,
                               .same_channels = true};
    nccl_graph_worst(&worst, &(struct nccl_graph){.pattern = 3,
                                                  .channels = 2,
                                                  .bw_intra_GBps = 30,
                                                  .bw_inter_GBps = 5,
                                                  .latency_inter_us = 1,
                                                  .type_intra = NCCL_PATH_PHB,
                                                  .type_inter = NCCL_PATH_PIX});
    assert_int_equal(worst.pattern, 3);
    assert_int_equal(worst.channels, 2);
    assert_near(worst.bw_intra_GBps, 20, 0);
    assert_near(worst.bw_inter_GBps, 5, 0);
    assert_near(worst.latency_inter_us, 1, 0);
    assert_int_equal(worst.type_intra, NCCL_PATH_PHB);
    assert_int_equal(worst.type_inter, NCCL_PATH_SYS);
    assert_false(worst.same_channels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_rows),
        cmocka_unit_test(loops_of_collnet),
        cmocka_unit_test(bandwidth_rules),
        cmocka_unit_test(ceilings),
        cmocka_unit_test(tree_correction),
        cmocka_unit_test(what_exists),
        cmocka_unit_test(channels_of_a_communicator),
        cmocka_unit_test(channels_of_a_size),
        cmocka_unit_test(properties),
        cmocka_unit_test(names),
        cmocka_unit_test(tables_and_choices_of_nccl),
        cmocka_unit_test(what_the_user_leaves_out),
        cmocka_unit_test(the_plateau_decides),
        cmocka_unit_test(graph_xml),
        cmocka_unit_test(bad_graph_xml),
        cmocka_unit_test(bad_logs),
        cmocka_unit_test(logs_of_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
