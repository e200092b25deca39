/* test_script.c: the sandbox holds, and faults are told with their line. What a script makes:
 * test_script_plan.c. */
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

/* ---- limits
 * --------------------------------------------------------------------------------------- */

static void endless_scripts_are_stopped(void **state)
{
    (void)state;
    script_refused("while true do end", 2, "runs too long");
    script_refused("::again:: goto again", 2, "runs too long");
    script_refused_text("while true do end", 1, "runs too long");
    /* in a helper that sort calls */
    script_refused("table.sort({3, 2, 1}, function() while true do end end)", 2, "runs too long");
}

static void endless_recursion_is_stopped(void **state)
{
    (void)state;
    script_refused("local function f() return 1 + f() end\nf()", 0, "more than 64 MiB of memory");
    script_refused("local function f() return f() end f()", 2, "runs too long"); /* a tail call */
    script_refused("local function f() p:loop(2, f) end f()", 2, "nests at most 3 deep");
    /* the C stack: p:step calls back */
    script_refused("local function f() p:step(f) end f()", 2, "cannot stand inside p:step");
    script_refused("local t = {}\nlocal function f() table.sort({2, 1}, f) end f()", 3, "overflow");
}

static void memory_bombs_are_stopped(void **state)
{
    (void)state;
    script_refused("local t = {} for i = 1, 1e9 do t[i] = {} end", 0, "more than 64 MiB of memory");
    script_refused("local s = 'x' for i = 1, 100 do s = s .. s end", 0,
                   "more than 64 MiB of memory");
    script_refused("local s = 'x' for i = 1, 100 do s = table.concat{s, s} end", 0,
                   "more than 64 MiB of memory");
}

/* Garbage that touches the limit is collected, and a later fault is told as what it is. */
static void garbage_is_no_bomb(void **state)
{
    (void)state;
    script_refused("local s = 'x' for i = 1, 24 do s = s .. s end\n"
                   "for i = 1, 20 do local t = s .. 'y' end\n"
                   "p:sent{}",
                   4, "p has no \"sent\"");
}

static void large_plans_are_refused(void **state)
{
    (void)state;
    script_refused("while true do p:send{to = (r + 1) % n} end", 2, "more than 65536 operations");
    script_refused("while true do p:switch_reduce{} end", 2, "more than 65536 operations");
    script_refused("p:step(function() while true do p:send{to = (r + 1) % n} end end)", 2,
                   "more than 65536 operations");
    script_refused("p:loop(4294967296, function(k) p:send{to = (r + 1) % n} end)", 2,
                   "too many turns");
    script_refused("p:loop(65536, function(k) p:loop(65537, function(j)\n"
                   "p:send{to = (r + 1) % n} end) end)",
                   0, "more than 2^32 steps");
    script_refused("p:split(16777217)", 2, "1 to 16777216 chunks, got 16777217");
    script_refused("p:split(0)", 2, "1 to 16777216 chunks, got 0");
    /* as large as allowed */
    char text[512];
    struct plan plan;
    struct error error;
    script_wrap("p:split(1048576) p:loop(65536, function(k) p:loop(65536, function(j)\n"
                "p:send{to = (r + 1) % n} end) end)",
                text, sizeof text);
    assert_ok(script_run(text, &plan, NULL, &error), &error);
    assert_true(plan.steps == (uint64_t)1 << 32);
    plan_free(&plan);
}

static void bytecode_is_refused(void **state)
{
    (void)state;
    static const char bytecode[] = "\x1bLua\x54\x00\x19\x93\r\n\x1a\n\x04\x08\x08";
    struct plan plan;
    struct error error;
    assert_int_equal(script_run_bytes(bytecode, sizeof bytecode, &plan, NULL, &error),
                     STATUS_INPUT);
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
        script_prints(body, "true\n");
    }
    /* nor by way of a string's methods */
    script_refused("local s = ('x'):rep(10)", 2, "rep");
    script_refused("local s = ('x'):find('x')", 2, "find");
    script_refused("for k, v in pairs({}) do end", 2, "pairs and next are left out");
    script_refused("next({})", 2, "pairs and next are left out");
    /* what is left works */
    script_prints(
        "print(string.format('%d %s', 3, 'x'), #'abc', math.max(1, 2), table.concat({1, 2}, '-'))",
        "3 x\t3\t2\t1-2\n");
    script_prints("local s = 0 for i, v in ipairs({4, 5}) do s = s + i * v end print(s)", "14\n");
}

