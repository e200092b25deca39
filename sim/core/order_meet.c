/* order_meet.c: where who asks first depends on times: a queue of the elements that meet there. See
 * order_rows.h.
 *
 * These elements go from use to use like slices of a run with a queue (flow.c): at a resource where
 * they meet others they stand in the queue, by the time at which they ask, and are served when that
 * time has come. All others that they use are free when who was there before has left.
 *
 * Of two who ask at the same time he is first who does so in the earlier event of a run with a
 * queue: so each carries the event in which he has got there, which is an end of a stage, the
 * beginning of a use, or his lane's waking up.
 */
#include <stdlib.h>

#include "sim/core/order_meet.h"

/* ---- the queue ------------------------------------------------------------------------------- */

/* The unit whose resource a use wants. */
static uint32_t unit_of(const struct order *order, const struct flight *flight,
                        const struct timed_use *use)
{
    const uint32_t unit = flight->single->unit;
    return use->end == END_SRC ? unit
                               : unit_to(order, unit, order->rows->rows[flight->row].way->apart);
}

static struct meeting *meeting_at(const struct order *order, const struct flight *flight,
                                  uint16_t number)
{
    const struct timed_use *use = &timing_of(order, flight)->uses[number];
    if (!use->queues && use->busy_ps == 0)
        return NULL;
    return way_meeting(order, flight->single->uses[number], unit_of(order, flight, use));
}

bool meet_push(struct order *order, struct event event)
{
    struct walk *walk = order->walk;
    if (event.time_ps < walk->queue.now_ps) { /* it should have come before */
        order->why = ORDER_MEETS;
        return false;
    }
    return event.time_ps <= ENGINE_MAX_TIME_PS && queue_push(&walk->queue, event)
               ? true
               : walk_not_pushed(walk, event.time_ps) == STATUS_OK;
}

/* Stand in the queue until the present event comes. */
static bool ask(struct order *order, uint32_t index)
{
    struct flight *flight = &order->rows->flights[index];
    flight->asked = true;
    struct event event = flight->here;
    event.what = index;
    return meet_push(order, event);
}

/* ---- uses ------------------------------------------------------------------------------------ */

/* At resources where all come in the order of the program. */
static bool comes_in_order(struct order *order, const struct flight *flight, uint16_t number,
                           uint32_t unit, int64_t asks_ps)
{
    const struct order_rows *rows = order->rows;
    const struct row *row = &rows->rows[flight->row];
    const int64_t free_ps = flight->single->uses[number]->free_ps[unit];
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (wait->kind == AFTER_USE && wait->use == number && rows->watch[unit] == 0 &&
            asks_ps <= free_ps - wait->last_ps) {
            order->why = ORDER_MEETS;
            return false;
        }
    }
    return true;
}

static bool is_served(struct order *order, struct flight *flight, uint16_t number)
{
    const struct timing *timing = timing_of(order, flight);
    const struct timed_use *use = &timing->uses[number];
    const struct way *way = order->rows->rows[flight->row].way;
    struct order_resource *resource = flight->single->uses[number];
    const uint32_t unit = unit_of(order, flight, use);
    struct meeting *meeting = way_meeting(order, resource, unit);
    const int64_t asks_ps = flight->here.time_ps;
    const struct order_user user = {
        .lane = way->lane, .apart = way->apart, .slot = timing->slot, .use = number};
    if (!meeting && !comes_in_order(order, flight, number, unit, asks_ps))
        return false;
    if (meeting) {
        const struct event *last = &meeting->asked;
        if (meeting->served && last->time_ps == asks_ps &&
            !order_same_user(&meeting->last, &user) &&
            (meeting->unsure || flight->unsure || !event_before(last, &flight->here))) {
            order->why = ORDER_MEETS;
            return false;
        }
        meeting->served = true;
        meeting->unsure = flight->unsure;
        meeting->asked = flight->here;
        meeting->last = user;
    }
    const int64_t free_ps = resource->free_ps[unit];
    const int64_t begins_ps = free_ps > flight->head_ps ? free_ps : flight->head_ps;
    const int64_t ends_ps = begins_ps + use->busy_ps;
    resource->free_ps[unit] = ends_ps;
    flight->head_ps = begins_ps + use->after_ps;
    if (ends_ps > flight->finish_ps)
        flight->finish_ps = ends_ps;
    if (use->end == END_SRC && ends_ps - use->offset_ps > flight->next_ps)
        flight->next_ps = ends_ps - use->offset_ps;
    return true;
}

static bool stage_meets(const struct order *order, const struct flight *flight)
{
    const struct timed_stage *stage = stage_of(order, flight);
    for (uint16_t i = 0; i < stage->use_count; i++)
        if (meeting_at(order, flight, (uint16_t)(stage->first_use + i)))
            return true;
    return false;
}

