/* trace.h: what the time on the critical path was spent on.
 *
 * Every stage that a slice passes leaves one record: which record let it start, and how. At the
 * end the chain of records is walked back from the last arrival, and each piece of time on it goes
 * to one category, so the pieces add up exactly to the total.
 *
 * How a record lets another start: its end (the data), one of its resources becoming free, or the
 * lane being ready for the next slice.
 */
#ifndef GDSIM_CORE_TRACE_H
#define GDSIM_CORE_TRACE_H

#include "sim/core/timing.h"

#define TRACE_NONE        UINT32_MAX /* nothing: the start of the run */
#define TRACE_MAX_RECORDS (4u << 20)

enum trace_exit { TRACE_END, TRACE_USE, TRACE_PERIOD };

/* A moment, by what made it. */
struct trace_cause {
    uint32_t record;
    uint8_t exit; /* enum trace_exit */
    uint16_t use; /* TRACE_USE: index in the timing's uses */
};

struct trace_record {
    const struct timing *timing;
    struct trace_cause cause;
    uint16_t stage;
    uint16_t waited; /* the use waited for, if the cause is a resource: index in own uses */
};

struct trace {
    bool on; /* goes off when there are too many records */
    struct trace_record *records;
    uint32_t count, capacity;
};

void trace_free(struct trace *trace);

/* Note a stage. Returns its number, TRACE_NONE when tracing is off (or went off). */
uint32_t trace_add(struct trace *trace, struct trace_record record);

/* Fill ledger->critical from the record that ends the run. */
void trace_walk_back(const struct trace *trace, uint32_t last, struct ledger *ledger);

#endif
