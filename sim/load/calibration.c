/* calibration.c: see calibration.h. */
#include "sim/load/calibration.h"

#include <math.h>
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

/* Either the error alone, or a map of it and of what it was fitted as. */
static void read_value(const struct object_reader *reader, const struct yaml_entry *entry,
                       struct calibrated_value *value)
{
    static const char *const keys[] = {"error", "fitted_as"};
    struct yaml_node *node = entry->value;
    value->key = entry->key;
    if (node->kind != YAML_TREE_MAP) {
        read_number(reader, node, entry->key, DIM_FRACTION, &value->error);
        return;
    }
    if (yaml_check_keys(node, keys, sizeof keys / sizeof keys[0], "a calibrated value",
                        reader->diag))
        return;
    struct yaml_node *own = yaml_map_get(node, "error"), *as = yaml_map_get(node, "fitted_as");
    if (!own)
        diag_add(reader->diag, node->mark, "write for example {error: 2 %}", "%s has no error",
                 entry->key);
    read_number(reader, own, entry->key, DIM_FRACTION, &value->error);
    value->fitted_as = as ? object_text(reader, as, "fitted_as") : NULL;
}

enum status calibration_read(struct scenario *scenario, struct calibration *ret)
{
    static const char *const keys[] = {"from",         "to",     "time_scatter",
                                       "rate_scatter", "values", "runs"};
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
    return diag_count(reader.diag) > 0 ? STATUS_INPUT : STATUS_OK;
}
