/* test_yaml_edit.c: merging YAML trees and setting values in them. */
#include "sim/load/yaml_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_yaml.h"

static void merges_deeply(void **state)
{
    struct yaml_fixture *f = *state;
    struct yaml_tree *over = NULL;
    static const char text[] = "\n\nd: {y: 4, z: [6], n: 7}\nnew: {k: v}\nb: {m: 1}\n";
    assert_int_equal(yaml_given(f, "a: 1\nb: 2\nd: {x: 3, y: {q: 1}, z: [1, 2]}\n"), STATUS_OK);
    yaml_map_get(f->tree->root, "a");
    assert_int_equal(yaml_tree_parse(text, strlen(text), "over.yaml", &over, &f->diag), STATUS_OK);
    assert_int_equal(yaml_tree_merge(f->tree, over), STATUS_OK);
    yaml_tree_free(over); /* nothing is shared with it */
    yaml_expect_tree(f->tree, true,
                     "{a@1:1=1@1:4, b@5:1={m@5:5=1@5:8}@5:4, "
                     "d@3:1={x@3:5=3@3:8, y@3:5=4@3:8, z@3:11=[6@3:15]@3:14, n@3:19=7@3:22}@3:4, "
                     "new@4:1={k@4:7=v@4:10}@4:6}@1:1");
    struct yaml_node *d = yaml_map_get(f->tree->root, "d");
    assert_string_equal(d->mark.file, "a.yaml");
    assert_string_equal(yaml_map_get(d, "x")->mark.file, "a.yaml");
    assert_string_equal(yaml_map_get(d, "y")->mark.file, "over.yaml");
    assert_string_equal(yaml_map_entry(d, "y")->key_mark.file, "over.yaml");
    assert_true(yaml_map_entry(f->tree->root, "a")->used);
    assert_int_equal(yaml_tree_merge(f->tree, f->tree), STATUS_OK); /* itself: no change */
    assert_int_equal(f->tree->root->count, 4);

    struct yaml_tree nothing = {0};
    assert_int_equal(yaml_tree_merge(f->tree, &nothing), STATUS_OK);
    assert_int_equal(f->tree->root->count, 4);
}

static void set_value(struct yaml_fixture *f, const char *path, const char *value)
{
    enum status status = yaml_tree_set(f->tree, path, value, &f->diag);
    if (status != STATUS_OK) {
        yaml_expect_diag(f, "");
        fail();
    }
}

static void sets_values(void **state)
{
    struct yaml_fixture *f = *state;
    assert_int_equal(yaml_given(f, "a: {b: [0, 1, {c: 2}]}\nempty:\n"), STATUS_OK);
    set_value(f, "a.b[2].c", "5 GB/s");
    set_value(f, "a.b[0]", "{x: y}");
    set_value(f, "new.deep.key", "[1 MB, 2 MB]");
    set_value(f, "empty.k", "\"quo, ted\"");
    set_value(f, "a.n", "plain, with [brackets]");
    yaml_expect_tree(f->tree, false,
                     "{a={b=[{x=y}, 1, {c=5 GB/s}], n=plain, with [brackets]}, "
                     "empty={k=\"quo, ted\"}, new={deep={key=[1 MB, 2 MB]}}}");
    set_value(f, "a", "1");
    set_value(f, "new.deep", "''");
    yaml_expect_tree(f->tree, false, "{a=1, empty={k=\"quo, ted\"}, new={deep=\"\"}}");

    struct yaml_node *a = yaml_map_get(f->tree->root, "a");
    assert_string_equal(a->origin_note, "--set");
    assert_string_equal(a->mark.file, "--set a=1");
    assert_int_equal(a->mark.line, 1);
    assert_int_equal(a->mark.column, 9);
    assert_int_equal(yaml_map_entry(f->tree->root, "a")->key_mark.column, 7);
    set_value(f, "k\xC3\xA9.z", "{b: c}"); /* columns are characters */
    struct yaml_node *z = yaml_map_get(yaml_map_get(f->tree->root, "k\xC3\xA9"), "z");
    assert_int_equal(z->mark.column, 12);
    assert_int_equal(yaml_map_get(z, "b")->mark.column, 16);
    assert_int_equal(diag_count(&f->diag), 0);
}

static bool begins_with_n(const void *owner, const struct yaml_entry *entry)
{
    return entry->key[0] == *(const char *)owner;
}

/* A step with a star: every key that is meant, and no new one. */
static void sets_many(void **state)
{
    struct yaml_fixture *f = *state;
    struct yaml_star star = {.means = begins_with_n, .owner = "n"};
    assert_int_equal(yaml_given(f, "d: {n0: {r: 1}, g0: {r: 2}, n1: {r: 3, s: 4}}\n"), STATUS_OK);
    assert_int_equal(yaml_tree_set_many(f->tree, "d.n*.r", "9", &star, &f->diag), STATUS_OK);
    yaml_expect_tree(f->tree, false, "{d={n0={r=9}, g0={r=2}, n1={r=9, s=4}}}");
    assert_int_equal(star.ret_count, 2);
    assert_string_equal(star.ret_first, "n0");
    assert_string_equal(star.ret_last, "n1");
    assert_int_equal(star.ret_mark.column, 9); /* "--set d.n*" */

    const struct yaml_node *root = f->tree->root;
    star = (struct yaml_star){.means = begins_with_n, .owner = "x"};
    assert_int_equal(yaml_tree_set_many(f->tree, "d.x*.r", "9", &star, &f->diag), STATUS_OK);
    assert_int_equal(star.ret_count, 0);
    assert_ptr_equal(f->tree->root, root);
    assert_int_equal(yaml_tree_set_many(f->tree, "e.x?.r", "9", &star, &f->diag), STATUS_OK);
    assert_ptr_equal(f->tree->root, root); /* there is no map at all */
    star = (struct yaml_star){.means = begins_with_n, .owner = "n"};
    assert_int_equal(yaml_tree_set_many(f->tree, "d.n*.r.q", "9", &star, &f->diag), STATUS_INPUT);
    assert_ptr_equal(f->tree->root, root);
    yaml_expect_diag(f, "--set d.n*.r.q=9:1:14: error: \"d.n*.r\" is a text, not a map\n"
                        "     1 | --set d.n*.r.q=9\n"
                        "       |              ^\n");
}

