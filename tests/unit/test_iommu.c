/* test_iommu.c: misses, DMA time and throughput under translation, with the hand calculation. */
#include "models/iommu.h"

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

static void misses_begin_beyond_the_reach(void **state)
{
    (void)state;
    /* 64 entries of 4 KiB reach 256 KiB. */
    assert_true(iommu_p_miss(64, 4096, 0) == 0);
    assert_true(iommu_p_miss(64, 4096, 262144) == 0);
    near(iommu_p_miss(64, 4096, 1048576), 0.75, 1e-12);              /* 1 - 256/1024 */
    near(iommu_p_miss(64, 4096, 64 * 1048576.0), 0.99609375, 1e-12); /* 1 - 1/256 */
    /* 2 MiB pages reach 128 MiB: none at 64 MiB. */
    assert_true(iommu_p_miss(64, 2097152, 64 * 1048576.0) == 0);
    near(iommu_p_miss(IOMMU_ENTRIES, IOMMU_GPU_PAGE_B, 8388608), 0.5, 1e-12); /* 1 - 4/8 MiB */
}

static void a_miss_adds_a_walk(void **state)
{
    (void)state;
    near(iommu_dma_s(550e-9, 0.75, 330e-9), 797.5e-9, 1e-12); /* 550 + 0.75 * 330 */
    near(iommu_dma_s(550e-9, 0, 330e-9), 550e-9, 1e-12);
    /* ATS: the question crosses the link too: 500 + 330. */
    near(iommu_ats_walk_s(500e-9, 330e-9), 830e-9, 1e-12);
}

static void throughput_falls_only_when_outstanding_runs_short(void **state)
{
    (void)state;
    /* 32 KiB in 1 us = 32.8 GB/s > 25; with every access missing 32768/1.33e-6 = 24.64. */
    near(iommu_rate_Bps(25e9, 32768, 1e-6, 0, 330e-9, 0.2), 25e9, 1e-12);
    near(iommu_rate_Bps(25e9, 32768, 1e-6, 1, 330e-9, 0.2), 24.6376e9, 1e-5);
    /* Twice as much in flight hides it: 65536/1.33e-6 = 49.3 > 25. */
    near(iommu_rate_Bps(25e9, 65536, 1e-6, 1, 330e-9, 0.2), 25e9, 1e-12);
    /* Huge pages: no misses, nothing lost. */
    near(iommu_rate_Bps(25e9, 25000, 1e-6, 0, 330e-9, 0.2), 25e9, 1e-12);
    /* 25000/1.33e-6 = 18.80 is below the cited floor 0.8 * 25 = 20; the bare bound gives it. */
    near(iommu_rate_Bps(25e9, 25000, 1e-6, 1, 330e-9, IOMMU_MAX_LOSS), 20e9, 1e-12);
    near(iommu_rate_Bps(25e9, 25000, 1e-6, 1, 330e-9, 1), 18.797e9, 1e-4);
    /* Short of credits without translation: 10000/1e-6 = 10; the floor is 8, not 20. */
    near(iommu_rate_Bps(25e9, 10000, 1e-6, 1, 1e-6, 0.2), 8e9, 1e-12);
}

static void rate_is_monotone_in_misses(void **state)
{
    (void)state;
    double last = HUGE_VAL;
    for (double p = 0; p <= 1; p += 0.05) {
        double rate = iommu_rate_Bps(25e9, 26000, 1e-6, p, 330e-9, 0.2);
        assert_true(rate <= last && rate >= 20e9 - 1 && rate <= 25e9);
        last = rate;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misses_begin_beyond_the_reach),
        cmocka_unit_test(a_miss_adds_a_walk),
        cmocka_unit_test(throughput_falls_only_when_outstanding_runs_short),
        cmocka_unit_test(rate_is_monotone_in_misses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
