/* design.h: the points of a sweep: which value each axis has at point 0, 1, 2, ...
 *
 * Axes with a list of values make a grid: the last axis changes fastest. Axes with a range are
 * drawn together, `samples` times, and each sample is crossed with the grid, samples slowest. A
 * range is drawn by
 *
 *   Latin hypercube   each range is cut into `samples` equal parts, each part is used once, and
 *                     parts are joined at random (McKay, Beckman, Conover 1979; random numbers:
 *                     gsl_rng_mt19937 with the given seed)
 *   Sobol             the quasi-random sequence of gsl_qrng_sobol (Bratley and Fox 1988), which
 *                     fills the space evenly; no seed; at most 40 ranges
 *
 * A point depends on its number alone, so any thread, shard or process can do it.
 *
 * Shards: runs of points are dealt out in turn, so that shards cost about the same whichever axis
 * makes points dear, and a run still shares what its points have in common.
 */
#ifndef GDSIM_STUDY_DESIGN_H
#define GDSIM_STUDY_DESIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

#define DESIGN_MAX_AXES    64
#define DESIGN_MAX_POINTS  ((uint64_t)1 << 40)
#define DESIGN_MAX_SAMPLES ((uint64_t)10 * 1000 * 1000)

enum design_method { DESIGN_GRID, DESIGN_LATIN, DESIGN_SOBOL };

struct design_axis {
    size_t count; /* values; of a range unused */
    bool range;
    bool logarithmic, whole; /* of a range: factors alike; whole numbers only */
    double low, high;
};

struct design {
    struct design_axis axis[DESIGN_MAX_AXES];
    size_t count, ranges;
    uint64_t samples; /* 1 without ranges */
    uint64_t points;
    double *drawn; /* [sample][range], from 0 to 1 */
};

/* `axes` of `method`; seed and samples matter where there are ranges. For design_free. */
enum status design_init(struct design *design, const struct design_axis *axes, size_t count,
                        enum design_method method, uint64_t samples, uint64_t seed,
                        struct error *error);
void design_free(struct design *design);

/* Of each axis at a point: the place of its value, or of a range the number. */
struct design_value {
    size_t index;
    double number;
};
void design_at(const struct design *design, uint64_t point, struct design_value *ret_values);

/* Shard `number` (from 1) of `of`. So many at most that one process can read all at once. */
enum { SHARDS_MAX = 4096 };
struct shard {
    uint64_t points; /* of the design */
    uint64_t number, of;
    uint64_t run;   /* points that stay together */
    uint64_t count; /* points of this shard */
};
struct shard shard_make(uint64_t points, uint64_t number, uint64_t of);
/* The point that is the shard's `place`-th. */
uint64_t shard_point(const struct shard *shard, uint64_t place);

#endif
