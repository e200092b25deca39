/* test_rule.c: rank expressions: evaluation against a naive reference, shapes, inversion. */
#include "sim/core/rule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define N(v)                                                                                       \
    {                                                                                              \
        RULE_PUSH, (v)                                                                             \
    }
#define R                                                                                          \
    {                                                                                              \
        RULE_RANK, 0                                                                               \
    }
#define K(which)                                                                                   \
    {                                                                                              \
        RULE_LOOP, (which)                                                                         \
    }
#define OP(name)                                                                                   \
    {                                                                                              \
        RULE_##name, 0                                                                             \
    }
#define RULE(...)                                                                                  \
    make((const struct rule_instruction[]){__VA_ARGS__},                                           \
         sizeof((const struct rule_instruction[]){__VA_ARGS__}) / sizeof(struct rule_instruction))

static struct rule make(const struct rule_instruction *code, size_t count)
{
    struct rule rule;
    struct error error;
    assert_ok(rule_make(code, count, &rule, &error), &error);
    return rule;
}

static const int64_t no_loops[RULE_LOOPS];

static int64_t binary(int64_t a, enum rule_op op, int64_t b)
{
    struct rule rule = make((struct rule_instruction[]){N(a), N(b), {op, 0}}, 3);
    int64_t value = rule_eval(&rule, 0, no_loops);
    assert_true(value == rule_eval_code(&rule, 0, no_loops));
    return value;
}

/* ---- each operation -----------------------------------------------------------------------------
 */

static void division_rounds_down(void **state)
{
    (void)state;
    /* as Lua: a == (a // b) * b + a % b, and the remainder has the sign of b */
    assert_int_equal(binary(7, RULE_DIV, 2), 3);
    assert_int_equal(binary(-7, RULE_DIV, 2), -4);
    assert_int_equal(binary(7, RULE_DIV, -2), -4);
    assert_int_equal(binary(-7, RULE_DIV, -2), 3);
    assert_int_equal(binary(-8, RULE_DIV, 2), -4);
    assert_int_equal(binary(0, RULE_DIV, -5), 0);
    assert_int_equal(binary(7, RULE_MOD, 3), 1);
    assert_int_equal(binary(-7, RULE_MOD, 3), 2);
    assert_int_equal(binary(7, RULE_MOD, -3), -2);
    assert_int_equal(binary(-7, RULE_MOD, -3), -1);
    assert_int_equal(binary(-6, RULE_MOD, 3), 0);
    assert_int_equal(binary(-1, RULE_MOD, 8), 7);
}

static void what_has_no_value_is_undefined(void **state)
{
    (void)state;
    assert_true(binary(1, RULE_DIV, 0) == RULE_UNDEFINED);
    assert_true(binary(1, RULE_MOD, 0) == RULE_UNDEFINED);
    assert_true(binary(1, RULE_SHL, -1) == RULE_UNDEFINED);
    assert_true(binary(1, RULE_SHL, 63) == RULE_UNDEFINED);
    assert_true(binary(1, RULE_SHR, 64) == RULE_UNDEFINED);
    assert_int_equal(binary(1, RULE_SHL, 62), (int64_t)1 << 62);
    /* and stays so, whatever is done with it: 0 * (r // 0), min(r // 0, 1), not (r // 0) */
    struct rule times = RULE(N(0), R, N(0), OP(DIV), OP(MUL));
    struct rule least = RULE(R, N(0), OP(DIV), N(1), OP(MIN));
    struct rule no = RULE(R, N(0), OP(DIV), OP(NOT));
    struct rule equal = RULE(R, N(0), OP(MOD), R, N(0), OP(MOD), OP(EQ));
    assert_true(rule_eval(&times, 3, no_loops) == RULE_UNDEFINED);
    assert_true(rule_eval(&least, 3, no_loops) == RULE_UNDEFINED);
    assert_true(rule_eval(&no, 3, no_loops) == RULE_UNDEFINED);
    assert_true(rule_eval(&equal, 3, no_loops) == RULE_UNDEFINED);
    /* a modulus of zero or less is not taken for the affine shape */
    struct rule zero = RULE(R, N(0), OP(MOD)), negative = RULE(R, N(-5), OP(MOD));
    assert_true(rule_eval(&zero, 3, no_loops) == RULE_UNDEFINED);
    assert_int_equal(rule_eval(&negative, 3, no_loops), -2);
    /* overflow wraps instead of trapping: INT64_MIN + INT64_MIN = 0 (mod 2^64), in rule terms the
     * largest values: (2^63 - 1) + 1 wraps to the undefined value */
    assert_int_equal(binary(INT64_MAX, RULE_ADD, 2), INT64_MIN + 1);
    assert_int_equal(binary(INT64_MAX, RULE_MUL, 2), -2);
    assert_int_equal(binary(INT64_MIN + 1, RULE_SUB, 2), INT64_MAX);
    assert_int_equal(binary(INT64_MIN + 1, RULE_DIV, -1), INT64_MAX);
}

