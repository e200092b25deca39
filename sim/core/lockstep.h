/* lockstep.h: serial runs in which nobody ever waits for another: a sum, without a queue.
 *
 * Where a plan looks the same from every node, each node has one rank, and a rank does one transfer
 * after the other, all nodes are in the same stage of the same transfer at every moment: they began
 * together, and equal stages end together. In a stage a resource is then asked for by one transfer
 * only, provided that no resource appears twice among what the stage uses at its two ends; so each
 * stage begins when the last has ended, and what a transfer reads, sent by an earlier one, has
 * arrived. The run is the sum of its stages:
 *
 *   t = sum over transfers and stages of: latest end of (handoff, service of each use) + latencies
 *
 * An allreduce in the switch (all up, then all down) is such a sum as well. Everything else goes
 * through the queue, which gives the same (tests/unit/test_lockstep.c).
 */
#ifndef GDSIM_CORE_LOCKSTEP_H
#define GDSIM_CORE_LOCKSTEP_H

#include "sim/core/walk.h"

/* Do the whole run, if it is one of these: 1 done, 0 not one of these and nothing changed, -1
 * error. Leaves the ledger as the events would. */
int lockstep_run(struct walk *walk);

#endif
