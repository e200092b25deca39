/* test_jitter.c: addresses of parameters, predictions with a change, and the interval that
 * uncertain values make.
 *
 * Where launch is all that a call takes, t = launch e^(sigma z): the 95th percentile over the
 * median is e^(1.645 sigma), 1.1788 for sigma = 10 %. With 4000 replicas its standard error is
 * below 0.5 %.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core/protocol.h"
#include "sim/study/jitter.h"
#include "tests/unit/help_core.h"

#define REPLICAS 4000

static struct machine machine;
static struct plan plan;

static int setup(void **state)
{
    static const struct plan_edge edges[] = {{.from = 0, .to = 1}, CORE_STEP_END};
    (void)state;
    machine_init(&machine);
    core_add(&machine, "cpu0", DEVICE_CPU);
    core_add(&machine, "gpu0", DEVICE_GPU);
    core_add(&machine, "gpu1", DEVICE_GPU);
    core_join(&machine, LINK_PCIE, "cpu0", "gpu0");
    core_join(&machine, LINK_PCIE, "cpu0", "gpu1");
    core_set(core_join(&machine, LINK_NVLINK, "gpu0", "gpu1"), PARAM_NVLINK_RATE, 100e9);
    core_finish(&machine);
    core_edges(2, 1, edges, 2, &plan);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    plan_free(&plan);
    machine_free(&machine);
    return 0;
}

/* How many numbers a key names; the first of them. */
static size_t named(const char *key, struct address *ret)
{
    struct addresses found;
    size_t count = address_find(&machine, key, &found, NULL) ? 0 : found.count;
    if (count)
        *ret = found.at[0];
    free(found.at);
    return count;
}

static void keys_find_parameters(void **state)
{
    struct address at;
    struct error error;
    char key[128];
    (void)state;
    assert_int_equal(named("software.launch", &at), 1);
    assert_int_equal(at.id, PARAM_SOFTWARE_LAUNCH);
    assert_ptr_equal(address_params(&machine, &at), &machine.software);
    assert_int_equal(named("sharp.trees", &at), 1);
    assert_ptr_equal(address_params(&machine, &at), &machine.sharp);
    assert_int_equal(named("nodes", &at), 1);
    assert_null(address_params(&machine, &at));
    assert_int_equal((int)address_get(&machine, &at), 1);
    assert_int_equal(named("node.devices.gpu1.memory", &at), 1);
    assert_ptr_equal(address_params(&machine, &at), &machine.node.devices[2].params);
    address_key(&machine, &at, key, sizeof key);
    assert_string_equal(key, "node.devices.gpu1.memory");
    assert_int_equal(named("node.devices.gpu*.memory", &at), 2);
    assert_int_equal(named("node.devices.*.memory", &at), 2);
    assert_int_equal(named("node.devices.gpu[1-3].memory", &at), 1);
    assert_int_equal(named("node.links.cpu0-*.rate", &at), 2);
    address_key(&machine, &at, key, sizeof key);
    assert_string_equal(key, "node.links.cpu0-gpu0.rate");
    assert_int_equal(named("node.links.gpu0-gpu1.gen", &at), 0);
    assert_int_equal(named("node.devices.gpu0", &at), 0);
    assert_int_equal(named("launch", &at), 0);
    assert_false(address_is("collective"));
    assert_false(address_is("node.devices.gpu0.type"));
    struct addresses none;
    assert_int_equal(address_find(&machine, "software.lanch", &none, &error), STATUS_INPUT);
    assert_string_equal(error.message, "software has no \"lanch\"");
    assert_string_equal(error.hint, "did you mean \"launch\"?");
    assert_int_equal(address_find(&machine, "node.links.gpu0-gpu2.rate", &none, &error),
                     STATUS_INPUT);
    assert_string_equal(error.message, "there is no link \"gpu0-gpu2\"");
    assert_string_equal(error.hint, "did you mean \"gpu0-gpu1\"?");
}

/* S / rate + latency 0.5 us + flag 0.6 us, and launch 10 us: 1e9 B at 100 GB/s is 10 ms; at 50, 20.
 */
