/* test_mech_sharp.c: the mechanism sharp in the engine: its two modes by hand, levels, limits, and
 * what happens where there is no room. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/sharp.h"
#include "tests/unit/help_core.h"

enum { LLT = 1, SAT = 2, PER_SWITCH = 1, WAITS = 1 };

/* Posting 1 us, wire 0.6 us end to end, a hop 0.15, an addition 0.3 us. */
static const struct core_spec spec4 = {.nodes = 4,
                                       .pcie_Bps = 25e9,
                                       .nic_Bps = 10e9,
                                       .step_s = 1e-6,
                                       .nic_s = 0.6e-6,
                                       .hop_s = 0.15e-6,
                                       .reduce_s = 0.3e-6};

static void set(struct machine *machine, enum param_id id, double value)
{
    core_change(machine, &(struct core_change){id, value, NULL, NULL});
}

static int64_t time_of(const struct machine *machine, const char *script, double size_B)
{
    struct plan plan;
    struct ledger ledger;
    core_lua_file(script, machine_ranks(machine), (uint32_t)machine->node.gpu_count, &plan);
    core_run(machine, &plan, "sharp", ACCOUNTING_PIPELINED, size_B, &ledger);
    int64_t time = ledger.total_ps;
    ledger_free(&ledger);
    plan_free(&plan);
    return time;
}

static int64_t sharp_time(const struct core_spec *spec, enum param_id id, double value,
                          double size_B)
{
    struct machine machine;
    core_machine(spec, &machine);
    set(&machine, PARAM_SHARP_PAYLOAD, 256);
    set(&machine, id, value);
    int64_t time = time_of(&machine, "lua/sharp.lua", size_B);
    machine_free(&machine);
    return time;
}

/* 8 B: up 1 + 0.3 + (0.15 + 0.3) = 1.75, down 0.3 + 0.3 = 0.6, 0.8 ns on the wire each way, the
 * second in one packet: 2.3516 us.
 * 4096 B in 16 operations, 2 on their way: round 1.75 + 0.6 + 2 x 256/10e9 = 2.4012 us, one each
 * 1.2006. Up 1.75 + 15 x 1.2006 = 19.759, down 0.6 + the last packet 256/10e9 = 0.0256: 20.3846 us.
 */
static void low_latency_by_hand(void **state)
{
    (void)state;
    assert_int_equal(sharp_time(&spec4, PARAM_SHARP_MODE, LLT, 8), 2351600);
    assert_int_equal(sharp_time(&spec4, PARAM_SHARP_MODE, LLT, 4096), 20384600);
    double base_s = 2.35e-6 + 256 / 10e9, round_s = 2.4012e-6;
    assert_near(sharp_llt_s(4096, 256, 10e9, base_s, round_s, 2), 20.3846e-6, 1e-9);
}

/* 100 kB: 10 us on the wire at 10 GB/s. Up 1.75 + 5.5 + 10, down 0.6 + 4096/10e9 = 0.4096: 18.2596.
 * At 96 % of the wire both bytes take 1/0.96: 7.25 + 10.416667 + 0.6 + 0.426667 = 18.693333 us. */
static void streaming_by_hand(void **state)
{
    (void)state;
    assert_int_equal(sharp_time(&spec4, PARAM_SHARP_SAT_SETUP, 5.5e-6, 1e5), 18259600);
    struct machine machine;
    core_machine(&spec4, &machine);
    set(&machine, PARAM_SHARP_SAT_SETUP, 5.5e-6);
    set(&machine, PARAM_SHARP_EFFICIENCY, 0.96);
    assert_near((double)time_of(&machine, "lua/sharp.lua", 1e5), 18.693333e6, 1e-6);
    machine_free(&machine);
}

/* Below the threshold the low latency tree, from it on the streaming one. */
static void the_threshold_parts_them(void **state)
{
    (void)state;
    struct machine machine;
    core_machine(&spec4, &machine);
    set(&machine, PARAM_SHARP_MODE, 0);
    set(&machine, PARAM_SHARP_PAYLOAD, 256);
    set(&machine, PARAM_SHARP_SAT_SETUP, 5.5e-6);
    /* 16383 B: 64 operations: 1.75 + 63 x 1.2006 + ...; 16384 B: 7.25 + 1.6384 + 0.6 + 0.4096 */
    assert_near((double)time_of(&machine, "lua/sharp.lua", 16383), 78.0134e6, 1e-4);
    assert_int_equal(time_of(&machine, "lua/sharp.lua", 16384), 9898000);
    /* with a lower threshold the slow zone below it is gone */
    set(&machine, PARAM_SHARP_THRESHOLD, 2048);
    assert_true(time_of(&machine, "lua/sharp.lua", 8192) < 10 * PS_PER_US);
    machine_free(&machine);
}

