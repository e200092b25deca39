/* flow.c: one slice on its way: it takes the resources of its stages. See walk.h. */
#include <stdlib.h>
#include <string.h>

#include "sim/core/walk.h"

static bool flows_grow(struct walk *walk)
{
    const uint32_t count = walk->flow_count, capacity = count ? 2 * count : 64;
    struct flow *flows = aligned_alloc(_Alignof(struct flow), capacity * sizeof *flows);
    struct flow_trace *traces = realloc(walk->flow_traces, capacity * sizeof *traces);
    if (traces)
        walk->flow_traces = traces;
    if (!flows || !traces) {
        free(flows);
        return false;
    }
    if (count > 0)
        memcpy(flows, walk->flows, count * sizeof *flows);
    memset(traces + count, 0, (capacity - count) * sizeof *traces);
    free(walk->flows);
    walk->flows = flows;
    walk->flow_capacity = capacity;
    return true;
}

uint32_t flow_new(struct walk *walk)
{
    if (walk->flow_count == walk->flow_capacity && !flows_grow(walk)) {
        error_set(walk->error, STATUS_NOMEM, "out of memory");
        return UINT32_MAX;
    }
    return walk->flow_count++;
}

enum status walk_not_pushed(struct walk *walk, int64_t time_ps)
{
    if (time_ps < 0 || time_ps > ENGINE_MAX_TIME_PS)
        return error_set(walk->error, STATUS_FAILED, "the run takes more than 53 days");
    return error_set(walk->error, STATUS_NOMEM, "out of memory");
}

/* Written once, made three times: with the trace or a fold, without both, and so for plain stages.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

static ALWAYS_INLINE enum status flow_event(struct walk *walk, uint32_t index, int64_t time_ps)
{
    struct flow *flow = &walk->flows[index];
    flow->event_ps = time_ps;
    return walk_push(walk, (struct event){.time_ps = time_ps,
                                          .key = event_key(flow->stage, flow->hop, flow->order),
                                          .rank = flow->lane,
                                          .what = index});
}

/* ---- resources ------------------------------------------------------------------------------ */

/* Uplinks of the fabric come after the nodes' resources. NULL: a flow inside one leaf passes none.
 */
static struct used *uplink(struct walk *walk, const struct flow *flow, const struct timed_use *use)
{
    const uint32_t nodes[2] = {flow->transfer.from / walk->ports, flow->transfer.to / walk->ports};
    const uint32_t nics[2] = {flow->timing->nic[0], flow->timing->nic[1]};
    const size_t half = (walk->used_count - walk->first_uplink) / 2;
    uint32_t which[2];
    size_t down = use->resource - (size_t)walk->machine->node.uplinks;
    if (!machine_uplinks(walk->machine, nodes, nics, flow->transfer.op->lane, which))
        return NULL;
    if (flow->slice == 0)
        walk->uplink_chunks[down * half + which[down]] += flow->transfer.count;
    return &walk->used[walk->first_uplink + down * half + which[down]];
}

/* A lane's channel, or the requests between two devices: the other device is the NIC of a flow
 * through the network, else the other rank's GPU. */
uint32_t walk_owner(const struct walk *walk, uint32_t lane, const struct transfer *transfer,
                    const struct timing *timing, uint32_t here, uint16_t resource)
{
    const uint32_t ends[2] = {transfer->from, transfer->to}, ports = walk->ports;
    if (walk->machine->node.resources[resource].kind != RESOURCE_PEER)
        return 2u * walk->lanes[lane].number + here; /* out and in are two channels */
    bool inside = ends[0] / ports == ends[1] / ports;
    return inside ? ends[1 - here] % ports : ports + timing->nic[here];
}

/* The owner's own copy of a resource without a queue. NULL: out of memory. */
static struct private_use *private_use(struct walk *walk, const struct flow *flow,
                                       const struct timed_use *use)
{
    const uint32_t ends[2] = {flow->transfer.from, flow->transfer.to};
    uint32_t here = use->end == END_SRC ? 0 : 1;
    uint32_t rank = ends[here] == TRANSFER_SWITCH ? ends[1 - here] : ends[here];
    uint32_t owner =
        walk_owner(walk, flow->lane, &flow->transfer, flow->timing, here, use->resource);
    return private_get(&walk->privates, walk->fold.kind ? rank % walk->ranks : rank,
                       (uint32_t)use->resource, owner, walk->error);
}

