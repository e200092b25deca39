/* steady.h: a pipeline that repeats is not simulated again and again.
 *
 * One lane is the clock: between events, each time it has issued a slice, the whole state of the
 * run is written down relative to now: what every lane, slice on its way, resource and inbox is
 * doing, but not how often. Where that equals an earlier state, what happened in between (the
 * period) happens again, for as long as nobody gets to the end of a transfer or needs another part
 * of what he received: the run goes on as many periods later, with all counts and busy times of
 * those periods added. That is exact, because what happens next depends only on what is compared.
 *
 * States are compared as in Brent's search for cycles, and no oftener than the events between them
 * are worth.
 */
#ifndef GDSIM_CORE_STEADY_H
#define GDSIM_CORE_STEADY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

struct walk;
struct lane;

struct words {
    int64_t *at;
    size_t count, capacity;
};

/* False: out of memory. */
bool words_grow(struct words *words);
static inline bool words_put(struct words *words, int64_t word)
{
    if (words->count == words->capacity && !words_grow(words))
        return false;
    words->at[words->count++] = word;
    return true;
}

/* One moment: what is compared, and what goes on counting. */
struct moment {
    struct words state, counts;
    int64_t now_ps;
    uint32_t records; /* of the trace */
    bool first;       /* some transfer's first slice is still on its way */
};

struct steady {
    bool off;
    bool due; /* the clock has ticked */
    uint32_t clock;
    uint64_t others; /* slices that other lanes issued since */
    uint64_t ticks, limit, stride;
    uint64_t events; /* since the last look */
    struct moment then, now;
};

#define STEADY_NO_CLOCK UINT32_MAX

void steady_init(struct steady *steady, bool on);
void steady_free(struct steady *steady);

/* A lane has issued a slice. */
void steady_issued(struct walk *walk, uint32_t lane);

/* Between two events. */
enum status steady_look(struct walk *walk);

#endif
