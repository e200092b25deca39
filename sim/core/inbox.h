/* inbox.h: what a rank has been sent and what it still expects.
 *
 * An operation waits for those receives of earlier steps that overlap the chunks it reads. Which
 * receives there are follows from the plan alone ("who sends to me in step s?"), so each rank's
 * inbox looks through the plan up to the step it has reached; a sender may run ahead of that.
 * Receives that are complete are forgotten, so an inbox stays short. Where an operation of a loop
 * has the same sender in each turn, the last turn's transfer is kept and only its chunk found anew.
 */
#ifndef GDSIM_CORE_INBOX_H
#define GDSIM_CORE_INBOX_H

#include "sim/core/fold.h"

/* One transfer to this rank, or for the switch all transfers of one operation. */
struct receive {
    uint64_t step;
    uint32_t op, from, edge;
    uint32_t chunk, count;    /* chunks */
    uint32_t slices, arrived; /* slices 0 .. arrived-1 are here; slices 0: none seen yet */
    uint32_t senders;         /* of the switch: all must send a slice before it has arrived */
    uint32_t *missing;        /* of the switch: senders still to come, by slice */
    uint32_t top;             /* of the switch: nobody has sent this slice or a later one */
    bool expected;            /* the plan has been looked through to here */
};

struct inbox {
    struct receive *receives;
    uint32_t count, capacity;
    uint32_t complete; /* of them: not yet expected, or of the switch; the next look drops them */
    struct plan_cursor horizon; /* steps before this have been looked through */
    struct transfer last;       /* that was found by an operation that stays; see plan.h */
};

/* Messages of one sender to one receiver in one lane: only plans with receives count them. */
struct tally {
    uint64_t key;
    uint64_t complete, taken; /* taken: by receives */
};

struct mailroom {
    const struct plan *plan;
    const struct fold *fold;
    uint32_t ranks; /* that are simulated: all, or the first few that stand for all */
    uint32_t boxes; /* ranks, and after them a switch for each group */
    struct inbox *inbox;
    struct sender_index *index;
    size_t index_count;
    struct tally *tallies; /* a hash table; its size is a power of two */
    size_t tally_count, tally_capacity;
};

enum status mailroom_init(struct mailroom *mailroom, const struct plan *plan,
                          const struct fold *fold, struct error *error);
void mailroom_free(struct mailroom *mailroom);

/* Note that slice `slice` of `slices` of a transfer has arrived. Slices of one transfer arrive in
 * order. Returns 1 when the receiver can read more than before, 0 when the switch still waits for
 * other members' slices, -1 on error. */
int mailroom_arrive(struct mailroom *mailroom, const struct transfer *transfer, uint64_t step,
                    uint32_t slice, uint32_t slices, struct error *error);

/* For mailroom_ready: look through the plan up to the step; whether anything is missing. */
enum status mailroom_look(struct mailroom *mailroom, uint32_t rank, uint64_t step,
                          struct error *error);
bool mailroom_misses(const struct inbox *inbox, const struct plan_cursor *cursor,
                     const struct transfer *transfer, uint32_t slice, uint32_t slices);
/* Whether slice `slice` of `slices` of what `rank` sends in `cursor`'s step can be read: 1 yes,
 * 0 not yet, -1 error. Ranks from mailroom->ranks on are the switches of groups. */
static inline int mailroom_ready(struct mailroom *mailroom, uint32_t rank,
                                 const struct plan_cursor *cursor, const struct transfer *transfer,
                                 uint32_t slice, uint32_t slices, struct error *error)
{
    const struct inbox *inbox = &mailroom->inbox[rank];
    if (!inbox->horizon.done && inbox->horizon.step < cursor->step &&
        mailroom_look(mailroom, rank, cursor->step, error))
        return -1;
    return inbox->count == 0 || !mailroom_misses(inbox, cursor, transfer, slice, slices);
}

/* How many slices of `receive`, of an earlier step, must be here before slice `slice` of what is
 * sent at `cursor` can be read. */
uint64_t mailroom_needed(const struct receive *receive, const struct plan_cursor *cursor,
                         const struct transfer *transfer, uint32_t slice, uint32_t slices);

/* The receive for whose sake mailroom_ready said 0 for one slice; NULL if none. */
const struct receive *mailroom_blocker(const struct mailroom *mailroom, uint32_t rank,
                                       const struct plan_cursor *cursor,
                                       const struct transfer *transfer);

/* Whether the index-th answer to "who sends to me?" that is kept holds for every turn of the loops.
 */
bool mailroom_every_turn(const struct mailroom *mailroom, size_t index);

/* A receive: take the next message of `from` to `rank` in `lane`. 1 taken, 0 not complete yet, -1
 * error. */
int mailroom_take(struct mailroom *mailroom, uint32_t rank, uint32_t from, uint8_t lane,
                  struct error *error);

#endif
