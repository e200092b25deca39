/* test_nccl_channel.c: channels of one GPU that push over NVLink, and which of them a send takes.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/nccl_channel.h"

static void near_to(double actual, double expected, double share)
{
    if (!(fabs(actual - expected) <= share * fabs(expected)))
        fail_msg("%.9g, not %.9g", actual, expected);
}

/* (1 - e^-l)/l: (1 - 0.367879)/1 = 0.632121, (1 - 0.135335)/2 = 0.432332. */
static void they_drift_apart(void **state)
{
    (void)state;
    near_to(nccl_in_step(0), 1, 0);
    near_to(nccl_in_step(1), 0.632121, 1e-6);
    near_to(nccl_in_step(2), 0.432332, 1e-6);
    near_to(nccl_in_step(1e6), 1e-6, 1e-6);
}

/* The example of nccl_channel.h: 24 channels, r = 39.7, c = 24.2, B = 358.7 GB/s, k = 1/2.
 *   1/(N r) = 1.04954 ps, 1/B = 2.78784: (1 + (1.04954 / 2.78784)^3.5)^(1/3.5) = 1.00927: 2.81368
 *   1/(N c) = 1.72176 ps: in step 2.81368 + 0.86088 = 3.67456
 *   apart: 1.04954 + 0.86088 = 1.91042, (1 + (1.91042 / 2.78784)^3.5)^(1/3.5) = 1.06981: 2.98245 */
static void pushing_and_copying(void **state)
{
    (void)state;
    const double push = 24 * 39.7e9, copy = 24 * 24.2e9, link = 358.7e9;
    near_to(nccl_push_s(push, copy, link, (struct nccl_pace){0.5, 1, 1, 1, 1}), 3.67456e-12, 1e-4);
    near_to(nccl_push_s(push, copy, link, (struct nccl_pace){0.5, 0, 1, 1, 1}), 2.98245e-12, 1e-4);
    near_to(nccl_push_s(push, copy, link, (struct nccl_pace){0.5, 0.5, 1, 1, 1}), 3.32851e-12,
            1e-4);
    near_to(nccl_push_s(push, copy, link, (struct nccl_pace){0.5, 1, 1, 1, 0.5}), 2 * 3.67456e-12,
            1e-4);
    /* One channel, which hardly feels the link: 25.1889 + 20.6612 = 45.8501 ps of what is kept. */
    near_to(nccl_push_s(39.7e9, 24.2e9, link, (struct nccl_pace){1, 1, 1, 1, 1}), 66.515e-12, 1e-3);
    /* An eighth of the channels, and its eighth of the link: 8 times as long. */
    near_to(nccl_push_s(push, copy, link, (struct nccl_pace){0.5, 1, 1, 1 / 8.0, 1}),
            8 * 3.67456e-12, 1e-4);
    /* Half of its threads: twice as long. */
    near_to(nccl_push_s(39.7e9, 24.2e9, (double)INFINITY, (struct nccl_pace){0, 1, 0.5, 1, 1}),
            2 / 39.7e9, 1e-9);
}

/* What NCCL's logs say of two H200, and the size at which sendrecv became quicker there. */
static void channels_of_sends(void **state)
{
    (void)state;
    const struct nccl_p2p nvlink = {.channels = 24, .paths = 36, .ranks = 2, .nodes = 1};
    const struct nccl_p2p host = {.channels = 4, .paths = 2, .ranks = 2, .nodes = 1};
    const struct nccl_p2p node8 = {.channels = 24, .paths = 36, .ranks = 8, .nodes = 1};
    assert_int_equal(nccl_p2p_channels(&nvlink, 8), 16);
    assert_int_equal(nccl_p2p_channels(&nvlink, 268435456), 16);
    assert_int_equal(nccl_p2p_channels(&nvlink, 536870912), 32);
    assert_int_equal(nccl_p2p_channels(&nvlink, 1e12), 32);
    assert_int_equal(nccl_p2p_channels(&host, 1e9), 2);
    /* 32 * 8 > 32: 4 at least; 32 * 8 > 128: 16 at most */
    assert_int_equal(nccl_p2p_channels(&node8, 1e6), 4);
    assert_int_equal(nccl_p2p_channels(&node8, 1e12), 16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_drift_apart),
        cmocka_unit_test(pushing_and_copying),
        cmocka_unit_test(channels_of_sends),
    };
    return cmocka_run_group_tests_name("nccl_channel", tests, NULL, NULL);
}
