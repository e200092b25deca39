/* axes.h: the axes of a sweep, from the scenario's `sweep` section or from --axis KEY=VALUES.
 *
 *   sweep:
 *     axes:
 *       nodes: [2, 4, 8]                                   # these values
 *       rate: {from: 100 Gb/s, to: 800 Gb/s, times: 2}     # a geometric row
 *       software.step_handoff: {from: 0 us, to: 6 us, step: 2 us}
 *       node.devices.cpu0.dram_rate: {from: 50 GB/s, to: 400 GB/s}   # a range, to be sampled
 *     sample: {method: sobol, count: 1000}
 *
 *   --axis nodes=2,4,8  --axis 'rate=100 Gb/s:800 Gb/s:x2'  --axis 'x=0 us:6 us:+2 us'
 *   --axis 'y=50 GB/s:400 GB/s'  --axis 'z=1 us:100 us:log'
 *
 * Values are texts; where the key takes a number they are numbers as well, in SI units. What the
 * keys stand for, and whether a word is one that they take, only the scenario can say: the reader
 * of the axes leaves that to who applies them (sim/cli/sweep_model.c), and keeps the places for his
 * messages.
 */
#ifndef GDSIM_LOAD_AXES_H
#define GDSIM_LOAD_AXES_H

#include <stdbool.h>

#include "sim/core/param.h"
#include "sim/load/yaml_tree.h"

enum axis_kind {
    AXIS_KEY,  /* a key of the scenario, as --set takes it; * and ? stand for any letters */
    AXIS_RATE, /* the line rate of every NIC */
    AXIS_SIZE,
    AXIS_MECHANISM,
    AXIS_ALGORITHM,
    AXIS_ACCOUNTING,
};

struct axis_value {
    char *text;    /* as it was written; NULL: a number of a row, see axis_text() */
    double number; /* of a numeric axis */
    struct mark mark;
};

struct axis {
    enum axis_kind kind;
    char *key;
    struct mark mark;
    bool numeric;
    enum dimension dimension; /* if numeric */
    bool sampled;             /* values between low and high are drawn */
    bool logarithmic;         /* so that each factor is as likely as the next */
    double low, high;
    struct axis_value *values; /* of a sampled axis its two ends */
    size_t count;
};

enum axes_method { AXES_GRID, AXES_LATIN, AXES_SOBOL };

#define AXES_MAX        64
#define AXES_MAX_VALUES 1000000u
#define AXIS_TEXT_MAX   64 /* a number as text */

struct axes {
    struct axis axis[AXES_MAX];
    size_t count;
    enum axes_method method;
    uint64_t samples, seed;
    struct mark sample_mark;
};

void axes_free(struct axes *axes);

/* Read the `sweep` section. Mistakes go to `diag`. */
void axes_read(struct axes *axes, struct yaml_node *section, struct diag_list *diag);

/* Lay "KEY=VALUES" on the axes: an axis of this key is replaced, a new one stands last. */
enum status axes_option(struct axes *axes, const char *text, struct diag_list *diag);

/* Add a value that needs no checking; the text is copied. A number may have none. */
void axis_add(struct axis *axis, const char *text, double number, struct mark mark,
              struct diag_list *diag);
/* A value as --set takes it: its own text, or the number written into the buffer. */
const char *axis_text(const struct axis *axis, size_t value, char *buffer, size_t size);
/* The axis of a kind or, of AXIS_KEY, of this key; NULL if there is none. */
struct axis *axes_find(struct axes *axes, enum axis_kind kind, const char *key);

/* What a number of this key is; false when it takes none. Parameters of one name are alike in all
 * kinds of things (a rate, a latency), so the last word of a key says what it takes. */
bool axes_dimension(const char *key, enum dimension *ret_dimension);

/* A number as --set takes it, all of its digits. */
void axes_number_text(double number, enum dimension dimension, char *buffer, size_t size);

/* ---- Private part: between axes.c and axes_read.c -------------------------------------------- */

/* What values a row between two ends gets. */
enum axis_row { ROW_TIMES, ROW_STEP, ROW_SAMPLED, ROW_SAMPLED_LOG };

/* Fill a numeric axis from its ends; `by` is the factor or the step. */
void axis_fill(struct axis *axis, double low, double high, enum axis_row row, double by,
               struct mark mark, struct diag_list *diag);

/* An axis without values: the old one of this key emptied, or a new one at the end. NULL with a
 * mistake noted. */
struct axis *axes_open(struct axes *axes, const char *key, struct mark mark,
                       struct diag_list *diag);

/* Add a value as written, a number where the axis takes numbers. */
void axis_value(struct axis *axis, const char *text, size_t length, struct mark mark,
                struct diag_list *diag);

#endif
