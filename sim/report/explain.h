/* explain.h: the working of one cell of a table, so that a reader can redo it by hand. */
#ifndef GDSIM_REPORT_EXPLAIN_H
#define GDSIM_REPORT_EXPLAIN_H

#include "sim/report/results.h"

struct explain_cell {
    const struct machine *machine;
    const struct result_column *column;
    struct routes *routes;
    double size_B;
    const struct ledger *serial, *pipelined;
};

/* Each step's crossings, wire passes and handoffs with formula and numbers, and the sums; then the
 * pipelined run, bytes by resource, and what limits. */
enum status explain_write(struct text *text, const struct explain_cell *cell, struct error *error);

/* Every parameter of the machine with its value and where that came from. */
void explain_write_parameters(struct text *text, const struct machine *machine);

/* Which nodes differ, and in what; nothing where all are alike. */
void explain_write_odd(struct text *text, const struct machine *machine);

#endif
