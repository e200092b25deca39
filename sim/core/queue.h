/* queue.h: the event queue: events leave by (time, key, rank, sequence).
 *
 * The order is total: no two waiting events carry the same (time, key, rank, sequence), so it never
 * depends on how events were inserted. The sequence is the key's low 16 bits and goes round: of two
 * events of one rank the older leaves first, also across the wrap.
 *
 * It is a radix queue: time never goes back, so an event waits in the bucket of the highest bit in
 * which its time differs from now, and moves to lower buckets as now draws near. Pushing is an
 * append. Against a 4-ary heap (ring of 4096, all transfers) it takes half the instructions.
 */
#ifndef GDSIM_CORE_QUEUE_H
#define GDSIM_CORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_SEQUENCE_BITS 16

struct event {
    int64_t time_ps; /* >= 0 */
    uint64_t key;
    uint32_t rank; /* decides between equal keys */
    uint32_t what; /* for the owner of the queue */
};

struct queue_bucket {
    struct event *events;
    size_t count, capacity;
};

struct queue {
    int64_t now_ps;  /* of the last pop */
    size_t head;     /* in bucket 0, which is in order: all events of now */
    uint64_t filled; /* bit b: bucket b + 1 holds something */
    struct queue_bucket bucket[65];
    struct queue_bucket spare; /* for sorting */
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);
/* Forget all events, keep the memory. */
void queue_clear(struct queue *queue);
/* Not before the last pop. False when memory ran out. */
bool queue_push(struct queue *queue, struct event event);
/* False when empty. */
bool queue_pop(struct queue *queue, struct event *ret_event);
/* The event that leaves `ahead` after the next one, if it is at the same time as the last; else
 * NULL: for who wants to fetch its data in advance. */
static inline const struct event *queue_peek(const struct queue *queue, size_t ahead)
{
    size_t at = queue->head + ahead;
    return at < queue->bucket[0].count ? &queue->bucket[0].events[at] : NULL;
}
/* All waiting events, and now, later by so much. */
bool queue_shift(struct queue *queue, int64_t by_ps);

#endif
