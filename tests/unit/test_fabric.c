/* test_fabric.c: leaves, spine and rails against one switch that blocks nobody.
 *
 * Nodes of core_machine with one GPU and one NIC: GPU - sw0 - NIC, links of 100 GB/s, NICs of
 * 10 GB/s, uplinks of 10 GB/s, 1 us from NIC to NIC and 0.15 us for each fabric switch.
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

#include "tests/unit/help_core.h"

enum { ONE_SWITCH, LEAF_SPINE, RAIL };
enum { BEST, HASHED, WORST };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const double rate_Bps = 10e9, size_B = 100e6;
static const int64_t hop_ps = 150000;

struct fabric {
    int kind, per_leaf, uplinks, routing;
    double uplink_Bps; /* 0: as fast as a NIC */
};

static void nodes_of(uint32_t nodes, const struct fabric *fabric, struct machine *ret_machine)
{
    const struct core_spec spec = {.nodes = nodes,
                                   .pcie_Bps = 100e9,
                                   .nic_Bps = rate_Bps,
                                   .nic_s = 1e-6,
                                   .hop_s = 0.15e-6,
                                   .step_s = 1e-6,
                                   .slice_B = 1e6};
    core_machine(&spec, ret_machine);
    struct params *params = &ret_machine->fabric;
    core_set(params, PARAM_FABRIC_KIND, fabric->kind);
    core_set(params, PARAM_FABRIC_NODES_PER_LEAF, fabric->per_leaf);
    core_set(params, PARAM_FABRIC_UPLINKS, fabric->uplinks);
    core_set(params, PARAM_FABRIC_ROUTING, fabric->routing);
    core_set(params, PARAM_FABRIC_UPLINK_RATE,
             fabric->uplink_Bps > 0 ? fabric->uplink_Bps : rate_Bps);
    core_finish(ret_machine);
}

/* Run edges (in one step) by gdr; each moves size_B. The ledger is for ledger_free, may be NULL. */
static int64_t run_on(const struct machine *machine, const struct plan_edge *edges, size_t count,
                      enum accounting accounting, struct ledger *ret_ledger)
{
    struct plan plan;
    struct ledger ledger;
    core_edges(machine_ranks(machine), 1, edges, count, &plan);
    core_run(machine, &plan, "gdr", accounting, size_B, &ledger);
    plan_free(&plan);
    int64_t total = ledger.total_ps;
    if (ret_ledger)
        *ret_ledger = ledger;
    else
        ledger_free(&ledger);
    return total;
}

static int64_t run(uint32_t nodes, const struct fabric *fabric, const struct plan_edge *edges,
                   size_t count, enum accounting accounting)
{
    struct machine machine;
    nodes_of(nodes, fabric, &machine);
    int64_t total = run_on(&machine, edges, count, accounting, NULL);
    machine_free(&machine);
    return total;
}

static const struct fabric one_switch = {ONE_SWITCH, 1, 1, BEST, 0};

/* Two uplinks as fast as the wire: nothing but two switches more. Exactly. */
static void one_flow_costs_two_hops_more(void **state)
{
    (void)state;
    const struct plan_edge across[] = {{.from = 0, .to = 2}, CORE_STEP_END};
    const struct plan_edge inside[] = {{.from = 0, .to = 1}, CORE_STEP_END};
    for (int routing = BEST; routing <= WORST; routing++)
        for (int accounting = 0; accounting < 2; accounting++) {
            const struct fabric fabric = {LEAF_SPINE, 2, 2, routing, 0};
            int64_t flat = run(4, &one_switch, across, 2, (enum accounting)accounting);
            assert_int_equal(run(4, &fabric, across, 2, (enum accounting)accounting),
                             flat + 2 * hop_ps);
            assert_int_equal(run(4, &fabric, inside, 2, (enum accounting)accounting), flat);
        }
    /* 1 us to post, 1 us and 0.15 us of wire, 0.1 GB at 10 GB/s; the PCIe links 1 ms each on top in
     * serial accounting: 100e6/100e9, twice */
    assert_int_equal(run(4, &one_switch, across, 2, ACCOUNTING_SERIAL),
                     1000000 + 1150000 + 10000000000 + 2 * 1000000000LL);
}

