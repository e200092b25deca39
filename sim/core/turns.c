/* turns.c: see turns.h. */
#include "sim/core/turns.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/steady_inside.h"

#define LEAST_TURNS 24u  /* of a loop worth looking at */
#define MOST_LOOKS  256u /* at one that does not repeat */
#define NO_LOOP     UINT32_MAX

enum verdict { NOT_KNOWN, TURNS_ALIKE, TURNS_ALIKE_IN_ONE_SLICE, TURNS_DIFFER };

bool turns_alike(const struct walk *walk, uint32_t loop, bool sliced)
{
    uint8_t *verdict = &walk->engine->verdicts[walk->fold.kind ? loop : walk->plan->length + loop];
    if (*verdict == NOT_KNOWN) {
        bool parts;
        *verdict = !fold_turns(walk->plan, &walk->fold, loop, &parts) ? TURNS_DIFFER
                   : parts                                            ? TURNS_ALIKE_IN_ONE_SLICE
                                                                      : TURNS_ALIKE;
    }
    return *verdict == TURNS_ALIKE || (*verdict == TURNS_ALIKE_IN_ONE_SLICE && !sliced);
}

/* ---- the clock --------------------------------------------------------------------------------
 */

static void start_anew(struct turns *turns)
{
    turns->looked = 0;
    turns->limit = turns->stride = 1;
    turns->then.state.count = 0;
}

enum status turns_init(struct walk *walk)
{
    struct turns *turns = &walk->turns;
    const struct plan *plan = walk->plan;
    turns->clock = STEADY_NO_CLOCK;
    turns->loop = NO_LOOP;
    start_anew(turns);
    if (walk->steady.off || plan->uses_receives)
        return STATUS_OK;
    for (uint32_t i = 0, loop = NO_LOOP; i < plan->length; i++) {
        const struct plan_instruction *in = &plan->program[i];
        if (in->code == PLAN_LOOP)
            loop = i;
        if (in->code == PLAN_END && in->partner == loop &&
            plan->program[loop].count >= LEAST_TURNS) {
            if (!turns->loop_of) {
                turns->loop_of = malloc(plan->length * sizeof *turns->loop_of);
                if (!turns->loop_of)
                    return error_set(walk->error, STATUS_NOMEM, "out of memory");
                memset(turns->loop_of, 0xff, plan->length * sizeof *turns->loop_of);
            }
            for (uint32_t at = loop; at <= i; at++)
                turns->loop_of[at] = loop;
        }
        if (in->code == PLAN_END)
            loop = NO_LOOP;
    }
    return STATUS_OK;
}

void turns_free(struct walk *walk)
{
    struct turns *turns = &walk->turns;
    free(turns->loop_of);
    free(turns->then.state.at);
    free(turns->then.counts.at);
    free(turns->now.state.at);
    free(turns->now.counts.at);
}

void turns_issued(struct walk *walk, uint32_t index)
{
    struct turns *turns = &walk->turns;
    const struct lane *lane = &walk->lanes[index];
    turns->sliced = turns->sliced || lane->slices > 1;
    if (!turns->loop_of)
        return;
    const uint32_t loop = turns->loop_of[lane->cursor.at];
    if (index != turns->clock) {
        const bool stands_still = ++turns->others > 64 + 4 * walk->lane_count;
        if (loop == NO_LOOP || (turns->clock != STEADY_NO_CLOCK && !stands_still))
            return;
        turns->clock = index;
        turns->loop = NO_LOOP;
    }
    turns->others = 0;
    if (loop == NO_LOOP) {
        turns->clock = STEADY_NO_CLOCK;
        return;
    }
    const int64_t number = lane->cursor.loops[walk->plan->program[loop].depth];
    if (turns->loop != loop || number < turns->number)
        start_anew(turns);
    else if (turns->number != number && turns->looked <= MOST_LOOKS)
        turns->due = true;
    turns->loop = loop;
    turns->number = number;
}

/* ---- writing a moment -------------------------------------------------------------------------
 */

