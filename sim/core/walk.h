/* walk.h: one run of the engine; what engine.c (set-up and results) and walk.c (the events) share.
 *
 * A lane is one rank's thread of operations. It issues the slices of its operations in program
 * order, each as soon as the inbox has what the slice reads, the lane's last slice is out of the
 * way, and fewer than `window` slices are on their way. A flow is one slice on its way. Nothing is
 * allocated per event but the growth of the pools, which stops once they fit.
 *
 * Events of one time leave the queue rank by rank, so what they need lies rank by rank: lanes,
 * slices on their way and inboxes in arrays, the resources of all nodes in one row for each kind.
 * Memory is then read from front to back, which processors fetch in advance. Nothing is looked up
 * by name or number: a lane keeps the timing of its last transfer, and a timing knows the rows of
 * its resources. A ring of 4096 takes 1670 instructions for each transfer: two events, eight
 * resources, one message.
 */
#ifndef GDSIM_CORE_WALK_H
#define GDSIM_CORE_WALK_H

#include "sim/core/budget.h"
#include "sim/core/engine.h"
#include "sim/core/fold.h"
#include "sim/core/inbox.h"
#include "sim/core/private.h"
#include "sim/core/protocol.h"
#include "sim/core/queue.h"
#include "sim/core/steady.h"
#include "sim/core/trace.h"
#include "sim/core/turns.h"

#define TURN_SWITCH UINT32_MAX /* those of the switch, after all nodes had their turn */
#define NOT_YET     INT64_MAX  /* nobody knows yet when */

/* What a lane has to wait for before it can go on; only when that happens is it looked at. */
enum lane_wait { WAIT_ANY, WAIT_WINDOW, WAIT_DATA, WAIT_FREE };

/* By cache lines: what decides whether the lane goes on; what a slice takes along; where in the
 * plan the lane is; what only folded runs need. */
struct lane {
    _Alignas(256) bool done;
    bool loaded, waking, running;
    uint8_t waits; /* enum lane_wait */
    uint8_t number;
    uint32_t on_the_way, window; /* slices: now, and at most */
    uint32_t slice, slices;
    uint32_t box;             /* inbox of what it may send on */
    uint32_t rank;            /* walk->ranks: the switch */
    uint32_t member;          /* of a switch lane: the rank whose port it is */
    uint32_t issued;          /* slices so far */
    int64_t free_ps;          /* the next slice may start */
    struct trace_cause cause; /* of that */
    uint64_t order;           /* of the transfer among events of one time */

    struct transfer transfer;                   /* being issued, if loaded */
    const struct timing *timing, *first_timing; /* first: of the transfer's first slice */
    uint32_t node[2];                           /* at both ends */

    struct plan_cursor cursor;
    uint32_t op, index;            /* within the step: operation, and which transfer of it */
    const struct plan_op *sent_op; /* of the last transfer; NULL: nothing sent yet, */
    uint32_t sent_to, sent_count;  /* and the rest of it: an equal one takes the same way */

    struct transfer arrives;       /* what its receiver sees, a twin of the transfer */
    const struct kinds_met *kinds; /* of the nodes that the transfer joins; NULL: all are alike */
};

/* How often a transfer of all units of the fold joins nodes of each two kinds. */
struct kinds_met {
    uint32_t nodes[2], apart; /* sender's and receiver's place in their units */
    struct kinds_met *next;
    uint32_t counts[]; /* as routes number pairs of kinds */
};

/* By cache lines: what all events need; what an arrival needs. */
struct flow {
    _Alignas(64) const struct timed_stage *timed; /* the present stage, */
    const struct timing *timing;                  /* of this */
    uint32_t node[2];                             /* at both ends */
    uint32_t lane, slice;
    uint16_t hop; /* uses of the stage that are behind it */
    uint8_t hops; /* of them, uplinks of the fabric */
    uint8_t stage;
    bool live;
    uint64_t order;    /* among events of one time */
    int64_t finish_ps; /* the latest end of the stage's services booked so far */
    int64_t next_ps;   /* when the lane's next slice may start, as far as is known */

    struct transfer transfer;
    uint64_t step;
    int64_t event_ps; /* of its event in the queue */
    uint32_t slices;
    uint32_t next_free;
};

/* What a flow leaves in the trace; kept apart, because most large runs have none. */
struct flow_trace {
    uint32_t record;                 /* the last */
    struct trace_cause finish, next; /* what made these times */
};

/* A resource of one node, or an uplink. */
struct used {
    int64_t free_ps, busy_ps;
};

/* Transfers of one rank that cost the same whatever the machine; see lockstep.h. */
enum { LOCKSTEP_KINDS = 16 };
struct lockstep {
    const struct plan *plan; /* that this is about; NULL: nothing is known */
    bool fits;
    size_t count;
    struct lockstep_kind {
        struct transfer transfer; /* the first */
        uint64_t times;
    } kinds[LOCKSTEP_KINDS];
};

/* Memory from one run to the next. */
struct kept {
    void *data;
    size_t size_B;
};

/* What runs of one plan have in common, and memory that they hand on. */
struct engine {
    struct ledger ledger;
    const struct plan *plan; /* that this is about; NULL: nothing is known */
    uint32_t ports;
    struct fold fold;
    uint8_t *verdicts; /* of its loops, folded and not; see order_skip.c */
    struct lockstep lockstep;
    struct trace_record *records;
    uint32_t record_capacity;
    struct kept used, used_causes, uplink_chunks, slot_chunks, resource_chunks;
    struct timing **timings; /* as many as were needed so far */
    size_t timing_capacity;
};

