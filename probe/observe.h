/* observe.h: what was observed on a machine, as rows of one table (README.md has the format). */
#ifndef GDPROBE_OBSERVE_H
#define GDPROBE_OBSERVE_H

#include <stdbool.h>
#include <stdio.h>

#include "probe/sys.h"

enum quality {
    QUALITY_EXACT,
    QUALITY_WRAPPED,  /* a 32-bit counter; every wrap was counted */
    QUALITY_AT_LEAST, /* a gap between two readings was too long to count the wraps */
    QUALITY_MISSING,  /* no value; the note says why */
};

/* One row. Numbers that it has not are NAN, texts "". Handed through a pipe, so without pointers.
 */
struct observation {
    char experiment[32], place[48], device[32], quantity[32], unit[8];
    double size_B, chunk_B;
    double value, min, p90, samples;
    double payload_B, seconds, baseline;
    enum quality quality;
    char note[192];
};

/* A row without numbers. */
struct observation observation(const char *experiment, const char *place, const char *quantity,
                               const char *unit);

/* Median, minimum and 90th percentile of the samples, which are sorted in place. */
void observation_summarize(struct observation *row, double *samples, size_t count);

struct observe_file {
    FILE *to;
    char *name, *partial; /* NULL: not ours to close */
    bool columns_written;
};

/* Start a file: it carries ".partial" at the end of its name until it is closed, and each row is
 * written at once, so that a killed run loses no finished row. A name of NULL is `to`;
 * that may be NULL too: then nothing is written. */
bool observe_open(struct observe_file *file, const char *name, FILE *to, struct why *ret_why);
void observe_head(struct observe_file *file, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* tool, version, date, host, machine, kernel. */
void observe_machine(struct observe_file *file, const char *tool);
/* The variables of the environment that change what is measured, and the options. */
void observe_settings(struct observe_file *file, const char *options);
/* The facts of the machine, behind "#| ". Asks the drivers, for at most timeout_s each. */
void observe_facts(struct observe_file *file, const struct sys *sys, double timeout_s);
void observe_row(struct observe_file *file, const struct observation *row);
/* Write the last line and give the file its name; incomplete: NULL, or what is missing. */
bool observe_close(struct observe_file *file, const char *incomplete, struct why *ret_why);

#endif
