/* test_engine_order.c: what waits for what in a run, and what is refused: reads, fences, lanes,
 * switches, groups, ranks of which only some have work, one engine for many runs, plans and
 * machines that do not fit. Closed forms: test_engine.c.
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

#define US PS_PER_US

/* ---- one flow over three stages ------------------------------------------------------------- */

/* One operation reads what another brings, chunk by chunk: 0 -> 1 -> 2 takes one slice more than
 * 0 -> 1; and it waits only for chunks that it reads. */
static void waits_only_for_what_it_reads(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {
        .nodes = 3, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
    static const struct plan_edge relay[] = {{0, 1, 0}, CORE_STEP_END, {1, 2, 0}};
    static const struct plan_edge apart[] = {{0, 1, 0}, CORE_STEP_END, {1, 2, 1}};
    /* chunk = S/2 = 5 slices of 10 us: 5 * 10 + 10; apart: both at once, 50 */
    core_edges(3, 2, relay, 3, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 10e5), 60 * US);
    plan_free(&plan);
    core_edges(3, 2, apart, 3, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 10e5), 50 * US);
    plan_free(&plan);
}

/* Up and down a tree of two ranks, in slices of a byte: 200,000 stages have shares; 1,060,000 are
 * more than are kept: none, and the reason. */
static void says_why_the_path_has_no_shares(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct plan plan;
        struct machine machine;
        struct ledger ledger;
        struct core_spec spec = {.nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1};
        core_lua_file("lua/binomial.lua", 2, 1, &plan);
        core_machine(&spec, &machine);
        struct routes routes;
        struct error error;
        assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), &error), &error);
        const struct engine_job job = {.plan = &plan,
                                       .routes = &routes,
                                       .size_B = i == 0 ? 100e3 : 530e3,
                                       .accounting = ACCOUNTING_PIPELINED,
                                       .trace = true,
                                       .walk = WALK_QUEUE};
        assert_ok(engine_run(&job, &ledger, &error), &error);
        assert_int_equal(ledger.traced, i == 0);
        assert_string_equal(ledger_untraced(&ledger),
                            i == 0 ? ""
                                   : "more than 1048576 stages and waits: the critical path is not "
                                     "followed, and the busiest resource is named");
        ledger_free(&ledger);
        routes_free(&routes);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* A fence: 0 -> 1 -> 2 with 10 slices of 10 us takes 100 + 10 us where they flow through, 2 * 100
 * where rank 1 waits for all of it. Another lane waits as well, also for chunks it does not read;
 * what a rank is not sent it does not wait for. A fence between turns holds each link of a chain
 * up: 3 transfers of 100 us, where they flow through 100 + 2 * 10. */
static void a_fence_waits_for_the_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t time_us;
    } rows[] = {
        {"p:send{from=0,to=1} p:send{from=1,to=2}", 110},
        {"p:send{from=0,to=1} p:fence() p:send{from=1,to=2}", 200},
        {"p:send{from=0,to=1} p:fence() p:send{from=1,to=2,lane=1}", 200},
        {"p:split(2) p:send{from=0,to=1,chunk=0} p:fence() p:send{from=1,to=2,chunk=1}", 100},
        {"p:send{from=0,to=1} p:fence() p:send{from=3,to=2}", 100},
        {"p:fence() p:send{from=0,to=1} p:fence() p:fence()", 100},
        {"p:loop(3, function(k) p:send{to=(p.rank+1)%4,where=eq(p.rank,k)} end)", 120},
        {"p:loop(3, function(k) p:fence() p:send{to=(p.rank+1)%4,where=eq(p.rank,k)} end)", 300},
        {"p:loop(3, function(k) p:fence() end) p:send{from=0,to=1}", 100},
    };
    struct core_spec spec = {
        .nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct plan plan;
        char text[256];
        snprintf(text, sizeof text, "collective = 'broadcast'\nfunction plan(p) %s end",
                 rows[i].text);
        core_script(text, 4, 1, &plan);
        int64_t time = core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 1e6);
        if (time != rows[i].time_us * US)
            fail_msg("%s: %lld ps", rows[i].text, (long long)time);
        plan_free(&plan);
    }
}

/* Lanes of one rank run side by side, operations of one lane one after the other. Serially, gdr
 * at c/PCIE = 4, c/NET = 10 us: one transfer is 18 us; two in one lane 36. In two lanes they only
 * share the wire: 4 + 10 + 10 + 4 = 28. */
