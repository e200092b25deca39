/* order.c: see order.h. */
#include "sim/core/order.h"

#include <stdlib.h>
#include <string.h>

#define MANY_SLICES   24u  /* then the queue, which skips periods, is faster than all of them */
#define MANY_RECEIVES 256u /* of one rank at once */

/* A resource of one rank's node, or one that a lane or a pair has for itself. */
struct order_resource {
    int64_t *free_ps; /* vector; NULL: not used yet */
    int64_t last_ps;  /* the last service */
    uint32_t lane, apart;
    size_t slot;           /* lane, way, */
    uint16_t use;          /* and where on it: who used it last */
    uint32_t place, owner; /* of what someone has for himself */
    uint16_t number;
    struct used *used;
    struct trace_cause cause;
};

/* An event that may let a slice go: its time (of the first element) and what comes first then. */
struct arrival {
    int64_t *at_ps; /* vector */
    uint64_t key;
    uint32_t lane;
    struct trace_cause cause;
};

struct order_receive {
    struct receive receive; /* its slices all arrive */
    struct arrival *slices;
};

struct order_inbox {
    struct order_receive *list;
    size_t count, capacity;
};

/* What a lane has been doing. */
struct order_lane {
    int64_t *free_ps; /* vector: the next slice may start */
    struct arrival freed;
    bool wakes;               /* it is free some time after the stage was booked */
    struct arrival *window;   /* the arrivals of the last slices, in turn */
    uint32_t window_count;    /* slices so far, at most walk->window */
    size_t slot;              /* of the last slice */
    const struct timing *way; /* that `uses` are of, to that place */
    uint32_t to, apart;
    struct order_resource **uses;
};

/* A slice on its way, with vectors. */
struct moving {
    uint32_t lane, place, apart, slice;
    const struct timing *timing;
    uint64_t key; /* of the event that let it do the last thing it did */
    uint32_t key_lane;
    uint32_t issued; /* slices of the lane before it */
    int64_t *now_ps, *head_ps, *finish_ps, *next_ps, *booked_ps;
    uint32_t record;
    struct trace_cause begun, finish, next;
};

struct order {
    struct walk *walk;
    uint32_t width;
    struct order_resource *resources; /* by place in walk->used */
    struct order_resource **own;
    size_t own_count;
    struct order_lane *lanes;
    struct order_inbox *inboxes;
    struct moving *moving;
    int64_t **spare; /* vectors */
    size_t spare_count, spare_capacity;
    struct arrival last;
    const char *why;
};

/* ---- vectors --------------------------------------------------------------------------------- */

static enum status no_memory(struct order *order)
{
    return error_set(order->walk->error, STATUS_NOMEM, "out of memory");
}

static int64_t *vector_take(struct order *order)
{
    if (order->spare_count > 0)
        return order->spare[--order->spare_count];
    return malloc(order->width * sizeof(int64_t));
}

static void vector_give(struct order *order, int64_t *vector)
{
    if (order->spare_count == order->spare_capacity) {
        size_t capacity = order->spare_capacity ? 2 * order->spare_capacity : 64;
        int64_t **grown = realloc(order->spare, capacity * sizeof *grown);
        if (!grown) {
            free(vector);
            return;
        }
        order->spare = grown;
        order->spare_capacity = capacity;
    }
    order->spare[order->spare_count++] = vector;
}

/* Elements `from` .. `from` + `count` - 1 as seen `apart` units further on. */
struct stretch {
    uint32_t from, to, count;
};

/* The next stretch of elements that stay together; false after the last. Begin with zeros. */
static bool stretch_next(const struct order *order, uint32_t apart, struct stretch *stretch)
{
    const uint32_t width = order->width, from = stretch->from + stretch->count;
    if (from >= width)
        return false;
    stretch->from = from;
    if (width == 1) {
        stretch->to = 0;
        stretch->count = 1;
    } else if (order->walk->fold.kind == FOLD_XOR) {
        stretch->to = from ^ apart;
        stretch->count = apart ? apart & -apart : width;
    } else {
        stretch->to = from < width - apart ? from + apart : from - (width - apart);
        stretch->count = from < width - apart ? width - apart - from : width - from;
    }
    return true;
}

