/* test_engine_properties.c: what must hold for every machine and plan, tried on random ones. A
 * failure prints the seed; see help_sample.h. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"
#include "tests/unit/help_sample.h"

static const uint64_t first_seed = SAMPLE_FIRST_SEED, seeds = SAMPLE_SEEDS;

static bool same_ledger(const struct ledger *a, const struct ledger *b)
{
    return a->total_ps == b->total_ps && a->transfers == b->transfers && a->slices == b->slices &&
           a->events == b->events && a->resource_count == b->resource_count &&
           memcmp(&a->crossing_bytes, &b->crossing_bytes, sizeof a->crossing_bytes) == 0 &&
           memcmp(&a->wire_bytes, &b->wire_bytes, sizeof a->wire_bytes) == 0 &&
           memcmp(a->resources, b->resources, a->resource_count * sizeof *a->resources) == 0 &&
           a->traced == b->traced &&
           memcmp(a->critical, b->critical,
                  (a->resource_count + CATEGORY_COUNT) * sizeof *a->critical) == 0 &&
           a->route_count == b->route_count &&
           memcmp(a->route_bytes, b->route_bytes, a->route_count * sizeof *a->route_bytes) == 0;
}

/* ---- accounting ---------------------------------------------------------------------------------
 */

/* Many seeds: who waited for whom is easy to get wrong in rare orders. */
static void critical_path_adds_up(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_OF(sample, 4 * seeds)
    {
        struct ledger ledger;
        sample_run(&sample, &ledger);
        int64_t sum = 0;
        for (size_t i = 0; i < ledger.resource_count + CATEGORY_COUNT; i++) {
            sample_hold(&sample, ledger.critical[i] >= 0,
                        "an entry of the critical path is negative");
            sum += ledger.critical[i];
        }
        sample_hold(&sample, ledger.traced, "not traced");
        sample_hold(&sample, sum == ledger.total_ps,
                    "the critical path does not add up to the total");
        ledger_free(&ledger);
    }
}

static void nothing_is_busy_longer_than_the_run(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct ledger ledger;
        sample_run(&sample, &ledger);
        for (size_t i = 0; i < ledger.resource_count; i++) {
            const struct ledger_resource *r = &ledger.resources[i];
            sample_hold(&sample, r->busy_most_ps <= ledger.total_ps,
                        "a resource is busy for too long");
            sample_hold(&sample, r->busy_ps <= r->busy_most_ps * sample.spec.nodes,
                        "busier than the busiest");
        }
        ledger_free(&ledger);
    }
}

/* Bytes counted here by walking the plan, chunk by chunk. */
static void bytes_are_conserved(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct machine machine;
        struct ledger ledger;
        struct routes routes;
        struct error error;
        core_machine(&sample.spec, &machine);
        core_run(&machine, &sample.plan, sample.mechanism, sample.accounting, sample.size_B,
                 &ledger);
        assert_ok(routes_init(&routes, &machine, mechanism_find(sample.mechanism), &error), &error);
        uint64_t *by_slot = calloc(routes.slot_count, sizeof *by_slot);
        uint64_t *by_resource = calloc(machine.node.resource_count, sizeof *by_resource);
        uint64_t transfers = 0, crossings = 0, wires = 0;
        struct plan_cursor at;
        for (plan_first(&sample.plan, &at); !at.done; plan_next(&sample.plan, &at)) {
            const struct plan_instruction *in = &sample.plan.program[at.at];
            for (uint32_t o = 0; o < in->op_count; o++)
                for (uint32_t rank = 0; rank < sample.plan.ranks; rank++) {
                    struct transfer t;
                    for (uint32_t i = 0;
                         plan_transfer(&sample.plan, &sample.plan.ops[in->first_op + o], &at, rank,
                                       i, &t, &error) > 0;
                         i++) {
                        size_t slot = routes_slot(&routes, &t, 0);
                        const struct route *route = routes_get(&routes, slot, &error);
                        assert_non_null(route);
                        transfers++;
                        by_slot[slot] += t.count;
                        crossings += t.count * route_count_legs(route, LEG_CROSSING);
                        wires += t.count * route_count_legs(route, LEG_WIRE);
                        for (size_t u = 0; u < route->use_count; u++)
                            by_resource[route->uses[u].resource] +=
                                t.count * (size_t)route->uses[u].bytes_factor;
                        if (strcmp(sample.mechanism, "staged") == 0)
                            sample_hold(
                                &sample,
                                route_count_legs(route, LEG_CROSSING) ==
                                    (t.from / sample.spec.gpus == t.to / sample.spec.gpus ? 2 : 4),
                                "staged crosses PCIe four times, inside a node twice");
                    }
                }
        }
        double chunk_B = sample.size_B / sample.plan.chunks;
        sample_hold(&sample, transfers == ledger.transfers, "transfers");
        assert_near(ledger.crossing_bytes, (double)crossings * chunk_B, 1e-12);
        assert_near(ledger.wire_bytes, (double)wires * chunk_B, 1e-12);
        for (size_t i = 0; i < routes.slot_count; i++)
            assert_near(ledger.route_bytes[i], (double)by_slot[i] * chunk_B, 1e-12);
        for (size_t i = 0; i < machine.node.resource_count; i++)
            if (machine.node.resources[i].kind != RESOURCE_THREAD)
                assert_near(ledger.resources[i].bytes, (double)by_resource[i] * chunk_B, 1e-12);
        free(by_slot);
        free(by_resource);
        routes_free(&routes);
        ledger_free(&ledger);
        machine_free(&machine);
    }
}

