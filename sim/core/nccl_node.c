/* nccl_node.c: see nccl_node.h. */
#include "sim/core/nccl_node.h"

#include <math.h>
#include <string.h>

/* enum path_class is NCCL's enum, in the same order. */
_Static_assert((int)PATH_NONE == (int)NCCL_PATH_DIS && (int)PATH_PHB == (int)NCCL_PATH_PHB,
               "kinds of path as NCCL numbers them");

/* Payload per second of a GPU's NVLinks together, one direction. */
static double nvlinks_Bps(const struct node_type *node, size_t gpu)
{
    double sum = 0;
    for (size_t i = 0; i < node->link_count; i++)
        if (node->links[i].kind == LINK_NVLINK &&
            (node->links[i].end[0] == gpu || node->links[i].end[1] == gpu))
            sum += link_rate_Bps(&node->links[i]);
    return sum;
}

/* The PCIe link below which a device hangs, as NCCL counts; 0: it has none. */
static double pci_GBps(const struct node_type *node, size_t device)
{
    for (size_t i = 0; i < node->link_count; i++) {
        const struct link *link = &node->links[i];
        if (link->kind == LINK_PCIE && link->end[1] == device)
            return nccl_pci_GBps((int)param_get(&link->params, PARAM_PCIE_GEN),
                                 (int)param_get(&link->params, PARAM_PCIE_WIDTH));
    }
    return 0;
}

static double least(double a, double b)
{
    return a > 0 && (b <= 0 || a < b) ? a : b;
}

static enum path_class class_of(const struct machine *machine, size_t from, size_t to,
                                unsigned kinds)
{
    struct path path;
    return machine_path(machine, from, to, kinds, &path) ? machine_class(machine, &path)
                                                         : PATH_NONE;
}

static void look_at_gpus(const struct machine *machine, bool staged, bool no_nvlink,
                         struct nccl_node *ret)
{
    const struct node_type *node = &machine->node;
    enum path_class far = PATH_LOC, far_dma = PATH_LOC;
    double nvlink_Bps = 0;
    for (size_t i = 0; i < node->gpu_count; i++) {
        size_t gpu = node->gpus[i];
        int nic = machine_nearest(machine, gpu, DEVICE_NIC, 0);
        int cc =
            (int)lround(10 * param_get(&node->devices[gpu].params, PARAM_GPU_COMPUTE_CAPABILITY));
        ret->cc = i == 0 || cc < ret->cc ? cc : ret->cc;
        ret->pci_GBps = least(pci_GBps(node, gpu), ret->pci_GBps);
        nvlink_Bps = least(nvlinks_Bps(node, gpu), nvlink_Bps);
        if (nic >= 0) {
            enum path_class at = class_of(machine, gpu, (size_t)nic, LINK_DMA);
            if ((int)at > (int)ret->gpu_nic)
                ret->gpu_nic = (enum nccl_path)at;
        }
        for (size_t j = 0; j < i; j++) {
            enum path_class at = class_of(machine, gpu, node->gpus[j], LINK_NVLINK);
            enum path_class dma = class_of(machine, gpu, node->gpus[j], LINK_DMA);
            far = at > far ? at : far;
            far_dma = dma > far_dma ? dma : far_dma;
        }
    }
    enum path_class level = (enum path_class)param_get(&machine->state, PARAM_STATE_P2P_LEVEL);
    bool nvlink = far == PATH_NVL && !staged && !no_nvlink;
    /* What peers may not do goes through the CPU. */
    bool by_cpu =
        staged || far_dma > level || !(param_get(&machine->state, PARAM_STATE_P2P_DRIVER) > 0);
    if (!nvlink)
        far = by_cpu && far_dma < PATH_PHB ? PATH_PHB : far_dma;
    ret->nvlink_GBps = nvlink ? nccl_nvlink_GBps(ret->cc, nvlink_Bps) : 0;
    ret->gpu_gpu = (enum nccl_path)far;
}

void nccl_node_of(const struct machine *machine, bool staged, bool no_nvlink,
                  struct nccl_node *ret_node)
{
    const struct node_type *node = &machine->node;
    struct nccl_node ret;
    memset(&ret, 0, sizeof ret);
    ret.nodes = (int)machine->node_count;
    ret.gpus = (int)node->gpu_count;
    look_at_gpus(machine, staged, no_nvlink, &ret);
    for (size_t i = 0; i < node->device_count; i++) {
        const struct device *device = &node->devices[i];
        ret.nvswitch = ret.nvswitch || (device->kind == DEVICE_NVSWITCH && ret.nvlink_GBps > 0);
        if (device->kind != DEVICE_NIC)
            continue;
        double rate = param_get(&device->params, PARAM_NIC_RATE) / 1e9;
        ret.nics++;
        ret.nic_GBps = least(least(pci_GBps(node, i), rate), ret.nic_GBps);
    }
    *ret_node = ret;
}
