/* design.c: see design.h. */
#include "sim/study/design.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_qrng.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

enum { SOBOL_MAX_RANGES = 40, RUN_MAX = 64, RUNS_PER_SHARD = 16 };

/* ---- drawing --------------------------------------------------------------------------------- */

static enum status draw_latin(struct design *design, uint64_t seed, struct error *error)
{
    size_t samples = (size_t)design->samples;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    uint32_t *part = malloc(samples * sizeof *part);
    enum status status = rng && part ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    if (rng)
        gsl_rng_set(rng, (unsigned long)seed);
    for (size_t range = 0; range < design->ranges && !status; range++) {
        for (size_t i = 0; i < samples; i++)
            part[i] = (uint32_t)i;
        gsl_ran_shuffle(rng, part, samples, sizeof *part);
        for (size_t i = 0; i < samples; i++)
            design->drawn[i * design->ranges + range] =
                (part[i] + gsl_rng_uniform(rng)) / (double)samples;
    }
    free(part);
    gsl_rng_free(rng);
    return status;
}

static enum status draw_sobol(struct design *design, struct error *error)
{
    if (design->ranges > SOBOL_MAX_RANGES)
        return error_set(error, STATUS_INPUT, "a Sobol sequence has at most %d ranges, not %zu",
                         SOBOL_MAX_RANGES, design->ranges);
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)design->ranges);
    if (!sequence)
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < design->samples; i++)
        gsl_qrng_get(sequence, &design->drawn[i * design->ranges]);
    gsl_qrng_free(sequence);
    return STATUS_OK;
}

enum status design_init(struct design *design, const struct design_axis *axes, size_t count,
                        enum design_method method, uint64_t samples, uint64_t seed,
                        struct error *error)
{
    memset(design, 0, sizeof *design);
    if (count > DESIGN_MAX_AXES)
        return error_set(error, STATUS_INPUT, "a sweep has at most %d axes", DESIGN_MAX_AXES);
    if (count > 0)
        memcpy(design->axis, axes, count * sizeof *axes);
    design->count = count;
    for (size_t i = 0; i < count; i++)
        design->ranges += axes[i].range;
    design->samples = design->ranges > 0 ? samples : 1;
    if (design->ranges > 0 && (method == DESIGN_GRID || samples == 0)) {
        error_set(error, STATUS_INPUT, "a range needs to be sampled");
        return error_hint(error, "--lhs 1000 or --sobol 1000; or give the range a factor (x2) or a "
                                 "step (+1)");
    }
    if (design->samples > DESIGN_MAX_SAMPLES)
        return error_set(error, STATUS_INPUT, "more than %llu samples",
                         (unsigned long long)DESIGN_MAX_SAMPLES);
    design->points = design->samples;
    for (size_t i = 0; i < count; i++) {
        if (axes[i].range)
            continue;
        if (axes[i].count > DESIGN_MAX_POINTS / design->points)
            return error_set(error, STATUS_INPUT, "the sweep has more than %.3g points",
                             (double)DESIGN_MAX_POINTS);
        design->points *= axes[i].count;
    }
    if (design->ranges == 0)
        return STATUS_OK;
    design->drawn = malloc((size_t)design->samples * design->ranges * sizeof *design->drawn);
    if (!design->drawn)
        return error_set(error, STATUS_NOMEM, "out of memory");
    enum status status =
        method == DESIGN_LATIN ? draw_latin(design, seed, error) : draw_sobol(design, error);
    if (status)
        design_free(design);
    return status;
}

void design_free(struct design *design)
{
    free(design->drawn);
    memset(design, 0, sizeof *design);
}

/* ---- points ---------------------------------------------------------------------------------- */

/* From 0..1 to the range; the ends are never left, whatever is rounded. */
static double in_range(const struct design_axis *axis, double u)
{
    double number = axis->logarithmic ? axis->low * pow(axis->high / axis->low, u)
                                      : axis->low + (axis->high - axis->low) * u;
    if (axis->whole) /* each whole number equally often */
        number =
            floor(axis->logarithmic ? number + 0.5 : axis->low + (axis->high - axis->low + 1) * u);
    return fmin(fmax(number, axis->low), axis->high);
}

void design_at(const struct design *design, uint64_t point, struct design_value *ret_values)
{
    size_t range = design->ranges;
    for (size_t i = design->count; i-- > 0;) {
        const struct design_axis *axis = &design->axis[i];
        if (axis->range)
            continue;
        ret_values[i] = (struct design_value){.index = (size_t)(point % axis->count)};
        point /= axis->count;
    }
    for (size_t i = design->count; i-- > 0;) /* what is left of point is the sample */
        if (design->axis[i].range)
            ret_values[i] = (struct design_value){
                .number = in_range(&design->axis[i],
                                   design->drawn[(size_t)point * design->ranges + --range])};
}

/* ---- shards ---------------------------------------------------------------------------------- */

struct shard shard_make(uint64_t points, uint64_t number, uint64_t of)
{
    uint64_t run = points / (of * RUNS_PER_SHARD);
    run = run < 1 ? 1 : run > RUN_MAX ? RUN_MAX : run;
    run = of == 1 ? (points ? points : 1) : run;
    struct shard shard = {.points = points, .number = number, .of = of, .run = run};
    uint64_t round = run * of, left = points % round, first = (number - 1) * run;
    shard.count =
        points / round * run + (left > first ? left - first < run ? left - first : run : 0);
    return shard;
}

uint64_t shard_point(const struct shard *shard, uint64_t place)
{
    return (place / shard->run * shard->of + shard->number - 1) * shard->run + place % shard->run;
}
