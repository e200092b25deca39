/* crossover_run.c: see crossover.h: the axis, the two ways, and their runs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/crossover.h"
#include "sim/core/address.h"

/* ---- the axis ------------------------------------------------------------------------------- */

/* Parameters of one name are alike in all kinds of things (a rate, a latency), so the last word of
 * a key says what it takes. */
static enum status key_dimension(const char *key, enum dimension *ret, struct error *error)
{
    const char *dot = strrchr(key, '.');
    const char *word = dot ? dot + 1 : key;
    for (int id = 0; id < PARAM_COUNT; id++) {
        const struct param_info *info = param_info((enum param_id)id);
        if (!dot || strcmp(info->name, word) != 0)
            continue;
        if (info->dimension == DIM_BOOL || info->dimension == DIM_CHOICE ||
            info->dimension == DIM_FLAGS)
            return error_set(error, STATUS_INPUT, "\"%s\" takes no number", key);
        *ret = info->dimension;
        return STATUS_OK;
    }
    error_set(error, STATUS_INPUT, "--over takes size, nodes, rate or a key, not \"%s\"", key);
    return error_hint(error, "a key is written as with --set: software.step_handoff, "
                             "node.devices.nic*.latency; scenarios/README.md has them all");
}

static enum status read_end(const struct axis *axis, const char *option, const char *text,
                            double *value, struct error *error)
{
    struct error why;
    if (!text && axis->over == OVER_KEY)
        return error_set(error, STATUS_INPUT, "an axis over a key needs --from and --to");
    if (text && units_parse(text, strlen(text), axis->dimension, value, &why))
        return error_set(error, STATUS_INPUT, "--%s: %s", option, why.message);
    return STATUS_OK;
}

/* How many numbers of the machine the key means. */
static enum status count_values(const struct machine *machine, struct axis *axis,
                                struct error *error)
{
    struct addresses found;
    if (!axis->key || !address_is(axis->key))
        return STATUS_OK;
    enum status status = address_find(machine, axis->key, &found, error);
    if (status)
        return status;
    axis->values = found.count;
    free(found.at);
    return STATUS_OK;
}

enum status crossover_read_axis(const struct crossover_options *options,
                                const struct machine *machine, struct axis *ret,
                                struct error *error)
{
    static const struct axis known[] = {
        {OVER_SIZE, "size", "the message size", NULL, 0, DIM_BYTES, {8, 4294967296.0, 2, 0, false}},
        {OVER_NODES, "nodes", "the nodes", "nodes", 0, DIM_COUNT, {2, 1024, 2, 0, true}},
        {OVER_RATE,
         "rate",
         "the NIC rate",
         "node.devices.*.rate",
         0,
         DIM_RATE,
         {10e9 / 8, 1600e9 / 8, 2, 0, false}},
    };
    const char *over = options->over ? options->over : "size";
    *ret = (struct axis){.over = OVER_KEY, .name = over, .title = over, .key = over};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, over) == 0)
            *ret = known[i];
    enum status status =
        ret->over == OVER_KEY ? key_dimension(over, &ret->dimension, error) : STATUS_OK;
    if (!status)
        status = count_values(machine, ret, error);
    if (!status)
        status = read_end(ret, "from", options->from, &ret->range.from, error);
    if (!status)
        status = read_end(ret, "to", options->to, &ret->range.to, error);
    if (status)
        return status;
    if (ret->over == OVER_KEY) {
        ret->range.whole = ret->dimension == DIM_COUNT;
        ret->range.factor = ret->range.from > 0 && ret->range.to > 4 * ret->range.from ? 2 : 0;
        ret->range.parts = 32;
    }
    if (options->parts) {
        double parts;
        struct error why;
        if (units_parse(options->parts, strlen(options->parts), DIM_COUNT, &parts, &why) ||
            parts < 1 || parts >= CROSSOVER_MAX_POINTS)
            return error_set(error, STATUS_INPUT, "--parts takes a whole number from 1 to %d",
                             CROSSOVER_MAX_POINTS - 1);
        ret->range.factor = 0;
        ret->range.parts = (size_t)parts;
    }
    if (!(ret->range.from < ret->range.to))
        return error_set(error, STATUS_INPUT, "--from must be below --to");
    if (ret->over != OVER_KEY && !(ret->range.from > 0))
        return error_set(error, STATUS_INPUT, "--from must be above 0 on this axis");
    return STATUS_OK;
}

