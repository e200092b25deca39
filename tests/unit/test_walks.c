/* test_walks.c: however a run is gone through (all transfers through the queue, one node for all,
 * periods skipped), it says the same to the picosecond and byte. Random machines and sizes for each
 * script; a failure prints the seed, and first_seed set to it runs that case first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core/fold.h"
#include "sim/core/fold_value.h"
#include "tests/unit/help_random.h"

static const uint64_t first_seed = 1;

static const struct {
    const char *name;
    bool folds; /* on some machines */
} scripts[] = {
    {"ring", true},
    {"allgather_ring", true},
    {"reduce_scatter_ring", true},
    {"sendrecv", true},
    {"rings", true},
    {"allgather_rings", true},
    {"reduce_scatter_rings", true},
    {"hierarchical", true},
    {"binomial", false},
    {"double_tree", false},
    {"alltoall", true},
    {"pat", true},
    {"halving_doubling", true},
    {"recursive_doubling", true},
    {"recursive_multiplying", false},
    {"allgather_doubling", true},
    {"broadcast_chain", false},
    {"reduce_chain", false},
    {"sharp", true},
    {"collnet_direct", true},
    {"collnet_chain", true},
    {"nvls", false},
    {"nvls_tree", false},
    {"alltoall_bruck", true},
    {"alltoall_pxn", true},
    {"pat_reduce_scatter", true},
};
#define SCRIPTS (sizeof scripts / sizeof scripts[0])

struct sample {
    uint64_t seed;
    const char *script, *mechanism;
    struct core_spec spec;
    enum accounting accounting;
    double size_B;
    uint64_t odd;    /* seed of nodes that differ; 0: none do */
    bool redirected; /* ACS at every port */
    bool meets;      /* at the odd nodes sends and receives do */
};

static double random_rate(uint64_t *state)
{
    /* Round rates make ties, others make none. */
    return core_random_below(state, 2) ? 1e9 * (double)(10 << core_random_below(state, 3))
                                       : 1e9 * (1 + (double)core_random_below(state, 60000) / 1000);
}

static double random_us(uint64_t *state)
{
    return core_random_below(state, 2) ? 0 : 1e-6 * (double)core_random_below(state, 4);
}

static struct sample sample_make(uint64_t seed)
{
    static const uint32_t nodes[] = {2, 3, 4, 6, 8, 9};
    uint64_t state = seed;
    struct sample sample = {.seed = seed, .script = scripts[seed % SCRIPTS].name};
    bool in_switch = strcmp(sample.script, "sharp") == 0 ||
                     strncmp(sample.script, "collnet", 7) == 0 ||
                     strncmp(sample.script, "nvls", 4) == 0;
    sample.mechanism = in_switch ? "sharp" : core_random_below(&state, 2) ? "staged" : "gdr";
    sample.spec = (struct core_spec){.nodes = nodes[core_random_below(&state, 6)],
                                     .gpus = 1 + (uint32_t)core_random_below(&state, 4),
                                     .own_nics = core_random_below(&state, 2) != 0,
                                     .pcie_Bps = random_rate(&state),
                                     .cpu_link_Bps = random_rate(&state),
                                     .gpu_link_Bps = random_rate(&state),
                                     .nic_link_Bps = random_rate(&state),
                                     .nic_Bps = random_rate(&state),
                                     .step_s = random_us(&state),
                                     .copy_s = random_us(&state),
                                     .blocking = core_random_below(&state, 2) != 0,
                                     .link_s = random_us(&state),
                                     .nic_s = random_us(&state),
                                     .hop_s = random_us(&state),
                                     .reduce_s = random_us(&state),
                                     .window = 1 + (double)core_random_below(&state, 9)};
    if (strcmp(sample.script, "allgather_doubling") == 0) {
        sample.spec.nodes = (uint32_t)2 << core_random_below(&state, 3);
        sample.spec.gpus = 1u << core_random_below(&state, 3);
    }
    if (core_random_below(&state, 2))
        sample.spec.dram_Bps = random_rate(&state);
    sample.accounting = core_random_below(&state, 3) ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL;
    sample.size_B = (double)(1 + core_random_below(&state, 20000000));
    /* one slice a transfer, or few, or many */
    static const double slices[] = {1, 8, 60, 500};
    sample.spec.slice_B = 1 + sample.size_B / slices[core_random_below(&state, 4)];
    return sample;
}

