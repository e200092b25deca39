/* host.c: copies through host memory. Equations and source in host.h. */
#include "models/host.h"

#include <math.h>

const struct host_copy host_copy_h200 = {
    .launch_s = 3.4e-6,
    .dma_s = 2.0e-6,
    .wait_s = 3.0e-6,
    .d2h_Bps = 55.1e9,
    .h2d_Bps = 48.5e9,
};

const struct host_memcpy host_memcpy_emerald_rapids = {
    .cache_B = 16 * 1048576.0,
    .cache_Bps = 12.4e9,
    .memory_Bps = 5.2e9,
};

static double chunk_count(double bytes, double chunk_B)
{
    return bytes > chunk_B ? ceil(bytes / chunk_B) : 1.0;
}

/* Sum and maximum over the stages for one chunk. */
static void one_chunk(const struct host_stage *stages, size_t count, double chunk_B, double *sum_s,
                      double *slowest_s)
{
    *sum_s = *slowest_s = 0;
    for (size_t i = 0; i < count; i++) {
        double stage_s = stages[i].fixed_s + chunk_B / stages[i].rate_Bps;
        *sum_s += stage_s;
        *slowest_s = fmax(*slowest_s, stage_s);
    }
}

double host_serial_s(const struct host_stage *stages, size_t count, double bytes, double chunk_B)
{
    double chunks = chunk_count(bytes, chunk_B), sum_s, slowest_s;
    one_chunk(stages, count, bytes / chunks, &sum_s, &slowest_s);
    return chunks * sum_s;
}

double host_pipelined_s(const struct host_stage *stages, size_t count, double bytes, double chunk_B)
{
    double chunks = chunk_count(bytes, chunk_B), sum_s, slowest_s;
    one_chunk(stages, count, bytes / chunks, &sum_s, &slowest_s);
    return sum_s + (chunks - 1) * slowest_s;
}

double host_best_chunk_B(const struct host_stage *stages, size_t count, double bytes, double min_B,
                         double max_B)
{
    /* At most some forty sizes, so all are tried: the time has steps, where K changes. */
    double best_B = exp2(ceil(log2(min_B))), best_s = HUGE_VAL;
    for (double chunk_B = best_B; chunk_B <= max_B; chunk_B *= 2) {
        double time_s = host_pipelined_s(stages, count, bytes, chunk_B);
        if (time_s < best_s) {
            best_s = time_s;
            best_B = chunk_B;
        }
    }
    return best_B;
}

double host_staged_serial_s(const struct host_copy *copy, double bytes)
{
    double software_s = copy->launch_s + copy->dma_s + copy->wait_s;
    return 2 * software_s + bytes / copy->d2h_Bps + bytes / copy->h2d_Bps;
}

void host_staged_stages(const struct host_copy *copy, struct host_stage ret_stages[3])
{
    ret_stages[0] = (struct host_stage){2 * copy->launch_s, HUGE_VAL};
    ret_stages[1] = (struct host_stage){copy->dma_s, copy->d2h_Bps};
    ret_stages[2] = (struct host_stage){copy->dma_s, copy->h2d_Bps};
}

double host_staged_pipelined_s(const struct host_copy *copy, double bytes, double chunk_B)
{
    struct host_stage stages[3];
    host_staged_stages(copy, stages);
    return host_pipelined_s(stages, 3, bytes, chunk_B) + copy->wait_s;
}

double host_memcpy_Bps(const struct host_memcpy *memory, double bytes)
{
    return bytes <= memory->cache_B ? memory->cache_Bps : memory->memory_Bps;
}

double host_pageable_s(double fixed_s, double memcpy_Bps, double dma_start_s, double dma_Bps,
                       double slab_B, double bytes)
{
    struct host_stage stages[2] = {{0, memcpy_Bps}, {dma_start_s, dma_Bps}};
    return fixed_s + host_pipelined_s(stages, 2, bytes, slab_B);
}
