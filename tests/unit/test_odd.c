/* Nodes that differ from the others: odd.h. Walks of runs with them: test_walks.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/report/limit.h"
#include "sim/study/remedy.h"
#include "tests/unit/help_random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void add(struct machine *machine, struct node_range nodes, struct address at, double value)
{
    struct odd_nodes *odd;
    struct error error;
    assert_ok(odd_add(machine, "slow", &odd, &error), &error);
    assert_ok(odd_add_range(odd, nodes, &error), &error);
    assert_ok(odd_add_change(odd, (struct odd_change){at, value, ORIGIN_OF_TEST}, &error), &error);
    assert_ok(machine_finish(machine, &error), &error);
}

static struct address at(const struct machine *machine, const char *key)
{
    struct address address;
    assert_true(address_first(machine, key, &address));
    return address;
}

/* Four nodes of a GPU; links of 20 GB/s, NICs of 10; a handoff of 1 us. An allreduce of 4 MB by a
 * ring: 6 steps of 1 MB, serial.
 *   a usual step:        1 + 1 MB/20 GB/s + 1 MB/10 GB/s + 1 MB/20 GB/s
 *                        = 1 + 50 + 100 + 50 = 201 us
 *   NIC of node 2 at 5:  1 + 50 + 200 + 50 = 301 us, from node 1 to 2 and from 2 to 3
 * Node 2 sends all its 6 chunks at that: 6 x 301 = 1806 us, and who waits for them ends no later:
 * node 3 gets the last of them then. All alike: 6 x 201 = 1206 us. On the way 6 x 200 us of node
 * 2's NIC, or of node 1's flow into it. */
static const struct core_spec four = {
    .nodes = 4, .gpus = 1, .pcie_Bps = 20e9, .nic_Bps = 10e9, .step_s = 1e-6};

static void one_slow_nic(void **state)
{
    (void)state;
    struct machine machine;
    struct ledger ledger;
    struct plan plan;
    char limit[LIMIT_NAME_MAX];
    int64_t critical_ps;
    core_machine(&four, &machine);
    core_lua_file("lua/ring.lua", 4, 1, &plan);
    core_run(&machine, &plan, "gdr", ACCOUNTING_SERIAL, 4e6, &ledger);
    assert_int_equal(ledger.total_ps, 1206 * PS_PER_US);
    assert_string_equal(limit_of(&ledger, &machine, limit, &critical_ps), "nic0 wire tx");
    ledger_free(&ledger);
    add(&machine, (struct node_range){2, 2}, at(&machine, "node.devices.nic0.rate"), 5e9);
    core_run(&machine, &plan, "gdr", ACCOUNTING_SERIAL, 4e6, &ledger);
    assert_int_equal(ledger.total_ps, 1806 * PS_PER_US);
    limit_of(&ledger, &machine, limit, &critical_ps);
    if (strcmp(limit, "nic0 wire tx of node 2") != 0)
        assert_string_equal(limit, "nic0 wire rx of node 2");
    /* sent and received by each node: 6 x 100 us, by node 2 6 x 200 us */
    const struct ledger_resource *tx = &ledger.resources[core_resource(&machine, "nic0 wire tx")];
    assert_int_equal(tx->busy_ps, (3 * 600 + 1200) * PS_PER_US);
    assert_int_equal(tx->busy_most_ps, 1200 * PS_PER_US);
    assert_int_equal(tx->busy_most_kind, 1);
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
}

/* Nothing but the value decides: a node that "differs" by the value all have is a usual one. */
static void alike_after_all(void **state)
{
    (void)state;
    struct machine machine;
    core_machine(&four, &machine);
    add(&machine, (struct node_range){2, 2}, at(&machine, "node.devices.nic0.rate"), 10e9);
    assert_int_equal(machine_kind_count(&machine), 1);
    /* and a change of the usual node makes it one that differs */
    core_set(core_device(&machine, "nic0"), PARAM_NIC_RATE, 20e9);
    core_finish(&machine);
    assert_int_equal(machine_kind_count(&machine), 2);
    assert_int_equal(machine_kind(&machine, 2), 1);
    assert_int_equal(machine_kind(&machine, 3), 0);
    struct error error;
    machine.node_count = 2;
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "there is no node 2, only 0 to 1");
    assert_string_equal(error.subject, "slow");
    machine_free(&machine);
}

