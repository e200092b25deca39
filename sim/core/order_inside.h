/* order_inside.h: what order.c, order_stage.c and order_skip.c share; see order.h. */
#ifndef GDSIM_CORE_ORDER_INSIDE_H
#define GDSIM_CORE_ORDER_INSIDE_H

#include "sim/core/order.h"
#include "sim/core/vector.h"

struct order_rows;
struct meeting;

/* Who used a resource last: lane, way, and where on it. */
struct order_user {
    uint32_t lane, apart;
    size_t slot;
    uint16_t use;
    int64_t last_ps; /* for so long */
};

struct order_resource {
    int64_t *free_ps; /* vector; NULL: not used yet */
    struct order_user user;
    uint32_t row, apart;      /* of that user, and how far from its unit; order_rows.c */
    struct meeting *meetings; /* at units that are watched; order_ways.c */
    uint32_t place, owner;    /* of what someone has for himself */
    uint16_t number;
    struct used *used;
    struct trace_cause cause;
    struct order_resource *next; /* of those of the same place */
};

/* An event that may let a slice go: its time (of the first element) and what comes first then. */
struct arrival {
    int64_t *at_ps; /* vector */
    uint64_t key;
    uint32_t lane;
    uint32_t row; /* instead of all that, where the plan is written down: order_rows.h */
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
    bool wakes;                  /* it is free some time after the stage was booked */
    bool moved;                  /* since the loop began */
    struct arrival *window;      /* the arrivals of the last slices, in turn */
    uint32_t window_size;        /* of them that are kept: the widest window so far */
    uint32_t window_count;       /* slices so far, at most that many */
    size_t slot;                 /* of the last slice */
    const struct timing *way[2]; /* that `uses` are of, to that place: first slice, others */
    uint32_t to, apart;
    struct order_resource **uses;
};

/* A slice on its way, with vectors. */
struct moving {
    uint32_t lane, place, apart, slice;
    const struct timing *timing;
    struct order_resource **uses; /* of the timing */
    uint64_t key;                 /* of the event that let it do the last thing it did */
    uint32_t key_lane;
    uint32_t issued; /* slices of the lane before it */
    int64_t *now_ps, *head_ps, *finish_ps, *next_ps;
    int64_t booked_ps; /* of the first element: its last resource was asked then */
    uint32_t record;
    struct trace_cause begun, finish, next;
};

#define ORDER_MEETS   "two lanes meet at a resource, and who asks first depends on times"
#define ORDER_WAITING "a rank has too many messages waiting for lanes that are behind"

#define ORDER_MANY_RECEIVES 256u /* of one rank at once */

struct order {
    struct walk *walk;
    uint32_t width;
    struct order_resource *resources; /* by place in walk->used */
    struct order_resource **own;
    struct order_resource **own_at; /* the newest of each place */
    size_t own_count, own_capacity;
    struct order_lane *lanes;
    struct order_inbox *inboxes;
    struct moving *moving;
    int64_t **spare; /* vectors */
    size_t spare_count, spare_capacity;
    struct arrival last;
    struct order_rows *rows; /* nodes differ; NULL: none do, or there is but one element */
    struct rounds *rounds;   /* of loops; see order_skip.c. NULL: all turns are gone through */
    /* In the present stage, by use: the last user was another, and stayed for so long. */
    bool meets[ROUTE_MAX_USES + 1];
    int64_t meets_ps[ROUTE_MAX_USES + 1];
    bool sliced; /* some transfer has more than one slice */
    const char *why;
};
enum status order_no_memory(struct order *order);
int64_t *order_vector_take(struct order *order);
void order_vector_give(struct order *order, int64_t *vector);

/* A part of the vectors. What is done to them one after the other is done strip by strip, so that
 * the next thing finds the strip in the nearest cache. */
struct strip {
    uint32_t from, end;
};
#define STRIP 512u /* elements; a power of two */

/* Elements `from` .. `from` + `count` - 1 as seen `apart` units further on. */
struct stretch {
    uint32_t from, to, count;
};

/* The next stretch of the strip's elements that stay together; false after the last. Begin with the
 * strip's beginning and a count of 0. */
static inline bool stretch_next(const struct order *order, uint32_t apart, struct strip strip,
                                struct stretch *stretch)
{
    const uint32_t width = order->width, from = stretch->from + stretch->count;
    if (from >= strip.end)
        return false;
    stretch->from = from;
    if (width == 1) {
        stretch->to = 0;
        stretch->count = 1;
        return true;
    }
    uint32_t count;
    if (order->walk->fold.kind == FOLD_XOR) { /* blocks of the size of the lowest bit move */
        const uint32_t block = apart ? apart & -apart : width;
        stretch->to = from ^ apart;
        count = block - (from & (block - 1));
    } else {
        stretch->to = from < width - apart ? from + apart : from - (width - apart);
        count = from < width - apart ? width - apart - from : width - from;
    }
    stretch->count = count < strip.end - from ? count : strip.end - from;
    return true;
}

static inline void latest(int64_t *ret, const int64_t *other, uint32_t count)
{
    if (count == 1)
        *ret = *ret > *other ? *ret : *other;
    else
        vector_latest(ret, other, count);
}

/* Of two events, whether `a` is handled after `b`. */
bool order_comes_later(const struct arrival *a, const struct arrival *b);

/* Forget receives that no lane of the place can have to wait for any more. */
void order_tidy(struct order *order, uint32_t place);

/* The resources of the transfer that a lane has loaded, found once for as long as it keeps to it.
 */
enum status order_way(struct order *order, uint32_t lane, uint32_t apart);

/* The order_resources that a transfer's timings use, of its first slice and of the others, for a
 * lane whose transfer has been loaded. False: out of memory, or order->why. */
bool order_uses(struct order *order, uint32_t lane, const struct timing *const timing[2],
                struct order_resource ***uses);

/* The same for the elements of a strip; see order_stage.c. */
bool order_pass(struct order *order, struct moving *moving, uint32_t stage, struct strip strip);
bool order_asks_in_order(const struct order *order, const struct order_resource *resource,
                         const struct moving *moving, bool at_once, uint32_t apart,
                         struct strip strip, int64_t last_ps);
static inline bool order_same_user(const struct order_user *a, const struct order_user *b)
{
    return a->lane == b->lane && a->apart == b->apart && a->slot == b->slot && a->use == b->use;
}

/* The place of the lane's transfer in its receiver's inbox, and one that is not needed any more. */
struct order_receive *order_receive_find(struct order *order, const struct lane *lane);
void order_inbox_drop(struct order *order, struct order_inbox *inbox, size_t index);

/* ---- nodes that differ: order_rows.h --------------------------------------------------------- */

enum status order_rows_init(struct order *order);
void order_rows_free(struct order *order);
/* The way of the transfer that a lane has loaded. */
enum status order_rows_way(struct order *order, uint32_t lane, uint32_t apart);
/* Write down the `count` transfers that have been loaded. False: out of memory, or order->why. */
bool order_rows_write(struct order *order, uint32_t count);
/* All has been written down: work it out. */
enum status order_rows_run(struct order *order);
/* A thread has waited for its stage. False: out of memory. */
bool order_rows_waited(struct order *order, const struct order_resource *thread, uint32_t unit,
                       int64_t more_ps);

/* Take a slice through one stage. False: order->why says why not, or out of memory. */
bool order_stage(struct order *order, struct moving *moving, uint32_t stage);

/* At a step: where the turns of the loop around it repeat, go on that many turns later. */
enum status order_skip(struct order *order, struct plan_cursor *cursor);
enum status order_skip_init(struct order *order);
void order_skip_free(struct order *order);

#endif