/* An uplink slower than the NIC is what limits: 100 MB at 4 GB/s. */
static void a_slow_uplink_limits(void **state)
{
    (void)state;
    const struct fabric fabric = {LEAF_SPINE, 2, 2, BEST, 4e9};
    const struct plan_edge across[] = {{.from = 0, .to = 2}, CORE_STEP_END};
    const struct plan_edge inside[] = {{.from = 0, .to = 1}, CORE_STEP_END};
    assert_near((double)run(4, &fabric, across, 2, ACCOUNTING_PIPELINED), size_B / 4e9 * 1e12,
                0.01);
    assert_near((double)run(4, &fabric, inside, 2, ACCOUNTING_PIPELINED), size_B / 10e9 * 1e12,
                0.01);
}

/* Nodes 0, 1 on one leaf, 2, 3 on the other: 0 -> 2 and 1 -> 3 share the only uplink, so they take
 * 2 x 100 MB / 10 GB/s = 20 ms instead of 10. */
static void two_flows_on_one_uplink_get_half(void **state)
{
    (void)state;
    const struct plan_edge both[] = {{.from = 0, .to = 2}, {.from = 1, .to = 3}, CORE_STEP_END};
    const struct plan_edge against[] = {{.from = 0, .to = 2}, {.from = 3, .to = 1}, CORE_STEP_END};
    const struct fabric one = {LEAF_SPINE, 2, 1, BEST, 0}, two = {LEAF_SPINE, 2, 2, BEST, 0};
    const struct fabric collide = {LEAF_SPINE, 2, 2, WORST, 0};
    assert_near((double)run(4, &one_switch, both, 3, ACCOUNTING_PIPELINED), 10e-3 * 1e12, 0.01);
    assert_near((double)run(4, &one, both, 3, ACCOUNTING_PIPELINED), 20e-3 * 1e12, 0.03);
    assert_near((double)run(4, &collide, both, 3, ACCOUNTING_PIPELINED), 20e-3 * 1e12, 0.03);
    assert_near((double)run(4, &two, both, 3, ACCOUNTING_PIPELINED), 10e-3 * 1e12, 0.01);
    /* up and down are two directions */
    assert_near((double)run(4, &one, against, 3, ACCOUNTING_PIPELINED), 10e-3 * 1e12, 0.01);
}

/* k flows on one uplink: k times as long, and the uplinks of the ledger carry every byte once. */
static void many_flows_share_an_uplink_fairly(void **state)
{
    (void)state;
    for (uint32_t k = 1; k <= 8; k++) {
        const struct fabric fabric = {LEAF_SPINE, (int)k, 4, WORST, 0};
        struct plan_edge edges[9] = {CORE_STEP_END};
        struct machine machine;
        struct ledger ledger;
        for (uint32_t i = 0; i < k; i++)
            edges[i] = (struct plan_edge){.from = i, .to = k + i};
        edges[k] = (struct plan_edge)CORE_STEP_END;
        nodes_of(2 * k, &fabric, &machine);
        int64_t total = run_on(&machine, edges, k + 1, ACCOUNTING_PIPELINED, &ledger);
        assert_near((double)total, k * 10e-3 * 1e12, 0.03);
        for (size_t i = 0; i < 2; i++) {
            const struct ledger_resource *uplink = &ledger.resources[machine.node.uplinks + i];
            assert_near(uplink->bytes, k * size_B, 1e-12);
            assert_near((double)uplink->busy_ps, k * 10e-3 * 1e12, 1e-6);
            assert_true(uplink->busy_most_ps == uplink->busy_ps); /* all on one of four */
            assert_true(uplink->busy_most_ps <= total);
        }
        ledger_free(&ledger);
        machine_free(&machine);
    }
}

/* As many uplinks as ports, best routing: every node to its like on the next leaf, as with one
 * switch but for two hops. Rings too. */