/* `follows`: with the critical path. */
static bool same_ledger(const struct ledger *a, const struct ledger *b, bool follows)
{
    return a->total_ps == b->total_ps && a->transfers == b->transfers && a->slices == b->slices &&
           memcmp(&a->crossing_bytes, &b->crossing_bytes, sizeof a->crossing_bytes) == 0 &&
           memcmp(&a->wire_bytes, &b->wire_bytes, sizeof a->wire_bytes) == 0 &&
           memcmp(a->resources, b->resources, a->resource_count * sizeof *a->resources) == 0 &&
           /* shortcuts leave fewer records, so that they can be traced where the other run cannot
            */
           (a->traced || !b->traced || !follows) &&
           (!b->traced || !follows ||
            memcmp(a->critical, b->critical,
                   (a->resource_count + CATEGORY_COUNT) * sizeof *a->critical) == 0) &&
           memcmp(a->route_bytes, b->route_bytes, a->route_count * sizeof *a->route_bytes) == 0;
}

static void hold_same(const struct sample *sample, const struct ledger *other, const char *what,
                      const struct ledger *plain, bool follow)
{
    if (same_ledger(other, plain, follow && !other->why_untraced))
        return;
    print_error("seed %llu (%s, %s, %s, %u nodes of %u%s, %.0f bytes, folded by %u): %s %lld ps, "
                "every transfer through the queue %lld ps\n",
                (unsigned long long)sample->seed, sample->script, sample->mechanism,
                accounting_name(sample->accounting), sample->spec.nodes, sample->spec.gpus,
                sample->spec.own_nics ? " with NICs of their own" : "", sample->size_B,
                other->nodes_alike, what, (long long)other->total_ps, (long long)plain->total_ps);
    for (size_t i = 0; i < plain->resource_count + CATEGORY_COUNT; i++)
        if (other->critical[i] != plain->critical[i])
            print_error("category %zu: %lld, not %lld\n", i, (long long)other->critical[i],
                        (long long)plain->critical[i]);
    fail();
}

static void add_meeting(struct machine *machine, uint64_t seed)
{
    struct odd_nodes *odd;
    struct error error;
    struct machine like;
    uint64_t state = seed;
    const uint32_t node = (uint32_t)core_random_below(&state, machine->node_count);
    const uint32_t last = seed % 3 ? node : (node + machine->node_count) / 2;
    assert_ok(machine_copy(machine, &like, &error), &error);
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == DEVICE_CPU)
            core_set(&like.node.devices[i].params, PARAM_CPU_PEER_WRITE,
                     1e9 * (3 + (double)core_random_below(&state, 20)));
    for (size_t i = 0; i < machine->node.link_count; i++) {
        if (seed % 4 < 2)
            core_set(&like.node.links[i].params, PARAM_PCIE_ACS, 0x0C);
        else if (seed % 4 == 2)
            core_set(&like.node.links[i].params, PARAM_PCIE_DUPLEX, 0.6);
    }
    if (seed % 4 == 3)
        core_set(&like.state, PARAM_STATE_PEERMEM, 0);
    assert_ok(odd_add(machine, "meets", &odd, &error), &error);
    assert_ok(odd_add_range(odd, (struct node_range){node, last}, &error), &error);
    assert_ok(odd_set(machine, machine->odd_count - 1, &like, &error), &error);
    machine_free(&like);
    assert_ok(machine_finish(machine, &error), &error);
}

