/* test_yaml_tree.c: the strict YAML reader: what it takes, what it refuses and how it says so. */
#include "sim/load/yaml_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/help_yaml.h"

/* A text with mistakes: no tree comes out, and exactly this is printed. */
static void expect_bad(struct yaml_fixture *f, const char *text, const char *expected)
{
    assert_int_equal(yaml_given(f, text), STATUS_INPUT);
    assert_null(f->tree);
    yaml_expect_diag(f, expected);
}

static void reads_maps_lists_scalars(void **state)
{
    struct yaml_fixture *f = *state;
    assert_int_equal(
        yaml_given(f, "# first\nnodes: 8\nlink: {rate: 31.5 GB/s, \"on\": yes}\n"
                      "sizes:\n  - 1 MB\n  - '2'\n  - [a, b]\nempty:\ntext: |\n  x\n  y\n"),
        STATUS_OK);
    yaml_expect_tree(f->tree, true,
                     "{nodes@2:1=8@2:8, "
                     "link@3:1={rate@3:8=31.5 GB/s@3:14, on@3:25=yes@3:31}@3:7, "
                     "sizes@4:1=[1 MB@5:5, \"2\"@6:5, [a@7:6, b@7:9]@7:5]@5:3, "
                     "empty@8:1=@8:7, text@9:1=\"x\ny\n\"@9:7}@2:1");
    assert_string_equal(f->tree->root->mark.file, "a.yaml");
    assert_null(f->tree->root->origin_note);

    struct yaml_node *link = yaml_map_get(f->tree->root, "link");
    assert_string_equal(yaml_map_get(link, "rate")->text, "31.5 GB/s");
    assert_true(yaml_map_entry(f->tree->root, "link")->used);
    assert_false(yaml_map_entry(f->tree->root, "nodes")->used);
    assert_null(yaml_map_get(link, "nope"));
    assert_null(yaml_map_get(yaml_map_get(link, "rate"), "x"));
    assert_null(yaml_map_get(NULL, "x"));
    assert_true(yaml_is_blank(yaml_map_get(f->tree->root, "empty")));
    assert_string_equal(yaml_kind_name(link), "a map");
    assert_string_equal(yaml_kind_name(yaml_map_get(f->tree->root, "sizes")), "a list");
    assert_string_equal(yaml_kind_name(yaml_map_get(f->tree->root, "nodes")), "a text");
    assert_string_equal(yaml_kind_name(yaml_map_get(f->tree->root, "empty")), "nothing");
    assert_int_equal(diag_count(&f->diag), 0);
}

static void takes_bom_crlf_and_open_end(void **state)
{
    struct yaml_fixture *f = *state;
    assert_int_equal(yaml_given(f, "\xEF\xBB\xBF"
                                   "a: 1\r\nb:\r\n  c: \xC3\xA9 \xE2\x82\xAC"),
                     STATUS_OK);
    yaml_expect_tree(f->tree, true,
                     "{a@1:1=1@1:4, b@2:1={c@3:3=\xC3\xA9 \xE2\x82\xAC@3:6}@3:3}@1:1");
    assert_int_equal(yaml_given(f, "---\na: 1\n...\n"), STATUS_OK);
    assert_int_equal(yaml_given(f, "[]"), STATUS_OK);
    yaml_expect_tree(f->tree, false, "[]");
    assert_int_equal(yaml_given(f, "{}"), STATUS_OK);
    yaml_expect_tree(f->tree, false, "{}");
    assert_int_equal(yaml_given(f, "''"), STATUS_OK);
    yaml_expect_tree(f->tree, false, "\"\"");
}

