/* test_script.c: what a script can do, what it cannot, and how it is told. */
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

/* What `print` printed, line by line. */
struct printed {
    char text[4096];
    size_t lines;
};

static void keep_line(void *owner, const char *line)
{
    struct printed *printed = owner;
    size_t used = strlen(printed->text);
    printed->lines++;
    snprintf(printed->text + used, sizeof printed->text - used, "%s\n", line);
}

static enum status run_bytes(const char *text, size_t length, struct plan *plan,
                             struct printed *printed, struct error *error)
{
    struct script_job job = {.name = "dir/my.lua",
                             .text = text,
                             .length = length,
                             .ranks = 6,
                             .gpus_per_node = 2,
                             .root = 1,
                             .print = printed ? keep_line : NULL,
                             .owner = printed};
    memset(error, 0, sizeof *error);
    return script_plan(&job, plan, error);
}

static enum status run(const char *text, struct plan *plan, struct printed *printed,
                       struct error *error)
{
    return run_bytes(text, strlen(text), plan, printed, error);
}

/* The body of plan(p), standing on lines 2 and following. */
static void wrap(const char *body, char *text, size_t size)
{
    snprintf(text, size,
             "collective = 'allreduce' function plan(p) local n, r = p.ranks, p.rank\n%s\nend",
             body);
}

/* The script is refused, with the words in its message, at the line. */
static void refused_text(const char *text, unsigned line, const char *words)
{
    struct plan plan = {.ranks = 12345};
    struct error error;
    enum status status = run(text, &plan, NULL, &error);
    if (status != STATUS_INPUT || error.line != line || !strstr(error.message, words))
        print_error("%s\n-> status %d, line %u: %s\n   wanted line %u: %s\n", text, (int)status,
                    error.line, error.message, line, words);
    assert_int_equal(status, STATUS_INPUT);
    assert_int_equal(error.line, line);
    assert_non_null(strstr(error.message, words));
    assert_string_equal(error.file, "dir/my.lua");
    assert_int_equal(plan.ranks, 12345); /* untouched */
}

static void refused(const char *body, unsigned line, const char *words)
{
    char text[2048];
    wrap(body, text, sizeof text);
    refused_text(text, line, words);
}

/* What the body prints; it is followed by a send, so that the plan is not empty. */
static void prints(const char *body, const char *expected)
{
    char text[4096], whole[3072];
    struct plan plan;
    struct printed printed = {.text = ""};
    struct error error;
    snprintf(whole, sizeof whole, "%s p:send{to = (r + 1) %% n}", body);
    wrap(whole, text, sizeof text);
    assert_ok(run(text, &plan, &printed, &error), &error);
    assert_string_equal(printed.text, expected);
    plan_free(&plan);
}

/* ---- limits
 * --------------------------------------------------------------------------------------- */

static void endless_scripts_are_stopped(void **state)
{
    (void)state;
    refused("while true do end", 2, "runs too long");
    refused("::again:: goto again", 2, "runs too long");
    refused_text("while true do end", 1, "runs too long");
    /* in a helper that sort calls */
    refused("table.sort({3, 2, 1}, function() while true do end end)", 2, "runs too long");
}

static void endless_recursion_is_stopped(void **state)
{
    (void)state;
    refused("local function f() return 1 + f() end\nf()", 0, "more than 64 MiB of memory");
    refused("local function f() return f() end f()", 2, "runs too long"); /* a tail call */
    refused("local function f() p:loop(2, f) end f()", 2, "nests at most 3 deep");
    /* the C stack: p:step calls back */
    refused("local function f() p:step(f) end f()", 2, "cannot stand inside p:step");
    refused("local t = {}\nlocal function f() table.sort({2, 1}, f) end f()", 3, "overflow");
}

static void memory_bombs_are_stopped(void **state)
{
    (void)state;
    refused("local t = {} for i = 1, 1e9 do t[i] = {} end", 0, "more than 64 MiB of memory");
    refused("local s = 'x' for i = 1, 100 do s = s .. s end", 0, "more than 64 MiB of memory");
    refused("local s = 'x' for i = 1, 100 do s = table.concat{s, s} end", 0,
            "more than 64 MiB of memory");
}

