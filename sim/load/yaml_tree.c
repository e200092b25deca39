/* yaml_tree.c: a YAML tree's memory, its files and looking things up in it. See yaml_tree.h. */
#include "sim/load/yaml_tree.h"

#include <errno.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/core/suggest.h"

/* ---- memory of a tree ----------------------------------------------------------------------- */
struct yaml_block {
    struct yaml_block *next;
    size_t used, size;
    alignas(max_align_t) char bytes[];
};

void *yaml_tree_alloc(struct yaml_tree *tree, size_t size)
{
    const size_t align = alignof(max_align_t), block_size = 16384;
    struct yaml_block *block = tree->blocks;
    if (size > SIZE_MAX / 2)
        return NULL;
    size = (size + align - 1) / align * align;
    if (!block || block->size - block->used < size) {
        size_t room = size > block_size ? size : block_size;
        block = calloc(1, sizeof *block + room);
        if (!block)
            return NULL;
        block->size = room;
        block->next = tree->blocks;
        tree->blocks = block;
    }
    void *at = block->bytes + block->used;
    block->used += size;
    return at;
}

char *yaml_tree_copy(struct yaml_tree *tree, const char *text, size_t length)
{
    char *copy = yaml_tree_alloc(tree, length + 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

struct yaml_tree *yaml_tree_free(struct yaml_tree *tree)
{
    if (!tree)
        return NULL;
    for (struct yaml_block *block = tree->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(tree);
    return NULL;
}

/* ---- texts and files ------------------------------------------------------------------------ */
enum status yaml_tree_parse(const char *text, size_t length, const char *name,
                            struct yaml_tree **ret_tree, struct diag_list *diag)
{
    const char *file = diag_intern(diag, name);
    if (!file)
        return STATUS_NOMEM;
    if (length > YAML_TREE_BYTES)
        return diag_add(diag, (struct mark){file, 0, 0}, NULL, "larger than %d bytes",
                        YAML_TREE_BYTES);
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) { /* a byte order mark */
        text += 3;
        length -= 3;
    }
    if (!diag_add_source(diag, name, text, length))
        return STATUS_NOMEM;

    struct yaml_tree *tree = calloc(1, sizeof *tree);
    if (!tree)
        return STATUS_NOMEM;
    struct yaml_source source = {.file = file, .text = text, .length = length};
    enum status status = yaml_tree_read(tree, &source, &tree->root, diag);
    if (status != STATUS_OK)
        yaml_tree_free(tree);
    else
        *ret_tree = tree;
    return status;
}

static enum status load_error(struct diag_list *diag, const char *path, int number)
{
    char reason[128];
    if (strerror_r(number, reason, sizeof reason) != 0)
        reason[0] = '\0';
    return diag_add(diag, (struct mark){path, 0, 0}, NULL, "cannot read the file: %s", reason);
}

enum status yaml_tree_load(const char *path, struct yaml_tree **ret_tree, struct diag_list *diag)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOMEM ? STATUS_NOMEM : load_error(diag, path, errno);
    char *text = malloc(YAML_TREE_BYTES + 1); /* one more shows that there is more */
    enum status status = STATUS_NOMEM;
    struct stat info;
    if (!text)
        goto done;
    if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
        status = load_error(diag, path, EISDIR);
        goto done;
    }
    errno = 0;
    size_t length = fread(text, 1, YAML_TREE_BYTES + 1, file);
    if (ferror(file))
        status = load_error(diag, path, errno);
    else
        status = yaml_tree_parse(text, length, path, ret_tree, diag);
done:
    free(text);
    fclose(file);
    return status;
}

/* ---- looking -------------------------------------------------------------------------------- */
bool yaml_is_blank(const struct yaml_node *node)
{
    return node && node->kind == YAML_TREE_SCALAR && !node->quoted && node->length == 0;
}

const char *yaml_kind_name(const struct yaml_node *node)
{
    if (!node || yaml_is_blank(node))
        return "nothing";
    return node->kind == YAML_TREE_MAP    ? "a map"
           : node->kind == YAML_TREE_LIST ? "a list"
                                          : "a text";
}

struct yaml_entry *yaml_map_entry(const struct yaml_node *node, const char *key)
{
    if (!node || node->kind != YAML_TREE_MAP)
        return NULL;
    for (size_t i = 0; i < node->count; i++) {
        if (strcmp(node->entries[i].key, key) == 0)
            return &node->entries[i];
    }
    return NULL;
}

struct yaml_node *yaml_map_get(struct yaml_node *node, const char *key)
{
    struct yaml_entry *entry = yaml_map_entry(node, key);
    if (!entry)
        return NULL;
    entry->used = true;
    return entry->value;
}

/* "known keys: a, b, c", as many as fit. */
static void list_keys(const char *const *allowed, size_t count, char *text, size_t size)
{
    static const char more[] = ", ...";
    size_t length = strlen(strcpy(text, "known keys: "));
    for (size_t i = 0; i < count; i++) {
        size_t step = strlen(allowed[i]) + 2;
        if (length + step + sizeof more > size) {
            strcpy(text + length, i > 0 ? more : more + 2);
            return;
        }
        if (i > 0)
            strcpy(text + length, ", ");
        strcat(text + length, allowed[i]);
        length += strlen(text + length);
    }
}

enum status yaml_check_keys(const struct yaml_node *node, const char *const *allowed, size_t count,
                            const char *what, struct diag_list *diag)
{
    enum status status = STATUS_OK;
    if (node->kind != YAML_TREE_MAP)
        return diag_add(diag, node->mark, NULL, "expected %s%sa map, got %s", what ? what : "",
                        what ? ", " : "", yaml_kind_name(node));
    for (size_t i = 0; i < node->count; i++) {
        const struct yaml_entry *entry = &node->entries[i];
        bool known = false;
        for (size_t k = 0; k < count && !known; k++)
            known = strcmp(entry->key, allowed[k]) == 0;
        if (known)
            continue;
        char hint[240];
        const char *near = suggest_word(entry->key, allowed, count);
        if (near)
            snprintf(hint, sizeof hint, "did you mean \"%s\"?", near);
        else
            list_keys(allowed, count, hint, sizeof hint);
        enum status added =
            diag_add(diag, entry->key_mark, count > 0 ? hint : NULL, "unknown key \"%s\"%s%s",
                     entry->key, what ? " in " : "", what ? what : "");
        if (status != STATUS_NOMEM)
            status = added;
    }
    return status;
}
