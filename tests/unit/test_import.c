/* test_import.c: what every import shares, nvidia-smi topo -m, the facts of gdprobe, and merging.
 * lspci: test_import_lspci.c; NCCL's topology files: test_import_xml.c. */
#include "sim/load/import.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_import.h"

/* ---- small things --------------------------------------------------------------------------- */

static void reads_speeds(void **state)
{
    (void)state;
    assert_int_equal(topology_gen("2.5 GT/s"), 1);
    assert_int_equal(topology_gen("2.5GT/s"), 1);
    assert_int_equal(topology_gen("5 GT/s"), 2);
    assert_int_equal(topology_gen("5.0 GT/s PCIe"), 2);
    assert_int_equal(topology_gen("8GT/s, Width x16"), 3);
    assert_int_equal(topology_gen("16 GT/s"), 4);
    assert_int_equal(topology_gen("16.0 GT/s PCIe"), 4);
    assert_int_equal(topology_gen("32.0 GT/s"), 5);
    assert_int_equal(topology_gen("64.0 GT/s PCIe"), 6);
    assert_int_equal(topology_gen("128GT/s"), 7);
    static const char *const bad[] = {
        "",       "Unknown speed", "Unknown",   "50 GT/s",  "160 GT/s",  "16",      "16 GB/s",
        "6 GT/s", "2 GT/s",        "16.5 GT/s", "-16 GT/s", "0x10 GT/s", "inf GT/s"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(topology_gen(bad[i]), 0);
}

static void reads_busids(void **state)
{
    (void)state;
    uint64_t a, b;
    struct topology_device device = {.busid = ""};
    assert_true(topology_parse_busid("0000:17:00.0", &a));
    assert_true(topology_parse_busid("17:00.0", &b));
    assert_true(a == b);
    assert_true(topology_parse_busid("00000000:17:00.0", &b));
    assert_true(a == b);
    assert_true(topology_set_busid(&device, "FFFFFFFF:FF:1F.7"));
    assert_string_equal(device.busid, "ffffffff:ff:1f.7");
    static const char *const bad[] = {"",        "17",        "17:00",          "17:00.8",
                                      "17:20.0", "17:00.0x",  ":17:00.0",       "117:00.0",
                                      "x7:00.0", "1:2:3:4.5", "fffffff:ffff:ff"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(topology_parse_busid(bad[i], &a));
}

static void detects_formats(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum import_format format;
    } rows[] = {
        {"<system/>", IMPORT_NCCL_XML},
        {"\xEF\xBB\xBF \n<?xml version='1.0'?>", IMPORT_NCCL_XML},
        {"$ nvidia-smi topo -m\n\t\x1b[4mGPU0\tGPU1\x1b[0m\n", IMPORT_TOPO_M},
        {"00:00.0 Host bridge: x\n", IMPORT_LSPCI},
        {"pcilib: oops\n0000:00:00.0 Host bridge: x\n", IMPORT_LSPCI},
        {"# facts\ngdprobe_facts: 1\n", IMPORT_FACTS},
        {"title: x\nnode: {}\n", IMPORT_FORMATS},
        {"", IMPORT_FORMATS},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(import_detect(rows[i].text, strlen(rows[i].text)), rows[i].format);
}

static void refuses_what_is_no_text(void **state)
{
    struct import_fixture *f = *state;
    import_expect_bad(f, IMPORT_FORMATS, "", "the file is empty");
    import_expect_bad(f, IMPORT_FORMATS, "hello\n", "looks like no format");
    static const char nul[] = "<system>\0</system>";
    f->topology = topology_free(f->topology);
    f->topology = topology_new();
    assert_int_equal(
        import_read("in", nul, sizeof nul - 1, IMPORT_FORMATS, f->topology, NULL, &f->diag),
        STATUS_INPUT);
    size_t length = (size_t)IMPORT_BYTES + 1;
    char *huge = malloc(length + 1);
    memset(huge, ' ', length);
    huge[length] = '\0';
    import_expect_bad(f, IMPORT_FORMATS, huge, "larger than 16 MiB");
    free(huge);
}

/* ---- nvidia-smi topo -m --------------------------------------------------------------------- */

static void topo_m_tree(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_FORMATS,
        "\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"
        "\x1b[0m\r\n"
        "GPU0\t X \tPXB\tSYS\tPIX\tSYS\t0-31,64-95\t0\t\tN/A\r\n"
        "GPU1\tPXB\t X \tSYS\tPXB\tSYS\t0-31,64-95\t0\t\tN/A\r\n"
        "GPU2\tSYS\tSYS\t X \tSYS\tNODE\t32-63\t1\t\tN/A\r\n"
        "NIC0\tPIX\tPXB\tSYS\t X \tSYS\t\t\t\t\r\n"
        "NIC1\tSYS\tSYS\tNODE\tSYS\t X \t\t\t\t\r\n"
        "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n",
        "cpu0: {type: cpu}\ncpu1: {type: cpu}\nsw0: {type: pcie_switch}\n"
        "sw1: {type: pcie_switch}\ngpu0: {type: gpu}\ngpu1: {type: gpu}\n"
        "gpu2: {type: gpu}\nnic0: {type: nic, rate: 10 Gb/s}\n"
        "nic1: {type: nic, rate: 10 Gb/s}\n"
        "cpu0-sw0: {gen: 4, width: 16}\nsw0-sw1: {gen: 4, width: 16}\n"
        "sw1-gpu0: {gen: 4, width: 16}\nsw0-gpu1: {gen: 4, width: 16}\n"
        "cpu1-gpu2: {gen: 4, width: 16}\nsw1-nic0: {gen: 4, width: 16}\n"
        "cpu1-nic1: {gen: 4, width: 16}\ncpu0-cpu1: {type: socket}\n");
    import_expect_note(f, TOPOLOGY_ASSUMED, "sw0", "PCIe width not known");
    assert_string_equal(f->topology->devices[topology_nth(f->topology, DEVICE_NIC, 1)].label,
                        "mlx5_bond_0");
}

static void topo_m_nvlinks(void **state)
{
    struct import_fixture *f = *state;
    /* 3 GPUs with 18 links to each other are 36 from one GPU: more than it has, so a switch. The
     * old form: mlx5_0 as column, SOC for SYS, spaces for tabs, no legend. */
    import_expect_node(
        f, IMPORT_TOPO_M,
        "        GPU0    GPU1    GPU2    mlx5_0  CPU Affinity\n"
        "GPU0     X      NV18    NV18    PHB     0-31\n"
        "GPU1    NV18     X      NV18    SOC     32-63\n"
        "GPU2    NV18    NV18     X      SOC     32-63\n"
        "mlx5_0  PHB     SOC     SOC      X\n",
        "cpu0: {type: cpu}\ncpu1: {type: cpu}\ngpu0: {type: gpu}\ngpu1: {type: gpu}\n"
        "gpu2: {type: gpu}\nnic0: {type: nic, rate: 10 Gb/s}\nnvs0: {type: nvswitch}\n"
        "cpu0-gpu0: {gen: 4, width: 16}\ncpu1-gpu1: {gen: 4, width: 16}\n"
        "cpu1-gpu2: {gen: 4, width: 16}\ncpu0-nic0: {gen: 4, width: 16}\n"
        "gpu0-nvs0: {type: nvlink, rate: {value: 360 GB/s, source: \"assumed: 20 GB/s a "
        "link\"}}\n"
        "gpu1-nvs0: {type: nvlink, rate: {value: 360 GB/s, source: \"assumed: 20 GB/s a "
        "link\"}}\n"
        "gpu2-nvs0: {type: nvlink, rate: {value: 360 GB/s, source: \"assumed: 20 GB/s a "
        "link\"}}\n"
        "cpu0-cpu1: {type: socket}\n");
    import_expect_note(f, TOPOLOGY_ASSUMED, NULL, "GPU2 names no NUMA node");
    import_expect_node(
        f, IMPORT_TOPO_M,
        "     GPU0 GPU1 GPU2 CPU Affinity NUMA Affinity\n"
        "GPU0  X   NV1  NV2  0-3 0\nGPU1 NV1   X   SYS  0-3 0\nGPU2 NV2  SYS   X   4-7 1\n",
        "cpu0: {type: cpu}\ncpu1: {type: cpu}\ngpu0: {type: gpu}\ngpu1: {type: gpu}\n"
        "gpu2: {type: gpu}\ncpu0-gpu0: {gen: 4, width: 16}\n"
        "cpu0-gpu1: {gen: 4, width: 16}\ncpu1-gpu2: {gen: 4, width: 16}\n"
        "gpu0-gpu1: {type: nvlink, rate: {value: 20 GB/s, source: \"assumed: 20 GB/s a "
        "link\"}}\n"
        "gpu0-gpu2: {type: nvlink, rate: {value: 40 GB/s, source: \"assumed: 20 GB/s a "
        "link\"}}\n"
        "cpu0-cpu1: {type: socket}\n");
}

static void topo_m_refuses(void **state)
{
    struct import_fixture *f = *state;
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tSYS\t X \n",
                      "contradicts itself");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV2\t X \n",
                      "contradicts itself");
    import_expect_bad(f, IMPORT_TOPO_M,
                      "\tGPU0\tGPU1\tNIC0\nGPU0\t X \tSYS\tPIX\nGPU1\tSYS\t X \tPIX\n"
                      "NIC0\tPIX\tPIX\t X \n",
                      "no tree has this matrix: GPU0 and GPU1 are SYS");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\tPIX\n",
                      "X stands");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tNIC0\nGPU0\t X \tNV2\nNIC0\tNV2\t X \n",
                      "GPUs only");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tPIX\n", "has 2 cells");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tPIX\n", "no row of GPU1");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tFAR\nGPU1\tFAR\t X \n",
                      "GPU0 and GPU1 is \"FAR\"");
    import_expect_bad(f, IMPORT_TOPO_M, "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU0\t X \tPIX\n", "twice");
    import_expect_bad(f, IMPORT_TOPO_M, "nothing here\n", "no line that names GPU0");
}

