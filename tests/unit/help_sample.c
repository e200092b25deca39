/* help_sample.c: see help_sample.h. */
#include "tests/unit/help_sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static double random_rate(uint64_t *state)
{
    return 1e9 * (1 + (double)core_random_below(state, 60000) / 1000);
}

static double random_us(uint64_t *state)
{
    return core_random_below(state, 2) ? 0 : 1e-9 * (double)core_random_below(state, 9000);
}

static void random_spec(uint64_t *state, struct core_spec *spec)
{
    *spec = (struct core_spec){.nodes = 2 + (uint32_t)core_random_below(state, 8),
                               .gpus = 1 + (uint32_t)core_random_below(state, 3),
                               .pcie_Bps = random_rate(state),
                               .cpu_link_Bps = random_rate(state),
                               .gpu_link_Bps = random_rate(state),
                               .nic_link_Bps = random_rate(state),
                               .nic_Bps = random_rate(state),
                               .step_s = random_us(state),
                               .copy_s = random_us(state),
                               .blocking = core_random_below(state, 2) != 0,
                               .link_s = random_us(state),
                               .switch_s = random_us(state),
                               .nic_s = random_us(state),
                               .hop_s = random_us(state),
                               .window = 1 + (double)core_random_below(state, 9)};
    if (core_random_below(state, 2))
        spec->dram_Bps = random_rate(state);
}

/* Up to 5 steps of up to 12 edges; a receiver gets a chunk at most once in a step. */
static void random_edges(uint64_t *state, uint32_t ranks, struct plan *ret_plan)
{
    struct plan_edge edges[5 * 13];
    uint32_t chunks = 1 + (uint32_t)core_random_below(state, 8);
    size_t count = 0;
    uint64_t steps = 1 + core_random_below(state, 5);
    for (uint64_t s = 0; s < steps; s++) {
        uint64_t wanted = 1 + core_random_below(state, 12);
        for (uint64_t e = 0; e < wanted; e++) {
            uint32_t from = (uint32_t)core_random_below(state, ranks);
            uint32_t to = (from + 1 + (uint32_t)core_random_below(state, ranks - 1)) % ranks;
            edges[count++] = (struct plan_edge){
                .from = from, .to = to, .chunk = (uint32_t)core_random_below(state, chunks)};
        }
        edges[count++] = (struct plan_edge)CORE_STEP_END;
    }
    core_edges(ranks, chunks, edges, count, ret_plan);
}

void sample_make(uint64_t seed, struct sample *sample)
{
    uint64_t state = seed;
    memset(sample, 0, sizeof *sample);
    sample->seed = seed;
    random_spec(&state, &sample->spec);
    uint32_t ranks = sample->spec.nodes * sample->spec.gpus;
    sample->shape = core_random_below(&state, 2) ? RING : EDGES;
    if (sample->shape == RING)
        core_lua_file("lua/ring.lua", ranks, sample->spec.gpus, &sample->plan);
    else
        random_edges(&state, ranks, &sample->plan);
    sample->mechanism = core_random_below(&state, 2) ? "staged" : "gdr";
    sample->accounting = core_random_below(&state, 2) ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED;
    sample->size_B = (double)(1 + core_random_below(&state, 20000000));
    if (core_random_below(&state, 10) == 0)
        sample->size_B = 0;
    /* at most some 20 slices a chunk */
    sample->spec.slice_B =
        1 + sample->size_B / sample->plan.chunks / (double)(1 + core_random_below(&state, 20));
}

void sample_run(const struct sample *sample, struct ledger *ret_ledger)
{
    struct machine machine;
    core_machine(&sample->spec, &machine);
    core_run(&machine, &sample->plan, sample->mechanism, sample->accounting, sample->size_B,
             ret_ledger);
    machine_free(&machine);
}

int64_t sample_time(const struct sample *sample)
{
    struct ledger ledger;
    sample_run(sample, &ledger);
    int64_t time = ledger.total_ps;
    ledger_free(&ledger);
    return time;
}

/* Fail, naming the seed. */
void sample_hold(const struct sample *sample, bool good, const char *what)
{
    if (good)
        return;
    print_error("seed %llu (%s, %s, %s, %u nodes of %u, %.0f bytes): %s\n",
                (unsigned long long)sample->seed, sample->shape == RING ? "ring" : "edges",
                sample->mechanism, accounting_name(sample->accounting), sample->spec.nodes,
                sample->spec.gpus, sample->size_B, what);
    fail();
}
