/* buffer.h: how much a rank that falls behind is sent before it can use it.
 *
 * Suppose that rank r stops before step s, and all others go on as far as they can without what r
 * would have sent. What arrives at r meanwhile and cannot go where it belongs has to wait in a
 * buffer:
 *   - what is to be added, until r gets to the step in which it is sent;
 *   - what overwrites a chunk that r still has to read, or that something is still to be added to.
 * The need of r is the most that waits so, over all s. It is a property of the plan: no machine, no
 * speed. A message depends on r's step t if it carries, or was sent in a lane after, something that
 * depends on what r sent in step t; the walk below passes the plan once for each r and notes for
 * each chunk of each rank the last step of r that it depends on.
 *
 * Receives count where the message they wait for stands earlier in the plan; otherwise they are
 * left out, which can only make the need larger.
 */
#ifndef GDSIM_CORE_BUFFER_H
#define GDSIM_CORE_BUFFER_H

#include "sim/core/plan.h"

#define BUFFER_WORK                                                                                \
    (1u << 21) /* chunks to look at in all: where there are more, only some ranks                  \
                */

struct buffer_need {
    uint32_t rank;   /* that needs most; the first if several do */
    uint64_t chunks; /* that it needs room for */
    uint64_t step;   /* before which it stops then, from 0 */
    uint32_t ranks;  /* looked at, evenly spread */
};

/* The plan must have been verified: its rules give no nonsense. */
enum status buffer_need(const struct plan *plan, struct buffer_need *ret_need, struct error *error);

/* Chunks that count as bounded, with log2 n rounded up: one message for each level of a binary tree
 * over the ranks, and one more: 1 + log2 n messages; or 3/2 log2 n, which is what recursive
 * multiplying needs that exchanges with 3 others in each of log4 n steps. Algorithms with
 * neighbours in a ring or tree stay below; where a rank can be sent something by all others at
 * once, the need grows with n. */
uint64_t buffer_limit(const struct plan *plan);

#endif
