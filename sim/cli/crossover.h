/* crossover.h: what gdsim crossover's parts share: the axis and the two ways that were asked for
 * and their runs (crossover_run.c), what is said about them (crossover_write.c), and the command
 * (cmd_crossover.c). The search itself is sim/study/crossover.h. */
#ifndef GDSIM_CLI_CROSSOVER_H
#define GDSIM_CLI_CROSSOVER_H

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/study/crossover.h"

struct crossover_options {
    struct options shared;
    char *between;
    const char *over, *from, *to, *parts;
};

enum over { OVER_SIZE, OVER_NODES, OVER_RATE, OVER_KEY };

struct axis {
    enum over over;
    const char *name;  /* of the option: "size", or the key */
    const char *title; /* in sentences */
    const char *key;   /* what --set takes; NULL: the size */
    size_t values;     /* numbers of the machine that change together; 0: it is read anew */
    enum dimension dimension;
    struct crossover_axis range;
};

struct way {
    char *algorithm; /* NULL: what `gdsim run` would take */
    const struct mechanism *mechanism;
    char name[300];
};

/* Pairs opened at one place of the axis; a size needs no others. */
struct runner {
    const struct crossover_options *options;
    const struct axis *axis;
    struct way way[2];
    struct scenario scenario;
    bool loaded, open[2];
    double x; /* where it was loaded */
    double size_B;
    size_t runs;
    struct pair pair[2];
    struct error refusal[2]; /* why a way did not run, the first time */
    double refused_at[2];
    size_t refusals[2];
    bool printed; /* the error has been shown already */
};

/* What the options say. */
enum status crossover_read_axis(const struct crossover_options *options,
                                const struct machine *machine, struct axis *ret,
                                struct error *error);
enum status crossover_read_ways(const struct crossover_options *options,
                                const struct scenario *scenario, struct way way[2],
                                struct error *error);

/* A place on the axis, for sentences; and the unit of its numbers. */
const char *crossover_place(const struct axis *axis, double x, char *buffer, size_t size);
const char *crossover_axis_unit(const struct axis *axis);

/* Run one way at one place of the axis. *ret is for experiment_free_results. */
enum status crossover_run_at(struct runner *runner, double x, int way, struct results *ret,
                             bool *ret_runs, struct error *error);
/* The same for the search; owner is the runner. */
enum status crossover_time_at(void *owner, double x, int way, double *ret_s, bool *ret_runs,
                              struct error *error);
void crossover_unload(struct runner *runner);

/* What was found, for people, and as a CSV or JSON table. */
enum status crossover_write_people(struct text *text, struct runner *runner,
                                   const struct crossover_result *found, struct error *error);
enum status crossover_write_programs(struct text *text, struct runner *runner,
                                     const struct crossover_result *found, struct error *error);

#endif
