/* sweep_model.c: from scenario and axes to what can be run: roles, columns, variants, plans. See
 * sweep.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sweep.h"
#include "sim/core/suggest.h"
#include "sim/core/units.h"
#include "sim/load/objects.h"

/* ---- values ---------------------------------------------------------------------------------- */

double sweep_number(const struct sweep_axis *axis, const struct design_value *value)
{
    return axis->from->sampled ? value->number
           : axis->numbers     ? axis->numbers[value->index]
                               : axis->from->values[value->index].number;
}

const char *sweep_text(const struct sweep_axis *axis, const struct design_value *value,
                       char *buffer, size_t size)
{
    if (!axis->from->sampled)
        return axis_text(axis->from, value->index, buffer, size);
    axes_number_text(value->number, axis->from->dimension, buffer, size);
    return buffer;
}

const char *sweep_algorithm(const struct sweep *sweep, const struct design_value *values)
{
    size_t at = sweep->algorithm_axis;
    return at == SIZE_MAX ? sweep->options->shared.algorithm
                          : sweep->axis[at].from->values[values[at].index].text;
}

/* The numbers of a machine that an axis means; none where the scenario must be read anew. */
static enum status axis_numbers(const struct machine *machine, const struct axis *axis,
                                struct addresses *ret, struct error *error)
{
    const char *key = axis->kind == AXIS_RATE ? "node.devices.*.rate" : axis->key;
    *ret = (struct addresses){NULL, 0};
    return address_is(key) ? address_find(machine, key, ret, error) : STATUS_OK;
}

/* ---- variants -------------------------------------------------------------------------------- */

/* Read the scenario with the structural values of a point. Everything but a lack of memory is noted
 * in the variant. */
static struct variant *variant_load(const struct sweep *sweep, const struct design_value *values)
{
    const struct options *shared = &sweep->options->shared;
    struct variant *variant = calloc(1, sizeof *variant);
    const char *set[CLI_MAX_SET + AXES_MAX];
    char *own[AXES_MAX] = {NULL};
    size_t count = shared->set_count;
    bool failed = !variant;
    memcpy(set, shared->set, count * sizeof *set);
    for (size_t i = 0; i < sweep->count && !failed; i++) {
        const struct axis *from = sweep->axis[i].from;
        if (sweep->axis[i].role != ROLE_STRUCTURE)
            continue;
        struct text text = {0};
        char number[AXIS_TEXT_MAX];
        text_printf(&text, "%s=%s", from->key,
                    axis_text(from, values[i].index, number, sizeof number));
        failed = text.failed;
        set[count++] = own[i] = text.data;
    }
    struct scenario_request request = {
        .path = shared->file, .root = sweep->root, .set = set, .set_count = count};
    enum status status = failed ? STATUS_NOMEM : scenario_load(&request, &variant->scenario);
    variant->loaded = !failed;
    if (status == STATUS_INPUT) {
        const struct diag *first = diag_get(&variant->scenario.diag, 0);
        error_set(&variant->error, status, "%s", first ? first->message : "cannot be read");
        if (first && first->hint)
            error_hint(&variant->error, "%s", first->hint);
    }
    for (size_t i = 0; i < sweep->count && !status; i++)
        if (sweep->axis[i].role == ROLE_NUMBER)
            status = axis_numbers(&variant->scenario.machine, sweep->axis[i].from,
                                  &variant->numbers[i], &variant->error);
    for (size_t i = 0; i < AXES_MAX; i++)
        free(own[i]);
    return failed ? (free(variant), NULL) : variant;
}

static void variant_free(struct variant *variant)
{
    if (!variant)
        return;
    for (size_t i = 0; i < AXES_MAX; i++)
        free(variant->numbers[i].at);
    if (variant->loaded)
        scenario_free(&variant->scenario);
    free(variant);
}

struct variant *sweep_variant(struct sweep *sweep, const struct design_value *values,
                              size_t *ret_index)
{
    size_t index = 0;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->axis[i].role == ROLE_STRUCTURE)
            index = index * sweep->axis[i].from->count + values[i].index;
    pthread_mutex_lock(&sweep->lock);
    if (!sweep->variants[index])
        sweep->variants[index] = variant_load(sweep, values);
    struct variant *variant = sweep->variants[index];
    pthread_mutex_unlock(&sweep->lock);
    *ret_index = index;
    return variant;
}

/* ---- plans ----------------------------------------------------------------------------------- */

