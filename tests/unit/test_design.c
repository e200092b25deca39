/* test_design.c: the points of a sweep: grid, samples, shards. */
#include "sim/study/design.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* 2 x 3: the last axis changes fastest. */
static void grid_in_order(void **state)
{
    (void)state;
    const struct design_axis axes[] = {{.count = 2}, {.count = 3}};
    struct design design;
    struct design_value at[2];
    assert_int_equal(design_init(&design, axes, 2, DESIGN_GRID, 0, 0, NULL), STATUS_OK);
    assert_int_equal(design.points, 6);
    for (uint64_t p = 0; p < 6; p++) {
        design_at(&design, p, at);
        assert_int_equal(at[0].index, p / 3);
        assert_int_equal(at[1].index, p % 3);
    }
    design_free(&design);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Latin: of 100 samples of 0..100, one lies in each part 0..1, 1..2, ... of both ranges, and the
 * ranges are not in step. The same seed gives the same points, another one others. */
static void latin_uses_each_part_once(void **state)
{
    (void)state;
    const struct design_axis axes[] = {{.range = true, .low = 0, .high = 100},
                                       {.count = 2},
                                       {.range = true, .low = 0, .high = 100}};
    struct design design, again, other;
    double drawn[2][100];
    struct design_value at[3], same[3], different[3];
    int in_step = 0, differ = 0;
    assert_int_equal(design_init(&design, axes, 3, DESIGN_LATIN, 100, 7, NULL), STATUS_OK);
    assert_int_equal(design_init(&again, axes, 3, DESIGN_LATIN, 100, 7, NULL), STATUS_OK);
    assert_int_equal(design_init(&other, axes, 3, DESIGN_LATIN, 100, 8, NULL), STATUS_OK);
    assert_int_equal(design.points, 200);
    for (uint64_t p = 0; p < 200; p++) {
        design_at(&design, p, at);
        design_at(&again, p, same);
        design_at(&other, p, different);
        assert_int_equal(at[1].index, p % 2); /* each sample is crossed with the grid */
        assert_true(at[0].number == same[0].number && at[2].number == same[2].number);
        differ += at[0].number != different[0].number;
        drawn[0][p / 2] = at[0].number;
        drawn[1][p / 2] = at[2].number;
        in_step += floor(at[0].number) == floor(at[2].number);
    }
    assert_true(differ > 150);
    assert_true(in_step < 20); /* 2 expected of 200 */
    for (int range = 0; range < 2; range++) {
        qsort(drawn[range], 100, sizeof drawn[range][0], compare);
        for (int i = 0; i < 100; i++)
            assert_int_equal((int)floor(drawn[range][i]), i);
    }
    design_free(&design);
    design_free(&again);
    design_free(&other);
}

/* Sobol's first points in two dimensions: (1/2, 1/2), (3/4, 1/4), (1/4, 3/4). On a logarithmic axis
 * from 1 to 16, 1/2 is 4, 3/4 is 8, 1/4 is 2; of whole numbers 1..4 they are 3, 4 and 2. */
static void sobol_fills_evenly(void **state)
{
    (void)state;
    const struct design_axis axes[] = {{.range = true, .low = 1, .high = 16, .logarithmic = true},
                                       {.range = true, .low = 1, .high = 4, .whole = true}};
    static const double wanted[3][2] = {{4, 3}, {8, 2}, {2, 4}};
    struct design design;
    struct design_value at[2];
    assert_int_equal(design_init(&design, axes, 2, DESIGN_SOBOL, 3, 0, NULL), STATUS_OK);
    for (uint64_t p = 0; p < 3; p++) {
        design_at(&design, p, at);
        assert_true(fabs(at[0].number - wanted[p][0]) < 1e-12);
        assert_true(at[1].number == wanted[p][1]);
    }
    design_free(&design);
}

static void refuses(void **state)
{
    (void)state;
    struct design_axis axes[41] = {{.range = true, .low = 0, .high = 1}};
    struct design design;
    struct error error;
    assert_int_equal(design_init(&design, axes, 1, DESIGN_GRID, 0, 0, &error), STATUS_INPUT);
    assert_non_null(strstr(error.hint, "--lhs"));
    for (int i = 0; i < 41; i++)
        axes[i] = axes[0];
    assert_int_equal(design_init(&design, axes, 41, DESIGN_SOBOL, 10, 0, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "at most 40"));
    for (int i = 0; i < 41; i++)
        axes[i] = (struct design_axis){.count = 1000};
    assert_int_equal(design_init(&design, axes, 41, DESIGN_GRID, 0, 0, &error), STATUS_INPUT);
}

/* Every point is in exactly one shard, in order, and shards differ by at most one run. */
static void shards_share_out(void **state)
{
    (void)state;
    for (uint64_t points = 0; points < 3000; points = points * 2 + 1)
        for (uint64_t of = 1; of < 20; of += 3) {
            unsigned char *seen = calloc(points + 1, 1);
            for (uint64_t number = 1; number <= of; number++) {
                struct shard shard = shard_make(points, number, of);
                assert_true(shard.count <= points / of + shard.run);
                for (uint64_t i = 0; i < shard.count; i++) {
                    uint64_t point = shard_point(&shard, i);
                    assert_true(point < points && !seen[point]);
                    assert_true(i == 0 || point > shard_point(&shard, i - 1));
                    seen[point] = 1;
                }
            }
            for (uint64_t p = 0; p < points; p++)
                assert_true(seen[p]);
            free(seen);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_in_order),      cmocka_unit_test(latin_uses_each_part_once),
        cmocka_unit_test(sobol_fills_evenly), cmocka_unit_test(refuses),
        cmocka_unit_test(shards_share_out),
    };
    return cmocka_run_group_tests_name("design", tests, NULL, NULL);
}
