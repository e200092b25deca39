/* test_remote_storage.c: drives of another node: the way of the bytes, what must hold at which end,
 * and one request by hand. Machines are core_rig (help_core.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void route_of(const struct core_change *change, const char *mechanism, const char *src,
                     const char *dst, struct route *ret)
{
    struct machine machine;
    struct error error;
    core_rig(&machine);
    if (change)
        core_change(&machine, change);
    core_finish(&machine);
    assert_ok(core_route(&machine, mechanism, src, dst, false, ret, &error), &error);
    machine_free(&machine);
}

/* Crossings at the server and at the client: the server passes its memory, drive to DRAM and DRAM
 * to NIC; the client's NIC reaches the GPU in one, or DRAM, and a copy engine from there. */
static void bytes_cross_where_they_must(void **state)
{
    (void)state;
    static const struct {
        const char *mechanism, *src, *dst;
        size_t at_src, at_dst, copies, stages;
    } rows[] = {
        {"gds", "nvme0", "gpu2", 2, 1, 0, 2},        {"gds_compat", "nvme0", "gpu2", 2, 2, 1, 4},
        {"gds", "gpu2", "nvme0", 1, 2, 0, 2},        {"gds_compat", "gpu2", "nvme0", 2, 2, 1, 4},
        {"gds_compat", "nvme0", "cpu1", 2, 1, 1, 3}, {"gds_compat", "cpu1", "nvme0", 1, 2, 1, 4},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct route route;
        route_of(NULL, rows[i].mechanism, rows[i].src, rows[i].dst, &route);
        assert_string_equal(route.taken->name, rows[i].mechanism);
        assert_int_equal(route.verdict_count, 0);
        assert_int_equal(route_count_crossings_at(&route, END_SRC), rows[i].at_src);
        assert_int_equal(route_count_crossings_at(&route, END_DST), rows[i].at_dst);
        assert_int_equal(route_count_legs(&route, LEG_WIRE), 1);
        assert_int_equal(route_count_legs(&route, LEG_DEVICE), 1);
        assert_int_equal(route_count_legs(&route, LEG_COPY), rows[i].copies);
        assert_int_equal(route.stage_count, rows[i].stages);
    }
}

/* The software of GPUDirect Storage and GPUDirect RDMA of the client's NIC must both hold. What
 * would bound a drive's peer transfers does not matter: there are none. */
static void needs_both_software_and_nic(void **state)
{
    (void)state;
    static const struct {
        struct core_change change;
        enum precondition what;
        enum outcome outcome;
        const char *taken;
    } rows[] = {
        {{PARAM_STATE_NVIDIA_FS, 0, NULL, NULL}, PRE_NVIDIA_FS, OUTCOME_BREAKS, "gds_compat"},
        {{PARAM_STATE_GDS_FILESYSTEM, 0, NULL, NULL}, PRE_FILESYSTEM, OUTCOME_BREAKS, "gds_compat"},
        {{PARAM_STATE_GDS_ALIGNED, 0, NULL, NULL}, PRE_ALIGNED, OUTCOME_BREAKS, "gds_compat"},
        {{PARAM_STATE_PEERMEM, 0, NULL, NULL}, PRE_PEER_MODULE, OUTCOME_BREAKS, "gds_compat"},
        {{PARAM_GPU_BAR1, 0, "gpu2", NULL}, PRE_BAR1, OUTCOME_BREAKS, "gds_compat"},
        {{PARAM_PCIE_ACS, 0x2C, "sw1", "nic1"}, PRE_ACS, OUTCOME_SLOWS, "gds"},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int reads = 0; reads < 2; reads++) {
            struct route route;
            route_of(&rows[i].change, "gds", reads ? "nvme0" : "gpu2", reads ? "gpu2" : "nvme0",
                     &route);
            const struct verdict_item *verdict = core_verdict(&route, rows[i].what);
            assert_non_null(verdict);
            assert_int_equal(verdict->outcome, rows[i].outcome);
            assert_string_equal(route.taken->name, rows[i].taken);
        }
    static const struct core_change untouched[] = {{PARAM_PCIE_ACS, 0x2C, "sw0", "nvme0"},
                                                   {PARAM_GPU_BAR1, 0, "gpu0", NULL}};
    for (size_t i = 0; i < COUNT(untouched); i++) {
        struct route route;
        route_of(&untouched[i], "gds", "nvme0", "gpu2", &route);
        assert_int_equal(route.verdict_count, 0);
        assert_string_equal(route.taken->name, "gds");
    }
}

/* A read of 1 MB, all links at 20 GB/s (50 us), NICs at 10 GB/s (100 us), the drive at 5 GB/s (200
 * us and 1 / 1e5 IOPS = 10 us), no latency but the drive's 80 us and the network's 2 + 1 us.
 *   submit 5, drive 80 + 2 + 1 + 210, drive to DRAM 50
 *   post 1, DRAM to NIC 50, wire 100 + 2 + 1, NIC to GPU 50                        = 552 us
 *   through the page cache, instead of to the GPU: to DRAM 50, wake 6, memcpy 100, start 6, copy 50
 *                                                                                  = 714 us */
static void a_read_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *mechanism;
        int64_t us;
    } rows[] = {{"gds", 552}, {"gds_compat", 714}};
    struct core_spec spec = {.nodes = 2,
                             .pcie_Bps = 20e9,
                             .nic_Bps = 10e9,
                             .nic_s = 2e-6,
                             .hop_s = 1e-6,
                             .step_s = 1e-6,
                             .copy_s = 6e-6};
    struct machine machine;
    struct error error;
    core_machine(&spec, &machine);
    struct params *drive = core_add(&machine, "nvme0", DEVICE_NVME);
    core_set(drive, PARAM_NVME_READ_RATE, 5e9);
    core_set(drive, PARAM_NVME_IOPS, 1e5);
    core_set(drive, PARAM_NVME_LATENCY, 80e-6);
    core_set(core_join(&machine, LINK_PCIE, "sw0", "nvme0"), PARAM_PCIE_RATE, 20e9);
    core_set(core_device(&machine, "cpu0"), PARAM_CPU_COPY_RATE, 10e9);
    machine.node.port_count = 2;
    machine.node.ports[0] = (uint16_t)machine_find_device(&machine, "gpu0");
    machine.node.ports[1] = (uint16_t)machine_find_device(&machine, "nvme0");
    assert_ok(machine_finish(&machine, &error), &error);
    for (size_t i = 0; i < COUNT(rows); i++) {
        /* rank 1: node 0's drive; rank 2: node 1's GPU */
        const struct plan_edge edges[] = {{.from = 1, .to = 2}, CORE_STEP_END};
        struct plan plan;
        struct ledger ledger;
        core_edges(4, 1, edges, 2, &plan);
        core_run(&machine, &plan, rows[i].mechanism, ACCOUNTING_SERIAL, 1e6, &ledger);
        assert_int_equal(ledger.total_ps, rows[i].us * PS_PER_US);
        int64_t sum = 0;
        for (size_t r = 0; r < ledger.resource_count + CATEGORY_COUNT; r++)
            sum += ledger.critical[r];
        assert_int_equal(sum, ledger.total_ps);
        ledger_free(&ledger);
        plan_free(&plan);
    }
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_cross_where_they_must),
        cmocka_unit_test(needs_both_software_and_nic),
        cmocka_unit_test(a_read_by_hand),
    };
    return cmocka_run_group_tests_name("remote_storage", tests, NULL, NULL);
}
