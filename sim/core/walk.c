/* walk.c: the events of one run: lanes issue slices, flows go through their stages. See walk.h. */
#include "sim/core/walk.h"

#include <math.h>
#include <stdlib.h>

#include "sim/core/fold.h"

size_t walk_resources(const struct walk *walk)
{
    size_t uplinks = 0;
    if (machine_fabric(walk->machine) != FABRIC_ONE_SWITCH)
        uplinks = (size_t)machine_leaves(walk->machine) *
                  (size_t)param_get(&walk->machine->fabric, PARAM_FABRIC_UPLINKS);
    return (size_t)walk->nodes * walk->machine->node.resource_count + 2 * uplinks;
}

/* The timing of a route for a slice size; made on first use. Few sizes occur in one run. */
static bool equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

static const struct timing *timing_get(struct walk *walk, size_t slot, double slice_B,
                                       double cost_s)
{
    for (size_t i = walk->timing_count; i-- > 0;)
        if (walk->timings[i]->slot == slot && equal(walk->timings[i]->slice_B, slice_B) &&
            equal(walk->timings[i]->cost_s, cost_s))
            return walk->timings[i];
    const struct route *route = routes_get(walk->job->routes, slot, walk->error);
    if (!route)
        return NULL;
    struct timing **grown =
        realloc(walk->timings, (walk->timing_count + 1) * sizeof *walk->timings);
    struct timing *timing = malloc(sizeof *timing);
    if (grown)
        walk->timings = grown;
    if (!grown || !timing) {
        free(timing);
        error_set(walk->error, STATUS_NOMEM, "out of memory");
        return NULL;
    }
    if (timing_make(route, walk->machine, slot, slice_B, cost_s, walk->job->accounting, timing,
                    walk->error)) {
        free(timing);
        return NULL;
    }
    walk->timings[walk->timing_count++] = timing;
    struct endpoints ends = routes_endpoints(walk->job->routes, slot);
    bool between = ends.src.kind == ENDPOINT_DEVICE && ends.dst.kind == ENDPOINT_DEVICE;
    if (walk->folded && between && !ends.same_node && !fold_timing(timing))
        walk->fold_broken = true;
    return timing;
}

/* ---- flows ---------------------------------------------------------------------------------- */

static uint32_t flow_take(struct walk *walk)
{
    if (walk->free_flow != UINT32_MAX) {
        uint32_t index = walk->free_flow;
        walk->free_flow = walk->flows[index].next_free;
        return index;
    }
    if (walk->flow_count == walk->flow_capacity) {
        uint32_t capacity = walk->flow_capacity ? 2 * walk->flow_capacity : 64;
        struct flow *grown = realloc(walk->flows, capacity * sizeof *grown);
        if (grown)
            walk->flows = grown;
        if (!grown) {
            error_set(walk->error, STATUS_NOMEM, "out of memory");
            return UINT32_MAX;
        }
        walk->flow_capacity = capacity;
    }
    return walk->flow_count++;
}

/* What happens first among events of one time must not depend on how ranks are numbered, or equal
 * nodes would not stay equal: by stage, then by where in its node the sender is and how far it
 * sends. Rank numbers decide only between events that do not meet. */
static uint64_t order_of(const struct walk *walk, const struct lane *lane)
{
    const struct transfer *transfer = &lane->transfer;
    uint32_t ranks = walk->plan->ranks;
    uint32_t distance = (transfer->to + ranks - transfer->from) % ranks;
    if (transfer->to == TRANSFER_SWITCH)
        distance = ranks;
    if (transfer->from == TRANSFER_SWITCH)
        distance = ranks + 1;
    return (uint64_t)(lane->member % walk->ports) << 45 | (uint64_t)distance << 20 |
           (uint64_t)lane->number << 16;
}

#define WAKE_STAGE 15u

static uint64_t event_key(uint32_t stage, uint32_t hop, uint64_t order)
{
    return (uint64_t)stage << 59 | (uint64_t)hop << 53 | order;
}

static enum status push(struct walk *walk, int64_t time_ps, struct event event)
{
    if (time_ps < 0 || time_ps > ENGINE_MAX_TIME_PS)
        return error_set(walk->error, STATUS_FAILED, "the run takes more than 53 days");
    event.time_ps = time_ps;
    if (!queue_push(&walk->queue, event))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    return STATUS_OK;
}

