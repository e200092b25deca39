/* trace.c: see trace.h. */
#include "sim/core/trace.h"

#include <stdlib.h>
#include <string.h>

void trace_free(struct trace *trace)
{
    free(trace->records);
    free(trace->repeats);
    trace->records = NULL;
    trace->repeats = NULL;
    trace->count = trace->capacity = 0;
    trace->repeat_count = 0;
}

uint32_t trace_add(struct trace *trace, struct trace_record record)
{
    if (!trace->on)
        return TRACE_NONE;
    if (trace->count == trace->capacity) {
        uint32_t capacity = trace->capacity ? 2 * trace->capacity : 1024;
        struct trace_record *grown = capacity <= TRACE_MAX_RECORDS
                                         ? realloc(trace->records, capacity * sizeof *grown)
                                         : NULL;
        if (!grown) { /* the run goes on, and its ledger says that it was not traced */
            trace->on = false;
            trace_free(trace);
            return TRACE_NONE;
        }
        trace->records = grown;
        trace->capacity = capacity;
    }
    trace->records[trace->count] = record;
    return trace->count++;
}

/* The time from where this record's own part of the path begins to its exit. */
static void account(const struct trace_record *record, const struct trace_cause *exit,
                    struct ledger *ledger)
{
    const struct timing *timing = record->timing;
    const struct timed_stage *stage = &timing->stages[record->stage];
    const struct timed_use *use = &timing->uses[exit->use];
    /* Waiting for a resource, the stage had passed what comes before it. */
    int64_t passed = record->waited == TRACE_NO_USE ? 0 : timing->uses[record->waited].offset_ps;
    /* Not waiting, the first bytes had passed before the slice had come in whole. */
    int64_t ahead = record->waited == TRACE_NO_USE ? stage->ahead_ps : 0;
    int64_t *critical = ledger->critical;
    int64_t *software = &critical[ledger->resource_count];
    switch ((enum trace_exit)exit->exit) {
    case TRACE_END:
        software[stage->handoff_category] += stage->handoff_ps - passed;
        software[CATEGORY_PCIE_LATENCY] += stage->pcie_latency_ps;
        software[CATEGORY_WIRE_LATENCY] += stage->wire_latency_ps + exit->hops * stage->hop_ps;
        /* A stage that ends with its handoff has no service after it. */
        critical[use->resource] += use->offset_ps + use->busy_ps - stage->handoff_ps - ahead;
        break;
    case TRACE_USE:
        critical[use->resource] += use->offset_ps + use->busy_ps - passed - ahead;
        break;
    case TRACE_BEGUN:
        software[stage->handoff_category] += stage->handoff_ps - passed;
        break;
    case TRACE_PERIOD:
        critical[use->resource] += use->busy_ps - passed - ahead;
        break;
    }
}

bool trace_skip(struct trace *trace, uint32_t period, uint64_t times)
{
    if (!trace->on || period == 0)
        return true;
    struct trace_repeat *grown =
        realloc(trace->repeats, (trace->repeat_count + 1) * sizeof *trace->repeats);
    if (!grown)
        return false;
    trace->repeats = grown;
    grown[trace->repeat_count++] =
        (struct trace_repeat){.from = trace->count, .period = period, .times = times};
    return true;
}

/* One place among repeats on the way back, and what had been accounted for there. */
struct mark {
    struct trace_cause at;
    uint64_t left;
    int64_t *critical;
};

/* The chain is at `at`, `*left` repeats from the first. Where it was at this record before, it
 * comes back there again and again, and each time adds the same. */
static void come_round(struct mark *mark, struct trace_cause at, uint64_t *left, uint64_t seen,
                       struct ledger *ledger)
{
    const size_t count = ledger->resource_count + CATEGORY_COUNT;
    if (memcmp(&mark->at, &at, sizeof at) == 0 && mark->left > *left) {
        const uint64_t cycle = mark->left - *left, turns = *left / cycle;
        for (size_t i = 0; i < count; i++)
            ledger->critical[i] += (ledger->critical[i] - mark->critical[i]) * (int64_t)turns;
        *left -= turns * cycle;
    }
    if ((seen & (seen - 1)) == 0) { /* Brent: a new mark at powers of two */
        mark->at = at;
        mark->left = *left;
        for (size_t i = 0; i < count; i++)
            mark->critical[i] = ledger->critical[i];
    }
}

bool trace_walk_back(const struct trace *trace, struct trace_cause last, struct ledger *ledger)
{
    ledger->traced = trace->on;
    if (!trace->on)
        return true;
    struct mark mark = {.at.record = TRACE_NONE};
    mark.critical = malloc((ledger->resource_count + CATEGORY_COUNT) * sizeof *mark.critical);
    if (!mark.critical)
        return false;
    struct trace_cause at = last;
    size_t repeats = trace->repeat_count; /* those that begin before the place reached */
    const struct trace_repeat *in = NULL; /* where the place is a copy of a record */
    uint64_t left = 0, seen = 0;
    while (at.record != TRACE_NONE) {
        while (repeats > 0 && at.record < trace->repeats[repeats - 1].from) {
            in = &trace->repeats[--repeats];
            left = in->times;
            mark.at.record = TRACE_NONE;
            seen = 0;
        }
        if (in && left > 0 && at.record < in->from - in->period) {
            while (left > 0 && at.record < in->from - in->period) {
                at.record += in->period;
                left--;
            }
            if (at.record >= in->from - in->period)
                come_round(&mark, at, &left, ++seen, ledger);
        }
        const struct trace_record *record = &trace->records[at.record];
        account(record, &at, ledger);
        at = record->cause;
    }
    free(mark.critical);
    return true;
}
