/* Work that hangs or dies keeps what it handed back before. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/child.h"
#include "probe/lib_nvml.h"

struct seen {
    int numbers[8];
    size_t count;
};

static void take(void *context, const void *record)
{
    struct seen *seen = context;
    assert_true(seen->count < 8);
    seen->numbers[seen->count++] = *(const int *)record;
}

enum behaviour { ENDS, FAILS, HANGS, CRASHES, CLOSES_AND_HANGS };

static bool work(const struct child *child, void *input)
{
    for (int i = 1; i <= 3; i++)
        child_send(child, &i);
    switch (*(const enum behaviour *)input) {
    case ENDS:
        return true;
    case FAILS:
        return false;
    case HANGS:
        for (;;)
            pause();
    case CRASHES:
        raise(SIGKILL); /* not SIGSEGV: a sanitizer would catch that */
        return true;
    case CLOSES_AND_HANGS:
        close(child->pipe);
        for (;;)
            pause();
    }
    return true;
}

static void check(enum behaviour behaviour, double timeout_s, bool expected,
                  const char *expected_why)
{
    struct seen seen = {.count = 0};
    struct why why = {""};
    bool good = child_run(work, &behaviour, timeout_s, sizeof(int), take, &seen, &why);
    assert_int_equal(good, expected);
    assert_string_equal(why.text, expected_why);
    assert_int_equal(seen.count, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(seen.numbers[i], i + 1);
}

static void every_end_keeps_the_records(void **state)
{
    (void)state;
    check(ENDS, 60, true, "");
    check(FAILS, 60, false, "failed");
    check(HANGS, 0.5, false, "did not answer within 0.5 s");
    check(CRASHES, 60, false, "was killed by signal 9 (Killed)");
    check(CLOSES_AND_HANGS, 0.5, false, "did not end within 0.5 s");
}

static void a_library_that_is_not_there_is_unknown(void **state)
{
    (void)state;
    struct nvml nvml;
    struct why why = {""};
    assert_int_equal(setenv("GDPROBE_LIB_DIR", "/nonexistent", 1), 0);
    assert_false(nvml_open(&nvml, &why));
    assert_non_null(strstr(why.text, "/nonexistent/libnvidia-ml.so.1"));
    nvml_close(&nvml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_keeps_the_records),
        cmocka_unit_test(a_library_that_is_not_there_is_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
