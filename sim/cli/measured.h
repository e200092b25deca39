/* measured.h: measured runs and the jobs that predict them: what overlay and calibrate share. */
#ifndef GDSIM_CLI_MEASURED_H
#define GDSIM_CLI_MEASURED_H

#include "sim/cli/cli.h"
#include "sim/load/dataset.h"
#include "sim/load/observation.h"
#include "sim/study/predict.h"

/* Print the mistakes of an input that is used all the same. */
void cli_warn(const struct diag_list *diag);

/* Read one file of measured runs, whatever tool wrote it. */
enum status measured_read(const char *path, struct observations *all, struct diag_list *diag);

/* gdsim import of files that are measured runs: one tidy table. */
int cli_import_runs(const char *const *files, size_t count, const char *output);
bool cli_is_run(const char *path);

/* One measured point beside its prediction. */
struct measured_point {
    uint32_t set, observation;
    double size_B;
    double measured;  /* seconds, or bytes of a counter */
    double predicted; /* likewise; NAN: not yet */
};

/* A data set: the job that it measured, and where its points are. */
struct measured_set {
    struct dataset about;
    struct scenario scenario;
    struct pair pair;
    bool open;
    size_t first, count; /* points */
    bool *needed;        /* by size; NULL: all. See measured_predict */
    double *sizes_B;     /* each size once, in order of appearance */
    size_t size_count;
    size_t *size_of_point;
};

struct measured {
    struct scenario scenario; /* the one on the command line */
    struct datasets datasets;
    struct observations all;
    struct measured_set *sets;
    size_t set_count;
    struct measured_point *points;
    size_t point_count;
};

/* Load a scenario and its data sets, or those that the files of --data belong to (a file that no
 * data set names is of the scenario's own job). Prints what is wrong; returns the exit code.
 * *ret is for measured_close in any case. */
int measured_open(const struct options *options, const char *const *files, size_t file_count,
                  struct measured *ret);
void measured_close(struct measured *measured);

/* A file of the scenario's own job: all its rows. */
struct dataset measured_own(const char *file);

/* A data set that says not which rows it means takes them all: refuse, in print, rows of another
 * collective than the scenario's, and of experiments that are not one thing. The exit code. */
int measured_check_rows(const struct dataset *about, const struct scenario *scenario,
                        const struct observation *items, size_t first, size_t end);

/* The value of a row as a point of a data set, from its time, or from its busbw where it has no
 * time; NAN where it is none of its points. */
double measured_value(const struct dataset *about, const struct scenario *scenario,
                      const struct observation *item);

/* Fill the predictions of a data set's points, with the changes applied. Where set->needed is
 * given, those of other sizes stay as they are. */
enum status measured_predict(struct measured *measured, struct measured_set *set,
                             const struct predict_change *changes, size_t change_count,
                             struct error *error);

/* Median of |predicted / measured - 1| of a set's points with low_B <= size < high_B; NAN: none. */
double measured_median_error(const struct measured *measured, const struct measured_set *set,
                             double low_B, double high_B, size_t *ret_count, size_t *ret_worst);

#endif
