/* yaml_edit.c: merging YAML trees and setting values in them. See yaml_tree.h.
 *
 * Neither ever changes a node: they build new ones that share what stays the same, and put the new
 * root in place when all of it is there. A failure leaves the tree as it was.
 */
#include "sim/load/yaml_tree.h"

#include <stdlib.h>
#include <string.h>

/* ---- merging -------------------------------------------------------------------------------- */
static struct yaml_node *node_copy(struct yaml_tree *tree, const struct yaml_node *from)
{
    struct yaml_node *node = yaml_tree_alloc(tree, sizeof *node);
    if (node)
        *node = *from;
    return node;
}

/* A map with the entries of another and room for more. */
static struct yaml_node *map_copy(struct yaml_tree *tree, const struct yaml_node *from, size_t more)
{
    struct yaml_node *node = node_copy(tree, from);
    if (!node)
        return NULL;
    node->entries = yaml_tree_alloc(tree, (from->count + more) * sizeof *node->entries);
    if (!node->entries)
        return NULL;
    if (from->count > 0)
        memcpy(node->entries, from->entries, from->count * sizeof *node->entries);
    return node;
}

/* A copy that shares nothing with the other tree. */
static struct yaml_node *deep_copy(struct yaml_tree *tree, const struct yaml_node *from)
{
    struct yaml_node *node = node_copy(tree, from);
    if (!node)
        return NULL;
    if (from->kind == YAML_TREE_SCALAR) {
        node->text = yaml_tree_copy(tree, from->text, from->length);
        return node->text ? node : NULL;
    }
    if (from->kind == YAML_TREE_LIST) {
        node->items = yaml_tree_alloc(tree, from->count * sizeof *node->items);
        for (size_t i = 0; node->items && i < from->count; i++) {
            node->items[i] = deep_copy(tree, from->items[i]);
            if (!node->items[i])
                return NULL;
        }
        return node->items ? node : NULL;
    }
    node->entries = yaml_tree_alloc(tree, from->count * sizeof *node->entries);
    for (size_t i = 0; node->entries && i < from->count; i++) {
        struct yaml_entry entry = {.key_mark = from->entries[i].key_mark};
        entry.key = yaml_tree_copy(tree, from->entries[i].key, strlen(from->entries[i].key));
        entry.value = deep_copy(tree, from->entries[i].value);
        if (!entry.key || !entry.value)
            return NULL;
        node->entries[i] = entry;
    }
    return node->entries ? node : NULL;
}

static struct yaml_node *merge_nodes(struct yaml_tree *tree, const struct yaml_node *base,
                                     const struct yaml_node *over)
{
    if (base->kind != YAML_TREE_MAP || over->kind != YAML_TREE_MAP)
        return deep_copy(tree, over);
    struct yaml_node *node = map_copy(tree, base, over->count);
    if (!node)
        return NULL;
    for (size_t i = 0; i < over->count; i++) {
        const struct yaml_entry *from = &over->entries[i];
        struct yaml_entry *entry = yaml_map_entry(node, from->key);
        if (!entry) {
            entry = &node->entries[node->count];
            *entry = (struct yaml_entry){.key_mark = from->key_mark};
            entry->key = yaml_tree_copy(tree, from->key, strlen(from->key));
            entry->value = deep_copy(tree, from->value);
            if (!entry->key || !entry->value)
                return NULL;
            node->count++;
            continue;
        }
        bool both_maps = entry->value->kind == YAML_TREE_MAP && from->value->kind == YAML_TREE_MAP;
        if (!both_maps) {
            entry->key_mark = from->key_mark;
            entry->used = false;
        }
        entry->value = merge_nodes(tree, entry->value, from->value);
        if (!entry->value)
            return NULL;
    }
    return node;
}

enum status yaml_tree_merge(struct yaml_tree *base, const struct yaml_tree *over)
{
    if (!over->root)
        return STATUS_OK;
    struct yaml_node *root =
        base->root ? merge_nodes(base, base->root, over->root) : deep_copy(base, over->root);
    if (!root)
        return STATUS_NOMEM;
    base->root = root;
    return STATUS_OK;
}

/* ---- --set ---------------------------------------------------------------------------------- */
static const char PREFIX[] = "--set ";
enum { PREFIX_LENGTH = sizeof PREFIX - 1, INDEX_DIGITS = 6 };

struct step {
    size_t from, to; /* of the path */
    char *key;       /* NULL: an index */
    size_t index;
    struct mark mark;
};

struct setter {
    struct yaml_tree *tree;
    struct diag_list *diag;
    const char *path;
    const char *file; /* the whole text, interned */
    struct step steps[YAML_TREE_DEPTH];
    size_t count;
    struct yaml_node *value;
    struct yaml_star *star; /* NULL: a star is a character like others */
};