/* Uplinks of the fabric come after the nodes' resources: all up, then all down. A flow inside one
 * leaf passes none: NOWHERE. */
#define NOWHERE SIZE_MAX

static size_t uplink_index(const struct walk *walk, const struct flow *flow,
                           const struct timed_use *use)
{
    const struct node_type *node = &walk->machine->node;
    const uint32_t nodes[2] = {flow->transfer.from / walk->ports, flow->transfer.to / walk->ports};
    const uint32_t nics[2] = {flow->timing->nic[0], flow->timing->nic[1]};
    uint32_t uplink[2];
    size_t down = use->resource - (size_t)node->uplinks;
    if (!machine_uplinks(walk->machine, nodes, nics, flow->transfer.op->lane, uplink))
        return NOWHERE;
    size_t first = (size_t)walk->nodes * node->resource_count;
    return first + down * ((walk_resources(walk) - first) / 2) + uplink[down];
}

static size_t resource_index(const struct walk *walk, const struct flow *flow,
                             const struct timed_use *use)
{
    if (use->end == END_FABRIC)
        return uplink_index(walk, flow, use);
    if (walk->folded)
        return use->resource;
    uint32_t rank = use->end == END_SRC ? flow->transfer.from : flow->transfer.to;
    if (rank == TRANSFER_SWITCH) /* a stage at the switch uses the host at the other end only */
        rank = use->end == END_SRC ? flow->transfer.to : flow->transfer.from;
    return (size_t)(rank / walk->ports) * walk->machine->node.resource_count + use->resource;
}

static enum status flow_event(struct walk *walk, uint32_t index, int64_t time_ps)
{
    const struct flow *flow = &walk->flows[index];
    return push(walk, time_ps,
                (struct event){.key = event_key(flow->stage, flow->hop, flow->order),
                               .rank = flow->lane,
                               .what = index});
}

/* The owner's own copy of a resource without a queue: a lane's channel, or the requests between two
 * devices. The other device is the NIC of a flow through the network, else the other rank's GPU.
 * NULL: out of memory. */
static struct private_use *private_use(struct walk *walk, const struct flow *flow,
                                       const struct timed_use *use)
{
    const uint32_t ends[2] = {flow->transfer.from, flow->transfer.to};
    uint32_t here = use->end == END_SRC ? 0 : 1, ports = walk->ports;
    uint32_t rank = ends[here] == TRANSFER_SWITCH ? ends[1 - here] : ends[here];
    uint32_t owner = 2u * walk->lanes[flow->lane].number + here; /* out and in are two channels */
    if (walk->machine->node.resources[use->resource].kind == RESOURCE_PEER) {
        bool inside = ends[0] / ports == ends[1] / ports;
        owner = inside ? ends[1 - here] % ports : ports + flow->timing->nic[here];
    }
    return private_get(&walk->privates, walk->folded ? rank % ports : rank, (uint32_t)use->resource,
                       owner, walk->error);
}

/* Keep a resource busy from `start` on, and note what its becoming free would be caused by. */
static void book(struct walk *walk, struct flow *flow, const struct timed_stage *stage, uint16_t at,
                 int64_t start, struct private_use *own)
{
    const struct timed_use *use = &flow->timing->uses[stage->first_use + at];
    size_t resource = resource_index(walk, flow, use);
    struct trace_cause cause = {
        .record = flow->record, .exit = TRACE_USE, .use = (uint16_t)(stage->first_use + at)};
    int64_t end = start + use->busy_ps;
    walk->busy_ps[resource] += use->busy_ps;
    if (flow->slice == 0)
        walk->chunks[resource] += flow->transfer.count;
    if (use->queues) {
        walk->free_ps[resource] = end;
        if (walk->trace.on)
            walk->resource_cause[resource] = cause;
    }
    if (own) {
        own->free_ps = end;
        own->cause = cause;
    }
    if (end > flow->finish_ps) {
        flow->finish_ps = end;
        flow->finish = cause;
    }
    if (use->end == END_FABRIC)
        flow->hops++;
    /* The sender's own resources pace it; what is further on may queue up to the window. */
    if (use->end == END_SRC && end - use->offset_ps > flow->next_ps) {
        flow->next_ps = end - use->offset_ps;
        flow->next = cause;
        flow->next.exit = TRACE_PERIOD;
    }
}