/* What all steps and turns are counted from. */
struct base {
    const struct walk *walk;
    struct words *state;
    uint64_t step, first_step; /* the clock's; of the loop */
    int64_t number, last;      /* the clock's turn; the last that anybody is in */
    uint32_t loop, depth;
    bool outside; /* somebody is not in the loop, or holds something from before it */
};

static bool put_step(struct base *base, uint64_t step)
{
    base->outside = base->outside || step < base->first_step;
    return words_put(base->state, (int64_t)(step - base->step));
}

static bool put_cursor(struct base *base, const struct plan_cursor *cursor)
{
    const struct plan_instruction *loop = &base->walk->plan->program[base->loop];
    if (cursor->done || cursor->at <= base->loop || cursor->at >= loop->partner) {
        base->outside = true;
        return true;
    }
    const int64_t number = cursor->loops[base->depth];
    if (number > base->last)
        base->last = number;
    return words_put(base->state, cursor->at) && put_step(base, cursor->step) &&
           words_put(base->state, number - base->number);
}

static int64_t as_word(const void *pointer)
{
    return (int64_t)(uintptr_t)pointer;
}

static bool put_transfer(struct base *base, const struct transfer *transfer)
{
    return words_put(base->state, as_word(transfer->op)) &&
           words_put(base->state, (int64_t)((uint64_t)transfer->from << 32 | transfer->to)) &&
           words_put(base->state, (int64_t)((uint64_t)transfer->count << 32 | transfer->edge));
}

static bool put_lane(struct base *base, const struct lane *lane)
{
    struct words *state = base->state;
    return words_put(state, (int64_t)lane->loaded << 1 | (int64_t)lane->waking << 2 |
                                (int64_t)lane->waits << 3 | (int64_t)lane->on_the_way << 8) &&
           put_cursor(base, &lane->cursor) &&
           words_put(state, (int64_t)((uint64_t)lane->op << 32 | lane->index)) &&
           words_put(state, (int64_t)((uint64_t)lane->slice << 32 | lane->slices)) &&
           words_put(state, as_word(lane->timing)) &&
           words_put(state, as_word(lane->first_timing)) && put_transfer(base, &lane->transfer) &&
           steady_put_time(base->walk, state, lane->free_ps, &lane->cause) &&
           (!lane->waking || steady_put_cause(base->walk, state, &lane->cause));
}

static bool put_flow(void *owner, const struct flow *flow)
{
    struct base *base = owner;
    const struct walk *walk = base->walk;
    struct words *state = base->state;
    return words_put(state, flow->lane) && put_step(base, flow->step) &&
           put_transfer(base, &flow->transfer) && words_put(state, as_word(flow->timing)) &&
           words_put(state, (int64_t)((uint64_t)flow->slice << 32 | flow->slices)) &&
           words_put(state, (int64_t)(uint16_t)(walk->lanes[flow->lane].issued - flow->order)) &&
           steady_put_progress(walk, state, flow);
}

static bool put_inbox(struct base *base, const struct inbox *inbox)
{
    struct words *state = base->state;
    bool fits = words_put(state, (int64_t)inbox->count) && put_cursor(base, &inbox->horizon);
    for (size_t i = 0; i < inbox->count && fits && !base->outside; i++) {
        const struct receive *r = &inbox->receives[i];
        base->outside = base->outside || r->missing;
        fits = put_step(base, r->step) && words_put(state, (int64_t)r->op << 32 | r->from) &&
               words_put(state, (int64_t)r->edge << 1 | (int64_t)r->expected) &&
               words_put(state, (int64_t)((uint64_t)r->slices << 32 | r->arrived));
    }
    return fits;
}

