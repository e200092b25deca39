/* fake_cuda.c: a libcuda.so.1 without a GPU. Memory of a GPU is memory; copies are done and counted
 * as a Hopper GPU's counters would: packets of 256 B for the copy engine, of 128 B for the SMs, 24
 * B of header on a write or a read request and 20 B on a completion. Only what gdprobe calls. */
#include <pthread.h>
#include <sched.h>

#include "probe/lib_cuda.h"
#include "tests/probe/fake.h"

#define FAKE(name, ...)                                                                            \
    int name(__VA_ARGS__);                                                                         \
    int name(__VA_ARGS__)
#define SAME_AS(name)                                                                              \
    do {                                                                                           \
        int error_ = fake_fail(name);                                                              \
        if (error_)                                                                                \
            return error_;                                                                         \
    } while (0)

enum { ALLOCATIONS = 64, HOST = -1, COPY_ENGINE = 256, SM = 128 };

static struct {
    char *at;
    size_t size;
    int gpu;
} allocations[ALLOCATIONS];
static int current;
static bool peers;
static pthread_t worker;
static bool working;

/* Where memory lies: a GPU's number, or HOST for all that was not allocated here. */
static int owner(const void *pointer)
{
    const char *at = pointer;
    for (int i = 0; i < ALLOCATIONS; i++)
        if (allocations[i].at && at >= allocations[i].at &&
            at < allocations[i].at + allocations[i].size)
            return allocations[i].gpu;
    return HOST;
}

static int allocate(void **ret, size_t size, int gpu)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (allocations[i].at)
            continue;
        allocations[i].at = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
        allocations[i].size = size;
        allocations[i].gpu = gpu;
        *ret = allocations[i].at;
        return allocations[i].at ? 0 : 2;
    }
    return 2; /* CUDA_ERROR_OUT_OF_MEMORY */
}

static int release(void *pointer)
{
    for (int i = 0; i < ALLOCATIONS; i++)
        if (allocations[i].at == pointer)
            allocations[i].at = NULL;
    free(pointer);
    return 0;
}

static void *pointer_of(cuda_ptr address)
{
    return (void *)(uintptr_t)address;
}

/* `mover` reads `from` and writes `to`; the GPU with the number `by` does it. */
static void count(int from, int to, int by, uint64_t bytes, uint64_t mover)
{
    struct fake_state *state = fake_state();
    uint64_t packets = (bytes + mover - 1) / mover;
    if (from >= 0 && to >= 0 && from != to) {
        fake_add(&state->nvlink_tx[from], bytes);
        fake_add(&state->nvlink_rx[to], bytes);
    } else if (from == HOST && to >= 0) {
        fake_add(&state->pcie_tx[by], 24 * packets);
        fake_add(&state->pcie_rx[by], bytes + 20 * packets);
    } else if (from >= 0 && to == HOST) {
        fake_add(&state->pcie_tx[by], bytes + 24 * packets);
    }
}

static void copy(void *to, const void *from, size_t size, int from_gpu, int to_gpu, uint64_t mover)
{
    memmove(to, from, size);
    if (from_gpu >= 0 && to_gpu >= 0 && from_gpu != to_gpu && !peers) {
        count(from_gpu, HOST, from_gpu, size, mover); /* the silent fallback */
        count(HOST, to_gpu, to_gpu, size, mover);
    } else {
        count(from_gpu, to_gpu, from_gpu >= 0 && to_gpu == HOST ? from_gpu : current, size, mover);
    }
}

FAKE(cuInit, unsigned flags)
{
    (void)flags;
    return fake_fail("cuInit");
}

FAKE(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return 0;
}

FAKE(cuGetErrorString, int code, const char **text)
{
    *text = code == FAKE_ERROR ? "unknown error" : "out of memory";
    return 0;
}

FAKE(cuDeviceGetCount, int *number)
{
    *number = (int)fake_gpus();
    return 0;
}

FAKE(cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return 0;
}

FAKE(cuDeviceGetName, char *name, int size, int device)
{
    (void)device;
    snprintf(name, (size_t)size, "Fake GPU");
    return 0;
}

FAKE(cuDeviceTotalMem_v2, size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)1 << 30;
    return 0;
}

FAKE(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    (void)device;
    *value = attribute == CUDA_SM_COUNT ? 2 : attribute == CUDA_CAPABILITY_MAJOR ? 9 : 0;
    return 0;
}