static void best_routing_blocks_nobody(void **state)
{
    (void)state;
    enum { NODES = 12 };
    for (int per_leaf = 1; per_leaf <= 6; per_leaf++) {
        const struct fabric fabric = {LEAF_SPINE, per_leaf, per_leaf, BEST, 0};
        struct plan_edge edges[NODES + 1];
        for (uint32_t i = 0; i < NODES; i++)
            edges[i] = (struct plan_edge){.from = i, .to = (i + (uint32_t)per_leaf) % NODES};
        edges[NODES] = (struct plan_edge)CORE_STEP_END;
        int64_t flat = run(NODES, &one_switch, edges, NODES + 1, ACCOUNTING_PIPELINED);
        int64_t leaves = run(NODES, &fabric, edges, NODES + 1, ACCOUNTING_PIPELINED);
        assert_int_equal(leaves, flat + 2 * hop_ps);
    }
}

static int64_t ring(uint32_t nodes, const struct fabric *fabric)
{
    struct machine machine;
    struct plan plan;
    struct ledger ledger;
    nodes_of(nodes, fabric, &machine);
    core_lua_file("lua/ring.lua", nodes, 1, &plan);
    core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, size_B, &ledger);
    int64_t total = ledger.total_ps;
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
    return total;
}

/* A ring leaves each leaf once, so one uplink a leaf is enough for it: 2 x 7 steps, each at most
 * two hops longer. */
static void a_ring_needs_one_uplink(void **state)
{
    (void)state;
    const struct fabric fabric = {LEAF_SPINE, 4, 1, WORST, 0};
    int64_t flat = ring(8, &one_switch), leaves = ring(8, &fabric);
    assert_true(leaves >= flat);
    assert_true(leaves <= flat + 14 * 2 * hop_ps);
    const struct fabric slow = {LEAF_SPINE, 4, 1, WORST, rate_Bps / 2};
    assert_true((double)ring(8, &slow) > 1.5 * (double)flat);
}

/* Hashed routing is somewhere between, and the same every time. */
static void hashed_lies_between(void **state)
{
    (void)state;
    enum { K = 8 };
    struct plan_edge edges[K + 1];
    for (uint32_t i = 0; i < K; i++)
        edges[i] = (struct plan_edge){.from = i, .to = K + i};
    edges[K] = (struct plan_edge)CORE_STEP_END;
    const struct fabric best = {LEAF_SPINE, K, K, BEST, 0}, worst = {LEAF_SPINE, K, K, WORST, 0},
                        hashed = {LEAF_SPINE, K, K, HASHED, 0};
    int64_t low = run(2 * K, &best, edges, K + 1, ACCOUNTING_PIPELINED);
    int64_t high = run(2 * K, &worst, edges, K + 1, ACCOUNTING_PIPELINED);
    int64_t between = run(2 * K, &hashed, edges, K + 1, ACCOUNTING_PIPELINED);
    assert_true(low <= between && between <= high);
    assert_true(between > low); /* 8 flows on 8 uplinks: a permutation has 8!/8^8 = 0.24 % */
    assert_int_equal(run(2 * K, &hashed, edges, K + 1, ACCOUNTING_PIPELINED), between);
}

/* ---- which uplink ------------------------------------------------------------------------------
 */