static bool put_counts(const struct walk *walk, struct words *counts)
{
    bool fits = words_put(counts, (int64_t)walk->ledger->transfers) &&
                words_put(counts, (int64_t)walk->ledger->slices) &&
                words_put(counts, (int64_t)walk->ledger->events);
    for (size_t i = 0; i < walk->used_count && fits; i++)
        fits = words_put(counts, walk->used[i].busy_ps);
    for (size_t i = walk->first_uplink; i < walk->used_count && fits; i++)
        fits = words_put(counts, (int64_t)walk->uplink_chunks[i - walk->first_uplink]);
    for (size_t i = 0; i < walk->job->routes->slot_count && fits; i++)
        if (walk->slot_chunks[i])
            fits = words_put(counts, (int64_t)walk->slot_chunks[i]);
    return fits;
}

/* False: out of memory. base->outside: this moment cannot be compared. */
static bool write_moment(const struct walk *walk, struct moment *moment, struct base *base)
{
    struct words *state = &moment->state;
    const struct plan_cursor *clock = &walk->lanes[walk->turns.clock].cursor;
    state->count = moment->counts.count = 0;
    moment->now_ps = walk->now;
    moment->records = walk->trace.count;
    const uint32_t loop = walk->turns.loop, depth = walk->plan->program[loop].depth;
    const uint64_t steps = walk->plan->program[loop].partner - loop - 1;
    const int64_t number = clock->loops[depth];
    *base =
        (struct base){.walk = walk,
                      .state = state,
                      .step = clock->step,
                      .first_step = clock->step - (uint64_t)number * steps - (clock->at - loop - 1),
                      .number = number,
                      .last = number,
                      .loop = loop,
                      .depth = depth};
    bool fits = words_put(state, walk->trace.on) && words_put(state, walk->ahead_ps);
    for (size_t i = 0; i < walk->lane_count && fits && !base->outside; i++)
        fits = put_lane(base, &walk->lanes[i]);
    for (uint32_t i = 0; i < walk->mailroom.boxes && fits && !base->outside; i++)
        fits = put_inbox(base, &walk->mailroom.inbox[i]);
    if (base->outside || !fits)
        return fits;
    fits = steady_flows(walk, put_flow, base) && steady_put_used(walk, state);
    return fits && put_counts(walk, &moment->counts);
}

/* ---- going on later ---------------------------------------------------------------------------
 */

struct leap {
    int64_t by_ps, turns;
    uint64_t steps;
    uint32_t depth;
};

static void cursor_leap(struct plan_cursor *cursor, const struct leap *leap)
{
    cursor->step += leap->steps;
    cursor->loops[leap->depth] += leap->turns;
}

/* The same transfer as before, at a cursor so many turns later. */
static enum status transfer_leap(const struct walk *walk, const struct plan_cursor *cursor,
                                 struct transfer *transfer)
{
    const struct transfer before = *transfer;
    return plan_transfer(walk->plan, before.op, cursor, before.from, before.edge, transfer,
                         walk->error) > 0
               ? STATUS_OK
               : STATUS_INPUT;
}

/* The cursor of a step of the loop, so many turns later. */
static struct plan_cursor cursor_of(const struct walk *walk, const struct base *base,
                                    const struct leap *leap, uint64_t step)
{
    const uint64_t steps = walk->plan->program[base->loop].partner - base->loop - 1;
    struct plan_cursor cursor = walk->lanes[walk->turns.clock].cursor; /* other loops */
    cursor.step = step + leap->steps;
    cursor.at = base->loop + 1 + (uint32_t)((step - base->first_step) % steps);
    cursor.loops[base->depth] = (int64_t)((step - base->first_step) / steps) + leap->turns;
    return cursor;
}

static enum status inbox_leap(struct walk *walk, const struct base *base, const struct leap *leap,
                              struct inbox *inbox)
{
    cursor_leap(&inbox->horizon, leap);
    for (size_t i = 0; i < inbox->count; i++) {
        struct receive *receive = &inbox->receives[i];
        struct plan_cursor cursor = cursor_of(walk, base, leap, receive->step);
        struct transfer transfer = {
            .op = &walk->plan->ops[receive->op], .from = receive->from, .edge = receive->edge};
        if (transfer_leap(walk, &cursor, &transfer))
            return STATUS_INPUT;
        receive->step += leap->steps;
        receive->chunk = transfer.into;
    }
    return STATUS_OK;
}

