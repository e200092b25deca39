/* eta.h: how long a sweep still takes, by what it has done until now.
 *
 *   done(t) = c t^a    left = t ((all / done)^(1/a) - 1)    a = ln(done / d) / ln(t / s)
 *
 * t: seconds until now, in which `done` of `all` points of this run were finished; d: those of them
 * that were finished at s, about t/8 to t/4. a = 1 is a steady rate, and left = (all - done) t /
 * done. A grid that grows, with nodes on its first axis, has a < 1: later points are dearer, and
 * the rate until now promises too much.
 *
 * Assumptions: a counts from 0.8 down, to 0.2 at least; what changes less is taken as steady, who
 * gets faster is not trusted to, and a long point is no full stop. Points that are drawn at random
 * are all alike: a = 1.
 *
 * Source: ours, tried on four sweeps of 11 to 100 s, at moments 0.2 s apart. Mean factor between
 * what was foretold and what was left, by the rate until now and by this: 16 to 1024 ranks of
 * plan-h100, nodes slowest 7.8 and 2.0, nodes fastest 1.3 and 1.5; worked-table, nodes 2 to 120 one
 * by one 2.9 and 1.1; a steady serial grid of it 1.1 and 1.1. (The rate since half
 * time: 2.7, 1.3, 1.6, 1.1.)
 */
#ifndef GDSIM_STUDY_ETA_H
#define GDSIM_STUDY_ETA_H

#include <stdbool.h>
#include <stddef.h>

#define ETA_MARKS 48

/* Starts as zeros. */
struct eta {
    bool at_random; /* points come in no order */
    size_t count;
    struct {
        double seconds, done;
    } mark[ETA_MARKS]; /* each at least twice as late as the one before */
};

/* Seconds left after `seconds`, with `done` of `all` points finished; seconds never go back. NaN:
 * nothing is known yet. *ret_slower: points get dearer, which is reckoned with. */
double eta_left_s(struct eta *eta, double seconds, double done, double all, bool *ret_slower);

#endif
