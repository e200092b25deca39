/* grid_write.c: the three written forms of a grid. See grid.h. */
#include "sim/report/grid.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/grid_inside.h"
#include "sim/report/number.h"

/* Iterates over the columns that people or programs see: the first one at or after `i`. */
static size_t next_column(const struct grid *grid, size_t i, bool human)
{
    while (i < grid->column_count &&
           (human ? grid->columns[i].spec.machine_only : grid->columns[i].spec.human_only))
        i++;
    return i;
}

static const struct cell *cell_at(const struct grid *grid, size_t row, size_t column)
{
    return &grid->cells[row * grid->column_count + column];
}

static enum status finish(struct text *text, size_t start, bool failed, struct error *error)
{
    if (!failed && !text->failed)
        return STATUS_OK;
    text_truncate(text, start);
    return error_set(error, STATUS_NOMEM, "out of memory while writing the results");
}

/* ---- table for people ----------------------------------------------------------------------- */

/* A line break or an escape sequence in a name must not break the table or steer the terminal. */
static void print_escaped(struct text *text, const char *string)
{
    while (*string) {
        uint32_t code;
        size_t length = text_decode(string, &code);
        if (code == '\n')
            text_append(text, "\\n", 2);
        else if (code == '\t')
            text_append(text, "\\t", 2);
        else if (code < 0x20 || (code >= 0x7f && code < 0xa0))
            text_printf(text, "\\x%02x", (unsigned)code);
        else
            text_append(text, string, length);
        string += length;
    }
}

static void print_human_real(struct text *text, double value, int decimals, bool small)
{
    if (isnan(value))
        text_append(text, "nan", 3);
    else if (isinf(value))
        text_printf(text, value > 0 ? "unlimited" : "-unlimited");
    else if (decimals < 0 || fabs(value) >= 1e15) /* %f would print up to 300 digits */
        text_printf(text, "%.6g", value);
    else if (small)
        text_printf_small(text, value, decimals);
    else if (value <= 0 && value > -0.5 * pow(10, -decimals)) /* no -0.00 */
        text_printf(text, "%.*f", decimals, 0.0);
    else
        text_printf(text, "%.*f", decimals, value);
    if (!text->failed) {
        number_use_dot(text->data);
        text->length = strlen(text->data);
    }
}

/* Replace `text` by the cell as people see it; row SIZE_MAX is the header. */
static void print_human(struct text *text, const struct grid *grid, size_t row, size_t i)
{
    const struct column *column = &grid->columns[i];
    text_truncate(text, 0);
    text_append(text, "", 0);
    if (row == SIZE_MAX) {
        print_escaped(text, column->title);
        return;
    }
    const struct cell *cell = cell_at(grid, row, i);
    if (!cell->present)
        text_append(text, "-", 1);
    else if (column->spec.kind == GRID_INT)
        text_printf(text, "%" PRId64, cell->as.integer);
    else if (column->spec.kind == GRID_REAL)
        print_human_real(text, cell->as.real, column->spec.decimals, column->spec.small);
    else if (column->spec.kind == GRID_BOOL)
        text_printf(text, "%s", cell->as.truth ? "yes" : "no");
    else
        print_escaped(text, cell->as.text);
}

static bool aligned_right(const struct grid_column *spec)
{
    if (spec->align != GRID_ALIGN_KIND)
        return spec->align == GRID_ALIGN_RIGHT;
    return spec->kind == GRID_INT || spec->kind == GRID_REAL;
}

static void print_line(struct text *text, const struct grid *grid, size_t row, const size_t *widths,
                       struct text *scratch)
{
    size_t i = next_column(grid, 0, true);
    while (i < grid->column_count) {
        size_t next = next_column(grid, i + 1, true);
        print_human(scratch, grid, row, i);
        if (scratch->failed)
            return;
        size_t pad = widths[i] - text_width(scratch->data);
        bool right = aligned_right(&grid->columns[i].spec);
        text_fill(text, ' ', right ? pad : 0);
        text_append(text, scratch->data, scratch->length);
        if (next < grid->column_count) {
            text_fill(text, ' ', right ? 0 : pad);
            text_append(text, " | ", 3);
        }
        i = next;
    }
    text_append(text, "\n", 1);
}

enum status grid_write_table(const struct grid *grid, struct text *text, struct error *error)
{
    size_t start = text->length;
    if (!grid || grid->failed)
        return finish(text, start, true, error);
    struct text scratch = {0};
    size_t *widths = calloc(grid->column_count + 1, sizeof *widths);
    bool failed = !widths;
    for (size_t i = 0; !failed && i < grid->column_count; i++) {
        for (size_t line = 0; !failed && line <= grid->row_count; line++) {
            print_human(&scratch, grid, line == 0 ? SIZE_MAX : line - 1, i);
            failed = scratch.failed;
            size_t width = failed ? 0 : text_width(scratch.data);
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    if (!failed) {
        print_line(text, grid, SIZE_MAX, widths, &scratch);
        size_t i = next_column(grid, 0, true);
        for (const char *join = ""; i < grid->column_count; join = "-+-") {
            text_append(text, join, strlen(join));
            text_fill(text, '-', widths[i]);
            i = next_column(grid, i + 1, true);
        }
        text_append(text, "\n", 1);
        for (size_t row = 0; row < grid->row_count; row++)
            print_line(text, grid, row, widths, &scratch);
        failed = scratch.failed;
    }
    text_free(&scratch);
    free(widths);
    return finish(text, start, failed, error);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

enum status grid_write_csv(const struct grid *grid, struct text *text, struct error *error)
{
    size_t start = text->length;
    if (!grid || grid->failed)
        return finish(text, start, true, error);
    for (size_t line = 0; line <= grid->row_count; line++) {
        const char *comma = "";
        for (size_t i = next_column(grid, 0, false); i < grid->column_count;
             i = next_column(grid, i + 1, false), comma = ",") {
            text_append(text, comma, strlen(comma));
            if (line == 0)
                cell_csv_name(text, grid->columns[i].name);
            else
                cell_csv(text, grid->columns[i].spec.kind, cell_at(grid, line - 1, i));
        }
        text_append(text, "\n", 1);
    }
    return finish(text, start, false, error);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* One row a line makes files that diff and grep well. */
enum status grid_write_json(const struct grid *grid, struct text *text, struct error *error)
{
    size_t start = text->length;
    if (!grid || grid->failed)
        return finish(text, start, true, error);
    text_append(text, "[", 1);
    for (size_t row = 0; row < grid->row_count; row++) {
        const char *comma = "";
        text_printf(text, "%s\n  {", row > 0 ? "," : "");
        for (size_t i = next_column(grid, 0, false); i < grid->column_count;
             i = next_column(grid, i + 1, false), comma = ", ") {
            text_append(text, comma, strlen(comma));
            cell_json_text(text, grid->columns[i].name);
            text_append(text, ": ", 2);
            cell_json(text, grid->columns[i].spec.kind, cell_at(grid, row, i));
        }
        text_append(text, "}", 1);
    }
    text_printf(text, "%s]\n", grid_row_count(grid) > 0 ? "\n" : "");
    return finish(text, start, false, error);
}
