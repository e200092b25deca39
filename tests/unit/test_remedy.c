/* test_remedy.c: each remedy has something to mend where its precondition is broken, nothing where
 * it holds, and mends it. Machines are core_rig (help_core.h), where nothing is broken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/study/remedy.h"
#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* By the first words of its name. */
static const struct remedy *find(const char *words)
{
    for (size_t i = 0; i < remedy_count; i++)
        if (strncmp(remedy_table[i].name, words, strlen(words)) == 0)
            return &remedy_table[i];
    print_error("no remedy \"%s\"\n", words);
    fail();
    return NULL;
}

static bool applies(const struct remedy *remedy, const struct machine *machine)
{
    struct machine copy;
    struct error error;
    bool does;
    assert_ok(remedy_apply(remedy, machine, &copy, &does, &error), &error);
    if (does)
        machine_free(&copy);
    return does;
}

static void rig(const struct core_change *changes, size_t count, struct machine *ret_machine)
{
    core_rig(ret_machine);
    for (size_t i = 0; i < count; i++)
        core_change(ret_machine, &changes[i]);
    core_finish(ret_machine);
}

/* clang-format off */
static const struct {
    const char *remedy;
    enum precondition what;
    struct core_change change[2];
    const char *mechanism, *src, *dst;
    bool same_node;
} rows[] = {
    {"clear ACS", PRE_ACS, {{PARAM_PCIE_ACS, 0x04, "sw0", "gpu0"}}, "gdr", "gpu0", "gpu2", false},
    {"clear ACS", PRE_ACS, {{PARAM_PCIE_ACS, 0x20, "sw1", "nic1"}}, "gdr", "gpu0", "gpu2", false},
    {"ATS on", PRE_ACS, {{PARAM_PCIE_ACS, 0x04, "sw0", "gpu0"}, {PARAM_STATE_VM, 1, NULL, NULL}},
     "gdr", "gpu0", "gpu2", false},
    {"ATS on", PRE_IOMMU, {{PARAM_STATE_IOMMU, 2, NULL, NULL}, {PARAM_STATE_VM, 1, NULL, NULL}},
     "gdr", "gpu0", "gpu2", false},
    {"load nvidia_peermem", PRE_PEER_MODULE, {{PARAM_STATE_PEERMEM, 0, NULL, NULL}}, "gdr",
     "gpu0", "gpu2", false},
    {"IOMMU to identity", PRE_IOMMU, {{PARAM_STATE_IOMMU, 2, NULL, NULL}}, "gdr", "gpu0", "gpu2",
     false},
    {"IOMMU to identity", PRE_IOMMU, {{PARAM_STATE_IOMMU, 2, NULL, NULL}}, "p2p", "gpu0", "gpu1",
     true},
    {"retrain links", PRE_LINK_TRAINED, {{PARAM_PCIE_GEN_MAX, 5, "sw0", "gpu0"}}, "gdr", "gpu0",
     "gpu2", false},
    {"retrain links", PRE_LINK_TRAINED, {{PARAM_PCIE_WIDTH_MAX, 32, "sw1", "nic1"}}, "gdr",
     "gpu0", "gpu2", false},
    {"links at the rate", PRE_LINK_RATE, {{PARAM_PCIE_RATE, 15.75e9, "sw0", "gpu0"}}, "gdr",
     "gpu0", "gpu2", false},
    {"relaxed ordering", PRE_RELAXED_ORDERING, {{PARAM_NIC_RELAXED_ORDERING, 0, "nic1", NULL},
     {PARAM_CPU_STRICT_ORDER, 0.4, "cpu1", NULL}}, "gdr", "gpu0", "gpu3", false},
    {"enough outstanding reads", PRE_READ_CREDITS, {{PARAM_NIC_READS, 8, "nic0", NULL}}, "gdr",
     "gpu0", "gpu2", false},
    {"GDR level SYS", PRE_DISTANCE, {{PARAM_STATE_GDR_LEVEL, PATH_PXB, NULL, NULL}}, "gdr",
     "gpu3", "gpu0", false},
    {"P2P level SYS", PRE_P2P_DISTANCE, {{PARAM_STATE_P2P_LEVEL, PATH_PXB, NULL, NULL}}, "p2p",
     "gpu0", "gpu2", true},
    {"a driver that allows P2P", PRE_P2P_DRIVER, {{PARAM_STATE_P2P_DRIVER, 0, NULL, NULL}}, "p2p",
     "gpu0", "gpu1", true},
    {"large BAR1", PRE_BAR1, {{PARAM_GPU_BAR1, 1e6, "gpu0", NULL}}, "gdr", "gpu0", "gpu2", false},
    {"large BAR1", PRE_BAR1, {{PARAM_GPU_BAR1, 300e6, "gpu0", NULL}, {PARAM_GPU_BAR1_USED, 299e6,
     "gpu0", NULL}}, "gdrcopy", "cpu0", "gpu0", true},
    {"buffers from cudaMalloc", PRE_CUDA_BUFFER, {{PARAM_STATE_CUDA_BUFFER, 0, NULL, NULL}},
     "gdr", "gpu0", "gpu2", false},
    {"persistent", PRE_REGISTERED, {{PARAM_STATE_REGISTERED, 0, NULL, NULL}}, "gdr", "gpu0",
     "gpu2", false},
    {"load gdrdrv", PRE_GDRDRV, {{PARAM_STATE_GDRDRV, 0, NULL, NULL}}, "gdrcopy", "cpu0", "gpu0",
     true},
    {"load nvidia-fs", PRE_NVIDIA_FS, {{PARAM_STATE_NVIDIA_FS, 0, NULL, NULL}}, "gds", "nvme0",
     "gpu0", true},
    {"a file system", PRE_FILESYSTEM, {{PARAM_STATE_GDS_FILESYSTEM, 0, NULL, NULL}}, "gds",
     "nvme0", "gpu0", true},
    {"align storage requests", PRE_ALIGNED, {{PARAM_STATE_GDS_ALIGNED, 0, NULL, NULL}}, "gds",
     "nvme0", "gpu0", true},
};
/* clang-format on */

