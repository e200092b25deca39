/* test_plan.c: building plans and walking through them. */
#include "sim/core/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

static const struct plan_op send_op = {.kind = PLAN_SEND,
                                       .line = 7,
                                       .to = {.form = RULE_CONSTANT, .constant = 1},
                                       .chunk = {.form = RULE_CONSTANT},
                                       .count = {.form = RULE_CONSTANT, .constant = 1}};

static void add_step(struct plan *plan)
{
    struct error error;
    assert_ok(plan_begin_step(plan, &error), &error);
    assert_ok(plan_add_op(plan, &send_op, &error), &error);
    assert_ok(plan_end_step(plan, &error), &error);
}

static void begin_loop(struct plan *plan, uint32_t count, uint32_t depth)
{
    struct error error;
    assert_ok(plan_begin_loop(plan, count, depth, &error), &error);
}

static void end_loop(struct plan *plan)
{
    struct error error;
    assert_ok(plan_end_loop(plan, &error), &error);
}

static void finish(struct plan *plan)
{
    struct error error;
    assert_ok(plan_finish(plan, &error), &error);
}

/* The walk as text: first operation and counters of each step, "0:00 1:10 ..." */
static void walk_is(const struct plan *plan, const char *expected)
{
    char text[1024] = "";
    size_t used = 0;
    uint64_t steps = 0;
    struct plan_cursor at;
    for (plan_first(plan, &at); !at.done; plan_next(plan, &at)) {
        assert_true(plan->program[at.at].code == PLAN_STEP);
        assert_int_equal(at.step, steps++);
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u:%d%d%d", used ? " " : "",
                                 plan->program[at.at].first_op, (int)at.loops[0], (int)at.loops[1],
                                 (int)at.loops[2]);
    }
    assert_string_equal(text, expected);
    assert_int_equal(plan->steps, steps);
}

static void steps_in_program_order(void **state)
{
    (void)state;
    struct plan plan;
    plan_init(&plan, 2);
    add_step(&plan);
    add_step(&plan);
    finish(&plan);
    walk_is(&plan, "0:000 1:000");
    assert_int_equal(plan.lanes, 1);
    plan_free(&plan);
    plan_free(&plan); /* twice does no harm */
}

static void loops_count_their_turns(void **state)
{
    (void)state;
    struct plan plan;
    plan_init(&plan, 2);
    add_step(&plan);
    begin_loop(&plan, 3, 0);
    add_step(&plan);
    end_loop(&plan);
    begin_loop(&plan, 2, 0);
    add_step(&plan);
    add_step(&plan);
    end_loop(&plan);
    finish(&plan);
    walk_is(&plan, "0:000 1:000 1:100 1:200 2:000 3:000 2:100 3:100");
    plan_free(&plan);
}

/* for k0 in 0..1: a; for k1 in 0..1: b; for k2 in 0..1: c; end; end; d  */
static void loops_nest(void **state)
{
    (void)state;
    struct plan plan;
    plan_init(&plan, 2);
    begin_loop(&plan, 2, 0);
    add_step(&plan);
    begin_loop(&plan, 2, 1);
    add_step(&plan);
    begin_loop(&plan, 2, 2);
    add_step(&plan);
    end_loop(&plan);
    end_loop(&plan);
    add_step(&plan);
    end_loop(&plan);
    finish(&plan);
    /* 2 * (1 + 2 * (1 + 2) + 1) = 16 steps */
    walk_is(&plan, "0:000 1:000 2:000 2:001 1:010 2:010 2:011 3:000 "
                   "0:100 1:100 2:100 2:101 1:110 2:110 2:111 3:100");
    plan_free(&plan);
}

/* A loop that begins right after another begins, and ends where the other ends. */
static void loops_share_begin_and_end(void **state)
{
    (void)state;
    struct plan plan;
    plan_init(&plan, 2);
    begin_loop(&plan, 2, 0);
    begin_loop(&plan, 3, 1);
    add_step(&plan);
    end_loop(&plan);
    end_loop(&plan);
    finish(&plan);
    walk_is(&plan, "0:000 0:010 0:020 0:100 0:110 0:120");
    plan_free(&plan);
}

