/* budget.h: how much a run has to go through, how far it has come, and when that is too much.
 *
 * Before the walk the slices of the whole plan are estimated: each operation is looked at in the
 * first, middle and last turn of the loops around it, by at most 1024 of the ranks that are
 * simulated. What is skipped because it repeats cannot be known before. So the verdict falls after
 * the first million events (a slice's stage each), or the limit if that is less: as many as were
 * needed for each slice so far, times the slices of the plan, is what the run will take. More than
 * engine.event_limit is refused. It depends on counts only, never on the clock: the same run is
 * refused everywhere.
 */
#ifndef GDSIM_CORE_BUDGET_H
#define GDSIM_CORE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/core/status.h"

struct walk;
struct engine_watch;

struct budget {
    double slices;   /* of the simulated ranks, all of the plan; an estimate */
    double limit;    /* events */
    uint64_t next;   /* look again when so many events have been gone through */
    uint64_t leaped; /* events that were skipped */
    bool told;       /* the watch */
    const struct engine_watch *watch;
};

void budget_init(struct walk *walk);

/* Tell the watch how far the run is. STATUS_INPUT: it would take more than it may. */
enum status budget_look(struct walk *walk);

/* The run is over, or given up: tell the watch. */
void budget_end(const struct walk *walk);

#endif