/* One node, or a few of one or two kinds. */
static void add_odd(const struct sample *sample, struct machine *machine)
{
    uint64_t state = sample->odd;
    for (size_t i = 0; i < machine->node.link_count && sample->redirected; i++)
        core_set(&machine->node.links[i].params, PARAM_PCIE_ACS, 0x0C);
    if (sample->meets)
        add_meeting(machine, sample->odd);
    if (!sample->odd || sample->meets)
        return;
    const uint32_t nodes = sample->spec.nodes;
    uint32_t first = (uint32_t)core_random_below(&state, nodes);
    uint32_t last = first + (uint32_t)(core_random_below(&state, 2) ? 0 : (nodes - first) / 3);
    random_odd(&state, machine, (struct node_range){first, last});
    if (first > 0 && core_random_below(&state, 2))
        random_odd(&state, machine, (struct node_range){first - 1, first - 1});
}

/* Run by all walks. *ret_fast, by the shortcuts, is for ledger_free. Tells whether the order of
 * uses was fixed. */
static bool all_walks(const struct sample *sample, struct ledger *ret_fast)
{
    struct machine machine;
    struct routes routes;
    struct error error;
    struct plan plan;
    struct ledger plain, order;
    char path[64];
    snprintf(path, sizeof path, "lua/%s.lua", sample->script);
    core_lua_file(path, sample->spec.nodes * sample->spec.gpus, sample->spec.gpus, &plan);
    core_machine(&sample->spec, &machine);
    core_set(&machine.sharp, PARAM_SHARP_SAT_FLOWS, 64); /* room for every group */
    add_odd(sample, &machine);
    assert_ok(routes_init(&routes, &machine, mechanism_find(sample->mechanism), &error), &error);
    struct engine_job job = {.plan = &plan,
                             .routes = &routes,
                             .size_B = sample->size_B,
                             .accounting = sample->accounting,
                             .trace = true};
    assert_ok(engine_run(&job, ret_fast, &error), &error);
    job.walk = WALK_QUEUE;
    assert_ok(engine_run(&job, &plain, &error), &error);
    assert_int_equal(plain.nodes_alike, 1);
    assert_int_equal(plain.skipped, 0);
    hold_same(sample, ret_fast, "by shortcuts", &plain, true);
    if (sample->odd) { /* with the trace all go by themselves */
        struct ledger blind;
        job.walk = WALK_AUTO;
        job.trace = false;
        assert_ok(engine_run(&job, &blind, &error), &error);
        hold_same(sample, &blind, "by shortcuts, not traced", &plain, false);
        ledger_free(&blind);
        job.trace = true;
    }
    job.walk = WALK_ORDER;
    enum status status = engine_run(&job, &order, &error);
    if (!status) {
        assert_int_equal(order.nodes_alike, 1);
        assert_false(order.queued);
        hold_same(sample, &order, "without a queue", &plain, true);
        ledger_free(&order);
    } else {
        assert_int_equal(status, STATUS_INPUT);
        assert_non_null(strstr(error.message, "not without a queue: "));
    }
    ledger_free(&plain);
    routes_free(&routes);
    plan_free(&plan);
    machine_free(&machine);
    return !status;
}

static void shortcuts_are_exact(void **state)
{
    (void)state;
    size_t folded[SCRIPTS] = {0}, skipped[SCRIPTS] = {0}, ordered[SCRIPTS] = {0},
           cases = 30 * SCRIPTS;
    for (uint64_t seed = first_seed; seed < first_seed + cases; seed++) {
        const struct sample sample = sample_make(seed);
        struct ledger fast;
        ordered[seed % SCRIPTS] += all_walks(&sample, &fast);
        folded[seed % SCRIPTS] += fast.nodes_alike > 1;
        skipped[seed % SCRIPTS] += fast.skipped > 0;
        ledger_free(&fast);
    }
    size_t without_queue = 0;
    for (size_t i = 0; i < SCRIPTS; i++) {
        without_queue += ordered[i];
        if (scripts[i].folds != (folded[i] > 0) || skipped[i] == 0)
            fail_msg("%s: folded %zu times, skipped periods %zu times", scripts[i].name, folded[i],
                     skipped[i]);
    }
    assert_true(without_queue > cases / 5);
}

