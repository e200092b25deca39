/* test_import_xml.c: NCCL's topology XML into a scenario: what is understood, what is said about
 * what is not, and what is refused. */
#include "sim/load/import.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_import.h"

/* ---- NCCL's XML ----------------------------------------------------------------------------- */

static void limits_of_test(const struct topology_device *cpu, struct topology_limits *ret_limits)
{
    if (cpu->model == 143)
        *ret_limits = (struct topology_limits){.name = "test",
                                               .source = "a \"b\" \\ c",
                                               .peer_write_Bps = 20e9,
                                               .peer_read_Bps = 0,
                                               .socket_Bps = 22e9,
                                               .strict_low = 0.5,
                                               .strict_high = 0.5};
}

static void xml_whole_node(void **state)
{
    struct import_fixture *f = *state;
    f->settings.limits = limits_of_test;
    import_expect_node(
        f, IMPORT_FORMATS,
        "<system version=\"1\">\n"
        "<cpu numaid=\"0\" affinity=\"ff\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"143\">\n"
        " <pci busid=\"0000:15:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" "
        "link_width=\"16\">\n"
        "  <pci busid=\"0000:17:00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s\" "
        "link_width=\"16\">\n"
        "   <gpu dev=\"1\" sm=\"90\" rank=\"1\" gdr=\"1\">"
        "<nvlink target=\"0000:99:00.0\" count=\"12\" tclass=\"0x068000\"/>"
        "<nvlink target=\"fffffff:ffff:ff\" count=\"6\" tclass=\"0x068000\"/></gpu></pci>\n"
        "  <pci busid=\"0000:18:00.0\" class=\"0x020700\" link_speed=\"16 GT/s\" "
        "link_width=\"16\"><nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" gdr=\"1\" "
        "coll=\"1\"/></nic></pci>\n"
        " </pci>\n"
        "</cpu>\n"
        "<cpu numaid=\"1\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" "
        "modelid=\"143\">\n"
        " <pci busid=\"0000:97:00.0\" class=\"0x030200\" link_speed=\"64.0 GT/s PCIe\" "
        "link_width=\"8\"><gpu dev=\"0\" sm=\"90\" gdr=\"1\">"
        "<nvlink target=\"0000:99:00.0\" count=\"18\" tclass=\"0x068000\"/></gpu></pci>\n"
        "</cpu></system>",
        /* GPUs in the order of dev; 18 NVLinks of 20.6 GB/s; 400000 Mb/s = 400 Gb/s. */
        "cpu0: {type: cpu, peer_write: {value: 20 GB/s, source: \"a 'b' ' c\"}, "
        "peer_read: {value: 0 B/s, source: \"a 'b' ' c\"}, "
        "strict_order: {value: 0.5, source: \"a 'b' ' c\"}}\n"
        "cpu1: {type: cpu, peer_write: {value: 20 GB/s, source: \"a 'b' ' c\"}, "
        "peer_read: {value: 0 B/s, source: \"a 'b' ' c\"}, "
        "strict_order: {value: 0.5, source: \"a 'b' ' c\"}}\n"
        "sw0: {type: pcie_switch}\n"
        "gpu0: {type: gpu}\n"
        "gpu1: {type: gpu}\n"
        "nic0: {type: nic, rate: 400 Gb/s}\n"
        "nvs0: {type: nvswitch}\n"
        "cpu0-sw0: {gen: 5, width: 16}\n"
        "cpu1-gpu0: {gen: 6, width: 8}\n"
        "sw0-gpu1: {gen: 5, width: 16}\n"
        "sw0-nic0: {gen: 4, width: 16}\n"
        "gpu1-nvs0: {type: nvlink, rate: {value: 370.8 GB/s, source: \"per link what NCCL counts "
        "on for this GPU\"}}\n"
        "gpu0-nvs0: {type: nvlink, rate: {value: 370.8 GB/s, source: \"per link what NCCL counts "
        "on for this GPU\"}}\n"
        "cpu0-cpu1: {type: socket, rate: {value: 22 GB/s, source: \"a 'b' ' c\"}}\n");
    assert_int_equal(f->topology->state.peermem, 1);
    import_expect_note(f, TOPOLOGY_UNKNOWN, "gpu0", "how the PCIe link trained");
    assert_false(import_noted(f, TOPOLOGY_ASSUMED, NULL, ""));
}