static void uplinks_of_flows(void **state)
{
    (void)state;
    for (int routing = BEST; routing <= WORST; routing++) {
        const struct fabric fabric = {LEAF_SPINE, 4, 4, routing, 0};
        struct machine machine;
        nodes_of(10, &fabric, &machine);
        assert_int_equal(machine_leaves(&machine), 3); /* 4 + 4 + 2 */
        bool used[2][12] = {{false}};
        for (uint32_t from = 0; from < 10; from++)
            for (uint32_t to = 0; to < 10; to++) {
                const uint32_t nodes[2] = {from, to}, nics[2] = {0, 0};
                uint32_t uplink[2];
                bool crosses = machine_uplinks(&machine, nodes, nics, 0, uplink);
                assert_int_equal(crosses, from / 4 != to / 4);
                for (int i = 0; i < 2 && crosses; i++) {
                    assert_int_equal(uplink[i] / 4, nodes[i] / 4); /* of its own leaf */
                    if (routing == BEST)
                        assert_int_equal(uplink[i] % 4, nodes[i] % 4);
                    if (routing == WORST)
                        assert_int_equal(uplink[i] % 4, 0);
                    used[i][uplink[i]] = true;
                }
            }
        /* 84 flows over 12 uplinks, hashed: all of the first leaf's are hit */
        for (int i = 0; i < 2; i++)
            for (int u = 0; u < 4; u++)
                assert_int_equal(used[i][u], routing != WORST || u == 0);
        machine_free(&machine);
    }
}

/* ---- rails -------------------------------------------------------------------------------------
 */

/* Two GPUs and two NICs a node: GPU i has NIC i, and all NICs i hang on leaf i. */
static void rails_of(const struct fabric *fabric, struct machine *ret_machine)
{
    struct machine *m = ret_machine;
    machine_init(m);
    m->node_count = 4;
    core_add(m, "cpu0", DEVICE_CPU);
    core_add(m, "sw0", DEVICE_PCIE_SWITCH);
    core_set(core_join(m, LINK_PCIE, "cpu0", "sw0"), PARAM_PCIE_RATE, 100e9);
    static const char *const names[] = {"gpu0", "gpu1", "nic0", "nic1"};
    for (size_t i = 0; i < COUNT(names); i++) {
        struct params *params = core_add(m, names[i], i < 2 ? DEVICE_GPU : DEVICE_NIC);
        if (i >= 2) {
            core_set(params, PARAM_NIC_RATE, rate_Bps);
            core_set(params, PARAM_NIC_EFFICIENCY, 1);
        }
        core_set(core_join(m, LINK_PCIE, "sw0", names[i]), PARAM_PCIE_RATE, 100e9);
    }
    core_set(&m->fabric, PARAM_FABRIC_KIND, fabric->kind);
    core_set(&m->fabric, PARAM_FABRIC_UPLINKS, fabric->uplinks);
    core_set(&m->fabric, PARAM_FABRIC_ROUTING, fabric->routing);
    core_set(&m->fabric, PARAM_FABRIC_UPLINK_RATE, rate_Bps);
    core_finish(m);
}

/* Rank 2k + i is GPU i of node k. On its rail a flow meets one switch, whatever node it goes to;
 * from rail to rail it goes over the spine. */
static void rails(void **state)
{
    (void)state;
    const struct fabric rail = {RAIL, 1, 1, BEST, 0};
    struct machine flat, railed;
    rails_of(&one_switch, &flat);
    rails_of(&rail, &railed);
    assert_int_equal(machine_leaves(&railed), 2);
    const struct plan_edge own[] = {{.from = 0, .to = 6}, {.from = 3, .to = 5}, CORE_STEP_END};
    const struct plan_edge other[] = {{.from = 0, .to = 3}, CORE_STEP_END};
    const struct plan_edge sharing[] = {{.from = 0, .to = 3}, {.from = 2, .to = 5}, CORE_STEP_END};
    const struct plan_edge crossing[] = {{.from = 0, .to = 3}, {.from = 3, .to = 0}, CORE_STEP_END};
    for (int a = 0; a < 2; a++) {
        enum accounting accounting = (enum accounting)a;
        int64_t straight = run_on(&flat, own, 3, accounting, NULL);
        assert_int_equal(run_on(&railed, own, 3, accounting, NULL), straight);
        straight = run_on(&flat, other, 2, accounting, NULL);
        assert_int_equal(run_on(&railed, other, 2, accounting, NULL), straight + 2 * hop_ps);
    }
    /* the only uplink of leaf 0, and the only way down to leaf 1: 20 ms for two flows; against each
     * other they do not meet */
    assert_near((double)run_on(&railed, sharing, 3, ACCOUNTING_PIPELINED, NULL), 20e-3 * 1e12,
                0.03);
    assert_near((double)run_on(&railed, crossing, 3, ACCOUNTING_PIPELINED, NULL), 10e-3 * 1e12,
                0.03);
    machine_free(&railed);
    /* with an uplink for each node (port = node) both have the whole rate */
    const struct fabric wide = {RAIL, 1, 4, BEST, 0};
    rails_of(&wide, &railed);
    assert_near((double)run_on(&railed, sharing, 3, ACCOUNTING_PIPELINED, NULL), 10e-3 * 1e12,
                0.03);
    machine_free(&railed);
    machine_free(&flat);
}

