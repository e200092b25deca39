/* test_pcie.c: models/pcie against values computed with the pcie-bench model
 * (pcie-bench/pcie-model, 64-bit addresses, no ECRC, MRRS 512, completions cut at MPS), to the
 * digits printed there. */
#include "models/pcie.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

/* Equal when printed with `digits` decimals. */
#define assert_printed(actual, expected, digits)                                                   \
    assert_int_equal(llround((actual)*pow(10, (digits))), llround((expected)*pow(10, (digits))))

static void raw_rates(void **state)
{
    (void)state;
    /* raw Gb/s at x8 and x16 = GT/s * width * encoding:
     *   8b/10b up to gen 2, 128b/130b up to gen 5, FLIT 242/256 beyond.
     * e.g. gen 4 x16: 16 * 16 * 128/130 = 252.0615 Gb/s = 31.5077 GB/s */
    static const struct {
        int gen;
        double x8_Gbps, x16_Gbps, x16_GBps;
        int digits, digits_GBps;
    } rows[] = {
        {1, 16, 32, 4.0, 3, 1},
        {2, 32, 64, 8.0, 3, 1},
        {3, 63.015, 126.031, 15.75, 3, 2},
        {4, 126.031, 252.062, 31.51, 3, 2},
        {5, 252.062, 504.123, 63.02, 3, 2},
        {6, 484, 968, 121.0, 3, 1},
        {7, 968, 1936, 242.0, 3, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double x8 = pcie_raw_Bps(rows[i].gen, 8), x16 = pcie_raw_Bps(rows[i].gen, 16);
        assert_printed(x8 * 8e-9, rows[i].x8_Gbps, rows[i].digits);
        assert_printed(x16 * 8e-9, rows[i].x16_Gbps, rows[i].digits);
        assert_printed(x16 * 1e-9, rows[i].x16_GBps, rows[i].digits_GBps);
    }
    assert_near(pcie_raw_Bps(0, 16), 0, 0);
    assert_near(pcie_raw_Bps(8, 16), 0, 0);
    assert_near(pcie_raw_Bps(-1, 16), 0, 0);
    for (int gen = 1; gen <= 7; gen++)
        for (int width = 1; width <= 32; width *= 2)
            assert_near(pcie_raw_Bps(gen, width), width * pcie_raw_Bps(gen, 1), 1e-15);
}

static void oracle_table(void **state)
{
    (void)state;
    static const struct {
        int gen, width, mps;
        double tlp_Gbps, write_64K, read_64K, write_64, write_256; /* GB/s */
    } rows[] = {
        {3, 8, 256, 57.885, 6.62, 6.71, 5.26, 6.62},
        {3, 16, 128, 111.700, 11.76, 12.08, 10.15, 11.76},
        {3, 16, 256, 113.700, 12.99, 13.18, 10.34, 12.99},
        {3, 16, 512, 114.623, 13.69, 13.79, 10.42, 13.10},
        {4, 8, 256, 115.770, 13.23, 13.42, 10.52, 13.23},
        {4, 16, 128, 223.399, 23.52, 24.15, 20.31, 23.52},
        {4, 16, 256, 227.400, 25.99, 26.37, 20.67, 25.99},
        {4, 16, 512, 229.247, 27.37, 27.58, 20.84, 26.20},
        {5, 16, 128, 446.798, 47.03, 48.30, 40.62, 47.03},
        {5, 16, 256, 454.800, 51.98, 52.73, 41.35, 51.98},
        {5, 16, 512, 458.493, 54.75, 55.16, 41.68, 52.40},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int gen = rows[i].gen, width = rows[i].width, mps = rows[i].mps;
        assert_printed(pcie_tlp_Bps(gen, width, mps) * 8e-9, rows[i].tlp_Gbps, 3);
        assert_printed(pcie_write_Bps(gen, width, mps, 65536) * 1e-9, rows[i].write_64K, 2);
        assert_printed(pcie_read_Bps(gen, width, mps, 512, 65536) * 1e-9, rows[i].read_64K, 2);
        assert_printed(pcie_write_Bps(gen, width, mps, 64) * 1e-9, rows[i].write_64, 2);
        assert_printed(pcie_write_Bps(gen, width, mps, 256) * 1e-9, rows[i].write_256, 2);
    }
}

/* One row worked out: gen 4 x16, MPS 256, ack = fc = 168 bytes.
 *   raw   = 16e9 * 16 * 128/130 / 8                  = 31.507692e9
 *   tlp   = raw * (1 - 16/168 - 4/1538)              = 31.507692e9 * 0.9021611 = 28.425013e9
 *   write = tlp * 65536 / (65536 + 256 * 24)         = tlp / 1.09375           = 25.988584e9
 *   read  = tlp * 65536 / (65536 + 256 * 20)         = tlp / 1.078125          = 26.365230e9 */
static void one_row_by_hand(void **state)
{
    (void)state;
    assert_near(pcie_raw_Bps(4, 16), 31.507692e9, 1e-7);
    assert_near(pcie_tlp_Bps(4, 16, 256), 28.425013e9, 1e-6);
    assert_near(pcie_write_Bps(4, 16, 256, 65536), 25.988584e9, 1e-6);
    assert_near(pcie_read_Bps(4, 16, 256, 512, 65536), 26.365230e9, 1e-6);
}

/* Bytes between DLLPs for gen 3 to 7, by width and MPS, taken back out of the rates:
 * gap = 16 / (1 - 4/1538 - tlp/raw). */
static void distance_of_dllps(void **state)
{
    (void)state;
    static const double gaps[6][6] = {
        {333, 512, 655, 1167, 2191, 4239}, {224, 313, 385, 641, 1153, 2177},
        {169, 214, 250, 378, 634, 1146},   {163, 203, 182, 246, 374, 630},
        {144, 168, 182, 246, 374, 630},    {129, 141, 148, 180, 244, 372},
    };
    for (int gen = 3; gen <= 7; gen++)
        for (int w = 0; w < 6; w++)
            for (int m = 0; m < 6; m++) {
                int width = 1 << w, mps = 128 << m;
                double share = pcie_tlp_Bps(gen, width, mps) / pcie_raw_Bps(gen, width);
                assert_near(16 / (1 - 4.0 / 1538 - share), gaps[w][m], 1e-9);
            }
    static const double gen1[6] = {48, 72, 86, 150, 278, 534};
    static const double gen2[6] = {99, 123, 137, 201, 329, 585};
    for (int m = 0; m < 6; m++) {
        double one = pcie_tlp_Bps(1, 16, 128 << m) / pcie_raw_Bps(1, 16);
        double two = pcie_tlp_Bps(2, 16, 128 << m) / pcie_raw_Bps(2, 16);
        assert_near(16 / (1 - 4.0 / 1538 - one), gen1[m], 1e-9);
        assert_near(16 / (1 - 4.0 / 1538 - two), gen2[m], 1e-9);
    }
}

/* Small reads are limited by the requests on the way up: n = 16, one request of 24 B up, 20 + 16 B
 * down: 36 > 24, down limits; with MRRS 1 the 16 requests of 24 B = 384 B limit. */
static void reads_are_limited_by_the_fuller_direction(void **state)
{
    (void)state;
    double tlp = pcie_tlp_Bps(4, 16, 256);
    assert_near(pcie_read_Bps(4, 16, 256, 512, 16), tlp * 16 / 36, 1e-12);
    assert_near(pcie_read_Bps(4, 16, 256, 1, 16), tlp * 16 / 384, 1e-12);
    /* 300 B with MPS 256, MRRS 512: 24 up; 2 * 20 + 300 = 340 down */
    assert_near(pcie_read_Bps(4, 16, 256, 512, 300), tlp * 300 / 340, 1e-12);
    /* a write of 300 B: 2 * 24 + 300 = 348 */
    assert_near(pcie_write_Bps(4, 16, 256, 300), tlp * 300 / 348, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(raw_rates),
        cmocka_unit_test(oracle_table),
        cmocka_unit_test(one_row_by_hand),
        cmocka_unit_test(distance_of_dllps),
        cmocka_unit_test(reads_are_limited_by_the_fuller_direction),
    };
    return cmocka_run_group_tests_name("pcie", tests, NULL, NULL);
}
