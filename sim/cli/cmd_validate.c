/* cmd_validate.c: gdsim validate: predicted beside measured, misses included. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/validate.h"
#include "sim/load/expect.h"
#include "sim/load/file.h"
#include "sim/report/limit.h"
#include "sim/report/output.h"

static const char doc[] =
    "Run the cases and compare with what was measured. Each case file says what it expects; a "
    "miss stays in the table, and so does a run that fails.\v"
    "Without files: scenarios/cases, scenarios/pairs and the runs of scenarios/h200x2. Exit code 1 "
    "when an expectation is missed that carries "
    "no note why.\n"
    "Example:\n"
    "  gdsim validate scenarios/cases/17-outstanding-reads.yaml\n";

struct validate_options {
    char **files;
    size_t count;
    const char *output;
    bool brief;
};

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "also write the table as CSV there", 0},
    {"brief", 'b', NULL, 0, "one row a case; the file of -o holds every row", 0},
    {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct validate_options *options = state->input;
    switch (key) {
    case 'o':
        options->output = arg;
        return 0;
    case 'b':
        options->brief = true;
        return 0;
    case ARGP_KEY_ARGS:
        options->files = state->argv + state->next;
        options->count = (size_t)(state->argc - state->next);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct grid_column columns[] = {
    [VALIDATE_CASE] = {.name = "case", .kind = GRID_TEXT},
    [VALIDATE_NAME] = {.name = "name", .kind = GRID_TEXT},
    [VALIDATE_METRIC] = {.name = "metric", .kind = GRID_TEXT},
    [VALIDATE_PREDICTED] = {.name = "predicted", .kind = GRID_REAL, .decimals = 2},
    [VALIDATE_MEASURED] = {.name = "measured", .kind = GRID_REAL, .decimals = 2},
    [VALIDATE_ERROR] = {.name = "error_percent",
                        .title = "error %",
                        .kind = GRID_REAL,
                        .decimals = 1},
    [VALIDATE_WANTED] = {.name = "wanted", .kind = GRID_TEXT},
    [VALIDATE_VERDICT] = {.name = "verdict", .kind = GRID_TEXT},
    [VALIDATE_LIMIT] = {.name = "limit", .title = "limited by", .kind = GRID_TEXT},
    [VALIDATE_NOTE] = {.name = "note", .kind = GRID_TEXT},
};

/* What one expectation's run gave. */
struct outcome_of {
    double value;       /* GB/s, or us; NAN: it failed */
    double least, most; /* over all seeds */
    bool failed;
    char limit[LIMIT_NAME_MAX];
};

/* The busiest wire's bytes over time, per direction: of the network, or where nothing passes it of
 * NVLink. */
static double wire_Bps(const struct results *results)
{
    const struct ledger *ledger = results_at(results, 0, 0);
    const struct node_type *node = &results->machine->node;
    static const enum resource_kind kinds[] = {RESOURCE_WIRE, RESOURCE_NVLINK};
    double most = 0;
    for (size_t k = 0; k < 2 && !(most > 0); k++)
        for (size_t i = 0; i < ledger->resource_count; i++)
            if (node->resources[i].kind == kinds[k] && ledger->resources[i].bytes > most)
                most = ledger->resources[i].bytes;
    return most / results->machine->node_count / ((double)ledger->total_ps * 1e-12);
}

static double metric_of(const struct results *results, enum expect_metric metric)
{
    switch (metric) {
    case EXPECT_BUSBW:
        return results_busbw_Bps(results, 0, 0) / 1e9;
    case EXPECT_ALGBW:
        return results_algbw_Bps(results, 0, 0) / 1e9;
    case EXPECT_WIRE:
        return wire_Bps(results) / 1e9;
    case EXPECT_TIME:
    case EXPECT_METRIC_COUNT:
        break;
    }
    return (double)results_at(results, 0, 0)->total_ps / 1e6;
}

/* Print the mistakes of a scenario that an expectation has changed; those of its `set` at their
 * place in the file. */