static void latest(int64_t *ret, const int64_t *other, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ret[i] = ret[i] > other[i] ? ret[i] : other[i];
}

/* ---- who uses what --------------------------------------------------------------------------- */

static struct order_resource *resource_own(struct order *order, uint32_t place, uint16_t number,
                                           uint32_t owner, struct used *used)
{
    for (size_t i = 0; i < order->own_count; i++)
        if (order->own[i]->place == place && order->own[i]->number == number &&
            order->own[i]->owner == owner)
            return order->own[i];
    struct order_resource **grown =
        realloc(order->own, (order->own_count + 1) * sizeof *order->own);
    if (grown)
        order->own = grown;
    struct order_resource *own = grown ? calloc(1, sizeof *own) : NULL;
    if (!own)
        return NULL;
    *own = (struct order_resource){.place = place, .number = number, .owner = owner, .used = used};
    return order->own[order->own_count++] = own;
}

/* The resources of a way, found once for as long as the lane keeps to it. */
static enum status way_find(struct order *order, uint32_t index, uint32_t apart)
{
    struct walk *walk = order->walk;
    const struct lane *lane = &walk->lanes[index];
    struct order_lane *mine = &order->lanes[index];
    const struct transfer *arrives = &lane->arrives;
    const struct timing *timing = lane->timing; /* a first timing has the same uses */
    if (mine->way == timing && mine->to == arrives->to && mine->apart == apart)
        return STATUS_OK;
    struct order_resource **uses = realloc(mine->uses, (timing->use_count + 1) * sizeof *uses);
    if (!uses)
        return no_memory(order);
    mine->uses = uses;
    const uint32_t ends[2] = {arrives->from % walk->ranks, arrives->to};
    for (size_t i = 0; i < timing->use_count; i++) {
        const struct timed_use *use = &timing->uses[i];
        const uint32_t place = ends[use->end == END_SRC ? 0 : 1];
        size_t at = (size_t)(place / walk->ports) * walk->resources + use->resource;
        uses[i] = &order->resources[at];
        uses[i]->used = &walk->used[at];
        if (!use->queues && use->busy_ps > 0) {
            uint32_t owner = walk_owner(walk, index, arrives, timing, use->end == END_SRC ? 0 : 1,
                                        use->resource);
            uses[i] = resource_own(order, place, use->resource, owner, &walk->used[at]);
            if (!uses[i])
                return no_memory(order);
        }
        if ((use->queues || use->busy_ps > 0) && !uses[i]->free_ps) {
            uses[i]->free_ps = calloc(order->width, sizeof(int64_t));
            if (!uses[i]->free_ps)
                return no_memory(order);
            uses[i]->lane = UINT32_MAX;
        }
    }
    mine->way = timing;
    mine->to = arrives->to;
    mine->apart = apart;
    return STATUS_OK;
}

/* Whether slices so far have begun their service before each of these asks. */
static bool asks_in_order(const struct order *order, const struct order_resource *resource,
                          const struct moving *moving, bool at_once, uint32_t apart)
{
    struct stretch s = {0};
    while (stretch_next(order, apart, &s))
        for (uint32_t i = 0; i < s.count; i++) {
            int64_t asks = moving->now_ps[s.from + i];
            if (!at_once && moving->head_ps[s.from + i] > asks)
                asks = moving->head_ps[s.from + i];
            if (asks <= resource->free_ps[s.to + i] - resource->last_ps)
                return false;
        }
    return true;
}

/* Serve all elements: from head or when free, for `busy_ps`; the head goes on `handoff_ps` later.
 */
static void serve(int64_t *head_ps, int64_t *free_ps, int64_t *finish_ps, int64_t busy_ps,
                  int64_t handoff_ps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t start = head_ps[i] > free_ps[i] ? head_ps[i] : free_ps[i];
        int64_t end = start + busy_ps;
        free_ps[i] = end;
        finish_ps[i] = end > finish_ps[i] ? end : finish_ps[i];
        head_ps[i] = start + handoff_ps;
    }
}

