/* test_obey_run.c: what a run obeys: redirects load the uplink, ceilings and duplex hold, detours
 * pass what they pass. Which way is taken: test_obey.c. Machines are those of test_resolver.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ACS control bits (PCIe base specification, ACS control register). */
enum { SV = 0x01, TB = 0x02, RR = 0x04, CR = 0x08, UF = 0x10, EC = 0x20, DT = 0x40 };

static const double room_B = 268435456; /* what a test moves; BAR1 must hold it */

/* Run edges on a machine of core_rig with all links and NICs at 10 GB/s; bytes on a resource of all
 * nodes. */
static int64_t run(const struct core_change *changes, size_t count, const char *mechanism,
                   const struct plan_edge *edges, size_t edge_count, double size_B,
                   const char *resource, double *ret_bytes)
{
    struct machine machine;
    struct ledger ledger;
    struct plan plan;
    core_rig(&machine);
    for (size_t i = 0; i < machine.node.link_count; i++)
        if (machine.node.links[i].kind == LINK_PCIE)
            core_set(&machine.node.links[i].params, PARAM_PCIE_RATE, 10e9);
    core_set(core_device(&machine, "nic0"), PARAM_NIC_RATE, 10e9);
    core_set(core_device(&machine, "nic1"), PARAM_NIC_RATE, 10e9);
    for (size_t i = 0; i < count; i++)
        core_change(&machine, &changes[i]);
    core_finish(&machine);
    core_edges(8, 2, edges, edge_count, &plan);
    core_run(&machine, &plan, mechanism, ACCOUNTING_PIPELINED, size_B, &ledger);
    if (resource)
        *ret_bytes = ledger.resources[core_resource(&machine, resource)].bytes;
    int64_t total = ledger.total_ps;
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
    return total;
}

/* gpu0 of node 0 and gpu0 of node 1 send each other 256 MiB at once. Straight, each link carries
 * one of the two: 268.4 MB / 10 GB/s = 26.84 ms. Redirected, at each node what goes out passes the
 * uplink up and down, and so does what comes in: 2 x 268.4 MB in each direction, 53.69 ms. One
 * direction alone is as fast as before. */
static void redirect_halves_both_directions_at_once(void **state)
{
    (void)state;
    const struct core_change change = {PARAM_PCIE_ACS, RR, "sw0", "gpu0"};
    const struct plan_edge both[] = {
        {.from = 0, .to = 4, .chunk = 0}, {.from = 4, .to = 0, .chunk = 1}, CORE_STEP_END};
    const struct plan_edge one[] = {{.from = 0, .to = 4, .chunk = 0}, CORE_STEP_END};
    const double S = 2 * room_B, c = room_B; /* two chunks */
    double bytes;
    assert_near((double)run(NULL, 0, "gdr", both, 3, S, "sw0 -> cpu0", &bytes), c / 10e9 * 1e12,
                0.01);
    assert_float_equal(bytes, 0, 0);
    assert_near((double)run(&change, 1, "gdr", both, 3, S, "sw0 -> cpu0", &bytes),
                2 * c / 10e9 * 1e12, 0.03);
    assert_near(bytes, 2 * 2 * c, 1e-12); /* two nodes, out and in */
    run(&change, 1, "gdr", both, 3, S, "cpu0 -> sw0", &bytes);
    assert_near(bytes, 2 * 2 * c, 1e-12);
    run(&change, 1, "gdr", both, 3, S, "nic0 wire tx", &bytes);
    assert_near(bytes, 2 * c, 1e-12);
    run(&change, 1, "gdr", both, 3, S, "sw0 -> nic0", &bytes);
    assert_near(bytes, 2 * c, 1e-12);
    assert_near((double)run(&change, 1, "gdr", one, 2, S, NULL, NULL), c / 10e9 * 1e12, 0.01);
    /* the same between two GPUs of one switch */
    const struct plan_edge peers[] = {
        {.from = 0, .to = 1, .chunk = 0}, {.from = 1, .to = 0, .chunk = 1}, CORE_STEP_END};
    assert_near((double)run(NULL, 0, "p2p", peers, 3, S, NULL, NULL), c / 10e9 * 1e12, 0.01);
    assert_near((double)run(&change, 1, "p2p", peers, 3, S, NULL, NULL), 2 * c / 10e9 * 1e12, 0.03);
}

/* What a leg says it can do is what a long transfer gets, at both ends: 256 MiB at the rate of the
 * slowest leg, within 2 % for the first and last slices. */
static void limits_hold_in_a_run(void **state)
{
    (void)state;
    static const struct {
        struct core_change change[2];
        const char *mechanism;
        uint32_t from, to; /* 4 and more: the next node */
        double rate_Bps;
    } rows[] = {
        {{{PARAM_CPU_PEER_READ, 5e9, "cpu1", NULL}}, "gdr", 3, 4, 5e9},
        {{{PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}}, "gdr", 0, 7, 5e9},
        {{{PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}}, "p2p", 0, 2, 5e9},
        {{{PARAM_NIC_READS, 8, "nic0", NULL}}, "gdr", 0, 6, 8 * 512 / 0.9e-6},
        {{{PARAM_NIC_RELAXED_ORDERING, 0, "nic1", NULL},
          {PARAM_CPU_STRICT_ORDER, 0.4, "cpu1", NULL}},
         "gdr",
         0,
         7,
         0.4 * 10e9},
        {{{PARAM_PCIE_RATE, 3e9, "sw1", "gpu2"}}, "gdr", 0, 6, 3e9},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        const struct plan_edge edges[] = {{.from = rows[i].from, .to = rows[i].to}, CORE_STEP_END};
        double time_s = 1e-12 * (double)run(rows[i].change, rows[i].change[1].name ? 2 : 1,
                                            rows[i].mechanism, edges, 2, 2 * room_B, NULL, NULL);
        if (fabs(room_B / time_s / rows[i].rate_Bps - 1) > 0.02)
            print_error("row %zu: %.4g GB/s\n", i, room_B / time_s / 1e9);
        assert_near(room_B / time_s, rows[i].rate_Bps, 0.02);
    }
}

/* Both directions together get 2 x 0.58 of the rate; one alone all of it. */
static void duplex_bites_when_both_run(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_PCIE_DUPLEX, 0.58, "sw0", "nic0"}};
    const struct plan_edge both[] = {
        {.from = 0, .to = 4, .chunk = 0}, {.from = 4, .to = 0, .chunk = 1}, CORE_STEP_END};
    const struct plan_edge one[] = {{.from = 0, .to = 4, .chunk = 0}, CORE_STEP_END};
    const double S = 2 * room_B;
    assert_near((double)run(changes, 1, "gdr", one, 2, S, NULL, NULL), room_B / 10e9 * 1e12, 0.01);
    assert_near((double)run(changes, 1, "gdr", both, 3, S, NULL, NULL),
                room_B / (0.58 * 10e9) * 1e12, 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(redirect_halves_both_directions_at_once),
        cmocka_unit_test(limits_hold_in_a_run),
        cmocka_unit_test(duplex_bites_when_both_run),
    };
    return cmocka_run_group_tests_name("obey_run", tests, NULL, NULL);
}
