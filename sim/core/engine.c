/* engine.c: the event loop. See engine.h.
 *
 * A lane is one rank's thread of operations. It issues the slices of its operations in program
 * order, each as soon as the inbox has what the slice reads, the lane's last slice is out of the
 * way, and fewer than `window` slices are on their way. A flow is one slice on its way. Nothing is
 * allocated per event but the growth of the pools, which stops once they fit.
 *
 * Tracing carries, beside each time that can start something, a vector that says what that time
 * was spent on. The vector's sum is the time itself, always.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/engine.h"
#include "sim/core/inbox.h"
#include "sim/core/queue.h"
#include "sim/core/timing.h"

/* Runs whose trace would need more than this are run without. */
#define TRACE_LIMIT_B ((size_t)64 << 20)
#define NOT_YET       INT64_MAX

struct lane {
    uint32_t rank;   /* plan->ranks: the switch */
    uint32_t member; /* of a switch lane: the rank whose port it is */
    uint8_t number;
    bool done, loaded, waking;
    struct plan_cursor cursor;
    uint32_t op, index;       /* within the step: operation, and which transfer of it */
    struct transfer transfer; /* being issued, if loaded */
    uint32_t slice, slices;
    uint32_t on_the_way;
    uint32_t issued; /* count, for the event key */
    int64_t free_ps; /* the next slice may start */
    const struct timing *timing;
};

struct flow {
    const struct timing *timing;
    uint32_t lane, slice, slices, stage, key;
    uint64_t step;
    struct transfer transfer;
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
    uint32_t gpus;
    int64_t now;
    /* tracing: vectors of `width` entries, by resource, lane, flow */
    size_t width;
    int64_t *resource_trace, *lane_trace, *flow_trace, *now_trace, *base_trace;
};

const char *accounting_name(enum accounting accounting)
{
    return accounting == ACCOUNTING_SERIAL ? "serial" : "pipelined";
}

/* ---- set-up
 * ---------------------------------------------------------------------------------------- */

static size_t resource_total(const struct walk *walk)
{
    return (size_t)walk->machine->node_count * walk->machine->node.resource_count;
}

static bool has_switch_ops(const struct plan *plan)
{
    for (size_t i = 0; i < plan->op_count; i++)
        if (plan->ops[i].kind != PLAN_SEND)
            return true;
    return false;
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

static enum status walk_init(struct walk *walk, const struct engine_job *job, struct ledger *ledger,
                             struct error *error)
{
    memset(walk, 0, sizeof *walk);
    walk->job = job;
    walk->plan = job->plan;
    walk->machine = job->routes->machine;
    walk->ledger = ledger;
    walk->error = error;
    walk->gpus = (uint32_t)walk->machine->node.gpu_count;
    walk->free_flow = UINT32_MAX;
    queue_init(&walk->queue);
    enum status status = mailroom_init(&walk->mailroom, walk->plan, error);
    if (status)
        return status;
    uint32_t lanes = walk->plan->lanes;
    size_t resources = resource_total(walk);
    /* The switch has a lane for each of its ports, so that they run side by side. */
    walk->lane_count = (size_t)walk->plan->ranks * lanes * (has_switch_ops(walk->plan) ? 2 : 1);
    walk->lanes = calloc(walk->lane_count + 1, sizeof *walk->lanes);
    walk->free_ps = calloc(resources, sizeof *walk->free_ps);
    walk->busy_ps = calloc(resources, sizeof *walk->busy_ps);
    walk->chunks = calloc(resources, sizeof *walk->chunks);
    walk->slot_chunks = calloc(job->routes->slot_count, sizeof *walk->slot_chunks);
    walk->width = ledger->resource_count + CATEGORY_COUNT;
    size_t trace_B = (resources + walk->lane_count) * walk->width * sizeof(int64_t);
    bool trace = job->trace && trace_B <= TRACE_LIMIT_B;
    if (trace) {
        walk->resource_trace = calloc(resources * walk->width, sizeof(int64_t));
        walk->lane_trace = calloc((walk->lane_count + 1) * walk->width, sizeof(int64_t));
        walk->now_trace = calloc(walk->width, sizeof(int64_t));
        walk->base_trace = calloc(walk->width, sizeof(int64_t));
    }
    ledger->traced = trace;
    if (!walk->lanes || !walk->free_ps || !walk->busy_ps || !walk->chunks || !walk->slot_chunks ||
        (trace &&
         (!walk->resource_trace || !walk->lane_trace || !walk->now_trace || !walk->base_trace)))
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < walk->lane_count; i++) {
        uint32_t owner = (uint32_t)(i / lanes), ranks = walk->plan->ranks;
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
    free(walk->resource_trace);
    free(walk->lane_trace);
    free(walk->flow_trace);
    free(walk->now_trace);
    free(walk->base_trace);
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
    return timing;
}

/* ---- tracing
 * ---------------------------------------------------------------------------------------- */

static int64_t *trace_row(const struct walk *walk, int64_t *rows, size_t index)
{
    return rows + index * walk->width;
}

static void trace_copy(const struct walk *walk, int64_t *to, const int64_t *from)
{
    memcpy(to, from, walk->width * sizeof *to);
}

static size_t category(const struct walk *walk, enum ledger_category which)
{
    return walk->ledger->resource_count + (size_t)which;
}

/* ---- flows
 * ------------------------------------------------------------------------------------------- */

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
        int64_t *traces = NULL;
        if (grown && walk->ledger->traced) {
            traces = realloc(walk->flow_trace, capacity * walk->width * sizeof *traces);
            if (traces)
                walk->flow_trace = traces;
        }
        if (!grown || (walk->ledger->traced && !traces)) {
            error_set(walk->error, STATUS_NOMEM, "out of memory");
            return UINT32_MAX;
        }
        walk->flow_capacity = capacity;
    }
    return walk->flow_count++;
}