/* ---- facts ---------------------------------------------------------------------------------- */

#define FACTS(rest) "gdprobe_facts: 1\npci:\n" rest
#define FACTS_GPU                                                                                  \
    "  - {busid: 0000:43:00.0, class: 0x030200, numa: 0, speed: 16.0 GT/s PCIe, "                  \
    "width: 16}\n"

static void facts_whole(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_FORMATS,
        "gdprobe_facts: 1\ncpu: {arch: x86_64, vendor: AuthenticAMD, family: 25, model: 1}\n"
        "vm: no\niommu: translating\nmodules: [nvidia, gdrdrv]\ndmabuf: yes\n"
        "p2p_driver: no\nats: unknown\ngds_filesystem: yes\n"
        "gdr_level: phb\np2p_level: unknown\npci:\n"
        /* a child may stand before its parent */
        "  - {busid: 0000:43:00.0, class: 0x030200, parent: 0000:42:00.0, speed: 8.0 GT/s PCIe, "
        "width: 16, max_speed: 32.0 GT/s PCIe, max_width: 16, mps: unknown, acs: unknown}\n"
        "  - {busid: 0000:40:01.1, class: 0x0604, parent: root, numa: 0, acs: [SV, RR]}\n"
        "  - {busid: 0000:41:00.0, class: 0x060400, parent: 0000:40:01.1, speed: 16.0 GT/s PCIe, "
        "width: 255, mps: 512 B}\n"
        "  - {busid: 0000:42:00.0, class: 0x0604, parent: 0000:41:00.0, acs: [], max_speed: 16.0 "
        "GT/s PCIe}\n"
        "  - {busid: 0000:45:00.0, class: 0x0200, parent: 0000:41:00.0, relaxed_ordering: no, "
        "speed: Unknown}\n"
        "gpus:\n  - {busid: 0000:43:00.0, index: 0, name: A100, sm: 80, memory: 80 GiB, bar1: "
        "256 MiB}\n"
        "nvlinks:\n  - {gpu: 0000:43:00.0, to: nvswitch, count: 12, rate: 250 GB/s}\n"
        "nics:\n  - {busid: 0000:45:00.0, name: mlx5_0, rate: 200 Gb/s}\n",
        "cpu0: {type: cpu}\nsw0: {type: pcie_switch}\n"
        "gpu0: {type: gpu, memory: 80 GiB, bar1: 256 MiB}\n"
        "nic0: {type: nic, rate: 200 Gb/s, relaxed_ordering: no}\nnvs0: {type: nvswitch}\n"
        "cpu0-sw0: {gen: 4, width: 16, mps: 512 B, acs: SV+RR}\n"
        "sw0-gpu0: {gen: 3, width: 16, gen_max: 4, acs: none}\n"
        "sw0-nic0: {gen: 4, width: 16}\n"
        "gpu0-nvs0: {type: nvlink, rate: {value: 250 GB/s, source: \"as gdprobe read it: what the "
        "links can do, not what payload reaches\"}}\n");
    const struct topology_state *machine = &f->topology->state;
    assert_int_equal(machine->peermem, 0);
    assert_int_equal(machine->gdrdrv, 1);
    assert_int_equal(machine->dmabuf, 1);
    assert_int_equal(machine->iommu, 2);
    assert_int_equal(machine->vm, 0);
    assert_int_equal(machine->p2p_driver, 0);
    assert_int_equal(machine->ats, -1);
    assert_int_equal(machine->gds_filesystem, 1);
    assert_int_equal(machine->gdr_level, PATH_PHB);
    assert_int_equal(machine->p2p_level, -1);
    import_expect_note(f, TOPOLOGY_FOUND, "gpu0", "an idle GPU slows its link down");
    import_expect_note(f, TOPOLOGY_ASSUMED, "sw0", "PCIe width not known");
}

