/* explain.c: see explain.h. */
#include "sim/report/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/core/counters.h"
#include "sim/core/odd.h"
#include "sim/core/protocol.h"
#include "sim/core/timing.h"
#include "sim/core/units.h"
#include "sim/report/head.h"
#include "sim/report/limit.h"

/* Steps beyond this are not written out one by one. */
#define MAX_STEPS 100000u
/* Ranks that are looked at to find a step's longest transfer. */
#define MAX_LOOKS 4096u

static double us(int64_t ps)
{
    return (double)ps * 1e-6;
}

static const char *quantity(double value, enum dimension dimension, char *buf)
{
    return units_format(value, dimension, buf, UNITS_TEXT_MAX);
}

static struct nccl_pace pace_of(const struct explain_cell *cell)
{
    return protocol_pace(cell->machine, cell->column->plan, cell->size_B);
}

/* ---- one transfer --------------------------------------------------------------------------- */

static void write_leg(struct text *text, const struct route *route, const struct machine *machine,
                      const struct route_leg *leg, double bytes)
{
    char rate[UNITS_TEXT_MAX], latency[UNITS_TEXT_MAX];
    static const char *const kinds[] = {"crossing", "c2c", "nvlink", "wire", "copy", "drive"};
    const char *kind = kinds[leg->kind];
    int64_t service = isinf(leg->rate_Bps) ? 0 : engine_ps(bytes / leg->rate_Bps);
    const struct route_use *paced = NULL; /* what takes longer than the bytes */
    for (size_t i = 0; i < leg->use_count; i++) {
        const struct route_use *use = &route->uses[leg->first_use + i];
        if (timing_busy_ps(use, machine, bytes, (struct nccl_pace){0, 1, 1, 1, 1}) > service &&
            use->piece_B > 0) {
            service = timing_busy_ps(use, machine, bytes, (struct nccl_pace){0, 1, 1, 1, 1});
            paced = use;
        }
    }
    int64_t total = service + engine_ps(leg->latency_s);
    if (paced)
        text_printf(text, "    %-9s %-34s %.0f pieces of %.15g B: the other %.0f each %s later",
                    kind, leg->label, ceil(bytes / paced->piece_B), paced->piece_B,
                    ceil(bytes / paced->piece_B) - 1, quantity(paced->fixed_s, DIM_TIME, rate));
    else
        text_printf(text, "    %-9s %-34s %.15g B / %s", kind, leg->label, bytes,
                    quantity(leg->rate_Bps, DIM_RATE, rate));
    if (leg->latency_s > 0)
        text_printf(text, " + %s", quantity(leg->latency_s, DIM_TIME, latency));
    text_printf(text, " = %.6f us\n", us(total));
}

/* Bytes that keep the leg's slowest resource busy: the flags of a protocol come on top of the
 * payload, but what SMs move is counted in payload. */
static double leg_bytes(const struct route *route, size_t leg, double bytes)
{
    const struct route_leg *at = &route->legs[leg];
    return at->use_count > 0 ? bytes * route->uses[at->slowest].bytes_factor : bytes;
}

static void write_route(struct text *text, const struct route *route, const struct machine *machine,
                        double bytes)
{
    if (route->mode[0])
        text_printf(text, "    %-9s %s\n", "mode", route->mode);
    for (size_t i = 0; i < route->verdict_count; i++)
        text_printf(text, "    %-9s %s\n", outcome_name(route->verdicts[i].outcome),
                    route->verdicts[i].sentence);

    for (size_t s = 0; s < route->stage_count; s++) {
        const struct route_stage *stage = &route->stages[s];
        if (stage->handoff.label[0])
            text_printf(text, "    %-9s %-34s %s = %.6f us\n", "handoff", stage->handoff.label,
                        param_info(stage->handoff.param)->name,
                        us(engine_ps(stage->handoff.cost_s)));
        for (size_t i = 0; i < stage->leg_count; i++)
            write_leg(text, route, machine, &route->legs[stage->first_leg + i],
                      leg_bytes(route, stage->first_leg + i, bytes));
    }
}

