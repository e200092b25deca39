/* blocks.h: dealing out the places of a sweep to whoever works: threads, or other processes.
 *
 * A block is a row of places that one worker does at a time: large enough that handing out costs
 * nothing, small enough (about 20 ms of work) that a killed run loses little and that nobody waits
 * long for the last one. Blocks are dealt from front to back, without what is done already.
 * All functions may be called from any thread.
 */
#ifndef GDSIM_STUDY_BLOCKS_H
#define GDSIM_STUDY_BLOCKS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

struct block {
    uint64_t first, count;
};

struct blocks {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t next, end;
    const struct block *done; /* to be left out; sorted */
    size_t done_count, done_at;
    unsigned workers;    /* that share what is left */
    unsigned open;       /* blocks that are being worked on */
    double places_per_s; /* of one worker, as last seen */
    uint64_t finished;   /* places */
    bool stopped;
};

/* Places first .. end-1 but for `done`, which must outlive the blocks. */
enum status blocks_init(struct blocks *blocks, uint64_t first, uint64_t end,
                        const struct block *done, size_t done_count, unsigned workers,
                        struct error *error);
void blocks_free(struct blocks *blocks);

/* The next block; false when there is none. */
bool blocks_take(struct blocks *blocks, struct block *ret_block);

/* A block, or the first part of one, is done after so many seconds; `last`: nothing of it is left.
 */
void blocks_give(struct blocks *blocks, struct block block, double seconds, bool last);

/* Deal no more; `with_block`: one that was taken will not be given back. */
void blocks_stop(struct blocks *blocks, bool with_block);

/* Wait until all is dealt and done, at most so many seconds. Returns whether it is;
 * *ret_finished may be NULL. */
bool blocks_wait(struct blocks *blocks, double seconds, uint64_t *ret_finished);

/* Seconds on a clock that only runs forward. */
double blocks_clock_s(void);

#endif
