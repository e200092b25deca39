/* contribution.c: see contribution.h. */
#include "sim/core/contribution.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 65536u

bool contributions_init(struct contributions *all)
{
    memset(all, 0, sizeof *all);
    all->buckets = malloc(BUCKETS * sizeof *all->buckets);
    if (!all->buckets)
        return false;
    for (size_t i = 0; i < BUCKETS; i++)
        all->buckets[i] = UINT32_MAX;
    return true;
}

void contributions_free(struct contributions *all)
{
    free(all->intervals);
    free(all->sets);
    free(all->buckets);
    memset(all, 0, sizeof *all);
}

static uint32_t hash(const struct interval *intervals, uint32_t count)
{
    uint64_t h = 1469598103934665603u;
    for (uint32_t i = 0; i < count; i++) {
        h = (h ^ intervals[i].first) * 1099511628211u;
        h = (h ^ intervals[i].last) * 1099511628211u;
    }
    return (uint32_t)((h ^ h >> 32) % BUCKETS);
}

static bool reserve(struct contributions *all, size_t extra)
{
    if (all->interval_count + extra > all->interval_capacity) {
        size_t capacity = 2 * all->interval_capacity + extra + 64;
        struct interval *grown = realloc(all->intervals, capacity * sizeof *grown);
        if (!grown)
            return false;
        all->intervals = grown;
        all->interval_capacity = capacity;
    }
    if (all->set_count == all->set_capacity) {
        uint32_t capacity = all->set_capacity ? 2 * all->set_capacity : 64;
        struct contribution_set *grown = realloc(all->sets, capacity * sizeof *grown);
        if (!grown)
            return false;
        all->sets = grown;
        all->set_capacity = capacity;
    }
    return true;
}

/* The set whose intervals stand at the end of the array; keeps them only if they are new. */
static uint32_t intern(struct contributions *all, uint32_t count)
{
    const struct interval *fresh = &all->intervals[all->interval_count];
    uint32_t bucket = hash(fresh, count);
    for (uint32_t s = all->buckets[bucket]; s != UINT32_MAX; s = all->sets[s].next)
        if (all->sets[s].count == count &&
            memcmp(&all->intervals[all->sets[s].offset], fresh, count * sizeof *fresh) == 0)
            return s;
    all->sets[all->set_count] = (struct contribution_set){
        .offset = all->interval_count, .count = count, .next = all->buckets[bucket]};
    all->buckets[bucket] = all->set_count;
    all->interval_count += count;
    return all->set_count++;
}

uint32_t contribution_range(struct contributions *all, uint32_t first, uint32_t last)
{
    if (!reserve(all, 1))
        return CONTRIBUTION_FULL;
    all->intervals[all->interval_count] = (struct interval){first, last};
    return intern(all, 1);
}

uint32_t contribution_add(struct contributions *all, uint32_t a, uint32_t b)
{
    const struct contribution_set x = all->sets[a], y = all->sets[b];
    if (!reserve(all, (size_t)x.count + y.count))
        return CONTRIBUTION_FULL;
    const struct interval *from_x = &all->intervals[x.offset], *from_y = &all->intervals[y.offset];
    struct interval *out = &all->intervals[all->interval_count];
    uint32_t i = 0, j = 0, count = 0;
    while (i < x.count || j < y.count) {
        struct interval next;
        if (j == y.count || (i < x.count && from_x[i].first < from_y[j].first))
            next = from_x[i++];
        else
            next = from_y[j++];
        if (count && next.first <= out[count - 1].last)
            return CONTRIBUTION_TWICE;
        if (count && next.first == out[count - 1].last + 1)
            out[count - 1].last = next.last;
        else
            out[count++] = next;
    }
    return intern(all, count);
}

uint32_t contribution_common(const struct contributions *all, uint32_t a, uint32_t b)
{
    const struct contribution_set *x = &all->sets[a], *y = &all->sets[b];
    for (uint32_t i = 0, j = 0; i < x->count && j < y->count;) {
        struct interval p = all->intervals[x->offset + i], q = all->intervals[y->offset + j];
        if (p.first <= q.last && q.first <= p.last)
            return p.first > q.first ? p.first : q.first;
        if (p.last < q.last)
            i++;
        else
            j++;
    }
    return UINT32_MAX;
}

uint32_t contribution_lacks(const struct contributions *all, uint32_t a, uint32_t ranks)
{
    uint32_t next = 0;
    for (uint32_t i = 0; i < all->sets[a].count; i++) {
        struct interval interval = all->intervals[all->sets[a].offset + i];
        if (interval.first > next)
            return next;
        next = interval.last + 1;
    }
    return next < ranks ? next : UINT32_MAX;
}

void contribution_print(const struct contributions *all, uint32_t set, char *buf, size_t size)
{
    if (set == CONTRIBUTION_NONE) {
        snprintf(buf, size, "nothing");
        return;
    }
    const struct contribution_set *s = &all->sets[set];
    const struct interval *intervals = &all->intervals[s->offset];
    bool one = s->count == 1 && intervals[0].first == intervals[0].last;
    size_t used = (size_t)snprintf(buf, size, one ? "rank" : "ranks");
    for (uint32_t i = 0; i < s->count && used + 32 < size; i++) {
        const char *separator = i == 0 ? " " : ", ";
        if (i == 8) {
            snprintf(buf + used, size - used, ", ...");
            return;
        }
        if (intervals[i].first == intervals[i].last)
            used +=
                (size_t)snprintf(buf + used, size - used, "%s%u", separator, intervals[i].first);
        else
            used += (size_t)snprintf(buf + used, size - used, "%s%u-%u", separator,
                                     intervals[i].first, intervals[i].last);
    }
}
