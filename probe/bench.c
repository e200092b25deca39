/* bench.c: see bench.h. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "probe/bench.h"

enum { SAMPLES = 400 }; /* at most, of one point */

bool bench_check(struct bench *bench, int code, const char *function)
{
    if (code != 0 && bench->failure == 0) {
        bench->failure = code;
        bench->failed = function;
    }
    return code == 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void send_missing(struct bench *bench, struct observation *row, const char *why)
{
    row->quality = QUALITY_MISSING;
    snprintf(row->note, sizeof row->note, "%s", why);
    child_send(bench->child, row);
}

void bench_missing(struct bench *bench, const char *experiment, const char *place,
                   const char *format, ...)
{
    struct observation row = observation(experiment, place, "time", "s");
    char why[sizeof row.note];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    send_missing(bench, &row, why);
}

/* The first call that failed, in words; the next failure is the first again. */
static void failure_text(struct bench *bench, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s: %s", bench->failed ? bench->failed : "failed",
             bench->failure > 0 ? cuda_error(&bench->cuda, bench->failure)
                                : strerror(-bench->failure));
    bench->failure = 0;
    bench->failed = NULL;
}

bool bench_failed(struct bench *bench, const char *experiment, const char *place)
{
    struct why why;
    if (bench->failure == 0)
        return false;
    failure_text(bench, why.text, sizeof why.text);
    bench_missing(bench, experiment, place, "%s", why.text);
    return true;
}

bool bench_time(struct bench *bench, struct observation row, bench_operation operation,
                void *context, size_t size, double payload_B)
{
    static double samples[SAMPLES]; /* in a child of its own, so never shared */
    const struct bench_settings *settings = bench->settings;
    size_t count = 0;
    bool good = operation(bench, context, size) && operation(bench, context, size); /* warm up */
    if (size > 0)
        row.size_B = (double)size;
    if (payload_B > 0)
        row.payload_B = payload_B;
    double begin = clock_s(), last = begin;
    while (good && count < SAMPLES &&
           (count < settings->least || last - begin < settings->time_s)) {
        good = operation(bench, context, size);
        double now = clock_s();
        samples[count++] = now - last;
        last = now;
    }
    if (!good) {
        char why[sizeof row.note];
        failure_text(bench, why, sizeof why);
        send_missing(bench, &row, why);
        return false;
    }
    observation_summarize(&row, samples, count);
    snprintf(row.note, sizeof row.note, "%s", bench->note);
    child_send(bench->child, &row);
    return true;
}

/* The counters of every GPU around operations of one size. */
static void counted(struct bench *bench, struct observation row, double copies,
                    bench_operation operation, void *context, size_t size)
{
    struct sampler_reading before, after;
    struct why why;
    double count = 0;
    if (!sampler_read(bench->sampler, &before, &why))
        return; /* the header of the file says that there are no counters */
    double begin = clock_s();
    do {
        if (!operation(bench, context, size))
            return;
        count++;
    } while (clock_s() - begin < bench->settings->counted_s);
    if (!sampler_read(bench->sampler, &after, &why)) {
        send_missing(bench, &row, why.text);
        return;
    }
    row.size_B = (double)size;
    row.payload_B = count * copies * (double)size;
    for (unsigned gpu = 0; gpu < bench->sampler->machine.gpu_count; gpu++)
        for (int which = 0; which < SAMPLER_REPLAYS; which++) {
            struct observation each = row;
            snprintf(each.quantity, sizeof each.quantity, "%s", sampler_names[which]);
            snprintf(each.unit, sizeof each.unit, "%s", sampler_units[which]);
            sampler_difference(bench->sampler, &before, &after, gpu, (enum sampler_counter)which,
                               &each);
            child_send(bench->child, &each);
        }
}

void bench_sweep(struct bench *bench, const char *experiment, const char *place, double chunk_B,
                 double copies, bench_operation operation, void *context)
{
    const struct bench_settings *settings = bench->settings;
    struct observation row = observation(experiment, place, "time", "s");
    size_t largest = 0;
    if (chunk_B > 0)
        row.chunk_B = chunk_B;
    for (size_t i = 0; i < settings->size_count; i++) {
        double size = settings->sizes[i];
        if (size < bench->smallest_B || size > bench->largest_B || (chunk_B > 0 && size < chunk_B))
            continue;
        if (!bench_time(bench, row, operation, context, (size_t)size, copies * size))
            return;
        largest = (size_t)size;
    }
    if (largest > 0 && settings->counted_s > 0)
        counted(bench, row, copies, operation, context, largest);
}

