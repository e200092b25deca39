/* cmd_bench.c: `gdprobe bench`: the groups of measurements, each in a child of its own. */
#include <argp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/bench.h"
#include "probe/bench_table.h"
#include "probe/cmd.h"
#include "probe/size.h"

enum {
    OPTION_FULL = 256,
    OPTION_SIZES,
    OPTION_ONLY,
    OPTION_LIST,
    OPTION_LIB_DIR,
    OPTION_PATH,
    OPTION_NO_FACTS,
    OPTION_TIME,
    OPTION_COUNT_TIME,
    OPTION_TIMEOUT,
    OPTION_CSV
};

struct options {
    struct bench_settings settings;
    const char *only, *output;
    bool full, list, csv, no_facts;
};

static const struct argp_option option_table[] = {
    {"full", OPTION_FULL, NULL, 0, "every power of two up to 1 GiB, every pair (default: quick)",
     0},
    {"sizes", OPTION_SIZES, "LIST", 0, "these sizes, e.g. 64KiB,1MiB", 0},
    {"only", OPTION_ONLY, "GROUPS", 0, "these groups, e.g. copies,pair", 0},
    {"list", OPTION_LIST, NULL, 0, "list the groups", 0},
    {"time", OPTION_TIME, "SECONDS", 0, "of one point, at least (default 0.02, full 0.1)", 0},
    {"count-time", OPTION_COUNT_TIME, "SECONDS", 0,
     "of a run with counters around it; 0: none (default 0.3, full 1)", 0},
    {"timeout", OPTION_TIMEOUT, "SECONDS", 0, "give a group up that is silent so long (default 30)",
     0},
    {"path", OPTION_PATH, "DIR", 0, "where to put the file that is read (default .)", 0},
    {"no-facts", OPTION_NO_FACTS, NULL, 0, "leave the machine's facts out of FILE", 0},
    {"lib-dir", OPTION_LIB_DIR, "DIR", 0, "take vendors' libraries from there only", 0},
    {"output", 'o', "FILE", 0, "write the observations there (README: format)", 0},
    {"csv", OPTION_CSV, NULL, 0, "write the observations to the terminal instead of a table", 0},
    {0},
};

static double seconds(const char *text, struct argp_state *state)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= 0) || value > 3600)
        argp_error(state, "\"%s\" is no time in seconds", text);
    return value;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    struct options *options = state->input;
    struct bench_settings *settings = &options->settings;
    switch (key) {
    case OPTION_FULL:
        options->full = true;
        return 0;
    case OPTION_SIZES:
        if (!size_list(arg, settings->sizes, BENCH_SIZES, &settings->size_count))
            argp_error(state, "--sizes: \"%s\" is no list of at most %d sizes", arg, BENCH_SIZES);
        return 0;
    case OPTION_ONLY:
        options->only = arg;
        return 0;
    case OPTION_LIST:
        options->list = true;
        return 0;
    case OPTION_TIME:
        settings->time_s = seconds(arg, state);
        return 0;
    case OPTION_COUNT_TIME:
        settings->counted_s = seconds(arg, state);
        return 0;
    case OPTION_TIMEOUT:
        settings->timeout_s = seconds(arg, state);
        return 0;
    case OPTION_PATH:
        settings->path = arg;
        return 0;
    case OPTION_LIB_DIR:
        if (setenv("GDPROBE_LIB_DIR", arg, 1) != 0)
            argp_error(state, "--lib-dir: no memory");
        return 0;
    case OPTION_NO_FACTS:
        options->no_facts = true;
        return 0;
    case OPTION_CSV:
        options->csv = true;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"", arg);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    .options = option_table,
    .parser = parse_option,
    .doc = "Measure what transfers cost on this machine, and what its counters show meanwhile."
           "\vExample: gdprobe bench -o bench.csv   (under two minutes on two GPUs)",
};

/* 1 KiB, 4 KiB, ... 256 MiB; or all powers of two from 16 B to 1 GiB. */
static void default_sizes(struct bench_settings *settings, bool full)
{
    double size = full ? 16 : 1024, last = full ? 1 << 30 : 1 << 28;
    for (; size <= last; size *= full ? 2 : 4)
        settings->sizes[settings->size_count++] = size;
}

/* ---- the run -------------------------------------------------------------------------------- */

