/* queue.h: the event queue: events leave by (time, key, rank, sequence).
 *
 * The order is total: no two waiting events carry the same (time, key, rank, sequence), so it never
 * depends on how events were inserted. The sequence is the key's low 16 bits and goes round: of two
 * events of one rank the older leaves first, also across the wrap.
 *
 * Equal ranks make many events of one time, so what waits is not events but moments: a moment is a
 * time and the list of its events, in the order in which they came. Few moments wait at once, and
 * those that were pushed to last are found again by their time in a small table; a time that is no
 * longer found there gets a second moment, and both are joined when it comes. Pushing is then an
 * append to a list, and an event is moved once, into the array of the present, which is sorted.
 *
 * Moments wait in a radix queue: time never goes back, so each is in the bucket of the highest bit
 * in which its time differs from now, and moves to lower buckets as now draws near.
 *
 * Lists are linked through a pool whose free places are used again in the order last in, first
 * out: the queue keeps within as many cache lines as events wait.
 */
#ifndef GDSIM_CORE_QUEUE_H
#define GDSIM_CORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUEUE_SEQUENCE_BITS 16
#define QUEUE_RECENT        64 /* moments that are found by their time; a power of two */

struct event {
    int64_t time_ps; /* >= 0 */
    uint64_t key;
    uint32_t rank; /* decides between equal keys */
    uint32_t what; /* for the owner of the queue */
};

/* An event of the present. */
struct queue_event {
    uint64_t key;
    uint32_t rank, what;
};

/* Of two events of one time, whether `a` leaves first. */
static inline bool queue_before(uint64_t a_key, uint32_t a_rank, uint64_t b_key, uint32_t b_rank)
{
    const uint64_t x = a_key >> QUEUE_SEQUENCE_BITS, y = b_key >> QUEUE_SEQUENCE_BITS;
    if (x != y)
        return x < y;
    if (a_rank != b_rank)
        return a_rank < b_rank;
    return (uint16_t)(a_key - b_key) >= 0x8000;
}

/* An event that waits. */
struct queue_link {
    uint64_t key;
    uint32_t rank, what;
    uint32_t next; /* of the same moment, or free; QUEUE_END */
};

struct queue_moment {
    int64_t time_ps; /* -1: free */
    uint32_t first, last, count;
};

#define QUEUE_END UINT32_MAX

struct queue_entry {
    int64_t time_ps;
    uint32_t moment; /* place in the pool */
};

struct queue_bucket {
    struct queue_entry *entries;
    size_t count, capacity;
};

struct queue {
    int64_t now_ps;              /* of the last pop */
    struct queue_event *present; /* all of now, in order; those before `head` have left */
    size_t head, count, capacity;
    struct queue_event *spare; /* as large, for sorting */
    struct queue_link *links;
    uint32_t link_count, link_capacity, free_link;
    struct queue_moment *moments;
    uint32_t moment_count, moment_capacity, free_moment; /* free ones: through `first` */
    uint32_t recent[QUEUE_RECENT];
    uint64_t filled;                /* bit b: bucket b holds something */
    struct queue_bucket bucket[64]; /* by the highest bit that differs */
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);
/* Forget all events, keep the memory. */
void queue_clear(struct queue *queue);
/* For events that the list of a moment does not take at once. */
bool queue_push_apart(struct queue *queue, int64_t time_ps, struct queue_event event);
static inline uint32_t *queue_recent(struct queue *queue, int64_t time_ps)
{
    return &queue->recent[(uint64_t)time_ps * 0x9e3779b97f4a7c15u >> 58];
}
/* Not before the last pop. False when memory ran out. */
static inline bool queue_push(struct queue *queue, struct event event)
{
    const uint32_t recent = *queue_recent(queue, event.time_ps), at = queue->free_link;
    if (recent == QUEUE_END || at == QUEUE_END || queue->moments[recent].time_ps != event.time_ps)
        return queue_push_apart(queue, event.time_ps,
                                (struct queue_event){event.key, event.rank, event.what});
    struct queue_moment *moment = &queue->moments[recent];
    struct queue_link *link = &queue->links[at];
    queue->free_link = link->next;
    *link = (struct queue_link){event.key, event.rank, event.what, QUEUE_END};
    queue->links[moment->last].next = at;
    moment->last = at;
    moment->count++;
    return true;
}
/* Make the next moment the present. False when there is none, or memory ran out. */
bool queue_advance(struct queue *queue);
/* False when empty. */
static inline bool queue_pop(struct queue *queue, struct event *ret_event)
{
    if (queue->head == queue->count && !queue_advance(queue))
        return false;
    const struct queue_event *next = &queue->present[queue->head++];
    *ret_event = (struct event){queue->now_ps, next->key, next->rank, next->what};
    return true;
}
/* All waiting events, and now, later by so much; all keys greater by so much, which must not carry
 * beyond the bits in which they are to differ. */
bool queue_shift(struct queue *queue, int64_t by_ps, uint64_t by_key);

#endif
