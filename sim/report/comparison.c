/* comparison.c: see comparison.h. */
#include "sim/report/comparison.h"

#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/report/limit.h"

#define SIZE_WIDTH 7
#define UNIT_WIDTH 12

/* Wide enough for the heading with a blank before it, and for 99999.999. */
static int column_width(const struct result_column *column)
{
    int width = (int)strlen(column->mechanism->name) + (int)strlen(" ms") + 1;
    return width > 9 ? width : 9;
}

/* MB as the teaching text has them, where that is short for every size; else each with its unit. */
static bool in_MB(const struct results *results)
{
    char number[32];
    for (size_t s = 0; s < results->size_count; s++)
        if (snprintf(number, sizeof number, "%.10g", results->sizes_B[s] / 1e6) > SIZE_WIDTH)
            return false;
    return true;
}

static void write_size(struct text *text, double size_B, bool mega)
{
    char number[UNITS_TEXT_MAX];
    if (mega)
        text_printf(text, "%*.10g", SIZE_WIDTH, size_B / 1e6);
    else
        text_printf(text, "%*s", UNIT_WIDTH,
                    units_format(size_B, DIM_BYTES, number, sizeof number));
}

static void write_table(struct text *text, const struct results *results)
{
    size_t start = text->length;
    bool mega = in_MB(results);
    text_printf(text, "%*s", mega ? SIZE_WIDTH : UNIT_WIDTH, mega ? "S (MB)" : "S");
    for (size_t c = 0; c < results->column_count; c++)
        text_printf(text, " | %*s ms", column_width(&results->columns[c]) - 3,
                    results->columns[c].mechanism->name);
    text_printf(text, " | fastest");
    size_t width = text->length - start;
    text_printf(text, "\n");
    text_fill(text, '-', width + 1);
    text_printf(text, "\n");
    for (size_t s = 0; s < results->size_count; s++) {
        size_t best = 0;
        write_size(text, results->sizes_B[s], mega);
        for (size_t c = 0; c < results->column_count; c++) {
            text_printf(text, " | %*.3f", column_width(&results->columns[c]),
                        (double)results_at(results, s, c)->total_ps * 1e-9);
            if (results_at(results, s, c)->total_ps < results_at(results, s, best)->total_ps)
                best = c;
        }
        text_printf(text, " | %s\n", results->columns[best].mechanism->name);
    }
}

static const char *comma(size_t i)
{
    return i ? ", " : " ";
}

static void write_GBps(struct text *text, const struct results *results, size_t column, double GBps)
{
    text_printf(text, "%s%s ", comma(column), results->columns[column].mechanism->label);
    text_printf_small(text, GBps, 1);
    text_printf(text, " GB/s");
}

void comparison_write_serial(struct text *text, const struct results *results)
{
    size_t last = results->size_count - 1;
    double size_MB = results->sizes_B[last] / 1e6;
    write_table(text, results);
    if (results->columns[0].plan->collective != COLLECTIVE_ALLREDUCE)
        return;
    text_printf(text, "\nRing-equivalent busbw at ");
    results_print_MB(text, results->sizes_B[last]);
    text_printf(text, " MB:");
    for (size_t c = 0; c < results->column_count; c++) {
        const struct plan *plan = results->columns[c].plan;
        double seconds = (double)results_at(results, last, c)->total_ps * 1e-12;
        double busbw = collective_busbw_factor(plan->collective, plan->ranks) * (size_MB / 1024) /
                       (seconds > 0 ? seconds : 1);
        write_GBps(text, results, c, busbw);
    }
    text_printf(text, "\nPCIe bytes moved per byte all-reduced:");
    for (size_t c = 0; c < results->column_count; c++)
        text_printf(text, "%s%s %zu", comma(c), results->columns[c].mechanism->title,
                    results_crossings_per_step(results, last, c));
    text_printf(text, "\nNetwork bytes per byte all-reduced:  ");
    for (size_t c = 0; c < results->column_count; c++)
        text_printf(text, "%s%s %.2f", comma(c), results->columns[c].mechanism->title,
                    results_wire_ratio(results, last, c));
    text_printf(text, "\n");
}

static void write_busbw(struct text *text, const struct results *results)
{
    size_t last = results->size_count - 1;
    text_printf(text, "busbw at ");
    results_print_MB(text, results->sizes_B[last]);
    text_printf(text, " MB:");
    for (size_t c = 0; c < results->column_count; c++)
        write_GBps(text, results, c, results_busbw_Bps(results, last, c) / 1e9);
    text_printf(text, "\n");
}

static void write_limits(struct text *text, const struct results *results)
{
    size_t last = results->size_count - 1;
    for (size_t c = 0; c < results->column_count; c++) {
        const struct ledger *ledger = results_at(results, last, c);
        text_printf(text, "  %-8s limited by ", results->columns[c].mechanism->name);
        limit_write(text, ledger, results->machine);
        text_printf(text, "\n");
    }
}

void comparison_write_pipelined(struct text *text, const struct results *results)
{
    write_table(text, results);
    text_printf(text, "\n");
    write_busbw(text, results);
    write_limits(text, results);
}

void comparison_write_beside(struct text *text, const struct results *serial,
                             const struct results *pipelined)
{
    size_t last = serial->size_count - 1;
    if (serial->columns[0].plan->collective != COLLECTIVE_ALLREDUCE) {
        text_printf(text, "\nPipelined:\n");
        comparison_write_pipelined(text, pipelined);
        return;
    }
    text_printf(text, "\nBeside it, from the same runs, with every byte counted:\n");
    write_busbw(text, serial);
    text_printf(text, "(above, ");
    results_print_MB(text, serial->sizes_B[last]);
    text_printf(text, " MB count as %.6g GB)\nall PCIe bytes per byte all-reduced:",
                serial->sizes_B[last] / 1e6 / 1024);
    for (size_t c = 0; c < serial->column_count; c++)
        text_printf(text, "%s%s %.1f", comma(c), serial->columns[c].mechanism->title,
                    results_crossing_ratio(serial, last, c));
    text_printf(text, "\n(above, only the crossings of one step)\n");
    text_printf(text,
                "\nPipelined: the same machine and routes, slices of %.0f KiB in flight, bytes cut "
                "through between handoffs\n",
                param_get(&pipelined->machine->engine, PARAM_ENGINE_SLICE) / 1024);
    comparison_write_pipelined(text, pipelined);
}
