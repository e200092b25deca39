/* fold.c: the proof that a plan is the same seen from every node. See fold.h.
 *
 * Moving by addition. With W ranks in a group and v the number of the group, rank p of it is
 * p + W v. Each rule is evaluated for each p with v left open, and with the counters of loops known
 * only by their range. What is known of a value is one of
 *
 *     c + a v                    c one of lo, lo + stride .. hi, the same for all v
 *     s ((? + a v) mod m) + c    likewise
 *     anything
 *
 * so that what holds for it holds for every turn of the loops. A transfer is the same for all
 * groups when where and count do not depend on v, the receiver moves by W, and the chunks either
 * stay or move through their slots in step: all operations that touch a slot move on by the same
 * number of slots, and what stays covers all slots of a kind or none.
 */
#include "sim/core/fold.h"

#include <stdlib.h>

/* ---- values that depend on the number of the group ------------------------------------------ */

#define FAR ((int64_t)1 << 60) /* bounds of what is not known */

struct value {
    bool known;
    int64_t lo, hi, stride;
    int64_t per_group;
    int64_t scale, modulus; /* modulus 0: the first form */
};

/* What is open: the number of the group, or the turn of a loop. Then `groups` is its number of
 * values. */
struct scope {
    int64_t rank, ranks, groups;
    int64_t turns[RULE_LOOPS];
    int loop; /* that is open; -1: the group */
};

static const struct value unknown = {0};

static struct value constant(int64_t lo, int64_t hi, int64_t stride)
{
    if (lo < -FAR || hi > FAR) {
        lo = -FAR;
        hi = FAR;
        stride = 1;
    }
    return (struct value){.known = true, .lo = lo, .hi = hi, .stride = lo == hi ? 0 : stride};
}

static bool is_constant(struct value x)
{
    return x.known && x.per_group == 0 && x.modulus == 0;
}

static bool is_exact(struct value x)
{
    return is_constant(x) && x.lo == x.hi;
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

static int64_t floor_mod(int64_t a, int64_t b)
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
    if (!x.known || !y.known || (x.modulus && !is_constant(y)) || (y.modulus && !is_constant(x)))
        return unknown;
    struct value sum = y.modulus ? y : x;
    if (!sum.modulus)
        sum.per_group = x.per_group + y.per_group;
    sum.lo = x.lo + y.lo;
    sum.hi = x.hi + y.hi;
    sum.stride = sum.lo == sum.hi ? 0 : gcd(x.stride, y.stride);
    return small(x) && small(y) ? sum : is_constant(sum) ? constant(-FAR, FAR, 1) : unknown;
}

static struct value multiply(struct value x, struct value y)
{
    if (is_exact(x)) {
        struct value swap = x;
        x = y;
        y = swap;
    }
    if (is_exact(y) && y.lo == 0)
        return constant(0, 0, 0);
    if (is_constant(x) && is_constant(y) && !(is_exact(y) && small(x) && small(y)))
        return constant(-FAR, FAR, 1);
    if (!x.known || !is_exact(y) || !small(x) || !small(y))
        return unknown;
    if (y.lo < 0)
        return multiply(negate(x), constant(-y.lo, -y.lo, 0));
    x.lo *= y.lo;
    x.hi *= y.lo;
    x.stride *= y.lo;
    x.per_group *= x.modulus ? 1 : y.lo;
    x.scale *= y.lo;
    return x;
}

static struct value divide(struct value x, struct value y)
{
    if (!x.known || !is_exact(y) || y.lo <= 0)
        return is_constant(x) && is_constant(y) ? constant(-FAR, FAR, 1) : unknown;
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
    if (!x.known || !is_exact(y) || y.lo <= 0)
        return is_constant(x) && is_constant(y) ? constant(-FAR, FAR, 1) : unknown;
    int64_t m = y.lo, lo, hi;
    range(scope, x, &lo, &hi);
    if (lo >= 0 && hi < m && (is_constant(x) || (scope->loop < 0 && x.per_group > 0)))
        return x;
    if (x.modulus)
        return x.lo == 0 && x.hi == 0 && x.scale == 1 && x.modulus % m == 0
                   ? (struct value){.known = true,
                                    .per_group = floor_mod(x.per_group, m),
                                    .scale = 1,
                                    .modulus = m}
                   : unknown;
    if (x.per_group % m != 0)
        return (struct value){
            .known = true, .per_group = floor_mod(x.per_group, m), .scale = 1, .modulus = m};
    if (x.lo == x.hi)
        return constant(floor_mod(x.lo, m), floor_mod(x.lo, m), 0);
    int64_t step = gcd(x.stride, m);
    return constant(floor_mod(x.lo, step), m - step + floor_mod(x.lo, step), step);
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
        return constant(!apart, !apart, 0);
    if (op == RULE_LT && (x_hi < y_lo || x_lo >= y_hi))
        return constant(x_hi < y_lo, x_hi < y_lo, 0);
    if (op == RULE_LE && (x_hi <= y_lo || x_lo > y_hi))
        return constant(x_hi <= y_lo, x_hi <= y_lo, 0);
    return is_constant(x) && is_constant(y) ? constant(0, 1, 1) : unknown;
}

