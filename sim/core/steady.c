/* steady.c: see steady.h. */
#include "sim/core/steady.h"

#include <stdlib.h>
#include <string.h>

#include "sim/core/steady_inside.h"

#define LEAST_SLICES 24u /* of a transfer worth looking at */

void steady_init(struct steady *steady, bool on)
{
    memset(steady, 0, sizeof *steady);
    steady->off = !on;
    steady->clock = STEADY_NO_CLOCK;
    steady->stride = 1;
}

void steady_free(struct steady *steady)
{
    free(steady->then.state.at);
    free(steady->then.counts.at);
    free(steady->now.state.at);
    free(steady->now.counts.at);
}

static void restart(struct steady *steady)
{
    steady->ticks = 0;
    steady->limit = 1;
    steady->then.state.count = 0;
}

void steady_issued(struct walk *walk, uint32_t index)
{
    struct steady *steady = &walk->steady;
    const struct lane *lane = &walk->lanes[index];
    if (lane->slice == 1)
        turns_issued(walk, index);
    if (index == steady->clock) {
        if (lane->slice == 1)
            restart(steady);
        if (!lane->loaded || lane->slices < LEAST_SLICES)
            steady->clock = STEADY_NO_CLOCK;
        else
            steady->due = true;
        steady->others = 0;
        return;
    }
    bool stands_still = ++steady->others > 64 + 4 * walk->lane_count;
    if (!lane->loaded || lane->slices < LEAST_SLICES ||
        (steady->clock != STEADY_NO_CLOCK && !stands_still))
        return;
    steady->clock = index;
    steady->others = 0;
    restart(steady);
}

/* ---- writing a moment ----------------------------------------------------------------------- */

bool words_grow(struct words *words)
{
    size_t capacity = words->capacity ? 2 * words->capacity : 256;
    int64_t *grown = realloc(words->at, capacity * sizeof *grown);
    if (!grown)
        return false;
    words->at = grown;
    words->capacity = capacity;
    return true;
}

bool steady_put_cause(const struct walk *walk, struct words *words, const struct trace_cause *cause)
{
    if (!walk->trace.on)
        return true;
    int64_t age = cause->record == TRACE_NONE ? -1 : (int64_t)walk->trace.count - cause->record;
    return words_put(words, age) &&
           words_put(words, (int64_t)cause->exit << 32 | (int64_t)cause->hops << 16 | cause->use);
}

/* Whether anybody can still have to wait for that time. */
static bool matters(const struct walk *walk, int64_t time_ps)
{
    return time_ps > walk->now - walk->ahead_ps;
}

bool steady_put_time(const struct walk *walk, struct words *words, int64_t time_ps,
                     const struct trace_cause *cause)
{
    if (time_ps == NOT_YET || !matters(walk, time_ps))
        return words_put(words, time_ps == NOT_YET ? NOT_YET : -NOT_YET);
    return words_put(words, time_ps - walk->now) && steady_put_cause(walk, words, cause);
}

static bool put_lane(const struct walk *walk, struct moment *moment, const struct lane *lane)
{
    struct words *state = &moment->state;
    return words_put(state, (int64_t)lane->done | (int64_t)lane->loaded << 1 |
                                (int64_t)lane->waking << 2 | (int64_t)lane->on_the_way << 3) &&
           words_put(state, (int64_t)lane->cursor.step) &&
           words_put(state, (int64_t)((uint64_t)lane->op << 32 | lane->index)) &&
           steady_put_time(walk, state, lane->free_ps, &lane->cause) &&
           (!lane->waking || steady_put_cause(walk, state, &lane->cause)) &&
           words_put(&moment->counts, lane->slice);
}

static bool same_transfer(const struct flow *flow, const struct lane *lane)
{
    return lane->loaded && flow->step == lane->cursor.step &&
           flow->transfer.op == lane->transfer.op && flow->transfer.edge == lane->transfer.edge;
}

struct writing {
    const struct walk *walk;
    struct moment *moment;
};

bool steady_put_progress(const struct walk *walk, struct words *words, const struct flow *flow)
{
    const struct flow_trace *trace = &walk->flow_traces[flow - walk->flows];
    return words_put(words, (int64_t)flow->stage << 32 | (int64_t)flow->hop << 16 | flow->hops) &&
           words_put(words, flow->event_ps - walk->now) &&
           words_put(words, flow->finish_ps - walk->now) &&
           words_put(words, flow->next_ps - walk->now) &&
           steady_put_cause(walk, words, &trace->finish) &&
           steady_put_cause(walk, words, &trace->next) &&
           (!walk->trace.on || words_put(words, (int64_t)walk->trace.count - trace->record));
}

