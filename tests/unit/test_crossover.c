/* test_crossover.c: where the faster of two ways changes: known answers, on functions and on runs
 * of the engine; and the alpha-beta costs of allreduce algorithms, which the answers rest on. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "sim/study/crossover.h"
#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ---- functions ------------------------------------------------------------------------------ */

/* Two times by name, and what is refused. */
struct lines {
    double (*time)(double x, int way);
    double refused_from, refused_to; /* way 1 does not run between them */
    double fails_at;                 /* the search must end there */
    size_t runs;
};

static enum status line_time(void *owner, double x, int way, double *ret_s, bool *ret_runs,
                             struct error *error)
{
    struct lines *lines = owner;
    lines->runs++;
    if (lines->fails_at > 0 && x >= lines->fails_at)
        return error_set(error, STATUS_NOMEM, "out of memory");
    *ret_runs = way == 0 || !(x > lines->refused_from && x < lines->refused_to);
    *ret_s = lines->time(x, way);
    return STATUS_OK;
}

static void find(const struct crossover_axis *axis, struct lines *lines,
                 struct crossover_result *ret)
{
    struct error error;
    const struct crossover_ways ways = {.time = line_time, .owner = lines};
    assert_ok(crossover_find(axis, &ways, ret, &error), &error);
}

/* 2 + x against 1 + 2 x: they meet at x = 1, where both are 3. */
static double meet_at_one(double x, int way)
{
    return way == 0 ? 2 + x : 1 + 2 * x;
}

static void one_zero_on_both_kinds_of_axis(void **state)
{
    (void)state;
    const struct crossover_axis axes[] = {
        {.from = 0.01, .to = 1000, .factor = 2},
        {.from = 0, .to = 7, .parts = 5},
    };
    for (size_t i = 0; i < COUNT(axes); i++) {
        struct lines lines = {.time = meet_at_one};
        struct crossover_result found;
        find(&axes[i], &lines, &found);
        assert_int_equal(found.crossing_count, 1);
        const struct crossover *crossing = &found.crossings[0];
        assert_int_equal(crossing->kind, CROSSOVER_ZERO);
        assert_near(crossing->at.x, 1, 1e-8);
        assert_near(crossing->at.time_s[0], 3, 1e-8);
        assert_near(crossing->at.time_s[1], 3, 1e-8);
        /* 1 + 2 x is the smaller below. */
        assert_int_equal(crossing->before->winner, CROSSOVER_SECOND);
        assert_int_equal(crossing->after->winner, CROSSOVER_FIRST);
        assert_true(crossing->before->x < 1 && crossing->after->x > 1);
        /* The grid, and at most 30 turns of Brent's solver. */
        assert_true(lines.runs < 2 * (found.point_count + 30));
        crossover_free(&found);
    }
}

/* The last point stands where it was asked for, also off the grid; gain: (1 + 14)/(2 + 7). */
static void the_grid_ends_where_asked(void **state)
{
    (void)state;
    struct lines lines = {.time = meet_at_one};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 2, .to = 7, .factor = 2}, &lines, &found);
    assert_int_equal(found.point_count, 3); /* 2, 4, 7 */
    assert_near(found.points[1].x, 4, 1e-15);
    assert_near(found.points[2].x, 7, 1e-15);
    assert_near(crossover_gain(&found.points[2]), 15.0 / 9, 1e-12);
    assert_int_equal(found.crossing_count, 0);
    crossover_free(&found);
}

/* (x - 2)(x - 5) is negative between: way 0 is faster on (2, 5) only. */
static double two_zeros(double x, int way)
{
    return way == 0 ? 10 + (x - 2) * (x - 5) : 10;
}

static void several_zeros_are_all_found(void **state)
{
    (void)state;
    struct lines lines = {.time = two_zeros};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 0, .to = 8, .parts = 9}, &lines, &found);
    assert_int_equal(found.crossing_count, 2);
    assert_near(found.crossings[0].at.x, 2, 1e-8);
    assert_int_equal(found.crossings[0].after->winner, CROSSOVER_FIRST);
    assert_near(found.crossings[1].at.x, 5, 1e-8);
    assert_int_equal(found.crossings[1].after->winner, CROSSOVER_SECOND);
    crossover_free(&found);
}

