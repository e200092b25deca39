/* engine.c: setting a run up, its event loop, and closing its ledger. See engine.h and walk.h. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/fold.h"
#include "sim/core/lockstep.h"
#include "sim/core/order.h"
#include "sim/core/protocol.h"
#include "sim/core/walk.h"

const char *accounting_name(enum accounting accounting)
{
    return accounting == ACCOUNTING_SERIAL ? "serial" : "pipelined";
}

static const char *const walk_names[] = {
    [WALK_AUTO] = "auto", [WALK_QUEUE] = "queue", [WALK_ORDER] = "order"};

const char *walk_kind_name(enum walk_kind walk)
{
    return walk_names[walk];
}

enum status walk_kind_find(const char *name, enum walk_kind *ret_walk, struct error *error)
{
    for (size_t i = 0; i < sizeof walk_names / sizeof walk_names[0]; i++)
        if (strcmp(name, walk_names[i]) == 0) {
            *ret_walk = (enum walk_kind)i;
            return STATUS_OK;
        }
    return error_set(error, STATUS_INPUT, "--walk is auto, queue or order, not \"%s\"", name);
}

/* ---- set-up --------------------------------------------------------------------------------- */

/* Zeros, in the memory that the last run left if it is large enough; NULL: out of memory. */
static void *renew(struct kept *kept, size_t count, size_t size)
{
    if (kept->data && count * size <= kept->size_B)
        return memset(kept->data, 0, count * size);
    free(kept->data);
    kept->data = calloc(count + 1, size);
    kept->size_B = kept->data ? (count + 1) * size : 0;
    return kept->data;
}

/* What every run needs; walk_start adds what lanes and messages need. */
static enum status walk_init(struct walk *walk, struct engine *engine, const struct engine_job *job,
                             const struct fold *fold, struct ledger *ledger, struct error *error)
{
    memset(walk, 0, sizeof *walk);
    walk->engine = engine;
    walk->trace.records = engine->records;
    walk->trace.capacity = engine->record_capacity;
    engine->records = NULL;
    engine->record_capacity = 0;
    walk->job = job;
    walk->plan = plan_for(job->plan, job->size_B);
    walk->machine = job->routes->machine;
    walk->ledger = ledger;
    walk->error = error;
    walk->fold = *fold;
    walk->root = 1;
    walk->ports = (uint32_t)walk->machine->node.port_count;
    walk->ranks = fold->kind ? fold->ranks : walk->plan->ranks;
    walk->nodes = walk->ranks / walk->ports;
    walk->free_flow = UINT32_MAX;
    steady_init(&walk->steady, job->walk == WALK_AUTO);
    size_t uplinks = 0;
    if (machine_fabric(walk->machine) != FABRIC_ONE_SWITCH)
        uplinks = (size_t)machine_leaves(walk->machine) *
                  (size_t)param_get(&walk->machine->fabric, PARAM_FABRIC_UPLINKS);
    walk->first_uplink = (size_t)walk->nodes * walk->machine->node.resource_count;
    walk->used_count = walk->first_uplink + 2 * uplinks;
    walk->used = renew(&engine->used, walk->used_count, sizeof *walk->used);
    walk->used_causes = renew(&engine->used_causes, walk->used_count, sizeof *walk->used_causes);
    walk->uplink_chunks = renew(&engine->uplink_chunks, 2 * uplinks, sizeof *walk->uplink_chunks);
    walk->slot_chunks =
        renew(&engine->slot_chunks, job->routes->slot_count, sizeof *walk->slot_chunks);
    for (int network = 0; network < 2; network++)
        walk->cut[network] = protocol_cut(walk->machine, walk->plan, network);
    budget_init(walk);
    walk->pace = protocol_pace(walk->machine, walk->plan, job->size_B);
    walk->trace.on = job->trace;
    walk->now_cause.record = walk->last_cause.record = TRACE_NONE;
    return walk->used && walk->used_causes && walk->uplink_chunks && walk->slot_chunks
               ? STATUS_OK
               : error_set(error, STATUS_NOMEM, "out of memory");
}