static void what_never_happens_leaves_no_trace(void **state)
{
    (void)state;
    struct error error;
    struct plan plan;
    plan_init(&plan, 2);
    begin_loop(&plan, 5, 0); /* nothing in it */
    end_loop(&plan);
    begin_loop(&plan, 0, 0); /* never run */
    add_step(&plan);
    end_loop(&plan);
    begin_loop(&plan, 4, 0); /* only empty steps and empty loops in it */
    assert_ok(plan_begin_step(&plan, &error), &error);
    assert_ok(plan_end_step(&plan, &error), &error);
    begin_loop(&plan, 2, 1);
    end_loop(&plan);
    end_loop(&plan);
    assert_int_equal(plan.length, 0);
    add_step(&plan);
    finish(&plan);
    walk_is(&plan, "1:000");
    plan_free(&plan);

    plan_init(&plan, 2);
    assert_int_equal(plan_finish(&plan, &error), STATUS_INPUT);
    assert_string_equal(error.message, "the plan has no operation for 2 ranks");
    plan_free(&plan);
    plan_init(&plan, 1); /* one rank may have nothing to do */
    finish(&plan);
    walk_is(&plan, "");
    plan_free(&plan);
}

/* 65536 * 65536 = 2^32 steps are the most; one turn more is refused, and so are counts whose
 * product would not even fit into 64 bits. */
static void too_many_steps_are_refused(void **state)
{
    (void)state;
    struct error error;
    for (int more = 0; more <= 1; more++) {
        struct plan plan;
        plan_init(&plan, 2);
        begin_loop(&plan, 65536, 0);
        begin_loop(&plan, 65536 + (uint32_t)more, 1);
        add_step(&plan);
        end_loop(&plan);
        end_loop(&plan);
        assert_int_equal(plan_finish(&plan, &error), more ? STATUS_INPUT : STATUS_OK);
        if (more)
            assert_string_equal(error.message, "the plan has more than 2^32 steps");
        else
            assert_true(plan.steps == (uint64_t)1 << 32);
        plan_free(&plan);
    }
    struct plan plan;
    plan_init(&plan, 2);
    for (uint32_t depth = 0; depth < RULE_LOOPS; depth++)
        begin_loop(&plan, UINT32_MAX, depth);
    add_step(&plan);
    for (uint32_t depth = 0; depth < RULE_LOOPS; depth++)
        end_loop(&plan);
    assert_int_equal(plan_finish(&plan, NULL), STATUS_INPUT);
    plan_free(&plan);
}

/* Edges come in any order and are found by their sender. */
static void edges_are_sorted_by_sender(void **state)
{
    (void)state;
    static const struct plan_edge edges[] = {{3, 0, 1}, {1, 2, 0}, {3, 0, 0},
                                             {0, 3, 1}, {1, 0, 1}, {1, 2, 0}};
    static const struct plan_edge sorted[] = {{0, 3, 1}, {1, 0, 1}, {1, 2, 0},
                                              {1, 2, 0}, {3, 0, 0}, {3, 0, 1}};
    struct plan plan;
    struct plan_cursor at;
    struct transfer transfer;
    core_edges(4, 2, edges, 6, &plan);
    for (size_t i = 0; i < 6; i++)
        assert_memory_equal(&plan.edges[i], &sorted[i], sizeof sorted[i]);
    plan_first(&plan, &at);
    size_t found = 0;
    for (uint32_t rank = 0; rank < 4; rank++)
        for (uint32_t index = 0; plan_transfer(&plan, plan.ops, &at, rank, index, &transfer, NULL);
             index++) {
            assert_int_equal(transfer.from, rank);
            assert_int_equal(transfer.to, sorted[found].to);
            assert_int_equal(transfer.chunk, sorted[found].chunk);
            assert_int_equal(transfer.count, 1);
            assert_int_equal(transfer.edge, index);
            found++;
        }
    assert_int_equal(found, 6);
    plan_free(&plan);
}

