/* order.h: a run without an event queue, where the order in which each resource is used is known.
 *
 * Step by step, each slice is taken through all its stages at once: it begins when its lane is
 * free, what it reads has arrived and its window is open, and each resource begins when the slice
 * gets to it and it is free; only maxima and sums. That is what the event queue gives, if every
 * resource is then asked in the order in which slices come here. It is when only one lane uses the
 * resource, by one way (slices of a lane do not overtake each other), or when each of the others'
 * slices asks after the one before has begun its service. This is checked as the run goes on; where
 * it does not hold, or the plan has something that needs a queue, the walk is given up, says why,
 * and nothing of it is kept.
 *
 * Where the plan is the same for all nodes (fold.h), one operation of one rank is worked out once,
 * and the times of all nodes' ranks are a vector: their transfers are computed in one loop. Folded,
 * the vector has one element.
 */
#ifndef GDSIM_CORE_ORDER_H
#define GDSIM_CORE_ORDER_H

#include "sim/core/walk.h"

/* The walk has just been set up, folded or not. `width`: elements of a vector, 1 or all units of
 * walk->fold. *ret_why: NULL, or why it cannot be done this way; then the ledger is not filled. */
enum status order_run(struct walk *walk, uint32_t width, const char **ret_why);

#endif