static struct value lesser(const struct scope *scope, struct value x, struct value y)
{
    struct value less = compare(scope, RULE_LE, x, y);
    if (is_exact(less))
        return less.lo ? x : y;
    return is_constant(x) && is_constant(y)
               ? constant(x.lo < y.lo ? x.lo : y.lo, x.hi < y.hi ? x.hi : y.hi, 1)
               : unknown;
}

/* Bits: what can be said by arithmetic; of constants only that they are constant. */
static struct value bits(const struct scope *scope, enum rule_op op, struct value x, struct value y)
{
    int64_t lo = -1, hi;
    if (x.known)
        range(scope, x, &lo, &hi);
    bool by_bits = lo >= 0 && is_exact(y) && y.lo >= 0 && y.lo < 28;
    if (op == RULE_SHR && by_bits)
        return divide(x, constant((int64_t)1 << y.lo, (int64_t)1 << y.lo, 0));
    if (op == RULE_SHL && by_bits)
        return multiply(x, constant((int64_t)1 << y.lo, (int64_t)1 << y.lo, 0));
    if (op == RULE_AND && is_exact(y) && y.lo >= 0 && y.lo < FAR && (y.lo & (y.lo + 1)) == 0 &&
        lo >= 0)
        return modulo(scope, x, constant(y.lo + 1, y.lo + 1, 0));
    if (op == RULE_AND && ((is_exact(x) && x.lo == 0) || (is_exact(y) && y.lo == 0)))
        return constant(0, 0, 0);
    if (!is_constant(x) || !is_constant(y))
        return unknown;
    int64_t value = op == RULE_AND ? x.lo & y.lo : op == RULE_OR ? x.lo | y.lo : x.lo ^ y.lo;
    if (is_exact(x) && is_exact(y) && op != RULE_SHL && op != RULE_SHR)
        return constant(value, value, 0);
    return constant(-FAR, FAR, 1);
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
        return compare(scope, RULE_EQ, x, constant(0, 0, 0));
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

static struct value evaluate(const struct scope *scope, const struct rule *rule)
{
    struct value stack[RULE_STACK];
    size_t top = 0;
    for (size_t i = 0; i < rule->count; i++) {
        const struct rule_instruction *in = &rule->code[i];
        if (in->op == RULE_PUSH)
            stack[top++] = constant(in->value, in->value, 0);
        else if (in->op == RULE_RANK)
            stack[top++] = (struct value){.known = true,
                                          .lo = scope->rank,
                                          .hi = scope->rank,
                                          .per_group = scope->loop < 0 ? scope->ranks : 0};
        else if (in->op == RULE_LOOP && in->value == scope->loop)
            stack[top++] = (struct value){.known = true, .per_group = 1};
        else if (in->op == RULE_LOOP)
            stack[top++] = constant(0, scope->turns[in->value] - 1, 1);
        else if (in->op == RULE_NOT)
            stack[top - 1] = apply(scope, in->op, stack[top - 1], unknown);
        else {
            top--;
            stack[top - 1] = apply(scope, in->op, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}

/* ---- moving by addition --------------------------------------------------------------------- */

/* Chunks that a transfer reads or writes. Moving ones: `slots` slots of `width` cells from `base`
 * on, of which the next group uses the one `step` further. Others stay: stride > 0 where they
 * depend on a loop. */
struct span {
    bool moves;
    int64_t base, width, slots, step;
    int64_t lo, hi, stride, count_lo, count_hi;
};

struct spans {
    struct span *list;
    size_t count, capacity;
};

static bool same_span(const struct span *a, const struct span *b)
{
    return a->moves == b->moves && a->base == b->base && a->width == b->width &&
           a->slots == b->slots && a->step == b->step && a->lo == b->lo && a->hi == b->hi &&
           a->stride == b->stride && a->count_lo == b->count_lo && a->count_hi == b->count_hi;
}

static bool remember(struct spans *spans, const struct span *span)
{
    for (size_t i = spans->count; i-- > 0;)
        if (same_span(&spans->list[i], span))
            return true;
    if (spans->count == spans->capacity) {
        size_t capacity = spans->capacity ? 2 * spans->capacity : 16;
        struct span *grown =
            capacity <= 4096 ? realloc(spans->list, capacity * sizeof *grown) : NULL;
        if (!grown)
            return false;
        spans->list = grown;
        spans->capacity = capacity;
    }
    spans->list[spans->count++] = *span;
    return true;
}

/* `offset`: of the buffer's first cell. False: no rule for it. */
static bool add_span(const struct scope *scope, struct value chunk, struct value count,
                     int64_t offset, struct spans *spans)
{
    if (!chunk.known || !is_constant(count))
        return false;
    struct span span = {.lo = chunk.lo + offset,
                        .hi = chunk.hi + offset,
                        .stride = chunk.stride,
                        .count_lo = count.lo,
                        .count_hi = count.hi};
    if (is_constant(chunk))
        return remember(spans, &span);
    if (!chunk.modulus) { /* c + a v: slots of a cells */
        chunk.scale = chunk.per_group;
        chunk.per_group = 1;
        chunk.modulus = scope->groups;
    }
    span = (struct span){.moves = true,
                         .width = chunk.scale,
                         .slots = chunk.modulus,
                         .step = floor_mod(chunk.per_group, chunk.modulus)};
    /* Moving on by all groups must bring the chunks back to where they were; turns just end. */
    if (span.width < 1 || count.lo < 1 ||
        (scope->loop < 0 && (scope->groups * span.step) % span.slots != 0))
        return false;
    if (span.width == 1 && chunk.lo == chunk.hi && count.hi == 1)
        span.base = chunk.lo + offset;
    else if (chunk.lo >= 0 && chunk.hi + count.hi <= span.width)
        span.base = offset;
    else
        return false;
    return remember(spans, &span);
}

static int64_t span_end(const struct span *span)
{
    return span->moves ? span->base + span->width * span->slots : span->hi + span->count_hi;
}

/* Whether what stays always covers all of the slots or none. */
static bool covers_all_or_none(const struct span *stays, const struct span *slots)
{
    int64_t length = span_end(slots) - slots->base;
    if (stays->stride == 0 && stays->lo <= slots->base &&
        stays->lo + stays->count_lo >= span_end(slots))
        return true;
    return stays->count_lo == stays->count_hi && stays->count_lo % length == 0 &&
           stays->stride % length == 0 && (stays->lo - slots->base) % length == 0;
}

static bool spans_agree(const struct spans *spans, bool *ret_parts)
{
    *ret_parts = false;
    for (size_t i = 0; i < spans->count; i++)
        for (size_t j = 0; j < spans->count; j++) {
            const struct span *a = &spans->list[i], *b = &spans->list[j];
            if (!a->moves || i == j || (b->moves && j < i))
                continue;
            if ((b->moves ? b->base : b->lo) >= span_end(a) || span_end(b) <= a->base)
                continue;
            if (b->moves ? !same_span(a, b) : !covers_all_or_none(b, a))
                return false;
            *ret_parts = *ret_parts || !b->moves;
        }
    return true;
}

/* Whether a receiver moves with its sender. */
static bool moves_along(const struct scope *scope, struct value to)
{
    int64_t all = scope->ranks * scope->groups;
    if (!to.known)
        return false;
    if (!to.modulus)
        return to.per_group == scope->ranks && to.lo >= 0 && to.hi < scope->ranks;
    return to.scale > 0 && to.scale * to.modulus == all && to.lo >= 0 && to.hi < to.scale &&
           (to.scale * to.per_group - scope->ranks) % all == 0;
}

static bool op_moves(const struct plan *plan, const struct plan_op *op, const struct scope *scope,
                     struct spans *spans)
{
    static const struct value always = {.known = true, .lo = 1, .hi = 1};
    struct value where = op->conditional ? evaluate(scope, &op->where) : always;
    if (!is_constant(where))
        return false;
    if (is_exact(where) && where.lo == 0)
        return true;
    struct value count = evaluate(scope, &op->count), chunk = evaluate(scope, &op->chunk);
    int64_t result = plan->chunks;
    if (op->kind == PLAN_SEND ? !moves_along(scope, evaluate(scope, &op->to))
                              : !is_constant(evaluate(scope, &op->group)))
        return false;
    if (!add_span(scope, chunk, count, op->from_result ? result : 0, spans))
        return false;
    return add_span(scope, op->has_into ? evaluate(scope, &op->into) : chunk, count,
                    op->to_result ? result : 0, spans);
}

static bool moves_by_addition(const struct plan *plan, uint32_t ranks, bool *ret_parts)
{
    struct spans spans = {0};
    struct scope scope = {.ranks = ranks, .groups = plan->ranks / ranks, .loop = -1};
    bool same = true;
    for (size_t i = 0; i < plan->length && same; i++) {
        const struct plan_instruction *in = &plan->program[i];
        if (in->code == PLAN_LOOP)
            scope.turns[in->depth] = in->count;
        for (uint32_t o = 0; in->code == PLAN_STEP && o < in->op_count && same; o++)
            for (uint32_t p = 0; p < ranks && same; p++) {
                scope.rank = p;
                same = op_moves(plan, &plan->ops[in->first_op + o], &scope, &spans);
            }
    }
    same = same && spans_agree(&spans, ret_parts);
    free(spans.list);
    return same;
}

/* ---- turns of a loop --------------------------------------------------------------------------
 */

/* What `sender` does by an operation in any turn, as its receiver in the simulated part sees it. */
static bool op_turns(const struct plan *plan, const struct fold *fold, const struct plan_op *op,
                     struct scope *scope, struct spans *inboxes)
{
    struct spans *own = &inboxes[scope->rank];
    struct value where = constant(1, 1, 0);
    if (op->conditional)
        where = evaluate(scope, &op->where);
    if (op->kind != PLAN_SEND || op->edge_count > 0 || !is_constant(where))
        return false;
    if (is_exact(where) && where.lo == 0)
        return true;
    struct value count = evaluate(scope, &op->count), chunk = evaluate(scope, &op->chunk);
    struct value to = evaluate(scope, &op->to);
    if (!is_exact(to) || to.lo < 0 || to.lo >= plan->ranks ||
        !add_span(scope, chunk, count, op->from_result ? plan->chunks : 0, own))
        return false;
    /* the twin that sends into the simulated part */
    const int64_t group = fold->kind ? to.lo / fold->ranks * fold->ranks : 0;
    const int64_t rank = scope->rank;
    scope->rank = fold->kind == FOLD_XOR ? rank ^ group : floor_mod(rank - group, plan->ranks);
    chunk = evaluate(scope, op->has_into ? &op->into : &op->chunk);
    count = evaluate(scope, &op->count);
    scope->rank = rank;
    return add_span(scope, chunk, count, op->to_result ? plan->chunks : 0, &inboxes[to.lo - group]);
}

bool fold_turns(const struct plan *plan, const struct fold *fold, uint32_t loop, bool *ret_parts)
{
    const uint32_t ranks = fold->kind ? fold->ranks : plan->ranks;
    struct spans *inboxes = calloc(ranks, sizeof *inboxes);
    struct scope scope = {.groups = plan->program[loop].count,
                          .loop = (int)plan->program[loop].depth};
    bool same = inboxes != NULL;
    *ret_parts = false;
    for (size_t i = 0; i < loop; i++)
        if (plan->program[i].code == PLAN_LOOP && plan->program[i].partner > loop)
            scope.turns[plan->program[i].depth] = plan->program[i].count;
    for (size_t i = loop + 1; i < plan->program[loop].partner && same; i++) {
        const struct plan_instruction *in = &plan->program[i];
        same = in->code == PLAN_STEP;
        for (uint32_t o = 0; same && o < in->op_count; o++)
            for (uint32_t p = 0; p < ranks && same; p++) {
                scope.rank = p;
                same = op_turns(plan, fold, &plan->ops[in->first_op + o], &scope, inboxes);
            }
    }
    for (uint32_t p = 0; p < ranks && same; p++) {
        bool parts;
        same = spans_agree(&inboxes[p], &parts);
        *ret_parts = *ret_parts || parts;
    }
    for (uint32_t p = 0; inboxes && p < ranks; p++)
        free(inboxes[p].list);
    free(inboxes);
    return same;
}

/* ---- moving by exclusive or ------------------------------------------------------------------
 */

#define XOR_MAX_TRANSFERS ((uint64_t)1 << 22) /* that are looked at one by one */

static bool power_of_two(uint64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Blocks of cells: aligned, a power of two long, and moved with the rank (or all that there is). */
static bool block_moves(const struct plan *plan, const struct transfer *first,
                        const struct transfer *other, uint32_t by)
{
    if (first->count != other->count)
        return false;
    if (first->count == plan->chunks)
        return true;
    uint32_t chunks_by = by & ~(first->count - 1);
    return plan->chunks == plan->ranks && power_of_two(first->count) &&
           first->chunk % first->count == 0 && first->into % first->count == 0 &&
           (first->chunk ^ chunks_by) == other->chunk && (first->into ^ chunks_by) == other->into;
}

static bool op_exchanges(const struct plan *plan, const struct plan_op *op,
                         const struct plan_cursor *cursor, uint32_t ranks, bool *parts)
{
    struct error error;
    for (uint32_t p = 0; p < ranks; p++) {
        struct transfer first, other;
        int found = plan_transfer(plan, op, cursor, p, 0, &first, &error);
        if (found < 0)
            return false;
        *parts = *parts || (found && first.count != plan->chunks);
        for (uint32_t by = ranks; by < plan->ranks; by += ranks)
            if (plan_transfer(plan, op, cursor, p ^ by, 0, &other, &error) != found ||
                (found && ((first.to ^ by) != other.to || !block_moves(plan, &first, &other, by))))
                return false;
    }
    return true;
}

static bool moves_by_xor(const struct plan *plan, uint32_t ranks, bool *ret_parts)
{
    uint64_t looked = plan->steps * plan->ranks;
    *ret_parts = false;
    if (!power_of_two(plan->ranks) || !power_of_two(ranks) || looked > XOR_MAX_TRANSFERS ||
        plan_uses_switch(plan) || plan->uses_result)
        return false;
    struct plan_cursor cursor;
    for (plan_first(plan, &cursor); !cursor.done; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        for (uint32_t o = 0; o < in->op_count; o++)
            if (!op_exchanges(plan, &plan->ops[in->first_op + o], &cursor, ranks, ret_parts))
                return false;
    }
    return true;
}

/* ---- which it is ------------------------------------------------------------------------------
 */

bool fold_find(const struct plan *plan, uint32_t gpus, struct fold *ret_fold)
{
    *ret_fold = (struct fold){0};
    bool exchanges = false;
    for (size_t i = 0; i < plan->op_count; i++) {
        if (plan->ops[i].kind == PLAN_RECEIVE || plan->ops[i].edge_count > 0 ||
            plan->ops[i].packed.uses_rank)
            return false;
        exchanges = exchanges || plan->ops[i].to.xor_rank;
    }
    bool parts = false;
    for (uint32_t ranks = gpus; ranks <= 2 * gpus; ranks += gpus) {
        if (plan->ranks <= ranks || plan->ranks % ranks != 0)
            continue;
        enum fold_kind kind = moves_by_addition(plan, ranks, &parts)           ? FOLD_SHIFT
                              : exchanges && moves_by_xor(plan, ranks, &parts) ? FOLD_XOR
                                                                               : FOLD_NONE;
        if (!kind)
            continue;
        *ret_fold = (struct fold){
            .kind = kind, .ranks = ranks, .units = plan->ranks / ranks, .one_slice = parts};
        return true;
    }
    return false;
}

int fold_twin(const struct fold *fold, const struct plan *plan, const struct plan_cursor *cursor,
              const struct transfer *sent, struct transfer *ret_twin, struct error *error)
{
    *ret_twin = *sent;
    if (fold->kind == FOLD_NONE)
        return 1;
    if (sent->to == TRANSFER_SWITCH || sent->from == TRANSFER_SWITCH || sent->to < fold->ranks)
        return 1;
    uint32_t back = sent->to / fold->ranks * fold->ranks;
    uint32_t from = fold->kind == FOLD_XOR ? sent->from ^ back
                                           : (sent->from + plan->ranks - back) % plan->ranks;
    return plan_transfer(plan, sent->op, cursor, from, 0, ret_twin, error);
}
