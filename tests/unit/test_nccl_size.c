/* test_nccl_size.c: channels, threads and chunks that NCCL takes for a size, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"
#include "tests/unit/help_nccl.h"

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
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nccl_choice choice = {.algorithm = rows[i].algorithm, .channels = rows[i].channels};
        double loop = nccl_loop_B(rows[i].one_a_node ? &single : &sixteen, &choice, rows[i].bytes);
        if (loop != rows[i].loop)
            fail_msg("row %zu: %.0f, not %.0f", i, loop, rows[i].loop);
    }
}

/* Chunks of a channel on 16 channels, 8 GPUs and 8 heads a node. */
static void chunks_of_trees_and_nvls(void **state)
{
    (void)state;
    static const struct {
        enum nccl_algorithm algorithm;
        enum nccl_protocol protocol;
        int nodes;
        double bytes, chunk;
    } rows[] = {
        /* d = 7 + 1: 1 MiB is 0 loops of 16 * 512 KiB .. 16 * 64 KiB: 1 < 8; 32 KiB, the least */
        {NCCL_TREE, NCCL_SIMPLE, 2, 1 * MIB, 32 * KIB},
        /* 128 KiB: 4 < 32; 64 KiB: 8 >= 8 */
        {NCCL_TREE, NCCL_SIMPLE, 2, 8 * MIB, 64 * KIB},
        /* 256 MiB are 32 loops of 512 KiB, < 64; 256 KiB: 64 */
        {NCCL_TREE, NCCL_SIMPLE, 2, 256 * MIB, 256 * KIB},
        /* d = 7 + 4: 64 < 88 loops: 128 KiB */
        {NCCL_TREE, NCCL_SIMPLE, 16, 256 * MIB, 128 * KIB},
        /* d = (1 + 1 + 0.8)/8 = 0.35: 1 MiB: 0 loops of 576,000; 72,000: 0 < 5.6; 36,000: 1; 18,000
         */
        {NCCL_TREE, NCCL_LL128, 2, 1 * MIB, 18000},
        /* 72,000: 3 < 5.6; 36,000: 7 */
        {NCCL_TREE, NCCL_LL128, 2, 4 * MIB, 36000},
        /* 576,000: 14 < 22.4; 288,000: 29 */
        {NCCL_TREE, NCCL_LL128, 2, 128 * MIB, 288000},
        {NCCL_TREE, NCCL_LL, 2, 128 * MIB, 32768},
        /* 128 lines: 128 KiB are 16 MiB a loop; 64 loops of these are 1 GiB */
        {NCCL_NVLS, NCCL_SIMPLE, 1, GIB, 128 * KIB},
        {NCCL_NVLS, NCCL_SIMPLE, 1, GIB - 1, 64 * KIB},
        {NCCL_NVLS, NCCL_SIMPLE, 1, 64 * MIB - 1, 32 * KIB},
        {NCCL_NVLS, NCCL_SIMPLE, 1, 8 * MIB - 1, 16 * KIB},
        /* 512 KiB are 64 MiB a loop: 32 loops; 256 KiB: 16 loops of 32 MiB; 128 KiB: 4 of 16 MiB */
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 2, 2 * GIB, 512 * KIB},
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 2, 2 * GIB - 1, 256 * KIB},
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 2, 512 * MIB - 1, 128 * KIB},
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 2, 64 * MIB - 1, 64 * KIB},
        /* 64 KiB from 4 nodes on; 32 KiB below one loop of 8 MiB */
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 4, 2 * GIB, 64 * KIB},
        {NCCL_NVLS_TREE, NCCL_SIMPLE, 4, 8 * MIB - 1, 32 * KIB},
        {NCCL_RING, NCCL_SIMPLE, 2, GIB, 512 * KIB},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct nccl_comm comm = plain(8 * rows[i].nodes, rows[i].nodes, 90, 8, 48);
        struct nccl_choice choice = {
            .algorithm = rows[i].algorithm, .protocol = rows[i].protocol, .channels = 16};
        double chunk = nccl_chunk_B(&comm, &choice, rows[i].bytes);
        if (chunk != rows[i].chunk)
            fail_msg("row %zu: %.0f, not %.0f", i, chunk, rows[i].chunk);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_of_a_communicator),
        cmocka_unit_test(channels_of_a_size),
        cmocka_unit_test(loops_of_collnet),
        cmocka_unit_test(chunks_of_trees_and_nvls),
    };
    return cmocka_run_group_tests_name("nccl_size", tests, NULL, NULL);
}
