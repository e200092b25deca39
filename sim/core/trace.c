/* trace.c: see trace.h. */
#include "sim/core/trace.h"

#include <stdlib.h>

void trace_free(struct trace *trace)
{
    free(trace->records);
    trace->records = NULL;
    trace->count = trace->capacity = 0;
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

void trace_walk_back(const struct trace *trace, struct trace_cause last, struct ledger *ledger)
{
    ledger->traced = trace->on;
    if (!trace->on)
        return;
    struct trace_cause at = last;
    while (at.record != TRACE_NONE) {
        const struct trace_record *record = &trace->records[at.record];
        account(record, &at, ledger);
        at = record->cause;
    }
}
