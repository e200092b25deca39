/* timing.h: a route for slices of one size, in whole picoseconds.
 *
 * The event loop reads only this: every duration of every stage, rounded once.
 */
#ifndef GDSIM_CORE_TIMING_H
#define GDSIM_CORE_TIMING_H

#include "models/nccl_channel.h"
#include "sim/core/engine.h"

struct timed_use {
    uint16_t resource; /* of the node at `end` */
    uint8_t end;       /* enum route_end */
    bool queues;       /* slices wait for each other here; false: never, or one for each lane */
    uint32_t row;      /* where the resource of node 0 is in walk->used; filled by the walk */
    int64_t offset_ps; /* the handoff before it; 0 for the thread that does the handoff */
    int64_t busy_ps;
    int64_t after_ps; /* the next use is asked for so long after this one has begun: the handoff */
};

struct timed_stage {
    uint16_t first_use, use_count; /* the thread of the handoff first, then the way of the bytes */
    uint16_t handoff_category;     /* enum ledger_category */
    bool has_thread, blocking;     /* blocking: the thread also waits for the stage */
    bool plain; /* not blocking, and all uses are of resources that have queues, or take no time */
    int64_t handoff_ps, pcie_latency_ps, wire_latency_ps;
    int64_t service_ps; /* of the slowest use */
    int64_t ahead_ps;   /* of the service, what passes before the slice has come in whole */
    int64_t hop_ps;     /* added for each of the fabric's uplinks that is passed */
};

/* Handoff, latencies and what is left of the slowest service: what the stage takes when nothing is
 * waited for. */
static inline int64_t timed_stage_ps(const struct timed_stage *stage)
{
    return stage->handoff_ps + stage->pcie_latency_ps + stage->wire_latency_ps + stage->service_ps -
           stage->ahead_ps;
}

/* What differs from transfer to transfer on one route. */
struct posting {
    double cost_s; /* added to the handoff of the first stage */
    bool packed;   /* a part of a message that is on its way: it pays no handoff of its own, and in
                      serial accounting no latency */
};

struct timing {
    size_t slot;
    double slice_B;
    struct posting posting;
    size_t stage_count, use_count;
    uint16_t nic[2]; /* as in the route */
    uint8_t kind[2]; /* of the nodes at its ends */
    struct timed_stage stages[ROUTE_MAX_LEGS];
    struct timed_use uses[ROUTE_MAX_USES + ROUTE_MAX_STAGES];
};

/* What bytes keep a use busy for. */
int64_t timing_busy_ps(const struct route_use *use, const struct machine *machine, double bytes,
                       struct nccl_pace pace);

/* `pace` is that of the run (protocol_pace). Serial accounting makes each leg a stage of its own.
 * STATUS_INPUT when a duration is beyond what
 * picoseconds can hold. */
enum status timing_make(const struct route *route, const struct machine *machine, size_t slot,
                        double slice_B, struct posting posting, struct nccl_pace pace,
                        enum accounting accounting, struct timing *ret_timing, struct error *error);

/* Whether slices of both go the same way in the same time. */
bool timing_same(const struct timing *a, const struct timing *b);

#endif
