/* axes_read.c: the `sweep` section of a scenario. See axes.h. */
#include <string.h>

#include "sim/core/units.h"
#include "sim/load/axes.h"

static bool read_number(const struct yaml_node *node, const char *what, enum dimension dimension,
                        double *ret, struct diag_list *diag)
{
    struct error error;
    if (node->kind != YAML_TREE_SCALAR) {
        diag_add(diag, node->mark, NULL, "%s must be one value, got %s", what,
                 yaml_kind_name(node));
        return false;
    }
    if (units_parse(node->text, node->length, dimension, ret, &error)) {
        diag_add_error(diag, node->mark, &error);
        return false;
    }
    return true;
}

static bool is_yes(const struct yaml_node *node, struct diag_list *diag)
{
    double yes = 0;
    return node && read_number(node, "log", DIM_BOOL, &yes, diag) && yes > 0;
}

/* {from: 1, to: 64, times: 2}, {from: 0 us, to: 6 us, step: 1 us}, {from: a, to: b, log: yes}. */
static void read_row(struct axis *axis, struct yaml_node *map, struct diag_list *diag)
{
    static const char *const keys[] = {"from", "to", "times", "step", "log"};
    static const char hint[] = "write {from: 1 us, to: 64 us, times: 2}, or step: 1 us; without "
                               "either the range is sampled (sample: {method: lhs, count: 1000})";
    if (yaml_check_keys(map, keys, 5, "an axis", diag))
        return;
    const struct yaml_node *from = yaml_map_get(map, "from"), *to = yaml_map_get(map, "to");
    const struct yaml_node *times = yaml_map_get(map, "times"), *step = yaml_map_get(map, "step");
    const struct yaml_node *log = yaml_map_get(map, "log");
    double low, high, by = 0;
    if (!axis->numeric)
        diag_add(diag, map->mark, "give its values as a list",
                 "\"%s\" takes no number, so it has no row from, to", axis->key);
    else if (!from || !to || (times && step) || (log && (times || step)))
        diag_add(diag, map->mark, hint, "a row has from and to, and one of times, step and log");
    else if (read_number(from, "from", axis->dimension, &low, diag) &&
             read_number(to, "to", axis->dimension, &high, diag) &&
             (!times || read_number(times, "times", DIM_NUMBER, &by, diag)) &&
             (!step || read_number(step, "step", axis->dimension, &by, diag)))
        axis_fill(axis, low, high,
                  times               ? ROW_TIMES
                  : step              ? ROW_STEP
                  : is_yes(log, diag) ? ROW_SAMPLED_LOG
                                      : ROW_SAMPLED,
                  by, map->mark, diag);
}

static void read_axis(struct axes *axes, const struct yaml_entry *entry, struct diag_list *diag)
{
    struct axis *axis = axes_open(axes, entry->key, entry->key_mark, diag);
    struct yaml_node *value = entry->value;
    if (!axis)
        return;
    if (axis->count > 0) {
        diag_add(diag, entry->key_mark, NULL, "\"%s\" is an axis already", entry->key);
        return;
    }
    if (value->kind == YAML_TREE_MAP) {
        read_row(axis, value, diag);
        return;
    }
    if (value->kind != YAML_TREE_LIST || value->count == 0) {
        diag_add(diag, value->mark, "write for example nodes: [2, 4, 8]",
                 "an axis is a list of values, or a map with from and to");
        return;
    }
    for (size_t i = 0; i < value->count; i++) {
        const struct yaml_node *item = value->items[i];
        if (item->kind != YAML_TREE_SCALAR)
            diag_add(diag, item->mark, NULL, "a value of an axis is one word or number, not %s",
                     yaml_kind_name(item));
        else
            axis_value(axis, item->text, item->length, item->mark, diag);
    }
}

/* {method: lhs, count: 1000, seed: 1} */
static void read_sample(struct axes *axes, struct yaml_node *map, struct diag_list *diag)
{
    static const char *const keys[] = {"method", "count", "seed"};
    if (yaml_check_keys(map, keys, 3, "sample", diag) || map->kind != YAML_TREE_MAP)
        return;
    const struct yaml_node *method = yaml_map_get(map, "method");
    const struct yaml_node *count = yaml_map_get(map, "count"), *seed = yaml_map_get(map, "seed");
    double number = 0;
    bool lhs = method && method->kind == YAML_TREE_SCALAR && strcmp(method->text, "lhs") == 0;
    bool sobol = method && method->kind == YAML_TREE_SCALAR && strcmp(method->text, "sobol") == 0;
    if ((!lhs && !sobol) || !count) {
        diag_add(diag, map->mark, "write for example sample: {method: lhs, count: 1000, seed: 1}",
                 "sample needs a method (lhs or sobol) and a count");
        return;
    }
    axes->method = lhs ? AXES_LATIN : AXES_SOBOL;
    axes->sample_mark = map->mark;
    if (read_number(count, "count", DIM_COUNT, &number, diag))
        axes->samples = (uint64_t)number;
    if (seed && read_number(seed, "seed", DIM_COUNT, &number, diag))
        axes->seed = (uint64_t)number;
}

void axes_read(struct axes *axes, struct yaml_node *section, struct diag_list *diag)
{
    static const char *const keys[] = {"axes", "sample"};
    if (!section)
        return;
    yaml_check_keys(section, keys, 2, "sweep", diag);
    struct yaml_node *map = yaml_map_get(section, "axes");
    struct yaml_node *sample = yaml_map_get(section, "sample");
    if (map && map->kind != YAML_TREE_MAP)
        diag_add(diag, map->mark, "write for example axes: {nodes: [2, 4, 8]}",
                 "axes is a map from keys to values");
    else
        for (size_t i = 0; map && i < map->count; i++)
            read_axis(axes, &map->entries[i], diag);
    if (sample)
        read_sample(axes, sample, diag);
}
