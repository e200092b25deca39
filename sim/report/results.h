/* results.h: runs put side by side, for the reports: one column a mechanism, one row a size. */
#ifndef GDSIM_REPORT_RESULTS_H
#define GDSIM_REPORT_RESULTS_H

#include "sim/core/engine.h"
#include "sim/report/text.h"

struct result_column {
    const struct mechanism *mechanism;
    const struct plan *plan;
    const struct routes *routes;
    const char *label; /* of the algorithm; NULL: the plan's name */
};

struct results {
    const struct machine *machine;
    enum accounting accounting;
    const struct result_column *columns;
    size_t column_count;
    const double *sizes_B;
    size_t size_count;
    const struct ledger *ledgers; /* [size][column] */
};

static inline const struct ledger *results_at(const struct results *results, size_t size,
                                              size_t column)
{
    return &results->ledgers[size * results->column_count + column];
}

/* False: that run was left out. */
static inline bool results_has(const struct results *results, size_t size, size_t column)
{
    return results_at(results, size, column)->resources != NULL;
}

/* bytes / seconds; 0 when no time passed. */
double results_algbw_Bps(const struct results *results, size_t size, size_t column);
double results_busbw_Bps(const struct results *results, size_t size, size_t column);

/* Payload bytes that crossed PCIe (or a wire), per byte of message and rank. */
double results_crossing_ratio(const struct results *results, size_t size, size_t column);
double results_wire_ratio(const struct results *results, size_t size, size_t column);

/* Crossings of one chunk in one step: of a send, or of a pass up plus a pass down. */
size_t results_crossings_per_step(const struct results *results, size_t size, size_t column);

/* Why some of them have no share of the critical path; "" where all have one. */
const char *results_untraced(const struct results *results);

/* "12.5 MB": bytes as tables of MB write them. */
void results_print_MB(struct text *text, double size_B);

#endif