/* 65 nodes need a second level of 64-port switches: 0.45 us up and 0.15 down. So do two leaves. */
static void levels_add_latency(void **state)
{
    (void)state;
    struct core_spec spec = spec4;
    int64_t one, two;
    spec.nodes = 64;
    one = sharp_time(&spec, PARAM_SHARP_MODE, LLT, 8);
    spec.nodes = 65;
    two = sharp_time(&spec, PARAM_SHARP_MODE, LLT, 8);
    assert_int_equal(one, 2351600);
    assert_int_equal(two - one, 600000);
    struct machine machine;
    core_machine(&spec4, &machine);
    set(&machine, PARAM_SHARP_MODE, LLT);
    set(&machine, PARAM_FABRIC_KIND, FABRIC_LEAF_SPINE);
    set(&machine, PARAM_FABRIC_NODES_PER_LEAF, 4);
    assert_int_equal(time_of(&machine, "lua/sharp.lua", 8), one);
    set(&machine, PARAM_FABRIC_NODES_PER_LEAF, 2);
    assert_int_equal(time_of(&machine, "lua/sharp.lua", 8), two);
    set(&machine, PARAM_FABRIC_KIND, FABRIC_RAIL); /* one rail, one switch */
    assert_int_equal(time_of(&machine, "lua/sharp.lua", 8), one);
    machine_free(&machine);
}

static void route_up(const struct machine *machine, uint32_t groups, struct route *ret)
{
    struct error error;
    struct endpoints ends = {.src = {ENDPOINT_DEVICE, machine->node.gpus[0]},
                             .dst = {ENDPOINT_SWITCH, 0},
                             .groups = groups};
    assert_ok(mechanism_route(mechanism_find("sharp"), machine, &ends, ret, &error), &error);
}

/* A tree passes one uplink of each leaf: slower than the NIC, it is the tree's rate. */
static void uplinks_limit_a_tree(void **state)
{
    (void)state;
    struct machine machine;
    struct route route;
    core_machine(&spec4, &machine);
    set(&machine, PARAM_FABRIC_KIND, FABRIC_LEAF_SPINE);
    set(&machine, PARAM_FABRIC_NODES_PER_LEAF, 2);
    set(&machine, PARAM_FABRIC_UPLINK_RATE, 5e9);
    route_up(&machine, 1, &route);
    assert_near(core_slowest_Bps(&route), 5e9, 1e-12);
    assert_non_null(core_verdict(&route, PRE_SHARP_UPLINK));
    set(&machine, PARAM_FABRIC_NODES_PER_LEAF, 4); /* all on one leaf */
    route_up(&machine, 1, &route);
    assert_near(core_slowest_Bps(&route), 10e9, 1e-12);
    assert_null(core_verdict(&route, PRE_SHARP_UPLINK));
    machine_free(&machine);
}

/* One streaming tree a port is all that runs: a second waits, or there is no room. 4 trees on a
 * switch that runs 2 have half the rate each. */
