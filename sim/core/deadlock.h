/* deadlock.h: does a plan with receives come to its end?
 *
 * Without receives it always does: whatever an operation waits for stands in an earlier step. A
 * receive may wait for a message of a later step. So the plan is run without time: every lane goes
 * on until it waits for data or for a message. Where lanes are left, each waits for another; the
 * chain of those leads to a circle, or to a message that nobody sends.
 */
#ifndef GDSIM_CORE_DEADLOCK_H
#define GDSIM_CORE_DEADLOCK_H

#include "sim/core/plan.h"

struct deadlock {
    bool found;
    char sentence[512];
    uint64_t step; /* in which the first of the circle waits, from 0 */
    uint32_t rank; /* that one */
    uint32_t line; /* of the script */
};

enum status deadlock_find(const struct plan *plan, struct deadlock *ret_deadlock,
                          struct error *error);

#endif