static enum status walk_start(struct walk *walk)
{
    uint32_t lanes = walk->plan->lanes;
    queue_init(&walk->queue);
    enum status status = mailroom_init(&walk->mailroom, walk->plan, &walk->fold, walk->error);
    if (!status)
        status = privates_init(&walk->privates, walk->ranks, walk->error);
    if (status)
        return status;
    /* The switch has a lane for each of its ports, so that they run side by side. */
    walk->lane_count = (size_t)walk->ranks * lanes * (plan_uses_switch(walk->plan) ? 2 : 1);
    const size_t lanes_size = (walk->lane_count + 1) * sizeof *walk->lanes;
    walk->lanes = aligned_alloc(sizeof *walk->lanes, lanes_size);
    walk->seen = calloc(walk->fold.kind ? walk->used_count : 1, sizeof *walk->seen);
    if (!walk->lanes || !walk->seen)
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    memset(walk->lanes, 0, lanes_size);
    for (size_t i = 0; i < walk->lane_count; i++)
        walk_lane_init(walk, &walk->lanes[i], (uint32_t)(i / lanes), (uint32_t)(i % lanes));
    return turns_init(walk);
}

static void walk_free(struct walk *walk)
{
    if (walk->lanes) { /* nothing is queued before they are there */
        queue_free(&walk->queue);
        steady_free(&walk->steady);
        turns_free(walk);
        privates_free(&walk->privates);
        free(walk->lanes);
        free(walk->flows);
        free(walk->flow_traces);
        free(walk->seen);
    }
    mailroom_free(&walk->mailroom);
    while (walk->kinds_met) {
        struct kinds_met *next = walk->kinds_met->next;
        free(walk->kinds_met);
        walk->kinds_met = next;
    }
    for (size_t i = 0; walk->odd_ps && i < walk->used_count; i++)
        free(walk->odd_ps[i]);
    free(walk->odd_ps);
    walk->engine->records = walk->trace.records;
    walk->engine->record_capacity = walk->trace.capacity;
    walk->trace.records = NULL;
    trace_free(&walk->trace);
}

static const struct mechanism *op_mechanism(const struct engine_job *job, const struct plan_op *op)
{
    return op->mechanism ? &mechanism_table[op->mechanism - 1] : job->routes->mechanism;
}

/* An NVSwitch adds and hands out inside its node: all ranks of a group must be there. */
static enum status check_groups(const struct engine_job *job, const struct plan *plan,
                                struct error *error)
{
    static const int64_t no_loops[RULE_LOOPS] = {0};
    uint32_t ports = (uint32_t)job->routes->machine->node.port_count;
    uint32_t *node = plan->groups ? malloc(plan->groups * sizeof *node) : NULL;
    if (plan->groups && !node)
        return error_set(error, STATUS_NOMEM, "out of memory");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < plan->op_count && !status; i++) {
        const struct plan_op *op = &plan->ops[i];
        bool by_switch = op->kind == PLAN_UP || op->kind == PLAN_DOWN;
        if (!by_switch || strcmp(op_mechanism(job, op)->name, "nvls") != 0)
            continue;
        memset(node, 0xff, plan->groups * sizeof *node);
        for (uint32_t rank = 0; rank < plan->ranks && !status; rank++) {
            int64_t group = rule_eval(&op->group, rank, no_loops);
            bool alone = op->conditional && !op->where.uses_loops &&
                         rule_eval(&op->where, rank, no_loops) == 0;
            if (alone)
                continue;
            if (node[group] != UINT32_MAX && node[group] != rank / ports) {
                status = error_set(error, STATUS_INPUT,
                                   "NVLS reduces in the NVSwitch of one node, but group %lld has "
                                   "ranks of nodes %u and %u",
                                   (long long)group, node[group], rank / ports);
                error->line = op->line;
                error_hint(error, "between nodes NVLSTree goes on: --algorithm nvls_tree; for one "
                                  "node alone --set nodes=1");
            }
            node[group] = rank / ports;
        }
    }
    free(node);
    return status;
}

/* ---- events --------------------------------------------------------------------------------- */

static enum status run_events(struct walk *walk)
{
    for (size_t i = 0; i < walk->lane_count; i++) {
        enum status status = walk_lane_run(walk, i, WAIT_ANY);
        if (status)
            return status;
    }
    struct event event;
    while (!walk->fold_broken && queue_pop(&walk->queue, &event)) {
        assert(event.time_ps >= walk->now);
        enum status status = walk_event(walk, &event);
        walk->steady.events++;
        if (!status && (walk->steady.due || walk->turns.due))
            status = steady_look(walk);
        if (!status && walk->ledger->events - walk->budget.leaped >= walk->budget.next)
            status = budget_look(walk);
        if (status)
            return status;
    }
    for (size_t i = 0; i < walk->lane_count && !walk->fold_broken; i++)
        if (!walk->lanes[i].done)
            return error_set(walk->error, STATUS_FAILED,
                             "rank %u waits for ever in step %llu for data that nobody sends",
                             walk->lanes[i].rank,
                             (unsigned long long)walk->lanes[i].cursor.step + 1);
    return STATUS_OK;
}

