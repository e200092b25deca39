/* test_machine.c: building a node and finding ways through it. */
#include "sim/core/machine.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/pcie.h"
#include "tests/unit/help_core.h"

static struct error error;

static size_t add(struct machine *machine, const char *name, enum device_kind kind)
{
    size_t index;
    assert_ok(machine_add_device(machine, name, kind, &index, &error), &error);
    if (kind == DEVICE_NIC)
        param_set(&machine->node.devices[index].params, PARAM_NIC_RATE, 50e9, ORIGIN_OF_TEST);
    return index;
}

static size_t join(struct machine *machine, const char *a, const char *b)
{
    size_t index;
    assert_ok(core_link(machine, a, b, &index, &error), &error);
    return index;
}

/* Two sockets, each with a switch, two GPUs and two NICs behind it; the CPUs are joined.
 *
 *   gpu0 gpu1 nic0 nic1 - sw0 - cpu0 - cpu1 - sw1 - gpu2 gpu3 nic2 nic3
 */
static void two_sockets(struct machine *machine)
{
    char name[16], sw[16], cpu[16];
    machine_init(machine);
    for (int s = 0; s < 2; s++) {
        snprintf(sw, sizeof sw, "sw%d", s);
        snprintf(cpu, sizeof cpu, "cpu%d", s);
        add(machine, cpu, DEVICE_CPU);
        add(machine, sw, DEVICE_PCIE_SWITCH);
        join(machine, cpu, sw);
        for (int i = 2 * s; i < 2 * s + 2; i++) {
            snprintf(name, sizeof name, "gpu%d", i);
            add(machine, name, DEVICE_GPU);
            join(machine, sw, name);
            snprintf(name, sizeof name, "nic%d", i);
            add(machine, name, DEVICE_NIC);
            join(machine, sw, name);
        }
    }
    join(machine, "cpu0", "cpu1");
}

/* The path as "gpu0 > sw0 > nic0", links in the right direction; "" when there is none. */
static void path_is(const struct machine *machine, const char *from, const char *to,
                    const char *expected)
{
    struct path path;
    char text[256] = "";
    if (core_path(machine, from, to, &path)) {
        size_t used =
            (size_t)snprintf(text, sizeof text, "%s", machine->node.devices[path.device[0]].name);
        for (size_t i = 0; i < path.length; i++) {
            const struct link *link = &machine->node.links[path.link[i]];
            assert_int_equal(link->end[path.reversed[i] ? 1 : 0], path.device[i]);
            assert_int_equal(link->end[path.reversed[i] ? 0 : 1], path.device[i + 1]);
            used += (size_t)snprintf(text + used, sizeof text - used, " > %s",
                                     machine->node.devices[path.device[i + 1]].name);
        }
    }
    assert_string_equal(text, expected);
}

static const char *nearest(const struct machine *machine, const char *from, enum device_kind kind)
{
    int found = machine_nearest(machine, (size_t)machine_find_device(machine, from), kind, 0);
    return found < 0 ? "" : machine->node.devices[found].name;
}

/* ---- building
 * --------------------------------------------------------------------------------------- */