/* Modules are there, but no NIC that could use them. */
static void facts_without_rdma(void **state)
{
    struct import_fixture *f = *state;
    static const char *const nics[] = {"gdr: no", "rate: 25 Gb/s"};
    for (size_t i = 0; i < 2; i++) {
        char text[512];
        snprintf(
            text, sizeof text,
            "gdprobe_facts: 1\nmodules: [nvidia_peermem]\ndmabuf: yes\npci:\n" FACTS_GPU
            "  - {busid: 0000:45:00.0, class: 0x0200, numa: 0, speed: 8.0 GT/s PCIe, width: 8}\n"
            "nics:\n  - {busid: 0000:45:00.0, name: eth0, %s}\n",
            nics[i]);
        assert_int_equal(import_given(f, IMPORT_FACTS, text), STATUS_OK);
        assert_int_equal(f->topology->state.peermem, i);
        assert_int_equal(f->topology->state.dmabuf, i);
    }
}

static void facts_refuses(void **state)
{
    struct import_fixture *f = *state;
    import_expect_bad(f, IMPORT_FACTS, "gdprobe_facts: 2\npci: []\n", "from 1 to 1");
    import_expect_bad(f, IMPORT_FACTS, "pci: []\n", "does not start with");
    /* Observations without facts, and a last line without an end. */
    import_expect_bad(f, IMPORT_FACTS, "# gdprobe_observations: 1\n\n# host: a", "facts");
    import_expect_bad(f, IMPORT_FACTS, "gdprobe_facts: 1\n", "no list \"pci\"");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: x}\n"), "no bus id");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: 0000:43:00.0, speeed: 1}\n"),
                      "\"speed\"?");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: 0000:43:00.0, parent: 0000:42:00.0}\n"),
                      "is not in the list");
    import_expect_bad(f, IMPORT_FACTS,
                      FACTS(FACTS_GPU "  - {busid: 0000:44:00.0, parent: 0000:43:00.0}\n"),
                      "no bridge");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: 0000:43:00.0, acs: off}\n"),
                      "acs must be");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: 0000:43:00.0, acs: [XX]}\n"),
                      "unknown bit");
    import_expect_bad(f, IMPORT_FACTS, FACTS("  - {busid: 0000:43:00.0, mps: 1 MiB}\n"),
                      "out of range");
    import_expect_bad(f, IMPORT_FACTS,
                      FACTS("  - {busid: 0000:43:00.0, class: 0x0604, parent: "
                            "0000:43:00.0}\n"),
                      "in a circle");
    import_expect_bad(f, IMPORT_FACTS, FACTS(FACTS_GPU) "gpus: [{busid: 0000:44:00.0}]\n",
                      "has no gpu");
    import_expect_bad(f, IMPORT_FACTS,
                      FACTS(FACTS_GPU) "nvlinks: [{gpu: 0000:43:00.0, to: 0000:43:00.0}]\n",
                      "to itself");
    import_expect_bad(f, IMPORT_FACTS, FACTS(FACTS_GPU) "iommu: maybe\n", "unknown iommu");
    import_expect_bad(f, IMPORT_FACTS, FACTS(FACTS_GPU) "modules: none\n", "must be a list");
}