/* Mends that the table cannot show by one parameter, or that are no mends. */
static const char *const elsewhere[] = {"move the NICs"};

static void break_row(size_t i, struct machine *ret_machine)
{
    rig(rows[i].change, rows[i].change[1].id || rows[i].change[1].name ? 2 : 1, ret_machine);
}

static void each_remedy_mends_what_is_broken(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine, mended;
        struct route route;
        struct error error;
        bool does = false;
        break_row(i, &machine);
        assert_ok(core_route(&machine, rows[i].mechanism, rows[i].src, rows[i].dst,
                             rows[i].same_node, &route, &error),
                  &error);
        bool good = core_verdict(&route, rows[i].what) != NULL;
        double before_Bps = core_slowest_Bps(&route);
        bool was_taken = route.taken == route.asked;
        assert_ok(remedy_apply(find(rows[i].remedy), &machine, &mended, &does, &error), &error);
        good = good && does;
        if (does) {
            assert_ok(core_route(&mended, rows[i].mechanism, rows[i].src, rows[i].dst,
                                 rows[i].same_node, &route, &error),
                      &error);
            good = good && route.verdict_count == 0 && route.taken == route.asked &&
                   (!was_taken || core_slowest_Bps(&route) >= before_Bps) &&
                   !applies(find(rows[i].remedy), &mended); /* once is enough */
            machine_free(&mended);
        }
        if (!good)
            print_error("row %zu: \"%s\" against \"%s\"\n", i, rows[i].remedy,
                        precondition_table[rows[i].what].name);
        assert_true(good);
        machine_free(&machine);
    }
}

/* The machine it was tried on stays as it is. */
static void the_machine_is_left_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct route before = {0}, after = {0}; /* building clears what it takes, not all */
        struct error error;
        break_row(i, &machine);
        assert_ok(core_route(&machine, rows[i].mechanism, rows[i].src, rows[i].dst,
                             rows[i].same_node, &before, &error),
                  &error);
        for (size_t r = 0; r < remedy_count; r++)
            applies(&remedy_table[r], &machine);
        assert_ok(core_route(&machine, rows[i].mechanism, rows[i].src, rows[i].dst,
                             rows[i].same_node, &after, &error),
                  &error);
        assert_memory_equal(&before, &after, sizeof before);
        machine_free(&machine);
    }
}

/* Nothing broken: no mend has anything to do. */
static void nothing_to_mend_on_a_good_machine(void **state)
{
    (void)state;
    struct machine machine;
    rig(NULL, 0, &machine);
    for (size_t r = 0; r < remedy_count; r++) {
        if (remedy_table[r].upgrade)
            continue;
        if (applies(&remedy_table[r], &machine))
            print_error("\"%s\" applies to a machine without fault\n", remedy_table[r].name);
        assert_false(applies(&remedy_table[r], &machine));
    }
    machine_free(&machine);
}