/* Both zeros lie on points of the grid: touched, not level. */
static void zeros_on_the_grid_are_zeros(void **state)
{
    (void)state;
    struct lines lines = {.time = two_zeros};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 0, .to = 8, .parts = 8}, &lines, &found);
    assert_int_equal(found.crossing_count, 2);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_ZERO);
    assert_near(found.crossings[0].at.x, 2, 1e-8);
    assert_near(found.crossings[1].at.x, 5, 1e-8);
    crossover_free(&found);
}

/* (x - 4)^2 touches zero at 4 and changes nothing. */
static double touch(double x, int way)
{
    return way == 0 ? 10 + (x - 4) * (x - 4) : 10;
}

static void a_touch_is_no_crossing(void **state)
{
    (void)state;
    struct lines lines = {.time = touch};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 0, .to = 8, .parts = 8}, &lines, &found);
    assert_int_equal(found.points[4].winner, CROSSOVER_LEVEL);
    assert_int_equal(found.crossing_count, 0);
    crossover_free(&found);
}

/* The same up to 3, then way 0 takes 1 + (x - 3): the edge is where that is a millionth more. */
static double level_to_three(double x, int way)
{
    return way == 0 && x > 3 ? 1 + (x - 3) : 1;
}

static void a_level_stretch_has_an_edge(void **state)
{
    (void)state;
    struct lines lines = {.time = level_to_three};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 1, .to = 8, .parts = 10}, &lines, &found);
    assert_int_equal(found.crossing_count, 1);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_EDGE);
    assert_int_equal(found.crossings[0].before->winner, CROSSOVER_LEVEL);
    assert_int_equal(found.crossings[0].after->winner, CROSSOVER_SECOND);
    assert_near(found.crossings[0].at.x, 3 + CROSSOVER_TIE, 1e-8);
    crossover_free(&found);
}

/* 2 below pi, 4 from there on, against 3. */
static double jump(double x, int way)
{
    return way == 1 ? 3 : x < M_PI ? 2 : 4;
}

static void a_jump_is_no_zero(void **state)
{
    (void)state;
    struct lines lines = {.time = jump};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 1, .to = 100, .factor = 2}, &lines, &found);
    assert_int_equal(found.crossing_count, 1);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_STEP);
    assert_near(found.crossings[0].at.x, M_PI, 1e-8);
    crossover_free(&found);
}

/* 2(x-1) against 4 lg x, as a ring against a tree of two passes. At 2 it is 2 against 4, at 6
 * 10 against 10.34, at 7 12 against 11.23: 7 is the first number at which the tree is faster. */
static double nodes(double x, int way)
{
    return way == 0 ? 2 * (x - 1) : 4 * log2(x);
}

/* A jump right behind a point of the grid, as where a plan for smaller sizes ends. Not every
 * exp(log(2^k)) is 2^k: for some k the solver would see both ends on the same side. */
static double jump_behind;

static double jumps_behind(double x, int way)
{
    return way == 0 ? 2 : x > jump_behind ? 3 : 1;
}

static void a_jump_behind_the_grid_is_found(void **state)
{
    (void)state;
    for (int k = 4; k < 40; k++) {
        struct lines lines = {.time = jumps_behind};
        struct crossover_result found;
        jump_behind = ldexp(1, k);
        find(&(struct crossover_axis){.from = 8, .to = ldexp(1, 42), .factor = 2}, &lines, &found);
        assert_int_equal(found.crossing_count, 1);
        assert_int_not_equal(found.crossings[0].kind, CROSSOVER_BRACKET);
        assert_near(found.crossings[0].at.x, jump_behind, 1e-6);
        crossover_free(&found);
    }
}

static void whole_numbers_are_bisected(void **state)
{
    (void)state;
    struct lines lines = {.time = nodes};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 2, .to = 1024, .factor = 2, .whole = true}, &lines,
         &found);
    assert_int_equal(found.point_count, 10);
    assert_int_equal(found.crossing_count, 1);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_WHOLE);
    assert_true(fabs(found.crossings[0].at.x - 7) < 0.5);
    assert_near(found.crossings[0].at.time_s[0], 12, 1e-12);
    crossover_free(&found);
}

