/* test_number.c: numbers as text: the quick way writes what printf does. */
#include "sim/report/number.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void compare(double value)
{
    char quick[NUMBER_TEXT_MAX], slow[NUMBER_TEXT_MAX];
    size_t length;
    int digits = number_print(value, quick, &length);
    assert_int_equal(digits, number_print_slowly(value, slow, NULL));
    assert_string_equal(quick, slow);
    assert_int_equal(length, strlen(quick));
    assert_true(strtod(quick, NULL) == value);
}

static uint64_t next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

static void looks_as_people_write(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0, "0"},
        {3, "3"},
        {-3, "-3"},
        {0.1, "0.1"},
        {0.001, "0.001"},
        {1.0 / 3, "0.3333333333333333"},      /* 16 digits read back */
        {2.0 / 3 * 100, "66.66666666666666"}, /* likewise */
        {0.1 + 0.2, "0.30000000000000004"},   /* one step above 0.3: needs 17 */
        {1048576, "1048576"},
        {376.0832, "376.0832"},
        {99999999999999.9, "99999999999999.9"},
        {999999999999999.9, "999999999999999.9"}, /* 15 digits would round up to 1e+15 */
        {1e15, "1e+15"},
        {12345678901234567.0, "12345678901234568"},
        {0.00012, "0.00012"},
        {0.000012, "1.2e-05"},
        {-0.5, "-0.5"},
        {HUGE_VAL, "inf"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[NUMBER_TEXT_MAX];
        number_print(rows[i].value, text, NULL);
        assert_string_equal(text, rows[i].text);
        if (isfinite(rows[i].value))
            compare(rows[i].value);
    }
    char text[NUMBER_TEXT_MAX];
    assert_int_equal(number_print_int(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
    number_print_int(0, text);
    assert_string_equal(text, "0");
    number_print_int(1000, text);
    assert_string_equal(text, "1000");
}

/* Random bits over all doubles; random picoseconds in microseconds, which is what most columns are;
 * quotients; and powers of two, below which doubles lie closer. */
static void equals_printf(void **state)
{
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 40000; i++) {
        uint64_t bits = next(&seed);
        double any;
        memcpy(&any, &bits, sizeof any);
        if (isfinite(any))
            compare(any);
        double ps = (double)(next(&seed) >> (11 + i % 50));
        compare(ps / 1e6);
        double divisor = (double)(next(&seed) >> (11 + i % 53));
        if (divisor > 0)
            compare(ps / divisor);
    }
    for (int exponent = -60; exponent < 60; exponent++) {
        compare(ldexp(1, exponent));
        compare(nextafter(ldexp(1, exponent), 0));
        compare(nextafter(ldexp(1, exponent), HUGE_VAL));
    }
    for (double ten = 1e-8; ten < 1e20; ten *= 10) {
        compare(ten);
        compare(nextafter(ten, 0));
        compare(nextafter(ten, HUGE_VAL));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_as_people_write),
        cmocka_unit_test(equals_printf),
    };
    return cmocka_run_group_tests_name("number", tests, NULL, NULL);
}
