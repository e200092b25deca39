/* test_nvlink.c: NVLink rates and NVLS, against published all-reduce numbers. */
#include "models/nvlink.h"

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

static void rates_by_gpu_and_links(void **state)
{
    (void)state;
    near(nvlink_raw_Bps(NVLINK_H100, 18), 450e9, 1e-12);
    near(nvlink_effective_Bps(NVLINK_H100, 18), 370.8e9, 1e-12); /* 18 * 20.6 */
    near(nvlink_effective_Bps(NVLINK_A100, 12), 240e9, 1e-12);
    near(nvlink_effective_Bps(NVLINK_B200, 18), 721.8e9, 1e-12);
    near(nvlink_raw_Bps(NVLINK_B200, 18), 900e9, 1e-12);
    near(nvlink_effective_Bps(NVLINK_V100, 6), 120e9, 1e-12);
    near(nvlink_raw_Bps(NVLINK_P100, 4), 80e9, 1e-12);
    near(nvlink_raw_Bps(NVLINK_GA10X, 4), 56.25e9, 1e-12);
    for (int gpu = 0; gpu < NVLINK_GPU_COUNT; gpu++) {
        assert_non_null(nvlink_gpu_name((enum nvlink_gpu)gpu));
        assert_true(nvlink_effective_Bps((enum nvlink_gpu)gpu, 1) <
                    nvlink_raw_Bps((enum nvlink_gpu)gpu, 1));
    }
    /* Measured, two H200, 1 GiB: copy engine 2719.785 us, SM stores 2993.764 us. */
    near(nvlink_effective_Bps(NVLINK_H100, 18), 0x1p30 / 2719.785e-6, 0.07); /* 394.8 GB/s */
    near(nvlink_effective_Bps(NVLINK_H100, 18), 0x1p30 / 2993.764e-6, 0.04); /* 358.7 GB/s */
}

static void bytes_by_algorithm(void **state)
{
    (void)state;
    near(nvlink_ring_allreduce_factor(8), 1.75, 1e-12);  /* 14/8 */
    near(nvlink_nvls_allreduce_factor(8), 1.125, 1e-12); /* 1 + 1/8 */
    near(nvlink_ring_allreduce_factor(2), 1.0, 1e-12);   /* */
    near(nvlink_nvls_allreduce_factor(2), 1.5, 1e-12);   /* two GPUs: NVLS moves more */
    near(nvlink_ring_allreduce_factor(3), nvlink_nvls_allreduce_factor(3), 1e-12); /* 4/3 both */
}

struct point {
    int gpus;
    double busbw_GBps;
};

/* NVIDIA/nccl issue 1455: all-reduce, 8 GiB. busbw = W * 2(n-1)/(n+1), W = 307 and 541 GB/s. */
static void nvls_ramps_with_gpus(void **state)
{
    (void)state;
    static const struct point h200[] = {{5, 414.2}, {6, 435.6}, {7, 460.0}, {8, 473.1}};
    static const struct point h100[] = {{5, 420}, {6, 440}, {7, 460}, {8, 480}};
    static const struct point b200[] = {{6, 778.2}, {7, 811.2}, {8, 838.0}};
    for (size_t i = 0; i < 4; i++) {
        near(nvlink_nvls_busbw_Bps(NVLINK_NVLS_H100_BPS, h200[i].gpus) / 1e9, h200[i].busbw_GBps,
             0.05);
        near(nvlink_nvls_busbw_Bps(NVLINK_NVLS_H100_BPS, h100[i].gpus) / 1e9, h100[i].busbw_GBps,
             0.05);
    }
    for (size_t i = 0; i < 3; i++)
        near(nvlink_nvls_busbw_Bps(NVLINK_NVLS_B200_BPS, b200[i].gpus) / 1e9, b200[i].busbw_GBps,
             0.05);
    /* n = 8: 307 * 14/9 = 477.6, above the wire's raw 450; W itself is not. */
    near(nvlink_nvls_busbw_Bps(307e9, 8), 477.556e9, 1e-5);
    assert_true(NVLINK_NVLS_H100_BPS < nvlink_raw_Bps(NVLINK_H100, 18));
    /* NCCL's factors: 0.85 * 370.8 = 315 and 0.74 * 721.8 = 534. */
    near(NVLINK_NVLS_H100_BPS, 0.85 * nvlink_effective_Bps(NVLINK_H100, 18), 0.03);
    near(NVLINK_NVLS_B200_BPS, 0.74 * nvlink_effective_Bps(NVLINK_B200, 18), 0.03);
}

static void break_even(void **state)
{
    (void)state;
    near(nvlink_nvls_breakeven_gpus(307e9, 365e9), 979.0 / 249.0, 1e-12);  /* 3.93 */
    near(nvlink_nvls_breakeven_gpus(541e9, 680e9), 1762.0 / 402.0, 1e-12); /* 4.38 */
    assert_true(isinf(nvlink_nvls_breakeven_gpus(307e9, 700e9)));
    /* On either side of it the comparison turns. */
    assert_true(nvlink_nvls_busbw_Bps(307e9, 3) < 365e9);
    assert_true(nvlink_nvls_busbw_Bps(307e9, 4) > 365e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_by_gpu_and_links),
        cmocka_unit_test(bytes_by_algorithm),
        cmocka_unit_test(nvls_ramps_with_gpus),
        cmocka_unit_test(break_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
