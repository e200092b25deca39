/* queue.c: see queue.h. */
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
    for (size_t i = 0; i < sizeof queue->bucket / sizeof queue->bucket[0]; i++)
        free(queue->bucket[i].events);
    free(queue->spare.events);
    memset(queue, 0, sizeof *queue);
}

void queue_clear(struct queue *queue)
{
    for (size_t i = 0; i < sizeof queue->bucket / sizeof queue->bucket[0]; i++)
        queue->bucket[i].count = 0;
    queue->now_ps = 0;
    queue->head = 0;
    queue->filled = 0;
}

/* Among events of one time. */
static bool before(const struct event *a, const struct event *b)
{
    const uint64_t x = a->key >> QUEUE_SEQUENCE_BITS, y = b->key >> QUEUE_SEQUENCE_BITS;
    if (x != y)
        return x < y;
    if (a->rank != b->rank)
        return a->rank < b->rank;
    return (uint16_t)(a->key - b->key) >= 0x8000;
}

static bool reserve(struct queue_bucket *bucket, size_t count)
{
    if (count <= bucket->capacity)
        return true;
    size_t capacity = bucket->capacity ? bucket->capacity : 32;
    while (capacity < count)
        capacity *= 2;
    struct event *grown = realloc(bucket->events, capacity * sizeof *grown);
    if (!grown)
        return false;
    bucket->events = grown;
    bucket->capacity = capacity;
    return true;
}

static inline size_t bucket_of(int64_t time_ps, int64_t now_ps)
{
    uint64_t differs = (uint64_t)time_ps ^ (uint64_t)now_ps;
    return differs ? 64u - (size_t)__builtin_clzll(differs) : 0;
}

static inline bool append(struct queue *queue, size_t index, const struct event *event)
{
    struct queue_bucket *bucket = &queue->bucket[index];
    if (bucket->count == bucket->capacity && !reserve(bucket, bucket->count + 1))
        return false;
    bucket->events[bucket->count++] = *event;
    if (index > 0)
        queue->filled |= (uint64_t)1 << (index - 1);
    return true;
}

bool queue_push(struct queue *queue, struct event event)
{
    assert(event.time_ps >= queue->now_ps);
    size_t index = bucket_of(event.time_ps, queue->now_ps);
    if (!append(queue, index, &event))
        return false;
    if (index > 0)
        return true;
    /* an event of now: to its place */
    struct event *events = queue->bucket[0].events;
    size_t at = queue->bucket[0].count - 1;
    for (; at > queue->head && before(&event, &events[at - 1]); at--)
        events[at] = events[at - 1];
    events[at] = event;
    return true;
}

/* Merge the runs that are in order already; events mostly come in order. */
static bool sort(struct queue *queue)
{
    struct queue_bucket *bucket = &queue->bucket[0];
    for (;;) {
        struct event *events = bucket->events;
        const size_t count = bucket->count;
        size_t run = 1;
        while (run < count && !before(&events[run], &events[run - 1]))
            run++;
        if (run >= count)
            return true;
        if (!reserve(&queue->spare, bucket->capacity))
            return false;
        struct event *out = queue->spare.events;
        for (size_t start = 0; start < count;) {
            size_t middle = start + 1;
            while (middle < count && !before(&events[middle], &events[middle - 1]))
                middle++;
            size_t end = middle < count ? middle + 1 : middle;
            while (end < count && !before(&events[end], &events[end - 1]))
                end++;
            size_t left = start, right = middle;
            for (size_t i = start; i < end; i++) {
                bool take_right =
                    left == middle || (right < end && before(&events[right], &events[left]));
                out[i] = events[take_right ? right++ : left++];
            }
            start = end;
        }
        const struct queue_bucket swap = *bucket;
        *bucket = queue->spare;
        queue->spare = swap;
        bucket->count = count;
    }
}

/* Move the bucket of the next events down; those of the next time end in bucket 0, in order. */
static bool advance(struct queue *queue)
{
    size_t index = 1u + (size_t)__builtin_ctzll(queue->filled);
    struct queue_bucket *from = &queue->bucket[index];
    int64_t now_ps = from->events[0].time_ps;
    for (size_t i = 1; i < from->count; i++)
        if (from->events[i].time_ps < now_ps)
            now_ps = from->events[i].time_ps;
    queue->filled &= queue->filled - 1;
    queue->now_ps = now_ps;
    queue->head = 0;
    queue->bucket[0].count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (!append(queue, bucket_of(from->events[i].time_ps, now_ps), &from->events[i]))
            return false;
    from->count = 0;
    return sort(queue);
}

bool queue_pop(struct queue *queue, struct event *ret_event)
{
    if (queue->head == queue->bucket[0].count && (!queue->filled || !advance(queue)))
        return false;
    *ret_event = queue->bucket[0].events[queue->head++];
    return true;
}

bool queue_shift(struct queue *queue, int64_t by_ps)
{
    struct queue_bucket all = {0};
    for (size_t b = 0; b < sizeof queue->bucket / sizeof queue->bucket[0]; b++) {
        const struct queue_bucket *bucket = &queue->bucket[b];
        size_t first = b == 0 ? queue->head : 0;
        if (!reserve(&all, all.count + bucket->count)) {
            free(all.events);
            return false;
        }
        for (size_t i = first; i < bucket->count; i++)
            all.events[all.count++] = bucket->events[i];
    }
    const int64_t now_ps = queue->now_ps + by_ps;
    queue_clear(queue);
    queue->now_ps = now_ps;
    bool fits = true;
    for (size_t i = 0; i < all.count && fits; i++) {
        all.events[i].time_ps += by_ps;
        fits = queue_push(queue, all.events[i]);
    }
    free(all.events);
    return fits;
}
