/* calibrate.h: what the two parts of gdsim calibrate share: the fit (cmd_calibrate.c), and what is
 * said and written of it (calibrate_write.c). */
#ifndef GDSIM_CLI_CALIBRATE_H
#define GDSIM_CLI_CALIBRATE_H

#include "sim/cli/measured.h"
#include "sim/report/text.h"
#include "sim/study/fit.h"

#define SMALL_B 65536.0 /* below, fixed costs decide; errors are given for both sides of it */

#define EVERY_SET SIZE_MAX

/* A parameter of the fit: one entry of the block `fit`, for all data sets or for one. */
struct calibrated {
    const struct fit_entry *entry;
    size_t set;       /* EVERY_SET, or the one whose own value it is */
    enum param_id id; /* of the first key: for its unit */
    char name[96];
};

struct calibration_run {
    struct measured measured;
    struct calibrated what[FIT_MAX_PARAMETERS];
    struct fit_parameter parameters[FIT_MAX_PARAMETERS];
    size_t count;
    bool *matters;  /* [set][parameter]: whether predictions of the set depend on it at all */
    double *last;   /* [set][parameter]: values that its predictions stand for; NAN: none */
    bool *held_out; /* by point: of a data set that is only checked, or drawn */
    double *values; /* measured, by point */
    double *predicted;
    struct fit_report report;
    const char *command; /* "gdsim calibrate FILE", for provenance */
};

/* Tables for people. */
enum status calibrate_report(struct calibration_run *run, struct text *text, struct error *error);

/* The YAML that scenarios extend. */
enum status calibrate_overlay(struct calibration_run *run, struct text *text, struct error *error);

#endif