/* ---- results -------------------------------------------------------------------------------- */

/* Of nodes that are equally busy, a usual one counts. */
static void add_used(const struct used *used, size_t kind, struct ledger_resource *resource)
{
    resource->busy_ps += used->busy_ps;
    if (used->busy_ps > resource->busy_most_ps ||
        (used->busy_ps == resource->busy_most_ps && kind == 0)) {
        resource->busy_most_ps = used->busy_ps;
        resource->busy_most_kind = (uint8_t)kind;
    }
}

/* What passed through a resource of all nodes together, but uplinks: what took each route, as often
 * as the route uses the resource. */
static void count_chunks(const struct walk *walk, uint64_t *chunks)
{
    for (size_t i = 0; i < walk->timing_count; i++) {
        const struct timing *timing = walk->engine->timings[i];
        size_t first = 0; /* timings of one slot differ in nothing that matters here */
        while (walk->engine->timings[first]->slot != timing->slot)
            first++;
        for (size_t u = 0; u < timing->use_count && first == i; u++)
            if (timing->uses[u].end != END_FABRIC)
                chunks[timing->uses[u].resource] += walk->slot_chunks[timing->slot];
    }
}

/* The kind of a node; of nodes that one stands for, the usual one if it is among them. */
static size_t kind_of(const struct walk *walk, uint32_t unit, uint32_t node)
{
    const struct machine *machine = walk->machine;
    for (uint32_t other = 0; walk->as_one_kind && other < walk->fold.units; other++)
        if (machine_kind(machine, other * walk->nodes + node) == 0)
            return 0;
    return machine_kind(machine, unit * walk->nodes + node);
}

static enum status close_ledger(struct walk *walk)
{
    struct ledger *ledger = walk->ledger;
    if (!trace_walk_back(&walk->trace, walk->last_cause, ledger))
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    double chunk_B = walk->job->size_B / walk->plan->chunks;
    const uint32_t units = walk->fold.kind ? walk->fold.units : 1;
    /* Odd ones have been counted one by one: what they send, and how long they were busy. */
    const int64_t alike = walk->odd_ps || walk->as_one_kind ? 1 : units;
    const int64_t busy_alike = walk->odd_ps ? 1 : units;
    int64_t setup_ps = 0;
    ledger->nodes_alike = units;
    ledger->transfers *= units;
    ledger->slices *= units;
    ledger->skipped *= units;
    uint64_t *chunks =
        renew(&walk->engine->resource_chunks, ledger->resource_count, sizeof *chunks);
    if (!chunks)
        return error_set(walk->error, STATUS_NOMEM, "out of memory");
    count_chunks(walk, chunks);
    for (size_t r = 0; r < ledger->resource_count; r++) {
        struct ledger_resource *resource = &ledger->resources[r];
        for (uint32_t unit = 0; unit < (walk->odd_ps ? units : 1); unit++)
            for (uint32_t node = 0; node < walk->nodes; node++) {
                const size_t at = r * walk->nodes + node;
                struct used used = walk->used[at];
                if (walk->odd_ps && walk->odd_ps[at])
                    used.busy_ps += walk->odd_ps[at][unit];
                add_used(&used, kind_of(walk, unit, node), resource);
            }
        resource->busy_ps *= busy_alike;
        resource->bytes = (double)chunks[r] * (double)alike * chunk_B;
    }
    /* Uplinks stand in the ledger as two resources, up and down. */
    const size_t half = (walk->used_count - walk->first_uplink) / 2;
    enum nccl_protocol protocol;
    double line_factor =
        protocol_of(walk->machine, &protocol) ? 1 / nccl_payload_share(protocol) : 1;
    for (size_t i = 0; i < 2 * half; i++) {
        struct ledger_resource *resource =
            &ledger->resources[walk->machine->node.uplinks + i / half];
        add_used(&walk->used[walk->first_uplink + i], 0, resource);
        resource->bytes += (double)walk->uplink_chunks[i] * chunk_B * line_factor;
    }
    for (size_t slot = 0; slot < ledger->route_count; slot++) {
        const struct route *route = walk->job->routes->slot[slot];
        if (!walk->slot_chunks[slot])
            continue;
        if (engine_ps(route->setup_s) > setup_ps)
            setup_ps = engine_ps(route->setup_s);
        ledger->route_bytes[slot] = (double)walk->slot_chunks[slot] * (double)alike * chunk_B;
        double line_B = ledger->route_bytes[slot] * route->line_factor;
        ledger->crossing_bytes += line_B * (double)route_count_legs(route, LEG_CROSSING);
        ledger->wire_bytes += line_B * (double)route_count_legs(route, LEG_WIRE);
        for (size_t i = 0; i < route->use_count; i++) /* what passes more than once */
            if (route->uses[i].end != END_FABRIC)
                ledger->resources[route->uses[i].resource].bytes +=
                    (route->uses[i].bytes_factor - 1) * ledger->route_bytes[slot];
    }
    /* Buffers are registered side by side, before the first transfer. */
    ledger->total_ps += setup_ps;
    ledger->critical[ledger->resource_count + CATEGORY_SETUP] += setup_ps;
    /* The call itself, and the base latency of a protocol if there is anything to send. */
    const struct params *software = &walk->machine->software;
    int64_t launch_ps = engine_ps(param_get(software, PARAM_SOFTWARE_LAUNCH));
    if (ledger->transfers > 0)
        launch_ps += engine_ps(protocol_launch_s(walk->machine, walk->job->routes->mechanism));
    launch_ps +=
        engine_ps(protocol_issue_s(walk->machine, (double)(ledger->total_ps + launch_ps) * 1e-12));
    ledger->total_ps += launch_ps;
    ledger->critical[ledger->resource_count + CATEGORY_LAUNCH] += launch_ps;
    return STATUS_OK;
}