static void pace(int64_t *next_ps, const int64_t *free_ps, int64_t offset_ps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        int64_t next = free_ps[i] - offset_ps;
        next_ps[i] = next > next_ps[i] ? next : next_ps[i];
    }
}

/* ---- stages ---------------------------------------------------------------------------------- */

static void note(struct order *order, struct moving *moving, const struct trace_cause *cause,
                 uint32_t stage, uint16_t waited)
{
    if (order->walk->trace.on)
        moving->record =
            trace_add(&order->walk->trace, (struct trace_record){.timing = moving->timing,
                                                                 .cause = *cause,
                                                                 .stage = (uint16_t)stage,
                                                                 .waited = waited});
}

static bool stage_use(struct order *order, struct moving *moving, const struct timed_stage *stage,
                      uint32_t stage_number, uint16_t at)
{
    struct walk *walk = order->walk;
    const uint16_t number = (uint16_t)(stage->first_use + at);
    const struct timed_use *use = &moving->timing->uses[number];
    struct order_resource *resource = order->lanes[moving->lane].uses[number];
    if (moving->slice == 0)
        resource->used->chunks += walk->lanes[moving->lane].transfer.count;
    if (!use->queues && use->busy_ps == 0)
        return true;
    const bool source = use->end == END_SRC;
    const uint32_t apart = source ? 0 : moving->apart;
    const size_t slot = moving->timing->slot;
    if ((resource->lane != moving->lane || resource->apart != moving->apart ||
         resource->slot != slot || resource->use != number) &&
        resource->lane != UINT32_MAX &&
        !asks_in_order(order, resource, moving, stage->blocking, apart)) {
        order->why = "two lanes meet at a resource, and who asks first depends on times";
        return false;
    }
    resource->lane = moving->lane;
    resource->apart = moving->apart;
    resource->slot = slot;
    resource->use = number;
    resource->last_ps = use->busy_ps;
    resource->used->busy_ps += use->busy_ps;
    /* the trace follows the first element */
    struct stretch s = {0};
    stretch_next(order, apart, &s);
    const int64_t free_ps = resource->free_ps[s.to];
    int64_t start = moving->head_ps[0];
    if (free_ps > start) {
        start = free_ps;
        note(order, moving, &resource->cause, stage_number, number);
    }
    const struct trace_cause cause = {.record = moving->record, .exit = TRACE_USE, .use = number};
    resource->cause = cause;
    if (start + use->busy_ps > moving->finish_ps[0])
        moving->finish = cause;
    if (source && start + use->busy_ps - use->offset_ps > moving->next_ps[0]) {
        moving->next = cause;
        moving->next.exit = TRACE_PERIOD;
    }
    const int64_t handoff_ps = at == 0 && stage->has_thread ? stage->handoff_ps : 0;
    do {
        serve(moving->head_ps + s.from, resource->free_ps + s.to, moving->finish_ps + s.from,
              use->busy_ps, handoff_ps, s.count);
    } while (stretch_next(order, apart, &s));
    if (source)
        pace(moving->next_ps, resource->free_ps, use->offset_ps, order->width);
    return true;
}

