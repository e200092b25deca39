/* crossover_write.c: see crossover.h: why the faster way changes, for people and for programs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/crossover.h"
#include "sim/report/grid.h"
#include "sim/report/head.h"
#include "sim/report/limit.h"

/* ---- why ------------------------------------------------------------------------------------ */

/* The critical path of one run, by category. */
struct path_parts {
    size_t count, largest;
    double total_us;
    struct part {
        char name[LIMIT_NAME_MAX]; /* all that are alike, whose time it is */
        char category[96];         /* of this one alone */
        double us;
    } * parts;
};

static enum status parts_at(struct runner *runner, double x, int way, struct path_parts *ret,
                            struct error *error)
{
    struct results results;
    bool runs;
    *ret = (struct path_parts){0};
    enum status status = crossover_run_at(runner, x, way, &results, &runs, error);
    if (status || !runs)
        return status;
    const struct ledger *ledger = results_at(&results, 0, 0);
    size_t count = ledger->traced ? ledger->resource_count + CATEGORY_COUNT : 0;
    ret->parts = calloc(count + 1, sizeof *ret->parts);
    if (!ret->parts)
        status = error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        int64_t critical_ps;
        snprintf(ret->parts[i].category, sizeof ret->parts[i].category, "%s",
                 ledger_category_name(ledger, results.machine, i));
        limit_name(ledger, results.machine, i, ret->parts[i].name, &critical_ps);
        ret->parts[i].us = (double)critical_ps * 1e-6;
    }
    if (!status) {
        ret->count = count;
        ret->largest = count ? limit_category(ledger, results.machine) : 0;
        ret->total_us = (double)ledger->total_ps * 1e-6;
    }
    experiment_free_results(&results);
    return status;
}

static double part_of(const struct path_parts *path, const char *category)
{
    for (size_t i = 0; i < path->count; i++)
        if (strcmp(path->parts[i].category, category) == 0)
            return path->parts[i].us;
    return 0;
}

/* The category that changes most from one run to the other, with the sign of the whole change. */
static const struct part *most_changed(const struct path_parts *before,
                                       const struct path_parts *after, double *ret_us)
{
    const struct part *most = NULL;
    double sign = after->total_us < before->total_us ? -1 : 1;
    *ret_us = 0;
    for (size_t i = 0; i < after->count; i++) {
        double change = after->parts[i].us - part_of(before, after->parts[i].category);
        if (sign * change > sign * *ret_us) {
            *ret_us = change;
            most = &after->parts[i];
        }
    }
    for (size_t i = 0; i < before->count; i++) /* parts that are there before only */
        if (sign < 0 && part_of(after, before->parts[i].category) <= 0 &&
            -before->parts[i].us < *ret_us) {
            *ret_us = -before->parts[i].us;
            most = &before->parts[i];
        }
    return most;
}

/* The paths of both ways on both sides of a crossing. */
struct reason {
    struct path_parts side[2][2]; /* [before, after][way] */
};

static void reason_free(struct reason *reason)
{
    for (int i = 0; i < 4; i++)
        free(reason->side[i / 2][i % 2].parts);
}

static enum status reason_find(struct runner *runner, const struct crossover *crossing,
                               struct reason *ret, struct error *error)
{
    enum status status = STATUS_OK;
    memset(ret, 0, sizeof *ret);
    for (int side = 0; side < 2; side++)
        for (int way = 0; way < 2 && !status; way++)
            status = parts_at(runner, side ? crossing->after->x : crossing->before->x, way,
                              &ret->side[side][way], error);
    if (status)
        reason_free(ret);
    return status;
}

static double share(const struct path_parts *path)
{
    return path->count && path->total_us > 0 ? path->parts[path->largest].us / path->total_us : 0;
}

static const char *largest(const struct path_parts *path)
{
    return path->count ? path->parts[path->largest].name : NULL;
}

/* ---- for people ----------------------------------------------------------------------------- */

static const char *winner_name(const struct runner *runner, enum crossover_winner winner)
{
    return winner == CROSSOVER_LEVEL     ? "neither"
           : winner == CROSSOVER_UNKNOWN ? "unknown"
                                         : runner->way[winner].name;
}