/* Where nodes differ, runs up to here are gone through rank by rank, so that the critical path can
 * be followed. */
#define TRACED_TRANSFERS ((uint64_t)1 << 18)

/* How to go about a run, and what came of it. */
struct attempt {
    struct fold fold;
    uint32_t width;  /* of vectors, without a queue; 0: through the queue */
    bool as_one;     /* folded although nodes differ: they may do the same all the same */
    bool broken;     /* the fold does not hold */
    const char *why; /* it cannot be done without a queue */
};

static enum status run_once(struct engine *engine, const struct engine_job *job,
                            struct attempt *attempt, struct ledger *ledger, struct error *error)
{
    struct walk walk;
    enum status status = ledger_renew(ledger, job->routes, error);
    if (status)
        return status;
    status = walk_init(&walk, engine, job, &attempt->fold, ledger, error);
    walk.as_one_kind = attempt->as_one;
    if (attempt->width > 1 && machine_kind_count(walk.machine) > 1)
        walk.trace.on = false; /* it follows one element, and the critical path many */
    int done = !status && attempt->width ? lockstep_run(&walk) : 0;
    if (done < 0)
        status = error->status;
    if (!status && !done)
        status = walk_start(&walk);
    if (!status && !done)
        status =
            attempt->width ? order_run(&walk, attempt->width, &attempt->why) : run_events(&walk);
    budget_end(&walk);
    attempt->broken = walk.fold_broken;
    if (!status && !attempt->broken && !attempt->why)
        status = close_ledger(&walk);
    walk_free(&walk);
    ledger->queued = attempt->width == 0;
    if (attempt->width > 1)
        ledger->nodes_alike = 1;
    if (attempt->width > 1 && machine_kind_count(job->routes->machine) > 1)
        ledger->why_untraced = "nodes that differ, gone through together: the critical path is not "
                               "followed, and the busiest resource is named";
    return status;
}

/* What holds for all runs of a plan. */
static enum status engine_learn(struct engine *engine, const struct plan *plan, uint32_t ports,
                                struct error *error)
{
    if (engine->plan == plan && engine->ports == ports)
        return STATUS_OK;
    free(engine->verdicts);
    engine->plan = NULL;
    engine->verdicts = calloc(2 * plan->length + 1, sizeof *engine->verdicts);
    if (!engine->verdicts)
        return error_set(error, STATUS_NOMEM, "out of memory");
    fold_find(plan, ports, &engine->fold);
    engine->plan = plan;
    engine->ports = ports;
    engine->lockstep.plan = NULL;
    return STATUS_OK;
}

