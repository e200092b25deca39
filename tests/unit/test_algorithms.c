/* test_algorithms.c: the scripts of lua/ against hand calculations: bytes of each direction, and
 * the alpha-beta formulas on an ideal machine. Each expected number is worked out beside it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define US PS_PER_US

/* ---- NVLS ------------------------------------------------------------------------------------ */

/* n GPUs at one NVSwitch: 100 GB/s each way, of which multicast and reduction reach `efficiency`.
 * No latency, no software: bytes over rate. */
static void nvswitch_machine(uint32_t gpus, double efficiency, struct machine *m)
{
    char name[MACHINE_NAME_LENGTH];
    machine_init(m);
    m->node_count = 1;
    core_set(&m->software, PARAM_SOFTWARE_PEER_HANDOFF, 0);
    core_set(&m->engine, PARAM_ENGINE_SLICE, 1e5);
    core_add(m, "cpu0", DEVICE_CPU);
    core_add(m, "nvs0", DEVICE_NVSWITCH);
    for (uint32_t g = 0; g < gpus; g++) {
        snprintf(name, sizeof name, "gpu%u", g);
        core_add(m, name, DEVICE_GPU);
        core_join(m, LINK_PCIE, "cpu0", name);
        struct params *link = core_join(m, LINK_NVLINK, "nvs0", name);
        core_set(link, PARAM_NVLINK_RATE, 100e9);
        core_set(link, PARAM_NVLINK_LATENCY, 0);
        core_set(link, PARAM_NVLINK_NVLS_EFFICIENCY, efficiency);
    }
    core_finish(m);
}

/* Bytes and busy time of the last GPU's NVLink; both directions must agree. Returns the run's
 * time. */
static int64_t over_nvlink(uint32_t gpus, double efficiency, const char *script,
                           const char *mechanism, double size_B, double *ret_bytes,
                           int64_t *ret_busy_ps)
{
    struct machine machine;
    struct plan plan;
    struct ledger ledger;
    char up[MACHINE_NAME_LENGTH * 2], down[MACHINE_NAME_LENGTH * 2];
    nvswitch_machine(gpus, efficiency, &machine);
    core_lua_file(script, gpus, gpus, &plan);
    core_run(&machine, &plan, mechanism, ACCOUNTING_PIPELINED, size_B, &ledger);
    snprintf(up, sizeof up, "gpu%u -> nvs0", gpus - 1);
    snprintf(down, sizeof down, "nvs0 -> gpu%u", gpus - 1);
    const struct ledger_resource *sent = &ledger.resources[core_resource(&machine, up)];
    const struct ledger_resource *received = &ledger.resources[core_resource(&machine, down)];
    assert_near(received->bytes, sent->bytes, 0);
    assert_int_equal(received->busy_ps, sent->busy_ps);
    *ret_bytes = sent->bytes;
    *ret_busy_ps = sent->busy_ps;
    int64_t total = ledger.total_ps;
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
    return total;
}

/* S + S/n each way: all of the message goes up to the owners' switch groups and comes down summed;
 * an owner reads its sum, S/n, and stores it. */
static void nvls_moves_s_and_an_nth(void **state)
{
    (void)state;
    static const struct {
        uint32_t gpus;
        double size_B, bytes;
        int64_t busy_us; /* bytes over 0.8 * 100 GB/s */
    } cases[] = {
        {1, 8e6, 16e6, 200},                         /* 2 S: 16 MB / 80 GB/s */
        {2, 8e6, 12e6, 150},                         /* 1.5 S */
        {3, 12e6, 16e6, 200},                        /* 4/3 S, as the ring */
        {4, 64e6, 80e6, 1000}, {8, 64e6, 72e6, 900}, /* 1.125 S */
        {16, 64e6, 68e6, 850},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double bytes;
        int64_t busy_ps;
        int64_t time = over_nvlink(cases[i].gpus, 0.8, "lua/nvls.lua", "nvls", cases[i].size_B,
                                   &bytes, &busy_ps);
        assert_near(bytes, cases[i].bytes, 1e-12); /* the efficiency makes no bytes */
        assert_int_equal(busy_ps, cases[i].busy_us * US);
        assert_true(time >= busy_ps);
        /* The pipeline fills. Beyond 8 GPUs owners take turns in the lanes. */
        double most = cases[i].gpus <= 8 ? 1.05 : 1.15;
        if (cases[i].gpus > 2 && !((double)time < most * (double)busy_ps)) {
            print_error("%u GPUs: %lld ps, busy %lld\n", cases[i].gpus, (long long)time,
                        (long long)busy_ps);
            fail();
        }
    }
}

/* With the whole rate, NVLS against the ring: 1.5 S to S with two GPUs, 4/3 S both with three,
 * 1.125 S to 1.75 S with eight. */
static void nvls_gains_from_four_gpus_on(void **state)
{
    (void)state;
    static const struct {
        uint32_t gpus;
        double ring_B; /* of 24 MB */
    } cases[] = {{2, 24e6}, {3, 32e6}, {4, 36e6}, {8, 42e6}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double nvls_B, ring_B;
        int64_t nvls_busy, ring_busy;
        uint32_t n = cases[i].gpus;
        int64_t nvls = over_nvlink(n, 1, "lua/nvls.lua", "nvls", 24e6, &nvls_B, &nvls_busy);
        int64_t ring = over_nvlink(n, 1, "lua/ring.lua", "nvlink", 24e6, &ring_B, &ring_busy);
        assert_near(nvls_B, 24e6 * (1 + 1.0 / n), 1e-12);
        assert_near(ring_B, cases[i].ring_B, 1e-12);
        assert_true(n < 4 ? nvls > ring : nvls < ring);
    }
}

/* Transfers from GPU to GPU reach the whole rate whatever NVLS does. */
static void nvls_efficiency_is_for_the_switch(void **state)
{
    (void)state;
    double bytes;
    int64_t busy, other;
    over_nvlink(4, 1, "lua/ring.lua", "nvls", 24e6, &bytes, &busy);
    over_nvlink(4, 0.5, "lua/ring.lua", "nvls", 24e6, &bytes, &other);
    assert_int_equal(busy, other);
    assert_int_equal(busy, 360 * US); /* 1.5 * 24 MB / 100 GB/s */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvls_moves_s_and_an_nth),
        cmocka_unit_test(nvls_gains_from_four_gpus_on),
        cmocka_unit_test(nvls_efficiency_is_for_the_switch),
    };
    return cmocka_run_group_tests_name("algorithms", tests, NULL, NULL);
}