static void trees_take_turns(void **state)
{
    (void)state;
    char why[96];
    struct machine machine;
    struct route route;
    const struct mechanism *sharp = mechanism_find("sharp");
    core_machine(&spec4, &machine);
    assert_true(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    assert_true(mechanism_has_room(sharp, &machine, 8, why, sizeof why)); /* one GPU, one tree */
    set(&machine, PARAM_SHARP_OTHERS, 1);
    assert_false(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    assert_string_equal(why, "2 streaming trees on one port, where 1 can run at once");
    set(&machine, PARAM_SHARP_MODE, LLT); /* which needs no lock */
    assert_true(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    set(&machine, PARAM_SHARP_MODE, SAT);
    set(&machine, PARAM_SHARP_WHEN_FULL, WAITS);
    assert_true(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    route_up(&machine, 1, &route);
    assert_near(core_slowest_Bps(&route), 5e9, 1e-12);
    assert_int_equal(core_verdict(&route, PRE_SHARP_TREE)->outcome, OUTCOME_SLOWS);
    set(&machine, PARAM_SHARP_OTHERS, 3);
    set(&machine, PARAM_SHARP_SAT_FLOWS, 2);
    set(&machine, PARAM_SHARP_SAT_PER, PER_SWITCH);
    route_up(&machine, 1, &route);
    assert_near(core_slowest_Bps(&route), 5e9, 1e-12);
    set(&machine, PARAM_SHARP_TREES, 3); /* of which the switch cannot even hold four */
    assert_false(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    assert_string_equal(why, "4 trees on one switch, which holds 3");
    machine_free(&machine);
}

/* Groups of one job meet on the switch unless each rail has its own; on a port where GPUs share a
 * NIC. */
static void groups_meet_where_the_fabric_says(void **state)
{
    (void)state;
    char why[96];
    struct machine machine;
    const struct mechanism *sharp = mechanism_find("sharp");
    core_rig(&machine); /* gpu0, gpu1: nic0; gpu2, gpu3: nic1 */
    core_finish(&machine);
    assert_true(mechanism_has_room(sharp, &machine, 1, why, sizeof why));
    assert_false(mechanism_has_room(sharp, &machine, 4, why, sizeof why)); /* two share a port */
    assert_string_equal(why, "2 streaming trees on one port, where 1 can run at once");
    set(&machine, PARAM_SHARP_SAT_PER, PER_SWITCH);
    set(&machine, PARAM_SHARP_SAT_FLOWS, 2);
    assert_false(mechanism_has_room(sharp, &machine, 4, why, sizeof why));
    assert_string_equal(why, "4 streaming trees on one switch, where 2 can run at once");
    set(&machine, PARAM_FABRIC_KIND, FABRIC_RAIL);
    assert_true(mechanism_has_room(sharp, &machine, 4, why, sizeof why));
    machine_free(&machine);
}

/* Where a job was refused, its algorithm of the hosts says why it does not reduce in the switch. */
static void a_refused_job_says_so(void **state)
{
    (void)state;
    struct machine machine;
    struct route route;
    struct error error;
    core_machine(&spec4, &machine);
    set(&machine, PARAM_SHARP_OTHERS, 1);
    assert_ok(core_route(&machine, "sharp", "gpu0", "gpu0", false, &route, &error), &error);
    assert_string_equal(route.taken->name, "gdr");
    assert_int_equal(core_verdict(&route, PRE_SHARP_TREE)->outcome, OUTCOME_BREAKS);
    assert_int_equal(core_route(&machine, "sharp", "gpu0", NULL, false, &route, &error),
                     STATUS_INPUT);
    assert_non_null(strstr(error.message, "no room for SHARP"));
    machine_free(&machine);
}

/* Random machines and sizes: times on the critical path add up to the total to the picosecond, each
 * wire carries S each way and is never busy for longer than the run, and more of anything that
 * costs never makes it faster. */
static void sums_hold(void **state)
{
    (void)state;
    uint64_t random = 7;
    for (int i = 0; i < 300; i++) {
        struct core_spec spec = spec4;
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        bool collnet = i % 2;
        spec.nodes = 1 + (uint32_t)core_random_below(&random, 5);
        spec.gpus = 1 + (uint32_t)core_random_below(&random, 3);
        spec.gpu_link_Bps = 1e9 * (double)(1 + core_random_below(&random, 30));
        spec.nic_link_Bps = 1e9 * (double)(1 + core_random_below(&random, 30));
        spec.slice_B = (double)(1000 + core_random_below(&random, 100000));
        double size_B = 1.0 + (double)core_random_below(&random, 1000000);
        core_machine(&spec, &machine);
        set(&machine, PARAM_SHARP_MODE, (double)core_random_below(&random, 3));
        set(&machine, PARAM_SHARP_WHEN_FULL, WAITS);
        core_lua_file(collnet ? "lua/collnet_direct.lua" : "lua/sharp.lua", spec.nodes * spec.gpus,
                      spec.gpus, &plan);
        core_run(&machine, &plan, "sharp", ACCOUNTING_PIPELINED, size_B, &ledger);
        int64_t sum = 0;
        for (size_t r = 0; r < ledger.resource_count + CATEGORY_COUNT; r++)
            sum += ledger.critical[r];
        assert_int_equal(sum, ledger.total_ps);
        for (size_t r = 0; r < ledger.resource_count; r++) {
            enum resource_kind kind = machine.node.resources[r].kind;
            if (kind == RESOURCE_PCIE || kind == RESOURCE_WIRE || kind == RESOURCE_NIC)
                assert_true(ledger.resources[r].busy_most_ps <= ledger.total_ps);
        }
        size_t tx = core_resource(&machine, "nic0 wire tx");
        double each_B = collnet ? size_B : size_B * spec.gpus;
        if (spec.nodes > 1 || !collnet)
            for (size_t way = 0; way < 2; way++)
                assert_near(ledger.resources[tx + way].bytes, each_B * spec.nodes, 1e-9);
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(low_latency_by_hand),
        cmocka_unit_test(streaming_by_hand),
        cmocka_unit_test(the_threshold_parts_them),
        cmocka_unit_test(levels_add_latency),
        cmocka_unit_test(uplinks_limit_a_tree),
        cmocka_unit_test(trees_take_turns),
        cmocka_unit_test(groups_meet_where_the_fabric_says),
        cmocka_unit_test(a_refused_job_says_so),
        cmocka_unit_test(sums_hold),
    };
    return cmocka_run_group_tests_name("mech_sharp", tests, NULL, NULL);
}
