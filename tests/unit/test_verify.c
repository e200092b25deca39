/* test_verify.c: right plans of every collective pass, wrong ones are named in a sentence. */
#include "sim/core/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/script/script.h"
#include "tests/unit/help_core.h"

static void script(const char *collective, const char *body, uint32_t ranks, uint32_t root,
                   struct plan *ret_plan)
{
    char text[2048];
    struct error error;
    int length = snprintf(text, sizeof text,
                          "collective = '%s' function plan(p) local n, r = p.ranks, p.rank\n%s end",
                          collective, body);
    struct script_job job = {.name = "t.lua",
                             .text = text,
                             .length = (size_t)length,
                             .ranks = ranks,
                             .gpus_per_node = 1,
                             .root = root};
    assert_ok(script_plan(&job, ret_plan, &error), &error);
}

static struct verdict judge(const struct plan *plan)
{
    struct verdict verdict;
    struct error error;
    assert_ok(verify_plan(plan, &verdict, &error), &error);
    return verdict;
}

static struct verdict verdict_on(const char *collective, const char *body, uint32_t ranks,
                                 uint32_t root)
{
    struct plan plan;
    script(collective, body, ranks, root, &plan);
    struct verdict verdict = judge(&plan);
    plan_free(&plan);
    return verdict;
}

/* ---- right ones
 * ---------------------------------------------------------------------------------- */

static const uint32_t sizes[] = {1, 2, 3, 7, 8, 33};
#define SIZES (sizeof sizes / sizeof sizes[0])

static void right_for_all_sizes(const char *collective, const char *body,
                                uint64_t (*transfers)(uint64_t ranks))
{
    for (size_t i = 0; i < SIZES; i++) {
        uint32_t roots[] = {0, sizes[i] / 2, sizes[i] - 1};
        for (size_t k = 0; k < 3; k++) {
            struct verdict verdict = verdict_on(collective, body, sizes[i], roots[k]);
            char expected[128];
            if (!verdict.correct)
                print_error("%s, %u ranks, root %u: %s\n", collective, sizes[i], roots[k],
                            verdict.sentence);
            assert_true(verdict.correct);
            assert_int_equal(verdict.transfers, transfers(sizes[i]));
            snprintf(expected, sizeof expected,
                     "Every rank ends with what %s promises, each contribution exactly once.",
                     collective);
            assert_string_equal(verdict.sentence, expected);
        }
    }
}

static uint64_t twice_round(uint64_t n)
{
    return 2 * n * (n - 1);
}

static uint64_t once_round(uint64_t n)
{
    return n * (n - 1);
}

static uint64_t chain(uint64_t n)
{
    return n - 1;
}

static uint64_t up_and_down(uint64_t n)
{
    return 2 * n;
}

static void allreduce_by_ring(void **state)
{
    (void)state;
    right_for_all_sizes("allreduce",
                        "p:split(n)\n"
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, chunk = (r - k) % n, reduce = true} end)\n"
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, chunk = (r + 1 - k) % n} end)\n",
                        twice_round);
}

static void allreduce_by_switch(void **state)
{
    (void)state;
    right_for_all_sizes("allreduce", "p:switch_reduce{} p:switch_multicast{}", up_and_down);
}

/* 2^k ranks exchange the whole at distance 1, 2, 4: n * log2 n transfers. */
static void allreduce_by_doubling(void **state)
{
    (void)state;
    for (uint32_t log = 1; log <= 6; log++) {
        uint32_t n = 1u << log;
        struct verdict verdict = verdict_on(
            "allreduce",
            "p:loop(log2(n), function(k) p:send{to = r ~ (1 << k), reduce = true} end)", n, 0);
        assert_true(verdict.correct);
        assert_int_equal(verdict.transfers, n * log);
    }
    /* on 6 ranks, rank 4 has no partner at distance 2 */
    struct plan plan;
    struct verdict verdict;
    struct error error;
    script("allreduce", "p:loop(3, function(k) p:send{to = r ~ (1 << k), reduce = true} end)", 6, 0,
           &plan);
    assert_int_equal(verify_plan(&plan, &verdict, &error), STATUS_INPUT);
    assert_string_equal(error.message, "step 2, rank 4: to is 6, must be 0 .. 5");
    assert_int_equal(error.line, 2);
    plan_free(&plan);
}

static void allgather_by_ring(void **state)
{
    (void)state;
    right_for_all_sizes("allgather",
                        "p:split(n)\n"
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, chunk = (r - k) % n} end)",
                        once_round);
    /* two chunks a rank, sent together */
    right_for_all_sizes("allgather",
                        "p:split(2 * n)\n"
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, chunk = (r - k) % n * 2, count = 2} end)",
                        once_round);
}

