/* tidy.h: results as one row a point, for CSV, JSON and the nccl-tests-like table. */
#ifndef GDSIM_REPORT_TIDY_H
#define GDSIM_REPORT_TIDY_H

#include "sim/report/cell.h"
#include "sim/report/limit.h"
#include "sim/report/results.h"

/* The columns of a point (sim/README.md lists them with their units). */
enum { TIDY_COLUMNS = 13 };
extern const struct grid_column tidy_columns[TIDY_COLUMNS];

/* What one size and column of the results put into them; texts are those of plan and machine, and
 * ret_limit. */
void tidy_cells(const struct results *results, size_t size, size_t column,
                char ret_limit[LIMIT_NAME_MAX], struct cell ret_cells[TIDY_COLUMNS]);

/* A grid of these columns. */
struct grid *tidy_new(void);

/* Add a row for every size and column of the results. */
void tidy_add(struct grid *grid, const struct results *results);

#endif
