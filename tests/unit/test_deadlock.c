/* test_deadlock.c: plans with receives come to their end, or the circle is named. */
#include "sim/core/deadlock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/core/verify.h"
#include "tests/unit/help_core.h"

static struct deadlock search(const char *body, uint32_t ranks)
{
    char text[1024];
    struct plan plan;
    struct deadlock deadlock;
    struct error error;
    snprintf(text, sizeof text,
             "collective = 'sendrecv' function plan(p) local n, r = p.ranks, p.rank\n%s\nend",
             body);
    core_script(text, ranks, 1, &plan);
    assert_ok(deadlock_find(&plan, &deadlock, &error), &error);
    plan_free(&plan);
    return deadlock;
}

static void ends(const char *body, uint32_t ranks)
{
    struct deadlock deadlock = search(body, ranks);
    if (deadlock.found)
        print_error("%s\n", deadlock.sentence);
    assert_false(deadlock.found);
}

static void hangs(const char *body, uint32_t ranks, const char *sentence)
{
    struct deadlock deadlock = search(body, ranks);
    assert_true(deadlock.found);
    assert_string_equal(deadlock.sentence, sentence);
}

static void what_comes_to_its_end(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 20; n++) {
        /* send, then wait: in one step, in two, and round after round */
        ends("p:send{to = (r + 1) % n} p:recv{from = (r - 1) % n}", n);
        ends("p:step(function() p:send{to = (r + 1) % n} p:recv{from = (r - 1) % n} end)", n);
        ends("for i = 1, n - 1 do p:send{to = (r + i) % n} p:recv{from = (r - i) % n} end", n);
        /* one after the other along the ranks: only the first may begin */
        ends("p:recv{from = r - 1, where = gt(r, 0)}\n"
             "p:send{to = r + 1, where = lt(r, n - 1)}",
             n);
    }
    /* lanes do not hold each other up */
    ends("p:recv{from = 1, where = eq(r, 0)} p:send{from = 0, to = 1, lane = 1}\n"
         "p:recv{from = 0, where = eq(r, 1), lane = 1} p:send{from = 1, to = 0}",
         2);
}

static void circles_are_named(void **state)
{
    (void)state;
    hangs("p:recv{from = 1 - r} p:send{to = 1 - r}", 2,
          "Deadlock: rank 0 waits in step 1 for what rank 1 sends in step 2, which waits in step 1 "
          "for what rank 0 sends in step 2.");
    hangs("p:recv{from = (r - 1) % n, where = lt(r, 6)} p:send{to = (r + 1) % n}", 6,
          "Deadlock: rank 0 waits in step 1 for what rank 5 sends in step 2, which waits in step 1 "
          "for what rank 4 sends in step 2, which waits in step 1 for what rank 3 sends in step 2, "
          "which waits in step 1 for what rank 2 sends in step 2, and so on: a circle of 6 that "
          "ends at rank 0.");
    /* Rank 2 hangs behind a circle that it is no part of. Rank 0 waits for a message, rank 1 for
     * data that rank 0 sends. */
    hangs("p:recv{from = 1, where = eq(r, 0)} p:send{from = 0, to = 1}\n"
          "p:send{from = 1, to = 0} p:send{from = 1, to = 2} p:send{from = 2, to = 0}",
          3,
          "Deadlock: rank 0 waits in step 1 for what rank 1 sends in step 3, which waits in step 3 "
          "for what rank 0 sends in step 2.");
}

static void what_nobody_sends_is_named(void **state)
{
    (void)state;
    hangs("p:send{from = 0, to = 1} p:recv{from = 0, where = eq(r, 1)}\n"
          "p:recv{from = 0, where = eq(r, 1)} p:send{from = 1, to = 0}",
          2, "In step 3 rank 1 waits for a message of rank 0 that is never sent.");
    /* the message is in another lane */
    hangs("p:send{from = 0, to = 1, lane = 1} p:recv{from = 0, where = eq(r, 1)}\n"
          "p:send{from = 1, to = 0}",
          2, "In step 2 rank 1 waits for a message of rank 0 that is never sent.");
}

/* Rank 1 has nothing for the switch before it has heard of rank 0, which waits for the sum. */
static void the_switch_may_be_in_the_circle(void **state)
{
    (void)state;
    hangs("p:switch_reduce{where = eq(r, 0)}\n"
          "p:recv{from = 0, where = eq(r, 1)}\n"
          "p:step(function() p:switch_reduce{chunk = 0, where = eq(r, 1)} end)\n"
          "p:switch_multicast{} p:send{from = 0, to = 1}",
          2,
          "Deadlock: rank 0 waits in step 5 for what the switch sends in step 4, which waits in "
          "step 4 for what rank 1 sends in step 3, which waits in step 2 for what rank 0 sends in "
          "step 5.");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_comes_to_its_end),
        cmocka_unit_test(circles_are_named),
        cmocka_unit_test(what_nobody_sends_is_named),
        cmocka_unit_test(the_switch_may_be_in_the_circle),
    };
    return cmocka_run_group_tests_name("deadlock", tests, NULL, NULL);
}