struct run {
    struct options options;
    struct sampler sampler;
    struct observe_file file;
    struct bench_table table;
    int gpus; /* that CUDA sees */
    struct why no_gpus;
    int done, total;   /* groups */
    bool progress;     /* on a terminal */
    int first, second; /* of the group that runs */
    const struct bench_group *group;
    char incomplete[160];
};

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static void show_progress(const struct run *run, const char *experiment, const char *place)
{
    if (run->progress)
        fprintf(stderr, "\r\033[K%d/%d %s: %s %s", run->done + 1, run->total, run->group->name,
                experiment, place);
}

static void take_row(void *context, const void *record)
{
    struct run *run = context;
    const struct observation *row = record;
    show_progress(run, row->experiment, row->place);
    observe_row(&run->file, row);
    bench_table_add(&run->table, row);
}

static bool run_group(const struct child *child, void *input)
{
    struct run *run = input;
    static struct bench bench;
    signal(SIGINT, SIG_DFL); /* ends the group; the parent keeps what it has handed back */
    signal(SIGTERM, SIG_DFL);
    bench = (struct bench){.child = child,
                           .settings = &run->options.settings,
                           .sampler = &run->sampler,
                           .note = "",
                           .first = run->first,
                           .second = run->second};
    for (size_t i = 0; i < bench.settings->size_count; i++)
        if (bench.settings->sizes[i] > bench.largest_B)
            bench.largest_B = bench.settings->sizes[i];
    run->group->run(&bench);
    return true;
}

/* One group on one GPU or pair. What it has not handed back when it dies is missing, with a row. */
static void one(struct run *run, int first, int second)
{
    struct why why = {""};
    if (interrupted)
        return;
    run->first = first;
    run->second = second;
    show_progress(run, "starts", "");
    if (!child_run(run_group, run, run->options.settings.timeout_s, sizeof(struct observation),
                   take_row, run, &why)) {
        struct observation row = observation(run->group->name, "", "time", "s");
        if (first >= 0)
            snprintf(row.place, sizeof row.place, second >= 0 ? "gpu%d-gpu%d" : "gpu%d", first,
                     second);
        row.quality = QUALITY_MISSING;
        snprintf(row.note, sizeof row.note, "the rest of this group is missing: it %.150s",
                 why.text);
        take_row(run, &row);
        snprintf(run->incomplete, sizeof run->incomplete, "%s %.100s", row.experiment, why.text);
    }
    run->done++;
}

/* Quick: the first pair and the farthest; full: all. Calls one() only when `dry` is false. */
static int instances(struct run *run, const struct bench_group *group, bool dry)
{
    int count = 0, gpus = run->gpus;
    run->group = group;
    if (group->scope == BENCH_HOST || (group->scope == BENCH_ALL_GPUS && gpus > 1)) {
        count = 1;
        if (!dry)
            one(run, -1, -1);
    } else if (group->scope == BENCH_EACH_GPU) {
        for (int i = 0; i < gpus; i++, count++)
            if (!dry)
                one(run, i, -1);
    } else if (group->scope == BENCH_ONE_GPU && gpus > 0) {
        count = 1;
        if (!dry)
            one(run, 0, -1);
    } else if (group->scope == BENCH_EACH_PAIR) {
        for (int i = 0; i < gpus; i++)
            for (int k = i + 1; k < gpus; k++) {
                if (!run->options.full && (i != 0 || (k != 1 && k != gpus - 1)))
                    continue;
                count++;
                if (!dry)
                    one(run, i, k);
            }
    }
    return count;
}

static bool wanted(const struct options *options, const struct bench_group *group)
{
    size_t length = strlen(group->name);
    for (const char *at = options->only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, group->name, length) == 0 && (at[length] == ',' || !at[length]))
            return true;
    return !options->only;
}

/* Every name of --only must be one of a group. */
static const char *unknown_group(const char *only)
{
    for (const char *at = only; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        bool known = false;
        for (size_t i = 0; i < bench_group_count; i++) {
            size_t length = strlen(bench_groups[i].name);
            known = known || (strncmp(at, bench_groups[i].name, length) == 0 &&
                              (at[length] == ',' || !at[length]));
        }
        if (!known)
            return at;
    }
    return NULL;
}

struct gpu_count {
    int count;
    struct why why;
};

static bool count_gpus(const struct child *child, void *input)
{
    (void)input;
    struct gpu_count found = {0, {""}};
    static struct cuda cuda;
    if (cuda_open(&cuda, &found.why)) {
        int code = cuda.cuDeviceGetCount(&found.count);
        if (code != 0)
            why_set(&found.why, "cuDeviceGetCount: %s", cuda_error(&cuda, code));
    }
    child_send(child, &found);
    return true;
}