/* In turn k rank r passes on chunk r - 1 - k; the last to arrive is chunk r itself. */
static void reduce_scatter_by_ring(void **state)
{
    (void)state;
    right_for_all_sizes("reduce_scatter",
                        "p:split(n)\n"
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, chunk = (r - 1 - k) % n, reduce = true} end)",
                        once_round);
}

static void broadcast_by_chain(void **state)
{
    (void)state;
    right_for_all_sizes("broadcast",
                        "p:loop(n - 1, function(k)\n"
                        "p:send{to = (r + 1) % n, where = eq(r, (p.root + k) % n)} end)",
                        chain);
}

static void reduce_by_chain(void **state)
{
    (void)state;
    right_for_all_sizes("reduce",
                        "p:loop(n - 1, function(k) p:send{to = (r + 1) % n, reduce = true,\n"
                        "where = eq(r, (p.root + 1 + k) % n)} end)",
                        chain);
}

static void alltoall_pairwise(void **state)
{
    (void)state;
    static const char body[] = "p:split(n)\n"
                               "for i = 1, n - 1 do local d = (r + i) % n\n"
                               "p:send{to = d, chunk = d, into = r, write = 'result'} end";
    for (uint32_t n = 2; n <= 33; n++)
        assert_true(verdict_on("alltoall", body, n, 0).correct);
    /* two chunks for each */
    struct verdict v = verdict_on("alltoall",
                                  "p:split(2 * n) for i = 1, n - 1 do local d = (r + i) % n\n"
                                  "p:send{to = d, chunk = 2 * d, count = 2, into = 2 * r,\n"
                                  "write = 'result'} end",
                                  5, 0);
    assert_true(v.correct);
    assert_int_equal(v.transfers, 5 * 4);
    /* by hand: two ranks */
    v = verdict_on("alltoall",
                   "p:split(2) p:step(function()\n"
                   "p:send{from = 0, to = 1, chunk = 1, into = 0, write = 'result'}\n"
                   "p:send{from = 1, to = 0, chunk = 0, into = 1, write = 'result'} end)",
                   2, 0);
    assert_true(v.correct);
}

static void sendrecv_round_the_ranks(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 9; n++)
        assert_true(
            verdict_on("sendrecv", "p:send{to = (r + 1) % n, write = 'result'}", n, 0).correct);
    struct verdict v = verdict_on("sendrecv", "p:send{to = (r - 1) % n, write = 'result'}", 4, 0);
    assert_false(v.correct);
    assert_string_equal(v.sentence,
                        "At the end chunk 0 of the result of rank 0 holds rank 1 and should hold "
                        "rank 3; it was last written in step 1, by rank 1.");
}

/* Nodes of g GPUs: add up in the node, then a switch for each place in it, then hand round. */
static void allreduce_by_switches_of_groups(void **state)
{
    (void)state;
    static const uint32_t nodes[] = {1, 2, 3, 5}, gpus[] = {1, 2, 3, 8};
    for (size_t i = 0; i < 16; i++) {
        struct plan plan;
        uint32_t g = gpus[i % 4], n = nodes[i / 4] * g;
        if (n == 1)
            continue;
        core_lua_file("lua/collnet_direct.lua", n, g, &plan);
        struct verdict v = judge(&plan);
        assert_true(v.correct);
        /* in the node g (g - 1) twice, and each rank up and down once */
        assert_int_equal(v.transfers,
                         nodes[i / 4] * 2 * g * (g - 1) + (nodes[i / 4] > 1 ? 2 * n : 0));
        plan_free(&plan);
    }
}

/* 1024 ranks and chunks: a million cells, two million transfers. */
static void a_large_ring(void **state)
{
    (void)state;
    struct plan plan;
    core_lua_file("lua/ring.lua", 1024, 1, &plan);
    struct verdict verdict = judge(&plan);
    assert_true(verdict.correct);
    assert_int_equal(verdict.transfers, 2 * 1024 * 1023);
    plan_free(&plan);
}

/* ---- wrong ones
 * ------------------------------------------------------------------------------------ */

/* The reduce-scatter half makes one turn too few: on 4 ranks each chunk misses one rank. Rank 0's
 * chunk 0 started at rank 0 and went 0 -> 1 -> 2; rank 2 then sends it on without 3. */
