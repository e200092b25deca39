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
 *
 * Served is the earliest, as soon as none that is not here yet can be earlier. Who has not begun
 * waits for others. Where these wait for others in turn, and so on, until one of them is in the
 * queue or comes after who is, he cannot be earlier. Where there is one who can be worked out now,
 * he may be. So that one goes first: alone if he is near, else with all others of the sweep.
 */
#include <stdlib.h>

#include "sim/core/order_rows.h"

struct flight {
    const struct single *single;
    uint32_t row, next_free;
    uint16_t at;       /* use of the stage */
    bool asked;        /* the present event has come, in the queue's order; */
    bool unsure;       /* which one it is, is not known: only its time */
    struct event here; /* the present event */
    int64_t now_ps, head_ps, finish_ps, next_ps, booked_ps;
};

/* Of two events of one time. */
static bool event_before(const struct event *a, const struct event *b)
{
    return queue_before(a->key, a->rank, b->key, b->rank);
}

/* A lane: what it may do next, it may from then on. */
struct freed {
    uint32_t row; /* since its element there, 1 + that; 0: not known */
    bool wakes;   /* for that */
    struct event event;
};

static const struct timing *timing_of(const struct order *order, const struct flight *flight)
{
    return flight->single->timing[order->rows->rows[flight->row].later];
}

static const struct timed_stage *stage_of(const struct order *order, const struct flight *flight)
{
    return &timing_of(order, flight)->stages[order->rows->rows[flight->row].stage];
}

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

/* Stand in the queue until the present event comes. */
static bool ask(struct order *order, uint32_t index)
{
    struct walk *walk = order->walk;
    struct flight *flight = &order->rows->flights[index];
    if (flight->here.time_ps < walk->queue.now_ps) { /* it should have come before */
        order->why = ORDER_MEETS;
        return false;
    }
    flight->asked = true;
    struct event event = flight->here;
    event.what = index;
    return event.time_ps <= ENGINE_MAX_TIME_PS && queue_push(&walk->queue, event)
               ? true
               : walk_not_pushed(walk, event.time_ps) == STATUS_OK;
}

/* Of all lanes of all units, the number that events go by. */
static uint32_t lane_of(const struct order *order, const struct row *row, uint32_t unit)
{
    return unit * (uint32_t)order->walk->lane_count + row->way->lane;
}

/* The event that ends an element. */
static struct event end_of(const struct order *order, const struct row *row, uint32_t unit)
{
    const struct single *single =
        set_has(row->way->apart_set, unit) ? way_single(row->way, unit) : NULL;
    const struct timing *timing = (single ? single->timing : row->way->timing)[row->later];
    const size_t stage = row->stage < timing->stage_count ? row->stage : timing->stage_count - 1;
    return (struct event){
        .time_ps = row->end_ps[unit],
        .key = event_key((uint32_t)stage, timing->stages[stage].use_count, row->order),
        .rank = lane_of(order, row, unit)};
}

/* The event that lets an element begin: the last that it has waited for. A lane that wakes does so
 * after what happens at the same time. */
static void find_beginning(const struct order *order, struct flight *flight)
{
    const struct order_rows *rows = order->rows;
    const struct row *row = &rows->rows[flight->row];
    const uint32_t unit = flight->single->unit;
    bool wakes = false;
    flight->here = (struct event){.rank = lane_of(order, row, unit)}; /* the run's beginning */
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (wait->kind != AFTER_TURN)
            continue;
        const struct freed *freed = rows->lanes[row->way->lane].freed;
        flight->unsure = !freed || freed[unit].row != wait->row + 1;
        flight->here = (struct event){.time_ps = order->lanes[row->way->lane].free_ps[unit]};
        if (!flight->unsure)
            flight->here = freed[unit].event;
        wakes = !flight->unsure && freed[unit].wakes;
    }
    if (wakes)
        flight->here.key = event_key(WAKE_STAGE, 0, row->order & ~(uint64_t)0xffff);
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (wait->kind == AFTER_WINDOW && row->issued >= row->window &&
            row_lets_go(order, row)[unit] >= flight->here.time_ps) {
            flight->here = (struct event){.time_ps = row_lets_go(order, row)[unit]};
            flight->unsure = true; /* whose arrival it was */
            wakes = false;
        }
        if (wait->kind != AFTER_END || wait->row == ROW_NONE)
            continue;
        const struct event end =
            end_of(order, &rows->rows[wait->row], unit_to(order, unit, wait->apart));
        if (end.time_ps < flight->here.time_ps)
            continue;
        if (end.time_ps > flight->here.time_ps || wakes)
            flight->unsure = false;
        else if (!event_before(&flight->here, &end))
            continue;
        flight->here = end;
        wakes = false;
    }
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

