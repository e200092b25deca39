/* test_nvlink.c: NVLink rates. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_by_gpu_and_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