static void xml_odd_links(void **state)
{
    struct import_fixture *f = *state;
    static const char text[] =
        SYSTEM(CPU0("<pci busid=\"1:0.0\" class=\"0x030000\" link_speed=\"\" link_width=\"0\"/>"
                    "<pci busid=\"2:0.0\" class=\"0x030200\" link_speed=\"Unknown speed\"/>"
                    "<pci busid=\"3:0.0\" class=\"0x020000\" link_speed=\"8.0 GT/s PCIe\" "
                    "link_width=\"255\"/>"));
    import_expect_node(f, IMPORT_NCCL_XML, text,
                       "cpu0: {type: cpu}\ngpu0: {type: gpu}\ngpu1: {type: gpu}\n"
                       "nic0: {type: nic, rate: 10 Gb/s}\n"
                       "cpu0-gpu0: {gen: 4, width: 16}\ncpu0-gpu1: {gen: 4, width: 16}\n"
                       "cpu0-nic0: {gen: 3, width: 16}\n");
    import_expect_note(f, TOPOLOGY_ASSUMED, "gpu0", "PCIe speed not known: Gen4");
    import_expect_note(f, TOPOLOGY_ASSUMED, "gpu1", "PCIe speed not known: Gen4");
    assert_false(import_noted(f, TOPOLOGY_ASSUMED, "nic0", "PCIe speed"));
    import_expect_note(f, TOPOLOGY_ASSUMED, "nic0", "PCIe width not known: x16");
    import_expect_note(f, TOPOLOGY_ASSUMED, "nic0", "line rate not known: 10 Gb/s");
    import_expect_note(f, TOPOLOGY_FOUND, "gpu0", "link_width is 0");
    import_expect_note(f, TOPOLOGY_FOUND, "gpu1", "\"Unknown speed\" names no PCIe speed");
    import_expect_note(f, TOPOLOGY_FOUND, "nic0", "link_width=\"255\"");

    f->settings.strict = true;
    import_expect_bad(f, IMPORT_NCCL_XML, text, "PCIe speed not known");
    f->settings.strict = false;
    f->settings.nic_rate_Bps = 50e9;
    assert_int_equal(import_given(f, IMPORT_NCCL_XML, text), STATUS_OK);
    assert_true(fabs(f->topology->devices[3].rate_Bps - 50e9) < 1);
    assert_false(import_noted(f, TOPOLOGY_ASSUMED, "nic0", "line rate"));
}

static void xml_nets(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_NCCL_XML,
        SYSTEM(CPU0(XGPU(
            "1:0.0", "0") "<nic><net name=\"eth0\" dev=\"2\" speed=\"-1\" gdr=\"0\"/></nic>"
                          "<pci busid=\"5:0.0\" class=\"0x020700\" link_speed=\"16.0 GT/s PCIe\" "
                          "link_width=\"16\"><nic>"
                          "<net name=\"mlx5_0\" dev=\"0\" speed=\"100000\" gdr=\"0\"/>"
                          "<net name=\"mlx5_1\" dev=\"1\" speed=\"100000\" gdr=\"0\"/>"
                          "<net name=\"gone\"/></nic></pci>")),
        "cpu0: {type: cpu}\ngpu0: {type: gpu}\nnic0: {type: nic, rate: 200 Gb/s}\n"
        "nic1: {type: nic, rate: 10 Gb/s}\n"
        "cpu0-gpu0: {gen: 4, width: 16}\ncpu0-nic0: {gen: 4, width: 16}\n"
        "cpu0-nic1: {gen: 4, width: 16}\n");
    import_expect_note(f, TOPOLOGY_FOUND, "nic0", "several nets on one NIC");
    import_expect_note(f, TOPOLOGY_FOUND, "nic0", "a net without dev");
    import_expect_note(f, TOPOLOGY_FOUND, "nic1", "speed is -1 Mb/s");
    import_expect_note(f, TOPOLOGY_FOUND, "nic1", "without PCIe address");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "no net has gdr=1");
    assert_int_equal(f->topology->state.peermem, 0);
    assert_int_equal(f->topology->state.dmabuf, 0);
}

static void xml_nvlink_c2c_pcilink(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_NCCL_XML,
        SYSTEM(
            CPU0("<pci busid=\"1:0.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
                 "<pcilink target=\"0000:02:00.0\"/>"
                 "<pci busid=\"3:0.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
                 "<gpu dev=\"0\" sm=\"80\"><nvlink target=\"0000:04:00.0\" count=\"4\" "
                 "tclass=\"0x030200\"/><c2c bw=\"25000\" count=\"2\"/></gpu></pci></pci>"
                 "<pci busid=\"2:0.0\" class=\"0x060400\" link_speed=\"16 GT/s\" link_width=\"16\">"
                 "<pci busid=\"4:0.0\" class=\"0x030200\" link_speed=\"16 GT/s\" link_width=\"16\">"
                 "<gpu dev=\"1\" sm=\"80\"><nvlink target=\"0000:03:00.0\" count=\"2\" "
                 "tclass=\"0x030200\"/><nvlink target=\"0000:09:00.0\" count=\"2\" "
                 "tclass=\"0x030200\"/></gpu></pci></pci>")),
        /* c2c: 2 of 25000 MB/s; the lists of the GPUs differ: 2 NVLinks of 20 GB/s. */
        "cpu0: {type: cpu}\nsw0: {type: pcie_switch}\nsw1: {type: pcie_switch}\n"
        "gpu0: {type: gpu}\ngpu1: {type: gpu}\n"
        "gpu0-cpu0: {type: c2c, rate: {value: 50 GB/s, source: \"bw and count of the XML\"}}\n"
        "cpu0-sw0: {gen: 4, width: 16}\ncpu0-sw1: {gen: 4, width: 16}\n"
        "sw0-gpu0: {gen: 4, width: 16}\nsw1-gpu1: {gen: 4, width: 16}\n"
        "gpu0-gpu1: {type: nvlink, rate: {value: 40 GB/s, source: \"per link what NCCL counts on "
        "for this GPU\"}}\n"
        "sw0-sw1: {type: pcie, rate: {value: 5 TB/s, source: \"assumed: inside one chip, as NCCL "
        "has it\"}}\n");
    import_expect_note(f, TOPOLOGY_FOUND, "gpu1", "disagree about how many NVLinks");
    import_expect_note(f, TOPOLOGY_FOUND, "gpu1", "no GPU of this file");
    import_expect_note(f, TOPOLOGY_ASSUMED, "sw0", "5000 GB/s");
}