/* A mend for one thing does not claim another's fault. */
static void no_remedy_claims_anothers_fault(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        break_row(i, &machine);
        for (size_t r = 0; r < remedy_count; r++) {
            bool own = &remedy_table[r] == find(rows[i].remedy) || remedy_table[r].upgrade ||
                       (rows[i].what == PRE_IOMMU && &remedy_table[r] == find("ATS on"));
            if (!own && applies(&remedy_table[r], &machine))
                print_error("\"%s\" applies to row %zu\n", remedy_table[r].name, i);
            assert_true(own || !applies(&remedy_table[r], &machine));
        }
        machine_free(&machine);
    }
}

/* Off or identity: nothing to change. */
static void identity_is_left_alone(void **state)
{
    (void)state;
    for (int iommu = 0; iommu < 3; iommu++) {
        const struct core_change change = {PARAM_STATE_IOMMU, iommu, NULL, NULL};
        struct machine machine;
        rig(&change, 1, &machine);
        assert_int_equal(applies(find("IOMMU to identity"), &machine), iommu == 2);
        machine_free(&machine);
    }
}

/* What holds already, or must stay as it is, is not offered. */
static void only_what_can_help_is_offered(void **state)
{
    (void)state;
    static const struct {
        const char *remedy;
        struct core_change change[3];
        bool offered;
    } cases[] = {
        {"clear ACS", {{PARAM_PCIE_ACS, 0x01, "sw0", "gpu0"}}, false}, /* source validation */
        {"clear ACS", {{PARAM_PCIE_ACS, 0x43, "sw0", "gpu0"}}, false},
        {"clear ACS", {{PARAM_PCIE_ACS, 0x08, "cpu0", "sw0"}}, false}, /* a root port */
        {"clear ACS", {{PARAM_PCIE_ACS, 0x21, "sw0", "gpu0"}}, true},
        {"clear ACS",
         {{PARAM_PCIE_ACS, 0x2C, "sw0", "gpu0"}, {PARAM_STATE_VM, 1, NULL, NULL}},
         false},
        {"IOMMU", {{PARAM_STATE_IOMMU, 2, NULL, NULL}, {PARAM_STATE_VM, 1, NULL, NULL}}, false},
        {"ATS on", {{PARAM_PCIE_ACS, 0x2C, "sw0", "gpu0"}}, false}, /* nothing translates */
        {"ATS on", {{PARAM_STATE_IOMMU, 1, NULL, NULL}}, false},
        {"ATS on", {{PARAM_STATE_IOMMU, 2, NULL, NULL}}, true},
        {"ATS on", {{PARAM_STATE_IOMMU, 2, NULL, NULL}, {PARAM_STATE_ATS, 1, NULL, NULL}}, false},
        {"load nvidia_peermem", {{PARAM_STATE_PEERMEM, 0, NULL, NULL}}, true},
        {"load nvidia_peermem",
         {{PARAM_STATE_PEERMEM, 0, NULL, NULL}, {PARAM_STATE_DMABUF, 1, NULL, NULL}},
         false},
        {"enough outstanding", {{PARAM_NIC_READS, 1e6, "nic0", NULL}}, false},
        {"large BAR1", {{PARAM_GPU_BAR1, 64e9, "gpu0", NULL}}, false},
        {"large BAR1",
         {{PARAM_GPU_BAR1, 64e9, "gpu0", NULL}, {PARAM_GPU_BAR1_USED, 63.9e9, "gpu0", NULL}},
         true},
        {"GDR level", {{PARAM_STATE_GDR_LEVEL, PATH_SYS, NULL, NULL}}, false},
        {"GDR level", {{PARAM_STATE_GDR_LEVEL, PATH_NET, NULL, NULL}}, false},
        {"GDR level", {{PARAM_STATE_GDR_LEVEL, PATH_PHB, NULL, NULL}}, true},
        {"P2P level", {{PARAM_STATE_P2P_LEVEL, PATH_NET, NULL, NULL}}, false},
        {"retrain links", {{PARAM_PCIE_WIDTH_MAX, 1, "sw0", "gpu0"}}, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct machine machine;
        size_t count = 0;
        while (count < 3 && (cases[i].change[count].id || cases[i].change[count].name))
            count++;
        rig(cases[i].change, count, &machine);
        if (applies(find(cases[i].remedy), &machine) != cases[i].offered)
            print_error("case %zu: \"%s\" %s\n", i, cases[i].remedy,
                        cases[i].offered ? "is not offered" : "is offered");
        assert_int_equal(applies(find(cases[i].remedy), &machine), cases[i].offered);
        machine_free(&machine);
    }
}

/* Only the redirect bits go. */
static void other_acs_bits_stay(void **state)
{
    (void)state;
    const struct core_change change = {PARAM_PCIE_ACS, 0x7F, "sw0", "gpu0"};
    struct machine machine, mended;
    struct error error;
    bool does;
    size_t kept = 0;
    rig(&change, 1, &machine);
    assert_ok(remedy_apply(find("clear ACS"), &machine, &mended, &does, &error), &error);
    assert_true(does);
    for (size_t i = 0; i < mended.node.link_count; i++)
        if (mended.node.links[i].kind == LINK_PCIE)
            kept += (unsigned)param_get(&mended.node.links[i].params, PARAM_PCIE_ACS) == 0x53;
    assert_int_equal(kept, 1);
    machine_free(&mended);
    machine_free(&machine);
}

/* A link whose rate was given outright grows by as much as its lanes. */
static void a_given_rate_is_retrained_too(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_PCIE_RATE, 2e9, "sw0", "gpu0"},
                                          {PARAM_PCIE_WIDTH, 8, "sw0", "gpu0"},
                                          {PARAM_PCIE_WIDTH_MAX, 16, "sw0", "gpu0"}};
    struct machine machine, mended;
    struct route route;
    struct error error;
    bool does;
    rig(changes, 3, &machine);
    assert_ok(core_route(&machine, "gdr", "gpu0", "gpu2", false, &route, &error), &error);
    assert_near(core_slowest_Bps(&route), 2e9, 1e-12);
    assert_ok(remedy_apply(find("retrain"), &machine, &mended, &does, &error), &error);
    assert_true(does);
    assert_ok(core_route(&mended, "gdr", "gpu0", "gpu2", false, &route, &error), &error);
    assert_near(core_slowest_Bps(&route), 4e9, 0.03); /* overheads do not halve */
    assert_null(core_verdict(&route, PRE_LINK_TRAINED));
    machine_free(&mended);
    machine_free(&machine);
}

