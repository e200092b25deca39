/* grid_inside.h: what grid.c (building) and grid_write.c (writing) share. Nobody else includes it.
 */
#ifndef GDSIM_REPORT_GRID_INSIDE_H
#define GDSIM_REPORT_GRID_INSIDE_H

#include "sim/report/cell.h"

struct column {
    char *name;
    char *title;
    struct grid_column spec; /* its name and title are the caller's: never read */
};

struct grid {
    struct column *columns;
    size_t column_count, column_capacity;
    struct cell *cells; /* row_count times column_count, row by row */
    size_t row_count, row_capacity;
    bool failed;
};

#endif
