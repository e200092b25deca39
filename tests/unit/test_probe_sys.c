/* test_probe_sys.c: nothing outside of a sysroot is read, and what is not there has a reason. */
#include "probe/sys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* A tree of its own, and beside it a file that must never be seen. */
struct fixture {
    char top[64], root[80];
    struct sys sys;
};

static void put(const char *base, const char *path, const char *text)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", base, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void join(const char *base, const char *path, const char *target)
{
    char full[256];
    snprintf(full, sizeof full, "%s/%s", base, path);
    assert_int_equal(target ? symlink(target, full) : mkdir(full, 0700), 0);
}

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    strcpy(fixture->top, "out/test-probe-XXXXXX");
    assert_non_null(mkdtemp(fixture->top));
    snprintf(fixture->root, sizeof fixture->root, "%s/root", fixture->top);
    assert_int_equal(mkdir(fixture->root, 0700), 0);
    put(fixture->top, "secret", "outside\n");
    join(fixture->root, "sys", NULL);
    join(fixture->root, "sys/b", NULL);
    put(fixture->root, "secret", "inside\n");
    put(fixture->root, "sys/number", " 0x1f \n");
    put(fixture->root, "sys/words", "  one two  \nthree\n");
    join(fixture->root, "sys/a", "b/../b");
    join(fixture->root, "sys/up", "../../../secret");
    join(fixture->root, "sys/absolute", "/secret");
    join(fixture->root, "sys/loop", "loop");
    assert_true(sys_open(&fixture->sys, fixture->root, NULL));
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    static const char *const paths[] = {
        "root/sys/number",   "root/sys/words", "root/sys/a", "root/sys/up",
        "root/sys/absolute", "root/sys/loop",  "root/sys/b", "root/sys",
        "root/secret",       "root",           "secret"};
    struct fixture *fixture = *state;
    char full[256];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        snprintf(full, sizeof full, "%s/%s", fixture->top, paths[i]);
        assert_int_equal(remove(full), 0);
    }
    assert_int_equal(rmdir(fixture->top), 0);
    free(fixture);
    return 0;
}

static void never_leaves_the_sysroot(void **state)
{
    struct fixture *fixture = *state;
    static const char *const paths[] = {"/sys/up", "/sys/absolute", "/../../secret",
                                        "/sys/a/../../../secret"};
    char line[64], real[SYS_PATH];
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct why why = {""};
        assert_true(sys_line(&fixture->sys, paths[i], line, sizeof line, &why));
        assert_string_equal(line, "inside");
        assert_string_equal(why.text, "");
    }
    assert_true(sys_real(&fixture->sys, "/sys/a/x", real, NULL));
    assert_string_equal(real, "/sys/b/x");
    assert_true(sys_real(&fixture->sys, "/../..", real, NULL));
    assert_string_equal(real, "/");
}

static void says_why_not(void **state)
{
    struct fixture *fixture = *state;
    struct why why;
    long long value = 7;
    char line[64], *long_path = calloc(1, SYS_PATH + 10);
    assert_false(sys_line(&fixture->sys, "/sys/none", line, sizeof line, &why));
    assert_string_equal(why.text, "/sys/none: not there");
    assert_false(sys_number(&fixture->sys, "/sys/words", &value, &why));
    assert_string_equal(why.text, "/sys/words: \"one two\" is no number");
    assert_int_equal(value, 7);
    assert_false(sys_line(&fixture->sys, "/sys/loop", line, sizeof line, &why));
    assert_string_equal(why.text, "/sys/loop: too many links");
    memset(long_path, 'x', SYS_PATH + 9);
    long_path[0] = '/';
    assert_false(sys_exists(&fixture->sys, long_path));
    assert_int_equal(sys_bytes(&fixture->sys, long_path, line, sizeof line, &why), -1);
    assert_non_null(strstr(why.text, "too long"));
    free(long_path);
    struct sys other;
    assert_false(sys_open(&other, "out/gdprobe-is-not-there", &why));
    assert_non_null(strstr(why.text, "not there"));
}

static void reads(void **state)
{
    struct fixture *fixture = *state;
    long long value = 0;
    struct sys_list list;
    assert_true(sys_number(&fixture->sys, "/sys/number", &value, NULL));
    assert_int_equal(value, 0x1f);
    char *text = sys_text(&fixture->sys, "/sys/words", NULL);
    assert_string_equal(text, "  one two  \nthree\n");
    free(text);
    assert_true(sys_list(&fixture->sys, "/sys", &list, NULL));
    assert_int_equal(list.count, 7);
    assert_string_equal(list.names[0], "a");
    assert_string_equal(list.names[6], "words");
    sys_list_free(&list);
    assert_false(sys_list(&fixture->sys, "/sys/words", &list, NULL));
    assert_null(list.names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(never_leaves_the_sysroot, setup, teardown),
        cmocka_unit_test_setup_teardown(says_why_not, setup, teardown),
        cmocka_unit_test_setup_teardown(reads, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