/* Garbage that touches the limit is collected, and a later fault is told as what it is. */
static void garbage_is_no_bomb(void **state)
{
    (void)state;
    refused("local s = 'x' for i = 1, 24 do s = s .. s end\n"
            "for i = 1, 20 do local t = s .. 'y' end\n"
            "p:sent{}",
            4, "p has no \"sent\"");
}

static void large_plans_are_refused(void **state)
{
    (void)state;
    refused("while true do p:send{to = (r + 1) % n} end", 2, "more than 65536 operations");
    refused("while true do p:switch_reduce{} end", 2, "more than 65536 operations");
    refused("p:step(function() while true do p:send{to = (r + 1) % n} end end)", 2,
            "more than 65536 operations");
    refused("p:loop(4294967296, function(k) p:send{to = (r + 1) % n} end)", 2, "too many turns");
    refused("p:loop(65536, function(k) p:loop(65537, function(j)\n"
            "p:send{to = (r + 1) % n} end) end)",
            0, "more than 2^32 steps");
    refused("p:split(1048577)", 2, "1 to 1048576 chunks, got 1048577");
    refused("p:split(0)", 2, "1 to 1048576 chunks, got 0");
    /* as large as allowed */
    char text[512];
    struct plan plan;
    struct error error;
    wrap("p:split(1048576) p:loop(65536, function(k) p:loop(65536, function(j)\n"
         "p:send{to = (r + 1) % n} end) end)",
         text, sizeof text);
    assert_ok(run(text, &plan, NULL, &error), &error);
    assert_true(plan.steps == (uint64_t)1 << 32);
    plan_free(&plan);
}

static void bytecode_is_refused(void **state)
{
    (void)state;
    static const char bytecode[] = "\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08";
    struct plan plan;
    struct error error;
    assert_int_equal(run_bytes(bytecode, sizeof bytecode, &plan, NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "attempt to load a binary chunk"));
}

static void nothing_reaches_out(void **state)
{
    (void)state;
    static const char *const absent[] = {
        "io",
        "os",
        "load",
        "loadfile",
        "loadstring",
        "dofile",
        "require",
        "package",
        "debug",
        "coroutine",
        "utf8",
        "pcall",
        "xpcall",
        "setmetatable",
        "getmetatable",
        "rawset",
        "rawget",
        "rawequal",
        "rawlen",
        "collectgarbage",
        "warn",
        "string.rep",
        "string.find",
        "string.match",
        "string.gmatch",
        "string.gsub",
        "string.dump",
        "string.pack",
        "string.unpack",
        "math.random",
        "math.randomseed",
        "table.move",
    };
    for (size_t i = 0; i < sizeof absent / sizeof absent[0]; i++) {
        char body[128];
        snprintf(body, sizeof body, "print(%s == nil)", absent[i]);
        prints(body, "true\n");
    }
    /* nor by way of a string's methods */
    refused("local s = ('x'):rep(10)", 2, "rep");
    refused("local s = ('x'):find('x')", 2, "find");
    refused("for k, v in pairs({}) do end", 2, "pairs and next are left out");
    refused("next({})", 2, "pairs and next are left out");
    /* what is left works */
    prints(
        "print(string.format('%d %s', 3, 'x'), #'abc', math.max(1, 2), table.concat({1, 2}, '-'))",
        "3 x\t3\t2\t1-2\n");
    prints("local s = 0 for i, v in ipairs({4, 5}) do s = s + i * v end print(s)", "14\n");
}

/* A script cannot leave anything for the next one: each has a state of its own. */
static void scripts_do_not_meet(void **state)
{
    (void)state;
    prints("leftover = 42 string.leftover = 43 print(leftover, string.leftover)", "42\t43\n");
    prints("print(leftover, string.leftover)", "nil\tnil\n");
}

/* ---- what is wrong with a script
 * -------------------------------------------------------------------- */

static void a_script_needs_its_two_parts(void **state)
{
    (void)state;
    refused_text("", 1, "must say what it does");
    refused_text("function plan(p) end", 1, "must say what it does");
    refused_text("collective = 7 function plan(p) end", 1, "must say what it does");
    refused_text("collective = 'gossip' function plan(p) end", 1, "unknown collective \"gossip\"");
    refused_text("collective = 'allreduce'", 1, "must have a function plan(p)");
    refused_text("collective = 'allreduce'\nplan = 3", 1, "must have a function plan(p)");
    refused_text("collective = 'allreduce' function plan(p) end", 0, "no operation for 6 ranks");
}

