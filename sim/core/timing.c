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

int64_t timing_busy_ps(const struct route_use *use, const struct machine *machine, double bytes,
                       struct nccl_pace pace)
{
    double pieces = use->piece_B > 0 && bytes > use->piece_B ? ceil(bytes / use->piece_B) : 1;
    double fixed_s = use->piece_B > 0 ? (pieces - 1) * use->fixed_s : use->fixed_s;
    double rate_Bps = use->rate_Bps * use->efficiency;
    if (use->head)
        return engine_ps(bytes * pace.least_s);
    if (use->link_Bps > 0)
        rate_Bps = 1 / nccl_push_s(rate_Bps, use->copy_Bps, use->link_Bps, pace);
    else if (machine->node.resources[use->resource].kind == RESOURCE_SM)
        rate_Bps *= pace.share;
    return engine_ps(service_s(bytes * use->bytes_factor, rate_Bps) + fixed_s);
}

/* Whether slices wait for each other at a resource.
 *   channels: lanes have their own, and need not; but towards host memory a channel may have to do
 *     with two transfers of its lane, one that it stores and one that it loads: these wait
 *   NVLink that channels push into, at its first link: where their pace has the link in it */
static bool is_queue(const struct route *route, const struct route_leg *leg, size_t at,
                     enum resource_kind kind, struct nccl_pace pace)
{
    const struct route_use *use = &route->uses[leg->first_use + at];
    const struct route_use *last = &route->uses[leg->first_use + leg->use_count - 1];
    switch (kind) {
    case RESOURCE_CHANNEL:
    case RESOURCE_PEER:
        return false;
    case RESOURCE_SM:
        return !(pace.share < 1 || (pace.part < 1 && (use->link_Bps > 0 || use->head)));
    case RESOURCE_NVLINK:
        return !(at == 0 && last->link_Bps > 0 && pace.part < 1 && pace.within);
    default:
        return true;
    }
}

static void add_leg(const struct route *route, const struct machine *machine,
                    const struct route_leg *leg, double slice_B, struct nccl_pace pace,
                    struct timing *timing, struct timed_stage *stage)
{
    int64_t *latency = leg->kind == LEG_WIRE ? &stage->wire_latency_ps : &stage->pcie_latency_ps;
    const int64_t latency_ps = engine_ps(leg->latency_s);
    *latency += latency_ps;
    if (leg->kind == LEG_WIRE)
        stage->hop_ps = engine_ps(param_get(&machine->fabric, PARAM_FABRIC_HOP_LATENCY));
    for (size_t i = 0; i < leg->use_count; i++) {
        const struct route_use *use = &route->uses[leg->first_use + i];
        const struct resource *resource = &machine->node.resources[use->resource];
        int64_t busy = timing_busy_ps(use, machine, slice_B, pace);
        if (use->link_Bps > 0 && pace.by_line)
            *latency -= busy < latency_ps ? busy : latency_ps;
        if (busy > stage->service_ps && use->end != END_FABRIC)
            stage->service_ps = busy;
        timing->uses[timing->use_count++] = (struct timed_use){
            .resource = use->resource,
            .end = (uint8_t)use->end,
            .queues = busy > 0 && is_queue(route, leg, i, resource->kind, pace),
            .offset_ps = stage->handoff_ps,
            .busy_ps = busy,
        };
        stage->use_count++;
    }
}

/* All but the last packet passes while the slice comes in. */
static void stream_stage(const struct route *route, double slice_B, struct timed_stage *stage)
{
    double ahead_B = slice_B - route->packet_B;
    if (!(ahead_B > 0) || stage->service_ps == 0)
        return;
    int64_t in_ps = engine_ps(service_s(ahead_B, route->stream_Bps));
    int64_t out_ps = (int64_t)((double)stage->service_ps * (ahead_B / slice_B));
    stage->ahead_ps = in_ps < out_ps ? in_ps : out_ps;
}