/* Its thread is busy until the stage ends. */
static bool thread_waits(struct order *order, struct flight *flight)
{
    const struct timed_stage *stage = stage_of(order, flight);
    const struct timed_use *use = &timing_of(order, flight)->uses[stage->first_use];
    struct order_resource *thread = flight->single->uses[stage->first_use];
    const uint32_t unit = unit_of(order, flight, use);
    const int64_t more_ps = flight->finish_ps - thread->free_ps[unit];
    thread->free_ps[unit] = flight->next_ps = flight->finish_ps;
    return order_rows_waited(order, thread, unit, more_ps);
}

/* ---- elements -------------------------------------------------------------------------------- */

struct lane_at *meet_lane(struct order *order, const struct row *row, uint32_t unit)
{
    struct row_lane *lane = &order->rows->lanes[row->way->lane];
    if (!lane->at)
        lane->at = calloc(order->width, sizeof *lane->at);
    if (!lane->at)
        return order_no_memory(order), NULL;
    struct lane_at *at = &lane->at[unit];
    if (!at->latest) {
        at->latest = calloc(lane->window + 1, sizeof *at->latest);
        at->waits = ROW_NONE;
    }
    return at->latest ? at : (order_no_memory(order), NULL);
}

void meet_forget(struct row_lane *lane, uint32_t width)
{
    for (uint32_t unit = 0; lane->at && unit < width; unit++)
        free(lane->at[unit].latest);
    free(lane->at);
}

/* The first stage has been booked. */
static bool lane_goes_on(struct order *order, const struct flight *flight)
{
    const struct row *row = &order->rows->rows[flight->row];
    const uint32_t unit = flight->single->unit;
    struct lane_at *at = meet_lane(order, row, unit);
    if (!at)
        return false;
    at->row = flight->row + 1;
    at->wakes = flight->next_ps > flight->booked_ps;
    at->freed = flight->here;
    if (at->wakes)
        at->freed = (struct event){.time_ps = flight->next_ps, .rank = lane_of(order, row, unit)};
    if (flight->unsure && !at->wakes)
        at->row = 0;
    order->lanes[row->way->lane].free_ps[unit] = at->freed.time_ps;
    return true;
}

/* The element has been worked out. */
static bool flight_ends(struct order *order, struct flight *flight)
{
    struct order_rows *rows = order->rows;
    struct row *row = &rows->rows[flight->row];
    const uint32_t unit = flight->single->unit, number = flight->row;
    if (row->stage == 0 && order->walk->job->accounting == ACCOUNTING_PIPELINED &&
        !lane_goes_on(order, flight))
        return false;
    row->end_ps[unit] = flight->now_ps;
    flight->next_free = rows->free_flight;
    rows->free_flight = (uint32_t)(flight - rows->flights);
    row_ends(order, row, (struct strip){unit, unit + 1});
    set_add(row->done, unit);
    for (uint32_t i = row->first_next; i < row[1].first_next; i++)
        if (!meet_look_at(order, rows->nexts[i]))
            return false;
    if (row->arrives && row_keeps_own(order, row, unit) && !meet_note_arrival(order, row, unit))
        return false;
    if (set_has(rows->blocks, number))
        rows->blocks_changed = true;
    return row_advance(order, row, 1);
}

/* As stage_pass does it, for one element, until it must stand in the queue. */
bool flight_goes(struct order *order, uint32_t index)
{
    struct flight *flight = &order->rows->flights[index];
    const struct row *row = &order->rows->rows[flight->row];
    const struct timing *timing = timing_of(order, flight);
    if (row->stage >= timing->stage_count)
        return flight_ends(order, flight);
    const struct timed_stage *stage = &timing->stages[row->stage];
    if (stage->blocking && !flight->asked && stage_meets(order, flight))
        return ask(order, index); /* all is booked at once then */
    for (; flight->at < stage->use_count; flight->at++) {
        const uint16_t number = (uint16_t)(stage->first_use + flight->at);
        const struct timed_use *use = &timing->uses[number];
        if (!stage->blocking && flight->at > 0 && flight->head_ps > flight->here.time_ps) {
            flight->asked = flight->unsure = false;
            flight->here = (struct event){.time_ps = flight->head_ps,
                                          .key = event_key(row->stage, flight->at, row->order),
                                          .rank = lane_of(order, row, flight->single->unit)};
        }
        if (!use->queues && use->busy_ps == 0)
            continue;
        if (!flight->asked && meeting_at(order, flight, number))
            return ask(order, index);
        if (!is_served(order, flight, number))
            return false;
    }
    if (stage->blocking && !thread_waits(order, flight))
        return false;
    if (!stage->blocking)
        flight->booked_ps = flight->here.time_ps;
    const int64_t end_ps = flight->finish_ps + stage->pcie_latency_ps + stage->wire_latency_ps;
    if (end_ps ==
        flight->now_ps) { /* in which order things happen at one time then, is not known */
        order->why = "a stage takes no time";
        return false;
    }
    flight->now_ps = end_ps;
    return flight_ends(order, flight);
}

int meet_serve(struct order *order)
{
    struct event event;
    if (!queue_pop(&order->walk->queue, &event))
        return 0;
    const bool goes = event.what & BEGINS ? meet_begin(order, event.what & ~BEGINS)
                                          : flight_goes(order, event.what);
    return goes && meet_check(order) ? 1 : -1;
}
