/* remedy.h: changes of a machine that the resolver knows: what mends a path, and what is an
 * upgrade.
 *
 * A remedy says whether it applies to a machine as it is, and applies itself to a copy. `gdsim
 * whatif --each` tries them all; `gdsim check` names those that mend what it found.
 */
#ifndef GDSIM_STUDY_REMEDY_H
#define GDSIM_STUDY_REMEDY_H

#include "sim/core/machine.h"

struct remedy {
    const char *name;
    bool upgrade; /* buys hardware, rather than mends a setting */
    /* Change the (unfinished) copy; false when there is nothing to change. */
    bool (*apply)(struct machine *machine);
};

extern const struct remedy remedy_table[];
extern const size_t remedy_count;

/* A finished copy with the remedy applied. *ret_applies is false (and no copy made) when the
 * remedy has nothing to change. */
enum status remedy_apply(const struct remedy *remedy, const struct machine *machine,
                         struct machine *ret_copy, bool *ret_applies, struct error *error);

#endif
