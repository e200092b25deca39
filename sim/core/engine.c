/* engine.c: the event loop. See engine.h.
 *
 * A lane is one rank's thread of operations. It issues the slices of its operations in program
 * order, each as soon as the inbox has what the slice reads, the lane's last slice is out of the
 * way, and fewer than `window` slices are on their way. A flow is one slice on its way. Nothing is
 * allocated per event but the growth of the pools, which stops once they fit.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/engine.h"
#include "sim/core/fold.h"
#include "sim/core/inbox.h"
#include "sim/core/queue.h"
#include "sim/core/trace.h"

#define NOT_YET INT64_MAX

struct lane {
    uint32_t rank;   /* walk->ranks: the switch */
    uint32_t member; /* of a switch lane: the rank whose port it is */
    uint8_t number;
    bool done, loaded, waking;
    struct plan_cursor cursor;
    uint32_t op, index;       /* within the step: operation, and which transfer of it */
    struct transfer transfer; /* being issued, if loaded */
    struct transfer arrives;  /* what its receiver sees: the same, or its twin when folded */
    uint32_t slice, slices;
    uint32_t on_the_way;
    uint32_t issued;          /* slices so far */
    uint64_t order;           /* of the transfer among events of one time */
    int64_t free_ps;          /* the next slice may start */
    struct trace_cause cause; /* of that */
    const struct timing *timing;
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
    bool folded, fold_broken;
    int64_t now;
    struct trace trace;
    struct trace_cause now_cause;
    struct trace_cause *resource_cause; /* of each resource's becoming free */
    struct trace_cause last_cause;
};

const char *accounting_name(enum accounting accounting)
{
    return accounting == ACCOUNTING_SERIAL ? "serial" : "pipelined";
}

/* ---- set-up --------------------------------------------------------------------------------- */

static size_t resource_total(const struct walk *walk)
{
    size_t uplinks = 0;
    if (machine_fabric(walk->machine) != FABRIC_ONE_SWITCH)
        uplinks = (size_t)machine_leaves(walk->machine) *
                  (size_t)param_get(&walk->machine->fabric, PARAM_FABRIC_UPLINKS);
    return (size_t)walk->nodes * walk->machine->node.resource_count + 2 * uplinks;
}

/* A switch adds like to like: which chunk must not depend on the rank. */
static enum status check_switch_ops(const struct plan *plan, struct error *error)
{
    for (size_t i = 0; i < plan->op_count; i++) {
        const struct plan_op *op = &plan->ops[i];
        if (op->kind == PLAN_SEND || (!op->chunk.uses_rank && !op->count.uses_rank))
            continue;
        error_set(error, STATUS_INPUT, "the chunk of a switch operation cannot depend on the rank");
        if (error)
            error->line = op->line;
        return STATUS_INPUT;
    }
    return STATUS_OK;
}

static enum status walk_init(struct walk *walk, const struct engine_job *job, bool fold,
                             struct ledger *ledger, struct error *error)
{
    memset(walk, 0, sizeof *walk);
    walk->job = job;
    walk->plan = job->plan;
    walk->machine = job->routes->machine;
    walk->ledger = ledger;
    walk->error = error;
    walk->ports = (uint32_t)walk->machine->node.port_count;
    walk->folded = fold;
    walk->ranks = fold ? walk->ports : walk->plan->ranks;
    walk->nodes = fold ? 1 : walk->machine->node_count;
    walk->free_flow = UINT32_MAX;
    queue_init(&walk->queue);
    enum status status = mailroom_init(&walk->mailroom, walk->plan, walk->ranks, error);
    if (status)
        return status;
    uint32_t lanes = walk->plan->lanes;
    size_t resources = resource_total(walk);
    /* The switch has a lane for each of its ports, so that they run side by side. */
    walk->lane_count = (size_t)walk->ranks * lanes * (plan_uses_switch(walk->plan) ? 2 : 1);
    walk->lanes = calloc(walk->lane_count + 1, sizeof *walk->lanes);
    walk->free_ps = calloc(resources, sizeof *walk->free_ps);
    walk->busy_ps = calloc(resources, sizeof *walk->busy_ps);
    walk->chunks = calloc(resources, sizeof *walk->chunks);
    walk->slot_chunks = calloc(job->routes->slot_count, sizeof *walk->slot_chunks);
    walk->window = (uint32_t)param_get(&walk->machine->engine, PARAM_ENGINE_WINDOW);
    walk->trace.on = job->trace;
    walk->now_cause.record = walk->last_cause.record = TRACE_NONE;
    if (job->trace)
        walk->resource_cause = calloc(resources, sizeof *walk->resource_cause);
    if (!walk->lanes || !walk->free_ps || !walk->busy_ps || !walk->chunks || !walk->slot_chunks ||
        (job->trace && !walk->resource_cause))
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < walk->lane_count; i++) {
        uint32_t owner = (uint32_t)(i / lanes), ranks = walk->ranks;
        walk->lanes[i].rank = owner < ranks ? owner : ranks;
        walk->lanes[i].member = owner < ranks ? owner : owner - ranks;
        walk->lanes[i].number = (uint8_t)(i % lanes);
        plan_first(walk->plan, &walk->lanes[i].cursor);
    }
    return STATUS_OK;
}