static bool put_flow(void *owner, const struct flow *flow)
{
    const struct walk *walk = ((const struct writing *)owner)->walk;
    struct moment *moment = ((const struct writing *)owner)->moment;
    struct words *state = &moment->state;
    const struct lane *lane = &walk->lanes[flow->lane];
    int64_t slice = flow->slice;
    moment->first = moment->first || flow->slice == 0;
    if (same_transfer(flow, lane))
        slice = -(int64_t)(lane->slice - flow->slice);
    return words_put(state, flow->lane) && words_put(state, slice) &&
           words_put(state, (int64_t)flow->step) && steady_put_progress(walk, state, flow);
}

bool steady_flows(const struct walk *walk, bool (*put)(void *owner, const struct flow *flow),
                  void *owner)
{
    /* the first and next in a lane's list, by number + 1; lists are built from the newest on */
    uint32_t *links = calloc(walk->lane_count + walk->flow_count, sizeof *links);
    if (!links)
        return false;
    uint32_t *next = links + walk->lane_count;
    for (uint32_t i = 0; i < walk->flow_count; i++) {
        const struct flow *flow = &walk->flows[i];
        if (!flow->live)
            continue;
        uint32_t *link = &links[flow->lane];
        while (*link && (uint16_t)(walk->flows[*link - 1].order - flow->order) < 0x8000)
            link = &next[*link - 1];
        next[i] = *link;
        *link = i + 1;
    }
    bool fits = true;
    for (size_t lane = 0; lane < walk->lane_count && fits; lane++)
        for (uint32_t i = links[lane]; i && fits; i = next[i - 1])
            fits = put(owner, &walk->flows[i - 1]);
    free(links);
    return fits;
}

bool steady_put_used(const struct walk *walk, struct words *words)
{
    bool fits = true;
    for (size_t i = 0; i < walk->used_count && fits; i++)
        if (matters(walk, walk->used[i].free_ps))
            fits = words_put(words, (int64_t)i) &&
                   steady_put_time(walk, words, walk->used[i].free_ps, &walk->used_causes[i]);
    for (uint32_t rank = 0; rank < walk->privates.ranks && fits; rank++)
        for (size_t i = 0; i < walk->privates.lists[rank].count && fits; i++) {
            const struct private_use *own = &walk->privates.lists[rank].uses[i];
            if (matters(walk, own->free_ps))
                fits = words_put(words, (int64_t)(rank * 64u + i)) &&
                       steady_put_time(walk, words, own->free_ps, &own->cause);
        }
    return fits;
}

static bool put_inbox(struct moment *moment, const struct inbox *inbox)
{
    struct words *state = &moment->state;
    bool fits =
        words_put(state, (int64_t)inbox->count) && words_put(state, (int64_t)inbox->horizon.step);
    for (size_t i = 0; i < inbox->count && fits; i++) {
        const struct receive *r = &inbox->receives[i];
        fits = words_put(state, (int64_t)r->step) &&
               words_put(state, (int64_t)r->op << 32 | r->from) &&
               words_put(state, (int64_t)r->edge << 1 | (int64_t)r->expected) &&
               words_put(state, r->slices) && words_put(&moment->counts, r->arrived);
        /* what some members have sent and others have not */
        for (uint32_t s = r->arrived; r->missing && s < r->top && fits; s++)
            fits = words_put(state, r->missing[s]);
        fits = fits && words_put(state, r->missing ? (int64_t)r->top - r->arrived : -1);
    }
    return fits;
}

static bool write_moment(const struct walk *walk, struct moment *moment)
{
    struct words *state = &moment->state, *counts = &moment->counts;
    state->count = counts->count = 0;
    moment->now_ps = walk->now;
    moment->records = walk->trace.count;
    moment->first = false;
    bool fits = words_put(state, walk->trace.on) && words_put(state, walk->ahead_ps) &&
                words_put(counts, (int64_t)walk->ledger->slices) &&
                words_put(counts, (int64_t)walk->ledger->events);
    for (size_t i = 0; i < walk->lane_count && fits; i++)
        fits = put_lane(walk, moment, &walk->lanes[i]);
    struct writing writing = {walk, moment};
    fits = fits && steady_flows(walk, put_flow, &writing) && steady_put_used(walk, state);
    for (size_t i = 0; i < walk->used_count && fits; i++)
        fits = words_put(counts, walk->used[i].busy_ps);
    for (uint32_t i = 0; i < walk->mailroom.boxes && fits; i++)
        fits = put_inbox(moment, &walk->mailroom.inbox[i]);
    return fits;
}

