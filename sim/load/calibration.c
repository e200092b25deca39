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

enum status calibration_read(struct scenario *scenario, struct calibration *ret)
{
    static const char *const keys[] = {"from",         "to",     "time_scatter",
                                       "rate_scatter", "values", "runs"};
    struct object_reader reader = {&scenario->diag, NULL};
    struct yaml_node *block = yaml_map_get(scenario->tree->root, "calibration");
    memset(ret, 0, sizeof *ret);
    ret->to_B = (double)INFINITY;
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
        value->key = entry->key;
        read_number(&reader, entry->value, entry->key, DIM_FRACTION, &value->error);
        if (!address_first(&scenario->machine, entry->key, &at))
            diag_add(reader.diag, entry->key_mark, NULL, "this machine has no \"%s\"", entry->key);
    }
    return diag_count(reader.diag) > 0 ? STATUS_INPUT : STATUS_OK;
}
