/* walk.c: the events of one run: lanes issue slices. See walk.h. */
#include "sim/core/walk.h"

#include <math.h>
#include <stdlib.h>

static bool equal(double a, double b)
{
    return !(a < b) && !(a > b);
}

/* Lanes share the channels, and each channel flags its own slots: what keeps all of them busy for a
 * moment (a fixed time on RESOURCE_SM) is dealt out to the lanes. */
static void share_flags(const struct walk *walk, const struct route *route, struct timing *timing)
{
    for (size_t i = 0; i < timing->use_count; i++) {
        struct timed_use *use = &timing->uses[i];
        if (walk->machine->node.resources[use->resource].kind != RESOURCE_SM || !use->queues)
            continue;
        for (size_t j = 0; j < route->use_count; j++)
            if (route->uses[j].resource == use->resource && route->uses[j].fixed_s > 0) {
                use->busy_ps -= engine_ps(route->uses[j].fixed_s * (1 - 1.0 / walk->plan->lanes));
                break;
            }
    }
}

/* The engine's next timing to fill; NULL: out of memory. */
static struct timing *next_timing(struct walk *walk)
{
    struct engine *engine = walk->engine;
    if (walk->timing_count == engine->timing_capacity) {
        struct timing **grown =
            realloc(engine->timings, (walk->timing_count + 1) * sizeof *engine->timings);
        if (!grown)
            return NULL;
        engine->timings = grown;
        engine->timings[engine->timing_capacity++] = NULL;
    }
    if (!engine->timings[walk->timing_count])
        engine->timings[walk->timing_count] = malloc(sizeof **engine->timings);
    return engine->timings[walk->timing_count];
}

const struct timing *walk_timing(struct walk *walk, size_t slot, double slice_B,
                                 struct posting posting)
{
    for (size_t i = walk->timing_count; i-- > 0;) {
        const struct timing *timing = walk->engine->timings[i];
        if (timing->slot == slot && equal(timing->slice_B, slice_B) &&
            equal(timing->posting.cost_s, posting.cost_s) &&
            timing->posting.packed == posting.packed)
            return timing;
    }
    const struct route *route = routes_get(walk->job->routes, slot, walk->error);
    if (!route)
        return NULL;
    struct timing *timing = next_timing(walk);
    if (!timing) {
        error_set(walk->error, STATUS_NOMEM, "out of memory");
        return NULL;
    }
    if (timing_make(route, walk->machine, slot, slice_B, posting, walk->pace, walk->job->accounting,
                    timing, walk->error))
        return NULL;
    for (int end = END_SRC; end <= END_DST; end++)
        timing->kind[end] = (uint8_t)routes_kind(walk->job->routes, slot, (enum route_end)end);
    for (size_t i = 0; i < timing->use_count; i++)
        timing->uses[i].row = timing->uses[i].resource * walk->nodes;
    if (walk->plan->lanes > 1)
        share_flags(walk, route, timing);
    walk->timing_count++;
    for (size_t i = 0; i < timing->stage_count; i++)
        if (timing->stages[i].ahead_ps > walk->ahead_ps)
            walk->ahead_ps = timing->stages[i].ahead_ps;
    return timing;
}

/* What happens first among events of one time must not depend on how ranks are numbered, or equal
 * nodes would not stay equal: by stage, then by where in its node the sender is, older steps first.
 * Rank numbers decide only between events that do not meet. */
#define ORDER_STEP (ORDER_STEP_MASK << ORDER_STEP_SHIFT)

