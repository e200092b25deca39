/* test_script_plan.c: symbolic values, and the plan that a script makes. */
#include "sim/script/script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"
#include "tests/unit/help_script.h"

/* ---- any rank
 * ---------------------------------------------------------------------------------------- */

static void symbolic_values_cannot_be_decided(void **state)
{
    (void)state;
    static const char *const comparisons[] = {"if r < 3 then end", "if r <= 3 then end",
                                              "if 3 > r then end", "local x = r >= n"};
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        script_refused(comparisons[i], 2, "is not known yet");
        script_refused(comparisons[i], 2, "use where = lt(a, b), le, gt, ge, eq or ne");
    }
    script_refused("p:loop(3, function(k)\nif k < 1 then end end)", 3, "is not known yet");
    script_refused("local x = r / 2", 2, "divide with //");
    script_refused("local x = r ^ 2", 2, "cannot be done with a value that stands for any rank");
    script_refused("local x = r .. 'x'", 2, "cannot be done");
    script_refused("local x = #r", 2, "cannot be done");
    script_refused("local x = r.y", 2, "cannot be done");
    script_refused("r.y = 3", 2, "cannot be done");
    script_refused("r()", 2, "cannot be done");
    script_refused("local x = ~r", 2, "cannot be done");
    script_refused("local x = r + {}", 2, "must be a whole number or an expression, got table");
    script_refused("local x = r + 0.5", 2, "must be a whole number or an expression, got 0.5");
    script_refused("for i = 1, r do end", 2, "");
    script_refused("local x = log2(r)", 2, "got any rank or turn");
    script_refused("local x = log2(0)", 2, "at least 1");
    script_refused("local x = math.floor(r)", 2, "number expected");
    /* an expression of more than 32 parts */
    script_refused("local x = r for i = 1, 40 do x = x + r end", 2, "more than 32 parts");
}

/* The value at rank and turn of an expression that a script makes must be what Lua computes for
 * plain numbers. */
static void symbolic_arithmetic_is_lua_arithmetic(void **state)
{
    (void)state;
    static const char *const expressions[] = {
        "a + b",
        "a - b",
        "a * b",
        "-a",
        "a & b",
        "a | b",
        "a ~ b",
        "a + 7",
        "7 - a",
        "a * 3 - b",
        "(a - b) // 3",
        "(a - b) % 3",
        "(a - b) // -3",
        "(a - b) % -3",
        "a // (b + 1)",
        "a % (b + 1)",
        "7 // (b + 1)",
        "-7 % (b + 1)",
        "1 << b",
        "a << b",
        "1000 >> b",
        "a >> 1",
        "(a - b) >> 1",
        "min(a, b)",
        "max(a, b)",
        "eq(a, b)",
        "ne(a, b)",
        "lt(a, b)",
        "le(a, b)",
        "gt(a, b)",
        "ge(a, b)",
        "lt(3, a)",
        "gt(3, a)",
        "no(a)",
        "no(eq(a, 2))",
        "both(lt(a, 3), lt(b, 3))",
        "either(eq(a, 3), eq(b, 3))",
        "(a * 2 + b + 1) % 8",
        "(a ~ (1 << b)) & 15",
        "min(max(a, 2), b) * (a - b) // 2",
        "-(a - b) * -(b - 2 * a)",
    };
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        char text[1024];
        struct plan plan;
        struct script_printed printed = {.text = ""};
        struct error error;
        /* concrete: printed for a, b in 0 .. 5; symbolic: the chunk of an operation */
        snprintf(text, sizeof text,
                 "collective = 'allreduce'\n"
                 "local function f(a, b) return %s end\n"
                 "function plan(p)\n"
                 "for a = 0, 5 do for b = 0, 5 do print(f(a, b)) end end\n"
                 "p:loop(6, function(k) p:send{to = 0, chunk = f(p.rank, k)} end) end",
                 expressions[i]);
        assert_ok(script_run(text, &plan, &printed, &error), &error);
        const char *at = printed.text;
        for (int64_t a = 0; a <= 5; a++)
            for (int64_t b = 0; b <= 5; b++) {
                char *end;
                long long concrete = strtoll(at, &end, 10);
                assert_int_equal(*end, '\n');
                at = end + 1;
                int64_t symbolic =
                    rule_eval(&plan.ops[0].chunk, a, (const int64_t[RULE_LOOPS]){b, 0, 0});
                if (symbolic != concrete)
                    print_error("%s at a = %d, b = %d: %lld, not %lld\n", expressions[i], (int)a,
                                (int)b, (long long)symbolic, concrete);
                assert_true(symbolic == concrete);
            }
        plan_free(&plan);
    }
}

