/* cmd_whatif.c: gdsim whatif: before and after. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/report/grid.h"
#include "sim/report/head.h"
#include "sim/report/limit.h"
#include "sim/study/remedy.h"

static const char doc[] =
    "Compare the scenario as it is with the scenario changed by --set, or with every remedy and "
    "upgrade that applies (--each), ranked by gain: one by one, and all remedies (what mends a "
    "setting; upgrades buy hardware) together.\v"
    "Examples:\n"
    "  gdsim whatif scenarios/worked-table.yaml -m gdr --set 'node.devices.nic*.rate=400 Gb/s'\n"
    "  gdsim whatif scenarios/field-guide/acs.yaml --each\n";

struct whatif_options {
    struct options shared;
    bool each;
};

static const struct argp_option option_table[] = {
    {"each", 'e', NULL, 0, "try every change that is known, ranked by gain", 0}, {0}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct whatif_options *options = state->input;
    (void)arg;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = &options->shared;
        return 0;
    }
    if (key != 'e')
        return ARGP_ERR_UNKNOWN;
    options->each = true;
    return 0;
}

/* One run: the last size by the first mechanism. */
struct point {
    double time_us, busbw_GBps;
    bool hangs; /* time is infinite, `limit` says why */
    char limit[512], taken[48];
    char what[96]; /* "rings/gdr, 1 GiB" */
};

static enum status measure(struct experiment *experiment, struct point *ret, struct error *error)
{
    struct results results;
    enum status status =
        experiment_run(experiment, experiment->scenario->accounting, &results, error);
    *ret = (struct point){.time_us = (double)INFINITY, .taken = "none: it hangs"};
    const struct scenario *scenario = experiment->scenario;
    char size[UNITS_TEXT_MAX];
    snprintf(
        ret->what, sizeof ret->what, "%s/%s, %s", experiment->columns[0].plan->name,
        experiment->columns[0].mechanism->name,
        units_format(scenario->sizes_B[scenario->size_count - 1], DIM_BYTES, size, sizeof size));
    if (status && mechanism_hangs(error)) {
        ret->hangs = true;
        snprintf(ret->limit, sizeof ret->limit, "%s", error->message);
        return STATUS_OK;
    }
    if (status)
        return status;
    size_t last = results.size_count - 1;
    const struct ledger *ledger = results_at(&results, last, 0);
    const struct routes *routes = experiment->columns[0].routes;
    const struct route *worst = NULL;
    for (size_t slot = 0; slot < ledger->route_count; slot++)
        if (ledger->route_bytes[slot] > 0 &&
            (!worst || route_worst(routes->slot[slot]) > route_worst(worst)))
            worst = routes->slot[slot];
    ret->time_us = (double)ledger->total_ps / 1e6;
    ret->busbw_GBps = results_busbw_Bps(&results, last, 0) / 1e9;
    int64_t critical_ps;
    limit_of(ledger, results.machine, ret->limit, &critical_ps);
    snprintf(ret->taken, sizeof ret->taken, "%s", worst ? worst->taken->title : "none");
    experiment_free_results(&results);
    return status;
}

static enum status measure_scenario(const struct scenario *scenario, const char *algorithm,
                                    struct point *ret, struct error *error)
{
    struct experiment experiment;
    enum status status = experiment_open(&experiment, scenario, algorithm, error);
    if (status)
        return status;
    status = measure(&experiment, ret, error);
    experiment_close(&experiment);
    return status;
}

static const struct grid_column columns[] = {
    {.name = "change", .kind = GRID_TEXT},
    {.name = "kind", .kind = GRID_TEXT},
    {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 2},
    {.name = "busbw_GBps", .title = "busbw GB/s", .kind = GRID_REAL, .decimals = 2, .small = true},
    {.name = "gain", .title = "times faster", .kind = GRID_REAL, .decimals = 2},
    {.name = "taken", .title = "path", .kind = GRID_TEXT},
    {.name = "limit", .title = "limited by", .kind = GRID_TEXT},
};