/* A script cannot leave anything for the next one: each has a state of its own. */
static void scripts_do_not_meet(void **state)
{
    (void)state;
    script_prints("leftover = 42 string.leftover = 43 print(leftover, string.leftover)",
                  "42\t43\n");
    script_prints("print(leftover, string.leftover)", "nil\tnil\n");
}

/* ---- what is wrong with a script
 * -------------------------------------------------------------------- */

static void a_script_needs_its_two_parts(void **state)
{
    (void)state;
    script_refused_text("", 1, "must say what it does");
    script_refused_text("function plan(p) end", 1, "must say what it does");
    script_refused_text("collective = 7 function plan(p) end", 1, "must say what it does");
    script_refused_text("collective = 'gossip' function plan(p) end", 1,
                        "unknown collective \"gossip\"");
    script_refused_text("collective = 'allreduce'", 1, "must have a function plan(p)");
    script_refused_text("collective = 'allreduce'\nplan = 3", 1, "must have a function plan(p)");
    script_refused_text("collective = 'allreduce' function plan(p) end", 0,
                        "no operation for 6 ranks");
}

static void faults_carry_their_line(void **state)
{
    (void)state;
    script_refused_text("collective = 'allreduce'\n\nfunction plan(p)\n  p:send{to = }\nend", 4,
                        "unexpected symbol");
    script_refused_text("collective = 'allreduce'\nfunction plan(p)\n\n  error('own words')\nend",
                        4, "own words");
    script_refused("local t = nil\n\nprint(t.x)", 4, "attempt to index a nil value");
    script_refused("\n\np:send{}", 4, "p:send needs `to`");
    script_refused("error({})", 0, ""); /* an error that is no text */
    script_refused("error()", 0, "");
}

static void unknown_keys_are_refused(void **state)
{
    (void)state;
    script_refused(
        "p:send{to = 1, chunks = 2}", 2,
        "p:send does not know \"chunks\"; it takes to, chunk, count, reduce, from, where, lane");
    script_refused("p:send{to = 1, 5}", 2, "p:send does not know \"1\"");
    script_refused("p:send{to = 1, [true] = 5}", 2, "does not know \"true\"");
    script_refused("p:send{to = 1, [1.5] = 5}", 2, "does not know \"1.5\"");
    script_refused("p:switch_reduce{to = 1}", 2, "p:switch_reduce does not know \"to\"");
    script_refused("p:switch_multicast{reduce = true}", 2,
                   "p:switch_multicast does not know \"reduce\"");
    script_refused("p:sent{to = 1}", 2, "p has no \"sent\"");
    script_refused("print(p.rnk)", 2, "p has no \"rnk\"");
    script_refused("p.ranks2 = 3", 2, "p cannot be changed");
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    script_refused("p:send(3)", 2, "takes its keys in braces");
    script_refused("p:send()", 2, "takes its keys in braces");
    script_refused("p.send{to = 1}", 2, "");
    script_refused("p:send{to = '1'}", 2, "to must be a whole number or an expression, got string");
    script_refused("p:send{to = {}}", 2, "to must be a whole number or an expression, got table");
    script_refused(
        "p:send{to = true}", 2,
        "to must be a whole number or an expression, got a boolean: == and ~= answer at once");
    script_refused("p:send{to = 1.5}", 2, "to must be a whole number or an expression, got 1.5");
    script_refused("p:send{to = 0/0}", 2, "to must be a whole number or an expression, got");
    script_refused("p:send{to = 1/0}", 2, "to must be a whole number or an expression, got inf");
    script_refused("p:send{to = 1e300}", 2,
                   "to must be a whole number or an expression, got 1e+300");
    script_refused("p:send{to = 1, chunk = 'a'}", 2, "chunk must be a whole number");
    script_refused("p:send{to = 1, count = {}}", 2, "count must be a whole number");
    script_refused("p:send{to = 1, where = true}", 2,
                   "where must be a whole number or an expression");
    script_refused("p:send{to = 1, reduce = 1}", 2, "reduce is true or false");
    script_refused("p:send{to = 1, lane = 64}", 2, "lane must be a whole number from 0 to 63");
    script_refused("p:send{to = 1, lane = -1}", 2, "lane must be a whole number from 0 to 63");
    script_refused("p:send{to = 1, lane = 0.5}", 2, "lane must be a whole number from 0 to 63");
    script_refused("p:send{to = 1, lane = r}", 2, "lane must be a whole number from 0 to 63");
    script_refused("p:split(1.5)", 2, "got 1.5");
    script_refused("p:split(r)", 2, "got any rank or turn");
    script_refused("p:split()", 2, "got nothing");
    script_refused("p:loop(r, function(k) end)", 2, "got any rank or turn");
    script_refused("p:loop(2)", 2, "needs a function");
    script_refused("p:loop(2.5, function(k) end)", 2, "got 2.5");
    script_refused("p:step(3)", 2, "needs a function");
}

