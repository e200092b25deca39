/* calibrate.h: what the two parts of gdsim calibrate share: the fit (cmd_calibrate.c), and what is
 * said and written of it (calibrate_write.c; calibrate_correlation.c: which errors go together). */
#ifndef GDSIM_CLI_CALIBRATE_H
#define GDSIM_CLI_CALIBRATE_H

#include "sim/cli/measured.h"
#include "sim/report/text.h"
#include "sim/study/fit.h"

#define SMALL_B 65536.0 /* below, fixed costs decide; errors are given for both sides of it */

#define EVERY_SET SIZE_MAX

/* Bounds of what counts as known. A value whose standard error is above a quarter of it is poorly
 * determined. Below three points a fitted value, the fit may follow single points. A scatter from n
 * points, by their median error, has a standard error of 1.17/sqrt(n) of itself, 37 % at ten: from
 * fewer it is not written. */
#define POOR_ERROR         0.25
#define FEW_POINTS_A_VALUE 3
#define SCATTER_POINTS     10

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
    double *correlation; /* [parameter][parameter]; see fit.h */
    struct fit_report report;
    double start_s;      /* of the fit */
    size_t evaluations;  /* of the model, so far */
    const char *command; /* "gdsim calibrate FILE", for provenance */
};

/* Fewer than FEW_POINTS_A_VALUE for each value that was fitted; *ret_values of them. */
bool calibrate_few_points(const struct calibration_run *run, size_t *ret_values);

/* What keys of one entry were fitted as, one unknown: its keys. */
void calibrate_fitted_as(const struct fit_entry *entry, struct text *text);

/* Which errors go together: the table, and the list of the file. */
enum status calibrate_correlations(const struct calibration_run *run, struct text *text,
                                   struct error *error);
void calibrate_write_correlation(const struct calibration_run *run, struct text *text);

/* Tables for people. */
enum status calibrate_report(struct calibration_run *run, struct text *text, struct error *error);

/* The YAML that scenarios extend. */
enum status calibrate_overlay(struct calibration_run *run, struct text *text, struct error *error);

#endif
