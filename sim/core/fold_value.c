/* fold_value.c: see fold_value.h. */
#include "sim/core/fold_value.h"

#define FAR ((int64_t)1 << 60) /* bounds of what is not known */

static const struct value unknown = {0};

struct value value_constant(int64_t lo, int64_t hi, int64_t stride)
{
    if (lo < -FAR || hi > FAR) {
        lo = -FAR;
        hi = FAR;
        stride = 1;
    }
    return (struct value){.known = true, .lo = lo, .hi = hi, .stride = lo == hi ? 0 : stride};
}

bool value_is_constant(struct value x)
{
    return x.known && x.per_group == 0 && x.modulus == 0;
}

bool value_is_exact(struct value x)
{
    return value_is_constant(x) && x.lo == x.hi;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

int64_t value_floor_mod(int64_t a, int64_t b)
{
    return a - b * floor_div(a, b);
}

/* The least and greatest value over all groups. */
static void range(const struct scope *scope, struct value x, int64_t *lo, int64_t *hi)
{
    int64_t reach = x.modulus ? x.scale * (x.modulus - 1) : x.per_group * (scope->groups - 1);
    *lo = x.lo + (reach < 0 ? reach : 0);
    *hi = x.hi + (reach > 0 ? reach : 0);
}

/* Products must stay far from overflow. */
static bool small(struct value x)
{
    const int64_t limit = (int64_t)1 << 28;
    return x.lo > -limit && x.hi < limit && x.per_group > -limit && x.per_group < limit &&
           x.scale > -limit && x.scale < limit;
}

static struct value negate(struct value x)
{
    int64_t lo = -x.hi;
    x.hi = -x.lo;
    x.lo = lo;
    x.per_group = x.modulus ? x.per_group : -x.per_group;
    x.scale = -x.scale;
    return x;
}

static struct value add(struct value x, struct value y)
{
    if (!x.known || !y.known || (x.modulus && !value_is_constant(y)) ||
        (y.modulus && !value_is_constant(x)))
        return unknown;
    struct value sum = y.modulus ? y : x;
    if (!sum.modulus)
        sum.per_group = x.per_group + y.per_group;
    sum.lo = x.lo + y.lo;
    sum.hi = x.hi + y.hi;
    sum.stride = sum.lo == sum.hi ? 0 : gcd(x.stride, y.stride);
    return small(x) && small(y)     ? sum
           : value_is_constant(sum) ? value_constant(-FAR, FAR, 1)
                                    : unknown;
}

static struct value multiply(struct value x, struct value y)
{
    if (value_is_exact(x) && !value_is_exact(y)) {
        struct value swap = x;
        x = y;
        y = swap;
    }
    if (value_is_exact(y) && y.lo == 0)
        return value_constant(0, 0, 0);
    if (value_is_constant(x) && value_is_constant(y) &&
        !(value_is_exact(y) && small(x) && small(y)))
        return value_constant(-FAR, FAR, 1);
    if (!x.known || !value_is_exact(y) || !small(x) || !small(y))
        return unknown;
    if (y.lo < 0)
        return multiply(negate(x), value_constant(-y.lo, -y.lo, 0));
    x.lo *= y.lo;
    x.hi *= y.lo;
    x.stride *= y.lo;
    x.per_group *= x.modulus ? 1 : y.lo;
    x.scale *= y.lo;
    return x;
}

static struct value divide(struct value x, struct value y)
{
    if (!x.known || !value_is_exact(y) || y.lo <= 0)
        return value_is_constant(x) && value_is_constant(y) ? value_constant(-FAR, FAR, 1)
                                                            : unknown;
    int64_t by = y.lo;
    if (x.modulus ? x.scale % by != 0 : x.per_group % by != 0)
        return unknown;
    x.lo = floor_div(x.lo, by);
    x.hi = floor_div(x.hi, by);
    x.stride = x.lo == x.hi ? 0 : x.stride % by == 0 ? x.stride / by : 1;
    x.per_group /= x.modulus ? 1 : by;
    x.scale /= by;
    return x;
}

static struct value modulo(const struct scope *scope, struct value x, struct value y)
{
    if (!x.known || !value_is_exact(y) || y.lo <= 0)
        return value_is_constant(x) && value_is_constant(y) ? value_constant(-FAR, FAR, 1)
                                                            : unknown;
    int64_t m = y.lo, lo, hi;
    range(scope, x, &lo, &hi);
    if (lo >= 0 && hi < m && (value_is_constant(x) || (scope->loop < 0 && x.per_group > 0)))
        return x;
    if (x.modulus)
        return x.lo == 0 && x.hi == 0 && x.scale == 1 && x.modulus % m == 0
                   ? (struct value){.known = true,
                                    .per_group = value_floor_mod(x.per_group, m),
                                    .scale = 1,
                                    .modulus = m}
                   : unknown;
    if (x.per_group % m != 0)
        return (struct value){
            .known = true, .per_group = value_floor_mod(x.per_group, m), .scale = 1, .modulus = m};
    if (x.lo == x.hi)
        return value_constant(value_floor_mod(x.lo, m), value_floor_mod(x.lo, m), 0);
    int64_t step = gcd(x.stride, m);
    return value_constant(value_floor_mod(x.lo, step), m - step + value_floor_mod(x.lo, step),
                          step);
}

/* x op y where the outcome may be certain from the ranges. */
static struct value compare(const struct scope *scope, enum rule_op op, struct value x,
                            struct value y)
{
    int64_t x_lo, x_hi, y_lo, y_hi;
    if (!x.known || !y.known)
        return unknown;
    range(scope, x, &x_lo, &x_hi);
    range(scope, y, &y_lo, &y_hi);
    bool apart = x_hi < y_lo || y_hi < x_lo, single = x_lo == x_hi && y_lo == y_hi;
    if (op == RULE_EQ && (apart || single))
        return value_constant(!apart, !apart, 0);
    if (op == RULE_LT && (x_hi < y_lo || x_lo >= y_hi))
        return value_constant(x_hi < y_lo, x_hi < y_lo, 0);
    if (op == RULE_LE && (x_hi <= y_lo || x_lo > y_hi))
        return value_constant(x_hi <= y_lo, x_hi <= y_lo, 0);
    return value_is_constant(x) && value_is_constant(y) ? value_constant(0, 1, 1) : unknown;
}

static struct value lesser(const struct scope *scope, struct value x, struct value y)
{
    struct value less = compare(scope, RULE_LE, x, y);
    if (value_is_exact(less))
        return less.lo ? x : y;
    return value_is_constant(x) && value_is_constant(y)
               ? value_constant(x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi, 1)
               : unknown;
}

/* Bits: what can be said by arithmetic; of constants only that they are constant. */
static struct value bits(const struct scope *scope, enum rule_op op, struct value x, struct value y)
{
    int64_t lo = -1, hi;
    if (x.known)
        range(scope, x, &lo, &hi);
    bool by_bits = lo >= 0 && value_is_exact(y) && y.lo >= 0 && y.lo < 28;
    if (op == RULE_SHR && by_bits)
        return divide(x, value_constant((int64_t)1 << y.lo, (int64_t)1 << y.lo, 0));
    if (op == RULE_SHL && by_bits)
        return multiply(x, value_constant((int64_t)1 << y.lo, (int64_t)1 << y.lo, 0));
    if (op == RULE_AND && value_is_exact(y) && y.lo >= 0 && y.lo < FAR &&
        (y.lo & (y.lo + 1)) == 0 && lo >= 0)
        return modulo(scope, x, value_constant(y.lo + 1, y.lo + 1, 0));
    if (op == RULE_AND && ((value_is_exact(x) && x.lo == 0) || (value_is_exact(y) && y.lo == 0)))
        return value_constant(0, 0, 0);
    if (!value_is_constant(x) || !value_is_constant(y))
        return unknown;
    int64_t value = op == RULE_AND ? x.lo & y.lo : op == RULE_OR ? x.lo | y.lo : x.lo ^ y.lo;
    if (value_is_exact(x) && value_is_exact(y) && op != RULE_SHL && op != RULE_SHR)
        return value_constant(value, value, 0);
    return value_constant(-FAR, FAR, 1);
}

static struct value apply(const struct scope *scope, enum rule_op op, struct value x,
                          struct value y)
{
    switch (op) {
    case RULE_ADD:
        return add(x, y);
    case RULE_SUB:
        return add(x, negate(y));
    case RULE_MUL:
        return multiply(x, y);
    case RULE_DIV:
        return divide(x, y);
    case RULE_MOD:
        return modulo(scope, x, y);
    case RULE_EQ:
    case RULE_LT:
    case RULE_LE:
        return compare(scope, op, x, y);
    case RULE_MIN:
        return lesser(scope, x, y);
    case RULE_MAX:
        return negate(lesser(scope, negate(x), negate(y)));
    case RULE_NOT:
        return compare(scope, RULE_EQ, x, value_constant(0, 0, 0));
    case RULE_AND:
    case RULE_OR:
    case RULE_XOR:
    case RULE_SHL:
    case RULE_SHR:
        return bits(scope, op, x, y);
    case RULE_PUSH:
    case RULE_RANK:
    case RULE_LOOP:
    case RULE_OP_COUNT:
        break;
    }
    return unknown;
}

struct value value_of(const struct scope *scope, const struct rule *rule)
{
    struct value stack[RULE_STACK];
    size_t top = 0;
    for (size_t i = 0; i < rule->count; i++) {
        const struct rule_instruction *in = &rule->code[i];
        if (in->op == RULE_PUSH)
            stack[top++] = value_constant(in->value, in->value, 0);
        else if (in->op == RULE_RANK)
            stack[top++] = (struct value){.known = true,
                                          .lo = scope->rank,
                                          .hi = scope->rank,
                                          .per_group = scope->loop < 0 ? scope->ranks : 0};
        else if (in->op == RULE_LOOP && in->value == scope->loop)
            stack[top++] = (struct value){.known = true, .per_group = 1};
        else if (in->op == RULE_LOOP)
            stack[top++] = value_constant(0, scope->turns[in->value] - 1, 1);
        else if (in->op == RULE_NOT)
            stack[top - 1] = apply(scope, in->op, stack[top - 1], unknown);
        else {
            top--;
            stack[top - 1] = apply(scope, in->op, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}
