/* order.c: see order.h. */

#include <stdlib.h>
#include <string.h>

#include "sim/core/order_inside.h"

#define MANY_SLICES 24u /* then the queue, which skips periods, is faster than all of them */

/* ---- slices ---------------------------------------------------------------------------------- */

bool order_comes_later(const struct arrival *a, const struct arrival *b)
{
    if (a->at_ps[0] != b->at_ps[0])
        return a->at_ps[0] > b->at_ps[0];
    const uint64_t x = a->key >> QUEUE_SEQUENCE_BITS, y = b->key >> QUEUE_SEQUENCE_BITS;
    if (x != y)
        return x > y;
    return a->lane != b->lane ? a->lane > b->lane : (uint16_t)(a->key - b->key) < 0x8000;
}

/* What a slice waits for: it goes with the last of these. */
struct start {
    const struct arrival *by;
    bool wakes;
    const int64_t *from_ps; /* so far, but not yet in moving->now_ps; else NULL */
};

static void wait_for(struct order *order, struct moving *moving, struct start *start,
                     const struct arrival *arrival)
{
    if (start->from_ps)
        vector_later(moving->now_ps, start->from_ps, arrival->at_ps, order->width);
    else
        latest(moving->now_ps, arrival->at_ps, order->width);
    start->from_ps = NULL;
    /* A lane that wakes does so after what arrives at the same time. */
    if (start->wakes ? arrival->at_ps[0] >= start->by->at_ps[0]
                     : order_comes_later(arrival, start->by))
        *start = (struct start){arrival, false, NULL};
}

void order_inbox_drop(struct order *order, struct order_inbox *inbox, size_t index)
{
    struct order_receive *gone = &inbox->list[index];
    for (uint32_t i = 0; i < gone->receive.slices; i++)
        if (gone->slices[i].at_ps)
            order_vector_give(order, gone->slices[i].at_ps);
    free(gone->slices);
    *gone = inbox->list[--inbox->count];
}

void order_tidy(struct order *order, uint32_t place)
{
    const uint32_t lanes = order->walk->plan->lanes;
    struct order_inbox *inbox = &order->inboxes[place];
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        const int64_t *last_ps = inbox->list[r].slices[receive->slices - 1].at_ps;
        bool over = last_ps != NULL;
        for (uint32_t lane = 0; lane < lanes && over; lane++)
            for (uint32_t i = 0; i < order->width && over; i++)
                over = last_ps[i] <= order->lanes[place * lanes + lane].free_ps[i];
        if (over)
            order_inbox_drop(order, inbox, r);
    }
}

static bool slice_begin(struct order *order, struct moving *moving)
{
    struct walk *walk = order->walk;
    struct lane *lane = &walk->lanes[moving->lane];
    struct order_lane *mine = &order->lanes[moving->lane];
    struct order_inbox *inbox = &order->inboxes[moving->place];
    struct start start = {&mine->freed, mine->wakes, mine->free_ps};
    if (walk->job->accounting == ACCOUNTING_PIPELINED && mine->window_count >= lane->window)
        wait_for(order, moving, &start,
                 &mine->window[(lane->issued - lane->window) % mine->window_size]);
    const struct arrival *by = NULL;
    size_t used_up[2], used_up_count = 0;
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        if (receive->step >= lane->cursor.step)
            continue;
        uint64_t needed =
            mailroom_needed(receive, &lane->cursor, &lane->transfer, moving->slice, lane->slices);
        if (needed > 0)
            wait_for(order, moving, &start, &inbox->list[r].slices[needed - 1]);
        if (needed == receive->slices && walk->plan->lanes == 1 && used_up_count < 2)
            used_up[used_up_count++] = r;
    }
    if (start.from_ps)
        memcpy(moving->now_ps, start.from_ps, order->width * sizeof(int64_t));
    by = start.by;
    moving->begun = by->cause;
    moving->key = start.wakes ? event_key(WAKE_STAGE, 0, lane->order) : by->key;
    moving->key_lane = start.wakes ? moving->lane : by->lane;
    moving->issued = lane->issued++;
    /* the lane begins nothing before this: what it waited for is over */
    for (size_t i = 0; i < used_up_count; i++)
        order_inbox_drop(order, inbox, used_up[i]);
    if (inbox->count > 8)
        order_tidy(order, moving->place);
    if (inbox->count > ORDER_MANY_RECEIVES) {
        order->why = ORDER_WAITING;
        return false;
    }
    walk->ledger->slices++;
    return true;
}

/* The lane's times when it is free have been written. */
static void lane_freed(struct order_lane *mine, const struct arrival *freed, bool wakes)
{
    mine->freed = *freed;
    mine->freed.at_ps = mine->free_ps;
    mine->wakes = wakes;
}

