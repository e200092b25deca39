/* test_diag.c: the mistakes of an input, as a user reads them. */
#include "sim/load/diag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core/suggest.h"

static void expect_text(const struct diag_list *list, const char *expected)
{
    char *text = NULL;
    assert_int_equal(diag_render(list, &text), STATUS_OK);
    assert_string_equal(text, expected);
    free(text);
}

/* One mistake at line:column of a text, and all that is printed for it. */
static void expect_one(const char *source, uint32_t line, uint32_t column, const char *expected)
{
    struct diag_list list;
    diag_init(&list);
    const char *file = diag_add_source(&list, "a.yaml", source, strlen(source));
    assert_int_equal(diag_add(&list, (struct mark){file, line, column}, NULL, "bad"), STATUS_INPUT);
    expect_text(&list, expected);
    diag_free(&list);
}

static void quotes_line_and_hint(void **state)
{
    (void)state;
    static const char source[] = "a: 1\nndoes: 8\n";
    struct diag_list list;
    diag_init(&list);
    expect_text(&list, "");
    const char *file = diag_add_source(&list, "scenarios/x.yaml", source, strlen(source));
    assert_ptr_equal(diag_intern(&list, "scenarios/x.yaml"), file);
    diag_add(&list, (struct mark){file, 2, 1}, "did you mean \"nodes\"?", "unknown key \"%s\"",
             "ndoes");
    struct error error = {.message = "wrong", .hint = ""};
    diag_add_error(&list, (struct mark){"other.yaml", 3, 4}, &error);
    diag_add(&list, (struct mark){"gone.yaml", 0, 0}, "look", "no such file");
    diag_add(&list, (struct mark){NULL, 0, 0}, NULL, "nowhere");
    expect_text(&list, "scenarios/x.yaml:2:1: error: unknown key \"ndoes\"\n"
                       "     2 | ndoes: 8\n"
                       "       | ^\n"
                       "  hint: did you mean \"nodes\"?\n"
                       "other.yaml:3:4: error: wrong\n"
                       "gone.yaml: error: no such file\n"
                       "  hint: look\n"
                       "error: nowhere\n");
    assert_int_equal(diag_count(&list), 4);
    assert_string_equal(diag_get(&list, 1)->message, "wrong");
    assert_string_equal(diag_get(&list, 1)->mark.file, "other.yaml");
    assert_null(diag_get(&list, 4));
    diag_free(&list);
    diag_free(&list);
    diag_free(NULL);
}

static void puts_the_caret_under_the_column(void **state)
{
    (void)state;
    expect_one("key: x", 1, 6, "a.yaml:1:6: error: bad\n     1 | key: x\n       |      ^\n");
    /* Characters, not bytes. */
    expect_one("k\xC3\xA9\xE2\x82\xACy: x", 1, 7,
               "a.yaml:1:7: error: bad\n     1 | k\xC3\xA9\xE2\x82\xACy: x\n"
               "       |       ^\n");
    /* A tab stays one, so that the terminal moves both lines alike. */
    expect_one("a\t\tb", 1, 4, "a.yaml:1:4: error: bad\n     1 | a\t\tb\n       |  \t\t^\n");
    /* Past the end of the line, and at the empty line after the last. */
    expect_one("ab\n", 1, 99, "a.yaml:1:99: error: bad\n     1 | ab\n       |   ^\n");
    expect_one("ab\n", 2, 1, "a.yaml:2:1: error: bad\n     2 |\n       | ^\n");
    expect_one("ab\n", 3, 1, "a.yaml:3:1: error: bad\n");
    /* CR LF, a lone CR and Unicode's line ends. */
    expect_one("a\r\nb\r\n", 2, 1, "a.yaml:2:1: error: bad\n     2 | b\n       | ^\n");
    expect_one("a\rb", 2, 1, "a.yaml:2:1: error: bad\n     2 | b\n       | ^\n");
    expect_one("a\xC2\x85"
               "b\xE2\x80\xA8"
               "c",
               3, 1, "a.yaml:3:1: error: bad\n     3 | c\n       | ^\n");
}

static void hides_what_a_terminal_would_obey(void **state)
{
    (void)state;
    expect_one("a\x1B[31m\x7F\xC2\x9B"
               "b",
               1, 9, "a.yaml:1:9: error: bad\n     1 | a?[31m??b\n       |         ^\n");
    expect_one("a\xFF\xC0\x9B\xED\xA0\x80"
               "b",
               1, 8, "a.yaml:1:8: error: bad\n     1 | a??????b\n       |        ^\n");
    expect_one("a\xE2\x80\xAE"
               "b\xE2\x82",
               1, 3, "a.yaml:1:3: error: bad\n     1 | a?b??\n       |   ^\n");
    struct diag_list list;
    diag_init(&list);
    diag_add(&list, (struct mark){"x\ny", 0, 0}, "h\th", "key \"%s\"", "\x1B]0;t\x07");
    expect_text(&list, "x?y: error: key \"?]0;t?\"\n  hint: h?h\n");
    diag_free(&list);
}

