/* test_nccl_tests.c: tables of nccl-tests, as printed and spoilt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "sim/load/file.h"
#include "sim/load/nccl_tests.h"
#include "tests/unit/help_core.h"

static enum status read(const char *text, struct nccl_tests *ret)
{
    struct diag_list diag;
    diag_init(&diag);
    enum status status = nccl_tests_read("a.log", text, ret, &diag);
    assert_int_equal(diag_count(&diag) > 0, status != STATUS_OK);
    diag_free(&diag);
    return status;
}

static void a_whole_log(void **state)
{
    (void)state;
    struct nccl_tests tests;
    struct error error;
    char *text;
    size_t length;
    assert_ok(file_read("tests/data/h200x2/allreduce-nvlink.log", 1 << 20, &text, &length, &error),
              &error);
    assert_int_equal(read(text, &tests), STATUS_OK);
    free(text);
    assert_int_equal(tests.count, 28); /* 8 B to 1 GiB, doubling */
    const struct nccl_tests_row *row = nccl_tests_find(&tests, 1048576);
    assert_non_null(row);
    assert_near(row->time_us, 32.26, 0); /* out of place */
    assert_null(nccl_tests_find(&tests, 1048577));
}

static void other_lines_are_passed_over(void **state)
{
    (void)state;
    struct nccl_tests tests;
    assert_int_equal(read("# size count type\nvm:1:2 [0] NCCL INFO 8 2 float sum -1 1.0 2.0 3.0\n"
                          " 8 2 float none -1 1.50 0.01 0.02 N/A\n16 4 float sum\n"
                          "32 8 float sum 0 nan 0 0\n0 0 float sum -1 9.0 0.00 0.00\n",
                          &tests),
                     STATUS_OK);
    assert_int_equal(tests.count, 1);
    assert_int_equal(tests.rows[0].size_B, 8);
    assert_near(tests.rows[0].busbw_GBps, 0.02, 0);
    assert_int_equal(read("", &tests), STATUS_INPUT);
    assert_int_equal(read("no table\n", &tests), STATUS_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_whole_log),
        cmocka_unit_test(other_lines_are_passed_over),
    };
    return cmocka_run_group_tests_name("nccl_tests", tests, NULL, NULL);
}
