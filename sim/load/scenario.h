/* scenario.h: a scenario file, read, checked and turned into a machine and a job.
 *
 * The schema is scenarios/README.md; parameters come from sim/core/params.def. Every mistake of
 * the file is collected in `diag` with its place; nothing is ignored and nothing is guessed.
 */
#ifndef GDSIM_LOAD_SCENARIO_H
#define GDSIM_LOAD_SCENARIO_H

#include "sim/core/engine.h"
#include "sim/load/diag.h"

#define SCENARIO_MAX_SIZES      4096
#define SCENARIO_MAX_MECHANISMS 32
#define SCENARIO_MAX_EXTENDS    16

enum scenario_report {
    REPORT_COLLECTIVE, /* one line a size, with algbw and busbw */
    REPORT_COMPARISON, /* one line a size, one column a mechanism, the fastest named */
    REPORT_CROSSINGS,  /* one line a mechanism: what one transfer costs each host */
    REPORT_GUIDE,      /* a page of the field guide: symptom, cause, check, fix, cost */
};

/* Where to look for presets and algorithms: ROOT/models/catalog and ROOT/lua. */
struct scenario_request {
    const char *path;
    const char *root;
    const char *const *set; /* "key.path=value", in order */
    size_t set_count;
};

/* One transfer of a job that is no collective: between ports of node 0, or from there to node 1. */
struct scenario_transfer {
    uint16_t from, to; /* ports */
    bool remote;
    uint32_t share; /* of the bytes, relative to the others' */
};

#define SCENARIO_MAX_TRANSFERS 1024

struct scenario {
    char *path, *title, *about, *algorithm;
    enum scenario_report report;
    enum collective collective;
    enum accounting accounting;
    enum walk_kind walk; /* how the engine goes through it; not in the file */
    bool stats;          /* likewise: say how it did */
    uint32_t root_rank;
    struct machine machine;
    const struct mechanism *mechanisms[SCENARIO_MAX_MECHANISMS];
    size_t mechanism_count;
    struct scenario_transfer *transfers; /* instead of an algorithm */
    size_t transfer_count;
    double *sizes_B;
    size_t size_count;
    char *set_notes;       /* lines: what each --set with a star changed; NULL: none has one */
    struct diag_list diag; /* owns the names that origins point to */
    struct yaml_tree *tree;
};

/* Read the file and everything it extends. On STATUS_INPUT *ret_scenario still holds `diag`, for
 * diag_render; call scenario_free in any case. */
enum status scenario_load(const struct scenario_request *request, struct scenario *ret_scenario);
void scenario_free(struct scenario *scenario);

/* STATUS_INPUT: no message has this size. `error` may not be NULL. */
enum status scenario_check_size(double size_B, struct error *error);

/* Sizes as --sizes writes them instead of the scenario's: with commas between, each a size or a row
 * "8 B:1 GiB:x2" (by a factor of 2 where none is given). */
enum status scenario_set_sizes(struct scenario *scenario, const char *text, struct error *error);

/* The script of an algorithm: a name means ROOT/lua/NAME.lua; a path is taken as it is, then
 * beside the scenario. The caller frees *ret_path. */
enum status scenario_script_path(const struct scenario *scenario, const char *root,
                                 const char *algorithm, char **ret_path, struct error *error);

const char *scenario_report_name(enum scenario_report report);

#endif
