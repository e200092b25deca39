/* steady_inside.h: writing down the state of a run, for steady.c and turns.c. */
#ifndef GDSIM_CORE_STEADY_INSIDE_H
#define GDSIM_CORE_STEADY_INSIDE_H

#include "sim/core/walk.h"

#define STEADY_WORDS_PER_EVENT 12u  /* that may be written for each event */
#define STEADY_SMALL_STATE     256u /* words that may be written always */

/* All of these return false when memory ran out. */
bool steady_put_cause(const struct walk *walk, struct words *words,
                      const struct trace_cause *cause);
/* A time to come, with what it is caused by. */
bool steady_put_time(const struct walk *walk, struct words *words, int64_t time_ps,
                     const struct trace_cause *cause);
/* How far a slice on its way is. */
bool steady_put_progress(const struct walk *walk, struct words *words, const struct flow *flow);
/* Resources for which somebody can still have to wait. */
bool steady_put_used(const struct walk *walk, struct words *words);

/* Slices on their way, in the order of lanes and of issuing: an order that does not depend on where
 * they are stored. */
bool steady_flows(const struct walk *walk, bool (*put)(void *owner, const struct flow *flow),
                  void *owner);

#endif
