/* test_obey.c: what a route obeys: ACS, the IOMMU, who may be a peer, and which NIC is taken. What
 * that costs in a run: test_obey_run.c. Machines are those of test_resolver.c. */
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

enum { IOMMU_OFF, IOMMU_IDENTITY, IOMMU_TRANSLATING };
enum { SLOW, REFUSED, HANGS };

static const double link_Bps = 25986e6; /* Gen4 x16, MPS 256; to 4 digits */

/* ---- ACS ---------------------------------------------------------------------------------------
 */

static bool redirected(const struct route *route)
{
    for (size_t i = 0; i < route->leg_count; i++)
        if (route->legs[i].redirected)
            return true;
    return false;
}

/* Of one leg: how often it uses a resource of the rig, by name. */
static size_t uses_of(const struct route *route, size_t leg, const char *resource)
{
    struct machine machine;
    core_rig_changed(NULL, 0, &machine);
    size_t at = core_resource(&machine, resource), count = 0;
    for (size_t i = 0; i < route->legs[leg].use_count; i++)
        count += route->uses[route->legs[leg].first_use + i].resource == at;
    machine_free(&machine);
    return count;
}

static void acs_bits(void **state)
{
    (void)state;
    /* every combination of the seven bits, on the GPU's port and on the NIC's, of either end */
    static const char *const ports[][2] = {
        {"sw0", "gpu0"}, {"sw0", "nic0"}, {"sw1", "gpu2"}, {"sw1", "nic1"}};
    for (size_t p = 0; p < COUNT(ports); p++)
        for (int bits = 0; bits < 128; bits++) {
            const struct core_change change = {PARAM_PCIE_ACS, bits, ports[p][0], ports[p][1]};
            bool expected = bits & (RR | CR | EC);
            struct route route;
            core_rig_route(&change, 1, "gdr", "gpu0", "gpu2", false, &route);
            if (redirected(&route) != expected)
                print_error("bits %#x on %s - %s\n", (unsigned)bits, ports[p][0], ports[p][1]);
            assert_int_equal(redirected(&route), expected);
            assert_int_equal(core_verdict(&route, PRE_ACS) != NULL, expected);
            assert_int_equal(route.legs[0].redirected, expected && p < 2);
            assert_int_equal(route.legs[2].redirected, expected && p >= 2);
        }
}

