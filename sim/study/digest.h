/* digest.h: what the times of a sweep say: what a step along an axis buys, how a range acts, who
 * wins and where that changes.
 *
 * Always other things equal: two points are compared that differ in one axis only. Times are those
 * of all points of the design in their order, NAN where a point did not run; such a point takes
 * part in nothing.
 */
#ifndef GDSIM_STUDY_DIGEST_H
#define GDSIM_STUDY_DIGEST_H

#include "sim/study/design.h"

/* How many times faster value `to` of an axis is than value `from`, over all pairs. */
struct digest_step {
    uint64_t pairs;           /* in which both ran */
    double mean, least, most; /* times faster; mean: the geometric one. NAN without pairs */
};
struct digest_step digest_step(const struct design *design, const double *times, size_t axis,
                               size_t from, size_t to);

/* How the time goes with a range: least squares of ln time against ln value (against the value
 * itself where the range holds 0), after taking out what the grid's axes do. */
struct digest_slope {
    uint64_t points;
    double power;    /* time goes with value^power; of a range with 0: with exp(power * value) */
    double explains; /* share of the variance of ln time, 0 to 1 */
};
struct digest_slope digest_slope(const struct design *design, const double *times, size_t axis);

/* In how many comparisons each value of an axis is the fastest (the first of equals); ret_wins has
 * room for them. Returns the number of comparisons. */
uint64_t digest_wins(const struct design *design, const double *times, size_t axis,
                     uint64_t *ret_wins);

/* In how many places the fastest value of `axis` is another one at value place+1 of axis `along`
 * than at `place`; ret_changes has room for count - 1. Returns how often there were two to compare.
 */
uint64_t digest_changes(const struct design *design, const double *times, size_t axis, size_t along,
                        uint64_t *ret_changes);

/* The points of least and greatest time among those with value `index` of `axis` (SIZE_MAX: all);
 * false when none ran. */
bool digest_ends(const struct design *design, const double *times, size_t axis, size_t index,
                 uint64_t *ret_fastest, uint64_t *ret_slowest);

/* Points apart that neighbours on a grid axis are. */
uint64_t design_stride(const struct design *design, size_t axis);

#endif
