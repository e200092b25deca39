/* order_skip.c: turns of a loop that repeat, in a run without a queue.
 *
 * Where the turns of a loop differ only in which chunks are used, all along together (fold_turns),
 * what a turn does follows from the state at its beginning, relative to the time from which on
 * lanes are free. Where that equals the state some turns before, those turns repeat until the loop
 * ends. As in steady.h, but between steps.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/core/order_inside.h"

#define LEAST_TURNS 24u /* of a loop worth looking at */
#define MOST_TURNS                                                                                 \
    256u /* that are looked at before the loop is taken as one that never repeats                  \
          */

struct turn {
    struct words state, counts;
    int64_t low_ps; /* no lane of the loop begins anything before */
    int64_t number;
    uint64_t step;
    uint32_t records;
    bool outside; /* what was received before the loop still matters */
};

struct rounds {
    uint64_t first_step; /* of the loop */
    uint64_t looked, limit;
    struct turn then, now;
};

enum status order_skip_init(struct order *order)
{
    if (order->width > 1 || order->walk->job->walk != WALK_AUTO)
        return STATUS_OK;
    order->rounds = calloc(1, sizeof *order->rounds);
    return order->rounds ? STATUS_OK : order_no_memory(order);
}

void order_skip_free(struct order *order)
{
    struct rounds *rounds = order->rounds;
    if (!rounds)
        return;
    free(rounds->then.state.at);
    free(rounds->then.counts.at);
    free(rounds->now.state.at);
    free(rounds->now.counts.at);
    free(rounds);
}

/* ---- writing down the beginning of a turn ---------------------------------------------------- */

static bool put_cause(const struct order *order, struct turn *turn, const struct trace_cause *cause)
{
    const struct trace *trace = &order->walk->trace;
    if (!trace->on)
        return true;
    int64_t age = cause->record == TRACE_NONE ? -1 : (int64_t)trace->count - cause->record;
    return words_put(&turn->state, age) &&
           words_put(&turn->state, (int64_t)cause->exit << 32 | cause->use);
}

/* The place of an event among those of its time, with steps and slices counted from now. */
static bool put_key(const struct order *order, struct turn *turn, uint64_t key, uint32_t lane)
{
    const uint64_t step = (turn->step - (key >> ORDER_STEP_SHIFT)) & ORDER_STEP_MASK;
    const uint64_t slice = (order->walk->lanes[lane].issued - key) & 0xffff;
    const uint64_t rest = key & ~(ORDER_STEP_MASK << ORDER_STEP_SHIFT | 0xffff);
    return words_put(&turn->state, (int64_t)(rest | step << ORDER_STEP_SHIFT | slice)) &&
           words_put(&turn->state, lane);
}

static bool put_arrival(const struct order *order, struct turn *turn, const struct arrival *arrival)
{
    if (arrival->at_ps[0] < turn->low_ps)
        return words_put(&turn->state, -NOT_YET);
    return words_put(&turn->state, arrival->at_ps[0] - turn->low_ps) &&
           put_key(order, turn, arrival->key, arrival->lane) &&
           put_cause(order, turn, &arrival->cause);
}

static bool put_lane(const struct order *order, struct turn *turn, uint32_t index)
{
    const struct order_lane *lane = &order->lanes[index];
    const uint32_t issued = order->walk->lanes[index].issued;
    if (!lane->moved)
        return true;
    bool fits = words_put(&turn->state, index) && words_put(&turn->state, lane->wakes) &&
                words_put(&turn->state, (int64_t)lane->slot) &&
                words_put(&turn->state, lane->window_count) &&
                put_arrival(order, turn, &lane->freed);
    for (uint32_t i = 1; i <= lane->window_count && fits; i++)
        fits = put_arrival(order, turn, &lane->window[(issued - i) % lane->window_size]);
    return fits;
}

static bool matters(const struct order *order, const struct turn *turn,
                    const struct order_resource *resource)
{
    return resource->free_ps && resource->free_ps[0] > turn->low_ps - order->walk->ahead_ps;
}

static bool put_resource(const struct order *order, struct turn *turn, size_t index,
                         const struct order_resource *resource)
{
    if (!matters(order, turn, resource))
        return true;
    return words_put(&turn->state, (int64_t)index) &&
           words_put(&turn->state, resource->free_ps[0] - turn->low_ps) &&
           words_put(&turn->state,
                     (int64_t)((uint64_t)resource->user.lane << 32 | resource->user.apart)) &&
           words_put(&turn->state, (int64_t)(resource->user.slot << 16 | resource->user.use)) &&
           words_put(&turn->state, resource->user.last_ps) &&
           put_cause(order, turn, &resource->cause);
}

