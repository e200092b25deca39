/* queue.c: a 4-ary heap: shallower than a binary one, and the four children of a node share a
 * cache line or two. See queue.h. */
#include "sim/core/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void queue_init(struct queue *queue)
{
    memset(queue, 0, sizeof *queue);
}

void queue_free(struct queue *queue)
{
    free(queue->heap);
    memset(queue, 0, sizeof *queue);
}

static bool before(const struct event *a, const struct event *b)
{
    if (a->time_ps != b->time_ps)
        return a->time_ps < b->time_ps;
    if (a->key != b->key)
        return a->key < b->key;
    return a->rank < b->rank;
}

bool queue_push(struct queue *queue, struct event event)
{
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? 2 * queue->capacity : 64;
        struct event *grown = realloc(queue->heap, capacity * sizeof *grown);
        if (!grown)
            return false;
        queue->heap = grown;
        queue->capacity = capacity;
    }
    size_t at = queue->count++;
    while (at > 0) {
        size_t parent = (at - 1) / 4;
        if (!before(&event, &queue->heap[parent]))
            break;
        queue->heap[at] = queue->heap[parent];
        at = parent;
    }
    queue->heap[at] = event;
    return true;
}

bool queue_pop(struct queue *queue, struct event *ret_event)
{
    if (queue->count == 0)
        return false;
    *ret_event = queue->heap[0];
    struct event last = queue->heap[--queue->count];
    size_t at = 0;
    for (;;) {
        size_t child = 4 * at + 1, best = child;
        if (child >= queue->count)
            break;
        size_t end = child + 4 < queue->count ? child + 4 : queue->count;
        for (size_t i = child + 1; i < end; i++)
            if (before(&queue->heap[i], &queue->heap[best]))
                best = i;
        if (!before(&queue->heap[best], &last))
            break;
        queue->heap[at] = queue->heap[best];
        at = best;
    }
    if (queue->count > 0)
        queue->heap[at] = last;
    return true;
}