/* As flow_advance and stage_booked do it, for all elements. */
static bool stage_pass(struct order *order, struct moving *moving, uint32_t stage_number)
{
    struct walk *walk = order->walk;
    const struct timed_stage *stage = &moving->timing->stages[stage_number];
    const uint32_t width = order->width;
    for (uint32_t i = 0; i < width; i++) {
        moving->finish_ps[i] = moving->next_ps[i] = moving->booked_ps[i] = moving->now_ps[i];
        moving->head_ps[i] = moving->now_ps[i] - stage->ahead_ps;
    }
    note(order, moving, &moving->begun, stage_number, TRACE_NO_USE);
    moving->finish = moving->next =
        (struct trace_cause){.record = moving->record, .use = stage->first_use};
    moving->next.exit = TRACE_BEGUN;
    uint32_t here = moving->record;
    for (uint16_t at = 0; at < stage->use_count; at++) {
        here = moving->record;
        if (!stage_use(order, moving, stage, stage_number, at))
            return false;
        if (stage->blocking || at + 1 == stage->use_count)
            continue;
        if (moving->head_ps[0] > moving->booked_ps[0]) { /* an event */
            moving->key = event_key(stage_number, at + 1u,
                                    walk->lanes[moving->lane].order | (moving->issued & 0xffff));
            moving->key_lane = moving->lane;
        }
        latest(moving->booked_ps, moving->head_ps, width);
    }
    if (stage->blocking) {
        struct order_resource *thread = order->lanes[moving->lane].uses[stage->first_use];
        const uint32_t apart =
            moving->timing->uses[stage->first_use].end == END_SRC ? 0 : moving->apart;
        struct stretch s = {0};
        while (stretch_next(order, apart, &s)) {
            if (s.from == 0)
                thread->used->busy_ps += moving->finish_ps[0] - thread->free_ps[s.to];
            memcpy(thread->free_ps + s.to, moving->finish_ps + s.from, s.count * sizeof(int64_t));
        }
        thread->cause = moving->finish;
        memcpy(moving->next_ps, moving->finish_ps, width * sizeof(int64_t));
        moving->next = moving->finish;
    }
    if (moving->next_ps[0] < moving->booked_ps[0])
        moving->next =
            (struct trace_cause){.record = here, .exit = TRACE_BEGUN, .use = moving->next.use};
    latest(moving->next_ps, moving->booked_ps, width);
    moving->finish.exit = TRACE_END;
    moving->finish.hops = 0;
    const int64_t latency_ps = stage->pcie_latency_ps + stage->wire_latency_ps;
    for (uint32_t i = 0; i < width; i++)
        moving->now_ps[i] = moving->finish_ps[i] + latency_ps;
    walk->ledger->events++;
    return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Of two events, whether `a` is handled after `b`. */
static bool comes_later(const struct arrival *a, const struct arrival *b)
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
};

static void wait_for(struct order *order, struct moving *moving, struct start *start,
                     const struct arrival *arrival)
{
    latest(moving->now_ps, arrival->at_ps, order->width);
    /* A lane that wakes does so after what arrives at the same time. */
    if (start->wakes ? arrival->at_ps[0] >= start->by->at_ps[0] : comes_later(arrival, start->by))
        *start = (struct start){arrival, false};
}

static void inbox_drop(struct order *order, struct order_inbox *inbox, size_t index)
{
    struct order_receive *gone = &inbox->list[index];
    for (uint32_t i = 0; i < gone->receive.slices; i++)
        if (gone->slices[i].at_ps)
            vector_give(order, gone->slices[i].at_ps);
    free(gone->slices);
    *gone = inbox->list[--inbox->count];
}

/* Forget receives that no lane of the place can have to wait for any more. */
static void inbox_tidy(struct order *order, uint32_t place)
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
            inbox_drop(order, inbox, r);
    }
}

static bool slice_begin(struct order *order, struct moving *moving)
{
    struct walk *walk = order->walk;
    struct lane *lane = &walk->lanes[moving->lane];
    struct order_lane *mine = &order->lanes[moving->lane];
    struct order_inbox *inbox = &order->inboxes[moving->place];
    struct start start = {&mine->freed, mine->wakes};
    memcpy(moving->now_ps, mine->free_ps, order->width * sizeof(int64_t));
    if (mine->window_count == walk->window)
        wait_for(order, moving, &start, &mine->window[lane->issued % walk->window]);
    const struct arrival *by = NULL;
    size_t used_up[2], used_up_count = 0;
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        if (receive->step >= lane->cursor.step)
            continue;
        uint64_t needed = mailroom_needed(receive, &lane->transfer, moving->slice, lane->slices);
        if (needed > 0)
            wait_for(order, moving, &start, &inbox->list[r].slices[needed - 1]);
        if (needed == receive->slices && walk->plan->lanes == 1 && used_up_count < 2)
            used_up[used_up_count++] = r;
    }
    by = start.by;
    moving->begun = by->cause;
    moving->key = start.wakes ? event_key(WAKE_STAGE, 0, lane->order) : by->key;
    moving->key_lane = start.wakes ? moving->lane : by->lane;
    moving->issued = lane->issued++;
    /* the lane begins nothing before this: what it waited for is over */
    for (size_t i = 0; i < used_up_count; i++)
        inbox_drop(order, inbox, used_up[i]);
    if (inbox->count > 8)
        inbox_tidy(order, moving->place);
    if (inbox->count > MANY_RECEIVES) {
        order->why = "a rank has too many messages waiting for lanes that are behind";
        return false;
    }
    walk->ledger->slices++;
    return true;
}