/* Ports off the path, root ports, translated packets: nothing happens. */
static void acs_elsewhere_does_not_matter(void **state)
{
    (void)state;
    static const struct core_change off[] = {
        {PARAM_PCIE_ACS, 127, "sw0", "gpu1"},  {PARAM_PCIE_ACS, 127, "sw0", "nvme0"},
        {PARAM_PCIE_ACS, 127, "sw1", "nvme1"}, {PARAM_PCIE_ACS, 127, "sw2", "gpu3"},
        {PARAM_PCIE_ACS, 127, "cpu0", "sw0"},  {PARAM_PCIE_ACS, 127, "cpu1", "sw1"},
    };
    const struct core_change with_ats[] = {{PARAM_PCIE_ACS, 127, "sw0", "gpu0"},
                                           {PARAM_PCIE_ACS, 127, "sw1", "nic1"},
                                           {PARAM_STATE_ATS, 1, NULL, NULL}};
    struct route route;
    core_rig_route(off, COUNT(off), "gdr", "gpu0", "gpu2", false, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_false(redirected(&route));
    core_rig_route(with_ats, 3, "gdr", "gpu0", "gpu2", false, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_false(redirected(&route));
    /* root ports on a path through the root complex: a GPU and a NIC below one cpu */
    struct machine machine;
    struct error error;
    core_apart(PATH_PHB, DEVICE_NIC, &machine);
    core_set(&machine.state, PARAM_STATE_GDR_LEVEL, PATH_SYS);
    core_set(core_link_of(&machine, "cpu0", "gpu0"), PARAM_PCIE_ACS, 127);
    core_set(core_link_of(&machine, "cpu0", "far"), PARAM_PCIE_ACS, 127);
    core_finish(&machine);
    assert_ok(core_route(&machine, "gdr", "gpu0", "gpu0", false, &route, &error), &error);
    assert_int_equal(route.verdict_count, 0);
    assert_false(redirected(&route));
    machine_free(&machine);
    /* DMA to memory is no peer transfer */
    const struct core_change on = {PARAM_PCIE_ACS, 127, "sw0", "gpu0"};
    core_rig_route(&on, 1, "staged", "gpu0", "gpu2", false, &route);
    assert_false(redirected(&route));
}

/* Switches one below the other: the port that the packets turn at is the upper switch's. */
static void acs_on_a_port_between_switches(void **state)
{
    (void)state;
    struct machine machine;
    struct route route;
    struct error error;
    core_apart(PATH_PXB, DEVICE_NIC, &machine);
    core_set(core_link_of(&machine, "sw0", "sw1"), PARAM_PCIE_ACS, RR);
    core_finish(&machine);
    assert_ok(core_route(&machine, "gdr", "gpu0", "gpu0", false, &route, &error), &error);
    assert_non_null(core_verdict(&route, PRE_ACS));
    assert_true(route.legs[0].redirected);
    /* gpu0 -> sw0 -> cpu0 -> sw0 -> sw1 -> far: five links, the root complex, and read credits */
    assert_int_equal(route.legs[0].use_count, 5 + 1 + 1);
    machine_free(&machine);
}

/* A redirect climbs the uplink and comes down again: once each for every byte. The links of GPU and
 * NIC, and the wire, see what they saw before. */
static void redirect_loads_the_uplink_once_each_way(void **state)
{
    (void)state;
    const struct core_change change = {PARAM_PCIE_ACS, RR, "sw0", "gpu0"};
    static const struct {
        const char *resource;
        size_t straight, detour;
    } rows[] = {
        {"gpu0 -> sw0", 1, 1}, {"sw0 -> nic0", 1, 1},     {"sw0 -> cpu0", 0, 1},
        {"cpu0 -> sw0", 0, 1}, {"cpu0 peer reads", 0, 1}, {"cpu0 peer writes", 0, 0},
        {"sw0 -> gpu0", 0, 0}, {"nic0 -> sw0", 0, 0},     {"cpu0 DRAM", 0, 0},
    };
    struct route straight, detour;
    core_rig_route(NULL, 0, "gdr", "gpu0", "gpu2", false, &straight);
    core_rig_route(&change, 1, "gdr", "gpu0", "gpu2", false, &detour);
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (uses_of(&straight, 0, rows[i].resource) != rows[i].straight ||
            uses_of(&detour, 0, rows[i].resource) != rows[i].detour)
            print_error("%s\n", rows[i].resource);
        assert_int_equal(uses_of(&straight, 0, rows[i].resource), rows[i].straight);
        assert_int_equal(uses_of(&detour, 0, rows[i].resource), rows[i].detour);
    }
    /* the same for each of them: one wire, as before; one more pass of the switch and the turn */
    assert_int_equal(route_count_legs(&detour, LEG_CROSSING), 2);
    assert_int_equal(detour.legs[1].use_count, straight.legs[1].use_count);
    assert_near(detour.legs[0].latency_s - straight.legs[0].latency_s, 0.115e-6 + 0.3e-6, 1e-9);
    /* an uplink half as fast as the links halves the leg; a Gen3 x16 link carries 13.02 GB/s */
    const struct core_change narrow[] = {change, {PARAM_PCIE_RATE, 13e9, "cpu0", "sw0"}};
    core_rig_route(narrow, 2, "gdr", "gpu0", "gpu2", false, &detour);
    assert_near(detour.legs[0].rate_Bps, 13e9, 1e-12);
    assert_near(straight.legs[0].rate_Bps, link_Bps, 1e-4);
    /* and a root complex with a ceiling holds it to that */
    const struct core_change ceiling[] = {change, {PARAM_CPU_PEER_READ, 5e9, "cpu0", NULL}};
    core_rig_route(ceiling, 2, "gdr", "gpu0", "gpu2", false, &detour);
    assert_near(detour.legs[0].rate_Bps, 5e9, 1e-12);
}

/* The ceiling of a pair of devices is that of all lanes between them, at whichever end it stands
 * and however many slices are on their way. Four lanes of 64 MiB at 5 GB/s are 53.7 ms. */
static void ceilings_are_of_a_pair(void **state)
{
    (void)state;
    static const char text[] =
        "collective = 'broadcast' function plan(p) p:split(4) p:step(function()\n"
        "for i = 0, 3 do p:send{from = %d, to = %d, chunk = i, lane = i} end end) end";
    static const struct {
        enum param_id id;
        int from, to;
    } rows[] = {{PARAM_CPU_PEER_READ, 3, 4}, {PARAM_CPU_PEER_WRITE, 0, 7}};
    const double windows[] = {1, 2, 8, 64};
    for (size_t i = 0; i < COUNT(rows) * COUNT(windows); i++) {
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        char script[512];
        const struct core_change change = {rows[i % 2].id, 5e9, "cpu1", NULL};
        core_rig_changed(&change, 1, &machine);
        core_set(&machine.engine, PARAM_ENGINE_WINDOW, windows[i / 2]);
        snprintf(script, sizeof script, text, rows[i % 2].from, rows[i % 2].to);
        core_script(script, 8, 4, &plan);
        core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, 256 * 1048576.0, &ledger);
        assert_near((double)ledger.total_ps * 1e-12, 256 * 1048576.0 / 5e9, 0.02);
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* A redirected path is judged by the way that its packets go: up to cpu0 and down again. Without
 * the redirect cpu0 and its uplink are not on it. */
static void a_redirect_is_judged_by_its_detour(void **state)
{
    (void)state;
    static const struct {
        struct core_change change;
        enum precondition what;
        const char *taken;
    } rows[] = {
        {{PARAM_CPU_PEER_ALLOWED, 0, "cpu0", NULL}, PRE_ROOT_COMPLEX, "host"},
        {{PARAM_CPU_PEER_READ, 5e9, "cpu0", NULL}, PRE_ROOT_CEILING, "gdr"},
        {{PARAM_PCIE_GEN, 1, "cpu0", "sw0"}, PRE_LINK_TRAINED, "gdr"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_change changes[] = {rows[i].change,
                                        {PARAM_PCIE_GEN_MAX, 4, "cpu0", "sw0"},
                                        {PARAM_PCIE_ACS, RR, "sw0", "gpu0"}};
        struct route route;
        core_rig_route(changes, 2, "gdr", "gpu0", "gpu2", false, &route);
        assert_null(core_verdict(&route, rows[i].what));
        core_rig_route(changes, 3, "gdr", "gpu0", "gpu2", false, &route);
        assert_non_null(core_verdict(&route, rows[i].what));
        assert_string_equal(route.taken->name, rows[i].taken);
    }
    /* the receiver writes in order where its packets pass the root complex, and only there */
    const struct core_change ordered[] = {{PARAM_NIC_RELAXED_ORDERING, 0, "nic1", NULL},
                                          {PARAM_CPU_STRICT_ORDER, 0.4, "cpu1", NULL},
                                          {PARAM_PCIE_ACS, RR, "sw1", "gpu2"}};
    struct route route;
    core_rig_route(ordered, 2, "gdr", "gpu0", "gpu2", false, &route);
    assert_null(core_verdict(&route, PRE_RELAXED_ORDERING));
    core_rig_route(ordered, 3, "gdr", "gpu0", "gpu2", false, &route);
    assert_non_null(core_verdict(&route, PRE_RELAXED_ORDERING));
    /* what climbs to the root complex anyway is not redirected */
    const struct core_change climbs = {PARAM_PCIE_ACS, RR, "sw2", "gpu3"};
    core_rig_route(&climbs, 1, "gdr", "gpu3", "gpu0", false, &route);
    assert_null(core_verdict(&route, PRE_ACS));
}

/* Reading a file writes to the GPU, writing one reads it. gpu3 and nvme1 meet in cpu1. */
static void a_file_is_read_or_written(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        const bool reads_file = i % 2, limits_reads = i / 2;
        const struct core_change change = {
            limits_reads ? PARAM_CPU_PEER_READ : PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL};
        struct route route;
        core_rig_route(&change, 1, "gds", reads_file ? "nvme1" : "gpu3",
                       reads_file ? "gpu3" : "nvme1", true, &route);
        bool noted = core_verdict(&route, PRE_ROOT_CEILING) != NULL;
        assert_int_equal(noted, reads_file != limits_reads);
    }
}

/* A path that is not tried cannot hang. */
static void what_is_not_tried_cannot_hang(void **state)
{
    (void)state;
    const struct core_change p2p[] = {{PARAM_STATE_P2P_LEVEL, PATH_LOC, NULL, NULL},
                                      {PARAM_PCIE_ACS, RR, "sw0", "gpu0"},
                                      {PARAM_STATE_ACS_OUTCOME, HANGS, NULL, NULL}};
    const struct core_change gds[] = {{PARAM_STATE_GDS_ALIGNED, 0, NULL, NULL}, p2p[1], p2p[2]};
    struct route route;
    core_rig_route(p2p, 3, "p2p", "gpu0", "gpu1", true, &route);
    assert_string_equal(route.taken->name, "host");
    assert_null(core_verdict(&route, PRE_ACS));
    core_rig_route(gds, 3, "gds", "nvme0", "gpu0", true, &route);
    assert_string_equal(route.taken->name, "gds_compat");
    assert_null(core_verdict(&route, PRE_ACS));
}

/* SHARP's NIC needs what any NIC needs; without it, host memory lies between. */
static void a_reduction_needs_gpudirect_too(void **state)
{
    (void)state;
    const struct core_change off[] = {{PARAM_STATE_PEERMEM, 0, NULL, NULL},
                                      {PARAM_STATE_DMABUF, 0, NULL, NULL}};
    struct route route;
    for (int up = 0; up < 2; up++) {
        const char *src = up ? "gpu0" : NULL, *dst = up ? NULL : "gpu0";
        core_rig_route(off, 0, "sharp", src, dst, false, &route);
        assert_int_equal(route.stage_count, 1);
        assert_int_equal(route.verdict_count, 0);
        assert_int_equal(route.leg_count, 2); /* NIC and wire */
        core_rig_route(off, 2, "sharp", src, dst, false, &route);
        assert_int_equal(route.stage_count, 2);
        assert_int_equal(route.leg_count, 3); /* and GPU to or from host memory */
        assert_non_null(core_verdict(&route, PRE_PEER_MODULE));
    }
    /* and hangs like any other */
    const struct core_change hangs[] = {{PARAM_PCIE_ACS, RR, "sw0", "gpu0"},
                                        {PARAM_STATE_ACS_OUTCOME, HANGS, NULL, NULL}};
    struct machine machine;
    struct error error;
    core_rig_changed(hangs, 2, &machine);
    assert_int_equal(core_route(&machine, "sharp", "gpu0", NULL, false, &route, &error),
                     STATUS_FAILED);
    assert_non_null(strstr(error.message, "the transfer hangs: ACS on the port"));
    machine_free(&machine);
}

static void acs_outcomes(void **state)
{
    (void)state;
    static const char *const ways[][4] = {
        {"gdr", "gpu0", "gpu2", "host"},
        {"p2p", "gpu0", "gpu1", "host"},
        {"gds", "nvme0", "gpu0", "gds_compat"},
    };
    for (size_t w = 0; w < COUNT(ways); w++)
        for (int what = SLOW; what <= HANGS; what++) {
            const struct core_change changes[] = {{PARAM_PCIE_ACS, RR, "sw0", "gpu0"},
                                                  {PARAM_STATE_ACS_OUTCOME, what, NULL, NULL}};
            struct machine machine;
            struct route route;
            struct error error = {.status = STATUS_OK};
            core_rig_changed(changes, 2, &machine);
            enum status status =
                core_route(&machine, ways[w][0], ways[w][1], ways[w][2], w > 0, &route, &error);
            const struct verdict_item *item = core_verdict(&route, PRE_ACS);
            assert_non_null(item);
            assert_int_equal(item->outcome, what == SLOW      ? OUTCOME_SLOWS
                                            : what == REFUSED ? OUTCOME_BREAKS
                                                              : OUTCOME_HANGS);
            if (what == HANGS) {
                assert_int_equal(status, STATUS_FAILED);
                assert_non_null(strstr(error.message, "hangs"));
            } else {
                assert_ok(status, &error);
                assert_string_equal(route.taken->name, what == SLOW ? ways[w][0] : ways[w][3]);
            }
            machine_free(&machine);
        }
}

/* Why it hangs must be said, whatever else is noted after it. */
static void a_hang_names_its_reason(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_PCIE_ACS, RR, "sw0", "gpu0"},
                                          {PARAM_STATE_ACS_OUTCOME, HANGS, NULL, NULL},
                                          {PARAM_PCIE_GEN_MAX, 5, "sw0", "nic0"}};
    struct machine machine;
    struct route route;
    struct error error = {.status = STATUS_OK};
    core_rig_changed(changes, 3, &machine);
    assert_int_equal(core_route(&machine, "gdr", "gpu0", "gpu2", false, &route, &error),
                     STATUS_FAILED);
    if (!strstr(error.message, "ACS"))
        print_error("%s\n", error.message);
    assert_non_null(strstr(error.message, "ACS"));
    machine_free(&machine);
}