const char *crossover_place(const struct axis *axis, double x, char *buffer, size_t size)
{
    char text[UNITS_TEXT_MAX];
    units_format(x, axis->dimension, text, sizeof text);
    if (axis->over == OVER_NODES)
        snprintf(buffer, size, "%s nodes", text);
    else if (axis->over == OVER_RATE)
        snprintf(buffer, size, "%s (%.6g Gb/s)", text, x * 8e-9);
    else
        snprintf(buffer, size, "%s", text);
    return buffer;
}

const char *crossover_axis_unit(const struct axis *axis)
{
    return axis->dimension == DIM_BYTES  ? "B"
           : axis->dimension == DIM_RATE ? "B/s"
           : axis->dimension == DIM_TIME ? "s"
                                         : "";
}

/* ---- the two ways --------------------------------------------------------------------------- */

static void name_way(struct way *way, const char *algorithm)
{
    char name[sizeof way->name]; /* gcc takes the two for one object, hence the copy */
    snprintf(name, sizeof name, "%s%s%s", algorithm ? algorithm : "", algorithm ? "/" : "",
             way->mechanism->name);
    memcpy(way->name, name, sizeof name);
}

/* "ring/gdr", "gdr", "ring", "lua/ring.lua", "lua/ring.lua/gdr". */
static void read_way(char *text, struct way *ret)
{
    char *slash = strrchr(text, '/');
    *ret = (struct way){.mechanism = mechanism_find(text)};
    if (ret->mechanism)
        return;
    ret->algorithm = text;
    ret->mechanism = slash ? mechanism_find(slash + 1) : NULL;
    if (ret->mechanism)
        *slash = '\0';
}

/* An algorithm alone runs on the mechanism of the other way, or on the only one of the scenario
 * (or --mechanism) that does not reduce in the network. */
static enum status settle_mechanism(struct way *way, const struct way *other,
                                    const struct scenario *scenario, struct error *error)
{
    char names[200] = "";
    size_t used = 0, count = 0;
    if (way->mechanism)
        return STATUS_OK;
    if (other->algorithm && other->mechanism && !other->mechanism->algorithm) {
        way->mechanism = other->mechanism;
        return STATUS_OK;
    }
    for (size_t i = 0; i < scenario->mechanism_count; i++) {
        const struct mechanism *mechanism = scenario->mechanisms[i];
        if (mechanism->algorithm && scenario->mechanism_count > 1)
            continue;
        way->mechanism = mechanism;
        count++;
        if (used < sizeof names)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%s/%s",
                                     used ? " or " : "", way->algorithm, mechanism->name);
    }
    if (count == 1)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s on which mechanism? Write %s, or --mechanism",
                     way->algorithm, names);
}

enum status crossover_read_ways(const struct crossover_options *options,
                                const struct scenario *scenario, struct way way[2],
                                struct error *error)
{
    const char *root = cli_root();
    char *comma = options->between ? strchr(options->between, ',') : NULL;
    if (!comma || strchr(comma + 1, ',') || comma == options->between || !comma[1])
        return error_set(error, STATUS_INPUT, "say which two: --between ring/gdr,sharp");
    *comma = '\0';
    read_way(options->between, &way[0]);
    read_way(comma + 1 + strspn(comma + 1, " "), &way[1]);
    for (int i = 0; i < 2; i++) {
        char *path;
        if (!way[i].algorithm || !root)
            continue;
        if (scenario->transfer_count > 0)
            return error_set(error, STATUS_INPUT,
                             "the scenario has transfers: compare mechanisms, not \"%s\"",
                             way[i].algorithm);
        enum status status = scenario_script_path(scenario, root, way[i].algorithm, &path, error);
        if (status)
            return status;
        free(path);
    }
    for (int i = 0; i < 2; i++) {
        enum status status = settle_mechanism(&way[i], &way[1 - i], scenario, error);
        if (status)
            return status;
        name_way(&way[i], way[i].algorithm);
    }
    if (strcmp(way[0].name, way[1].name) == 0)
        return error_set(error, STATUS_INPUT, "both ways are %s", way[0].name);
    return STATUS_OK;
}

