/* test_resolver.c: break one thing, and see what is noted and which way is taken instead.
 *
 * Machines are core_rig (help_core.h) where nothing stands in the way: Gen4 x16 links (25.99 GB/s),
 * NICs of 25 GB/s. GPUDirect RDMA from gpu0 to gpu2 of the next node reads below sw0 and writes
 * below sw1, so that the two ends can be spoilt apart; from and to gpu3 it passes cpu1.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* ACS control bits (PCIe base specification, ACS control register). */
enum { RR = 0x04 };

enum { IOMMU_OFF, IOMMU_IDENTITY, IOMMU_TRANSLATING };

/* ---- every precondition ------------------------------------------------------------------------
 */

/* What a route looks like from outside: crossings, wires, CPU copies and drives, stages. */
struct shape {
    size_t crossings, wires, copies, stages;
};

/* clang-format off */
#define HOST_REMOTE {4, 1, 0, 3} /* GPU -> DRAM | DRAM -> NIC -> wire -> NIC -> DRAM | DRAM -> GPU */
#define HOST_ONE_END {3, 1, 0, 2} /* GPU -> NIC -> wire -> NIC -> DRAM | DRAM -> GPU; or the sender's */
#define HOST_LOCAL {2, 0, 0, 2}  /* GPU -> DRAM | DRAM -> GPU */
#define GDR {2, 1, 0, 1}
#define P2P {1, 0, 0, 1}
#define COMPAT {2, 0, 1, 3} /* drive -> DRAM | page cache to pinned buffer | DRAM -> GPU */
#define GDS {1, 0, 0, 1}
/* clang-format on */

struct broken {
    enum precondition what;
    struct core_change change;
    const char *mechanism, *src, *dst;
    bool same_node;
    enum outcome outcome;
    const char *taken;
    struct shape shape;
};

static const double room_B = 268435456; /* the working set; BAR1 must hold it */

