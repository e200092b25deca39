/* tidy.h: results as one row a point, for CSV, JSON and the nccl-tests-like table. */
#ifndef GDSIM_REPORT_TIDY_H
#define GDSIM_REPORT_TIDY_H

#include "sim/report/grid.h"
#include "sim/report/results.h"

/* Columns of the grid (sim/README.md lists them with their units). */
struct grid *tidy_new(void);

/* Add a row for every size and column of the results. */
void tidy_add(struct grid *grid, const struct results *results);

#endif
