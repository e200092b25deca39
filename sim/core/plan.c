/* plan.c: building and walking plans. See plan.h. */
#include "sim/core/plan.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
} collectives[COLLECTIVE_COUNT] = {
    {"allreduce"}, {"allgather"}, {"reduce_scatter"}, {"broadcast"},
    {"reduce"},    {"alltoall"},  {"sendrecv"},       {"transfers"},
};

const char *collective_name(enum collective collective)
{
    return collectives[collective].name;
}

int collective_find(const char *name)
{
    for (int i = 0; i < COLLECTIVE_COUNT; i++)
        if (strcmp(collectives[i].name, name) == 0)
            return i;
    return -1;
}

double collective_busbw_factor(enum collective collective, uint32_t ranks)
{
    double n = ranks;
    switch (collective) {
    case COLLECTIVE_ALLREDUCE:
        return 2 * (n - 1) / n;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_ALLTOALL:
        return (n - 1) / n;
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SENDRECV:
    case COLLECTIVE_TRANSFERS:
    case COLLECTIVE_COUNT:
        break;
    }
    return 1;
}

void plan_init(struct plan *plan, uint32_t ranks)
{
    memset(plan, 0, sizeof *plan);
    plan->ranks = ranks;
    plan->chunks = 1;
}

void plan_free(struct plan *plan)
{
    if (!plan)
        return;
    free(plan->ops);
    free(plan->program);
    free(plan->edges);
    if (plan->larger)
        plan_free(plan->larger);
    free(plan->larger);
    memset(plan, 0, sizeof *plan);
}

/* Room for one more element; doubles, so that building stays linear. */
static enum status grow(void **array, size_t count, size_t size, struct error *error)
{
    if (count && (count & (count - 1)) != 0)
        return STATUS_OK;
    void *grown = realloc(*array, (count ? 2 * count : 1) * size);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    *array = grown;
    return STATUS_OK;
}

static enum status emit(struct plan *plan, struct plan_instruction in, struct error *error)
{
    void *array = plan->program;
    enum status status = grow(&array, plan->length, sizeof *plan->program, error);
    plan->program = array;
    if (!status)
        plan->program[plan->length++] = in;
    return status;
}

enum status plan_begin_step(struct plan *plan, struct error *error)
{
    return emit(plan,
                (struct plan_instruction){.code = PLAN_STEP, .first_op = (uint32_t)plan->op_count},
                error);
}

/* Whether a condition leaves out nobody, such as r < m where m is all ranks. */
static bool is_for_all(const struct plan *plan, const struct rule *where)
{
    static const int64_t no_loops[RULE_LOOPS] = {0};
    if (where->uses_loops)
        return false;
    uint32_t rank = 0;
    while (rank < plan->ranks && rule_eval(where, rank, no_loops) != 0)
        rank++;
    return rank == plan->ranks;
}

enum status plan_add_op(struct plan *plan, const struct plan_op *op, struct error *error)
{
    void *array = plan->ops;
    enum status status = grow(&array, plan->op_count, sizeof *plan->ops, error);
    plan->ops = array;
    if (status)
        return status;
    plan->ops[plan->op_count] = *op;
    plan->ops[plan->op_count].number = (uint32_t)plan->op_count;
    if (op->packed.count == 0) /* left out */
        plan->ops[plan->op_count].packed = rule_constant(0);
    if (op->conditional && is_for_all(plan, &op->where))
        plan->ops[plan->op_count].conditional = false;
    plan->ops[plan->op_count].first_edge = plan->edge_count;
    plan->ops[plan->op_count].edge_count = 0;
    plan->op_count++;
    plan->program[plan->length - 1].op_count++;
    if (op->lane + 1u > plan->lanes)
        plan->lanes = op->lane + 1u;
    plan->uses_result = plan->uses_result || op->from_result || op->to_result;
    plan->uses_receives = plan->uses_receives || op->kind == PLAN_RECEIVE;
    return STATUS_OK;
}

