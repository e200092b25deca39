/* trace.h: what the time on the critical path was spent on.
 *
 * Every stage that a slice passes leaves one record, and one more each time it waits for a
 * resource inside the stage: which record let it go on, and how. At the
 * end the chain of records is walked back from the last arrival, and each piece of time on it goes
 * to one category, so the pieces add up exactly to the total.
 *
 * How a record lets another start: its end (the data), one of its resources becoming free, or the
 * lane being ready for the next slice.
 */
#ifndef GDSIM_CORE_TRACE_H
#define GDSIM_CORE_TRACE_H

#include "sim/core/timing.h"

#define TRACE_NONE   UINT32_MAX /* nothing: the start of the run */
#define TRACE_NO_USE UINT16_MAX

enum trace_exit {
    TRACE_END,    /* the end of the stage */
    TRACE_USE,    /* the use's resource becomes free */
    TRACE_BEGUN,  /* the handoff is done and the bytes go on */
    TRACE_PERIOD, /* so that the use would follow without a gap, the next slice may start */
};

/* A moment, by what made it. */
struct trace_cause {
    uint32_t record;
    uint8_t exit; /* enum trace_exit */
    uint8_t hops; /* TRACE_END: uplinks of the fabric that were passed */
    uint16_t use; /* in the timing's uses; TRACE_END: the one that took longest */
};

struct trace_record {
    const struct timing *timing;
    struct trace_cause cause;
    uint16_t stage;
    uint16_t waited; /* the use that was waited for, in the timing's uses; TRACE_NO_USE: none */
};

/* Records `from` - `period` .. `from` - 1 stand for as many more that follow them, `times` over:
 * what was caused by the newest of them, or is counted from there back, means the last repeat. A
 * repeat may lie inside a later one, but not across where that begins. */
struct trace_repeat {
    uint32_t from, period;
    uint64_t times;
};

struct trace {
    bool on; /* goes off when there are too many records */
    struct trace_repeat *repeats;
    size_t repeat_count;
    struct trace_record *records;
    uint32_t count, capacity;
};

void trace_free(struct trace *trace);

/* Note a stage. Returns its number, TRACE_NONE when tracing is off (or went off). */
uint32_t trace_add(struct trace *trace, struct trace_record record);

/* The newest `period` records happen `times` more; see steady.h. False: out of memory. */
bool trace_skip(struct trace *trace, uint32_t period, uint64_t times);

/* Fill ledger->critical from what ends the run. False: out of memory. */
bool trace_walk_back(const struct trace *trace, struct trace_cause last, struct ledger *ledger);

#endif
