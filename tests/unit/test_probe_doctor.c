/* test_probe_doctor.c: doctor and gdsim check say the same words; what the doctor makes of trees is
 * in tests/golden/probe-doctor.txt. */
#include "probe/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/doctor_checks.h"
#include "probe/host_io.h"
#include "sim/core/precondition.h"

static void same(const char *here, const char *there)
{
    assert_int_equal(here == NULL, there == NULL);
    if (here)
        assert_string_equal(here, there);
}

/* Rows of gdsim's table that are no matter of one machine, but of the fabric or of a file. */
static bool is_elsewhere(enum precondition row)
{
    return row == PRE_SHARP_TREE || row == PRE_SHARP_UPLINK || row == PRE_LINK_RATE;
}

/* gdprobe uses nothing of gdsim, so the table stands twice: a new row there is due here as well. */
static void words_are_those_of_gdsim(void **state)
{
    (void)state;
    size_t row = 0;
    for (size_t i = 0; i < PRE_COUNT; i++) {
        const struct precondition_info *there = &precondition_table[i];
        if (is_elsewhere((enum precondition)i))
            continue;
        if (row == DOCTOR_SHARED)
            fail_msg("\"%s\" is not in probe/doctor_words.c", there->name);
        same(doctor_words[row].name, there->name);
        same(doctor_words[row].see, there->see);
        same(doctor_words[row].fix, there->fix);
        same(doctor_words[row].see_in_vm, there->see_in_vm);
        same(doctor_words[row].fix_in_vm, there->fix_in_vm);
        row++;
    }
    assert_int_equal(row, DOCTOR_SHARED);
    for (; row < DOCTOR_COUNT; row++)
        assert_true(doctor_words[row].name && doctor_words[row].see && doctor_words[row].fix);
}

/* The order of a path's items is the order of checking; the worst finding of a row wins. */
static void empty_machine(void **state)
{
    (void)state;
    struct facts *facts = calloc(1, sizeof *facts);
    struct doctor *doctor = calloc(1, sizeof *doctor);
    assert_true(facts && doctor);
    why_set(&facts->pci.why, "/sys is not mounted");
    facts->host.cufile_compat = facts->host.vm = UNKNOWN;
    assert_true(doctor_examine(facts, doctor));
    /* Nothing could be read: whether there is a GPU is unknown, never "no". */
    for (size_t p = 0; p < DOCTOR_PATHS; p++) {
        assert_int_equal(doctor->paths[p].items[0].row, DOCTOR_GPU);
        assert_int_equal(doctor->paths[p].items[0].holds, UNKNOWN);
        assert_string_equal(doctor->paths[p].items[0].sentences[0], "/sys is not mounted");
    }
    free(doctor);
    free(facts);
}

