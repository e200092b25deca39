/* grid.h: a tidy table of results (one row a point) and its three written forms.
 *
 * The table for people shows titles, rounded numbers, "-" for an absent cell, and yes/no. CSV and
 * JSON carry the columns' names, every digit that matters and true/false, so the same grid gives
 * the same bytes with every compiler, locale and run:
 *
 *   value           table         CSV             JSON
 *   absent          -             (empty)         null
 *   NaN             nan           (empty)         null
 *   +/- infinity    [-]unlimited  inf, -inf       "unlimited", "-unlimited"
 *   3.0             by decimals   3               3.0
 *   -0.001          0.00          -0.001          -0.001
 *   text            as it is      always quoted   escaped
 *
 * Text is copied; bytes that are not UTF-8 become U+FFFD. Control characters are escaped in the
 * table, for they would break its lines. Like struct text, a grid remembers a failed allocation:
 * calls after it do nothing, and the writers answer STATUS_NOMEM. A NULL grid counts as failed.
 * A wrong column index, kind or duplicate name is a bug of the caller, hence asserted.
 */
#ifndef GDSIM_REPORT_GRID_H
#define GDSIM_REPORT_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"
#include "sim/report/text.h"

enum grid_kind {
    GRID_INT,
    GRID_REAL,
    GRID_TEXT,
    GRID_BOOL,
};

enum grid_align {
    GRID_ALIGN_KIND, /* numbers right, the rest left */
    GRID_ALIGN_LEFT,
    GRID_ALIGN_RIGHT,
};

/* Value of `decimals` for numbers of unknown size: six significant digits. */
#define GRID_GENERAL (-1)

struct grid_column {
    const char *name;  /* in CSV and JSON, with unit: "time_us" */
    const char *title; /* in the table: "staged ms"; NULL: the name */
    enum grid_kind kind;
    enum grid_align align;
    int decimals; /* GRID_REAL in the table only */
    bool small;   /* show digits of what `decimals` would round to zero */
    bool human_only;
    bool machine_only;
};

struct grid;

struct grid *grid_new(void);
void grid_free(struct grid *grid);

/* Add a column; all columns come before the first row. Returns its index. The name must be new
 * (ask grid_has_column when it comes from the user). */
size_t grid_column(struct grid *grid, const struct grid_column *column);
bool grid_has_column(const struct grid *grid, const char *name);

/* Start a row with every cell absent; the setters write to the last row. */
void grid_row(struct grid *grid);
size_t grid_row_count(const struct grid *grid);
void grid_set_int(struct grid *grid, size_t column, int64_t value);
void grid_set_real(struct grid *grid, size_t column, double value);
void grid_set_text(struct grid *grid, size_t column, const char *value); /* NULL: absent */
void grid_set_bool(struct grid *grid, size_t column, bool value);

/* Append the grid to `text`. On failure `text` keeps what it held before. */
enum status grid_write_table(const struct grid *grid, struct text *text, struct error *error);
enum status grid_write_csv(const struct grid *grid, struct text *text, struct error *error);
enum status grid_write_json(const struct grid *grid, struct text *text, struct error *error);

#endif
