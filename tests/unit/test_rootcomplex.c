/* test_rootcomplex.c: the table of root complexes, and what it says of relaxed ordering. */
#include "models/rootcomplex.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* Relative difference, with the values in the log of a failure. */
static void near(double actual, double expected, double tolerance)
{
    if (!(fabs(actual - expected) <= tolerance * fabs(expected)))
        fail_msg("%.9g, expected %.9g within %g %%", actual, expected, 100 * tolerance);
}

static void known_by_name(void **state)
{
    (void)state;
    const struct rootcomplex *emr = rootcomplex_find("emerald-rapids");
    assert_string_equal(emr->name, "emerald-rapids");
    near(emr->p2p_write_Bps, 20e9, 1e-12);
    near(emr->inter_socket_Bps, 40e9, 1e-12);
    assert_true(isnan(emr->p2p_read_Bps));
    /* openucx/ucx issue 10955: more than 40 GB/s with relaxed ordering, about 16 without. */
    near(40e9 * emr->strict_order.low, 16e9, 0.20);
    assert_true(emr->strict_order.low == emr->strict_order.high);
    /* openucx/ucx issue 8062: 25 GB/s with, 18.75 without. */
    const struct rootcomplex *epyc = rootcomplex_find("epyc");
    near(25e9 * epyc->strict_order.low, 18.75e9, 0.10);
    assert_true(epyc->strict_order.low == epyc->strict_order.high);
    near(rootcomplex_find("turin")->inter_socket_Bps, 32e9, 1e-12);
    near(rootcomplex_find("skylake")->inter_socket_Bps, 10e9, 1e-12);
    assert_true(rootcomplex_find("intel-client")->p2p_read_Bps == 0); /* refused, not unknown */
}

static void unknown_is_an_interval(void **state)
{
    (void)state;
    static const char *const names[] = {"unknown", "no-such-cpu", "", "Emerald-Rapids", NULL};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const struct rootcomplex *row = rootcomplex_find(names[i]);
        assert_string_equal(row->name, "unknown");
        near(row->strict_order.low, 0.4, 1e-12);
        near(row->strict_order.high, 1.0, 1e-12);
        assert_true(isnan(row->p2p_write_Bps) && isnan(row->p2p_read_Bps));
        assert_true(isnan(row->p2p_cross_Bps) && isnan(row->inter_socket_Bps));
    }
}

static void known_by_family_and_model(void **state)
{
    (void)state;
    /* The machine that we measured on says family 6 model 207. */
    assert_string_equal(rootcomplex_of_cpu(6, 207)->name, "emerald-rapids");
    assert_string_equal(rootcomplex_of_cpu(26, 2)->name, "turin");
    assert_string_equal(rootcomplex_of_cpu(6, 1)->name, "unknown");
    assert_string_equal(rootcomplex_of_cpu(0, 0)->name, "unknown");
    assert_string_equal(rootcomplex_of_cpu(6, 0)->name, "unknown");
}

static void every_row_is_sound(void **state)
{
    (void)state;
    assert_true(rootcomplex_count > 10);
    for (size_t i = 0; i < rootcomplex_count; i++) {
        const struct rootcomplex *row = &rootcomplex_table[i];
        assert_ptr_equal(rootcomplex_find(row->name), row); /* names differ */
        if (row->model > 0)
            assert_ptr_equal(rootcomplex_of_cpu(row->family, row->model), row);
        assert_true(row->source && strlen(row->source) > 10);
        assert_true(row->strict_order.low >= 0.4 && row->strict_order.high <= 1.0);
        assert_true(row->strict_order.low <= row->strict_order.high);
        const double rates[] = {row->p2p_write_Bps, row->p2p_read_Bps, row->p2p_cross_Bps,
                                row->inter_socket_Bps};
        for (size_t j = 0; j < 4; j++) /* below Gen5 x16 raw, which all of them had at most */
            assert_true(isnan(rates[j]) || (rates[j] >= 0 && rates[j] < 63.1e9));
        if (!isnan(row->p2p_cross_Bps))
            assert_true(row->p2p_cross_Bps < row->p2p_write_Bps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_by_name),
        cmocka_unit_test(unknown_is_an_interval),
        cmocka_unit_test(known_by_family_and_model),
        cmocka_unit_test(every_row_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
