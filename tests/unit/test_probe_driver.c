/* test_probe_driver.c: what drivers are asked, against pretended libraries (tests/probe/fake_*.c):
 * the answers, and what is left of them when a call hangs or dies. */
#include "probe/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "probe/host.h"

/* The libraries lie beside the folder of this test. */
static int set_up(void **state)
{
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 16);
    assert_true(length > 0);
    path[length] = '\0';
    for (int up = 0; up < 2; up++)
        *strrchr(path, '/') = '\0';
    strcat(path, "/fake");
    setenv("GDPROBE_LIB_DIR", path, 1);
    setenv("GDPROBE_FAKE_GPUS", "2", 1);
    *state = malloc(sizeof(struct driver));
    return *state == NULL;
}

static int tear_down(void **state)
{
    unsetenv("GDPROBE_FAKE_FAIL");
    driver_free(*state);
    free(*state);
    return 0;
}

static const struct driver *ask(void **state, const char *fault)
{
    struct sys sys;
    if (fault)
        setenv("GDPROBE_FAKE_FAIL", fault, 1);
    assert_true(sys_open(&sys, NULL, NULL));
    driver_read(&sys, 0.5, *state);
    return *state;
}

static void answers(void **state)
{
    const struct driver *driver = ask(state, NULL);
    assert_string_equal(driver->version, "999.1");
    assert_int_equal(driver->gpu_count, 2);
    assert_string_equal(driver->gpus[0].busid, "0000:10:00.0");
    assert_string_equal(driver->gpus[1].busid, "0000:20:00.0");
    assert_string_equal(driver->gpus[1].name, "Fake GPU");
    assert_int_equal(driver->gpus[1].sm, 90);
    assert_true(driver->gpus[1].bar1_B == 274877906944.0);
    assert_int_equal(driver->gpus[0].link_count, 1); /* 18 links, all to switches */
    assert_int_equal(driver->gpus[0].links[0].count, 18);
    assert_string_equal(driver->gpus[0].links[0].to, "nvswitch");
    assert_true(driver->nvlinks_known);
    assert_string_equal(driver->p2p[0][1], "chipset not supported"); /* the worse of both ways */
    assert_int_equal(driver->gpus[0].dmabuf, NO);                    /* CUDA, matched by bus id */
    assert_int_equal(driver->peer[0][1], YES);
}

static void a_hang_keeps_what_came_before(void **state)
{
    const struct driver *driver = ask(state, "hang:nvmlDeviceGetP2PStatus");
    assert_int_equal(driver->gpu_count, 2);
    assert_true(driver->nvlinks_known);
    assert_string_equal(driver->p2p[0][1], "");
    assert_string_equal(driver_why(driver, "p2p"), "NVML did not answer within 0.5 s");
    assert_int_equal(driver->gpus[0].dmabuf, NO); /* the next library is asked all the same */
}

static void a_crash_is_a_reason(void **state)
{
    const struct driver *driver = ask(state, "kill:cuInit");
    assert_int_equal(driver->gpu_count, 2);
    assert_int_equal(driver->gpus[0].dmabuf, UNKNOWN);
    assert_string_equal(driver_why(driver, "cuda"), "CUDA was killed by signal 9 (Killed)");
}

/* NVML says nothing at all: CUDA names the GPUs. */
static void an_error_is_a_reason(void **state)
{
    const struct driver *driver = ask(state, "error:nvmlInit_v2");
    assert_int_equal(driver->gpu_count, 2);
    assert_string_equal(driver->gpus[1].busid, "0000:20:00.0");
    assert_false(driver->nvlinks_known);
    assert_string_equal(driver_why(driver, "nvlink"), "nvmlInit: Unknown Error");
}

static void no_library(void **state)
{
    setenv("GDPROBE_LIB_DIR", "out/none-such", 1);
    const struct driver *driver = ask(state, NULL);
    assert_int_equal(driver->gpu_count, 0);
    assert_non_null(strstr(driver_why(driver, "nvml"), "libnvidia-ml.so.1"));
    assert_non_null(strstr(driver_why(driver, "verbs"), "libibverbs.so.1"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hang_keeps_what_came_before, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_crash_is_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_error_is_a_reason, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_library, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
