/* cell.h: one value of a table as CSV and JSON write it; shared by grids and by rows that are
 * streamed. What is written for which value, grid.h says. */
#ifndef GDSIM_REPORT_CELL_H
#define GDSIM_REPORT_CELL_H

#include "sim/report/grid.h"
#include "sim/report/number.h"

struct cell {
    bool present;
    union {
        int64_t integer;
        double real;
        bool truth;
        const char *text;
    } as;
};

void cell_csv(struct text *text, enum grid_kind kind, const struct cell *cell);
void cell_csv_name(struct text *text, const char *name);

void cell_json(struct text *text, enum grid_kind kind, const struct cell *cell);
void cell_json_text(struct text *text, const char *string);

/* The last number that was written in a column, and its text: in rows of a sweep most numbers stand
 * in the row before, and printing one takes most of the time. Begins as zeros. */
struct cell_memo {
    double value;
    uint8_t length; /* 0: none yet */
    char text[NUMBER_TEXT_MAX];
};

/* A whole row with its line end, columns of people left out; of JSON one object a line. `memos`:
 * one for each column. */
void cells_csv_header(struct text *text, const struct grid_column *columns, size_t count);
void cells_csv(struct text *text, const struct grid_column *columns, const struct cell *cells,
               size_t count, struct cell_memo *memos);
void cells_json(struct text *text, const struct grid_column *columns, const struct cell *cells,
                size_t count);

#endif