static void shows_long_lines_around_the_caret(void **state)
{
    (void)state;
    char source[301], expected[600], middle[97], blanks[69];
    for (int i = 0; i < 300; i++)
        source[i] = (char)('a' + i % 26);
    source[300] = '\0';
    snprintf(middle, sizeof middle, "%.96s", source);
    snprintf(expected, sizeof expected, "a.yaml:1:3: error: bad\n     1 | %s...\n       |   ^\n",
             middle);
    expect_one(source, 1, 3, expected);
    /* Column 200 is character 199; the window starts 64 before it. */
    snprintf(middle, sizeof middle, "%.96s", source + 199 - 64);
    memset(blanks, ' ', 68);
    blanks[68] = '\0';
    snprintf(expected, sizeof expected,
             "a.yaml:1:200: error: bad\n     1 | ...%s...\n       |%s^\n", middle, blanks);
    expect_one(source, 1, 200, expected);
    snprintf(expected, sizeof expected, "a.yaml:1:301: error: bad\n     1 | ...%s\n       |%s^\n",
             source + 300 - 64, blanks);
    expect_one(source, 1, 301, expected);
}

static void counts_beyond_the_limit(void **state)
{
    (void)state;
    struct diag_list list;
    diag_init(&list);
    for (uint32_t i = 0; i < DIAG_MAX + 7; i++)
        assert_int_equal(diag_add(&list, (struct mark){"f", 1, 1 + i}, NULL, "e"), STATUS_INPUT);
    assert_int_equal(diag_count(&list), DIAG_MAX + 7);
    /* The same said again of the same place is no further mistake; */
    assert_int_equal(diag_add(&list, (struct mark){"f", 1, 2}, NULL, "e"), STATUS_INPUT);
    assert_int_equal(diag_count(&list), DIAG_MAX + 7);
    assert_null(diag_get(&list, DIAG_MAX));
    char *text;
    assert_int_equal(diag_render(&list, &text), STATUS_OK);
    assert_string_equal(strstr(text, "and"), "and 7 more\n");
    free(text);
    diag_free(&list);
}

static void cuts_long_messages(void **state)
{
    (void)state;
    char word[2000], expected[600];
    for (size_t i = 0; i + 2 < sizeof word; i += 2)
        memcpy(word + i, "\xC3\xA9", 2);
    word[sizeof word - 2] = '\0';
    struct diag_list list;
    diag_init(&list);
    diag_add(&list, (struct mark){NULL, 0, 0}, NULL, "%s", word);
    snprintf(expected, sizeof expected, "error: %.508s...\n", word);
    expect_text(&list, expected);
    diag_free(&list);
}

static void replaces_a_source(void **state)
{
    (void)state;
    struct diag_list list;
    diag_init(&list);
    const char *first = diag_add_source(&list, "a", "old", 3);
    const char *second = diag_add_source(&list, "a", "new", 3);
    assert_ptr_equal(first, second);
    diag_add(&list, (struct mark){first, 1, 1}, NULL, "bad");
    expect_text(&list, "a:1:1: error: bad\n     1 | new\n       | ^\n");
    diag_free(&list);
}

static void suggests_the_nearest(void **state)
{
    (void)state;
    static const char *const words[] = {"nodes", "gpus", "bandwidth", NULL, "latency", "nic"};
    static const char *const cases[][2] = {{"ndoes", "nodes"},
                                           {"node", "nodes"},
                                           {"Nodes", "nodes"},
                                           {"gpu", "gpus"},
                                           {"bandwith", "bandwidth"},
                                           {"bandwidht", "bandwidth"},
                                           {"lattency", "latency"},
                                           {"nci", "nic"},
                                           {"xyzzy", NULL},
                                           {"", NULL},
                                           {"q", NULL},
                                           {"bndwdh", "bandwidth"},
                                           {"completely_other", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = suggest_word(cases[i][0], words, sizeof words / sizeof *words);
        if (cases[i][1])
            assert_string_equal(found, cases[i][1]);
        else
            assert_null(found);
    }
    char huge[5000];
    memset(huge, 'n', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(suggest_word(huge, words, 6));
    assert_null(suggest_word("nodes", words, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_line_and_hint),
        cmocka_unit_test(puts_the_caret_under_the_column),
        cmocka_unit_test(hides_what_a_terminal_would_obey),
        cmocka_unit_test(shows_long_lines_around_the_caret),
        cmocka_unit_test(counts_beyond_the_limit),
        cmocka_unit_test(cuts_long_messages),
        cmocka_unit_test(replaces_a_source),
        cmocka_unit_test(suggests_the_nearest),
    };
    return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
