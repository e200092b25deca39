/* queue.h: the event queue: a heap ordered by (time, key, rank).
 *
 * The key is total: no two waiting events carry the same (time, key, rank), so the order never
 * depends on how events were inserted.
 */
#ifndef GDSIM_CORE_QUEUE_H
#define GDSIM_CORE_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event {
    int64_t time_ps;
    uint64_t key;
    uint32_t rank; /* decides between equal keys */
    uint32_t what; /* for the owner of the queue */
};

struct queue {
    struct event *heap;
    size_t count, capacity;
};

void queue_init(struct queue *queue);
void queue_free(struct queue *queue);
/* False when memory ran out. */
bool queue_push(struct queue *queue, struct event event);
/* False when empty. */
bool queue_pop(struct queue *queue, struct event *ret_event);

#endif
