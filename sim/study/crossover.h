/* crossover.h: where along an axis the faster of two ways changes.
 *
 * f(x) = log(time_0(x) / time_1(x)) is looked at on a grid. Where its sign changes between two
 * points, the zero between them is found: on a continuous axis by Brent's method (GSL), in log x
 * where the axis is logarithmic; over whole numbers by bisection. Where the times differ by less
 * than CROSSOVER_TIE the two are level; the edge of a stretch on which they are is found by
 * bisection too. A change there and back between two points of the grid is not seen.
 *
 * The times come from a function, so this knows nothing of scenarios and machines.
 */
#ifndef GDSIM_STUDY_CROSSOVER_H
#define GDSIM_STUDY_CROSSOVER_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/core/status.h"

#define CROSSOVER_MAX_POINTS 4096
#define CROSSOVER_TIE        1e-6 /* |f| below which neither is faster */
#define CROSSOVER_JUMP       1e-4 /* |f| at a zero above which it is no zero, but a step */

struct crossover_axis {
    double from, to;
    double factor; /* > 1: each point of the grid so many times the last, from > 0; else: `parts` */
    size_t parts;  /* equal parts, for an axis that may start at zero */
    bool whole;    /* whole numbers only */
};

/* The time of way 0 or 1 at x. *ret_runs = false: it cannot run there, which ends nothing; any
 * status but STATUS_OK ends the search. */
struct crossover_ways {
    enum status (*time)(void *owner, double x, int way, double *ret_s, bool *ret_runs,
                        struct error *error);
    void *owner;
};

enum crossover_winner { CROSSOVER_FIRST, CROSSOVER_SECOND, CROSSOVER_LEVEL, CROSSOVER_UNKNOWN };

struct crossover_point {
    double x, time_s[2];
    enum crossover_winner winner; /* CROSSOVER_UNKNOWN: one of them does not run here */
};

enum crossover_kind {
    CROSSOVER_ZERO,    /* both take the same time at x */
    CROSSOVER_STEP,    /* the time of one jumps at x */
    CROSSOVER_WHOLE,   /* x is the first whole number at which the old winner wins no more */
    CROSSOVER_EDGE,    /* a stretch on which both are level starts or ends at x */
    CROSSOVER_BRACKET, /* somewhere between the grid's points: between them one does not run */
};

struct crossover {
    enum crossover_kind kind;
    struct crossover_point at;
    const struct crossover_point *before, *after; /* points of the grid round it */
};

struct crossover_result {
    struct crossover_point *points; /* the grid, upwards */
    size_t point_count;
    struct crossover *crossings;
    size_t crossing_count;
};

/* Switches GSL's error handler off. *ret is for crossover_free. STATUS_INPUT: a bad axis. */
enum status crossover_find(const struct crossover_axis *axis, const struct crossover_ways *ways,
                           struct crossover_result *ret, struct error *error);
void crossover_free(struct crossover_result *result);

/* How many times faster the winner is, 1 or more; 0 where one does not run. */
double crossover_gain(const struct crossover_point *point);

#endif