/* Way 1 does not run between 0.9 and 1.1, where the zero is: only the bracket is known. On the grid
 * 0.01 .. 2^k the points round it are 0.64 and 1.28. */
static void a_refusal_leaves_the_bracket(void **state)
{
    (void)state;
    struct lines lines = {.time = meet_at_one, .refused_from = 0.9, .refused_to = 1.1};
    struct crossover_result found;
    find(&(struct crossover_axis){.from = 0.01, .to = 1000, .factor = 2}, &lines, &found);
    assert_int_equal(found.crossing_count, 1);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_BRACKET);
    assert_near(found.crossings[0].before->x, 0.64, 1e-12);
    assert_near(found.crossings[0].at.x, 1.28, 1e-12);
    crossover_free(&found);
    /* Refused at whole stretches of the grid too: the winners on both sides still differ. */
    lines = (struct lines){.time = meet_at_one, .refused_from = 0.5, .refused_to = 5};
    find(&(struct crossover_axis){.from = 0.01, .to = 1000, .factor = 2}, &lines, &found);
    assert_int_equal(found.crossing_count, 1);
    assert_int_equal(found.crossings[0].kind, CROSSOVER_BRACKET);
    assert_near(found.crossings[0].before->x, 0.32, 1e-12);
    assert_near(found.crossings[0].after->x, 5.12, 1e-12);
    crossover_free(&found);
    /* Everywhere. */
    lines = (struct lines){.time = meet_at_one, .refused_from = 0, .refused_to = 5000};
    find(&(struct crossover_axis){.from = 0.01, .to = 1000, .factor = 2}, &lines, &found);
    assert_int_equal(found.crossing_count, 0);
    crossover_free(&found);
}

static void errors_end_the_search(void **state)
{
    (void)state;
    const struct crossover_axis bad[] = {
        {.from = 2, .to = 2, .factor = 2},
        {.from = 0, .to = 2, .factor = 2},
        {.from = 2, .to = (double)NAN, .factor = 2},
        {.from = 1, .to = 2},
        {.from = 1.5, .to = 2, .parts = 3, .whole = true},
        {.from = 1, .to = 1e6, .parts = CROSSOVER_MAX_POINTS},
        {.from = 1, .to = 1e6, .factor = 1.001},
    };
    struct error error;
    struct crossover_result found;
    struct lines lines = {.time = meet_at_one};
    const struct crossover_ways ways = {.time = line_time, .owner = &lines};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_int_equal(crossover_find(&bad[i], &ways, &found, &error), STATUS_INPUT);
    assert_int_equal(lines.runs, 0);
    /* On the grid, and between its points (0.64 and 1.28: Brent goes near 1). */
    const double places[] = {0.01, 0.9};
    for (size_t i = 0; i < COUNT(places); i++) {
        lines.fails_at = places[i];
        assert_int_equal(
            crossover_find(&(struct crossover_axis){.from = 0.01, .to = 64, .factor = 2}, &ways,
                           &found, &error),
            STATUS_NOMEM);
    }
}

/* ---- alpha-beta costs ----------------------------------------------------------------------- */

/* The worked table's machine: a step costs a = 6 us and b = 1/NET + 2/PCIE for each byte, serial
 * over GPUDirect; adding up costs nothing (c = 0). */
#define STEP_S  6e-6
#define PER_B_S (1 / 25e9 + 2 / 31.5e9)

static struct core_spec worked(uint32_t nodes_count)
{
    return (struct core_spec){.nodes = nodes_count,
                              .pcie_Bps = 31.5e9,
                              .nic_Bps = 25e9,
                              .step_s = STEP_S,
                              .reduce_s = 2e-6};
}

