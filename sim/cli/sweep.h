/* sweep.h: gdsim sweep: thousands of points of a scenario, on all cores, into one file.
 *
 *   cmd_sweep.c      options, and the sweep from end to end
 *   sweep_model.c    what each axis changes; the scenarios and plans that points share
 *   sweep_identity.c a hash of all that rows depend on
 *   sweep_point.c    one point: its machine, its run, its row
 *   sweep_file.c     the file that grows in order, its journal, --resume
 *   sweep_rows.c     reading rows back
 *   sweep_run.c      threads, progress; sweep_mpi.c: other processes
 *   sweep_summary.c  what a planner wants to read afterwards
 *
 * A point must not read YAML, run Lua or look for routes again where nothing that they depend on
 * has changed. Axes are therefore of two kinds. Those over parameters and the number of nodes
 * change numbers in a copy of a machine that has been read. All others (what a scenario extends,
 * the type of a device) need the scenario read anew, once for each combination of their values,
 * which is called a variant. --plain does without all this: it reads and runs each point as
 * `gdsim run --set ...` would, and must give the same bytes.
 */
#ifndef GDSIM_CLI_SWEEP_H
#define GDSIM_CLI_SWEEP_H

#include <pthread.h>

#include "sim/cli/cli.h"
#include "sim/core/address.h"
#include "sim/load/axes.h"
#include "sim/report/cell.h"
#include "sim/report/tidy.h"
#include "sim/study/blocks.h"
#include "sim/study/design.h"

#define SWEEP_MAX_VARIANTS 4096
#define SWEEP_KEEP_TIMES   ((uint64_t)50 * 1000 * 1000) /* points whose times a summary holds */

struct sweep_options {
    struct options shared;
    const char *axis[AXES_MAX];
    size_t axis_count;
    const char *lhs, *sobol, *seed, *jobs, *shard;
    bool resume, restart, plain, quiet;
};

/* ---- what axes change ------------------------------------------------------------------------ */

enum sweep_role {
    ROLE_SIZE,
    ROLE_MECHANISM,
    ROLE_ALGORITHM,
    ROLE_ACCOUNTING,
    ROLE_NUMBER,    /* parameters of the machine, or its number of nodes */
    ROLE_STRUCTURE, /* anything else */
};

struct sweep_axis {
    const struct axis *from;
    enum sweep_role role;
    double *numbers;                     /* ROLE_NUMBER: of each value, as the machine takes it */
    const struct mechanism **mechanisms; /* ROLE_MECHANISM */
    enum accounting *accountings;        /* ROLE_ACCOUNTING */
    size_t values; /* ROLE_NUMBER: numbers of the machine that change together */
    bool has_column;
    struct grid_column column;
    char name[160]; /* of the column */
    double unit;    /* that the column counts in */
};

/* The scenario with one combination of structural values. */
struct variant {
    struct scenario scenario;
    bool loaded;
    struct error error;                 /* why not */
    struct addresses numbers[AXES_MAX]; /* of each ROLE_NUMBER axis */
};

struct plan_entry {
    const struct variant *variant;
    size_t algorithm; /* value on its axis; 0 without one */
    const struct mechanism *mechanism;
    uint32_t ranks;
    uint32_t groups; /* that switches add for: there must be room for them */
    enum status status;
    struct error error;
    struct plan plan;
    struct plan_entry *next;
};

struct sweep {
    const struct sweep_options *options;
    const char *root;
    struct scenario base;
    bool base_loaded;
    struct axes axes;
    struct sweep_axis axis[AXES_MAX];
    size_t count;
    size_t size_axis, mechanism_axis, algorithm_axis, accounting_axis; /* SIZE_MAX: none */
    struct design design;
    struct shard shard;
    uint64_t structure_hash; /* of the scenarios read for structural values */
    uint64_t identity;       /* of all that rows depend on; see sweep_identity.c */
    bool json;

    struct grid_column *columns;
    size_t column_count, first_tidy; /* point, axes, then tidy_columns, status, reason */

    pthread_mutex_t lock; /* of what follows */
    struct variant **variants;
    size_t variant_count;
    struct plan_entry *plans;
};

/* Read the scenario and the axes, and check every key and value. Mistakes are printed; returns the
 * exit code. sweep_close in any case. */
int sweep_open(struct sweep *sweep, const struct sweep_options *options);
void sweep_close(struct sweep *sweep);

uint64_t sweep_identity(const struct sweep *sweep);
uint64_t sweep_tree_hash(uint64_t before, const struct yaml_tree *tree);

/* The variant of a point, read when first asked for; never NULL but without memory. */
struct variant *sweep_variant(struct sweep *sweep, const struct design_value *values,
                              size_t *ret_index);

/* The plan for a machine of this variant, made when first asked for; NULL: no memory. */
const struct plan_entry *sweep_plan(struct sweep *sweep, const struct variant *variant,
                                    const struct machine *machine, size_t algorithm,
                                    const struct mechanism *mechanism);

/* The algorithm that a point asks for; NULL: what the scenario or mechanism brings. */
const char *sweep_algorithm(const struct sweep *sweep, const struct design_value *values);

/* The number of an axis at a point, and the text that --set takes. */
double sweep_number(const struct sweep_axis *axis, const struct design_value *value);
const char *sweep_text(const struct sweep_axis *axis, const struct design_value *value,
                       char *buffer, size_t size);

/* ---- points ---------------------------------------------------------------------------------- */

/* One thread's machine, routes and scratch; see sweep_point.c. */
struct sweep_worker;
struct sweep_worker *sweep_worker_new(struct sweep *sweep);
void sweep_worker_free(struct sweep_worker *worker);

/* Append the rows of places of the shard, the whole block or as many as were begun before `until_s`
 * (of blocks_clock_s), at least one. `time_us[i]` is what place first + i took, NAN where it did
 * not run. STATUS_NOMEM only: what is wrong with a point stands in its row. */
enum status sweep_rows(struct sweep_worker *worker, struct block block, double until_s,
                       struct text *text, double *time_us, uint64_t *ret_count);

void sweep_header(const struct sweep *sweep, struct text *text);

#endif