static void flow_record(struct walk *walk, struct flow *flow, const struct trace_cause *cause,
                        uint16_t waited)
{
    if (walk->trace.on)
        flow->record = trace_add(&walk->trace, (struct trace_record){.timing = flow->timing,
                                                                     .cause = *cause,
                                                                     .stage = (uint16_t)flow->stage,
                                                                     .waited = waited});
}

/* The whole stage is booked: its end is an event. A thread that waits for the stage is busy until
 * then, and so is its lane. `here` is the record that led to now, not to the last booking. */
static enum status stage_booked(struct walk *walk, uint32_t index, uint32_t here)
{
    struct flow *flow = &walk->flows[index];
    const struct timed_stage *stage = &flow->timing->stages[flow->stage];
    if (stage->blocking) {
        const struct timed_use *thread = &flow->timing->uses[stage->first_use];
        size_t resource = resource_index(walk, flow, thread);
        walk->busy_ps[resource] += flow->finish_ps - walk->free_ps[resource];
        walk->free_ps[resource] = flow->finish_ps;
        if (walk->trace.on)
            walk->resource_cause[resource] = flow->finish;
        flow->next_ps = flow->finish_ps;
        flow->next = flow->finish;
    }
    flow->finish.exit = TRACE_END;
    flow->finish.hops = flow->hops;
    enum status status = flow_event(walk, index,
                                    flow->finish_ps + stage->pcie_latency_ps +
                                        stage->wire_latency_ps + flow->hops * stage->hop_ps);
    struct lane *lane = &walk->lanes[flow->lane];
    if (flow->next_ps < walk->now) { /* it stood in a queue for longer than that */
        flow->next_ps = walk->now;
        flow->next =
            (struct trace_cause){.record = here, .exit = TRACE_BEGUN, .use = flow->next.use};
    }
    if (status || flow->stage > 0 || walk->job->accounting == ACCOUNTING_SERIAL)
        return status;
    lane->free_ps = flow->next_ps;
    lane->cause = flow->next;
    if (lane->free_ps > walk->now) /* a wake will do it, if there is anything to issue */
        return walk_lane_run(walk, flow->lane);
    const struct trace_cause before = walk->now_cause;
    walk->now_cause = lane->cause;
    status = walk_lane_run(walk, flow->lane);
    walk->now_cause = before;
    return status;
}

/* Take the slice through its stage, resource by resource, as far as it gets now. Where it must
 * wait, it stands in the queue of that resource and asks for the next one only when it gets
 * there, so that nobody waits for a resource that is idle. A thread that waits for the stage must
 * know its end at once: then all is booked ahead. */
static enum status flow_advance(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    const struct timed_stage *stage = &flow->timing->stages[flow->stage];
    int64_t head = walk->now - (flow->hop == 0 ? stage->ahead_ps : 0);
    uint32_t here = flow->record;
    while (flow->hop < stage->use_count) {
        here = flow->record;
        uint16_t at = (uint16_t)flow->hop++;
        const struct timed_use *use = &flow->timing->uses[stage->first_use + at];
        size_t resource = resource_index(walk, flow, use);
        if (resource == NOWHERE)
            continue;
        int64_t start = head;
        struct private_use *own = NULL;
        if (!use->queues && use->busy_ps > 0) {
            own = private_use(walk, flow, use);
            if (!own)
                return STATUS_NOMEM;
        }
        int64_t free_ps = own ? own->free_ps : use->queues ? walk->free_ps[resource] : 0;
        if (free_ps > start) {
            start = free_ps;
            if (walk->trace.on)
                flow_record(walk, flow, own ? &own->cause : &walk->resource_cause[resource],
                            (uint16_t)(stage->first_use + at));
        }
        book(walk, flow, stage, at, start, own);
        head = start + (at == 0 && stage->has_thread ? stage->handoff_ps : 0);
        if (head > walk->now && flow->hop < stage->use_count && !stage->blocking)
            return flow_event(walk, index, head);
    }
    return stage_booked(walk, index, here);
}