/* The slots of two GPUs on two nodes. */
static const struct route *route_of(struct routes *routes, uint32_t from, uint32_t to)
{
    struct error error;
    const struct plan_op op = {0};
    const struct transfer transfer = {.op = &op, .from = from, .to = to};
    const struct route *route = routes_get(routes, routes_slot(routes, &transfer, 1e6), &error);
    if (!route)
        print_error("%s\n", error.message);
    assert_non_null(route);
    return route;
}

/* Without a peer memory module on node 1 only its end goes through host memory, and says so. */
static void each_end_decides(void **state)
{
    (void)state;
    struct machine machine;
    struct routes routes;
    struct error error;
    core_machine(&four, &machine);
    add(&machine, (struct node_range){1, 1}, at(&machine, "state.peermem"), 0);
    assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), &error), &error);
    static const struct {
        uint32_t from, to;
        size_t stages, at_sender, at_receiver;
    } ways[] = {{0, 2, 1, 1, 1}, {0, 1, 2, 1, 2}, {1, 2, 2, 2, 1}};
    for (size_t i = 0; i < 3; i++) {
        const struct route *route = route_of(&routes, ways[i].from, ways[i].to);
        assert_int_equal(route->stage_count, ways[i].stages);
        assert_int_equal(route_count_crossings_at(route, END_SRC), ways[i].at_sender);
        assert_int_equal(route_count_crossings_at(route, END_DST), ways[i].at_receiver);
        assert_int_equal(route->verdict_count, ways[i].stages - 1);
        if (route->verdict_count)
            assert_string_equal(route->verdicts[0].sentence,
                                "node 1: neither nvidia_peermem nor dma-buf: the NIC cannot "
                                "register GPU memory");
    }
    routes_free(&routes);
    machine_free(&machine);
}

static bool same_use(const struct route_use *a, const struct route_use *b)
{
    return a->end == b->end && a->resource == b->resource &&
           memcmp(&a->rate_Bps, &b->rate_Bps, sizeof a->rate_Bps) == 0 &&
           memcmp(&a->efficiency, &b->efficiency, sizeof a->efficiency) == 0 &&
           memcmp(&a->fixed_s, &b->fixed_s, sizeof a->fixed_s) == 0;
}

/* Whether two routes use the same at one end, in the same order, with the same handoffs there. */
static bool same_end(const struct route *a, const struct route *b, enum route_end end)
{
    size_t i = 0, k = 0;
    for (;; i++, k++) {
        while (i < a->use_count && a->uses[i].end != end)
            i++;
        while (k < b->use_count && b->uses[k].end != end)
            k++;
        if (i == a->use_count || k == b->use_count)
            break;
        if (!same_use(&a->uses[i], &b->uses[k]))
            return false;
    }
    double handoffs[2] = {0, 0};
    const struct route *const both[2] = {a, b};
    for (int r = 0; r < 2; r++)
        for (size_t s = 0; s < both[r]->stage_count; s++)
            if (both[r]->stages[s].handoff.end == end)
                handoffs[r] += both[r]->stages[s].handoff.cost_s;
    return i == a->use_count && k == b->use_count && fabs(handoffs[0] - handoffs[1]) < 1e-15;
}

/* Whatever two nodes differ in: what a route between them does at an end is what it does there
 * where all nodes are like that end's, by every mechanism between every two devices. */
