/* predict.h: what a job takes at some sizes on a machine whose parameters may be changed first. */
#ifndef GDSIM_STUDY_PREDICT_H
#define GDSIM_STUDY_PREDICT_H

#include "sim/core/address.h"
#include "sim/core/engine.h"

/* A job on a finished machine; nothing here is owned. */
struct predict_job {
    const struct machine *machine;
    const struct mechanism *mechanism;
    const struct plan *plan;
    enum accounting accounting;
    enum walk_kind walk;
    uint32_t groups; /* of the plan that switches would work for; see routes_groups */
};

/* Set whatever a key names, on the way to a prediction. */
struct predict_change {
    const char *key;
    double value;
};

/* Seconds of the job at each size, with the changes applied to a copy of the machine: what gdsim
 * run prints for that machine. Keys that the machine does not have change nothing. */
enum status predict_times(const struct predict_job *job, const struct predict_change *changes,
                          size_t change_count, const double *sizes_B, size_t size_count,
                          double *ret_seconds, struct error *error);

/* Bytes that a counter on a resource of one node would show after the job, likewise. */
enum status predict_counters(const struct predict_job *job, const char *resource,
                             const struct predict_change *changes, size_t change_count,
                             const double *sizes_B, size_t size_count, double *ret_bytes,
                             struct error *error);

#endif
