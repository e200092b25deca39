/* test_lockstep.c: serial runs as a sum (sim/core/lockstep.h) against the queue and by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

/* Ring allreduce over 4 nodes of one GPU by GPUDirect, serial, S = 4 MB: 2 (4 - 1) = 6 transfers of
 * 1 MB, each 5 us to post, 1 MB / 25 GB/s = 40 us out of the GPU, 1 MB / 20 GB/s = 50 us on the
 * wire with 2 us latency, and 40 us into the other GPU: 137 us. Times 6: 822 us, of which the
 * software is 30, latency 12, the wire 300 and each side's link to its GPU 240. */
static void ring_by_hand(void **state)
{
    (void)state;
    const struct core_spec spec = {
        .nodes = 4, .gpus = 1, .pcie_Bps = 25e9, .nic_Bps = 20e9, .step_s = 5e-6, .nic_s = 2e-6};
    struct machine machine;
    struct plan plan;
    struct ledger ledger;
    core_machine(&spec, &machine);
    core_lua_file("lua/ring.lua", 4, 1, &plan);
    core_run(&machine, &plan, "gdr", ACCOUNTING_SERIAL, 4e6, &ledger);
    assert_int_equal(ledger.total_ps, 822 * PS_PER_US);
    const int64_t *rest = &ledger.critical[ledger.resource_count];
    assert_int_equal(rest[CATEGORY_STEP_HANDOFF], 30 * PS_PER_US);
    assert_int_equal(rest[CATEGORY_WIRE_LATENCY], 12 * PS_PER_US);
    assert_int_equal(ledger.critical[core_resource(&machine, "nic0 wire tx")], 300 * PS_PER_US);
    assert_int_equal(ledger.critical[core_resource(&machine, "gpu0 -> sw0")], 240 * PS_PER_US);
    /* all four nodes: 6 MB out of each GPU */
    assert_near(ledger.resources[core_resource(&machine, "gpu0 -> sw0")].bytes, 24e6, 1e-12);
    assert_int_equal(ledger.transfers, 24);
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
}

static double pick(uint64_t *random, double a, double b, double c)
{
    const double of[] = {a, b, c};
    return of[core_random_below(random, 3)];
}

static void compare(uint64_t seed, const char *script, const char *mechanism)
{
    uint64_t random = seed * 7919 + 1;
    struct core_spec spec = {.nodes = 2 + (uint32_t)core_random_below(&random, 15),
                             .gpus = 1,
                             .pcie_Bps = pick(&random, 20e9, 25e9, 31.7e9),
                             .cpu_link_Bps = pick(&random, 0, 10e9, 50e9),
                             .nic_link_Bps = pick(&random, 0, 20e9, 13e9),
                             .nic_Bps = pick(&random, 20e9, 25e9, 50e9),
                             .dram_Bps = pick(&random, 0, 20e9, 60e9),
                             .step_s = pick(&random, 0, 1e-6, 6e-6),
                             .copy_s = pick(&random, 0, 5.8e-6, 1e-6),
                             .blocking = core_random_below(&random, 2) != 0,
                             .link_s = pick(&random, 0, 1e-7, 1e-6),
                             .switch_s = pick(&random, 0, 1.15e-7, 1e-6),
                             .nic_s = pick(&random, 0, 6e-7, 1e-6),
                             .hop_s = pick(&random, 0, 1e-7, 1e-6),
                             .reduce_s = pick(&random, 0, 3e-7, 2e-6)};
    struct machine machine;
    struct routes routes;
    struct plan plan;
    struct ledger quick, plain;
    struct error error;
    char path[64];
    if (strcmp(script, "allgather_doubling") == 0)
        spec.nodes = 1u << (1 + core_random_below(&random, 4));
    snprintf(path, sizeof path, "lua/%s.lua", script);
    core_machine(&spec, &machine);
    core_lua_file(path, spec.nodes, 1, &plan);
    assert_ok(routes_init(&routes, &machine, mechanism_find(mechanism), &error), &error);
    struct engine_job job = {.plan = &plan,
                             .routes = &routes,
                             .size_B = pick(&random, 8, 1e6 / 3, 1e6),
                             .accounting = ACCOUNTING_SERIAL,
                             .trace = true};
    assert_ok(engine_run(&job, &quick, &error), &error);
    job.walk = WALK_QUEUE;
    assert_ok(engine_run(&job, &plain, &error), &error);
    bool same = quick.total_ps == plain.total_ps && quick.transfers == plain.transfers &&
                quick.slices == plain.slices &&
                memcmp(quick.resources, plain.resources,
                       plain.resource_count * sizeof *plain.resources) == 0 &&
                memcmp(quick.critical, plain.critical,
                       (plain.resource_count + CATEGORY_COUNT) * sizeof *plain.critical) == 0 &&
                memcmp(quick.route_bytes, plain.route_bytes,
                       plain.route_count * sizeof *plain.route_bytes) == 0;
    if (!same)
        fail_msg("seed %llu, %s by %s: %lld ps as a sum, %lld ps by the queue",
                 (unsigned long long)seed, script, mechanism, (long long)quick.total_ps,
                 (long long)plain.total_ps);
    ledger_free(&quick);
    ledger_free(&plain);
    routes_free(&routes);
    plan_free(&plan);
    machine_free(&machine);
}

static void equals_the_queue(void **state)
{
    (void)state;
    static const char *const scripts[] = {"ring",
                                          "allgather_ring",
                                          "reduce_scatter_ring",
                                          "sendrecv",
                                          "recursive_doubling",
                                          "halving_doubling",
                                          "alltoall",
                                          "allgather_doubling",
                                          "pat",
                                          "recursive_multiplying"};
    static const char *const mechanisms[] = {"gdr",  "staged", "pageable",
                                             "host", "socket", "async"};
    for (uint64_t seed = 0; seed < 40; seed++) {
        for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
            compare(seed, scripts[i], mechanisms[(seed + i) % 6]);
        compare(seed, "sharp", "sharp");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_by_hand),
        cmocka_unit_test(equals_the_queue),
    };
    return cmocka_run_group_tests_name("lockstep", tests, NULL, NULL);
}