static double cost(const char *script, uint32_t p, double size_B)
{
    char path[64];
    struct plan plan;
    const struct core_spec spec = worked(p);
    snprintf(path, sizeof path, "lua/%s.lua", script);
    core_lua_file(path, p, 1, &plan);
    int64_t ps = core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, size_B);
    plan_free(&plan);
    return (double)ps * 1e-12;
}

/* facts-models 7.4, with c = 0. Rounding to whole picoseconds: at most 0.5 ps for each of three
 * durations of a step, so 1e-6 of a step of 6 us and more is ample. */
static void costs_are_those_of_the_textbook(void **state)
{
    (void)state;
    const double a = STEP_S, b = PER_B_S;
    for (uint32_t p = 2, lg = 1; p <= 64; p *= 2, lg++)
        for (double n = 64; n <= 1e9; n *= 128) {
            double bytes = 2.0 * (p - 1) / p * n * b;
            assert_near(cost("ring", p, n), 2.0 * (p - 1) * a + bytes, 1e-6);
            assert_near(cost("recursive_doubling", p, n), lg * (a + n * b), 1e-6);
            assert_near(cost("halving_doubling", p, n), 2 * lg * a + bytes, 1e-6);
            assert_near(cost("binomial", p, n), 2 * lg * (a + n * b), 1e-6);
        }
}

/* No power of two: two steps of the whole message more than the power below, 2a + 2nb. The textbook
 * lets all ranks step together; here a rank that waits for no folded message sends at once, and its
 * first message may be on the receiver's wire when the folded one gets there. */
static void a_fold_costs_two_whole_messages(void **state)
{
    (void)state;
    const struct {
        uint32_t p, m, lg;
    } rows[] = {{3, 2, 1}, {5, 4, 2}, {6, 4, 2}, {7, 4, 2}, {9, 8, 3}, {12, 8, 3}};
    const double a = STEP_S, b = PER_B_S, n = 1e6, fold = 2 * a + 2 * n * b;
    for (size_t i = 0; i < COUNT(rows); i++) {
        double m = rows[i].m, lg = rows[i].lg;
        const double textbook[] = {lg * (a + n * b) + fold,
                                   2 * lg * a + 2 * (m - 1) / m * n * b + fold};
        const double engine[] = {cost("recursive_doubling", rows[i].p, n),
                                 cost("halving_doubling", rows[i].p, n)};
        const double first_B[] = {n, n / 2}; /* what the early message carries */
        for (int k = 0; k < 2; k++) {
            assert_true(engine[k] >= textbook[k] * (1 - 1e-6));
            assert_true(engine[k] <= (textbook[k] + first_B[k] / 25e9) * (1 + 1e-6));
        }
    }
    /* Halving, three ranks: rank 1 sends its half to rank 0 at once. It is on rank 0's wire from
     * 6 + 0.5/31.5e-3 = 21.873 us to 41.873 us; rank 2's whole message is ready for that wire at
     * 6 + 1/31.5e-3 = 37.746 us. It waits 20 - 15.873 = 4.127 us. */
    assert_near(cost("halving_doubling", 3, n), 2 * a + n * b + fold + (20e-6 - 0.5e6 / 31.5e9),
                1e-6);
    /* Doubling: the folded message goes first, and nobody waits for what comes after it. With six
     * ranks, ranks 2 and 3 wait for no folded message and are a step ahead: rank 2's second message
     * gets to rank 0's wire together with rank 1's first. The older step goes first. */
    assert_near(cost("recursive_doubling", 3, n), a + n * b + fold, 1e-6);
    assert_near(cost("recursive_doubling", 6, n), 2 * (a + n * b) + fold, 1e-6);
}

/* The identities: with two ranks ring = halving and doubling = 2a + nb; with many ranks the ring's
 * bandwidth term tends to 2nb; nobody beats lg p a and 2(p-1)/p n b. */