static int64_t serial_ps(const struct timing *timing)
{
    int64_t total = 0;
    for (size_t i = 0; i < timing->stage_count; i++)
        total += timed_stage_ps(&timing->stages[i]);
    return total;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The longest transfer of a step, and equal steps in a row. */
struct span {
    uint64_t first, last;
    uint32_t at; /* instruction */
    struct transfer transfer;
    size_t slot;
    double bytes;
    int64_t each_ps;
};

static enum status longest_transfer(const struct explain_cell *cell,
                                    const struct plan_cursor *cursor, struct span *ret_span,
                                    struct error *error)
{
    const struct plan *plan = plan_for(cell->column->plan, cell->size_B);
    const struct plan_instruction *in = &plan->program[cursor->at];
    struct span span = {
        .first = cursor->step, .last = cursor->step, .at = cursor->at, .each_ps = -1};
    struct timing timing;
    /* Where nodes differ, the longest may be anywhere. */
    bool all = plan->ranks < MAX_LOOKS || machine_kind_count(cell->machine) > 1;
    uint32_t looks = all ? plan->ranks : MAX_LOOKS;
    for (uint32_t i = 0; i < in->op_count; i++)
        for (uint32_t rank = 0; rank < looks; rank++) {
            struct transfer transfer;
            int found = plan_transfer(plan, &plan->ops[in->first_op + i], cursor, rank, 0,
                                      &transfer, error);
            if (found < 0)
                return STATUS_INPUT;
            if (found == 0)
                continue;
            double bytes = cell->size_B * transfer.count / plan->chunks;
            size_t slot = routes_slot(cell->routes, &transfer, bytes);
            if (span.each_ps >= 0 && slot == span.slot && bytes <= span.bytes &&
                transfer.op->cost_s <= span.transfer.op->cost_s)
                continue;
            const struct route *route = routes_get(cell->routes, slot, error);
            if (!route || timing_make(route, cell->machine, slot, bytes,
                                      (struct posting){.cost_s = transfer.op->cost_s},
                                      pace_of(cell), ACCOUNTING_SERIAL, &timing, error))
                return STATUS_INPUT;
            if (serial_ps(&timing) <= span.each_ps)
                continue;
            span.each_ps = serial_ps(&timing);
            span.transfer = transfer;
            span.slot = slot;
            span.bytes = bytes;
        }
    *ret_span = span;
    return STATUS_OK;
}

static const char *who(uint32_t rank, char *buf, size_t size)
{
    if (rank == TRANSFER_SWITCH)
        snprintf(buf, size, "the switch");
    else
        snprintf(buf, size, "rank %u", rank);
    return buf;
}

static int64_t write_span(struct text *text, const struct explain_cell *cell,
                          const struct span *span)
{
    const struct plan *plan = plan_for(cell->column->plan, cell->size_B);
    const struct transfer *transfer = &span->transfer;
    char from[32], to[32];
    int64_t turns = (int64_t)(span->last - span->first + 1);
    if (span->each_ps < 0)
        return 0;
    if (turns > 1)
        text_printf(text, "  steps %llu to %llu", (unsigned long long)span->first + 1,
                    (unsigned long long)span->last + 1);
    else
        text_printf(text, "  step %llu", (unsigned long long)span->first + 1);
    text_printf(text, " of %llu", (unsigned long long)plan->steps);
    if (transfer->op->line > 0) /* transfers of a scenario have no script */
        text_printf(text, " (%s.lua line %u)", plan->name, transfer->op->line);
    text_printf(text, ": %s sends %u of %u chunks to %s%s\n",
                who(transfer->from, from, sizeof from), transfer->count, plan->chunks,
                who(transfer->to, to, sizeof to),
                transfer->op->reduce || transfer->to == TRANSFER_SWITCH ? ", which adds them" : "");
    text_printf(text, "    c = S x %u/%u = %.15g B x %u/%u = %.15g B\n", transfer->count,
                plan->chunks, cell->size_B, transfer->count, plan->chunks, span->bytes);
    if (transfer->op->cost_s > 0)
        text_printf(text, "    %-9s %-34s %s = %.6f us\n", "cost", "before the transfer",
                    "the script", us(engine_ps(transfer->op->cost_s)));
    write_route(text, cell->routes->slot[span->slot], cell->machine, span->bytes);
    text_printf(text, "    one step %.6f us", us(span->each_ps));
    if (turns > 1)
        text_printf(text, " x %lld = %.6f us", (long long)turns, us(span->each_ps * turns));
    text_printf(text, "\n");
    return span->each_ps * turns;
}

/* How NCCL would cut the message, if a protocol or channels were asked for. */
static void write_slots(struct text *text, const struct explain_cell *cell,
                        const struct route *route)
{
    enum nccl_protocol protocol;
    double channels = param_get(&cell->machine->engine, PARAM_ENGINE_CHANNELS);
    uint32_t lanes = cell->column->plan->lanes;
    bool network = route_count_legs(route, LEG_WIRE) > 0;
    struct protocol_cut cut = protocol_cut(cell->machine, cell->column->plan, network);
    if (protocol_of(cell->machine, &protocol))
        text_printf(
            text,
            "  protocol %s: %.15g B on the links for each byte of payload; a slot of a "
            "channel holds %.15g B of payload, handed on by %.15g B inside a node;\n"
            "    a step takes NCCL's hop latency, %.6f us, or its own handoffs and latencies "
            "where they are more\n",
            nccl_protocol_name(protocol), 1 / nccl_payload_share(protocol), nccl_slot_B(protocol),
            nccl_grain_B(protocol), 1e6 * protocol_hop_s(cell->machine, route));
    if (channels > 0)
        text_printf(text, "  %.0f channels on %u lane%s of the script, %.4g a lane\n", channels,
                    lanes, lanes == 1 ? "" : "s",
                    protocol_lane_channels(cell->machine, cell->column->plan));
    if (channels > 0 || protocol_of(cell->machine, &protocol))
        text_printf(text, "  so a slot of a lane is %.15g B, and %u are in flight at most\n",
                    cut.slice_B, cut.window);
}

/* The same transfer, pipelined: what each stage takes for one slice, and the closed form of one
 * flow that meets nobody. */
static enum status write_stages(struct text *text, const struct explain_cell *cell,
                                const struct span *span, struct error *error)
{
    bool network = route_count_legs(cell->routes->slot[span->slot], LEG_WIRE) > 0;
    struct protocol_cut cut = protocol_cut(cell->machine, cell->column->plan, network);
    double slices = protocol_slices(&cut, span->bytes);
    struct timing timing;
    int64_t sum = 0, most = 0;
    enum status status =
        timing_make(cell->routes->slot[span->slot], cell->machine, span->slot, span->bytes / slices,
                    (struct posting){0}, pace_of(cell), ACCOUNTING_PIPELINED, &timing, error);
    if (status)
        return status;
    write_slots(text, cell, cell->routes->slot[span->slot]);
    text_printf(text, "  one transfer is %.0f slice%s of %.15g B; for each slice:\n", slices,
                slices > 1 ? "s" : "", span->bytes / slices);
    for (size_t i = 0; i < timing.stage_count; i++) {
        const struct timed_stage *stage = &timing.stages[i];
        int64_t period = stage->blocking ? stage->handoff_ps + stage->service_ps
                         : stage->service_ps > stage->handoff_ps ? stage->service_ps
                                                                 : stage->handoff_ps;
        sum += timed_stage_ps(stage);
        most = period > most ? period : most;
        text_printf(text,
                    "    stage %zu: handoff %.6f + latency %.6f + slowest resource %.6f = %.6f us; "
                    "the next slice can follow after %.6f us\n",
                    i + 1, us(stage->handoff_ps),
                    us(stage->pcie_latency_ps + stage->wire_latency_ps),
                    us(stage->service_ps - stage->ahead_ps), us(timed_stage_ps(stage)), us(period));
    }
    int64_t cost_ps = engine_ps(span->transfer.op->cost_s);
    text_printf(text, "    alone: ");
    if (cost_ps > 0)
        text_printf(text, "the script's cost %.6f + ", us(cost_ps));
    text_printf(text, "%.6f + %.0f x %.6f = %.6f us\n", us(sum), slices - 1, us(most),
                us(cost_ps + sum + (int64_t)(slices - 1) * most));
    return STATUS_OK;
}

static enum status write_steps(struct text *text, const struct explain_cell *cell,
                               struct error *error)
{
    const struct plan *plan = plan_for(cell->column->plan, cell->size_B);
    struct plan_cursor cursor;
    struct span open = {.each_ps = -1}, next;
    int64_t sum = 0;
    bool any = false;
    for (plan_first(plan, &cursor); !cursor.done; plan_next(plan, &cursor)) {
        if (cursor.step == MAX_STEPS) {
            text_printf(text, "  (%llu more steps are not written out)\n",
                        (unsigned long long)(plan->steps - cursor.step));
            break;
        }
        enum status status = longest_transfer(cell, &cursor, &next, error);
        if (status)
            return status;
        if (any && next.at == open.at && next.slot == open.slot && !(next.bytes < open.bytes) &&
            !(next.bytes > open.bytes)) {
            open.last = next.last;
            continue;
        }
        sum += write_span(text, cell, &open);
        open = next;
        any = true;
    }
    sum += write_span(text, cell, &open);
    int64_t launch_ps =
        any ? engine_ps(protocol_launch_s(cell->machine, cell->column->mechanism)) : 0;
    if (launch_ps > 0)
        text_printf(text, "  NCCL's base latency, once = %.6f us\n", us(launch_ps));
    sum += launch_ps;
    launch_ps = engine_ps(param_get(&cell->machine->software, PARAM_SOFTWARE_LAUNCH));
    if (launch_ps > 0)
        text_printf(text, "  launch of the call, once = %.6f us\n", us(launch_ps));
    sum += launch_ps;
    text_printf(text, "  sum of all steps = %.6f us\n", us(sum));
    int64_t issue_ps = engine_ps(protocol_issue_s(cell->machine, (double)sum * 1e-12));
    sum += issue_ps;
    if (issue_ps > 0)
        text_printf(text, "  issued one after the other, mean of %.0f calls: + %.6f us = %.6f us\n",
                    param_get(&cell->machine->software, PARAM_SOFTWARE_CALLS), us(issue_ps),
                    us(sum));
    if (sum == cell->serial->total_ps)
        text_printf(text, "  the engine, serial accounting, finds the same.\n");
    else
        text_printf(text,
                    "  the engine, serial accounting, finds %.6f us: steps of different ranks "
                    "overlap or wait for shared resources.\n",
                    us(cell->serial->total_ps));
    return STATUS_OK;
}

/* ---- the ledger ----------------------------------------------------------------------------- */

static void write_critical(struct text *text, const struct explain_cell *cell,
                           const struct ledger *ledger)
{
    if (!ledger->traced) {
        text_printf(text, "  critical path: %s\n", ledger_untraced(ledger));
        return;
    }
    text_printf(text, "  critical path, by what the time is spent on:\n");
    for (size_t i = 0; i < ledger->resource_count + CATEGORY_COUNT; i++)
        if (ledger->critical[i] != 0)
            text_printf(text, "    %-42s %16.6f us  %5.1f %%\n",
                        ledger_category_name(ledger, cell->machine, i), us(ledger->critical[i]),
                        100.0 * (double)ledger->critical[i] / (double)ledger->total_ps);
    text_printf(text, "    %-42s %16.6f us\n", "sum", us(ledger->total_ps));
}

/* What no thread does: nobody waits for another's flags, so they have no share of the time. */
static bool is_flags(const struct machine *machine, size_t resource)
{
    const struct node_type *node = &machine->node;
    for (size_t i = 0; i < node->gpu_count; i++)
        if (node->devices[node->gpus[i]].resource + (size_t)GPU_FLAGS == resource)
            return true;
    return false;
}

/* Share of the time, or the time itself where it is spent side by side: every lane sets its own
 * flags. Where channels drift apart, each lane has its share of them for itself. */
static void busy_text(const struct explain_cell *cell, size_t resource, const struct ledger *ledger,
                      char *buf, size_t size)
{
    const struct resource *what = &cell->machine->node.resources[resource];
    double share = what->kind == RESOURCE_SM ? pace_of(cell).share : 1;
    int64_t busy_ps = ledger->resources[resource].busy_most_ps;
    double percent =
        ledger->total_ps > 0 ? 100 * share * (double)busy_ps / (double)ledger->total_ps : 0;
    if (is_flags(cell->machine, resource) || percent >= 100.05)
        snprintf(buf, size, "%.6f us, side by side, at the busiest node", us(busy_ps));
    else
        snprintf(buf, size, "busy %5.1f %% at the busiest node", percent);
}

static void write_resources(struct text *text, const struct explain_cell *cell,
                            const struct ledger *ledger)
{
    double message = cell->size_B * cell->column->plan->ranks;
    text_printf(text, "  resources, all nodes together (bytes per byte of all ranks' messages):\n");
    for (size_t i = 0; i < ledger->resource_count; i++) {
        const struct ledger_resource *resource = &ledger->resources[i];
        const struct resource *what = &cell->machine->node.resources[i];
        if (resource->busy_ps == 0 && (what->kind == RESOURCE_NIC || !(resource->bytes > 0)))
            continue;
        if (what->kind == RESOURCE_CHANNEL || what->kind == RESOURCE_PEER) {
            text_printf(text, "    %-30s %20.15g B  %6.3f B/B  each flow has its own\n", what->name,
                        resource->bytes, message > 0 ? resource->bytes / message : 0);
            continue;
        }
        char busy[64];
        busy_text(cell, i, ledger, busy, sizeof busy);
        if (what->kind == RESOURCE_THREAD)
            text_printf(text, "    %-30s %32s  %s\n", what->name, "", busy);
        else
            text_printf(text, "    %-30s %20.15g B  %6.3f B/B  %s\n", what->name, resource->bytes,
                        message > 0 ? resource->bytes / message : 0, busy);
    }
}

/* Bytes that counters on the links would show, packet headers included. */
static enum status write_counters(struct text *text, const struct explain_cell *cell,
                                  const struct ledger *ledger, struct error *error)
{
    const struct node_type *node = &cell->machine->node;
    double *bytes = calloc(node->resource_count, sizeof *bytes);
    double message = cell->size_B * cell->column->plan->ranks;
    if (!bytes)
        return error_set(error, STATUS_NOMEM, "out of memory");
    counters_add(cell->routes, ledger, bytes);
    text_printf(text, "  counters on the links, packet headers included:\n");
    for (size_t i = 0; i < node->resource_count; i++)
        if (bytes[i] > 0 && message > 0)
            text_printf(text, "    %-30s %20.0f B  %7.4f B/B\n", node->resources[i].name, bytes[i],
                        bytes[i] / message);
    free(bytes);
    return STATUS_OK;
}

static void write_limit(struct text *text, const struct explain_cell *cell,
                        const struct ledger *ledger)
{
    text_printf(text, "  limited by: ");
    limit_write(text, ledger, cell->machine);
    text_printf(text, "\n");
}

enum status explain_write(struct text *text, const struct explain_cell *cell, struct error *error)
{
    const struct plan *plan = plan_for(cell->column->plan, cell->size_B);
    char size[UNITS_TEXT_MAX];
    text_printf(text, "%s by %s over %s, %u ranks, S = %.15g B\n",
                collective_name(plan->collective), plan->name, cell->column->mechanism->title,
                plan->ranks, cell->size_B);
    if (plan->larger)
        text_printf(text, "by the script's plan for up to %s\n",
                    quantity(plan->up_to_B, DIM_BYTES, size));
    else if (plan != cell->column->plan)
        text_printf(text, "by the script's plan for the largest messages\n");
    if (plan->collective != COLLECTIVE_TRANSFERS)
        text_printf(text, "%s\n", head_protocol(cell->machine, ACCOUNTING_PIPELINED));
    text_printf(text, "\nSerial: every crossing, wire pass and handoff one after the other\n");
    enum status status = write_steps(text, cell, error);
    if (status)
        return status;
    write_critical(text, cell, cell->serial);
    write_limit(text, cell, cell->serial);
    text_printf(text, "\nPipelined: %.6f us, %llu transfers in %llu slices\n",
                us(cell->pipelined->total_ps), (unsigned long long)cell->pipelined->transfers,
                (unsigned long long)cell->pipelined->slices);
    char how[256];
    ledger_how(cell->pipelined, cell->machine, how, sizeof how);
    text_printf(text, "  simulated: %s\n", how);
    struct plan_cursor cursor;
    struct span span;
    plan_first(plan, &cursor);
    status = cursor.done ? STATUS_OK : longest_transfer(cell, &cursor, &span, error);
    if (!status && !cursor.done && span.each_ps >= 0)
        status = write_stages(text, cell, &span, error);
    if (status)
        return status;
    write_critical(text, cell, cell->pipelined);
    write_resources(text, cell, cell->pipelined);
    status = write_counters(text, cell, cell->pipelined, error);
    write_limit(text, cell, cell->pipelined);
    return status;
}

/* ---- parameters ----------------------------------------------------------------------------- */

static void write_origin(struct text *text, enum param_id id, const struct origin *origin)
{
    if (origin->kind == ORIGIN_DEFAULT)
        text_printf(text, "default: %s\n", param_info(id)->source);
    else if (origin->kind == ORIGIN_SET)
        text_printf(text, "%s\n", origin->file);
    else
        text_printf(text, "%s: %s:%u%s%s\n", origin_kind_name(origin->kind), origin->file,
                    origin->line, origin->source ? ", " : "", origin->source ? origin->source : "");
}

static void write_params(struct text *text, const struct params *params, const char *object)
{
    enum param_id first;
    size_t count;
    param_range(params->kind, &first, &count);
    for (size_t i = 0; i < count; i++) {
        enum param_id id = (enum param_id)(first + i);
        const struct param_info *info = param_info(id);
        const struct origin *origin = param_origin(params, id);
        char value[UNITS_TEXT_MAX], name[3 * MACHINE_NAME_LENGTH];
        snprintf(name, sizeof name, "%s.%s", object, info->name);
        text_printf(text, "  %-34s %-12s ", name,
                    param_format(id, param_get(params, id), value, sizeof value));
        if (id == PARAM_PCIE_RATE && !(param_get(params, id) > 0))
            text_printf(
                text, "computed from gen, width and mps (models/pcie): %s\n",
                quantity(link_rate_Bps(&(struct link){.kind = LINK_PCIE, .params = *params}),
                         DIM_RATE, value));
        else
            write_origin(text, id, origin);
    }
}

void explain_write_parameters(struct text *text, const struct machine *machine)
{
    const struct node_type *node = &machine->node;
    text_printf(text, "\nParameters, and where each came from\n");
    write_params(text, &machine->software, "software");
    write_params(text, &machine->fabric, "fabric");
    write_params(text, &machine->sharp, "sharp");
    write_params(text, &machine->state, "state");
    write_params(text, &machine->engine, "engine");
    for (size_t i = 0; i < node->device_count; i++)
        write_params(text, &node->devices[i].params, node->devices[i].name);
    for (size_t i = 0; i < node->link_count; i++) {
        char name[2 * MACHINE_NAME_LENGTH];
        snprintf(name, sizeof name, "%s-%s", node->devices[node->links[i].end[0]].name,
                 node->devices[node->links[i].end[1]].name);
        write_params(text, &node->links[i].params, name);
    }
    explain_write_odd(text, machine);
}

void explain_write_odd(struct text *text, const struct machine *machine)
{
    for (size_t k = 0; k < machine->odd_count; k++) {
        const struct odd_nodes *odd = &machine->odd[k];
        text_printf(text, "%s (%s): in this otherwise\n", odd->label, odd->name);
        for (size_t i = 0; i < odd->change_count; i++) {
            const struct odd_change *change = &odd->changes[i];
            char key[3 * MACHINE_NAME_LENGTH + 16], own[UNITS_TEXT_MAX], usual[UNITS_TEXT_MAX];
            address_key(machine, &change->at, key, sizeof key);
            text_printf(text, "  %-34s %-12s instead of %s; ", key,
                        param_format(change->at.id, change->value, own, sizeof own),
                        param_format(change->at.id, address_get(machine, &change->at), usual,
                                     sizeof usual));
            write_origin(text, change->at.id, &change->origin);
        }
    }
}
