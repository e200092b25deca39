/* test_tlp.c: TLP bytes by mover, against the PCIe counters of two H200.
 *
 * Measured by us, NVML fields 197 (TX) and 198 (RX), bytes on the link for each payload byte:
 * 64 GiB by the copy engine to and from host memory, 32 GiB staged GPU to GPU through it, and NCCL
 * all-reduce over shared memory, Simple, 2 ranks, at 256 MiB. Tolerance 0.5 %: the counters
 * repeat to 0.2 %, and idle traffic adds up to 3e-5 (so "0" is below 1e-4). */
#include "models/tlp.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Relative difference, with the values in the log of a failure. */
static void near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g %%", actual, expected, 100 * tolerance);
}

struct counter {
    const char *what;
    double measured;
    enum tlp_mover mover;
    char part; /* forward, back, or none of it */
};

static void copy_engine_matches_the_counters(void **state)
{
    (void)state;
    static const struct counter rows[] = {
        {"d2h gpu0 tx", 1.09377, TLP_COPY_WRITE, 'f'},    /* 1 + 24/256 = 1.09375 */
        {"d2h gpu0 rx", 0.00001, TLP_COPY_WRITE, 'b'},    /* posted: nothing comes back */
        {"d2h gpu1 tx", 0.00002, TLP_COPY_WRITE, '-'},    /* the other GPU: not on the path */
        {"d2h gpu1 rx", 0.00001, TLP_COPY_WRITE, '-'},    /* */
        {"h2d gpu0 tx", 0.09377, TLP_COPY_READ, 'b'},     /* 24/256 = 0.09375 */
        {"h2d gpu0 rx", 1.07814, TLP_COPY_READ, 'f'},     /* 1 + 20/256 = 1.078125 */
        {"h2d gpu1 tx", 0.00002, TLP_COPY_READ, '-'},     /* */
        {"h2d gpu1 rx", 0.00001, TLP_COPY_READ, '-'},     /* */
        {"peer gpu0 tx", 0.00001, TLP_COPY_WRITE, '-'},   /* over NVLink: no PCIe */
        {"peer gpu0 rx", 0.00001, TLP_COPY_WRITE, '-'},   /* */
        {"peer gpu1 tx", 0.00001, TLP_COPY_WRITE, '-'},   /* */
        {"peer gpu1 rx", 0.00001, TLP_COPY_WRITE, '-'},   /* */
        {"staged gpu0 tx", 1.09379, TLP_COPY_WRITE, 'f'}, /* the first crossing */
        {"staged gpu0 rx", 0.00003, TLP_COPY_WRITE, 'b'}, /* */
        {"staged gpu1 tx", 0.09379, TLP_COPY_READ, 'b'},  /* the second crossing */
        {"staged gpu1 rx", 1.07815, TLP_COPY_READ, 'f'},  /* */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct tlp_factors factors = tlp_factors(rows[i].mover, 256, 512);
        double expected = rows[i].part == 'f'   ? factors.forward
                          : rows[i].part == 'b' ? factors.back
                                                : 0;
        if (fabs(rows[i].measured - expected) > fmax(0.005 * expected, 1e-4))
            fail_msg("%s: %g, measured %g", rows[i].what, expected, rows[i].measured);
    }
}

static void sm_copies_match_the_counters(void **state)
{
    (void)state;
    /* Each GPU stores what it sends and loads what it receives, one payload byte each:
     * out 1 + 24/128 (stores) + 24/128 (requests of loads) = 1.375; in 1 + 20/128 = 1.15625. */
    struct tlp_factors store = tlp_factors(TLP_SM_STORE, 256, 512);
    struct tlp_factors load = tlp_factors(TLP_SM_LOAD, 256, 512);
    near(store.forward + load.back, 1.375, 1e-12);
    near(load.forward + store.back, 1.15625, 1e-12);
    near(store.forward + load.back, 1.3754, 0.005); /* all-reduce 16 MiB, gpu0 tx */
    near(load.forward + store.back, 1.1568, 0.005);
    near(store.forward + load.back, 1.3764, 0.005); /* send/recv 256 MiB */
    near(load.forward + store.back, 1.1579, 0.005);
}

static void link_limits_bound_the_payload(void **state)
{
    (void)state;
    /* MPS 128 cuts a copy engine's 256 B: 1 + 24/128. */
    near(tlp_factors(TLP_COPY_WRITE, 128, 512).forward, 1.1875, 1e-12);
    /* A larger MPS does not help it: still 256 B. */
    near(tlp_factors(TLP_COPY_WRITE, 512, 512).forward, 1.09375, 1e-12);
    /* A NIC fills them: write 1 + 24/512; read 1 + 20/512 and 24/4096. */
    near(tlp_factors(TLP_NIC_WRITE, 512, 4096).forward, 1.046875, 1e-12);
    near(tlp_factors(TLP_NIC_READ, 512, 4096).forward, 1.0390625, 1e-12);
    near(tlp_factors(TLP_NIC_READ, 512, 4096).back, 0.005859375, 1e-12);
    near(tlp_factors(TLP_NVME_READ, 256, 512).back, 0.046875, 1e-12); /* 24/512 */
    near(tlp_factors(TLP_NVME_WRITE, 256, 512).forward, 1.09375, 1e-12);
    /* Requests of 128 B are answered in 128 B, whatever MPS: 1 + 20/128. */
    near(tlp_factors(TLP_NIC_READ, 256, 128).forward, 1.15625, 1e-12);
    /* CPU: 1 + 24/64; loads of 8 B: 1 + 20/8 and 24/8. */
    near(tlp_factors(TLP_CPU_STORE_WC, 256, 512).forward, 1.375, 1e-12);
    near(tlp_factors(TLP_CPU_LOAD_UC, 256, 512).forward, 3.5, 1e-12);
    near(tlp_factors(TLP_CPU_LOAD_UC, 256, 512).back, 3.0, 1e-12);
}

static void writes_are_posted_and_names_differ(void **state)
{
    (void)state;
    for (int mover = 0; mover < TLP_MOVER_COUNT; mover++) {
        struct tlp_factors factors = tlp_factors((enum tlp_mover)mover, 256, 512);
        assert_true((factors.back > 0) == tlp_mover_reads((enum tlp_mover)mover));
        assert_true(factors.forward > 1);
        for (int other = 0; other < mover; other++)
            assert_string_not_equal(tlp_mover_name((enum tlp_mover)mover),
                                    tlp_mover_name((enum tlp_mover)other));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copy_engine_matches_the_counters),
        cmocka_unit_test(sm_copies_match_the_counters),
        cmocka_unit_test(link_limits_bound_the_payload),
        cmocka_unit_test(writes_are_posted_and_names_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
