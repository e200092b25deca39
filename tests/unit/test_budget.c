/* test_budget.c: a run that takes more events than engine.event_limit is refused, with what it
 * would take; one that shortcuts bring below it is not; the watch is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

struct told {
    size_t times;
    double share;
    uint64_t events;
};

static void tell(void *context, const struct engine_job *job, double share, uint64_t events)
{
    struct told *told = context;
    (void)job;
    assert_true(share >= told->share && share <= 1 && events >= told->events);
    *told = (struct told){told->times + 1, share, events};
}

/* A ring of 16 over GPUDirect (one stage): 16 ranks x 30 steps = 480 transfers. */
static enum status run_ring(double limit, enum walk_kind walk, double slices, struct told *told,
                            struct error *error)
{
    struct machine machine;
    struct routes routes;
    struct plan plan;
    struct ledger ledger;
    const struct core_spec spec = {
        .nodes = 16, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e6 / slices};
    const struct engine_watch watch = {tell, told};
    core_lua_file("lua/ring.lua", 16, 1, &plan);
    core_machine(&spec, &machine);
    core_set(&machine.engine, PARAM_ENGINE_EVENT_LIMIT, limit);
    assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), error), error);
    const struct engine_job job = {.plan = &plan,
                                   .routes = &routes,
                                   .size_B = 16e6,
                                   .accounting = ACCOUNTING_PIPELINED,
                                   .walk = walk,
                                   .watch = &watch};
    enum status status = engine_run(&job, &ledger, error);
    if (!status)
        ledger_free(&ledger);
    routes_free(&routes);
    plan_free(&plan);
    machine_free(&machine);
    return status;
}

static void too_long_is_refused(void **state)
{
    (void)state;
    struct error error;
    struct told told = {0};
    /* 480 transfers of 10 slices, one event each: 4800 */
    assert_ok(run_ring(5000, WALK_QUEUE, 10, &told, &error), &error);
    assert_int_equal(run_ring(1000, WALK_QUEUE, 10, &told, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "about 4.8e+03 events"));
    assert_non_null(strstr(error.message, "engine.event_limit = 1e+03"));
    assert_non_null(strstr(error.hint, "--set engine.event_limit"));
    assert_int_equal(run_ring(1000, WALK_ORDER, 10, &told, &error), STATUS_OK); /* 300 of 16 */
    assert_int_equal(run_ring(1000, WALK_AUTO, 10, &told, &error), STATUS_OK);
    assert_int_equal(told.times, 0);
}

static void the_watch_is_told(void **state)
{
    (void)state;
    struct error error;
    struct told told = {0};
    assert_ok(run_ring(1e9, WALK_QUEUE, 1250, &told, &error), &error); /* 600000 events */
    assert_int_equal(told.times, 3); /* at 2^18, at 2^19, and the end */
    assert_int_equal(told.events, 600000);
    assert_true(told.share >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_long_is_refused),
        cmocka_unit_test(the_watch_is_told),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
