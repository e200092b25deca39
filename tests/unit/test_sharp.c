/* test_sharp.c: models/sharp: levels, latencies and rates, with the calculation by hand beside
 * each, and against what was published. */
#include "models/sharp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g %%", actual, expected, 100 * tolerance);
}

/* p (p/2)^(L-1): 64 ports join 64, 64 * 32 = 2048, 2048 * 32 = 65536; 36 join 36, 36 * 18 = 648. */
static void levels_of_switches(void **state)
{
    (void)state;
    static const struct {
        double members, ports;
        int levels;
    } cases[] = {{1, 64, 1},     {64, 64, 1},    {65, 64, 2}, {2048, 64, 2}, {2049, 64, 3},
                 {65536, 64, 3}, {65537, 64, 4}, {36, 36, 1}, {128, 36, 2},  {649, 36, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(sharp_levels(cases[i].members, cases[i].ports), cases[i].levels);
}

/* Each level up adds a hop and an addition; down, the root's pass and a hop for each level below.
 */
static void latency_goes_with_levels(void **state)
{
    (void)state;
    near(sharp_up_s(1, 0.15e-6, 0.3e-6), 0.45e-6, 1e-12);
    near(sharp_up_s(3, 0.15e-6, 0.3e-6), 1.35e-6, 1e-12); /* 3 * 0.45 */
    near(sharp_down_s(1, 0.15e-6, 0.3e-6), 0.3e-6, 1e-12);
    near(sharp_down_s(3, 0.15e-6, 0.3e-6), 0.6e-6, 1e-12); /* 0.3 + 2 * 0.15 */
}

/* 4096 B in 256 B operations are 16: 15 follow the first. With 2 of 2 us outstanding one comes each
 * us: 15 us; the wire would take 4096 / 12e9 = 0.34 us. With 256 outstanding the wire limits. */
static void low_latency_is_cut_and_paced(void **state)
{
    (void)state;
    near(sharp_operations(4096, 256), 16, 1e-12);
    near(sharp_operations(4097, 256), 17, 1e-12);
    near(sharp_operations(0, 256), 1, 1e-12);
    near(sharp_llt_s(4096, 256, 12e9, 3e-6, 2e-6, 2), 18e-6, 1e-12);
    near(sharp_llt_s(256, 256, 12e9, 3e-6, 2e-6, 2), 3e-6 + 256 / 12e9, 1e-12);
    near(sharp_llt_s(4096, 256, 12e9, 3e-6, 2e-6, 256), 3e-6 + 4096 / 12e9, 1e-12);
    /* twice as many outstanding, half the time beyond the first */
    near(sharp_llt_s(4096, 256, 12e9, 3e-6, 2e-6, 4), 10.5e-6, 1e-12);
}

/* COMHPC 2016: 8 B 2.83 us, 4096 B 14.48 us over 128 hosts: (14.48 - 2.83) / 15 = 0.777 us an
 * operation. If an operation takes the whole 2.83 us, 3.64 of them were outstanding. */
static void segment_gap_of_2016(void **state)
{
    (void)state;
    double gap_s = (14.48e-6 - 2.83e-6) / 15;
    near(gap_s, 0.777e-6, 0.001);
    near(sharp_operation_s(2.83e-6, 2.83e-6 / gap_s), gap_s, 1e-12);
    near(sharp_llt_s(4096, 256, 12e9, 2.83e-6, 2.83e-6, 2.83e-6 / gap_s), 14.48e-6, 1e-9);
}

/* 1 MiB at 96 % of 12 GB/s: 1048576 / 11.52e9 = 91.02 us, 3 + 5.5 us before. */
static void streaming_is_a_line(void **state)
{
    (void)state;
    double tree_Bps = sharp_tree_Bps(12e9, 0.96, 1, 50e9, 32, 1);
    near(tree_Bps, 11.52e9, 1e-12);
    near(sharp_sat_s(1048576, tree_Bps, 3e-6, 5.5e-6), 8.5e-6 + 91.0222e-6, 1e-6);
    /* SHARP manual, 128 nodes, 64 KiB to 1 MiB; its own base of 7.4 us */
    static const double measured[][2] = {
        {65536, 17.62e-6}, {262144, 33.90e-6}, {524288, 58.98e-6}, {1048576, 101.53e-6}};
    for (size_t i = 0; i < 4; i++)
        near(sharp_sat_s(measured[i][0], tree_Bps, 7.4e-6, 5.5e-6), measured[i][1], 0.08);
}

static void what_trees_share(void **state)
{
    (void)state;
    near(sharp_share(1, 1), 1, 1e-12);
    near(sharp_share(4, 1), 0.25, 1e-12);
    near(sharp_share(4, 2), 0.5, 1e-12);
    near(sharp_share(1, 2), 1, 1e-12); /* never more than all */
    /* One level passes no uplink. Two levels: 8 trees over 4 uplinks of 50 GB/s have 25 each. */
    near(sharp_tree_Bps(48e9, 1, 1, 10e9, 4, 8), 48e9, 1e-12);
    near(sharp_tree_Bps(48e9, 1, 2, 50e9, 8, 8), 48e9, 1e-12);
    near(sharp_tree_Bps(48e9, 1, 2, 50e9, 4, 8), 25e9, 1e-12);
    near(sharp_tree_Bps(48e9, 0.96, 2, 50e9, 4, 8), 24e9, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_of_switches),           cmocka_unit_test(latency_goes_with_levels),
        cmocka_unit_test(low_latency_is_cut_and_paced), cmocka_unit_test(segment_gap_of_2016),
        cmocka_unit_test(streaming_is_a_line),          cmocka_unit_test(what_trees_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
