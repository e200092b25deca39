/* crossings.c: see crossings.h. */
#include "sim/report/crossings.h"

#include <stdio.h>

#include "sim/core/units.h"

static const struct grid_column columns[] = {
    {.name = "mechanism", .title = "path", .kind = GRID_TEXT},
    {.name = "between", .kind = GRID_TEXT},
    {.name = "pcie_bytes_per_byte_sender", .title = "PCIe B/B, sender", .kind = GRID_INT},
    {.name = "pcie_bytes_per_byte_receiver", .title = "receiver", .kind = GRID_INT},
    {.name = "cpu_woken", .title = "CPU woken", .kind = GRID_TEXT},
    {.name = "fixed_cost", .title = "where the fixed cost lands", .kind = GRID_TEXT},
    {.name = "taken_instead", .title = "taken instead", .kind = GRID_TEXT},
};

/* Nobody is woken where a thread acts that runs anyway; but it does cost a CPU. */
static const char *unwoken(const struct route *route)
{
    bool polled = false;
    for (size_t i = 0; i < route->stage_count; i++)
        polled = polled || route->stages[i].handoff.param == PARAM_SOFTWARE_FLAG_HANDOFF;
    if (polled)
        return "no: proxy thread polls and posts";
    if (route->stage_count > 0 && route->stages[0].handoff.param == PARAM_SOFTWARE_STEP_HANDOFF)
        return "no: proxy thread posts";
    if (route->stage_count > 0 && route->stages[0].handoff.param == PARAM_SOFTWARE_STORAGE_SUBMIT)
        return "no: a thread submits";
    if (route->leg_count > 0 &&
        (route->legs[0].mover == TLP_CPU_STORE_WC || route->legs[0].mover == TLP_CPU_LOAD_UC))
        return "no: the CPU itself copies";
    return "no";
}

/* Handoffs after which a CPU copies or tells another driver cost something for every chunk; where
 * there are none, the fixed cost is the set-up paid once. */
static void describe(const struct route *route, char *woken, char *cost, size_t size)
{
    char each[UNITS_TEXT_MAX];
    size_t wakeups = route_count_wakeups(route);
    if (wakeups > 0)
        snprintf(woken, size, "yes, per chunk (%zu x)", wakeups);
    else
        snprintf(woken, size, "%s", unwoken(route));
    for (size_t i = 0; i < route->stage_count; i++)
        if (route->stages[i].handoff.wakes_cpu) {
            snprintf(cost, size, "driver transitions and copy engines, %s each",
                     units_format(route->stages[i].handoff.cost_s, DIM_TIME, each, sizeof each));
            return;
        }
    snprintf(cost, size, "once: %s", route->setup);
    for (size_t i = 1; i < route->stage_count; i++)
        if (route->stages[i].handoff.label[0]) {
            snprintf(cost, size, "flags that are polled, %s each",
                     units_format(route->stages[i].handoff.cost_s, DIM_TIME, each, sizeof each));
            return;
        }
}

/* A device of a kind that is not `except`; -1 if there is none. */
static int device_of(const struct machine *machine, enum device_kind kind, int except)
{
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == kind && (int)i != except)
            return (int)i;
    return -1;
}

/* Typical ends for a mechanism; false when the machine lacks one. */
static bool typical_ends(const struct machine *machine, enum mechanism_span span,
                         struct endpoints *ret_ends)
{
    int gpu = machine->node.gpus[0], from = gpu, to = gpu;
    if (span == SPAN_PEERS)
        to = device_of(machine, DEVICE_GPU, gpu);
    if (span == SPAN_MEMORY)
        from = device_of(machine, DEVICE_CPU, -1);
    if (span == SPAN_DRIVE)
        from = device_of(machine, DEVICE_NVME, -1);
    if (from < 0 || to < 0)
        return false;
    *ret_ends = (struct endpoints){.src = {ENDPOINT_DEVICE, (uint16_t)from},
                                   .dst = {ENDPOINT_DEVICE, (uint16_t)to},
                                   .same_node = span != SPAN_NETWORK && span != SPAN_SWITCH};
    if (span == SPAN_SWITCH)
        ret_ends->dst.kind = ENDPOINT_SWITCH;
    return true;
}

static enum status add_row(struct grid *grid, const struct machine *machine,
                           const struct mechanism *mechanism, struct error *error)
{
    static const char *const spans[] = {"GPU -> other node's GPU", "GPU -> GPU", "memory -> GPU",
                                        "drive -> GPU", "GPU -> switch -> GPU"};
    struct endpoints ends;
    struct route out, in;
    char woken[160], cost[160];
    if (!typical_ends(machine, mechanism->span, &ends))
        return error_set(error, STATUS_INPUT, "%s moves bytes %s, and the node lacks one of them",
                         mechanism->name, spans[mechanism->span]);
    enum status status = mechanism_route(mechanism, machine, &ends, &out, error);
    in = out;
    if (!status && mechanism->span == SPAN_SWITCH) {
        struct endpoints down = {.src = ends.dst, .dst = ends.src};
        status = mechanism_route(mechanism, machine, &down, &in, error);
    }
    if (status)
        return status;
    describe(&out, woken, cost, sizeof woken);
    grid_row(grid);
    grid_set_text(grid, 0, mechanism->name);
    grid_set_text(grid, 1, spans[mechanism->span]);
    grid_set_int(grid, 2, (int64_t)route_count_crossings_at(&out, END_SRC));
    grid_set_int(grid, 3, (int64_t)route_count_crossings_at(&in, END_DST));
    grid_set_text(grid, 4, woken);
    grid_set_text(grid, 5, cost);
    if (out.taken != out.asked)
        grid_set_text(grid, 6, out.taken->name);
    return STATUS_OK;
}

enum status crossings_grid(const struct machine *machine, const struct mechanism *const *mechanisms,
                           size_t count, struct grid **ret_grid, struct error *error)
{
    struct grid *grid = grid_new();
    enum status status = STATUS_OK;
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < count && !status; i++)
        status = add_row(grid, machine, mechanisms[i], error);
    if (status)
        grid_free(grid);
    else
        *ret_grid = grid;
    return status;
}