FAKE(cuDeviceGetPCIBusId, char *busid, int size, int device)
{
    snprintf(busid, (size_t)size, "0000:%02x:00.0", 16 * (device + 1));
    return 0;
}

FAKE(cuDeviceCanAccessPeer, int *able, int device, int peer)
{
    *able = device != peer;
    return 0;
}

FAKE(cuDeviceGetP2PAttribute, int *value, int attribute, int device, int peer)
{
    (void)attribute;
    *value = device != peer;
    return 0;
}

/* A context is the number of its GPU plus one. */
FAKE(cuDevicePrimaryCtxRetain, void **context, int device)
{
    *context = (void *)(uintptr_t)(device + 1);
    return 0;
}

FAKE(cuDevicePrimaryCtxRelease_v2, int device)
{
    (void)device;
    return 0;
}

FAKE(cuCtxSetCurrent, void *context)
{
    current = (int)(uintptr_t)context - 1;
    return 0;
}

FAKE(cuCtxSynchronize, void)
{
    return 0;
}

FAKE(cuCtxEnablePeerAccess, void *context, unsigned flags)
{
    (void)context;
    (void)flags;
    peers = true;
    return 0;
}

FAKE(cuMemAlloc_v2, cuda_ptr *address, size_t size)
{
    SAME_AS("cuMemAlloc_v2");
    void *memory = NULL;
    int code = allocate(&memory, size, current);
    *address = (cuda_ptr)(uintptr_t)memory;
    return code;
}

FAKE(cuMemFree_v2, cuda_ptr address)
{
    return release(pointer_of(address));
}

FAKE(cuMemHostAlloc, void **memory, size_t size, unsigned flags)
{
    (void)flags;
    return allocate(memory, size, HOST);
}

FAKE(cuMemFreeHost, void *memory)
{
    return release(memory);
}

FAKE(cuMemHostGetDevicePointer_v2, cuda_ptr *address, void *memory, unsigned flags)
{
    (void)flags;
    *address = (cuda_ptr)(uintptr_t)memory;
    return 0;
}

FAKE(cuMemsetD8_v2, cuda_ptr address, unsigned char value, size_t size)
{
    memset(pointer_of(address), value, size);
    return 0;
}

FAKE(cuMemcpyHtoD_v2, cuda_ptr to, const void *from, size_t size)
{
    copy(pointer_of(to), from, size, HOST, owner(pointer_of(to)), COPY_ENGINE);
    return 0;
}

FAKE(cuMemcpyDtoH_v2, void *to, cuda_ptr from, size_t size)
{
    copy(to, pointer_of(from), size, owner(pointer_of(from)), HOST, COPY_ENGINE);
    return 0;
}

FAKE(cuMemcpyHtoDAsync_v2, cuda_ptr to, const void *from, size_t size, void *stream)
{
    (void)stream;
    int was = current;
    current = owner(pointer_of(to)); /* a stream belongs to the GPU that it was made on */
    copy(pointer_of(to), from, size, HOST, current, COPY_ENGINE);
    current = was;
    return 0;
}

FAKE(cuMemcpyDtoHAsync_v2, void *to, cuda_ptr from, size_t size, void *stream)
{
    (void)stream;
    copy(to, pointer_of(from), size, owner(pointer_of(from)), HOST, COPY_ENGINE);
    return 0;
}

FAKE(cuMemcpyDtoDAsync_v2, cuda_ptr to, cuda_ptr from, size_t size, void *stream)
{
    (void)stream;
    memmove(pointer_of(to), pointer_of(from), size);
    return 0;
}

FAKE(cuMemcpyPeerAsync, cuda_ptr to, void *to_context, cuda_ptr from, void *from_context,
     size_t size, void *stream)
{
    (void)stream;
    SAME_AS("cuMemcpyPeerAsync");
    copy(pointer_of(to), pointer_of(from), size, (int)(uintptr_t)from_context - 1,
         (int)(uintptr_t)to_context - 1, COPY_ENGINE);
    return 0;
}

FAKE(cuStreamCreate, void **stream, unsigned flags)
{
    (void)flags;
    *stream = &current;
    return 0;
}

FAKE(cuStreamSynchronize, void *stream)
{
    (void)stream;
    if (working)
        pthread_join(worker, NULL);
    working = false;
    return 0;
}

FAKE(cuStreamDestroy_v2, void *stream)
{
    (void)stream;
    return 0;
}

