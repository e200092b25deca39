/* sold.c: see scenario_read.h: what a link could do is what the file below said of it.
 *
 * A preset says how a link trains on a machine in good order. A file that is laid on it, or --set,
 * and gives a lower generation or fewer lanes, says how it trained here. So the preset's value
 * becomes gen_max or width_max, with its place, unless the file says those itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/scenario_read.h"

static const struct {
    const char *now, *most;
    enum param_id id;
} pairs[] = {{"gen", "gen_max", PARAM_PCIE_GEN}, {"width", "width_max", PARAM_PCIE_WIDTH}};

enum { PAIRS = sizeof pairs / sizeof pairs[0] };

static struct yaml_node *below(const struct yaml_node *node, const char *key)
{
    const struct yaml_entry *entry = yaml_map_entry(node, key);
    return entry ? entry->value : NULL;
}

/* The value of a whole number, also where it stands with its source; NULL: there is none. */
static struct yaml_node *value_of(struct yaml_node *link, const char *key)
{
    struct yaml_node *node = below(link, key);
    return node && node->kind == YAML_TREE_MAP ? below(node, "value") : node;
}

static long number(const struct yaml_node *node, enum param_id id)
{
    return node && node->text ? strtol(node->text, NULL, 10) : (long)param_info(id)->fallback;
}

static bool is_pcie(const struct yaml_node *link)
{
    const struct yaml_node *type = below(link, "type");
    return !type || (type->text && strcmp(type->text, "pcie") == 0);
}

/* A value that the file below left at its default. */
static struct yaml_node *default_node(struct yaml_tree *tree, const struct yaml_node *link, long is)
{
    char text[24];
    struct yaml_node *node = yaml_tree_alloc(tree, sizeof *node);
    int length = snprintf(text, sizeof text, "%ld", is);
    if (!node)
        return NULL;
    *node = (struct yaml_node){.kind = YAML_TREE_SCALAR,
                               .mark = link->mark,
                               .length = (size_t)length,
                               .text = yaml_tree_copy(tree, text, (size_t)length)};
    return node->text ? node : NULL;
}

static enum status keep(struct yaml_tree *tree, const char *name, struct yaml_node *before,
                        struct yaml_node *after)
{
    for (int i = 0; i < PAIRS; i++) {
        struct yaml_node *had = value_of(before, pairs[i].now);
        long could = number(had, pairs[i].id);
        if (number(value_of(after, pairs[i].now), pairs[i].id) >= could ||
            below(after, pairs[i].most))
            continue;
        const char *const path[] = {"node", "links", name, pairs[i].most};
        struct yaml_node *value = had ? had : default_node(tree, before, could);
        enum status status = value ? yaml_tree_put(tree, path, 4, value, NULL) : STATUS_NOMEM;
        if (status)
            return status;
    }
    return STATUS_OK;
}

enum status scenario_keep_sold(struct yaml_tree *tree, const struct yaml_node *before)
{
    const struct yaml_node *old = below(below(before, "node"), "links");
    const struct yaml_node *links = below(below(tree->root, "node"), "links");
    enum status status = STATUS_OK;
    if (!links || !old || links == old || links->kind != YAML_TREE_MAP)
        return STATUS_OK;
    for (size_t i = 0; i < links->count && !status; i++) {
        const struct yaml_entry *entry = &links->entries[i];
        struct yaml_node *was = below(old, entry->key);
        bool readable = entry->value->kind == YAML_TREE_MAP || yaml_is_blank(entry->value);
        if (was && was != entry->value && readable && is_pcie(was) && is_pcie(entry->value))
            status = keep(tree, entry->key, was, entry->value);
    }
    return status;
}
