/* bench_latency.c: the software's fixed costs: launches, events, flags and stream memory
 * operations, on one GPU. */
#include <errno.h>

#include "probe/bench.h"

struct latency {
    struct bench_gpu *gpu;
    void *event;
    volatile uint32_t *flag, *ack; /* of the host, seen by the GPU */
    cuda_ptr flag_there, ack_there;
    uint32_t round;
};

static bool launch_sync(struct bench *bench, void *context, size_t size)
{
    (void)size;
    struct latency *latency = context;
    return bench_launch(bench, latency->gpu->empty, 1, 32, latency->gpu->streams[0], NULL) &&
           BENCH_CALL(bench, cuStreamSynchronize, latency->gpu->streams[0]);
}

static bool launch_async(struct bench *bench, void *context, size_t size)
{
    (void)size;
    struct latency *latency = context;
    return bench_launch(bench, latency->gpu->empty, 1, 32, latency->gpu->streams[0], NULL);
}

static bool event_record_sync(struct bench *bench, void *context, size_t size)
{
    (void)size;
    struct latency *latency = context;
    return BENCH_CALL(bench, cuEventRecord, latency->event, latency->gpu->streams[0]) &&
           BENCH_CALL(bench, cuEventSynchronize, latency->event);
}

/* Wait until the GPU has written; gives up after a second. */
static bool seen(struct bench *bench, const volatile uint32_t *at, uint32_t value)
{
    for (double begin = clock_s(); *at != value;) {
        for (int i = 0; i < 1000 && *at != value; i++)
            ;
        if (*at != value && clock_s() - begin > 1)
            return bench_check(bench, -ETIMEDOUT, "the GPU never wrote its flag");
    }
    return true;
}

/* The stream writes a flag of the host. */
static bool write_value(struct bench *bench, void *context, size_t size)
{
    (void)size;
    struct latency *latency = context;
    uint32_t round = ++latency->round;
    return BENCH_CALL(bench, cuStreamWriteValue32_v2, latency->gpu->streams[0], latency->ack_there,
                      round, 0) &&
           seen(bench, latency->ack, round);
}

/* A stream that already waits is let go by the host and answers: only that is timed, so it is
 * a loop of its own. */
static void wait_value(struct bench *bench, struct latency *latency)
{
    enum { ROUNDS = 200 };
    double samples[ROUNDS];
    struct observation row = observation("stream_wait_value32", latency->gpu->label, "time", "s");
    size_t count = 0;
    row.size_B = 4;
    *latency->flag = 0;
    double start = clock_s();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (count >= bench->settings->least && clock_s() - start > 5 * bench->settings->time_s)
            break; /* the pauses below take most of the time */
        void *stream = latency->gpu->streams[0];
        uint32_t round = ++latency->round;
        if (!BENCH_CALL(bench, cuStreamWaitValue32_v2, stream, latency->flag_there, i + 1,
                        CUDA_WAIT_VALUE_GEQ) ||
            !BENCH_CALL(bench, cuStreamWriteValue32_v2, stream, latency->ack_there, round, 0)) {
            bench_missing(bench, row.experiment, row.place, "%s: %s", bench->failed,
                          cuda_error(&bench->cuda, bench->failure));
            return;
        }
        for (double begin = clock_s(); clock_s() - begin < 20e-6;)
            ; /* long enough for the GPU to have reached the wait */
        double begin = clock_s();
        *latency->flag = i + 1;
        if (!seen(bench, latency->ack, round)) {
            bench_missing(bench, row.experiment, row.place, "the stream never woke up");
            return;
        }
        samples[count++] = clock_s() - begin;
    }
    observation_summarize(&row, samples, count);
    child_send(bench->child, &row);
}

/* A kernel and the host pass a flag to and fro. */
static void flag_roundtrip(struct bench *bench, struct latency *latency)
{
    enum { MOST = 2000, WARM = 20 };
    static double samples[MOST];
    double wanted = bench->settings->time_s / 5e-6; /* about so long takes one */
    uint32_t count = wanted > MOST ? MOST : wanted < 20 ? 20 : (uint32_t)wanted;
    struct observation row = observation("flag_roundtrip", latency->gpu->label, "time", "s");
    uint32_t rounds = count + WARM;
    void *parameters[] = {&latency->flag_there, &latency->ack_there, &rounds};
    row.size_B = 4;
    *latency->flag = *latency->ack = 0;
    bool good =
        bench_launch(bench, latency->gpu->flag_echo, 1, 1, latency->gpu->streams[0], parameters);
    for (uint32_t i = 1; good && i <= rounds; i++) {
        double begin = clock_s();
        *latency->flag = i;
        good = seen(bench, latency->ack, i);
        if (i > WARM)
            samples[i - WARM - 1] = clock_s() - begin;
    }
    if (!good || !BENCH_CALL(bench, cuStreamSynchronize, latency->gpu->streams[0])) {
        bench_missing(bench, row.experiment, row.place, "the kernel never answered");
        return;
    }
    observation_summarize(&row, samples, count);
    child_send(bench->child, &row);
}

void bench_latency(struct bench *bench)
{
    if (!bench_open_gpus(bench, "launch_sync", true))
        return;
    struct latency latency = {.gpu = &bench->gpus[bench->first]};
    const char *gpu = latency.gpu->label;
    struct observation row = observation("launch_sync", gpu, "time", "s");
    bench_time(bench, row, launch_sync, &latency, 0, 0);
    row = observation("launch_async", gpu, "time", "s");
    bench_time(bench, row, launch_async, &latency, 0, 0);
    BENCH_CALL(bench, cuStreamSynchronize, latency.gpu->streams[0]);
    if (BENCH_CALL(bench, cuEventCreate, &latency.event, CUDA_EVENT_DISABLE_TIMING)) {
        row = observation("event_record_sync", gpu, "time", "s");
        bench_time(bench, row, event_record_sync, &latency, 0, 0);
    }
    char *page = bench_host_memory(bench, 4096);
    cuda_ptr there = 0;
    if (!page || !BENCH_CALL(bench, cuMemHostGetDevicePointer_v2, &there, page, 0)) {
        bench_failed(bench, "flag_roundtrip", gpu);
        return;
    }
    latency.flag = (volatile uint32_t *)(void *)page;
    latency.ack = (volatile uint32_t *)(void *)(page + 1024); /* another cache line */
    latency.flag_there = there;
    latency.ack_there = there + 1024;
    *latency.ack = 0;
    row = observation("stream_write_value32", gpu, "time", "s");
    bench_time(bench, row, write_value, &latency, 4, 0);
    wait_value(bench, &latency);
    flag_roundtrip(bench, &latency);
}