/* The first stage has been booked. */
static bool lane_goes_on(struct order *order, const struct flight *flight)
{
    const struct row *row = &order->rows->rows[flight->row];
    struct row_lane *lane = &order->rows->lanes[row->way->lane];
    const uint32_t unit = flight->single->unit;
    if (!lane->freed)
        lane->freed = calloc(order->width, sizeof *lane->freed);
    if (!lane->freed)
        return order_no_memory(order), false;
    struct freed *freed = &lane->freed[unit];
    *freed = (struct freed){.row = flight->row + 1,
                            .wakes = flight->next_ps > flight->booked_ps,
                            .event = flight->here};
    if (freed->wakes)
        freed->event =
            (struct event){.time_ps = flight->next_ps, .rank = lane_of(order, row, unit)};
    if (flight->unsure && !freed->wakes)
        freed->row = 0;
    order->lanes[row->way->lane].free_ps[unit] = freed->event.time_ps;
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
    if (!rows_grow(order, &rows->checks, rows->check_count, &rows->check_capacity,
                   sizeof *rows->checks))
        return false;
    rows->checks[rows->check_count++] = number;
    if (set_has(rows->blocks, number))
        rows->blocks_changed = true;
    return row_advance(order, row, 1);
}

/* As stage_pass does it, for one element, until it must stand in the queue. */
static bool flight_goes(struct order *order, uint32_t index)
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
    flight->now_ps = flight->finish_ps + stage->pcie_latency_ps + stage->wire_latency_ps;
    return flight_ends(order, flight);
}

int meet_serve(struct order *order)
{
    struct event event;
    if (!queue_pop(&order->walk->queue, &event))
        return 0;
    return flight_goes(order, event.what) && meet_check(order) ? 1 : -1;
}

/* ---- beginning ------------------------------------------------------------------------------- */

static bool starve(struct order *order, uint32_t row, uint32_t unit)
{
    struct order_rows *rows = order->rows;
    for (size_t i = 0; i < rows->starved_count; i++)
        if (rows->starved[i].row == row && rows->starved[i].unit == unit)
            return true;
    if (!rows_grow(order, &rows->starved, rows->starved_count, &rows->starved_capacity,
                   sizeof *rows->starved))
        return false;
    rows->starved[rows->starved_count++] = (struct starved){row, unit, ROW_NONE, 0};
    rows->blocks_changed = true;
    return true;
}

static void starve_end(struct order_rows *rows, uint32_t row, uint32_t unit)
{
    for (size_t i = 0; i < rows->starved_count; i++)
        if (rows->starved[i].row == row && rows->starved[i].unit == unit) {
            rows->starved[i] = rows->starved[--rows->starved_count];
            return;
        }
}

/* What an element that goes through the queue has to wait for: not for its turn at resources that
 * have a queue, nor to be the next of its lane at those of later stages, which it comes to after
 * that anyway. */
static bool must_wait(const struct order *order, const struct row *row, const struct single *single,
                      const struct row_wait *wait)
{
    if (wait->row == ROW_NONE || wait->kind == AFTER_STAGE)
        return false;
    if (wait->kind != AFTER_USE)
        return true;
    const struct timed_use *use = &row->way->timing[row->later]->uses[wait->use];
    const uint32_t unit = single->unit;
    return order->rows->watch[use->end == END_SRC ? unit : unit_to(order, unit, row->way->apart)] ==
           0;
}

/* Something that an element waits for; NULL: nothing, it can be worked out. Of several, one that
 * goes through the queue. */
static const struct row_wait *missing(const struct order *order, const struct row *row,
                                      uint32_t unit)
{
    const struct order_rows *rows = order->rows;
    const struct single *single =
        set_has(row->way->meets_set, unit) ? way_single(row->way, unit) : NULL;
    const struct row_wait *found = NULL;
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        if (wait->row == ROW_NONE || (single && !must_wait(order, row, single, wait)))
            continue;
        const struct row *other = &rows->rows[wait->row];
        const uint32_t at = unit_to(order, unit, wait->apart);
        if (row_has(other, at))
            continue;
        found = wait;
        if (set_has(other->way->meets_set, at))
            break;
    }
    return found;
}

static bool goes_through_queue(const struct order *order, const struct row_wait *wait,
                               uint32_t unit)
{
    return set_has(order->rows->rows[wait->row].way->meets_set, unit_to(order, unit, wait->apart));
}

#define NEAR 16 /* waits from one to the next */

/* Find somebody of the queue for whom the element waits in the end: 1. 0: somebody who can be
 * worked out, far away; -1: error or why. */
