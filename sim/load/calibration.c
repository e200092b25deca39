/* calibration.c: see calibration.h. */
#include "sim/load/calibration.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/address.h"
#include "sim/core/units.h"
#include "sim/load/objects.h"
#include "sim/load/yaml_tree.h"

static void read_number(const struct object_reader *reader, const struct yaml_node *node,
                        const char *what, enum dimension dimension, double *value)
{
    struct error error;
    const char *text = node ? object_text(reader, node, what) : NULL;
    if (text && units_parse(text, node->length, dimension, value, &error))
        diag_add_error(reader->diag, node->mark, &error);
    else if (text && !(*value >= 0))
        diag_add(reader->diag, node->mark, NULL, "%s cannot be negative", what);
}

/* A relative error, or that none is known. */
static void read_error(const struct object_reader *reader, const struct yaml_node *node,
                       const char *what, double *value)
{
    if (node && node->kind == YAML_TREE_SCALAR && strcmp(node->text, CALIBRATION_AT_BOUND) == 0)
        *value = (double)NAN;
    else
        read_number(reader, node, what, DIM_FRACTION, value);
}

/* Either the error alone, or a map of it and of what it was fitted as. */
static void read_value(const struct object_reader *reader, const struct yaml_entry *entry,
                       struct calibrated_value *value)
{
    static const char *const keys[] = {"error", "fitted_as"};
    struct yaml_node *node = entry->value;
    value->key = entry->key;
    if (node->kind != YAML_TREE_MAP) {
        read_error(reader, node, entry->key, &value->error);
        return;
    }
    if (yaml_check_keys(node, keys, sizeof keys / sizeof keys[0], "a calibrated value",
                        reader->diag))
        return;
    struct yaml_node *own = yaml_map_get(node, "error"), *as = yaml_map_get(node, "fitted_as");
    if (!own)
        diag_add(reader->diag, node->mark, "write for example {error: 2 %}", "%s has no error",
                 entry->key);
    read_error(reader, own, entry->key, &value->error);
    value->fitted_as = as ? object_text(reader, as, "fitted_as") : NULL;
}

/* One row: with all unknowns before it. */
static void read_row(const struct object_reader *reader, struct yaml_node *node,
                     struct calibration *ret)
{
    static const char *const keys[] = {"of", "with"};
    struct error error;
    size_t row = ret->correlated_count;
    if (yaml_check_keys(node, keys, sizeof keys / sizeof keys[0], "a row of correlations",
                        reader->diag))
        return;
    struct yaml_node *of = yaml_map_get(node, "of"), *with = yaml_map_get(node, "with");
    const char *name = of ? object_text(reader, of, "of") : NULL;
    if (!name) {
        diag_add(reader->diag, node->mark, "write for example {of: software.launch, with: [0.1]}",
                 "the row does not say what it is of");
        return;
    }
    if ((with && with->kind != YAML_TREE_LIST) || (with ? with->count : 0) != row) {
        diag_add(reader->diag, with ? with->mark : node->mark, NULL,
                 "%s: %zu numbers are needed, one for each row before it", name, row);
        return;
    }
    ret->correlated[ret->correlated_count++] = name;
    ret->correlation[row * CALIBRATION_MAX + row] = 1;
    for (size_t j = 0; j < row; j++) {
        double r = 0;
        const char *text = object_text(reader, with->items[j], "a correlation");
        if (text && units_parse(text, with->items[j]->length, DIM_NUMBER, &r, &error))
            diag_add_error(reader->diag, with->items[j]->mark, &error);
        else if (text && !(fabs(r) <= 1))
            diag_add(reader->diag, with->items[j]->mark, NULL, "a correlation is from -1 to 1");
        ret->correlation[row * CALIBRATION_MAX + j] = ret->correlation[j * CALIBRATION_MAX + row] =
            r;
    }
}