static void lane_freed(struct order *order, const struct moving *moving, const int64_t *at_ps,
                       const struct arrival *freed, bool wakes)
{
    struct order_lane *mine = &order->lanes[moving->lane];
    memcpy(mine->free_ps, at_ps, order->width * sizeof(int64_t));
    mine->freed = *freed;
    mine->freed.at_ps = mine->free_ps;
    mine->wakes = wakes;
}

static bool slice_stage(struct order *order, struct moving *moving, uint32_t stage)
{
    if (stage == 0 && !slice_begin(order, moving))
        return false;
    if (!stage_pass(order, moving, stage))
        return false;
    if (stage == 0 && order->walk->job->accounting == ACCOUNTING_PIPELINED)
        lane_freed(
            order, moving, moving->next_ps,
            &(struct arrival){.key = moving->key, .lane = moving->key_lane, .cause = moving->next},
            moving->next_ps[0] > moving->booked_ps[0]);
    const struct timed_stage *done = &moving->timing->stages[stage];
    moving->begun = moving->finish;
    moving->key = event_key(stage, done->use_count,
                            order->walk->lanes[moving->lane].order | (moving->issued & 0xffff));
    moving->key_lane = moving->lane;
    return true;
}

/* Where the slices of a lane take different ways, a later one must not arrive before. */
static bool window_note(struct order *order, const struct moving *moving,
                        const struct arrival *arrival)
{
    const uint32_t window = order->walk->window, width = order->width;
    struct order_lane *mine = &order->lanes[moving->lane];
    if (!mine->window) {
        mine->window = calloc(window, sizeof *mine->window);
        if (!mine->window)
            return no_memory(order), false;
    }
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
    int64_t *at_ps = place->at_ps ? place->at_ps : vector_take(order);
    if (!at_ps)
        return no_memory(order), false;
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
    if (!order->last.at_ps || comes_later(&arrival, &order->last)) {
        int64_t *last = order->last.at_ps ? order->last.at_ps : vector_take(order);
        if (!last)
            return no_memory(order), false;
        last[0] = moving->now_ps[0];
        order->last = arrival;
        order->last.at_ps = last;
    }
    for (uint32_t i = 0; i < order->width; i++)
        if (moving->now_ps[i] > walk->ledger->total_ps)
            walk->ledger->total_ps = moving->now_ps[i];
    if (walk->job->accounting == ACCOUNTING_SERIAL)
        lane_freed(order, moving, moving->now_ps, &arrival, false);
    else if (!window_note(order, moving, &arrival))
        return false;
    int64_t *at_ps = vector_take(order);
    if (!at_ps)
        return no_memory(order), false;
    struct stretch s = {0};
    while (stretch_next(order, moving->apart, &s))
        memcpy(at_ps + s.to, moving->now_ps + s.from, s.count * sizeof(int64_t));
    receive->slices[moving->slice] = arrival;
    receive->slices[moving->slice].at_ps = at_ps;
    return true;
}

/* ---- operations ------------------------------------------------------------------------------ */

