/* bench_pair.c: from one GPU to another: without and with peer access, staged through the host by
 * hand, by the copy engine and by the SMs. */
#include "probe/bench.h"

struct pair {
    struct bench_gpu *from, *to;
    cuda_ptr source, target;           /* on `from`, on `to` */
    cuda_ptr back_source, back_target; /* the other way: on `to`, on `from` */
    char *host;
    size_t chunk;
    void *event;
};

static bool peer_copy(struct bench *bench, void *context, size_t size)
{
    struct pair *pair = context;
    void *stream = pair->from->streams[0];
    return BENCH_CALL(bench, cuMemcpyPeerAsync, pair->target, pair->to->context, pair->source,
                      pair->from->context, size, stream) &&
           BENCH_CALL(bench, cuStreamSynchronize, stream);
}

static bool peer_both(struct bench *bench, void *context, size_t size)
{
    struct pair *pair = context;
    void *there = pair->from->streams[0], *back = pair->to->streams[0];
    return BENCH_CALL(bench, cuMemcpyPeerAsync, pair->target, pair->to->context, pair->source,
                      pair->from->context, size, there) &&
           BENCH_CALL(bench, cuMemcpyPeerAsync, pair->back_target, pair->from->context,
                      pair->back_source, pair->to->context, size, back) &&
           BENCH_CALL(bench, cuStreamSynchronize, there) &&
           BENCH_CALL(bench, cuStreamSynchronize, back);
}

static bool staged_serial(struct bench *bench, void *context, size_t size)
{
    struct pair *pair = context;
    void *out = pair->from->streams[0], *in = pair->to->streams[0];
    return BENCH_CALL(bench, cuMemcpyDtoHAsync_v2, pair->host, pair->source, size, out) &&
           BENCH_CALL(bench, cuStreamSynchronize, out) &&
           BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, pair->target, pair->host, size, in) &&
           BENCH_CALL(bench, cuStreamSynchronize, in);
}

/* Each chunk's second leg waits on the stream for the first: two handoffs' cost a chunk. */
static bool staged_pipe(struct bench *bench, void *context, size_t size)
{
    struct pair *pair = context;
    void *out = pair->from->streams[0], *in = pair->to->streams[0];
    for (size_t at = 0; at < size; at += pair->chunk) {
        size_t chunk = size - at < pair->chunk ? size - at : pair->chunk;
        if (!BENCH_CALL(bench, cuMemcpyDtoHAsync_v2, pair->host + at, pair->source + at, chunk,
                        out) ||
            !BENCH_CALL(bench, cuEventRecord, pair->event, out) ||
            !BENCH_CALL(bench, cuStreamWaitEvent, in, pair->event, 0) ||
            !BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, pair->target + at, pair->host + at, chunk, in))
            return false;
    }
    return BENCH_CALL(bench, cuStreamSynchronize, in);
}

static void staged(struct bench *bench, struct pair *pair, const char *place)
{
    static const size_t chunks[] = {128 << 10, 512 << 10, 2 << 20, 8 << 20};
    pair->host = bench_host_memory(bench, bench->largest_B);
    if (bench_use(bench, pair->from))
        BENCH_CALL(bench, cuEventCreate, &pair->event, CUDA_EVENT_DISABLE_TIMING);
    if (bench_failed(bench, "staged_serial", place))
        return;
    bench_sweep(bench, "staged_serial", place, 0, 1, staged_serial, pair);
    for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++) {
        pair->chunk = chunks[i];
        bench_sweep(bench, "staged_pipe", place, (double)chunks[i], 1, staged_pipe, pair);
    }
}

/* Both ways; false when the two have no peer access. */
static bool enable(struct bench *bench, const struct bench_gpu *a, const struct bench_gpu *b)
{
    int able = 0;
    if (!BENCH_CALL(bench, cuDeviceCanAccessPeer, &able, a->device, b->device) || !able ||
        !bench_use(bench, a))
        return false;
    int code = bench->cuda.cuCtxEnablePeerAccess(b->context, 0);
    return code == CUDA_PEER_ACCESS_ALREADY || bench_check(bench, code, "cuCtxEnablePeerAccess");
}

void bench_pair(struct bench *bench)
{
    if (!bench_open_gpus(bench, "memcpy_peer_enabled", true))
        return;
    struct pair pair = {.from = &bench->gpus[bench->first], .to = &bench->gpus[bench->second]};
    char there[24], back[24], both[24], staged_place[32];
    snprintf(there, sizeof there, "%s>%s", pair.from->label, pair.to->label);
    snprintf(back, sizeof back, "%s>%s", pair.to->label, pair.from->label);
    snprintf(both, sizeof both, "%s<>%s", pair.from->label, pair.to->label);
    snprintf(staged_place, sizeof staged_place, "%s>host>%s", pair.from->label, pair.to->label);
    pair.source = bench_device_memory(bench, pair.from, bench->largest_B);
    pair.back_target = bench_device_memory(bench, pair.from, bench->largest_B);
    pair.target = bench_device_memory(bench, pair.to, bench->largest_B);
    pair.back_source = bench_device_memory(bench, pair.to, bench->largest_B);

    if (bench_failed(bench, "memcpy_peer_enabled", there))
        return;
    staged(bench, &pair, staged_place);
    /* The silent fallback: the same call as below, before anybody has asked for peer access. */
    bench_sweep(bench, "memcpy_peer_notenabled", there, 0, 1, peer_copy, &pair);
    if (!enable(bench, pair.from, pair.to) || !enable(bench, pair.to, pair.from)) {
        bench_missing(bench, "memcpy_peer_enabled", there, "these two GPUs have no peer access");
        return;
    }
    bench_sweep(bench, "memcpy_peer_enabled", there, 0, 1, peer_copy, &pair);
    bench_sweep(bench, "memcpy_peer_bidir", both, 0, 2, peer_both, &pair);
    bench_kernel_copy(bench, "kernel_peer_write", there, pair.from, pair.target, pair.source);
    bench_kernel_copy(bench, "kernel_peer_read", back, pair.from, pair.back_target,
                      pair.back_source);
}
