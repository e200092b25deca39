/* lib_nvml.h: libnvidia-ml.so.1, the library behind nvidia-smi. Declarations as in NVML's ABI;
 * returns are nvmlReturn_t (0: success, 3: not supported). */
#ifndef GDPROBE_LIB_NVML_H
#define GDPROBE_LIB_NVML_H

#include <stdint.h>

#include "probe/lib.h"

typedef void *nvml_device;

/* nvmlFieldValue_t, 40 bytes. */
struct nvml_field {
    uint32_t id;
    uint32_t scope; /* NVLink: the link, or NVML_ALL_LINKS */
    int64_t timestamp_us;
    int64_t latency_us;
    uint32_t value_type; /* enum nvml_value_type */
    uint32_t status;
    union {
        double real;
        uint32_t u32;
        uint64_t u64;
        int64_t s64;
        int32_t s32;
    } value;
};
enum nvml_value_type { NVML_DOUBLE, NVML_U32, NVML_ULONG, NVML_U64, NVML_S64, NVML_S32 };
enum { NVML_ALL_LINKS = -1, NVML_LINKS_MAX = 36 };
/* nvmlIntNvLinkDeviceType_t; nvmlGpuP2PCapsIndex_t */
enum { NVML_REMOTE_GPU = 0, NVML_REMOTE_NPU = 1, NVML_REMOTE_SWITCH = 2 };
enum { NVML_P2P_READ = 0, NVML_P2P_WRITE = 1 };

/* nvmlFieldValue_t::fieldId */
enum {
    NVML_NVLINK_DATA_TX_KIB = 138,
    NVML_NVLINK_DATA_RX_KIB = 139,
    NVML_PCIE_TX_BYTES = 197, /* TX: out of the GPU. 32 bits of it on the GPUs seen: it wraps */
    NVML_PCIE_RX_BYTES = 198,
};

/* nvmlPciInfo_t (v3). */
struct nvml_pci {
    char bus_id_legacy[16];
    uint32_t domain, bus, device;
    uint32_t device_id, subsystem_id;
    char bus_id[32];
};

struct nvml_memory { /* nvmlMemory_t */
    uint64_t total, free, used;
};
struct nvml_bar1 { /* nvmlBAR1Memory_t */
    uint64_t total, free, used;
};

/* NEEDED(name, arguments) and OPTIONAL(name, arguments). */
#define NVML_FUNCTIONS(NEEDED, OPTIONAL)                                                           \
    NEEDED(nvmlInit_v2, (void))                                                                    \
    NEEDED(nvmlShutdown, (void))                                                                   \
    NEEDED(nvmlDeviceGetCount_v2, (unsigned *))                                                    \
    NEEDED(nvmlDeviceGetHandleByIndex_v2, (unsigned, nvml_device *))                               \
    OPTIONAL(nvmlSystemGetDriverVersion, (char *, unsigned))                                       \
    OPTIONAL(nvmlSystemGetCudaDriverVersion_v2, (int *))                                           \
    OPTIONAL(nvmlDeviceGetName, (nvml_device, char *, unsigned))                                   \
    OPTIONAL(nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *))                            \
    OPTIONAL(nvmlDeviceGetFieldValues, (nvml_device, int, struct nvml_field *))                    \
    OPTIONAL(nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory *))                         \
    OPTIONAL(nvmlDeviceGetBAR1MemoryInfo, (nvml_device, struct nvml_bar1 *))                       \
    OPTIONAL(nvmlDeviceGetPcieReplayCounter, (nvml_device, unsigned *))                            \
    OPTIONAL(nvmlDeviceGetPcieThroughput, (nvml_device, int, unsigned *))                          \
    OPTIONAL(nvmlDeviceGetCurrPcieLinkGeneration, (nvml_device, unsigned *))                       \
    OPTIONAL(nvmlDeviceGetCurrPcieLinkWidth, (nvml_device, unsigned *))                            \
    OPTIONAL(nvmlDeviceGetMaxPcieLinkGeneration, (nvml_device, unsigned *))                        \
    OPTIONAL(nvmlDeviceGetMaxPcieLinkWidth, (nvml_device, unsigned *))                             \
    OPTIONAL(nvmlDeviceGetNvLinkState, (nvml_device, unsigned, unsigned *))                        \
    OPTIONAL(nvmlDeviceGetNvLinkRemotePciInfo_v2, (nvml_device, unsigned, struct nvml_pci *))      \
    OPTIONAL(nvmlDeviceGetNvLinkRemoteDeviceType, (nvml_device, unsigned, int *))                  \
    OPTIONAL(nvmlDeviceGetCudaComputeCapability, (nvml_device, int *, int *))                      \
    OPTIONAL(nvmlDeviceGetTopologyCommonAncestor, (nvml_device, nvml_device, int *))               \
    OPTIONAL(nvmlDeviceGetP2PStatus, (nvml_device, nvml_device, int, int *))

struct nvml {
    void *handle;
    const char *(*nvmlErrorString)(int);
#define NVML_MEMBER(name, arguments) int(*name) arguments;
    NVML_FUNCTIONS(NVML_MEMBER, NVML_MEMBER)
#undef NVML_MEMBER
};

/* Load and initialize. May hang when the driver is ill: call it in a child (child.h). */
bool nvml_open(struct nvml *nvml, struct why *ret_why);
void nvml_close(struct nvml *nvml);
/* The library's words for a return code. */
const char *nvml_error(const struct nvml *nvml, int code);

#endif
