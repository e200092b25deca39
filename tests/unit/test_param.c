/* test_param.c: the parameter table is consistent, and values keep where they came from. */
#include "sim/core/param.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core/units.h"
#include "tests/unit/help_core.h"

static void complain_about(size_t id, const char *what)
{
    print_error("parameter %s of %s: %s\n", param_info((enum param_id)id)->name,
                param_kind_name(param_info((enum param_id)id)->kind), what);
    fail();
}

static void defaults_are_in_range(void **state)
{
    (void)state;
    for (size_t id = 0; id < PARAM_COUNT; id++) {
        const struct param_info *info = param_info((enum param_id)id);
        if (!(info->minimum <= info->maximum))
            complain_about(id, "the range is empty");
        bool unlimited = isinf(info->fallback) && info->fallback > 0 &&
                         (info->dimension == DIM_RATE || info->dimension == DIM_BYTES);
        if (!isnan(info->fallback) && !unlimited &&
            (info->fallback < info->minimum || info->fallback > info->maximum))
            complain_about(id, "the default is out of range");
        if (info->dimension != DIM_NUMBER && info->minimum < 0)
            complain_about(id, "only plain numbers may be negative");
        if (info->dimension == DIM_BOOL && (info->minimum < 0 || info->maximum > 1))
            complain_about(id, "yes or no is 0 or 1");
        if (info->dimension == DIM_FRACTION && info->maximum > 1)
            complain_about(id, "a fraction is at most 1");
        if (info->dimension == DIM_COUNT && !isnan(info->fallback) &&
            floor(info->fallback) < info->fallback)
            complain_about(id, "a count is whole");
    }
}

static void each_default_has_a_source(void **state)
{
    (void)state;
    for (size_t id = 0; id < PARAM_COUNT; id++) {
        const struct param_info *info = param_info((enum param_id)id);
        if (isnan(info->fallback) != (info->source[0] == '\0'))
            complain_about(id, "a default has a source; what must be given has none");
        if (!info->help[0])
            complain_about(id, "no help");
        if (!info->name[0] ||
            strspn(info->name, "abcdefghijklmnopqrstuvwxyz0123456789_") != strlen(info->name))
            complain_about(id, "a name is in lower case");
    }
}

/* param_range finds every row exactly once, and rows of one kind stand together. */
static void rows_of_a_kind_stand_together(void **state)
{
    (void)state;
    size_t total = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        enum param_id first;
        size_t count;
        param_range((enum param_kind)kind, &first, &count);
        assert_true(count > 0 && count <= PARAM_MAX_PER_KIND);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(param_info((enum param_id)(first + i))->kind, kind);
            for (size_t j = 0; j < i; j++)
                assert_string_not_equal(param_info((enum param_id)(first + i))->name,
                                        param_info((enum param_id)(first + j))->name);
        }
        total += count;
        for (int other = 0; other < kind; other++)
            assert_string_not_equal(param_kind_name((enum param_kind)kind),
                                    param_kind_name((enum param_kind)other));
    }
    assert_int_equal(total, PARAM_COUNT);
}

/* Each default can be printed and read back, as explain and --set do. */
static void defaults_survive_printing(void **state)
{
    (void)state;
    for (size_t id = 0; id < PARAM_COUNT; id++) {
        const struct param_info *info = param_info((enum param_id)id);
        char text[UNITS_TEXT_MAX];
        double value;
        struct error error;
        if (isnan(info->fallback))
            continue;
        param_format((enum param_id)id, info->fallback, text, sizeof text);
        if (param_parse((enum param_id)id, text, strlen(text), &value, &error))
            complain_about(id, error.message);
        if (isinf(info->fallback))
            assert_true(isinf(value));
        else
            assert_near(value, info->fallback, 1e-6);
    }
}

static void values_start_at_their_defaults(void **state)
{
    (void)state;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        struct params params;
        enum param_id first;
        size_t count;
        params_init(&params, (enum param_kind)kind);
        param_range((enum param_kind)kind, &first, &count);
        for (size_t i = 0; i < count; i++) {
            enum param_id id = (enum param_id)(first + i);
            double fallback = param_info(id)->fallback, value = param_get(&params, id);
            assert_true(param_is_set(&params, id) == !isnan(fallback));
            assert_memory_equal(&value, &fallback, sizeof value);
            assert_int_equal(param_origin(&params, id)->kind, ORIGIN_DEFAULT);
        }
    }
}

static void a_value_keeps_its_origin(void **state)
{
    (void)state;
    struct params params;
    struct origin origin = {.kind = ORIGIN_USER, .file = "a.yaml", .line = 12, .source = "sheet"};
    params_init(&params, KIND_NIC);
    assert_false(param_is_set(&params, PARAM_NIC_RATE));
    param_set(&params, PARAM_NIC_RATE, 50e9, origin);
    assert_true(param_is_set(&params, PARAM_NIC_RATE));
    assert_near(param_get(&params, PARAM_NIC_RATE), 50e9, 0);
    const struct origin *kept = param_origin(&params, PARAM_NIC_RATE);
    assert_int_equal(kept->kind, ORIGIN_USER);
    assert_string_equal(kept->file, "a.yaml");
    assert_int_equal(kept->line, 12);
    assert_string_equal(kept->source, "sheet");
    /* its neighbours are as they were */
    assert_near(param_get(&params, PARAM_NIC_EFFICIENCY),
                param_info(PARAM_NIC_EFFICIENCY)->fallback, 0);
    assert_int_equal(param_origin(&params, PARAM_NIC_EFFICIENCY)->kind, ORIGIN_DEFAULT);
    assert_string_equal(origin_kind_name(ORIGIN_DEFAULT), "default");
    assert_string_equal(origin_kind_name(ORIGIN_SET), "--set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_in_range),
        cmocka_unit_test(each_default_has_a_source),
        cmocka_unit_test(rows_of_a_kind_stand_together),
        cmocka_unit_test(defaults_survive_printing),
        cmocka_unit_test(values_start_at_their_defaults),
        cmocka_unit_test(a_value_keeps_its_origin),
    };
    return cmocka_run_group_tests_name("param", tests, NULL, NULL);
}
