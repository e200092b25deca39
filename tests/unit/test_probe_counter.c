/* test_probe_counter.c: sums of 32-bit counters, and observations as text. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/counter.h"
#include "probe/observe.h"
#include "probe/size.h"

/* 63 GB/s carry 2^32 B in 4.295e9 / 63e9 = 68.2 ms. */
static const double GEN5_X16 = 63e9;

static void wraps_are_counted(void **state)
{
    (void)state;
    struct counter counter = {0};
    counter_read(&counter, 4000000000u, 0, GEN5_X16);
    assert_int_equal(counter.total, 0);
    counter_read(&counter, 1000000000u, 0.06, GEN5_X16); /* 1e9 + 2^32 - 4e9 = 1294967296 */
    assert_int_equal(counter.total, 1294967296);
    counter_read(&counter, 1000000000u, 0.12, GEN5_X16);
    counter_read(&counter, 3000000000u, 0.18, GEN5_X16); /* + 2e9 */
    assert_int_equal(counter.total, 3294967296);
    assert_int_equal(counter.wraps, 1);
    assert_int_equal(counter.doubts, 0);
}

static void a_long_gap_is_a_doubt(void **state)
{
    (void)state;
    struct counter counter = {0};
    counter_read(&counter, 0, 0, GEN5_X16);
    counter_read(&counter, 100, 0.068, GEN5_X16); /* 4.284e9 B at most: no wrap hides there */
    assert_int_equal(counter.doubts, 0);
    counter_read(&counter, 200, 0.068 + 0.069, GEN5_X16); /* 4.347e9 B: one may */
    assert_int_equal(counter.doubts, 1);
    assert_int_equal(counter.total, 200); /* at least */
    assert_int_equal(counter.hidden, 1);
    /* 4.347e9 B at most, and 3e9 of them were seen: no room for 2^32 more */
    counter_read(&counter, 3000000200u, 0.068 + 2 * 0.069, GEN5_X16);
    assert_int_equal(counter.doubts, 1);
    counter_read(&counter, 3000000200u, 1.206, GEN5_X16); /* 63e9 B at most: 14 wraps */
    assert_int_equal(counter.doubts, 2);
    assert_int_equal(counter.hidden, 15);
}

static void a_wide_counter_never_wraps(void **state)
{
    (void)state;
    struct counter counter = {0};
    counter_read(&counter, UINT64_C(5000000000), 0, GEN5_X16);
    counter_read(&counter, UINT64_C(905000000000), 60, GEN5_X16);
    assert_int_equal(counter.total, UINT64_C(900000000000));
    assert_int_equal(counter.doubts, 0);
    counter_read(&counter, 7, 61, GEN5_X16); /* reset */
    assert_int_equal(counter.total, UINT64_C(900000000007));
    assert_int_equal(counter.wraps, 0);
}

static void samples_are_summarized(void **state)
{
    (void)state;
    double odd[] = {5, 1, 3, 2, 4}, even[] = {4, 1, 3, 2};
    double many[11];
    struct observation row = observation("a", "b", "time", "s");
    observation_summarize(&row, odd, 5);
    assert_true(row.value == 3 && row.min == 1 && row.samples == 5);
    observation_summarize(&row, even, 4);
    assert_true(row.value == 2.5); /* between 2 and 3 */
    for (int i = 0; i < 11; i++)
        many[i] = 10 - i;
    observation_summarize(&row, many, 11);
    assert_true(row.p90 == 9); /* of 0, 1, ... 10 */
    observation_summarize(&row, many, 0);
    assert_int_equal(row.quality, QUALITY_MISSING);
}

static void rows_are_csv(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *to = open_memstream(&text, &length);
    struct observe_file file;
    struct why why = {""};
    assert_non_null(to);
    assert_true(observe_open(&file, NULL, to, &why));
    observe_head(&file, "command", "a\nb");
    struct observation row = observation("watch", "run", "pcie_tx", "B");
    row.value = 12345678901234; /* all digits of it */
    row.quality = QUALITY_WRAPPED;
    snprintf(row.note, sizeof row.note, "a \"quoted\", word");
    observe_row(&file, &row);
    assert_true(observe_close(&file, NULL, &why));
    fclose(to);
    assert_string_equal(
        text, "# gdprobe_observations: 1\n# command: a b\n"
              "experiment,place,size_B,chunk_B,device,quantity,unit,value,min,p90,samples,"
              "payload_B,seconds,baseline,quality,note\n"
              "watch,run,,,,pcie_tx,B,12345678901234,,,,,,,wrapped,\"a \"\"quoted\"\", word\"\n"
              "# complete: yes\n");
    free(text);
}

static void sizes_are_read(void **state)
{
    (void)state;
    double sizes[3] = {0};
    size_t count = 0;
    char text[24];
    assert_true(size_list("4096,64KiB,1.5 GB", sizes, 3, &count));
    assert_int_equal(count, 3);
    assert_true(sizes[0] == 4096 && sizes[1] == 65536 && sizes[2] == 1.5e9);
    assert_false(size_list("1,2,3,4", sizes, 3, &count));
    assert_false(size_list("1,", sizes, 3, &count));
    assert_false(size_list("-1", sizes, 3, &count));
    assert_false(size_list("1KiBs", sizes, 3, &count));
    assert_false(size_list("inf", sizes, 3, &count));
    assert_string_equal(size_text(1536, text, sizeof text), "1.5 KiB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wraps_are_counted),
        cmocka_unit_test(a_long_gap_is_a_doubt),
        cmocka_unit_test(a_wide_counter_never_wraps),
        cmocka_unit_test(samples_are_summarized),
        cmocka_unit_test(rows_are_csv),
        cmocka_unit_test(sizes_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
