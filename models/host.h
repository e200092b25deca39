/* host.h: copies through host memory: stages in chunks, staged GPU to GPU, pageable.
 *
 *   serial    : t = K * sum_j (a_j + c/B_j)
 *   pipelined : t = sum_j (a_j + c/B_j) + (K-1) * max_j (a_j + c/B_j)
 *   staged    : serial    t = 2*(launch + dma + wait) + S/B_d2h + S/B_h2d
 *               pipelined three stages: issue (2*launch, no bytes), D2H (dma, B_d2h), H2D (dma,
 *               B_h2d); one wait at the end
 *   pageable  : fixed + pipelined over slabs: memcpy (0, B_memcpy), DMA (dma, B_dma)
 *
 * S = bytes; c = S/K = chunk; K = ceil(S / chunk asked for): chunks of equal size, so that a short
 * last one is not counted as a full one; a_j = fixed time of stage j for each chunk, s; B_j = its
 * rate, bytes/s; launch = CPU time to issue one asynchronous copy with its event, s; dma = start of
 * one copy in the engine, s; wait = from the end of the copies to the CPU going on, s.
 * The CPU that issues is a stage as any other: below some chunk size it is the slowest one, and
 * that, not the link, is why small chunks are slow.
 *
 * Source of the formulas: the standard pipeline identity; it is exact for equal chunks and stages
 * that each serve in order. Numbers in host_copy_h200: FITTED by us to 60 medians measured on two
 * H200 SXM of one Emerald Rapids socket (PCIe Gen5 x16, driver 580, one CPU thread), serial and in
 * chunks of 128 KiB, 2 MiB and 8 MiB, 8 B to 1 GiB: largest error 9 %, but for one chunk of 128 KiB
 * (25.5 us measured as median, 17.4 as minimum, 18.9 here). What was measured alone: D2H 55.1 GB/s,
 * H2D 52.4 .. 54 GB/s (48.5 here, because both legs together load the host's memory: above 128 MiB
 * they reach 43 GB/s, below that 50), one synchronous copy of 8 B 6.6 .. 8.3 us, an asynchronous
 * launch 4.9 us (3.4 here). Measured apart, 2026-11-30 (tests/data/h200x2-issue): to issue a chunk
 * takes 4.7 us, in a slower process 7.7, and the GPUs take 4.2 us + c/B for one that is queued,
 * since an event hands it over; so in a quick process they are the slowest stage, not the CPU. UCX
 * assumes 4.0 us to launch and 1.8 us to complete (openucx/ucx at 9466d104). memcpy: the CPU of the
 * same machine, 12.4 GB/s while source and target stay in its cache, 5.2 GB/s beyond (fitted to
 * pageable H2D; within 8 % from 128 KiB on, 19 % low at 64 KiB; D2H ran at 7.5 .. 10.7 GB/s
 * throughout). The slab of the driver's bounce buffer, 128 KiB, is assumed.
 */
#ifndef GDSIM_MODELS_HOST_H
#define GDSIM_MODELS_HOST_H

#include <stddef.h>

struct host_stage {
    double fixed_s;  /* for each chunk */
    double rate_Bps; /* HUGE_VAL: the stage does not handle bytes */
};

struct host_copy {
    double launch_s, dma_s, wait_s;
    double d2h_Bps, h2d_Bps;
};

struct host_memcpy {
    double cache_B; /* up to this size the buffers stay in the CPU's cache */
    double cache_Bps, memory_Bps;
};

extern const struct host_copy host_copy_h200;
extern const struct host_memcpy host_memcpy_emerald_rapids;

/* Chunks one after the other, each through all stages. */
double host_serial_s(const struct host_stage *stages, size_t count, double bytes, double chunk_B);

/* Chunks follow each other through the stages. */
double host_pipelined_s(const struct host_stage *stages, size_t count, double bytes,
                        double chunk_B);

/* The power of two in min_B .. max_B for which host_pipelined_s() is least; the smallest if equal.
 */
double host_best_chunk_B(const struct host_stage *stages, size_t count, double bytes, double min_B,
                         double max_B);

/* GPU to GPU through pinned host memory: D2H, wait, H2D. */
double host_staged_serial_s(const struct host_copy *copy, double bytes);

/* The stages of a pipelined staged copy, for host_best_chunk_B(). */
void host_staged_stages(const struct host_copy *copy, struct host_stage ret_stages[3]);

/* The same copy, cut into chunks on two streams, with the wait at the end. */
double host_staged_pipelined_s(const struct host_copy *copy, double bytes, double chunk_B);

double host_memcpy_Bps(const struct host_memcpy *memory, double bytes);

/* Between pageable memory and a GPU: the driver copies slabs to or from a pinned buffer. memcpy_Bps
 * is the CPU's, dma_Bps that of the direction; fixed_s is the time of a copy of no bytes. */
double host_pageable_s(double fixed_s, double memcpy_Bps, double dma_start_s, double dma_Bps,
                       double slab_B, double bytes);

#endif