void walk_lane_init(const struct walk *walk, struct lane *lane, uint32_t owner, uint32_t number)
{
    lane->rank = owner < walk->ranks ? owner : walk->ranks;
    lane->member = owner < walk->ranks ? owner : owner - walk->ranks;
    lane->number = (uint8_t)number;
    lane->order = (uint64_t)(lane->member % walk->ports) << ORDER_PLACE_SHIFT |
                  (uint64_t)number << ORDER_LANE_SHIFT;
    plan_first(walk->plan, &lane->cursor);
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
            const bool stays = lane->transfer.op == op && op->stays && lane->index == 0;
            int found = stays && plan_turn(plan, &lane->cursor, &lane->transfer)
                            ? 1
                            : plan_transfer(plan, op, &lane->cursor, lane->member, lane->index,
                                            &lane->transfer, walk->error);
            lane->index++;
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

/* At both ends: of the switch the other end's, as routes see it. */
static void find_ranks(const struct transfer *transfer, uint32_t ret_ranks[2])
{
    ret_ranks[0] = transfer->from == TRANSFER_SWITCH ? transfer->to : transfer->from;
    ret_ranks[1] = transfer->to == TRANSFER_SWITCH ? transfer->from : transfer->to;
}

/* Whether the lane's transfer is the same between nodes of all kinds, in time and in what is said
 * about it. */
static bool kinds_do_the_same(struct walk *walk, const struct lane *lane)
{
    const struct routes *routes = walk->job->routes;
    uint32_t ends[2];
    find_ranks(&lane->transfer, ends);
    const bool inside = ends[0] / walk->ports == ends[1] / walk->ports;
    const struct timing *const usual[2] = {lane->timing, lane->first_timing};
    for (size_t kinds = 1; kinds < routes->kinds * routes->kinds; kinds++) {
        if (inside && kinds / routes->kinds != kinds % routes->kinds)
            continue;
        for (int i = 0; i < 2; i++) {
            const size_t slot = usual[i]->slot + kinds * routes->per_kinds;
            const struct timing *other =
                walk_timing(walk, slot, usual[i]->slice_B, usual[i]->posting);
            if (!other || !timing_same(usual[i], other) ||
                !routes_same(routes, usual[i]->slot, slot))
                return false;
        }
    }
    return true;
}

/* NULL: out of memory. */
static const struct kinds_met *count_kinds(struct walk *walk, const struct transfer *transfer)
{
    const struct routes *routes = walk->job->routes;
    uint32_t ends[2];
    find_ranks(transfer, ends);
    const uint32_t from = ends[0] / walk->ports, to = ends[1] % walk->ranks / walk->ports;
    const uint32_t apart = fold_apart(&walk->fold, ends[1]);
    for (const struct kinds_met *met = walk->kinds_met; met; met = met->next)
        if (met->nodes[0] == from && met->nodes[1] == to && met->apart == apart)
            return met;
    struct kinds_met *met =
        calloc(1, sizeof *met + routes->kinds * routes->kinds * sizeof *met->counts);
    if (!met)
        return NULL;
    met->nodes[0] = from;
    met->nodes[1] = to;
    met->apart = apart;
    met->next = walk->kinds_met;
    walk->kinds_met = met;
    for (uint32_t unit = 0; unit < walk->fold.units; unit++) {
        const uint32_t other = fold_add(&walk->fold, unit, apart);
        met->counts[machine_kind(walk->machine, unit * walk->nodes + from) * routes->kinds +
                    machine_kind(walk->machine, other * walk->nodes + to)]++;
    }
    return met;
}

/* Slices and timing of the lane's transfer. */
static enum status find_way(struct walk *walk, struct lane *lane, bool packed)
{
    const struct plan_op *op = lane->transfer.op;
    double bytes = walk->job->size_B * lane->transfer.count / walk->plan->chunks;
    size_t slot = routes_slot(walk->job->routes, &lane->transfer, bytes);
    if (walk->fold.kind) /* what stands for all is a usual node; see order_rows.h */
        slot %= walk->job->routes->per_kinds;
    const struct protocol_cut *cut = &walk->cut[0];
    if (walk->cut[0].grain_B < walk->cut[1].grain_B) {
        const struct route *route = routes_get(walk->job->routes, slot, walk->error);
        if (!route)
            return walk->error->status;
        cut = &walk->cut[route_count_legs(route, LEG_WIRE) > 0];
    }
    double slices = 1;
    lane->window = protocol_window(cut, bytes);
    if (walk->job->accounting == ACCOUNTING_PIPELINED)
        slices = protocol_slices(cut, bytes);
    if (slices > 1e9)
        return error_set(walk->error, STATUS_INPUT,
                         "a transfer of %.0f bytes in slices of %.0f bytes is more than 1e9 slices",
                         bytes, cut->slice_B);
    if (packed && (!lane->sent_op || lane->sent_to != lane->transfer.to)) {
        error_set(
            walk->error, STATUS_INPUT,
            "step %llu: what rank %u sends to rank %u is packed, but the lane has sent nothing "
            "to that rank just before",
            (unsigned long long)lane->cursor.step + 1, lane->member, lane->transfer.to);
        walk->error->line = op->line;
        return STATUS_INPUT;
    }
    lane->slices = (uint32_t)slices;
    struct posting posting = {.packed = packed};
    lane->timing = walk_timing(walk, slot, bytes / slices, posting);
    posting.cost_s = op->cost_s;
    lane->first_timing =
        op->cost_s > 0 ? walk_timing(walk, slot, bytes / slices, posting) : lane->timing;
    if (lane->timing && lane->first_timing) {
        if (walk->as_one_kind && !kinds_do_the_same(walk, lane))
            walk->fold_broken = true;
        if (walk->as_one_kind && !walk->fold_broken) {
            lane->kinds = count_kinds(walk, &lane->transfer);
            if (!lane->kinds)
                return error_set(walk->error, STATUS_NOMEM, "out of memory");
        }
        return STATUS_OK;
    }
    if (op->mechanism && !walk->error->line)
        walk->error->line = op->line;
    return walk->error->status;
}

/* A stage at the switch uses the host at the other end only. */
static void find_ends(const struct walk *walk, struct lane *lane, const struct transfer *arrives)
{
    uint32_t ends[2];
    find_ranks(arrives, ends);
    for (int i = 0; i < 2; i++)
        lane->node[i] = (walk->fold.kind ? ends[i] % walk->ranks : ends[i]) / walk->ports;
}

static void count_by_kinds(struct walk *walk, const struct lane *lane)
{
    const struct routes *routes = walk->job->routes;
    for (size_t kinds = 0; kinds < routes->kinds * routes->kinds; kinds++)
        walk->slot_chunks[lane->timing->slot + kinds * routes->per_kinds] +=
            (uint64_t)lane->kinds->counts[kinds] * lane->transfer.count;
}

enum status walk_prepare(struct walk *walk, struct lane *lane)
{
    const struct transfer *transfer = &lane->transfer, *arrives = transfer;
    const struct plan_op *op = transfer->op;
    const bool alike = lane->sent_op == op && lane->sent_to == transfer->to &&
                       lane->sent_count == transfer->count && op->packed.form == RULE_CONSTANT;
    lane->order =
        (lane->order & ~ORDER_STEP) | (lane->cursor.step << ORDER_STEP_SHIFT & ORDER_STEP);
    if (!alike) {
        enum status status =
            find_way(walk, lane, rule_eval(&op->packed, lane->member, lane->cursor.loops) != 0);
        if (status)
            return status;
    }
    if (walk->fold.kind) {
        arrives = &lane->arrives;
        if (fold_twin(&walk->fold, walk->plan, &lane->cursor, transfer, &lane->arrives,
                      walk->error) <= 0)
            return walk->error->status;
    }
    if (!alike || walk->fold.kind)
        find_ends(walk, lane, arrives);
    if (walk->fold.one_slice && lane->slices > 1)
        walk->fold_broken = true;
    lane->sent_op = op;
    lane->sent_to = transfer->to;
    lane->sent_count = transfer->count;
    lane->box = lane->rank == walk->ranks ? walk->ranks + transfer->group : lane->rank;
    lane->slice = 0;
    if (lane->kinds)
        count_by_kinds(walk, lane);
    else
        walk->slot_chunks[lane->timing->slot] += transfer->count;
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
    const struct transfer *arrives = lane_arrives(walk, lane);
    flow->live = true;
    flow->stage = 0;
    flow->timing = lane->slice == 0 ? lane->first_timing : lane->timing;
    flow->node[0] = lane->node[0];
    flow->node[1] = lane->node[1];
    flow->lane = (uint32_t)index;
    flow->slice = lane->slice;
    flow->slices = lane->slices;
    flow->order = lane->order | (lane->issued++ & 0xffff);
    flow->step = lane->cursor.step;
    flow->transfer = *arrives;
    /* Until the stage is booked nobody knows when the next slice may start; in serial accounting a
     * rank does nothing else until what it sent has arrived. */
    lane->free_ps = NOT_YET;
    lane->on_the_way++;
    walk->ledger->slices++;
    if (++lane->slice == lane->slices)
        lane->loaded = false;
    if (!walk->steady.off)
        steady_issued(walk, (uint32_t)index);
    return flow_stage(walk, at);
}

static enum status issue_all(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
    while (!lane->done) {
        if (!lane->loaded) {
            lane->waits = WAIT_DATA; /* or a message */
            int loaded = lane_load(walk, lane);
            enum status status = loaded > 0 ? walk_prepare(walk, lane) : STATUS_OK;
            if (loaded < 0)
                return STATUS_INPUT;
            if (status || loaded == 0)
                return status;
        }
        if (lane->on_the_way >= lane->window)
            return lane->waits = WAIT_WINDOW, STATUS_OK;
        int ready = mailroom_ready(&walk->mailroom, lane->box, &lane->cursor, &lane->transfer,
                                   lane->slice, lane->slices, walk->error);
        lane->waits = WAIT_DATA;
        if (ready <= 0)
            return ready < 0 ? STATUS_INPUT : STATUS_OK;
        lane->waits = WAIT_FREE;
        /* A lane that is going to wake leaves it to that: what lets it go on is what it waits for,
         * not what else happens at the same time. */
        if (lane->free_ps == NOT_YET || lane->waking)
            return STATUS_OK;
        if (lane->free_ps > walk->now) {
            lane->waking = true;
            return walk_push(walk, (struct event){.time_ps = lane->free_ps,
                                                  .key = event_key(WAKE_STAGE, 0, lane->order),
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
enum status walk_lane_go(struct walk *walk, size_t index)
{
    struct lane *lane = &walk->lanes[index];
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
        enum status status = walk_lane_run(walk, i, WAIT_DATA);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* The slice has arrived. */
static enum status on_arrival(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    const uint32_t from = flow->lane;
    const uint32_t to = flow->transfer.to == TRANSFER_SWITCH ? walk->ranks : flow->transfer.to;
    const uint32_t turn = flow->transfer.to == TRANSFER_SWITCH
                              ? TURN_SWITCH
                              : fold_apart(&walk->fold, flow->transfer.from);
    struct lane *sender = &walk->lanes[from];
    sender->on_the_way--;
    const bool serial = walk->job->accounting == ACCOUNTING_SERIAL;
    if (serial)
        sender->free_ps = walk->now;
    walk->ledger->total_ps = walk->now;
    walk->last_cause = walk->now_cause;
    int complete = mailroom_arrive(&walk->mailroom, &flow->transfer, flow->step, flow->slice,
                                   flow->slices, walk->error);
    flow_give(walk, index);
    if (complete < 0)
        return walk->error->status;
    enum status status = walk_lane_run(walk, from, serial ? WAIT_ANY : WAIT_WINDOW);
    if (status || !complete)
        return status;
    walk->turn = turn;
    status = receiver_run(walk, to);
    walk->turn = 0;
    return status;
}

static enum status on_stage_end(struct walk *walk, uint32_t index)
{
    struct flow *flow = &walk->flows[index];
    if (walk->trace.on)
        walk->now_cause = walk->flow_traces[index].finish;
    return ++flow->stage < flow->timing->stage_count ? flow_stage(walk, index)
                                                     : on_arrival(walk, index);
}

static enum status on_wake(struct walk *walk, size_t lane)
{
    walk->lanes[lane].waking = false;
    walk->now_cause = walk->lanes[lane].cause;
    return walk_lane_run(walk, lane, WAIT_FREE);
}

enum status walk_event(struct walk *walk, const struct event *event)
{
    if (walk->fold.kind) { /* events that only the rank puts in order are one kind */
        walk->root += event->time_ps != walk->now ||
                      (event->key ^ walk->root_key) >> QUEUE_SEQUENCE_BITS != 0;
        walk->root_key = event->key;
    }
    walk->now = event->time_ps;
    if (event->key >> 59 == WAKE_STAGE)
        return on_wake(walk, event->what);
    const struct flow *flow = &walk->flows[event->what];
    return flow->hop < flow->timed->use_count ? flow_advance(walk, event->what)
                                              : on_stage_end(walk, event->what);
}
