/* test_import_lspci.c: lspci -vvv, trees and single functions. */
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

/* ---- lspci ---------------------------------------------------------------------------------- */

static void lspci_tree(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_FORMATS,
        "0000:16:01.0 PCI bridge [0604]: Intel Corporation Device [8086:352a] (rev 04)\n"
        "\tNUMA node: 1\n\tBus: primary=16, secondary=17, subordinate=1a, "
        "sec-latency=0\n" EXPRESS(
            "Root Port (Slot-)", "Speed 32GT/s, Width x16",
            "Speed 16GT/s, Width x16") "\tCapabilities: [148 v1] Access Control Services\n"
                                       "\t\tACSCap:\tSrcValid+ TransBlk+ ReqRedir+ "
                                       "CmpltRedir+ UpstreamFwd+ EgressCtrl- "
                                       "DirectTrans-\n"
                                       "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ "
                                       "CmpltRedir+ UpstreamFwd+ EgressCtrl- "
                                       "DirectTrans-\n\n"
                                       "0000:17:00.0 PCI bridge [0604]: Broadcom "
                                       "[1000:c030]\n\tNUMA node: 1\n"
                                       "\tBus: primary=17, secondary=18, "
                                       "subordinate=1a\n" EXPRESS(
                                           "Upstream Port", "Speed 16GT/s, Width x16",
                                           "Speed 16GT/s, Width x16") "0000:18:00.0 PCI "
                                                                      "bridge [0604]: "
                                                                      "Broadcom "
                                                                      "[1000:c030]\n"
                                                                      "\tBus: primary=18, "
                                                                      "secondary=19, "
                                                                      "subordinate="
                                                                      "19\n" EXPRESS("Downstream "
                                                                                     "Port "
                                                                                     "(Slot+)",
                                                                                     "Speed "
                                                                                     "16GT/s, "
                                                                                     "Width x16",
                                                                                     "Speed 16GT/s "
                                                                                     "(ok), Width "
                                                                                     "x16 "
                                                                                     "(ok)") "\tCap"
                                                                                             "abi"
                                                                                             "litie"
                                                                                             "s: "
                                                                                             "[100 "
                                                                                             "v1] "
                                                                                             "AER\n"
                                                                                             "0000:"
                                                                                             "18:"
                                                                                             "01.0 "
                                                                                             "PCI "
                                                                                             "bridg"
                                                                                             "e "
                                                                                             "[0604"
                                                                                             "]: "
                                                                                             "Broad"
                                                                                             "com"
                                                                                             " ["
                                                                                             "1000:"
                                                                                             "c030]"
                                                                                             "\n"
                                                                                             "\tBus"
                                                                                             ": "
                                                                                             "prima"
                                                                                             "ry="
                                                                                             "18, "
                                                                                             "secon"
                                                                                             "dar"
                                                                                             "y=1a,"
                                                                                             " "
                                                                                             "subor"
                                                                                             "din"
                                                                                             "ate="
                                                                                             "1a\n"
                                                                                             "\tCa"
                                                                                             "pabil"
                                                                                             "iti"
                                                                                             "es: "
                                                                                             "<acce"
                                                                                             "ss "
                                                                                             "denie"
                                                                                             "d>"
                                                                                             "\n"
                                                                                             "0000:"
                                                                                             "19:"
                                                                                             "00.0 "
                                                                                             "3D "
                                                                                             "contr"
                                                                                             "oll"
                                                                                             "er "
                                                                                             "[0302"
                                                                                             "]: "
                                                                                             "NVIDI"
                                                                                             "A "
                                                                                             "Corpo"
                                                                                             "rat"
                                                                                             "ion "
                                                                                             "[10de"
                                                                                             ":"
                                                                                             "2330]"
                                                                                             " "
                                                                                             "(rev "
                                                                                             "a1)"
                                                                                             "\n" EXPRESS("Endpoint", "Speed 32GT/s, Width x16", "Speed 16GT/s (downgraded), Width x16") "0000:1a:00.0 Infiniband controller [0207]: Mellanox [15b3:1021]\n" EXPRESS(
                                                                                                 "E"
                                                                                                 "n"
                                                                                                 "d"
                                                                                                 "p"
                                                                                                 "o"
                                                                                                 "i"
                                                                                                 "n"
                                                                                                 "t",
                                                                                                 "S"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "e"
                                                                                                 "d"
                                                                                                 " "
                                                                                                 "3"
                                                                                                 "2"
                                                                                                 "G"
                                                                                                 "T"
                                                                                                 "/"
                                                                                                 "s"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "W"
                                                                                                 "i"
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "h"
                                                                                                 " "
                                                                                                 "x"
                                                                                                 "1"
                                                                                                 "6",
                                                                                                 "S"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "e"
                                                                                                 "d"
                                                                                                 " "
                                                                                                 "1"
                                                                                                 "6"
                                                                                                 "G"
                                                                                                 "T"
                                                                                                 "/"
                                                                                                 "s"
                                                                                                 " "
                                                                                                 "("
                                                                                                 "d"
                                                                                                 "o"
                                                                                                 "w"
                                                                                                 "n"
                                                                                                 "g"
                                                                                                 "r"
                                                                                                 "a"
                                                                                                 "d"
                                                                                                 "e"
                                                                                                 "d"
                                                                                                 ")"
                                                                                                 ","
                                                                                                 " "
                                                                                                 "W"
                                                                                                 "i"
                                                                                                 "d"
                                                                                                 "t"
                                                                                                 "h"
                                                                                                 " "
                                                                                                 "x"
                                                                                                 "8"
                                                                                                 " "
                                                                                                 "("
                                                                                                 "d"
                                                                                                 "o"
                                                                                                 "w"
                                                                                                 "n"
                                                                                                 "g"
                                                                                                 "r"
                                                                                                 "a"
                                                                                                 "d"
                                                                                                 "e"
                                                                                                 "d"
                                                                                                 ")") "0000:1a:00.1 Infiniband controller [0207]: Mellanox [15b3:1021]\n"
                                                                                                      "0000:1a:00.2 Ethernet controller [0200]: Mellanox Virtual Function [15b3:101e]\n"
                                                                                                      "0000:02:00.0 VGA compatible controller [0300]: ASPEED [1a03:2000]\n",
        "cpu0: {type: cpu}\nsw0: {type: pcie_switch}\ngpu0: {type: gpu}\n"
        "nic0: {type: nic, rate: 10 Gb/s, read_request: 512 B, relaxed_ordering: yes}\n"
        /* both ends of the switch's link can do Gen4: trained as it should */
        "cpu0-sw0: {gen: 4, width: 16, mps: 256 B, acs: SV+RR+CR+UF}\n"
        /* port Gen4, GPU Gen5: Gen4 is the most. The port shows extended capabilities, no
           ACS. */
        "sw0-gpu0: {gen: 4, width: 16, mps: 256 B, acs: none}\n"
        "sw0-nic0: {gen: 4, width: 8, gen_max: 5, width_max: 16, mps: 256 B}\n");
    import_expect_note(f, TOPOLOGY_FOUND, "sw0", "bits SV+RR+CR+UF;");
    import_expect_note(f, TOPOLOGY_FOUND, "nic0", "trained at x8, both ends can do x16: 50 %");
    import_expect_note(f, TOPOLOGY_FOUND, "nic0", "one card");
    import_expect_note(f, TOPOLOGY_UNKNOWN, "nic0", "ACS bits");
    import_expect_note(f, TOPOLOGY_UNKNOWN, NULL, "access denied");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "2 PCI functions are neither");
    assert_int_equal(f->topology->devices[0].numa, 1);
}

