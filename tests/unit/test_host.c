/* test_host.c: copies through host memory, against copies measured on two H200.
 *
 * Medians in microseconds, two H200 of one host, PCIe Gen5 x16. One set of parameters,
 * host_copy_h200, for all 60 rows; tolerance 15 %, largest error 9 %, but for the row that is
 * marked. */
#include "models/host.h"

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

struct row {
    double chunk_B; /* 0: serial */
    double bytes, measured_us, tolerance;
};

static const struct row rows[] = {
    {0, 8, 15.490, 0.15},
    {0, 16, 15.549, 0.15},
    {0, 32, 15.889, 0.15},
    {0, 64, 15.962, 0.15},
    {0, 128, 16.200, 0.15},
    {0, 256, 16.440, 0.15},
    {0, 512, 16.507, 0.15},
    {0, 1024, 16.563, 0.15},
    {0, 2048, 16.567, 0.15},
    {0, 4096, 17.108, 0.15},
    {0, 8192, 17.143, 0.15},
    {0, 16384, 19.056, 0.15},
    {0, 32768, 18.169, 0.15},
    {0, 65536, 19.248, 0.15},
    {0, 131072, 21.716, 0.15},
    {0, 262144, 26.499, 0.15},
    {0, 524288, 35.780, 0.15},
    {0, 1048576, 54.755, 0.15},
    {0, 2097152, 93.513, 0.15},
    {0, 4194304, 169.361, 0.15},
    {0, 8388608, 320.637, 0.15},
    {0, 16777216, 627.918, 0.15},
    {0, 33554432, 1241.115, 0.15},
    {0, 67108864, 2545.470, 0.15},
    {0, 134217728, 5111.190, 0.15},
    {0, 268435456, 10380.999, 0.15},
    {0, 536870912, 20167.034, 0.15},
    {0, 1073741824, 39491.610, 0.15},
    /* Two modes: median 25.461, minimum 17.449; the model has 18.9. */
    {131072, 131072, 25.461, 0.30},
    {131072, 262144, 26.946, 0.15},
    {131072, 524288, 38.834, 0.15},
    {131072, 1048576, 64.984, 0.15},
    {131072, 2097152, 117.840, 0.15},
    {131072, 4194304, 222.290, 0.15},
    {131072, 8388608, 442.351, 0.15},
    {131072, 16777216, 853.624, 0.15},
    {131072, 33554432, 1719.829, 0.15},
    {131072, 67108864, 3544.398, 0.15},
    {131072, 134217728, 7033.980, 0.15},
    {131072, 268435456, 13852.911, 0.15},
    {131072, 536870912, 28110.679, 0.15},
    {131072, 1073741824, 57088.580, 0.15},
    {2097152, 2097152, 89.345, 0.15},
    {2097152, 4194304, 131.553, 0.15},
    {2097152, 8388608, 216.579, 0.15},
    {2097152, 16777216, 386.534, 0.15},
    {2097152, 33554432, 724.074, 0.15},
    {2097152, 67108864, 1407.422, 0.15},
    {2097152, 134217728, 2788.550, 0.15},
    {2097152, 268435456, 5691.830, 0.15},
    {2097152, 536870912, 12034.843, 0.15},
    {2097152, 1073741824, 25161.274, 0.15},
    {8388608, 8388608, 320.349, 0.15},
    {8388608, 16777216, 473.091, 0.15},
    {8388608, 33554432, 799.770, 0.15},
    {8388608, 67108864, 1482.708, 0.15},
    {8388608, 134217728, 2813.044, 0.15},
    {8388608, 268435456, 5849.418, 0.15},
    {8388608, 536870912, 11857.582, 0.15},
    {8388608, 1073741824, 24753.223, 0.15},
};

static void staged_copies_as_measured(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double time_s =
            rows[i].chunk_B == 0
                ? host_staged_serial_s(&host_copy_h200, rows[i].bytes)
                : host_staged_pipelined_s(&host_copy_h200, rows[i].bytes, rows[i].chunk_B);
        near(time_s, rows[i].measured_us * 1e-6, rows[i].tolerance);
    }
}

static void closed_forms(void **state)
{
    (void)state;
    /* 8 MB in 1 MB chunks over 1 us + 10 GB/s (101 us) and 2 us + 20 GB/s (52 us):
     * serial 8 * 153 = 1224 us; pipelined 153 + 7 * 101 = 860 us. */
    const struct host_stage stages[] = {{1e-6, 10e9}, {2e-6, 20e9}};
    near(host_serial_s(stages, 2, 8e6, 1e6), 1224e-6, 1e-12);
    near(host_pipelined_s(stages, 2, 8e6, 1e6), 860e-6, 1e-12);
    /* One chunk: both the same, whatever larger chunk is asked for. 1 + 800 + 2 + 400. */
    near(host_serial_s(stages, 2, 8e6, 1e9), 1203e-6, 1e-12);
    near(host_pipelined_s(stages, 2, 8e6, 8e6), 1203e-6, 1e-12);
    /* 2.5 MB in at most 1 MB: three of 833,333 B: (1 + 83.333) * 3 + 2 + 41.667 = 296.67 us. */
    near(host_pipelined_s(stages, 2, 2.5e6, 1e6), 296.667e-6, 1e-5);
    /* Nothing to copy: the fixed times of one chunk. */
    near(host_pipelined_s(stages, 2, 0, 1e6), 3e-6, 1e-12);
}

