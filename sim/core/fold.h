/* fold.h: when all nodes do the same, simulate one.
 *
 * A plan is the same seen from every node when moving every rank by a node's GPUs changes nothing
 * but names: each send goes a fixed distance round the ranks, no operation singles out ranks, and
 * the chunks of all operations move along together. On a machine of equal nodes every node then
 * has the same times, and one node's run, which sends to itself what its neighbour would send it,
 * is the whole run, exactly.
 */
#ifndef GDSIM_CORE_FOLD_H
#define GDSIM_CORE_FOLD_H

#include "sim/core/timing.h"

/* Whether the plan looks the same from every node of `gpus` ranks. */
bool fold_plan(const struct plan *plan, uint32_t gpus);

/* Whether a route keeps folding exact: between nodes, no stage may use one resource at both ends,
 * or the order in which nodes are served would break the symmetry. */
bool fold_timing(const struct timing *timing);

/* The transfer that arrives in node 0 when `sent`, from node 0, arrives elsewhere: its twin, sent
 * by the rank as far before node 0. Same as `sent` when that stays in node 0 or concerns the
 * switch. Returns as plan_transfer. */
int fold_twin(const struct plan *plan, const struct plan_cursor *cursor, uint32_t gpus,
              const struct transfer *sent, struct transfer *ret_twin, struct error *error);

#endif