/* ---- IOMMU -------------------------------------------------------------------------------------
 */

/* Off and identity change nothing. Translating: on bare metal bus addresses mean nothing to it, so
 * the peer path breaks; in a VM packets go up to it; with ATS devices bring translated addresses.
 */
static void iommu_states(void **state)
{
    (void)state;
    for (int iommu = IOMMU_OFF; iommu <= IOMMU_TRANSLATING; iommu++)
        for (int vm = 0; vm < 2; vm++)
            for (int ats = 0; ats < 2; ats++) {
                const struct core_change changes[] = {{PARAM_STATE_IOMMU, iommu, NULL, NULL},
                                                      {PARAM_STATE_VM, vm, NULL, NULL},
                                                      {PARAM_STATE_ATS, ats, NULL, NULL}};
                struct route gdr, p2p, staged;
                bool translates = iommu == IOMMU_TRANSLATING, bites = translates && !ats;
                core_rig_route(changes, 3, "gdr", "gpu0", "gpu2", false, &gdr);
                core_rig_route(changes, 3, "p2p", "gpu0", "gpu1", true, &p2p);
                core_rig_route(changes, 3, "staged", "gpu0", "gpu2", false, &staged);
                const struct route *both[2] = {&gdr, &p2p};
                for (int i = 0; i < 2; i++) {
                    assert_int_equal(core_verdict(both[i], PRE_IOMMU) != NULL, bites);
                    assert_int_equal(route_worst(both[i]), !bites ? OUTCOME_HOLDS
                                                           : vm   ? OUTCOME_SLOWS
                                                                  : OUTCOME_BREAKS);
                    assert_int_equal(both[i]->taken == both[i]->asked, !bites || vm);
                    assert_int_equal(redirected(both[i]), bites && vm);
                }
                /* DMA to memory stays possible, and is translated */
                assert_int_equal(staged.verdict_count, 0);
                size_t read_leg = 1, write_leg = 3; /* DRAM -> nic0, nic1 -> DRAM */
                assert_int_equal(uses_of(&staged, read_leg, "nic0 translated reads"), translates);
                assert_int_equal(uses_of(&staged, write_leg, "nic1 translated writes"), translates);
            }
}

