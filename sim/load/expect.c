/* expect.c: see expect.h. */
#include "sim/load/expect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/load/file.h"
#include "sim/load/objects.h"
#include "sim/load/yaml_tree.h"

static const char *const metric_names[EXPECT_METRIC_COUNT] = {"busbw", "algbw", "wire", "time"};

static const char *const keys[] = {
    "name",  "set",  "mechanism", "algorithm", "accounting", "size",    "busbw",
    "algbw", "wire", "time",      "tolerance", "at_least",   "at_most", "limit",
    "ratio", "low",  "high",      "note",      "metric",     "seeds",
};

const char *expect_metric_name(enum expect_metric metric)
{
    return metric_names[metric];
}

static const char *text_of(const struct object_reader *reader, struct yaml_node *map,
                           const char *key)
{
    struct yaml_node *node = yaml_map_get(map, key);
    return node ? object_text(reader, node, key) : NULL;
}

static double number_of(const struct object_reader *reader, struct yaml_node *map, const char *key,
                        enum dimension dimension)
{
    struct yaml_node *node = yaml_map_get(map, key);
    const char *text = node ? object_text(reader, node, key) : NULL;
    struct error error;
    double value;
    if (!text)
        return (double)NAN;
    if (units_parse(text, node->length, dimension, &value, &error)) {
        diag_add_error(reader->diag, node->mark, &error);
        return (double)NAN;
    }
    return value;
}

size_t expect_read_set(struct scenario *scenario, struct yaml_node *map, char **ret_set,
                       size_t limit)
{
    size_t count = 0;
    if (!map)
        return 0;
    if (map->kind != YAML_TREE_MAP || map->count > limit) {
        diag_add(&scenario->diag, map->mark, "write for example {state.peermem: no}",
                 "expected a map of at most %zu keys as --set takes them", limit);
        return 0;
    }
    for (size_t i = 0; i < map->count; i++) {
        const struct yaml_node *value = map->entries[i].value;
        if (value->kind != YAML_TREE_SCALAR)
            diag_add(&scenario->diag, value->mark, NULL, "expected one value");
        else
            ret_set[count++] = file_path("%s=%s", map->entries[i].key, value->text);
    }
    return count;
}

static void read_limits(const struct object_reader *reader, struct yaml_node *node,
                        struct expectation *item)
{
    if (!node)
        return;
    if (node->kind == YAML_TREE_SCALAR) {
        item->limits[item->limit_count++] = node->text;
        return;
    }
    for (size_t i = 0; node->kind == YAML_TREE_LIST && i < node->count && i < EXPECT_MAX_LIMITS;
         i++) {
        const char *text = object_text(reader, node->items[i], "limit");
        if (text)
            item->limits[item->limit_count++] = text;
    }
}

static void read_ratio(const struct object_reader *reader, struct yaml_node *node,
                       const struct expectations *all, struct expectation *item)
{
    if (!node)
        return;
    if (node->kind != YAML_TREE_LIST || node->count != 2) {
        diag_add(reader->diag, node->mark, "write for example ratio: [on, off]",
                 "ratio takes two names");
        return;
    }
    for (int i = 0; i < 2; i++) {
        const char *name = object_text(reader, node->items[i], "ratio");
        for (size_t j = 0; name && j < all->count; j++)
            if (strcmp(all->items[j].name, name) == 0)
                item->ratio[i] = name;
        if (name && !item->ratio[i])
            diag_add(reader->diag, node->items[i]->mark, NULL,
                     "no expectation before this one is named \"%s\"", name);
    }
}