static void names_are_checked(void **state)
{
    (void)state;
    struct machine machine;
    size_t index = 77;
    char name[MACHINE_NAME_LENGTH + 1];
    machine_init(&machine);
    assert_int_equal(machine_add_device(&machine, "", DEVICE_GPU, &index, &error), STATUS_INPUT);
    memset(name, 'x', sizeof name);
    name[MACHINE_NAME_LENGTH] = '\0'; /* 32 characters: one too many */
    assert_int_equal(machine_add_device(&machine, name, DEVICE_GPU, &index, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a device name has 1 to 31 characters");
    assert_int_equal(index, 77);
    name[MACHINE_NAME_LENGTH - 1] = '\0';
    assert_int_equal(add(&machine, name, DEVICE_GPU), 0);
    assert_int_equal(machine_add_device(&machine, name, DEVICE_CPU, &index, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "exists already"));
    assert_int_equal(machine.node.device_count, 1);
    assert_int_equal(machine_find_device(&machine, name), 0);
    assert_int_equal(machine_find_device(&machine, "gpu0"), -1);
    machine_free(&machine);
    machine_free(&machine); /* twice does no harm */
}

static void ends_of_links_are_checked(void **state)
{
    (void)state;
    struct machine machine;
    size_t index = 77;
    machine_init(&machine);
    add(&machine, "a", DEVICE_GPU);
    add(&machine, "b", DEVICE_CPU);
    assert_int_equal(core_link(&machine, "a", "c", &index, &error), STATUS_INPUT);
    assert_string_equal(error.message, "link to unknown device \"c\"");
    assert_int_equal(core_link(&machine, "c", "a", &index, &error), STATUS_INPUT);
    assert_int_equal(core_link(&machine, "a", "a", &index, &error), STATUS_INPUT);
    assert_string_equal(error.message, "link from \"a\" to itself");
    assert_int_equal(index, 77);
    assert_int_equal(join(&machine, "a", "b"), 0);
    assert_int_equal(core_link(&machine, "a", "b", &index, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a and b are linked already");
    assert_int_equal(core_link(&machine, "b", "a", &index, &error), STATUS_INPUT);
    machine_free(&machine);
}

static void limits_are_kept(void **state)
{
    (void)state;
    struct machine machine;
    size_t index;
    machine_init(&machine);
    add(&machine, "cpu", DEVICE_CPU);
    for (int i = 1; i < MACHINE_MAX_DEVICES; i++) {
        char name[16];
        snprintf(name, sizeof name, "d%d", i);
        add(&machine, name, DEVICE_GPU);
        join(&machine, "cpu", name);
    }
    assert_int_equal(machine_add_device(&machine, "more", DEVICE_GPU, &index, &error),
                     STATUS_INPUT);
    assert_string_equal(error.message, "a node has at most 256 devices");
    /* 255 links to the cpu; then each to its next and over-next until there are 512 */
    for (int i = 1; machine.node.link_count < MACHINE_MAX_LINKS; i++) {
        char from[16], to[16];
        snprintf(from, sizeof from, "d%d", 1 + (i - 1) % 200);
        snprintf(to, sizeof to, "d%d", 2 + (i - 1) % 200 + (i - 1) / 200);
        join(&machine, from, to);
    }
    assert_int_equal(core_link(&machine, "d1", "d9", &index, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a node has at most 512 links");
    /* 255 GPUs: 65793 nodes have 16777215 of them, one node more is beyond 2^24 = 16777216 */
    machine.node_count = 65793;
    assert_ok(machine_finish(&machine, &error), &error);
    assert_int_equal(machine_ranks(&machine), 16777215);
    machine.node_count = 65794;
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a machine has at most 16777216 GPUs");
    machine.node_count = MACHINE_MAX_NODES + 1;
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a machine has 1 to 4194304 nodes");
    machine.node_count = 0;
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    machine_free(&machine);
}

static void incomplete_machines_are_refused(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "the node has no GPU");
    add(&machine, "gpu0", DEVICE_GPU);
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "gpu0"));
    assert_non_null(strstr(error.message, "cpu"));
    join(&machine, "cpu0", "gpu0");
    assert_ok(machine_finish(&machine, &error), &error);
    size_t nic;
    assert_ok(machine_add_device(&machine, "nic0", DEVICE_NIC, &nic, &error), &error);
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "nic0 reaches no cpu by any chain of links");
    join(&machine, "cpu0", "nic0");
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_string_equal(error.message, "nic0 has no rate");
    param_set(&machine.node.devices[nic].params, PARAM_NIC_RATE, 1e9, ORIGIN_OF_TEST);
    assert_ok(machine_finish(&machine, &error), &error);
    machine_free(&machine);
}

/* ---- ways
 * ---------------------------------------------------------------------------------------- */

static void fewest_links(void **state)
{
    (void)state;
    struct machine machine;
    struct path path;
    two_sockets(&machine);
    path_is(&machine, "gpu0", "nic0", "gpu0 > sw0 > nic0");
    path_is(&machine, "nic0", "gpu0", "nic0 > sw0 > gpu0");
    path_is(&machine, "gpu0", "cpu0", "gpu0 > sw0 > cpu0");
    path_is(&machine, "cpu1", "gpu0", "cpu1 > cpu0 > sw0 > gpu0");
    path_is(&machine, "gpu1", "nic3", "gpu1 > sw0 > cpu0 > cpu1 > sw1 > nic3");
    assert_true(core_path(&machine, "gpu0", "gpu0", &path));
    assert_int_equal(path.length, 0);
    /* a short cut between the switches is taken */
    join(&machine, "sw1", "sw0");
    path_is(&machine, "gpu1", "nic3", "gpu1 > sw0 > sw1 > nic3");
    machine_free(&machine);
}

/* A GPU, a NIC: ends of the way, never in the middle. */
static void endpoints_pass_nothing_on(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    add(&machine, "gpu0", DEVICE_GPU);
    add(&machine, "gpu1", DEVICE_GPU);
    add(&machine, "nic0", DEVICE_NIC);
    join(&machine, "cpu0", "gpu0");
    join(&machine, "gpu0", "nic0");
    join(&machine, "nic0", "gpu1");
    path_is(&machine, "gpu0", "nic0", "gpu0 > nic0");
    path_is(&machine, "cpu0", "nic0", "");
    path_is(&machine, "gpu0", "gpu1", "");
    assert_string_equal(nearest(&machine, "gpu1", DEVICE_NIC), "nic0");
    assert_string_equal(nearest(&machine, "gpu1", DEVICE_CPU), "");
    /* gpu1 reaches no cpu */
    assert_int_equal(machine_finish(&machine, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "gpu1"));
    machine_free(&machine);
}

static void ties_go_to_the_first_link(void **state)
{
    (void)state;
    struct machine machine;
    struct path path;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    add(&machine, "gpu0", DEVICE_GPU);
    add(&machine, "swb", DEVICE_PCIE_SWITCH);
    add(&machine, "swa", DEVICE_PCIE_SWITCH);
    join(&machine, "swa", "gpu0"); /* 0: the way by swa comes first */
    join(&machine, "swb", "gpu0");
    join(&machine, "cpu0", "swb");
    join(&machine, "cpu0", "swa");
    path_is(&machine, "gpu0", "cpu0", "gpu0 > swa > cpu0");
    assert_true(core_path(&machine, "gpu0", "cpu0", &path));
    assert_int_equal(path.link[0], 0);
    assert_int_equal(path.link[1], 3);
    machine_free(&machine);
}

/* A path of 16 links is the longest. */
static void a_path_has_a_longest_length(void **state)
{
    (void)state;
    struct machine machine;
    struct path path;
    char name[16], last[16] = "cpu0";
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    for (int i = 1; i <= MACHINE_PATH_LENGTH; i++) {
        snprintf(name, sizeof name, "sw%d", i);
        add(&machine, name, DEVICE_PCIE_SWITCH);
        join(&machine, last, name);
        snprintf(last, sizeof last, "%s", name);
        assert_true(core_path(&machine, "cpu0", name, &path));
        assert_int_equal(path.length, i);
    }
    add(&machine, "gpu0", DEVICE_GPU);
    join(&machine, last, "gpu0");
    assert_false(core_path(&machine, "cpu0", "gpu0", &path));
    machine_free(&machine);
}

/* ---- the nearest
 * --------------------------------------------------------------------------------- */

static void equally_near_nics_are_dealt_out(void **state)
{
    (void)state;
    struct machine machine;
    two_sockets(&machine);
    /* behind sw0: gpu0 (the 0th) takes nic0, gpu1 (the 1st) nic1; behind sw1 the 2nd and 3rd */
    assert_string_equal(nearest(&machine, "gpu0", DEVICE_NIC), "nic0");
    assert_string_equal(nearest(&machine, "gpu1", DEVICE_NIC), "nic1");
    assert_string_equal(nearest(&machine, "gpu2", DEVICE_NIC), "nic2");
    assert_string_equal(nearest(&machine, "gpu3", DEVICE_NIC), "nic3");
    assert_string_equal(nearest(&machine, "gpu0", DEVICE_CPU), "cpu0");
    assert_string_equal(nearest(&machine, "gpu3", DEVICE_CPU), "cpu1");
    assert_string_equal(nearest(&machine, "nic3", DEVICE_PCIE_SWITCH), "sw1");
    machine_free(&machine);
}

/* Four GPUs and two NICs behind one switch: 0 1 0 1. Four GPUs and one NIC: all the same. */
static void more_gpus_than_nics_share(void **state)
{
    (void)state;
    for (int nics = 1; nics <= 2; nics++) {
        struct machine machine;
        char name[16];
        machine_init(&machine);
        add(&machine, "cpu0", DEVICE_CPU);
        add(&machine, "sw0", DEVICE_PCIE_SWITCH);
        join(&machine, "cpu0", "sw0");
        for (int i = 0; i < nics; i++) {
            snprintf(name, sizeof name, "nic%d", i);
            add(&machine, name, DEVICE_NIC);
            join(&machine, "sw0", name);
        }
        for (int i = 0; i < 4; i++) {
            char nic[16];
            snprintf(name, sizeof name, "gpu%d", i);
            add(&machine, name, DEVICE_GPU);
            join(&machine, "sw0", name);
            snprintf(nic, sizeof nic, "nic%d", i % nics);
            assert_string_equal(nearest(&machine, name, DEVICE_NIC), nic);
        }
        machine_free(&machine);
    }
}

static void a_nearer_nic_wins(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    add(&machine, "far", DEVICE_NIC); /* at the root complex, and first in the list */
    add(&machine, "sw0", DEVICE_PCIE_SWITCH);
    add(&machine, "gpu0", DEVICE_GPU);
    join(&machine, "cpu0", "far");
    join(&machine, "cpu0", "sw0");
    join(&machine, "sw0", "gpu0");
    assert_string_equal(nearest(&machine, "gpu0", DEVICE_NIC), "far");
    add(&machine, "near", DEVICE_NIC);
    join(&machine, "sw0", "near");
    assert_string_equal(nearest(&machine, "gpu0", DEVICE_NIC), "near");
    machine_free(&machine);
}

static void what_cannot_be_reached_is_not_near(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    add(&machine, "gpu0", DEVICE_GPU);
    add(&machine, "nic0", DEVICE_NIC); /* joined to nothing */
    join(&machine, "cpu0", "gpu0");
    assert_string_equal(nearest(&machine, "gpu0", DEVICE_NIC), "");
    path_is(&machine, "gpu0", "nic0", "");
    machine_free(&machine);
}

/* ---- resources
 * ------------------------------------------------------------------------------------- */

static const struct resource *resource_named(const struct machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->node.resource_count; i++)
        if (strcmp(machine->node.resources[i].name, name) == 0)
            return &machine->node.resources[i];
    print_error("no resource \"%s\"\n", name);
    fail();
    return NULL;
}

static void resources_have_the_rates_given(void **state)
{
    (void)state;
    struct machine machine;
    struct core_spec spec = {.nodes = 3,
                             .pcie_Bps = 20e9,
                             .gpu_link_Bps = 30e9,
                             .nic_Bps = 10e9,
                             .dram_Bps = 200e9,
                             .link_s = 1e-6};
    core_machine(&spec, &machine);
    assert_near(resource_named(&machine, "sw0 -> cpu0")->rate_Bps, 20e9, 0);
    assert_near(resource_named(&machine, "cpu0 -> sw0")->rate_Bps, 20e9, 0);
    assert_near(resource_named(&machine, "sw0 -> gpu0")->rate_Bps, 30e9, 0);
    assert_near(resource_named(&machine, "sw0 -> gpu0")->latency_s, 1e-6, 0);
    assert_near(resource_named(&machine, "nic0 wire tx")->rate_Bps, 10e9, 0);
    assert_near(resource_named(&machine, "nic0 wire rx")->rate_Bps, 10e9, 0);
    assert_near(resource_named(&machine, "cpu0 DRAM")->rate_Bps, 200e9, 0);
    assert_true(isinf(resource_named(&machine, "gpu0 proxy thread")->rate_Bps));
    assert_int_equal(machine_ranks(&machine), 3);
    machine_free(&machine);
}

/* A link without a rate of its own carries long DMA writes: models/pcie at 64 KiB. A NIC's payload
 * rate is its line rate times its efficiency: 50e9 * 0.9 = 45e9. */
static void rates_follow_from_parameters(void **state)
{
    (void)state;
    struct machine machine;
    machine_init(&machine);
    add(&machine, "cpu0", DEVICE_CPU);
    add(&machine, "gpu0", DEVICE_GPU);
    size_t nic = add(&machine, "nic0", DEVICE_NIC);
    struct params *params = &machine.node.devices[nic].params;
    param_set(params, PARAM_NIC_EFFICIENCY, 0.9, ORIGIN_OF_TEST);
    join(&machine, "cpu0", "nic0");
    size_t index = join(&machine, "cpu0", "gpu0");
    struct link *link = &machine.node.links[index];
    assert_near(link_rate_Bps(link), pcie_write_Bps(4, 16, 256, 65536), 0);
    /* gen 5 x8, MPS 512; DLLPs at x8 every 182 B */
    param_set(&link->params, PARAM_PCIE_GEN, 5, ORIGIN_OF_TEST);
    param_set(&link->params, PARAM_PCIE_WIDTH, 8, ORIGIN_OF_TEST);
    param_set(&link->params, PARAM_PCIE_MPS, 512, ORIGIN_OF_TEST);
    assert_near(link_rate_Bps(link), pcie_write_Bps(5, 8, 512, 65536), 0);
    param_set(&link->params, PARAM_PCIE_RATE, 12e9, ORIGIN_OF_TEST);
    assert_near(link_rate_Bps(link), 12e9, 0);
    assert_ok(machine_finish(&machine, &error), &error);
    assert_near(resource_named(&machine, "cpu0 -> gpu0")->rate_Bps, 12e9, 0);
    assert_near(resource_named(&machine, "nic0 wire tx")->rate_Bps, 45e9, 1e-15);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(ends_of_links_are_checked),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(incomplete_machines_are_refused),
        cmocka_unit_test(fewest_links),
        cmocka_unit_test(endpoints_pass_nothing_on),
        cmocka_unit_test(ties_go_to_the_first_link),
        cmocka_unit_test(a_path_has_a_longest_length),
        cmocka_unit_test(equally_near_nics_are_dealt_out),
        cmocka_unit_test(more_gpus_than_nics_share),
        cmocka_unit_test(a_nearer_nic_wins),
        cmocka_unit_test(what_cannot_be_reached_is_not_near),
        cmocka_unit_test(resources_have_the_rates_given),
        cmocka_unit_test(rates_follow_from_parameters),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