/* ---- two files ------------------------------------------------------------------------------ */

static void merges_files(void **state)
{
    struct import_fixture *f = *state;
    static const char xml[] = SYSTEM(CPU0(XGPU("0000:17:00.0", "0") XGPU("0000:18:00.0", "1")));
    static const char lspci[] = "17:00.0 3D controller: NVIDIA\n\tNUMA node: 0\n" EXPRESS(
        "Endpoint", "Speed 16GT/s, Width x16",
        "Speed 16GT/s, Width x8 (downgraded)") "99:00.0 Ethernet controller: x\n";
    static const char matrix[] = "\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n";
    struct topology *more = topology_new(), *last = topology_new();
    size_t length;
    f->topology = topology_new();
    assert_int_equal(
        import_read("xml", xml, sizeof xml - 1, IMPORT_FORMATS, f->topology, NULL, &f->diag),
        STATUS_OK);
    assert_int_equal(
        import_read("lspci", lspci, sizeof lspci - 1, IMPORT_FORMATS, more, NULL, &f->diag),
        STATUS_OK);
    assert_int_equal(
        import_read("matrix", matrix, sizeof matrix - 1, IMPORT_FORMATS, last, NULL, &f->diag),
        STATUS_OK);
    topology_merge(f->topology, more, &f->diag);
    topology_merge(f->topology, last, &f->diag);
    assert_int_equal(topology_settle(f->topology, &f->settings, &f->diag), STATUS_OK);
    assert_int_equal(topology_write(f->topology, "both", &f->text, &length), STATUS_OK);
    assert_non_null(strstr(f->text, "cpu0-gpu0: {gen: 4, width: 8, width_max: 16, mps: 256 B}"));
    assert_non_null(strstr(f->text, "cpu0-gpu1: {gen: 4, width: 16}"));
    /* A100 by the XML, four links by the matrix. */
    assert_non_null(strstr(f->text, "gpu0-gpu1: {type: nvlink, rate: {value: 80 GB/s"));
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "some nics of this file have no bus id or name");
    topology_free(more);
    topology_free(last);
}