static void faults_carry_their_line(void **state)
{
    (void)state;
    refused_text("collective = 'allreduce'\n\nfunction plan(p)\n  p:send{to = }\nend", 4,
                 "unexpected symbol");
    refused_text("collective = 'allreduce'\nfunction plan(p)\n\n  error('own words')\nend", 4,
                 "own words");
    refused("local t = nil\n\nprint(t.x)", 4, "attempt to index a nil value");
    refused("\n\np:send{}", 4, "p:send needs `to`");
    refused("error({})", 0, ""); /* an error that is no text */
    refused("error()", 0, "");
}

static void unknown_keys_are_refused(void **state)
{
    (void)state;
    refused(
        "p:send{to = 1, chunks = 2}", 2,
        "p:send does not know \"chunks\"; it takes to, chunk, count, reduce, from, where, lane");
    refused("p:send{to = 1, 5}", 2, "p:send does not know \"1\"");
    refused("p:send{to = 1, [true] = 5}", 2, "does not know \"true\"");
    refused("p:send{to = 1, [1.5] = 5}", 2, "does not know \"1.5\"");
    refused("p:switch_reduce{to = 1}", 2, "p:switch_reduce does not know \"to\"");
    refused("p:switch_multicast{reduce = true}", 2, "p:switch_multicast does not know \"reduce\"");
    refused("p:sent{to = 1}", 2, "p has no \"sent\"");
    refused("print(p.rnk)", 2, "p has no \"rnk\"");
    refused("p.ranks2 = 3", 2, "p cannot be changed");
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    refused("p:send(3)", 2, "takes its keys in braces");
    refused("p:send()", 2, "takes its keys in braces");
    refused("p.send{to = 1}", 2, "");
    refused("p:send{to = '1'}", 2, "to must be a whole number or an expression, got string");
    refused("p:send{to = {}}", 2, "to must be a whole number or an expression, got table");
    refused("p:send{to = true}", 2, "to must be a whole number or an expression, got boolean");
    refused("p:send{to = 1.5}", 2, "to must be a whole number or an expression, got 1.5");
    refused("p:send{to = 0/0}", 2, "to must be a whole number or an expression, got");
    refused("p:send{to = 1/0}", 2, "to must be a whole number or an expression, got inf");
    refused("p:send{to = 1e300}", 2, "to must be a whole number or an expression, got 1e+300");
    refused("p:send{to = 1, chunk = 'a'}", 2, "chunk must be a whole number");
    refused("p:send{to = 1, count = {}}", 2, "count must be a whole number");
    refused("p:send{to = 1, where = true}", 2, "where must be a whole number or an expression");
    refused("p:send{to = 1, reduce = 1}", 2, "reduce is true or false");
    refused("p:send{to = 1, lane = 64}", 2, "lane must be a whole number from 0 to 63");
    refused("p:send{to = 1, lane = -1}", 2, "lane must be a whole number from 0 to 63");
    refused("p:send{to = 1, lane = 0.5}", 2, "lane must be a whole number from 0 to 63");
    refused("p:send{to = 1, lane = r}", 2, "lane must be a whole number from 0 to 63");
    refused("p:split(1.5)", 2, "got 1.5");
    refused("p:split(r)", 2, "got any rank or turn");
    refused("p:split()", 2, "got nothing");
    refused("p:loop(r, function(k) end)", 2, "got any rank or turn");
    refused("p:loop(2)", 2, "needs a function");
    refused("p:loop(2.5, function(k) end)", 2, "got 2.5");
    refused("p:step(3)", 2, "needs a function");
}

