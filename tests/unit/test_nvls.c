/* test_nvls.c: reduction in the NVSwitch, against published all-reduce numbers. */
#include "models/nvls.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/nvlink.h"

/* Relative difference, with the values in the log of a failure. */
static void near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g %%", actual, expected, 100 * tolerance);
}

static void bytes_by_algorithm(void **state)
{
    (void)state;
    near(nvls_ring_factor(8), 1.75, 1e-12);           /* 14/8 */
    near(nvls_factor(8), 1.125, 1e-12);               /* 1 + 1/8 */
    near(nvls_ring_factor(2), 1.0, 1e-12);            /* */
    near(nvls_factor(2), 1.5, 1e-12);                 /* two GPUs: NVLS moves more */
    near(nvls_ring_factor(3), nvls_factor(3), 1e-12); /* 4/3 both */
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
        near(nvls_busbw_Bps(NVLS_H100_BPS, h200[i].gpus) / 1e9, h200[i].busbw_GBps, 0.05);
        near(nvls_busbw_Bps(NVLS_H100_BPS, h100[i].gpus) / 1e9, h100[i].busbw_GBps, 0.05);
    }
    for (size_t i = 0; i < 3; i++)
        near(nvls_busbw_Bps(NVLS_B200_BPS, b200[i].gpus) / 1e9, b200[i].busbw_GBps, 0.05);
    /* n = 8: 307 * 14/9 = 477.6, above the wire's raw 450; W itself is not. */
    near(nvls_busbw_Bps(307e9, 8), 477.556e9, 1e-5);
    assert_true(NVLS_H100_BPS < nvlink_raw_Bps(NVLINK_H100, 18));
    /* NCCL's factors: 0.85 * 370.8 = 315 and 0.74 * 721.8 = 534. */
    near(NVLS_H100_BPS, 0.85 * nvlink_effective_Bps(NVLINK_H100, 18), 0.03);
    near(NVLS_B200_BPS, 0.74 * nvlink_effective_Bps(NVLINK_B200, 18), 0.03);
}

static void break_even(void **state)
{
    (void)state;
    near(nvls_breakeven_gpus(307e9, 365e9), 979.0 / 249.0, 1e-12);  /* 3.93 */
    near(nvls_breakeven_gpus(541e9, 680e9), 1762.0 / 402.0, 1e-12); /* 4.38 */
    assert_true(isinf(nvls_breakeven_gpus(307e9, 700e9)));
    /* On either side of it the comparison turns. */
    assert_true(nvls_busbw_Bps(307e9, 3) < 365e9);
    assert_true(nvls_busbw_Bps(307e9, 4) > 365e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_by_algorithm),
        cmocka_unit_test(nvls_ramps_with_gpus),
        cmocka_unit_test(break_even),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