struct walk {
    struct engine *engine;
    const struct engine_job *job;
    const struct plan *plan;
    const struct machine *machine;
    struct ledger *ledger;
    struct error *error;
    struct queue queue;
    struct mailroom mailroom;
    struct lane *lanes;
    size_t lane_count;
    struct flow *flows;
    struct flow_trace *flow_traces; /* by place in flows */
    uint32_t flow_count, flow_capacity, free_flow;
    struct privates privates;
    /* A row of the simulated nodes for each resource of a node, because events of one time go from
     * node to node; then the uplinks: all up, then all down. Causes: of their becoming free. */
    struct used *used;
    struct trace_cause *used_causes;
    size_t used_count, first_uplink;
    int64_t **odd_ps; /* of used, by unit of the fold: busy beyond that; order_rows.h. NULL: all are
                         alike */
    uint64_t *uplink_chunks; /* that each uplink carried */
    uint64_t *slot_chunks;
    size_t timing_count;   /* of the engine's timings, those of this run */
    uint32_t ports;        /* ranks of a node */
    uint32_t ranks;        /* that are simulated: all, or those of the first nodes when folded */
    uint32_t nodes;        /* likewise */
    struct nccl_pace pace; /* of channels that push over NVLink */
    struct protocol_cut cut[2]; /* of transfers inside a node, and through the network */
    struct fold fold;
    struct seen *seen; /* folded: by resource; see fold.h */
    bool fold_broken;
    bool as_one_kind; /* folded: nodes differ, but so far in nothing that is used */
    struct kinds_met *kinds_met;
    int64_t now;
    uint64_t root;     /* kinds of events so far; see fold.h */
    uint64_t root_key; /* of the one that is being handled */
    uint32_t turn;     /* folded: how far from its sender are the lanes that run; see fold.h */
    int64_t ahead_ps;  /* at most so far in the past may a stage begin */
    struct budget budget;
    struct steady steady;
    struct turns turns;
    struct trace trace;
    struct trace_cause now_cause;
    struct trace_cause last_cause;
};

/* What the receiver sees of the lane's transfer. */
static inline const struct transfer *lane_arrives(const struct walk *walk, const struct lane *lane)
{
    return walk->fold.kind ? &lane->arrives : &lane->transfer;
}

/* The lane of an owner: a rank, or from walk->ranks on the switch's port to that rank. */
void walk_lane_init(const struct walk *walk, struct lane *lane, uint32_t owner, uint32_t number);

/* `happened` may let the lane go on: issue whatever it can issue now. */
enum status walk_lane_go(struct walk *walk, size_t index);
static inline enum status walk_lane_run(struct walk *walk, size_t index, enum lane_wait happened)
{
    const struct lane *lane = &walk->lanes[index];
    if (lane->running || (happened != WAIT_ANY && lane->waits != happened))
        return STATUS_OK;
    return walk_lane_go(walk, index);
}

/* The timing of a route for a slice size; made on first use. Few sizes occur in one run. NULL:
 * walk->error says why. */
const struct timing *walk_timing(struct walk *walk, size_t slot, double slice_B,
                                 struct posting posting);

/* Take the slice through its stage as far as it gets now; begin its present stage. See flow.c. */
enum status flow_advance(struct walk *walk, uint32_t index);
enum status flow_stage(struct walk *walk, uint32_t index);
/* A flow to fill, and back. UINT32_MAX: out of memory. */
uint32_t flow_new(struct walk *walk);
static inline uint32_t flow_take(struct walk *walk)
{
    const uint32_t index = walk->free_flow;
    if (index == UINT32_MAX)
        return flow_new(walk);
    walk->free_flow = walk->flows[index].next_free;
    return index;
}
static inline void flow_give(struct walk *walk, uint32_t index)
{
    walk->flows[index].live = false;
    walk->flows[index].next_free = walk->free_flow;
    walk->free_flow = index;
}

/* Who has a resource without a queue for himself, at end `here` (0: the sender's). */
uint32_t walk_owner(const struct walk *walk, uint32_t lane, const struct transfer *transfer,
                    const struct timing *timing, uint32_t here, uint16_t resource);

/* Slices, timing and order of the transfer that the lane has just loaded. */
enum status walk_prepare(struct walk *walk, struct lane *lane);

/* A lane's order: 16 bits of slices issued, 6 of its number (PLAN_MAX_LANES), 23 of the step, then
 * the sender's place in its node. */
#define ORDER_LANE_SHIFT  16
#define ORDER_STEP_SHIFT  22
#define ORDER_STEP_BITS   23
#define ORDER_STEP_MASK   (((uint64_t)1 << ORDER_STEP_BITS) - 1)
#define ORDER_PLACE_SHIFT (ORDER_STEP_SHIFT + ORDER_STEP_BITS)
_Static_assert(PLAN_MAX_LANES <= 1 << (ORDER_STEP_SHIFT - ORDER_LANE_SHIFT),
               "a lane's number fits into its order");

#define WAKE_STAGE 15u
static inline uint64_t event_key(uint32_t stage, uint32_t hop, uint64_t order)
{
    return (uint64_t)stage << 59 | (uint64_t)hop << 53 | order;
}
/* What to say about an event that could not be put into the queue. */
enum status walk_not_pushed(struct walk *walk, int64_t time_ps);
static inline enum status walk_push(struct walk *walk, struct event event)
{
    /* Equal nodes have their turn one after the other. What comes now, but before the others'
     * turn, would find some nodes further on than others. */
    if (event.time_ps == walk->now && walk->fold.kind && event.key <= walk->root_key)
        walk->fold_broken = true;
    if (event.time_ps < 0 || event.time_ps > ENGINE_MAX_TIME_PS || !queue_push(&walk->queue, event))
        return walk_not_pushed(walk, event.time_ps);
    return STATUS_OK;
}

/* Handle an event whose time has come. */
enum status walk_event(struct walk *walk, const struct event *event);

#endif