/* clang-format off */
static const struct broken broken[] = {
    /* what a registration needs: state, so both ends at once */
    {PRE_CUDA_BUFFER, {PARAM_STATE_CUDA_BUFFER, 0, NULL, NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_REMOTE},
    {PRE_CUDA_BUFFER, {PARAM_STATE_CUDA_BUFFER, 0, NULL, NULL}, "async", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_REMOTE},
    {PRE_PEER_MODULE, {PARAM_STATE_PEERMEM, 0, NULL, NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_REMOTE},
    {PRE_REGISTERED, {PARAM_STATE_REGISTERED, 0, NULL, NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    /* BAR1 at the reading and at the writing end, and below the CPU's own reach */
    {PRE_BAR1, {PARAM_GPU_BAR1, room_B - 1, "gpu0", NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_BAR1, {PARAM_GPU_BAR1, room_B - 1, "gpu2", NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_BAR1, {PARAM_GPU_BAR1, room_B - 1, "gpu0", NULL}, "gdrcopy", "cpu0", "gpu0", true,
     OUTCOME_BREAKS, "staged", {1, 0, 0, 1}},
    {PRE_BAR1, {PARAM_GPU_BAR1, 0, "gpu0", NULL}, "gds", "nvme0", "gpu0", true, OUTCOME_BREAKS,
     "gds_compat", COMPAT},
    /* distance: gpu0 and nic0 are PIX (4), gpu3 and nic1 PHB (8), gpu0 and gpu2 SYS (9) */
    {PRE_DISTANCE, {PARAM_STATE_GDR_LEVEL, PATH_C2C, NULL, NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_REMOTE},
    {PRE_DISTANCE, {PARAM_STATE_GDR_LEVEL, PATH_PXN, NULL, NULL}, "gdr", "gpu3", "gpu0", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_DISTANCE, {PARAM_STATE_GDR_LEVEL, PATH_PXN, NULL, NULL}, "gdr", "gpu0", "gpu3", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_P2P_DISTANCE, {PARAM_STATE_P2P_LEVEL, PATH_C2C, NULL, NULL}, "p2p", "gpu0", "gpu1", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    {PRE_P2P_DRIVER, {PARAM_STATE_P2P_DRIVER, 0, NULL, NULL}, "p2p", "gpu0", "gpu1", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    {PRE_P2P_DRIVER, {PARAM_STATE_P2P_DRIVER, 0, NULL, NULL}, "ipc", "gpu0", "gpu1", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    {PRE_P2P_DRIVER, {PARAM_STATE_P2P_DRIVER, 0, NULL, NULL}, "gdr", "gpu0", "gpu1", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    /* the root complex: cpu1 between gpu3 and nic1; both between gpu0 and gpu2 */
    {PRE_ROOT_COMPLEX, {PARAM_CPU_PEER_ALLOWED, 0, "cpu1", NULL}, "gdr", "gpu3", "gpu0", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_ROOT_COMPLEX, {PARAM_CPU_PEER_ALLOWED, 0, "cpu1", NULL}, "gdr", "gpu0", "gpu3", false,
     OUTCOME_BREAKS, "host", HOST_ONE_END},
    {PRE_ROOT_COMPLEX, {PARAM_CPU_PEER_ALLOWED, 0, "cpu1", NULL}, "p2p", "gpu0", "gpu2", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    {PRE_ROOT_CEILING, {PARAM_CPU_PEER_READ, 5e9, "cpu1", NULL}, "gdr", "gpu3", "gpu0", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_ROOT_CEILING, {PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}, "gdr", "gpu0", "gpu3", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_ROOT_CEILING, {PARAM_CPU_PEER_WRITE, 5e9, "cpu0", NULL}, "p2p", "gpu0", "gpu2", true,
     OUTCOME_SLOWS, "p2p", P2P},
    /* ACS at both ends, between two GPUs and before a drive */
    {PRE_ACS, {PARAM_PCIE_ACS, RR, "sw0", "gpu0"}, "gdr", "gpu0", "gpu2", false, OUTCOME_SLOWS,
     "gdr", GDR},
    {PRE_ACS, {PARAM_PCIE_ACS, RR, "sw1", "nic1"}, "gdr", "gpu0", "gpu2", false, OUTCOME_SLOWS,
     "gdr", GDR},
    {PRE_ACS, {PARAM_PCIE_ACS, RR, "sw0", "gpu1"}, "p2p", "gpu0", "gpu1", true, OUTCOME_SLOWS,
     "p2p", P2P},
    {PRE_ACS, {PARAM_PCIE_ACS, RR, "sw0", "nvme0"}, "gds", "nvme0", "gpu0", true, OUTCOME_SLOWS,
     "gds", GDS},
    {PRE_IOMMU, {PARAM_STATE_IOMMU, IOMMU_TRANSLATING, NULL, NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_BREAKS, "host", HOST_REMOTE},
    {PRE_IOMMU, {PARAM_STATE_IOMMU, IOMMU_TRANSLATING, NULL, NULL}, "p2p", "gpu0", "gpu1", true,
     OUTCOME_BREAKS, "host", HOST_LOCAL},
    {PRE_IOMMU, {PARAM_STATE_IOMMU, IOMMU_TRANSLATING, NULL, NULL}, "gds", "nvme0", "gpu0", true,
     OUTCOME_BREAKS, "gds_compat", COMPAT},
    /* links: Gen4 x16 that could do Gen5 or x32 */
    {PRE_LINK_TRAINED, {PARAM_PCIE_GEN_MAX, 5, "sw0", "gpu0"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_LINK_TRAINED, {PARAM_PCIE_WIDTH_MAX, 32, "sw1", "nic1"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    /* a rate by hand: Gen4 x16 is 31.508 GB/s encoded, so 15.754 to 31.508 may have been measured */
    {PRE_LINK_RATE, {PARAM_PCIE_RATE, 15.75e9, "sw0", "gpu0"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_LINK_RATE, {PARAM_PCIE_RATE, 31.6e9, "sw1", "gpu2"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    /* the NIC's link: 25.99 GB/s below 0.96 * 27.1, and Gen3's 12.99 below 0.96 * 25 */
    {PRE_NIC_SLOT, {PARAM_NIC_RATE, 27.1e9, "nic0", NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_NIC_SLOT, {PARAM_PCIE_GEN, 3, "sw1", "nic1"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    {PRE_DUPLEX, {PARAM_PCIE_DUPLEX, 0.58, "sw0", "nic0"}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    /* the NIC: reads of the sender, ordered writes of the receiver (cpu1 makes them slow) */
    {PRE_READ_CREDITS, {PARAM_NIC_READS, 8, "nic0", NULL}, "gdr", "gpu0", "gpu2", false,
     OUTCOME_SLOWS, "gdr", GDR},
    /* GDRCopy and storage */
    {PRE_GDRDRV, {PARAM_STATE_GDRDRV, 0, NULL, NULL}, "gdrcopy", "cpu0", "gpu0", true,
     OUTCOME_BREAKS, "staged", {1, 0, 0, 1}},
    {PRE_GDRDRV, {PARAM_STATE_GDRDRV, 0, NULL, NULL}, "gdrcopy", "gpu0", "cpu0", true,
     OUTCOME_BREAKS, "staged", {1, 0, 0, 1}},
    {PRE_NVIDIA_FS, {PARAM_STATE_NVIDIA_FS, 0, NULL, NULL}, "gds", "nvme0", "gpu0", true,
     OUTCOME_BREAKS, "gds_compat", COMPAT},
    {PRE_NVIDIA_FS, {PARAM_STATE_NVIDIA_FS, 0, NULL, NULL}, "gds", "gpu0", "nvme0", true,
     OUTCOME_BREAKS, "gds_compat", COMPAT},
    {PRE_FILESYSTEM, {PARAM_STATE_GDS_FILESYSTEM, 0, NULL, NULL}, "gds", "nvme0", "gpu0", true,
     OUTCOME_BREAKS, "gds_compat", COMPAT},
    {PRE_ALIGNED, {PARAM_STATE_GDS_ALIGNED, 0, NULL, NULL}, "gds", "nvme0", "gpu0", true,
     OUTCOME_BREAKS, "gds_compat", COMPAT},
};
/* clang-format on */

/* What the table cannot break by one parameter has tests of its own: strict ordering, the drive on
 * the other socket, no NVLink. */
static const enum precondition broken_elsewhere[] = {PRE_RELAXED_ORDERING, PRE_STORAGE_DISTANCE,
                                                     PRE_NVLINK, PRE_SHARP_TREE, PRE_SHARP_UPLINK};

static struct shape shape_of(const struct route *route)
{
    return (struct shape){route_count_legs(route, LEG_CROSSING), route_count_legs(route, LEG_WIRE),
                          route_count_legs(route, LEG_COPY), route->stage_count};
}

static bool only(const struct route *route, enum precondition what)
{
    for (size_t i = 0; i < route->verdict_count; i++)
        if (route->verdicts[i].what != what)
            return false;
    return true;
}

static void each_precondition_is_noted(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(broken); i++) {
        const struct broken *row = &broken[i];
        struct route route;
        /* as it should be: nothing to note, and what was asked is taken */
        core_rig_route(NULL, 0, row->mechanism, row->src, row->dst, row->same_node, &route);
        const char *taken =
            strcmp(row->mechanism, "gdr") == 0 && row->same_node ? "gdr" : row->mechanism;
        bool good = route.verdict_count == 0 && route_worst(&route) == OUTCOME_HOLDS &&
                    strcmp(route.taken->name, taken) == 0 &&
                    strcmp(route.asked->name, row->mechanism) == 0;
        /* and with one thing broken */
        core_rig_route(&row->change, 1, row->mechanism, row->src, row->dst, row->same_node, &route);
        const struct verdict_item *item = core_verdict(&route, row->what);
        struct shape shape = shape_of(&route);
        good = good && item && item->outcome == row->outcome && strlen(item->sentence) > 10 &&
               route_worst(&route) == row->outcome && only(&route, row->what) &&
               strcmp(route.asked->name, row->mechanism) == 0 &&
               strcmp(route.taken->name, row->taken) == 0 &&
               memcmp(&shape, &row->shape, sizeof shape) == 0;
        if (!good)
            print_error(
                "row %zu, \"%s\", %s %s -> %s: %zu verdicts (first: %s), taken %s, "
                "%zu crossings %zu wires %zu copies %zu stages\n",
                i, precondition_table[row->what].name, row->mechanism, row->src, row->dst,
                route.verdict_count, route.verdict_count ? route.verdicts[0].sentence : "none",
                route.taken->name, shape.crossings, shape.wires, shape.copies, shape.stages);
        assert_true(good);
    }
}

static void no_precondition_is_forgotten(void **state)
{
    (void)state;
    bool seen[PRE_COUNT] = {false};
    for (size_t i = 0; i < COUNT(broken); i++)
        seen[broken[i].what] = true;
    for (size_t i = 0; i < COUNT(broken_elsewhere); i++)
        seen[broken_elsewhere[i]] = true;
    for (size_t i = 0; i < PRE_COUNT; i++) {
        if (!seen[i])
            print_error("nothing breaks \"%s\"\n", precondition_table[i].name);
        assert_true(seen[i]);
        assert_non_null(precondition_table[i].name);
        assert_non_null(precondition_table[i].see);
        assert_non_null(precondition_table[i].fix);
    }
}

/* dma-buf does without the module. */
static void dmabuf_stands_in_for_peermem(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_STATE_PEERMEM, 0, NULL, NULL},
                                          {PARAM_STATE_DMABUF, 1, NULL, NULL}};
    struct route route;
    core_rig_route(changes, 2, "gdr", "gpu0", "gpu2", false, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_string_equal(route.taken->name, "gdr");
}

/* Only the ways that need it are touched: staging and NVLink ask nobody. */
static void staging_needs_none_of_it(void **state)
{
    (void)state;
    static const char *const mechanisms[] = {"staged", "pageable", "host", "socket"};
    for (size_t i = 0; i < COUNT(broken); i++) {
        if (broken[i].change.id == PARAM_STATE_IOMMU)
            continue;
        for (size_t m = 0; m < COUNT(mechanisms); m++)
            for (int same = 0; same < 2; same++) {
                struct route route;
                core_rig_route(&broken[i].change, 1, mechanisms[m], "gpu0", same ? "gpu1" : "gpu2",
                               same, &route);
                assert_int_equal(route.verdict_count, 0);
                assert_string_equal(route.taken->name, mechanisms[m]);
            }
    }
}

/* ---- reads and writes apart --------------------------------------------------------------------
 */

/* The sender's NIC reads, the receiver's writes. What bounds reads must not be noted for a
 * receiver, and the other way round. */
static void ends_are_checked_apart(void **state)
{
    (void)state;
    static const struct {
        struct core_change change;
        const char *src, *dst;
        double rate_Bps; /* of the slowest leg; 25 GB/s: the wire */
        bool noted;
    } rows[] = {
        /* 8 reads of 512 B over 0.9 us: 4.551 GB/s */
        {{PARAM_NIC_READS, 8, "nic0", NULL}, "gpu0", "gpu2", 8 * 512 / 0.9e-6, true},
        {{PARAM_NIC_READS, 8, "nic1", NULL}, "gpu0", "gpu2", 25e9, false},
        {{PARAM_NIC_READS, 8, "nic1", NULL}, "gpu2", "gpu0", 8 * 512 / 0.9e-6, true},
        /* 44 reads: 25.03 GB/s, enough for 25 */
        {{PARAM_NIC_READS, 44, "nic0", NULL}, "gpu0", "gpu2", 25e9, false},
        {{PARAM_NIC_READS, 43, "nic0", NULL}, "gpu0", "gpu2", 43 * 512 / 0.9e-6, true},
        /* ceilings of the root complex between gpu3 and nic1 */
        {{PARAM_CPU_PEER_READ, 5e9, "cpu1", NULL}, "gpu3", "gpu0", 5e9, true},
        {{PARAM_CPU_PEER_READ, 5e9, "cpu1", NULL}, "gpu0", "gpu3", 25e9, false},
        {{PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}, "gpu0", "gpu3", 5e9, true},
        {{PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}, "gpu3", "gpu0", 25e9, false},
        /* not passed below one switch */
        {{PARAM_CPU_PEER_WRITE, 5e9, "cpu1", NULL}, "gpu0", "gpu2", 25e9, false},
        {{PARAM_CPU_PEER_ALLOWED, 0, "cpu1", NULL}, "gpu0", "gpu2", 25e9, false},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct route route;
        core_rig_route(&rows[i].change, 1, "gdr", rows[i].src, rows[i].dst, false, &route);
        if ((route.verdict_count > 0) != rows[i].noted)
            print_error("row %zu: %zu verdicts\n", i, route.verdict_count);
        assert_int_equal(route.verdict_count > 0, rows[i].noted);
        assert_string_equal(route.taken->name, "gdr");
        assert_near(core_slowest_Bps(&route), rows[i].rate_Bps, 1e-3);
    }
}

/* Both ends of one kind are noted both, a thing said twice is noted once. */
static void both_ends_are_noted(void **state)
{
    (void)state;
    const struct core_change both[] = {{PARAM_GPU_BAR1, 1e6, "gpu0", NULL},
                                       {PARAM_GPU_BAR1, 1e6, "gpu2", NULL}};
    struct route route;
    core_rig_route(both, 2, "gdr", "gpu0", "gpu2", false, &route);
    assert_int_equal(route.verdict_count, 2);
    assert_non_null(strstr(route.verdicts[0].sentence, "gpu0"));
    assert_non_null(strstr(route.verdicts[1].sentence, "gpu2"));
    core_rig_route(both, 1, "gdr", "gpu0", "gpu0", false, &route);
    assert_int_equal(route.verdict_count, 1);
}

/* Strict order costs where a root complex is passed: at gpu3. 0.4 x 25 = 10 GB/s. The reading end
 * does not care. */
static void strict_ordering_slows_the_writing_end(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_NIC_RELAXED_ORDERING, 0, "nic1", NULL},
                                          {PARAM_CPU_STRICT_ORDER, 0.4, "cpu1", NULL}};
    struct route route;
    core_rig_route(changes, 2, "gdr", "gpu0", "gpu3", false, &route);
    assert_non_null(core_verdict(&route, PRE_RELAXED_ORDERING));
    assert_int_equal(core_verdict(&route, PRE_RELAXED_ORDERING)->outcome, OUTCOME_SLOWS);
    assert_int_equal(route.verdict_count, 1);
    assert_string_equal(route.taken->name, "gdr");
    assert_near(core_slowest_Bps(&route), 10e9, 1e-12);
    core_rig_route(changes, 2, "gdr", "gpu3", "gpu0", false, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_near(core_slowest_Bps(&route), 25e9, 1e-12);
    /* below one switch the rate stays */
    core_rig_route(changes, 2, "gdr", "gpu0", "gpu2", false, &route);
    assert_near(core_slowest_Bps(&route), 25e9, 1e-12);
    /* a root complex that is known not to mind */
    const struct core_change known[] = {changes[0], {PARAM_CPU_STRICT_ORDER, 1, "cpu1", NULL}};
    core_rig_route(known, 2, "gdr", "gpu0", "gpu3", false, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_near(core_slowest_Bps(&route), 25e9, 1e-12);
}

static void drives_of_the_other_socket_bounce(void **state)
{
    (void)state;
    struct route route;
    core_rig_route(NULL, 0, "gds", "nvme1", "gpu0", true, &route);
    assert_int_equal(route.verdict_count, 1);
    assert_int_equal(route.verdicts[0].what, PRE_STORAGE_DISTANCE);
    assert_int_equal(route.verdicts[0].outcome, OUTCOME_BREAKS);
    assert_string_equal(route.taken->name, "gds_compat");
    /* through one root complex it does not */
    core_rig_route(NULL, 0, "gds", "nvme1", "gpu3", true, &route);
    assert_int_equal(route.verdict_count, 0);
    assert_string_equal(route.taken->name, "gds");
}

static void nvlink_belongs_to_the_pair(void **state)
{
    (void)state;
    struct machine machine;
    struct error error;
    struct route route;
    core_rig(&machine);
    core_set(core_join(&machine, LINK_NVLINK, "gpu0", "gpu1"), PARAM_NVLINK_RATE, 300e9);
    core_finish(&machine);
    static const char *const mechanisms[] = {"nvlink", "ipc", "gdr"};
    for (size_t i = 0; i < COUNT(mechanisms); i++) {
        assert_ok(core_route(&machine, mechanisms[i], "gpu0", "gpu1", true, &route, &error),
                  &error);
        assert_int_equal(route.verdict_count, 0);
        assert_string_equal(route.taken->name, mechanisms[i]);
        assert_int_equal(route.leg_count, 1);
        assert_int_equal(route.legs[0].kind, LEG_NVLINK);
        assert_near(route.legs[0].rate_Bps, 300e9, 1e-12);
    }
    assert_ok(core_route(&machine, "nvlink", "gpu0", "gpu2", true, &route, &error), &error);
    assert_int_equal(route.verdict_count, 1);
    assert_int_equal(route.verdicts[0].what, PRE_NVLINK);
    assert_int_equal(route.verdicts[0].outcome, OUTCOME_BREAKS);
    assert_string_equal(route.asked->name, "nvlink");
    assert_string_equal(route.taken->name, "p2p");
    /* and from there on to host memory, with both reasons */
    core_set(&machine.state, PARAM_STATE_P2P_DRIVER, 0);
    assert_ok(core_route(&machine, "nvlink", "gpu0", "gpu2", true, &route, &error), &error);
    assert_int_equal(route.verdict_count, 2);
    assert_int_equal(route.verdicts[1].what, PRE_P2P_DRIVER);
    assert_string_equal(route.taken->name, "host");
    machine_free(&machine);
}

/* ---- BAR1 --------------------------------------------------------------------------------------
 */

static void bar1_must_hold_the_working_set_exactly(void **state)
{
    (void)state;
    static const struct {
        double bar1, used;
        bool holds;
    } rows[] = {
        {room_B, 0, true},
        {room_B - 1, 0, false},
        {room_B + 1000, 1000, true},
        {room_B + 1000, 1001, false},
        {(double)INFINITY, 1e15, true},
        {0, 0, false},
    };
    static const char *const mechanisms[][3] = {
        {"gdr", "gpu0", "gpu2"}, {"gdrcopy", "cpu0", "gpu0"}, {"gdrcopy", "gpu0", "cpu0"}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t m = 0; m < COUNT(mechanisms); m++) {
            const struct core_change changes[] = {
                {PARAM_GPU_BAR1, rows[i].bar1, "gpu0", NULL},
                {PARAM_GPU_BAR1_USED, rows[i].used, "gpu0", NULL}};
            struct route route;
            core_rig_route(changes, 2, mechanisms[m][0], mechanisms[m][1], mechanisms[m][2], m > 0,
                           &route);
            assert_int_equal(core_verdict(&route, PRE_BAR1) == NULL, rows[i].holds);
            assert_int_equal(route.taken == route.asked, rows[i].holds);
        }
}

/* ---- distance ----------------------------------------------------------------------------------
 */

static void level_against_every_class(void **state)
{
    (void)state;
    static const enum path_class classes[] = {PATH_PIX, PATH_PXB, PATH_P2C, PATH_PHB, PATH_SYS};
    for (size_t c = 0; c < COUNT(classes); c++)
        for (int level = PATH_LOC; level <= PATH_NET; level++)
            for (int gpus = 0; gpus < 2; gpus++) {
                struct machine machine;
                struct route route;
                struct error error;
                core_apart(classes[c], gpus ? DEVICE_GPU : DEVICE_NIC, &machine);
                core_set(&machine.state, gpus ? PARAM_STATE_P2P_LEVEL : PARAM_STATE_GDR_LEVEL,
                         level);
                core_finish(&machine);
                assert_ok(core_route(&machine, gpus ? "p2p" : "gdr", "gpu0", gpus ? "far" : "gpu0",
                                     gpus, &route, &error),
                          &error);
                bool holds = (int)classes[c] <= level;
                const struct verdict_item *item =
                    core_verdict(&route, gpus ? PRE_P2P_DISTANCE : PRE_DISTANCE);
                if ((item == NULL) != holds)
                    print_error("%s at level %s\n", path_class_name(classes[c]),
                                path_class_name((enum path_class)level));
                assert_int_equal(item == NULL, holds);
                assert_string_equal(route.taken->name, !holds ? "host" : gpus ? "p2p" : "gdr");
                if (item)
                    assert_non_null(strstr(item->sentence, path_class_name(classes[c])));
                machine_free(&machine);
            }
}

/* The other level does not matter. */
static void levels_are_told_apart(void **state)
{
    (void)state;
    const struct core_change gdr = {PARAM_STATE_GDR_LEVEL, PATH_LOC, NULL, NULL};
    const struct core_change p2p = {PARAM_STATE_P2P_LEVEL, PATH_LOC, NULL, NULL};
    struct route route;
    core_rig_route(&p2p, 1, "gdr", "gpu0", "gpu2", false, &route);
    assert_int_equal(route.verdict_count, 0);
    core_rig_route(&gdr, 1, "p2p", "gpu0", "gpu1", true, &route);
    assert_int_equal(route.verdict_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_precondition_is_noted),
        cmocka_unit_test(no_precondition_is_forgotten),
        cmocka_unit_test(dmabuf_stands_in_for_peermem),
        cmocka_unit_test(staging_needs_none_of_it),
        cmocka_unit_test(ends_are_checked_apart),
        cmocka_unit_test(both_ends_are_noted),
        cmocka_unit_test(strict_ordering_slows_the_writing_end),
        cmocka_unit_test(drives_of_the_other_socket_bounce),
        cmocka_unit_test(nvlink_belongs_to_the_pair),
        cmocka_unit_test(bar1_must_hold_the_working_set_exactly),
        cmocka_unit_test(level_against_every_class),
        cmocka_unit_test(levels_are_told_apart),
    };
    return cmocka_run_group_tests_name("resolver", tests, NULL, NULL);
}
