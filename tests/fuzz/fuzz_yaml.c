/* fuzz_yaml.c: libFuzzer entry for the YAML reader, merge, --set and the printing of mistakes.
 *
 *   clang -std=c17 -D_POSIX_C_SOURCE=200809L -I. -g -O1 -fsanitize=fuzzer,address,undefined \
 *       tests/fuzz/fuzz_yaml.c sim/load/diag.c sim/load/yaml_*.c sim/core/units.c \
 *       sim/core/status.c -lyaml -lm
 *
 * The input up to the first NUL is the file, then up to the next one the --set path, and then
 * its value. Every scalar is also tried as a quantity. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/load/diag.h"
#include "sim/load/yaml_tree.h"

static bool any(const void *owner, const struct yaml_entry *entry)
{
    (void)owner;
    return entry->key[0] != '\0';
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_units(const struct yaml_node *node)
{
    if (node->kind == YAML_TREE_SCALAR) {
        for (int d = DIM_COUNT; d <= DIM_BOOL; d++) {
            double value, again;
            char text[UNITS_TEXT_MAX];
            struct error error;
            if (units_parse(node->text, node->length, (enum dimension)d, &value, &error))
                continue;
            units_format(value, (enum dimension)d, text, sizeof text);
            if (units_parse(text, strlen(text), (enum dimension)d, &again, &error))
                abort(); /* what we write, we read */
        }
        return;
    }
    for (size_t i = 0; i < node->count; i++)
        try_units(node->kind == YAML_TREE_MAP ? node->entries[i].value : node->items[i]);
}

/* The next piece of the input as a string of its own. */
static char *piece(const uint8_t **data, size_t *size, size_t *ret_length)
{
    size_t length = 0;
    while (length < *size && (*data)[length] != 0)
        length++;
    char *copy = malloc(length + 1);
    if (!copy)
        abort();
    if (length > 0)
        memcpy(copy, *data, length);
    copy[length] = '\0';
    size_t skip = length + (length < *size);
    *data += skip;
    *size -= skip;
    *ret_length = length;
    return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const allowed[] = {"nodes", "gpus", "rate"};
    struct diag_list diag;
    struct yaml_tree *tree = NULL, *whole = NULL;
    size_t length, ignored;
    diag_init(&diag);
    /* Once with its NULs, which no file may have. */
    (void)yaml_tree_parse(size > 0 ? (const char *)data : "", size, "whole", &whole, &diag);
    char *text = piece(&data, &size, &length);
    char *path = piece(&data, &size, &ignored), *value = piece(&data, &size, &ignored);

    if (yaml_tree_parse(text, length, "fuzz", &tree, &diag) == STATUS_OK) {
        try_units(tree->root);
        if (yaml_tree_merge(tree, tree) != STATUS_OK)
            abort();
        (void)yaml_tree_set(tree, path, value, &diag);
        (void)yaml_tree_set(tree, "a.b[0].c", value, &diag);
        struct yaml_star star = {.means = any};
        (void)yaml_tree_set_many(tree, "a.*.c", value, &star, &diag);
        (void)yaml_check_keys(tree->root, allowed, 3, "a machine", &diag);
        if (whole && yaml_tree_merge(whole, tree) != STATUS_OK)
            abort();
    }
    char *rendered = NULL;
    if (diag_render(&diag, &rendered) != STATUS_OK)
        abort();
    free(rendered);
    free(text);
    free(path);
    free(value);
    yaml_tree_free(tree);
    yaml_tree_free(whole);
    diag_free(&diag);
    return 0;
}
