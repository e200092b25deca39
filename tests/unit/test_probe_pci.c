/* test_probe_pci.c: bus ids, distances, the ports on a path, links; on trees made by hand. */
#include "probe/pci.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/*   root port 0 - up 1 - down 2 - GPU 5
 *                      - down 3 - up 6 - down 7 - NIC 8
 *                      - down 4 - GPU 9
 *   root port 10 - GPU 11 (same root complex);  root port 12 - NIC 13 (other socket) */
enum { COUNT = 14 };
static struct pci tree(struct pci_device devices[COUNT])
{
    static const struct {
        int parent;
        enum pci_kind kind;
        enum port_kind port;
        const char *host;
        int numa;
    } rows[COUNT] = {{-1, PCI_BRIDGE, PORT_ROOT, "pci0000:00", 0},
                     {0, PCI_BRIDGE, PORT_UP, "pci0000:00", 0},
                     {1, PCI_BRIDGE, PORT_DOWN, "pci0000:00", 0},
                     {1, PCI_BRIDGE, PORT_DOWN, "pci0000:00", 0},
                     {1, PCI_BRIDGE, PORT_DOWN, "pci0000:00", 0},
                     {2, PCI_GPU, PORT_ENDPOINT, "pci0000:00", 0},
                     {3, PCI_BRIDGE, PORT_UP, "pci0000:00", 0},
                     {6, PCI_BRIDGE, PORT_DOWN, "pci0000:00", 0},
                     {7, PCI_NIC, PORT_ENDPOINT, "pci0000:00", 0},
                     {4, PCI_GPU, PORT_ENDPOINT, "pci0000:00", 0},
                     {-1, PCI_BRIDGE, PORT_ROOT, "pci0000:00", 0},
                     {10, PCI_GPU, PORT_ENDPOINT, "pci0000:00", 0},
                     {-1, PCI_BRIDGE, PORT_ROOT, "pci0000:80", 1},
                     {12, PCI_NIC, PORT_ENDPOINT, "pci0000:80", 1}};
    memset(devices, 0, COUNT * sizeof *devices);
    for (size_t i = 0; i < COUNT; i++) {
        devices[i].parent = rows[i].parent;
        devices[i].kind = rows[i].kind;
        devices[i].config.port = rows[i].port;
        devices[i].numa = rows[i].numa;
        strcpy(devices[i].host, rows[i].host);
    }
    return (struct pci){.devices = devices, .count = COUNT};
}

static void bus_ids(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",          "17:00",          "0000:17:00.8", "0000:17:20.0", "pci0000:1", "0000:17:00.0 ",
        "x:17:00.0", "0000:17:00.0.0", "-1:17:00.0"};
    char busid[PCI_BUSID];
    assert_true(pci_busid("00000000:C1:00.0", busid));
    assert_string_equal(busid, "0000:c1:00.0");
    assert_true(pci_busid("17:1f.7", busid));
    assert_string_equal(busid, "0000:17:1f.7");
    assert_true(pci_busid("10000:e1:00.0", busid)); /* a drive behind Intel VMD */
    assert_string_equal(busid, "10000:e1:00.0");
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(pci_busid(bad[i], busid));
}

static void distances(void **state)
{
    (void)state;
    struct pci_device devices[COUNT];
    struct pci pci = tree(devices);
    assert_int_equal(pci_distance(&pci, 5, 9), PCI_PIX);
    assert_int_equal(pci_distance(&pci, 5, 8), PCI_PXB);
    assert_int_equal(pci_distance(&pci, 5, 11), PCI_PHB);
    assert_int_equal(pci_distance(&pci, 5, 13), PCI_SYS);
    devices[12].numa = devices[13].numa = 0; /* two root complexes of one socket */
    assert_int_equal(pci_distance(&pci, 5, 13), PCI_NODE);
    for (size_t a = 0; a < COUNT; a++)
        for (size_t b = 0; b < COUNT; b++)
            assert_int_equal(pci_distance(&pci, a, b), pci_distance(&pci, b, a));
}

/* Linux looks at every bridge from either end up to the common one, that included. */
static void ports_on_the_way(void **state)
{
    (void)state;
    struct pci_device devices[COUNT];
    struct pci pci = tree(devices);
    int bridges[16];
    assert_int_equal(pci_path(&pci, 5, 9, bridges, 16), 3);
    assert_int_equal(bridges[0], 2);
    assert_int_equal(bridges[1], 1);
    assert_int_equal(bridges[2], 4);
    assert_int_equal(pci_common(&pci, 5, 9), 1);
    assert_int_equal(pci_path(&pci, 8, 5, bridges, 16), 5); /* 7 6 3 1, then 2 */
    assert_int_equal(bridges[3], 1);
    assert_int_equal(bridges[4], 2);
    assert_int_equal(pci_path(&pci, 5, 11, bridges, 16), 4); /* 2 1 0, then 10 */
    assert_int_equal(pci_common(&pci, 5, 11), -1);
    assert_int_equal(pci_path(&pci, 8, 5, bridges, 2), 5); /* counts on, writes no more */
    assert_int_equal(pci_path(&pci, 5, 5, bridges, 16), 0);
}

static void links(void **state)
{
    (void)state;
    struct pci_device devices[COUNT];
    struct pci pci = tree(devices);
    strcpy(devices[5].speed, "16.0 GT/s PCIe");
    strcpy(devices[5].max_speed, "32.0 GT/s PCIe");
    devices[5].width = 8;
    devices[5].max_width = 16;
    strcpy(devices[2].max_speed, "16.0 GT/s PCIe"); /* the slot is Gen4 */
    devices[2].max_width = 16;
    struct pci_link link = pci_link_above(&pci, 5);
    assert_true(link.outside);
    assert_true(link.GTps == 16 && link.max_GTps == 16);
    assert_int_equal(link.width, 8);
    assert_int_equal(link.max_width, 16);
    assert_false(pci_link_above(&pci, 2).outside); /* inside the switch */
    assert_true(pci_link_above(&pci, 1).outside);
    assert_false(pci_link_above(&pci, 0).outside); /* a root port: part of the CPU */
    for (size_t i = 0; i < COUNT; i++)
        devices[i].config.port = PORT_UNKNOWN; /* not root: by their places */
    assert_int_equal(pci_port(&pci, 0), PORT_ROOT);
    assert_int_equal(pci_port(&pci, 1), PORT_UP);
    assert_int_equal(pci_port(&pci, 3), PORT_DOWN);
    assert_int_equal(pci_port(&pci, 6), PORT_UP);
    assert_int_equal(pci_port(&pci, 7), PORT_DOWN);
    assert_true(pci_speed_GTps("2.5 GT/s PCIe") == 2.5);
    assert_true(pci_speed_GTps("Unknown") == 0);
    assert_true(pci_speed_GTps("-8 GT/s") == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bus_ids),
        cmocka_unit_test(distances),
        cmocka_unit_test(ports_on_the_way),
        cmocka_unit_test(links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