/* A place for the slices of a transfer, in its receiver's inbox. */
static bool receive_open(struct order *order, const struct lane *lane)
{
    const struct transfer *arrives = &lane->arrives;
    struct order_inbox *inbox = &order->inboxes[arrives->to];
    if (inbox->count == inbox->capacity) {
        size_t capacity = inbox->capacity ? 2 * inbox->capacity : 4;
        struct order_receive *grown = realloc(inbox->list, capacity * sizeof *grown);
        if (!grown)
            return no_memory(order), false;
        inbox->list = grown;
        inbox->capacity = capacity;
    }
    struct arrival *slices = calloc(lane->slices, sizeof *slices);
    if (!slices)
        return no_memory(order), false;
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

static struct order_receive *receive_find(struct order *order, const struct lane *lane)
{
    struct order_inbox *inbox = &order->inboxes[lane->arrives.to];
    const uint32_t op = (uint32_t)(lane->arrives.op - order->walk->plan->ops);
    for (size_t r = inbox->count; r-- > 0;) {
        const struct receive *receive = &inbox->list[r].receive;
        if (receive->step == lane->cursor.step && receive->op == op &&
            receive->from == lane->arrives.from && receive->edge == lane->arrives.edge)
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
            status = way_find(order, number, apart);
        if (status)
            return status;
        if (lane->slices >= MANY_SLICES && walk->job->walk == WALK_AUTO)
            order->why = "transfers have many slices: the queue skips periods";
        if (order->why || walk->fold_broken)
            return STATUS_OK;
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
                    !slice_arrives(order, moving, receive_find(order, lane)))
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
        for (uint32_t o = 0; o < in->op_count; o++) {
            const struct plan_op *op = &plan->ops[in->first_op + o];
            uint32_t count = 1;
            for (uint32_t index = 0; count > 0 && (index == 0 || op->edge_count > 0); index++) {
                enum status status = op_load(order, op, &cursor, index, &count);
                if (status || order->why || walk->fold_broken)
                    return status;
                if (!op_pass(order, count))
                    return order->why ? STATUS_OK : walk->error->status;
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
    order->moving = calloc(walk->ranks, sizeof *order->moving);
    if (!order->resources || !order->lanes || !order->inboxes || !order->moving)
        return no_memory(order);
    for (size_t i = 0; i < walk->lane_count; i++) {
        struct order_lane *lane = &order->lanes[i];
        lane->free_ps = calloc(order->width, sizeof(int64_t));
        lane->freed = (struct arrival){.at_ps = lane->free_ps, .cause.record = TRACE_NONE};
        if (!lane->free_ps)
            return no_memory(order);
    }
    for (uint32_t i = 0; i < walk->ranks; i++) {
        struct moving *moving = &order->moving[i];
        int64_t *vectors = calloc(5u * (size_t)order->width, sizeof *vectors);
        if (!vectors)
            return no_memory(order);
        moving->now_ps = vectors;
        moving->head_ps = vectors + order->width;
        moving->finish_ps = vectors + 2u * (size_t)order->width;
        moving->next_ps = vectors + 3u * (size_t)order->width;
        moving->booked_ps = vectors + 4u * (size_t)order->width;
    }
    return STATUS_OK;
}

static void order_free(struct order *order)
{
    const struct walk *walk = order->walk;
    for (size_t i = 0; order->lanes && i < walk->lane_count; i++) {
        struct order_lane *lane = &order->lanes[i];
        for (uint32_t w = 0; lane->window && w < walk->window; w++)
            free(lane->window[w].at_ps);
        free(lane->window);
        free(lane->free_ps);
        free(lane->uses);
    }
    for (uint32_t i = 0; i < walk->ranks; i++) {
        while (order->inboxes && order->inboxes[i].count > 0)
            inbox_drop(order, &order->inboxes[i], order->inboxes[i].count - 1);
        if (order->inboxes)
            free(order->inboxes[i].list);
        if (order->moving)
            free(order->moving[i].now_ps);
    }
    for (size_t i = 0; order->resources && i < walk->used_count; i++)
        free(order->resources[i].free_ps);
    for (size_t i = 0; i < order->own_count; i++) {
        free(order->own[i]->free_ps);
        free(order->own[i]);
    }
    for (size_t i = 0; i < order->spare_count; i++)
        free(order->spare[i]);
    free(order->last.at_ps);
    free(order->spare);
    free(order->own);
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
        status = run_steps(&order);
    *ret_why = order.why;
    order_free(&order);
    return status;
}
