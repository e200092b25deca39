/* walk.h: one run of the engine; what engine.c (set-up and results) and walk.c (the events) share.
 *
 * A lane is one rank's thread of operations. It issues the slices of its operations in program
 * order, each as soon as the inbox has what the slice reads, the lane's last slice is out of the
 * way, and fewer than `window` slices are on their way. A flow is one slice on its way. Nothing is
 * allocated per event but the growth of the pools, which stops once they fit.
 */
#ifndef GDSIM_CORE_WALK_H
#define GDSIM_CORE_WALK_H

#include "sim/core/engine.h"
#include "sim/core/inbox.h"
#include "sim/core/private.h"
#include "sim/core/queue.h"
#include "sim/core/trace.h"

#define NOT_YET INT64_MAX /* nobody knows yet when */

struct lane {
    uint32_t rank;   /* walk->ranks: the switch */
    uint32_t member; /* of a switch lane: the rank whose port it is */
    uint8_t number;
    bool done, loaded, waking, running;
    struct plan_cursor cursor;
    uint32_t op, index;       /* within the step: operation, and which transfer of it */
    struct transfer transfer; /* being issued, if loaded */
    struct transfer arrives;  /* what its receiver sees: the same, or its twin when folded */
    uint32_t slice, slices;
    uint32_t on_the_way;
    uint32_t issued;                            /* slices so far */
    uint64_t order;                             /* of the transfer among events of one time */
    int64_t free_ps;                            /* the next slice may start */
    struct trace_cause cause;                   /* of that */
    const struct timing *timing, *first_timing; /* first: of the transfer's first slice */
};

struct flow {
    const struct timing *timing;
    uint32_t lane, slice, slices, stage;
    uint64_t order; /* among events of one time */
    uint64_t step;
    struct transfer transfer;
    /* within the stage: */
    uint32_t hop;      /* uses that are behind it */
    uint8_t hops;      /* of them, uplinks of the fabric */
    int64_t finish_ps; /* the latest end of the services booked so far */
    int64_t next_ps;   /* when the lane's next slice may start, as far as is known */
    uint32_t record;   /* the trace's last */
    struct trace_cause finish, next;
    uint32_t next_free;
};

struct walk {
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
    uint32_t flow_count, flow_capacity, free_flow;
    struct privates privates;
    int64_t *free_ps; /* by resource, all nodes */
    int64_t *busy_ps;
    uint64_t *chunks; /* that each resource carried, all in chunks */
    uint64_t *slot_chunks;
    struct timing **timings;
    size_t timing_count;
    uint32_t ports; /* ranks of a node */
    uint32_t ranks; /* that are simulated: all, or those of node 0 when folded */
    uint32_t nodes; /* likewise */
    uint32_t window;
    double slice_B; /* payload of a slice, at most */
    bool folded, fold_broken;
    int64_t now;
    struct trace trace;
    struct trace_cause now_cause;
    struct trace_cause *resource_cause; /* of each resource's becoming free */
    struct trace_cause last_cause;
};

/* How many resources there are: those of the simulated nodes, then the uplinks of the fabric, all
 * up, then all down. */
size_t walk_resources(const struct walk *walk);

/* Issue whatever the lane can issue now. */
enum status walk_lane_run(struct walk *walk, size_t index);

/* Handle an event whose time has come. */
enum status walk_event(struct walk *walk, const struct event *event);

#endif
