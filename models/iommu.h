/* iommu.h: what address translation costs a DMA.
 *
 *   p      = max(0, 1 - E*page/W)                     uniform random access
 *   t_dma  = t_base + p*t_walk
 *   rate   = min(link, N/(t_rtt + p*t_walk)), but not below (1 - loss) * min(link, N/t_rtt)
 *   ATS    : the device asks once and caches: E of its own cache, t_walk' = t_rtt + t_walk
 *
 * p = fraction of accesses that miss the IOTLB; E = entries; page = bytes one entry covers; W =
 * working set, bytes; t_base = time of the DMA without translation, s; t_walk = page walk, s; N =
 * bytes outstanding; t_rtt = round trip, s; link = bytes/s; loss = most that was ever lost.
 * Without misses, or with enough outstanding, translation costs latency but no throughput.
 *
 * Sources. loss = 0.20: cited, Farshin et al., PeerJ Computer Science 2023, e1385: at 200 Gb/s up
 * to 20 % is lost on Xeon Scalable and EPYC, all of it regained with huge pages. It was seen with
 * packets of network size; give loss = 1 for the bare bound, as for DMAs of 64 B. E = 64 and
 * t_walk = 330 ns: ASSUMED (remembered of pcie-bench, SIGCOMM 2018; the text was not at hand), do
 * not calibrate on them. 64 KiB is the page of a GPU BAR mapping (CUDA GPUDirect RDMA guide). The
 * form of ATS is assumed from how it works; that it is the cure in virtual machines is cited (NCCL
 * troubleshooting guide). One system lost about 15 % on one flow (local-inference-lab/rtx6kpro).
 */
#ifndef GDSIM_MODELS_IOMMU_H
#define GDSIM_MODELS_IOMMU_H

#define IOMMU_ENTRIES     64.0   /* assumed */
#define IOMMU_WALK_S      330e-9 /* assumed */
#define IOMMU_MAX_LOSS    0.20   /* cited */
#define IOMMU_HOST_PAGE_B 4096.0
#define IOMMU_GPU_PAGE_B  65536.0 /* cited */

/* Fraction of accesses that miss. 64 entries, 4 KiB, 1 MiB: 0.75. */
double iommu_p_miss(double entries, double page_B, double working_set_B);

/* Mean time of one DMA. */
double iommu_dma_s(double base_s, double p_miss, double walk_s);

/* Throughput with `outstanding_B` in flight; max_loss 0 .. 1, IOMMU_MAX_LOSS where unknown. */
double iommu_rate_Bps(double link_Bps, double outstanding_B, double round_trip_s, double p_miss,
                      double walk_s, double max_loss);

/* What a miss costs with ATS: use it as walk_s, with the p_miss of the device's own cache. */
double iommu_ats_walk_s(double round_trip_s, double walk_s);

#endif