/* Without the queue first, then with it; folded first, then not. */
static enum status run_attempts(struct engine *engine, const struct engine_job *job,
                                const struct plan *plan, struct ledger *ret_ledger,
                                struct error *error)
{
    const struct machine *machine = job->routes->machine;
    struct fold fold = {0};
    if (job->walk != WALK_QUEUE) {
        enum status status = engine_learn(engine, plan, (uint32_t)machine->node.port_count, error);
        if (status)
            return status;
        if (machine_fabric(machine) == FABRIC_ONE_SWITCH)
            fold = engine->fold;
    }
    /* Odd nodes: nobody stands for all, but without a queue all can be gone through together. */
    const bool odd = machine_kind_count(machine) > 1;
    const bool traced = job->trace && plan->steps * plan->ranks <= TRACED_TRANSFERS;
    if (odd && job->walk == WALK_AUTO && traced)
        fold = (struct fold){0};
    bool as_one = odd && fold.kind && job->walk == WALK_AUTO;
    const char *why = NULL;
    for (;;) {
        struct attempt attempt = {.fold = fold, .as_one = as_one};
        /* Lanes that are not folded nearly always meet somewhere: not worth the try. */
        if (!why && (job->walk == WALK_ORDER ||
                     (job->walk == WALK_AUTO && (fold.kind || plan->lanes == 1))))
            attempt.width =
                fold.kind && (job->walk == WALK_ORDER || (odd && !as_one)) ? fold.units : 1;
        enum status status = run_once(engine, job, &attempt, ret_ledger, error);
        if (status == STATUS_OK && !attempt.broken && !attempt.why) {
            ret_ledger->why_queued = why;
            return status;
        }
        if (as_one && (attempt.broken || (status && status != STATUS_NOMEM))) {
            as_one = false;
            why = NULL;
            continue;
        }
        const bool together = odd && fold.kind && !as_one;
        if (attempt.broken || (status && status != STATUS_NOMEM && together))
            fold = (struct fold){0};
        else if (status)
            return status;
        else if (job->walk == WALK_ORDER) {
            error_set(error, STATUS_INPUT, "not without a queue: %s", attempt.why);
            return error_hint(error, "--walk auto takes the queue where it needs one");
        } else {
            why = attempt.why;
            if (together)
                fold = (struct fold){0};
        }
    }
}

static enum status run(struct engine *engine, const struct engine_job *job,
                       struct ledger *ret_ledger, struct error *error)
{
    struct error local; /* the walk always has somewhere to put what went wrong */
    if (!error) {
        memset(&local, 0, sizeof local);
        error = &local;
    }
    const struct plan *plan = plan_for(job->plan, job->size_B);
    const struct machine *machine = job->routes->machine;
    enum status status = STATUS_OK;
    if (plan_uses_switch(job->plan))
        routes_groups(job->routes, plan_groups(job->plan));
    if (machine_ranks(machine) != plan->ranks)
        status = error_set(error, STATUS_INPUT, "the plan is for %u ranks, the machine has %u",
                           plan->ranks, machine_ranks(machine));
    if (!status)
        status = check_groups(job, plan, error);
    if (status)
        return status;
    return run_attempts(engine, job, plan, ret_ledger, error);
}

/* ---- many runs ------------------------------------------------------------------------------ */

enum status engine_new(struct engine **ret_engine, struct error *error)
{
    *ret_engine = calloc(1, sizeof **ret_engine);
    return *ret_engine ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
}

void engine_forget(struct engine *engine)
{
    engine->plan = NULL;
}

/* What it holds, not itself. */
static void engine_clear(struct engine *engine)
{
    ledger_free(&engine->ledger);
    free(engine->verdicts);
    free(engine->records);
    free(engine->used.data);
    free(engine->used_causes.data);
    free(engine->uplink_chunks.data);
    free(engine->slot_chunks.data);
    free(engine->resource_chunks.data);
    for (size_t i = 0; i < engine->timing_capacity; i++)
        free(engine->timings[i]);
    free(engine->timings);
}

void engine_free(struct engine *engine)
{
    if (engine)
        engine_clear(engine);
    free(engine);
}

enum status engine_rerun(struct engine *engine, const struct engine_job *job,
                         const struct ledger **ret_ledger, struct error *error)
{
    *ret_ledger = &engine->ledger;
    return run(engine, job, &engine->ledger, error);
}

enum status engine_run(const struct engine_job *job, struct ledger *ret_ledger, struct error *error)
{
    struct engine engine = {0};
    memset(ret_ledger, 0, sizeof *ret_ledger);
    enum status status = run(&engine, job, ret_ledger, error);
    if (status)
        ledger_free(ret_ledger);
    engine_clear(&engine);
    return status;
}