static struct mark path_mark(const struct setter *setter, size_t offset)
{
    uint32_t column = PREFIX_LENGTH + 1;
    for (size_t i = 0; i < offset; i++)
        column += ((unsigned char)setter->path[i] & 0xC0u) != 0x80u;
    return (struct mark){setter->file, 1, column};
}

static enum status path_parse(struct setter *setter)
{
    static const char hint[] = "a path looks like machine.gpus[0].memory";
    const char *path = setter->path;
    size_t at = 0;
    do {
        struct step step = {.from = at};
        if (setter->count == YAML_TREE_DEPTH)
            return diag_add(setter->diag, path_mark(setter, at), NULL,
                            "the path has more than %d steps", YAML_TREE_DEPTH);
        if (path[at] == '[') {
            size_t digits = strspn(path + at + 1, "0123456789");
            if (at == 0 || digits == 0 || digits > INDEX_DIGITS || path[at + 1 + digits] != ']')
                return diag_add(setter->diag, path_mark(setter, at), hint,
                                at == 0 ? "the path starts with an index" : "not an index");
            step.index = strtoul(path + at + 1, NULL, 10);
            at += digits + 2;
        } else {
            if (at > 0 && path[at] == '.')
                step.from = ++at;
            else if (at > 0)
                return diag_add(setter->diag, path_mark(setter, at), hint,
                                "expected '.' or '[' in the path");
            size_t length = strcspn(path + at, ".[]=");
            if (length == 0)
                return diag_add(setter->diag, path_mark(setter, at), hint,
                                "a key is missing in the path");
            step.key = yaml_tree_copy(setter->tree, path + at, length);
            if (!step.key)
                return STATUS_NOMEM;
            at += length;
        }
        step.to = at;
        step.mark = path_mark(setter, step.from);
        setter->steps[setter->count++] = step;
    } while (path[at] != '\0');
    return STATUS_OK;
}

/* "machine.gpus" is a list, not a map. */
static enum status step_fault(const struct setter *setter, size_t i, const struct yaml_node *node)
{
    const struct step *step = &setter->steps[i];
    const char *wanted = step->key ? "a map" : "a list";
    if (i == 0)
        return diag_add(setter->diag, step->mark, NULL, "the whole input is %s, not %s",
                        yaml_kind_name(node), wanted);
    return diag_add(setter->diag, step->mark, NULL, "\"%.*s\" is %s, not %s",
                    (int)setter->steps[i - 1].to, setter->path, yaml_kind_name(node), wanted);
}

static enum status set_step(struct setter *setter, const struct yaml_node *node, size_t i,
                            struct yaml_node **ret_node);

/* Every key of the map that the star means gets what follows. */
static enum status set_many(struct setter *setter, const struct yaml_node *node, size_t i,
                            struct yaml_node **ret_node)
{
    struct yaml_star *star = setter->star;
    struct yaml_node *copy = map_copy(setter->tree, node, 0);
    star->ret_mark = setter->steps[i].mark;
    if (!copy)
        return STATUS_NOMEM;
    for (size_t k = 0; k < copy->count; k++) {
        struct yaml_entry *entry = &copy->entries[k];
        if (!star->means(star->owner, entry))
            continue;
        star->ret_first = star->ret_count++ == 0 ? entry->key : star->ret_first;
        star->ret_last = entry->key;
        enum status status = set_step(setter, entry->value, i + 1, &entry->value);
        if (status)
            return status;
    }
    *ret_node = copy;
    return STATUS_OK;
}

/* The node that takes the place of `node` (NULL: there is none) once steps i and up are done. */
static enum status set_step(struct setter *setter, const struct yaml_node *node, size_t i,
                            struct yaml_node **ret_node)
{
    if (i == setter->count) {
        *ret_node = setter->value;
        return STATUS_OK;
    }
    const struct step *step = &setter->steps[i];
    struct yaml_node *child, *copy;
    enum status status;
    if (yaml_is_blank(node))
        node = NULL;

    if (!step->key) {
        if (!node || node->kind != YAML_TREE_LIST)
            return step_fault(setter, i, node);
        if (step->index >= node->count)
            return diag_add(setter->diag, step->mark, NULL,
                            "index %lu is out of range: \"%.*s\" has %lu item%s",
                            (unsigned long)step->index, (int)setter->steps[i - 1].to, setter->path,
                            (unsigned long)node->count, node->count == 1 ? "" : "s");
        status = set_step(setter, node->items[step->index], i + 1, &child);
        if (status != STATUS_OK)
            return status;
        copy = node_copy(setter->tree, node);
        if (!copy)
            return STATUS_NOMEM;
        copy->items = yaml_tree_alloc(setter->tree, node->count * sizeof *copy->items);
        if (!copy->items)
            return STATUS_NOMEM;
        memcpy(copy->items, node->items, node->count * sizeof *copy->items);
        copy->items[step->index] = child;
        *ret_node = copy;
        return STATUS_OK;
    }

