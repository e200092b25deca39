/* dataset.c: see dataset.h. */
#include "sim/load/dataset.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/load/expect.h"
#include "sim/load/file.h"
#include "sim/load/objects.h"
#include "sim/load/yaml_tree.h"

static const char *const data_keys[] = {
    "name",      "file",      "what",       "variant", "scenario",    "set",
    "mechanism", "algorithm", "accounting", "from",    "to",          "use",
    "counter",   "note",      "fit_to",     "within",  "within_small"};
static const char *const fit_keys[] = {"name", "key", "low", "high", "each"};

static const char *text_of(const struct object_reader *reader, struct yaml_node *map,
                           const char *key)
{
    struct yaml_node *node = yaml_map_get(map, key);
    return node ? object_text(reader, node, key) : NULL;
}

static double size_of(const struct object_reader *reader, struct yaml_node *map, const char *key,
                      double otherwise)
{
    struct yaml_node *node = yaml_map_get(map, key);
    const char *text = node ? object_text(reader, node, key) : NULL;
    struct error error;
    double value = otherwise;
    if (text && units_parse(text, node->length, DIM_BYTES, &value, &error))
        diag_add_error(reader->diag, node->mark, &error);
    return value;
}

static double share_of(const struct object_reader *reader, struct yaml_node *map, const char *key)
{
    struct yaml_node *node = yaml_map_get(map, key);
    const char *text = node ? object_text(reader, node, key) : NULL;
    struct error error;
    double value = (double)NAN;
    if (text && units_parse(text, node->length, DIM_FRACTION, &value, &error))
        diag_add_error(reader->diag, node->mark, &error);
    return value;
}

/* A path that the file of `mark` writes, seen from where we are. */
static char *path_beside(const struct mark *mark, const char *text)
{
    if (text[0] == '/')
        return file_path("%s", text);
    char *directory = mark->file ? file_directory(mark->file) : file_path(".");
    char *path = directory && strcmp(directory, ".") != 0 ? file_path("%s/%s", directory, text)
                                                          : file_path("%s", text);
    free(directory);
    return path;
}

/* Values that `calibration.runs` gives for the run of this name. */
static void read_own(struct scenario *scenario, struct dataset *item)
{
    struct yaml_node *block = yaml_map_get(scenario->tree->root, "calibration");
    struct yaml_node *own = block ? yaml_map_get(yaml_map_get(block, "runs"), item->name) : NULL;
    if (!own)
        return;
    item->own_count = expect_read_set(scenario, own, item->set + item->set_count,
                                      DATASET_MAX_SET - item->set_count);
    item->set_count += item->own_count;
}

static void read_dataset(const struct object_reader *reader, struct scenario *scenario,
                         struct yaml_node *node, struct dataset *item)
{
    *item = (struct dataset){.name = "",
                             .mark = node->mark,
                             .to_B = (double)INFINITY,
                             .fit_to_B = (double)INFINITY,
                             .within = (double)NAN,
                             .within_small = (double)NAN};
    if (yaml_check_keys(node, data_keys, sizeof data_keys / sizeof data_keys[0], "a data set",
                        reader->diag) ||
        node->kind != YAML_TREE_MAP)
        return;
    const char *file = text_of(reader, node, "file");
    const char *other = text_of(reader, node, "scenario");
    const char *name = text_of(reader, node, "name");
    const char *use = text_of(reader, node, "use");
    if (!file)
        diag_add(reader->diag, node->mark, "write for example {file: run.log}",
                 "a data set needs a file");
    else
        item->file = path_beside(&node->mark, file);
    item->name = name ? name : file ? file : "";
    if (other)
        item->scenario = path_beside(&node->mark, other);
    item->set_count =
        expect_read_set(scenario, yaml_map_get(node, "set"), item->set, DATASET_MAX_SET);
    read_own(scenario, item);
    item->what = text_of(reader, node, "what");
    item->variant = text_of(reader, node, "variant");
    item->mechanism = text_of(reader, node, "mechanism");
    item->algorithm = text_of(reader, node, "algorithm");
    item->accounting = text_of(reader, node, "accounting");
    item->counter = text_of(reader, node, "counter");
    item->note = text_of(reader, node, "note");
    item->from_B = size_of(reader, node, "from", 0);
    item->to_B = size_of(reader, node, "to", (double)INFINITY);
    item->fit_to_B = size_of(reader, node, "fit_to", (double)INFINITY);
    item->within = share_of(reader, node, "within");
    item->within_small = share_of(reader, node, "within_small");
    item->check = use && strcmp(use, "check") == 0;
    if (use && !item->check && strcmp(use, "fit") != 0)
        diag_add(reader->diag, yaml_map_entry(node, "use")->value->mark, NULL,
                 "use is fit or check, not \"%s\"", use);
    if (item->mechanism && !mechanism_find(item->mechanism))
        diag_add(reader->diag, yaml_map_entry(node, "mechanism")->value->mark,
                 "gdsim list mechanisms shows them", "unknown mechanism \"%s\"", item->mechanism);
}