/* ---- transfers from rules
 * ------------------------------------------------------------------------ */

/* What each rank sends in the first step, as "from>to:chunk+count". */
static void sends_are(const char *body, uint32_t ranks, const char *expected)
{
    char text[512], sends[512] = "";
    size_t used = 0;
    struct plan plan;
    struct plan_cursor at;
    struct transfer t;
    struct error error;
    snprintf(text, sizeof text, "collective = 'allreduce' function plan(p) %s end", body);
    core_script(text, ranks, 1, &plan);
    plan_first(&plan, &at);
    for (uint32_t rank = 0; rank < ranks; rank++)
        if (plan_transfer(&plan, plan.ops, &at, rank, 0, &t, &error) > 0) {
            used += (size_t)snprintf(sends + used, sizeof sends - used, "%s%d>%d:%u+%u",
                                     used ? " " : "", (int)t.from, (int)t.to, t.chunk, t.count);
            assert_int_equal(plan_transfer(&plan, plan.ops, &at, rank, 1, &t, &error), 0);
        }
    assert_string_equal(sends, expected);
    plan_free(&plan);
}

static void transfers_follow_the_rules(void **state)
{
    (void)state;
    sends_are("p:split(4) p:send{to = (p.rank + 1) % 4, chunk = (p.rank - 1) % 4}", 4,
              "0>1:3+1 1>2:0+1 2>3:1+1 3>0:2+1");
    sends_are("p:split(4) p:send{to = p.rank ~ 1, chunk = p.rank // 2 * 2, count = 2}", 4,
              "0>1:0+2 1>0:0+2 2>3:2+2 3>2:2+2");
    sends_are("p:send{to = 0, where = gt(p.rank, 1)}", 4, "2>0:0+1 3>0:0+1");
    sends_are("p:send{to = p.rank - 1, where = both(gt(p.rank, 0), no(eq(p.rank, 2)))}", 4,
              "1>0:0+1 3>2:0+1");
    sends_are("p:switch_reduce{where = ne(p.rank, 1)}", 3, "0>-1:0+1 2>-1:0+1");
    sends_are("p:switch_multicast{}", 2, "-1>0:0+1 -1>1:0+1");
}

/* A rule that gives nonsense is an error that names step, rank, value and line. Steps count from 1
 * in sentences. */
static void nonsense_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *body, *message;
    } cases[] = {
        {"\np:send{to = p.rank + 1}", "step 1, rank 3: to is 4, must be 0 .. 3"},
        {"\np:send{to = p.rank - 1}", "step 1, rank 0: to is -1, must be 0 .. 3"},
        {"\np:send{to = (p.rank + 1) % 4, chunk = p.rank}",
         "step 1, rank 1: chunk is 1, must be 0 .. 0 (p:split(c) cuts the message into c chunks)"},
        {"\np:send{to = (p.rank + 1) % 4, chunk = -1}",
         "step 1, rank 0: chunk is -1, must be 0 .. 0"},
        {"\np:send{to = 3 + p.rank // (p.rank - 2)}",
         "step 1, rank 2: to is undefined (division by zero?)"},
        {"\np:send{to = (p.rank + p.rank // 3) % 4}", "step 1: rank 0 sends to itself"},
        {"p:send{to = (p.rank + 1) % 4} p:loop(3, function(k)\n"
         "p:send{to = (p.rank + 1) % 4, chunk = k // 2} end)",
         "step 4, rank 0: chunk is 1, must be 0 .. 0 (p:split(c) cuts the message into c chunks)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        struct plan plan;
        struct plan_cursor at;
        struct transfer transfer;
        struct error error = {0};
        int found = 1;
        snprintf(text, sizeof text, "collective = 'allreduce' function plan(p) %s end",
                 cases[i].body);
        core_script(text, 4, 1, &plan);
        for (plan_first(&plan, &at); found >= 0 && !at.done; plan_next(&plan, &at))
            for (uint32_t rank = 0; rank < 4 && found >= 0; rank++)
                found = plan_transfer(&plan, &plan.ops[plan.program[at.at].first_op], &at, rank, 0,
                                      &transfer, &error);
        assert_int_equal(found, -1);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.status, STATUS_INPUT);
        assert_int_equal(error.line, 2);
        plan_free(&plan);
    }
}