/* Busy time is bytes over rate, up to half a picosecond of rounding for each slice that passes. No
 * wire carries more than its rate. */
static void busy_time_is_bytes_over_rate(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct machine machine;
        struct ledger ledger;
        core_machine(&sample.spec, &machine);
        core_run(&machine, &sample.plan, sample.mechanism, sample.accounting, sample.size_B,
                 &ledger);
        for (size_t i = 0; i < ledger.resource_count; i++) {
            const struct resource *r = &machine.node.resources[i];
            if (r->kind == RESOURCE_THREAD)
                continue;
            double expected = isinf(r->rate_Bps) ? 0 : ledger.resources[i].bytes / r->rate_Bps;
            double slack = 4 * (double)ledger.slices;
            sample_hold(&sample,
                        fabs((double)ledger.resources[i].busy_ps - expected * 1e12) <= slack,
                        "busy time is not bytes over rate");
        }
        ledger_free(&ledger);
        machine_free(&machine);
    }
}

/* ---- the same again
 * ------------------------------------------------------------------------------ */

static void running_twice_gives_the_same(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct ledger a, b;
        sample_run(&sample, &a);
        sample_run(&sample, &b);
        sample_hold(&sample, same_ledger(&a, &b), "a second run differs");
        ledger_free(&a);
        ledger_free(&b);
    }
}

/* Routes are made when first asked for: a run that finds them made must give the same, and so must
 * one that keeps no trace. */
static void shared_routes_and_no_trace_give_the_same(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct machine machine;
        struct routes routes;
        struct error error;
        struct ledger ledger[3];
        core_machine(&sample.spec, &machine);
        assert_ok(routes_init(&routes, &machine, mechanism_find(sample.mechanism), &error), &error);
        for (int i = 0; i < 3; i++) {
            struct engine_job job = {.plan = &sample.plan,
                                     .routes = &routes,
                                     .size_B = sample.size_B,
                                     .accounting = sample.accounting,
                                     .trace = i < 2};
            assert_ok(engine_run(&job, &ledger[i], &error), &error);
        }
        sample_hold(&sample, same_ledger(&ledger[0], &ledger[1]), "with routes made it differs");
        sample_hold(&sample, !ledger[2].traced, "traced unasked");
        sample_hold(&sample,
                    ledger[0].total_ps == ledger[2].total_ps &&
                        memcmp(ledger[0].resources, ledger[2].resources,
                               ledger[0].resource_count * sizeof *ledger[0].resources) == 0,
                    "without a trace it differs");
        for (int i = 0; i < 3; i++)
            ledger_free(&ledger[i]);
        routes_free(&routes);
        machine_free(&machine);
    }
}

static void *run_in_thread(void *argument)
{
    void **pair = argument;
    sample_run(pair[0], pair[1]);
    return NULL;
}

