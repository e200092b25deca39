/* yaml_tree.h: a strict YAML reader that keeps the place of everything it read.
 *
 * A small and unambiguous part of YAML: maps, lists and scalars. All scalars are text; whether
 * "no" or "6 us" means anything is for the typed reader above to say. Duplicate keys, anchors,
 * aliases, merge keys, tags, directives, several documents, control characters and nesting
 * beyond YAML_TREE_DEPTH are mistakes. They are collected in the struct diag_list, up to the first
 * error of syntax.
 *
 * A tree owns its nodes and frees them at once. File names in marks belong to the diag_list, so
 * trees that are merged must have been read with the same one, and it must outlive them.
 */
#ifndef GDSIM_LOAD_YAML_TREE_H
#define GDSIM_LOAD_YAML_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/core/status.h"
#include "sim/load/diag.h"

enum {
    YAML_TREE_DEPTH = 32,      /* maps and lists inside each other, and steps of a --set path */
    YAML_TREE_KEYS = 1024,     /* keys of one map, which is searched from front to back */
    YAML_TREE_BYTES = 1 << 20, /* of one file */
};

enum yaml_kind {
    YAML_TREE_SCALAR,
    YAML_TREE_MAP,
    YAML_TREE_LIST,
};

struct yaml_entry {
    char *key;
    struct mark key_mark;
    struct yaml_node *value;
    bool used; /* set by yaml_map_get() */
};

struct yaml_node {
    enum yaml_kind kind;
    struct mark mark;
    bool quoted;                /* SCALAR: in quotes or a text block, so never a number */
    char *text;                 /* SCALAR: ends in NUL and holds no other */
    size_t length;              /* SCALAR */
    struct yaml_entry *entries; /* MAP, in the order of the file */
    struct yaml_node **items;   /* LIST */
    size_t count;               /* of entries or items */
    const char *origin_note;    /* where it came from, such as "--set"; NULL: the file */
};

struct yaml_tree {
    struct yaml_node *root;
    struct yaml_block *blocks;
};

/* Read a text; `name` is what marks call it. *ret_tree is set only if there was no mistake. */
enum status yaml_tree_parse(const char *text, size_t length, const char *name,
                            struct yaml_tree **ret_tree, struct diag_list *diag);

/* Read a file. */
enum status yaml_tree_load(const char *path, struct yaml_tree **ret_tree, struct diag_list *diag);

/* Free the tree (may be NULL); returns NULL. */
struct yaml_tree *yaml_tree_free(struct yaml_tree *tree);

/* Lay `over` on `base`: maps are merged key by key, anything else is replaced. Keys of `base` keep
 * their order, new ones follow. What wins keeps its mark. `over` is copied and stays as it is;
 * without memory `base` stays as it was, too. */
enum status yaml_tree_merge(struct yaml_tree *base, const struct yaml_tree *over);

/* Set the node at a path such as "a.b[2].c" to a value in YAML's one-line form: 5 GB/s, "text",
 * [1 MB, 2 MB] or {a: b}. Missing maps are made, list items must exist. Marks point into the text
 * "--set PATH=VALUE". On failure the tree stays as it was. */
enum status yaml_tree_set(struct yaml_tree *tree, const char *path, const char *value,
                          struct diag_list *diag);

/* Which keys a step with * or ? in it means, and what came of it. */
struct yaml_star {
    bool (*means)(const void *owner, const struct yaml_entry *entry);
    const void *owner;
    size_t ret_count; /* 0: none, and the tree is as it was */
    const char *ret_first, *ret_last;
    struct mark ret_mark; /* of the step */
};

/* Put a node of this tree at a path of keys, where maps stand already, with the node's own mark.
 * `star` may be NULL: then a star is a character like others. */
enum status yaml_tree_put(struct yaml_tree *tree, const char *const *keys, size_t count,
                          struct yaml_node *value, struct yaml_star *star);

/* Whether a key has a star or a question mark. */
bool yaml_is_star(const char *key);

/* Take the keys with stars out of the map at a path of two keys, if there is one. */
enum status yaml_tree_drop_stars(struct yaml_tree *tree, const char *first, const char *second);

/* The same for a path of which one step means many keys that are there already. */
enum status yaml_tree_set_many(struct yaml_tree *tree, const char *path, const char *value,
                               struct yaml_star *star, struct diag_list *diag);

/* The value of a key, marked as used; NULL if there is none or `node` is no map (or NULL). */
struct yaml_node *yaml_map_get(struct yaml_node *node, const char *key);

/* The entry of a key, for its mark; does not mark it as used. */
struct yaml_entry *yaml_map_entry(const struct yaml_node *node, const char *key);

/* Report each key that is not allowed, with a suggestion. `what` names the map in messages ("a
 * link"); NULL: unnamed. A node that is no map is a mistake, too. */
enum status yaml_check_keys(const struct yaml_node *node, const char *const *allowed, size_t count,
                            const char *what, struct diag_list *diag);

/* "a map", "a list", "a text", "nothing": what a message calls the node. */
const char *yaml_kind_name(const struct yaml_node *node);

/* An empty plain scalar, which is what `key:` alone gives. */
bool yaml_is_blank(const struct yaml_node *node);

/* ---- Private part: shared between yaml_tree.c, yaml_read.c and yaml_edit.c ------------------ */

struct yaml_source {
    const char *file; /* interned */
    const char *text;
    size_t length;
    uint32_t shift;   /* columns before the text in what the user wrote */
    const char *note; /* origin_note of all nodes */
    bool one_line;    /* only the flow forms of maps and lists */
};

/* Zeroed memory that lives as long as the tree; NULL without memory. */
void *yaml_tree_alloc(struct yaml_tree *tree, size_t size);
char *yaml_tree_copy(struct yaml_tree *tree, const char *text, size_t length);

/* The first control character of a text other than a line end, as a number; -1 if there is none. */
int yaml_control_character(const char *text, size_t length);

enum status yaml_tree_read(struct yaml_tree *tree, const struct yaml_source *source,
                           struct yaml_node **ret_root, struct diag_list *diag);

#endif
