/* bench.h: what the groups of `gdprobe bench` share.
 *
 * Each group of measurements runs in a child of its own (child.h) and hands back one row after the
 * other. A time is the host's wall clock around one operation, its synchronization included, as a
 * program would see it. Counters are read around a run of operations that is long enough for the
 * idle traffic of the link to vanish beside it.
 */
#ifndef GDPROBE_BENCH_H
#define GDPROBE_BENCH_H

#include "probe/child.h"
#include "probe/clock.h"
#include "probe/lib_cuda.h"
#include "probe/observe.h"
#include "probe/sampler.h"

enum { BENCH_SIZES = 48, BENCH_GPUS = SAMPLER_GPUS };

struct bench_settings {
    double sizes[BENCH_SIZES];
    size_t size_count;
    double time_s;    /* of one point, at least */
    double counted_s; /* of a run with counters; 0: no counters */
    size_t least;     /* operations of a point */
    const char *path; /* a file system to read from; NULL: the current directory */
    double timeout_s; /* without any row */
};

/* A GPU as CUDA sees it, and its number in NVML, which names it. */
struct bench_gpu {
    int device;
    unsigned number;
    char label[8]; /* "gpu3" */
    int sm_count;
    void *context, *streams[2];
    void *copy16, *add_f32, *empty, *flag_echo; /* kernels */
};

/* What a group works with; built in its child. */
struct bench {
    const struct child *child;
    const struct bench_settings *settings;
    struct sampler *sampler;
    struct cuda cuda;
    struct bench_gpu gpus[BENCH_GPUS];
    int gpu_count;
    int first, second; /* the GPU or the pair of this group; -1: none */
    double smallest_B, largest_B;
    const char *note;   /* of every row; "": none */
    int failure;        /* of the first call that failed: CUresult or -errno; 0: none */
    const char *failed; /* its name */
};

struct bench_group {
    const char *name, *summary;
    enum { BENCH_HOST, BENCH_ONE_GPU, BENCH_EACH_GPU, BENCH_ALL_GPUS, BENCH_EACH_PAIR } scope;
    void (*run)(struct bench *bench);
};
extern const struct bench_group bench_groups[];
extern const size_t bench_group_count;

/* One call of the driver: false, and remembered, when it fails. */
#define BENCH_CALL(bench, function, ...)                                                           \
    bench_check(bench, (bench)->cuda.function(__VA_ARGS__), #function)
bool bench_check(struct bench *bench, int code, const char *function);

/* One operation of `size` bytes, until it is complete. */
typedef bool (*bench_operation)(struct bench *bench, void *context, size_t size);

/* Time operations of one size, and hand back the row: `row` says all but the numbers. */
bool bench_time(struct bench *bench, struct observation row, bench_operation operation,
                void *context, size_t size, double payload_B);
/* The same over all sizes from 16 B up to the largest, then the counters around the largest.
 * `copies`: payload of one operation in sizes. */
void bench_sweep(struct bench *bench, const char *experiment, const char *place, double chunk_B,
                 double copies, bench_operation operation, void *context);
/* Hand back a row without a value and why. */
void bench_missing(struct bench *bench, const char *experiment, const char *place,
                   const char *format, ...) __attribute__((format(printf, 4, 5)));

/* True, and such a row with the call that failed, when one has failed since the last row. */
bool bench_failed(struct bench *bench, const char *experiment, const char *place);

/* Open CUDA and the GPUs of the group: contexts, streams and, when wanted, kernels. False when
 * there are none; then a row says why. */
bool bench_open_gpus(struct bench *bench, const char *experiment, bool kernels);
bool bench_use(struct bench *bench, const struct bench_gpu *gpu);
cuda_ptr bench_device_memory(struct bench *bench, const struct bench_gpu *gpu, double bytes);
/* Pinned, portable and mapped. */
void *bench_host_memory(struct bench *bench, double bytes);
bool bench_launch(struct bench *bench, void *kernel, int blocks, int threads, void *stream,
                  void **parameters);

/* Copy with the SMs of `gpu`. */
void bench_kernel_copy(struct bench *bench, const char *experiment, const char *place,
                       struct bench_gpu *gpu, cuda_ptr to, cuda_ptr from);

/* The PTX of all kernels (kernels.c). */
extern const char *const bench_ptx;

void bench_host(struct bench *bench);
void bench_latency(struct bench *bench);
void bench_copies(struct bench *bench);
void bench_kernels(struct bench *bench);
void bench_together(struct bench *bench);
void bench_pair(struct bench *bench);
void bench_gdrcopy(struct bench *bench);
void bench_rdma(struct bench *bench);
void bench_storage(struct bench *bench);
void bench_storage_compatible(struct bench *bench);

#endif
