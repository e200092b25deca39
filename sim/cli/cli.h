/* cli.h: what the commands share: exit codes, options, error printing, and running a scenario. */
#ifndef GDSIM_CLI_CLI_H
#define GDSIM_CLI_CLI_H

#include <argp.h>

#include "sim/load/scenario.h"
#include "sim/report/grid.h"
#include "sim/report/results.h"
#include "sim/study/predict.h"
#include "sim/study/settle.h"

enum exit_code { EXIT_FINE = 0, EXIT_RUN_FAILED = 1, EXIT_BAD_INPUT = 2 };

#define CLI_MAX_SET 256

/* Options that every command with a scenario takes. */
struct options {
    const char *file;
    const char *set[CLI_MAX_SET];
    size_t set_count;
    const char *sizes;
    const char *accounting;
    const char *algorithm;
    const char *mechanism;
    const char *walk;
    bool stats;
    bool quiet; /* cli_load says nothing of what a star in --set changed */
    const char *format;
    const char *output;
};

/* Read a command's line with argp into what `input` points at, or say what is wrong with it and
 * exit. `table` may be NULL. */
void cli_parse(int argc, char **argv, const struct argp_option *table, argp_parser_t parser,
               const char *args_doc, const char *doc, void *input);

/* The same for a command that takes a scenario: with --set, --sizes, --accounting, --algorithm,
 * --mechanism, --format, -o. The parser gives a struct options as its first child's input. */
void cli_parse_scenario(int argc, char **argv, const struct argp_option *table,
                        argp_parser_t parser, const char *doc, void *input);

/* Where models/catalog and lua are: $GDSIM_ROOT, beside the program, or installed. NULL with a
 * message printed when nowhere. */
const char *cli_root(void);

/* Print to stderr; returns the exit code that fits. */
int cli_fail(const struct error *error);
int cli_fail_scenario(const struct scenario *scenario, enum status status);

/* 0, or a message and the exit code where --format asks for more than text. */
int cli_refuse_format(const struct options *options, const char *what);

/* Read the scenario that the options name and lay the options on it; what stars in --set changed
 * is said on stderr, once in a process. On failure everything is
 * printed and freed, and the exit code returned; 0 is success. */
int cli_load(const struct options *options, struct scenario *ret_scenario);

/* Print `text` to -o (default: stdout). */
int cli_write(const struct options *options, const struct text *text);

/* The plan of a script for so many ranks; messages of print() go to stderr. */
enum status cli_plan(const char *path, uint32_t ranks, uint32_t gpus_per_node, uint32_t rails,
                     uint32_t nics, uint32_t root, struct plan *ret_plan, struct error *error);

/* A page of the field guide; see guide.c. Prints what is wrong with it and returns the exit code.
 * *ret_hangs: the page is written, but the transfer that it shows never ends. */
int cli_guide(const struct options *options, struct scenario *scenario, struct text *text,
              bool *ret_hangs);

/* ---- experiment: the plans and routes of a scenario, and runs of them ----------------------- */

struct experiment {
    const struct scenario *scenario;
    struct plan plans[SCENARIO_MAX_MECHANISMS];
    struct routes routes[SCENARIO_MAX_MECHANISMS];
    struct settled *settled[SCENARIO_MAX_MECHANISMS];
    struct result_column columns[SCENARIO_MAX_MECHANISMS];
    const char *instead_of[SCENARIO_MAX_MECHANISMS]; /* the script asked for; NULL: it runs */
    size_t count;
};

/* The plan of an algorithm (NULL: the scenario's, or what the mechanism brings) on a machine, also
 * where the network has no room for it. *ret_name: the script that was taken. */
enum status experiment_plan(const struct scenario *scenario, const struct machine *machine,
                            const char *algorithm, const struct mechanism *mechanism,
                            struct plan *ret_plan, const char **ret_name, struct error *error);

/* Load the scripts of all mechanisms. `algorithm` overrides the scenario's; may be NULL. */
enum status experiment_open(struct experiment *experiment, const struct scenario *scenario,
                            const char *algorithm, struct error *error);
void experiment_close(struct experiment *experiment);

/* Name those of the first columns that run another script than was asked for: the mechanism's own,
 * where the one asked for has nothing for a switch to do (not in a comparison, which has a column a
 * mechanism), or one of the hosts, where the network has no room. */
void experiment_write_instead(const struct experiment *experiment, size_t columns,
                              struct text *text);

