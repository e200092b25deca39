/* test_eta.c: how long a sweep still takes. See sim/study/eta.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/study/eta.h"
#include "tests/unit/help_core.h"

/* What is foretold after 100 s, asked every second, of all = 1000 points, c t^a of them done. */
static double after_100s(struct eta *eta, double c, double a, bool *ret_slower)
{
    double left_s = (double)NAN;
    for (int t = 1; t <= 100; t++)
        left_s = eta_left_s(eta, t, c * pow(t, a), 1000, ret_slower);
    return left_s;
}

/* 5 points a second: 1000 take 200 s. As the root of time, 50 t^0.5: 500 after 100 s, 1000 after
 * 400. Faster and faster, 0.05 t^2: 500 after 100 s, as many again in sqrt(2) of that; but what is
 * promised is the mean rate, 100 s more. */
static void by_the_course_until_now(void **state)
{
    (void)state;
    bool slower;
    struct eta steady = {0}, root = {0}, square = {0};
    assert_near(after_100s(&steady, 5, 1, &slower), 100, 1e-9);
    assert_false(slower);
    assert_near(after_100s(&root, 50, 0.5, &slower), 300, 1e-9);
    assert_true(slower);
    assert_near(after_100s(&square, 0.05, 2, &slower), 100, 1e-9);
    assert_false(slower);
}

/* Nodes that double: points take 1, 2, 4, ... s; after 31 s 5 of 10, and 992 s to go. By the mean
 * rate that is 31 s. Marks are at 1, 2, 4 ... s; 4 s is the last before 31/4, when 2 points were
 * done: a = ln(5/2) / ln(31/4) = 0.9163/2.0477 = 0.44748, 31 (2^(1/a) - 1) = 31 x 3.7069 = 114.91.
 */
static void nodes_that_double(void **state)
{
    (void)state;
    bool slower;
    double left_s = 0;
    struct eta eta = {0}, random = {.at_random = true};
    for (int t = 1; t <= 31; t++)
        left_s = eta_left_s(&eta, t, floor(log2(t + 1)), 10, &slower);
    assert_near(left_s, 114.91, 1e-3);
    assert_true(slower);
    for (int t = 1; t <= 31; t++)
        left_s = eta_left_s(&random, t, floor(log2(t + 1)), 10, &slower);
    assert_near(left_s, 31, 1e-12);
    assert_false(slower);
}

/* Nothing done: nothing known. Stuck since then: a = 0.2, 2^5 - 1 = 31 times what it took. */
static void at_the_ends(void **state)
{
    (void)state;
    bool slower;
    struct eta eta = {0};
    assert_true(isnan(eta_left_s(&eta, 0, 0, 10, &slower)));
    assert_true(isnan(eta_left_s(&eta, 1, 0, 10, &slower)));
    assert_near(eta_left_s(&eta, 2, 5, 10, &slower), 2, 1e-12);
    assert_near(eta_left_s(&eta, 100, 5, 10, &slower), 3100, 1e-12);
    assert_near(eta_left_s(&eta, 101, 10, 10, &slower), 0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_course_until_now),
        cmocka_unit_test(nodes_that_double),
        cmocka_unit_test(at_the_ends),
    };
    return cmocka_run_group_tests_name("eta", tests, NULL, NULL);
}
