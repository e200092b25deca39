/* precondition.c: the table. See precondition.h. */
#include "sim/core/precondition.h"

const struct precondition_info precondition_table[PRE_COUNT] = {
    [PRE_CUDA_BUFFER] = {"buffer allocated by the running CUDA driver",
                         "ibv_reg_mr returns EINVAL; compare nvidia-smi with cat "
                         "/proc/driver/nvidia/version",
                         "allocate with cudaMalloc; align CUDA runtime and driver"},
    [PRE_PEER_MODULE] = {"peer memory module or dma-buf",
                         "lsmod | grep -E 'nvidia_peermem|nv_peer_mem'; NCCL_DEBUG=INFO: channels "
                         "via NET without /GDRDMA, \"GPU Direct RDMA Disabled for HCA\"",
                         "modprobe nvidia_peermem, or a kernel, driver (>= 11.7) and NIC with "
                         "dma-buf"},
    [PRE_BAR1] = {"room in BAR1", "nvidia-smi -q -d MEMORY, section BAR1",
                  "free mappings; enable large BAR in the firmware"},
    [PRE_DISTANCE] =
        {"distance within the level", "nvidia-smi topo -m",
         "use a NIC nearer to the GPU, or raise NCCL_NET_GDR_LEVEL if the root complex "
         "is good at peer traffic"},
    [PRE_P2P_DISTANCE] = {"GPUs near enough to each other", "nvidia-smi topo -m",
                          "use GPUs below one switch, or raise NCCL_P2P_LEVEL if the root complex "
                          "is good at peer traffic"},
    [PRE_P2P_DRIVER] = {"peer access allowed by the driver",
                        "nvidia-smi topo -p2p w; cudaDeviceCanAccessPeer",
                        "data-centre GPUs, or a driver that allows it"},
    [PRE_ROOT_COMPLEX] = {"root complex passes peer traffic",
                          "lspci -t; the kernel's p2pdma list of known root complexes",
                          "put both devices below one PCIe switch, without ACS redirect"},
    [PRE_ROOT_CEILING] = {"root complex fast enough for peer traffic",
                          "ib_write_bw and ib_read_bw with --use_cuda, one direction each",
                          "put both devices below one PCIe switch, without ACS redirect"},
    [PRE_ACS] = {"no ACS redirect on the path",
                 "lspci -vvv as root, ACSCtl: ReqRedir+, CmpltRedir+ or EgressCtrl+ on a port of "
                 "the path",
                 "clear ACS on each port of the path (setpci, or pci=disable_acs_redir=)",
                 "lspci -vvv as root on the host, ACSCtl: ReqRedir+ on a port of the path, with "
                 "ATSCtl: Enable- on the NIC",
                 "enable ATS on the NIC (ATSCtl: Enable+; mlxconfig -d DEV s ATS_ENABLED=true); "
                 "ACS must stay on in a VM"},
    [PRE_IOMMU] = {"IOMMU off or identity",
                   "cat /sys/kernel/iommu_groups/*/type; dmesg | grep -iE 'dmar|amd-vi'",
                   "iommu.passthrough=1 (iommu=pt), or disable VT-d / AMD-Vi",
                   "lspci -vvv as root on the host, ATSCtl: Enable- on the NIC",
                   "enable ATS on the NIC (ATSCtl: Enable+; mlxconfig -d DEV s ATS_ENABLED=true); "
                   "the IOMMU must stay on for a VM"},
    [PRE_LINK_TRAINED] = {"link trained to full speed and width",
                          "lspci -vv under load, LnkSta against LnkCap",
                          "reseat the card or riser, change the slot, update firmware"},
    [PRE_LINK_RATE] = {"rate given by hand as gen and width allow",
                       "gdsim explain: rate, gen and width of the link, and where each comes from",
                       "rate: 0 B/s computes it from gen and width; or give gen and width as they "
                       "trained"},
    [PRE_NIC_SLOT] = {"PCIe link as fast as the NIC's port",
                      "lspci -vv: LnkSta and LnkCap of the NIC and of the port above it",
                      "a slot with more lanes or of a later generation; else plan with the link's "
                      "rate"},
    [PRE_RELAXED_ORDERING] = {"relaxed ordering through the root complex",
                              "lspci -vv, DevCtl RlxdOrd; NCCL_DEBUG=INFO: [RO] behind the HCA",
                              "NCCL_IB_PCI_RELAXED_ORDERING=1; perftest without "
                              "--disable_pcie_relaxed"},
    [PRE_READ_CREDITS] =
        {"enough outstanding PCIe reads",
         "ib_read_bw --use_cuda below ib_write_bw --use_cuda; mlxconfig -d DEV q "
         "MAX_ACC_OUT_READ",
         "more of them (mlxconfig, MAX_ACC_OUT_READ), then reset the NIC; larger MRRS"},
    [PRE_DUPLEX] = {"both directions at full rate", "ib_write_bw -b --use_cuda",
                    "none known; plan with the duplex rate"},
    [PRE_REGISTERED] = {"buffers registered before",
                        "the first iteration is slow; NCCL_DEBUG=INFO transport lines appear in it",
                        "keep buffers; no cudaFree in each step; registration cache on"},
    [PRE_GDRDRV] = {"gdrdrv module", "lsmod | grep gdrdrv", "modprobe gdrdrv"},
    [PRE_NVIDIA_FS] = {"nvidia-fs module", "lsmod | grep nvidia_fs; gdscheck -p",
                       "modprobe nvidia-fs; cuFile: allow_compat_mode=false makes it an error"},
    [PRE_FILESYSTEM] = {"file system supports GPUDirect Storage",
                        "gdscheck -p; gds_stats: posix= is not 0", "a supported file system"},
    [PRE_ALIGNED] = {"requests aligned to 4 KiB", "gds_stats: unalign= is not 0",
                     "align offset and length to 4 KiB"},
    [PRE_STORAGE_DISTANCE] =
        {"drive near the GPU", "nvidia-smi topo -m; /proc/driver/nvidia-fs/peer_distance",
         "read from a drive below the GPU's switch, or read into the near GPU"},
    [PRE_NVLINK] = {"NVLink between the GPUs", "nvidia-smi nvlink -s; nvidia-smi topo -m",
                    "none: it is a property of the pair"},
    [PRE_SHARP_TREE] = {"a free streaming tree for each group",
                        "NCCL_DEBUG=INFO: no channels via COLLNET/SHARP; the aggregation "
                        "manager's list of jobs",
                        "end the jobs that hold trees, fewer groups a switch, or switches with a "
                        "tree a port (Quantum-2)"},
    [PRE_SHARP_UPLINK] = {"uplinks of the tree as fast as the NICs",
                          "ibnetdiscover: rate of the links between leaf and spine",
                          "uplinks of the NIC's rate, one for each tree"},
};

const char *outcome_name(enum outcome outcome)
{
    static const char *const names[] = {"holds", "slows", "breaks", "hangs"};
    return names[outcome];
}
