/* timing.c: see timing.h. */
#include "sim/core/timing.h"

#include <math.h>
#include <string.h>

int64_t engine_ps(double seconds)
{
    return (int64_t)llround(seconds * 1e12);
}

/* Bytes over rate in picoseconds; a resource without limit takes no time. */
static double service_s(double bytes, double rate_Bps)
{
    return isinf(rate_Bps) ? 0.0 : bytes / rate_Bps;
}

static void add_leg(const struct route *route, const struct machine *machine,
                    const struct route_leg *leg, double slice_B, struct timing *timing,
                    struct timed_stage *stage)
{
    int64_t *latency = leg->kind == LEG_WIRE ? &stage->wire_latency_ps : &stage->pcie_latency_ps;
    *latency += engine_ps(leg->latency_s);
    for (size_t i = 0; i < leg->use_count; i++) {
        const struct route_use *use = &route->uses[leg->first_use + i];
        double rate = machine->node.resources[use->resource].rate_Bps;
        int64_t busy = engine_ps(service_s(slice_B * use->bytes_factor, rate));
        if (busy > stage->service_ps || stage->use_count == 0) {
            stage->service_ps = busy;
            stage->slowest = (uint16_t)timing->use_count;
        }
        timing->uses[timing->use_count++] = (struct timed_use){
            .resource = use->resource,
            .end = (uint8_t)use->end,
            .offset_ps = stage->handoff_ps,
            .busy_ps = busy,
        };
        stage->use_count++;
    }
}

/* The handoff keeps its thread busy, and through the stage when it blocks. */
static void close_stage(struct timing *timing, struct timed_stage *stage,
                        const struct route_handoff *handoff)
{
    if (handoff && handoff->label[0]) {
        timing->uses[timing->use_count++] = (struct timed_use){
            .resource = handoff->thread,
            .end = (uint8_t)handoff->end,
            .offset_ps = 0,
            .busy_ps = stage->handoff_ps + (handoff->blocking ? stage->service_ps : 0),
        };
        stage->use_count++;
    }
    stage->duration_ps =
        stage->handoff_ps + stage->pcie_latency_ps + stage->wire_latency_ps + stage->service_ps;
    for (uint16_t i = 0; i < stage->use_count; i++) {
        uint16_t use = (uint16_t)(stage->first_use + i);
        if (i == 0 || timing->uses[use].busy_ps > stage->period_ps) {
            stage->period_ps = timing->uses[use].busy_ps;
            stage->period_use = use;
        }
    }
}

static struct timed_stage *open_stage(struct timing *timing, const struct route_handoff *handoff)
{
    struct timed_stage *stage = &timing->stages[timing->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->first_use = (uint16_t)timing->use_count;
    if (handoff && handoff->label[0]) {
        stage->handoff_ps = engine_ps(handoff->cost_s);
        stage->handoff_category = handoff->param == PARAM_SOFTWARE_COPY_HANDOFF
                                      ? CATEGORY_COPY_HANDOFF
                                      : CATEGORY_STEP_HANDOFF;
    }
    return stage;
}

enum status timing_make(const struct route *route, const struct machine *machine, size_t slot,
                        double slice_B, enum accounting accounting, struct timing *ret_timing,
                        struct error *error)
{
    struct timing *timing = ret_timing;
    memset(timing, 0, sizeof *timing);
    timing->slot = slot;
    timing->slice_B = slice_B;
    for (size_t i = 0; i < route->leg_count; i++)
        if (slice_B / route->legs[i].rate_Bps > 4e6)
            return error_set(error, STATUS_INPUT,
                             "%s: one slice would take more than 4 million seconds",
                             route->legs[i].label);
    for (size_t s = 0; s < route->stage_count; s++) {
        const struct route_stage *from = &route->stages[s];
        const struct route_leg *legs = &route->legs[from->first_leg];
        const struct route_handoff *handoff = &from->handoff;
        if (accounting == ACCOUNTING_PIPELINED) {
            struct timed_stage *stage = open_stage(timing, handoff);
            for (size_t i = 0; i < from->leg_count; i++)
                add_leg(route, machine, &legs[i], slice_B, timing, stage);
            close_stage(timing, stage, handoff);
            continue;
        }
        for (size_t i = 0; i < from->leg_count; i++) {
            struct timed_stage *stage = open_stage(timing, i == 0 ? handoff : NULL);
            add_leg(route, machine, &legs[i], slice_B, timing, stage);
            close_stage(timing, stage, i == 0 ? handoff : NULL);
        }
    }
    return STATUS_OK;
}