static void lanes_run_side_by_side(void **state)
{
    (void)state;
    static const char *const text[] = {
        "collective = 'broadcast'\n"
        "function plan(p) p:send{from=0,to=1,lane=0} p:send{from=0,to=2,lane=0} end",
        "collective = 'broadcast'\n"
        "function plan(p) p:send{from=0,to=1,lane=0} p:send{from=0,to=2,lane=1} end",
    };
    static const int64_t expected_us[] = {36, 28};
    struct core_spec spec = {.nodes = 3, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    for (int i = 0; i < 2; i++) {
        struct plan plan;
        core_script(text[i], 3, 1, &plan);
        assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 1e5),
                         expected_us[i] * US);
        plan_free(&plan);
    }
}

/* The switch adds when the last member's slice is there. Serially, gdr at c/PCIE = 4, c/NET = 10
 * us: 0 -> 1 takes 18 us, and only then do ranks 0 and 1 send up (14 us), while rank 2 did at once.
 * 18 + 14 up + 14 down = 46. */
static void the_switch_waits_for_the_last(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {.nodes = 3, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    core_script("collective = 'allreduce'\n"
                "function plan(p) p:send{from = 0, to = 1} p:switch_reduce{}\n"
                "p:switch_multicast{} end",
                3, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_SERIAL, 1e5), 46 * US);
    plan_free(&plan);
}

/* A slice that stands in the queue of a receiver holds up neither its sender nor others: 1 -> 0
 * keeps 0's wire rx busy to 10 us, 2 -> 0 waits for it and arrives at 20, and 2 -> 3 leaves when
 * 2's own wire tx is free, at 10, and arrives at 20 as well. */
static void a_queue_holds_up_nobody_else(void **state)
{
    (void)state;
    static const struct plan_edge edges[] = {{1, 0, 0}, {2, 0, 1}, {2, 3, 1}};
    struct plan plan;
    struct core_spec spec = {
        .nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
    core_edges(4, 2, edges, 3, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 2e5), 20 * US);
    plan_free(&plan);
}

/* Three of four chunks in one transfer are three quarters of the bytes and of the time: 75 kB at
 * c/PCIE = 3, c/NET = 7.5 us, serially 3 + 7.5 + 3 = 13.5 us. */
static void consecutive_chunks_travel_together(void **state)
{
    (void)state;
    struct plan plan;
    struct machine machine;
    struct ledger ledger;
    struct core_spec spec = {.nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    core_script("collective = 'broadcast'\n"
                "function plan(p) p:split(4) p:send{from = 0, to = 1, chunk = 1, count = 3} end",
                2, 1, &plan);
    core_machine(&spec, &machine);
    core_run(&machine, &plan, "gdr", ACCOUNTING_SERIAL, 1e5, &ledger);
    assert_int_equal(ledger.total_ps, 135 * US / 10);
    assert_near(ledger.wire_bytes, 75e3, 0);
    assert_near(ledger.crossing_bytes, 150e3, 0);
    assert_near(ledger.route_bytes[0], 75e3, 0); /* slot 0: to another node, GPU 0 to GPU 0 */
    ledger_free(&ledger);
    machine_free(&machine);
    plan_free(&plan);
}

/* ---- other collectives -------------------------------------------------------------------------
 */

/* Pairwise on n ranks, one GPU a node, serial: n - 1 steps of S / n each.
 *   a step of gdr: 1 us + S/n / 25e9 + S/n / 10e9 + S/n / 25e9
 *   n = 4, S = 4 MB: 3 (1 us + 40 us + 100 us + 40 us) = 543 us */
static void alltoall_pairwise(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {.nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9, .step_s = 1e-6};
    core_lua_file("lua/alltoall.lua", 4, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 4e6), 543000000);
    plan_free(&plan);
    core_lua_file("lua/sendrecv.lua", 4, 1, &plan);
    /* one step of the whole message: 1 us + 160 us + 400 us + 160 us */
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 4e6), 721000000);
    plan_free(&plan);
}

/* What arrives in one buffer does not hold up a send from the other: rank 1 passes on its own
 * chunk 0 at once, but what it got as chunk 0 of the result only when it is there. */