static uint64_t event_key(const struct walk *walk, uint32_t lane, uint32_t number, bool wake)
{
    (void)walk;
    return (uint64_t)lane << 34 | (uint64_t)wake << 33 | number;
}

static enum status push(struct walk *walk, int64_t time_ps, uint64_t key, uint32_t what)
{
    if (time_ps < 0 || time_ps > ENGINE_MAX_TIME_PS)
        return error_set(walk->error, STATUS_FAILED, "the run takes more than 53 days");
    if (!queue_push(&walk->queue, (struct event){time_ps, key, what}))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    return STATUS_OK;
}

static size_t resource_index(const struct walk *walk, const struct flow *flow,
                             const struct timed_use *use)
{
    uint32_t rank = use->end == END_SRC ? flow->transfer.from : flow->transfer.to;
    if (rank == TRANSFER_SWITCH) /* a stage at the switch uses the host at the other end only */
        rank = use->end == END_SRC ? flow->transfer.to : flow->transfer.from;
    return (size_t)(rank / walk->gpus) * walk->machine->node.resource_count + use->resource;
}

/* Write what the time base + after_ps was spent on: base_trace, then the rest in one category. */
static void trace_extend(const struct walk *walk, int64_t *row, int64_t after_ps, size_t where)
{
    trace_copy(walk, row, walk->base_trace);
    row[where] += after_ps;
}

/* Start the flow's stage at the first moment when its data (now) and all its resources are there.
 * Pushes the event of its end; tells when the next slice of the lane may start. */
