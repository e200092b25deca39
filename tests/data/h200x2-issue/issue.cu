/* issue.cu: what calls cost apart from the bytes: time of the host that issues them, and time of
 * the GPUs where they are queued already. A kernel that waits for a flag holds the streams back
 * while the host issues, so neither waits for the other. One process, two GPUs, calls grouped as
 * nccl-tests -g 2 groups them. CSV: what,op,bytes,calls,repetitions,median_us,p10_us,p90_us (of one
 * call). */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <nccl.h>
#include <string>
#include <vector>
#define CU(x)                                                                                      \
    do {                                                                                           \
        cudaError_t cu_ = (x);                                                                     \
        if (cu_ != cudaSuccess) {                                                                  \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(cu_));            \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define NC(x)                                                                                      \
    do {                                                                                           \
        ncclResult_t e = (x);                                                                      \
        if (e != ncclSuccess) {                                                                    \
            fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, ncclGetErrorString(e));              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
static const size_t MOST = 1ull << 28;
static ncclComm_t comm[2];
static cudaStream_t stream[2];
static cudaEvent_t ev0[2], ev1[2];
static char *in[2], *out[2];
static volatile int *flag;
static const char *label;
static double now()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}
__global__ void hold(volatile int *flag)
{
    long long start, t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    while (!*flag && t - start < 3000000000ll);
}
static void say(const char *what, const char *op, size_t bytes, int calls, std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    size_t n = v.size();
    printf("%s,%s%s%s,%zu,%d,%zu,%.4f,%.4f,%.4f\n", what, op, *label ? " " : "", label, bytes,
           calls, n, v[n / 2], v[n / 10], v[n - 1 - n / 10]);
    fflush(stdout);
}
static void call(const std::string &op, size_t bytes)
{
    size_t count = bytes / 4;
    NC(ncclGroupStart());
    for (int g = 0; g < 2; g++) {
        CU(cudaSetDevice(g)); /* as nccl-tests does */
        if (op == "all_reduce")
            NC(ncclAllReduce(in[g], out[g], count, ncclFloat, ncclSum, comm[g], stream[g]));
        else if (op == "all_gather")
            NC(ncclAllGather(in[g], out[g], count / 2 ? count / 2 : 1, ncclFloat, comm[g],
                             stream[g]));
        else {
            NC(ncclGroupStart());
            NC(ncclSend(in[g], count, ncclFloat, 1 - g, comm[g], stream[g]));
            NC(ncclRecv(out[g], count, ncclFloat, 1 - g, comm[g], stream[g]));
            NC(ncclGroupEnd());
        }
    }
    NC(ncclGroupEnd());
}
static void wait_all()
{
    for (int done = 0; done < 2;) {
        done = 0;
        for (int g = 0; g < 2; g++) {
            cudaError_t e = cudaStreamQuery(stream[g]);
            if (e == cudaSuccess)
                done++;
            else if (e != cudaErrorNotReady)
                CU(e);
        }
    }
}
static void sync_all()
{
    for (int g = 0; g < 2; g++) {
        CU(cudaSetDevice(g));
        CU(cudaStreamSynchronize(stream[g]));
    }
}
static void held(const char *op, size_t bytes, int calls, int reps, bool gpu)
{
    for (int i = 0; i < 5; i++)
        call(op, bytes); /* connects, loads kernels */
    sync_all();
    std::vector<double> host, dev;
    for (int r = -3; r < reps; r++) {
        *flag = 0;
        for (int g = 0; g < 2; g++) {
            CU(cudaSetDevice(g));
            hold<<<1, 1, 0, stream[g]>>>(flag);
            CU(cudaEventRecord(ev0[g], stream[g]));
        }
        double t0 = now();
        for (int i = 0; i < calls; i++)
            call(op, bytes);
        double t1 = now();
        for (int g = 0; g < 2; g++) {
            CU(cudaSetDevice(g));
            CU(cudaEventRecord(ev1[g], stream[g]));
        }
        *flag = 1;
        sync_all();
        float a, b;
        CU(cudaEventElapsedTime(&a, ev0[0], ev1[0]));
        CU(cudaEventElapsedTime(&b, ev0[1], ev1[1]));
        if (r >= 0) {
            host.push_back((t1 - t0) / calls);
            dev.push_back(1e3 * std::max(a, b) / calls);
        }
    }
    say("issue_held", op, bytes, calls, host);
    if (gpu)
        say("gpu_queued", op, bytes, calls, dev);
}
static void freely(const char *op, size_t bytes, int calls, int reps)
{
    for (int i = 0; i < 5; i++)
        call(op, bytes);
    std::vector<double> issue, whole;
    for (int r = -3; r < reps; r++) {
        sync_all();
        double t0 = now();
        for (int i = 0; i < calls; i++)
            call(op, bytes);
        double t1 = now();
        wait_all();
        double t2 = now();
        if (r >= 0) {
            issue.push_back((t1 - t0) / calls);
            whole.push_back((t2 - t0) / calls);
        }
    }
    say("issue_free", op, bytes, calls, issue);
    say("mean_free", op, bytes, calls, whole);
}
/* ---- copies */
static void copies()
{
    char *pinned;
    CU(cudaHostAlloc(&pinned, 64 << 20, cudaHostAllocDefault));
    memset(pinned, 1, 64 << 20);
    cudaEvent_t e;
    CU(cudaSetDevice(0));
    CU(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (size_t n : {8, 64, 512, 4096, 8192, 16384, 32768, 65536, 131072})
        for (int dir = 0; dir < 2; dir++) {
            std::vector<double> host, dev;
            const int calls = 8;
            for (int r = -3; r < 100; r++) {
                *flag = 0;
                hold<<<1, 1, 0, stream[0]>>>(flag);
                CU(cudaEventRecord(ev0[0], stream[0]));
                double t0 = now();
                for (int i = 0; i < calls; i++)
                    CU(dir ? cudaMemcpyAsync(pinned, in[0], n, cudaMemcpyDeviceToHost, stream[0])
                           : cudaMemcpyAsync(in[0], pinned, n, cudaMemcpyHostToDevice, stream[0]));
                double t1 = now();
                CU(cudaEventRecord(ev1[0], stream[0]));
                *flag = 1;
                CU(cudaStreamSynchronize(stream[0]));
                float a;
                CU(cudaEventElapsedTime(&a, ev0[0], ev1[0]));
                if (r >= 0) {
                    host.push_back((t1 - t0) / calls);
                    dev.push_back(1e3 * a / calls);
                }
            }
            say("issue_held", dir ? "copy_d2h" : "copy_h2d", n, calls, host);
            say("gpu_queued", dir ? "copy_d2h" : "copy_h2d", n, calls, dev);
        }
    /* the loop of staged_pipe: D2H on one stream, event, wait, H2D on the other */
    for (size_t n : {8, 131072, 2097152})
        for (int how = 0; how < 2; how++) {
            std::vector<double> host, dev, part[4];
            const int calls = 24;
            for (int r = -3; r < 60; r++) {
                *flag = how;
                CU(cudaSetDevice(0));
                hold<<<1, 1, 0, stream[0]>>>(flag);
                CU(cudaEventRecord(ev0[0], stream[0]));
                if (how)
                    sync_all();
                double p[5], sum[4] = {0};
                double t0 = now();
                for (int i = 0; i < calls; i++) {
                    p[0] = now();
                    CU(cudaMemcpyAsync(pinned + n * (i % 8), in[0], n, cudaMemcpyDeviceToHost,
                                       stream[0]));
                    p[1] = now();
                    CU(cudaEventRecord(e, stream[0]));
                    p[2] = now();
                    CU(cudaStreamWaitEvent(stream[1], e, 0));
                    p[3] = now();
                    CU(cudaMemcpyAsync(in[1], pinned + n * (i % 8), n, cudaMemcpyHostToDevice,
                                       stream[1]));
                    p[4] = now();
                    for (int k = 0; k < 4; k++)
                        sum[k] += p[k + 1] - p[k];
                }
                double t1 = now();
                *flag = 1;
                CU(cudaStreamSynchronize(stream[1]));
                double t2 = now();
                if (r >= 0) {
                    host.push_back((t1 - t0) / calls);
                    dev.push_back(((how ? t2 - t0 : t2 - t1)) / calls);
                    for (int k = 0; k < 4; k++)
                        part[k].push_back(sum[k] / calls);
                }
            }
            say(how ? "issue_free" : "issue_held", "piece", n, calls, host);
            say(how ? "mean_free" : "gpu_queued", "piece", n, calls, dev);
            static const char *names[4] = {"piece: d2h", "piece: record", "piece: wait",
                                           "piece: h2d"};
            for (int k = 0; k < 4; k++)
                say(how ? "issue_free" : "issue_held", names[k], n, calls, part[k]);
        }
    /* a second copy that waits for the first on the GPU, or on the host: how long the change of
     * hands takes */
    std::vector<double> one, gpu, cpu, lag;
    for (int r = -3; r < 200; r++) {
        CU(cudaSetDevice(0));
        double t0 = now();
        CU(cudaMemcpyAsync(pinned, in[0], 8, cudaMemcpyDeviceToHost, stream[0]));
        CU(cudaStreamSynchronize(stream[0]));
        double t1 = now();
        CU(cudaMemcpyAsync(pinned, in[0], 8, cudaMemcpyDeviceToHost, stream[0]));
        CU(cudaEventRecord(e, stream[0]));
        CU(cudaStreamWaitEvent(stream[1], e, 0));
        CU(cudaMemcpyAsync(in[1], pinned, 8, cudaMemcpyHostToDevice, stream[1]));
        CU(cudaStreamSynchronize(stream[1]));
        double t2 = now();
        CU(cudaMemcpyAsync(pinned, in[0], 8, cudaMemcpyDeviceToHost, stream[0]));
        CU(cudaStreamSynchronize(stream[0]));
        CU(cudaMemcpyAsync(in[1], pinned, 8, cudaMemcpyHostToDevice, stream[1]));
        CU(cudaStreamSynchronize(stream[1]));
        double t3 = now();
        if (r >= 0) {
            one.push_back(t1 - t0);
            gpu.push_back(t2 - t1);
            cpu.push_back(t3 - t2);
        }
    }
    say("copy_sync", "d2h", 8, 1, one);
    say("copy_sync", "d2h event h2d", 8, 1, gpu);
    say("copy_sync", "d2h sync h2d", 8, 1, cpu);
}
int main(int argc, char **argv)
{
    std::string mode = argv[1];
    label = argc > 2 ? argv[2] : "";
    int devs[2] = {0, 1};
    int *host_flag;
    CU(cudaHostAlloc(&host_flag, 64, cudaHostAllocPortable | cudaHostAllocMapped));
    flag = host_flag;
    for (int g = 0; g < 2; g++) {
        CU(cudaSetDevice(g));
        CU(cudaStreamCreateWithFlags(&stream[g], cudaStreamNonBlocking));
        CU(cudaEventCreate(&ev0[g]));
        CU(cudaEventCreate(&ev1[g]));
        CU(cudaMalloc(&in[g], MOST));
        CU(cudaMalloc(&out[g], MOST));
        CU(cudaMemset(in[g], 0, MOST));
    }
    if (mode == "copies") {
        copies();
        return 0;
    }
    NC(ncclCommInitAll(comm, 2, devs));
    const char *ops[] = {"all_reduce", "all_gather", "sendrecv"};
    if (mode == "issue") {
        for (int again = 0; again < 2; again++)
            for (auto op : ops)
                held(op, 8, 20, 60, true);
        for (auto op : ops)
            freely(op, 8, 20, 60);
        for (size_t n : {1 << 16, 1 << 20, 1 << 24, 1 << 27})
            for (auto op : ops)
                held(op, n, 20, 20, false);
    } else if (mode == "ring") {
        held("all_reduce", 8, 20, 60, true);
        held("all_reduce", 8, 100, 20, true);
        freely("all_reduce", 8, 20, 60);
        if (argc > 3)
            for (size_t n : {1 << 16, 1 << 20, 1 << 21, 1 << 22, 1 << 24}) {
                held("all_reduce", n, 20, 40, true);
                freely("all_reduce", n, 20, 40);
                freely("all_reduce", n, 1, 40);
                freely("all_reduce", n, 100, 10);
            }
    }
    if (mode == "sizes")
        for (auto op : {"sendrecv", "all_reduce"})
            for (size_t n : {(size_t)8, (size_t)1 << 16, (size_t)1 << 20, (size_t)1 << 22,
                             (size_t)1 << 23, (size_t)1 << 24, (size_t)1 << 26, (size_t)1 << 28}) {
                held(op, n, 20, 20, true);
                freely(op, n, 20, 20);
            }
    int version;
    NC(ncclGetVersion(&version));
    fprintf(stderr, "nccl %d\n", version);
    return 0;
}
