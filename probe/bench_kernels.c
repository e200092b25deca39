/* bench_kernels.c: loads and stores of the SMs to the host's memory, and the reduction in HBM. */
#include "probe/bench.h"

enum { THREADS = 512, BLOCKS_PER_SM = 4 };

struct move {
    struct bench_gpu *gpu;
    void *kernel;
    cuda_ptr first, second;
};

static bool run(struct bench *bench, void *context, size_t size)
{
    struct move *move = context;
    unsigned long long n = size / 16;
    unsigned long long wanted = (n + THREADS - 1) / THREADS;
    int most = BLOCKS_PER_SM * move->gpu->sm_count;
    int blocks = wanted < (unsigned long long)most ? (int)wanted : most;
    void *parameters[] = {&move->first, &move->second, &n};
    return bench_launch(bench, move->kernel, blocks, THREADS, move->gpu->streams[0], parameters) &&
           BENCH_CALL(bench, cuStreamSynchronize, move->gpu->streams[0]);
}

void bench_kernel_copy(struct bench *bench, const char *experiment, const char *place,
                       struct bench_gpu *gpu, cuda_ptr to, cuda_ptr from)
{
    struct move move = {gpu, gpu->copy16, to, from};
    if (bench_use(bench, gpu))
        bench_sweep(bench, experiment, place, 0, 1, run, &move);
}

void bench_kernels(struct bench *bench)
{
    if (!bench_open_gpus(bench, "kernel_read_host", true))
        return;
    struct bench_gpu *gpu = &bench->gpus[bench->first];
    cuda_ptr device = bench_device_memory(bench, gpu, bench->largest_B);
    cuda_ptr other = bench_device_memory(bench, gpu, bench->largest_B);
    void *host = bench_host_memory(bench, bench->largest_B);
    cuda_ptr mapped = 0;
    char place[24];
    snprintf(place, sizeof place, "host>%s", gpu->label);
    if (host)
        BENCH_CALL(bench, cuMemHostGetDevicePointer_v2, &mapped, host, 0);
    if (bench_failed(bench, "kernel_read_host", place))
        return;
    bench_kernel_copy(bench, "kernel_read_host", place, gpu, device, mapped);
    snprintf(place, sizeof place, "%s>host", gpu->label);
    bench_kernel_copy(bench, "kernel_write_host", place, gpu, mapped, device);
    struct move add = {gpu, gpu->add_f32, device, other};
    bench_sweep(bench, "kernel_add_f32", gpu->label, 0, 1, run, &add);
}
