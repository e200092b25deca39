/* test_buffer.c: what a rank that falls behind is sent too early. Each need is worked out beside
 * it. */
#include "sim/core/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

static struct buffer_need need_of(struct plan *plan)
{
    struct buffer_need need;
    struct error error;
    assert_ok(buffer_need(plan, &need, &error), &error);
    assert_int_equal(need.ranks, plan->ranks);
    plan_free(plan);
    return need;
}

static struct buffer_need need_of_script(const char *body, uint32_t ranks)
{
    char text[1024];
    struct plan plan;
    snprintf(text, sizeof text,
             "collective = 'allreduce' function plan(p) local n, r = p.ranks, p.rank\n%s\nend",
             body);
    core_script(text, ranks, 1, &plan);
    return need_of(&plan);
}

static struct buffer_need need_of_file(const char *path, uint32_t ranks)
{
    struct plan plan;
    core_lua_file(path, ranks, 1, &plan);
    return need_of(&plan);
}

/* A ring's rank that has not begun is sent all that its neighbour can pass on without it: the n-1
 * messages of the reduce-scatter, to be added. The second half overwrites finished chunks, which
 * holds nothing up. */
static void a_ring_needs_one_message(void **state)
{
    (void)state;
    for (uint32_t n = 2; n < 10; n++) {
        struct buffer_need need = need_of_file("lua/ring.lua", n);
        assert_int_equal(need.chunks, n - 1);
        assert_int_equal(need.step, 0);
        assert_int_equal(need.rank, 0);
        assert_int_equal(need_of_file("lua/reduce_scatter_ring.lua", n).chunks, n - 1);
    }
}

/* Blocks that nobody has touched before are written where they belong. */
static void what_goes_to_its_place_needs_none(void **state)
{
    (void)state;
    static const char *const scripts[] = {"lua/allgather_ring.lua",  "lua/pat.lua",
                                          "lua/alltoall.lua",        "lua/sendrecv.lua",
                                          "lua/broadcast_chain.lua", "lua/sharp.lua"};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        for (uint32_t n = 2; n < 10; n++)
            assert_int_equal(need_of_file(scripts[i], n).chunks, 0);
}

/* The partner at distance 2^k sums up 2^k messages without this rank: all log2 n can be there. */
static void doubling_needs_a_message_a_step(void **state)
{
    (void)state;
    for (uint32_t log = 1; log < 6; log++)
        assert_int_equal(need_of_file("lua/recursive_doubling.lua", 1u << log).chunks, log);
    /* halving_doubling: half of the message, a quarter, ...: n/2 + n/4 + ... + 1 chunks of n */
    for (uint32_t log = 1; log < 6; log++)
        assert_int_equal(need_of_file("lua/halving_doubling.lua", 1u << log).chunks,
                         (1u << log) - 1);
}

/* Recursive multiplying: in each of m steps a rank exchanges with 3 others, which sum up without
 * it: 3 m messages over 4^m ranks, just what counts as bounded. */
static void three_partners_a_step_are_bounded(void **state)
{
    (void)state;
    static const char body[] = "local d = 1 while d < n do local g = p:groups(4, d)\n"
                               "p:step(function() for i = 1, 3 do\n"
                               "p:send{to = g:next(i), reduce = true} end end) d = 4 * d end";
    for (uint32_t m = 2; m <= 3; m++) {
        struct plan plan;
        plan_init(&plan, 1u << 2 * m);
        assert_int_equal(need_of_script(body, plan.ranks).chunks, 3 * m);
        assert_int_equal(buffer_limit(&plan), 3 * m);
    }
}

static void all_at_once_grows_with_the_ranks(void **state)
{
    (void)state;
    static const char body[] = "p:step(function() for d = 1, n - 1 do\n"
                               "p:send{to = (r + d) % n, reduce = true} end end)";
    for (uint32_t n = 2; n < 10; n++)
        assert_int_equal(need_of_script(body, n).chunks, n - 1);
}

/* Rank 1 sends five messages to be added. If it waits for an answer to each, one at most is early:
 * the next one depends on rank 0's answer. */
static void answers_bound_the_need(void **state)
{
    (void)state;
    struct buffer_need flood =
        need_of_script("p:split(2) p:loop(5, function() p:send{from = 1, to = 0, reduce = true}\n"
                       "p:send{from = 0, to = 1, chunk = 1} end)",
                       2);
    assert_int_equal(flood.chunks, 5);
    assert_int_equal(flood.rank, 0);
    struct buffer_need answered = need_of_script(
        "p:split(2) p:loop(5, function() p:send{from = 1, to = 0, reduce = true}\n"
        "p:send{from = 0, to = 1, chunk = 1} p:recv{from = 0, where = eq(r, 1)} end)",
        2);
    assert_int_equal(answered.chunks, 1);
    /* a window of two: the k-th message waits for the answer to the one before the last */
    struct buffer_need window =
        need_of_script("p:split(2) p:loop(5, function(k) p:send{from = 1, to = 0, reduce = true}\n"
                       "p:send{from = 0, to = 1, chunk = 1}\n"
                       "p:recv{from = 0, where = both(eq(r, 1), gt(k, 0))} end)",
                       2);
    assert_int_equal(window.chunks, 2);
}

/* What overwrites a chunk must wait until it has been read: rank 0 reads chunk 0 in its third step,
 * rank 1 has sent over it before. Once rank 0 has gone on, nothing waits. */
static void what_is_still_to_be_read_is_kept(void **state)
{
    (void)state;
    struct buffer_need need = need_of_script("p:split(2) p:send{from = 0, to = 2, chunk = 1}\n"
                                             "p:send{from = 1, to = 2, chunk = 1, into = 0}\n"
                                             "p:send{from = 0, to = 2, chunk = 0}\n"
                                             "p:send{from = 1, to = 0, chunk = 1, into = 0}",
                                             3);
    assert_int_equal(need.chunks, 1);
    assert_int_equal(need.rank, 0);
    assert_int_equal(need_of_script("p:split(2) p:send{from = 0, to = 2, chunk = 1}\n"
                                    "p:send{from = 1, to = 0, chunk = 1, into = 0}",
                                    3)
                         .chunks,
                     0);
}

/* With log2 n rounded up: 1 + log2 n messages, or log2 n and half of it, rounded down. */
static void the_limit(void **state)
{
    (void)state;
    static const struct {
        uint32_t ranks;
        uint64_t messages;
    } cases[] = {{1, 1}, {2, 2}, {3, 3},  {4, 3},  {5, 4},
                 {8, 4}, {9, 6}, {16, 6}, {17, 7}, {1024, 15}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct plan plan;
        plan_init(&plan, cases[i].ranks);
        plan.chunks = 3;
        assert_int_equal(buffer_limit(&plan), 3 * cases[i].messages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_needs_one_message),
        cmocka_unit_test(what_goes_to_its_place_needs_none),
        cmocka_unit_test(doubling_needs_a_message_a_step),
        cmocka_unit_test(three_partners_a_step_are_bounded),
        cmocka_unit_test(all_at_once_grows_with_the_ranks),
        cmocka_unit_test(answers_bound_the_need),
        cmocka_unit_test(what_is_still_to_be_read_is_kept),
        cmocka_unit_test(the_limit),
    };
    return cmocka_run_group_tests_name("buffer", tests, NULL, NULL);
}