/* What the two have in common must be right as well. */
static void helpers_compare_and_combine(void **state)
{
    (void)state;
    script_prints(
        "print(lt(1, 2), lt(2, 2), le(2, 2), le(3, 2), gt(2, 1), gt(2, 2), ge(2, 2), ge(1, 2))",
        "1\t0\t1\t0\t1\t0\t1\t0\n");
    script_prints("print(eq(2, 2), eq(1, 2), ne(2, 2), ne(1, 2), no(0), no(1), no(5))",
                  "1\t0\t0\t1\t1\t0\t0\n");
    script_prints(
        "print(both(1, 0), both(1, 1), either(0, 1), either(0, 0), min(-2, 3), max(-2, 3))",
        "0\t1\t1\t0\t-2\t3\n");
}

static void p_tells_the_machine(void **state)
{
    (void)state;
    script_prints("print(p.ranks, p.nodes, p.gpus_per_node, p.root, log2(8), log2(9), log2(1))",
                  "6\t3\t2\t1\t3\t3\t0\n");
}

/* ---- what a script makes
 * ------------------------------------------------------------------------------ */

static void operations_are_as_written(void **state)
{
    (void)state;
    char text[1024];
    struct plan plan;
    struct error error;
    script_wrap("p:split(4)\n"
                "p:send{to = (r + 1) % n, chunk = 2, count = 2, reduce = true, lane = 3}\n"
                "p:step(function()\n"
                "p:send{from = 3, to = 4, chunk = 1}\n"
                "p:send{from = 0, to = 5}\n"
                "p:send{from = 0, to = 5, reduce = true}\n"
                "end)\n"
                "p:switch_reduce{where = eq(r, 2)}",
                text, sizeof text);
    assert_ok(script_run(text, &plan, NULL, &error), &error);
    assert_string_equal(plan.name, "my");
    assert_int_equal(plan.collective, COLLECTIVE_ALLREDUCE);
    assert_int_equal(plan.ranks, 6);
    assert_int_equal(plan.chunks, 4);
    assert_int_equal(plan.root, 1);
    assert_int_equal(plan.lanes, 4);
    assert_int_equal(plan.steps, 3);
    assert_int_equal(plan.op_count, 4);
    const struct plan_op *op = plan.ops;
    assert_int_equal(op[0].kind, PLAN_SEND);
    assert_true(op[0].reduce);
    assert_false(op[0].conditional);
    assert_int_equal(op[0].lane, 3);
    assert_int_equal(op[0].line, 3);
    assert_int_equal(op[0].count.constant, 2);
    assert_int_equal(op[0].chunk.constant, 2);
    assert_int_equal(op[0].to.form, RULE_AFFINE);
    assert_int_equal(op[0].edge_count, 0);
    /* two edges of one kind share an operation, the third adds */
    assert_int_equal(op[1].edge_count, 2);
    assert_int_equal(op[1].line, 5);
    assert_int_equal(plan.edges[op[1].first_edge].from, 0);
    assert_int_equal(plan.edges[op[1].first_edge + 1].from, 3);
    assert_int_equal(op[2].edge_count, 1);
    assert_true(op[2].reduce);
    assert_int_equal(op[3].kind, PLAN_UP);
    assert_true(op[3].conditional);
    plan_free(&plan);
}

