/* fold.c: see fold.h. */
#include "sim/core/fold.h"

static bool moves_along(const struct plan *plan, const struct plan_op *op, int64_t *coefficient,
                        bool *first)
{
    const struct rule *chunk = &op->chunk;
    if (chunk->form == RULE_CODED && chunk->uses_rank)
        return false;
    int64_t rank = chunk->form == RULE_AFFINE ? chunk->rank : 0;
    /* Chunks that move with the rank must come round with the chunks, one at a time. */
    if (rank != 0 && (chunk->modulus != plan->chunks || op->count.form != RULE_CONSTANT ||
                      op->count.constant != 1))
        return false;
    bool same = *first || rank == *coefficient;
    *coefficient = rank;
    *first = false;
    return same;
}

/* Whether the receiver is always the same GPU of another node. Otherwise transfers inside a node
 * meet those between nodes, and which comes first at equal times depends on the node's number. */
static bool reaches_same_gpu(const struct rule *to, uint32_t gpus)
{
    bool same = to->constant % gpus == 0;
    for (size_t i = 0; i < RULE_LOOPS; i++)
        same = same && to->loop[i] % gpus == 0;
    return same;
}

bool fold_plan(const struct plan *plan, uint32_t gpus)
{
    int64_t coefficient = 0;
    bool first = true;
    /* With several lanes, which of them asks first at equal times depends on the node's number. */
    if (plan->ranks <= gpus || plan->lanes > 1)
        return false;
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct plan_op *op = &plan->ops[i];
        if (op->kind == PLAN_RECEIVE || op->edge_count > 0 || op->count.uses_rank || op->has_into ||
            op->from_result || op->to_result || op->group.uses_rank ||
            !moves_along(plan, op, &coefficient, &first))
            return false;
        if (op->conditional && op->where.uses_rank)
            return false;
        if (op->kind == PLAN_SEND &&
            (op->to.form != RULE_AFFINE || op->to.rank != 1 || op->to.modulus != plan->ranks))
            return false;
        if (op->kind == PLAN_SEND && !reaches_same_gpu(&op->to, gpus))
            return false;
    }
    /* Moving on by all ranks must bring the chunks back to where they were. */
    return coefficient == 0 || (coefficient * (int64_t)plan->ranks) % (int64_t)plan->chunks == 0;
}

bool fold_timing(const struct timing *timing)
{
    for (size_t s = 0; s < timing->stage_count; s++) {
        const struct timed_stage *stage = &timing->stages[s];
        const struct timed_use *uses = &timing->uses[stage->first_use];
        for (uint16_t i = 0; i < stage->use_count; i++)
            for (uint16_t j = 0; j < i; j++)
                if (uses[i].resource == uses[j].resource && uses[i].end != uses[j].end &&
                    uses[i].busy_ps + uses[j].busy_ps > 0)
                    return false;
    }
    return true;
}

int fold_twin(const struct plan *plan, const struct plan_cursor *cursor, uint32_t gpus,
              const struct transfer *sent, struct transfer *ret_twin, struct error *error)
{
    *ret_twin = *sent;
    if (sent->to == TRANSFER_SWITCH || sent->from == TRANSFER_SWITCH || sent->to < gpus)
        return 1;
    uint32_t back = sent->to / gpus * gpus;
    uint32_t from = (sent->from + plan->ranks - back) % plan->ranks;
    return plan_transfer(plan, sent->op, cursor, from, 0, ret_twin, error);
}
