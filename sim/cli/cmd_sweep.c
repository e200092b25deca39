/* cmd_sweep.c: gdsim sweep: many points of a scenario into one file, and what they say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/sweep_run.h"
#include "sim/cli/sweep_summary.h"
#include "sim/core/units.h"

static const char doc[] =
    "Run every combination of values along axes, or samples of ranges, on all cores, and write one "
    "row a point. Axes stand in the scenario's `sweep` section or are given here: any key of the "
    "scenario (with * for all that fit), or size, mechanism, algorithm, accounting, rate (of every "
    "NIC). The scenario's mechanisms and sizes are axes too unless others are given. A point that "
    "cannot run is a row that says why.\v"
    "Examples:\n"
    "  gdsim sweep scenarios/sweep-upgrades.yaml\n"
    "  gdsim sweep scenarios/worked-table.yaml -x nodes=2:1024:x2 -x 'rate=100 Gb/s:800 Gb/s:x2'\n"
    "  gdsim sweep scenarios/worked-table.yaml -x 'node.links.*.acs=none,SV+RR+CR+UF'\n"
    "  gdsim sweep scenarios/worked-table.yaml --lhs 1000 -x 'rate=100 Gb/s:800 Gb/s' \\\n"
    "    -x 'software.step_handoff=1 us:10 us:log' -o out/lhs.csv\n"
    "  gdsim sweep big.yaml --shard 3/16 -o out/big.3.csv     # one of 16 jobs; then gdsim merge\n";

enum {
    KEY_LHS = 1001,
    KEY_SOBOL,
    KEY_SEED,
    KEY_SHARD,
    KEY_RESUME,
    KEY_RESTART,
    KEY_PLAIN,
    KEY_QUIET
};

static const struct argp_option option_table[] = {
    {"axis", 'x', "KEY=VALUES", 0,
     "an axis: a,b,c or low:high:x2 or low:high:+step; low:high or low:high:log to be sampled", 0},
    {"lhs", KEY_LHS, "N", 0, "N samples of all ranges by Latin hypercube", 0},
    {"sobol", KEY_SOBOL, "N", 0, "N samples of all ranges by a Sobol sequence", 0},
    {"seed", KEY_SEED, "K", 0, "of --lhs (default 1)", 0},
    {"jobs", 'j', "N", 0, "threads (default: all cores)", 0},
    {"shard", KEY_SHARD, "i/N", 0, "only the i-th of N parts; gdsim merge puts them together", 0},
    {"resume", KEY_RESUME, NULL, 0, "go on with a sweep that was killed", 0},
    {"restart", KEY_RESTART, NULL, 0, "begin anew where one was killed", 0},
    {"plain", KEY_PLAIN, NULL, 0,
     "no shortcuts: read and run each point on its own (slow; the same bytes)", 0},
    {"quiet", KEY_QUIET, NULL, 0, "no progress, no summary", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct sweep_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->shared;
        return 0;
    case 'x':
        if (options->axis_count == AXES_MAX)
            argp_error(state, "more than %d times --axis", AXES_MAX);
        options->axis[options->axis_count++] = arg;
        return 0;
    case KEY_LHS:
        options->lhs = arg;
        return 0;
    case KEY_SOBOL:
        options->sobol = arg;
        return 0;
    case KEY_SEED:
        options->seed = arg;
        return 0;
    case 'j':
        options->jobs = arg;
        return 0;
    case KEY_SHARD:
        options->shard = arg;
        return 0;
    case KEY_RESUME:
        options->resume = true;
        return 0;
    case KEY_RESTART:
        options->restart = true;
        return 0;
    case KEY_PLAIN:
        options->plain = true;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* 0: a message has been printed. */
static unsigned read_jobs(const struct sweep_options *options)
{
    enum { MOST = 1024 };
    double jobs;
    struct error error;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!options->jobs)
        return cores < 1 ? 1 : cores > MOST ? MOST : (unsigned)cores;
    if (!units_parse(options->jobs, strlen(options->jobs), DIM_COUNT, &jobs, &error) && jobs >= 1 &&
        jobs <= MOST)
        return (unsigned)jobs;
    fprintf(stderr, "gdsim: --jobs takes a whole number from 1 to %d, not \"%s\"\n", MOST,
            options->jobs);
    return 0;
}

static enum status run_to_file(struct sweep *sweep, unsigned threads, struct error *error)
{
    struct sweep_file file;
    enum status status = sweep_file_open(&file, sweep, error);
    double start_s = blocks_clock_s();
    uint64_t before = file.next;
    if (!status && !file.complete)
        status = sweep_run(sweep, &file, threads, error);
    double seconds = blocks_clock_s() - start_s;
    if (!status)
        status = sweep_file_finish(&file, error);
    if (!status && !sweep->options->quiet)
        sweep_summary(sweep, &file, before, seconds);
    sweep_file_close(&file);
    return status;
}

static int run(struct sweep *sweep, const struct sweep_options *options)
{
    struct error error;
    unsigned threads = read_jobs(options);
    if (threads == 0)
        return EXIT_BAD_INPUT;
    if (options->resume && options->restart) {
        fprintf(stderr, "gdsim: --resume or --restart, not both\n");
        return EXIT_BAD_INPUT;
    }
#ifdef GDSIM_MPI
    int rank, ranks;
    sweep_mpi_start(&rank, &ranks);
    if (rank > 0 && !freopen("/dev/null", "w", stderr)) /* rank 0 says it once for all */
        return EXIT_RUN_FAILED;
#endif
    int code = sweep_open(sweep, options);
    if (code)
        return code;
#ifdef GDSIM_MPI
    if (rank > 0)
        return sweep_mpi_work(sweep, threads) ? EXIT_RUN_FAILED : EXIT_FINE;
#endif
    enum status status = run_to_file(sweep, threads, &error);
    return status ? cli_fail(&error) : EXIT_FINE;
}

int cmd_sweep(int argc, char **argv)
{
    struct sweep_options options = {.axis_count = 0};
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    if (options.shared.stats) {
        fprintf(stderr, "gdsim: --stats is of single runs: gdsim run --stats\n");
        return EXIT_BAD_INPUT;
    }
    struct sweep *sweep = calloc(1, sizeof *sweep);
    if (!sweep) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    int code = run(sweep, &options);
#ifdef GDSIM_MPI
    if (code == EXIT_RUN_FAILED)
        sweep_mpi_abort(); /* the others may wait for this rank */
    sweep_mpi_stop();
#endif
    sweep_close(sweep);
    free(sweep);
    return code;
}