static void the_other_operations(void **state)
{
    (void)state;
    assert_int_equal(binary(12, RULE_AND, 10), 8);
    assert_int_equal(binary(12, RULE_OR, 10), 14);
    assert_int_equal(binary(12, RULE_XOR, 10), 6);
    assert_int_equal(binary(3, RULE_SHL, 4), 48);
    assert_int_equal(binary(48, RULE_SHR, 4), 3);
    assert_int_equal(binary(-1, RULE_SHR, 60), 15); /* without sign, as in Lua */
    assert_int_equal(binary(2, RULE_EQ, 2), 1);
    assert_int_equal(binary(2, RULE_EQ, 3), 0);
    assert_int_equal(binary(2, RULE_LT, 3), 1);
    assert_int_equal(binary(3, RULE_LT, 3), 0);
    assert_int_equal(binary(3, RULE_LE, 3), 1);
    assert_int_equal(binary(4, RULE_LE, 3), 0);
    assert_int_equal(binary(-4, RULE_MIN, 3), -4);
    assert_int_equal(binary(-4, RULE_MAX, 3), 3);
    struct rule no = RULE(R, OP(NOT));
    assert_int_equal(rule_eval(&no, 0, no_loops), 1);
    assert_int_equal(rule_eval(&no, 5, no_loops), 0);
    struct rule constant = rule_constant(-17);
    assert_int_equal(rule_eval(&constant, 5, no_loops), -17);
    assert_int_equal(rule_eval_code(&constant, 5, no_loops), -17);
}

/* ---- random expressions against a naive reference -----------------------------------------------
 */

/* Definitions, not tricks: division by searching from the truncated quotient. */
static int64_t reference_operation(enum rule_op op, int64_t a, int64_t b)
{
    uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
    if (a == INT64_MIN || b == INT64_MIN)
        return INT64_MIN;
    switch ((int)op) {
    case RULE_ADD:
        return (int64_t)(ua + ub);
    case RULE_SUB:
        return (int64_t)(ua - ub);
    case RULE_MUL:
        return (int64_t)(ua * ub);
    case RULE_DIV:
    case RULE_MOD: {
        if (b == 0)
            return INT64_MIN;
        int64_t quotient = a / b, rest = a - quotient * b;
        while (b > 0 ? rest < 0 : rest > 0) {
            quotient--;
            rest += b;
        }
        return op == RULE_DIV ? quotient : rest;
    }
    case RULE_AND:
        return (int64_t)(ua & ub);
    case RULE_OR:
        return (int64_t)(ua | ub);
    case RULE_XOR:
        return (int64_t)(ua ^ ub);
    case RULE_SHL:
    case RULE_SHR:
        if (b < 0 || b > 62)
            return INT64_MIN;
        for (int64_t i = 0; i < b; i++)
            ua = op == RULE_SHL ? ua * 2 : ua / 2;
        return (int64_t)ua;
    case RULE_EQ:
        return a == b ? 1 : 0;
    case RULE_LT:
        return a < b ? 1 : 0;
    case RULE_LE:
        return a <= b ? 1 : 0;
    case RULE_MIN:
        return a <= b ? a : b;
    case RULE_MAX:
        return a >= b ? a : b;
    default:
        return a == 0 ? 1 : 0; /* NOT */
    }
}

