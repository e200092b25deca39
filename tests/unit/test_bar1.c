/* test_bar1.c: CPU copies through the BAR, against the copylat table of GDRCopy.
 *
 * NVIDIA/gdrcopy at fcec3ce, README, V100-SXM2-32GB, average microseconds. Tolerance 15 % for
 * writes and 20 % for reads: the table has steps that one straight line cannot follow. */
#include "models/bar1.h"

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

struct copylat {
    double bytes, write_us, read_us;
};

static const struct copylat copylat[] = {
    {1, 0.0889, 0.9069},
    {2, 0.0884, 1.7170},
    {4, 0.0884, 1.7169},
    {8, 0.0884, 1.7164},
    {16, 0.0905, 0.8601},
    {32, 0.0902, 1.7024},
    {64, 0.0902, 3.1016},
    {128, 0.0952, 3.4944},
    {256, 0.0983, 3.6400},
    {512, 0.1176, 2.4394},
    {1024, 0.1825, 2.8022},
    {2048, 0.2549, 4.6615},
    {4096, 0.4366, 7.9783},
    {8192, 0.8141, 14.9209},
    {16384, 1.6155, 28.9571},
    {32768, 3.2284, 56.9373},
    {65536, 6.4906, 114.1008},
    {131072, 12.9761, 234.9382},
    {262144, 25.9459, 496.4011},
    {524288, 51.9100, 985.5196},
    {1048576, 103.8028, 1970.7057},
    {2097152, 207.5990, 3942.5611},
    {4194304, 415.2856, 7888.9468},
    {8388608, 830.6355, 18361.5673},
    {16777216, 1661.3285, 36758.8342},
};

static void every_row_of_copylat(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof copylat / sizeof copylat[0]; i++) {
        near(bar1_write_s(&bar1_v100, copylat[i].bytes), copylat[i].write_us * 1e-6, 0.15);
        near(bar1_read_s(&bar1_v100, copylat[i].bytes), copylat[i].read_us * 1e-6, 0.20);
    }
}

static void hand_calculation(void **state)
{
    (void)state;
    near(bar1_write_s(&bar1_v100, 1), 0.09e-6, 1e-12);
    /* 0.09 us + (65536 - 256)/10.1e9 = 0.09 + 6.4634 us */
    near(bar1_write_s(&bar1_v100, 65536), 6.5534e-6, 1e-4);
    near(bar1_read_s(&bar1_v100, 8), 1.72e-6, 1e-12);  /* two loads */
    near(bar1_read_s(&bar1_v100, 16), 0.86e-6, 1e-12); /* one */
    near(bar1_read_s(&bar1_v100, 256), 3.5e-6, 1e-12); /* 16 loads, but the plateau */
    /* 1.2 us + 65536/0.54e9 = 1.2 + 121.36 us */
    near(bar1_read_s(&bar1_v100, 65536), 122.563e-6, 1e-4);
    /* copybw, 128 KiB: 9638.54 and 530.135 MiB/s */
    near(131072 / bar1_write_s(&bar1_v100, 131072), 9638.54 * 1048576, 0.02);
    near(131072 / bar1_read_s(&bar1_v100, 131072), 530.135 * 1048576, 0.05);
}

static void crossover_against_a_dma(void **state)
{
    (void)state;
    /* Writes: 0.09 us + (S - 256)/10.1 = 6.5 us + S/26 (GB/s): 6.41e-6 + 256/10.1e9 = 6.4353e-6
     * over 1/10.1e9 - 1/26e9 = 6.0548e-11: 106,286 B.
     * Reads: 1.2 us + S/0.54 = 6.5 us + S/26: 5.3e-6 over 1.81339e-9: 2,923 B. */
    double write_B = bar1_write_crossover_B(&bar1_v100, 6.5e-6, 26e9);
    double read_B = bar1_read_crossover_B(&bar1_v100, 6.5e-6, 26e9);
    near(write_B, 106286, 1e-3);
    near(read_B, 2923, 1e-3);
    assert_true(write_B / read_B > 4);
    /* At the crossover both take the same time, to the half byte that bisection stops at. */
    near(bar1_write_s(&bar1_v100, write_B), 6.5e-6 + write_B / 26e9, 1e-4);
    near(bar1_read_s(&bar1_v100, read_B), 6.5e-6 + read_B / 26e9, 1e-3);
    /* For each floor of 5 .. 10 us and rate of 11 GB/s or more the ratio is above 4. */
    for (double floor_s = 5e-6; floor_s <= 10e-6; floor_s += 1e-6)
        for (double rate = 11e9; rate <= 55e9; rate += 4e9)
            assert_true(bar1_write_crossover_B(&bar1_v100, floor_s, rate) >
                        4 * bar1_read_crossover_B(&bar1_v100, floor_s, rate));
}

static void crossover_that_does_not_exist(void **state)
{
    (void)state;
    /* A DMA slower than the stores never wins; one without floor and faster always does. */
    assert_true(isinf(bar1_write_crossover_B(&bar1_v100, 6.5e-6, 10e9)));
    assert_true(bar1_write_crossover_B(&bar1_v100, 0.01e-6, 26e9) == 0);
    assert_true(bar1_read_crossover_B(&bar1_v100, 0.01e-6, 26e9) == 0);
    /* Floor 3 us, in the plateau: the crossover beyond it, (3 - 1.2) us / 1.81339e-9 = 993 B. */
    near(bar1_read_crossover_B(&bar1_v100, 3e-6, 26e9), 993, 2e-3);
    /* A cached mapping (Grace as UCX has it: 30 ns, 30 GB/s both ways) overrides all of it. */
    const struct bar1 grace = {.write_floor_s = 30e-9,
                               .write_Bps = 30e9,
                               .load_s = 30e-9,
                               .plateau_s = 30e-9,
                               .read_start_s = 30e-9,
                               .read_Bps = 30e9};
    /* (6.5 - 0.03) us / (1/30e9 - 1/52e9) = 6.47e-6/1.41026e-11 = 458,780 B both ways */
    near(bar1_write_crossover_B(&grace, 6.5e-6, 52e9), 458780, 1e-3);
    near(bar1_read_crossover_B(&grace, 6.5e-6, 52e9), 458780, 1e-3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_copylat),
        cmocka_unit_test(hand_calculation),
        cmocka_unit_test(crossover_against_a_dma),
        cmocka_unit_test(crossover_that_does_not_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
