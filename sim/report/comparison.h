/* comparison.h: mechanisms beside each other over sizes, as the worked table of the teaching text
 * prints them, and beside it what that table leaves out.
 */
#ifndef GDSIM_REPORT_COMPARISON_H
#define GDSIM_REPORT_COMPARISON_H

#include "sim/report/results.h"

/* The table, with a blank line and the three lines under it. The three lines count as the
 * teaching text counts: 1024 MB as 1 GB, and the PCIe crossings of one step. */
void comparison_write_serial(struct text *text, const struct results *results);

/* What those lines blur: consistent bytes, all PCIe bytes, and the pipelined run. */
void comparison_write_beside(struct text *text, const struct results *serial,
                             const struct results *pipelined);

/* Only the table, and busbw and limit at the largest size. */
void comparison_write_pipelined(struct text *text, const struct results *results);

#endif