static enum status stage_start(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    flow->hop = 0;
    flow->hops = 0;
    flow->finish_ps = flow->next_ps = walk->now;
    flow_record(walk, flow, &walk->now_cause, TRACE_NO_USE);
    flow->finish = flow->next = (struct trace_cause){
        .record = flow->record, .use = flow->timing->stages[flow->stage].first_use};
    flow->next.exit = TRACE_BEGUN;
    walk->ledger->events++;
    return flow_advance(walk, index);
}

/* ---- lanes ---------------------------------------------------------------------------------- */

/* A receive of the lane's rank: 1 go on, 0 wait, -1 error. */
static int lane_receive(struct walk *walk, const struct lane *lane, const struct plan_op *op)
{
    uint32_t from;
    int waits = plan_receive(walk->plan, op, &lane->cursor, lane->rank, &from, walk->error);
    return waits < 0    ? -1
           : waits == 0 ? 1
                        : mailroom_take(&walk->mailroom, lane->rank, from, op->lane, walk->error);
}

/* Load the lane's next transfer. Returns 1 loaded, 0 the lane is done or waits for a message, -1
 * error. */
static int lane_load(struct walk *walk, struct lane *lane)
{
    const struct plan *plan = walk->plan;
    bool is_switch = lane->rank == walk->ranks;
    while (!lane->cursor.done) {
        const struct plan_instruction *in = &plan->program[lane->cursor.at];
        for (; lane->op < in->op_count; lane->op++, lane->index = 0) {
            const struct plan_op *op = &plan->ops[in->first_op + lane->op];
            if (op->lane != lane->number || is_switch != (op->kind == PLAN_DOWN))
                continue;
            if (op->kind == PLAN_RECEIVE) {
                int received = lane_receive(walk, lane, op);
                if (received <= 0)
                    return received;
                continue;
            }
            int found = plan_transfer(plan, op, &lane->cursor, lane->member, lane->index++,
                                      &lane->transfer, walk->error);
            if (found < 0)
                return -1;
            if (found > 0) {
                lane->loaded = true;
                return 1;
            }
        }
        lane->op = lane->index = 0;
        plan_next(plan, &lane->cursor);
    }
    lane->done = true;
    return 0;
}

/* Size and timing of the transfer just loaded. */
static enum status lane_prepare(struct walk *walk, struct lane *lane)
{
    double bytes = walk->job->size_B * lane->transfer.count / walk->plan->chunks;
    double slice_B = walk->slice_B;
    double slices = 1;
    if (walk->job->accounting == ACCOUNTING_PIPELINED && bytes > slice_B)
        slices = ceil(bytes / slice_B);
    if (slices > 1e9)
        return error_set(walk->error, STATUS_INPUT,
                         "a transfer of %.0f bytes in slices of %.0f bytes is more than 1e9 slices",
                         bytes, slice_B);
    const struct plan_op *op = lane->transfer.op;
    size_t slot = routes_slot(walk->job->routes, &lane->transfer, bytes);
    lane->order = order_of(walk, lane);
    lane->arrives = lane->transfer;
    if (walk->folded && fold_twin(walk->plan, &lane->cursor, walk->ports, &lane->transfer,
                                  &lane->arrives, walk->error) <= 0)
        return walk->error->status;
    lane->slice = 0;
    lane->slices = (uint32_t)slices;
    lane->timing = timing_get(walk, slot, bytes / slices, 0);
    lane->first_timing =
        op->cost_s > 0 ? timing_get(walk, slot, bytes / slices, op->cost_s) : lane->timing;
    if (!lane->timing || !lane->first_timing) {
        if (op->mechanism && !walk->error->line)
            walk->error->line = op->line;
        return walk->error->status;
    }
    walk->slot_chunks[slot] += lane->transfer.count;
    walk->ledger->transfers++;
    return STATUS_OK;
}

