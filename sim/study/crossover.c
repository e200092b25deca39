/* crossover.c: see crossover.h. */
#include "sim/study/crossover.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_roots.h>

#define MAX_TURNS    200
#define CLOSE_ENOUGH 1e-9 /* of x, relative to it (or to the whole axis where that is linear) */

/* ---- one point ------------------------------------------------------------------------------ */

static double log_ratio(const struct crossover_point *point)
{
    return log(point->time_s[0] / point->time_s[1]);
}

double crossover_gain(const struct crossover_point *point)
{
    return point->winner == CROSSOVER_UNKNOWN ? 0 : exp(fabs(log_ratio(point)));
}

static enum status look(const struct crossover_ways *ways, double x, struct crossover_point *ret,
                        struct error *error)
{
    *ret = (struct crossover_point){.x = x, .winner = CROSSOVER_UNKNOWN};
    bool both = true;
    for (int way = 0; way < 2; way++) {
        bool runs = false;
        enum status status = ways->time(ways->owner, x, way, &ret->time_s[way], &runs, error);
        if (status)
            return status;
        both = both && runs && isfinite(ret->time_s[way]) && ret->time_s[way] > 0;
    }
    if (both) {
        double f = log_ratio(ret);
        ret->winner = fabs(f) < CROSSOVER_TIE ? CROSSOVER_LEVEL
                      : f < 0                 ? CROSSOVER_FIRST
                                              : CROSSOVER_SECOND;
    }
    return STATUS_OK;
}

/* ---- the grid ------------------------------------------------------------------------------- */

static enum status check_axis(const struct crossover_axis *axis, size_t *ret_count,
                              struct error *error)
{
    bool rises = axis->factor > 1;
    if (!isfinite(axis->from) || !isfinite(axis->to) || !(axis->from < axis->to))
        return error_set(error, STATUS_INPUT, "the axis must run upwards");
    if (rises && !(axis->from > 0))
        return error_set(error, STATUS_INPUT, "a logarithmic axis must start above zero");
    if (axis->whole && (floor(axis->from) < axis->from || floor(axis->to) < axis->to))
        return error_set(error, STATUS_INPUT, "the axis takes whole numbers");
    double parts =
        rises ? ceil(log(axis->to / axis->from) / log(axis->factor) - 1e-9) : (double)axis->parts;
    if (!(parts >= 1) || parts >= CROSSOVER_MAX_POINTS)
        return error_set(error, STATUS_INPUT, "the axis would have too many or too few points");
    *ret_count = (size_t)parts + 1;
    return STATUS_OK;
}

static double place(const struct crossover_axis *axis, size_t i, size_t count)
{
    if (i + 1 == count)
        return axis->to;
    double x = axis->factor > 1
                   ? axis->from * pow(axis->factor, (double)i)
                   : axis->from + (axis->to - axis->from) * (double)i / (double)axis->parts;
    return axis->whole ? round(x) : x;
}

static enum status look_at_grid(const struct crossover_axis *axis,
                                const struct crossover_ways *ways, size_t count,
                                struct crossover_result *result, struct error *error)
{
    for (size_t i = 0; i < count; i++) {
        double x = place(axis, i, count);
        /* Rounding to whole numbers may give one twice. */
        if (result->point_count > 0 && !(x > result->points[result->point_count - 1].x))
            continue;
        enum status status = look(ways, x, &result->points[result->point_count], error);
        if (status)
            return status;
        result->point_count++;
    }
    return STATUS_OK;
}

/* ---- between two points -----------------------------------------------------------------------
 */

/* The axis as the search sees it. */
static double scaled(const struct crossover_axis *axis, double x)
{
    return axis->factor > 1 ? log(x) : (x - axis->from) / (axis->to - axis->from);
}

static double unscaled(const struct crossover_axis *axis, double u)
{
    return axis->factor > 1 ? exp(u) : axis->from + u * (axis->to - axis->from);
}

/* Halve until the ends are neighbours: the first place that has not the winner of before. */
static enum status bisect(const struct crossover_axis *axis, const struct crossover_ways *ways,
                          struct crossover *crossing, struct error *error)
{
    struct crossover_point low = *crossing->before, high = *crossing->after;
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        double u = (scaled(axis, low.x) + scaled(axis, high.x)) / 2;
        double x = axis->whole ? floor((low.x + high.x) / 2) : unscaled(axis, u);
        bool done = axis->whole ? high.x - low.x <= 1
                                : scaled(axis, high.x) - scaled(axis, low.x) < CLOSE_ENOUGH;
        if (done)
            break;
        struct crossover_point middle;
        enum status status = look(ways, x, &middle, error);
        if (status)
            return status;
        if (middle.winner == CROSSOVER_UNKNOWN) {
            crossing->kind = CROSSOVER_BRACKET;
            break;
        }
        *(middle.winner == low.winner ? &low : &high) = middle;
    }
    crossing->at = high;
    return STATUS_OK;
}

/* What Brent's solver calls. */
struct solving {
    const struct crossover_axis *axis;
    const struct crossover_ways *ways;
    const struct crossover *crossing;
    struct crossover_point last;
    enum status status;
    struct error *error;
};

/* The ends have run already, and exp(log(x)) is not always x: a time may jump right behind one. */
static const struct crossover_point *end_at(const struct solving *solving, double u)
{
    if (u <= scaled(solving->axis, solving->crossing->before->x))
        return solving->crossing->before;
    return u >= scaled(solving->axis, solving->crossing->after->x) ? solving->crossing->after
                                                                   : NULL;
}