const struct plan_entry *sweep_plan(struct sweep *sweep, const struct variant *variant,
                                    const struct machine *machine, size_t algorithm,
                                    const struct mechanism *mechanism)
{
    uint32_t ranks = machine_ranks(machine);
    pthread_mutex_lock(&sweep->lock);
    struct plan_entry *entry = sweep->plans;
    while (entry && (entry->variant != variant || entry->algorithm != algorithm ||
                     entry->mechanism != mechanism || entry->ranks != ranks))
        entry = entry->next;
    if (!entry) {
        entry = calloc(1, sizeof *entry);
        struct design_value values[AXES_MAX] = {{0}};
        if (sweep->algorithm_axis != SIZE_MAX)
            values[sweep->algorithm_axis].index = algorithm;
        const char *name = sweep_algorithm(sweep, values);
        if (entry) {
            entry->variant = variant;
            entry->algorithm = algorithm;
            entry->mechanism = mechanism;
            entry->ranks = ranks;
            const char *taken;
            entry->status = experiment_plan(&variant->scenario, machine, name, mechanism,
                                            &entry->plan, &taken, &entry->error);
            if (!entry->status) {
                entry->groups = plan_uses_switch(&entry->plan) ? plan_groups(&entry->plan) : 0;
                entry->status =
                    pair_fits(&variant->scenario, &entry->plan, name, mechanism, &entry->error);
                if (entry->status)
                    plan_free(&entry->plan);
            }
            entry->next = sweep->plans;
            sweep->plans = entry;
        }
    }
    pthread_mutex_unlock(&sweep->lock);
    return entry;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void note(struct sweep *sweep, struct mark mark, const struct error *error)
{
    diag_add(&sweep->base.diag, mark, error->hint[0] ? error->hint : NULL, "%s", error->message);
}

/* Values of a parameter: words into numbers, and every one within its range. */
static void check_numbers(struct sweep *sweep, struct sweep_axis *axis,
                          const struct addresses *numbers)
{
    const struct axis *from = axis->from;
    struct diag_list *diag = &sweep->base.diag;
    struct error error;
    axis->numbers = calloc(from->count, sizeof *axis->numbers);
    for (size_t v = 0; axis->numbers && v < from->count; v++) {
        const struct axis_value *value = &from->values[v];
        axis->numbers[v] = value->number;
        if (numbers->at[0].place == ADDRESS_NODES) {
            if (!(value->number >= 1 && value->number <= MACHINE_MAX_NODES))
                diag_add(diag, value->mark, NULL, "nodes must be 1 to %u", MACHINE_MAX_NODES);
            continue;
        }
        for (size_t s = 0; s < numbers->count; s++) {
            enum param_id id = numbers->at[s].id;
            if (!from->numeric &&
                param_parse(id, value->text, strlen(value->text), &axis->numbers[v], &error)) {
                note(sweep, value->mark, &error);
                break;
            }
            if (!object_in_range(diag, value->mark, id, axis->numbers[v]))
                break;
        }
    }
}

/* Structural values: read the scenario with each of them. */
static void check_structure(struct sweep *sweep, const struct sweep_axis *axis)
{
    const struct axis *from = axis->from;
    if (from->sampled) {
        diag_add(&sweep->base.diag, from->mark, "give its values as a list",
                 "\"%s\" cannot be sampled", from->key);
        return;
    }
    for (size_t v = 0; v < from->count; v++) {
        struct text text = {0};
        struct scenario scenario;
        char number[AXIS_TEXT_MAX];
        text_printf(&text, "%s=%s", from->key, axis_text(from, v, number, sizeof number));
        struct options shared = sweep->options->shared;
        if (text.failed || shared.set_count == CLI_MAX_SET) {
            text_free(&text);
            return;
        }
        shared.set[shared.set_count++] = text.data;
        struct scenario_request request = {.path = shared.file,
                                           .root = sweep->root,
                                           .set = shared.set,
                                           .set_count = shared.set_count};
        enum status status = scenario_load(&request, &scenario);
        const struct diag *first = status ? diag_get(&scenario.diag, 0) : NULL;
        /* A fault before the '=' is one of the key. */
        bool of_key = first && first->mark.column <= strlen("--set ") + strlen(from->key);
        if (first)
            diag_add(&sweep->base.diag, of_key ? from->mark : from->values[v].mark, first->hint,
                     "%s", first->message);
        if (!status)
            sweep->structure_hash = sweep_tree_hash(sweep->structure_hash, scenario.tree);
        scenario_free(&scenario);
        text_free(&text);
        if (of_key)
            return;
    }
}

static void check_words(struct sweep *sweep, struct sweep_axis *axis)
{
    struct diag_list *diag = &sweep->base.diag;
    const struct axis *from = axis->from;
    const char *names[64];
    char hint[96];
    char *path;
    struct error error;
    for (size_t i = 0; i < mechanism_count && i < 64; i++)
        names[i] = mechanism_table[i].name;
    axis->mechanisms = calloc(from->count, sizeof *axis->mechanisms);
    axis->accountings = calloc(from->count, sizeof *axis->accountings);
    for (size_t v = 0; axis->mechanisms && axis->accountings && v < from->count; v++) {
        const char *text = from->values[v].text;
        struct mark mark = from->values[v].mark;
        if (axis->role == ROLE_MECHANISM) {
            axis->mechanisms[v] = mechanism_find(text);
            const char *near = suggest_word(text, names, mechanism_count);
            snprintf(hint, sizeof hint,
                     near ? "did you mean \"%s\"?" : "gdsim list mechanisms shows them", near);
            if (!axis->mechanisms[v])
                diag_add(diag, mark, hint, "unknown mechanism \"%s\"", text);
        } else if (axis->role == ROLE_ALGORITHM) {
            if (scenario_script_path(&sweep->base, sweep->root, text, &path, &error))
                note(sweep, mark, &error);
            else
                free(path);
        } else {
            axis->accountings[v] =
                strcmp(text, "serial") == 0 ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED;
            if (strcmp(text, "serial") != 0 && strcmp(text, "pipelined") != 0)
                diag_add(diag, mark, NULL, "accounting is serial or pipelined, not \"%s\"", text);
        }
    }
}

static void check_sizes(struct sweep *sweep, const struct axis *from)
{
    struct error error;
    for (size_t v = 0; v < from->count; v++)
        if (scenario_check_size(from->values[v].number, &error))
            diag_add_error(&sweep->base.diag, from->values[v].mark, &error);
}

static void name_column(struct sweep_axis *axis)
{
    static const struct {
        const char *suffix;
        double unit;
    } units[] = {[DIM_TIME] = {"_us", 1e-6},
                 [DIM_BYTES] = {"_B", 1},
                 [DIM_RATE] = {"_GBps", 1e9},
                 [DIM_FLAGS] = {"", 1}};
    const struct axis *from = axis->from;
    enum dimension dimension = from->dimension;
    bool counts = from->numeric && dimension == DIM_COUNT;
    const char *suffix = from->numeric && units[dimension].suffix ? units[dimension].suffix : "";
    axis->unit = from->numeric && units[dimension].unit > 0 ? units[dimension].unit : 1;
    axis->has_column = axis->role == ROLE_NUMBER || axis->role == ROLE_STRUCTURE;
    snprintf(axis->name, sizeof axis->name, "%.140s%s",
             from->kind == AXIS_RATE ? "nic_rate" : from->key, suffix);
    axis->column = (struct grid_column){.name = axis->name,
                                        .kind = counts          ? GRID_INT
                                                : from->numeric ? GRID_REAL
                                                                : GRID_TEXT};
}

/* What the axis changes; every value checked. */
static void settle_axis(struct sweep *sweep, size_t at)
{
    struct sweep_axis *axis = &sweep->axis[at];
    const struct axis *from = axis->from;
    const struct scenario *base = &sweep->base;
    struct addresses numbers = {NULL, 0};
    struct error error = {.hint = ""};
    size_t *place = NULL;
    switch (from->kind) {
    case AXIS_SIZE:
        axis->role = ROLE_SIZE;
        place = &sweep->size_axis;
        check_sizes(sweep, from);
        break;
    case AXIS_MECHANISM:
        axis->role = ROLE_MECHANISM;
        place = &sweep->mechanism_axis;
        break;
    case AXIS_ALGORITHM:
        axis->role = ROLE_ALGORITHM;
        place = &sweep->algorithm_axis;
        break;
    case AXIS_ACCOUNTING:
        axis->role = ROLE_ACCOUNTING;
        place = &sweep->accounting_axis;
        break;
    case AXIS_RATE:
    case AXIS_KEY:
        if (axis_numbers(&base->machine, from, &numbers, &error)) {
            note(sweep, from->mark, &error);
            break;
        }
        /* Transfers and the root are checked against the number of nodes as they are read. */
        bool nodes = numbers.count > 0 && numbers.at[0].place == ADDRESS_NODES;
        bool read = numbers.count == 0 || (nodes && (base->transfer_count > 0 || base->root_rank));
        axis->role = read ? ROLE_STRUCTURE : ROLE_NUMBER;
        if (read)
            check_structure(sweep, axis);
        else
            check_numbers(sweep, axis, &numbers);
        axis->values = numbers.count;
        break;
    }
    free(numbers.at);
    if (place)
        *place = at;
    if (place && place != &sweep->size_axis)
        check_words(sweep, axis);
    name_column(axis);
}

/* Mechanisms and sizes of the scenario are axes too, unless others were given. */
static void add_implied(struct sweep *sweep)
{
    struct diag_list *diag = &sweep->base.diag;
    struct axes *axes = &sweep->axes;
    const struct mark nowhere = {.file = NULL};
    char text[64];
    if (!axes_find(axes, AXIS_MECHANISM, "")) {
        struct axis *axis = axes_open(axes, "mechanism", nowhere, diag);
        for (size_t i = 0; axis && i < sweep->base.mechanism_count; i++)
            axis_add(axis, sweep->base.mechanisms[i]->name, 0, nowhere, diag);
    }
    if (!axes_find(axes, AXIS_SIZE, "")) {
        struct axis *axis = axes_open(axes, "size", nowhere, diag);
        for (size_t i = 0; axis && i < sweep->base.size_count; i++) {
            axes_number_text(sweep->base.sizes_B[i], DIM_BYTES, text, sizeof text);
            axis_add(axis, text, sweep->base.sizes_B[i], nowhere, diag);
        }
    }
}

static bool read_count(struct sweep *sweep, const char *option, const char *text, double most,
                       double *ret)
{
    struct error error;
    struct mark nowhere = {.file = NULL};
    if (!units_parse(text, strlen(text), DIM_COUNT, ret, &error) && *ret >= 0 && *ret <= most)
        return true;
    diag_add(&sweep->base.diag, nowhere, NULL, "%s takes a whole number up to %.0f, not \"%s\"",
             option, most, text);
    return false;
}

static void read_sampling(struct sweep *sweep)
{
    const struct sweep_options *options = sweep->options;
    struct axes *axes = &sweep->axes;
    double number;
    const char *count = options->lhs ? options->lhs : options->sobol;
    if (options->lhs && options->sobol)
        diag_add(&sweep->base.diag, (struct mark){.file = NULL}, NULL,
                 "--lhs or --sobol, not both");
    if (count && read_count(sweep, options->lhs ? "--lhs" : "--sobol", count,
                            (double)DESIGN_MAX_SAMPLES, &number)) {
        axes->samples = (uint64_t)number;
        axes->method = options->lhs ? AXES_LATIN : AXES_SOBOL;
    }
    if (options->seed && read_count(sweep, "--seed", options->seed, 4294967295.0, &number))
        axes->seed = (uint64_t)number;
}

static void read_shard(struct sweep *sweep)
{
    unsigned long long number = 1, of = 1;
    char rest;
    const char *text = sweep->options->shard;
    if (text && (sscanf(text, "%llu/%llu%c", &number, &of, &rest) != 2 || number < 1 ||
                 number > of || of > SHARDS_MAX || text[0] == '-'))
        diag_add(&sweep->base.diag, (struct mark){.file = NULL}, "the first of four: --shard 1/4",
                 "--shard takes i/N with i from 1 to N, and N up to %d, not \"%s\"", SHARDS_MAX,
                 text);
    else
        sweep->shard = shard_make(sweep->design.points, number, of);
}

static void make_design(struct sweep *sweep)
{
    struct design_axis axes[AXES_MAX];
    struct error error = {.hint = ""};
    sweep->variant_count = 1;
    for (size_t i = 0; i < sweep->count; i++) {
        const struct axis *from = sweep->axis[i].from;
        axes[i] = (struct design_axis){.count = from->count,
                                       .range = from->sampled,
                                       .logarithmic = from->logarithmic,
                                       .whole = from->dimension == DIM_COUNT,
                                       .low = from->low,
                                       .high = from->high};
        if (from->sampled && (sweep->axes.method == AXES_GRID || sweep->axes.samples == 0))
            diag_add(&sweep->base.diag, from->mark,
                     "add --lhs N or --sobol N, or a step: low:high:x2, low:high:+step",
                     "%s is a range, of which samples must be taken", from->key);
        if (sweep->axis[i].role == ROLE_STRUCTURE && sweep->variant_count <= SWEEP_MAX_VARIANTS)
            sweep->variant_count *= from->count;
    }
    if (sweep->variant_count > SWEEP_MAX_VARIANTS)
        diag_add(&sweep->base.diag, (struct mark){.file = NULL}, "sweep parts of it in turn",
                 "more than %d ways to build the machine: axes over more than numbers are read "
                 "anew for each combination",
                 SWEEP_MAX_VARIANTS);
    enum design_method method = sweep->axes.method == AXES_LATIN   ? DESIGN_LATIN
                                : sweep->axes.method == AXES_SOBOL ? DESIGN_SOBOL
                                                                   : DESIGN_GRID;
    if (diag_count(&sweep->base.diag) > 0)
        return;
    if (design_init(&sweep->design, axes, sweep->count, method, sweep->axes.samples,
                    sweep->axes.seed, &error))
        note(sweep, sweep->axes.sample_mark, &error);
    else if (sweep->axes.method != AXES_GRID && sweep->design.ranges == 0)
        diag_add(&sweep->base.diag, sweep->axes.sample_mark,
                 "a range is KEY=low:high, or {from: ..., to: ...}",
                 "no axis has a range to sample");
}

static const struct grid_column point_column = {.name = "point", .kind = GRID_INT};
static const struct grid_column status_columns[] = {{.name = "status", .kind = GRID_TEXT},
                                                    {.name = "reason", .kind = GRID_TEXT}};

static void make_columns(struct sweep *sweep)
{
    sweep->columns = calloc(1 + sweep->count + TIDY_COLUMNS + 2, sizeof *sweep->columns);
    if (!sweep->columns) {
        diag_add(&sweep->base.diag, (struct mark){.file = NULL}, NULL, "out of memory");
        return;
    }
    struct grid_column *at = sweep->columns;
    *at++ = point_column;
    for (size_t i = 0; i < sweep->count; i++)
        if (sweep->axis[i].has_column)
            *at++ = sweep->axis[i].column;
    sweep->first_tidy = (size_t)(at - sweep->columns);
    memcpy(at, tidy_columns, sizeof tidy_columns);
    at += TIDY_COLUMNS;
    memcpy(at, status_columns, sizeof status_columns);
    sweep->column_count = (size_t)(at - sweep->columns) + 2;
}

int sweep_open(struct sweep *sweep, const struct sweep_options *options)
{
    memset(sweep, 0, sizeof *sweep);
    sweep->options = options;
    sweep->root = cli_root();
    sweep->json = options->shared.format && strcmp(options->shared.format, "json") == 0;
    sweep->size_axis = sweep->mechanism_axis = SIZE_MAX;
    sweep->algorithm_axis = sweep->accounting_axis = SIZE_MAX;
    sweep->axes.seed = 1;
    pthread_mutex_init(&sweep->lock, NULL);
    int code = cli_load(&options->shared, &sweep->base);
    if (code)
        return code;
    sweep->base_loaded = true;
    struct diag_list *diag = &sweep->base.diag;
    axes_read(&sweep->axes, yaml_map_get(sweep->base.tree->root, "sweep"), diag);
    for (size_t i = 0; i < options->axis_count; i++)
        (void)axes_option(&sweep->axes, options->axis[i], diag);
    read_sampling(sweep);
    if (diag_count(diag) == 0)
        add_implied(sweep);
    if (diag_count(diag) > 0)
        return cli_fail_scenario(&sweep->base, STATUS_INPUT);
    sweep->count = sweep->axes.count;
    for (size_t i = 0; i < sweep->count; i++)
        sweep->axis[i].from = &sweep->axes.axis[i];
    for (size_t i = 0; i < sweep->count; i++)
        settle_axis(sweep, i);
    if (diag_count(diag) == 0)
        make_design(sweep);
    if (diag_count(diag) == 0)
        read_shard(sweep);
    make_columns(sweep);
    if (diag_count(diag) > 0)
        return cli_fail_scenario(&sweep->base, STATUS_INPUT);
    sweep->identity = sweep_identity(sweep);
    sweep->variants = calloc(sweep->variant_count, sizeof(struct variant *));
    return sweep->variants ? EXIT_FINE : cli_fail_scenario(&sweep->base, STATUS_NOMEM);
}

void sweep_close(struct sweep *sweep)
{
    for (size_t i = 0; sweep->variants && i < sweep->variant_count; i++)
        variant_free(sweep->variants[i]);
    free(sweep->variants);
    while (sweep->plans) {
        struct plan_entry *entry = sweep->plans;
        sweep->plans = entry->next;
        if (!entry->status)
            plan_free(&entry->plan);
        free(entry);
    }
    for (size_t i = 0; i < sweep->count; i++) {
        free(sweep->axis[i].numbers);
        free(sweep->axis[i].mechanisms);
        free(sweep->axis[i].accountings);
    }
    free(sweep->columns);
    design_free(&sweep->design);
    axes_free(&sweep->axes);
    if (sweep->base_loaded)
        scenario_free(&sweep->base);
    pthread_mutex_destroy(&sweep->lock);
}
