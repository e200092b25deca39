/* fold_value.h: what is known of a rule's value when the number of a rank's group, or the turn of a
 * loop, is left open.
 *
 * With v what is open, a value is one of
 *
 *     c + a v                    c one of lo, lo + stride .. hi, the same for all v
 *     s ((? + a v) mod m) + c    likewise; ? the same for all v
 *     anything
 *
 * Counters of (other) loops are known by their range only, so that what holds for a value holds for
 * every turn of theirs.
 */
#ifndef GDSIM_CORE_FOLD_VALUE_H
#define GDSIM_CORE_FOLD_VALUE_H

#include "sim/core/rule.h"

struct value {
    bool known;
    int64_t lo, hi, stride;
    int64_t per_group;      /* a */
    int64_t scale, modulus; /* s, m; modulus 0: the first form */
};

/* What is open: the number of the group, or the turn of a loop. Then `groups` is its number of
 * values. */
struct scope {
    int64_t rank, ranks, groups;
    int64_t turns[RULE_LOOPS];
    int loop; /* that is open; -1: the group */
};

struct value value_constant(int64_t lo, int64_t hi, int64_t stride);
bool value_is_constant(struct value x);
bool value_is_exact(struct value x); /* a constant that is known */
struct value value_of(const struct scope *scope, const struct rule *rule);

/* The remainder of a division towards minus infinity; b > 0. */
int64_t value_floor_mod(int64_t a, int64_t b);

#endif