static bool put_receive(const struct order *order, struct turn *turn,
                        const struct order_receive *from)
{
    const struct receive *receive = &from->receive;
    turn->outside = turn->outside || receive->step < order->rounds->first_step;
    bool fits = words_put(&turn->state, (int64_t)(turn->step - receive->step)) &&
                words_put(&turn->state, (int64_t)((uint64_t)receive->op << 32 | receive->from)) &&
                words_put(&turn->state, receive->edge) && words_put(&turn->state, receive->slices);
    for (uint32_t i = 0; i < receive->slices && fits; i++)
        fits = put_arrival(order, turn, &from->slices[i]);
    return fits;
}

static bool put_counts(const struct order *order, struct turn *turn)
{
    const struct walk *walk = order->walk;
    struct words *counts = &turn->counts;
    bool fits = words_put(counts, (int64_t)walk->ledger->transfers) &&
                words_put(counts, (int64_t)walk->ledger->slices) &&
                words_put(counts, (int64_t)walk->ledger->events);
    for (size_t i = 0; i < walk->used_count && fits; i++)
        fits = words_put(counts, walk->used[i].busy_ps);
    for (size_t i = 0; i < walk->job->routes->slot_count && fits; i++)
        if (walk->slot_chunks[i])
            fits = words_put(counts, (int64_t)walk->slot_chunks[i]);
    return fits;
}

/* False: out of memory. */
static bool write_turn(struct order *order, const struct plan_cursor *cursor, int64_t number,
                       struct turn *turn)
{
    const struct walk *walk = order->walk;
    turn->state.count = turn->counts.count = 0;
    turn->number = number;
    turn->step = cursor->step;
    turn->records = walk->trace.count;
    turn->outside = false;
    turn->low_ps = INT64_MAX;
    for (size_t i = 0; i < walk->lane_count; i++)
        if (order->lanes[i].moved && order->lanes[i].free_ps[0] < turn->low_ps)
            turn->low_ps = order->lanes[i].free_ps[0];
    bool fits = words_put(&turn->state, walk->trace.on) &&
                words_put(&turn->state, walk->ledger->total_ps - turn->low_ps) &&
                (!order->last.at_ps || put_arrival(order, turn, &order->last));
    for (uint32_t i = 0; i < walk->lane_count && fits; i++)
        fits = put_lane(order, turn, i);
    for (size_t i = 0; i < walk->used_count && fits; i++)
        fits = put_resource(order, turn, i, &order->resources[i]);
    for (size_t i = 0; i < order->own_count && fits; i++)
        fits = put_resource(order, turn, walk->used_count + i, order->own[i]);
    for (uint32_t place = 0; place < walk->ranks && fits; place++) {
        order_tidy(order, place);
        fits = words_put(&turn->state, (int64_t)order->inboxes[place].count);
        for (size_t r = 0; r < order->inboxes[place].count && fits; r++)
            fits = put_receive(order, turn, &order->inboxes[place].list[r]);
    }
    return fits && put_counts(order, turn);
}

/* ---- going on later -------------------------------------------------------------------------- */

struct leap {
    int64_t by_ps;
    uint64_t steps;
    const struct plan_cursor *cursor; /* before */
    uint32_t depth;
    int64_t turns;
};

static void arrival_leap(struct arrival *arrival, const struct leap *leap)
{
    const uint64_t step = ((arrival->key >> ORDER_STEP_SHIFT) + leap->steps) & ORDER_STEP_MASK;
    arrival->key =
        (arrival->key & ~(ORDER_STEP_MASK << ORDER_STEP_SHIFT)) | step << ORDER_STEP_SHIFT;
    arrival->at_ps[0] += leap->by_ps;
}

static enum status receive_leap(struct order *order, struct order_receive *from,
                                const struct leap *leap, uint64_t steps_per_turn)
{
    const struct plan *plan = order->walk->plan;
    struct receive *receive = &from->receive;
    struct plan_cursor cursor = *leap->cursor;
    struct transfer transfer;
    cursor.loops[leap->depth] =
        leap->turns + (int64_t)((receive->step - order->rounds->first_step) / steps_per_turn);
    receive->step += leap->steps;
    cursor.step = receive->step;
    if (plan_transfer(plan, &plan->ops[receive->op], &cursor, receive->from, receive->edge,
                      &transfer, order->walk->error) <= 0)
        return STATUS_INPUT;
    receive->chunk = transfer.into;
    for (uint32_t i = 0; i < receive->slices; i++)
        arrival_leap(&from->slices[i], leap);
    return STATUS_OK;
}

