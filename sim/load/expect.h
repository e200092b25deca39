/* expect.h: what a scenario says was measured, so that `gdsim validate` can compare.
 *
 *   expect:
 *     - name: on
 *       set: {state.peermem: yes}       # on top of the file, as --set
 *       mechanism: gdr
 *       size: 1 GiB
 *       busbw: 93 GB/s                  # or algbw, wire, time
 *       tolerance: 6 %                  # or at_least / at_most
 *       seeds: 16                       # of hashed routing: the median, and the measured one
 * within limit: [nic0 wire]              # any of these in the name of what limits
 *     - name: on over off
 *       ratio: [on, off]
 *       low: 1.8
 *       high: 2.2
 *       note: why a miss is a miss
 */
#ifndef GDSIM_LOAD_EXPECT_H
#define GDSIM_LOAD_EXPECT_H

#include "sim/load/scenario.h"
#include "sim/load/yaml_tree.h"

#define EXPECT_MAX_SET    16
#define EXPECT_MAX_LIMITS 8
#define EXPECT_MAX_SEEDS  256

enum expect_metric { EXPECT_BUSBW, EXPECT_ALGBW, EXPECT_WIRE, EXPECT_TIME, EXPECT_METRIC_COUNT };

struct expectation {
    const char *name;
    struct mark mark;
    char *set[EXPECT_MAX_SET]; /* "key=value" */
    struct mark set_mark[EXPECT_MAX_SET];
    size_t set_count;
    const char *mechanism, *algorithm, *accounting; /* NULL: the scenario's */
    const char *size;                               /* NULL: the scenario's last */
    enum expect_metric metric;
    uint32_t seeds;           /* of fabric.hash_seed: 0, 1 ... ; 0: one run with what is set */
    double measured;          /* NAN: none */
    double tolerance;         /* NAN: none */
    double at_least, at_most; /* NAN: none */
    const char *limits[EXPECT_MAX_LIMITS];
    size_t limit_count;
    const char *ratio[2]; /* names of earlier expectations; NULL: no ratio */
    double low, high;
    const char *note; /* NULL: none */
};

struct expectations {
    struct expectation *items;
    size_t count;
};

const char *expect_metric_name(enum expect_metric metric);

/* Read the block `expect` of a loaded scenario; mistakes go to scenario->diag, and a block that is
 * missing or empty is one. Texts belong to the scenario. */
enum status expect_read(struct scenario *scenario, struct expectations *ret);
void expect_free(struct expectations *expectations);

/* Read a map of keys and values as "key=value" texts, for scenario_request.set. Returns how many;
 * the caller frees each. */
size_t expect_read_set(struct scenario *scenario, struct yaml_node *map, char **ret_set,
                       size_t limit);

#endif