    static const struct yaml_node no_map = {.kind = YAML_TREE_MAP, .origin_note = "--set"};
    if (node && node->kind != YAML_TREE_MAP)
        return step_fault(setter, i, node);
    if (setter->star && yaml_is_star(step->key))
        return set_many(setter, node ? node : &no_map, i, ret_node);
    const struct yaml_entry *old = yaml_map_entry(node, step->key);
    status = set_step(setter, old ? old->value : NULL, i + 1, &child);
    if (status != STATUS_OK)
        return status;
    copy = map_copy(setter->tree, node ? node : &no_map, 1);
    if (!copy)
        return STATUS_NOMEM;
    if (!node)
        copy->mark = step->mark;
    struct yaml_entry *entry = yaml_map_entry(copy, step->key);
    bool replaced = !entry || i + 1 == setter->count;
    if (!entry) {
        entry = &copy->entries[copy->count++];
        entry->key = step->key;
    }
    if (replaced) {
        entry->key_mark = step->mark;
        entry->used = false;
    }
    entry->value = child;
    *ret_node = copy;
    return STATUS_OK;
}

enum status yaml_tree_set(struct yaml_tree *tree, const char *path, const char *value,
                          struct diag_list *diag)
{
    return yaml_tree_set_many(tree, path, value, NULL, diag);
}

enum status yaml_tree_set_many(struct yaml_tree *tree, const char *path, const char *value,
                               struct yaml_star *star, struct diag_list *diag)
{
    size_t path_length = strlen(path), value_length = strlen(value);
    size_t length = PREFIX_LENGTH + path_length + 1 + value_length;
    if (path_length > YAML_TREE_BYTES || value_length > YAML_TREE_BYTES)
        return diag_add(diag, (struct mark){"--set", 0, 0}, NULL, "larger than %d bytes",
                        YAML_TREE_BYTES);
    char *whole = yaml_tree_alloc(tree, length + 1);
    if (!whole)
        return STATUS_NOMEM;
    memcpy(whole, PREFIX, PREFIX_LENGTH);
    memcpy(whole + PREFIX_LENGTH, path, path_length);
    whole[PREFIX_LENGTH + path_length] = '=';
    memcpy(whole + PREFIX_LENGTH + path_length + 1, value, value_length);

    struct setter setter = {.tree = tree, .diag = diag, .path = path, .star = star};
    setter.file = diag_add_source(diag, whole, whole, length);
    if (!setter.file)
        return STATUS_NOMEM;
    /* A line end would move all columns after it. */
    if (yaml_control_character(whole, length) >= 0 || strchr(whole, '\n'))
        return diag_add(diag, (struct mark){setter.file, 0, 0}, NULL,
                        "control character or line end");

    struct yaml_source source = {
        .file = setter.file,
        .text = value,
        .length = value_length,
        .shift = path_mark(&setter, path_length).column, /* the '=' stands between */
        .note = "--set",
        .one_line = true,
    };
    struct yaml_node *root;
    enum status status = path_parse(&setter);
    if (status == STATUS_OK)
        status = yaml_tree_read(tree, &source, &setter.value, diag);
    if (status == STATUS_OK)
        status = set_step(&setter, tree->root, 0, &root);
    if (status == STATUS_OK && (!star || star->ret_count > 0))
        tree->root = root;
    return status;
}

enum status yaml_tree_put(struct yaml_tree *tree, const char *const *keys, size_t count,
                          struct yaml_node *value, struct yaml_star *star)
{
    struct setter setter = {.tree = tree, .count = count, .value = value, .star = star};
    struct yaml_node *root;
    for (size_t i = 0; i < count; i++) {
        setter.steps[i] = (struct step){.mark = value->mark};
        setter.steps[i].key = yaml_tree_copy(tree, keys[i], strlen(keys[i]));
        if (!setter.steps[i].key)
            return STATUS_NOMEM;
    }
    enum status status = set_step(&setter, tree->root, 0, &root);
    if (status == STATUS_OK && (!star || star->ret_count > 0))
        tree->root = root;
    return status;
}

bool yaml_is_star(const char *key)
{
    return strpbrk(key, "*?") != NULL;
}

enum status yaml_tree_drop_stars(struct yaml_tree *tree, const char *first, const char *second)
{
    const struct yaml_entry *outer = yaml_map_entry(tree->root, first);
    const struct yaml_entry *inner = outer ? yaml_map_entry(outer->value, second) : NULL;
    if (!inner || inner->value->kind != YAML_TREE_MAP)
        return STATUS_OK;
    struct yaml_node *copy = map_copy(tree, inner->value, 0);
    if (!copy)
        return STATUS_NOMEM;
    size_t kept = 0;
    for (size_t i = 0; i < copy->count; i++)
        if (!yaml_is_star(copy->entries[i].key))
            copy->entries[kept++] = copy->entries[i];
    copy->count = kept;
    const char *const path[] = {first, second};
    return yaml_tree_put(tree, path, 2, copy, NULL);
}