static void each_end_is_its_own(void **state)
{
    (void)state;
    size_t compared = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct machine machine;
        struct random_move move;
        uint64_t random = seed;
        random_machine(seed, seed % 2, &machine);
        random_finish(&machine);
        random_odd(&random, &machine, (struct node_range){1, 1});
        const struct machine *kinds[2] = {&machine, machine.odd[0].machine};
        FOR_EACH_MOVE(machine, move)
        {
            struct route own[2], mixed;
            struct error error;
            const struct mechanism *mechanism = mechanism_find(move.mechanism);
            if (move.ends.same_node ||
                mechanism_route(mechanism, kinds[0], &move.ends, &own[0], &error) ||
                mechanism_route(mechanism, kinds[1], &move.ends, &own[1], &error))
                continue;
            for (int from = 0; from < 2; from++) {
                struct endpoints ends = move.ends;
                ends.receiver = kinds[1 - from];
                assert_ok(mechanism_route(mechanism, kinds[from], &ends, &mixed, &error), &error);
                random_hold(seed, &machine, &move, same_end(&mixed, &own[from], END_SRC),
                            "the sender's end is not its own");
                random_hold(seed, &machine, &move, same_end(&mixed, &own[1 - from], END_DST),
                            "the receiver's end is not its own");
                compared++;
            }
        }
        machine_free(&machine);
    }
    assert_true(compared > 3000);
}

static const char *const scripts[] = {"ring",         "rings",    "double_tree",
                                      "hierarchical", "alltoall", "halving_doubling"};

static void random_spec(uint64_t *state, struct core_spec *ret_spec)
{
    *ret_spec = (struct core_spec){.nodes = 4u << core_random_below(state, 2),
                                   .gpus = 1 + (uint32_t)core_random_below(state, 3),
                                   .own_nics = core_random_below(state, 2) != 0,
                                   .pcie_Bps = random_between(state, 10e9, 60e9),
                                   .nic_Bps = random_between(state, 10e9, 60e9),
                                   .step_s = random_between(state, 0, 3e-6),
                                   .nic_s = random_between(state, 0, 2e-6),
                                   .hop_s = random_between(state, 0, 1e-6)};
}

/* All nodes odd in the same way: the machine with that change, to the picosecond. */
static void all_odd_alike(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        struct core_spec spec;
        struct machine machine, changed;
        struct ledger ledgers[2];
        struct plan plan;
        struct error error;
        char path[64];
        random_spec(&random, &spec);
        snprintf(path, sizeof path, "lua/%s.lua", scripts[seed % COUNT(scripts)]);
        core_lua_file(path, spec.nodes * spec.gpus, spec.gpus, &plan);
        core_machine(&spec, &machine);
        random_odd(&random, &machine, (struct node_range){0, spec.nodes - 1});
        assert_ok(machine_copy(machine.odd[0].machine, &changed, &error), &error);
        core_finish(&changed);
        const struct machine *const both[2] = {&machine, &changed};
        for (int i = 0; i < 2; i++)
            core_run(both[i], &plan, seed % 3 ? "gdr" : "staged",
                     seed % 2 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL, 3e6, &ledgers[i]);
        if (ledgers[0].total_ps != ledgers[1].total_ps)
            print_error("seed %llu, %s\n", (unsigned long long)seed, path);
        assert_int_equal(ledgers[0].total_ps, ledgers[1].total_ps);
        for (size_t r = 0; r < ledgers[1].resource_count; r++) {
            const size_t own = core_resource(&machine, changed.node.resources[r].name);
            assert_int_equal(ledgers[0].resources[own].busy_ps, ledgers[1].resources[r].busy_ps);
            assert_int_equal(ledgers[0].critical[own], ledgers[1].critical[r]);
        }
        for (int i = 0; i < 2; i++)
            ledger_free(&ledgers[i]);
        machine_free(&machine);
        machine_free(&changed);
        plan_free(&plan);
    }
}

/* A node that gets worse makes no run faster, but for what another order of waiting can gain
 * (Graham). In a ring of single GPUs there is but one order. */