static void reports_all_mistakes_of_a_file(void **state)
{
    struct yaml_fixture *f = *state;
    expect_bad(f,
               "a: 1\n"
               "b: &x {c: 2, c: 3}\n"
               "a: *x\n"
               "<<: {d: 4}\n"
               "e: !!str 5\n"
               "f: ! g\n"
               "[1]: 2\n"
               "\"\\x01\": \"\\0\"\n"
               "\"\": 9\n"
               "tab: \"x\\ty\"\n",
               "a.yaml:2:4: error: anchors are not allowed\n"
               "     2 | b: &x {c: 2, c: 3}\n"
               "       |    ^\n"
               "  hint: write the value out at each place\n"
               "a.yaml:2:14: error: duplicate key \"c\", first at 2:8\n"
               "     2 | b: &x {c: 2, c: 3}\n"
               "       |              ^\n"
               "a.yaml:3:1: error: duplicate key \"a\", first at 1:1\n"
               "     3 | a: *x\n"
               "       | ^\n"
               "a.yaml:3:4: error: aliases are not allowed\n"
               "     3 | a: *x\n"
               "       |    ^\n"
               "  hint: write the value out at each place\n"
               "a.yaml:4:1: error: merge keys are not allowed\n"
               "     4 | <<: {d: 4}\n"
               "       | ^\n"
               "  hint: write the value out at each place\n"
               "a.yaml:5:4: error: tags are not allowed\n"
               "     5 | e: !!str 5\n"
               "       |    ^\n"
               "  hint: remove it; quotes make a text\n"
               "a.yaml:6:4: error: tags are not allowed\n"
               "     6 | f: ! g\n"
               "       |    ^\n"
               "  hint: remove it; quotes make a text\n"
               "a.yaml:7:1: error: a key must be a text, not a map or list\n"
               "     7 | [1]: 2\n"
               "       | ^\n"
               "a.yaml:8:1: error: control character 0x01 in a key\n"
               "     8 | \"\\x01\": \"\\0\"\n"
               "       | ^\n"
               "a.yaml:8:9: error: control character 0x00 in a value\n"
               "     8 | \"\\x01\": \"\\0\"\n"
               "       |         ^\n"
               "a.yaml:9:1: error: a key is missing\n"
               "     9 | \"\": 9\n"
               "       | ^\n"
               "a.yaml:10:6: error: tab in a value\n"
               "    10 | tab: \"x\\ty\"\n"
               "       |      ^\n"
               "  hint: use blanks\n");
}

static void refuses_other_documents(void **state)
{
    struct yaml_fixture *f = *state;
    expect_bad(f, "", "a.yaml: error: the file is empty\n");
    expect_bad(f, "# nothing\n\n", "a.yaml: error: the file is empty\n");
    expect_bad(f, "---\n...\n", "a.yaml: error: the file is empty\n");
    expect_bad(f, "\xEF\xBB\xBF", "a.yaml: error: the file is empty\n");
    expect_bad(f, "a: 1\n---\nb: 2\n",
               "a.yaml:2:1: error: a second document starts here\n"
               "     2 | ---\n"
               "       | ^\n"
               "  hint: keep one document in a file\n");
    expect_bad(f, "%YAML 1.1\n---\na: 1\n",
               "a.yaml:1:1: error: directives are not allowed\n"
               "     1 | %YAML 1.1\n"
               "       | ^\n"
               "  hint: remove the line that starts with %\n");
    expect_bad(f, "*x",
               "a.yaml:1:1: error: aliases are not allowed\n"
               "     1 | *x\n"
               "       | ^\n"
               "  hint: write the value out at each place\n");
}

static void explains_errors_of_syntax(void **state)
{
    struct yaml_fixture *f = *state;
    expect_bad(f, "a:\n\tb: 1\n",
               "a.yaml:2:1: error: found character that cannot start any token "
               "(while scanning for the next token that starts at 2:1)\n"
               "     2 | \tb: 1\n"
               "       | ^\n"
               "  hint: YAML is indented with blanks; replace the tab\n");
    expect_bad(f, "a: [1, 2\nb: 3\n",
               "a.yaml:2:2: error: did not find expected ',' or ']' "
               "(while parsing a flow sequence that starts at 1:4)\n"
               "     2 | b: 3\n"
               "       |  ^\n");
    expect_bad(f, "a: b: c\n",
               "a.yaml:1:5: error: mapping values are not allowed in this context\n"
               "     1 | a: b: c\n"
               "       |     ^\n"
               "  hint: check the indentation, or quote a text that contains \": \"\n");
    expect_bad(f, "a: 1\na: 2\nb: @x\n", /* what came before is reported as well */
               "a.yaml:2:1: error: duplicate key \"a\", first at 1:1\n"
               "     2 | a: 2\n"
               "       | ^\n"
               "a.yaml:3:4: error: found character that cannot start any token "
               "(while scanning for the next token that starts at 3:4)\n"
               "     3 | b: @x\n"
               "       |    ^\n"
               "  hint: quote a text that starts with a special character\n");
}

