/* bench_table.h: the rows of `gdprobe bench` as a table for people: what a small and a large
 * transfer cost, and the bytes that the counters saw for each byte of payload. */
#ifndef GDPROBE_BENCH_TABLE_H
#define GDPROBE_BENCH_TABLE_H

#include "probe/observe.h"
#include "probe/sampler.h"

struct bench_table {
    struct observation *rows;
    size_t count, capacity;
};

void bench_table_add(struct bench_table *table, const struct observation *row);
void bench_table_print(const struct bench_table *table, const struct sampler_machine *machine,
                       FILE *to);
void bench_table_free(struct bench_table *table);

#endif