FAKE(cuStreamWaitEvent, void *stream, void *event, unsigned flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return 0;
}

FAKE(cuEventCreate, void **event, unsigned flags)
{
    (void)flags;
    *event = &peers;
    return 0;
}

FAKE(cuEventRecord, void *event, void *stream)
{
    (void)event;
    (void)stream;
    return 0;
}

FAKE(cuEventSynchronize, void *event)
{
    (void)event;
    return 0;
}

FAKE(cuEventDestroy_v2, void *event)
{
    (void)event;
    return 0;
}

/* ---- flags: what waits is done by a thread --------------------------------------------------- */

static struct {
    uint32_t *flag, *ack;
    uint32_t first, last, answer;
    bool armed;
} waiting;

static void *answer_flags(void *unused)
{
    (void)unused;
    for (uint32_t i = waiting.first; i <= waiting.last; i++) {
        while (__atomic_load_n(waiting.flag, __ATOMIC_SEQ_CST) < i)
            sched_yield();
        __atomic_store_n(waiting.ack, waiting.answer ? waiting.answer : i, __ATOMIC_SEQ_CST);
    }
    return NULL;
}

static int start_worker(void)
{
    cuStreamSynchronize(NULL);
    working = pthread_create(&worker, NULL, answer_flags, NULL) == 0;
    return working ? 0 : FAKE_ERROR;
}

FAKE(cuStreamWaitValue32_v2, void *stream, cuda_ptr address, uint32_t value, unsigned flags)
{
    (void)flags;
    cuStreamSynchronize(stream);
    waiting.flag = pointer_of(address);
    waiting.first = waiting.last = value;
    waiting.armed = true;
    return 0;
}

FAKE(cuStreamWriteValue32_v2, void *stream, cuda_ptr address, uint32_t value, unsigned flags)
{
    (void)stream;
    (void)flags;
    uint32_t *to = pointer_of(address);
    if (!waiting.armed) {
        __atomic_store_n(to, value, __ATOMIC_SEQ_CST);
        return 0;
    }
    waiting.armed = false;
    waiting.ack = to;
    waiting.answer = value;
    return start_worker();
}

/* ---- kernels -------------------------------------------------------------------------------- */

FAKE(cuModuleLoadData, void **module, const void *image)
{
    *module = NULL;
    return strstr(image, ".visible .entry copy16(") ? 0 : 218; /* CUDA_ERROR_INVALID_PTX */
}

FAKE(cuModuleUnload, void *module)
{
    (void)module;
    return 0;
}

static const char *const kernels[] = {"copy16", "add_f32", "empty", "flag_echo"};

FAKE(cuModuleGetFunction, void **function, void *module, const char *name)
{
    (void)module;
    for (uintptr_t i = 0; i < 4; i++)
        if (strcmp(kernels[i], name) == 0) {
            *function = (void *)(i + 1);
            return 0;
        }
    return 500; /* CUDA_ERROR_NOT_FOUND */
}

FAKE(cuLaunchKernel, void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
     unsigned by, unsigned bz, unsigned shared, void *stream, void **parameters, void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz;
    (void)shared, (void)stream, (void)extra;
    SAME_AS("cuLaunchKernel");
    uintptr_t kernel = (uintptr_t)function;
    if (kernel == 1) {
        cuda_ptr to = *(cuda_ptr *)parameters[0], from = *(cuda_ptr *)parameters[1];
        size_t size = 16 * (size_t) * (unsigned long long *)parameters[2];
        copy(pointer_of(to), pointer_of(from), size, owner(pointer_of(from)), owner(pointer_of(to)),
             SM);
    } else if (kernel == 4) {
        waiting.flag = pointer_of(*(cuda_ptr *)parameters[0]);
        waiting.ack = pointer_of(*(cuda_ptr *)parameters[1]);
        waiting.first = 1;
        waiting.last = *(uint32_t *)parameters[2];
        waiting.answer = 0;
        return start_worker();
    }
    return 0;
}

FAKE(cuMemGetHandleForAddressRange, void *handle, cuda_ptr address, size_t size, int type,
     unsigned long long flags)
{
    (void)handle, (void)address, (void)size, (void)type, (void)flags;
    return 801; /* CUDA_ERROR_NOT_SUPPORTED */
}

FAKE(cuPointerSetAttribute, const void *value, int attribute, cuda_ptr address)
{
    (void)value, (void)attribute, (void)address;
    return 0;
}
