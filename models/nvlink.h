/* nvlink.h: rate of NVLink, and bytes of an all-reduce with and without reduction in the switch.
 *
 *   rate   = links * per-link rate                        one direction
 *   ring   : each GPU moves 2(n-1)/n * S each way         busbw = rate of the wire
 *   NVLS   : each GPU moves (1 + 1/n) * S each way        busbw = W * 2(n-1)/(n+1)
 *   equal  : n = (2W + R)/(2W - R)                        GPUs from which NVLS is faster
 *
 * n = GPUs; S = bytes reduced; W = rate of the wire under NVLS, R = busbw of the ring, bytes/s.
 * busbw = algbw * 2(n-1)/n as nccl-tests defines it, so NVLS may exceed the wire: print W beside
 * it. NVLS helps all-reduce only: an all-gather still receives (n-1)/n*S (measured 300 against 350
 * of the ring, NVIDIA/nccl issue 1506).
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
 * 358.7 GB/s; NCCL's 370.8 lies between. W: 304 .. 311 GB/s on H100 and H200, 539 .. 545 on B200
 * (from NVIDIA/nccl issue 1455, stas00/ml-engineering at 744d01e, NVIDIA/nccl-tests issue 212);
 * NCCL's own factors 0.85 and 0.74 of the effective rate give 315 and 534.
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

#define NVLINK_NVLS_H100_BPS 307e9 /* W: measured, see above */
#define NVLINK_NVLS_B200_BPS 541e9

const char *nvlink_gpu_name(enum nvlink_gpu gpu);

/* One direction, bytes/s. H100, 18 links: raw 450e9, effective 370.8e9. */
double nvlink_raw_Bps(enum nvlink_gpu gpu, int links);
double nvlink_effective_Bps(enum nvlink_gpu gpu, int links);

/* Bytes in each direction of one GPU for each byte reduced. 8 GPUs: ring 1.75, NVLS 1.125. */
double nvlink_ring_allreduce_factor(int gpus);
double nvlink_nvls_allreduce_factor(int gpus);

/* busbw of an NVLS all-reduce whose wires run at wire_Bps. */
double nvlink_nvls_busbw_Bps(double wire_Bps, int gpus);

/* GPUs, not whole, from which NVLS beats a ring of that busbw; HUGE_VAL if it never does. */
double nvlink_nvls_breakeven_gpus(double wire_Bps, double ring_busbw_Bps);

#endif