static void add_row(struct grid *grid, const char *change, const char *kind,
                    const struct point *before, const struct point *point)
{
    grid_row(grid);
    grid_set_text(grid, 0, change);
    grid_set_text(grid, 1, kind);
    grid_set_text(grid, 5, point->taken);
    if (point->hangs)
        return;
    grid_set_real(grid, 2, point->time_us);
    grid_set_real(grid, 3, point->busbw_GBps);
    if (!before->hangs)
        grid_set_real(grid, 4, before->time_us / point->time_us);
    grid_set_text(grid, 6, point->limit);
}

/* Changes that gain less are named together, in tables for people. */
#define NO_GAIN 1.005

static bool faster(const struct point *point, const struct point *than)
{
    return point->time_us * NO_GAIN <= than->time_us && !point->hangs;
}

struct tried {
    size_t remedy; /* its place in the table */
    char name[256];
    struct point point;
    bool together; /* gains something beside others */
    bool harms;    /* makes it slower, alone or beside others: not one of `all` */
};

#define MAX_TRIED 64

/* Every change that applies, alone and together. */
struct study {
    const struct scenario *scenario;
    const char *algorithm;
    struct point before, all; /* all: the remedies that do no harm, no upgrade */
    struct point bought;      /* all upgrades together, without the remedies */
    struct tried tried[MAX_TRIED];
    size_t count, remedies, upgrades;
    bool mends[MAX_TRIED]; /* by place in the table: applies, and is no upgrade */
};

static int by_gain(const void *a, const void *b)
{
    const struct tried *x = a, *y = b;
    if (x->point.time_us < y->point.time_us)
        return -1;
    if (x->point.time_us > y->point.time_us)
        return 1;
    return x->remedy < y->remedy ? -1 : x->remedy > y->remedy;
}

/* The scenario with the chosen changes; it shares everything but the machine with the original. */
static enum status try_chosen(const struct study *study, const bool *chosen, struct point *ret,
                              struct error *error)
{
    struct scenario changed = *study->scenario;
    enum status status =
        remedy_apply_all(chosen, &study->scenario->machine, &changed.machine, error);
    if (status)
        return status;
    status = measure_scenario(&changed, study->algorithm, ret, error);
    machine_free(&changed.machine);
    return status;
}

static enum status try_alone(struct study *study, size_t remedy, struct error *error)
{
    struct machine copy;
    bool applies, chosen[MAX_TRIED] = {false};
    struct tried *tried = &study->tried[study->count];
    enum status status =
        remedy_apply(&remedy_table[remedy], &study->scenario->machine, &copy, &applies, error);
    if (status || !applies)
        return status;
    machine_free(&copy);
    chosen[remedy] = true;
    *tried = (struct tried){.remedy = remedy};
    remedy_name(&remedy_table[remedy], &study->scenario->machine, tried->name, sizeof tried->name);
    study->count++;
    study->mends[remedy] = !remedy_table[remedy].upgrade;
    study->remedies += study->mends[remedy];
    study->upgrades += !study->mends[remedy];
    status = try_chosen(study, chosen, &tried->point, error);
    tried->harms = !status && faster(&study->before, &tried->point);
    return status;
}

/* Whether a remedy is needed beside the others. First every one goes that is not missed (of two
 * that cure the same, one stays); then one that went still counts if it can stand in for one that
 * stayed. */
