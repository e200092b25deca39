/* rule.h: whole-number expressions over "any rank" and loop counters.
 *
 * A plan says `rank r sends chunk (r - k) mod n to rank (r + 1) mod n` once, not n * k times. A
 * rule is that expression: postfix code over the variables r (rank) and k0, k1, k2 (counters of
 * the loops around it). Division and remainder round down, as in Lua. The value is RULE_UNDEFINED
 * after a division by zero or a shift out of range; whoever uses a value checks its range.
 *
 * Common shapes are recognised when the rule is made, so that they cost a few instructions to
 * evaluate and can be inverted ("who sends to me?"): constants, (a*r + b*k + c) [mod m], r xor x.
 */
#ifndef GDSIM_CORE_RULE_H
#define GDSIM_CORE_RULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

#define RULE_LOOPS     3  /* nesting of loops in a plan */
#define RULE_STACK     16 /* operands waiting at once */
#define RULE_CODE      32 /* instructions in one rule */
#define RULE_UNDEFINED INT64_MIN

enum rule_op {
    RULE_PUSH, /* value */
    RULE_RANK,
    RULE_LOOP, /* value = which counter */
    RULE_ADD,
    RULE_SUB,
    RULE_MUL,
    RULE_DIV,
    RULE_MOD,
    RULE_AND,
    RULE_OR,
    RULE_XOR,
    RULE_SHL,
    RULE_SHR,
    RULE_EQ,
    RULE_LT,
    RULE_LE,
    RULE_MIN,
    RULE_MAX,
    RULE_NOT, /* logical */
    RULE_OP_COUNT
};

struct rule_instruction {
    enum rule_op op;
    int64_t value;
};

enum rule_form { RULE_CONSTANT, RULE_AFFINE, RULE_CODED };

struct rule {
    enum rule_form form;
    int64_t constant, rank, loop[RULE_LOOPS]; /* affine: constant + rank*r + sum loop*k */
    int64_t modulus;                          /* 0: none */
    bool uses_rank, uses_loops;
    bool xor_rank; /* value = r xor (something without r) */
    uint8_t count;
    struct rule_instruction code[RULE_CODE];
};

/* Check the code (STATUS_INPUT when it is no well-formed expression) and recognise its shape. */
enum status rule_make(const struct rule_instruction *code, size_t count, struct rule *ret_rule,
                      struct error *error);

struct rule rule_constant(int64_t value);

int64_t rule_eval_code(const struct rule *rule, int64_t rank, const int64_t *loops);

/* The remainder, rounding down; a modulus of 0 means none. */
static inline int64_t rule_reduce(int64_t value, int64_t modulus)
{
    if (modulus && (uint64_t)value >= (uint64_t)modulus) {
        value += value < 0 ? modulus : -modulus; /* mostly enough, and much faster */
        if (value < 0 || value >= modulus) {
            value %= modulus;
            value += value < 0 ? modulus : 0;
        }
    }
    return value;
}

static inline int64_t rule_eval(const struct rule *rule, int64_t rank, const int64_t *loops)
{
    if (rule->form == RULE_CONSTANT)
        return rule->constant;
    if (rule->form == RULE_CODED)
        return rule_eval_code(rule, rank, loops);
    return rule_reduce(rule->constant + rule->rank * rank + rule->loop[0] * loops[0] +
                           rule->loop[1] * loops[1] + rule->loop[2] * loops[2],
                       rule->modulus);
}

/* Whether the shape of the rule tells the one rank of a value, among `ranks` ranks. When it does
 * not, only trying every rank helps. */
bool rule_invertible(const struct rule *rule, int64_t ranks);

/* That rank (nobody, where it is out of range), by a rule that is invertible. */
static inline int64_t rule_invert(const struct rule *rule, int64_t value, const int64_t *loops)
{
    /* v = r xor x gives r = v xor x; v = c +- r gives r = +-(v - c). */
    if (rule->xor_rank)
        return value ^ rule_eval(rule, 0, loops);
    return rule_reduce(rule->rank * (value - rule->constant - rule->loop[0] * loops[0] -
                                     rule->loop[1] * loops[1] - rule->loop[2] * loops[2]),
                       rule->modulus);
}

#endif