static bool slice_stage(struct order *order, struct moving *moving, uint32_t stage)
{
    if (stage == 0 && !slice_begin(order, moving))
        return false;
    if (!order_stage(order, moving, stage))
        return false;
    if (stage == 0 && order->walk->job->accounting == ACCOUNTING_PIPELINED) {
        struct order_lane *mine = &order->lanes[moving->lane];
        int64_t *next_ps = moving->next_ps; /* the next stage writes its own */
        moving->next_ps = mine->free_ps;
        mine->free_ps = next_ps;
        lane_freed(
            mine,
            &(struct arrival){.key = moving->key, .lane = moving->key_lane, .cause = moving->next},
            next_ps[0] > moving->booked_ps);
    }
    moving->begun = moving->finish;
    if (stage < moving->timing->stage_count)
        moving->key = event_key(stage, moving->timing->stages[stage].use_count,
                                order->walk->lanes[moving->lane].order | (moving->issued & 0xffff));
    moving->key_lane = moving->lane;
    return true;
}

/* Room for the arrivals of so many slices. Those that were let go of by a narrower window are over.
 */
static bool window_widen(struct order_lane *lane, uint32_t size, uint32_t issued)
{
    if (size <= lane->window_size)
        return true;
    struct arrival *wider = calloc(size, sizeof *wider);
    if (!wider)
        return false;
    for (uint32_t i = 1; i <= lane->window_count; i++)
        wider[(issued - i) % size] = lane->window[(issued - i) % lane->window_size];
    free(lane->window);
    lane->window = wider;
    lane->window_size = size;
    return true;
}

/* Where the slices of a lane take different ways, a later one must not arrive before. */
static bool window_note(struct order *order, const struct moving *moving,
                        const struct arrival *arrival)
{
    const uint32_t width = order->width;
    struct order_lane *mine = &order->lanes[moving->lane];
    if (!window_widen(mine, order->walk->lanes[moving->lane].window, moving->issued))
        return order_no_memory(order), false;
    const uint32_t window = mine->window_size;
    const size_t slot = moving->timing->slot;
    if (mine->window_count > 0 && mine->slot != slot) {
        const int64_t *before = mine->window[(moving->issued + window - 1u) % window].at_ps;
        for (uint32_t i = 0; i < width; i++)
            if (before[i] > moving->now_ps[i]) {
                order->why = "slices of one lane overtake each other on different ways";
                return false;
            }
    }
    struct arrival *place = &mine->window[moving->issued % window];
    int64_t *at_ps = place->at_ps ? place->at_ps : order_vector_take(order);
    if (!at_ps)
        return order_no_memory(order), false;
    memcpy(at_ps, moving->now_ps, width * sizeof(int64_t));
    *place = *arrival;
    place->at_ps = at_ps;
    mine->slot = slot;
    mine->window_count += mine->window_count < window;
    return true;
}

static bool slice_arrives(struct order *order, struct moving *moving, struct order_receive *receive)
{
    struct walk *walk = order->walk;
    struct arrival arrival = {
        .at_ps = moving->now_ps, .key = moving->key, .lane = moving->lane, .cause = moving->finish};
    if (!order->last.at_ps || order_comes_later(&arrival, &order->last)) {
        int64_t *last = order->last.at_ps ? order->last.at_ps : order_vector_take(order);
        if (!last)
            return order_no_memory(order), false;
        last[0] = moving->now_ps[0];
        order->last = arrival;
        order->last.at_ps = last;
    }
    walk->ledger->total_ps = vector_most(moving->now_ps, walk->ledger->total_ps, order->width);
    if (walk->job->accounting == ACCOUNTING_SERIAL) {
        struct order_lane *mine = &order->lanes[moving->lane];
        memcpy(mine->free_ps, moving->now_ps, order->width * sizeof(int64_t));
        lane_freed(mine, &arrival, false);
    } else if (!window_note(order, moving, &arrival))
        return false;
    int64_t *at_ps = order_vector_take(order);
    if (!at_ps)
        return order_no_memory(order), false;
    struct stretch s = {0};
    while (stretch_next(order, moving->apart, (struct strip){0, order->width}, &s))
        memcpy(at_ps + s.to, moving->now_ps + s.from, s.count * sizeof(int64_t));
    receive->slices[moving->slice] = arrival;
    receive->slices[moving->slice].at_ps = at_ps;
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* A place for the slices of a transfer, in its receiver's inbox. */
static bool receive_open(struct order *order, const struct lane *lane)
{
    const struct transfer *arrives = lane_arrives(order->walk, lane);
    struct order_inbox *inbox = &order->inboxes[arrives->to];
    if (inbox->count == inbox->capacity) {
        size_t capacity = inbox->capacity ? 2 * inbox->capacity : 4;
        struct order_receive *grown = realloc(inbox->list, capacity * sizeof *grown);
        if (!grown)
            return order_no_memory(order), false;
        inbox->list = grown;
        inbox->capacity = capacity;
    }
    struct arrival *slices = calloc(lane->slices, sizeof *slices);
    if (!slices)
        return order_no_memory(order), false;
    inbox->list[inbox->count++] =
        (struct order_receive){.receive = {.step = lane->cursor.step,
                                           .op = (uint32_t)(arrives->op - order->walk->plan->ops),
                                           .from = arrives->from,
                                           .edge = arrives->edge,
                                           .chunk = arrives->into,
                                           .count = arrives->count,
                                           .slices = lane->slices},
                               .slices = slices};
    return true;
}

struct order_receive *order_receive_find(struct order *order, const struct lane *lane)
{
    const struct transfer *arrives = lane_arrives(order->walk, lane);
    struct order_inbox *inbox = &order->inboxes[arrives->to];
    const uint32_t op = (uint32_t)(arrives->op - order->walk->plan->ops);
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        if (receive->step == lane->cursor.step && receive->op == op &&
            receive->from == arrives->from && receive->edge == arrives->edge)
            return &inbox->list[r];
    }
    return NULL;
}