static void buffers_do_not_wait_for_each_other(void **state)
{
    (void)state;
    static const char first[] = "collective = 'sendrecv' function plan(p) p:split(2)\n"
                                "p:send{from = 0, to = 1, chunk = 0, write = 'result'}\n";
    char text[512];
    struct plan plan;
    struct core_spec spec = {.nodes = 3, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    /* S = 2 MB, a chunk of 1 MB: 40 + 100 + 40 us */
    snprintf(text, sizeof text, "%sp:send{from = 1, to = 2, chunk = 0} end", first);
    core_script(text, 3, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 2e6), 180000000);
    plan_free(&plan);
    snprintf(text, sizeof text, "%sp:send{from = 1, to = 2, chunk = 0, read = 'result'} end",
             first);
    core_script(text, 3, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 2e6), 360000000);
    plan_free(&plan);
    /* into = 1: chunk 1 waits for it, chunk 0 does not */
    snprintf(text, sizeof text, "%s",
             "collective = 'allreduce' function plan(p) p:split(2)\n"
             "p:send{from = 0, to = 1, chunk = 0, into = 1}\n"
             "p:send{from = 1, to = 2, chunk = 1} end");
    core_script(text, 3, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 2e6), 360000000);
    plan_free(&plan);
}

/* Two switches add side by side. Ranks 0 and 1 send up chunk 0, ranks 2 and 3 chunk 1; nobody waits
 * for the other group, though rank 2 first sends its chunk 1 to rank 3 (which adds).
 *   half the message is 1 MB; up 40 + 100 us, down 100 + 40 us: 280 us
 *   and before it the send: 40 + 100 + 40 us, which only group 1 waits for: 460 us
 * Then rank 0 sends chunk 0, which it has at 280 us, to rank 1: 460 us as well. With one switch for
 * all it would come at 640 us. */
static void groups_have_a_switch_each(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {.nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    core_script("collective = 'allreduce' function plan(p) local r = p.rank p:split(2)\n"
                "p:send{from = 2, to = 3, chunk = 1, reduce = true}\n"
                "p:switch_reduce{chunk = r // 2, group = r // 2}\n"
                "p:switch_multicast{chunk = r // 2, group = r // 2}\n"
                "p:send{to = 1, chunk = 0, where = eq(r, 0)} end",
                4, 1, &plan);
    assert_int_equal(plan.groups, 2);
    assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_SERIAL, 2e6), 460000000);
    plan_free(&plan);
}

