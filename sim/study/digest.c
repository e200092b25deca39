/* digest.c: see digest.h. */
#include "sim/study/digest.h"

#include <math.h>
#include <stdlib.h>

#include <gsl/gsl_fit.h>

#define NOBODY SIZE_MAX

uint64_t design_stride(const struct design *design, size_t axis)
{
    uint64_t stride = 1;
    for (size_t i = axis + 1; i < design->count; i++)
        if (!design->axis[i].range)
            stride *= design->axis[i].count;
    return stride;
}

static size_t index_at(const struct design *design, uint64_t point, size_t axis, uint64_t stride)
{
    return (size_t)(point / stride % design->axis[axis].count);
}

struct digest_step digest_step(const struct design *design, const double *times, size_t axis,
                               size_t from, size_t to)
{
    struct digest_step step = {0, 0, HUGE_VAL, 0};
    uint64_t stride = design_stride(design, axis), row = stride * design->axis[axis].count;
    double sum = 0;
    for (uint64_t base = 0; base < design->points; base += row)
        for (uint64_t i = 0; i < stride; i++) {
            double before = times[base + from * stride + i], after = times[base + to * stride + i];
            if (!(before > 0) || !(after > 0))
                continue;
            double faster = before / after;
            sum += log(faster);
            step.least = fmin(step.least, faster);
            step.most = fmax(step.most, faster);
            step.pairs++;
        }
    step.mean = step.pairs > 0 ? exp(sum / (double)step.pairs) : (double)NAN;
    if (step.pairs == 0)
        step.least = step.most = (double)NAN;
    return step;
}

struct digest_slope digest_slope(const struct design *design, const double *times, size_t axis)
{
    struct digest_slope slope = {0, (double)NAN, (double)NAN};
    uint64_t cells = design->points / design->samples;
    bool has_zero = !(design->axis[axis].low > 0);
    double *x = malloc((size_t)design->points * sizeof *x);
    double *y = malloc((size_t)design->points * sizeof *y);
    for (uint64_t cell = 0; x && y && cell < cells; cell++) {
        double sum = 0;
        uint64_t first = slope.points;
        for (uint64_t sample = 0; sample < design->samples; sample++) {
            struct design_value values[DESIGN_MAX_AXES];
            uint64_t point = sample * cells + cell;
            if (!(times[point] > 0))
                continue;
            design_at(design, point, values);
            x[slope.points] = has_zero ? values[axis].number : log(values[axis].number);
            y[slope.points] = log(times[point]);
            sum += y[slope.points++];
        }
        for (uint64_t i = first; i < slope.points; i++)
            y[i] -= sum / (double)(slope.points - first);
    }
    if (x && y && slope.points > 2) {
        double c0, c1, cov00, cov01, cov11, rest, all = 0;
        gsl_fit_linear(x, 1, y, 1, (size_t)slope.points, &c0, &c1, &cov00, &cov01, &cov11, &rest);
        for (uint64_t i = 0; i < slope.points; i++)
            all += y[i] * y[i];
        slope.power = c1;
        slope.explains = all > 0 ? fmax(0, 1 - rest / all) : 0;
    }
    free(x);
    free(y);
    return slope;
}

/* The fastest value of the axis where everything else is as at `point`. */
static size_t winner(const struct design *design, const double *times, size_t axis, uint64_t point,
                     uint64_t stride)
{
    size_t best = NOBODY;
    uint64_t base = point - index_at(design, point, axis, stride) * stride;
    for (size_t i = 0; i < design->axis[axis].count; i++) {
        double time = times[base + i * stride];
        if (time > 0 && (best == NOBODY || time < times[base + best * stride]))
            best = i;
    }
    return best;
}

uint64_t digest_wins(const struct design *design, const double *times, size_t axis,
                     uint64_t *ret_wins)
{
    uint64_t stride = design_stride(design, axis), compared = 0;
    for (size_t i = 0; i < design->axis[axis].count; i++)
        ret_wins[i] = 0;
    for (uint64_t point = 0; point < design->points; point++) {
        if (index_at(design, point, axis, stride) != 0)
            continue;
        size_t best = winner(design, times, axis, point, stride);
        if (best == NOBODY)
            continue;
        ret_wins[best]++;
        compared++;
    }
    return compared;
}

uint64_t digest_changes(const struct design *design, const double *times, size_t axis, size_t along,
                        uint64_t *ret_changes)
{
    uint64_t stride = design_stride(design, axis), step = design_stride(design, along);
    uint64_t compared = 0;
    size_t count = design->axis[along].count;
    for (size_t i = 0; i + 1 < count; i++)
        ret_changes[i] = 0;
    for (uint64_t point = 0; point < design->points; point++) {
        size_t at = index_at(design, point, along, step);
        if (index_at(design, point, axis, stride) != 0 || at + 1 == count)
            continue;
        size_t here = winner(design, times, axis, point, stride);
        size_t there = winner(design, times, axis, point + step, stride);
        if (here == NOBODY || there == NOBODY)
            continue;
        compared++;
        ret_changes[at] += here != there;
    }
    return compared;
}

bool digest_ends(const struct design *design, const double *times, size_t axis, size_t index,
                 uint64_t *ret_fastest, uint64_t *ret_slowest)
{
    uint64_t stride = axis == SIZE_MAX ? 1 : design_stride(design, axis);
    bool some = false;
    for (uint64_t point = 0; point < design->points; point++) {
        if (!(times[point] > 0) ||
            (axis != SIZE_MAX && index_at(design, point, axis, stride) != index))
            continue;
        if (!some || times[point] < times[*ret_fastest])
            *ret_fastest = point;
        if (!some || times[point] > times[*ret_slowest])
            *ret_slowest = point;
        some = true;
    }
    return some;
}