static void worse_is_no_faster(void **state)
{
    (void)state;
    static const char *const keys[] = {"node.devices.nic0.rate", "node.links.sw0-gpu0.rate",
                                       "node.links.sw0-nic0.rate", "node.links.sw0-cpu0.rate"};
    for (uint64_t seed = 1; seed <= 80; seed++) {
        uint64_t random = seed;
        struct core_spec spec;
        struct machine machine;
        struct ledger before, after;
        struct plan plan;
        char path[64];
        random_spec(&random, &spec);
        const enum accounting accounting = seed % 2 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL;
        const char *mechanism = seed % 3 ? "gdr" : "staged";
        snprintf(path, sizeof path, "lua/%s.lua", scripts[seed % COUNT(scripts)]);
        core_lua_file(path, spec.nodes * spec.gpus, spec.gpus, &plan);
        core_machine(&spec, &machine);
        core_run(&machine, &plan, mechanism, accounting, 3e6, &before);
        const uint32_t node = (uint32_t)core_random_below(&random, spec.nodes);
        const struct address worse = at(&machine, keys[core_random_below(&random, COUNT(keys))]);
        add(&machine, (struct node_range){node, node}, worse,
            address_get(&machine, &worse) / random_between(&random, 1.1, 4));
        core_run(&machine, &plan, mechanism, accounting, 3e6, &after);
        const double least = seed % COUNT(scripts) == 0 && spec.gpus == 1 ? 1 : 0.85;
        if ((double)after.total_ps < least * (double)before.total_ps)
            print_error("seed %llu, %s: %lld ps before, %lld after\n", (unsigned long long)seed,
                        path, (long long)before.total_ps, (long long)after.total_ps);
        assert_true((double)after.total_ps >= least * (double)before.total_ps);
        ledger_free(&before);
        ledger_free(&after);
        machine_free(&machine);
        plan_free(&plan);
    }
}

/* A remedy goes to the nodes that want it, and its name says which. */
static void remedies_find_the_node(void **state)
{
    (void)state;
    struct machine machine, mended;
    struct error error;
    char name[128];
    bool applies;
    const struct remedy *acs = &remedy_table[0];
    core_machine(&four, &machine);
    assert_ok(remedy_apply(acs, &machine, &mended, &applies, &error), &error);
    assert_false(applies);
    add(&machine, (struct node_range){3, 3}, at(&machine, "node.links.sw0-gpu0.acs"), 0x0C);
    remedy_name(acs, &machine, name, sizeof name);
    assert_string_equal(name, "clear ACS redirect on every port on node 3");
    assert_ok(remedy_apply(acs, &machine, &mended, &applies, &error), &error);
    assert_true(applies);
    assert_int_equal(machine_kind_count(&mended), 1);
    assert_int_equal(mended.odd_count, 1);
    machine_free(&mended);
    machine_free(&machine);
}

static void what_holds_for_all(void **state)
{
    (void)state;
    struct machine machine;
    struct error error;
    core_machine(&four, &machine);
    const struct address drift = at(&machine, "node.devices.gpu0.channel_drift");
    assert_int_equal(odd_may_differ(&drift, &error), STATUS_INPUT);
    assert_string_equal(error.message, "gpu.channel_drift holds for all nodes");
    const struct address rate = at(&machine, "node.devices.gpu0.channel_rate");
    assert_int_equal(odd_may_differ(&rate, &error), STATUS_OK);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_slow_nic),       cmocka_unit_test(alike_after_all),
        cmocka_unit_test(each_end_decides),   cmocka_unit_test(each_end_is_its_own),
        cmocka_unit_test(all_odd_alike),      cmocka_unit_test(worse_is_no_faster),
        cmocka_unit_test(what_holds_for_all), cmocka_unit_test(remedies_find_the_node),
    };
    return cmocka_run_group_tests_name("odd", tests, NULL, NULL);
}
