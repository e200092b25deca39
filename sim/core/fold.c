/* fold.c: the proof that a plan is the same seen from every node. See fold.h.
 *
 * Moving by addition. With W ranks in a group and v the number of the group, rank p of it is
 * p + W v. Each rule is evaluated for each p with v left open (fold_value.h). A transfer is the
 * same for all groups when where and count do not depend on v, the receiver moves by W, and the
 * chunks either stay or move through their slots in step: all operations that touch a slot move on
 * by the same number of slots, and what stays covers all slots of a kind or none. A fence outside
 * loops parts the plan: transfers before and after it wait for each other as a whole.
 */
#include "sim/core/fold.h"

#include <stdlib.h>

#include "sim/core/fold_value.h"

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
    if (!chunk.known || !value_is_constant(count))
        return false;
    struct span span = {.lo = chunk.lo + offset,
                        .hi = chunk.hi + offset,
                        .stride = chunk.stride,
                        .count_lo = count.lo,
                        .count_hi = count.hi};
    if (value_is_constant(chunk))
        return remember(spans, &span);
    if (!chunk.modulus && count.hi == 1 && chunk.lo >= 0 && chunk.hi < chunk.per_group) {
        chunk.modulus = chunk.per_group * scope->groups; /* (c + a v) mod all of them */
        chunk.scale = 1;
        chunk.lo = chunk.hi = 0;
    } else if (!chunk.modulus) { /* slots of a cells */
        chunk.scale = chunk.per_group;
        chunk.per_group = 1;
        chunk.modulus = scope->groups;
    }
    span = (struct span){.moves = true,
                         .width = chunk.scale,
                         .slots = chunk.modulus,
                         .step = value_floor_mod(chunk.per_group, chunk.modulus)};
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
    struct value where = op->conditional ? value_of(scope, &op->where) : always;
    if (!value_is_constant(where))
        return false;
    if (value_is_exact(where) && where.lo == 0)
        return true;
    struct value count = value_of(scope, &op->count), chunk = value_of(scope, &op->chunk);
    int64_t result = plan->chunks;
    if (op->kind == PLAN_SEND ? !moves_along(scope, value_of(scope, &op->to))
                              : !value_is_constant(value_of(scope, &op->group)))
        return false;
    if (!add_span(scope, chunk, count, op->from_result ? result : 0, spans))
        return false;
    return add_span(scope, op->has_into ? value_of(scope, &op->into) : chunk, count,
                    op->to_result ? result : 0, spans);
}

static bool moves_by_addition(const struct plan *plan, uint32_t ranks, bool *ret_parts)
{
    struct spans spans = {0};
    struct scope scope = {.ranks = ranks, .groups = plan->ranks / ranks, .loop = -1};
    bool same = true;
    size_t loops = 0;
    bool parts = false;
    *ret_parts = false;
    for (size_t i = 0; i < plan->length && same; i++) {
        const struct plan_instruction *in = &plan->program[i];
        if (in->code == PLAN_LOOP) {
            scope.turns[in->depth] = in->count;
            loops++;
        } else if (in->code == PLAN_END) {
            loops--;
        } else if (in->code == PLAN_FENCE && loops == 0) {
            /* what was received before has arrived whole: who reads which part is all one */
            same = spans_agree(&spans, &parts);
            *ret_parts = *ret_parts || parts;
            spans.count = 0;
        }
        for (uint32_t o = 0; in->code == PLAN_STEP && o < in->op_count && same; o++)
            for (uint32_t p = 0; p < ranks && same; p++) {
                scope.rank = p;
                same = op_moves(plan, &plan->ops[in->first_op + o], &scope, &spans);
            }
    }
    same = same && spans_agree(&spans, &parts);
    *ret_parts = *ret_parts || parts;
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
    struct value where = value_constant(1, 1, 0);
    if (op->conditional)
        where = value_of(scope, &op->where);
    if (op->kind != PLAN_SEND || op->edge_count > 0 || op->packed.uses_loops ||
        !value_is_constant(where))
        return false;
    if (value_is_exact(where) && where.lo == 0)
        return true;
    struct value count = value_of(scope, &op->count), chunk = value_of(scope, &op->chunk);
    struct value to = value_of(scope, &op->to);
    if (!value_is_exact(to) || to.lo < 0 || to.lo >= plan->ranks ||
        !add_span(scope, chunk, count, op->from_result ? plan->chunks : 0, own))
        return false;
    /* the twin that sends into the simulated part */
    const int64_t group = fold->kind ? to.lo / fold->ranks * fold->ranks : 0;
    const int64_t rank = scope->rank;
    scope->rank =
        fold->kind == FOLD_XOR ? rank ^ group : value_floor_mod(rank - group, plan->ranks);
    chunk = value_of(scope, op->has_into ? &op->into : &op->chunk);
    count = value_of(scope, &op->count);
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

/* Whether each rank r sends the whole message to r xor c, whoever it is: what one does, all do. A c
 * that is in range for rank 0 is so for all, since ranks are a power of two. */
static bool exchanges_whole(const struct plan *plan, const struct plan_op *op,
                            const struct plan_cursor *cursor)
{
    struct error error;
    struct transfer first;
    return op->to.xor_rank && !op->conditional && !op->chunk.uses_rank && !op->count.uses_rank &&
           !(op->has_into && op->into.uses_rank) &&
           plan_transfer(plan, op, cursor, 0, 0, &first, &error) > 0 && first.count == plan->chunks;
}

static bool op_exchanges(const struct plan *plan, const struct plan_op *op,
                         const struct plan_cursor *cursor, uint32_t ranks, bool *parts)
{
    struct error error;
    if (exchanges_whole(plan, op, cursor))
        return true;
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
    int found = plan_transfer(plan, sent->op, cursor, from, 0, ret_twin, error);
    if (found != 0)
        return found;
    error_set(error, STATUS_FAILED,
              "step %llu: rank %u sends, but rank %u does not, though the plan was found to be the "
              "same from every node",
              (unsigned long long)cursor->step + 1, sent->from, from);
    return -1;
}