/* All ranks' index-th transfers of one operation: those found are `count` of order->moving. */
static enum status op_load(struct order *order, const struct plan_op *op,
                           const struct plan_cursor *cursor, uint32_t index, uint32_t *ret_count)
{
    struct walk *walk = order->walk;
    *ret_count = 0;
    for (uint32_t place = 0; place < walk->ranks; place++) {
        const uint32_t number = place * walk->plan->lanes + op->lane;
        struct lane *lane = &walk->lanes[number];
        int found =
            plan_transfer(walk->plan, op, cursor, place, index, &lane->transfer, walk->error);
        if (found < 0)
            return walk->error->status;
        if (found == 0)
            continue;
        lane->cursor = *cursor;
        enum status status = walk_prepare(walk, lane);
        const uint32_t apart = lane->transfer.to / walk->ranks;
        if (!status)
            status = order->rows ? order_rows_way(order, number, apart)
                                 : order_way(order, number, apart);
        if (status)
            return status;
        if (lane->slices >= MANY_SLICES && walk->job->walk == WALK_AUTO && !order->rows)
            order->why = "transfers have many slices: the queue skips periods";
        if (order->why || walk->fold_broken)
            return STATUS_OK;
        order->sliced = order->sliced || lane->slices > 1;
        order->lanes[number].moved = true;
        if (!receive_open(order, lane))
            return STATUS_NOMEM;
        struct moving *moving = &order->moving[(*ret_count)++];
        moving->lane = number;
        moving->place = place;
        moving->apart = apart;
    }
    return STATUS_OK;
}

static bool op_pass(struct order *order, uint32_t count)
{
    const struct lane *lanes = order->walk->lanes;
    uint32_t slices = 0;
    for (uint32_t i = 0; i < count; i++)
        if (lanes[order->moving[i].lane].slices > slices)
            slices = lanes[order->moving[i].lane].slices;
    for (uint32_t slice = 0; slice < slices; slice++) {
        size_t stages = 0;
        for (uint32_t i = 0; i < count; i++) {
            struct moving *moving = &order->moving[i];
            const struct lane *lane = &lanes[moving->lane];
            moving->slice = slice;
            moving->timing = slice == 0 ? lane->first_timing : lane->timing;
            moving->uses = order->lanes[moving->lane].uses;
            if (slice < lane->slices && moving->timing->stage_count > stages)
                stages = moving->timing->stage_count;
        }
        for (uint32_t stage = 0; stage < stages; stage++)
            for (uint32_t i = 0; i < count; i++) {
                struct moving *moving = &order->moving[i];
                const struct lane *lane = &lanes[moving->lane];
                if (slice >= lane->slices || stage >= moving->timing->stage_count)
                    continue;
                if (!slice_stage(order, moving, stage))
                    return false;
                if (stage + 1 == moving->timing->stage_count &&
                    !slice_arrives(order, moving, order_receive_find(order, lane)))
                    return false;
            }
    }
    return true;
}

