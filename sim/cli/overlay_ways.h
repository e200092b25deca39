/* overlay_ways.h: whether another algorithm, protocol or mechanism would come closer to what was
 * measured.
 *
 * Tried are NCCL's algorithms for the collective that lua/ has, and the one that was predicted over
 * every mechanism, each by every protocol, by NCCL's choice and by routes alone: a prediction for
 * each point, of what the measurement may well have run. What comes out are options to be typed.
 *
 * Short messages all take what a launch takes, which no algorithm explains; so only sizes count
 * that took half as long again as the shortest one of their data set, or more, if there are such.
 */
#ifndef GDSIM_CLI_OVERLAY_WAYS_H
#define GDSIM_CLI_OVERLAY_WAYS_H

#include "sim/cli/measured.h"
#include "sim/study/diagnose.h"

/* "-P auto: then off by a factor of 1.05" and so on, where that closes at least half of the gap
 * (its logarithm); nothing where none does, or where the gap is less than `close`. Jobs are those
 * of the sets that are no counters, in their order. */
enum status overlay_ways(const struct measured *measured, const struct diagnose_job *jobs,
                         size_t job_count, double close, struct text *text, struct error *error);

#endif
