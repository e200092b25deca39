/* lockstep.c: see lockstep.h. */
#include "sim/core/lockstep.h"

enum { KINDS = 16 }; /* of transfers; plans that have more go through the queue */

/* Transfers that are alike, one after the other or not: their order does not matter for a sum. */
struct alike {
    const struct timing *timing;
    uint64_t chunks, times;
};

/* All up to the switch, then all down. */
static bool is_switch_pair(const struct plan *plan)
{
    return plan->steps == 2 && plan->op_count == 2 && plan->groups == 1 &&
           plan->ops[0].kind == PLAN_UP && plan->ops[1].kind == PLAN_DOWN;
}

static bool fits(const struct walk *walk)
{
    const struct plan *plan = walk->plan;
    for (size_t i = 0; i < plan->op_count; i++) /* packed parts go with those before them */
        if (plan->ops[i].packed.form != RULE_CONSTANT || plan->ops[i].packed.constant != 0)
            return false;
    return walk->job->accounting == ACCOUNTING_SERIAL && walk->job->walk == WALK_AUTO &&
           walk->fold.kind && walk->ranks == 1 && plan->lanes == 1 && !plan->uses_receives &&
           (!plan_uses_switch(plan) || is_switch_pair(plan));
}

/* No stage asks for a resource twice, and none begins before the last has ended. */
static bool keeps_step(const struct timing *timing)
{
    for (size_t s = 0; s < timing->stage_count; s++) {
        const struct timed_stage *stage = &timing->stages[s];
        const struct timed_use *uses = &timing->uses[stage->first_use];
        if (stage->ahead_ps > 0)
            return false;
        for (uint16_t i = 0; i < stage->use_count; i++)
            for (uint16_t j = 0; j < i; j++)
                if (uses[i].resource == uses[j].resource && uses[i].busy_ps + uses[j].busy_ps > 0)
                    return false;
    }
    return true;
}

/* Count a transfer: 1 counted, 0 it does not fit, -1 error. */
static int count_transfer(struct walk *walk, const struct transfer *transfer, struct alike *alike,
                          size_t *kinds)
{
    double bytes = walk->job->size_B * transfer->count / walk->plan->chunks;
    size_t slot = routes_slot(walk->job->routes, transfer, bytes);
    const struct posting posting = {.cost_s = transfer->op->cost_s};
    const struct timing *timing = walk_timing(walk, slot, bytes, posting);
    if (!timing) {
        if (transfer->op->mechanism && !walk->error->line)
            walk->error->line = transfer->op->line;
        return -1;
    }
    size_t i = 0;
    while (i < *kinds && (alike[i].timing != timing || alike[i].chunks != transfer->count))
        i++;
    if (i == *kinds) {
        if (i == KINDS || !keeps_step(timing))
            return 0;
        alike[(*kinds)++] = (struct alike){timing, transfer->count, 0};
    }
    alike[i].times++;
    return 1;
}

/* All transfers of one rank. */
static int count_all(struct walk *walk, struct alike *alike, size_t *kinds)
{
    const struct plan *plan = walk->plan;
    struct plan_cursor cursor;
    for (plan_first(plan, &cursor); !cursor.done; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        for (uint32_t i = 0; i < in->op_count; i++)
            for (uint32_t index = 0;; index++) {
                struct transfer transfer;
                int found = plan_transfer(plan, &plan->ops[in->first_op + i], &cursor, 0, index,
                                          &transfer, walk->error);
                if (found == 0)
                    break;
                if (found > 0)
                    found = count_transfer(walk, &transfer, alike, kinds);
                if (found <= 0)
                    return found;
            }
    }
    /* In a switch the parts of a message would overlap: each rank sends and gets all of it at once.
     */
    for (size_t i = 0; plan_uses_switch(plan) && i < *kinds; i++)
        if (alike[i].chunks != plan->chunks)
            return 0;
    return 1;
}

/* Book a stage `times` times, all beginning when nothing is busy. Returns how long one takes. */
static int64_t book_stage(struct walk *walk, const struct alike *alike,
                          const struct timed_stage *stage)
{
    struct ledger *ledger = walk->ledger;
    const struct timed_use *uses = &alike->timing->uses[stage->first_use], *last = uses;
    const int64_t times = (int64_t)alike->times;
    int64_t head = 0, finish = 0;
    for (uint16_t i = 0; i < stage->use_count; i++) {
        const struct timed_use *use = &uses[i];
        if (use->end == END_FABRIC) /* the fabric is one switch */
            continue;
        int64_t end = head + use->busy_ps;
        walk->used[use->resource].busy_ps += times * use->busy_ps;
        if (end > finish) {
            finish = end;
            last = use;
        }
        if (i == 0 && stage->has_thread)
            head = stage->handoff_ps;
    }
    if (stage->blocking) /* the thread waits for the stage */
        walk->used[uses[0].resource].busy_ps += times * (finish - uses[0].busy_ps);
    ledger->events += alike->times;
    if (walk->trace.on) { /* as trace.c does at the end of a stage */
        int64_t *software = &ledger->critical[ledger->resource_count];
        software[stage->handoff_category] += times * stage->handoff_ps;
        software[CATEGORY_PCIE_LATENCY] += times * stage->pcie_latency_ps;
        software[CATEGORY_WIRE_LATENCY] += times * stage->wire_latency_ps;
        ledger->critical[last->resource] +=
            times * (last->offset_ps + last->busy_ps - stage->handoff_ps);
    }
    return finish + stage->pcie_latency_ps + stage->wire_latency_ps;
}

int lockstep_run(struct walk *walk)
{
    struct alike alike[KINDS];
    size_t kinds = 0;
    double total = 0;
    if (!fits(walk))
        return 0;
    int counted = count_all(walk, alike, &kinds);
    if (counted <= 0)
        return counted;
    for (size_t i = 0; i < kinds; i++)
        for (size_t s = 0; s < alike[i].timing->stage_count; s++)
            total += (double)alike[i].times * (double)timed_stage_ps(&alike[i].timing->stages[s]);
    if (total > (double)ENGINE_MAX_TIME_PS / 2) /* the queue knows what to say */
        return 0;
    struct ledger *ledger = walk->ledger;
    for (size_t i = 0; i < kinds; i++) {
        ledger->transfers += alike[i].times;
        ledger->slices += alike[i].times;
        walk->slot_chunks[alike[i].timing->slot] += alike[i].times * alike[i].chunks;
        for (size_t s = 0; s < alike[i].timing->stage_count; s++)
            ledger->total_ps +=
                (int64_t)alike[i].times * book_stage(walk, &alike[i], &alike[i].timing->stages[s]);
    }
    return 1;
}
