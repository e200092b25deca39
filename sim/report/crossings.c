/* crossings.c: see crossings.h. */
#include "sim/report/crossings.h"

#include <stdio.h>

#include "sim/core/units.h"

static const struct grid_column columns[] = {
    {.name = "mechanism", .title = "path", .kind = GRID_TEXT},
    {.name = "pcie_bytes_per_byte_sender", .title = "PCIe B/B, sender", .kind = GRID_INT},
    {.name = "pcie_bytes_per_byte_receiver", .title = "receiver", .kind = GRID_INT},
    {.name = "cpu_woken", .title = "CPU woken", .kind = GRID_TEXT},
    {.name = "fixed_cost", .title = "where the fixed cost lands", .kind = GRID_TEXT},
};

/* Handoffs after which a CPU copies or tells another driver cost something for every chunk; where
 * there are none, the fixed cost is the set-up paid once. */
static void describe(const struct route *route, char *woken, char *cost, size_t size)
{
    char each[UNITS_TEXT_MAX];
    size_t wakeups = route_count_wakeups(route);
    snprintf(woken, size, wakeups ? "yes, per chunk (%zu x)" : "no", wakeups);
    for (size_t i = 0; i < route->stage_count; i++)
        if (route->stages[i].handoff.wakes_cpu) {
            snprintf(cost, size, "driver transitions and copy engines, %s each",
                     units_format(route->stages[i].handoff.cost_s, DIM_TIME, each, sizeof each));
            return;
        }
    snprintf(cost, size, "once: %s", route->setup);
}

static enum status add_row(struct grid *grid, const struct machine *machine,
                           const struct mechanism *mechanism, struct error *error)
{
    struct endpoints ends = {.src = {ENDPOINT_DEVICE, machine->node.gpus[0]},
                             .dst = {ENDPOINT_DEVICE, machine->node.gpus[0]}};
    struct route out, in;
    char woken[160], cost[160];
    /* A mechanism that reduces in the network has a route up and a route down. */
    if (mechanism->algorithm)
        ends.dst.kind = ENDPOINT_SWITCH;
    enum status status = mechanism_route(mechanism, machine, &ends, &out, error);
    if (!status && mechanism->algorithm) {
        ends.dst.kind = ENDPOINT_DEVICE;
        ends.src.kind = ENDPOINT_SWITCH;
        status = mechanism_route(mechanism, machine, &ends, &in, error);
    } else if (!status) {
        in = out;
    }
    if (status)
        return status;
    describe(&out, woken, cost, sizeof woken);
    grid_row(grid);
    grid_set_text(grid, 0, mechanism->name);
    grid_set_int(grid, 1, (int64_t)route_count_crossings_at(&out, END_SRC));
    grid_set_int(grid, 2, (int64_t)route_count_crossings_at(&in, END_DST));
    grid_set_text(grid, 3, woken);
    grid_set_text(grid, 4, cost);
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