static int fail_set(const struct expectation *item, const struct scenario *changed,
                    enum status status)
{
    struct scenario told = {0};
    char *text = NULL;
    size_t length;
    if (status == STATUS_NOMEM)
        return cli_fail_scenario(changed, status);
    diag_init(&told.diag);
    if (!file_read(item->mark.file, YAML_TREE_BYTES, &text, &length, NULL))
        diag_add_source(&told.diag, item->mark.file, text, length);
    for (size_t i = 0; i < diag_count(&changed->diag); i++) {
        const struct diag *diag = diag_get(&changed->diag, i);
        if (!diag)
            break;
        struct mark mark = diag->mark;
        for (size_t j = 0; j < item->set_count; j++)
            if (mark.file && strncmp(mark.file, "--set ", 6) == 0 &&
                strcmp(mark.file + 6, item->set[j]) == 0)
                mark = item->set_mark[j];
        mark.file = mark.file ? diag_intern(&told.diag, mark.file) : NULL;
        diag_add(&told.diag, mark, diag->hint, "%s", diag->message);
    }
    int code = cli_fail_scenario(&told, status);
    diag_free(&told.diag);
    free(text);
    return code;
}

static int load(const char *file, const struct expectation *item, struct scenario *ret_scenario)
{
    struct options options = {.file = file,
                              .set_count = item->set_count,
                              .sizes = item->size,
                              .mechanism = item->mechanism,
                              .accounting = item->accounting,
                              .quiet = true}; /* the file's own `set` */
    struct scenario trial;
    const char *root = cli_root();
    if (!root)
        return EXIT_RUN_FAILED;
    for (size_t i = 0; i < item->set_count; i++)
        options.set[i] = item->set[i];
    struct scenario_request request = {
        .path = file, .root = root, .set = options.set, .set_count = options.set_count};
    enum status status = scenario_load(&request, &trial);
    int code = status ? fail_set(item, &trial, status) : EXIT_FINE;
    scenario_free(&trial);
    return code ? code : cli_load(&options, ret_scenario);
}

/* A run that fails is a result too: it is told, and the table shows that nothing came of it. */
static int fail_run(const struct expectation *item, struct error *error, struct outcome_of *ret)
{
    *ret = (struct outcome_of){.value = (double)NAN, .failed = true};
    snprintf(ret->limit, sizeof ret->limit, "%s", mechanism_hangs(error) ? "it hangs" : "it fails");
    if (!error->file[0] && item->mark.file) {
        snprintf(error->file, sizeof error->file, "%s", item->mark.file);
        error->line = item->mark.line;
    }
    int code = cli_fail(error);
    return error->status == STATUS_FAILED ? EXIT_FINE : code;
}

static int run_one(const char *file, const struct expectation *item, struct outcome_of *ret)
{
    struct scenario scenario;
    struct experiment experiment;
    struct results results;
    struct error error;
    int code = load(file, item, &scenario);
    if (code)
        return code;
    if (scenario.size_count > 1) { /* the last one */
        scenario.sizes_B[0] = scenario.sizes_B[scenario.size_count - 1];
        scenario.size_count = 1;
    }
    scenario.mechanism_count = 1;
    enum status status = experiment_open(&experiment, &scenario, item->algorithm, &error);
    if (!status) {
        status = experiment_run(&experiment, scenario.accounting, &results, &error);
        if (!status) {
            const struct ledger *ledger = results_at(&results, 0, 0);
            ret->value = metric_of(&results, item->metric);
            int64_t critical_ps;
            limit_of(ledger, &scenario.machine, ret->limit, &critical_ps);
            experiment_free_results(&results);
        }
        experiment_close(&experiment);
    }
    if (status)
        code = fail_run(item, &error, ret);
    scenario_free(&scenario);
    return code;
}

static int by_value(const void *a, const void *b)
{
    double x = ((const struct outcome_of *)a)->value, y = ((const struct outcome_of *)b)->value;
    return (x > y) - (x < y);
}