static void write_reason(struct text *text, const struct runner *runner,
                         const struct crossover *crossing, const struct reason *reason)
{
    char from[64], to[64];
    crossover_place(runner->axis, crossing->before->x, from, sizeof from);
    crossover_place(runner->axis, crossing->after->x, to, sizeof to);
    text_printf(text, "  why, from %s to %s:\n", from, to);
    for (int way = 0; way < 2; way++) {
        const struct path_parts *before = &reason->side[0][way], *after = &reason->side[1][way];
        double change, total = after->total_us - before->total_us;
        const struct part *most = most_changed(before, after, &change);
        text_printf(text, "    %s ", runner->way[way].name);
        if (!before->parts || !after->parts)
            text_printf(text, "does not run at both");
        else if (fabs(total) < 5e-7 * before->total_us)
            text_printf(text, "takes the same time");
        else
            text_printf(text, "takes %.6g us %s", fabs(total), total < 0 ? "less" : "more");
        if (fabs(total) >= 5e-7 * before->total_us && before->count && after->count && most)
            text_printf(text, ", the most of it in %s (%.6g us %s)", most->name, fabs(change),
                        change < 0 ? "less" : "more");
        else if (before->parts && after->parts && (!before->count || !after->count))
            text_printf(text, "; too many transfers to say in what");
        if (before->count && after->count && strcmp(largest(before), largest(after)) == 0)
            text_printf(text, "; its largest part stays %s (%.0f %%, then %.0f %%)\n",
                        largest(before), 100 * share(before), 100 * share(after));
        else if (before->count && after->count)
            text_printf(text, "; its largest part is %s (%.0f %%), then %s (%.0f %%)\n",
                        largest(before), 100 * share(before), largest(after), 100 * share(after));
        else
            text_printf(text, "\n");
    }
}

static void write_crossing(struct text *text, const struct runner *runner,
                           const struct crossover *crossing)
{
    char x[64], low[64], high[64];
    double t0 = crossing->at.time_s[0] * 1e6, t1 = crossing->at.time_s[1] * 1e6;
    const char *first = runner->way[0].name, *second = runner->way[1].name;
    const char *then = winner_name(runner, crossing->after->winner);
    crossover_place(runner->axis, crossing->at.x, x, sizeof x);
    crossover_place(runner->axis, crossing->before->x, low, sizeof low);
    crossover_place(runner->axis, crossing->after->x, high, sizeof high);
    switch (crossing->kind) {
    case CROSSOVER_ZERO:
        text_printf(text, "\nAt %s both take %.6g us; above, %s is faster.\n", x, t0, then);
        break;
    case CROSSOVER_STEP:
        text_printf(text,
                    "\nAt %s one time jumps: here %s takes %.6g us, %s %.6g us; above, %s is "
                    "faster.\n",
                    x, first, t0, second, t1, then);
        break;
    case CROSSOVER_WHOLE:
        text_printf(text, "\nFrom %s on %s is faster: here %s takes %.6g us, %s %.6g us.\n", x,
                    then, first, t0, second, t1);
        break;
    case CROSSOVER_EDGE:
        text_printf(text,
                    "\nFrom %s on %s is faster (by a millionth or more): here %s takes %.6g us, %s "
                    "%.6g us.\n",
                    x, then, first, t0, second, t1);
        break;
    case CROSSOVER_BRACKET:
        text_printf(text,
                    "\nSomewhere from %s to %s, where not both run: above, %s is faster (%s %.6g "
                    "us, %s %.6g us at %s).\n",
                    low, high, then, first, t0, second, t1, high);
        break;
    }
}

/* Least and most gain of the winner over the points from i on that have the same winner. */
static size_t stretch(const struct crossover_result *found, size_t i, double *ret_least,
                      double *ret_most, size_t *ret_most_at)
{
    enum crossover_winner winner = found->points[i].winner;
    *ret_least = *ret_most = crossover_gain(&found->points[i]);
    *ret_most_at = i;
    for (; i < found->point_count && found->points[i].winner == winner; i++) {
        double gain = crossover_gain(&found->points[i]);
        *ret_least = fmin(*ret_least, gain);
        if (gain > *ret_most)
            *ret_most_at = i;
        *ret_most = fmax(*ret_most, gain);
    }
    return i;
}

/* "2.3 %" or "1.5 times". */
static const char *gain_text(double gain, char *buffer, size_t size)
{
    if (gain < 1.1)
        snprintf(buffer, size, "%.2g %%", 100 * (gain - 1));
    else
        snprintf(buffer, size, "%.4g times", gain);
    return buffer;
}

static void write_stretches(struct text *text, const struct runner *runner,
                            const struct crossover_result *found)
{
    double least, most;
    size_t most_at;
    for (size_t i = 0; i < found->point_count;) {
        char low[64], high[64], at[64], little[32], much[32];
        size_t end = stretch(found, i, &least, &most, &most_at);
        enum crossover_winner winner = found->points[i].winner;
        bool all = i == 0 && end == found->point_count;
        crossover_place(runner->axis, found->points[i].x, low, sizeof low);
        crossover_place(runner->axis, found->points[end - 1].x, high, sizeof high);
        crossover_place(runner->axis, found->points[most_at].x, at, sizeof at);
        gain_text(least, little, sizeof little);
        gain_text(most, much, sizeof much);
        if (all && winner == CROSSOVER_LEVEL)
            text_printf(text, "Both take the same time everywhere between %s and %s.\n", low, high);
        else if (all)
            text_printf(text, "%s is faster everywhere between %s and %s, by %s to %s.\n",
                        winner_name(runner, winner), low, high, little, much);
        if (all)
            return;
        bool single = end - i == 1;
        if (!single)
            text_printf(text, "%s to %s: ", low, high);
        else
            text_printf(text, "%s: ", low);
        i = end;
        if (winner == CROSSOVER_UNKNOWN)
            text_printf(text, "not both run\n");
        else if (winner == CROSSOVER_LEVEL)
            text_printf(text, "neither is faster\n");
        else if (single)
            text_printf(text, "%s is faster, by %s\n", winner_name(runner, winner), much);
        else
            text_printf(text, "%s is faster, by up to %s (at %s)\n", winner_name(runner, winner),
                        much, at);
    }
    if (found->crossing_count == 0)
        text_printf(text, "The winner does not change.\n");
}