static void edges_take_plain_numbers(void **state)
{
    (void)state;
    refused("p:send{from = 6, to = 1}", 2, "from must be a whole number from 0 to 5");
    refused("p:send{from = -1, to = 1}", 2, "from must be a whole number from 0 to 5");
    refused("p:send{from = 0, to = 6}", 2, "to must be a whole number from 0 to 5");
    refused("p:send{from = r, to = 1}", 2, "from must be a whole number from 0 to 5");
    refused("p:send{from = 0, to = r}", 2, "to must be a whole number from 0 to 5");
    refused("p:send{from = 0, to = 1, chunk = 1}", 2, "chunk must be a whole number from 0 to 0");
    refused("p:send{from = 0, to = 9223372036854775807}", 2,
            "to must be a whole number from 0 to 5");
    refused("p:send{from = 0, to = 1, where = 1}", 2, "takes plain numbers and no `where`");
    refused("p:split(2) p:send{from = 0, to = 1, count = r}", 2,
            "takes plain numbers and no `where`");
}

static void order_of_calls_is_checked(void **state)
{
    (void)state;
    refused("p:split(2) p:split(2)", 2, "called once");
    refused("p:send{to = (r + 1) % n}\np:split(2)", 3, "before the first operation");
    refused("p:step(function() p:loop(2, function(k) end) end)", 2, "cannot stand inside p:step");
    refused("p:step(function() p:fence() end)", 2, "cannot stand inside p:step");
    refused("p:step(function() p:step(function() end) end)", 2, "cannot stand inside p:step");
    refused("p:loop(1, function() p:loop(1, function() p:loop(1, function() p:loop(1,\n"
            "function() end) end) end) end)",
            2, "nests at most 3 deep");
}

/* ---- any rank
 * ---------------------------------------------------------------------------------------- */

static void symbolic_values_cannot_be_decided(void **state)
{
    (void)state;
    static const char *const comparisons[] = {"if r < 3 then end", "if r <= 3 then end",
                                              "if 3 > r then end", "local x = r >= n"};
    for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++) {
        refused(comparisons[i], 2, "is not known yet");
        refused(comparisons[i], 2, "use where = lt(a, b), le, gt, ge, eq or ne");
    }
    refused("p:loop(3, function(k)\nif k < 1 then end end)", 3, "is not known yet");
    refused("local x = r / 2", 2, "divide with //");
    refused("local x = r ^ 2", 2, "cannot be done with a value that stands for any rank");
    refused("local x = r .. 'x'", 2, "cannot be done");
    refused("local x = #r", 2, "cannot be done");
    refused("local x = r.y", 2, "cannot be done");
    refused("r.y = 3", 2, "cannot be done");
    refused("r()", 2, "cannot be done");
    refused("local x = ~r", 2, "cannot be done");
    refused("local x = r + {}", 2, "must be a whole number or an expression, got table");
    refused("local x = r + 0.5", 2, "must be a whole number or an expression, got 0.5");
    refused("for i = 1, r do end", 2, "");
    refused("local x = log2(r)", 2, "got any rank or turn");
    refused("local x = log2(0)", 2, "at least 1");
    refused("local x = math.floor(r)", 2, "number expected");
    /* an expression of more than 32 parts */
    refused("local x = r for i = 1, 40 do x = x + r end", 2, "more than 32 parts");
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
        struct printed printed = {.text = ""};
        struct error error;
        /* concrete: printed for a, b in 0 .. 5; symbolic: the chunk of an operation */
        snprintf(text, sizeof text,
                 "collective = 'allreduce'\n"
                 "local function f(a, b) return %s end\n"
                 "function plan(p)\n"
                 "for a = 0, 5 do for b = 0, 5 do print(f(a, b)) end end\n"
                 "p:loop(6, function(k) p:send{to = 0, chunk = f(p.rank, k)} end) end",
                 expressions[i]);
        assert_ok(run(text, &plan, &printed, &error), &error);
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
    prints("print(lt(1, 2), lt(2, 2), le(2, 2), le(3, 2), gt(2, 1), gt(2, 2), ge(2, 2), ge(1, 2))",
           "1\t0\t1\t0\t1\t0\t1\t0\n");
    prints("print(eq(2, 2), eq(1, 2), ne(2, 2), ne(1, 2), no(0), no(1), no(5))",
           "1\t0\t0\t1\t1\t0\t0\n");
    prints("print(both(1, 0), both(1, 1), either(0, 1), either(0, 0), min(-2, 3), max(-2, 3))",
           "0\t1\t1\t0\t-2\t3\n");
}

