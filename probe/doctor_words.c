/* doctor_words.c: what must hold for the fast path, how a person sees it, and what mends it. The
 * rows that gdsim has too are in its words and its order (sim/core/precondition.c); a test compares
 * them, since gdprobe uses nothing of gdsim. */
#include "probe/doctor.h"

const struct doctor_words doctor_words[DOCTOR_COUNT] = {
    [DOCTOR_CUDA_BUFFER] = {"buffer allocated by the running CUDA driver",
                            "ibv_reg_mr returns EINVAL; compare nvidia-smi with cat "
                            "/proc/driver/nvidia/version",
                            "allocate with cudaMalloc; align CUDA runtime and driver"},
    [DOCTOR_PEER_MODULE] =
        {"peer memory module or dma-buf",
         "lsmod | grep -E 'nvidia_peermem|nv_peer_mem'; NCCL_DEBUG=INFO: channels "
         "via NET without /GDRDMA, \"GPU Direct RDMA Disabled for HCA\"",
         "modprobe nvidia_peermem, or a kernel, driver (>= 11.7) and NIC with "
         "dma-buf"},
    [DOCTOR_BAR1] = {"room in BAR1", "nvidia-smi -q -d MEMORY, section BAR1",
                     "free mappings; enable large BAR in the firmware"},
    [DOCTOR_DISTANCE] =
        {"distance within the level", "nvidia-smi topo -m",
         "use a NIC nearer to the GPU, or raise NCCL_NET_GDR_LEVEL if the root complex "
         "is good at peer traffic"},
    [DOCTOR_P2P_DISTANCE] =
        {"GPUs near enough to each other", "nvidia-smi topo -m",
         "use GPUs below one switch, or raise NCCL_P2P_LEVEL if the root complex "
         "is good at peer traffic"},
    [DOCTOR_P2P_DRIVER] = {"peer access allowed by the driver",
                           "nvidia-smi topo -p2p w; cudaDeviceCanAccessPeer",
                           "data-centre GPUs, or a driver that allows it"},
    [DOCTOR_ROOT_COMPLEX] = {"root complex passes peer traffic",
                             "lspci -t; the kernel's p2pdma list of known root complexes",
                             "put both devices below one PCIe switch, without ACS redirect"},
    [DOCTOR_ROOT_CEILING] = {"root complex fast enough for peer traffic",
                             "ib_write_bw and ib_read_bw with --use_cuda, one direction each",
                             "put both devices below one PCIe switch, without ACS redirect"},
    [DOCTOR_ACS] =
        {"no ACS redirect on the path",
         "lspci -vvv as root, ACSCtl: ReqRedir+, CmpltRedir+ or EgressCtrl+ on a port of "
         "the path",
         "clear ACS on each port of the path (setpci, or pci=disable_acs_redir=)",
         "lspci -vvv as root on the host, ACSCtl: ReqRedir+ on a port of the path, with "
         "ATSCtl: Enable- on the NIC",
         "enable ATS on the NIC (ATSCtl: Enable+; mlxconfig -d DEV s ATS_ENABLED=true); "
         "ACS must stay on in a VM"},
    [DOCTOR_IOMMU] =
        {"IOMMU off or identity",
         "cat /sys/kernel/iommu_groups/*/type; dmesg | grep -iE 'dmar|amd-vi'",
         "iommu.passthrough=1 (iommu=pt), or disable VT-d / AMD-Vi",
         "lspci -vvv as root on the host, ATSCtl: Enable- on the NIC",
         "enable ATS on the NIC (ATSCtl: Enable+; mlxconfig -d DEV s ATS_ENABLED=true); "
         "the IOMMU must stay on for a VM"},
    [DOCTOR_LINK_TRAINED] = {"link trained to full speed and width",
                             "lspci -vv under load, LnkSta against LnkCap",
                             "reseat the card or riser, change the slot, update firmware"},
    [DOCTOR_NIC_SLOT] = {"PCIe link as fast as the NIC's port",
                         "lspci -vv: LnkSta and LnkCap of the NIC and of the port above it",
                         "a slot with more lanes or of a later generation; else plan with the "
                         "link's rate"},
    [DOCTOR_RELAXED_ORDERING] = {"relaxed ordering through the root complex",
                                 "lspci -vv, DevCtl RlxdOrd; NCCL_DEBUG=INFO: [RO] behind the HCA",
                                 "NCCL_IB_PCI_RELAXED_ORDERING=1; perftest without "
                                 "--disable_pcie_relaxed"},
    [DOCTOR_READ_CREDITS] =
        {"enough outstanding PCIe reads",
         "ib_read_bw --use_cuda below ib_write_bw --use_cuda; mlxconfig -d DEV q "
         "MAX_ACC_OUT_READ",
         "more of them (mlxconfig, MAX_ACC_OUT_READ), then reset the NIC; larger MRRS"},
    [DOCTOR_DUPLEX] = {"both directions at full rate", "ib_write_bw -b --use_cuda",
                       "none known; plan with the duplex rate"},
    [DOCTOR_REGISTERED] =
        {"buffers registered before",
         "the first iteration is slow; NCCL_DEBUG=INFO transport lines appear in it",
         "keep buffers; no cudaFree in each step; registration cache on"},
    [DOCTOR_GDRDRV] = {"gdrdrv module", "lsmod | grep gdrdrv", "modprobe gdrdrv"},
    [DOCTOR_NVIDIA_FS] = {"nvidia-fs module", "lsmod | grep nvidia_fs; gdscheck -p",
                          "modprobe nvidia-fs; cuFile: allow_compat_mode=false makes it an error"},
    [DOCTOR_FILESYSTEM] = {"file system supports GPUDirect Storage",
                           "gdscheck -p; gds_stats: posix= is not 0", "a supported file system"},
    [DOCTOR_ALIGNED] = {"requests aligned to 4 KiB", "gds_stats: unalign= is not 0",
                        "align offset and length to 4 KiB"},
    [DOCTOR_STORAGE_DISTANCE] =
        {"drive near the GPU", "nvidia-smi topo -m; /proc/driver/nvidia-fs/peer_distance",
         "read from a drive below the GPU's switch, or read into the near GPU"},
    [DOCTOR_NVLINK] = {"NVLink between the GPUs", "nvidia-smi nvlink -s; nvidia-smi topo -m",
                       "none: it is a property of the pair"},

    /* What gdsim takes for granted: it simulates a machine that has them. */
    [DOCTOR_GPU] = {"a GPU with its driver", "lspci -d 10de:; cat /proc/driver/nvidia/version",
                    "install the GPU driver; in a container pass the devices through"},
    [DOCTOR_GPU_RDMA] = {"GPU can be a peer of other devices",
                         "deviceQuery; CUDA attribute 116 (GPU_DIRECT_RDMA_SUPPORTED)",
                         "a data-centre or workstation GPU"},
    [DOCTOR_NIC] = {"an RDMA NIC with an active port", "ibv_devinfo; rdma link",
                    "load the NIC's RDMA driver; bring the port up; start a subnet manager"},
    [DOCTOR_DRIVE] = {"an NVMe drive or a file system over RDMA", "nvme list; mount",
                      "a local NVMe drive or a supported distributed file system"},
    [DOCTOR_COMPAT] = {"falling back is an error, not silent",
                       "grep allow_compat_mode /etc/cufile.json; gds_stats: posix= is not 0",
                       "\"allow_compat_mode\": false in cufile.json while you measure"},
    [DOCTOR_RDMA_PATH] = {"the path between GPU and NIC", "the part on RDMA above", "as there"},
    [DOCTOR_STREAM_MEMOPS] = {"a stream can wait for and write memory",
                              "CUDA attribute 122 (CAN_USE_64_BIT_STREAM_MEM_OPS)",
                              "a newer driver; before CUDA 12 options nvidia "
                              "NVreg_EnableStreamMemOPs=1"},
    [DOCTOR_DOORBELL] = {"GPU may ring the NIC's doorbell",
                         "grep RegistryDwords /proc/driver/nvidia/params",
                         "options nvidia NVreg_RegistryDwords=\"PeerMappingOverride=1;\", then "
                         "load the driver again"},
    [DOCTOR_SETTINGS] = {"no setting that turns it off", "env | grep NCCL_; cat /etc/nccl.conf",
                         "unset it, in the job's environment too"},
    [DOCTOR_SERVED] = {"nvidia-fs has served requests",
                       "cat /proc/driver/nvidia-fs/stats: Ops, and Reads and Writes with "
                       "rw_stats_enabled=1",
                       "run the job, then look again"},
};