/* Whole numbers between the points may behave differently: an algorithm may like powers of two. */
static void write_caution(struct text *text, const struct runner *runner,
                          const struct crossover_result *found)
{
    const struct crossover_point *points = found->points;
    size_t last = found->point_count - 1;
    if (runner->axis->range.whole && (double)last < points[last].x - points[0].x)
        text_printf(
            text,
            "(%zu numbers were looked at: %.0f, %.0f ... %.0f; what changes and changes back "
            "between two of them is not seen: --parts %.0f looks at all)\n",
            last + 1, points[0].x, points[1].x, points[last].x, points[last].x - points[0].x);
}

static void write_refusals(struct text *text, const struct runner *runner)
{
    for (int way = 0; way < 2; way++) {
        char at[64], reason[800];
        if (runner->refusals[way] == 0)
            continue;
        cli_reason(&runner->refusal[way], reason, sizeof reason);
        text_printf(text, "%s does not run at %s%s: %s\n", runner->way[way].name,
                    crossover_place(runner->axis, runner->refused_at[way], at, sizeof at),
                    runner->refusals[way] > 1 ? " and elsewhere" : "", reason);
    }
}

static void write_head(struct text *text, const struct runner *runner)
{
    const struct scenario *scenario = &runner->scenario;
    const struct axis *axis = runner->axis;
    char size[UNITS_TEXT_MAX];
    /* A title may count nodes, but here there is no one number of them. */
    if (axis->over == OVER_NODES)
        text_printf(text, "# %s\n", scenario->path);
    else if (scenario->title)
        text_printf(text, "# %s\n", scenario->title);
    text_printf(text, "# %s against %s over %s", runner->way[0].name, runner->way[1].name,
                axis->title);
    if (axis->values > 1)
        text_printf(text, " (%zu values)", axis->values);
    text_printf(text, ", %s accounting", accounting_name(scenario->accounting));
    if (axis->over != OVER_NODES)
        text_printf(text, ", %u ranks", machine_ranks(&scenario->machine));
    if (axis->over != OVER_SIZE)
        text_printf(text, ", %s",
                    units_format(scenario->sizes_B[scenario->size_count - 1], DIM_BYTES, size,
                                 sizeof size));
    if (scenario->transfer_count == 0)
        head_protocol_write(text, &scenario->machine, scenario->accounting);
    text_printf(text, "\n");
}

enum status crossover_write_people(struct text *text, struct runner *runner,
                                   const struct crossover_result *found, struct error *error)
{
    write_head(text, runner);
    write_stretches(text, runner, found);
    write_caution(text, runner, found);
    for (size_t i = 0; i < found->crossing_count; i++) {
        struct reason reason;
        enum status status = reason_find(runner, &found->crossings[i], &reason, error);
        if (status)
            return status;
        write_crossing(text, runner, &found->crossings[i]);
        write_reason(text, runner, &found->crossings[i], &reason);
        reason_free(&reason);
    }
    write_refusals(text, runner);
    return STATUS_OK;
}

/* ---- for programs --------------------------------------------------------------------------- */

/* One row a crossing; one row of kind "none" where there is none. */
enum column {
    COLUMN_KIND,
    COLUMN_AXIS,
    COLUMN_UNIT,
    COLUMN_FROM,
    COLUMN_TO,
    COLUMN_FIRST,
    COLUMN_SECOND,
    COLUMN_ACCOUNTING,
    COLUMN_X,
    COLUMN_TIME_FIRST,
    COLUMN_TIME_SECOND,
    COLUMN_FASTER_BEFORE,
    COLUMN_FASTER_AFTER,
    COLUMN_GAIN_LEAST,
    COLUMN_GAIN_MOST,
    COLUMN_LIMITS, /* and three more: first, second before; first, second after */
};

