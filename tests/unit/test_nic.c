/* test_nic.c: wire efficiency and the bound on reads, with the hand calculation. */
#include "models/nic.h"

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

static void wire_efficiency_counts_headers(void **state)
{
    (void)state;
    /* IB: 12 + 16 + 4 + 2 + 2 + 8 = 44 B a packet; RoCE: 12 + 16 + 4 + 2 + 2 + 40 + 14 = 90 B. */
    near(nic_wire_efficiency(NIC_IB, 4096), 4096.0 / 4140.0, 1e-12);   /* 98.9 % */
    near(nic_wire_efficiency(NIC_ROCE, 4096), 4096.0 / 4186.0, 1e-12); /* 97.8 % */
    near(nic_wire_efficiency(NIC_IB, 1024), 0.959, 1e-3);              /* UCX: 95.9 % */
    near(nic_wire_efficiency(NIC_ROCE, 1024), 0.919, 1e-3);            /* UCX: 91.9 % */
    near(nic_payload_Bps(NIC_IB, 25e9, 4096), 24.7343e9, 1e-5);        /* 25 * 4096/4140 */
}

static void measured_rate_is_below_the_wire(void **state)
{
    (void)state;
    /* NDR, MTU 4096, perftest one way (mghpcc/aicr-benchmarks): 47.49 of 50 GB/s; 50 * 0.98937 =
     * 49.47, so the wire bound holds with 4 % to spare. */
    double bound = nic_payload_Bps(NIC_IB, 50e9, 4096);
    assert_true(47.49e9 < bound);
    near(47.49e9, bound, 0.05);
}

/* NVIDIA/nccl-tests issue 152: 4 x HDR a node, all-reduce busbw 30 GB/s, and 93.25 with 44 reads
 * outstanding. Requests of 512 B and 0.9 us are assumed; 13 reads are fitted to "before". */
static void too_few_outstanding_reads(void **state)
{
    (void)state;
    double limit = 0.96 * 25e9; /* what HDR reaches: 24 GB/s (nccl issue 1048) */
    /* before: 13 * 512 / 0.9e-6 = 7.396 GB/s; four: 29.6 */
    double before = nic_read_Bps(limit, 13, 512, 0.9e-6);
    near(before, 7.3956e9, 1e-4);
    near(4 * before, 30e9, 0.30);
    assert_true(before < limit); /* bottleneck: read credits */
    /* after: 44 * 512 / 0.9e-6 = 25.03 GB/s > 24: the line is the limit; four: 96 */
    double after = nic_read_Bps(limit, 44, 512, 0.9e-6);
    near(after, limit, 1e-12);
    near(4 * after, 93.25e9, 0.06);
}

static void reads_needed_inverts_the_bound(void **state)
{
    (void)state;
    /* 24e9 * 0.9e-6 / 512 = 42.1875 -> 43 */
    near(nic_reads_needed(24e9, 512, 0.9e-6), 43, 1e-12);
    /* 512e9 * 1e-6 / 512 = 1000 exactly: not 1001 */
    near(nic_reads_needed(512e9, 512, 1e-6), 1000, 1e-12);
    near(nic_reads_needed(50e9, 4096, 1e-6), 13, 1e-12); /* 12.207 */
    assert_true(nic_reads_needed(0, 512, 1e-6) == 0);
    for (double rate = 1e9; rate < 60e9; rate += 0.7e9) {
        double reads = nic_reads_needed(rate, 512, 0.9e-6);
        assert_true(nic_read_Bps(HUGE_VAL, reads, 512, 0.9e-6) >= rate * (1 - 1e-9));
        assert_true(nic_read_Bps(HUGE_VAL, reads - 1, 512, 0.9e-6) < rate);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wire_efficiency_counts_headers),
        cmocka_unit_test(measured_rate_is_below_the_wire),
        cmocka_unit_test(too_few_outstanding_reads),
        cmocka_unit_test(reads_needed_inverts_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
