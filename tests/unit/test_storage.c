/* test_storage.c: storage reads, with the hand calculation, and against the DGX-2 numbers of the
 * NVIDIA GDS benchmarking guide (2 NVMe; GiB/s as printed there). */
#include "models/storage.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Relative difference, with the values in the log of a failure. */
static void near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g %%", actual, expected, 100 * tolerance);
}

#define GIB 0x1p30
#define MIB 0x1p20

/* 10 us, 100 us, 5 GB/s drives, 10 GB/s path and copies: easy to calculate by hand. */
static const struct storage simple = {
    .submit_s = 10e-6,
    .device_latency_s = 100e-6,
    .device_Bps = 5e9,
    .device_iops = 1e6,
    .path_Bps = 10e9,
    .memory_Bps = 20e9,
    .h2d_Bps = 10e9,
    .copy_s = 5e-6,
    .slab_B = 1e6,
    .peer_Bps = 10e9,
    .bounce_s = 20e-6,
    .align_B = 4096,
};

static void unaligned_requests_read_more(void **state)
{
    (void)state;
    near(storage_read_B(0, 4096, 4096), 4096, 1e-15);
    near(storage_read_B(0, 1, 4096), 4096, 1e-15);
    near(storage_read_B(100, 4096, 4096), 8192, 1e-15);       /* two blocks touched */
    near(storage_read_B(4095, 2, 4096), 8192, 1e-15);         /* */
    near(storage_read_B(4096, 65536, 4096), 65536, 1e-15);    /* aligned */
    near(storage_read_B(512, 1048576, 4096), 1052672, 1e-15); /* 257 blocks */
    assert_true(storage_read_B(512, 0, 4096) == 0);
    /* The mean over all offsets, against the sum: n + 4096 - g. */
    static const double cases[][2] = {
        {4096, 512}, {512, 512}, {8192, 4096}, {1000, 1}, {6144, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double length_B = cases[i][0], granule_B = cases[i][1], sum = 0;
        for (double offset_B = 0; offset_B < 4096; offset_B += granule_B)
            sum += storage_read_B(offset_B, length_B, 4096);
        near(storage_mean_read_B(length_B, granule_B, 4096), sum * granule_B / 4096, 1e-12);
    }
}

static void one_request(void **state)
{
    (void)state;
    /* direct, 4.096 MB: 10 + 100 + 4.096e6/5e9 = 819.2 us: 929.2 us */
    near(storage_direct_s(&simple, 0, 4096e3), 929.2e-6, 1e-12);
    /* off by one byte: one more block, 0.8192 us more */
    near(storage_direct_s(&simple, 1, 4096e3), 930.0192e-6, 1e-12);
    /* compat, slabs of 1 MB: five of 819.2 kB: 163.84 us at 5 GB/s, 5 + 81.92 us to the GPU:
     * 110 + 5 * 163.84 + 86.92 = 1016.12 us */
    near(storage_compat_s(&simple, 0, 4096e3), 1016.12e-6, 1e-12);
    /* bounce: direct + 20 us + 4.096e6/10e9 */
    near(storage_bounce_s(&simple, 0, 4096e3), 1358.8e-6, 1e-12);
    /* compat of 4 KiB is one slab: 110 + 0.8192 + 5 + 0.4096 */
    near(storage_compat_s(&simple, 0, 4096), 116.2288e-6, 1e-12);
    near(storage_compat_s(&simple, 0, 0), 110e-6, 1e-12);
    assert_true(storage_slab_B(4096) == 4096 && storage_slab_B(4097) == MIB);
    assert_true(storage_slab_B(MIB) == MIB && storage_slab_B(2 * MIB) == 16 * MIB);
}

static void direct_is_not_slower_for_any_size(void **state)
{
    (void)state;
    /* While the drive is the limit, direct saves only the copy's start and one slab's copy. */
    for (double bytes = 512; bytes < GIB; bytes *= 1.7) {
        double direct_s = storage_direct_s(&storage_dgx2, 0, floor(bytes));
        double compat_s = storage_compat_s(&storage_dgx2, 0, floor(bytes));
        assert_true(direct_s < compat_s && compat_s < 2 * direct_s);
    }
}

static void little(void **state)
{
    (void)state;
    /* Cited: 485 k IOPS at 134.5 us = 65.2 in flight (64 threads: 475.8 k, 2 % less);
     * far: 28 k at 2.3 ms = 64.4. */
    near(storage_depth_needed(485e3, 134.5e-6), 64, 0.03);
    near(storage_depth_needed(28e3, 2.3e-3), 64, 0.03);
    near(storage_little_iops(64, 134.5e-6), 475836, 1e-5);
    near(storage_loaded_latency_s(64, 28e3), 2.3e-3, 0.03);
    /* 6.52 GiB/s at 1.2 ms and 3.89 at 2.0 ms are both 8 requests of 1 MiB. */
    near(storage_depth_needed(6.52 * GIB / MIB, 1.2e-3), 8, 0.03);
    near(storage_depth_needed(3.89 * GIB / MIB, 2.0e-3), 8, 0.03);
}

static void throughput_bounds(void **state)
{
    (void)state;
    /* One 4 KiB request: 110.8192 us -> 36.96 MB/s; 64: 2.3655 GB/s; 1000: 9.02 M IOPS, but the
     * drives do 1 M: 4.096 GB/s random, and sequential 5 GB/s. */
    near(storage_random_Bps(&simple, 1, 4096, 4096), 36.9611e6, 1e-5);
    near(storage_random_Bps(&simple, 64, 4096, 4096), 2.36551e9, 1e-5);
    near(storage_random_Bps(&simple, 1000, 4096, 4096), 4.096e9, 1e-12);
    near(storage_sequential_Bps(&simple, 1000, 4096), 5e9, 1e-12);
    /* Unaligned by sectors: 4096 of 7680 B are wanted: 5 * 4096/7680 = 2.667 GB/s, less than
     * 1 M * 4096 = 4.096. */
    near(storage_random_Bps(&simple, 1000, 4096, 512), 2.66667e9, 1e-5);
}

static void dgx2_near_gpu(void **state)
{
    (void)state;
    double rate = storage_sequential_Bps(&storage_dgx2, 8, MIB);
    near(rate, 6.52 * GIB, 0.02);
    near(storage_loaded_latency_s(8, rate / MIB), 1.2e-3, 0.02);
    near(storage_random_Bps(&storage_dgx2, 64, 4096, 4096) / 4096, 485e3, 0.03);
    near(storage_random_Bps(&storage_dgx2, 128, 4096, 4096) / 4096, 850e3, 0.02);
}

/* bounce_s is fitted to the 28 k IOPS; the rate at 1 MiB follows from it, and each latency
 * from a rate by Little, so that this is one prediction. */
static void dgx2_far_gpu_bounces(void **state)
{
    (void)state;
    /* 4 KiB: 35.7 + 0.585 + 0.341 us busy -> 27.3 k; 64 in flight wait 2.34 ms. */
    double small = storage_bounce_Bps(&storage_dgx2, 64, 4096) / 4096;
    near(small, 28e3, 0.05);
    near(storage_loaded_latency_s(64, small), 2.3e-3, 0.05);
    /* 1 MiB: 149.8 + 35.7 + 87.4 = 272.9 us busy -> 3.84 GB/s = 3.58 GiB/s (cited 3.89), 2.18 ms
     * (cited 2.0). */
    double rate = storage_bounce_Bps(&storage_dgx2, 8, MIB);
    near(rate, 3.89 * GIB, 0.10);
    near(storage_loaded_latency_s(8, rate / MIB), 2.0e-3, 0.10);
    /* Direction: cited -40 % and nearly twice the latency. */
    double direct = storage_sequential_Bps(&storage_dgx2, 8, MIB);
    assert_true(rate / direct > 0.5 && rate / direct < 0.7);
    /* One request alone is slower by its second leg only. */
    near(storage_bounce_s(&storage_dgx2, 0, MIB) - storage_direct_s(&storage_dgx2, 0, MIB),
         123.08e-6, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unaligned_requests_read_more),
        cmocka_unit_test(one_request),
        cmocka_unit_test(direct_is_not_slower_for_any_size),
        cmocka_unit_test(little),
        cmocka_unit_test(throughput_bounds),
        cmocka_unit_test(dgx2_near_gpu),
        cmocka_unit_test(dgx2_far_gpu_bounces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