/* Every seed of hashed routing; the run in the middle stands for all. */
static int run_seeds(const char *file, const struct expectation *item, struct outcome_of *ret)
{
    struct outcome_of runs[EXPECT_MAX_SEEDS];
    struct expectation one = *item;
    char seed[40];
    int code = EXIT_FINE;
    if (item->seeds == 0)
        return run_one(file, item, ret);
    if (item->set_count == EXPECT_MAX_SET)
        return cli_fail(&(struct error){.status = STATUS_INPUT,
                                        .message = "seeds need room for one more key in set"});
    one.set[one.set_count] = seed;
    one.set_mark[one.set_count++] = item->mark;
    for (uint32_t i = 0; i < item->seeds && !code; i++) {
        snprintf(seed, sizeof seed, "fabric.hash_seed=%u", i);
        runs[i] = (struct outcome_of){0};
        code = run_one(file, &one, &runs[i]);
        if (runs[i].failed) {
            *ret = runs[i];
            return code;
        }
    }
    if (code)
        return code;
    qsort(runs, item->seeds, sizeof *runs, by_value);
    *ret = runs[item->seeds / 2];
    ret->least = runs[0].value;
    ret->most = runs[item->seeds - 1].value;
    return EXIT_FINE;
}

/* Measured values are printed in GB/s and us. */
static double scale(const struct expectation *item, double value)
{
    return item->metric == EXPECT_TIME ? value * 1e6 : value / 1e9;
}

static bool judge(const struct expectation *item, const struct outcome_of *got, char *wanted,
                  size_t size)
{
    bool good = true;
    size_t used = 0;
    wanted[0] = '\0';
    if (!isnan(item->tolerance)) {
        double measured = scale(item, item->measured);
        good = fabs(got->value - measured) <= item->tolerance * measured * (1 + 1e-9);
        used += (size_t)snprintf(wanted, size, "+-%.0f %%", item->tolerance * 100);
    }
    if (!isnan(item->at_least)) {
        good = good && got->value >= scale(item, item->at_least);
        used += (size_t)snprintf(wanted + used, size - used, "%s>= %.4g", used ? ", " : "",
                                 scale(item, item->at_least));
    }
    if (!isnan(item->at_most)) {
        good = good && got->value <= scale(item, item->at_most);
        used += (size_t)snprintf(wanted + used, size - used, "%s<= %.4g", used ? ", " : "",
                                 scale(item, item->at_most));
    }
    if (item->seeds && !got->failed) {
        double measured = scale(item, item->measured);
        if (!isnan(measured))
            good = good && got->least <= measured && measured <= got->most;
        used += (size_t)snprintf(wanted + used, size - used, "%swithin %.2f to %.2f of %u seeds",
                                 used ? ", " : "", got->least, got->most, item->seeds);
    }
    bool limited = item->limit_count == 0;
    for (size_t i = 0; i < item->limit_count; i++)
        limited = limited || strstr(got->limit, item->limits[i]);
    if (item->limit_count)
        snprintf(wanted + used, size - used, "%slimit %s", used ? ", " : "", item->limits[0]);
    return good && limited;
}

static bool judge_ratio(const struct expectations *all, const struct outcome_of *got,
                        const struct expectation *item, double *ret_ratio, char *wanted,
                        size_t size)
{
    double values[2] = {0, 0};
    for (size_t i = 0; i < all->count; i++)
        for (int j = 0; j < 2; j++)
            if (strcmp(all->items[i].name, item->ratio[j]) == 0)
                values[j] = got[i].value;
    *ret_ratio = values[0] / values[1];
    bool good = (isnan(item->low) || *ret_ratio >= item->low) &&
                (isnan(item->high) || *ret_ratio <= item->high);
    if (isnan(item->high))
        snprintf(wanted, size, ">= %.4g", item->low);
    else if (isnan(item->low))
        snprintf(wanted, size, "<= %.4g", item->high);
    else
        snprintf(wanted, size, "%.4g to %.4g", item->low, item->high);
    return good;
}