static void lspci_bare(void **state)
{
    struct import_fixture *f = *state;
    /* Plain lspci of a virtual machine: no bus numbers, no links, no NUMA node. */
    import_expect_node(
        f, IMPORT_LSPCI,
        "pcilib: warning\n00:01.0 PCI bridge: x\n00:06.0 3D controller: NVIDIA\n"
        "00:07.0 0302: 10de:2335\n01:00.0 Ethernet controller: y\n05:00.0 Bridge: NVIDIA "
        "Corporation GH100 [H100 NVSwitch]\n06:00.0 Bridge: Intel z\n",
        "cpu0: {type: cpu}\ngpu0: {type: gpu}\ngpu1: {type: gpu}\n"
        "nic0: {type: nic, rate: 10 Gb/s}\nnvs0: {type: nvswitch}\n"
        "cpu0-gpu0: {gen: 4, width: 16}\ncpu0-gpu1: {gen: 4, width: 16}\n"
        "cpu0-nic0: {gen: 4, width: 16}\n");
    import_expect_note(f, TOPOLOGY_ASSUMED, NULL, "bus numbers of a bridge");
    import_expect_note(f, TOPOLOGY_ASSUMED, "gpu1", "NUMA node not known");
    import_expect_note(f, TOPOLOGY_ASSUMED, "nvs0", "which NVLinks lead to it is not known");
    import_expect_note(f, TOPOLOGY_FOUND, NULL, "belong to no device");
}

static void lspci_odd_width(void **state)
{
    struct import_fixture *f = *state;
    import_expect_node(
        f, IMPORT_LSPCI,
        "00:06.0 3D controller: NVIDIA\n" EXPRESS("Endpoint", "Speed 16GT/s, Width x16",
                                                  "Speed 16GT/s (ok), Width x12 (downgraded)"),
        "cpu0: {type: cpu}\ngpu0: {type: gpu}\n"
        "cpu0-gpu0: {gen: 4, width: 8, width_max: 16, mps: 256 B}\n");
    import_expect_note(f, TOPOLOGY_ASSUMED, "gpu0", "PCIe width x12 is none of");
}

static void lspci_refuses(void **state)
{
    struct import_fixture *f = *state;
    import_expect_bad(f, IMPORT_LSPCI, "nothing\n", "no PCI device");
    import_expect_bad(f, IMPORT_LSPCI, "00:00.0 Host bridge: x\n", "there is no GPU");
    import_expect_bad(f, IMPORT_LSPCI, "00:01.0 3D controller: x\n00:01.0 3D controller: x\n",
                      "twice");
    import_expect_bad(f, IMPORT_LSPCI,
                      "00:01.0 PCI bridge: x\n\tBus: primary=00, secondary=05\n"
                      "00:02.0 PCI bridge: x\n\tBus: primary=00, secondary=05\n"
                      "05:00.0 3D controller: x\n",
                      "both lead to bus 05");
    import_expect_bad(f, IMPORT_LSPCI,
                      "01:00.0 PCI bridge: x\n\tBus: primary=01, secondary=02\n"
                      "02:00.0 PCI bridge: x\n\tBus: primary=02, secondary=01\n"
                      "02:01.0 3D controller: x\n",
                      "in a circle");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lspci_tree, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(lspci_bare, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(lspci_odd_width, import_set_up, import_tear_down),
        cmocka_unit_test_setup_teardown(lspci_refuses, import_set_up, import_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