static struct timed_stage *open_stage(struct timing *timing, const struct route_handoff *handoff)
{
    double cost_s = timing->stage_count == 0 ? timing->posting.cost_s : 0;
    struct timed_stage *stage = &timing->stages[timing->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->first_use = (uint16_t)timing->use_count;
    if (!handoff || !handoff->label[0])
        return stage;
    stage->handoff_ps = engine_ps((timing->posting.packed ? 0 : handoff->cost_s) + cost_s);
    stage->handoff_category = handoff->param == PARAM_SOFTWARE_STEP_HANDOFF ||
                                      handoff->param == PARAM_SOFTWARE_GPU_POST ||
                                      handoff->param == PARAM_SOFTWARE_PEER_HANDOFF ||
                                      handoff->param == PARAM_SOFTWARE_STORAGE_SUBMIT
                                  ? CATEGORY_STEP_HANDOFF
                                  : CATEGORY_COPY_HANDOFF;
    stage->has_thread = true;
    stage->blocking = handoff->blocking;
    stage->use_count = 1;
    timing->uses[timing->use_count++] = (struct timed_use){
        .resource = handoff->thread,
        .end = (uint8_t)handoff->end,
        .queues = !handoff->by_gpu && (stage->handoff_ps > 0 || handoff->blocking),
        .busy_ps = stage->handoff_ps,
        .after_ps = stage->handoff_ps,
    };
    return stage;
}

static void note_plain(struct timing *timing)
{
    for (size_t s = 0; s < timing->stage_count; s++) {
        struct timed_stage *stage = &timing->stages[s];
        stage->plain = !stage->blocking;
        for (uint16_t i = 0; i < stage->use_count; i++) {
            const struct timed_use *use = &timing->uses[stage->first_use + i];
            if (use->end == END_FABRIC || (!use->queues && use->busy_ps > 0))
                stage->plain = false;
        }
    }
}

enum status timing_make(const struct route *route, const struct machine *machine, size_t slot,
                        double slice_B, struct posting posting, struct nccl_pace pace,
                        enum accounting accounting, struct timing *ret_timing, struct error *error)
{
    struct timing *timing = ret_timing;
    timing->stage_count = timing->use_count = 0; /* the rest is filled as far as it is used */
    timing->slot = slot;
    timing->slice_B = slice_B;
    timing->posting = posting;
    timing->nic[0] = route->nic[0];
    timing->nic[1] = route->nic[1];
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
                add_leg(route, machine, &legs[i], slice_B, pace, timing, stage);
            if (s == 0 && route->stream_Bps > 0)
                stream_stage(route, slice_B, stage);
            continue;
        }
        if (from->leg_count == 0) /* a handoff alone costs its time too */
            open_stage(timing, handoff);
        for (size_t i = 0; i < from->leg_count; i++) {
            struct timed_stage *stage = open_stage(timing, i == 0 ? handoff : NULL);
            add_leg(route, machine, &legs[i], slice_B, pace, timing, stage);
            if (posting.packed)
                stage->pcie_latency_ps = stage->wire_latency_ps = stage->hop_ps = 0;
        }
    }
    note_plain(timing);
    return STATUS_OK;
}

static bool stage_same(const struct timed_stage *a, const struct timed_stage *b)
{
    return a->first_use == b->first_use && a->use_count == b->use_count &&
           a->handoff_category == b->handoff_category && a->blocking == b->blocking &&
           a->handoff_ps == b->handoff_ps && a->pcie_latency_ps == b->pcie_latency_ps &&
           a->wire_latency_ps == b->wire_latency_ps && a->service_ps == b->service_ps &&
           a->ahead_ps == b->ahead_ps && a->hop_ps == b->hop_ps;
}

static bool use_same(const struct timed_use *a, const struct timed_use *b)
{
    return a->resource == b->resource && a->end == b->end && a->queues == b->queues &&
           a->offset_ps == b->offset_ps && a->busy_ps == b->busy_ps && a->after_ps == b->after_ps;
}

bool timing_same(const struct timing *a, const struct timing *b)
{
    bool same = a->stage_count == b->stage_count && a->use_count == b->use_count &&
                a->nic[0] == b->nic[0] && a->nic[1] == b->nic[1];
    for (size_t i = 0; same && i < a->stage_count; i++)
        same = stage_same(&a->stages[i], &b->stages[i]);
    for (size_t i = 0; same && i < a->use_count; i++)
        same = use_same(&a->uses[i], &b->uses[i]);
    return same;
}