static void places_errors_of_encoding(void **state)
{
    struct yaml_fixture *f = *state;
    expect_bad(f, "a: 1\r\nb: \xC3\xA9\xFF\n",
               "a.yaml:2:5: error: invalid leading UTF-8 octet (0xFF)\n"
               "     2 | b: \xC3\xA9?\n"
               "       |     ^\n"
               "  hint: save the file as UTF-8\n");
    static const char nul[] = "a: 1\nb: x\0y\n";
    assert_int_equal(yaml_tree_parse(nul, sizeof nul - 1, "a.yaml", &f->tree, &f->diag),
                     STATUS_INPUT);
    yaml_expect_diag(f, "a.yaml:2:5: error: control characters are not allowed (0x00)\n"
                        "     2 | b: x?y\n"
                        "       |     ^\n");
    static const char utf16[] = "\xFF\xFE"
                                "a\0:\0 \0001\0";
    assert_int_equal(yaml_tree_parse(utf16, sizeof utf16 - 1, "a.yaml", &f->tree, &f->diag),
                     STATUS_INPUT);
    yaml_expect_diag(f, "a.yaml:1:1: error: invalid leading UTF-8 octet (0xFF)\n"
                        "     1 | ??a?:? ?1?\n"
                        "       | ^\n"
                        "  hint: save the file as UTF-8\n");
}

static void keeps_limits(void **state)
{
    struct yaml_fixture *f = *state;
    static const char *const deep[] = {"[", "{", "[{a: ", "- ", "? ", "{a: ", "[[],"};
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *text = yaml_repeat(deep[i], 100000);
        assert_int_equal(yaml_given(f, text), STATUS_INPUT);
        assert_true(diag_count(&f->diag) > 0);
        diag_free(&f->diag);
        free(text);
    }

    char *open = yaml_repeat("[", YAML_TREE_DEPTH + 1),
         *shut = yaml_repeat("]", YAML_TREE_DEPTH + 1);
    char text[2 * YAML_TREE_DEPTH + 3], expected[200];
    snprintf(text, sizeof text, "%s%s", open + 1, shut + 1);
    assert_int_equal(yaml_given(f, text), STATUS_OK);
    snprintf(text, sizeof text, "%s%s", open, shut);
    snprintf(expected, sizeof expected,
             "a.yaml:1:33: error: nested deeper than 32 levels\n     1 | %s\n       |%33s^\n", text,
             "");
    expect_bad(f, text, expected);
    free(open);
    free(shut);

    char *large = yaml_repeat("a: bcde\n", 2 << 17); /* 2 MiB */
    expect_bad(f, large, "a.yaml: error: larger than 1048576 bytes\n");
    large[YAML_TREE_BYTES] = '\0'; /* just allowed, and as many mistakes as lines */
    assert_int_equal(yaml_given(f, large), STATUS_INPUT);
    assert_int_equal(diag_count(&f->diag), YAML_TREE_BYTES / 8 - 1);
    diag_free(&f->diag);
    free(large);

    size_t room = 16 * (YAML_TREE_KEYS + 1), at = 0;
    char *keys = malloc(room);
    for (int i = 0; i <= YAML_TREE_KEYS; i++)
        at += (size_t)snprintf(keys + at, room - at, "k%d:\n", i);
    expect_bad(f, keys,
               "a.yaml:1025:1: error: more than 1024 keys in one map\n"
               "  1025 | k1024:\n"
               "       | ^\n");
    free(keys);

    char *items = yaml_repeat("-\n", YAML_TREE_BYTES / 2);
    assert_int_equal(yaml_given(f, items), STATUS_OK);
    assert_int_equal(f->tree->root->count, YAML_TREE_BYTES / 2);
    free(items);
}

static void defuses_an_alias_bomb(void **state)
{
    struct yaml_fixture *f = *state;
    assert_int_equal(yaml_given(f, "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"),
                     STATUS_INPUT);
    assert_int_equal(diag_count(&f->diag), 3 + 6);
    diag_free(&f->diag);
    assert_int_equal(yaml_given(f, "a: &a [*a]\n"), STATUS_INPUT); /* a cycle */
    diag_free(&f->diag);
}

