/* tidy.c: see tidy.h. */
#include "sim/report/tidy.h"

const struct grid_column tidy_columns[TIDY_COLUMNS] = {
    {.name = "collective", .title = "collective", .kind = GRID_TEXT, .machine_only = true},
    {.name = "algorithm", .title = "algorithm", .kind = GRID_TEXT},
    {.name = "mechanism", .title = "mechanism", .kind = GRID_TEXT},
    {.name = "accounting", .title = "accounting", .kind = GRID_TEXT, .machine_only = true},
    {.name = "ranks", .title = "ranks", .kind = GRID_INT},
    {.name = "size_B", .title = "size B", .kind = GRID_REAL, .decimals = 0},
    {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 2},
    {.name = "algbw_GBps", .title = "algbw GB/s", .kind = GRID_REAL, .decimals = 2, .small = true},
    {.name = "busbw_GBps", .title = "busbw GB/s", .kind = GRID_REAL, .decimals = 2, .small = true},
    {.name = "pcie_bytes_per_byte", .title = "PCIe B/B", .kind = GRID_REAL, .decimals = 2},
    {.name = "wire_bytes_per_byte", .title = "wire B/B", .kind = GRID_REAL, .decimals = 2},
    {.name = "limit", .title = "limited by", .kind = GRID_TEXT},
    {.name = "limit_share", .title = "share", .kind = GRID_REAL, .decimals = 2},
};

struct grid *tidy_new(void)
{
    struct grid *grid = grid_new();
    for (size_t i = 0; grid && i < TIDY_COLUMNS; i++)
        grid_column(grid, &tidy_columns[i]);
    return grid;
}

static struct cell text_cell(const char *text)
{
    return (struct cell){.present = true, .as.text = text};
}

static struct cell real_cell(double value)
{
    return (struct cell){.present = true, .as.real = value};
}

void tidy_cells(const struct results *results, size_t size, size_t column,
                char ret_limit[LIMIT_NAME_MAX], struct cell ret_cells[TIDY_COLUMNS])
{
    const struct result_column *from = &results->columns[column];
    const struct ledger *ledger = results_at(results, size, column);
    int64_t critical_ps;
    struct cell *at = ret_cells;
    *at++ = text_cell(collective_name(from->plan->collective));
    *at++ = text_cell(from->label ? from->label : from->plan->name);
    *at++ = text_cell(from->mechanism->name);
    *at++ = text_cell(accounting_name(results->accounting));
    *at++ = (struct cell){.present = true, .as.integer = from->plan->ranks};
    *at++ = real_cell(results->sizes_B[size]);
    *at++ = real_cell((double)ledger->total_ps / 1e6);
    *at++ = real_cell(results_algbw_Bps(results, size, column) / 1e9);
    *at++ = real_cell(results_busbw_Bps(results, size, column) / 1e9);
    *at++ = real_cell(results_crossing_ratio(results, size, column));
    *at++ = real_cell(results_wire_ratio(results, size, column));
    *at++ = text_cell(limit_of(ledger, results->machine, ret_limit, &critical_ps));
    *at = (struct cell){.present = ledger->traced && ledger->total_ps > 0};
    if (at->present)
        at->as.real = (double)critical_ps / (double)ledger->total_ps;
}

void tidy_add(struct grid *grid, const struct results *results)
{
    struct cell cells[TIDY_COLUMNS];
    char limit[LIMIT_NAME_MAX];
    for (size_t s = 0; s < results->size_count; s++)
        for (size_t c = 0; c < results->column_count; c++) {
            if (!results_has(results, s, c))
                continue;
            tidy_cells(results, s, c, limit, cells);
            grid_row(grid);
            for (size_t i = 0; i < TIDY_COLUMNS; i++) {
                if (!cells[i].present)
                    continue;
                if (tidy_columns[i].kind == GRID_TEXT)
                    grid_set_text(grid, i, cells[i].as.text);
                else if (tidy_columns[i].kind == GRID_INT)
                    grid_set_int(grid, i, cells[i].as.integer);
                else
                    grid_set_real(grid, i, cells[i].as.real);
            }
        }
}