static void a_missing_contribution(void **state)
{
    (void)state;
    struct verdict v =
        verdict_on("allreduce",
                   "p:split(n)\n"
                   "p:loop(n - 2, function(k)\n"
                   "p:send{to = (r + 1) % n, chunk = (r - k) % n, reduce = true} end)\n"
                   "p:loop(n - 1, function(k)\n"
                   "p:send{to = (r + 1) % n, chunk = (r + 2 - k) % n} end)\n",
                   4, 0);
    assert_false(v.correct);
    assert_int_equal(v.step, 5); /* 2 + 3 steps: at the end */
    assert_int_equal(v.rank, 0);
    assert_int_equal(v.chunk, 0);
    assert_non_null(strstr(v.sentence, "At the end chunk 0 of rank 0 lacks the contribution of "
                                       "rank 3: it holds ranks 0-2 and should hold ranks 0-3"));
    /* rank 0 got chunk 0 last from rank 3, in turn k = 1 of the second loop: step 2 + 1 + 1 */
    assert_non_null(strstr(v.sentence, "it was last written in step 4, by rank 3."));
}

/* One turn too many: in step n rank 0 sends chunk (0 - 3) % 4 = 1 to rank 1, which has it all. */
static void a_contribution_counted_twice(void **state)
{
    (void)state;
    struct verdict v =
        verdict_on("allreduce",
                   "p:split(n) p:loop(n, function(k)\n"
                   "p:send{to = (r + 1) % n, chunk = (r - k) % n, reduce = true} end)",
                   4, 0);
    assert_false(v.correct);
    assert_int_equal(v.step, 3);
    assert_int_equal(v.rank, 1);
    assert_int_equal(v.chunk, 1);
    assert_int_equal(v.line, 3);
    /* chunk 1 at rank 0 has gone 1 -> 2 -> 3 -> 0: all four; rank 1 still holds its own */
    assert_string_equal(v.sentence,
                        "In step 4 rank 0 sends chunk 1 to rank 1, but what arrives holds ranks "
                        "0-3 and rank 1 already holds rank 1: the contribution of rank 1 would be "
                        "counted twice.");
}

/* Sets that share one rank at their edges: {1, 2} added to {0, 1}. */
static void one_rank_in_both_sets(void **state)
{
    (void)state;
    struct verdict v = verdict_on("reduce",
                                  "p:step(function() p:send{from = 0, to = 1, reduce = true}\n"
                                  "p:send{from = 1, to = 2, reduce = true} end)\n"
                                  "p:send{from = 2, to = 1, reduce = true}",
                                  3, 0);
    assert_false(v.correct);
    assert_int_equal(v.step, 1);
    assert_non_null(strstr(v.sentence, "the contribution of rank 1 would be counted twice"));
}

static void data_that_nobody_wrote(void **state)
{
    (void)state;
    /* rank 2 has nothing of the broadcast's message when it sends in step 2 */
    struct verdict v =
        verdict_on("broadcast", "p:send{from = 0, to = 1}\np:send{from = 2, to = 3}", 4, 0);
    assert_false(v.correct);
    assert_int_equal(v.step, 1);
    assert_int_equal(v.line, 3);
    assert_string_equal(v.sentence, "In step 2 rank 2 sends chunk 0 to rank 3, but rank 2 has "
                                    "nothing in it yet.");
    /* within one step what arrives cannot be sent on */
    v = verdict_on("broadcast",
                   "p:step(function() p:send{from = 0, to = 1} p:send{from = 1, to = 2} end)", 3,
                   0);
    assert_false(v.correct);
    assert_int_equal(v.step, 0);
    assert_string_equal(v.sentence, "In step 1 rank 1 sends chunk 0 to rank 2, but rank 1 has "
                                    "nothing in it yet.");
    /* the switch */
    v = verdict_on("allreduce", "p:switch_multicast{}", 4, 0);
    assert_false(v.correct);
    assert_string_equal(v.sentence, "In step 1 the switch sends chunk 0 to rank 0, but the switch "
                                    "has nothing in it yet.");
    /* what the switch has sent down is gone */
    v = verdict_on("allreduce", "p:switch_reduce{} p:switch_multicast{} p:switch_multicast{}", 4,
                   0);
    assert_false(v.correct);
    assert_int_equal(v.step, 2);
    /* adding needs something to add to */
    v = verdict_on("broadcast", "p:send{from = 0, to = 1, reduce = true}", 2, 0);
    assert_false(v.correct);
    assert_string_equal(v.sentence, "In step 1 rank 0 sends chunk 0 to rank 1, but the receiver "
                                    "has nothing to add it to.");
}