static void changes_reach_predictions(void **state)
{
    const double size_B = 1e9;
    const struct predict_change change = {"node.links.gpu0-gpu1.rate", 50e9};
    struct predict_job job = {.machine = &machine,
                              .mechanism = mechanism_find("nvlink"),
                              .plan = &plan,
                              .accounting = ACCOUNTING_SERIAL};
    struct error error;
    double before, after;
    (void)state;
    assert_ok(predict_times(&job, NULL, 0, &size_B, 1, &before, &error), &error);
    assert_ok(predict_times(&job, &change, 1, &size_B, 1, &after, &error), &error);
    assert_true(fabs(before - 10.0011e-3) < 1e-9);
    assert_true(fabs(after - 20.0011e-3) < 1e-9);
}

static void interval_is_that_of_a_lognormal(void **state)
{
    const struct jitter_value launch = {"software.launch", 0.1, 0.1, 0, 0}; /* dwarfs the rest */
    const double size_B = 1;
    struct predict_job job = {.machine = &machine,
                              .mechanism = mechanism_find("nvlink"),
                              .plan = &plan,
                              .accounting = ACCOUNTING_SERIAL};
    struct jitter_interval first, again, other;
    struct error error;
    (void)state;
    assert_ok(jitter_run(&job, &(struct jitter_values){&launch, 1, NULL}, &size_B, 1, REPLICAS, 1,
                         &first, &error),
              &error);
    assert_ok(jitter_run(&job, &(struct jitter_values){&launch, 1, NULL}, &size_B, 1, REPLICAS, 1,
                         &again, &error),
              &error);
    assert_ok(jitter_run(&job, &(struct jitter_values){&launch, 1, NULL}, &size_B, 1, REPLICAS, 2,
                         &other, &error),
              &error);
    assert_true(fabs(first.median_s - 0.1) < 0.001);
    assert_true(fabs(first.high_s / first.median_s / exp(0.1645) - 1) < 0.02);
    assert_true(fabs(first.low_s / first.median_s / exp(-0.1645) - 1) < 0.02);
    assert_memory_equal(&first, &again, sizeof first);
    assert_true(memcmp(&first, &other, sizeof first) != 0);
}

/* A share of 96 % that spreads by a half stays a share: the median is at most 1, where it would be
 * 1.65 times 0.96 in the upper 16 %. */
static void draws_stay_in_range(void **state)
{
    (void)state;
    const double size_B = 1e9;
    struct jitter_interval interval;
    struct jitter_value value = {"node.devices.gpu*.ll_channel_share", 0.96, 1.0, 0, 0};
    struct predict_job job = {.machine = &machine,
                              .mechanism = mechanism_find("nvlink"),
                              .plan = &plan,
                              .accounting = ACCOUNTING_PIPELINED};
    struct machine ll;
    assert_int_equal(machine_copy(&machine, &ll, NULL), STATUS_OK);
    core_set(&ll.engine, PARAM_ENGINE_PROTOCOL, PROTOCOL_LL);
    core_set(&ll.engine, PARAM_ENGINE_CHANNELS, 1);
    core_finish(&ll);
    job.machine = &ll;
    assert_int_equal(jitter_run(&job, &(struct jitter_values){&value, 1, NULL}, &size_B, 1, 200, 1,
                                &interval, NULL),
                     STATUS_OK);
    struct predict_change most = {value.key, 1.0};
    double best_s;
    assert_int_equal(predict_times(&job, &most, 1, &size_B, 1, &best_s, NULL), STATUS_OK);
    assert_true(interval.low_s >= best_s * (1 - 1e-9));
    machine_free(&ll);
}

/* Eight GPUs send at once, each by a NIC of its own, S / 8 / 25 GB/s; the last one ends the step.
 * One rate of all eight that spreads by 5 %: as one key with a star, or as eight keys of one draw,
 * byte for byte, and the median is the prediction. Eight draws are another question: the slowest of
 * eight has its median where 0.5^(1/8) of a normal lies below, at 1.385 sigma: e^0.069 more. */