/* Nodes that differ, some of many. */
static void odd_nodes_are_exact(void **state)
{
    (void)state;
    const size_t cases = 12 * SCRIPTS;
    size_t without_queue = 0;
    for (uint64_t seed = first_seed; seed < first_seed + cases; seed++) {
        struct sample sample = sample_make(seed * 7 + 1);
        struct ledger fast;
        sample.odd = seed;
        without_queue += all_walks(&sample, &fast);
        ledger_free(&fast);
    }
    assert_true(without_queue > cases / 20);
}

/* The same on up to 64 nodes. */
static void one_of_many_is_exact(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "rings", "recursive_doubling", "hierarchical"};
    for (uint64_t seed = 1; seed <= 16; seed++) {
        struct sample sample = sample_make(seed * SCRIPTS + 5);
        sample.script = names[seed % 4];
        sample.mechanism = seed % 3 ? "gdr" : "staged";
        sample.accounting = seed % 5 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL;
        sample.spec.gpus = seed % 4 % 2 ? 2 : 1;
        sample.spec.nodes = seed % 2 ? 64 : 32;
        sample.spec.slice_B = sample.size_B / (seed % 2 ? 200 : 20);
        sample.odd = seed;
        struct ledger fast;
        all_walks(&sample, &fast);
        ledger_free(&fast);
    }
}

/* Sends and receives of every node meet at its root complex, which is fast enough for both; a slow
 * node's neighbours get steps ahead of it, so that who comes to it first need not have asked first.
 * Most of these need no queue. */
static void ahead_of_a_slow_node(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "allgather_ring", "reduce_scatter_ring",
                                        "alltoall"};
    size_t without_queue = 0;
    const size_t cases = 80;
    for (uint64_t seed = 1; seed <= cases; seed++) {
        struct sample sample = sample_make(seed * SCRIPTS + 7);
        uint64_t random = seed;
        sample.script = names[seed % 4];
        sample.mechanism = "gdr";
        sample.accounting = seed % 7 ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED;
        sample.redirected = true;
        sample.spec.nodes = 6 + 2 * (uint32_t)core_random_below(&random, 12);
        sample.spec.gpus = 1;
        sample.spec.own_nics = true;
        sample.spec.blocking = false;
        sample.spec.step_s = 1e-6 * (1 + (double)core_random_below(&random, 5000) / 1000);
        sample.spec.nic_s = 1e-9 * (double)core_random_below(&random, 3000);
        sample.spec.pcie_Bps = 1e9 * (100 + (double)core_random_below(&random, 900000) / 1000);
        sample.spec.cpu_link_Bps = sample.spec.gpu_link_Bps = sample.spec.nic_link_Bps = 0;
        sample.spec.nic_Bps = 1e9 * (10 + (double)core_random_below(&random, 10000) / 1000);
        sample.spec.dram_Bps = 0;
        sample.spec.slice_B = sample.size_B;
        sample.odd = seed;
        struct ledger fast;
        without_queue += all_walks(&sample, &fast);
        ledger_free(&fast);
    }
    assert_true(without_queue > cases / 4);
}

/* Usual nodes have a way of their own for each direction; at one node sends and receives meet. Who
 * is first there depends on times, yet only what meets there goes through a queue. */
static void meetings_at_one_node(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "allgather_ring", "reduce_scatter_ring",
                                        "recursive_doubling"};
    const size_t cases = 96;
    size_t without_queue = 0;
    for (uint64_t seed = 1; seed <= cases; seed++) {
        struct sample sample = sample_make(seed * SCRIPTS + 3);
        uint64_t random = seed;
        sample.script = names[seed % 4];
        sample.mechanism = "gdr";
        sample.accounting = seed % 5 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL;
        sample.meets = true;
        sample.spec.nodes =
            seed % 4 == 3 ? 16u << seed / 4 % 3 : 3 + (uint32_t)core_random_below(&random, 130);
        sample.spec.gpus = 1;
        sample.spec.own_nics = true;
        sample.spec.blocking = false;
        sample.spec.dram_Bps = 0;
        sample.spec.slice_B = 1 + sample.size_B / (1 + (double)core_random_below(&random, 400));
        sample.odd = seed;
        struct ledger fast;
        without_queue += all_walks(&sample, &fast);
        ledger_free(&fast);
    }
    assert_true(without_queue > cases * 3 / 4);
}

