/* sweep_identity.c: a hash of all that a sweep's rows depend on. See sweep.h.
 *
 * FNV-1a, 64 bits, over the merged scenario, the axes, the options that change rows, the scripts
 * and, for axes that need the scenario read anew, the scenario with each of their values. Numbers
 * and words count, not comments and places; so a scenario that says the same has the same hash.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sweep.h"
#include "sim/load/file.h"

enum { FORMAT_VERSION = 2, SCRIPT_LIMIT_B = 1 << 20 };

static void add_bytes(uint64_t *hash, const void *data, size_t length)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        *hash = (*hash ^ bytes[i]) * 1099511628211u;
}

static void add_text(uint64_t *hash, const char *text)
{
    add_bytes(hash, text ? text : "-", strlen(text ? text : "-") + 1);
}

static void add_number(uint64_t *hash, uint64_t number)
{
    add_bytes(hash, &number, sizeof number);
}

static void add_tree(uint64_t *hash, const struct yaml_node *node)
{
    add_number(hash, (uint64_t)node->kind);
    if (node->kind == YAML_TREE_SCALAR)
        add_text(hash, node->text);
    for (size_t i = 0; node->kind == YAML_TREE_MAP && i < node->count; i++) {
        const char *key = node->entries[i].key;
        if (strcmp(key, "sweep") == 0 || strcmp(key, "title") == 0 || strcmp(key, "about") == 0)
            continue;
        add_text(hash, key);
        add_tree(hash, node->entries[i].value);
    }
    for (size_t i = 0; node->kind == YAML_TREE_LIST && i < node->count; i++)
        add_tree(hash, node->items[i]);
    add_text(hash, "end");
}

static void add_script(uint64_t *hash, const struct sweep *sweep, const char *algorithm)
{
    char *path, *text;
    size_t length;
    if (scenario_script_path(&sweep->base, sweep->root, algorithm, &path, NULL))
        return;
    if (!file_read(path, SCRIPT_LIMIT_B, &text, &length, NULL)) {
        add_bytes(hash, text, length);
        free(text);
    }
    free(path);
}

static void add_axis(uint64_t *hash, const struct sweep *sweep, const struct sweep_axis *axis)
{
    const struct axis *from = axis->from;
    add_number(hash, (uint64_t)from->kind);
    add_text(hash, from->key);
    add_number(hash, (uint64_t)from->sampled + 2u * from->logarithmic);
    for (size_t v = 0; v < from->count; v++) {
        if (from->numeric)
            add_bytes(hash, &from->values[v].number, sizeof from->values[v].number);
        else
            add_text(hash, from->values[v].text);
        if (axis->role == ROLE_ALGORITHM)
            add_script(hash, sweep, from->values[v].text);
        if (axis->role == ROLE_MECHANISM && axis->mechanisms[v]->algorithm)
            add_script(hash, sweep, axis->mechanisms[v]->algorithm);
    }
}

uint64_t sweep_identity(const struct sweep *sweep)
{
    const struct options *shared = &sweep->options->shared;
    uint64_t hash = 14695981039346656037u;
    add_number(&hash, FORMAT_VERSION);
    for (size_t i = 0; i < sweep->column_count; i++)
        add_text(&hash, sweep->columns[i].name);
    add_tree(&hash, sweep->base.tree->root);
    add_text(&hash, shared->algorithm);
    add_text(&hash, accounting_name(sweep->base.accounting));
    const char *algorithm = shared->algorithm ? shared->algorithm : sweep->base.algorithm;
    add_script(&hash, sweep, algorithm ? algorithm : "ring");
    for (size_t i = 0; i < sweep->count; i++)
        add_axis(&hash, sweep, &sweep->axis[i]);
    add_number(&hash, sweep->structure_hash);
    add_number(&hash, sweep->design.samples);
    add_number(&hash, sweep->axes.method == AXES_LATIN ? sweep->axes.seed : 0);
    return hash;
}

uint64_t sweep_tree_hash(uint64_t before, const struct yaml_tree *tree)
{
    add_tree(&before, tree->root);
    return before;
}
