/* fake_nvml.c: a libnvidia-ml.so.1 without a GPU: counters from fake.h, and a clock of its own that
 * moves 10 ms with every round of readings, so that what it says does not depend on the machine. */
#include "probe/lib_nvml.h"
#include "tests/probe/fake.h"

/* The device handle is its number plus one. */
static unsigned number(nvml_device device)
{
    return (unsigned)(uintptr_t)device - 1;
}

#define FAKE(name, ...)                                                                            \
    int name(__VA_ARGS__);                                                                         \
    int name(__VA_ARGS__)

FAKE(nvmlInit_v2, void)
{
    return fake_fail("nvmlInit_v2");
}

FAKE(nvmlShutdown, void)
{
    return 0;
}

const char *nvmlErrorString(int code);
const char *nvmlErrorString(int code)
{
    return code == FAKE_ERROR ? "Unknown Error" : code == 3 ? "Not Supported" : "Success";
}

FAKE(nvmlDeviceGetCount_v2, unsigned *count)
{
    *count = fake_gpus();
    return 0;
}

FAKE(nvmlDeviceGetHandleByIndex_v2, unsigned index, nvml_device *device)
{
    uintptr_t handle = index + 1;
    memcpy(device, &handle, sizeof handle);
    return 0;
}

FAKE(nvmlSystemGetDriverVersion, char *text, unsigned size)
{
    snprintf(text, size, "999.1");
    return 0;
}

FAKE(nvmlSystemGetCudaDriverVersion_v2, int *version)
{
    *version = 13000;
    return 0;
}

FAKE(nvmlDeviceGetName, nvml_device device, char *name, unsigned size)
{
    (void)device;
    snprintf(name, size, "Fake GPU");
    return 0;
}

FAKE(nvmlDeviceGetPciInfo_v3, nvml_device device, struct nvml_pci *pci)
{
    pci->bus = 16 * (number(device) + 1);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return 0;
}

FAKE(nvmlDeviceGetMemoryInfo, nvml_device device, struct nvml_memory *memory)
{
    (void)device;
    *memory = (struct nvml_memory){.total = 150754820096};
    return fake_fail("nvmlDeviceGetMemoryInfo");
}

FAKE(nvmlDeviceGetBAR1MemoryInfo, nvml_device device, struct nvml_bar1 *bar1)
{
    (void)device;
    *bar1 = (struct nvml_bar1){.total = 274877906944, .used = 1048576};
    return 0;
}

FAKE(nvmlDeviceGetCudaComputeCapability, nvml_device device, int *major, int *minor)
{
    (void)device;
    *major = 9;
    *minor = 0;
    return 0;
}

FAKE(nvmlDeviceGetNvLinkRemoteDeviceType, nvml_device device, unsigned link, int *type)
{
    (void)device;
    (void)link;
    *type = NVML_REMOTE_SWITCH;
    return 0;
}

FAKE(nvmlDeviceGetP2PStatus, nvml_device device, nvml_device other, int caps, int *status)
{
    (void)device;
    (void)other;
    *status = caps == NVML_P2P_WRITE ? 1 : 0; /* reads are fine, writes are not */
    return fake_fail("nvmlDeviceGetP2PStatus");
}

FAKE(nvmlDeviceGetMaxPcieLinkGeneration, nvml_device device, unsigned *gen)
{
    (void)device;
    *gen = 5;
    return 0;
}

FAKE(nvmlDeviceGetMaxPcieLinkWidth, nvml_device device, unsigned *width)
{
    (void)device;
    *width = 16;
    return 0;
}

FAKE(nvmlDeviceGetNvLinkState, nvml_device device, unsigned link, unsigned *up)
{
    (void)device;
    *up = link < 18;
    return 0;
}

FAKE(nvmlDeviceGetPcieReplayCounter, nvml_device device, unsigned *replays)
{
    (void)device;
    *replays = 7;
    return fake_fail("nvmlDeviceGetPcieReplayCounter");
}

FAKE(nvmlDeviceGetFieldValues, nvml_device device, int count, struct nvml_field *fields)
{
    struct fake_state *state = fake_state();
    unsigned gpu = number(device);
    int error = fake_fail("nvmlDeviceGetFieldValues");
    if (error)
        return error;
    if (gpu == 0) {
        fake_add(&state->clock_us, 10000);
        fake_add(&state->reads, 1);
    }
    for (int i = 0; i < count; i++) {
        struct nvml_field *field = &fields[i];
        field->timestamp_us = 1000000000 + (int64_t)fake_get(&state->clock_us);
        field->status = 0;
        switch (field->id) {
        case NVML_PCIE_TX_BYTES:
        case NVML_PCIE_RX_BYTES:
            field->value_type = NVML_U32;
            field->value.u32 = (uint32_t)fake_get(
                field->id == NVML_PCIE_TX_BYTES ? &state->pcie_tx[gpu] : &state->pcie_rx[gpu]);
            break;
        case NVML_NVLINK_DATA_TX_KIB:
        case NVML_NVLINK_DATA_RX_KIB:
            field->value_type = NVML_U64;
            field->value.u64 =
                fake_get(field->id == NVML_NVLINK_DATA_TX_KIB ? &state->nvlink_tx[gpu]
                                                              : &state->nvlink_rx[gpu]) /
                1024;
            break;
        default:
            field->status = 3;
        }
    }
    return 0;
}
