/* registry.c: see registry.h. One row for each file in models/. */
#include "models/registry.h"

const struct model model_registry[] = {
    {"pcie", "payload rate of a PCIe link, by generation, width, MPS and MRRS",
     "rate = raw (1 - 16/gap - 4/1538) n / (ceil(n/MPS) 24 + n)",
     "pcie-bench, SIGCOMM 2018, doi 10.1145/3230543.3230560, and its model code"},
    {"tlp", "bytes on a PCIe link for each byte of payload, by who moves it",
     "write 1 + 24/p; read 1 + 20/c, and 24/r back",
     "pcie-bench, SIGCOMM 2018; payload sizes: PCIe counters of an H200, gdrcopy issue 221"},
    {"nic", "payload rate of a line by MTU; bound on reads by what is outstanding",
     "rate = line MTU / (MTU + h);  rate = min(limit, N r / t)",
     "openucx/ucx 9466d104 ib_iface.c; NVIDIA/nccl-tests issue 152"},
    {"iommu", "what address translation costs in latency and throughput",
     "p = max(0, 1 - E page/W);  rate = min(link, N / (t_rtt + p t_walk))",
     "Farshin et al., PeerJ CS 2023, e1385; entries and walk time assumed"},
    {"bar1", "CPU copies through the BAR (GDRCopy), and where a DMA is faster",
     "write w0 + (S - h)/Bw;  read loads l, then r0 + S/Br",
     "NVIDIA/gdrcopy fcec3ce README, copylat; gdrcopy issue 221"},
    {"host", "copies through host memory: staged, in chunks, pageable; the best chunk",
     "t = sum_j (a_j + c/B_j) + (K-1) max_j (a_j + c/B_j)",
     "pipeline identity; constants fitted to copies measured on two H200"},
    {"storage", "storage reads into GPU memory: direct, through the host, through another GPU",
     "t = t_submit + t_dev + R / min(B_dev, B_path);  IOPS <= D / t",
     "NVIDIA GDS guides; constants from its DGX-2 benchmarks"},
    {"nvlink", "NVLink rate by GPU and links; bytes and busbw of reduction in the switch",
     "rate = links per-link;  NVLS 1 + 1/n, busbw = W 2(n-1)/(n+1)",
     "NVIDIA/nccl 5067397c topo.h; NVIDIA/nccl issue 1455, nccl-tests issue 212"},
    {"rootcomplex", "peer ceilings, socket link and cost of strict ordering by CPU",
     "rate = min(links, ceiling);  relaxed ordering off: f rate",
     "NCCL, UCX and open issues, one for each row of its table"},
};
const size_t model_registry_count = sizeof model_registry / sizeof model_registry[0];
