/* sweep_rows.h: reading back rows that a sweep has written. */
#ifndef GDSIM_CLI_SWEEP_ROWS_H
#define GDSIM_CLI_SWEEP_ROWS_H

#include "sim/cli/sweep.h"

struct rows_reader;
struct rows_reader *rows_open(const struct sweep *sweep, struct error *error);
void rows_close(struct rows_reader *reader);

/* Whether the text is the rows of the places first .. first+count-1 of the sweep's shard. Their
 * times go to time_us[first...], if that is not NULL. */
bool rows_check(struct rows_reader *reader, const char *text, size_t length, uint64_t first,
                uint64_t count, double *time_us);

/* The number of the point that a row begins with; false when it begins with none. */
bool rows_point(const char *row, bool json, uint64_t *ret_point);

#endif