/* yes, no, or the names of data sets. */
static void read_each(const struct object_reader *reader, struct yaml_node *node,
                      struct fit_entry *item)
{
    if (!node)
        return;
    if (node->kind != YAML_TREE_LIST) {
        const char *each = object_text(reader, node, "each");
        item->each = each && strcmp(each, "yes") == 0;
        if (each && !item->each && strcmp(each, "no") != 0)
            diag_add(reader->diag, node->mark, NULL,
                     "each is yes, no or a list of data sets, not \"%s\"", each);
        return;
    }
    if (node->count > FIT_MAX_KEYS)
        diag_add(reader->diag, node->mark, "each: yes gives all of them one",
                 "at most %d data sets have a value of their own", FIT_MAX_KEYS);
    for (size_t i = 0; i < node->count && i < FIT_MAX_KEYS; i++) {
        item->own[item->own_count].mark = node->items[i]->mark;
        item->own[item->own_count].name = object_text(reader, node->items[i], "each");
        item->own_count += item->own[item->own_count].name != NULL;
    }
}

static void read_fit(const struct object_reader *reader, struct yaml_node *node,
                     struct fit_entry *item)
{
    *item = (struct fit_entry){.name = "", .mark = node->mark};
    if (yaml_check_keys(node, fit_keys, sizeof fit_keys / sizeof fit_keys[0], "a fitted parameter",
                        reader->diag) ||
        node->kind != YAML_TREE_MAP)
        return;
    struct yaml_node *key = yaml_map_get(node, "key");
    if (!key) {
        diag_add(reader->diag, node->mark, "write for example {key: software.launch}",
                 "a fitted parameter needs a key");
        return;
    }
    if (key->kind == YAML_TREE_LIST && key->count > FIT_MAX_KEYS)
        diag_add(reader->diag, key->mark, "a star stands for many: node.links.cpu0-*.rate",
                 "at most %d keys share a value", FIT_MAX_KEYS);
    for (size_t i = 0; key->kind == YAML_TREE_LIST && i < key->count && i < FIT_MAX_KEYS; i++) {
        const char *text = object_text(reader, key->items[i], "key");
        if (text)
            item->keys[item->key_count++] = text;
    }
    if (key->kind == YAML_TREE_SCALAR)
        item->keys[item->key_count++] = key->text;
    const char *name = text_of(reader, node, "name");
    item->name = name ? name : item->key_count ? item->keys[0] : "";
    read_each(reader, yaml_map_get(node, "each"), item);
    item->low_text = text_of(reader, node, "low");
    item->high_text = text_of(reader, node, "high");
    if (item->low_text)
        item->low_mark = yaml_map_entry(node, "low")->value->mark;
    if (item->high_text)
        item->high_mark = yaml_map_entry(node, "high")->value->mark;
}

static struct yaml_node *list_of(struct scenario *scenario, const char *key, size_t limit)
{
    struct yaml_node *list = yaml_map_get(scenario->tree->root, key);
    if (!list || yaml_is_blank(list))
        return NULL;
    if (list->kind == YAML_TREE_LIST && list->count <= limit)
        return list;
    diag_add(&scenario->diag, list->mark, NULL, "%s must be a list of at most %zu", key, limit);
    return NULL;
}

enum status datasets_read(struct scenario *scenario, struct datasets *ret)
{
    struct object_reader reader = {&scenario->diag, NULL};
    memset(ret, 0, sizeof *ret);
    struct yaml_node *data = list_of(scenario, "data", DATASET_MAX);
    struct yaml_node *fit = list_of(scenario, "fit", FIT_MAX_ENTRIES);
    for (size_t i = 0; data && i < data->count; i++)
        read_dataset(&reader, scenario, data->items[i], &ret->items[ret->count++]);
    for (size_t i = 0; fit && i < fit->count; i++)
        read_fit(&reader, fit->items[i], &ret->fits[ret->fit_count++]);
    return diag_count(&scenario->diag) > 0 ? STATUS_INPUT : STATUS_OK;
}

void datasets_free(struct datasets *datasets)
{
    for (size_t i = 0; i < datasets->count; i++) {
        free(datasets->items[i].file);
        free(datasets->items[i].scenario);
        for (size_t j = 0; j < datasets->items[i].set_count; j++)
            free(datasets->items[i].set[j]);
    }
    memset(datasets, 0, sizeof *datasets);
}
