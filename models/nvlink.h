/* nvlink.h: rate of NVLink.
 *
 *   rate = links * per-link rate                          one direction, bytes/s
 *
 *   GPU     raw GB/s a link   effective GB/s a link (what NCCL counts on)
 *   P100    20                18         raw: vendor; effective: NVIDIA/nccl at 5067397c,
 *   V100    25                20         src/graph/topo.h (cited)
 *   A100    25                20
 *   GA10x   14.0625           12         raw: 112.5 GB/s both ways over 4 links (vendor)
 *   H100    25                20.6       H200 the same
 *   B200    50                40.1
 *
 * Measured on two H200 with 18 links, 1 GiB: copy engine 394.8 GB/s (256 B packets), SM stores
 * 358.7 GB/s; NCCL's 370.8 lies between. What reduction in the NVSwitch reaches: nvls.h.
 */
#ifndef GDSIM_MODELS_NVLINK_H
#define GDSIM_MODELS_NVLINK_H

enum nvlink_gpu {
    NVLINK_P100,
    NVLINK_V100,
    NVLINK_A100,
    NVLINK_GA10X,
    NVLINK_H100,
    NVLINK_B200,
    NVLINK_GPU_COUNT
};

const char *nvlink_gpu_name(enum nvlink_gpu gpu);

/* One direction, bytes/s. H100, 18 links: raw 450e9, effective 370.8e9. */
double nvlink_raw_Bps(enum nvlink_gpu gpu, int links);
double nvlink_effective_Bps(enum nvlink_gpu gpu, int links);

#endif