static enum status try_together(struct study *study, struct error *error)
{
    bool kept[MAX_TRIED];
    struct point with, without;
    memcpy(kept, study->mends, sizeof kept);
    enum status status = try_chosen(study, kept, &study->all, error);
    for (size_t i = study->count; i-- > 0 && !status;) {
        struct tried *tried = &study->tried[i];
        if (!kept[tried->remedy])
            continue;
        kept[tried->remedy] = false;
        status = try_chosen(study, kept, &without, error);
        kept[tried->remedy] = faster(&study->all, &without);
        if (faster(&without, &study->all)) {
            tried->harms = true;
            study->all = without;
        }
    }
    for (size_t i = 0; i < study->count && !status; i++) {
        struct tried *tried = &study->tried[i];
        tried->together = kept[tried->remedy];
        if (!study->mends[tried->remedy] || tried->together || tried->harms ||
            faster(&tried->point, &study->before))
            continue;
        for (size_t k = 0; k < remedy_count && !status && !tried->together; k++) {
            if (!kept[k])
                continue;
            kept[k] = false;
            status = try_chosen(study, kept, &without, error);
            kept[tried->remedy] = true;
            if (!status)
                status = try_chosen(study, kept, &with, error);
            kept[tried->remedy] = false;
            kept[k] = true;
            tried->together = !status && faster(&with, &without);
        }
    }
    return status;
}

/* A bottleneck that is bought away leaves the next one: together upgrades may gain what none does
 * alone. */
static enum status try_upgrades(struct study *study, struct error *error)
{
    bool chosen[MAX_TRIED] = {false};
    for (size_t i = 0; i < study->count; i++)
        chosen[study->tried[i].remedy] = remedy_table[study->tried[i].remedy].upgrade;
    return try_chosen(study, chosen, &study->bought, error);
}

static bool buys_more_together(const struct study *study)
{
    bool more = faster(&study->bought, &study->before);
    for (size_t i = 0; i < study->count; i++)
        if (remedy_table[study->tried[i].remedy].upgrade)
            more = more && faster(&study->bought, &study->tried[i].point);
    return more;
}

/* One line that names the changes of one sort. */
enum sort { HELPS, HELPS_TOGETHER, IDLE, HARMS, SORT_COUNT };

static enum sort sort_of(const struct study *study, const struct tried *tried)
{
    return faster(&tried->point, &study->before) ? HELPS
           : tried->together                     ? HELPS_TOGETHER
           : tried->harms                        ? HARMS
                                                 : IDLE;
}

static void name_them(const struct study *study, enum sort sort, struct text *text)
{
    static const char *const titles[SORT_COUNT] = {[HELPS_TOGETHER] =
                                                       "helps only together with others",
                                                   [IDLE] = "without effect here",
                                                   [HARMS] = "makes it slower"};
    const char *before = titles[sort], *between = ": ";
    for (size_t i = 0; i < study->count; i++) {
        if (sort_of(study, &study->tried[i]) != sort)
            continue;
        text_printf(text, "%s%s%s", before, between, study->tried[i].name);
        before = "";
        between = "; ";
    }
    if (*before == '\0')
        text_printf(text, "\n");
}

static enum status each(struct study *study, bool people, struct grid *grid, struct text *notes,
                        struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < remedy_count && !status; i++) {
        cli_step("change %zu of %zu: %s", i + 1, remedy_count, remedy_table[i].name);
        status = try_alone(study, i, error);
    }
    if (!status && study->remedies > 1)
        status = try_together(study, error);
    if (!status && study->upgrades > 1)
        status = try_upgrades(study, error);
    cli_step_end();
    if (status)
        return status;
    if (study->before.hangs)
        text_printf(notes, "as it is, %s\n", study->before.limit);
    qsort(study->tried, study->count, sizeof study->tried[0], by_gain);
    if (study->remedies > 1 && (!people || faster(&study->all, &study->before)))
        add_row(grid, "all remedies together", "remedy", &study->before, &study->all);
    if (study->upgrades > 1 && (!people || buys_more_together(study)))
        add_row(grid, "all upgrades together", "upgrade", &study->before, &study->bought);
    for (size_t i = 0; i < study->count; i++) {
        const struct remedy *remedy = &remedy_table[study->tried[i].remedy];
        if (!people || sort_of(study, &study->tried[i]) == HELPS)
            add_row(grid, study->tried[i].name, remedy->upgrade ? "upgrade" : "remedy",
                    &study->before, &study->tried[i].point);
    }
    for (enum sort sort = HELPS_TOGETHER; sort < SORT_COUNT; sort++)
        name_them(study, sort, notes);
    return STATUS_OK;
}