/* Two engines at the same time in one process, each with its own machine and plan. */
static void two_engines_do_not_disturb_each_other(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds / 2; seed++) {
        struct sample sample[2];
        struct ledger alone[2], together[2];
        pthread_t thread[2];
        void *arguments[2][2];
        for (int i = 0; i < 2; i++) {
            sample_make(seed + (uint64_t)i * 1000, &sample[i]);
            sample_run(&sample[i], &alone[i]);
        }
        for (int i = 0; i < 2; i++) {
            arguments[i][0] = &sample[i];
            arguments[i][1] = &together[i];
            assert_int_equal(pthread_create(&thread[i], NULL, run_in_thread, arguments[i]), 0);
        }
        for (int i = 0; i < 2; i++)
            assert_int_equal(pthread_join(thread[i], NULL), 0);
        for (int i = 0; i < 2; i++) {
            sample_hold(&sample[i], same_ledger(&alone[i], &together[i]), "differs beside another");
            ledger_free(&alone[i]);
            ledger_free(&together[i]);
            plan_free(&sample[i].plan);
        }
    }
}

/* A script of sends round the ranks, with chunks that move along. Mostly of the kind that folds:
 * one lane, and each GPU sending to its like in another node. */
static void random_round_script(uint64_t *state, const struct core_spec *spec, char *text,
                                size_t size)
{
    unsigned ranks = spec->nodes * spec->gpus, along = (unsigned)core_random_below(state, 3);
    unsigned chunks = ranks * (1 + (unsigned)core_random_below(state, 3));
    bool alike = core_random_below(state, 4) != 0;
    unsigned lanes = core_random_below(state, 4) ? 1 : 3;
    size_t used = (size_t)snprintf(text, size,
                                   "collective = 'allreduce'\n"
                                   "function plan(p) local n, r = p.ranks, p.rank\n"
                                   "p:split(%u)\n",
                                   chunks);
    for (uint64_t loops = 1 + core_random_below(state, 3); loops > 0; loops--) {
        used +=
            (size_t)snprintf(text + used, size - used, "p:loop(%u, function(k) p:step(function()\n",
                             1 + (unsigned)core_random_below(state, 4));
        for (int i = 0; i < 2; i++) {
            unsigned distance =
                alike ? spec->gpus * (1 + (unsigned)core_random_below(state, spec->nodes - 1))
                      : 1 + (unsigned)core_random_below(state, ranks - 1);
            /* chunks come round with the chunks, or now and then do not, and then must not fold */
            unsigned round = core_random_below(state, 6) ? chunks : 1 + chunks / 2;
            used += (size_t)snprintf(
                text + used, size - used,
                "p:send{to = (r + %u) %% n, chunk = (%u * r + %u * k + %u) %% %u, lane = %u}\n",
                distance, along, (unsigned)core_random_below(state, 4),
                (unsigned)core_random_below(state, 9), round,
                (unsigned)core_random_below(state, lanes));
        }
        used += (size_t)snprintf(text + used, size - used, "end) end)\n");
    }
    snprintf(text + used, size - used, "end\n");
}

/* Both ways; the folded run must say what simulating all nodes says. Tells whether it folded. */
static bool same_folded_and_plain(const struct sample *sample, const char *text)
{
    struct machine machine;
    struct routes routes;
    struct error error;
    struct ledger fold, plain;
    core_machine(&sample->spec, &machine);
    assert_ok(routes_init(&routes, &machine, mechanism_find(sample->mechanism), &error), &error);
    struct engine_job job = {.plan = &sample->plan,
                             .routes = &routes,
                             .size_B = sample->size_B,
                             .accounting = sample->accounting,
                             .trace = true};
    assert_ok(engine_run(&job, &fold, &error), &error);
    job.walk = WALK_QUEUE;
    assert_ok(engine_run(&job, &plain, &error), &error);
    bool folded = fold.nodes_alike > 1;
    assert_int_equal(plain.nodes_alike, 1);
    if (fold.total_ps != plain.total_ps)
        print_error("%lld ps, but all nodes simulated %lld\n%s\n", (long long)fold.total_ps,
                    (long long)plain.total_ps, text);
    fold.events = plain.events;
    fold.nodes_alike = 1;
    sample_hold(sample, same_ledger(&fold, &plain), "one node does not stand for all");
    ledger_free(&fold);
    ledger_free(&plain);
    routes_free(&routes);
    machine_free(&machine);
    return folded;
}