static enum status lane_issue(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
    uint32_t at = flow_take(walk);
    if (at == UINT32_MAX)
        return STATUS_NOMEM;
    struct flow *flow = &walk->flows[at];
    *flow = (struct flow){.timing = lane->slice == 0 ? lane->first_timing : lane->timing,
                          .lane = (uint32_t)index,
                          .slice = lane->slice,
                          .slices = lane->slices,
                          .order = lane->order | (lane->issued++ & 0xffff),
                          .step = lane->cursor.step,
                          .transfer = lane->arrives};
    /* Until the stage is booked nobody knows when the next slice may start; in serial accounting a
     * rank does nothing else until what it sent has arrived. */
    lane->free_ps = NOT_YET;
    lane->on_the_way++;
    walk->ledger->slices++;
    if (++lane->slice == lane->slices)
        lane->loaded = false;
    return stage_start(walk, at);
}

static enum status issue_all(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
    while (!lane->done) {
        if (!lane->loaded) {
            int loaded = lane_load(walk, lane);
            enum status status = loaded > 0 ? lane_prepare(walk, lane) : STATUS_OK;
            if (loaded < 0)
                return STATUS_INPUT;
            if (status || loaded == 0)
                return status;
        }
        if (lane->on_the_way >= walk->window)
            return STATUS_OK; /* an arrival will call again */
        uint32_t box = lane->rank == walk->ranks ? walk->ranks + lane->transfer.group : lane->rank;
        int ready = mailroom_ready(&walk->mailroom, box, &lane->cursor, &lane->transfer,
                                   lane->slice, lane->slices, walk->error);
        if (ready <= 0)
            return ready < 0 ? STATUS_INPUT : STATUS_OK;
        if (lane->free_ps > walk->now) {
            if (lane->free_ps == NOT_YET || lane->waking)
                return STATUS_OK;
            lane->waking = true;
            return push(walk, lane->free_ps,
                        (struct event){.key = event_key(WAKE_STAGE, 0, lane->order),
                                       .rank = (uint32_t)index,
                                       .what = (uint32_t)index});
        }
        enum status status = lane_issue(walk, index);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* A slice whose stage takes no time frees its lane at once, from inside the issuing: the loop that
 * is running then goes on by itself. */
enum status walk_lane_run(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
    if (lane->running)
        return STATUS_OK;
    lane->running = true;
    enum status status = issue_all(walk, index);
    lane->running = false;
    return status;
}

/* Run the lanes that may have been waiting for what has arrived at `rank`; at the switch, those of
 * all ports. */
static enum status receiver_run(struct walk *walk, uint32_t rank)
{
    size_t first = (size_t)rank * walk->plan->lanes;
    size_t end = rank == walk->ranks ? walk->lane_count : first + walk->plan->lanes;
    for (size_t i = first; i < end; i++) {
        enum status status = walk_lane_run(walk, i);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum status on_flow(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    if (flow->hop < flow->timing->stages[flow->stage].use_count)
        return flow_advance(walk, index);
    walk->now_cause = flow->finish;
    if (++flow->stage < flow->timing->stage_count)
        return stage_start(walk, index);
    const struct flow done = *flow;
    flow->next_free = walk->free_flow;
    walk->free_flow = index;
    struct lane *sender = &walk->lanes[done.lane];
    sender->on_the_way--;
    if (walk->job->accounting == ACCOUNTING_SERIAL)
        sender->free_ps = walk->now;
    walk->ledger->total_ps = walk->now;
    walk->last_cause = walk->now_cause;
    int complete = mailroom_arrive(&walk->mailroom, &done.transfer, done.step, done.slice,
                                   done.slices, walk->error);
    if (complete < 0)
        return walk->error->status;
    enum status status = walk_lane_run(walk, done.lane);
    uint32_t to = done.transfer.to == TRANSFER_SWITCH ? walk->ranks : done.transfer.to;
    return status || !complete ? status : receiver_run(walk, to);
}

static enum status on_wake(struct walk *walk, size_t lane)
{
    walk->lanes[lane].waking = false;
    walk->now_cause = walk->lanes[lane].cause;
    return walk_lane_run(walk, lane);
}

enum status walk_event(struct walk *walk, const struct event *event)
{
    walk->now = event->time_ps;
    return event->key >> 59 == WAKE_STAGE ? on_wake(walk, event->what) : on_flow(walk, event->what);
}
