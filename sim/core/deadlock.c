/* deadlock.c: see deadlock.h. */
#include "sim/core/deadlock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/inbox.h"

#define SHOWN 4 /* ranks of a circle that the sentence names */

/* Lanes as in the engine: of each rank, then the switch's, one for each rank it sends to. */
struct strand {
    uint32_t rank; /* of the switch's strands: the rank it sends to */
    uint8_t number;
    bool of_switch, done, waits_for_message, loaded, queued;
    struct plan_cursor cursor;
    uint32_t op, index;
    struct transfer transfer; /* if loaded */
    uint32_t from;            /* if it waits for a message: whose */
};

struct untimed {
    const struct plan *plan;
    struct mailroom mailroom;
    struct strand *strands;
    size_t count;
    size_t *queue; /* strands that may go on; a ring as long as there are strands */
    size_t first, waiting;
    struct error *error;
};

static void enqueue(struct untimed *run, size_t index)
{
    struct strand *strand = &run->strands[index];
    if (strand->queued || strand->done)
        return;
    strand->queued = true;
    run->queue[(run->first + run->waiting++) % run->count] = index;
}

/* ---- going on ------------------------------------------------------------------------------- */

/* 1 there is a transfer, 0 the strand is done or waits for a message, -1 error. */
static int load(struct untimed *run, struct strand *strand)
{
    const struct plan *plan = run->plan;
    while (!strand->cursor.done) {
        const struct plan_instruction *in = &plan->program[strand->cursor.at];
        for (; strand->op < in->op_count; strand->op++, strand->index = 0) {
            const struct plan_op *op = &plan->ops[in->first_op + strand->op];
            if (op->lane != strand->number || strand->of_switch != (op->kind == PLAN_DOWN))
                continue;
            int waits =
                plan_receive(plan, op, &strand->cursor, strand->rank, &strand->from, run->error);
            int taken = waits > 0 ? mailroom_take(&run->mailroom, strand->rank, strand->from,
                                                  op->lane, run->error)
                                  : 1;
            strand->waits_for_message = taken == 0;
            if (waits < 0 || taken <= 0)
                return waits < 0 ? -1 : taken;
            int found = plan_transfer(plan, op, &strand->cursor, strand->rank, strand->index++,
                                      &strand->transfer, run->error);
            if (found != 0) {
                strand->loaded = found > 0;
                return found;
            }
        }
        strand->op = strand->index = 0;
        plan_next(plan, &strand->cursor);
    }
    strand->done = true;
    return 0;
}

static uint32_t box_of(const struct untimed *run, const struct strand *strand)
{
    return strand->of_switch ? run->plan->ranks + strand->transfer.group : strand->rank;
}

static enum status deliver(struct untimed *run, const struct strand *strand)
{
    const struct plan *plan = run->plan;
    const struct transfer *transfer = &strand->transfer;
    int more = mailroom_arrive(&run->mailroom, transfer, strand->cursor.step, 0, 1, run->error);
    bool to_switch = transfer->to == TRANSFER_SWITCH;
    size_t lanes = plan->lanes, ranks = plan->ranks;
    size_t from = to_switch ? ranks * lanes : (size_t)transfer->to * lanes;
    size_t end = to_switch ? run->count : from + lanes;
    for (size_t i = from; more > 0 && i < end; i++)
        enqueue(run, i);
    return more < 0 ? STATUS_INPUT : STATUS_OK;
}

static enum status go_on(struct untimed *run, struct strand *strand)
{
    for (;;) {
        int loaded = strand->loaded ? 1 : load(run, strand);
        if (loaded <= 0)
            return loaded < 0 ? STATUS_INPUT : STATUS_OK;
        int ready = mailroom_ready(&run->mailroom, box_of(run, strand), &strand->cursor,
                                   &strand->transfer, 0, 1, run->error);
        if (ready <= 0)
            return ready < 0 ? STATUS_INPUT : STATUS_OK;
        strand->loaded = false;
        enum status status = deliver(run, strand);
        if (status)
            return status;
    }
}

static enum status run_all(struct untimed *run)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < run->count; i++)
        enqueue(run, i);
    while (run->waiting > 0 && !status) {
        struct strand *strand = &run->strands[run->queue[run->first]];
        run->first = (run->first + 1) % run->count;
        run->waiting--;
        strand->queued = false;
        status = go_on(run, strand);
    }
    return status;
}

/* ---- who waits for whom --------------------------------------------------------------------- */

/* What a strand waits for: another strand, and the step in which that sends. NO_STRAND: nobody
 * sends it. */
struct wait {
    size_t strand;
    uint64_t step;
};
#define NO_STRAND SIZE_MAX

/* The next message of `from` to `to` in a lane, from where the sender stands. */
static struct wait next_message(const struct untimed *run, uint32_t from, uint32_t to, uint8_t lane)
{
    const struct plan *plan = run->plan;
    size_t sender = (size_t)from * plan->lanes + lane;
    struct plan_cursor cursor = run->strands[sender].cursor;
    struct transfer transfer;
    for (; !cursor.done; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        for (uint32_t i = 0; i < in->op_count; i++) {
            const struct plan_op *op = &plan->ops[in->first_op + i];
            for (uint32_t n = 0; op->lane == lane && op->kind == PLAN_SEND; n++) {
                if (plan_transfer(plan, op, &cursor, from, n, &transfer, NULL) <= 0)
                    break;
                if (transfer.to == to)
                    return (struct wait){sender, cursor.step};
            }
        }
    }
    return (struct wait){NO_STRAND, 0};
}