static void p_tells_the_machine(void **state)
{
    (void)state;
    prints("print(p.ranks, p.nodes, p.gpus_per_node, p.root, log2(8), log2(9), log2(1))",
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
    wrap("p:split(4)\n"
         "p:send{to = (r + 1) % n, chunk = 2, count = 2, reduce = true, lane = 3}\n"
         "p:step(function()\n"
         "p:send{from = 3, to = 4, chunk = 1}\n"
         "p:send{from = 0, to = 5}\n"
         "p:send{from = 0, to = 5, reduce = true}\n"
         "end)\n"
         "p:switch_reduce{where = eq(r, 2)}",
         text, sizeof text);
    assert_ok(run(text, &plan, NULL, &error), &error);
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
    prints("p:loop(0, function() error('never') end) p:loop(-3, function() error('never') end)\n"
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
    wrap("p:split(12)\n"
         "local t = {to = (r + 1) % n, chunk = (r * 2) % 12, count = 2, where = lt(r, 4)}\n"
         "p:send(t)\n"
         "p:loop(3, function(k) p:step(function()\n"
         "for i = 5, 1, -1 do p:send{from = i, to = 0, chunk = i, reduce = true} end\n"
         "p:send{to = r ~ 1, chunk = k} end) end)",
         text, sizeof text);
    for (int i = 0; i < 2; i++)
        assert_ok(run(text, &plans[i], NULL, &error), &error);
    same_plan(&plans[0], &plans[1]);
    for (int i = 0; i < 2; i++)
        plan_free(&plans[i]);
}

static void print_goes_to_the_callback(void **state)
{
    (void)state;
    char text[512];
    struct plan plan;
    struct printed printed = {.text = ""};
    struct error error;
    prints("print() print('a', 1, nil, true, 2.5) print('two')", "\na\t1\tnil\ttrue\t2.5\ntwo\n");
    /* what was printed before a fault is not lost */
    wrap("print('before')\nerror('x')", text, sizeof text);
    assert_int_equal(run(text, &plan, &printed, &error), STATUS_INPUT);
    assert_string_equal(printed.text, "before\n");
    /* nobody listens */
    wrap("print('x') p:send{to = (r + 1) % n}", text, sizeof text);
    assert_ok(run(text, &plan, NULL, &error), &error);
    plan_free(&plan);
}

/* A name without a directory or ending, and an error nobody wants. */
static void odd_callers(void **state)
{
    (void)state;
    static const char text[] =
        "collective = 'allreduce' function plan(p) p:send{to = (p.rank + 1) % p.ranks} end";
    struct plan plan;
    struct error error;
    struct script_job job = {
        .name = "script", .text = text, .length = sizeof text - 1, .ranks = 2, .gpus_per_node = 1};
    assert_ok(script_plan(&job, &plan, &error), &error);
    assert_string_equal(plan.name, "script");
    plan_free(&plan);
    job.length = 30; /* cut off: a syntax error */
    assert_int_equal(script_plan(&job, &plan, NULL), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endless_scripts_are_stopped),
        cmocka_unit_test(endless_recursion_is_stopped),
        cmocka_unit_test(memory_bombs_are_stopped),
        cmocka_unit_test(garbage_is_no_bomb),
        cmocka_unit_test(large_plans_are_refused),
        cmocka_unit_test(bytecode_is_refused),
        cmocka_unit_test(nothing_reaches_out),
        cmocka_unit_test(scripts_do_not_meet),
        cmocka_unit_test(a_script_needs_its_two_parts),
        cmocka_unit_test(faults_carry_their_line),
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(edges_take_plain_numbers),
        cmocka_unit_test(order_of_calls_is_checked),
        cmocka_unit_test(symbolic_values_cannot_be_decided),
        cmocka_unit_test(symbolic_arithmetic_is_lua_arithmetic),
        cmocka_unit_test(helpers_compare_and_combine),
        cmocka_unit_test(p_tells_the_machine),
        cmocka_unit_test(operations_are_as_written),
        cmocka_unit_test(loops_of_no_turns_are_skipped),
        cmocka_unit_test(the_same_script_makes_the_same_plan),
        cmocka_unit_test(print_goes_to_the_callback),
        cmocka_unit_test(odd_callers),
    };
    return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