static enum status run_steps(struct order *order)
{
    struct walk *walk = order->walk;
    const struct plan *plan = walk->plan;
    struct plan_cursor cursor;
    for (plan_first(plan, &cursor); !cursor.done; plan_next(plan, &cursor)) {
        const struct plan_instruction *in = &plan->program[cursor.at];
        enum status skipped = order_skip(order, &cursor);
        if (skipped)
            return skipped;
        for (uint32_t o = 0; o < in->op_count; o++) {
            const struct plan_op *op = &plan->ops[in->first_op + o];
            uint32_t count = 1;
            for (uint32_t index = 0; count > 0 && (index == 0 || op->edge_count > 0); index++) {
                enum status status = op_load(order, op, &cursor, index, &count);
                if (status || order->why || walk->fold_broken)
                    return status;
                if (!(order->rows ? order_rows_write(order, count) : op_pass(order, count)))
                    return order->why ? STATUS_OK : walk->error->status;
                if (walk->ledger->events - walk->budget.leaped >= walk->budget.next) {
                    status = budget_look(walk);
                    if (status)
                        return status;
                }
                if (walk->ledger->total_ps > ENGINE_MAX_TIME_PS)
                    return error_set(walk->error, STATUS_FAILED, "the run takes more than 53 days");
            }
        }
    }
    walk->last_cause = order->last.cause;
    return STATUS_OK;
}

/* ---- setting up -------------------------------------------------------------------------------
 */

static enum status order_init(struct order *order)
{
    struct walk *walk = order->walk;
    order->resources = calloc(walk->used_count + 1, sizeof *order->resources);
    order->lanes = calloc(walk->lane_count + 1, sizeof *order->lanes);
    order->inboxes = calloc(walk->ranks, sizeof *order->inboxes);
    order->own_at = calloc(walk->ranks, sizeof(struct order_resource *));
    order->moving = calloc(walk->ranks, sizeof *order->moving);
    if (!order->resources || !order->lanes || !order->inboxes || !order->moving || !order->own_at)
        return order_no_memory(order);
    for (size_t i = 0; i < walk->lane_count; i++) {
        struct order_lane *lane = &order->lanes[i];
        lane->free_ps = calloc(order->width, sizeof(int64_t));
        lane->freed = (struct arrival){.at_ps = lane->free_ps, .cause.record = TRACE_NONE};
        if (!lane->free_ps)
            return order_no_memory(order);
    }
    for (uint32_t i = 0; i < walk->ranks; i++) {
        struct moving *moving = &order->moving[i];
        int64_t *vectors = calloc(3u * (size_t)order->width, sizeof *vectors);
        moving->next_ps = calloc(order->width, sizeof *moving->next_ps);
        moving->now_ps = vectors;
        if (!vectors || !moving->next_ps)
            return order_no_memory(order);
        moving->head_ps = vectors + order->width;
        moving->finish_ps = vectors + 2u * (size_t)order->width;
    }
    return STATUS_OK;
}

static void order_free(struct order *order)
{
    const struct walk *walk = order->walk;
    for (size_t i = 0; order->lanes && i < walk->lane_count; i++) {
        struct order_lane *lane = &order->lanes[i];
        for (uint32_t w = 0; w < lane->window_size; w++)
            free(lane->window[w].at_ps);
        free(lane->window);
        free(lane->free_ps);
        free(lane->uses);
    }
    for (uint32_t i = 0; i < walk->ranks; i++) {
        while (order->inboxes && order->inboxes[i].count > 0)
            order_inbox_drop(order, &order->inboxes[i], order->inboxes[i].count - 1);
        if (order->inboxes)
            free(order->inboxes[i].list);
        if (order->moving) {
            free(order->moving[i].next_ps);
            free(order->moving[i].now_ps);
        }
    }
    for (size_t i = 0; order->resources && i < walk->used_count; i++) {
        free(order->resources[i].free_ps);
        free(order->resources[i].meetings);
    }
    for (size_t i = 0; i < order->own_count; i++) {
        free(order->own[i]->free_ps);
        free(order->own[i]->meetings);
        free(order->own[i]);
    }
    for (size_t i = 0; i < order->spare_count; i++)
        free(order->spare[i]);
    order_skip_free(order);
    order_rows_free(order);
    free(order->last.at_ps);
    free(order->spare);
    free(order->own);
    free(order->own_at);
    free(order->resources);
    free(order->lanes);
    free(order->inboxes);
    free(order->moving);
}

enum status order_run(struct walk *walk, uint32_t width, const char **ret_why)
{
    struct order order = {.walk = walk, .width = width};
    *ret_why = NULL;
    if (plan_uses_switch(walk->plan))
        *ret_why = "a switch adds what arrives in any order";
    else if (walk->plan->uses_receives)
        *ret_why = "lanes wait for messages by themselves";
    else if (walk->used_count > walk->first_uplink)
        *ret_why = "nodes meet at the uplinks of the fabric";
    if (*ret_why)
        return STATUS_OK;
    enum status status = order_init(&order);
    if (!status)
        status = order_skip_init(&order);
    if (!status)
        status = order_rows_init(&order);
    if (!status)
        status = run_steps(&order);
    if (!status && order.rows && !order.why && !walk->fold_broken)
        status = order_rows_run(&order);
    *ret_why = order.why;
    order_free(&order);
    return status;
}
