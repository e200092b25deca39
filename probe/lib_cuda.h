/* lib_cuda.h: libcuda.so.1, the CUDA driver. Declarations as in the driver's ABI; returns are
 * CUresult (0: success). Contexts, streams, events, modules and functions are opaque pointers. */
#ifndef GDPROBE_LIB_CUDA_H
#define GDPROBE_LIB_CUDA_H

#include <stdint.h>

#include "probe/lib.h"

typedef unsigned long long cuda_ptr; /* CUdeviceptr */

enum { /* CUdevice_attribute */
       CUDA_SM_COUNT = 16,
       CUDA_COPY_ENGINES = 40,
       CUDA_CAPABILITY_MAJOR = 75,
       CUDA_CAPABILITY_MINOR = 76,
       CUDA_GDR_WITH_VMM = 110,
       CUDA_GDR_SUPPORTED = 116,
       CUDA_GDR_FLUSH_OPTIONS = 117,
       CUDA_GDR_WRITES_ORDERING = 118,
       CUDA_STREAM_MEMOPS = 122, /* CAN_USE_64_BIT_STREAM_MEM_OPS */
       CUDA_DMA_BUF_SUPPORTED = 124,
       CUDA_FABRIC_HANDLE = 128,
       CUDA_MULTICAST = 132,
};
enum { /* CUdevice_P2PAttribute */
       CUDA_P2P_RANK = 1,
       CUDA_P2P_ACCESS = 2,
       CUDA_P2P_ATOMICS = 3,
};
enum {
    CUDA_STREAM_NON_BLOCKING = 1,
    CUDA_EVENT_DISABLE_TIMING = 2,
    CUDA_HOST_PORTABLE = 1,  /* CU_MEMHOSTALLOC_PORTABLE */
    CUDA_HOST_DEVICEMAP = 2, /* CU_MEMHOSTALLOC_DEVICEMAP */
    CUDA_WAIT_VALUE_GEQ = 0, /* CU_STREAM_WAIT_VALUE_GEQ */
    CUDA_DMA_BUF_FD = 1,     /* CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD */
    CUDA_POINTER_SYNC_MEMOPS = 6,
    CUDA_PEER_ACCESS_ALREADY = 704,
};

/* NEEDED(name, arguments) and OPTIONAL(name, arguments). */
#define CUDA_FUNCTIONS(NEEDED, OPTIONAL)                                                           \
    NEEDED(cuInit, (unsigned))                                                                     \
    NEEDED(cuDeviceGetCount, (int *))                                                              \
    NEEDED(cuDeviceGet, (int *, int))                                                              \
    NEEDED(cuDeviceGetAttribute, (int *, int, int))                                                \
    OPTIONAL(cuDriverGetVersion, (int *))                                                          \
    OPTIONAL(cuGetErrorString, (int, const char **))                                               \
    OPTIONAL(cuDeviceGetName, (char *, int, int))                                                  \
    OPTIONAL(cuDeviceTotalMem_v2, (size_t *, int))                                                 \
    OPTIONAL(cuDeviceGetPCIBusId, (char *, int, int))                                              \
    OPTIONAL(cuDeviceCanAccessPeer, (int *, int, int))                                             \
    OPTIONAL(cuDeviceGetP2PAttribute, (int *, int, int, int))                                      \
    OPTIONAL(cuDevicePrimaryCtxRetain, (void **, int))                                             \
    OPTIONAL(cuDevicePrimaryCtxRelease_v2, (int))                                                  \
    OPTIONAL(cuCtxSetCurrent, (void *))                                                            \
    OPTIONAL(cuCtxSynchronize, (void))                                                             \
    OPTIONAL(cuCtxEnablePeerAccess, (void *, unsigned))                                            \
    OPTIONAL(cuMemAlloc_v2, (cuda_ptr *, size_t))                                                  \
    OPTIONAL(cuMemFree_v2, (cuda_ptr))                                                             \
    OPTIONAL(cuMemHostAlloc, (void **, size_t, unsigned))                                          \
    OPTIONAL(cuMemFreeHost, (void *))                                                              \
    OPTIONAL(cuMemHostGetDevicePointer_v2, (cuda_ptr *, void *, unsigned))                         \
    OPTIONAL(cuMemsetD8_v2, (cuda_ptr, unsigned char, size_t))                                     \
    OPTIONAL(cuMemcpyHtoD_v2, (cuda_ptr, const void *, size_t))                                    \
    OPTIONAL(cuMemcpyDtoH_v2, (void *, cuda_ptr, size_t))                                          \
    OPTIONAL(cuMemcpyHtoDAsync_v2, (cuda_ptr, const void *, size_t, void *))                       \
    OPTIONAL(cuMemcpyDtoHAsync_v2, (void *, cuda_ptr, size_t, void *))                             \
    OPTIONAL(cuMemcpyDtoDAsync_v2, (cuda_ptr, cuda_ptr, size_t, void *))                           \
    OPTIONAL(cuMemcpyPeerAsync, (cuda_ptr, void *, cuda_ptr, void *, size_t, void *))              \
    OPTIONAL(cuStreamCreate, (void **, unsigned))                                                  \
    OPTIONAL(cuStreamSynchronize, (void *))                                                        \
    OPTIONAL(cuStreamDestroy_v2, (void *))                                                         \
    OPTIONAL(cuStreamWaitEvent, (void *, void *, unsigned))                                        \
    OPTIONAL(cuStreamWriteValue32_v2, (void *, cuda_ptr, uint32_t, unsigned))                      \
    OPTIONAL(cuStreamWaitValue32_v2, (void *, cuda_ptr, uint32_t, unsigned))                       \
    OPTIONAL(cuEventCreate, (void **, unsigned))                                                   \
    OPTIONAL(cuEventRecord, (void *, void *))                                                      \
    OPTIONAL(cuEventSynchronize, (void *))                                                         \
    OPTIONAL(cuEventDestroy_v2, (void *))                                                          \
    OPTIONAL(cuModuleLoadData, (void **, const void *))                                            \
    OPTIONAL(cuModuleUnload, (void *))                                                             \
    OPTIONAL(cuModuleGetFunction, (void **, void *, const char *))                                 \
    OPTIONAL(cuLaunchKernel, (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,  \
                              unsigned, void *, void **, void **))                                 \
    OPTIONAL(cuMemGetHandleForAddressRange, (void *, cuda_ptr, size_t, int, unsigned long long))   \
    OPTIONAL(cuPointerSetAttribute, (const void *, int, cuda_ptr))

struct cuda {
    void *handle;
#define CUDA_MEMBER(name, arguments) int(*name) arguments;
    CUDA_FUNCTIONS(CUDA_MEMBER, CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Load and initialize. May hang when the driver is ill: call it in a child (child.h). The library
 * stays loaded: the driver does not like to be unloaded. */
bool cuda_open(struct cuda *cuda, struct why *ret_why);
/* True when every optional function is there too, as measuring needs; else false with its name. */
bool cuda_complete(const struct cuda *cuda, struct why *ret_why);
const char *cuda_error(const struct cuda *cuda, int code);

#endif
