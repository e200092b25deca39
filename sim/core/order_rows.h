/* order_rows.h: a run without a queue where nodes differ.
 *
 * First the plan is written down as rows, in program order: a row is one stage of one slice, and
 * has an element for each unit of the fold (order_rows.c). What an element does follows from the
 * kinds of the two nodes that its transfer joins (order_ways.c). Most join usual nodes and are
 * worked out together, as vectors; the others one by one.
 *
 * An element can be worked out as soon as those that it waits for have been. At most resources all
 * come in program order, and each waits for who comes before. But where a node differs, and several
 * come to one of its resources, who asks first depends on times: these elements go through a small
 * queue, by the time at which they ask. The next of the queue may be served when nobody can come
 * earlier: all that does not need the queue has then been worked out, as far ahead as it goes
 * (order_sweep.c, order_begin.c, order_meet.c). In a ring that is nearly a whole round ahead of the
 * odd node.
 */
#ifndef GDSIM_CORE_ORDER_ROWS_H
#define GDSIM_CORE_ORDER_ROWS_H

#include "sim/core/order_inside.h"

#define ROW_NONE UINT32_MAX

/* An element that is not passed together with its neighbours. */
struct single {
    uint32_t unit;                  /* of the fold: the sender's */
    bool meets;                     /* goes through the queue */
    const struct timing *timing[2]; /* of the transfer's first slice, of the others; its own if the
                                       nodes are not usual ones */
    struct order_resource **uses;
};

/* What the slices of a lane's transfer have in common. */
struct way {
    uint32_t lane, place, apart, to;
    const struct timing *timing[2]; /* of usual nodes, as in struct single */
    struct order_resource **uses;
    size_t stage_count; /* the most of any element */
    uint64_t slices[2], chunks;
    struct single *singles; /* by unit, upwards */
    size_t single_count;
    uint64_t *apart_set, *meets_set; /* sets of units: that are singles, and go through the queue */
};

/* What an element waits for. */
enum row_after {
    AFTER_END,   /* it begins when that one has ended */
    AFTER_TURN,  /* it comes after it in its lane */
    AFTER_STAGE, /* it comes after it at the resources of the stage */
    AFTER_USE,   /* it comes after it at a resource */
    /* Fewer slices than its window must be on their way: it begins when enough have arrived. Known
     * after that one, the lane's last. Where slices arrive in order this is a AFTER_END. */
    AFTER_WINDOW,
};

struct row_wait {
    uint32_t row;   /* ROW_NONE: AFTER_USE, another use of its own row, at other units; or nobody */
    uint32_t apart; /* of the element that is so many units further on */
    uint8_t kind;
    uint16_t use;    /* AFTER_USE: of the way's timing; its resource is the one, */
    int64_t last_ps; /* which that one keeps busy for so long */
};

struct row {
    struct way *way;
    uint32_t first_wait, wait_count;
    uint32_t first_next; /* rows that wait for this one: see nexts */
    uint32_t issued;     /* slices of its lane before it, */
    uint32_t window;     /* of which fewer than so many are on their way */
    uint32_t left;       /* elements to be worked out */
    uint32_t readers;    /* rows that need end_ps and are not complete */
    uint64_t order;      /* of its events among those of one time: see walk.h */
    uint8_t stage;
    bool first, later, arrives; /* of its lane; a later slice of its transfer; the last stage */
    uint64_t *done;             /* set of units; NULL: none yet, or all */
    uint64_t *begun;            /* likewise, of those that go through the queue */
    int64_t *end_ps;            /* vector, by the sender's unit */
};

/* An element in the queue, or on its way to it: see order_meet.c. */
struct flight;

struct order_rows {
    struct way **ways;
    size_t way_count, way_capacity;
    struct row *rows;
    size_t row_count, row_capacity;
    struct row_wait *waits;
    size_t wait_count, wait_capacity;
    uint32_t *nexts; /* the rows that wait for row r: nexts[r.first_next] up to the next row's */
    struct row_lane {
        struct way *way;
        uint32_t *arrivals; /* row of each slice's last stage */
        uint32_t count, capacity;
        uint32_t newest[ROUTE_MAX_LEGS]; /* row of each stage's last slice; ROW_NONE */
        struct lane_at *at;              /* by unit; order_meet.c */
        bool mixed;       /* slices take different ways, and may overtake each other */
        bool joined;      /* what goes through the queue somewhere does so by all ways */
        uint32_t window;  /* the widest, */
        int64_t *last_ps; /* and if they may, so many vectors: the latest arrivals so far. That of
                             (issued % window) is the last of all, when so many have arrived; the
                             one before it the last but one, and so on */
    } * lanes;
    size_t vectors; /* that rows have now */
    size_t words;   /* of a set of units */
    uint64_t **spare_sets;
    size_t spare_set_count, spare_set_capacity;
    uint64_t *ready; /* two sets */
    uint64_t *dirty; /* set of rows: something that they wait for has happened */
    size_t dirty_low, dirty_words;
    uint32_t *units; /* that hold an odd node */
    uint32_t unit_count;
    uint32_t *watch;   /* by unit: 0, or 1 + its place in: */
    uint32_t *watched; /* units at the ends of what is not usual */
    uint32_t watched_count;
    struct flight *flights;
    uint32_t flight_count, flight_capacity, free_flight;
    uint32_t *checks; /* rows of which elements that go through the queue may begin */
    size_t check_count, check_capacity;
    struct starved { /* elements that wait for nobody of the queue directly */
        uint32_t row, unit;
        uint32_t block_row, block_unit; /* see order_begin.c; ROW_NONE: to be found */
    } * starved;
    size_t starved_count, starved_capacity;
    uint64_t *blocks; /* set of rows: those block_rows */
    bool blocks_changed;
    size_t rows_left;
};