/* Seeds that found faults which the first ones do not: a stage booked as a whole while others came
 * to its thread; resources of a pair that were those of the lane's last transfer; an element that
 * did not wait for who was before it at a usual node; slices of a lane that came to a stage out of
 * turn, twice; an arrival known too late for the window. */
static void seeds_that_failed(void **state)
{
    (void)state;
    static const struct {
        uint64_t seed;
        const char *script; /* not by the list above, which grows */
    } rows[] = {{31, "reduce_scatter_ring"}, {1136, "pat"},       {376, "hierarchical"},
                {212, "alltoall_bruck"},     {30446, "sendrecv"}, {2794, "pat_reduce_scatter"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sample sample = sample_make(rows[i].seed * 7 + 1);
        struct ledger fast;
        sample.script = rows[i].script;
        sample.odd = rows[i].seed;
        all_walks(&sample, &fast);
        ledger_free(&fast);
    }
}

/* A cost that only the first slice of a transfer has, where posting is free: its thread is busy
 * then only. */
static void costs_of_first_slices(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        const bool odd = i & 1, meets = i & 2;
        struct machine machine;
        struct routes routes;
        struct error error;
        struct plan plan;
        struct ledger plain, other;
        const struct core_spec spec = {
            .nodes = 8, .gpus = 1, .pcie_Bps = 20e9, .nic_Bps = 10e9, .slice_B = 3e4};
        core_script("collective = 'allreduce' function plan(p) local n, r = p.ranks, p.rank "
                    "p:split(n) p:loop(n - 1, function(k) p:send{to = (r + 1) % n, chunk = (r - k) "
                    "% n, reduce = true, cost = '1 us'} end) p:loop(n - 1, function(k) p:send{to = "
                    "(r + 1) % n, chunk = (r + 1 - k) % n} end) end",
                    8, 1, &plan);
        core_machine(&spec, &machine);
        const struct sample sample = {.spec = spec, .odd = odd ? 7 : 0, .meets = odd && meets};
        add_odd(&sample, &machine);
        assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), &error), &error);
        struct engine_job job = {.plan = &plan,
                                 .routes = &routes,
                                 .size_B = 8e5,
                                 .accounting = i & 4 ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED};
        assert_ok(engine_run(&job, &other, &error), &error);
        job.walk = WALK_QUEUE;
        assert_ok(engine_run(&job, &plain, &error), &error);
        assert_int_equal(other.total_ps, plain.total_ps);
        ledger_free(&other);
        ledger_free(&plain);
        routes_free(&routes);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* A twin that is missing is told, not passed over: here the fold is a lie. */
static void no_twin_is_an_error(void **state)
{
    (void)state;
    struct plan plan;
    struct plan_cursor cursor;
    struct transfer sent, twin;
    struct error error;
    const struct fold fold = {.kind = FOLD_SHIFT, .ranks = 1, .units = 4};
    core_script("collective = 'broadcast'\nfunction plan(p) p:send{to=(p.rank+1)%4, "
                "where=eq(p.rank, 0)} end",
                4, 1, &plan);
    plan_first(&plan, &cursor);
    assert_int_equal(plan_transfer(&plan, &plan.ops[0], &cursor, 0, 0, &sent, &error), 1);
    assert_int_equal(fold_twin(&fold, &plan, &cursor, &sent, &twin, &error), -1);
    assert_string_equal(error.message, "step 1: rank 0 sends, but rank 3 does not, though the plan "
                                       "was found to be the same from every node");
    plan_free(&plan);
}

/* Long loops of transfers in many slices: turns repeat, with and without periods of slices inside
 * them (trace.c goes back through both). Of 26 slices only turns can skip most; of 26 and more in
 * some turns, both. */