static enum status read_correlation(const struct object_reader *reader, struct yaml_node *list,
                                    struct calibration *ret)
{
    if (!list || yaml_is_blank(list))
        return STATUS_OK;
    if (list->kind != YAML_TREE_LIST || list->count > CALIBRATION_MAX)
        return diag_add(reader->diag, list->mark, NULL,
                        "correlation must be a list of at most %d rows", CALIBRATION_MAX);
    ret->correlation = calloc(CALIBRATION_MAX * CALIBRATION_MAX, sizeof *ret->correlation);
    if (!ret->correlation)
        return STATUS_NOMEM;
    for (size_t i = 0; i < list->count && diag_count(reader->diag) == 0; i++)
        read_row(reader, list->items[i], ret);
    return STATUS_OK;
}

void calibration_free(struct calibration *calibration)
{
    free(calibration->correlation);
    calibration->correlation = NULL;
}

static const char *unknown_of(const struct calibrated_value *value)
{
    return value->fitted_as ? value->fitted_as : value->key;
}

size_t calibration_unknown(const struct calibration *calibration, size_t value)
{
    const char *name = unknown_of(&calibration->values[value]);
    for (size_t j = 0; j < value; j++)
        if (strcmp(unknown_of(&calibration->values[j]), name) == 0)
            return j;
    return value;
}

/* calibration->correlated_count: not among them. */
static size_t row_of(const struct calibration *calibration, size_t value)
{
    size_t row = 0;
    while (row < calibration->correlated_count &&
           strcmp(calibration->correlated[row], unknown_of(&calibration->values[value])) != 0)
        row++;
    return row;
}

double calibration_correlation(const struct calibration *calibration, size_t value, size_t other)
{
    if (calibration_unknown(calibration, value) == calibration_unknown(calibration, other))
        return 1;
    size_t a = row_of(calibration, value), b = row_of(calibration, other);
    bool known = a < calibration->correlated_count && b < calibration->correlated_count;
    return known ? calibration->correlation[a * CALIBRATION_MAX + b] : 0;
}

enum status calibration_read(struct scenario *scenario, struct calibration *ret)
{
    static const char *const keys[] = {"from",   "to",          "time_scatter", "rate_scatter",
                                       "values", "correlation", "runs"};
    struct object_reader reader = {&scenario->diag, NULL};
    struct yaml_node *block = yaml_map_get(scenario->tree->root, "calibration");
    memset(ret, 0, sizeof *ret);
    ret->to_B = (double)INFINITY;
    ret->time_scatter = ret->rate_scatter = (double)NAN;
    if (!block || yaml_is_blank(block))
        return STATUS_OK;
    if (yaml_check_keys(block, keys, sizeof keys / sizeof keys[0], "calibration", reader.diag) ||
        block->kind != YAML_TREE_MAP)
        return STATUS_INPUT;
    ret->given = true;
    read_number(&reader, yaml_map_get(block, "from"), "from", DIM_BYTES, &ret->from_B);
    read_number(&reader, yaml_map_get(block, "to"), "to", DIM_BYTES, &ret->to_B);
    read_number(&reader, yaml_map_get(block, "time_scatter"), "time_scatter", DIM_FRACTION,
                &ret->time_scatter);
    read_number(&reader, yaml_map_get(block, "rate_scatter"), "rate_scatter", DIM_FRACTION,
                &ret->rate_scatter);
    struct yaml_node *values = yaml_map_get(block, "values");
    if (values && (values->kind != YAML_TREE_MAP || values->count > CALIBRATION_MAX))
        return diag_add(reader.diag, values->mark, NULL, "values must be a map of at most %d keys",
                        CALIBRATION_MAX);
    for (size_t i = 0; values && i < values->count; i++) {
        const struct yaml_entry *entry = &values->entries[i];
        struct calibrated_value *value = &ret->values[ret->count++];
        struct address at;
        read_value(&reader, entry, value);
        if (!address_first(&scenario->machine, entry->key, &at))
            diag_add(reader.diag, entry->key_mark, NULL, "this machine has no \"%s\"", entry->key);
    }
    if (read_correlation(&reader, yaml_map_get(block, "correlation"), ret) == STATUS_NOMEM)
        return STATUS_NOMEM;
    return diag_count(reader.diag) > 0 ? STATUS_INPUT : STATUS_OK;
}
