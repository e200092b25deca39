/* nvls.h: bytes and bus bandwidth of an all-reduce that the NVSwitch does (NVLink SHARP).
 *
 *   ring   : each GPU moves 2(n-1)/n * S each way         busbw = rate of the wire
 *   NVLS   : each GPU moves (1 + 1/n) * S each way        busbw = W * 2(n-1)/(n+1)
 *   equal  : n = (2W + R)/(2W - R)                        GPUs from which NVLS is faster
 *
 * n = GPUs; S = bytes reduced; W = rate of the wire under NVLS, R = busbw of the ring, bytes/s.
 * busbw = algbw * 2(n-1)/n as nccl-tests defines it, so NVLS may exceed the wire: print W beside
 * it. Each GPU owns S/n: it reads its part from the switch, which adds up what all GPUs serve (each
 * sends S, the owner receives S/n), and stores the sum to the switch, which hands it to all (the
 * owner sends S/n, each receives S). With two GPUs that is 1.5 S where a ring moves S: no gain;
 * with three both move 4/3 S. NVLS helps all-reduce only: an all-gather still receives (n-1)/n*S
 * (measured 300 against 350 of the ring, NVIDIA/nccl issue 1506).
 *
 * W: 304 .. 311 GB/s on H100 and H200, 539 .. 545 on B200 (from NVIDIA/nccl issue 1455,
 * stas00/ml-engineering at 744d01e, NVIDIA/nccl-tests issue 212); NCCL's own factors 0.85 and 0.74
 * of the effective NVLink rate (nvlink.h) give 315 and 534.
 */
#ifndef GDSIM_MODELS_NVLS_H
#define GDSIM_MODELS_NVLS_H

#define NVLS_H100_BPS 307e9 /* W: measured, see above */
#define NVLS_B200_BPS 541e9

/* Bytes in each direction of one GPU for each byte reduced. 8 GPUs: ring 1.75, NVLS 1.125. */
double nvls_ring_factor(int gpus);
double nvls_factor(int gpus);

/* busbw of an NVLS all-reduce whose wires run at wire_Bps. */
double nvls_busbw_Bps(double wire_Bps, int gpus);

/* GPUs, not whole, from which NVLS beats a ring of that busbw; HUGE_VAL if it never does. */
double nvls_breakeven_gpus(double wire_Bps, double ring_busbw_Bps);

#endif