static void turns_repeat(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "rings", "hierarchical", "alltoall"};
    size_t mostly_skipped = 0, cases = 0;
    for (uint64_t seed = 1; seed <= 16; seed++) {
        struct sample sample = sample_make(seed * SCRIPTS + 3);
        sample.script = names[seed % 4];
        sample.mechanism = seed % 3 ? "gdr" : "staged";
        sample.accounting = ACCOUNTING_PIPELINED;
        sample.spec.gpus = seed % 4 == 1 ? 2 : seed % 4 == 2 ? 4 : 1;
        sample.spec.nodes = 28 + 2 * (uint32_t)(seed % 3);
        const double chunks =
            sample.spec.nodes * sample.spec.gpus * (seed % 4 == 1 ? sample.spec.gpus : 1);
        sample.spec.slice_B = sample.size_B / chunks / (seed % 2 ? 25.5 : 70);
        struct ledger fast;
        all_walks(&sample, &fast);
        cases++;
        mostly_skipped += 2 * fast.skipped > fast.slices;
        ledger_free(&fast);
    }
    assert_true(mostly_skipped > cases / 2);
}

/* What the proof finds, by script and machine. The doubling scripts and torus read other parts of
 * what they received on each node, so they fold only while transfers are one slice; hierarchical
 * does so too, but behind a fence;
 * halving with n no power of two has ranks of its own kind. The rings alternate between even and
 * odd nodes: two nodes are one unit. Edges are not looked into. */
static void what_folds(void **state)
{
    (void)state;
    const struct {
        const char *script;
        uint32_t nodes, gpus;
        enum fold_kind kind;
        uint32_t ranks;
        bool one_slice;
    } rows[] = {
        {"ring", 5, 2, FOLD_SHIFT, 2, false},
        {"rings", 6, 4, FOLD_SHIFT, 8, false},
        {"rings", 5, 4, FOLD_NONE, 0, false},
        {"allgather_rings", 5, 4, FOLD_SHIFT, 4, false},
        {"reduce_scatter_rings", 5, 4, FOLD_SHIFT, 4, false},
        {"hierarchical", 5, 4, FOLD_SHIFT, 4, false},
        {"torus", 4, 4, FOLD_SHIFT, 4, true},
        {"alltoall", 6, 2, FOLD_SHIFT, 2, false},
        {"sharp", 7, 3, FOLD_SHIFT, 3, false},
        {"collnet_direct", 7, 3, FOLD_SHIFT, 3, false},
        {"recursive_doubling", 8, 2, FOLD_XOR, 2, false},
        {"recursive_doubling", 6, 2, FOLD_NONE, 0, false},
        {"halving_doubling", 8, 2, FOLD_XOR, 2, true},
        {"halving_doubling", 8, 3, FOLD_NONE, 0, false},
        {"allgather_doubling", 4, 4, FOLD_XOR, 4, true},
        {"binomial", 8, 1, FOLD_NONE, 0, false},
        {"double_tree", 8, 1, FOLD_NONE, 0, false},
        {"broadcast_chain", 8, 1, FOLD_NONE, 0, false},
        {"ring", 1, 8, FOLD_NONE, 0, false}, /* one node stands for itself */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan plan;
        struct fold fold;
        char path[64];
        snprintf(path, sizeof path, "lua/%s.lua", rows[i].script);
        core_lua_file(path, rows[i].nodes * rows[i].gpus, rows[i].gpus, &plan);
        bool folds = fold_find(&plan, rows[i].gpus, &fold);
        if (folds != (rows[i].kind != FOLD_NONE) || fold.kind != rows[i].kind ||
            fold.ranks != rows[i].ranks || fold.one_slice != rows[i].one_slice)
            fail_msg("%s on %u nodes of %u: kind %d, %u ranks, one slice %d", rows[i].script,
                     rows[i].nodes, rows[i].gpus, (int)fold.kind, fold.ranks, fold.one_slice);
        plan_free(&plan);
    }
}

/* Exchanges are seen from their rules where every rank makes them with its whole message; else each
 * rank is looked at. Of 8 ranks: */