enum status plan_add_edge(struct plan *plan, struct plan_edge edge, struct error *error)
{
    void *array = plan->edges;
    enum status status = grow(&array, plan->edge_count, sizeof *plan->edges, error);
    plan->edges = array;
    if (status)
        return status;
    plan->edges[plan->edge_count++] = edge;
    plan->ops[plan->op_count - 1].edge_count++;
    return STATUS_OK;
}

enum status plan_end_step(struct plan *plan, struct error *error)
{
    (void)error;
    if (plan->program[plan->length - 1].op_count == 0)
        plan->length--; /* a step in which nothing happens */
    return STATUS_OK;
}

enum status plan_begin_loop(struct plan *plan, uint32_t count, uint32_t depth, struct error *error)
{
    return emit(plan, (struct plan_instruction){.code = PLAN_LOOP, .count = count, .depth = depth},
                error);
}

enum status plan_end_loop(struct plan *plan, struct error *error)
{
    size_t begin = plan->length;
    for (int open = 1; open > 0;) {
        begin--;
        open += plan->program[begin].code == PLAN_END ? 1 : 0;
        open -= plan->program[begin].code == PLAN_LOOP ? 1 : 0;
    }
    struct plan_instruction *loop = &plan->program[begin];
    size_t fences = 0;
    while (plan->program[plan->length - 1 - fences].code == PLAN_FENCE)
        fences++;
    if (begin + 1 + fences == plan->length || loop->count == 0) {
        plan->length = begin; /* nothing in it, or never run */
        return STATUS_OK;
    }
    loop->partner = (uint32_t)plan->length;
    return emit(plan,
                (struct plan_instruction){.code = PLAN_END,
                                          .partner = (uint32_t)begin,
                                          .again = loop[1].code == PLAN_STEP,
                                          .depth = loop->depth},
                error);
}

enum status plan_add_fence(struct plan *plan, struct error *error)
{
    if (plan->length == 0) /* nothing to wait for */
        return STATUS_OK;
    return emit(plan, (struct plan_instruction){.code = PLAN_FENCE}, error);
}

static int by_sender(const void *a, const void *b)
{
    const struct plan_edge *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

/* Which switches there are follows from the groups that ranks are in. */
static enum status count_groups(struct plan *plan, const struct plan_op *op, struct error *error)
{
    static const int64_t no_loops[RULE_LOOPS] = {0};
    if (op->kind == PLAN_SEND || op->kind == PLAN_RECEIVE)
        return STATUS_OK;
    if (op->group.uses_loops) {
        error_set(error, STATUS_INPUT, "the group of a switch operation cannot depend on a loop");
        if (error)
            error->line = op->line;
        return STATUS_INPUT;
    }
    for (uint32_t rank = 0; rank < plan->ranks; rank++) {
        int64_t group = rule_eval(&op->group, rank, no_loops);
        if (group < 0 || group >= plan->ranks) {
            error_set(error, STATUS_INPUT, "rank %u: group must be 0 .. %u", rank, plan->ranks - 1);
            if (error)
                error->line = op->line;
            return STATUS_INPUT;
        }
        if (group + 1 > plan->groups)
            plan->groups = (uint32_t)group + 1;
        if (!op->group.uses_rank)
            break;
    }
    return STATUS_OK;
}

enum status plan_finish(struct plan *plan, struct error *error)
{
    uint64_t turns[RULE_LOOPS + 1] = {1};
    size_t depth = 0;
    if (plan->length == 0 && plan->ranks > 1) /* one rank has nothing to do */
    {
        error_set(error, STATUS_INPUT, "the plan has no operation for %u ranks", plan->ranks);
        return error_hint(error, "p.rank == 0 is always false: p.rank stands for any rank; write "
                                 "where = eq(p.rank, 0)");
    }
    plan->steps = 0;
    for (size_t i = 0; i < plan->length; i++) {
        const struct plan_instruction *in = &plan->program[i];
        if (in->code == PLAN_STEP)
            plan->steps += turns[depth];
        else if (in->code == PLAN_END)
            depth--;
        else if (in->code == PLAN_LOOP) {
            turns[depth + 1] = turns[depth] * in->count;
            depth++;
        }
        if (turns[depth] > PLAN_MAX_STEPS || plan->steps > PLAN_MAX_STEPS)
            return error_set(error, STATUS_INPUT, "the plan has more than 2^32 steps");
    }
    for (size_t i = 0; i < plan->op_count; i++) {
        enum status status = count_groups(plan, &plan->ops[i], error);
        if (status)
            return status;
    }
    for (size_t i = 0; i < plan->edge_count; i++)
        if (plan->edges[i].from >= plan->ranks || plan->edges[i].to >= plan->ranks)
            return error_set(error, STATUS_INPUT, "an edge from rank %u to %u, but there are %u",
                             plan->edges[i].from, plan->edges[i].to, plan->ranks);
    for (size_t i = 0; i < plan->op_count; i++) {
        struct plan_op *op = &plan->ops[i];
        const bool by_rules = op->kind == PLAN_SEND && op->edge_count == 0;
        op->plain = by_rules && !op->has_into && !op->from_result && !op->to_result;
        op->stays = op->plain && !op->to.uses_loops && !op->count.uses_loops &&
                    (!op->conditional || !op->where.uses_loops);
        op->invertible = by_rules && rule_invertible(&op->to, plan->ranks);
    }
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].edge_count)
            qsort(plan->edges + plan->ops[i].first_edge, plan->ops[i].edge_count,
                  sizeof *plan->edges, by_sender);
    return STATUS_OK;
}

