/* allreduce.c: NCCL allreduces on all GPUs of a machine by one process, to be watched by gdprobe.
 *
 *   allreduce [-b BYTES] [-n ITERATIONS] [-w WARMUPS] [-g GPUS]
 *
 * It prints the header and one row as nccl-tests 2.19 prints them, and makes the calls that those
 * tell of: W warm-ups of the largest and of the smallest size (here the same), then out of place
 * and in place one call to synchronize and N timed ones; no validation. NCCL and the CUDA driver
 * are loaded at run time. It pauses after the header and before "# Out of bounds values", so that
 * `--from "# nThread" --to "# Out of bounds"` cuts set-up and tear-down off.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/lib_cuda.h"

enum { GPUS = 16, NCCL_FLOAT = 7, NCCL_SUM = 0 };

static struct {
    int (*ncclGetVersion)(int *);
    int (*ncclCommInitAll)(void **, int, const int *);
    int (*ncclAllReduce)(const void *, void *, size_t, int, int, void *, void *);
    int (*ncclGroupStart)(void);
    int (*ncclGroupEnd)(void);
    int (*ncclCommDestroy)(void *);
    const char *(*ncclGetErrorString)(int);
} nccl;
static struct cuda cuda;
static void *contexts[GPUS], *streams[GPUS], *comms[GPUS];
static cuda_ptr send[GPUS], receive[GPUS];
static int gpus;

static void must(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "allreduce: %s: error %d\n", what, code);
    exit(1);
}

static void load(void)
{
    static const char *const names[] = {"ncclGetVersion",    "ncclCommInitAll", "ncclAllReduce",
                                        "ncclGroupStart",    "ncclGroupEnd",    "ncclCommDestroy",
                                        "ncclGetErrorString"};
    struct why why = {""};
    const char *file = getenv("NCCL_LIBRARY");
    void *handle = dlopen(file ? file : "libnccl.so.2", RTLD_NOW);
    if (!handle) {
        fprintf(stderr, "allreduce: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        void *function = dlsym(handle, names[i]);
        must(!function, names[i]);
        memcpy((char *)&nccl + i * sizeof function, &function, sizeof function);
    }
    if (!cuda_open(&cuda, &why) || !cuda_complete(&cuda, &why)) {
        fprintf(stderr, "allreduce: %s\n", why.text);
        exit(1);
    }
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void synchronize(void)
{
    for (int i = 0; i < gpus; i++)
        must(cuda.cuStreamSynchronize(streams[i]), "cuStreamSynchronize");
}

static void call(size_t bytes, int in_place)
{
    must(nccl.ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < gpus; i++) {
        void *from = (void *)(uintptr_t)(in_place ? receive[i] : send[i]);
        must(nccl.ncclAllReduce(from, (void *)(uintptr_t)receive[i], bytes / 4, NCCL_FLOAT,
                                NCCL_SUM, comms[i], streams[i]),
             "ncclAllReduce");
    }
    must(nccl.ncclGroupEnd(), "ncclGroupEnd");
}

/* One call to synchronize, then the timed ones: microseconds each. */
static double measure(size_t bytes, int iterations, int in_place)
{
    call(bytes, in_place);
    synchronize();
    double begin = now_s();
    for (int i = 0; i < iterations; i++)
        call(bytes, in_place);
    synchronize();
    return 1e6 * (now_s() - begin) / iterations;
}

static void rest(void)
{
    fflush(stdout);
    nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
}

int main(int argc, char **argv)
{
    size_t bytes = 256 << 20;
    int iterations = 20, warmups = 5, devices[GPUS], version = 0, wanted = GPUS;
    for (int i = 1; i + 1 < argc; i += 2) {
        long long value = atoll(argv[i + 1]);
        if (strcmp(argv[i], "-b") == 0)
            bytes = (size_t)value;
        else if (strcmp(argv[i], "-n") == 0)
            iterations = (int)value;
        else if (strcmp(argv[i], "-w") == 0)
            warmups = (int)value;
        else if (strcmp(argv[i], "-g") == 0)
            wanted = (int)value;
    }
    load();
    must(cuda.cuDeviceGetCount(&gpus), "cuDeviceGetCount");
    gpus = gpus < wanted ? gpus : wanted;
    for (int i = 0; i < gpus; i++) {
        devices[i] = i;
        must(cuda.cuDevicePrimaryCtxRetain(&contexts[i], i), "cuDevicePrimaryCtxRetain");
        must(cuda.cuCtxSetCurrent(contexts[i]), "cuCtxSetCurrent");
        must(cuda.cuStreamCreate(&streams[i], CUDA_STREAM_NON_BLOCKING), "cuStreamCreate");
        must(cuda.cuMemAlloc_v2(&send[i], bytes), "cuMemAlloc");
        must(cuda.cuMemAlloc_v2(&receive[i], bytes), "cuMemAlloc");
        must(cuda.cuMemsetD8_v2(send[i], 0, bytes), "cuMemsetD8");
        must(cuda.cuMemsetD8_v2(receive[i], 0, bytes), "cuMemsetD8");
    }
    must(nccl.ncclGetVersion(&version), "ncclGetVersion");
    must(nccl.ncclCommInitAll(comms, gpus, devices), "ncclCommInitAll");
    call(4096, 0); /* the first call makes connections */
    synchronize();
    printf("# allreduce as nccl-tests does it, nccl-library=%d\n", version);
    printf("# Collective test starting: allreduce\n");
    printf("# nThread 1 nGpus %d minBytes %zu maxBytes %zu step: 2(factor) warmup iters: %d iters: "
           "%d agg iters: 1 validation: 0 graph: 0 unalign: 0\n",
           gpus, bytes, bytes, warmups, iterations);
    rest();
    for (int i = 0; i < 2 * warmups; i++)
        call(bytes, 0);
    synchronize();
    double out_us = measure(bytes, iterations, 0), in_us = measure(bytes, iterations, 1);
    double factor = 2.0 * (gpus - 1) / gpus, gB = 1e-3 * (double)bytes;
    printf("%12zu  %12zu     float     sum      -1 %8.2f %7.2f %7.2f    N/A %8.2f %7.2f %7.2f    "
           "N/A\n",
           bytes, bytes / 4, out_us, gB / out_us, factor * gB / out_us, in_us, gB / in_us,
           factor * gB / in_us);
    rest();
    printf("# Out of bounds values : 0 OK\n");
    fflush(stdout);
    for (int i = 0; i < gpus; i++)
        must(nccl.ncclCommDestroy(comms[i]), "ncclCommDestroy");
    return 0;
}