/* A random expression of at most `room` instructions is appended as postfix code; its values at
 * `points` places are computed on the way, from the tree. */
enum { POINTS = 6 };

struct place {
    int64_t rank, loops[RULE_LOOPS];
};

static size_t grow(uint64_t *random, size_t room, size_t depth, const struct place *places,
                   struct rule_instruction *code, int64_t values[POINTS])
{
    uint64_t kind = core_random_below(random, room < 3 || depth > 8 ? 3 : 10);
    if (kind < 3) {
        struct rule_instruction leaf = {RULE_RANK, 0};
        if (kind == 1)
            leaf = (struct rule_instruction){RULE_LOOP,
                                             (int64_t)core_random_below(random, RULE_LOOPS)};
        if (kind == 2) {
            static const int64_t numbers[] = {0,
                                              1,
                                              2,
                                              3,
                                              7,
                                              8,
                                              -1,
                                              -3,
                                              62,
                                              63,
                                              1000003,
                                              (int64_t)1 << 40,
                                              -((int64_t)1 << 29),
                                              INT64_MAX};
            leaf = (struct rule_instruction){
                RULE_PUSH, numbers[core_random_below(random, sizeof numbers / sizeof numbers[0])]};
        }
        for (size_t i = 0; i < POINTS; i++)
            values[i] = leaf.op == RULE_RANK   ? places[i].rank
                        : leaf.op == RULE_LOOP ? places[i].loops[leaf.value]
                                               : leaf.value;
        code[0] = leaf;
        return 1;
    }
    /* sums, products and remainders often, so that the shapes are met */
    static const enum rule_op common[] = {RULE_ADD, RULE_SUB, RULE_MUL, RULE_MOD, RULE_XOR};
    enum rule_op op =
        kind < 7 ? common[core_random_below(random, 5)]
                 : (enum rule_op)(RULE_ADD + core_random_below(random, RULE_OP_COUNT - RULE_ADD));
    int64_t right[POINTS] = {0};
    size_t used =
        grow(random, op == RULE_NOT ? room - 1 : room / 2, depth + 1, places, code, values);
    if (op != RULE_NOT)
        used += grow(random, room - 1 - used, depth + 1, places, code + used, right);
    for (size_t i = 0; i < POINTS; i++)
        values[i] = reference_operation(op, values[i], right[i]);
    code[used] = (struct rule_instruction){op, 0};
    return used + 1;
}

static void random_expressions_match_a_reference(void **state)
{
    (void)state;
    size_t forms[3] = {0};
    for (uint64_t seed = 1; seed <= 30000; seed++) {
        uint64_t random = seed;
        struct place places[POINTS];
        struct rule_instruction code[RULE_CODE];
        int64_t values[POINTS];
        for (size_t i = 0; i < POINTS; i++) {
            places[i].rank = (int64_t)core_random_below(&random, i < 3 ? 16 : 1u << 24);
            for (size_t k = 0; k < RULE_LOOPS; k++)
                places[i].loops[k] = (int64_t)core_random_below(&random, i < 3 ? 16 : UINT32_MAX);
        }
        size_t count =
            grow(&random, 1 + core_random_below(&random, RULE_CODE), 0, places, code, values);
        struct rule rule = make(code, count);
        forms[rule.form]++;
        for (size_t i = 0; i < POINTS; i++) {
            int64_t value = rule_eval(&rule, places[i].rank, places[i].loops);
            int64_t coded = rule_eval_code(&rule, places[i].rank, places[i].loops);
            if (value != values[i] || coded != values[i])
                print_error("seed %llu, place %zu, form %d: %lld and %lld, not %lld\n",
                            (unsigned long long)seed, i, (int)rule.form, (long long)value,
                            (long long)coded, (long long)values[i]);
            assert_true(value == values[i] && coded == values[i]);
        }
    }
    /* each shape was met often enough to mean something */
    assert_true(forms[RULE_CONSTANT] > 1000);
    assert_true(forms[RULE_AFFINE] > 1000);
    assert_true(forms[RULE_CODED] > 1000);
}