static double solver_function(double u, void *owner)
{
    struct solving *solving = owner;
    if (solving->status)
        return (double)NAN;
    const struct crossover_point *end = end_at(solving, u);
    if (end)
        solving->last = *end;
    else
        solving->status =
            look(solving->ways, unscaled(solving->axis, u), &solving->last, solving->error);
    bool known = !solving->status && solving->last.winner != CROSSOVER_UNKNOWN;
    return known ? log_ratio(&solving->last) : (double)NAN; /* GSL then stops with GSL_EBADFUNC */
}

/* Runs the solver from a bracket; false: a run inside it failed. */
static bool converge(gsl_root_fsolver *solver, gsl_function *function,
                     const struct crossover *crossing)
{
    const struct solving *solving = function->params;
    double low = scaled(solving->axis, crossing->before->x);
    double high = scaled(solving->axis, crossing->after->x);
    if (gsl_root_fsolver_set(solver, function, low, high))
        return false;
    for (int turn = 0; turn < MAX_TURNS; turn++) {
        if (gsl_root_fsolver_iterate(solver))
            return false;
        if (gsl_root_test_interval(gsl_root_fsolver_x_lower(solver),
                                   gsl_root_fsolver_x_upper(solver), CLOSE_ENOUGH,
                                   0) == GSL_SUCCESS)
            break;
    }
    return true;
}

static enum status solve(const struct crossover_axis *axis, const struct crossover_ways *ways,
                         struct crossover *crossing, struct error *error)
{
    struct solving solving = {.axis = axis, .ways = ways, .crossing = crossing, .error = error};
    gsl_function function = {.function = solver_function, .params = &solving};
    gsl_root_fsolver *solver = gsl_root_fsolver_alloc(gsl_root_fsolver_brent);
    if (!solver)
        return error_set(error, STATUS_NOMEM, "out of memory");
    bool found = converge(solver, &function, crossing);
    double root = found ? gsl_root_fsolver_root(solver) : 0;
    gsl_root_fsolver_free(solver);
    if (solving.status)
        return solving.status;
    if (found) {
        enum status status = look(ways, unscaled(axis, root), &crossing->at, error);
        if (status)
            return status;
        found = crossing->at.winner != CROSSOVER_UNKNOWN;
    }
    if (!found)
        crossing->kind = CROSSOVER_BRACKET;
    else if (fabs(log_ratio(&crossing->at)) > CROSSOVER_JUMP)
        crossing->kind = CROSSOVER_STEP;
    return STATUS_OK;
}

static enum status refine(const struct crossover_axis *axis, const struct crossover_ways *ways,
                          struct crossover *crossing, struct error *error)
{
    bool edge =
        crossing->before->winner == CROSSOVER_LEVEL || crossing->after->winner == CROSSOVER_LEVEL;
    crossing->kind = edge ? CROSSOVER_EDGE : axis->whole ? CROSSOVER_WHOLE : CROSSOVER_ZERO;
    enum status status = edge || axis->whole ? bisect(axis, ways, crossing, error)
                                             : solve(axis, ways, crossing, error);
    if (!status && crossing->kind == CROSSOVER_BRACKET)
        crossing->at = *crossing->after;
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The next point that runs, from i on; point_count if there is none. */
static size_t next_point(const struct crossover_result *result, size_t i)
{
    while (i < result->point_count && result->points[i].winner == CROSSOVER_UNKNOWN)
        i++;
    return i;
}

/* A single level point between two that are not is where the lines cross or touch, not a stretch.
 */
static bool is_touch(const struct crossover_result *result, size_t before, size_t at)
{
    size_t after = next_point(result, at + 1);
    return result->points[at].winner == CROSSOVER_LEVEL &&
           result->points[before].winner != CROSSOVER_LEVEL && after < result->point_count &&
           result->points[after].winner != CROSSOVER_LEVEL;
}

static enum status look_between(const struct crossover_axis *axis,
                                const struct crossover_ways *ways, struct crossover_result *result,
                                struct error *error)
{
    size_t last = next_point(result, 0);
    for (size_t i = next_point(result, last + 1); i < result->point_count;
         i = next_point(result, i + 1)) {
        if (is_touch(result, last, i))
            continue;
        if (result->points[i].winner != result->points[last].winner) {
            struct crossover *crossing = &result->crossings[result->crossing_count];
            crossing->before = &result->points[last];
            crossing->after = &result->points[i];
            enum status status = refine(axis, ways, crossing, error);
            if (status)
                return status;
            result->crossing_count++;
        }
        last = i;
    }
    return STATUS_OK;
}

enum status crossover_find(const struct crossover_axis *axis, const struct crossover_ways *ways,
                           struct crossover_result *ret, struct error *error)
{
    size_t count = 0;
    enum status status = check_axis(axis, &count, error);
    if (status)
        return status;
    gsl_set_error_handler_off();
    struct crossover_result result = {.points = calloc(count, sizeof *result.points),
                                      .crossings = calloc(count, sizeof *result.crossings)};
    status = result.points && result.crossings ? look_at_grid(axis, ways, count, &result, error)
                                               : error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = look_between(axis, ways, &result, error);
    if (status)
        crossover_free(&result);
    else
        *ret = result;
    return status;
}

void crossover_free(struct crossover_result *result)
{
    free(result->points);
    free(result->crossings);
    *result = (struct crossover_result){0};
}
