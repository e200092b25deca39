/* turns.h: turns of a loop that repeat, in a run through the event queue.
 *
 * Where the turns of a loop differ only in which chunks are used, all along together (fold_turns),
 * what follows from a moment at which every lane is inside the loop depends on the state then, with
 * steps and turns counted from one lane's, the clock. Where that equals the state some turns
 * before, those turns repeat, until a lane or an inbox gets to the end of the loop: the run goes on
 * as many turns later. As steady.h does it for the slices of one transfer; a turn may have such
 * periods inside. order_skip.c does it without a queue.
 */
#ifndef GDSIM_CORE_TURNS_H
#define GDSIM_CORE_TURNS_H

#include "sim/core/steady.h"

struct turns {
    uint32_t *loop_of; /* of each instruction: its loop if that has many turns and no loop inside;
                          NULL: the plan has none, or shortcuts are off */
    bool due, sliced;  /* sliced: some transfer has more than one slice */
    uint32_t clock;    /* lane */
    uint32_t loop;
    int64_t number; /* the clock's turn */
    uint64_t others, looked, limit, stride, events;
    struct moment then, now;
    uint64_t then_step, now_step; /* the clock's */
    int64_t then_number, now_number;
};

enum status turns_init(struct walk *walk);
void turns_free(struct walk *walk);

/* A lane has issued the first slice of a transfer. */
void turns_issued(struct walk *walk, uint32_t lane);

/* Between two events, when due. *ret_leapt: the run has gone on some turns later. */
enum status turns_look(struct walk *walk, bool *ret_leapt);

/* Whether the turns of a loop do the same; `sliced`: also where transfers have several slices. */
bool turns_alike(const struct walk *walk, uint32_t loop, bool sliced);

#endif