/* 256 MiB in 64 KiB pages of which 64 are cached: 1 - 64 x 65536 / 268435456 = 0.984375 miss; each
 * walks 0.33 us: 0.32484 us more for the DMA. The rate: 44 reads of 512 B feed 25 GB/s over 0.9 us;
 * with the walk, 44 x 512 / 1.22484 us = 18.39 GB/s, but at most a fifth is lost: 20 GB/s. */
static void translation_costs_latency_and_rate(void **state)
{
    (void)state;
    const struct core_change on = {PARAM_STATE_IOMMU, IOMMU_TRANSLATING, NULL, NULL};
    struct route off, translated;
    core_rig_route(NULL, 0, "staged", "gpu0", "gpu2", false, &off);
    core_rig_route(&on, 1, "staged", "gpu0", "gpu2", false, &translated);
    assert_near(translated.legs[1].latency_s - off.legs[1].latency_s, 0.984375 * 0.33e-6, 1e-6);
    assert_near(translated.legs[1].rate_Bps, 20e9, 1e-3);
    assert_near(translated.legs[3].rate_Bps, 20e9, 1e-3);
    assert_near(off.legs[1].rate_Bps, link_Bps, 1e-4);
    assert_near(translated.legs[0].rate_Bps, off.legs[0].rate_Bps, 1e-12); /* no NIC in it */
}

