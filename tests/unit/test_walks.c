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

#include "tests/unit/help_core.h"

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
    {"hierarchical", true},
    {"binomial", false},
    {"double_tree", false},
    {"alltoall", true},
    {"pat", true},
    {"halving_doubling", true},
    {"recursive_doubling", true},
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

static bool same_ledger(const struct ledger *a, const struct ledger *b)
{
    return a->total_ps == b->total_ps && a->transfers == b->transfers && a->slices == b->slices &&
           memcmp(&a->crossing_bytes, &b->crossing_bytes, sizeof a->crossing_bytes) == 0 &&
           memcmp(&a->wire_bytes, &b->wire_bytes, sizeof a->wire_bytes) == 0 &&
           memcmp(a->resources, b->resources, a->resource_count * sizeof *a->resources) == 0 &&
           a->traced == b->traced &&
           memcmp(a->critical, b->critical,
                  (a->resource_count + CATEGORY_COUNT) * sizeof *a->critical) == 0 &&
           memcmp(a->route_bytes, b->route_bytes, a->route_count * sizeof *a->route_bytes) == 0;
}

/* Run with every shortcut and without any. *ret_fast is for ledger_free. */
static void both_ways(const struct sample *sample, struct ledger *ret_fast)
{
    struct machine machine;
    struct routes routes;
    struct error error;
    struct plan plan;
    struct ledger plain;
    char path[64];
    snprintf(path, sizeof path, "lua/%s.lua", sample->script);
    core_lua_file(path, sample->spec.nodes * sample->spec.gpus, sample->spec.gpus, &plan);
    core_machine(&sample->spec, &machine);
    core_set(&machine.sharp, PARAM_SHARP_SAT_FLOWS, 64); /* room for every group */
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
    if (!same_ledger(ret_fast, &plain)) {
        print_error("seed %llu (%s, %s, %s, %u nodes of %u%s, %.0f bytes, folded by %u): %lld ps, "
                    "every transfer simulated %lld ps\n",
                    (unsigned long long)sample->seed, sample->script, sample->mechanism,
                    accounting_name(sample->accounting), sample->spec.nodes, sample->spec.gpus,
                    sample->spec.own_nics ? " with NICs of their own" : "", sample->size_B,
                    ret_fast->nodes_alike, (long long)ret_fast->total_ps,
                    (long long)plain.total_ps);
        fail();
    }
    ledger_free(&plain);
    routes_free(&routes);
    plan_free(&plan);
    machine_free(&machine);
}

static void shortcuts_are_exact(void **state)
{
    (void)state;
    size_t folded[SCRIPTS] = {0}, skipped[SCRIPTS] = {0}, cases = 30 * SCRIPTS;
    for (uint64_t seed = first_seed; seed < first_seed + cases; seed++) {
        const struct sample sample = sample_make(seed);
        struct ledger fast;
        both_ways(&sample, &fast);
        folded[seed % SCRIPTS] += fast.nodes_alike > 1;
        skipped[seed % SCRIPTS] += fast.skipped > 0;
        ledger_free(&fast);
    }
    for (size_t i = 0; i < SCRIPTS; i++)
        if (scripts[i].folds != (folded[i] > 0) || skipped[i] == 0)
            fail_msg("%s: folded %zu times, skipped periods %zu times", scripts[i].name, folded[i],
                     skipped[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortcuts_are_exact),
    };
    return cmocka_run_group_tests_name("walks", tests, NULL, NULL);
}