/* The pairs that a plan uses are found without running it: the routes that a run makes. */
static void pairs_without_a_run(void **state)
{
    (void)state;
    static const char *const scripts[] = {"lua/ring.lua",           "lua/rings.lua",
                                          "lua/binomial.lua",       "lua/halving_doubling.lua",
                                          "lua/collnet_direct.lua", "lua/double_tree.lua",
                                          "lua/sharp.lua",          "lua/recursive_doubling.lua"};
    struct core_spec spec = {.nodes = 3, .gpus = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
        struct machine machine;
        struct routes ran, filled;
        struct plan plan;
        struct ledger ledger;
        struct error error;
        core_machine(&spec, &machine);
        core_set(&machine.sharp, PARAM_SHARP_SAT_FLOWS, 2); /* collnet: two groups on one NIC */
        core_lua_file(scripts[i], 6, 2, &plan);
        const struct mechanism *sharp = mechanism_find("sharp");
        assert_ok(routes_init(&ran, &machine, sharp, &error), &error);
        assert_ok(routes_init(&filled, &machine, sharp, &error), &error);
        struct engine_job job = {
            .plan = &plan, .routes = &ran, .size_B = 1e6, .accounting = ACCOUNTING_PIPELINED};
        assert_ok(engine_run(&job, &ledger, &error), &error);
        assert_ok(routes_fill(&filled, &plan, 1e6, &error), &error);
        for (size_t slot = 0; slot < ran.slot_count; slot++)
            assert_int_equal(ran.slot[slot] != NULL, filled.slot[slot] != NULL);
        ledger_free(&ledger);
        routes_free(&ran);
        routes_free(&filled);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* One engine for many runs says what a new one says each time, also after a run that failed. */
static void one_engine_for_many_runs(void **state)
{
    (void)state;
    struct core_spec spec = {.nodes = 4, .gpus = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    static const char *const scripts[] = {"lua/ring.lua", "lua/binomial.lua", "lua/sharp.lua"};
    static const double sizes[] = {1e6, 1e17, 3e7, 1e6}; /* the second: longer than the clock */
    struct engine *engine;
    struct machine machine;
    struct error error;
    assert_ok(engine_new(&engine, &error), &error);
    core_machine(&spec, &machine);
    for (size_t i = 0; i < 3 * 2 * 4; i++) {
        struct plan plan;
        struct routes routes;
        struct ledger alone;
        const struct ledger *again;
        core_lua_file(scripts[i / 8], 8, 2, &plan);
        assert_ok(
            routes_init(&routes, &machine, mechanism_find(i / 8 == 2 ? "sharp" : "staged"), &error),
            &error);
        struct engine_job job = {.plan = &plan,
                                 .routes = &routes,
                                 .size_B = sizes[i % 4],
                                 .accounting = i / 4 % 2 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL,
                                 .trace = true};
        enum status status = engine_run(&job, &alone, &error);
        assert_int_equal(engine_rerun(engine, &job, &again, &error), status);
        assert_int_equal(status != STATUS_OK, i % 4 == 1);
        if (!status) {
            assert_int_equal(again->total_ps, alone.total_ps);
            assert_int_equal(again->slices, alone.slices);
            for (size_t r = 0; r < alone.resource_count; r++)
                assert_int_equal(again->resources[r].busy_ps, alone.resources[r].busy_ps);
            for (size_t c = 0; c < alone.resource_count + CATEGORY_COUNT; c++)
                assert_int_equal(again->critical[c], alone.critical[c]);
            ledger_free(&alone);
        }
        engine_forget(engine);
        routes_free(&routes);
        plan_free(&plan);
    }
    engine_free(engine);
    machine_free(&machine);
}

/* ---- what cannot be run ------------------------------------------------------------------------
 */

static void refuses_what_cannot_run(void **state)
{
    (void)state;
    struct plan plan;
    struct machine machine;
    struct routes routes;
    struct ledger ledger;
    struct error error;
    struct core_spec spec = {.nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9};
    core_machine(&spec, &machine);
    assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), &error), &error);
    struct engine_job job = {.plan = &plan, .routes = &routes, .size_B = 1e6, .trace = true};

    /* another number of ranks */
    core_lua_file("lua/ring.lua", 3, 1, &plan);
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "the plan is for 3 ranks, the machine has 2"));
    assert_int_equal(engine_run(&job, &ledger, NULL), STATUS_INPUT);
    plan_free(&plan);

    /* a switch operation by a mechanism without one */
    core_lua_file("lua/sharp.lua", 2, 1, &plan);
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_INPUT);
    assert_int_equal(engine_run(&job, &ledger, NULL), STATUS_INPUT);
    plan_free(&plan);

    /* a switch that would add unlike chunks */
    core_script("collective = 'allreduce'\n"
                "function plan(p) p:split(2)\n"
                "p:switch_reduce{chunk = p.rank} p:switch_multicast{} end",
                2, 1, &plan);
    struct routes sharp;
    assert_ok(routes_init(&sharp, &machine, mechanism_find("sharp"), &error), &error);
    job.routes = &sharp;
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "members of one group send different chunks"));
    assert_int_equal(error.line, 3);
    job.routes = &routes;
    routes_free(&sharp);
    plan_free(&plan);

    /* longer than the clock */
    core_one_edge(&plan);
    job.size_B = 1e17; /* 1e17 / 1e10 = 1e7 s > 4e6 s */
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "4 million seconds"));
    plan_free(&plan);

    /* each transfer fits, their sum does not: 2 * 3e6 s > 2^62 ps = 4.6e6 s */
    static const struct plan_edge twice[] = {{0, 1, 0}, CORE_STEP_END, {0, 1, 0}};
    core_edges(2, 1, twice, 3, &plan);
    job.size_B = 3e16;
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_FAILED);
    assert_int_equal(engine_run(&job, &ledger, NULL), STATUS_FAILED);
    plan_free(&plan);

    routes_free(&routes);
    machine_free(&machine);
}

/* One rank has nothing to do and takes no time. */
static void one_rank_takes_no_time(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {.nodes = 1, .pcie_Bps = 25e9, .nic_Bps = 10e9, .step_s = 1e-6};
    core_lua_file("lua/ring.lua", 1, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 1e6), 0);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 1e6), 0);
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_only_for_what_it_reads),
        cmocka_unit_test(a_fence_waits_for_the_whole),
        cmocka_unit_test(says_why_the_path_has_no_shares),
        cmocka_unit_test(lanes_run_side_by_side),
        cmocka_unit_test(the_switch_waits_for_the_last),
        cmocka_unit_test(a_queue_holds_up_nobody_else),
        cmocka_unit_test(consecutive_chunks_travel_together),
        cmocka_unit_test(alltoall_pairwise),
        cmocka_unit_test(buffers_do_not_wait_for_each_other),
        cmocka_unit_test(groups_have_a_switch_each),
        cmocka_unit_test(pairs_without_a_run),
        cmocka_unit_test(one_engine_for_many_runs),
        cmocka_unit_test(refuses_what_cannot_run),
        cmocka_unit_test(one_rank_takes_no_time),
    };
    return cmocka_run_group_tests_name("engine_order", tests, NULL, NULL);
}
