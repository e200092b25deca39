/* timing.h: a route for slices of one size, in whole picoseconds.
 *
 * The event loop reads only this: every duration of every stage, rounded once.
 */
#ifndef GDSIM_CORE_TIMING_H
#define GDSIM_CORE_TIMING_H

#include "sim/core/engine.h"

struct timed_use {
    uint16_t resource; /* of the node at `end` */
    uint8_t end;       /* enum route_end */
    int64_t offset_ps; /* from the start of the stage to when the resource is needed */
    int64_t busy_ps;
};

struct timed_stage {
    uint16_t first_use, use_count;
    uint16_t slowest;          /* use whose service time is the stage's */
    uint16_t handoff_category; /* enum ledger_category */
    int64_t handoff_ps, pcie_latency_ps, wire_latency_ps, service_ps;
    int64_t period_ps;   /* the next slice can start this much after this one: max busy */
    uint16_t period_use; /* use that sets the period */
    int64_t duration_ps; /* handoff + latencies + service */
};

struct timing {
    size_t slot;
    double slice_B;
    size_t stage_count, use_count;
    struct timed_stage stages[ROUTE_MAX_LEGS];
    struct timed_use uses[ROUTE_MAX_USES + ROUTE_MAX_STAGES];
};

/* Serial accounting makes each leg a stage of its own. STATUS_INPUT when a duration is beyond
 * what picoseconds can hold. */
enum status timing_make(const struct route *route, const struct machine *machine, size_t slot,
                        double slice_B, enum accounting accounting, struct timing *ret_timing,
                        struct error *error);

#endif
