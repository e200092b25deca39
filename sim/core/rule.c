/* rule.c: rank expressions. See rule.h. */
#include "sim/core/rule.h"

#include <string.h>

/* Coefficients beyond this could overflow when multiplied by a rank or a counter. */
#define AFFINE_LIMIT ((int64_t)1 << 28)

static int operands(enum rule_op op)
{
    return op == RULE_PUSH || op == RULE_RANK || op == RULE_LOOP ? 0 : op == RULE_NOT ? 1 : 2;
}

/* Wrapping arithmetic: a script may overflow, the simulator must not. */
static int64_t wrap_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_sub(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t floor_div(int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return RULE_UNDEFINED;
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b)
{
    if (b == 0 || (a == INT64_MIN && b == -1))
        return RULE_UNDEFINED;
    int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static int64_t shift(int64_t a, int64_t by, bool left)
{
    if (by < 0 || by > 62)
        return RULE_UNDEFINED;
    return left ? (int64_t)((uint64_t)a << by) : (int64_t)((uint64_t)a >> by);
}

static int64_t apply(enum rule_op op, int64_t a, int64_t b)
{
    if (a == RULE_UNDEFINED || b == RULE_UNDEFINED)
        return RULE_UNDEFINED;
    switch (op) {
    case RULE_ADD:
        return wrap_add(a, b);
    case RULE_SUB:
        return wrap_sub(a, b);
    case RULE_MUL:
        return wrap_mul(a, b);
    case RULE_DIV:
        return floor_div(a, b);
    case RULE_MOD:
        return floor_mod(a, b);
    case RULE_AND:
        return a & b;
    case RULE_OR:
        return a | b;
    case RULE_XOR:
        return a ^ b;
    case RULE_SHL:
        return shift(a, b, true);
    case RULE_SHR:
        return shift(a, b, false);
    case RULE_EQ:
        return a == b;
    case RULE_LT:
        return a < b;
    case RULE_LE:
        return a <= b;
    case RULE_MIN:
        return a < b ? a : b;
    case RULE_MAX:
        return a > b ? a : b;
    case RULE_NOT:
        return a == 0;
    case RULE_PUSH:
    case RULE_RANK:
    case RULE_LOOP:
    case RULE_OP_COUNT:
        break;
    }
    return RULE_UNDEFINED;
}

int64_t rule_eval_code(const struct rule *rule, int64_t rank, const int64_t *loops)
{
    int64_t stack[RULE_STACK] = {0};
    size_t top = 0;
    for (size_t i = 0; i < rule->count; i++) {
        const struct rule_instruction *in = &rule->code[i];
        int need = operands(in->op);
        if (need == 0)
            stack[top++] = in->op == RULE_PUSH   ? in->value
                           : in->op == RULE_RANK ? rank
                                                 : loops[in->value];
        else if (need == 1)
            stack[top - 1] = apply(in->op, stack[top - 1], 0);
        else {
            top--;
            stack[top - 1] = apply(in->op, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}

/* ---- shapes --------------------------------------------------------------------------------- */

struct linear {
    bool ok;
    int64_t constant, rank, loop[RULE_LOOPS];
};

static bool is_constant(const struct linear *x)
{
    return x->ok && x->rank == 0 && x->loop[0] == 0 && x->loop[1] == 0 && x->loop[2] == 0;
}

static struct linear combine(enum rule_op op, struct linear a, struct linear b)
{
    struct linear out = {0};
    if (!a.ok || !b.ok)
        return out;
    if (is_constant(&a) && is_constant(&b)) {
        out.constant = apply(op, a.constant, b.constant);
        out.ok = out.constant > -AFFINE_LIMIT && out.constant < AFFINE_LIMIT;
        return out;
    }
    int64_t scale_a = 1, scale_b = op == RULE_SUB ? -1 : 1;
    if (op == RULE_MUL && is_constant(&a)) {
        scale_a = 0;
        scale_b = a.constant;
    } else if (op == RULE_MUL && is_constant(&b)) {
        scale_a = b.constant;
        scale_b = 0;
    } else if (op != RULE_ADD && op != RULE_SUB) {
        return out;
    }
    int64_t *to[5] = {&out.constant, &out.rank, &out.loop[0], &out.loop[1], &out.loop[2]};
    const int64_t from_a[5] = {a.constant, a.rank, a.loop[0], a.loop[1], a.loop[2]};
    const int64_t from_b[5] = {b.constant, b.rank, b.loop[0], b.loop[1], b.loop[2]};
    out.ok = true;
    for (int i = 0; i < 5; i++) {
        *to[i] = wrap_add(wrap_mul(scale_a, from_a[i]), wrap_mul(scale_b, from_b[i]));
        out.ok = out.ok && *to[i] > -AFFINE_LIMIT && *to[i] < AFFINE_LIMIT;
    }
    return out;
}

/* The linear form of code[0..count), if it has one. */
static struct linear linear_of(const struct rule_instruction *code, size_t count)
{
    struct linear stack[RULE_STACK] = {{0}};
    size_t top = 0;
    for (size_t i = 0; i < count; i++) {
        struct linear leaf = {.ok = true};
        switch (operands(code[i].op)) {
        case 0:
            if (code[i].op == RULE_PUSH)
                leaf.constant = code[i].value;
            else if (code[i].op == RULE_RANK)
                leaf.rank = 1;
            else
                leaf.loop[code[i].value] = 1;
            leaf.ok = leaf.constant > -AFFINE_LIMIT && leaf.constant < AFFINE_LIMIT;
            stack[top++] = leaf;
            break;
        case 1:
            stack[top - 1] = combine(code[i].op, stack[top - 1], leaf);
            break;
        default:
            top--;
            stack[top - 1] = combine(code[i].op, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}

/* Where the operand that ends before `end` begins. */
static size_t operand_start(const struct rule_instruction *code, size_t end)
{
    int wanted = 1;
    size_t i = end;
    while (wanted > 0)
        wanted += operands(code[--i].op) - 1;
    return i;
}

static bool code_uses(const struct rule_instruction *code, size_t count, enum rule_op op)
{
    for (size_t i = 0; i < count; i++)
        if (code[i].op == op)
            return true;
    return false;
}

static void recognise(struct rule *rule)
{
    const struct rule_instruction *code = rule->code;
    size_t count = rule->count;
    struct linear linear = linear_of(code, count);
    if (!linear.ok && code[count - 1].op == RULE_MOD && code[count - 2].op == RULE_PUSH &&
        code[count - 2].value > 0 && code[count - 2].value < AFFINE_LIMIT) {
        linear = linear_of(code, count - 2);
        rule->modulus = linear.ok ? code[count - 2].value : 0;
    }
    if (linear.ok) {
        rule->constant = linear.constant;
        rule->rank = linear.rank;
        memcpy(rule->loop, linear.loop, sizeof rule->loop);
        rule->form = is_constant(&linear) ? RULE_CONSTANT : RULE_AFFINE;
        if (rule->form == RULE_CONSTANT && rule->modulus)
            rule->constant = floor_mod(rule->constant, rule->modulus);
        return;
    }
    rule->form = RULE_CODED;
    if (code[count - 1].op != RULE_XOR)
        return;
    size_t right = operand_start(code, count - 1);
    bool left_is_rank = right == 1 && code[0].op == RULE_RANK;
    bool right_is_rank = right == count - 2 && code[right].op == RULE_RANK;
    if (left_is_rank)
        rule->xor_rank = !code_uses(code + 1, count - 2, RULE_RANK);
    else if (right_is_rank)
        rule->xor_rank = !code_uses(code, count - 2, RULE_RANK);
}

enum status rule_make(const struct rule_instruction *code, size_t count, struct rule *ret_rule,
                      struct error *error)
{
    size_t depth = 0;
    if (count == 0 || count > RULE_CODE)
        return error_set(error, STATUS_INPUT, "an expression has 1 to %d parts", RULE_CODE);
    for (size_t i = 0; i < count; i++) {
        int need = code[i].op < RULE_OP_COUNT ? operands(code[i].op) : 3;
        if (code[i].op == RULE_LOOP && (code[i].value < 0 || code[i].value >= RULE_LOOPS))
            need = 3;
        if (need == 3 || depth < (size_t)need)
            return error_set(error, STATUS_INPUT, "not a well-formed expression");
        depth = depth - (size_t)need + 1;
        if (depth > RULE_STACK)
            return error_set(error, STATUS_INPUT, "the expression nests too deeply");
    }
    if (depth != 1)
        return error_set(error, STATUS_INPUT, "not a well-formed expression");
    memset(ret_rule, 0, sizeof *ret_rule);
    memcpy(ret_rule->code, code, count * sizeof *code);
    ret_rule->count = (uint8_t)count;
    ret_rule->uses_rank = code_uses(code, count, RULE_RANK);
    ret_rule->uses_loops = code_uses(code, count, RULE_LOOP);
    recognise(ret_rule);
    return STATUS_OK;
}

struct rule rule_constant(int64_t value)
{
    struct rule rule = {.form = RULE_CONSTANT, .constant = value, .count = 1};
    rule.code[0] = (struct rule_instruction){RULE_PUSH, value};
    return rule;
}

bool rule_invertible(const struct rule *rule, int64_t ranks)
{
    return rule->xor_rank || (rule->form == RULE_AFFINE && (rule->rank == 1 || rule->rank == -1) &&
                              (rule->modulus == 0 || rule->modulus == ranks));
}
