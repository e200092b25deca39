/* cmd_compare.c: gdsim compare: algorithms on mechanisms beside each other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/report/compare.h"
#include "sim/report/head.h"
#include "sim/report/tidy.h"

static const char doc[] =
    "Put algorithms on mechanisms beside each other, over the scenario's sizes. Algorithms are "
    "names of lua/ or files. A pair that cannot run is named with its reason and left out, at all "
    "sizes or at "
    "some.\v"
    "Examples:\n"
    "  gdsim compare scenarios/worked-table.yaml -G ring,recursive_doubling,sharp\n"
    "  gdsim compare scenarios/worked-table.yaml -G ring,my.lua -M gdr --sizes '8 B,1 MB'\n"
    "  gdsim compare scenarios/two-h200.yaml -G rings,nccl_tree -P ll,ll128,simple -M nvlink\n"
    "  gdsim compare scenarios/worked-table.yaml --pairs ring/staged,ring/gdr,sharp/sharp\n"
    "  gdsim compare scenarios/worked-table.yaml -G ring,rings --format csv -o out/compare.csv\n";

#define MAX_ALGORITHMS 32
#define MAX_PAIRS      256

struct compare_options {
    struct options shared;
    char *algorithms, *mechanisms, *protocols, *pairs;
};

enum { OPTION_PAIRS = 256 }; /* no letter */