/* ---- GPUs ----------------------------------------------------------------------------------- */

/* NVML counts all GPUs, CUDA those that the process may see: the bus id joins them. */
static unsigned number_of(struct bench *bench, int device)
{
    char busid[32] = "";
    const struct sampler_machine *machine = &bench->sampler->machine;
    if (BENCH_CALL(bench, cuDeviceGetPCIBusId, busid, sizeof busid, device))
        for (unsigned i = 0; i < machine->gpu_count; i++)
            if (strncmp(busid, machine->gpus[i].busid, strlen("0000:00:00")) == 0)
                return i;
    return (unsigned)device;
}

static bool load_kernels(struct bench *bench, struct bench_gpu *gpu)
{
    void *module;
    return BENCH_CALL(bench, cuModuleLoadData, &module, bench_ptx) &&
           BENCH_CALL(bench, cuModuleGetFunction, &gpu->copy16, module, "copy16") &&
           BENCH_CALL(bench, cuModuleGetFunction, &gpu->add_f32, module, "add_f32") &&
           BENCH_CALL(bench, cuModuleGetFunction, &gpu->empty, module, "empty") &&
           BENCH_CALL(bench, cuModuleGetFunction, &gpu->flag_echo, module, "flag_echo");
}

bool bench_use(struct bench *bench, const struct bench_gpu *gpu)
{
    return BENCH_CALL(bench, cuCtxSetCurrent, gpu->context);
}

static bool open_gpu(struct bench *bench, struct bench_gpu *gpu, int ordinal, bool kernels)
{
    if (!BENCH_CALL(bench, cuDeviceGet, &gpu->device, ordinal))
        return false;
    gpu->number = number_of(bench, gpu->device);
    snprintf(gpu->label, sizeof gpu->label, "gpu%u", gpu->number % 1000);
    return BENCH_CALL(bench, cuDeviceGetAttribute, &gpu->sm_count, CUDA_SM_COUNT, gpu->device) &&
           BENCH_CALL(bench, cuDevicePrimaryCtxRetain, &gpu->context, gpu->device) &&
           bench_use(bench, gpu) &&
           BENCH_CALL(bench, cuStreamCreate, &gpu->streams[0], CUDA_STREAM_NON_BLOCKING) &&
           BENCH_CALL(bench, cuStreamCreate, &gpu->streams[1], CUDA_STREAM_NON_BLOCKING) &&
           (!kernels || load_kernels(bench, gpu));
}

bool bench_open_gpus(struct bench *bench, const char *experiment, bool kernels)
{
    struct why why = {""};
    int count = 0;
    if (!cuda_open(&bench->cuda, &why) || !cuda_complete(&bench->cuda, &why)) {
        bench_missing(bench, experiment, "", "no CUDA: %s", why.text);
        return false;
    }
    bool good = BENCH_CALL(bench, cuDeviceGetCount, &count);
    bench->gpu_count = count < BENCH_GPUS ? count : BENCH_GPUS;
    for (int i = 0; good && i < bench->gpu_count; i++)
        if (bench->first < 0 || i == bench->first || i == bench->second)
            good = open_gpu(bench, &bench->gpus[i], i, kernels);
    if (good && bench->first < bench->gpu_count && bench->second < bench->gpu_count && count > 0)
        return true;
    if (!bench_failed(bench, experiment, ""))
        bench_missing(bench, experiment, "", "CUDA sees no such GPU");
    return false;
}

cuda_ptr bench_device_memory(struct bench *bench, const struct bench_gpu *gpu, double bytes)
{
    cuda_ptr memory = 0;
    if (!bench_use(bench, gpu) || !BENCH_CALL(bench, cuMemAlloc_v2, &memory, (size_t)bytes))
        return 0;
    return BENCH_CALL(bench, cuMemsetD8_v2, memory, 0x5a, (size_t)bytes) ? memory : 0;
}

void *bench_host_memory(struct bench *bench, double bytes)
{
    void *memory = NULL;
    if (!BENCH_CALL(bench, cuMemHostAlloc, &memory, (size_t)bytes,
                    CUDA_HOST_PORTABLE | CUDA_HOST_DEVICEMAP))
        return NULL;
    memset(memory, 0xa5, (size_t)bytes);
    return memory;
}

bool bench_launch(struct bench *bench, void *kernel, int blocks, int threads, void *stream,
                  void **parameters)
{
    return BENCH_CALL(bench, cuLaunchKernel, kernel, (unsigned)blocks, 1, 1, (unsigned)threads, 1,
                      1, 0, stream, parameters, NULL);
}