static void regimes_of_the_staged_copy(void **state)
{
    (void)state;
    /* 128 KiB, 1 GiB: issue 2 * 3.4 us is above 2 + 131072/48.5e9 = 4.70 us, so 8191 * 6.8 us
     * + 6.8 + (2 + 2.379) + (2 + 2.703) + 3 = 55,717.7 us. */
    near(host_staged_pipelined_s(&host_copy_h200, 0x1p30, 131072), 55717.7e-6, 1e-5);
    /* 8 MiB: the link is the limit, 2 + 172.96 us a chunk. */
    near(host_staged_pipelined_s(&host_copy_h200, 0x1p30, 8388608) -
             host_staged_pipelined_s(&host_copy_h200, 0x1p30 - 0x1p23, 8388608),
         174.961e-6, 1e-5);
    /* Serial, 1 GiB: 16.8 us + 19.487 ms + 22.139 ms. */
    near(host_staged_serial_s(&host_copy_h200, 0x1p30), 41.643e-3, 1e-4);
}

static void best_chunk_is_the_best_of_all(void **state)
{
    (void)state;
    struct host_stage stages[3];
    host_staged_stages(&host_copy_h200, stages);
    for (double bytes = 4096; bytes <= 0x1p30; bytes *= 3) {
        double best_B = host_best_chunk_B(stages, 3, bytes, 4096, 0x1p26);
        double best_s = host_pipelined_s(stages, 3, bytes, best_B);
        for (double chunk_B = 4096; chunk_B <= 0x1p26; chunk_B *= 2)
            assert_true(best_s <= host_pipelined_s(stages, 3, bytes, chunk_B));
    }
    /* Two stages, the second slower by far, a = 1 us, 10 GB/s; S = 1 MB. In between, time is
     * S/B + K*a + c/B1 + a1: optimum c = sqrt(S*a*B1) = sqrt(1e6 * 1e-6 * 20e9) = 141 kB, so
     * 128 KiB of the powers of two. */
    const struct host_stage two[] = {{1e-6, 20e9}, {1e-6, 10e9}};
    near(host_best_chunk_B(two, 2, 0x1p20, 1, 0x1p30), 131072, 1e-12);
    /* As measured at 64 MiB: 2 MiB (1407 us) beats 8 MiB (1483) and 128 KiB (3544). */
    double best_B = host_best_chunk_B(stages, 3, 0x1p26, 4096, 0x1p26);
    assert_true(best_B > 131072 && best_B < 8388608);
    /* min_B is rounded up to a power of two, and held. */
    near(host_best_chunk_B(two, 2, 0x1p20, 150000, 0x1p30), 262144, 1e-12);
}

/* cudaMemcpy of malloc memory to the GPU: the CPU's memcpy is the limit, 12.4 GB/s while in cache,
 * 5.2 beyond. 6 us for no bytes, slabs of 128 KiB (assumed), DMA 2 us + 54 GB/s. */
static void pageable_copy_as_measured(void **state)
{
    (void)state;
    static const struct row pageable[] = {
        {0, 1048576, 95.316, 0.15},        {0, 2097152, 181.971, 0.15},
        {0, 4194304, 362.062, 0.15},       {0, 8388608, 667.051, 0.15},
        {0, 16777216, 1266.954, 0.15},     {0, 33554432, 6243.788, 0.15},
        {0, 67108864, 12550.356, 0.15},    {0, 134217728, 24480.351, 0.15},
        {0, 268435456, 48080.275, 0.15},   {0, 536870912, 103826.739, 0.15},
        {0, 1073741824, 213517.617, 0.15},
    };
    for (size_t i = 0; i < sizeof pageable / sizeof pageable[0]; i++) {
        double bytes = pageable[i].bytes;
        double memcpy_Bps = host_memcpy_Bps(&host_memcpy_emerald_rapids, bytes);
        near(host_pageable_s(6e-6, memcpy_Bps, 2e-6, 54e9, 131072, bytes),
             pageable[i].measured_us * 1e-6, pageable[i].tolerance);
    }
    /* 1 MiB: 8 slabs of 10.570 us, the last DMA 2 + 2.427 us, and 6 us: 94.99 us. */
    near(host_pageable_s(6e-6, 12.4e9, 2e-6, 54e9, 131072, 1048576), 94.990e-6, 1e-4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(staged_copies_as_measured),
        cmocka_unit_test(closed_forms),
        cmocka_unit_test(regimes_of_the_staged_copy),
        cmocka_unit_test(best_chunk_is_the_best_of_all),
        cmocka_unit_test(pageable_copy_as_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