static enum status lanes_leap(struct walk *walk, const struct base *base, const struct leap *leap)
{
    enum status status = STATUS_OK;
    for (uint32_t i = 0; i < walk->flow_count && !status; i++) {
        struct flow *flow = &walk->flows[i];
        if (!flow->live)
            continue;
        struct plan_cursor cursor = cursor_of(walk, base, leap, flow->step);
        status = transfer_leap(walk, &cursor, &flow->transfer);
        flow->step += leap->steps;
        flow->order += leap->steps << ORDER_STEP_SHIFT;
        flow->event_ps += leap->by_ps;
        flow->finish_ps += leap->by_ps;
        flow->next_ps += leap->by_ps;
    }
    for (size_t i = 0; i < walk->lane_count && !status; i++) {
        struct lane *lane = &walk->lanes[i];
        cursor_leap(&lane->cursor, leap);
        lane->order += leap->steps << ORDER_STEP_SHIFT;
        lane->free_ps += lane->free_ps == NOT_YET ? 0 : leap->by_ps;
        if (lane->loaded)
            status = transfer_leap(walk, &lane->cursor, &lane->transfer);
        if (lane->loaded && walk->fold.kind && !status &&
            fold_twin(&walk->fold, walk->plan, &lane->cursor, &lane->transfer, &lane->arrives,
                      walk->error) <= 0)
            status = STATUS_INPUT;
    }
    return status;
}

static void counts_leap(struct walk *walk, int64_t times)
{
    const int64_t *then = walk->turns.then.counts.at, *now = walk->turns.now.counts.at;
    struct ledger *ledger = walk->ledger;
    const uint64_t slices = (uint64_t)((now[1] - then[1]) * times);
    const uint64_t events = (uint64_t)((now[2] - then[2]) * times);
    ledger->transfers += (uint64_t)((now[0] - then[0]) * times);
    ledger->slices += slices;
    ledger->skipped += slices;
    ledger->events += events;
    walk->budget.leaped += events;
    then += 3;
    now += 3;
    for (size_t i = 0; i < walk->used_count; i++)
        walk->used[i].busy_ps += (*now++ - *then++) * times;
    for (size_t i = walk->first_uplink; i < walk->used_count; i++)
        walk->uplink_chunks[i - walk->first_uplink] += (uint64_t)((*now++ - *then++) * times);
    for (size_t i = 0; i < walk->job->routes->slot_count; i++)
        if (walk->slot_chunks[i])
            walk->slot_chunks[i] += (uint64_t)((*now++ - *then++) * times);
}

static enum status leap_over(struct walk *walk, const struct base *base, int64_t times)
{
    struct turns *turns = &walk->turns;
    const struct moment *then = &turns->then, *now = &turns->now;
    const struct leap leap = {.by_ps = (now->now_ps - then->now_ps) * times,
                              .turns = (turns->now_number - turns->then_number) * times,
                              .steps = (turns->now_step - turns->then_step) * (uint64_t)times,
                              .depth = base->depth};
    if (!queue_shift(&walk->queue, leap.by_ps, leap.steps << ORDER_STEP_SHIFT) ||
        !trace_skip(&walk->trace, now->records - then->records, (uint64_t)times))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    enum status status = STATUS_OK; /* inboxes first: they count from where the clock was */
    for (uint32_t i = 0; i < walk->mailroom.boxes && !status; i++)
        status = inbox_leap(walk, base, &leap, &walk->mailroom.inbox[i]);
    if (!status)
        status = lanes_leap(walk, base, &leap);
    for (size_t i = 0; i < walk->used_count; i++)
        walk->used[i].free_ps += leap.by_ps;
    for (uint32_t rank = 0; rank < walk->privates.ranks; rank++)
        for (size_t i = 0; i < walk->privates.lists[rank].count; i++)
            walk->privates.lists[rank].uses[i].free_ps += leap.by_ps;
    counts_leap(walk, times);
    walk->now += leap.by_ps;
    walk->root_key += leap.steps << ORDER_STEP_SHIFT;
    walk->ledger->total_ps += leap.by_ps;
    turns->number += leap.turns;
    return status;
}