/* One measurement at most, and what judges it must belong to it. */
static void read_measurement(const struct object_reader *reader, struct yaml_node *node,
                             struct expectation *item)
{
    const char *given = NULL;
    for (int m = 0; m < EXPECT_METRIC_COUNT; m++) {
        const struct yaml_entry *entry = yaml_map_entry(node, metric_names[m]);
        if (!entry)
            continue;
        if (given)
            diag_add(reader->diag, entry->key_mark, "write a second expectation for the other",
                     "%s and %s in one expectation: one measurement each", given, metric_names[m]);
        given = metric_names[m];
        item->metric = (enum expect_metric)m;
        item->measured =
            number_of(reader, node, metric_names[m], m == EXPECT_TIME ? DIM_TIME : DIM_RATE);
    }
    const struct yaml_entry *metric = yaml_map_entry(node, "metric");
    const char *name = text_of(reader, node, "metric");
    bool known = false;
    for (int m = 0; name && m < EXPECT_METRIC_COUNT; m++)
        if (strcmp(name, metric_names[m]) == 0) {
            item->metric = (enum expect_metric)m;
            known = true;
        }
    if (name && (given || !known))
        diag_add(reader->diag, metric->value->mark, NULL,
                 given ? "%s is measured, so the metric is known"
                       : "metric is busbw, algbw, wire or time, not \"%s\"",
                 given ? given : name);
    const struct yaml_entry *tolerance = yaml_map_entry(node, "tolerance");
    if (tolerance && !given && !yaml_map_entry(node, "ratio"))
        diag_add(reader->diag, tolerance->key_mark,
                 "add what was measured (busbw, algbw, wire or time), or use at_least and at_most",
                 "a tolerance without a measurement");
}

/* A ratio is bounded by low and high, everything else by at_least and at_most. */
static void check_bounds(const struct object_reader *reader, struct yaml_node *node)
{
    static const char *const plain[] = {"at_least", "at_most", "tolerance", "busbw",
                                        "algbw",    "wire",    "time"};
    static const char *const of_ratio[] = {"low", "high"};
    bool ratio = yaml_map_entry(node, "ratio");
    for (size_t i = 0; ratio && i < sizeof plain / sizeof plain[0]; i++) {
        const struct yaml_entry *entry = yaml_map_entry(node, plain[i]);
        const char *instead = i == 0 ? "low" : i == 1 ? "high" : "low and high";
        if (entry)
            diag_add(reader->diag, entry->key_mark, NULL, "a ratio has no %s: bound it by %s",
                     plain[i], instead);
    }
    for (size_t i = 0; !ratio && i < 2; i++) {
        const struct yaml_entry *entry = yaml_map_entry(node, of_ratio[i]);
        if (entry)
            diag_add(reader->diag, entry->key_mark, NULL, "only a ratio has %s: write %s",
                     of_ratio[i], plain[i]);
    }
    if (ratio && !yaml_map_entry(node, "low") && !yaml_map_entry(node, "high"))
        diag_add(reader->diag, node->mark, NULL, "a ratio needs low or high");
}

/* What would otherwise be found only when the expectation is run, far from its place. */
static void check_words(const struct object_reader *reader, struct yaml_node *node,
                        const struct expectation *item)
{
    const struct yaml_entry *size = yaml_map_entry(node, "size");
    const struct yaml_entry *mechanism = yaml_map_entry(node, "mechanism");
    const struct yaml_entry *accounting = yaml_map_entry(node, "accounting");
    struct error error;
    if (item->size) {
        struct scenario *scratch = calloc(1, sizeof *scratch);
        if (scratch && scenario_set_sizes(scratch, item->size, &error))
            diag_add_error(reader->diag, size->value->mark, &error);
        if (scratch)
            free(scratch->sizes_B);
        free(scratch);
    }
    if (item->mechanism && !mechanism_find(item->mechanism))
        diag_add(reader->diag, mechanism->value->mark, "gdsim list mechanisms shows them",
                 "unknown mechanism \"%s\"", item->mechanism);
    if (item->accounting && strcmp(item->accounting, "serial") != 0 &&
        strcmp(item->accounting, "pipelined") != 0)
        diag_add(reader->diag, accounting->value->mark, NULL,
                 "accounting is serial or pipelined, not \"%s\"", item->accounting);
}