/* What people wrote gets no further than a comment, cleaned. */
static void cleans_texts(void **state)
{
    struct import_fixture *f = *state;
    size_t length;
    assert_int_equal(
        import_given(
            f, IMPORT_NCCL_XML,
            SYSTEM(CPU0(XGPU("1:0.0", "0") "<nic><net dev=\"0\" name=\"a&#10;b: &quot;&#xE9;\" "
                                           "speed=\"1000\"/></nic>"))),
        STATUS_OK);
    assert_int_equal(topology_write(f->topology, "x\ny: \"\\", &f->text, &length), STATUS_OK);
    assert_non_null(strstr(f->text, "# a?b: \"??\n"));
    assert_non_null(strstr(f->text, "title: \"Imported from x?y: ??\"\n"));
    assert_int_equal(strlen(f->text), length);
}

/* ---- the job -------------------------------------------------------------------------------- */

/* Inside one node no byte passes a NIC: with NICs, the job is one of two nodes that uses each. */
static void job_meets_the_nics(void **state)
{
    struct import_fixture *f = *state;
    static const char *const inputs[] = {"\tGPU0\tNIC0\nGPU0\t X \tPIX\nNIC0\tPIX\t X \n",
                                         "\tGPU0\tGPU1\nGPU0\t X \tPIX\nGPU1\tPIX\t X \n"};
    static const char *const wanted[][2] = {{"\nalgorithm: rings  # ", "\nnodes: 2  # "},
                                            {"\nalgorithm: ring\n", "\nnodes: 1  # "}};
    for (size_t i = 0; i < 2; i++) {
        size_t length;
        assert_int_equal(import_given(f, IMPORT_TOPO_M, inputs[i]), STATUS_OK);
        assert_int_equal(topology_write(f->topology, "in", &f->text, &length), STATUS_OK);
        assert_non_null(strstr(f->text, wanted[i][0]));
        assert_non_null(strstr(f->text, wanted[i][1]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_speeds),
        cmocka_unit_test(reads_busids),
        cmocka_unit_test(detects_formats),
        cmocka_unit_test_setup_teardown(refuses_what_is_no_text, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(topo_m_tree, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(topo_m_nvlinks, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(topo_m_refuses, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(facts_whole, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(facts_without_rdma, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(facts_refuses, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(merges_files, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(cleans_texts, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(job_meets_the_nics, import_set_up, import_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