static void who_exchanges(void **state)
{
    (void)state;
    const struct {
        const char *send;
        bool folds;
    } rows[] = {
        {"{ to = p.rank ~ 1 }", true},
        {"{ to = p.rank ~ 4, where = lt(p.rank, 8) }", true},
        {"{ to = p.rank ~ 4, where = lt(8, p.rank) }, p:send { to = p.rank ~ 1 }", true},
        {"{ to = p.rank ~ 4, where = lt(p.rank, 7) }", false},
        {"{ to = p.rank ~ 4, where = lt(p.rank, 4) }", false},
        {"{ to = p.rank ~ 1, chunk = p.rank % 2 }", false}, /* 0 and 1 read other halves */
        {"{ to = p.rank ~ 1, count = 1 + p.rank % 2 }", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        struct plan plan;
        struct fold fold;
        snprintf(
            text, sizeof text,
            "collective = \"transfers\" function plan(p) p:split(%d) local s = { p:send %s } end",
            i < 5 ? 1 : 2, rows[i].send);
        core_script(text, 8, 1, &plan);
        if (fold_find(&plan, 1, &fold) != rows[i].folds ||
            (rows[i].folds && (fold.kind != FOLD_XOR || fold.ranks != 1)))
            fail_msg("%s: kind %d, %u ranks", rows[i].send, (int)fold.kind, fold.ranks);
        plan_free(&plan);
    }
}

/* The shapes that people ask for, up to 512 ranks, GDR and staged; sizes that are one slice a
 * transfer, and many. */
static void large_machines(void **state)
{
    (void)state;
    static const char *const names[] = {"ring", "double_tree", "hierarchical", "sharp"};
    for (uint32_t nodes = 8; nodes <= 512; nodes *= 8)
        for (uint32_t i = 0; i < 16; i++) {
            uint32_t gpus = strcmp(names[i / 4], "hierarchical") == 0 ? 8 : 1;
            struct sample sample = {.script = names[i / 4],
                                    .mechanism = i / 4 == 3 ? "sharp"
                                                 : i % 2    ? "staged"
                                                            : "gdr",
                                    .spec = {.nodes = nodes / gpus,
                                             .gpus = gpus,
                                             .own_nics = true,
                                             .pcie_Bps = 31.5e9,
                                             .nic_Bps = 25e9,
                                             .dram_Bps = 80e9,
                                             .step_s = 6e-6,
                                             .copy_s = 10e-6,
                                             .nic_s = 1e-6},
                                    .accounting = ACCOUNTING_PIPELINED,
                                    .size_B = i % 4 < 2     ? 1e6
                                              : nodes < 512 ? 1e9
                                                            : 1e8};
            struct ledger fast;
            if (sample.spec.nodes < 2 ||
                (nodes == 512 && i % 4 >= 2 && i / 4 != 2)) /* keep it short */
                continue;
            all_walks(&sample, &fast);
            ledger_free(&fast);
        }
}

/* Numbers of either sign, also where both are known. */
static void known_values_multiply(void **state)
{
    (void)state;
    static const int64_t factors[] = {-5, -1, 0, 1, 4};
    const struct scope scope = {.ranks = 8, .groups = 2, .loop = -1};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            struct rule rule = {
                .count = 3,
                .code = {{RULE_PUSH, factors[i]}, {RULE_PUSH, factors[k]}, {.op = RULE_MUL}}};
            struct value value = value_of(&scope, &rule);
            assert_true(value_is_exact(value));
            assert_int_equal(value.lo, factors[i] * factors[k]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_folds),
        cmocka_unit_test(shortcuts_are_exact),
        cmocka_unit_test(turns_repeat),
        cmocka_unit_test(no_twin_is_an_error),
        cmocka_unit_test(large_machines),
        cmocka_unit_test(known_values_multiply),
        cmocka_unit_test(who_exchanges),
        cmocka_unit_test(odd_nodes_are_exact),
        cmocka_unit_test(one_of_many_is_exact),
        cmocka_unit_test(ahead_of_a_slow_node),
        cmocka_unit_test(meetings_at_one_node),
        cmocka_unit_test(seeds_that_failed),
        cmocka_unit_test(costs_of_first_slices),
    };
    return cmocka_run_group_tests_name("walks", tests, NULL, NULL);
}
