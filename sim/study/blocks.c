/* blocks.c: see blocks.h. */
#include "sim/study/blocks.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#define BLOCK_S 0.02

enum { BLOCK_MAX = 8192, FIRST_BLOCK = 1 };

double blocks_clock_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

enum status blocks_init(struct blocks *blocks, uint64_t first, uint64_t end,
                        const struct block *done, size_t done_count, unsigned workers,
                        struct error *error)
{
    memset(blocks, 0, sizeof *blocks);
    blocks->next = first;
    blocks->end = end;
    blocks->done = done;
    blocks->done_count = done_count;
    blocks->workers = workers;
    pthread_condattr_t attributes;
    if (pthread_mutex_init(&blocks->lock, NULL) || pthread_condattr_init(&attributes))
        return error_set(error, STATUS_NOMEM, "out of memory");
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    int failed = pthread_cond_init(&blocks->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    return failed ? error_set(error, STATUS_NOMEM, "out of memory") : STATUS_OK;
}

void blocks_free(struct blocks *blocks)
{
    pthread_mutex_destroy(&blocks->lock);
    pthread_cond_destroy(&blocks->changed);
}

/* Step over what is done; returns where the next done block begins. */
static uint64_t skip_done(struct blocks *blocks)
{
    while (blocks->done_at < blocks->done_count) {
        const struct block *done = &blocks->done[blocks->done_at];
        if (done->first > blocks->next)
            return done->first < blocks->end ? done->first : blocks->end;
        if (done->first + done->count > blocks->next)
            blocks->next = done->first + done->count;
        blocks->done_at++;
    }
    return blocks->end;
}

bool blocks_take(struct blocks *blocks, struct block *ret_block)
{
    pthread_mutex_lock(&blocks->lock);
    uint64_t limit = skip_done(blocks);
    bool some = !blocks->stopped && blocks->next < blocks->end;
    if (some) {
        double want = blocks->places_per_s > 0 ? blocks->places_per_s * BLOCK_S : FIRST_BLOCK;
        uint64_t share = (blocks->end - blocks->next) / (2u * blocks->workers) + 1;
        uint64_t count = want < 1 ? 1 : want > BLOCK_MAX ? BLOCK_MAX : (uint64_t)want;
        count = count < share ? count : share;
        count = count < limit - blocks->next ? count : limit - blocks->next;
        *ret_block = (struct block){blocks->next, count};
        blocks->next += count;
        blocks->open++;
    }
    pthread_mutex_unlock(&blocks->lock);
    return some;
}

void blocks_give(struct blocks *blocks, struct block block, double seconds, bool last)
{
    pthread_mutex_lock(&blocks->lock);
    if (seconds > 1e-9)
        blocks->places_per_s = (double)block.count / seconds;
    blocks->finished += block.count;
    blocks->open -= last;
    pthread_cond_broadcast(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
}

void blocks_stop(struct blocks *blocks, bool with_block)
{
    pthread_mutex_lock(&blocks->lock);
    blocks->stopped = true;
    blocks->open -= with_block;
    pthread_cond_broadcast(&blocks->changed);
    pthread_mutex_unlock(&blocks->lock);
}

bool blocks_wait(struct blocks *blocks, double seconds, uint64_t *ret_finished)
{
    double until_s = blocks_clock_s() + seconds;
    struct timespec until = {.tv_sec = (time_t)until_s};
    until.tv_nsec = (long)((until_s - (double)until.tv_sec) * 1e9);
    pthread_mutex_lock(&blocks->lock);
    int code = 0;
    bool over = false;
    for (;;) {
        (void)skip_done(blocks);
        over = blocks->open == 0 && (blocks->stopped || blocks->next >= blocks->end);
        if (over || code == ETIMEDOUT)
            break;
        code = pthread_cond_timedwait(&blocks->changed, &blocks->lock, &until);
    }
    if (ret_finished)
        *ret_finished = blocks->finished;
    pthread_mutex_unlock(&blocks->lock);
    return over;
}