/* Folded, all nodes ask a resource in the order in which node 0's is asked, unless two that come
 * from different nodes ask because of one event: then the order depends on the nodes' numbers. */
static void see(struct walk *walk, const struct flow *flow, const struct timed_use *use,
                struct seen *seen)
{
    if (walk->turn == TURN_SWITCH)
        return;
    uint32_t apart = use->end == END_SRC ? walk->turn
                                         : fold_add(&walk->fold, walk->turn,
                                                    fold_apart(&walk->fold, flow->transfer.from));
    if (seen->root == walk->root && seen->apart != apart)
        walk->fold_broken = true;
    seen->root = walk->root;
    seen->apart = apart;
}

/* ---- stages --------------------------------------------------------------------------------- */

static void flow_record(struct walk *walk, struct flow *flow, const struct trace_cause *cause,
                        uint16_t waited)
{
    struct flow_trace *trace = &walk->flow_traces[flow - walk->flows];
    trace->record = trace_add(&walk->trace, (struct trace_record){.timing = flow->timing,
                                                                  .cause = *cause,
                                                                  .stage = (uint16_t)flow->stage,
                                                                  .waited = waited});
}

/* The whole stage is booked: its end is an event. A thread that waits for the stage is busy until
 * then, and so is its lane. `here` is the record that led to now, not to the last booking. */
static ALWAYS_INLINE enum status stage_booked(struct walk *walk, uint32_t index, uint32_t here,
                                              const bool traced)
{
    struct flow *flow = &walk->flows[index];
    struct flow_trace *trace = &walk->flow_traces[index];
    const struct timed_stage *stage = flow->timed;
    if (stage->blocking) {
        const struct timed_use *use = &flow->timing->uses[stage->first_use];
        const size_t place = use->row + flow->node[use->end];
        struct used *thread = &walk->used[place];
        thread->busy_ps += flow->finish_ps - thread->free_ps;
        thread->free_ps = flow->finish_ps;
        flow->next_ps = flow->finish_ps;
        if (traced)
            walk->used_causes[place] = trace->next = trace->finish;
    }
    if (traced) {
        trace->finish.exit = TRACE_END;
        trace->finish.hops = flow->hops;
    }
    enum status status = flow_event(walk, index,
                                    flow->finish_ps + stage->pcie_latency_ps +
                                        stage->wire_latency_ps + flow->hops * stage->hop_ps);
    if (status || flow->stage > 0 || walk->job->accounting == ACCOUNTING_SERIAL)
        return status;
    if (flow->next_ps < walk->now) { /* it stood in a queue for longer than that */
        flow->next_ps = walk->now;
        if (traced)
            trace->next =
                (struct trace_cause){.record = here, .exit = TRACE_BEGUN, .use = trace->next.use};
    }
    struct lane *lane = &walk->lanes[flow->lane];
    lane->free_ps = flow->next_ps;
    if (traced)
        lane->cause = trace->next;
    if (lane->free_ps > walk->now) /* a wake will do it, if there is anything to issue */
        return walk_lane_run(walk, flow->lane, WAIT_FREE);
    const struct trace_cause before = walk->now_cause;
    walk->now_cause = lane->cause;
    status = walk_lane_run(walk, flow->lane, WAIT_FREE);
    walk->now_cause = before;
    return status;
}

/* Take the slice through its stage, resource by resource, as far as it gets now. Where it must
 * wait, it stands in the queue of that resource and asks for the next one only when it gets
 * there, so that nobody waits for a resource that is idle. A thread that waits for the stage must
 * know its end at once: then all is booked ahead. */