/* ---- how long it goes on like that ----------------------------------------------------------- */

static void at_most(uint64_t *times, uint64_t limit)
{
    if (limit < *times)
        *times = limit;
}

/* How often the period may repeat before `lane`, which issues `by` slices in it, would find
 * something else about a receive of which `more` slices arrive in it. */
static void limit_by_receive(const struct lane *lane, const struct receive *receive, uint64_t by,
                             uint64_t more, uint64_t *times)
{
    const uint64_t slices = lane->slices, slice = lane->slice, arrived = receive->arrived;
    const struct transfer *transfer = &lane->transfer;
    if (more > 0) /* the last slice makes an end */
        at_most(times, (receive->slices - 1 - arrived) / more);
    if (receive->step >= lane->cursor.step)
        return;
    const uint64_t needed =
        mailroom_needed(receive, &lane->cursor, transfer, lane->slice, lane->slices);
    if (by == 0) {
        if (arrived - more >= needed)
            return;
        at_most(times, arrived >= needed ? 0 : more ? (needed - 1 - arrived) / more : *times);
        return;
    }
    const uint64_t low = (uint64_t)receive->chunk * slices;
    const uint64_t high = low + (uint64_t)receive->count * slices;
    const uint64_t start = (uint64_t)transfer->chunk * slices, count = transfer->count;
    const uint64_t part = (uint64_t)receive->count * slices; /* of the receive's slices */
    if (receive->slices > 0 && start + count * (slice - by + 1) > low &&
        start + count * (slice + 1) <= high && count * by * receive->slices == more * part) {
        at_most(times, (high - start - count * (slice + 1)) / (count * by));
        return;
    }
    /* else everything that is read must have been there from the beginning of the period on */
    uint64_t least = 0, most = (slices - 1 - slice) / by;
    at_most(&most, *times);
    if (needed > arrived - more) {
        *times = 0;
        return;
    }
    while (least < most) {
        uint64_t middle = (least + most + 1) / 2;
        uint32_t at = (uint32_t)(slice + middle * by);
        if (mailroom_needed(receive, &lane->cursor, transfer, at, lane->slices) <= arrived - more)
            least = middle;
        else
            most = middle - 1;
    }
    at_most(times, least);
}

/* Counts come in the order of write_moment: two, the lanes', the resources', the receives'. */
static const int64_t *lane_counts(const struct moment *moment)
{
    return moment->counts.at + 2;
}

static const int64_t *used_counts(const struct walk *walk, const struct moment *moment)
{
    return lane_counts(moment) + walk->lane_count;
}

static const int64_t *receive_counts(const struct walk *walk, const struct moment *moment)
{
    return used_counts(walk, moment) + walk->used_count;
}

static uint64_t repeats(const struct walk *walk)
{
    const struct moment *then = &walk->steady.then, *now = &walk->steady.now;
    const int64_t period = now->now_ps - then->now_ps;
    uint64_t times = period > 0 ? (uint64_t)((ENGINE_MAX_TIME_PS - walk->now) / period) : 0;
    const int64_t *before = lane_counts(then), *after = lane_counts(now);
    for (size_t i = 0; i < walk->lane_count; i++)
        if (walk->lanes[i].loaded && after[i] > before[i])
            at_most(&times, (uint64_t)(walk->lanes[i].slices - 1 - walk->lanes[i].slice) /
                                (uint64_t)(after[i] - before[i]));
    const int64_t *arrived_before = receive_counts(walk, then);
    const int64_t *arrived_after = receive_counts(walk, now);
    size_t *first = calloc((size_t)walk->mailroom.boxes + 1, sizeof *first);
    if (!first)
        return 0;
    for (uint32_t box = 0; box < walk->mailroom.boxes; box++)
        first[box + 1] = first[box] + walk->mailroom.inbox[box].count;
    for (size_t i = 0; i < walk->lane_count && times > 0; i++) {
        const struct lane *lane = &walk->lanes[i];
        const struct inbox *inbox = &walk->mailroom.inbox[lane->box];
        for (size_t r = 0; lane->loaded && r < inbox->count; r++)
            limit_by_receive(lane, &inbox->receives[r], (uint64_t)(after[i] - before[i]),
                             (uint64_t)(arrived_after[first[lane->box] + r] -
                                        arrived_before[first[lane->box] + r]),
                             &times);
    }
    for (uint32_t box = 0; box < walk->mailroom.boxes; box++)
        for (size_t r = 0; r < walk->mailroom.inbox[box].count; r++) {
            int64_t more = arrived_after[first[box] + r] - arrived_before[first[box] + r];
            const struct receive *receive = &walk->mailroom.inbox[box].receives[r];
            if (more > 0)
                at_most(&times,
                        (uint64_t)(receive->slices - 1 - receive->arrived) / (uint64_t)more);
        }
    free(first);
    return times;
}

