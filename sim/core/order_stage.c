/* order_stage.c: the resources of slices in a run without a queue. See order.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/order_inside.h"

/* ---- vectors --------------------------------------------------------------------------------- */

enum status order_no_memory(struct order *order)
{
    return error_set(order->walk->error, STATUS_NOMEM, "out of memory");
}

int64_t *order_vector_take(struct order *order)
{
    if (order->spare_count > 0)
        return order->spare[--order->spare_count];
    return malloc(order->width * sizeof(int64_t));
}

void order_vector_give(struct order *order, int64_t *vector)
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

/* ---- who uses what --------------------------------------------------------------------------- */

static struct order_resource *resource_own(struct order *order, uint32_t place, uint16_t number,
                                           uint32_t owner, struct used *used)
{
    for (struct order_resource *own = order->own_at[place]; own; own = own->next)
        if (own->number == number && own->owner == owner)
            return own;
    if (order->own_count == order->own_capacity) {
        size_t capacity = order->own_capacity ? 2 * order->own_capacity : 16;
        struct order_resource **grown = realloc(order->own, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        order->own = grown;
        order->own_capacity = capacity;
    }
    struct order_resource *own = malloc(sizeof *own);
    if (!own)
        return NULL;
    *own = (struct order_resource){.place = place,
                                   .number = number,
                                   .owner = owner,
                                   .used = used,
                                   .next = order->own_at[place]};
    order->own_at[place] = own;
    return order->own[order->own_count++] = own;
}

bool order_uses(struct order *order, uint32_t index, const struct timing *const timings[2],
                struct order_resource ***ret_uses)
{
    struct walk *walk = order->walk;
    const struct timing *timing = timings[1];
    const struct transfer *arrives = lane_arrives(walk, &walk->lanes[index]);
    struct order_resource **uses = realloc(*ret_uses, (timing->use_count + 1) * sizeof *uses);
    if (!uses)
        return order_no_memory(order), false;
    *ret_uses = uses;
    const uint32_t ends[2] = {arrives->from % walk->ranks, arrives->to};
    for (size_t i = 0; i < timing->use_count; i++) {
        const struct timed_use *use = &timing->uses[i];
        if (use->busy_ps == 0) /* of the first slice only: its posting costs more */
            use = &timings[0]->uses[i];
        const uint32_t place = ends[use->end == END_SRC ? 0 : 1];
        size_t at = use->row + place / walk->ports;
        uses[i] = &order->resources[at];
        uses[i]->used = &walk->used[at];
        if (!use->queues && use->busy_ps > 0) {
            uint32_t owner = walk_owner(walk, index, arrives, timing, use->end == END_SRC ? 0 : 1,
                                        use->resource);
            uses[i] = resource_own(order, place, use->resource, owner, &walk->used[at]);
            if (!uses[i])
                return order_no_memory(order), false;
        }
        if ((use->queues || use->busy_ps > 0) && !uses[i]->free_ps) {
            uses[i]->free_ps = calloc(order->width, sizeof(int64_t));
            if (!uses[i]->free_ps)
                return order_no_memory(order), false;
            uses[i]->user.lane = UINT32_MAX;
        }
    }
    for (size_t i = 0; i < timing->stage_count; i++)
        if (timing->stages[i].blocking && !uses[timing->stages[i].first_use]->free_ps) {
            order->why = "a lane waits by itself for its stage";
            return false;
        }
    return true;
}

enum status order_way(struct order *order, uint32_t index, uint32_t apart)
{
    const struct lane *lane = &order->walk->lanes[index];
    struct order_lane *mine = &order->lanes[index];
    const struct transfer *arrives = lane_arrives(order->walk, lane);
    const struct timing *const timing[2] = {lane->first_timing, lane->timing};
    if (mine->way[0] == timing[0] && mine->way[1] == timing[1] && mine->to == arrives->to &&
        mine->apart == apart)
        return STATUS_OK;
    mine->way[1] = NULL;
    if (!order_uses(order, index, timing, &mine->uses))
        return order->why ? STATUS_OK : STATUS_NOMEM;
    mine->way[0] = timing[0];
    mine->way[1] = timing[1];
    mine->to = arrives->to;
    mine->apart = apart;
    return STATUS_OK;
}

/* Whether slices so far have begun their service before each of these asks. */
bool order_asks_in_order(const struct order *order, const struct order_resource *resource,
                         const struct moving *moving, bool at_once, uint32_t apart,
                         struct strip strip, int64_t last_ps)
{
    struct stretch s = {.from = strip.from};
    while (stretch_next(order, apart, strip, &s))
        for (uint32_t i = 0; i < s.count; i++) {
            int64_t asks = moving->now_ps[s.from + i];
            if (!at_once && moving->head_ps[s.from + i] > asks)
                asks = moving->head_ps[s.from + i];
            if (asks <= resource->free_ps[s.to + i] - last_ps)
                return false;
        }
    return true;
}

/* Written once, made twice: for one element, and for vectors. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

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

/* The trace follows the first element. */
static ALWAYS_INLINE void use_note(struct order *order, struct moving *moving,
                                   const struct timed_use *use, struct order_resource *resource,
                                   uint32_t stage_number, uint16_t number, int64_t free_ps)
{
    int64_t start = moving->head_ps[0];
    if (free_ps > start) {
        start = free_ps;
        note(order, moving, &resource->cause, stage_number, number);
    }
    const struct trace_cause cause = {.record = moving->record, .exit = TRACE_USE, .use = number};
    resource->cause = cause;
    if (start + use->busy_ps > moving->finish_ps[0])
        moving->finish = cause;
    if (use->end == END_SRC && start + use->busy_ps - use->offset_ps > moving->next_ps[0]) {
        moving->next = cause;
        moving->next.exit = TRACE_PERIOD;
    }
}

/* The elements of a strip. */
static ALWAYS_INLINE void use_serve(const struct order *order, struct moving *moving,
                                    const struct timed_use *use, struct order_resource *resource,
                                    const uint32_t width, struct strip strip)
{
    const bool source = use->end == END_SRC;
    if (width == 1) {
        const int64_t head = *moving->head_ps, free_ps = *resource->free_ps;
        const int64_t start = free_ps > head ? free_ps : head, end = start + use->busy_ps;
        *resource->free_ps = end;
        *moving->head_ps = start + use->after_ps;
        *moving->finish_ps = end > *moving->finish_ps ? end : *moving->finish_ps;
        if (source && end - use->offset_ps > *moving->next_ps)
            *moving->next_ps = end - use->offset_ps;
        return;
    }
    struct stretch s = {.from = strip.from};
    while (stretch_next(order, source ? 0 : moving->apart, strip, &s))
        if (source)
            vector_serve_and_pace(moving->head_ps + s.from, resource->free_ps + s.to,
                                  moving->finish_ps + s.from, moving->next_ps + s.from,
                                  use->busy_ps, use->after_ps, use->offset_ps, s.count);
        else
            vector_serve(moving->head_ps + s.from, resource->free_ps + s.to,
                         moving->finish_ps + s.from, use->busy_ps, use->after_ps, s.count);
}

static ALWAYS_INLINE struct order_user user_of(const struct moving *moving,
                                               const struct timed_use *use, uint16_t number)
{
    return (struct order_user){.lane = moving->lane,
                               .apart = moving->apart,
                               .slot = moving->timing->slot,
                               .use = number,
                               .last_ps = use->busy_ps};
}

/* Where nodes differ, who comes after whom and what is counted has been noted before. */
static ALWAYS_INLINE bool stage_use(struct order *order, struct moving *moving,
                                    const struct timed_stage *stage, uint32_t stage_number,
                                    uint16_t at, const uint32_t width, struct strip strip)
{
    const uint16_t number = (uint16_t)(stage->first_use + at);
    const struct timed_use *use = &moving->timing->uses[number];
    struct order_resource *resource = moving->uses[number];
    if (!use->queues && use->busy_ps == 0)
        return true;
    const uint32_t apart = use->end == END_SRC ? 0 : moving->apart;
    const bool first = strip.from == 0 && !order->rows;
    if (first) {
        const struct order_user user = user_of(moving, use, number);
        order->meets[at] =
            !order_same_user(&resource->user, &user) && resource->user.lane != UINT32_MAX;
        order->meets_ps[at] = resource->user.last_ps;
    }
    if (order->meets[at] && !order_asks_in_order(order, resource, moving, stage->blocking, apart,
                                                 strip, order->meets_ps[at])) {
        order->why = ORDER_MEETS;
        return false;
    }
    if (first) {
        struct stretch here = {0};
        stretch_next(order, apart, strip, &here);
        use_note(order, moving, use, resource, stage_number, number, resource->free_ps[here.to]);
        resource->used->busy_ps += use->busy_ps;
    }
    use_serve(order, moving, use, resource, width, strip);
    if (strip.end == width && !order->rows)
        resource->user = user_of(moving, use, number);
    return true;
}

/* A thread that waits for its stage is busy until the stage ends. */
static bool thread_waits(struct order *order, struct moving *moving,
                         const struct timed_stage *stage, struct strip strip)
{
    struct order_resource *thread = moving->uses[stage->first_use];
    const bool source = moving->timing->uses[stage->first_use].end == END_SRC;
    struct stretch s = {.from = strip.from};
    while (stretch_next(order, source ? 0 : moving->apart, strip, &s)) {
        for (uint32_t i = 0; i < s.count && order->rows; i++)
            if (!order_rows_waited(order, thread, s.to + i,
                                   moving->finish_ps[s.from + i] - thread->free_ps[s.to + i]))
                return false;
        if (s.from == 0 && !order->rows)
            thread->used->busy_ps += moving->finish_ps[0] - thread->free_ps[s.to];
        memcpy(thread->free_ps + s.to, moving->finish_ps + s.from, s.count * sizeof(int64_t));
    }
    memcpy(moving->next_ps + strip.from, moving->finish_ps + strip.from,
           (strip.end - strip.from) * sizeof(int64_t));
    if (strip.from == 0)
        thread->cause = moving->next = moving->finish;
    return true;
}

/* As flow_advance and stage_booked do it, for the elements of a strip. */
static ALWAYS_INLINE bool stage_pass(struct order *order, struct moving *moving,
                                     uint32_t stage_number, const uint32_t width,
                                     struct strip strip)
{
    struct walk *walk = order->walk;
    const struct timed_stage *stage = &moving->timing->stages[stage_number];
    const uint32_t from = strip.from, count = width == 1 ? 1 : strip.end - from;
    const bool first = from == 0 && !order->rows;
    if (width == 1) {
        *moving->finish_ps = *moving->next_ps = *moving->now_ps;
        *moving->head_ps = *moving->now_ps - stage->ahead_ps;
    } else {
        vector_begin(moving->now_ps + from, moving->head_ps + from, moving->finish_ps + from,
                     moving->next_ps + from, stage->ahead_ps, count);
    }
    uint32_t here = TRACE_NONE;
    if (first) {
        note(order, moving, &moving->begun, stage_number, TRACE_NO_USE);
        moving->finish = moving->next =
            (struct trace_cause){.record = moving->record, .use = stage->first_use};
        moving->next.exit = TRACE_BEGUN;
    }
    int64_t booked_ps = moving->now_ps[0]; /* the head never goes back: the last counts */
    for (uint16_t at = 0; at < stage->use_count; at++) {
        here = moving->record;
        if (at > 0 && !stage->blocking) {
            if (first && moving->head_ps[0] > booked_ps) { /* an event */
                booked_ps = moving->head_ps[0];
                moving->key = event_key(
                    stage_number, at, walk->lanes[moving->lane].order | (moving->issued & 0xffff));
                moving->key_lane = moving->lane;
            }
            if (at + 1 == stage->use_count &&
                width > 1) { /* then at the earliest the lane is free */
                const int64_t next_ps = moving->next_ps[from];
                vector_latest(moving->next_ps + from, moving->head_ps + from, count);
                if (first) /* below, when the trace has seen it */
                    moving->next_ps[0] = next_ps;
            }
        }
        if (!stage_use(order, moving, stage, stage_number, at, width, strip))
            return false;
    }
    if (stage->blocking && !thread_waits(order, moving, stage, strip))
        return false;
    if (first) {
        if (moving->next_ps[0] < booked_ps) {
            moving->next_ps[0] = booked_ps;
            moving->next =
                (struct trace_cause){.record = here, .exit = TRACE_BEGUN, .use = moving->next.use};
        }
        moving->booked_ps = booked_ps;
        moving->finish.exit = TRACE_END;
        moving->finish.hops = 0;
        walk->ledger->events++;
    }
    const int64_t latency_ps = stage->pcie_latency_ps + stage->wire_latency_ps;
    if (width == 1)
        *moving->now_ps = *moving->finish_ps + latency_ps;
    else
        vector_add(moving->now_ps + from, moving->finish_ps + from, latency_ps, count);
    return true;
}

bool order_pass(struct order *order, struct moving *moving, uint32_t stage, struct strip strip)
{
    return stage_pass(order, moving, stage, order->width, strip);
}

bool order_stage(struct order *order, struct moving *moving, uint32_t stage)
{
    const uint32_t width = order->width;
    if (width == 1)
        return stage_pass(order, moving, stage, 1, (struct strip){0, 1});
    for (uint32_t from = 0; from < width; from += STRIP) {
        const struct strip strip = {from, from + STRIP < width ? from + STRIP : width};
        if (!stage_pass(order, moving, stage, width, strip))
            return false;
    }
    return true;
}
