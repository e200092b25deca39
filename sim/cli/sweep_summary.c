/* sweep_summary.c: see sweep_summary.h. The comparisons are those of sim/study/digest.h. */
#include "sim/cli/sweep_summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/units.h"
#include "sim/study/digest.h"

enum { STEPS_PER_AXIS = 4, STEPS_SHOWN = 12, CHANGES_SHOWN = 6 };
#define PLATEAU 0.95

struct summary {
    const struct sweep *sweep;
    const double *time_us;
    struct text text;
};

/* ---- words ----------------------------------------------------------------------------------- */

static const char *axis_title(const struct sweep_axis *axis)
{
    return axis->from->kind == AXIS_RATE ? "NIC rate" : axis->from->key;
}

static const char *value_text(const struct sweep_axis *axis, struct design_value value,
                              char *buffer, size_t size)
{
    if (!axis->from->numeric)
        return axis->from->values[value.index].text;
    char number[UNITS_TEXT_MAX];
    if (axis->from->kind == AXIS_RATE) { /* as NICs are sold */
        snprintf(buffer, size, "%.6g Gb/s", sweep_number(axis, &value) * 8e-9);
        return buffer;
    }
    snprintf(
        buffer, size, "%s",
        units_format(sweep_number(axis, &value), axis->from->dimension, number, sizeof number));
    return buffer;
}

static bool varies(const struct sweep *sweep, size_t axis)
{
    return sweep->design.axis[axis].range || sweep->design.axis[axis].count > 1;
}

/* ": nodes 8, NIC rate 50 GB/s, mechanism gdr": what sets the point apart. */
static void print_point(struct summary *summary, uint64_t point)
{
    const struct sweep *sweep = summary->sweep;
    struct design_value values[AXES_MAX];
    char buffer[64];
    const char *comma = ": ";
    design_at(&sweep->design, point, values);
    for (size_t i = 0; i < sweep->count; i++) {
        if (!varies(sweep, i) || i == sweep->size_axis)
            continue;
        text_printf(&summary->text, "%s%s %s", comma, axis_title(&sweep->axis[i]),
                    value_text(&sweep->axis[i], values[i], buffer, sizeof buffer));
        comma = ", ";
    }
    text_printf(&summary->text, "\n");
}

/* ---- fastest, slowest, plateau --------------------------------------------------------------- */

static double algbw_GBps(const struct summary *summary, uint64_t point)
{
    const struct sweep *sweep = summary->sweep;
    struct design_value values[AXES_MAX];
    design_at(&sweep->design, point, values);
    double size_B = sweep_number(&sweep->axis[sweep->size_axis], &values[sweep->size_axis]);
    return size_B / summary->time_us[point] / 1e3;
}

/* Sizes of the fastest point's row: from which on the bandwidth stays within 5 % of its most. */
static void print_plateau(struct summary *summary, uint64_t fastest)
{
    const struct sweep *sweep = summary->sweep;
    const struct axis *sizes = sweep->axis[sweep->size_axis].from;
    uint64_t stride = design_stride(&sweep->design, sweep->size_axis);
    uint64_t base = fastest - (fastest / stride % sizes->count) * stride;
    double most = 0, from_B = (double)NAN;
    char size[UNITS_TEXT_MAX];
    for (size_t i = 0; i < sizes->count; i++)
        if (summary->time_us[base + i * stride] > 0)
            most = fmax(most, algbw_GBps(summary, base + i * stride));
    for (size_t i = 0; i < sizes->count; i++) {
        double size_B = sizes->values[i].number;
        if (summary->time_us[base + i * stride] > 0 && !(size_B >= from_B) &&
            algbw_GBps(summary, base + i * stride) >= PLATEAU * most)
            from_B = size_B;
    }
    text_printf(&summary->text,
                "  plateau of the fastest: algbw %.2f GB/s, within 5 %% of it from %s on\n", most,
                units_format(from_B, DIM_BYTES, size, sizeof size));
}

static void print_ends(struct summary *summary)
{
    const struct sweep *sweep = summary->sweep;
    const struct axis *sizes = sweep->axis[sweep->size_axis].from;
    char size[UNITS_TEXT_MAX];
    size_t largest = 0;
    uint64_t ends[2] = {0, 0};
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->values[i].number > sizes->values[largest].number)
            largest = i;
    size_t axis = sizes->sampled ? SIZE_MAX : sweep->size_axis;
    if (!digest_ends(&sweep->design, summary->time_us, axis, largest, &ends[0], &ends[1]))
        return;
    if (sizes->sampled)
        text_printf(&summary->text, "\nOf all points\n");
    else
        text_printf(&summary->text, "\nAt %s%s\n",
                    units_format(sizes->values[largest].number, DIM_BYTES, size, sizeof size),
                    sizes->count > 1 ? ", the largest size" : "");
    for (int i = 0; i < 2; i++) {
        text_printf(&summary->text, "  %s %.2f us, algbw %.2f GB/s", i ? "slowest" : "fastest",
                    summary->time_us[ends[i]], algbw_GBps(summary, ends[i]));
        print_point(summary, ends[i]);
    }
    if (!sizes->sampled && sizes->count > 1)
        print_plateau(summary, ends[0]);
}