static void two_writers_in_one_step(void **state)
{
    (void)state;
    struct verdict v = verdict_on(
        "allreduce", "p:step(function() p:send{from = 1, to = 0}\np:send{from = 2, to = 0} end)", 3,
        0);
    assert_false(v.correct);
    assert_int_equal(v.step, 0);
    assert_int_equal(v.rank, 0);
    assert_int_equal(v.chunk, 0);
    assert_string_equal(v.sentence, "In step 1 rank 2 sends chunk 0 to rank 0, but rank 1 writes "
                                    "the same chunk in the same step.");
    /* two that add are fine, and so is one after the other */
    v = verdict_on("reduce",
                   "p:step(function() p:send{from = 1, to = 0, reduce = true}\n"
                   "p:send{from = 2, to = 0, reduce = true} end)",
                   3, 0);
    assert_true(v.correct);
    v = verdict_on("broadcast", "p:send{from = 0, to = 1} p:send{from = 0, to = 1}", 2, 0);
    assert_true(v.correct);
}

/* On 3 ranks all of it arrives, but by the sender's count instead of the receiver's. */
static void a_block_in_the_wrong_place(void **state)
{
    (void)state;
    struct verdict v = verdict_on("alltoall",
                                  "p:split(n) for i = 1, n - 1 do local d = (r + i) % n\n"
                                  "p:send{to = d, chunk = d, write = 'result'} end",
                                  3, 0);
    assert_false(v.correct);
    /* rank 2's result has both in block 2: from rank 1 in step 1, from rank 0 in step 2 */
    assert_string_equal(v.sentence,
                        "At the end chunk 1 of the result of rank 0 holds nothing and should hold "
                        "what rank 1 has for rank 0; it was never written.");
    v = verdict_on("alltoall",
                   "p:split(n) for i = 1, n - 1 do local d = (r + i) % n\n"
                   "p:send{to = d, chunk = (d + 1) % n, into = r, write = 'result'} end",
                   3, 0);
    assert_false(v.correct);
    assert_string_equal(v.sentence,
                        "At the end chunk 1 of the result of rank 0 holds what rank 1 has for rank "
                        "1 and should hold what rank 1 has for rank 0; it was last written in step "
                        "2, by rank 1.");
    /* a result nobody has written yet */
    v = verdict_on("sendrecv", "p:send{to = (r + 1) % n, read = 'result', write = 'result'}", 3, 0);
    assert_false(v.correct);
    assert_string_equal(v.sentence, "In step 1 rank 0 sends chunk 0 of the result to rank 1, but "
                                    "rank 0 has nothing in it yet.");
    /* another group's switch has not got it */
    v = verdict_on("allreduce",
                   "p:switch_reduce{group = r // 2} p:switch_multicast{group = 1 - r // 2}\n"
                   "p:switch_multicast{group = r // 2}",
                   4, 0);
    assert_false(v.correct);
}

/* A plan for root 0 does not serve root 2. */
static void the_wrong_root(void **state)
{
    (void)state;
    static const char broadcast[] = "p:step(function() for i = 1, n - 1 do\n"
                                    "p:send{from = 0, to = i} end end)";
    static const char reduce[] = "p:step(function() for i = 1, n - 1 do\n"
                                 "p:send{from = i, to = 0, reduce = true} end end)";
    assert_true(verdict_on("broadcast", broadcast, 4, 0).correct);
    assert_true(verdict_on("reduce", reduce, 4, 0).correct);
    struct verdict v = verdict_on("broadcast", broadcast, 4, 2);
    assert_false(v.correct);
    assert_string_equal(v.sentence, "In step 1 rank 0 sends chunk 0 to rank 1, but rank 0 has "
                                    "nothing in it yet.");
    v = verdict_on("reduce", reduce, 4, 2);
    assert_false(v.correct);
    assert_int_equal(v.rank, 2);
    assert_string_equal(v.sentence,
                        "At the end chunk 0 of rank 2 lacks the contribution of rank 0: it holds "
                        "rank 2 and should hold ranks 0-3; it was never written.");
}

/* The block that a rank must own is its own, not its neighbour's. */
static void the_wrong_owner(void **state)
{
    (void)state;
    /* as the ring allreduce's first half: rank r ends with chunk r + 1 */
    struct verdict v =
        verdict_on("reduce_scatter",
                   "p:split(n) p:loop(n - 1, function(k)\n"
                   "p:send{to = (r + 1) % n, chunk = (r - k) % n, reduce = true} end)",
                   4, 0);
    assert_false(v.correct);
    assert_int_equal(v.rank, 0);
    assert_int_equal(v.chunk, 0);
    /* an allgather that leaves out the last turn: rank 0 never gets chunk 1 */
    v = verdict_on("allgather",
                   "p:split(n) p:loop(n - 2, function(k)\n"
                   "p:send{to = (r + 1) % n, chunk = (r - k) % n} end)",
                   4, 0);
    assert_false(v.correct);
    assert_int_equal(v.rank, 0);
    assert_int_equal(v.chunk, 1);
    assert_string_equal(v.sentence, "At the end chunk 1 of rank 0 holds nothing and should hold "
                                    "rank 1; it was never written.");
}

