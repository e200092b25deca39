/* help_yaml.c: see help_yaml.h. */
#include "tests/unit/help_yaml.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

int yaml_set_up(void **state)
{
    struct yaml_fixture *f = calloc(1, sizeof *f);
    diag_init(&f->diag);
    *state = f;
    return 0;
}

int yaml_tear_down(void **state)
{
    struct yaml_fixture *f = *state;
    f->tree = yaml_tree_free(f->tree);
    diag_free(&f->diag);
    free(f);
    return 0;
}

enum status yaml_given(struct yaml_fixture *f, const char *text)
{
    f->tree = yaml_tree_free(f->tree);
    return yaml_tree_parse(text, strlen(text), "a.yaml", &f->tree, &f->diag);
}

static void dump(const struct yaml_node *node, bool marks, char *out, size_t size)
{
    size_t at = 0;
    if (node->kind == YAML_TREE_SCALAR) {
        snprintf(out, size, node->quoted ? "\"%s\"" : "%s", node->text);
        at = strlen(out);
    } else {
        bool map = node->kind == YAML_TREE_MAP;
        at += (size_t)snprintf(out, size, map ? "{" : "[");
        for (size_t i = 0; i < node->count; i++) {
            at += (size_t)snprintf(out + at, size - at, i > 0 ? ", " : "");
            if (map) {
                const struct mark *m = &node->entries[i].key_mark;
                at += (size_t)snprintf(out + at, size - at, "%s", node->entries[i].key);
                if (marks)
                    at += (size_t)snprintf(out + at, size - at, "@%u:%u", m->line, m->column);
                at += (size_t)snprintf(out + at, size - at, "=");
            }
            dump(map ? node->entries[i].value : node->items[i], marks, out + at, size - at);
            at += strlen(out + at);
        }
        at += (size_t)snprintf(out + at, size - at, map ? "}" : "]");
    }
    if (marks)
        snprintf(out + at, size - at, "@%u:%u", node->mark.line, node->mark.column);
}

void yaml_expect_tree(const struct yaml_tree *tree, bool marks, const char *expected)
{
    char text[4000];
    assert_non_null(tree);
    dump(tree->root, marks, text, sizeof text);
    assert_string_equal(text, expected);
}

void yaml_expect_diag(struct yaml_fixture *f, const char *expected)
{
    char *text = NULL;
    assert_int_equal(diag_render(&f->diag, &text), STATUS_OK);
    assert_string_equal(text, expected);
    free(text);
    diag_free(&f->diag);
}

char *yaml_repeat(const char *piece, size_t times)
{
    size_t length = strlen(piece);
    char *text = malloc(length * times + 1);
    assert_non_null(text);
    for (size_t i = 0; i < times; i++)
        memcpy(text + i * length, piece, length);
    text[length * times] = '\0';
    return text;
}