/* ---- what a step buys ------------------------------------------------------------------------ */

struct step_row {
    size_t axis, from, to;
    struct digest_step step;
};

static int by_mean(const void *a, const void *b)
{
    const struct step_row *x = a, *y = b;
    if (x->step.mean > y->step.mean || x->step.mean < y->step.mean)
        return x->step.mean < y->step.mean ? 1 : -1;
    return x->axis != y->axis ? (x->axis > y->axis) - (x->axis < y->axis)
                              : (x->from > y->from) - (x->from < y->from);
}

/* A step that makes slower is one the other way round. */
static struct step_row make_step(const struct summary *summary, size_t axis, size_t from, size_t to)
{
    const struct design *design = &summary->sweep->design;
    struct step_row row = {axis, from, to, digest_step(design, summary->time_us, axis, from, to)};
    if (row.step.mean < 1) {
        row = (struct step_row){axis, to, from,
                                digest_step(design, summary->time_us, axis, to, from)};
    }
    return row;
}

static bool is_upgrade(const struct sweep *sweep, size_t axis)
{
    const struct axis *from = sweep->axis[axis].from;
    return (sweep->axis[axis].role == ROLE_NUMBER || sweep->axis[axis].role == ROLE_STRUCTURE) &&
           varies(sweep, axis) && strcmp(from->key, "nodes") != 0 && !from->sampled;
}

/* Steps between at most five values of an axis of numbers; of words each against the first. */
static size_t steps_of(const struct summary *summary, size_t axis, struct step_row *rows)
{
    const struct axis *from = summary->sweep->axis[axis].from;
    size_t steps = from->count - 1 < STEPS_PER_AXIS ? from->count - 1 : STEPS_PER_AXIS, count = 0;
    for (size_t i = 0; i < steps; i++) {
        size_t low = from->numeric ? i * (from->count - 1) / steps : 0;
        size_t high = (i + 1) * (from->count - 1) / steps;
        struct step_row row = make_step(summary, axis, low, from->numeric ? high : i + 1);
        if (row.step.pairs > 0)
            rows[count++] = row;
    }
    return count;
}

static void print_steps(struct summary *summary)
{
    static const struct grid_column columns[] = {
        {.name = "axis", .kind = GRID_TEXT},
        {.name = "from", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT},
        {.name = "to", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT},
        {.name = "mean", .title = "times faster", .kind = GRID_REAL, .decimals = 3},
        {.name = "least", .kind = GRID_REAL, .decimals = 3},
        {.name = "most", .kind = GRID_REAL, .decimals = 3}};
    const struct sweep *sweep = summary->sweep;
    struct step_row rows[AXES_MAX * STEPS_PER_AXIS];
    size_t count = 0;
    char buffer[64];
    for (size_t i = 0; i < sweep->count; i++)
        if (is_upgrade(sweep, i))
            count += steps_of(summary, i, rows + count);
    if (count == 0)
        return;
    qsort(rows, count, sizeof rows[0], by_mean);
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < count && i < STEPS_SHOWN; i++) {
        const struct sweep_axis *axis = &sweep->axis[rows[i].axis];
        grid_row(grid);
        grid_set_text(grid, 0, axis_title(axis));
        for (size_t end = 0; end < 2; end++) {
            struct design_value value = {.index = end ? rows[i].to : rows[i].from};
            grid_set_text(grid, 1 + end, value_text(axis, value, buffer, sizeof buffer));
        }
        grid_set_real(grid, 3, rows[i].step.mean);
        grid_set_real(grid, 4, rows[i].step.least);
        grid_set_real(grid, 5, rows[i].step.most);
    }
    text_printf(&summary->text,
                "\nWhat a step buys, other things equal (geometric mean, least, most)\n");
    grid_write_table(grid, &summary->text, NULL);
    grid_free(grid);
}

/* How the time goes with each range that was sampled. */
static void print_slopes(struct summary *summary)
{
    const struct sweep *sweep = summary->sweep;
    if (sweep->design.ranges == 0)
        return;
    text_printf(&summary->text, "\nHow the time goes with what was sampled (least squares)\n");
    for (size_t i = 0; i < sweep->count; i++) {
        if (!sweep->design.axis[i].range)
            continue;
        struct digest_slope slope = digest_slope(&sweep->design, summary->time_us, i);
        const char *title = axis_title(&sweep->axis[i]);
        if (slope.points <= 2)
            continue;
        if (sweep->design.axis[i].low > 0)
            text_printf(&summary->text, "  %s: time ~ value^%.3f, explains %.0f %%\n", title,
                        slope.power, 100 * slope.explains);
        else
            text_printf(&summary->text, "  %s: end to end %.3f times slower, explains %.0f %%\n",
                        title,
                        exp(slope.power * (sweep->design.axis[i].high - sweep->design.axis[i].low)),
                        100 * slope.explains);
    }
}