static void loops_of_no_turns_are_skipped(void **state)
{
    (void)state;
    script_prints(
        "p:loop(0, function() error('never') end) p:loop(-3, function() error('never') end)\n"
        "print('done')",
        "done\n");
}

/* What plans hold, but for pointers and the bytes between members. */
static void same_plan(const struct plan *a, const struct plan *b)
{
    assert_int_equal(a->chunks, b->chunks);
    assert_true(a->steps == b->steps);
    assert_int_equal(a->lanes, b->lanes);
    assert_int_equal(a->op_count, b->op_count);
    assert_int_equal(a->length, b->length);
    assert_int_equal(a->edge_count, b->edge_count);
    for (size_t i = 0; i < a->length; i++) {
        const struct plan_instruction *x = &a->program[i], *y = &b->program[i];
        assert_int_equal(x->code, y->code);
        assert_int_equal(x->first_op, y->first_op);
        assert_int_equal(x->op_count, y->op_count);
        assert_int_equal(x->count, y->count);
        assert_int_equal(x->partner, y->partner);
        assert_int_equal(x->again, y->again);
        assert_int_equal(x->depth, y->depth);
    }
    assert_memory_equal(a->edges, b->edges, a->edge_count * sizeof *a->edges);
    for (size_t i = 0; i < a->op_count; i++) {
        const struct plan_op *x = &a->ops[i], *y = &b->ops[i];
        const struct rule *rules[4][2] = {{&x->where, &y->where},
                                          {&x->to, &y->to},
                                          {&x->chunk, &y->chunk},
                                          {&x->count, &y->count}};
        assert_true(x->kind == y->kind && x->reduce == y->reduce && x->lane == y->lane &&
                    x->conditional == y->conditional && x->line == y->line &&
                    x->first_edge == y->first_edge && x->edge_count == y->edge_count);
        for (size_t k = 0; k < 4; k++) {
            const struct rule *u = rules[k][0], *v = rules[k][1];
            assert_int_equal(u->count, v->count);
            assert_true(u->form == v->form && u->constant == v->constant && u->rank == v->rank &&
                        u->modulus == v->modulus && u->xor_rank == v->xor_rank);
            for (size_t c = 0; c < u->count; c++)
                assert_true(u->code[c].op == v->code[c].op && u->code[c].value == v->code[c].value);
        }
    }
}

static void the_same_script_makes_the_same_plan(void **state)
{
    (void)state;
    char text[1024];
    struct plan plans[2];
    struct error error;
    script_wrap("p:split(12)\n"
                "local t = {to = (r + 1) % n, chunk = (r * 2) % 12, count = 2, where = lt(r, 4)}\n"
                "p:send(t)\n"
                "p:loop(3, function(k) p:step(function()\n"
                "for i = 5, 1, -1 do p:send{from = i, to = 0, chunk = i, reduce = true} end\n"
                "p:send{to = r ~ 1, chunk = k} end) end)",
                text, sizeof text);
    for (int i = 0; i < 2; i++)
        assert_ok(script_run(text, &plans[i], NULL, &error), &error);
    same_plan(&plans[0], &plans[1]);
    for (int i = 0; i < 2; i++)
        plan_free(&plans[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbolic_values_cannot_be_decided),
        cmocka_unit_test(symbolic_arithmetic_is_lua_arithmetic),
        cmocka_unit_test(helpers_compare_and_combine),
        cmocka_unit_test(p_tells_the_machine),
        cmocka_unit_test(operations_are_as_written),
        cmocka_unit_test(loops_of_no_turns_are_skipped),
        cmocka_unit_test(the_same_script_makes_the_same_plan),
    };
    return cmocka_run_group_tests_name("script_plan", tests, NULL, NULL);
}