/* ---- when -------------------------------------------------------------------------------------
 */

/* How often the period fits: until somebody gets to the last turn, or time or the numbers of steps
 * in the events' keys run over. */
static int64_t how_often(const struct walk *walk, const struct base *base)
{
    const struct turns *turns = &walk->turns;
    const int64_t by_ps = turns->now.now_ps - turns->then.now_ps;
    const int64_t left = walk->plan->program[base->loop].count - 1 - base->last;
    const uint64_t body = walk->plan->program[base->loop].partner - base->loop - 1;
    const uint64_t last_step = base->first_step + (uint64_t)(base->last + 1) * body;
    const uint64_t edge = ((base->first_step >> ORDER_STEP_BITS) + 1) << ORDER_STEP_BITS;
    int64_t times = left / (turns->now_number - turns->then_number);
    if (by_ps > 0 && times > (ENGINE_MAX_TIME_PS - walk->now) / by_ps)
        times = (ENGINE_MAX_TIME_PS - walk->now) / by_ps;
    const int64_t fit =
        last_step > edge ? 0 : (int64_t)((edge - last_step) / (turns->now_step - turns->then_step));
    return times < fit ? times : fit;
}

/* Periods of slices that were skipped must lie in this period of turns as a whole. */
static bool repeats_inside(const struct walk *walk)
{
    const struct trace *trace = &walk->trace;
    const uint32_t from = walk->turns.then.records;
    for (size_t i = trace->repeat_count; trace->on && i-- > 0;)
        if (trace->repeats[i].from > from &&
            trace->repeats[i].from - trace->repeats[i].period < from)
            return false;
    return true;
}

static bool can_be_compared(const struct walk *walk)
{
    for (size_t i = 0; i < walk->mailroom.index_count; i++)
        if (!mailroom_every_turn(&walk->mailroom, i))
            return false;
    return turns_alike(walk, walk->turns.loop, walk->turns.sliced);
}

enum status turns_look(struct walk *walk, bool *ret_leapt)
{
    struct turns *turns = &walk->turns;
    struct moment *then = &turns->then, *now = &turns->now;
    const uint64_t events = walk->ledger->events - walk->budget.leaped;
    struct base base;
    *ret_leapt = turns->due = false;
    if (!can_be_compared(walk)) {
        turns->looked = MOST_LOOKS + 1;
        return STATUS_OK;
    }
    if (++turns->looked % turns->stride != 0)
        return STATUS_OK;
    if (then->state.count > STEADY_SMALL_STATE &&
        then->state.count > (events - turns->events) * STEADY_WORDS_PER_EVENT) {
        turns->stride *= 2;
        return STATUS_OK;
    }
    turns->events = events;
    if (!write_moment(walk, now, &base))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    turns->now_step = base.step;
    turns->now_number = base.number;
    if (base.outside) {
        then->state.count = 0;
        turns->limit = turns->looked + 1;
        return STATUS_OK;
    }
    if (then->state.count == now->state.count && then->counts.count == now->counts.count &&
        memcmp(then->state.at, now->state.at, now->state.count * sizeof *now->state.at) == 0 &&
        repeats_inside(walk)) {
        const int64_t times = how_often(walk, &base);
        if (times > 0) {
            enum status status = leap_over(walk, &base, times);
            start_anew(turns);
            *ret_leapt = true;
            return status;
        }
    }
    if (then->state.count == 0 || turns->looked >= turns->limit) {
        const struct moment swap = *then;
        *then = *now;
        *now = swap;
        turns->then_step = turns->now_step;
        turns->then_number = turns->now_number;
        turns->limit = 2 * turns->looked;
    }
    return STATUS_OK;
}
