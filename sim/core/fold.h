/* fold.h: when all nodes do the same, simulate the first few.
 *
 * A plan is the same seen from every node when moving all ranks by one node (or, with two kinds of
 * nodes that take turns, by two) changes nothing but names: who sends to whom, how much, and which
 * receives each transfer waits for. That is proven from the plan's rules: each is evaluated for
 * each rank of the first node with the node's number left open (see fold.c). Exchanges with rank
 * xor x are moved by exclusive or instead of addition.
 *
 * On a machine of equal nodes every node then has the same times, and one node's run, which sends
 * to itself what its neighbour would send it, is the whole run. One thing could still tell nodes
 * apart: the order in which events of one time are handled goes by rank. Equal nodes' events of one
 * kind stand together in that order, so only requests for one resource that come from the same kind
 * of event, but from different nodes, are served in an order that depends on the nodes' numbers.
 * The run watches for those (struct seen), and where one occurs the fold is given up.
 */
#ifndef GDSIM_CORE_FOLD_H
#define GDSIM_CORE_FOLD_H

#include "sim/core/plan.h"

enum fold_kind { FOLD_NONE, FOLD_SHIFT, FOLD_XOR };

struct fold {
    enum fold_kind kind;
    uint32_t ranks; /* that are simulated: the first ones */
    uint32_t units; /* groups of so many ranks */
    /* Only exact where every transfer is one slice: nodes read different parts of what they got. */
    bool one_slice;
};

/* The last request for a resource. */
struct seen {
    uint64_t root;  /* the event it came from */
    uint32_t apart; /* how far from that event's node the resource is */
};

/* Whether the plan looks the same from every node of `gpus` ranks; *ret_fold says how it folds. */
bool fold_find(const struct plan *plan, uint32_t gpus, struct fold *ret_fold);

/* Whether the turns of a loop differ in nothing but which chunks are used, and in those all along
 * together, as seen from each simulated rank and those that send to it. `loop`: its place in the
 * program, with no loop inside. *ret_parts: only while every transfer is one slice. */
bool fold_turns(const struct plan *plan, const struct fold *fold, uint32_t loop, bool *ret_parts);

/* The transfer that arrives in the simulated part when `sent`, from there, arrives elsewhere: its
 * twin, sent by the rank that lies as far from the part as its target. Same as `sent` when that
 * stays inside or concerns the switch. 1, or -1: a rule gives nonsense, or there is no twin, which
 * is a fault of the proof. */
int fold_twin(const struct fold *fold, const struct plan *plan, const struct plan_cursor *cursor,
              const struct transfer *sent, struct transfer *ret_twin, struct error *error);

/* How many groups a rank lies away from the simulated part. */
static inline uint32_t fold_apart(const struct fold *fold, uint32_t rank)
{
    return fold->kind == FOLD_NONE || rank == TRANSFER_SWITCH ? 0 : rank / fold->ranks;
}

/* Two ways one after the other. */
static inline uint32_t fold_add(const struct fold *fold, uint32_t a, uint32_t b)
{
    return fold->kind == FOLD_XOR ? a ^ b : (a + b) % fold->units;
}

#endif