static void xml_says_what_it_leaves_out(void **state)
{
    struct import_fixture *f = *state;
    assert_int_equal(
        import_given(f, IMPORT_NCCL_XML,
                     "<system version=\"2\"><cpu numaid=\"0\" colour=\"red\">" XGPU(
                         "1:0.0", "0") "words<pci busid=\"2:0.0\" class=\"0x120000\"><gpu/></pci>"
                                       "<pci busid=\"1:0.0\" class=\"0x030200\"/>"
                                       "<pci busid=\"zz\" class=\"0x030200\"/>"
                                       "<pci busid=\"3:0.0\"/><fan/></cpu></system>"),
        STATUS_OK);
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "version is \"2\"");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "attribute \"colour\" of cpu");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "text between");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "pci 2:0.0 of class \"0x120000\"");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "busid 1:0.0 stands twice");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "busid \"zz\"");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "pci 3:0.0 of class \"\"");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "element \"fan\" in cpu");
    assert_int_equal(topology_count(f->topology, DEVICE_GPU), 3);
}

static void xml_refuses(void **state)
{
    struct import_fixture *f = *state;
    import_expect_bad(f, IMPORT_NCCL_XML, "<system version=\"1\">\n <cpu>",
                      "in:2:7: error: broken XML");
    import_expect_bad(f, IMPORT_NCCL_XML, "<system version=\"1\">\n </cpu>", "mismatched tag");
    import_expect_bad(f, IMPORT_NCCL_XML, "<system version=\"1\"><cpu a=\"1\" a=\"2\"/></system>",
                      "duplicate attribute");
    import_expect_bad(f, IMPORT_NCCL_XML, "<graphs version=\"1\"/>", "NCCL_GRAPH_DUMP_FILE");
    import_expect_bad(f, IMPORT_NCCL_XML, "<topology/>", "lstopo");
    import_expect_bad(f, IMPORT_NCCL_XML, "just words", "broken XML");
    import_expect_bad(f, IMPORT_NCCL_XML, SYSTEM(CPU0("")), "there is no GPU");
    import_expect_bad(f, IMPORT_NCCL_XML,
                      SYSTEM("<cpu host_hash=\"0x1\"/><cpu host_hash=\"0x2\"/>"), "several hosts");
    /* A billion laughs, and an entity from a file: no DOCTYPE at all is read. */
    import_expect_bad(f, IMPORT_NCCL_XML,
                      "<!DOCTYPE a [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><system>&b;</system>",
                      "a DOCTYPE is refused");
    import_expect_bad(f, IMPORT_NCCL_XML,
                      "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><system version=\"1\"/>",
                      "a DOCTYPE is refused");
    char deep[2048] = "<system version=\"1\"><cpu>";
    for (int i = 0; i < 40; i++)
        strcat(deep, "<pci class=\"0x060400\">");
    import_expect_bad(f, IMPORT_NCCL_XML, deep, "more than 32 deep");
    deep[0] = '\0';
    strcat(deep, "<system version=\"1\"><cpu>");
    for (int i = 0; i < 8; i++)
        strcat(deep, "<pci class=\"0x060400\">");
    strcat(deep, XGPU("1:0.0", "0"));
    for (int i = 0; i < 8; i++)
        strcat(deep, "</pci>");
    strcat(deep, "</cpu></system>");
    import_expect_bad(f, IMPORT_NCCL_XML, deep, "links away from its CPU");
}

static void xml_many_devices(void **state)
{
    struct import_fixture *f = *state;
    char *text = malloc(100000);
    size_t used = (size_t)sprintf(text, "<system version=\"1\"><cpu>");
    for (int i = 0; i < 300; i++)
        used += (size_t)sprintf(text + used, "<pci class=\"0x030200\" busid=\"%x:0.0\"/>", i);
    sprintf(text + used, "</cpu></system>");
    import_expect_bad(f, IMPORT_NCCL_XML, text, "more than 256 devices");
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(xml_whole_node, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(xml_odd_links, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(xml_nets, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(xml_nvlink_c2c_pcilink, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(xml_says_what_it_leaves_out, import_set_up,
                                        import_tear_down),
        cmocka_unit_test_setup_teardown(xml_refuses, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(xml_many_devices, import_set_up, import_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
