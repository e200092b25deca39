/* compare.h: algorithms on mechanisms beside each other over sizes: a column for each pair. */
#ifndef GDSIM_REPORT_COMPARE_H
#define GDSIM_REPORT_COMPARE_H

#include "sim/report/results.h"

/* The table with the fastest named, and under it busbw and limit of each pair at the largest size.
 * algorithms[c] is what column c's algorithm is called. */
void compare_write(struct text *text, const struct results *results, const char *const *algorithms);

#endif