/* An alltoall sends each rank's block for each GPU of the other nodes over the network: with PXN
 * all stay on their rail, without it half of them, those for the other GPU, cross the spine. 4
 * nodes of 2 GPUs: of 8 blocks 6 leave the node, 3 of them across. What PXN takes off the spine
 * passes the GPU on the right rail first: 3 blocks more inside the node. */
static void pxn_keeps_to_its_rail(void **state)
{
    (void)state;
    static const char *const scripts[] = {"lua/alltoall_lanes.lua", "lua/alltoall_pxn.lua"};
    static const double across[] = {3, 0}, inside[] = {1, 4};
    const struct fabric rail = {RAIL, 1, 4, BEST, 0};
    for (int i = 0; i < 2; i++) {
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        rails_of(&rail, &machine);
        core_lua_file(scripts[i], 8, 2, &plan);
        core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, 8e6, &ledger);
        assert_near(ledger.resources[machine.node.uplinks].bytes, 8 * across[i] * 1e6, 1e-12);
        for (int g = 0; g < 2; g++) {
            char name[32];
            snprintf(name, sizeof name, "sw0 -> nic%d", g);
            assert_near(ledger.resources[core_resource(&machine, name)].bytes, 4 * 6e6, 1e-12);
            /* by PCIe to the other GPU, and what the NIC brings */
            snprintf(name, sizeof name, "sw0 -> gpu%d", g);
            assert_near(ledger.resources[core_resource(&machine, name)].bytes,
                        4 * (6 + inside[i]) * 1e6, 1e-12);
        }
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* Another seed is another draw of uplinks, the same for the same seed; routing that is not hashed
 * has none. */
static void a_seed_is_another_draw(void **state)
{
    (void)state;
    static const int kinds[] = {HASHED, BEST};
    for (int k = 0; k < 2; k++) {
        const struct fabric fabric = {LEAF_SPINE, 2, 16, kinds[k], 0};
        struct machine machine;
        size_t different = 0;
        nodes_of(4, &fabric, &machine);
        for (uint32_t lane = 0; lane < 32; lane++) {
            uint32_t up[3][2];
            for (int seed = 0; seed < 3; seed++) {
                core_set(&machine.fabric, PARAM_FABRIC_HASH_SEED, seed % 2);
                assert_true(machine_uplinks(&machine, (uint32_t[]){0, 3}, (uint32_t[]){0, 0}, lane,
                                            up[seed]));
                assert_true(up[seed][0] < 16 && up[seed][1] >= 16);
            }
            assert_memory_equal(up[0], up[2], sizeof up[0]);
            different += up[0][0] != up[1][0];
        }
        assert_true(kinds[k] == HASHED ? different > 20 : different == 0);
        machine_free(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flow_costs_two_hops_more),
        cmocka_unit_test(a_slow_uplink_limits),
        cmocka_unit_test(two_flows_on_one_uplink_get_half),
        cmocka_unit_test(many_flows_share_an_uplink_fairly),
        cmocka_unit_test(best_routing_blocks_nobody),
        cmocka_unit_test(a_ring_needs_one_uplink),
        cmocka_unit_test(hashed_lies_between),
        cmocka_unit_test(uplinks_of_flows),
        cmocka_unit_test(rails),
        cmocka_unit_test(pxn_keeps_to_its_rail),
        cmocka_unit_test(a_seed_is_another_draw),
    };
    return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
