/* tidy.c: see tidy.h. */
#include "sim/report/tidy.h"

static const struct grid_column columns[] = {
    {.name = "collective", .title = "collective", .kind = GRID_TEXT, .machine_only = true},
    {.name = "algorithm", .title = "algorithm", .kind = GRID_TEXT},
    {.name = "mechanism", .title = "mechanism", .kind = GRID_TEXT},
    {.name = "accounting", .title = "accounting", .kind = GRID_TEXT, .machine_only = true},
    {.name = "ranks", .title = "ranks", .kind = GRID_INT},
    {.name = "size_B", .title = "size B", .kind = GRID_REAL, .decimals = 0},
    {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 2},
    {.name = "algbw_GBps", .title = "algbw GB/s", .kind = GRID_REAL, .decimals = 2},
    {.name = "busbw_GBps", .title = "busbw GB/s", .kind = GRID_REAL, .decimals = 2},
    {.name = "pcie_bytes_per_byte", .title = "PCIe B/B", .kind = GRID_REAL, .decimals = 2},
    {.name = "wire_bytes_per_byte", .title = "wire B/B", .kind = GRID_REAL, .decimals = 2},
    {.name = "limit", .title = "limited by", .kind = GRID_TEXT},
    {.name = "limit_share", .title = "share", .kind = GRID_REAL, .decimals = 2},
};

struct grid *tidy_new(void)
{
    struct grid *grid = grid_new();
    for (size_t i = 0; grid && i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    return grid;
}

void tidy_add(struct grid *grid, const struct results *results)
{
    for (size_t s = 0; s < results->size_count; s++)
        for (size_t c = 0; c < results->column_count; c++) {
            const struct result_column *column = &results->columns[c];
            const struct ledger *ledger = results_at(results, s, c);
            size_t limit = ledger_limit(ledger), at = 0;
            grid_row(grid);
            grid_set_text(grid, at++, collective_name(column->plan->collective));
            grid_set_text(grid, at++, column->plan->name);
            grid_set_text(grid, at++, column->mechanism->name);
            grid_set_text(grid, at++, accounting_name(results->accounting));
            grid_set_int(grid, at++, column->plan->ranks);
            grid_set_real(grid, at++, results->sizes_B[s]);
            grid_set_real(grid, at++, (double)ledger->total_ps / 1e6);
            grid_set_real(grid, at++, results_algbw_Bps(results, s, c) / 1e9);
            grid_set_real(grid, at++, results_busbw_Bps(results, s, c) / 1e9);
            grid_set_real(grid, at++, results_crossing_ratio(results, s, c));
            grid_set_real(grid, at++, results_wire_ratio(results, s, c));
            grid_set_text(grid, at++, ledger_category_name(ledger, results->machine, limit));
            if (ledger->traced && ledger->total_ps > 0)
                grid_set_real(grid, at, (double)ledger->critical[limit] / (double)ledger->total_ps);
        }
}
