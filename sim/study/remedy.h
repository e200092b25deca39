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
    /* Whether a (finished) machine wants it; NULL: whenever there is something to change. */
    bool (*wanted)(const struct machine *machine);
    /* Change the (unfinished) copy; false when there is nothing to change. */
    bool (*apply)(struct machine *machine);
};

extern const struct remedy remedy_table[];
extern const size_t remedy_count;

/* A finished copy with the remedy applied to all nodes that want it, usual and odd ones.
 * *ret_applies is false (and no copy made) when it has nothing to change. */
enum status remedy_apply(const struct remedy *remedy, const struct machine *machine,
                         struct machine *ret_copy, bool *ret_applies, struct error *error);

/* Its name for a machine: "load nvidia_peermem", or where only odd nodes want it "load
 * nvidia_peermem on node 17". */
void remedy_name(const struct remedy *remedy, const struct machine *machine, char *ret_name,
                 size_t size);

/* A finished copy with the chosen ones applied one after the other, in the order of the table, as
 * far as they apply to what the ones before have left. `chosen` has an entry for each. */
enum status remedy_apply_all(const bool *chosen, const struct machine *machine,
                             struct machine *ret_copy, struct error *error);

#endif