static void walk_free(struct walk *walk)
{
    queue_free(&walk->queue);
    mailroom_free(&walk->mailroom);
    for (size_t i = 0; i < walk->timing_count; i++)
        free(walk->timings[i]);
    free(walk->timings);
    free(walk->lanes);
    free(walk->flows);
    free(walk->free_ps);
    free(walk->busy_ps);
    free(walk->chunks);
    free(walk->slot_chunks);
    free(walk->resource_cause);
    trace_free(&walk->trace);
}

/* The timing of a route for a slice size; made on first use. Few sizes occur in one run. */
static const struct timing *timing_get(struct walk *walk, size_t slot, double slice_B)
{
    for (size_t i = walk->timing_count; i-- > 0;)
        if (walk->timings[i]->slot == slot && !(walk->timings[i]->slice_B < slice_B) &&
            !(walk->timings[i]->slice_B > slice_B))
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
    if (timing_make(route, walk->machine, slot, slice_B, walk->job->accounting, timing,
                    walk->error)) {
        free(timing);
        return NULL;
    }
    walk->timings[walk->timing_count++] = timing;
    if (walk->folded && slot < walk->ports * walk->ports && !fold_timing(timing))
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
    return first + down * ((resource_total(walk) - first) / 2) + uplink[down];
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

/* Keep a resource busy from `start` on, and note what its becoming free would be caused by. */
static void book(struct walk *walk, struct flow *flow, const struct timed_stage *stage, uint16_t at,
                 int64_t start)
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

static enum status lane_run(struct walk *walk, size_t index);

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
        return lane_run(walk, flow->lane);
    const struct trace_cause before = walk->now_cause;
    walk->now_cause = lane->cause;
    status = lane_run(walk, flow->lane);
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
    int64_t head = walk->now;
    uint32_t here = flow->record;
    while (flow->hop < stage->use_count) {
        here = flow->record;
        uint16_t at = (uint16_t)flow->hop++;
        const struct timed_use *use = &flow->timing->uses[stage->first_use + at];
        size_t resource = resource_index(walk, flow, use);
        if (resource == NOWHERE)
            continue;
        int64_t start = head;
        if (use->queues && walk->free_ps[resource] > start) {
            start = walk->free_ps[resource];
            if (walk->trace.on)
                flow_record(walk, flow, &walk->resource_cause[resource],
                            (uint16_t)(stage->first_use + at));
        }
        book(walk, flow, stage, at, start);
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

/* Load the lane's next transfer. Returns 1 loaded, 0 the lane is done, -1 error. */
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
    double slice_B = param_get(&walk->machine->engine, PARAM_ENGINE_SLICE);
    double slices = 1;
    if (walk->job->accounting == ACCOUNTING_PIPELINED && bytes > slice_B)
        slices = ceil(bytes / slice_B);
    if (slices > 1e9)
        return error_set(walk->error, STATUS_INPUT,
                         "a transfer of %.0f bytes in slices of %.0f bytes is more than 1e9 slices",
                         bytes, slice_B);
    size_t slot =
        routes_slot(walk->job->routes, lane->transfer.from, lane->transfer.to, lane->number);
    lane->order = order_of(walk, lane);
    lane->arrives = lane->transfer;
    if (walk->folded && fold_twin(walk->plan, &lane->cursor, walk->ports, &lane->transfer,
                                  &lane->arrives, walk->error) <= 0)
        return walk->error->status;
    lane->slice = 0;
    lane->slices = (uint32_t)slices;
    lane->timing = timing_get(walk, slot, bytes / slices);
    if (!lane->timing)
        return walk->error ? walk->error->status : STATUS_INPUT;
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
    *flow = (struct flow){.timing = lane->timing,
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

/* Issue whatever the lane can issue now. */
static enum status lane_run(struct walk *walk, size_t index)
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
        int ready = mailroom_ready(&walk->mailroom, lane->rank, &lane->cursor, &lane->transfer,
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

/* Run the lanes that may have been waiting for what has arrived at `rank`; at the switch, those of
 * all ports. */
static enum status receiver_run(struct walk *walk, uint32_t rank)
{
    size_t first = (size_t)rank * walk->plan->lanes;
    size_t end = rank == walk->ranks ? walk->lane_count : first + walk->plan->lanes;
    for (size_t i = first; i < end; i++) {
        enum status status = lane_run(walk, i);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- events --------------------------------------------------------------------------------- */

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
    enum status status = lane_run(walk, done.lane);
    uint32_t to = done.transfer.to == TRANSFER_SWITCH ? walk->ranks : done.transfer.to;
    return status || !complete ? status : receiver_run(walk, to);
}

static enum status on_wake(struct walk *walk, size_t lane)
{
    walk->lanes[lane].waking = false;
    walk->now_cause = walk->lanes[lane].cause;
    return lane_run(walk, lane);
}

static enum status run_events(struct walk *walk)
{
    for (size_t i = 0; i < walk->lane_count; i++) {
        enum status status = lane_run(walk, i);
        if (status)
            return status;
    }
    struct event event;
    while (queue_pop(&walk->queue, &event)) {
        assert(event.time_ps >= walk->now);
        walk->now = event.time_ps;
        bool wake = event.key >> 59 == WAKE_STAGE;
        enum status status = wake ? on_wake(walk, event.what) : on_flow(walk, event.what);
        if (status)
            return status;
    }
    for (size_t i = 0; i < walk->lane_count; i++)
        if (!walk->lanes[i].done)
            return error_set(walk->error, STATUS_FAILED,
                             "rank %u waits for ever in step %llu for data that nobody sends",
                             walk->lanes[i].rank,
                             (unsigned long long)walk->lanes[i].cursor.step + 1);
    return STATUS_OK;
}

/* ---- results -------------------------------------------------------------------------------- */

static void close_ledger(struct walk *walk)
{
    struct ledger *ledger = walk->ledger;
    trace_walk_back(&walk->trace, walk->last_cause, ledger);
    double chunk_B = walk->job->size_B / walk->plan->chunks;
    const int64_t alike = walk->machine->node_count / walk->nodes;
    int64_t setup_ps = 0;
    ledger->nodes_alike = (uint32_t)alike;
    ledger->transfers *= (uint64_t)alike;
    ledger->slices *= (uint64_t)alike;
    for (size_t r = 0; r < ledger->resource_count; r++) {
        struct ledger_resource *resource = &ledger->resources[r];
        uint64_t chunks = 0;
        for (size_t node = 0; node < walk->nodes; node++) {
            size_t at = node * ledger->resource_count + r;
            chunks += walk->chunks[at];
            resource->busy_ps += walk->busy_ps[at];
            if (walk->busy_ps[at] > resource->busy_most_ps)
                resource->busy_most_ps = walk->busy_ps[at];
        }
        resource->busy_ps *= alike;
        resource->bytes = (double)chunks * (double)alike * chunk_B;
    }
    /* Uplinks stand in the ledger as two resources, up and down. */
    size_t first = (size_t)walk->nodes * ledger->resource_count;
    size_t half = (resource_total(walk) - first) / 2;
    for (size_t i = 0; i < 2 * half; i++) {
        struct ledger_resource *resource =
            &ledger->resources[walk->machine->node.uplinks + i / half];
        resource->bytes += (double)walk->chunks[first + i] * chunk_B;
        resource->busy_ps += walk->busy_ps[first + i];
        if (walk->busy_ps[first + i] > resource->busy_most_ps)
            resource->busy_most_ps = walk->busy_ps[first + i];
    }
    for (size_t slot = 0; slot < ledger->route_count; slot++) {
        const struct route *route = walk->job->routes->slot[slot];
        if (!walk->slot_chunks[slot])
            continue;
        if (engine_ps(route->setup_s) > setup_ps)
            setup_ps = engine_ps(route->setup_s);
        ledger->route_bytes[slot] = (double)walk->slot_chunks[slot] * (double)alike * chunk_B;
        ledger->crossing_bytes +=
            ledger->route_bytes[slot] * (double)route_count_legs(route, LEG_CROSSING);
        ledger->wire_bytes += ledger->route_bytes[slot] * (double)route_count_legs(route, LEG_WIRE);
    }
    /* Buffers are registered side by side, before the first transfer. */
    ledger->total_ps += setup_ps;
    ledger->critical[ledger->resource_count + CATEGORY_SETUP] += setup_ps;
}

static enum status run_once(const struct engine_job *job, bool fold, struct ledger *ret_ledger,
                            bool *ret_broken, struct error *error)
{
    struct walk walk;
    struct ledger ledger;
    enum status status = ledger_init(&ledger, job->routes, error);
    if (status)
        return status;
    status = walk_init(&walk, job, fold, &ledger, error);
    if (!status)
        status = run_events(&walk);
    if (!status)
        close_ledger(&walk);
    *ret_broken = walk.fold_broken;
    walk_free(&walk);
    if (status || *ret_broken)
        ledger_free(&ledger);
    else
        *ret_ledger = ledger;
    return status;
}

enum status engine_run(const struct engine_job *job, struct ledger *ret_ledger, struct error *error)
{
    struct error local; /* the walk always has somewhere to put what went wrong */
    memset(&local, 0, sizeof local);
    error = error ? error : &local;
    const struct plan *plan = job->plan;
    const struct machine *machine = job->routes->machine;
    enum status status = check_switch_ops(plan, error);
    if (!status && machine_ranks(machine) != plan->ranks)
        status = error_set(error, STATUS_INPUT, "the plan is for %u ranks, the machine has %u",
                           plan->ranks, machine_ranks(machine));
    if (status)
        return status;
    bool broken = !job->plain && machine_fabric(machine) == FABRIC_ONE_SWITCH &&
                  fold_plan(plan, (uint32_t)machine->node.port_count);
    if (broken)
        status = run_once(job, true, ret_ledger, &broken, error);
    else
        broken = true;
    return status || !broken ? status : run_once(job, false, ret_ledger, &broken, error);
}