/* ---- who wins -------------------------------------------------------------------------------- */

static void print_changes(struct summary *summary, size_t axis)
{
    const struct sweep *sweep = summary->sweep;
    size_t shown = 0;
    char a[64], b[64];
    for (size_t along = 0; along < sweep->count; along++) {
        const struct sweep_axis *other = &sweep->axis[along];
        if (along == axis || !varies(sweep, along) || sweep->design.axis[along].range ||
            !other->from->numeric)
            continue;
        size_t count = other->from->count;
        uint64_t *changes = calloc(count, sizeof *changes);
        if (!changes)
            return;
        uint64_t each =
            digest_changes(&sweep->design, summary->time_us, axis, along, changes) / (count - 1);
        for (size_t i = 0; i + 1 < count && shown < CHANGES_SHOWN; i++) {
            if (changes[i] == 0)
                continue;
            text_printf(&summary->text,
                        "  changes between %s %s and %s: in %" PRIu64 " of about %" PRIu64
                        " rows\n",
                        axis_title(other),
                        value_text(other, (struct design_value){.index = i}, a, sizeof a),
                        value_text(other, (struct design_value){.index = i + 1}, b, sizeof b),
                        changes[i], each);
            shown++;
        }
        free(changes);
    }
}

static void print_winners(struct summary *summary, size_t axis)
{
    const struct sweep *sweep = summary->sweep;
    if (axis == SIZE_MAX || !varies(sweep, axis))
        return;
    const struct axis *from = sweep->axis[axis].from;
    uint64_t *wins = calloc(from->count, sizeof *wins);
    if (!wins)
        return;
    uint64_t compared = digest_wins(&sweep->design, summary->time_us, axis, wins);
    text_printf(&summary->text, "\nFastest %s of %" PRIu64 " comparisons:", from->key, compared);
    const char *comma = " ";
    for (size_t i = 0; i < from->count; i++)
        if (wins[i] > 0) {
            text_printf(&summary->text, "%s%s %" PRIu64, comma, from->values[i].text, wins[i]);
            comma = ", ";
        }
    text_printf(&summary->text, "\n");
    print_changes(summary, axis);
    free(wins);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void print_count(struct summary *summary, const struct sweep_file *file)
{
    const struct sweep *sweep = summary->sweep;
    uint64_t failed = 0;
    const char *path = file->path ? file->path : "standard output";
    for (uint64_t i = 0; summary->time_us && i < file->end; i++)
        failed += isnan(summary->time_us[i]) ? 1u : 0u;
    text_printf(&summary->text, "%" PRIu64 " points in %s", file->end, path);
    if (failed > 0)
        text_printf(&summary->text,
                    ", of which %" PRIu64 " did not run (columns status and reason say why)",
                    failed);
    text_printf(&summary->text, "\n");
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->axis[i].values > 1)
            text_printf(&summary->text, "%s: %zu values of the machine\n",
                        axis_title(&sweep->axis[i]), sweep->axis[i].values);
    if (sweep->design.ranges > 0 && sweep->axes.method == AXES_LATIN)
        text_printf(&summary->text, "Latin hypercube of %" PRIu64 " samples, seed %" PRIu64 "\n",
                    sweep->design.samples, sweep->axes.seed);
    else if (sweep->design.ranges > 0)
        text_printf(&summary->text, "Sobol sequence of %" PRIu64 " samples\n",
                    sweep->design.samples);
}

void sweep_summary(const struct sweep *sweep, const struct sweep_file *file, uint64_t before,
                   double seconds)
{
    struct summary summary = {.sweep = sweep, .time_us = file->time_us};
    /* A rate is another one each time: for people only. */
    if (isatty(STDERR_FILENO) && !file->complete && seconds > 0)
        fprintf(stderr, "%.3g s, %.4g points/s\n", seconds, (double)(file->end - before) / seconds);
    print_count(&summary, file);
    if (sweep->shard.of > 1) {
        text_printf(&summary.text,
                    "shard %" PRIu64 " of %" PRIu64 ", of %" PRIu64
                    " points; gdsim merge puts them together\n",
                    sweep->shard.number, sweep->shard.of, sweep->shard.points);
    } else if (!summary.time_us) {
        text_printf(&summary.text, "too many points for more of a summary\n");
    } else {
        print_ends(&summary);
        print_steps(&summary);
        print_slopes(&summary);
        print_winners(&summary, sweep->mechanism_axis);
        print_winners(&summary, sweep->algorithm_axis);
    }
    if (!summary.text.failed)
        fputs(summary.text.data, file->path ? stdout : stderr);
    text_free(&summary.text);
}
