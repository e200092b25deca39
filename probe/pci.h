/* pci.h: the PCI functions of a machine, as a tree, from /sys/bus/pci/devices. */
#ifndef GDPROBE_PCI_H
#define GDPROBE_PCI_H

#include <stdint.h>

#include "probe/config_space.h"
#include "probe/sys.h"

enum { PCI_BUSID = 20, PCI_BARS = 6, PCI_DEVICES_MAX = 8192 };
#define PCI_MAX_BAR_B 1000000000000000ull /* what is larger is no BAR */

/* GPU and NVSwitch: NVIDIA's. A server's management card is a display too. */
enum pci_kind { PCI_OTHER, PCI_GPU, PCI_NIC, PCI_NVME, PCI_BRIDGE, PCI_NVSWITCH };

struct pci_device {
    char busid[PCI_BUSID]; /* 0000:17:00.0, as Linux writes it */
    char host[24];         /* the root complex's bus: pci0000:16 */
    int parent;            /* -1: the root complex */
    enum pci_kind kind;
    long class_code, vendor, device; /* -1: unknown */
    char driver[32];                 /* "": none is bound */
    bool is_virtual;                 /* a virtual function of another */

    char speed[24], max_speed[24]; /* as sysfs writes them: "16.0 GT/s PCIe"; "": unknown */
    int width, max_width;          /* lanes; 0: unknown */
    struct why link_why;           /* why any of these is unknown */
    int numa;                      /* -1: unknown */

    struct config_space config;
    uint64_t bar_B[PCI_BARS]; /* 0: none */
    int window; /* the largest prefetchable BAR, NVIDIA's "BAR1"; -1: none or unknown */
    struct why bar_why;
    long iommu_group;    /* -1: none */
    char iommu_type[16]; /* as the kernel says it: "DMA", "DMA-FQ", "identity"; "": unknown */
    struct why iommu_why;
    char label[64]; /* a GPU's model; "": unknown */
};

struct pci {
    struct pci_device *devices;
    size_t count;
    struct why why; /* why there are none, or not all */
};

/* Read all functions, sorted by bus id (as text), parents before children where both are known. */
void pci_read(const struct sys *sys, struct pci *ret_pci);
void pci_free(struct pci *pci);

int pci_find(const struct pci *pci, const char *busid); /* -1: none */

/* Bus ids in the spelling of others (0000:17:00.0, 00000000:17:00.0, 17:00.0, capitals) in that of
 * Linux; false when it is none. */
bool pci_busid(const char *text, char ret_busid[PCI_BUSID]);

/* The transfer rate of a lane, 16 for "16.0 GT/s PCIe"; 0 when the text names none. */
double pci_speed_GTps(const char *text);

/* The link above a device: what both ends can do, and what it trained to. 0: unknown. */
struct pci_link {
    double GTps, max_GTps;
    int width, max_width;
    bool outside; /* it is a link: not the inside of a switch, not a part of the root complex */
};
struct pci_link pci_link_above(const struct pci *pci, size_t at);

/* What kind of port a bridge is: as it says, or by its place (root port at the top, then up and
 * down in turn). */
enum port_kind pci_port(const struct pci *pci, size_t bridge);

/* How far apart two functions are, in the words of nvidia-smi topo -m; the lower, the nearer. */
enum pci_distance { PCI_PIX, PCI_PXB, PCI_PHB, PCI_NODE, PCI_SYS };
enum pci_distance pci_distance(const struct pci *pci, size_t a, size_t b);
const char *pci_distance_name(enum pci_distance distance);

/* The lowest bridge above both; -1: none. */
int pci_common(const struct pci *pci, size_t a, size_t b);

/* The ports whose ACS decides over peer traffic between two functions: all bridges from each up to
 * where the ways meet, that included. Returns how many; at most `room` are written. */
size_t pci_path(const struct pci *pci, size_t a, size_t b, int *ret_bridges, size_t room);

#endif