static void read_one(const struct object_reader *reader, struct scenario *scenario,
                     struct yaml_node *node, const struct expectations *all,
                     struct expectation *item)
{
    *item = (struct expectation){.name = "", .mark = node->mark, .measured = (double)NAN};
    if (yaml_check_keys(node, keys, sizeof keys / sizeof keys[0], "an expectation", reader->diag) &&
        node->kind != YAML_TREE_MAP)
        return;
    const char *name = text_of(reader, node, "name");
    item->name = name ? name : "";
    if (!name)
        diag_add(reader->diag, node->mark, NULL, "an expectation needs a name");
    struct yaml_node *set = yaml_map_get(node, "set");
    item->set_count = expect_read_set(scenario, set, item->set, EXPECT_MAX_SET);
    for (size_t i = 0, count = 0; count < item->set_count; i++)
        if (set->entries[i].value->kind == YAML_TREE_SCALAR)
            item->set_mark[count++] = set->entries[i].key_mark;
    item->mechanism = text_of(reader, node, "mechanism");
    item->algorithm = text_of(reader, node, "algorithm");
    item->accounting = text_of(reader, node, "accounting");
    item->size = text_of(reader, node, "size");
    item->note = text_of(reader, node, "note");
    read_measurement(reader, node, item);
    struct yaml_node *seeds = yaml_map_get(node, "seeds");
    double count;
    if (seeds && object_integer(reader, seeds, "seeds", 2, EXPECT_MAX_SEEDS, &count))
        item->seeds = (uint32_t)count;
    enum dimension dimension = item->metric == EXPECT_TIME ? DIM_TIME : DIM_RATE;
    item->tolerance = number_of(reader, node, "tolerance", DIM_FRACTION);
    bool ratio = yaml_map_entry(node, "ratio");
    item->at_least = ratio ? (double)NAN : number_of(reader, node, "at_least", dimension);
    item->at_most = ratio ? (double)NAN : number_of(reader, node, "at_most", dimension);
    item->low = number_of(reader, node, "low", DIM_NUMBER);
    item->high = number_of(reader, node, "high", DIM_NUMBER);
    check_bounds(reader, node);
    check_words(reader, node, item);
    read_limits(reader, yaml_map_get(node, "limit"), item);
    read_ratio(reader, yaml_map_get(node, "ratio"), all, item);
}

enum status expect_read(struct scenario *scenario, struct expectations *ret)
{
    struct object_reader reader = {&scenario->diag, NULL};
    struct yaml_node *list = yaml_map_get(scenario->tree->root, "expect");
    *ret = (struct expectations){0};
    if (!list || yaml_is_blank(list) || (list->kind == YAML_TREE_LIST && list->count == 0)) {
        const struct mark mark =
            list ? list->mark : (struct mark){diag_intern(&scenario->diag, scenario->path), 1, 1};
        return diag_add(&scenario->diag, mark, "keys of the block expect: sim/load/expect.h",
                        "nothing is expected in %s", scenario->path);
    }
    if (list->kind != YAML_TREE_LIST) {
        diag_add(&scenario->diag, list->mark, NULL, "expect must be a list");
        return STATUS_INPUT;
    }
    ret->items = calloc(list->count + 1, sizeof *ret->items);
    if (!ret->items)
        return STATUS_NOMEM;
    for (; ret->count < list->count; ret->count++)
        read_one(&reader, scenario, list->items[ret->count], ret, &ret->items[ret->count]);
    return diag_count(&scenario->diag) > 0 ? STATUS_INPUT : STATUS_OK;
}

void expect_free(struct expectations *expectations)
{
    for (size_t i = 0; i < expectations->count; i++)
        for (size_t j = 0; j < expectations->items[i].set_count; j++)
            free(expectations->items[i].set[j]);
    free(expectations->items);
    *expectations = (struct expectations){0};
}