/* Chunks beyond the end are refused too. */
static void counts_stay_inside_the_message(void **state)
{
    (void)state;
    for (int count = -1; count <= 4; count++) {
        char text[256];
        struct plan plan;
        struct plan_cursor at;
        struct transfer transfer;
        struct error error = {0};
        snprintf(text, sizeof text,
                 "collective = 'allreduce' function plan(p) p:split(4)\n"
                 "p:send{to = (p.rank + 1) %% 2, chunk = 1, count = p.rank + %d} end",
                 count);
        core_script(text, 2, 1, &plan);
        plan_first(&plan, &at);
        /* chunks 1, 2, 3 are there from chunk 1 on */
        int found = plan_transfer(&plan, plan.ops, &at, 0, 0, &transfer, &error);
        assert_int_equal(found, count >= 1 && count <= 3 ? 1 : -1);
        if (found < 0)
            assert_int_equal(error.line, 2);
        plan_free(&plan);
    }
}

/* Of 8 ranks, all are below 8, seven below 7; a condition that a counter changes stays. */
static void a_condition_for_all_is_none(void **state)
{
    (void)state;
    static const char *const rows[] = {"lt(r, 8)", "lt(r, 7)", "lt(r, 8 - k)"};
    for (size_t i = 0; i < 3; i++) {
        char text[256];
        struct plan plan;
        snprintf(text, sizeof text,
                 "collective = 'allreduce'\nfunction plan(p)\nlocal r = p.rank\n"
                 "p:loop(3, function(k)\np:send { to = r ~ (1 << k), reduce = true, where = %s }\n"
                 "end)\nend\n",
                 rows[i]);
        core_script(text, 8, 1, &plan);
        assert_int_equal(plan.ops[0].conditional, i > 0);
        plan_free(&plan);
    }
}

/* ---- collectives -------------------------------------------------------------------------------
 */

static void collectives_have_names_and_factors(void **state)
{
    (void)state;
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        assert_int_equal(collective_find(collective_name((enum collective)i)), i);
    assert_int_equal(collective_find("alltoallv"), -1);
    assert_int_equal(collective_find(""), -1);
    /* nccl-tests: allreduce 2(n-1)/n = 14/8; allgather, reduce_scatter (n-1)/n = 7/8; others 1 */
    assert_near(collective_busbw_factor(COLLECTIVE_ALLREDUCE, 8), 1.75, 0);
    assert_near(collective_busbw_factor(COLLECTIVE_ALLGATHER, 8), 0.875, 0);
    assert_near(collective_busbw_factor(COLLECTIVE_REDUCE_SCATTER, 8), 0.875, 0);
    assert_near(collective_busbw_factor(COLLECTIVE_BROADCAST, 8), 1, 0);
    assert_near(collective_busbw_factor(COLLECTIVE_REDUCE, 8), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_in_program_order),
        cmocka_unit_test(loops_count_their_turns),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(loops_share_begin_and_end),
        cmocka_unit_test(what_never_happens_leaves_no_trace),
        cmocka_unit_test(too_many_steps_are_refused),
        cmocka_unit_test(edges_are_sorted_by_sender),
        cmocka_unit_test(transfers_follow_the_rules),
        cmocka_unit_test(nonsense_is_named),
        cmocka_unit_test(counts_stay_inside_the_message),
        cmocka_unit_test(a_condition_for_all_is_none),
        cmocka_unit_test(collectives_have_names_and_factors),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
