/* pci_tree.h: PCI functions as lspci and sysfs list them, and the topology that they make.
 *
 * A switch is one upstream port and several downstream ports, each a bridge function; a root port
 * is a bridge function at the top. Here they become what a scenario has: one pcie_switch for the
 * upstream port, links whose ACS bits are those of the port at their upper end, and no device for
 * root and downstream ports. A bridge whose port type is not known is what its place says: the top
 * one a root port, below it upstream and downstream ports in turn.
 */
#ifndef GDSIM_LOAD_PCI_TREE_H
#define GDSIM_LOAD_PCI_TREE_H

#include "sim/load/topology.h"

enum { PCI_FUNCTIONS = 8192 };

enum pci_port { PCI_PORT_UNKNOWN, PCI_PORT_ROOT, PCI_PORT_UP, PCI_PORT_DOWN };

struct pci_function {
    char busid[TOPOLOGY_BUSID];
    uint64_t key;
    int class_code;  /* 0x0604; -1: not known */
    bool is_virtual; /* a virtual function (SR-IOV) */
    enum pci_port port;
    int parent;                /* place in the list; -1: none */
    int secondary;             /* bus below a bridge; -1: not known */
    struct topology_link link; /* gen_max, width_max: of this end alone; acs: of this port */
    uint32_t mrrs_B;
    int relaxed, numa;
    char label[TOPOLOGY_LABEL];
    struct mark mark;
    int device; /* of the topology; -1: none. By pci_tree_build() */
    int placed; /* private: what devices below it hang on; -1: not yet */
    bool used;  /* private */
};

struct pci_tree {
    struct pci_function *functions;
    size_t count, capacity;
};

/* A new function with nothing known about it; NULL with a mistake noted. The busid must be good. */
struct pci_function *pci_tree_add(struct pci_tree *tree, const char *busid, struct mark mark,
                                  struct diag_list *diag);
void pci_tree_free(struct pci_tree *tree);

/* -1 if there is none. */
int pci_tree_find(const struct pci_tree *tree, uint64_t key);

/* Set the parents by the bus numbers of the bridges. */
void pci_tree_by_buses(struct pci_tree *tree, struct topology *topology, struct diag_list *diag);

/* What a class is in a scenario; false: nothing. Bridges are DEVICE_PCIE_SWITCH. */
bool pci_kind(int class_code, enum device_kind *ret_kind);

/* Add GPUs, NICs, drives, NVSwitches and the bridges above them to the topology. */
enum status pci_tree_build(struct pci_tree *tree, struct topology *topology,
                           struct diag_list *diag);

#endif