/* The unit `apart` further on than `unit`, and the one before. */
static inline uint32_t unit_to(const struct order *order, uint32_t unit, uint32_t apart)
{
    if (order->walk->fold.kind == FOLD_XOR)
        return unit ^ apart;
    const uint32_t to = unit + apart;
    return to < order->width ? to : to - order->width;
}

/* The way back of `apart`. */
static inline uint32_t apart_back(const struct order *order, uint32_t apart)
{
    return order->walk->fold.kind == FOLD_XOR || apart == 0 ? apart : order->width - apart;
}

static inline uint32_t unit_from(const struct order *order, uint32_t unit, uint32_t apart)
{
    return unit_to(order, unit, apart_back(order, apart));
}

static inline bool set_has(const uint64_t *set, uint32_t unit)
{
    return set[unit / 64] >> unit % 64 & 1;
}

static inline void set_add(uint64_t *set, uint32_t unit)
{
    set[unit / 64] |= (uint64_t)1 << unit % 64;
}

/* Room for one more; false: out of memory, and walk->error. */
bool rows_grow(struct order *order, void *list, size_t count, size_t *capacity, size_t size);

/* ---- who goes which way: order_ways.c -------------------------------------------------------- */

/* Of the lane that has been loaded. NULL: walk->error or order->why. */
struct way *way_find(struct order *order, uint32_t lane, uint32_t apart);
/* All rows have been written: which elements go through the queue, and how long all keep resources
 * busy. */
enum status ways_settle(struct order *order);
void way_free(struct way *way);
enum status ways_init(struct order *order);
/* The use of an element meets others there, in an order that is not the program's. */
struct meeting *way_meeting(const struct order *order, const struct order_resource *resource,
                            uint32_t unit);
const struct single *way_single(const struct way *way, uint32_t unit);

/* Those who come to a resource of a watched unit. */
struct meeting {
    struct order_user user; /* the first of them, as the rows are gone through */
    bool used, shared;      /* by anybody; by several */
    bool served;
    struct event asked; /* for the last who was served: the event in which he asked, */
    bool unsure;        /* as far as is known, */
    struct order_user last;
};

/* ---- working it out: order_sweep.c, order_meet.c --------------------------------------------- */

enum status rows_work_out(struct order *order);

/* Whether an element has been worked out. */
static inline bool row_has(const struct row *row, uint32_t unit)
{
    return row->left == 0 || (row->done && set_has(row->done, unit));
}
/* The arrivals of the lane at this unit are kept by order_meet.c. */
static inline bool row_keeps_own(const struct order *order, const struct row *row, uint32_t unit)
{
    const struct row_lane *lane = &order->rows->lanes[row->way->lane];
    return lane->last_ps && lane->joined && set_has(row->way->meets_set, unit);
}
/* Vectors and sets of a row that is begun. False: out of memory, or order->why. */
bool row_open(struct order *order, struct row *row);
/* Elements have been worked out: `count` have been added to row->done. */
bool row_advance(struct order *order, struct row *row, uint32_t count);
/* Work out one element, which waits for nothing any more. False: error or why. */
bool row_work_out_one(struct order *order, struct row *row, uint32_t unit);
/* The beginning of elements of a strip, so far as it is known from ends of others; into end_ps. */
void row_start(const struct order *order, const struct row *row, struct strip strip);
/* When few enough of the slices before it are on their way: a vector. */
const int64_t *row_lets_go(const struct order *order, const struct row *row);
/* Elements have ended: when the lane is free, and the run's end. */
void row_ends(struct order *order, const struct row *row, struct strip strip);

/* All rows are known. False: out of memory. */
bool meet_init(struct order *order);
/* Before the next of the queue is served: work out those around who may come before him. 1 it is
 * done, 0 it needs a sweep, -1: error or why. */
int meet_catch_up(struct order *order);
/* Elements of the row that go through the queue: begin those that can. False: error or why. */
bool meet_begin(struct order *order, uint32_t row);
/* Those that may begin since something has been worked out. */
bool meet_check(struct order *order);
/* What is known of a lane. */
void meet_forget(struct row_lane *lane, uint32_t width);
/* Serve the next of the queue. 1, 0: there is none, -1: error or why. */
int meet_serve(struct order *order);

#endif
