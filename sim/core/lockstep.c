/* lockstep.c: see lockstep.h. */
#include "sim/core/lockstep.h"

#include <string.h>

/* Transfers that take the same time, one after the other or not: their order does not matter for a
 * sum. */
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

static bool plan_fits(const struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++) /* packed parts go with those before them */
        if (plan->ops[i].packed.form != RULE_CONSTANT || plan->ops[i].packed.constant != 0)
            return false;
    return plan->lanes == 1 && !plan->uses_receives &&
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

/* Whether two transfers of rank 0, the only one of its node, take the same time on any machine. */
static bool same_kind(const struct transfer *a, const struct transfer *b)
{
    return a->count == b->count && a->op->kind == b->op->kind &&
           a->op->mechanism == b->op->mechanism &&
           memcmp(&a->op->cost_s, &b->op->cost_s, sizeof a->op->cost_s) == 0 &&
           (a->to == a->from) == (b->to == b->from);
}

static bool count_transfer(struct lockstep *known, const struct transfer *transfer)
{
    size_t i = known->count;
    while (i > 0 && !same_kind(&known->kinds[i - 1].transfer, transfer))
        i--;
    if (i == 0) {
        if (known->count == LOCKSTEP_KINDS)
            return false;
        known->kinds[known->count] = (struct lockstep_kind){.transfer = *transfer};
        i = ++known->count;
    }
    known->kinds[i - 1].times++;
    return true;
}

/* All transfers of one rank: 1 counted, 0 there are too many kinds, -1 error. */
static int count_all(const struct plan *plan, struct lockstep *known, struct error *error)
{
    struct plan_cursor cursor;
    for (plan_first(plan, &cursor); !cursor.done; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        for (uint32_t i = 0; i < in->op_count; i++)
            for (uint32_t index = 0;; index++) {
                struct transfer transfer;
                int found = plan_transfer(plan, &plan->ops[in->first_op + i], &cursor, 0, index,
                                          &transfer, error);
                if (found < 0)
                    return -1;
                if (found == 0)
                    break;
                if (!count_transfer(known, &transfer))
                    return 0;
            }
    }
    /* In a switch the parts of a message would overlap: each rank sends and gets all of it at once.
     */
    for (size_t i = 0; plan_uses_switch(plan) && i < known->count; i++)
        if (known->kinds[i].transfer.count != plan->chunks)
            return 0;
    return 1;
}

/* What the plan alone says, once: 1 it fits, 0 it does not, -1 error. */
static int learn(struct walk *walk)
{
    struct lockstep *known = &walk->engine->lockstep;
    if (known->plan == walk->plan)
        return known->fits;
    known->count = 0;
    int counted = plan_fits(walk->plan) ? count_all(walk->plan, known, walk->error) : 0;
    if (counted < 0)
        return -1;
    known->plan = walk->plan;
    known->fits = counted == 1;
    return counted;
}

/* How long each kind takes on this machine: 1 all fit, 0 one does not, -1 error. */
static int time_all(struct walk *walk, struct alike *alike, size_t *ret_count)
{
    const struct lockstep *known = &walk->engine->lockstep;
    *ret_count = 0;
    for (size_t k = 0; k < known->count; k++) {
        const struct transfer *transfer = &known->kinds[k].transfer;
        double bytes = walk->job->size_B * transfer->count / walk->plan->chunks;
        size_t slot = routes_slot(walk->job->routes, transfer, bytes);
        const struct posting posting = {.cost_s = transfer->op->cost_s};
        const struct timing *timing = walk_timing(walk, slot, bytes, posting);
        if (!timing) {
            if (transfer->op->mechanism && !walk->error->line)
                walk->error->line = transfer->op->line;
            return -1;
        }
        if (!keeps_step(timing))
            return 0;
        alike[(*ret_count)++] = (struct alike){timing, transfer->count, known->kinds[k].times};
    }
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
        head += use->after_ps;
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
    struct alike alike[LOCKSTEP_KINDS];
    size_t kinds;
    double total = 0;
    if (walk->job->accounting != ACCOUNTING_SERIAL || walk->job->walk != WALK_AUTO ||
        !walk->fold.kind || walk->ranks != 1 || machine_kind_count(walk->machine) > 1)
        return 0;
    int fits = learn(walk);
    if (fits > 0)
        fits = time_all(walk, alike, &kinds);
    if (fits <= 0)
        return fits;
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