/* What was timed, in a line. */
static void write_job(const struct scenario *scenario, const struct point *point, struct text *text)
{
    text_printf(text, "%s, %s accounting, %u ranks", point->what,
                accounting_name(scenario->accounting), machine_ranks(&scenario->machine));
    if (scenario->transfer_count == 0)
        head_protocol_write(text, &scenario->machine, scenario->accounting);
}

static int write_out(const struct options *options, const struct grid *grid,
                     const struct text *head, const struct text *notes)
{
    struct text text = {0};
    struct error error;
    const char *format = options->format ? options->format : "table";
    if (strcmp(format, "table") == 0 && head->length)
        text_printf(&text, "%s", head->data);
    text.failed |= head->failed;
    enum status status = strcmp(format, "csv") == 0    ? grid_write_csv(grid, &text, &error)
                         : strcmp(format, "json") == 0 ? grid_write_json(grid, &text, &error)
                                                       : grid_write_table(grid, &text, &error);
    if (strcmp(format, "table") == 0 && notes->length)
        text_printf(&text, "%s", notes->data);
    int code = status ? cli_fail(&error) : cli_write(options, &text);
    text_free(&text);
    return code;
}

/* The scenario with all of --set beside that without. */
static int compare_set(const struct options *options, const struct scenario *before,
                       const struct point *first, struct grid *grid, struct text *head)
{
    struct scenario after;
    struct point second;
    struct text change = {0}, was = {0}, is = {0};
    struct error error;
    int code = cli_load(options, &after);
    if (code)
        return code;
    if (measure_scenario(&after, options->algorithm, &second, &error)) {
        code = cli_fail(&error);
    } else {
        for (size_t i = 0; i < options->set_count; i++)
            text_printf(&change, "%s%s", i ? "; " : "", options->set[i]);
        add_row(grid, change.data, "--set", first, &second);
        write_job(before, first, &was);
        write_job(&after, &second, &is);
        if (was.failed || is.failed || change.failed)
            head->failed = true;
        else if (strcmp(was.data, is.data) == 0)
            text_printf(head, "# %s\n", was.data);
        else
            text_printf(head, "# as it is: %s\n# changed: %s\n", was.data, is.data);
    }
    text_free(&change);
    text_free(&was);
    text_free(&is);
    scenario_free(&after);
    return code;
}

int cmd_whatif(int argc, char **argv)
{
    struct whatif_options options = {0};
    struct options as_is;
    struct scenario before;
    struct point first;
    struct text head = {0}, notes = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    if (!options.each && options.shared.set_count == 0) {
        fprintf(stderr, "gdsim whatif: say what changes: --set key=value, or --each\n");
        return EXIT_BAD_INPUT;
    }
    as_is = options.shared;
    if (!options.each)
        as_is.set_count = 0;
    int code = cli_load(&as_is, &before);
    if (code)
        return code;
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    if (before.title)
        text_printf(&head, "# %s\n", before.title);
    if (measure_scenario(&before, options.shared.algorithm, &first, &error)) {
        code = cli_fail(&error);
    } else if (options.each) {
        add_row(grid, "as it is", "", &first, &first);
        text_printf(&head, "# ");
        write_job(&before, &first, &head);
        text_printf(&head, "\n");
        bool people = !options.shared.format || strcmp(options.shared.format, "table") == 0;
        struct study study = {
            .scenario = &before, .algorithm = options.shared.algorithm, .before = first};
        if (each(&study, people, grid, &notes, &error))
            code = cli_fail(&error);
    } else {
        add_row(grid, "as it is", "", &first, &first);
        code = compare_set(&options.shared, &before, &first, grid, &head);
    }
    if (!code)
        code = write_out(&options.shared, grid, &head, &notes);
    text_free(&head);
    text_free(&notes);
    grid_free(grid);
    scenario_free(&before);
    return code;
}
