/* states.h: states that break or slow a path, for who looks for a reason (diagnose.h). */
#ifndef GDSIM_STUDY_STATES_H
#define GDSIM_STUDY_STATES_H

#include "sim/core/machine.h"

struct state_change {
    const char *name;
    /* Change the (unfinished) copy; false when there is nothing to change. */
    bool (*apply)(struct machine *machine);
};

extern const struct state_change state_table[];
extern const size_t state_count;

#endif
