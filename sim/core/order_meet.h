/* order_meet.h: what order_meet.c and order_begin.c share; see there and order_rows.h. */
#ifndef GDSIM_CORE_ORDER_MEET_H
#define GDSIM_CORE_ORDER_MEET_H

#include "sim/core/order_rows.h"

/* An element on its way through its stage. */
struct flight {
    const struct single *single;
    uint32_t row, next_free;
    uint16_t at;       /* use of the stage */
    bool asked;        /* the present event has come, in the queue's order; */
    bool unsure;       /* which one it is, is not known: only its time */
    struct event here; /* the present event */
    int64_t now_ps, head_ps, finish_ps, next_ps, booked_ps;
};

/* A lane at one unit. */
struct lane_at {
    uint32_t row; /* the lane is free since its element there, 1 + that; 0: not known */
    bool wakes;   /* for that */
    struct event freed;
    /* Where slices may overtake each other (row_keeps_own): */
    uint32_t arrived;     /* slices that are known to arrive, */
    struct event *latest; /* and when the last of them do, as many as the widest window */
    uint32_t waits;       /* row that waits for its window only; ROW_NONE */
};

#define BEGINS ((uint32_t)1 << 31) /* an event by which elements of that row may begin */

/* Of two events of one time. */
static inline bool event_before(const struct event *a, const struct event *b)
{
    return queue_before(a->key, a->rank, b->key, b->rank);
}

static inline bool comes_before(const struct event *a, const struct event *b)
{
    return a->time_ps != b->time_ps ? a->time_ps < b->time_ps : event_before(a, b);
}

static inline const struct timing *timing_of(const struct order *order, const struct flight *flight)
{
    return flight->single->timing[order->rows->rows[flight->row].later];
}

static inline const struct timed_stage *stage_of(const struct order *order,
                                                 const struct flight *flight)
{
    return &timing_of(order, flight)->stages[order->rows->rows[flight->row].stage];
}

/* Of all lanes of all units, the number that events go by. */
static inline uint32_t lane_of(const struct order *order, const struct row *row, uint32_t unit)
{
    return unit * (uint32_t)order->walk->lane_count + row->way->lane;
}

/* What is known of a lane at a unit; made when it is first asked for. NULL: out of memory. */
struct lane_at *meet_lane(struct order *order, const struct row *row, uint32_t unit);
/* Into the queue. False: error or why. */
bool meet_push(struct order *order, struct event event);
/* Let an element that has begun go on, until it must stand in the queue. False: error or why. */
bool flight_goes(struct order *order, uint32_t index);
/* An element has ended, of a lane whose slices may overtake each other. False: error or why. */
bool meet_note_arrival(struct order *order, const struct row *row, uint32_t unit);
/* Elements of this row may begin now. False: out of memory. */
bool meet_look_at(struct order *order, uint32_t row);

#endif