static void counts_leap(struct order *order, int64_t times)
{
    struct walk *walk = order->walk;
    const int64_t *then = order->rounds->then.counts.at, *now = order->rounds->now.counts.at;
    const uint64_t slices = (uint64_t)((now[1] - then[1]) * times);
    walk->ledger->transfers += (uint64_t)((now[0] - then[0]) * times);
    walk->ledger->slices += slices;
    walk->ledger->skipped += slices;
    walk->ledger->events += (uint64_t)((now[2] - then[2]) * times);
    walk->budget.leaped += (uint64_t)((now[2] - then[2]) * times);
    then += 3;
    now += 3;
    for (size_t i = 0; i < walk->used_count; i++)
        walk->used[i].busy_ps += (*now++ - *then++) * times;
    for (size_t i = 0; i < walk->job->routes->slot_count; i++)
        if (walk->slot_chunks[i]) {
            walk->slot_chunks[i] += (uint64_t)((*now - *then) * times);
            now++;
            then++;
        }
}

static enum status leap_over(struct order *order, struct plan_cursor *cursor, uint32_t depth,
                             int64_t times)
{
    struct walk *walk = order->walk;
    const struct turn *then = &order->rounds->then, *now = &order->rounds->now;
    const uint64_t steps = now->step - then->step;
    const int64_t turns = now->number - then->number;
    const struct leap leap = {.by_ps = (now->low_ps - then->low_ps) * times,
                              .steps = steps * (uint64_t)times,
                              .cursor = cursor,
                              .depth = depth,
                              .turns = turns * times};
    if (!trace_skip(&walk->trace, now->records - then->records, (uint64_t)times))
        return order_no_memory(order);
    for (size_t i = 0; i < walk->lane_count; i++) {
        struct order_lane *lane = &order->lanes[i];
        if (!lane->moved)
            continue;
        arrival_leap(&lane->freed, &leap); /* its time is lane->free_ps */
        const uint32_t issued = walk->lanes[i].issued;
        for (uint32_t w = 1; w <= lane->window_count; w++)
            arrival_leap(&lane->window[(issued - w) % lane->window_size], &leap);
    }
    for (size_t i = 0; i < walk->used_count; i++)
        if (matters(order, now, &order->resources[i]))
            order->resources[i].free_ps[0] += leap.by_ps;
    for (size_t i = 0; i < order->own_count; i++)
        if (matters(order, now, order->own[i]))
            order->own[i]->free_ps[0] += leap.by_ps;
    for (uint32_t place = 0; place < walk->ranks; place++)
        for (size_t r = 0; r < order->inboxes[place].count; r++) {
            enum status status =
                receive_leap(order, &order->inboxes[place].list[r], &leap, steps / (uint64_t)turns);
            if (status)
                return status;
        }
    if (order->last.at_ps)
        arrival_leap(&order->last, &leap);
    walk->ledger->total_ps += leap.by_ps;
    counts_leap(order, times);
    cursor->loops[depth] += leap.turns;
    cursor->step += leap.steps;
    return STATUS_OK;
}

/* ---- when --------------------------------------------------------------------------------------
 */

enum status order_skip(struct order *order, struct plan_cursor *cursor)
{
    struct rounds *rounds = order->rounds;
    const struct plan *plan = order->walk->plan;
    if (!rounds || cursor->at == 0 || plan->program[cursor->at - 1].code != PLAN_LOOP)
        return STATUS_OK;
    const struct plan_instruction *in = &plan->program[cursor->at - 1];
    const int64_t number = cursor->loops[in->depth];
    if (number == 0) {
        rounds->first_step = cursor->step;
        rounds->looked = 0;
        rounds->limit = 1;
        rounds->then.state.count = 0;
        for (size_t i = 0; i < order->walk->lane_count; i++)
            order->lanes[i].moved = false;
        return STATUS_OK;
    }
    if (in->count < LEAST_TURNS || in->count - number < 3 || rounds->looked > MOST_TURNS ||
        !turns_alike(order->walk, cursor->at - 1, order->sliced))
        return STATUS_OK;
    struct turn *then = &rounds->then, *now = &rounds->now;
    rounds->looked++;
    if (!write_turn(order, cursor, number, now))
        return order_no_memory(order);
    const size_t size = now->state.count * sizeof *now->state.at;
    if (then->state.count == now->state.count && then->counts.count == now->counts.count &&
        !then->outside && memcmp(then->state.at, now->state.at, size) == 0) {
        int64_t times = (in->count - 1 - number) / (number - then->number);
        const int64_t by_ps = now->low_ps - then->low_ps;
        if (by_ps > 0 && times > (ENGINE_MAX_TIME_PS - order->walk->ledger->total_ps) / by_ps)
            times = (ENGINE_MAX_TIME_PS - order->walk->ledger->total_ps) / by_ps;
        rounds->looked = MOST_TURNS + 1u; /* what is left is less than a period */
        return times > 0 ? leap_over(order, cursor, in->depth, times) : STATUS_OK;
    }
    if (then->state.count == 0 || rounds->looked >= rounds->limit) {
        const struct turn swap = *then;
        *then = *now;
        *now = swap;
        rounds->limit = 2 * rounds->looked;
    }
    return STATUS_OK;
}