/* Two faults: only both remedies bring the path back. What one remedy makes needless is not done:
 * after identity nothing translates, so ATS stays off. */
static void all_together(void **state)
{
    (void)state;
    const struct core_change changes[] = {{PARAM_STATE_PEERMEM, 0, NULL, NULL},
                                          {PARAM_STATE_IOMMU, 2, NULL, NULL}};
    bool *chosen = calloc(remedy_count, sizeof *chosen);
    struct machine machine, mended;
    struct route route;
    struct error error;
    assert_non_null(chosen);
    rig(changes, 2, &machine);
    for (int both = 0; both < 2; both++) {
        chosen[find("load nvidia_peermem") - remedy_table] = true;
        chosen[find("IOMMU to identity") - remedy_table] = both;
        chosen[find("ATS on") - remedy_table] = both;
        assert_ok(remedy_apply_all(chosen, &machine, &mended, &error), &error);
        assert_ok(core_route(&mended, "gdr", "gpu0", "gpu2", false, &route, &error), &error);
        assert_string_equal(route.taken->name, both ? "gdr" : "host");
        assert_int_equal((int)param_get(&mended.state, PARAM_STATE_ATS), 0);
        machine_free(&mended);
    }
    machine_free(&machine);
    free(chosen);
}

/* GPU below a switch, NIC on the root complex (PHB; level PXB): moving it makes them PIX. */
static void nics_move_to_the_switches(void **state)
{
    (void)state;
    struct machine machine, mended;
    struct route route;
    struct error error;
    bool does;
    machine_init(&machine);
    machine.node_count = 2;
    core_set(&machine.state, PARAM_STATE_GDR_LEVEL, PATH_PXB);
    core_add(&machine, "cpu0", DEVICE_CPU);
    for (int i = 0; i < 2; i++) {
        char sw[MACHINE_NAME_LENGTH], gpu[MACHINE_NAME_LENGTH], nic[MACHINE_NAME_LENGTH];
        snprintf(sw, sizeof sw, "sw%d", i);
        snprintf(gpu, sizeof gpu, "gpu%d", i);
        snprintf(nic, sizeof nic, "nic%d", i);
        core_add(&machine, sw, DEVICE_PCIE_SWITCH);
        core_add(&machine, gpu, DEVICE_GPU);
        core_set(core_add(&machine, nic, DEVICE_NIC), PARAM_NIC_RATE, 25e9);
        core_join(&machine, LINK_PCIE, "cpu0", sw);
        core_join(&machine, LINK_PCIE, sw, gpu);
        core_join(&machine, LINK_PCIE, "cpu0", nic);
    }
    core_finish(&machine);
    assert_ok(core_route(&machine, "gdr", "gpu0", "gpu1", false, &route, &error), &error);
    assert_non_null(core_verdict(&route, PRE_DISTANCE));
    assert_string_equal(route.taken->name, "host");
    assert_ok(remedy_apply(find("move the NICs"), &machine, &mended, &does, &error), &error);
    assert_true(does);
    assert_ok(core_route(&mended, "gdr", "gpu0", "gpu1", false, &route, &error), &error);
    assert_int_equal(route.verdict_count, 0);
    assert_string_equal(route.taken->name, "gdr");
    assert_int_equal(route.nic[0], 0); /* gpu0 and nic0 below sw0, gpu1 and nic1 below sw1 */
    assert_int_equal(route.nic[1], 1);
    assert_int_equal(route.legs[0].use_count, 2 + 1); /* two links and the read credits */
    assert_false(applies(find("move the NICs"), &mended));
    machine_free(&mended);
    machine_free(&machine);
}

