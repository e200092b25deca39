/* test_nccl.c: models/nccl against NCCL's formula by hand: times, choices, what exists. Channels
 * and chunks: test_nccl_size.c; against NCCL itself: test_nccl_log.c. */
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

#include "tests/unit/help_core.h"
#include "tests/unit/help_nccl.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oracle_rows), cmocka_unit_test(bandwidth_rules),
        cmocka_unit_test(ceilings),    cmocka_unit_test(tree_correction),
        cmocka_unit_test(what_exists), cmocka_unit_test(properties),
        cmocka_unit_test(names),       cmocka_unit_test(what_the_user_leaves_out),
    };
    return cmocka_run_group_tests_name("nccl", tests, NULL, NULL);
}