/* ---- shapes
 * -------------------------------------------------------------------------------------- */

static void recognises_shapes(void **state)
{
    (void)state;
    struct rule rule;
    /* (3 + 4) * 2 = 14 */
    rule = RULE(N(3), N(4), OP(ADD), N(2), OP(MUL));
    assert_int_equal(rule.form, RULE_CONSTANT);
    assert_int_equal(rule.constant, 14);
    assert_false(rule.uses_rank || rule.uses_loops);
    /* (r - k0 * 2 + 5) % 8 */
    rule = RULE(R, K(0), N(2), OP(MUL), OP(SUB), N(5), OP(ADD), N(8), OP(MOD));
    assert_int_equal(rule.form, RULE_AFFINE);
    assert_int_equal(rule.rank, 1);
    assert_int_equal(rule.loop[0], -2);
    assert_int_equal(rule.constant, 5);
    assert_int_equal(rule.modulus, 8);
    assert_true(rule.uses_rank && rule.uses_loops);
    /* r - r is nothing: constant, though it names the rank */
    rule = RULE(R, R, OP(SUB));
    assert_int_equal(rule.form, RULE_CONSTANT);
    assert_int_equal(rule.constant, 0);
    /* 3 * r + k2 without remainder */
    rule = RULE(N(3), R, OP(MUL), K(2), OP(ADD));
    assert_int_equal(rule.form, RULE_AFFINE);
    assert_int_equal(rule.rank, 3);
    assert_int_equal(rule.loop[2], 1);
    assert_int_equal(rule.modulus, 0);
    /* products of two unknowns, remainders of remainders and coefficients that could overflow are
     * left as code */
    assert_int_equal(RULE(R, K(0), OP(MUL)).form, RULE_CODED);
    assert_int_equal(RULE(R, N(8), OP(MOD), N(1), OP(ADD)).form, RULE_CODED);
    assert_int_equal(RULE(R, N((int64_t)1 << 40), OP(MUL)).form, RULE_CODED);
    assert_int_equal(RULE(R, N((int64_t)1 << 40), OP(MOD)).form, RULE_CODED);
    assert_int_equal(RULE(R, N(1 << 20), OP(MUL), N(1 << 20), OP(MUL)).form, RULE_CODED);
    /* r xor (something without r), either way round */
    assert_true(RULE(R, N(1), K(0), OP(SHL), OP(XOR)).xor_rank);
    assert_true(RULE(N(1), K(0), OP(SHL), R, OP(XOR)).xor_rank);
    assert_false(RULE(R, R, OP(XOR)).xor_rank);
    assert_false(RULE(R, N(1), OP(ADD), N(2), OP(XOR)).xor_rank);
    assert_false(RULE(R, R, N(1), OP(ADD), OP(XOR)).xor_rank);
    assert_false(RULE(R, N(1), OP(OR)).xor_rank);
}

static void refuses_what_is_no_expression(void **state)
{
    (void)state;
    struct rule rule;
    struct error error;
    struct rule_instruction many[RULE_CODE + 1];
    static const struct rule_instruction cases[][3] = {
        {OP(ADD), N(1), N(1)}, /* operator first */
        {N(1), OP(ADD), N(1)}, /* one operand */
        {N(1), N(1), N(1)},    /* three values left */
        {K(RULE_LOOPS), N(1), OP(ADD)} /* no such loop */,
        {K(-1), N(1), OP(ADD)},
        {N(1), N(1), {RULE_OP_COUNT, 0}}, /* no such operation */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(rule_make(cases[i], 3, &rule, &error), STATUS_INPUT);
        assert_string_equal(error.message, "not a well-formed expression");
    }
    assert_int_equal(rule_make(many, 0, &rule, &error), STATUS_INPUT);
    for (size_t i = 0; i <= RULE_CODE; i++)
        many[i] = (struct rule_instruction){i % 2 == 0 || i == 1 ? RULE_PUSH : RULE_ADD, 1};
    assert_int_equal(rule_make(many, RULE_CODE + 1, &rule, NULL), STATUS_INPUT);
    /* RULE_STACK operands may wait, one more may not */
    for (size_t i = 0; i < 2 * RULE_STACK - 1; i++)
        many[i] = (struct rule_instruction){i < RULE_STACK ? RULE_PUSH : RULE_ADD, 1};
    assert_int_equal(rule_make(many, 2 * RULE_STACK - 1, &rule, &error), STATUS_OK);
    assert_int_equal(rule_eval_code(&rule, 0, no_loops), RULE_STACK);
    many[RULE_STACK].op = RULE_PUSH;
    assert_int_equal(rule_make(many, RULE_STACK + 1, &rule, &error), STATUS_INPUT);
    assert_string_equal(error.message, "the expression nests too deeply");
}