/* A finished sum overwritten by a part. */
static void overwritten_with_a_part(void **state)
{
    (void)state;
    struct verdict v = verdict_on("allreduce",
                                  "p:switch_reduce{} p:switch_multicast{where = ne(r, 2)}\n"
                                  "p:send{from = 2, to = 1}",
                                  3, 0);
    assert_false(v.correct);
    assert_int_equal(v.rank, 1);
    assert_string_equal(v.sentence,
                        "At the end chunk 0 of rank 1 lacks the contribution of rank 0: it holds "
                        "rank 2 and should hold ranks 0-2; it was last written in step 3, by rank "
                        "2.");
}

/* ---- every single change to a right plan is found
 * ------------------------------------------------- */

/* Drop each edge in turn from a ring allreduce written as edges; all are needed. */
static void every_dropped_edge_is_found(void **state)
{
    (void)state;
    enum { N = 5, STEPS = 2 * (N - 1), EDGES = STEPS * N };
    for (int dropped = -1; dropped < EDGES; dropped++) {
        struct plan_edge edges[EDGES + STEPS];
        struct plan plan;
        size_t count = 0;
        int number = 0;
        for (int step = 0; step < STEPS; step++) {
            for (int r = 0; r < N; r++) {
                int shift = step < N - 1 ? -step : 1 - (step - (N - 1));
                struct plan_edge edge = {.from = (uint32_t)r,
                                         .to = (uint32_t)((r + 1) % N),
                                         .chunk = (uint32_t)((r + shift + 2 * N) % N)};
                if (number++ != dropped)
                    edges[count++] = edge;
            }
            edges[count++] = (struct plan_edge)CORE_STEP_END;
        }
        core_edges(N, N, edges, count, &plan);
        for (size_t i = 0; i < plan.length; i++) /* the first half adds */
            plan.ops[i].reduce = i < N - 1;
        struct verdict verdict = judge(&plan);
        assert_true(verdict.correct == (dropped < 0));
        plan_free(&plan);
    }
}

/* ---- what cannot be verified
 * ------------------------------------------------------------------------ */

static void says_what_it_cannot_verify(void **state)
{
    (void)state;
    struct plan plan;
    struct verdict verdict;
    struct error error;
    script("allgather", "p:split(6) p:send{to = (r + 1) % n, chunk = r}", 4, 0, &plan);
    assert_int_equal(verify_plan(&plan, &verdict, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "6 chunks do not divide by 4 ranks"));
    plan_free(&plan);
    /* 8192 ranks of 8192 chunks: 2^26 cells */
    core_lua_file("lua/ring.lua", 8192, 1, &plan);
    assert_int_equal(verify_plan(&plan, &verdict, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "too large to be verified"));
    assert_int_equal(verify_plan(&plan, &verdict, NULL), STATUS_INPUT);
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_by_ring),
        cmocka_unit_test(allreduce_by_switch),
        cmocka_unit_test(allreduce_by_doubling),
        cmocka_unit_test(allgather_by_ring),
        cmocka_unit_test(reduce_scatter_by_ring),
        cmocka_unit_test(broadcast_by_chain),
        cmocka_unit_test(reduce_by_chain),
        cmocka_unit_test(alltoall_pairwise),
        cmocka_unit_test(sendrecv_round_the_ranks),
        cmocka_unit_test(allreduce_by_switches_of_groups),
        cmocka_unit_test(a_block_in_the_wrong_place),
        cmocka_unit_test(a_large_ring),
        cmocka_unit_test(a_missing_contribution),
        cmocka_unit_test(a_contribution_counted_twice),
        cmocka_unit_test(one_rank_in_both_sets),
        cmocka_unit_test(data_that_nobody_wrote),
        cmocka_unit_test(two_writers_in_one_step),
        cmocka_unit_test(the_wrong_root),
        cmocka_unit_test(the_wrong_owner),
        cmocka_unit_test(overwritten_with_a_part),
        cmocka_unit_test(every_dropped_edge_is_found),
        cmocka_unit_test(says_what_it_cannot_verify),
    };
    return cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