static enum status stage_start(struct walk *walk, uint32_t index, int64_t *ret_next_ps,
                               int64_t *next_trace)
{
    struct flow *flow = &walk->flows[index];
    const struct timing *timing = flow->timing;
    const struct timed_stage *stage = &timing->stages[flow->stage];
    const struct timed_use *uses = &timing->uses[stage->first_use];
    int64_t start = walk->now, passed = 0;
    const struct timed_use *cause = NULL;
    for (uint16_t i = 0; i < stage->use_count; i++) {
        int64_t free_at = walk->free_ps[resource_index(walk, flow, &uses[i])] - uses[i].offset_ps;
        if (free_at > start) {
            start = free_at;
            cause = &uses[i];
        }
    }
    if (walk->ledger->traced) {
        /* The base is either the data's story, from the start of the stage, or the story of the
         * resource waited for, from `passed` after the start. */
        passed = cause ? cause->offset_ps : 0;
        trace_copy(walk, walk->base_trace,
                   cause ? trace_row(walk, walk->resource_trace, resource_index(walk, flow, cause))
                         : walk->now_trace);
    }
    for (uint16_t i = 0; i < stage->use_count; i++) {
        size_t resource = resource_index(walk, flow, &uses[i]);
        int64_t taken = uses[i].offset_ps + uses[i].busy_ps;
        walk->free_ps[resource] = start + taken;
        walk->busy_ps[resource] += uses[i].busy_ps;
        if (flow->slice == 0)
            walk->chunks[resource] += flow->transfer.count;
        if (walk->ledger->traced)
            trace_extend(walk, trace_row(walk, walk->resource_trace, resource), taken - passed,
                         uses[i].resource);
    }
    *ret_next_ps = start + stage->period_ps;
    if (walk->ledger->traced) {
        if (next_trace)
            trace_extend(walk, next_trace, stage->period_ps - passed,
                         timing->uses[stage->period_use].resource);
        int64_t *row = trace_row(walk, walk->flow_trace, index);
        trace_extend(walk, row, stage->handoff_ps - passed,
                     category(walk, (enum ledger_category)stage->handoff_category));
        row[category(walk, CATEGORY_PCIE_LATENCY)] += stage->pcie_latency_ps;
        row[category(walk, CATEGORY_WIRE_LATENCY)] += stage->wire_latency_ps;
        row[timing->uses[stage->slowest].resource] += stage->service_ps;
    }
    walk->ledger->events++;
    return push(walk, start + stage->duration_ps, event_key(walk, flow->lane, flow->key, false),
                index);
}

/* ---- lanes
 * --------------------------------------------------------------------------------------------- */

/* Load the lane's next transfer. Returns 1 loaded, 0 the lane is done, -1 error. */
static int lane_load(struct walk *walk, struct lane *lane)
{
    const struct plan *plan = walk->plan;
    bool is_switch = lane->rank == plan->ranks;
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
    size_t slot = routes_slot(walk->job->routes, lane->transfer.from, lane->transfer.to);
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
                          .key = lane->issued++,
                          .step = lane->cursor.step,
                          .transfer = lane->transfer};
    int64_t next_ps;
    enum status status = stage_start(
        walk, at, &next_ps, walk->lane_trace ? trace_row(walk, walk->lane_trace, index) : NULL);
    if (status)
        return status;
    /* In serial accounting a rank does nothing else until what it sent has arrived. */
    lane->free_ps = walk->job->accounting == ACCOUNTING_SERIAL ? NOT_YET : next_ps;
    lane->on_the_way++;
    walk->ledger->slices++;
    if (++lane->slice == lane->slices)
        lane->loaded = false;
    return STATUS_OK;
}