static void one_unknown_is_drawn_once(void **state)
{
    enum { NICS = 8 };
    const struct core_spec spec = {
        .nodes = 2, .gpus = NICS, .own_nics = true, .pcie_Bps = 1e15, .nic_Bps = 25e9};
    const struct jitter_value star = {"node.devices.nic*.rate", 25e9, 0.05, 0, 3};
    const double size_B = 8e8;
    struct plan_edge edges[NICS + 1] = {{0}};
    struct jitter_value together[NICS], apart[NICS];
    struct jitter_interval of_star, of_together, of_apart;
    char keys[NICS][32];
    struct machine eight;
    struct plan send;
    struct error error;
    double nominal_s;
    (void)state;
    for (uint32_t i = 0; i < NICS; i++) {
        snprintf(keys[i], sizeof keys[i], "node.devices.nic%u.rate", i);
        edges[i] = (struct plan_edge){.from = i, .to = NICS + i, .chunk = i};
        together[i] = (struct jitter_value){keys[i], 25e9, 0.05, 0, 3};
        apart[i] = (struct jitter_value){keys[i], 25e9, 0.05, 0, i};
    }
    core_machine(&spec, &eight);
    core_edges(2 * NICS, NICS, edges, NICS + 1, &send);
    struct predict_job job = {.machine = &eight,
                              .mechanism = mechanism_find("gdr"),
                              .plan = &send,
                              .accounting = ACCOUNTING_SERIAL};
    assert_ok(predict_times(&job, NULL, 0, &size_B, 1, &nominal_s, &error), &error);
    assert_ok(jitter_run(&job, &(struct jitter_values){&star, 1, NULL}, &size_B, 1, REPLICAS, 1,
                         &of_star, &error),
              &error);
    assert_ok(jitter_run(&job, &(struct jitter_values){together, NICS, NULL}, &size_B, 1, REPLICAS,
                         1, &of_together, &error),
              &error);
    assert_ok(jitter_run(&job, &(struct jitter_values){apart, NICS, NULL}, &size_B, 1, REPLICAS, 1,
                         &of_apart, &error),
              &error);
    assert_memory_equal(&of_together, &of_star, sizeof of_star);
    assert_near(of_together.median_s, nominal_s, 0.005);
    assert_near(of_apart.median_s, nominal_s * exp(1.385 * 0.05), 0.005);
    plan_free(&send);
    machine_free(&eight);
}

/* Two values of equal weight: t = a + S/B with a = S/B = 10 ms, each with an error of 10 %. Where
 * both grow together (correlation 1) a half is e^(sz) and the other e^(-sz): t spreads by (sz)^2/2
 * only, 1.35 % at the 95th percentile. With correlation -1 they add up: e^(1.645 s), 17.9 %.
 * Without, the spread of the sum is s/sqrt(2): about 12.3 %. A scatter is no part of it: 10 % of
 * scatter in both, whatever the correlation is, gives the 12.3 %. */
static void values_that_err_together(void **state)
{
    (void)state;
    const double size_B = 1e9, s = 0.1;
    static const double correlations[][4] = {{1, 1, 1, 1}, {1, -1, -1, 1}, {1, 0, 0, 1}};
    struct jitter_value two[] = {{"software.launch", 10e-3, s, 0, 0},
                                 {"node.links.gpu0-gpu1.rate", 100e9, s, 0, 1}};
    const double wanted[] = {1 + 0.1645 * 0.1645 / 2, exp(0.1645), exp(0.1645 / sqrt(2))};
    struct predict_job job = {.machine = &machine,
                              .mechanism = mechanism_find("nvlink"),
                              .plan = &plan,
                              .accounting = ACCOUNTING_SERIAL};
    struct jitter_interval interval;
    struct error error;
    for (int i = 0; i < 3; i++) {
        struct jitter_values values = {two, 2, correlations[i]};
        assert_ok(jitter_run(&job, &values, &size_B, 1, REPLICAS, 1, &interval, &error), &error);
        assert_near(interval.high_s, 20.0011e-3 * wanted[i], 0.006);
    }
    for (int i = 0; i < 2; i++) {
        two[i].sigma = 0;
        two[i].scatter = s;
    }
    struct jitter_values values = {two, 2, correlations[0]};
    assert_ok(jitter_run(&job, &values, &size_B, 1, REPLICAS, 1, &interval, &error), &error);
    assert_near(interval.high_s, 20.0011e-3 * wanted[2], 0.006);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(keys_find_parameters),
        TEST(changes_reach_predictions),
        TEST(interval_is_that_of_a_lognormal),
        TEST(draws_stay_in_range),
        TEST(one_unknown_is_drawn_once),
        TEST(values_that_err_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