/* ---- links -------------------------------------------------------------------------------------
 */

/* An uplink at Gen1 x16 (Gen4 could be): GPUDirect RDMA below the switch does not see it, staging
 * and what passes the root complex do. Gen1: 2.5 GT/s x 16 x 8/10 / 8 = 4 GB/s raw; less headers,
 * below. */
static void an_uplink_hurts_what_crosses_it(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_PCIE_GEN, 1, "cpu1", "sw1"},
                                          {PARAM_PCIE_GEN_MAX, 4, "cpu1", "sw1"}};
    static const struct {
        const char *mechanism, *src, *dst;
        bool same_node, crosses, noted;
    } rows[] = {
        {"gdr", "gpu0", "gpu2", false, false, false}, /* below sw0 and sw1 */
        {"gdr", "gpu2", "gpu0", false, false, false},
        {"gdr", "gpu3", "gpu0", false, true, true}, /* gpu3 - sw2 - cpu1 - sw1 - nic1 */
        {"gdr", "gpu0", "gpu3", false, true, true},
        {"p2p", "gpu0", "gpu1", true, false, false},
        {"p2p", "gpu0", "gpu2", true, true, true},
        {"p2p", "gpu0", "gpu3", true, false, false}, /* sw0 - cpu0 - cpu1 - sw2 */
        {"staged", "gpu0", "gpu2", false, true, false},
        {"staged", "gpu0", "gpu0", false, false, false},
        {"gds", "nvme1", "gpu2", true, false, false},
        {"gds", "nvme1", "gpu3", true, true, true},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct route good, bad;
        core_rig_route(NULL, 0, rows[i].mechanism, rows[i].src, rows[i].dst, rows[i].same_node,
                       &good);
        core_rig_route(changes, 2, rows[i].mechanism, rows[i].src, rows[i].dst, rows[i].same_node,
                       &bad);
        if ((core_slowest_Bps(&bad) < 4e9) != rows[i].crosses)
            print_error("row %zu: %g\n", i, core_slowest_Bps(&bad));
        assert_int_equal(core_slowest_Bps(&bad) < 4e9, rows[i].crosses);
        assert_int_equal(core_slowest_Bps(&bad) < core_slowest_Bps(&good), rows[i].crosses);
        assert_int_equal(core_verdict(&bad, PRE_LINK_TRAINED) != NULL, rows[i].noted);
    }
}

