/* queue.c: see queue.h. */
#include "sim/core/queue.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void queue_init(struct queue *queue)
{
    memset(queue, 0, sizeof *queue);
    queue_clear(queue);
}

void queue_free(struct queue *queue)
{
    for (size_t i = 0; i < sizeof queue->bucket / sizeof queue->bucket[0]; i++)
        free(queue->bucket[i].entries);
    free(queue->present);
    free(queue->spare);
    free(queue->links);
    free(queue->moments);
    queue_init(queue);
}

void queue_clear(struct queue *queue)
{
    for (size_t i = 0; i < sizeof queue->bucket / sizeof queue->bucket[0]; i++)
        queue->bucket[i].count = 0;
    queue->now_ps = 0;
    queue->head = queue->count = 0;
    queue->link_count = queue->moment_count = 0;
    queue->free_link = queue->free_moment = QUEUE_END;
    queue->filled = 0;
    memset(queue->recent, 0xff, sizeof queue->recent);
}

static inline bool before(const struct queue_event *a, const struct queue_event *b)
{
    return queue_before(a->key, a->rank, b->key, b->rank);
}

/* Room for one more element than `count`. */
static bool grow(void *array, size_t size, size_t count, size_t *capacity)
{
    if (count < *capacity)
        return true;
    const size_t wanted = *capacity ? 2 * *capacity : 32;
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, wanted * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

/* ---- the present ------------------------------------------------------------------------------
 */

/* Room for so many more events, also for sorting them. */
static bool present_reserve(struct queue *queue, size_t more)
{
    while (queue->count + more > queue->capacity) {
        const size_t full = queue->capacity;
        size_t capacity = full;
        if (!grow(&queue->spare, sizeof *queue->spare, full, &capacity) ||
            !grow(&queue->present, sizeof *queue->present, full, &queue->capacity))
            return false;
    }
    return true;
}

/* From `start` on: where the events stop being in order. */
static inline size_t run_end(const struct queue_event *events, size_t start, size_t count)
{
    size_t end = start + 1;
    while (end < count && !before(&events[end], &events[end - 1]))
        end++;
    return end;
}

/* Merge runs that are in order already, the first of them `ordered` events long, two by two until
 * one is left; events mostly come in order. */
static void sort(struct queue *queue, size_t ordered)
{
    const size_t count = queue->count;
    while (ordered < count) {
        const struct queue_event *events = queue->present;
        struct queue_event *out = queue->spare;
        for (size_t start = 0, end; start < count; start = end) {
            const size_t middle = start == 0 ? ordered : run_end(events, start, count);
            end = middle < count ? run_end(events, middle, count) : middle;
            if (start == 0)
                ordered = end;
            size_t left = start, right = middle;
            while (left < middle && right < end)
                *out++ = events[before(&events[right], &events[left]) ? right++ : left++];
            memcpy(out, &events[left], (middle - left) * sizeof *out);
            out += middle - left;
            memcpy(out, &events[right], (end - right) * sizeof *out);
            out += end - right;
        }
        out = queue->present;
        queue->present = queue->spare;
        queue->spare = out;
    }
}

/* ---- moments ----------------------------------------------------------------------------------
 */

static inline bool enter(struct queue *queue, int64_t time_ps, uint32_t moment)
{
    const unsigned index = 63u - (unsigned)__builtin_clzll((uint64_t)(time_ps ^ queue->now_ps));
    struct queue_bucket *bucket = &queue->bucket[index];
    if (!grow(&bucket->entries, sizeof *bucket->entries, bucket->count, &bucket->capacity))
        return false;
    bucket->entries[bucket->count++] = (struct queue_entry){time_ps, moment};
    queue->filled |= (uint64_t)1 << index;
    return true;
}

/* A new moment with this event. */
static bool moment_add(struct queue *queue, int64_t time_ps, uint32_t link)
{
    uint32_t at = queue->free_moment;
    if (at == QUEUE_END) {
        size_t capacity = queue->moment_capacity;
        if (!grow(&queue->moments, sizeof *queue->moments, queue->moment_count, &capacity))
            return false;
        queue->moment_capacity = (uint32_t)capacity;
        at = queue->moment_count++;
    } else
        queue->free_moment = queue->moments[at].first;
    queue->moments[at] = (struct queue_moment){time_ps, link, link, 1};
    *queue_recent(queue, time_ps) = at;
    return enter(queue, time_ps, at);
}

static inline uint32_t link_take(struct queue *queue)
{
    uint32_t at = queue->free_link;
    if (at != QUEUE_END) {
        queue->free_link = queue->links[at].next;
        return at;
    }
    size_t capacity = queue->link_capacity;
    if (!grow(&queue->links, sizeof *queue->links, queue->link_count, &capacity))
        return QUEUE_END;
    queue->link_capacity = (uint32_t)capacity;
    return queue->link_count++;
}

/* An event of now: to its place. */
static bool push_present(struct queue *queue, struct queue_event event)
{
    if (!present_reserve(queue, 1))
        return false;
    struct queue_event *events = queue->present;
    size_t at = queue->count++;
    for (; at > queue->head && before(&event, &events[at - 1]); at--)
        events[at] = events[at - 1];
    events[at] = event;
    return true;
}

bool queue_push_apart(struct queue *queue, int64_t time_ps, struct queue_event event)
{
    assert(time_ps >= queue->now_ps);
    if (time_ps == queue->now_ps)
        return push_present(queue, event);
    const uint32_t at = link_take(queue), recent = *queue_recent(queue, time_ps);
    if (at == QUEUE_END)
        return false;
    queue->links[at] = (struct queue_link){event.key, event.rank, event.what, QUEUE_END};
    if (recent == QUEUE_END || queue->moments[recent].time_ps != time_ps)
        return moment_add(queue, time_ps, at);
    struct queue_moment *moment = &queue->moments[recent];
    queue->links[moment->last].next = at;
    moment->last = at;
    moment->count++;
    return true;
}

/* Move a moment's events into the present. *ordered: so many of these, from the first on, are in
 * order. */
static bool arrive(struct queue *queue, uint32_t index, size_t *ordered)
{
    struct queue_moment *moment = &queue->moments[index];
    if (!present_reserve(queue, moment->count))
        return false;
    struct queue_event *events = queue->present;
    struct queue_link *links = queue->links;
    size_t count = queue->count, in_order = *ordered;
    uint32_t free_link = queue->free_link;
    for (uint32_t at = moment->first; at != QUEUE_END; count++) {
        struct queue_link *link = &links[at];
        events[count] = (struct queue_event){link->key, link->rank, link->what};
        if (in_order == count && (count == 0 || !before(&events[count], &events[count - 1])))
            in_order++;
        const uint32_t next = link->next;
        link->next = free_link;
        free_link = at;
        at = next;
    }
    queue->free_link = free_link;
    queue->count = count;
    *ordered = in_order;
    *moment = (struct queue_moment){.time_ps = -1, .first = queue->free_moment};
    queue->free_moment = index;
    return true;
}

bool queue_advance(struct queue *queue)
{
    if (!queue->filled)
        return false;
    struct queue_bucket *from = &queue->bucket[__builtin_ctzll(queue->filled)];
    int64_t now_ps = from->entries[0].time_ps;
    for (size_t i = 1; i < from->count; i++)
        if (from->entries[i].time_ps < now_ps)
            now_ps = from->entries[i].time_ps;
    queue->filled &= queue->filled - 1;
    queue->now_ps = now_ps;
    queue->head = queue->count = 0;
    size_t ordered = 0;
    for (size_t i = 0; i < from->count; i++) {
        const struct queue_entry *entry = &from->entries[i]; /* it moves to a lower bucket */
        if (!(entry->time_ps == now_ps ? arrive(queue, entry->moment, &ordered)
                                       : enter(queue, entry->time_ps, entry->moment)))
            return false;
    }
    from->count = 0;
    sort(queue, ordered);
    return true;
}

bool queue_shift(struct queue *queue, int64_t by_ps, uint64_t by_key)
{
    /* Drawn out in order, pushed again, later. */
    struct event *all = NULL, event;
    size_t count = 0, capacity = 0;
    const int64_t now_ps = queue->now_ps + by_ps;
    bool fits = true;
    while (fits && queue_pop(queue, &event)) {
        fits = grow(&all, sizeof *all, count, &capacity);
        if (fits)
            all[count++] = event;
    }
    queue_clear(queue);
    queue->now_ps = now_ps;
    for (size_t i = 0; i < count && fits; i++) {
        all[i].time_ps += by_ps;
        all[i].key += by_key;
        fits = queue_push(queue, all[i]);
    }
    free(all);
    return fits;
}