static void mounts(void **state)
{
    (void)state;
    static const struct {
        const char *source, *type, *options;
        int supported;
    } rows[] = {
        {"/dev/nvme0n1", "ext4", "rw,relatime", YES},
        {"/dev/nvme0n1p2", "xfs", "rw", YES},
        {"/dev/nvme0n1", "ext4", "rw,data=journal", NO},
        {"/dev/sda1", "ext4", "rw", NO},
        {"/dev/md0", "xfs", "rw", UNKNOWN},
        {"/dev/nvme0n1", "btrfs", "rw", NO},
        {"server:/x", "nfs4", "rw,proto=tcp", NO},
        {"server:/x", "nfs4", "rw,proto=rdma,port=20049", UNKNOWN},
        {"10.0.0.1@o2ib:/fs", "lustre", "rw", UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct host_mount mount = {.path = "/data"};
        strcpy(mount.source, rows[i].source);
        strcpy(mount.type, rows[i].type);
        host_judge_mount(&mount, rows[i].options);
        assert_int_equal(mount.supported, rows[i].supported);
    }
}

static void compatibility_mode(void **state)
{
    (void)state;
    assert_int_equal(host_cufile_compat("{\"allow_compat_mode\": true}"), YES);
    assert_int_equal(host_cufile_compat("{\"allow_compat_mode\"\n :\tfalse}"), NO);
    assert_int_equal(host_cufile_compat("// \"allow_compat_mode\": true\n"), UNKNOWN);
    assert_int_equal(
        host_cufile_compat("// \"allow_compat_mode\": true\n  \"allow_compat_mode\": false"), NO);
    assert_int_equal(host_cufile_compat("\"allow_compat_mode\""), UNKNOWN);
    assert_int_equal(host_cufile_compat(""), UNKNOWN);
}

/* What a hang cut off keeps what came before it; nonsense is skipped. */
static void driver_lines(void **state)
{
    (void)state;
    struct driver *driver = malloc(sizeof *driver);
    assert_non_null(driver);
    driver_parse("cuda_version 12020\ngpu 1 busid 00000000:C1:00.0\ngpu 1 bar1_B 274877906944\n"
                 "gpu 64 sm 90\ngpu x sm 90\nnvlink 1 0000:c2:00.0\nnvlink 1 00000000:C2:00.0\n"
                 "nvlink 1 nvswitch\np2p 0 1 chipset not supported\npeer 1 0 1\npeer 1 99 1\n"
                 "why cuda first\nwhy cuda second\ngpu 1 bar1_used_B -5\n\n   \nnonsense",
                 driver);
    assert_int_equal(driver->cuda_version, 12020);
    assert_int_equal(driver->gpu_count, 2);
    assert_string_equal(driver->gpus[1].busid, "0000:c1:00.0");
    assert_int_equal(driver_find(driver, "0000:c1:00.0"), 1);
    assert_true(driver->gpus[1].bar1_B == 274877906944.0);
    assert_true(driver->gpus[1].bar1_used_B < 0);
    assert_int_equal(driver->gpus[1].link_count, 2);
    assert_int_equal(driver->gpus[1].links[0].count, 2);
    assert_string_equal(driver->gpus[1].links[1].to, "nvswitch");
    assert_string_equal(driver->p2p[0][1], "chipset not supported");
    assert_int_equal(driver->peer[1][0], YES);
    assert_int_equal(driver->peer[0][1], UNKNOWN);
    assert_int_equal(driver->gpus[0].gdr, UNKNOWN);
    assert_false(driver->nvlinks_known);
    assert_string_equal(driver_why(driver, "cuda"), "first");
    driver->text = NULL;
    driver_free(driver);
    free(driver);
}

static void settings(void **state)
{
    (void)state;
    char environment[] = "NCCL_IB_DISABLE=0\nNCCL_NET_GDR_LEVEL=SYS\n";
    char file[] = "# NCCL_DEBUG=WARN\n  NCCL_NET_GDR_LEVEL=PXB\nNCCL_P2P_LEVEL=3 # PHB\nNCCL_X";
    struct facts *facts = calloc(1, sizeof *facts);
    char value[SETTING_VALUE];
    const char *where;
    assert_non_null(facts);
    facts->settings = (struct settings){environment, file, {""}};
    assert_true(settings_find(&facts->settings, "NCCL_NET_GDR_LEVEL", value, &where));
    assert_string_equal(value, "SYS"); /* the environment wins */
    assert_string_equal(where, "environment");
    assert_true(settings_find(&facts->settings, "NCCL_P2P_LEVEL", value, &where));
    assert_string_equal(value, "3");
    assert_string_equal(where, "/etc/nccl.conf");
    assert_false(settings_find(&facts->settings, "NCCL_DEBUG", value, &where));
    assert_false(settings_find(&facts->settings, "NCCL_X", value, &where));
    assert_int_equal(facts_level(facts, "NCCL_P2P_LEVEL", PCI_PXB, &where), PCI_PHB);
    assert_int_equal(facts_level(facts, "NCCL_NET_GDR_LEVEL", PCI_PXB, &where), PCI_SYS);
    assert_int_equal(check_settings(facts, true).holds, YES); /* NCCL_IB_DISABLE is 0 */
    facts->settings.environment = NULL;
    assert_int_equal(facts_level(facts, "NCCL_NET_GDR_LEVEL", PCI_SYS, &where), PCI_PXB);
    assert_int_equal(check_settings(facts, true).holds, UNKNOWN);
    free(facts);
}

static void storage_counters(void **state)
{
    (void)state;
    static char none[] = "IO stats: Enabled\nReads\t: n=0 ok=0\nWrites\t: n=0\n",
                some[] = "IO stats: Enabled\nReads\t: n=7 ok=7\nWrites\t: n=0\n",
                off[] = "IO stats: Disabled\nOps\t: Read=0 Write=0 BatchIO=0\n";
    struct facts *facts = calloc(1, sizeof *facts);
    assert_non_null(facts);
    assert_int_equal(check_served(facts).holds, UNKNOWN);
    facts->host.nvidia_fs_stats = none;
    assert_int_equal(check_served(facts).holds, NO);
    facts->host.nvidia_fs_stats = some;
    assert_string_equal(check_served(facts).sentence, "7 reads and 0 writes since it was loaded");
    facts->host.nvidia_fs_stats = off;
    assert_int_equal(check_served(facts).holds, UNKNOWN);
    free(facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_gdsim),
        cmocka_unit_test(empty_machine),
        cmocka_unit_test(mounts),
        cmocka_unit_test(compatibility_mode),
        cmocka_unit_test(driver_lines),
        cmocka_unit_test(settings),
        cmocka_unit_test(storage_counters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