static int add_rows(struct grid *grid, const char *file, const char *name,
                    const struct expectations *all, struct tally *tally)
{
    char wanted[96];
    struct outcome_of *got = calloc(all->count + 1, sizeof *got);
    int code = got ? EXIT_FINE : EXIT_RUN_FAILED;
    for (size_t i = 0; i < all->count && !code; i++) {
        const struct expectation *item = &all->items[i];
        bool good;
        double value;
        if (item->ratio[0] && item->ratio[1]) {
            good = judge_ratio(all, got, item, &value, wanted, sizeof wanted);
        } else {
            code = run_seeds(file, item, &got[i]);
            if (code)
                break;
            good = judge(item, &got[i], wanted, sizeof wanted);
            value = got[i].value;
        }
        bool judged = wanted[0] != '\0' || got[i].failed;
        grid_row(grid);
        grid_set_text(grid, VALIDATE_CASE, name);
        grid_set_text(grid, VALIDATE_NAME, item->name);
        grid_set_text(grid, VALIDATE_METRIC,
                      item->ratio[0]                 ? "ratio"
                      : item->metric == EXPECT_TIME  ? "time us"
                      : item->metric == EXPECT_WIRE  ? "wire GB/s"
                      : item->metric == EXPECT_ALGBW ? "algbw GB/s"
                                                     : "busbw GB/s");
        if (!isnan(value))
            grid_set_real(grid, VALIDATE_PREDICTED, value);
        if (!isnan(item->measured) && !item->ratio[0]) {
            double measured = scale(item, item->measured);
            grid_set_real(grid, VALIDATE_MEASURED, measured);
            double off = 100 * (value - measured) / measured;
            if (!isnan(value))
                grid_set_real(grid, VALIDATE_ERROR, off);
            if (judged) {
                tally->measured = true;
                tally->worst = fabs(off) > fabs(tally->worst) ? off : tally->worst;
            }
        }
        grid_set_text(grid, VALIDATE_WANTED, wanted);
        bool open = !judged && !isnan(item->measured);
        good = good && !got[i].failed;
        grid_set_text(grid, VALIDATE_VERDICT,
                      open      ? "not judged"
                      : !judged ? "-"
                      : good    ? "meets"
                                : "MISSES");
        if (!item->ratio[0])
            grid_set_text(grid, VALIDATE_LIMIT, got[i].limit);
        if (item->note)
            grid_set_text(grid, VALIDATE_NOTE, item->note);
        tally->met += good && judged;
        tally->missed += !good;
        tally->unexplained += !good && (!item->note || got[i].failed);
        tally->open += open;
    }
    free(got);
    return code;
}

/* The file's name without folder and ending. */
static void name_of(const char *file, char *name, size_t size)
{
    const char *slash = strrchr(file, '/');
    snprintf(name, size, "%s", slash ? slash + 1 : file);
    if (strrchr(name, '.'))
        *strrchr(name, '.') = '\0';
}

/* A case says what it expects, or which whole runs were measured, or both. */
static int validate_file(const char *file, struct grid *grid, struct tally *tally)
{
    struct options options = {.file = file};
    struct scenario scenario;
    struct expectations all = {0};
    char name[128];
    name_of(file, name, sizeof name);
    int code = cli_load(&options, &scenario);
    if (code)
        return code;
    bool runs = yaml_map_entry(scenario.tree->root, "data") != NULL;
    if (!runs || yaml_map_entry(scenario.tree->root, "expect")) {
        enum status status = expect_read(&scenario, &all);
        code =
            status ? cli_fail_scenario(&scenario, status) : add_rows(grid, file, name, &all, tally);
    }
    expect_free(&all);
    scenario_free(&scenario);
    return code || !runs ? code : validate_runs(file, name, grid, tally);
}

/* ---- one row a case
 * ------------------------------------------------------------------------------- */

enum brief_column { BRIEF_CASE, BRIEF_MET, BRIEF_MISSED, BRIEF_OPEN, BRIEF_WORST, BRIEF_TITLE };