/* ---- going on later -------------------------------------------------------------------------- */

static void skip_receive(struct receive *receive, uint32_t by)
{
    if (receive->missing && by > 0) {
        for (uint32_t s = receive->top; s-- > receive->arrived;)
            receive->missing[s + by] = receive->missing[s];
        /* those before are complete and not looked at any more */
        receive->top += by;
    }
    receive->arrived += by;
}

static enum status skip(struct walk *walk, uint64_t times)
{
    struct steady *steady = &walk->steady;
    const struct moment *then = &steady->then, *now = &steady->now;
    const int64_t by_ps = (now->now_ps - then->now_ps) * (int64_t)times;
    const int64_t n = (int64_t)times;
    const int64_t *before = lane_counts(then), *after = lane_counts(now);
    if (!queue_shift(&walk->queue, by_ps, 0) ||
        !trace_skip(&walk->trace, now->records - then->records, times))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    for (uint32_t i = 0; i < walk->flow_count; i++) {
        struct flow *flow = &walk->flows[i];
        if (!flow->live)
            continue;
        if (same_transfer(flow, &walk->lanes[flow->lane]))
            flow->slice += (uint32_t)((after[flow->lane] - before[flow->lane]) * n);
        flow->event_ps += by_ps;
        flow->finish_ps += by_ps;
        flow->next_ps += by_ps;
    }
    for (size_t i = 0; i < walk->lane_count; i++) {
        struct lane *lane = &walk->lanes[i];
        lane->slice += (uint32_t)((after[i] - before[i]) * n);
        lane->free_ps += lane->free_ps == NOT_YET ? 0 : by_ps;
    }
    before = used_counts(walk, then);
    after = used_counts(walk, now);
    for (size_t i = 0; i < walk->used_count; i++) {
        walk->used[i].free_ps += by_ps;
        walk->used[i].busy_ps += (after[i] - before[i]) * n;
    }
    for (uint32_t rank = 0; rank < walk->privates.ranks; rank++)
        for (size_t i = 0; i < walk->privates.lists[rank].count; i++)
            walk->privates.lists[rank].uses[i].free_ps += by_ps;
    before = receive_counts(walk, then);
    after = receive_counts(walk, now);
    for (uint32_t box = 0; box < walk->mailroom.boxes; box++)
        for (size_t r = 0; r < walk->mailroom.inbox[box].count; r++, before++, after++)
            skip_receive(&walk->mailroom.inbox[box].receives[r],
                         (uint32_t)((*after - *before) * n));
    uint64_t slices = (uint64_t)(now->counts.at[0] - then->counts.at[0]) * times;
    walk->ledger->slices += slices;
    walk->ledger->skipped += slices;
    const uint64_t events = (uint64_t)(now->counts.at[1] - then->counts.at[1]) * times;
    walk->ledger->events += events;
    walk->budget.leaped += events;
    walk->now += by_ps;
    walk->ledger->total_ps += by_ps;
    return STATUS_OK;
}

enum status steady_look(struct walk *walk)
{
    struct steady *steady = &walk->steady;
    struct moment *then = &steady->then, *now = &steady->now;
    if (walk->turns.due) {
        bool leapt;
        enum status status = turns_look(walk, &leapt);
        if (status || leapt)
            restart(steady);
        if (status || leapt)
            return status;
    }
    if (!steady->due)
        return STATUS_OK;
    steady->due = false;
    if (++steady->ticks % steady->stride != 0)
        return STATUS_OK;
    if (then->state.count > STEADY_SMALL_STATE &&
        then->state.count > steady->events * STEADY_WORDS_PER_EVENT) {
        steady->stride *= 2;
        return STATUS_OK;
    }
    steady->events = 0;
    if (!write_moment(walk, now))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    bool same =
        then->state.count == now->state.count && !then->first &&
        memcmp(then->state.at, now->state.at, now->state.count * sizeof *now->state.at) == 0;
    uint64_t times = same ? repeats(walk) : 0;
    if (times > 0) {
        enum status status = skip(walk, times);
        restart(steady);
        return status;
    }
    if (then->state.count == 0 || then->first || steady->ticks >= steady->limit) {
        const struct moment swap = *then;
        *then = *now;
        *now = swap;
        steady->limit = 2 * steady->ticks;
    }
    return STATUS_OK;
}