static void take_count(void *context, const void *record)
{
    struct run *run = context;
    const struct gpu_count *found = record;
    run->gpus = found->count < BENCH_GPUS ? found->count : BENCH_GPUS;
    run->no_gpus = found->why;
}

static void head(struct run *run)
{
    char text[64];
    observe_machine(&run->file, "bench");
    sampler_head(&run->sampler, &run->file);
    snprintf(text, sizeof text, "%s%s%s", run->options.full ? "full" : "quick",
             run->options.only ? ", only " : "", run->options.only ? run->options.only : "");
    observe_settings(&run->file, text);
    struct sys sys;
    struct why why;
    if (run->options.output && !run->options.no_facts && sys_open(&sys, NULL, &why))
        observe_facts(&run->file, &sys, run->options.settings.timeout_s);
    if (run->gpus == 0)
        observe_head(&run->file, "note", "no GPU: %s",
                     run->no_gpus.text[0] ? run->no_gpus.text : "CUDA sees none");
}

static int measure(struct run *run)
{
    struct why why = {""};
    struct bench_settings *settings = &run->options.settings;
    sampler_start(&run->sampler, 0.01, settings->timeout_s);
    struct why hangs = {""};
    if (!child_run(count_gpus, NULL, settings->timeout_s, sizeof(struct gpu_count), take_count, run,
                   &hangs)) {
        run->no_gpus = hangs;
        snprintf(run->incomplete, sizeof run->incomplete, "the CUDA driver %.100s", hangs.text);
    }
    if (!observe_open(&run->file, run->options.output, run->options.csv ? stdout : NULL, &why)) {
        fprintf(stderr, "gdprobe: %s\n", why.text);
        sampler_stop(&run->sampler);
        return EXIT_BAD_INPUT;
    }
    head(run);
    for (size_t i = 0; i < bench_group_count; i++)
        if (wanted(&run->options, &bench_groups[i]))
            run->total += instances(run, &bench_groups[i], true);
    for (size_t i = 0; i < bench_group_count; i++)
        if (wanted(&run->options, &bench_groups[i]))
            instances(run, &bench_groups[i], false);
    if (run->progress)
        fprintf(stderr, "\r\033[K");
    if (interrupted)
        snprintf(run->incomplete, sizeof run->incomplete, "interrupted");
    sampler_stop(&run->sampler);
    if (!run->options.csv)
        bench_table_print(&run->table, &run->sampler.machine, stdout);
    if (run->gpus == 0)
        fprintf(stderr, "gdprobe: no GPU was measured: %s\n",
                run->no_gpus.text[0] ? run->no_gpus.text : "CUDA sees none");
    if (!observe_close(&run->file, run->incomplete[0] ? run->incomplete : NULL, &why)) {
        fprintf(stderr, "gdprobe: %s\n", why.text);
        return EXIT_FOUND;
    }
    if (run->incomplete[0])
        fprintf(stderr, "gdprobe: incomplete: %s\n", run->incomplete);
    return run->incomplete[0] || run->gpus == 0 ? EXIT_FOUND : EXIT_FINE;
}

int cmd_bench(int argc, char **argv)
{
    static struct run run;
    struct bench_settings *settings = &run.options.settings;
    *settings = (struct bench_settings){.time_s = -1, .counted_s = -1, .timeout_s = 30};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, &run.options);
    bool full = run.options.full;
    if (run.options.list) {
        for (size_t i = 0; i < bench_group_count; i++)
            printf("%-9s %s\n", bench_groups[i].name, bench_groups[i].summary);
        return EXIT_FINE;
    }
    const char *unknown = unknown_group(run.options.only);
    if (unknown) {
        fprintf(stderr, "gdprobe: --only: no group \"%.*s\"; see --list\n",
                (int)strcspn(unknown, ","), unknown);
        return EXIT_BAD_INPUT;
    }
    if (settings->size_count == 0)
        default_sizes(settings, full);
    if (settings->time_s < 0)
        settings->time_s = full ? 0.1 : 0.02;
    if (settings->counted_s < 0)
        settings->counted_s = full ? 1 : 0.3;
    settings->least = full ? 9 : 5;
    run.progress = isatty(STDERR_FILENO);
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    int code = measure(&run);
    bench_table_free(&run.table);
    return code;
}