static ALWAYS_INLINE enum status advance(struct walk *walk, uint32_t index, const bool traced,
                                         const bool folded, const bool plain)
{
    struct flow *flow = &walk->flows[index];
    const struct timed_stage *stage = flow->timed;
    const struct timed_use *use = &flow->timing->uses[stage->first_use + flow->hop];
    const struct timed_use *const end_use = use + (stage->use_count - flow->hop);
    struct used *const rows = walk->used;
    const int64_t now = walk->now;
    int64_t head = now - (flow->hop == 0 ? stage->ahead_ps : 0);
    int64_t finish_ps = flow->finish_ps, next_ps = flow->next_ps;
    struct flow_trace *trace = &walk->flow_traces[index];
    uint32_t here = traced ? trace->record : TRACE_NONE;
    for (; use < end_use; use++) {
        const uint16_t number = (uint16_t)(use - flow->timing->uses);
        struct private_use *own = NULL;
        struct used *used;
        if (traced)
            here = trace->record;
        if (plain || use->end != END_FABRIC)
            used = &rows[use->row + flow->node[use->end]];
        else {
            used = uplink(walk, flow, use);
            if (!used)
                continue;
            flow->hops++;
        }
        int64_t start = head;
        if (use->queues) {
            if (folded)
                see(walk, flow, use, &walk->seen[used - walk->used]);
            if (used->free_ps > start) {
                start = used->free_ps;
                if (traced)
                    flow_record(walk, flow, &walk->used_causes[used - walk->used], number);
            }
        } else if (!plain && use->busy_ps > 0) {
            own = private_use(walk, flow, use);
            if (!own)
                return STATUS_NOMEM;
            if (folded)
                see(walk, flow, use, &own->seen);
            if (own->free_ps > start) {
                start = own->free_ps;
                if (traced)
                    flow_record(walk, flow, &own->cause, number);
            }
        }
        /* Keep it busy from then on, and note what its becoming free would be caused by. */
        const struct trace_cause cause = {
            .record = traced ? trace->record : TRACE_NONE, .exit = TRACE_USE, .use = number};
        const int64_t end = start + use->busy_ps;
        used->busy_ps += use->busy_ps;
        if (use->queues) {
            used->free_ps = end;
            if (traced)
                walk->used_causes[used - walk->used] = cause;
        }
        if (own) {
            own->free_ps = end;
            if (traced)
                own->cause = cause;
        }
        if (end > finish_ps) {
            finish_ps = end;
            if (traced)
                trace->finish = cause;
        }
        /* The sender's own resources pace it; what is further on may queue up to the window. */
        if (use->end == END_SRC && end - use->offset_ps > next_ps) {
            next_ps = end - use->offset_ps;
            if (traced) {
                trace->next = cause;
                trace->next.exit = TRACE_PERIOD;
            }
        }
        head = start + use->after_ps;
        if (head > now && use + 1 < end_use && (plain || !stage->blocking)) {
            flow->hop = (uint16_t)(use + 1 - &flow->timing->uses[stage->first_use]);
            flow->finish_ps = finish_ps;
            flow->next_ps = next_ps;
            return flow_event(walk, index, head);
        }
    }
    flow->hop = stage->use_count;
    flow->finish_ps = finish_ps;
    flow->next_ps = next_ps;
    return stage_booked(walk, index, here, traced);
}

static __attribute__((noinline)) enum status advance_noting(struct walk *walk, uint32_t index)
{
    return advance(walk, index, true, walk->fold.kind != FOLD_NONE, false);
}

static __attribute__((noinline)) enum status advance_plain(struct walk *walk, uint32_t index)
{
    return advance(walk, index, false, false, true);
}

static __attribute__((noinline)) enum status advance_any(struct walk *walk, uint32_t index)
{
    return advance(walk, index, false, false, false);
}

enum status flow_advance(struct walk *walk, uint32_t index)
{
    if (walk->trace.on || walk->fold.kind)
        return advance_noting(walk, index);
    return walk->flows[index].timed->plain ? advance_plain(walk, index) : advance_any(walk, index);
}

enum status flow_stage(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    flow->timed = &flow->timing->stages[flow->stage];
    flow->hop = 0;
    flow->hops = 0;
    flow->finish_ps = flow->next_ps = walk->now;
    if (walk->trace.on) {
        struct flow_trace *trace = &walk->flow_traces[index];
        flow_record(walk, flow, &walk->now_cause, TRACE_NO_USE);
        trace->finish = trace->next =
            (struct trace_cause){.record = trace->record, .use = flow->timed->first_use};
        trace->next.exit = TRACE_BEGUN;
    }
    walk->ledger->events++;
    return flow_advance(walk, index);
}
