/* budget.c: see budget.h. */
#include "sim/core/budget.h"

#include "sim/core/walk.h"

#define LOOK_EVENTS    ((uint64_t)1 << 18)
#define VERDICT_EVENTS ((uint64_t)1 << 20)
#define MOST_RANKS     1024u

/* Slices that an operation makes in the cursor's turn. */
static double op_slices(const struct walk *walk, const struct plan_op *op,
                        const struct plan_cursor *cursor)
{
    const struct plan *plan = walk->plan;
    const uint32_t stride = (walk->ranks + MOST_RANKS - 1) / MOST_RANKS;
    double slices = 0, ranks = 0, chunk_B = walk->job->size_B / plan->chunks;
    struct transfer transfer;
    struct error error;
    for (uint32_t rank = 0; rank < walk->ranks; rank += stride, ranks++)
        for (uint32_t i = 0; plan_transfer(plan, op, cursor, rank, i, &transfer, &error) > 0; i++) {
            const bool network = transfer.to / walk->ports != transfer.from / walk->ports;
            slices += walk->job->accounting == ACCOUNTING_SERIAL
                          ? 1
                          : protocol_slices(&walk->cut[network], chunk_B * transfer.count);
        }
    return slices * walk->ranks / ranks;
}

static double plan_slices(const struct walk *walk)
{
    const struct plan *plan = walk->plan;
    struct plan_cursor cursor = {0};
    double turns = 1, slices = 0;
    uint32_t counts[RULE_LOOPS] = {0};
    for (size_t at = 0; at < plan->length; at++) {
        const struct plan_instruction *in = &plan->program[at];
        if (in->code == PLAN_LOOP) {
            counts[in->depth] = in->count;
            turns *= in->count;
        } else if (in->code == PLAN_END) {
            const struct plan_instruction *loop = &plan->program[in->partner];
            counts[loop->depth] = 0;
            cursor.loops[loop->depth] = 0;
            turns /= loop->count;
        } else if (turns > 0) {
            for (uint32_t o = 0; o < in->op_count; o++) {
                const struct plan_op *op = &plan->ops[in->first_op + o];
                if (op->kind == PLAN_RECEIVE)
                    continue;
                for (int third = 0; third < 3; third++) {
                    for (size_t d = 0; d < RULE_LOOPS; d++)
                        cursor.loops[d] = counts[d] ? (int64_t)(counts[d] - 1) * third / 2 : 0;
                    slices += turns / 3 * op_slices(walk, op, &cursor);
                }
            }
        }
    }
    return slices;
}

void budget_init(struct walk *walk)
{
    const double limit = param_get(&walk->machine->engine, PARAM_ENGINE_EVENT_LIMIT);
    walk->budget = (struct budget){.limit = limit,
                                   .next = limit < LOOK_EVENTS ? (uint64_t)limit : LOOK_EVENTS,
                                   .watch = walk->job->watch};
}

enum status budget_look(struct walk *walk)
{
    struct budget *budget = &walk->budget;
    const struct ledger *ledger = walk->ledger;
    const uint64_t events = ledger->events - budget->leaped;
    if (budget->slices <= 0)
        budget->slices = plan_slices(walk);
    budget->next = events + LOOK_EVENTS;
    double share = budget->slices > 0 ? (double)ledger->slices / budget->slices : 1;
    share = share < 1 ? share : 1;
    const double all = (double)events / share;
    if ((double)events >= budget->limit || (events >= VERDICT_EVENTS && all > budget->limit)) {
        error_set(
            walk->error, STATUS_INPUT,
            "about %.2g events would have to be gone through one by one (%.2g slices%s), more "
            "than engine.event_limit = %.3g",
            all, budget->slices, walk->fold.kind ? " of the first nodes, which stand for all" : "",
            budget->limit);
        return error_hint(walk->error,
                          "larger engine.slice, fewer nodes or smaller sizes; or raise the limit: "
                          "--set engine.event_limit=%.0e takes about %.0f min at a million events "
                          "a second",
                          all * 1.2, all / 60e6);
    }
    budget->told = budget->watch != NULL;
    if (budget->watch)
        budget->watch->tell(budget->watch->context, walk->job, share < 1 ? share : 0.999, events);
    return STATUS_OK;
}

void budget_end(const struct walk *walk)
{
    const struct budget *budget = &walk->budget;
    if (budget->told)
        budget->watch->tell(budget->watch->context, walk->job, 1,
                            walk->ledger->events - budget->leaped);
}
