/* bench_copies.c: the copy engine between one GPU and the host, and on all GPUs at once. */
#include <stdlib.h>
#include <string.h>

#include "probe/bench.h"

struct copy {
    struct bench_gpu *gpu;
    cuda_ptr device, other;
    char *in, *out; /* of the host: what goes to the GPU, what comes from it */
};

static bool to_gpu(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    void *stream = copy->gpu->streams[0];
    return BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, copy->device, copy->in, size, stream) &&
           BENCH_CALL(bench, cuStreamSynchronize, stream);
}

static bool from_gpu(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    void *stream = copy->gpu->streams[0];
    return BENCH_CALL(bench, cuMemcpyDtoHAsync_v2, copy->out, copy->device, size, stream) &&
           BENCH_CALL(bench, cuStreamSynchronize, stream);
}

static bool both_ways(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    void **streams = copy->gpu->streams;
    return BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, copy->device, copy->in, size, streams[0]) &&
           BENCH_CALL(bench, cuMemcpyDtoHAsync_v2, copy->out, copy->other, size, streams[1]) &&
           BENCH_CALL(bench, cuStreamSynchronize, streams[0]) &&
           BENCH_CALL(bench, cuStreamSynchronize, streams[1]);
}

static bool inside(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    void *stream = copy->gpu->streams[0];
    return BENCH_CALL(bench, cuMemcpyDtoDAsync_v2, copy->other, copy->device, size, stream) &&
           BENCH_CALL(bench, cuStreamSynchronize, stream);
}

/* The plain calls, which go through a bounce buffer of the driver when memory is pageable. */
static bool pageable_to_gpu(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    return BENCH_CALL(bench, cuMemcpyHtoD_v2, copy->device, copy->in, size) &&
           bench_check(bench, bench->cuda.cuCtxSynchronize(), "cuCtxSynchronize");
}

static bool pageable_from_gpu(struct bench *bench, void *context, size_t size)
{
    struct copy *copy = context;
    return BENCH_CALL(bench, cuMemcpyDtoH_v2, copy->out, copy->device, size);
}

void bench_copies(struct bench *bench)
{
    if (!bench_open_gpus(bench, "memcpy_pinned", false))
        return;
    struct copy pinned = {.gpu = &bench->gpus[bench->first]};
    const char *gpu = pinned.gpu->label;
    char to[24], from[24], both[24];
    snprintf(to, sizeof to, "host>%s", gpu);
    snprintf(from, sizeof from, "%s>host", gpu);
    snprintf(both, sizeof both, "%s<>host", gpu);
    pinned.device = bench_device_memory(bench, pinned.gpu, bench->largest_B);
    pinned.other = bench_device_memory(bench, pinned.gpu, bench->largest_B);
    pinned.in = bench_host_memory(bench, bench->largest_B);
    pinned.out = bench_host_memory(bench, bench->largest_B);
    if (bench_failed(bench, "memcpy_pinned", to))
        return;
    bench_sweep(bench, "memcpy_pinned", to, 0, 1, to_gpu, &pinned);
    bench_sweep(bench, "memcpy_pinned", from, 0, 1, from_gpu, &pinned);
    bench_sweep(bench, "memcpy_pinned_bidir", both, 0, 2, both_ways, &pinned);
    bench_sweep(bench, "memcpy_d2d", gpu, 0, 1, inside, &pinned);

    struct copy pageable = pinned;
    pageable.in = malloc((size_t)bench->largest_B);
    pageable.out = malloc((size_t)bench->largest_B);
    if (pageable.in && pageable.out) {
        memset(pageable.in, 1, (size_t)bench->largest_B);
        memset(pageable.out, 2, (size_t)bench->largest_B);
        bench_sweep(bench, "memcpy_pageable", to, 0, 1, pageable_to_gpu, &pageable);
        bench_sweep(bench, "memcpy_pageable", from, 0, 1, pageable_from_gpu, &pageable);
    } else {
        bench_missing(bench, "memcpy_pageable", to, "out of memory");
    }
    free(pageable.in);
    free(pageable.out);
}

/* ---- all GPUs at once ----------------------------------------------------------------------- */

enum way { TO = 1, FROM = 2 };
struct together {
    struct copy copies[BENCH_GPUS];
    int ways;
};

static bool all_at_once(struct bench *bench, void *context, size_t size)
{
    struct together *all = context;
    bool good = true;
    for (int i = 0; i < bench->gpu_count && good; i++) {
        struct copy *copy = &all->copies[i];
        void **streams = copy->gpu->streams;
        if (all->ways & TO)
            good =
                BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, copy->device, copy->in, size, streams[0]);
        if (good && (all->ways & FROM))
            good =
                BENCH_CALL(bench, cuMemcpyDtoHAsync_v2, copy->out, copy->other, size, streams[1]);
    }
    for (int i = 0; i < bench->gpu_count && good; i++)
        good = BENCH_CALL(bench, cuStreamSynchronize, all->copies[i].gpu->streams[0]) &&
               BENCH_CALL(bench, cuStreamSynchronize, all->copies[i].gpu->streams[1]);
    return good;
}

void bench_together(struct bench *bench)
{
    static struct together all; /* in a child of its own */
    if (!bench_open_gpus(bench, "memcpy_pinned_all", false))
        return;
    for (int i = 0; i < bench->gpu_count; i++) {
        struct copy *copy = &all.copies[i];
        copy->gpu = &bench->gpus[i];
        copy->device = bench_device_memory(bench, copy->gpu, bench->largest_B);
        copy->other = bench_device_memory(bench, copy->gpu, bench->largest_B);
        copy->in = bench_host_memory(bench, bench->largest_B);
        copy->out = bench_host_memory(bench, bench->largest_B);
    }
    if (bench_failed(bench, "memcpy_pinned_all", "host>all"))
        return;
    static const struct {
        const char *place;
        int ways;
    } rows[] = {{"host>all", TO}, {"all>host", FROM}, {"all<>host", TO | FROM}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        all.ways = rows[i].ways;
        bench_sweep(bench, "memcpy_pinned_all", rows[i].place, 0,
                    (rows[i].ways == (TO | FROM) ? 2 : 1) * bench->gpu_count, all_at_once, &all);
    }
}

/* ---- the host alone ------------------------------------------------------------------------- */

static bool host_copy(struct bench *bench, void *context, size_t size)
{
    (void)bench;
    struct copy *copy = context;
    memcpy(copy->out, copy->in, size);
    return true;
}

void bench_host(struct bench *bench)
{
    struct bench_settings settings = *bench->settings;
    struct copy copy = {.in = malloc((size_t)bench->largest_B),
                        .out = malloc((size_t)bench->largest_B)};
    settings.counted_s = 0;
    bench->settings = &settings;
    if (copy.in && copy.out) {
        memset(copy.in, 1, (size_t)bench->largest_B);
        memset(copy.out, 2, (size_t)bench->largest_B);
        bench_sweep(bench, "memcpy_host", "host", 0, 1, host_copy, &copy);
    } else {
        bench_missing(bench, "memcpy_host", "host", "out of memory");
    }
    free(copy.in);
    free(copy.out);
}