static int find_block(struct order *order, struct starved *starved)
{
    struct order_rows *rows = order->rows;
    for (;;) {
        uint32_t row = starved->row, unit = starved->unit, waits = 0;
        const struct row_wait *wait;
        while ((wait = missing(order, &rows->rows[row], unit)) != NULL) {
            row = wait->row;
            unit = unit_to(order, unit, wait->apart);
            waits++;
            if (!set_has(rows->rows[row].way->meets_set, unit))
                continue;
            starved->block_row = row;
            starved->block_unit = unit;
            set_add(rows->blocks, row);
            return 1;
        }
        if (waits == 0) /* himself */
            return meet_begin(order, row) ? 1 : -1;
        if (waits > NEAR)
            return 0;
        if (!row_work_out_one(order, &rows->rows[row], unit))
            return -1;
    }
}

int meet_catch_up(struct order *order)
{
    struct order_rows *rows = order->rows;
    while (rows->blocks_changed) {
        rows->blocks_changed = false;
        for (size_t i = rows->starved_count; i-- > 0;) {
            struct starved *starved = &rows->starved[i];
            if (starved->block_row != ROW_NONE &&
                !row_has(&rows->rows[starved->block_row], starved->block_unit))
                continue;
            const int found = find_block(order, starved);
            if (found <= 0) {
                rows->blocks_changed = true;
                return found;
            }
        }
        if (!meet_check(order))
            return -1;
    }
    return 1;
}

static uint32_t flight_take(struct order *order)
{
    struct order_rows *rows = order->rows;
    uint32_t index = rows->free_flight;
    if (index != UINT32_MAX) {
        rows->free_flight = rows->flights[index].next_free;
        return index;
    }
    size_t capacity = rows->flight_capacity;
    if (!rows_grow(order, &rows->flights, rows->flight_count, &capacity, sizeof *rows->flights))
        return UINT32_MAX;
    rows->flight_capacity = (uint32_t)capacity;
    return rows->flight_count++;
}

static bool flight_begin(struct order *order, uint32_t number, const struct single *single)
{
    struct row *row = &order->rows->rows[number];
    const uint32_t unit = single->unit;
    if (!row_open(order, row))
        return false;
    const uint32_t index = flight_take(order);
    if (index == UINT32_MAX)
        return false;
    set_add(row->begun, unit);
    starve_end(order->rows, number, unit);
    row_start(order, row, (struct strip){unit, unit + 1});
    const int64_t now_ps = row->end_ps[unit];
    struct flight *flight = &order->rows->flights[index];
    *flight = (struct flight){.single = single,
                              .row = number,
                              .now_ps = now_ps,
                              .head_ps = now_ps,
                              .finish_ps = now_ps,
                              .next_ps = now_ps,
                              .booked_ps = now_ps};
    find_beginning(order, flight);
    if (row->stage < timing_of(order, flight)->stage_count)
        flight->head_ps -= stage_of(order, flight)->ahead_ps;
    return flight_goes(order, index);
}

bool meet_begin(struct order *order, uint32_t number)
{
    const struct row *row = &order->rows->rows[number];
    for (size_t i = 0; i < row->way->single_count; i++) {
        const struct single *single = &row->way->singles[i];
        if (!single->meets || row->left == 0 || (row->begun && set_has(row->begun, single->unit)))
            continue;
        const struct row_wait *wait = missing(order, row, single->unit);
        if (!(!wait                                            ? flight_begin(order, number, single)
              : !goes_through_queue(order, wait, single->unit) ? starve(order, number, single->unit)
                                                               : true))
            return false;
    }
    return true;
}

/* Who waits for nobody of the queue directly is looked at from the beginning on; the others when he
 * has ended. */
bool meet_init(struct order *order)
{
    const struct order_rows *rows = order->rows;
    for (uint32_t r = 0; r < rows->row_count; r++)
        for (size_t i = 0; i < rows->rows[r].way->single_count; i++) {
            const struct single *single = &rows->rows[r].way->singles[i];
            if (!single->meets)
                continue;
            const struct row_wait *wait = missing(order, &rows->rows[r], single->unit);
            if ((!wait || !goes_through_queue(order, wait, single->unit)) &&
                !starve(order, r, single->unit))
                return false;
        }
    return true;
}

bool meet_check(struct order *order)
{
    struct order_rows *rows = order->rows;
    while (rows->check_count > 0) {
        const struct row *row = &rows->rows[rows->checks[--rows->check_count]];
        for (uint32_t i = row->first_next; i < row[1].first_next; i++)
            if (!meet_begin(order, rows->nexts[i]))
                return false;
    }
    return true;
}
