/* order_begin.c: when elements that go through the queue begin. See order_rows.h, order_meet.c.
 *
 * Served is the earliest of the queue, as soon as none that is not there yet can be earlier. Who
 * has not begun waits for others. Where these wait for others in turn, and so on, until one of them
 * is in the queue or comes after who is, he cannot be earlier. Where there is one who can be worked
 * out now, he may be. So that one goes first: alone if he is near, else with all others of the
 * sweep.
 */
#include <stdlib.h>

#include "sim/core/order_meet.h"

/* ---- by which event -------------------------------------------------------------------------- */

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

/* The arrival by which few enough slices of the lane are on their way, of those that are known;
 * NULL: it is not. The row has a slice for each place in its window before it. */
static const struct event *lets_go(const struct order *order, const struct row *row, uint32_t unit)
{
    const struct lane_at *at = &order->rows->lanes[row->way->lane].at[unit];
    const uint32_t must = row->issued - row->window + 1;
    return at->arrived < must ? NULL : &at->latest[at->arrived - must];
}

/* A slice arrives, where others may have overtaken it. */
bool meet_note_arrival(struct order *order, const struct row *row, uint32_t unit)
{
    const uint32_t window = order->rows->lanes[row->way->lane].window;
    struct lane_at *at = meet_lane(order, row, unit);
    if (!at)
        return false;
    const struct event end = end_of(order, row, unit);
    if (end.time_ps < order->walk->queue.now_ps) { /* it might have let somebody go */
        order->why = ORDER_MEETS;
        return false;
    }
    uint32_t i = at->arrived < window ? at->arrived : window - 1;
    if (at->arrived < window || comes_before(&at->latest[i], &end)) {
        for (; i > 0 && comes_before(&at->latest[i - 1], &end); i--)
            at->latest[i] = at->latest[i - 1];
        at->latest[i] = end;
    }
    at->arrived++;
    return at->waits == ROW_NONE || meet_look_at(order, at->waits);
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
        const struct lane_at *at = rows->lanes[row->way->lane].at;
        flight->unsure = !at || at[unit].row != wait->row + 1;
        flight->here = (struct event){.time_ps = order->lanes[row->way->lane].free_ps[unit]};
        if (!flight->unsure)
            flight->here = at[unit].freed;
        wakes = !flight->unsure && at[unit].wakes;
    }
    if (wakes)
        flight->here.key = event_key(WAKE_STAGE, 0, row->order & ~(uint64_t)0xffff);
    for (uint32_t i = 0; i < row->wait_count; i++) {
        const struct row_wait *wait = &rows->waits[row->first_wait + i];
        const bool bound = wait->kind == AFTER_WINDOW && row->issued >= row->window;
        struct event end;
        if (bound && row_keeps_own(order, row, unit))
            end = *lets_go(order, row, unit);
        else if (bound && row_lets_go(order, row)[unit] >= flight->here.time_ps) {
            flight->here = (struct event){.time_ps = row_lets_go(order, row)[unit]};
            flight->unsure = true; /* whose arrival it was */
            wakes = false;
            continue;
        } else if (wait->kind == AFTER_END && wait->row != ROW_NONE)
            end = end_of(order, &rows->rows[wait->row], unit_to(order, unit, wait->apart));
        else
            continue;
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

/* ---- who is waited for ----------------------------------------------------------------------- */

/* What an element that goes through the queue has to wait for: not for its turn at resources that
 * have a queue. */
static bool must_wait(const struct order *order, const struct row *row, const struct single *single,
                      const struct row_wait *wait)
{
    if (wait->row == ROW_NONE)
        return false;
    if (wait->kind == AFTER_WINDOW)
        return !row_keeps_own(order, row, single->unit);
    if (wait->kind != AFTER_USE)
        return true;
    const struct timed_use *use = &row->way->timing[row->later]->uses[wait->use];
    const uint32_t unit = single->unit;
    return order->rows->watch[use->end == END_SRC ? unit : unit_to(order, unit, row->way->apart)] ==
           0;
}

/* Who goes the same way as the lane's slice before, and has begun the stage after it, comes to all
 * resources after it. */
static bool goes_before(const struct row *other, const struct row *row, uint32_t unit)
{
    return other->way == row->way && other->begun && set_has(other->begun, unit);
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
        if (row_has(other, at) ||
            (single && wait->kind == AFTER_STAGE && goes_before(other, row, at)))
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

/* ---- beginning ------------------------------------------------------------------------------- */

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

/* Whether the window lets an element begin, which else could at row->end_ps: 1 it does, 0 later,
 * when an event comes or more is known about older slices, -1: error. What is not known yet comes
 * after what the queue has served. */
static int window_opens(struct order *order, uint32_t number, uint32_t unit)
{
    struct row *row = &order->rows->rows[number];
    if (row->stage > 0 || !row_keeps_own(order, row, unit) || row->issued < row->window)
        return 1;
    struct lane_at *at = meet_lane(order, row, unit);
    if (!at)
        return -1;
    const struct event *arrival = lets_go(order, row, unit);
    const bool later = arrival && arrival->time_ps > row->end_ps[unit];
    at->waits = number;
    if (!arrival)
        return 0;
    if (later && arrival->time_ps > order->walk->queue.now_ps) {
        struct event event = *arrival;
        event.what = number | BEGINS;
        return meet_push(order, event) ? 0 : -1;
    }
    if (later)
        row->end_ps[unit] = arrival->time_ps;
    at->waits = ROW_NONE;
    return 1;
}

static bool flight_begin(struct order *order, uint32_t number, const struct single *single)
{
    struct row *row = &order->rows->rows[number];
    const uint32_t unit = single->unit;
    if (!row_open(order, row))
        return false;
    row_start(order, row, (struct strip){unit, unit + 1});
    starve_end(order->rows, number, unit);
    const int opens = window_opens(order, number, unit);
    if (opens <= 0)
        return opens == 0;
    const uint32_t index = flight_take(order);
    if (index == UINT32_MAX)
        return false;
    set_add(row->begun, unit);
    for (uint32_t i = row->first_next; row->stage > 0 && i < row[1].first_next; i++)
        if (!meet_look_at(order, order->rows->nexts[i])) /* those who go the same way */
            return false;
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

bool meet_look_at(struct order *order, uint32_t row)
{
    struct order_rows *rows = order->rows;
    if (!rows_grow(order, &rows->checks, rows->check_count, &rows->check_capacity,
                   sizeof *rows->checks))
        return false;
    rows->checks[rows->check_count++] = row;
    return true;
}

bool meet_check(struct order *order)
{
    struct order_rows *rows = order->rows;
    for (size_t i = 0; i < rows->check_count; i++) /* which may become more */
        if (!meet_begin(order, rows->checks[i]))
            return false;
    rows->check_count = 0;
    return true;
}