/* One bounce buffer in a node, in the memory of the source's socket: from socket to socket the
 * bytes pass the link between them, once. */
static void staging_passes_the_link_between_sockets(void **state)
{
    (void)state;
    static const struct {
        const char *src, *dst;
        size_t there, back;
    } rows[] = {
        {"gpu0", "gpu2", 1, 0}, {"gpu2", "gpu0", 0, 1}, {"gpu0", "gpu1", 0, 0},
        {"gpu2", "gpu3", 0, 0}, {"cpu1", "gpu0", 0, 1}, {"cpu0", "gpu0", 0, 0},
        {"gpu0", "cpu1", 1, 0}, {"gpu2", "cpu1", 0, 0},
    };
    static const char *const mechanisms[] = {"staged", "host", "pageable", "socket"};
    for (size_t m = 0; m < COUNT(mechanisms); m++)
        for (size_t i = 0; i < COUNT(rows); i++) {
            struct route route;
            size_t there = 0, back = 0;
            core_rig_route(NULL, 0, mechanisms[m], rows[i].src, rows[i].dst, true, &route);
            for (size_t leg = 0; leg < route.leg_count; leg++) {
                there += uses_of(&route, leg, "cpu0 -> cpu1");
                back += uses_of(&route, leg, "cpu1 -> cpu0");
            }
            if (there != rows[i].there || back != rows[i].back)
                print_error("%s %s -> %s\n", mechanisms[m], rows[i].src, rows[i].dst);
            assert_int_equal(there, rows[i].there);
            assert_int_equal(back, rows[i].back);
        }
}

/* ---- NICs are dealt out ------------------------------------------------------------------------
 */