static void identities_of_the_costs(void **state)
{
    (void)state;
    static const char *const scripts[] = {"ring", "recursive_doubling", "halving_doubling",
                                          "binomial"};
    const double a = STEP_S, b = PER_B_S, n = 1e6;
    assert_near(cost("ring", 2, n), 2 * a + n * b, 1e-6);
    assert_near(cost("halving_doubling", 2, n), cost("ring", 2, n), 1e-12);
    assert_near(cost("ring", 1024, 1e9) - 2 * 1023 * a, 2e9 * b, 1.1 / 1024);
    for (size_t i = 0; i < COUNT(scripts); i++)
        for (uint32_t p = 2, lg = 1; p <= 32; p *= 2, lg++) {
            assert_true(cost(scripts[i], p, 8) >= lg * a);
            assert_true(cost(scripts[i], p, 1e9) >= 2.0 * (p - 1) / p * 1e9 * b);
        }
}

/* ---- crossings of runs ---------------------------------------------------------------------- */

/* Two scripts, each over its mechanism, on the worked table's machine; x is the size or the NIC's
 * rate. */
struct race {
    struct core_spec spec;
    struct plan plan[2];
    const char *mechanism[2];
    double size_B; /* 0: x is the size, otherwise the NIC's rate */
};

static enum status race_time(void *owner, double x, int way, double *ret_s, bool *ret_runs,
                             struct error *error)
{
    const struct race *race = owner;
    struct core_spec spec = race->spec;
    (void)error;
    if (race->size_B > 0)
        spec.nic_Bps = x;
    *ret_s = (double)core_time(&spec, &race->plan[way], race->mechanism[way], ACCOUNTING_SERIAL,
                               race->size_B > 0 ? race->size_B : x) *
             1e-12;
    *ret_runs = true;
    return STATUS_OK;
}

static void run_race(struct race *race, const char *first, const char *second,
                     const struct crossover_axis *axis, struct crossover_result *ret)
{
    char path[64];
    struct error error;
    const char *const scripts[] = {first, second};
    const struct crossover_ways ways = {.time = race_time, .owner = race};
    for (int way = 0; way < 2; way++) {
        snprintf(path, sizeof path, "lua/%s.lua", scripts[way]);
        core_lua_file(path, race->spec.nodes, 1, &race->plan[way]);
    }
    assert_ok(crossover_find(axis, &ways, ret, &error), &error);
    for (int way = 0; way < 2; way++)
        plan_free(&race->plan[way]);
}

static const struct crossover_axis sizes = {.from = 8, .to = 4294967296.0, .factor = 2};

/* Eight ranks, x seconds a byte: recursive doubling takes 3 (6 us + S x), ring 14 (6 us + S/8 x).
 *   18 us + 3 S x = 84 us + 1.75 S x,  so  S = 66 us / (1.25 x)
 * with x = 1/25e9 + 2/31.5e9 = 1.034921e-10 s: S = 510184 B. There both take
 * 18 us + 3 * 66/1.25 us = 176.4 us. */
static void recursive_doubling_against_ring(void **state)
{
    (void)state;
    struct race race = {.spec = worked(8), .mechanism = {"gdr", "gdr"}};
    struct crossover_result found;
    run_race(&race, "recursive_doubling", "ring", &sizes, &found);
    assert_int_equal(found.crossing_count, 1);
    const struct crossover *crossing = &found.crossings[0];
    assert_int_equal(crossing->kind, CROSSOVER_ZERO);
    assert_near(crossing->at.x, 510184, 1e-3);
    assert_near(crossing->at.x, 66e-6 / (1.25 * PER_B_S), 1e-6);
    assert_near(crossing->at.time_s[0], 176.4e-6, 1e-6);
    assert_near(crossing->at.time_s[1], 176.4e-6, 1e-6);
    assert_int_equal(crossing->before->winner, CROSSOVER_FIRST);
    assert_int_equal(crossing->after->winner, CROSSOVER_SECOND);
    crossover_free(&found);
}

/* Recursive doubling beats ring iff n b (lg p - 2(p-1)/p) < a (2(p-1) - lg p). With two ranks the
 * left side is n b 0 and the right side a: always, by a. */