static void loads_files(void **state)
{
    struct yaml_fixture *f = *state;
    char path[] = "/tmp/gdsim_yaml_XXXXXX", expected[200];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "a: 1", 4), 4);
    assert_int_equal(yaml_tree_load(path, &f->tree, &f->diag), STATUS_OK);
    yaml_expect_tree(f->tree, false, "{a=1}");
    f->tree = yaml_tree_free(f->tree);

    assert_int_equal(ftruncate(fd, YAML_TREE_BYTES + 1), 0);
    assert_int_equal(yaml_tree_load(path, &f->tree, &f->diag), STATUS_INPUT);
    snprintf(expected, sizeof expected, "%s: error: larger than 1048576 bytes\n", path);
    yaml_expect_diag(f, expected);
    close(fd);
    unlink(path);

    assert_int_equal(yaml_tree_load(path, &f->tree, &f->diag), STATUS_INPUT);
    snprintf(expected, sizeof expected,
             "%s: error: cannot read the file: No such file or directory\n", path);
    yaml_expect_diag(f, expected);
    assert_int_equal(yaml_tree_load("/tmp", &f->tree, &f->diag), STATUS_INPUT);
    yaml_expect_diag(f, "/tmp: error: cannot read the file: Is a directory\n");
}

static void checks_keys(void **state)
{
    struct yaml_fixture *f = *state;
    static const char *const allowed[] = {"nodes", "rate"};
    assert_int_equal(yaml_given(f, "nodes: 1\nrtae: 2\nfoo: 3\nlist: [1]\n"), STATUS_OK);
    struct yaml_node *list = yaml_map_get(f->tree->root, "list");
    assert_int_equal(yaml_check_keys(f->tree->root, allowed, 2, "a link", &f->diag), STATUS_INPUT);
    assert_int_equal(yaml_check_keys(list, allowed, 2, "a link", &f->diag), STATUS_INPUT);
    assert_int_equal(yaml_check_keys(list, allowed, 2, NULL, &f->diag), STATUS_INPUT);
    yaml_expect_diag(f, "a.yaml:2:1: error: unknown key \"rtae\" in a link\n"
                        "     2 | rtae: 2\n"
                        "       | ^\n"
                        "  hint: did you mean \"rate\"?\n"
                        "a.yaml:3:1: error: unknown key \"foo\" in a link\n"
                        "     3 | foo: 3\n"
                        "       | ^\n"
                        "  hint: known keys: nodes, rate\n"
                        "a.yaml:4:1: error: unknown key \"list\" in a link\n"
                        "     4 | list: [1]\n"
                        "       | ^\n"
                        "  hint: known keys: nodes, rate\n"
                        "a.yaml:4:7: error: expected a link, a map, got a list\n"
                        "     4 | list: [1]\n"
                        "       |       ^\n"
                        "a.yaml:4:7: error: expected a map, got a list\n"
                        "     4 | list: [1]\n"
                        "       |       ^\n");
    assert_int_equal(yaml_given(f, "rate: 1\n"), STATUS_OK);
    assert_int_equal(yaml_check_keys(f->tree->root, allowed, 2, NULL, &f->diag), STATUS_OK);

    const char *many[100];
    for (size_t i = 0; i < 100; i++)
        many[i] = "something_long";
    assert_int_equal(yaml_check_keys(f->tree->root, many, 100, NULL, &f->diag), STATUS_INPUT);
    const char *hint = diag_get(&f->diag, 0)->hint;
    assert_true(strlen(hint) < 240);
    assert_string_equal(hint + strlen(hint) - 5, ", ...");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, yaml_set_up, yaml_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_maps_lists_scalars),
        TEST(takes_bom_crlf_and_open_end),
        TEST(reports_all_mistakes_of_a_file),
        TEST(refuses_other_documents),
        TEST(explains_errors_of_syntax),
        TEST(places_errors_of_encoding),
        TEST(keeps_limits),
        TEST(defuses_an_alias_bomb),
        TEST(loads_files),
        TEST(checks_keys),
    };
    return cmocka_run_group_tests_name("yaml_tree", tests, NULL, NULL);
}
