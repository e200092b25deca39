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
        struct trace_record *grown = capacity <= LEDGER_MAX_TRACED
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
    int64_t spent = 0; /* on the use */
    switch ((enum trace_exit)exit->exit) {
    case TRACE_END:
        software[stage->handoff_category] += stage->handoff_ps - passed;
        software[CATEGORY_PCIE_LATENCY] += stage->pcie_latency_ps;
        software[CATEGORY_WIRE_LATENCY] += stage->wire_latency_ps + exit->hops * stage->hop_ps;
        /* A stage that ends with its handoff has no service after it. */
        spent = use->offset_ps + use->busy_ps - stage->handoff_ps - ahead;
        break;
    case TRACE_USE:
        spent = use->offset_ps + use->busy_ps - passed - ahead;
        break;
    case TRACE_BEGUN:
        software[stage->handoff_category] += stage->handoff_ps - passed;
        break;
    case TRACE_PERIOD:
        spent = use->busy_ps - passed - ahead;
        break;
    }
    critical[use->resource] += spent;
    if (ledger->kinds > 1 && use->end != END_FABRIC && timing->kind[use->end] > 0)
        critical[ledger_kind(ledger, timing->kind[use->end]) + use->resource] += spent;
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

/* ---- the way back ----------------------------------------------------------------------------

 * Repeats may lie inside others (periods of slices in a period of turns), never across their ends.
 * Going back comes to the latest repeat first: it stands for `times` copies of its records, in
 which
 * those inside it begin anew each time. */

#define MOST_DEEP 4

/* A repeat that the chain is in. */
struct inside {
    const struct trace_repeat *repeat;
    size_t ahead;  /* repeats of a lower number than this have not been come to in this copy */
    uint64_t left; /* copies before this one */
    uint64_t seen; /* copies that were entered since the last mark was set anew */
    /* A place, and what had been accounted for there. */
    struct trace_cause mark;
    uint64_t mark_left;
    int64_t *critical;
};

struct way_back {
    const struct trace *trace;
    struct ledger *ledger;
    size_t ahead, depth; /* ahead: as above, where no repeat is around */
    struct inside in[MOST_DEEP];
};

static uint32_t begin_of(const struct trace_repeat *repeat)
{
    return repeat->from - repeat->period;
}

/* The chain has come to another copy. Where it was at this place before, it comes there again and
 * again, and each time adds the same. */
static void come_round(struct inside *in, const struct trace_cause *at, struct ledger *ledger)
{
    const size_t count = ledger_critical_count(ledger);
    if (memcmp(&in->mark, at, sizeof *at) == 0 && in->mark_left > in->left) {
        const uint64_t cycle = in->mark_left - in->left, turns = in->left / cycle;
        for (size_t i = 0; i < count; i++)
            ledger->critical[i] += (ledger->critical[i] - in->critical[i]) * (int64_t)turns;
        in->left -= turns * cycle;
    }
    in->seen++;
    if ((in->seen & (in->seen - 1)) == 0) { /* Brent: a new mark at powers of two */
        in->mark = *at;
        in->mark_left = in->left;
        memcpy(in->critical, ledger->critical, count * sizeof *in->critical);
    }
}

/* The latest repeat that the place lies before the end of, of those ahead in what is around it;
 * NULL: none. */
static const struct trace_repeat *next_repeat(const struct way_back *way, uint32_t record)
{
    const struct inside *around = way->depth > 0 ? &way->in[way->depth - 1] : NULL;
    const size_t ahead = around ? around->ahead : way->ahead;
    const struct trace_repeat *last = ahead > 0 ? &way->trace->repeats[ahead - 1] : NULL;
    return last && record < last->from && (!around || last->from > begin_of(around->repeat)) ? last
                                                                                             : NULL;
}

/* Bring `at` to the record that stands for the place. False: out of memory. */
static bool locate(struct way_back *way, struct trace_cause *at)
{
    for (;;) {
        struct inside *in = way->depth > 0 ? &way->in[way->depth - 1] : NULL;
        if (in && at->record < begin_of(in->repeat) && in->left > 0) {
            at->record += in->repeat->period;
            in->left--;
            in->ahead = (size_t)(in->repeat - way->trace->repeats);
            if (at->record >= begin_of(in->repeat))
                come_round(in, at, way->ledger);
            continue;
        }
        if (in && at->record < begin_of(in->repeat)) { /* out of it, past all that is inside */
            size_t ahead = (size_t)(in->repeat - way->trace->repeats);
            while (ahead > 0 && way->trace->repeats[ahead - 1].from > begin_of(in->repeat))
                ahead--;
            way->depth--;
            *(way->depth > 0 ? &way->in[way->depth - 1].ahead : &way->ahead) = ahead;
            continue;
        }
        const struct trace_repeat *next = next_repeat(way, at->record);
        if (!next || way->depth == MOST_DEEP)
            return true;
        in = &way->in[way->depth++];
        if (!in->critical)
            in->critical = malloc(ledger_critical_count(way->ledger) * sizeof *in->critical);
        if (!in->critical)
            return false;
        in->repeat = next;
        in->ahead = (size_t)(next - way->trace->repeats);
        in->left = next->times;
        in->seen = 0;
        in->mark = (struct trace_cause){.record = TRACE_NONE};
    }
}

bool trace_walk_back(const struct trace *trace, struct trace_cause last, struct ledger *ledger)
{
    ledger->traced = trace->on;
    if (!trace->on)
        return true;
    struct way_back way = {.trace = trace, .ledger = ledger, .ahead = trace->repeat_count};
    struct trace_cause at = last;
    bool fits = true;
    while (at.record != TRACE_NONE && fits) {
        fits = locate(&way, &at);
        if (!fits)
            break;
        const struct trace_record *record = &trace->records[at.record];
        account(record, &at, ledger);
        at = record->cause;
    }
    for (size_t i = 0; i < MOST_DEEP; i++)
        free(way.in[i].critical);
    return fits;
}