static struct wait waits_for(const struct untimed *run, size_t index)
{
    const struct strand *strand = &run->strands[index];
    if (strand->waits_for_message)
        return next_message(run, strand->from, strand->rank, strand->number);
    const struct receive *receive =
        mailroom_blocker(&run->mailroom, box_of(run, strand), &strand->cursor, &strand->transfer);
    if (!receive)
        return (struct wait){NO_STRAND, 0};
    uint8_t lane = run->plan->ops[receive->op].lane;
    size_t from = receive->from;
    if (receive->from == TRANSFER_SWITCH) /* its strand for this rank */
        from = (size_t)run->plan->ranks + strand->rank;
    if (strand->of_switch) { /* the first member that has not sent */
        for (from = 0; from < run->plan->ranks; from++) {
            const struct strand *member = &run->strands[from * run->plan->lanes + lane];
            if (!member->done && member->cursor.step <= receive->step)
                break;
        }
    }
    return (struct wait){from * run->plan->lanes + lane, receive->step};
}

static const char *who(const struct untimed *run, size_t index, char *buf, size_t size)
{
    if (run->strands[index].of_switch)
        snprintf(buf, size, "the switch");
    else
        snprintf(buf, size, "rank %u", run->strands[index].rank);
    return buf;
}

static void tell(const struct untimed *run, size_t start, struct deadlock *ret)
{
    char name[32], other[32];
    const struct strand *first = &run->strands[start];
    size_t length = 0, at = start, size = sizeof ret->sentence;
    ret->step = first->cursor.step;
    ret->rank = first->rank;
    ret->line = run->plan->ops[run->plan->program[first->cursor.at].first_op + first->op].line;
    struct wait wait = waits_for(run, start);
    who(run, start, name, sizeof name);
    if (wait.strand == NO_STRAND) {
        snprintf(ret->sentence, size,
                 "In step %llu %s waits for a message of rank %u that is never sent.",
                 (unsigned long long)first->cursor.step + 1, name, first->from);
        return;
    }
    int used = snprintf(ret->sentence, size, "Deadlock: %s", name);
    do {
        unsigned long long step = (unsigned long long)run->strands[at].cursor.step + 1;
        if (length++ < SHOWN)
            used += snprintf(ret->sentence + used, size - (size_t)used,
                             "%s waits in step %llu for what %s sends in step %llu",
                             length > 1 ? ", which" : "", step,
                             who(run, wait.strand, other, sizeof other),
                             (unsigned long long)wait.step + 1);
        at = wait.strand;
        wait = waits_for(run, at);
    } while (at != start);
    if (length > SHOWN)
        snprintf(ret->sentence + used, size - (size_t)used,
                 ", and so on: a circle of %zu that ends at %s.", length, name);
    else
        snprintf(ret->sentence + used, size - (size_t)used, ".");
}

/* Follow the waiting from the first strand that is left, into the circle, or to the one that waits
 * for what nobody sends; of a circle the least strand is told first. */
static enum status explain(const struct untimed *run, size_t stuck, struct deadlock *ret)
{
    bool *seen = calloc(run->count, sizeof *seen);
    if (!seen)
        return error_set(run->error, STATUS_NOMEM, "out of memory");
    size_t at = stuck;
    while (!seen[at]) {
        seen[at] = true;
        struct wait wait = waits_for(run, at);
        if (wait.strand == NO_STRAND)
            break;
        at = wait.strand;
    }
    size_t least = at;
    for (struct wait wait = waits_for(run, at); wait.strand != NO_STRAND && wait.strand != at;
         wait = waits_for(run, wait.strand))
        least = wait.strand < least ? wait.strand : least;
    free(seen);
    tell(run, least, ret);
    return STATUS_OK;
}

static enum status untimed_init(struct untimed *run, const struct plan *plan, struct error *error)
{
    static const struct fold all = {.kind = FOLD_NONE};
    memset(run, 0, sizeof *run);
    run->plan = plan;
    run->error = error;
    enum status status = mailroom_init(&run->mailroom, plan, &all, error);
    if (status)
        return status;
    run->count = (size_t)plan->ranks * plan->lanes * (plan->groups ? 2 : 1);
    run->strands = calloc(run->count + 1, sizeof *run->strands);
    run->queue = calloc(run->count + 1, sizeof *run->queue);
    if (!run->strands || !run->queue)
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < run->count; i++) {
        uint32_t owner = (uint32_t)(i / plan->lanes);
        run->strands[i].of_switch = owner >= plan->ranks;
        run->strands[i].rank = owner % plan->ranks;
        run->strands[i].number = (uint8_t)(i % plan->lanes);
        plan_first(plan, &run->strands[i].cursor);
    }
    return STATUS_OK;
}

enum status deadlock_find(const struct plan *plan, struct deadlock *ret_deadlock,
                          struct error *error)
{
    struct untimed run;
    struct error local;
    memset(&local, 0, sizeof local);
    memset(ret_deadlock, 0, sizeof *ret_deadlock);
    if (!plan->uses_receives)
        return STATUS_OK;
    enum status status = untimed_init(&run, plan, error ? error : &local);
    if (!status)
        status = run_all(&run);
    for (size_t i = 0; i < run.count && !status && !ret_deadlock->found; i++) {
        if (run.strands[i].done)
            continue;
        ret_deadlock->found = true;
        status = explain(&run, i, ret_deadlock);
    }
    mailroom_free(&run.mailroom);
    free(run.strands);
    free(run.queue);
    return status;
}