static void edges_take_plain_numbers(void **state)
{
    (void)state;
    script_refused("p:send{from = 6, to = 1}", 2, "from must be a whole number from 0 to 5");
    script_refused("p:send{from = -1, to = 1}", 2, "from must be a whole number from 0 to 5");
    script_refused("p:send{from = 0, to = 6}", 2, "to must be a whole number from 0 to 5");
    script_refused("p:send{from = r, to = 1}", 2, "from must be a whole number from 0 to 5");
    script_refused("p:send{from = 0, to = r}", 2, "to must be a whole number from 0 to 5");
    script_refused("p:send{from = 0, to = 1, chunk = 1}", 2,
                   "chunk must be a whole number from 0 to 0");
    script_refused("p:send{from = 0, to = 9223372036854775807}", 2,
                   "to must be a whole number from 0 to 5");
    script_refused("p:send{from = 0, to = 1, where = 1}", 2, "takes plain numbers and no `where`");
    script_refused("p:split(2) p:send{from = 0, to = 1, count = r}", 2,
                   "takes plain numbers and no `where`");
}

static void order_of_calls_is_checked(void **state)
{
    (void)state;
    script_refused("p:split(2) p:split(2)", 2, "called once");
    script_refused("p:send{to = (r + 1) % n}\np:split(2)", 3, "before the first operation");
    script_refused("p:step(function() p:loop(2, function(k) end) end)", 2,
                   "cannot stand inside p:step");
    script_refused("p:step(function() p:fence() end)", 2, "cannot stand inside p:step");
    script_refused("p:step(function() p:step(function() end) end)", 2,
                   "cannot stand inside p:step");
    script_refused("p:loop(1, function() p:loop(1, function() p:loop(1, function() p:loop(1,\n"
                   "function() end) end) end) end)",
                   2, "nests at most 3 deep");
}

static void print_goes_to_the_callback(void **state)
{
    (void)state;
    char text[512];
    struct plan plan;
    struct script_printed printed = {.text = ""};
    struct error error;
    script_prints("print() print('a', 1, nil, true, 2.5) print('two')",
                  "\na\t1\tnil\ttrue\t2.5\ntwo\n");
    /* what was printed before a fault is not lost */
    script_wrap("print('before')\nerror('x')", text, sizeof text);
    assert_int_equal(script_run(text, &plan, &printed, &error), STATUS_INPUT);
    assert_string_equal(printed.text, "before\n");
    /* nobody listens */
    script_wrap("print('x') p:send{to = (r + 1) % n}", text, sizeof text);
    assert_ok(script_run(text, &plan, NULL, &error), &error);
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
        cmocka_unit_test(print_goes_to_the_callback),
        cmocka_unit_test(odd_callers),
    };
    return cmocka_run_group_tests_name("script", tests, NULL, NULL);
}