static const struct grid_column columns[] = {
    {.name = "kind", .kind = GRID_TEXT},
    {.name = "axis", .kind = GRID_TEXT},
    {.name = "unit", .kind = GRID_TEXT},
    {.name = "from", .kind = GRID_REAL},
    {.name = "to", .kind = GRID_REAL},
    {.name = "first", .kind = GRID_TEXT},
    {.name = "second", .kind = GRID_TEXT},
    {.name = "accounting", .kind = GRID_TEXT},
    {.name = "x", .kind = GRID_REAL},
    {.name = "time_first_us", .kind = GRID_REAL},
    {.name = "time_second_us", .kind = GRID_REAL},
    {.name = "faster_before", .kind = GRID_TEXT},
    {.name = "faster_after", .kind = GRID_TEXT},
    {.name = "gain_least", .kind = GRID_REAL},
    {.name = "gain_most", .kind = GRID_REAL},
    {.name = "limit_first_before", .kind = GRID_TEXT},
    {.name = "limit_second_before", .kind = GRID_TEXT},
    {.name = "limit_first_after", .kind = GRID_TEXT},
    {.name = "limit_second_after", .kind = GRID_TEXT},
};

static void start_row(struct grid *grid, const struct runner *runner, const char *kind, double from,
                      double to)
{
    grid_row(grid);
    grid_set_text(grid, COLUMN_KIND, kind);
    grid_set_text(grid, COLUMN_AXIS, runner->axis->name);
    grid_set_text(grid, COLUMN_UNIT, crossover_axis_unit(runner->axis));
    grid_set_real(grid, COLUMN_FROM, from);
    grid_set_real(grid, COLUMN_TO, to);
    grid_set_text(grid, COLUMN_FIRST, runner->way[0].name);
    grid_set_text(grid, COLUMN_SECOND, runner->way[1].name);
    grid_set_text(grid, COLUMN_ACCOUNTING, accounting_name(runner->scenario.accounting));
}

static enum status add_crossing(struct grid *grid, struct runner *runner,
                                const struct crossover *crossing, struct error *error)
{
    static const char *const kinds[] = {"zero", "step", "whole", "edge", "bracket"};
    struct reason reason;
    enum status status = reason_find(runner, crossing, &reason, error);
    if (status)
        return status;
    start_row(grid, runner, kinds[crossing->kind], crossing->before->x, crossing->after->x);
    grid_set_real(grid, COLUMN_X, crossing->at.x);
    grid_set_real(grid, COLUMN_TIME_FIRST, crossing->at.time_s[0] * 1e6);
    grid_set_real(grid, COLUMN_TIME_SECOND, crossing->at.time_s[1] * 1e6);
    grid_set_text(grid, COLUMN_FASTER_BEFORE, winner_name(runner, crossing->before->winner));
    grid_set_text(grid, COLUMN_FASTER_AFTER, winner_name(runner, crossing->after->winner));
    for (size_t i = 0; i < 4; i++)
        grid_set_text(grid, COLUMN_LIMITS + i, largest(&reason.side[i / 2][i % 2]));
    reason_free(&reason);
    return STATUS_OK;
}

static enum status make_grid(struct runner *runner, const struct crossover_result *found,
                             struct grid *grid, struct error *error)
{
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < found->crossing_count; i++) {
        enum status status = add_crossing(grid, runner, &found->crossings[i], error);
        if (status)
            return status;
    }
    if (found->crossing_count == 0) {
        double least = HUGE_VAL, most = 0;
        const struct crossover_point *known = NULL;
        for (size_t i = 0; i < found->point_count; i++) {
            const struct crossover_point *point = &found->points[i];
            if (point->winner == CROSSOVER_UNKNOWN)
                continue;
            if (!known || known->winner == CROSSOVER_LEVEL)
                known = point;
            least = fmin(least, crossover_gain(point));
            most = fmax(most, crossover_gain(point));
        }
        start_row(grid, runner, "none", found->points[0].x,
                  found->points[found->point_count - 1].x);
        grid_set_text(grid, COLUMN_FASTER_BEFORE, winner_name(runner, known->winner));
        grid_set_text(grid, COLUMN_FASTER_AFTER, winner_name(runner, known->winner));
        grid_set_real(grid, COLUMN_GAIN_LEAST, least);
        grid_set_real(grid, COLUMN_GAIN_MOST, most);
    }
    return STATUS_OK;
}

enum status crossover_write_programs(struct text *text, struct runner *runner,
                                     const struct crossover_result *found, struct error *error)
{
    struct text refusals = {0};
    struct grid *grid = grid_new();
    enum status status = make_grid(runner, found, grid, error);
    if (!status)
        status = strcmp(runner->options->shared.format, "csv") == 0
                     ? grid_write_csv(grid, text, error)
                     : grid_write_json(grid, text, error);
    grid_free(grid);
    write_refusals(&refusals, runner);
    if (refusals.length)
        fprintf(stderr, "%s", refusals.data);
    text_free(&refusals);
    return status;
}
