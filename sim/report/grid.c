/* grid.c: building a grid. See grid.h. */
#include "sim/report/grid.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/report/grid_inside.h"

struct grid *grid_new(void)
{
    return calloc(1, sizeof(struct grid));
}

void grid_free(struct grid *grid)
{
    if (!grid)
        return;
    for (size_t i = 0; i < grid->row_count * grid->column_count; i++)
        if (grid->cells[i].present && grid->columns[i % grid->column_count].spec.kind == GRID_TEXT)
            free((char *)(uintptr_t)grid->cells[i].as.text); /* the grid's own copy */
    for (size_t i = 0; i < grid->column_count; i++) {
        free(grid->columns[i].name);
        free(grid->columns[i].title);
    }
    free(grid->cells);
    free(grid->columns);
    free(grid);
}

/* Double an array of items of `size` bytes; NULL when there is no memory, and it stays as it was.
 */
static void *grow(void *items, size_t *capacity, size_t size)
{
    size_t larger = *capacity ? *capacity * 2 : 8;
    if (larger > SIZE_MAX / 2 / size)
        return NULL;
    void *moved = realloc(items, larger * size);
    if (moved)
        *capacity = larger;
    return moved;
}

static char *copy_text(const char *string)
{
    struct text copy = {0};
    text_append_utf8(&copy, string);
    if (copy.failed)
        text_free(&copy);
    return copy.data;
}

bool grid_has_column(const struct grid *grid, const char *name)
{
    for (size_t i = 0; grid && i < grid->column_count; i++)
        if (strcmp(grid->columns[i].name, name) == 0)
            return true;
    return false;
}

size_t grid_column(struct grid *grid, const struct grid_column *column)
{
    if (!grid || grid->failed)
        return 0;
    assert(grid->row_count == 0 && column->name[0] && !grid_has_column(grid, column->name));
    if (grid->column_count == grid->column_capacity) {
        struct column *columns = grow(grid->columns, &grid->column_capacity, sizeof *columns);
        if (!columns) {
            grid->failed = true;
            return 0;
        }
        grid->columns = columns;
    }
    char *name = copy_text(column->name);
    char *title = copy_text(column->title ? column->title : column->name);
    if (!name || !title) {
        free(name);
        free(title);
        grid->failed = true;
        return 0;
    }
    grid->columns[grid->column_count] = (struct column){name, title, *column};
    return grid->column_count++;
}

void grid_row(struct grid *grid)
{
    if (!grid || grid->failed)
        return;
    assert(grid->column_count > 0);
    if (grid->row_count == grid->row_capacity) {
        size_t size = grid->column_count * sizeof *grid->cells;
        struct cell *cells = grow(grid->cells, &grid->row_capacity, size);
        if (!cells) {
            grid->failed = true;
            return;
        }
        grid->cells = cells;
    }
    for (size_t i = 0; i < grid->column_count; i++)
        grid->cells[grid->row_count * grid->column_count + i] = (struct cell){.present = false};
    grid->row_count++;
}

size_t grid_row_count(const struct grid *grid)
{
    return grid ? grid->row_count : 0;
}

/* The cell of the last row to write to; NULL when the grid has failed. */
static struct cell *last_cell(struct grid *grid, size_t column, enum grid_kind kind)
{
    if (!grid || grid->failed)
        return NULL;
    assert(grid->row_count > 0 && column < grid->column_count);
    assert(grid->columns[column].spec.kind == kind);
    (void)kind;
    return &grid->cells[(grid->row_count - 1) * grid->column_count + column];
}

void grid_set_int(struct grid *grid, size_t column, int64_t value)
{
    struct cell *cell = last_cell(grid, column, GRID_INT);
    if (cell)
        *cell = (struct cell){.present = true, .as.integer = value};
}

void grid_set_real(struct grid *grid, size_t column, double value)
{
    struct cell *cell = last_cell(grid, column, GRID_REAL);
    if (cell)
        *cell = (struct cell){.present = true, .as.real = value};
}

void grid_set_bool(struct grid *grid, size_t column, bool value)
{
    struct cell *cell = last_cell(grid, column, GRID_BOOL);
    if (cell)
        *cell = (struct cell){.present = true, .as.truth = value};
}

void grid_set_text(struct grid *grid, size_t column, const char *value)
{
    struct cell *cell = last_cell(grid, column, GRID_TEXT);
    if (!cell)
        return;
    char *copy = value ? copy_text(value) : NULL;
    if (value && !copy) {
        grid->failed = true;
        return;
    }
    if (cell->present)
        free((char *)(uintptr_t)cell->as.text);
    *cell = (struct cell){.present = copy != NULL, .as.text = copy};
}