static void switch_of(size_t gpus, size_t nics, struct machine *ret_machine)
{
    char name[MACHINE_NAME_LENGTH];
    struct machine *m = ret_machine;
    machine_init(m);
    m->node_count = 2;
    core_add(m, "cpu0", DEVICE_CPU);
    core_add(m, "sw0", DEVICE_PCIE_SWITCH);
    core_join(m, LINK_PCIE, "cpu0", "sw0");
    for (size_t i = 0; i < gpus + nics; i++) {
        bool gpu = i < gpus;
        snprintf(name, sizeof name, "%s%zu", gpu ? "gpu" : "nic", gpu ? i : i - gpus);
        struct params *params = core_add(m, name, gpu ? DEVICE_GPU : DEVICE_NIC);
        if (!gpu)
            core_set(params, PARAM_NIC_RATE, 25e9);
        core_join(m, LINK_PCIE, "sw0", name);
    }
    core_finish(m);
}

static void nics_are_dealt_out(void **state)
{
    (void)state;
    static const struct {
        size_t gpus, nics;
        uint32_t rails;
        int nic[4][4]; /* of each GPU: by rail */
    } rows[] = {
        {2, 2, 1, {{0, 0, 0, 0}, {1, 1, 1, 1}}},
        {2, 1, 1, {{0, 0, 0, 0}, {0, 0, 0, 0}}},
        {1, 4, 4, {{0, 1, 2, 3}}},
        {2, 4, 2, {{0, 1, 0, 1}, {2, 3, 2, 3}}},
        {4, 2, 1, {{0, 0, 0, 0}, {1, 1, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}}},
        {4, 4, 1, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct error error;
        switch_of(rows[i].gpus, rows[i].nics, &machine);
        assert_int_equal(machine_rails(&machine), rows[i].rails);
        for (size_t gpu = 0; gpu < rows[i].gpus; gpu++)
            for (uint32_t rail = 0; rail < 4; rail++) {
                struct route route;
                const struct endpoint end = {.kind = ENDPOINT_DEVICE,
                                             .device = machine.node.gpus[gpu]};
                const struct endpoints ends = {.src = end, .dst = end, .rail = rail};
                assert_ok(mechanism_route(mechanism_find("gdr"), &machine, &ends, &route, &error),
                          &error);
                if (route.nic[0] != rows[i].nic[gpu][rail])
                    print_error("%zu GPUs, %zu NICs: gpu%zu, rail %u has nic%u\n", rows[i].gpus,
                                rows[i].nics, gpu, rail, route.nic[0]);
                assert_int_equal(route.nic[0], rows[i].nic[gpu][rail]);
                assert_int_equal(route.nic[1], rows[i].nic[gpu][rail]);
            }
        machine_free(&machine);
    }
}

/* A GPU that shares no switch with a NIC takes the nearest one; each socket its own. */
static void the_nearest_nic_is_taken(void **state)
{
    (void)state;
    static const struct {
        const char *gpu;
        unsigned nic;
    } rows[] = {{"gpu0", 0}, {"gpu1", 0}, {"gpu2", 1}, {"gpu3", 1}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct route route;
        core_rig_route(NULL, 0, "gdr", rows[i].gpu, "gpu0", false, &route);
        assert_int_equal(route.nic[0], rows[i].nic);
        assert_int_equal(route.nic[1], 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acs_bits),
        cmocka_unit_test(acs_elsewhere_does_not_matter),
        cmocka_unit_test(acs_on_a_port_between_switches),
        cmocka_unit_test(redirect_loads_the_uplink_once_each_way),
        cmocka_unit_test(ceilings_are_of_a_pair),
        cmocka_unit_test(a_redirect_is_judged_by_its_detour),
        cmocka_unit_test(a_file_is_read_or_written),
        cmocka_unit_test(what_is_not_tried_cannot_hang),
        cmocka_unit_test(a_reduction_needs_gpudirect_too),
        cmocka_unit_test(acs_outcomes),
        cmocka_unit_test(a_hang_names_its_reason),
        cmocka_unit_test(iommu_states),
        cmocka_unit_test(translation_costs_latency_and_rate),
        cmocka_unit_test(an_uplink_hurts_what_crosses_it),
        cmocka_unit_test(staging_passes_the_link_between_sockets),
        cmocka_unit_test(nics_are_dealt_out),
        cmocka_unit_test(the_nearest_nic_is_taken),
    };
    return cmocka_run_group_tests_name("obey", tests, NULL, NULL);
}
