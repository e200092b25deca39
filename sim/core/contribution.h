/* contribution.h: sets of ranks whose contribution a chunk holds.
 *
 * Sets are kept once each and named by a number, as sorted intervals, so that a million chunks
 * that hold the same ranks cost one set, and equality is equality of numbers.
 */
#ifndef GDSIM_CORE_CONTRIBUTION_H
#define GDSIM_CORE_CONTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTRIBUTION_NONE  UINT32_MAX       /* nothing written */
#define CONTRIBUTION_TWICE (UINT32_MAX - 1) /* sum of sets that overlap */
#define CONTRIBUTION_FULL  (UINT32_MAX - 2) /* out of memory */

struct interval {
    uint32_t first, last;
};

struct contribution_set {
    size_t offset;
    uint32_t count; /* intervals */
    uint32_t next;  /* in the hash chain */
};

struct contributions {
    struct interval *intervals;
    size_t interval_count, interval_capacity;
    struct contribution_set *sets;
    uint32_t set_count, set_capacity;
    uint32_t *buckets;
};

bool contributions_init(struct contributions *all);
void contributions_free(struct contributions *all);

/* The set {first .. last}. CONTRIBUTION_FULL when memory ran out. */
uint32_t contribution_range(struct contributions *all, uint32_t first, uint32_t last);

/* The sum of two sets; CONTRIBUTION_TWICE when they share a rank. */
uint32_t contribution_add(struct contributions *all, uint32_t a, uint32_t b);

/* The first rank in both sets, or the first rank below `ranks` not in `a`; UINT32_MAX if none. */
uint32_t contribution_common(const struct contributions *all, uint32_t a, uint32_t b);
uint32_t contribution_lacks(const struct contributions *all, uint32_t a, uint32_t ranks);

/* "ranks 0-3, 5" into buf. */
void contribution_print(const struct contributions *all, uint32_t set, char *buf, size_t size);

#endif
