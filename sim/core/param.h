/* param.h: the parameter table and the values of one object (a NIC, a link, the software, ...).
 *
 * One row of params.def describes a parameter; a struct params holds the values of all rows of
 * one kind, each with where it came from. Values are SI units as double; BOOL is 0 or 1.
 */
#ifndef GDSIM_CORE_PARAM_H
#define GDSIM_CORE_PARAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/status.h"

enum dimension {
    DIM_COUNT,    /* whole number */
    DIM_NUMBER,   /* plain real number */
    DIM_FRACTION, /* 0.85 or 85 % */
    DIM_TIME,     /* seconds */
    DIM_BYTES,    /* bytes */
    DIM_RATE,     /* bytes per second */
    DIM_BOOL,     /* yes or no */
    DIM_CHOICE,   /* one of param_words(), by place */
    DIM_FLAGS,    /* some of param_words(), as bits */
};

enum param_kind {
    KIND_ENGINE,
    KIND_SOFTWARE,
    KIND_FABRIC,
    KIND_SHARP,
    KIND_STATE,
    KIND_GPU,
    KIND_CPU,
    KIND_PCIE_SWITCH,
    KIND_NIC,
    KIND_NVME,
    KIND_PCIE,
    KIND_NVLINK,
    KIND_C2C,
    KIND_SOCKET,
    KIND_COUNT,
};

enum param_id {
#define PARAM(id, ...) PARAM_##id,
#include "sim/core/params.def"
#undef PARAM
    PARAM_COUNT
};

struct param_info {
    enum param_kind kind;
    const char *name;
    enum dimension dimension;
    double fallback; /* NAN: must be given */
    double minimum, maximum;
    const char *source; /* of the default */
    const char *help;
};

enum origin_kind { ORIGIN_DEFAULT, ORIGIN_CATALOGUE, ORIGIN_USER, ORIGIN_SET };

/* Where a value came from. Strings belong to the scenario and live as long as it. */
struct origin {
    enum origin_kind kind;
    const char *file; /* NULL for a default */
    uint32_t line;
    const char *source; /* citation given beside the value, or NULL */
};

/* Enough for the largest kind; checked at compile time in param.c. */
#define PARAM_MAX_PER_KIND 24

struct params {
    enum param_kind kind;
    uint16_t first; /* row of the kind */
    double value[PARAM_MAX_PER_KIND];
    struct origin origin[PARAM_MAX_PER_KIND];
};

/* The row of a parameter, and the name of a kind as YAML and explain print it. */
const struct param_info *param_info(enum param_id id);
const char *param_kind_name(enum param_kind kind);
const char *origin_kind_name(enum origin_kind kind);

/* The words of a CHOICE or FLAGS row, ending in NULL; NULL for other rows. */
const char *const *param_words(enum param_id id);

/* A value as text and back, by the row's dimension: "31.5 GB/s", "translating", "RR+CR". Parsing
 * does not check the range. param_format returns buf. */
const char *param_format(enum param_id id, double value, char *buf, size_t size);
enum status param_parse(enum param_id id, const char *text, size_t length, double *ret_value,
                        struct error *error);

/* Rows of `kind` are first .. first+count-1. */
void param_range(enum param_kind kind, enum param_id *ret_first, size_t *ret_count);

/* All rows of `kind` at their defaults. */
void params_init(struct params *params, enum param_kind kind);

double param_get(const struct params *params, enum param_id id);
bool param_is_set(const struct params *params, enum param_id id);
const struct origin *param_origin(const struct params *params, enum param_id id);
void param_set(struct params *params, enum param_id id, double value, struct origin origin);

#endif