/* ---- who has this value?
 * ------------------------------------------------------------------------- */

/* An answer must be the one rank with that value, or no rank at all when there is none. */
static void check_inverse(const struct rule *rule, int64_t ranks, const int64_t *loops)
{
    if (!rule_invertible(rule, ranks))
        return;
    for (int64_t value = 0; value < ranks; value++) {
        const int64_t answer = rule_invert(rule, value, loops);
        int64_t found = -1;
        size_t count = 0;
        for (int64_t r = 0; r < ranks; r++)
            if (rule_eval(rule, r, loops) == value) {
                found = r;
                count++;
            }
        assert_true(count <= 1);
        if (count == 1)
            assert_int_equal(answer, found);
        else if (answer >= 0 && answer < ranks)
            assert_true(rule_eval(rule, answer, loops) != value);
    }
}

static void inverts_shifts_and_exchanges(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 33; n++)
        for (int64_t k = 0; k < 6; k++) {
            const int64_t loops[RULE_LOOPS] = {k, 2, 1};
            struct rule shift = RULE(R, N(1), OP(ADD), N(n), OP(MOD));
            struct rule back = RULE(K(0), R, OP(SUB), N(3), OP(SUB), N(n), OP(MOD));
            struct rule exchange = RULE(R, N(1), K(0), OP(SHL), OP(XOR));
            struct rule next = RULE(R, N(1), OP(ADD)); /* the last one has none */
            struct rule other = RULE(R, N(1), OP(ADD), N(n + 1), OP(MOD));
            struct rule twice = RULE(R, N(2), OP(MUL), N(n), OP(MOD));
            assert_true(rule_invertible(&shift, n));
            assert_true(rule_invertible(&back, n));
            assert_true(rule_invertible(&exchange, n));
            assert_true(rule_invertible(&next, n));
            assert_false(rule_invertible(&other, n));
            assert_false(rule_invertible(&twice, n));
            const struct rule all[] = {shift, back, exchange, next, other, twice};
            for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
                check_inverse(&all[i], n, loops);
        }
}

static void inverts_random_expressions(void **state)
{
    (void)state;
    size_t inverted = 0;
    for (uint64_t seed = 1; seed <= 5000; seed++) {
        uint64_t random = seed;
        struct place places[POINTS] = {{0}};
        struct rule_instruction code[RULE_CODE];
        int64_t values[POINTS];
        size_t count = grow(&random, 1 + core_random_below(&random, 9), 0, places, code, values);
        struct rule rule = make(code, count);
        int64_t ranks = 1 + (int64_t)core_random_below(&random, 20);
        if (rule.modulus && core_random_below(&random, 2))
            ranks = rule.modulus < 64 ? rule.modulus : ranks;
        const int64_t loops[RULE_LOOPS] = {(int64_t)core_random_below(&random, 9), 3, 0};
        inverted += rule_invertible(&rule, ranks);
        check_inverse(&rule, ranks, loops);
    }
    assert_true(inverted > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(division_rounds_down),
        cmocka_unit_test(what_has_no_value_is_undefined),
        cmocka_unit_test(the_other_operations),
        cmocka_unit_test(random_expressions_match_a_reference),
        cmocka_unit_test(recognises_shapes),
        cmocka_unit_test(refuses_what_is_no_expression),
        cmocka_unit_test(inverts_shifts_and_exchanges),
        cmocka_unit_test(inverts_random_expressions),
    };
    return cmocka_run_group_tests_name("rule", tests, NULL, NULL);
}