/* What to run for one cell: the column's plan on the scenario's machine, or on one that has been
 * settled for the size. The column's routes become those of the job. */
enum status experiment_job(struct experiment *experiment, size_t column, double size_B,
                           enum accounting accounting, struct engine_job *ret_job,
                           struct error *error);

/* A column for predict_times and its like, which predict what experiment_run does. */
struct predict_job experiment_predict_job(const struct experiment *experiment, size_t column);

/* Run every mechanism at every size. *ret is for experiment_free_results. */
enum status experiment_run(struct experiment *experiment, enum accounting accounting,
                           struct results *ret_results, struct error *error);
/* The same, but a run that fails is absent from the results, and its reason is in
 * ret_why[size][column]: only the lack of memory ends it. */
enum status experiment_run_most(struct experiment *experiment, enum accounting accounting,
                                struct results *ret_results, struct error *ret_why);
void experiment_free_results(struct results *results);

/* For engine_job: how far a long run is, on stderr; see watch.c. Not for two threads at once. */
const struct engine_watch *cli_watch(void);
/* Which of many runs is next: on a terminal a line that is drawn anew, twice a second at most. */
void cli_step(const char *format, ...) PRINTF_LIKE(1, 2);
void cli_step_end(void);
/* "40 s", "3 min", "2.5 h". */
void cli_duration(double seconds, char *buffer, size_t size);

/* --stats: how one run was gone through, on stderr. */
void cli_stats(const struct engine_job *job, const struct ledger *ledger);

/* ---- pair: one algorithm on one mechanism; see pair.c ---------------------------------------- */

struct pair {
    char algorithm[256]; /* as asked for */
    const struct mechanism *mechanism;
    struct scenario
        view; /* the scenario with this mechanism only and its own machine; shares the rest */
    struct experiment experiment;
};

/* Load the algorithm for the scenario's ranks. NULL: what `gdsim run` would take. STATUS_INPUT,
 * with the reason, when the two do not fit together or the script refuses. Must not be moved while
 * open; pair_close takes it apart. */
enum status pair_open(struct pair *pair, const struct scenario *scenario, const char *algorithm,
                      const struct mechanism *mechanism, struct error *error);
void pair_close(struct pair *pair);

/* Whether a plan and a mechanism fit together: a switch must be there where the algorithm uses one;
 * where the mechanism brings one, a run would put its own algorithm in place of one that does not.
 * STATUS_INPUT with the reason. */
enum status pair_fits(const struct scenario *scenario, const struct plan *plan,
                      const char *algorithm, const struct mechanism *mechanism,
                      struct error *error);

/* Whether the network has room for a plan's groups; STATUS_INPUT with the reason. */
enum status pair_has_room(const struct mechanism *mechanism, const struct machine *machine,
                          uint32_t groups, struct error *error);

/* "file:line: message" of an error, on one line. */
void cli_reason(const struct error *error, char *buffer, size_t size);

/* ---- notes on scripts; see script_notes.c -----------------------------------------------------
 */

/* Say on stderr when a script that is not of lua/ is wrong, or too large to be proven on the way.
 */
void cli_prove(const struct plan *plan);

/* A line for each cost that the script adds to transfers. */
void cli_costs(struct text *text, const struct plan *plan);

/* Whether an earlier column runs the same script. */
bool cli_same_script(const struct experiment *experiment, size_t column);

/* ---- replicas: an interval around each prediction; see replicas.c -------------------------------
 */

struct replica_options {
    size_t count; /* 0: none */
    unsigned long seed;
};

/* Refuse a block `calibration` with a mistake, and tell when sizes lie outside those that its
 * values were fitted on. */
int cli_check_calibration(struct scenario *scenario);

/* A row for each mechanism and size. *ret_grid is for grid_free. */
enum status cli_replicas(struct scenario *scenario, const char *algorithm,
                         const struct replica_options *options, struct grid **ret_grid,
                         struct error *error);

/* ---- commands: argc, argv from the command's name on; return the exit code ------------------ */

int cmd_run(int argc, char **argv);
int cmd_verify(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_validate(int argc, char **argv);
int cmd_compare(int argc, char **argv);
int cmd_crossover(int argc, char **argv);
int cmd_overlay(int argc, char **argv);
int cmd_calibrate(int argc, char **argv);
int cmd_nccl(int argc, char **argv);
int cmd_sweep(int argc, char **argv);
int cmd_merge(int argc, char **argv);
int cmd_list(int argc, char **argv);
int cmd_import(int argc, char **argv);

#endif