static void recursive_doubling_against_ring_for_any_p(void **state)
{
    (void)state;
    for (uint32_t p = 2, lg = 1; p <= 64; p *= 2, lg++) {
        struct race race = {.spec = worked(p), .mechanism = {"gdr", "gdr"}};
        struct crossover_result found;
        run_race(&race, "recursive_doubling", "ring", &sizes, &found);
        assert_int_equal(found.points[0].winner, CROSSOVER_FIRST);
        assert_int_equal(found.crossing_count, p > 2 ? 1 : 0);
        double bytes = lg - 2.0 * (p - 1) / p, steps = 2.0 * (p - 1) - lg;
        if (p > 2)
            assert_near(found.crossings[0].at.x, STEP_S * steps / (PER_B_S * bytes), 1e-5);
        crossover_free(&found);
    }
}

/* As few bytes as the ring, and 2(p-1) - 2 lg p = 8 steps fewer with eight ranks. */
static void halving_doubling_always_beats_ring(void **state)
{
    (void)state;
    struct race race = {.spec = worked(8), .mechanism = {"gdr", "gdr"}};
    struct crossover_result found;
    run_race(&race, "halving_doubling", "ring", &(struct crossover_axis){8, 1e7, 2, 0, false},
             &found);
    assert_int_equal(found.crossing_count, 0);
    for (size_t i = 0; i < found.point_count; i++) {
        const struct crossover_point *point = &found.points[i];
        assert_int_equal(point->winner, CROSSOVER_FIRST);
        assert_near(point->time_s[1] - point->time_s[0], (14 - 6) * STEP_S, 1e-6);
    }
    crossover_free(&found);
}

/* Software and switch for nothing: ring takes 2(n-1)/n S (1/NET + 2/PCIE), SHARP
 * 2 S (1/PCIE + 1/NET). With r = PCIE/NET, ring wins where 7/8 (r + 2) < 1 + r, that is r > 6 =
 * n - 2. PCIE = 31.5 GB/s: the rails are at 5.25 GB/s = 42 Gb/s, and both take
 * 2 S 7 / 31.5e9 s = 28.4444 ms for 64 MB. */
static void ring_against_sharp(void **state)
{
    (void)state;
    const struct crossover_axis rates = {.from = 10e9 / 8, .to = 1600e9 / 8, .factor = 2};
    struct race race = {.spec = worked(8), .mechanism = {"gdr", "sharp"}, .size_B = 64e6};
    race.spec.step_s = race.spec.reduce_s = 0;
    struct crossover_result found;
    run_race(&race, "ring", "sharp", &rates, &found);
    assert_int_equal(found.crossing_count, 1);
    assert_near(found.crossings[0].at.x, 5.25e9, 1e-3);
    assert_near(found.crossings[0].at.x, 31.5e9 / 6, 1e-6);
    assert_near(found.crossings[0].at.time_s[0], 128e6 * 7 / 31.5e9, 1e-6);
    assert_int_equal(found.crossings[0].before->winner, CROSSOVER_FIRST);
    assert_int_equal(found.crossings[0].after->winner, CROSSOVER_SECOND);
    crossover_free(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_zero_on_both_kinds_of_axis),
        cmocka_unit_test(the_grid_ends_where_asked),
        cmocka_unit_test(several_zeros_are_all_found),
        cmocka_unit_test(zeros_on_the_grid_are_zeros),
        cmocka_unit_test(a_touch_is_no_crossing),
        cmocka_unit_test(a_level_stretch_has_an_edge),
        cmocka_unit_test(a_jump_is_no_zero),
        cmocka_unit_test(a_jump_behind_the_grid_is_found),
        cmocka_unit_test(whole_numbers_are_bisected),
        cmocka_unit_test(a_refusal_leaves_the_bracket),
        cmocka_unit_test(errors_end_the_search),
        cmocka_unit_test(costs_are_those_of_the_textbook),
        cmocka_unit_test(a_fold_costs_two_whole_messages),
        cmocka_unit_test(identities_of_the_costs),
        cmocka_unit_test(recursive_doubling_against_ring),
        cmocka_unit_test(recursive_doubling_against_ring_for_any_p),
        cmocka_unit_test(halving_doubling_always_beats_ring),
        cmocka_unit_test(ring_against_sharp),
    };
    return cmocka_run_group_tests_name("crossover", tests, NULL, NULL);
}