static const struct argp_option option_table[] = {
    {"algorithms", 'G', "LIST", 0, "names or files, with commas between", 0},
    {"protocol", 'P', "LIST", 0, "of NCCL, with commas between: ll,ll128,simple,auto,none", 0},
    {"protocols", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"mechanisms", 'M', "LIST", 0, "instead of the scenario's, with commas between", 0},
    {"pairs", OPTION_PAIRS, "LIST", 0, "these pairs ALGORITHM/MECHANISM and no others", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct compare_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->shared;
        return 0;
    case 'G':
        options->algorithms = arg;
        return 0;
    case 'M':
        options->mechanisms = arg;
        return 0;
    case 'P':
        options->protocols = arg;
        return 0;
    case OPTION_PAIRS:
        options->pairs = arg;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- what is asked for ---------------------------------------------------------------------- */

/* Cut a list at its commas, in place. */
static enum status split(char *list, const char *what, const char **names, size_t *ret_count,
                         struct error *error)
{
    *ret_count = 0;
    for (char *at = list; at; at = at ? at + 1 : NULL) {
        at += strspn(at, " ");
        char *comma = strchr(at, ',');
        size_t length = comma ? (size_t)(comma - at) : strlen(at);
        while (length > 0 && at[length - 1] == ' ')
            length--;
        if (length == 0)
            return error_set(error, STATUS_INPUT, "--%s has an empty name", what);
        if (*ret_count == MAX_ALGORITHMS)
            return error_set(error, STATUS_INPUT, "--%s has more than %d names", what,
                             MAX_ALGORITHMS);
        at[length] = '\0';
        for (size_t i = 0; i < *ret_count; i++)
            if (strcmp(names[i], at) == 0)
                return error_set(error, STATUS_INPUT, "--%s names \"%s\" twice", what, at);
        names[(*ret_count)++] = at;
        at = comma;
    }
    return STATUS_OK;
}

struct asked {
    const char *algorithms[MAX_ALGORITHMS];
    size_t algorithm_count;
    const struct mechanism *mechanisms[MAX_ALGORITHMS];
    size_t mechanism_count;
    double protocols[MAX_ALGORITHMS]; /* values of engine.protocol */
    size_t protocol_count;            /* 0: the scenario's */
    bool paired;                      /* each algorithm with the mechanism of the same place only */
};

static enum status unknown_mechanism(const char *name, struct error *error)
{
    error_set(error, STATUS_INPUT, "unknown mechanism \"%s\"", name);
    return error_hint(error, "gdsim list mechanisms shows them");
}

/* "ring/gdr,lua/my.lua/gdr": what follows the last slash is the mechanism. */
static enum status read_pairs(char *list, struct asked *ret, struct error *error)
{
    const char *names[MAX_ALGORITHMS];
    size_t count;
    enum status status = split(list, "pairs", names, &count, error);
    ret->paired = true;
    for (size_t i = 0; i < count && !status; i++) {
        char *slash = strrchr(list + (names[i] - list), '/');
        if (!slash)
            return error_set(error, STATUS_INPUT,
                             "--pairs takes pairs such as ring/gdr, not \"%s\"", names[i]);
        *slash = '\0';
        ret->algorithms[i] = names[i];
        ret->mechanisms[i] = mechanism_find(slash + 1);
        if (!ret->mechanisms[i])
            return unknown_mechanism(slash + 1, error);
    }
    ret->algorithm_count = ret->mechanism_count = count;
    return status;
}

static enum status read_mechanisms(char *list, struct asked *ret, struct error *error)
{
    const char *names[MAX_ALGORITHMS];
    size_t count;
    enum status status = split(list, "mechanisms", names, &count, error);
    for (size_t i = 0; i < count && !status; i++) {
        ret->mechanisms[i] = mechanism_find(names[i]);
        if (!ret->mechanisms[i])
            return unknown_mechanism(names[i], error);
    }
    ret->mechanism_count = count;
    return status;
}

static enum status read_protocols(char *list, struct asked *ret, struct error *error)
{
    const char *names[MAX_ALGORITHMS];
    enum status status = split(list, "protocol", names, &ret->protocol_count, error);
    for (size_t i = 0; i < ret->protocol_count && !status; i++)
        status = param_parse(PARAM_ENGINE_PROTOCOL, names[i], strlen(names[i]), &ret->protocols[i],
                             error);
    return status;
}

/* A name that is not there at all is a slip of the pen, not a pair that cannot run. */
static enum status read_asked(struct compare_options *options, const struct scenario *scenario,
                              struct asked *ret, struct error *error)
{
    const char *root = cli_root();
    if (scenario->transfer_count > 0)
        return error_set(error, STATUS_INPUT,
                         "the scenario has transfers, so there is no algorithm to compare");
    bool other = options->algorithms || options->mechanisms;
    if (options->pairs && other)
        return error_set(error, STATUS_INPUT, "--pairs says all: no --algorithms, no --mechanisms");
    if ((!options->algorithms && !options->pairs) || options->shared.algorithm) {
        error_set(error, STATUS_INPUT, "which algorithms? --algorithms ring,recursive_doubling");
        return error_hint(error, "gdsim list algorithms shows them");
    }
    enum status status = options->pairs ? read_pairs(options->pairs, ret, error)
                                        : split(options->algorithms, "algorithms", ret->algorithms,
                                                &ret->algorithm_count, error);
    for (size_t i = 0; root && i < ret->algorithm_count && !status; i++) {
        char *path;
        status = scenario_script_path(scenario, root, ret->algorithms[i], &path, error);
        if (!status)
            free(path);
    }
    if (!status && options->protocols)
        status = read_protocols(options->protocols, ret, error);
    if (status || ret->paired)
        return status;
    if (options->mechanisms)
        return read_mechanisms(options->mechanisms, ret, error);
    memcpy(ret->mechanisms, scenario->mechanisms, sizeof ret->mechanisms);
    ret->mechanism_count = scenario->mechanism_count;
    return STATUS_OK;
}

/* ---- running -------------------------------------------------------------------------------- */

struct comparing {
    struct pair *pairs[MAX_PAIRS];
    struct results runs[MAX_PAIRS]; /* of each pair, one column */
    size_t count;
    struct text left_out;
    struct error first; /* why the first pair was left out */
    struct results all; /* one column a pair */
    const char *algorithms[MAX_PAIRS];
    bool by_protocol; /* algorithms are named with their protocol */
};

static void comparing_free(struct comparing *comparing)
{
    for (size_t i = 0; i < comparing->count; i++) {
        experiment_free_results(&comparing->runs[i]);
        pair_close(comparing->pairs[i]);
        free(comparing->pairs[i]);
    }
    text_free(&comparing->left_out);
    /* Of the joined results only the arrays are ours, not what the ledgers hold. */
    free((void *)(uintptr_t)comparing->all.ledgers);
    free((void *)(uintptr_t)comparing->all.columns);
}

static void leave_out(struct comparing *comparing, const char *algorithm, const char *mechanism,
                      const char *sizes, const struct error *why)
{
    char reason[800];
    if (comparing->left_out.length == 0)
        comparing->first = *why;
    cli_reason(why, reason, sizeof reason);
    text_printf(&comparing->left_out, "  %s/%s%s%s: %s\n", algorithm, mechanism,
                *sizes ? " at " : "", sizes, reason);
}

/* The sizes of a pair that could not be run, those with the same reason in one line; or the pair,
 * if none could. True: at least one ran. */
static bool leave_sizes_out(struct comparing *comparing, const char *algorithm,
                            const char *mechanism, const struct results *runs,
                            const struct error *why)
{
    size_t ran = 0;
    for (size_t s = 0; s < runs->size_count; s++)
        ran += results_has(runs, s, 0);
    if (ran == 0) {
        leave_out(comparing, algorithm, mechanism, "", &why[0]);
        return false;
    }
    for (size_t s = 0; s < runs->size_count; s++) {
        bool told = results_has(runs, s, 0);
        for (size_t k = 0; k < s; k++)
            told |= !results_has(runs, k, 0) && strcmp(why[k].message, why[s].message) == 0;
        struct text sizes = {0};
        for (size_t k = s; k < runs->size_count && !told; k++) {
            char size[UNITS_TEXT_MAX];
            if (!results_has(runs, k, 0) && strcmp(why[k].message, why[s].message) == 0)
                text_printf(&sizes, "%s%s", k > s ? ", " : "",
                            units_format(runs->sizes_B[k], DIM_BYTES, size, sizeof size));
        }
        if (!told)
            leave_out(comparing, algorithm, mechanism, sizes.data ? sizes.data : "", &why[s]);
        text_free(&sizes);
    }
    return true;
}

/* `protocol`: a value of engine.protocol; NULL: the scenario's. */
static enum status add_pair(struct comparing *comparing, const struct scenario *scenario,
                            const char *algorithm, const struct mechanism *mechanism,
                            const double *protocol, struct error *error)
{
    char name[UNITS_TEXT_MAX] = "", label[sizeof((struct pair *)NULL)->algorithm];
    struct scenario variant = *scenario;
    if (protocol) {
        param_set(&variant.machine.engine, PARAM_ENGINE_PROTOCOL, *protocol,
                  (struct origin){.kind = ORIGIN_SET, .file = "--protocol"});
        param_format(PARAM_ENGINE_PROTOCOL, *protocol, name, sizeof name);
    }
    snprintf(label, sizeof label, "%s%s%s", algorithm, protocol ? " " : "", name);
    struct results *runs = &comparing->runs[comparing->count];
    struct pair *pair = calloc(1, sizeof *pair);
    struct error *why = calloc(scenario->size_count + 1, sizeof *why);
    if (!pair || !why) {
        free(pair);
        free(why);
        return error_set(error, STATUS_NOMEM, "out of memory");
    }
    bool ran = false, open = false;
    enum status status = pair_open(pair, &variant, algorithm, mechanism, &why[0]);
    if (status && status != STATUS_NOMEM)
        leave_out(comparing, label, mechanism->name, "", &why[0]);
    open = !status;
    if (open)
        status = experiment_run_most(&pair->experiment, scenario->accounting, runs, why);
    if (open && !status) {
        ran = leave_sizes_out(comparing, label, mechanism->name, runs, why);
        if (!ran)
            experiment_free_results(runs);
    }
    free(why);
    if (ran) {
        bool seen = false;
        for (size_t i = 0; i < comparing->count; i++)
            seen |= strcmp(comparing->pairs[i]->experiment.plans[0].source,
                           pair->experiment.plans[0].source) == 0;
        if (!seen)
            cli_prove(&pair->experiment.plans[0]);
        memcpy(pair->algorithm, label, sizeof label);
        comparing->pairs[comparing->count++] = pair;
        return STATUS_OK;
    }
    if (open)
        pair_close(pair);
    free(pair);
    return status == STATUS_NOMEM ? error_set(error, status, "out of memory") : STATUS_OK;
}

/* Columns and ledgers of all pairs in one table. */
static enum status join(struct comparing *comparing, const struct scenario *scenario,
                        struct error *error)
{
    size_t count = comparing->count;
    struct result_column *columns = calloc(count, sizeof *columns);
    struct ledger *ledgers = calloc(count * scenario->size_count, sizeof *ledgers);
    comparing->all = (struct results){.machine = &scenario->machine,
                                      .accounting = scenario->accounting,
                                      .columns = columns,
                                      .column_count = count,
                                      .sizes_B = scenario->sizes_B,
                                      .size_count = scenario->size_count,
                                      .ledgers = ledgers};
    if (!columns || !ledgers)
        return error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t c = 0; c < count; c++) {
        columns[c] = comparing->runs[c].columns[0];
        if (comparing->by_protocol)
            columns[c].label = comparing->pairs[c]->algorithm;
        comparing->algorithms[c] = comparing->pairs[c]->algorithm;
        for (size_t s = 0; s < scenario->size_count; s++)
            ledgers[s * count + c] = *results_at(&comparing->runs[c], s, 0);
    }
    return STATUS_OK;
}

static enum status run_pairs(struct comparing *comparing, const struct scenario *scenario,
                             const struct asked *asked, struct error *error)
{
    size_t protocols = asked->protocol_count ? asked->protocol_count : 1;
    comparing->by_protocol = asked->protocol_count > 0;
    if (asked->algorithm_count * asked->mechanism_count * protocols > MAX_PAIRS)
        return error_set(error, STATUS_INPUT, "more than %d pairs", MAX_PAIRS);
    for (size_t a = 0; a < asked->algorithm_count; a++)
        for (size_t i = 0; i < asked->mechanism_count * protocols; i++) {
            if (asked->paired && i / protocols != a)
                continue;
            enum status status = add_pair(
                comparing, scenario, asked->algorithms[a], asked->mechanisms[i / protocols],
                asked->protocol_count ? &asked->protocols[i % protocols] : NULL, error);
            if (status)
                return status;
        }
    if (comparing->count == 0) {
        fprintf(stderr, "gdsim: no pair can run:\n%s",
                comparing->left_out.data ? comparing->left_out.data : "");
        return error_set(error, comparing->first.status, "nothing to compare");
    }
    return join(comparing, scenario, error);
}

static enum status write_out(const struct options *options, const struct scenario *scenario,
                             const struct comparing *comparing, struct text *text,
                             struct error *error)
{
    const char *format = options->format ? options->format : "table";
    const char *left_out = comparing->left_out.data;
    if (strcmp(format, "table") == 0) {
        if (scenario->title)
            text_printf(text, "# %s\n", scenario->title);
        head_write(text, &scenario->machine, scenario->accounting,
                   scenario->transfer_count == 0 && !comparing->by_protocol);
        for (size_t i = 0; i < comparing->count; i++)
            cli_costs(text, &comparing->pairs[i]->experiment.plans[0]);
        compare_write(text, &comparing->all, comparing->algorithms);
        if (left_out)
            text_printf(text, "\nLeft out:\n%s", left_out);
        return STATUS_OK;
    }
    if (left_out)
        fprintf(stderr, "gdsim: left out:\n%s", left_out);
    struct grid *grid = tidy_new();
    tidy_add(grid, &comparing->all);
    enum status status = strcmp(format, "csv") == 0 ? grid_write_csv(grid, text, error)
                                                    : grid_write_json(grid, text, error);
    grid_free(grid);
    return status;
}

int cmd_compare(int argc, char **argv)
{
    struct compare_options options = {0};
    struct scenario scenario;
    struct asked asked = {0};
    struct text text = {0};
    struct error error;
    cli_parse_scenario(argc, argv, option_table, parse, doc, &options);
    int code = cli_load(&options.shared, &scenario);
    if (code)
        return code;
    struct comparing *comparing = calloc(1, sizeof *comparing);
    enum status status = comparing ? read_asked(&options, &scenario, &asked, &error)
                                   : error_set(&error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = run_pairs(comparing, &scenario, &asked, &error);
    if (!status)
        status = write_out(&options.shared, &scenario, comparing, &text, &error);
    code = status ? cli_fail(&error) : cli_write(&options.shared, &text);
    if (comparing)
        comparing_free(comparing);
    free(comparing);
    text_free(&text);
    scenario_free(&scenario);
    return code;
}
