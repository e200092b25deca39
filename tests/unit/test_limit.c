/* test_limit.c: what limits a run, in words. See sim/report/limit.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/report/limit.h"
#include "tests/unit/help_core.h"

/* Two nodes of two GPUs, each with a switch and a NIC of its own; no run, but a ledger by hand. */
struct fixture {
    struct machine machine;
    struct routes routes;
    struct ledger ledger;
};

static void open(struct fixture *f)
{
    static const struct core_spec spec = {
        .nodes = 2, .gpus = 2, .own_nics = true, .pcie_Bps = 20e9, .nic_Bps = 10e9};
    struct error error;
    core_machine(&spec, &f->machine);
    assert_ok(routes_init(&f->routes, &f->machine, mechanism_find("gdr"), &error), &error);
    assert_ok(ledger_init(&f->ledger, &f->routes, &error), &error);
    f->ledger.traced = true;
    f->ledger.total_ps = 1000;
}

static void close(struct fixture *f)
{
    ledger_free(&f->ledger);
    routes_free(&f->routes);
    machine_free(&f->machine);
}

static void took(struct fixture *f, const char *resource, int64_t busy_ps, int64_t critical_ps)
{
    size_t i = core_resource(&f->machine, resource);
    f->ledger.resources[i].busy_most_ps = busy_ps;
    f->ledger.critical[i] = critical_ps;
}

static void expect(const struct fixture *f, const char *name, int64_t critical_ps)
{
    char buf[LIMIT_NAME_MAX];
    int64_t actual_ps;
    assert_string_equal(limit_of(&f->ledger, &f->machine, buf, &actual_ps), name);
    assert_int_equal(actual_ps, critical_ps);
}

/* 1 % apart is equal, 1.1 % is not. */
static void equals_are_named_together(void **state)
{
    (void)state;
    struct fixture f;
    open(&f);
    took(&f, "nic0 wire tx", 900, 0);
    took(&f, "nic1 wire tx", 909, 900);
    expect(&f, "wire tx of each of 2 NICs (nic0, nic1)", 900);
    took(&f, "nic1 wire tx", 910, 900);
    expect(&f, "nic1 wire tx", 900);
    took(&f, "nic1 wire tx", 0, 0);
    took(&f, "gpu0 -> sw0", 950, 500);
    took(&f, "gpu1 -> sw1", 950, 450);
    expect(&f, "each of 2 links (gpu0 -> sw0, gpu1 -> sw1)", 950);
    close(&f);
}

/* Latencies hold 400 of 1000 ps, two NICs 300 each: together 600, more than anything else. Where
 * they are not equal, the latencies are the most of one thing. */
static void equals_count_together(void **state)
{
    (void)state;
    struct fixture f;
    open(&f);
    f.ledger.critical[f.ledger.resource_count + CATEGORY_WIRE_LATENCY] = 400;
    took(&f, "nic0 wire tx", 500, 300);
    took(&f, "nic1 wire tx", 500, 300);
    expect(&f, "wire tx of each of 2 NICs (nic0, nic1)", 600);
    took(&f, "nic1 wire tx", 400, 300);
    expect(&f, "wire and switch latency", 400);
    f.ledger.traced = false; /* then the busiest, whatever the path was */
    expect(&f, "nic0 wire tx", 0);
    close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_are_named_together),
        cmocka_unit_test(equals_count_together),
    };
    return cmocka_run_group_tests_name("limit", tests, NULL, NULL);
}