/* Where one node stands for all (fold.h), it must be exactly what simulating all gives. */
static void one_node_stands_for_all(void **state)
{
    (void)state;
    size_t folded = 0;
    for (uint64_t seed = first_seed; seed < first_seed + 3 * seeds; seed++) {
        struct sample sample;
        uint64_t random = seed ^ 0xF01D;
        char text[2048];
        sample_make(seed, &sample);
        plan_free(&sample.plan);
        random_round_script(&random, &sample.spec, text, sizeof text);
        core_script(text, sample.spec.nodes * sample.spec.gpus, sample.spec.gpus, &sample.plan);
        folded += same_folded_and_plain(&sample, text);
        plan_free(&sample.plan);
    }
    assert_true(folded > seeds / 2);
}

/* The same for the scripts that everybody runs. */
static void one_node_stands_for_all_in_ring_and_sharp(void **state)
{
    (void)state;
    size_t folded = 0;
    for (uint64_t seed = first_seed; seed < first_seed + 2 * seeds; seed++) {
        struct sample sample;
        sample_make(seed, &sample);
        plan_free(&sample.plan);
        bool sharp = seed % 3 == 0;
        const char *path = sharp ? "lua/sharp.lua" : "lua/ring.lua";
        sample.mechanism = sharp ? "sharp" : sample.mechanism;
        sample.spec.reduce_s = sharp ? 2e-6 : 0;
        if (sharp)
            sample.spec.slice_B = 1 + sample.size_B / 20;
        core_lua_file(path, sample.spec.nodes * sample.spec.gpus, sample.spec.gpus, &sample.plan);
        folded += same_folded_and_plain(&sample, path);
        plan_free(&sample.plan);
    }
    assert_true(folded > seeds / 2);
}

/* ---- names and order ----------------------------------------------------------------------------
 */

static void renaming_devices_changes_nothing(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct machine machine;
        struct ledger a, b;
        struct error error;
        sample_run(&sample, &a);
        core_machine(&sample.spec, &machine);
        for (size_t d = 0; d < machine.node.device_count; d++)
            snprintf(machine.node.devices[d].name, MACHINE_NAME_LENGTH, "%c%zu", (int)('z' - d), d);
        assert_ok(machine_finish(&machine, &error), &error);
        core_run(&machine, &sample.plan, sample.mechanism, sample.accounting, sample.size_B, &b);
        sample_hold(&sample, same_ledger(&a, &b), "other names, other numbers");
        ledger_free(&a);
        ledger_free(&b);
        machine_free(&machine);
    }
}

/* The same machine with devices and links added back to front (GPUs keep their order: it numbers
 * the ranks). Resources are compared by name. */
static void reorder(const struct machine *from, struct machine *ret_to)
{
    struct error error;
    size_t index;
    machine_init(ret_to);
    ret_to->node_count = from->node_count;
    ret_to->engine = from->engine;
    ret_to->software = from->software;
    ret_to->fabric = from->fabric;
    ret_to->sharp = from->sharp;
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < from->node.device_count; i++) {
            bool gpu = pass == 0;
            size_t d = gpu ? i : from->node.device_count - 1 - i;
            const struct device *device = &from->node.devices[d];
            if ((device->kind == DEVICE_GPU) != gpu)
                continue;
            assert_ok(machine_add_device(ret_to, device->name, device->kind, &index, &error),
                      &error);
            ret_to->node.devices[index].params = device->params;
        }
    for (size_t i = from->node.link_count; i-- > 0;) {
        const struct link *link = &from->node.links[i];
        /* and the other way round */
        assert_ok(core_link(ret_to, from->node.devices[link->end[1]].name,
                            from->node.devices[link->end[0]].name, &index, &error),
                  &error);
        ret_to->node.links[index].params = link->params;
    }
    assert_ok(machine_finish(ret_to, &error), &error);
}

static void order_of_devices_changes_nothing(void **state)
{
    (void)state;
    struct sample sample;
    FOR_EACH_SAMPLE(sample)
    {
        struct machine machine, other;
        struct ledger a, b;
        core_machine(&sample.spec, &machine);
        reorder(&machine, &other);
        core_run(&machine, &sample.plan, sample.mechanism, sample.accounting, sample.size_B, &a);
        core_run(&other, &sample.plan, sample.mechanism, sample.accounting, sample.size_B, &b);
        sample_hold(&sample, a.total_ps == b.total_ps && a.events == b.events, "another total");
        sample_hold(&sample, a.resource_count == b.resource_count, "another number of resources");
        for (size_t i = 0; i < a.resource_count; i++)
            for (size_t j = 0; j < b.resource_count; j++)
                if (strcmp(machine.node.resources[i].name, other.node.resources[j].name) == 0)
                    sample_hold(&sample,
                                memcmp(&a.resources[i], &b.resources[j], sizeof a.resources[i]) ==
                                        0 &&
                                    a.critical[i] == b.critical[j],
                                machine.node.resources[i].name);
        ledger_free(&a);
        ledger_free(&b);
        machine_free(&machine);
        machine_free(&other);
    }
}