bool plan_uses_switch(const struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind == PLAN_UP || plan->ops[i].kind == PLAN_DOWN)
            return true;
    return plan->larger && plan_uses_switch(plan->larger);
}

uint32_t plan_groups(const struct plan *plan)
{
    uint32_t most = 0;
    for (; plan; plan = plan->larger)
        most = plan->groups > most ? plan->groups : most;
    return most;
}

const struct plan *plan_for(const struct plan *plan, double size_B)
{
    while (plan->larger && size_B > plan->up_to_B)
        plan = plan->larger;
    return plan;
}

void plan_settle(const struct plan *plan, struct plan_cursor *cursor)
{
    while (cursor->at < plan->length && plan->program[cursor->at].code != PLAN_STEP) {
        const struct plan_instruction *in = &plan->program[cursor->at];
        if (in->code == PLAN_FENCE) {
            cursor->fence = cursor->step;
            cursor->at++;
        } else if (in->code == PLAN_LOOP) {
            cursor->loops[in->depth] = 0;
            cursor->at++;
        } else if (++cursor->loops[in->depth] < plan->program[in->partner].count) {
            cursor->at = in->partner + 1;
        } else {
            cursor->loops[in->depth] = 0;
            cursor->at++;
        }
    }
    cursor->done = cursor->at >= plan->length;
}

void plan_first(const struct plan *plan, struct plan_cursor *cursor)
{
    memset(cursor, 0, sizeof *cursor);
    plan_settle(plan, cursor);
}

static int nonsense(struct error *error, const struct plan_op *op, const struct plan_cursor *cursor,
                    uint32_t rank, const char *what, int64_t value, int64_t limit)
{
    /* where the script forgot to cut the message */
    bool uncut = limit == 1 && value > 0 && strcmp(what, "to") != 0 && strcmp(what, "from") != 0;
    if (value == RULE_UNDEFINED)
        error_set(error, STATUS_INPUT, "step %llu, rank %u: %s is undefined (division by zero?)",
                  (unsigned long long)cursor->step + 1, rank, what);
    else
        error_set(error, STATUS_INPUT, "step %llu, rank %u: %s is %lld, must be 0 .. %lld%s",
                  (unsigned long long)cursor->step + 1, rank, what, (long long)value,
                  (long long)limit - 1,
                  uncut ? " (p:split(c) cuts the message into c chunks)" : "");
    if (error)
        error->line = op->line;
    return -1;
}