static struct grid *brief_new(void)
{
    static const struct grid_column brief[] = {
        [BRIEF_CASE] = {.name = "case", .kind = GRID_TEXT},
        [BRIEF_MET] = {.name = "met", .kind = GRID_INT},
        [BRIEF_MISSED] = {.name = "missed", .kind = GRID_INT},
        [BRIEF_OPEN] = {.name = "not_judged", .title = "not judged", .kind = GRID_INT},
        [BRIEF_WORST] = {.name = "worst_error_percent",
                         .title = "worst error %",
                         .kind = GRID_REAL,
                         .decimals = 1},
        [BRIEF_TITLE] = {.name = "title", .kind = GRID_TEXT},
    };
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof brief / sizeof brief[0]; i++)
        grid_column(grid, &brief[i]);
    return grid;
}

static void brief_add(struct grid *grid, const char *file, const struct tally *one)
{
    struct options options = {.file = file};
    struct scenario scenario;
    char name[128];
    name_of(file, name, sizeof name);
    grid_row(grid);
    grid_set_text(grid, BRIEF_CASE, name);
    grid_set_int(grid, BRIEF_MET, (int64_t)one->met);
    grid_set_int(grid, BRIEF_MISSED, (int64_t)one->missed);
    grid_set_int(grid, BRIEF_OPEN, (int64_t)one->open);
    if (one->measured)
        grid_set_real(grid, BRIEF_WORST, one->worst);
    if (!cli_load(&options, &scenario)) {
        grid_set_text(grid, BRIEF_TITLE, scenario.title);
        scenario_free(&scenario);
    }
}

static int finish(const struct validate_options *options, const struct grid *grid,
                  const struct grid *brief, const struct tally *tally)
{
    struct text text = {0}, csv = {0};
    struct error error;
    enum status status = grid_write_table(options->brief ? brief : grid, &text, &error);
    text_printf(&text, "%zu met, %zu missed, %zu not judged\n", tally->met, tally->missed,
                tally->open);
    if (!status)
        status = output_write("-", text.data, text.length, &error);
    if (!status && options->output) {
        status = grid_write_csv(grid, &csv, &error);
        if (!status)
            status = output_write(options->output, csv.data, csv.length, &error);
    }
    text_free(&text);
    text_free(&csv);
    return status ? cli_fail(&error) : tally->unexplained ? EXIT_RUN_FAILED : EXIT_FINE;
}

int cmd_validate(int argc, char **argv)
{
    struct validate_options options = {0};
    struct tally tally = {0};
    char pattern[4200];
    glob_t found = {0};
    cli_parse(argc, argv, option_table, parse, "[CASE.yaml...]", doc, &options);
    const char *root = cli_root();
    if (!root)
        return EXIT_RUN_FAILED;
    if (options.count == 0) {
        static const char *const folders[] = {"cases/*.yaml", "pairs/*.yaml", "h200x2/runs.yaml"};
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            snprintf(pattern, sizeof pattern, "%s/scenarios/%s", root, folders[i]);
            glob(pattern, i > 0 ? GLOB_APPEND : 0, NULL, &found);
        }
        options.files = found.gl_pathv;
        options.count = found.gl_pathc;
    }
    struct grid *grid = grid_new(), *brief = brief_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    /* A file that cannot be read does not keep the others from being judged. */
    int code = EXIT_FINE;
    for (size_t i = 0; i < options.count; i++) {
        struct tally one = {0};
        int read = validate_file(options.files[i], grid, &one);
        if (!read && options.brief)
            brief_add(brief, options.files[i], &one);
        code = read > code ? read : code;
        tally.met += one.met;
        tally.missed += one.missed;
        tally.unexplained += one.unexplained;
        tally.open += one.open;
    }
    if (!code || grid_row_count(grid) > 0) {
        int finished = finish(&options, grid, brief, &tally);
        code = code ? code : finished;
    }
    grid_free(brief);
    grid_free(grid);
    globfree(&found);
    return code;
}
