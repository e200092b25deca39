/* help_script.c: see help_script.h. */
#include "tests/unit/help_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

static void keep_line(void *owner, const char *line)
{
    struct script_printed *printed = owner;
    size_t used = strlen(printed->text);
    printed->lines++;
    snprintf(printed->text + used, sizeof printed->text - used, "%s\n", line);
}

enum status script_run_bytes(const char *text, size_t length, struct plan *plan,
                             struct script_printed *printed, struct error *error)
{
    struct script_job job = {.name = "dir/my.lua",
                             .text = text,
                             .length = length,
                             .ranks = 6,
                             .gpus_per_node = 2,
                             .root = 1,
                             .print = printed ? keep_line : NULL,
                             .owner = printed};
    memset(error, 0, sizeof *error);
    return script_plan(&job, plan, error);
}

enum status script_run(const char *text, struct plan *plan, struct script_printed *printed,
                       struct error *error)
{
    return script_run_bytes(text, strlen(text), plan, printed, error);
}

/* The body of plan(p), standing on lines 2 and following. */
void script_wrap(const char *body, char *text, size_t size)
{
    snprintf(text, size,
             "collective = 'allreduce' function plan(p) local n, r = p.ranks, p.rank\n%s\nend",
             body);
}

/* The script is refused, with the words in its message, at the line. */
void script_refused_text(const char *text, unsigned line, const char *words)
{
    struct plan plan = {.ranks = 12345};
    struct error error;
    enum status status = script_run(text, &plan, NULL, &error);
    if (status != STATUS_INPUT || error.line != line || !strstr(error.message, words))
        print_error("%s\n-> status %d, line %u: %s\n   wanted line %u: %s\n", text, (int)status,
                    error.line, error.message, line, words);
    assert_int_equal(status, STATUS_INPUT);
    assert_int_equal(error.line, line);
    assert_non_null(strstr(error.message, words));
    assert_string_equal(error.file, "dir/my.lua");
    assert_int_equal(plan.ranks, 12345); /* untouched */
}

void script_refused(const char *body, unsigned line, const char *words)
{
    char text[2048];
    script_wrap(body, text, sizeof text);
    script_refused_text(text, line, words);
}

/* What the body prints; it is followed by a send, so that the plan is not empty. */
void script_prints(const char *body, const char *expected)
{
    char text[4096], whole[3072];
    struct plan plan;
    struct script_printed printed = {.text = ""};
    struct error error;
    snprintf(whole, sizeof whole, "%s p:send{to = (r + 1) %% n}", body);
    script_wrap(whole, text, sizeof text);
    assert_ok(script_run(text, &plan, &printed, &error), &error);
    assert_string_equal(printed.text, expected);
    plan_free(&plan);
}
