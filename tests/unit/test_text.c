/* test_text.c: growth, the sticky failure, and UTF-8. */
#include "sim/report/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void grows_and_stays_terminated(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, "", 0);
    assert_string_equal(text.data, "");
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%04d,", i);
    assert_int_equal(text.length, 5000);
    assert_int_equal(strlen(text.data), 5000);
    assert_memory_equal(text.data + 4995, "0999,", 5);
    text_truncate(&text, 5);
    text_truncate(&text, 100); /* cannot grow */
    text_fill(&text, '-', 3);
    text_append(&text, "a\0b", 3);
    assert_int_equal(text.length, 11);
    assert_memory_equal(text.data, "0000,---a\0b", 12);
    text_free(&text);
    text_free(&text);
    assert_null(text.data);
}

static void failure_sticks(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, "kept", 4);
    text_append(&text, "x", SIZE_MAX - 1); /* cannot be had, so "x" is never read */
    assert_true(text.failed);
    text_append(&text, "more", 4);
    text_append_utf8(&text, "more");
    text_printf(&text, "%d", 1);
    text_fill(&text, 'x', 3);
    assert_false(text_reserve(&text, 0));
    assert_int_equal(text.length, 4);
    assert_string_equal(text.data, "kept");
    text_free(&text);
    assert_false(text.failed);
}

static void broken_utf8_is_replaced(void **state)
{
    (void)state;
#define MARK "\xef\xbf\xbd"
    /* A Latin-1 byte, a cut-off character, overlong forms, a surrogate, past U+10FFFF. */
    static const char *const cases[][2] = {
        {"\xfc", MARK},
        {"a\xe4\xb8", "a" MARK MARK},
        {"\xe4z", MARK "z"},
        {"\xc0\xaf", MARK MARK},
        {"\xe0\x80\xaf", MARK MARK MARK},
        {"\xed\xa0\x80", MARK MARK MARK},
        {"\xf4\x90\x80\x80", MARK MARK MARK MARK},
        {"\xc2\x80 \xe0\xa0\x80 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf",
         "\xc2\x80 \xe0\xa0\x80 \xf0\x9f\x98\x80 \xf4\x8f\xbf\xbf"}, /* sound */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct text text = {0};
        text_append_utf8(&text, cases[i][0]);
        assert_string_equal(text.data, cases[i][1]);
        text_free(&text);
    }
    uint32_t code;
    assert_int_equal(text_decode("\xf0\x9f\x98\x80", &code), 4);
    assert_int_equal(code, 0x1f600);
}

static void width_counts_columns(void **state)
{
    (void)state;
    assert_int_equal(text_width(""), 0);
    assert_int_equal(text_width("\xc2\xb5s"), 2);                /* micro sign */
    assert_int_equal(text_width("e\xcc\x81"), 1);                /* combining accent */
    assert_int_equal(text_width("\xe4\xb8\xad\xef\xbc\xa1"), 4); /* wide */
    assert_int_equal(text_width("\xff"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grows_and_stays_terminated),
        cmocka_unit_test(failure_sticks),
        cmocka_unit_test(broken_utf8_is_replaced),
        cmocka_unit_test(width_counts_columns),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