/* Issue whatever the lane can issue now. */
static enum status lane_run(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
    uint32_t window = (uint32_t)param_get(&walk->machine->engine, PARAM_ENGINE_WINDOW);
    while (!lane->done) {
        if (!lane->loaded) {
            int loaded = lane_load(walk, lane);
            enum status status = loaded > 0 ? lane_prepare(walk, lane) : STATUS_OK;
            if (loaded < 0)
                return STATUS_INPUT;
            if (status || loaded == 0)
                return status;
        }
        if (lane->on_the_way >= window)
            return STATUS_OK; /* an arrival will call again */
        int ready = mailroom_ready(&walk->mailroom, lane->rank, &lane->cursor, &lane->transfer,
                                   lane->slice, lane->slices, walk->error);
        if (ready <= 0)
            return ready < 0 ? STATUS_INPUT : STATUS_OK;
        if (lane->free_ps > walk->now) {
            if (lane->free_ps == NOT_YET || lane->waking)
                return STATUS_OK;
            lane->waking = true;
            return push(walk, lane->free_ps, event_key(walk, (uint32_t)index, 0, true),
                        UINT32_MAX - (uint32_t)index);
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
    size_t end = rank == walk->plan->ranks ? walk->lane_count : first + walk->plan->lanes;
    for (size_t i = first; i < end; i++) {
        enum status status = lane_run(walk, i);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- events
 * ---------------------------------------------------------------------------------------------- */

static enum status on_stage_end(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    int64_t ignored;
    if (walk->ledger->traced)
        trace_copy(walk, walk->now_trace, trace_row(walk, walk->flow_trace, index));
    if (++flow->stage < flow->timing->stage_count)
        return stage_start(walk, index, &ignored, NULL);
    const struct flow done = *flow;
    flow->next_free = walk->free_flow;
    walk->free_flow = index;
    struct lane *sender = &walk->lanes[done.lane];
    sender->on_the_way--;
    if (sender->free_ps == NOT_YET)
        sender->free_ps = walk->now;
    walk->ledger->total_ps = walk->now;
    if (walk->ledger->traced)
        trace_copy(walk, walk->ledger->critical, walk->now_trace);
    int complete = mailroom_arrive(&walk->mailroom, &done.transfer, done.step, done.slice,
                                   done.slices, walk->error);
    if (complete < 0)
        return walk->error->status;
    enum status status = lane_run(walk, done.lane);
    uint32_t to = done.transfer.to == TRANSFER_SWITCH ? walk->plan->ranks : done.transfer.to;
    return status || !complete ? status : receiver_run(walk, to);
}

static enum status on_wake(struct walk *walk, size_t lane)
{
    walk->lanes[lane].waking = false;
    if (walk->ledger->traced)
        trace_copy(walk, walk->now_trace, trace_row(walk, walk->lane_trace, lane));
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
        bool wake = (event.key >> 33 & 1) != 0;
        enum status status =
            wake ? on_wake(walk, UINT32_MAX - event.what) : on_stage_end(walk, event.what);
        if (status)
            return status;
    }
    for (size_t i = 0; i < walk->lane_count; i++)
        if (!walk->lanes[i].done)
            return error_set(walk->error, STATUS_FAILED,
                             "rank %u waits for ever in step %llu for data that nobody sends",
                             walk->lanes[i].rank, (unsigned long long)walk->lanes[i].cursor.step);
    return STATUS_OK;
}

/* ---- results
 * -----------------------------------------------------------------------------------------------
 */

static void close_ledger(struct walk *walk)
{
    struct ledger *ledger = walk->ledger;
    double chunk_B = walk->job->size_B / walk->plan->chunks;
    for (size_t r = 0; r < ledger->resource_count; r++) {
        struct ledger_resource *resource = &ledger->resources[r];
        uint64_t chunks = 0;
        for (size_t node = 0; node < walk->machine->node_count; node++) {
            size_t at = node * ledger->resource_count + r;
            chunks += walk->chunks[at];
            resource->busy_ps += walk->busy_ps[at];
            if (walk->busy_ps[at] > resource->busy_most_ps)
                resource->busy_most_ps = walk->busy_ps[at];
        }
        resource->bytes = (double)chunks * chunk_B;
    }
    for (size_t slot = 0; slot < ledger->route_count; slot++) {
        const struct route *route = walk->job->routes->slot[slot];
        if (!walk->slot_chunks[slot])
            continue;
        ledger->route_bytes[slot] = (double)walk->slot_chunks[slot] * chunk_B;
        ledger->crossing_bytes +=
            ledger->route_bytes[slot] * (double)route_count_legs(route, LEG_CROSSING);
        ledger->wire_bytes += ledger->route_bytes[slot] * (double)route_count_legs(route, LEG_WIRE);
    }
}

enum status engine_run(const struct engine_job *job, struct ledger *ret_ledger, struct error *error)
{
    struct walk walk;
    struct ledger ledger;
    struct error local; /* the walk always has somewhere to put what went wrong */
    enum status status = check_switch_ops(job->plan, error);
    if (!status && machine_ranks(job->routes->machine) != job->plan->ranks)
        status = error_set(error, STATUS_INPUT, "the plan is for %u ranks, the machine has %u",
                           job->plan->ranks, machine_ranks(job->routes->machine));
    if (!status)
        status = ledger_init(&ledger, job->routes, error);
    if (status)
        return status;
    memset(&local, 0, sizeof local);
    status = walk_init(&walk, job, &ledger, error ? error : &local);
    if (!status)
        status = run_events(&walk);
    if (!status)
        close_ledger(&walk);
    walk_free(&walk);
    if (status) {
        ledger_free(&ledger);
        return status;
    }
    *ret_ledger = ledger;
    return STATUS_OK;
}