/* What is bought makes the slowest leg faster where it is what limits. */
static void upgrades_lift_what_limits(void **state)
{
    (void)state;
    static const struct {
        const char *remedy;
        struct core_change change;
        const char *mechanism, *src, *dst;
        bool same_node;
        double before_Bps, after_Bps;
    } upgrades[] = {
        {"NICs twice",
         {PARAM_NIC_RATE, 10e9, "nic0", NULL},
         "gdr",
         "gpu0",
         "gpu0",
         false,
         10e9,
         20e9},
        {"PCIe one generation up",
         {PARAM_PCIE_RATE, 5e9, "sw0", "gpu0"},
         "gdr",
         "gpu0",
         "gpu2",
         false,
         5e9,
         10e9},
        {"host memory twice",
         {PARAM_CPU_DRAM_RATE, 3e9, "cpu0", NULL},
         "staged",
         "gpu0",
         "gpu2",
         false,
         3e9,
         6e9},
        {"drives twice",
         {PARAM_NVME_READ_RATE, 3e9, "nvme0", NULL},
         "gds",
         "nvme0",
         "gpu0",
         true,
         3e9,
         6e9},
    };
    for (size_t i = 0; i < COUNT(upgrades); i++) {
        struct machine machine, better;
        struct route route;
        struct error error;
        bool does;
        rig(&upgrades[i].change, 1, &machine);
        assert_true(find(upgrades[i].remedy)->upgrade);
        assert_ok(core_route(&machine, upgrades[i].mechanism, upgrades[i].src, upgrades[i].dst,
                             upgrades[i].same_node, &route, &error),
                  &error);
        assert_near(core_slowest_Bps(&route), upgrades[i].before_Bps, 1e-12);
        assert_ok(remedy_apply(find(upgrades[i].remedy), &machine, &better, &does, &error), &error);
        assert_true(does);
        assert_ok(core_route(&better, upgrades[i].mechanism, upgrades[i].src, upgrades[i].dst,
                             upgrades[i].same_node, &route, &error),
                  &error);
        assert_near(core_slowest_Bps(&route), upgrades[i].after_Bps, 1e-12);
        machine_free(&better);
        machine_free(&machine);
    }
}

static void every_remedy_is_tried(void **state)
{
    (void)state;
    for (size_t r = 0; r < remedy_count; r++) {
        bool seen = remedy_table[r].upgrade;
        for (size_t i = 0; i < COUNT(rows); i++)
            seen = seen || find(rows[i].remedy) == &remedy_table[r];
        for (size_t i = 0; i < COUNT(elsewhere); i++)
            seen = seen || find(elsewhere[i]) == &remedy_table[r];
        if (!seen)
            print_error("nothing tries \"%s\"\n", remedy_table[r].name);
        assert_true(seen);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_remedy_mends_what_is_broken),
        cmocka_unit_test(the_machine_is_left_alone),
        cmocka_unit_test(nothing_to_mend_on_a_good_machine),
        cmocka_unit_test(no_remedy_claims_anothers_fault),
        cmocka_unit_test(identity_is_left_alone),
        cmocka_unit_test(only_what_can_help_is_offered),
        cmocka_unit_test(other_acs_bits_stay),
        cmocka_unit_test(a_given_rate_is_retrained_too),
        cmocka_unit_test(all_together),
        cmocka_unit_test(nics_move_to_the_switches),
        cmocka_unit_test(upgrades_lift_what_limits),
        cmocka_unit_test(every_remedy_is_tried),
    };
    return cmocka_run_group_tests_name("remedy", tests, NULL, NULL);
}
