/* dataset.h: which measured runs belong to a scenario, and what is fitted to them.
 *
 *   data:
 *     - name: ring LL
 *       file: h200x2/allreduce-ring-LL.log       # beside the scenario
 *       what: memcpy_pinned                      # only rows of this name ...
 *       variant: h2d                             # ... and this variant
 *       scenario: copies.yaml                    # another job on the same machine; default: this
 *       set: {engine.slice: 2 MiB}               # on top of it, as --set
 *       mechanism: nvlink
 *       algorithm: ring
 *       accounting: pipelined
 *       from: 64 KiB                             # sizes that are looked at
 *       to: 1 GiB
 *       fit_to: 256 MiB                          # larger ones are held out: checked, not fitted
 *       use: check                               # fit (default), check: compared, never fitted
 *       counter: gpu0 -> cpu0                    # rows are bytes of a counter on this resource
 *       within: 3 %                              # gdsim validate: median error from 64 KiB up,
 *       within_small: 10 %                       # and below
 *       note: why the worst point is off
 *   fit:
 *     - name: launch
 *       key: software.launch                     # or a list of keys that share the value
 *       low: 1 us
 *       high: 100 us
 *       each: yes                                # a value for each data set; or for those of a
 *                                                # list, while the others share one
 */
#ifndef GDSIM_LOAD_DATASET_H
#define GDSIM_LOAD_DATASET_H

#include "sim/load/scenario.h"

#define DATASET_MAX     128
#define DATASET_MAX_SET 16
#define FIT_MAX_KEYS    8
#define FIT_MAX_ENTRIES 32

struct dataset {
    const char *name;
    struct mark mark;
    char *file;                 /* path; owned */
    const char *what, *variant; /* NULL: any */
    char *scenario;             /* path; NULL: this one; owned */
    char *set[DATASET_MAX_SET]; /* "key=value", owned */
    size_t set_count;
    size_t own_count; /* of them, the last: what a calibration found for this run alone */
    const char *mechanism, *algorithm, *accounting; /* NULL: the scenario's */
    double from_B, to_B, fit_to_B;
    bool check;
    const char *counter;         /* name of a resource; NULL: rows are times */
    double within, within_small; /* NAN: not judged */
    const char *note;
};

struct fit_entry {
    const char *name;
    struct mark mark;
    const char *keys[FIT_MAX_KEYS];
    size_t key_count;
    bool each; /* a value of its own for every data set: what differs from process to process */
    struct {
        const char *name;
        struct mark mark;
    } own[FIT_MAX_KEYS]; /* names of the only data sets that have their own, while others share one
                          */
    size_t own_count;
    const char *low_text, *high_text; /* in the key's own unit; NULL: not given */
    struct mark low_mark, high_mark;
};

struct datasets {
    struct dataset items[DATASET_MAX];
    size_t count;
    struct fit_entry fits[FIT_MAX_ENTRIES];
    size_t fit_count;
};

/* Read both blocks of a loaded scenario (either may be missing); mistakes go to scenario->diag.
 * Texts belong to the scenario. *ret is for datasets_free in any case. */
enum status datasets_read(struct scenario *scenario, struct datasets *ret);
void datasets_free(struct datasets *datasets);

#endif