static int edge_transfer(const struct plan *plan, const struct plan_op *op, uint32_t rank,
                         uint32_t index, struct transfer *ret)
{
    const struct plan_edge *edges = plan->edges + op->first_edge;
    size_t low = 0, high = op->edge_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges[middle].from < rank)
            low = middle + 1;
        else
            high = middle;
    }
    if (low + index >= op->edge_count || edges[low + index].from != rank)
        return 0;
    ret->to = edges[low + index].to;
    ret->chunk = edges[low + index].chunk;
    ret->into = op->has_into ? edges[low + index].into : ret->chunk;
    ret->edge = index;
    return 1;
}

int plan_transfer_any(const struct plan *plan, const struct plan_op *op,
                      const struct plan_cursor *cursor, uint32_t rank, uint32_t index,
                      struct transfer *ret, struct error *error)
{
    const int64_t *loops = cursor->loops;
    *ret = (struct transfer){.op = op, .from = rank, .to = rank, .edge = 0};
    if (op->kind == PLAN_RECEIVE)
        return 0;
    if (op->edge_count) {
        if (!edge_transfer(plan, op, rank, index, ret))
            return 0;
    } else {
        if (index > 0 || (op->conditional && rule_eval(&op->where, rank, loops) == 0))
            return 0;
        int64_t chunk = rule_eval(&op->chunk, rank, loops);
        if (chunk < 0 || chunk >= plan->chunks)
            return nonsense(error, op, cursor, rank, "chunk", chunk, plan->chunks);
        ret->chunk = (uint32_t)chunk;
    }
    if (!op->edge_count && op->has_into) {
        int64_t into = rule_eval(&op->into, rank, loops);
        if (into < 0 || into >= plan->chunks)
            return nonsense(error, op, cursor, rank, "into", into, plan->chunks);
        ret->into = (uint32_t)into;
    } else if (!op->edge_count) {
        ret->into = ret->chunk;
    }
    int64_t count = rule_eval(&op->count, rank, loops);
    uint32_t last = ret->chunk > ret->into ? ret->chunk : ret->into;
    if (count < 1 || count > (int64_t)plan->chunks - last)
        return nonsense(error, op, cursor, rank, "the last chunk",
                        count == RULE_UNDEFINED ? count : last + count - 1, plan->chunks);
    ret->count = (uint32_t)count;
    ret->chunk += op->from_result ? plan->chunks : 0;
    ret->into += op->to_result ? plan->chunks : 0;
    if (op->kind != PLAN_SEND)
        ret->group = (uint32_t)rule_eval(&op->group, rank, loops);
    if (op->kind == PLAN_UP)
        ret->to = TRANSFER_SWITCH;
    else if (op->kind == PLAN_DOWN)
        ret->from = TRANSFER_SWITCH;
    else if (!op->edge_count) {
        int64_t to = rule_eval(&op->to, rank, loops);
        if (to < 0 || to >= plan->ranks)
            return nonsense(error, op, cursor, rank, "to", to, plan->ranks);
        ret->to = (uint32_t)to;
    }
    if (ret->to == ret->from) {
        error_set(error, STATUS_INPUT, "step %llu: rank %u sends to itself",
                  (unsigned long long)cursor->step + 1, rank);
        if (error)
            error->line = op->line;
        return -1;
    }
    return 1;
}

int plan_receive(const struct plan *plan, const struct plan_op *op,
                 const struct plan_cursor *cursor, uint32_t rank, uint32_t *ret_from,
                 struct error *error)
{
    if (op->kind != PLAN_RECEIVE ||
        (op->conditional && rule_eval(&op->where, rank, cursor->loops) == 0))
        return 0;
    int64_t from = rule_eval(&op->to, rank, cursor->loops);
    if (from < 0 || from >= plan->ranks)
        return nonsense(error, op, cursor, rank, "from", from, plan->ranks);
    *ret_from = (uint32_t)from;
    return 1;
}