/* ---- monotony
 * ------------------------------------------------------------------------------------
 *
 * Where transfers compete, first come first served has anomalies (Graham 1969: a faster part may
 * change the order of asking and lengthen the whole), and the random edges show them. What must
 * hold is monotony without competition: rings of single-GPU nodes, where all ranks are in step,
 * and in pipelined gdr, where each resource serves one sender only. */

static void ring_sample_make(uint64_t seed, struct sample *sample)
{
    sample_make(seed, sample);
    plan_free(&sample->plan);
    sample->shape = RING;
    sample->spec.gpus = 1;
    core_lua_file("lua/ring.lua", sample->spec.nodes, 1, &sample->plan);
    if (sample->accounting == ACCOUNTING_PIPELINED)
        sample->mechanism = "gdr";
}

static void faster_resources_never_slow_a_ring(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct sample sample;
        ring_sample_make(seed, &sample);
        int64_t before = sample_time(&sample);
        double *rates[] = {&sample.spec.cpu_link_Bps, &sample.spec.gpu_link_Bps,
                           &sample.spec.nic_link_Bps, &sample.spec.nic_Bps, &sample.spec.dram_Bps};
        for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
            *rates[i] *= 2;
            int64_t after = sample_time(&sample);
            *rates[i] /= 2;
            if (after > before)
                print_error("rate %zu: %lld -> %lld ps\n", i, (long long)before, (long long)after);
            sample_hold(&sample, after <= before, "a faster resource makes the run slower");
        }
        plan_free(&sample.plan);
    }
}

static void more_bytes_are_never_faster(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct sample sample;
        ring_sample_make(seed, &sample);
        sample.accounting = ACCOUNTING_SERIAL;
        int64_t before = sample_time(&sample);
        for (int i = 0; i < 3; i++) {
            sample.size_B = (sample.size_B + 1) * 1.7;
            int64_t after = sample_time(&sample);
            if (after < before)
                print_error("%lld -> %lld ps\n", (long long)before, (long long)after);
            sample_hold(&sample, after >= before, "more bytes take less time");
            before = after;
        }
        plan_free(&sample.plan);
    }
}

/* What a pipeline cannot do is take longer than the textbook's sum, without competition. */
static void pipelined_is_never_slower_than_serial(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct sample sample;
        ring_sample_make(seed, &sample);
        sample.mechanism = "gdr";
        sample.spec.slice_B = 1 + sample.size_B; /* whole chunks: handoffs are paid once in both */
        sample.accounting = ACCOUNTING_PIPELINED;
        int64_t pipelined = sample_time(&sample);
        sample.accounting = ACCOUNTING_SERIAL;
        sample_hold(&sample, pipelined <= sample_time(&sample), "pipelined is slower than serial");
        plan_free(&sample.plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(critical_path_adds_up),
        cmocka_unit_test(nothing_is_busy_longer_than_the_run),
        cmocka_unit_test(bytes_are_conserved),
        cmocka_unit_test(busy_time_is_bytes_over_rate),
        cmocka_unit_test(running_twice_gives_the_same),
        cmocka_unit_test(shared_routes_and_no_trace_give_the_same),
        cmocka_unit_test(two_engines_do_not_disturb_each_other),
        cmocka_unit_test(one_node_stands_for_all),
        cmocka_unit_test(one_node_stands_for_all_in_ring_and_sharp),
        cmocka_unit_test(renaming_devices_changes_nothing),
        cmocka_unit_test(order_of_devices_changes_nothing),
        cmocka_unit_test(faster_resources_never_slow_a_ring),
        cmocka_unit_test(pipelined_is_never_slower_than_serial),
        cmocka_unit_test(more_bytes_are_never_faster),
    };
    return cmocka_run_group_tests_name("engine properties", tests, NULL, NULL);
}