static void set_bad(struct yaml_fixture *f, const char *path, const char *value,
                    const char *expected)
{
    const struct yaml_node *root = f->tree->root;
    assert_int_equal(yaml_tree_set(f->tree, path, value, &f->diag), STATUS_INPUT);
    assert_ptr_equal(f->tree->root, root);
    yaml_expect_diag(f, expected);
}

static void refuses_bad_sets(void **state)
{
    struct yaml_fixture *f = *state;
    struct diag_list keep; /* the tree's marks point into the list that set_bad() empties */
    assert_int_equal(yaml_given(f, "a: {b: [0, 1], s: x}\n"), STATUS_OK);
    keep = f->diag;
    diag_init(&f->diag);
    set_bad(f, "a.s.t", "1",
            "--set a.s.t=1:1:11: error: \"a.s\" is a text, not a map\n"
            "     1 | --set a.s.t=1\n"
            "       |           ^\n");
    set_bad(f, "a.b.c", "1",
            "--set a.b.c=1:1:11: error: \"a.b\" is a list, not a map\n"
            "     1 | --set a.b.c=1\n"
            "       |           ^\n");
    set_bad(f, "a[0]", "1",
            "--set a[0]=1:1:8: error: \"a\" is a map, not a list\n"
            "     1 | --set a[0]=1\n"
            "       |        ^\n");
    set_bad(f, "x[0]", "1",
            "--set x[0]=1:1:8: error: \"x\" is nothing, not a list\n"
            "     1 | --set x[0]=1\n"
            "       |        ^\n");
    set_bad(f, "a.b[2]", "1",
            "--set a.b[2]=1:1:10: error: index 2 is out of range: \"a.b\" has 2 items\n"
            "     1 | --set a.b[2]=1\n"
            "       |          ^\n");
    set_bad(f, "a", "[1, 2",
            "--set a=[1, 2:1:14: error: did not find expected ',' or ']' "
            "(while parsing a flow sequence that starts at 1:9)\n"
            "     1 | --set a=[1, 2\n"
            "       |              ^\n");
    set_bad(f, "a", "b: c",
            "--set a=b: c:1:9: error: a map or list needs its brackets here\n"
            "     1 | --set a=b: c\n"
            "       |         ^\n"
            "  hint: write {key: value} or [item, item]; quote a plain text\n");
    set_bad(f, "a", "",
            "--set a=:1:9: error: the value is missing\n"
            "     1 | --set a=\n"
            "       |         ^\n"
            "  hint: write \"\" for an empty text\n");
    set_bad(f, "a", "\xFF",
            "--set a=?:1:9: error: invalid leading UTF-8 octet (0xFF)\n"
            "     1 | --set a=?\n"
            "       |         ^\n"
            "  hint: save the file as UTF-8\n");
    set_bad(f, "a", "1\n2", "--set a=1?2: error: control character or line end\n");
    static const struct {
        const char *path, *message;
        int column;
    } paths[] = {
        {"", "a key is missing in the path", 7},
        {".a", "a key is missing in the path", 7},
        {"a..b", "a key is missing in the path", 9},
        {"a.", "a key is missing in the path", 9},
        {"[0]", "the path starts with an index", 7},
        {"a[]", "not an index", 8},
        {"a[-1]", "not an index", 8},
        {"a[1", "not an index", 8},
        {"a[99999999999999999999]", "not an index", 8},
        {"a]", "expected '.' or '[' in the path", 8},
        {"a[0]b", "expected '.' or '[' in the path", 11},
    };
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        assert_int_equal(yaml_tree_set(f->tree, paths[i].path, "1", &f->diag), STATUS_INPUT);
        assert_string_equal(diag_get(&f->diag, 0)->message, paths[i].message);
        assert_int_equal(diag_get(&f->diag, 0)->mark.column, paths[i].column);
        diag_free(&f->diag);
    }
    char *deep = yaml_repeat("a.", 40);
    deep[79] = '\0';
    assert_int_equal(yaml_tree_set(f->tree, deep, "1", &f->diag), STATUS_INPUT);
    assert_string_equal(diag_get(&f->diag, 0)->message, "the path has more than 32 steps");
    free(deep);
    diag_free(&keep);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, yaml_set_up, yaml_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(merges_deeply),
        TEST(sets_values),
        TEST(sets_many),
        TEST(refuses_bad_sets),
    };
    return cmocka_run_group_tests_name("yaml_edit", tests, NULL, NULL);
}