/* ---- runs ----------------------------------------------------------------------------------- */

void crossover_unload(struct runner *runner)
{
    for (int way = 0; way < 2; way++)
        if (runner->open[way])
            pair_close(&runner->pair[way]);
    if (runner->loaded)
        scenario_free(&runner->scenario);
    runner->loaded = runner->open[0] = runner->open[1] = false;
}

/* --set for one more key; 17 digits, so that what is searched is what is run. */
static enum status add_set(struct options *options, const char *key, double x,
                           enum dimension dimension, char *buffer, size_t size, struct error *error)
{
    static const char *const units[] = {
        [DIM_TIME] = " s", [DIM_BYTES] = " B", [DIM_RATE] = " B/s", [DIM_FLAGS] = NULL};
    if (options->set_count == CLI_MAX_SET)
        return error_set(error, STATUS_INPUT, "more than %d times --set", CLI_MAX_SET);
    int length =
        snprintf(buffer, size, "%s=%.17g%s", key, x, units[dimension] ? units[dimension] : "");
    if (length < 0 || (size_t)length >= size)
        return error_set(error, STATUS_INPUT, "the key \"%.80s\" is too long", key);
    options->set[options->set_count++] = buffer;
    return STATUS_OK;
}

/* The scenario at x. Where that fails, everything has been printed. */
static enum status load(struct runner *runner, double x, struct error *error)
{
    struct options options = runner->options->shared;
    char set[256];
    const struct axis *axis = runner->axis;
    enum status status = add_set(&options, axis->key, x, axis->dimension, set, sizeof set, error);
    options.quiet = true; /* said once, before the first run */
    crossover_unload(runner);
    if (!status && cli_load(&options, &runner->scenario)) {
        runner->printed = true;
        status = error_set(error, STATUS_INPUT, "the scenario cannot be read");
    }
    if (status)
        return status;
    runner->loaded = true;
    runner->x = x;
    runner->size_B = runner->scenario.sizes_B[runner->scenario.size_count - 1];
    return STATUS_OK;
}

static enum status refuse(struct runner *runner, int way, double x, const struct error *why,
                          struct error *error)
{
    if (why->status == STATUS_NOMEM) {
        *error = *why;
        return STATUS_NOMEM;
    }
    if (runner->refusals[way]++ == 0) {
        runner->refusal[way] = *why;
        runner->refused_at[way] = x;
    }
    return STATUS_OK;
}

/* One run of a way at x; *ret_runs = false: refused, the reason noted. */
enum status crossover_run_at(struct runner *runner, double x, int way, struct results *ret,
                             bool *ret_runs, struct error *error)
{
    struct error why;
    struct pair *pair = &runner->pair[way];
    bool moved = runner->axis->over != OVER_SIZE && !(runner->x >= x && runner->x <= x);
    *ret_runs = false;
    if (moved) {
        enum status status = load(runner, x, error);
        if (status)
            return status;
    }
    if (!runner->open[way]) {
        if (pair_open(pair, &runner->scenario, runner->way[way].algorithm,
                      runner->way[way].mechanism, &why))
            return refuse(runner, way, x, &why, error);
        runner->open[way] = true;
        if (!runner->way[way].algorithm && runner->scenario.transfer_count == 0)
            name_way(&runner->way[way], pair->algorithm);
        pair->view.sizes_B = &runner->size_B;
        pair->view.size_count = 1;
    }
    if (runner->axis->over == OVER_SIZE)
        runner->size_B = x;
    if (experiment_run(&pair->experiment, runner->scenario.accounting, ret, &why))
        return refuse(runner, way, x, &why, error);
    *ret_runs = true;
    return STATUS_OK;
}

enum status crossover_time_at(void *owner, double x, int way, double *ret_s, bool *ret_runs,
                              struct error *error)
{
    struct results results;
    struct runner *runner = owner;
    char at[96];
    cli_step("run %zu: %s at %s", ++runner->runs, runner->way[way].name,
             crossover_place(runner->axis, x, at, sizeof at));
    enum status status = crossover_run_at(owner, x, way, &results, ret_runs, error);
    if (status || !*ret_runs)
        return status;
    *ret_s = (double)results_at(&results, 0, 0)->total_ps * 1e-12;
    experiment_free_results(&results);
    return STATUS_OK;
}
