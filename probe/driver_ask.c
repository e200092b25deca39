/* driver_ask.c: see driver_ask.h. Each library is asked in a child of its own, so that one that
 * hangs does not silence the next. */
#include "probe/driver_ask.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/child.h"
#include "probe/driver.h"
#include "probe/lib_cuda.h"
#include "probe/lib_nvml.h"

struct line {
    char text[256];
};

static void say(const struct child *child, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(const struct child *child, const char *format, ...)
{
    struct line line = {""};
    va_list args;
    va_start(args, format);
    vsnprintf(line.text, sizeof line.text, format, args);
    va_end(args);
    child_send(child, &line);
}

/* ---- NVML ------------------------------------------------------------------------------------ */

/* Whither a link leads. A bus id that no device has stands for a switch that is hidden, as in a
 * virtual machine; newer drivers tell the kind. */
static void ask_link(const struct child *child, const struct nvml *nvml, nvml_device device,
                     unsigned gpu, unsigned link)
{
    struct nvml_pci remote = {.bus_id = ""};
    int kind = -1;
    if (nvml->nvmlDeviceGetNvLinkRemoteDeviceType &&
        nvml->nvmlDeviceGetNvLinkRemoteDeviceType(device, link, &kind) != 0)
        kind = -1;
    if (kind == NVML_REMOTE_SWITCH) {
        say(child, "nvlink %u nvswitch", gpu);
        return;
    }
    if (nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2 &&
        nvml->nvmlDeviceGetNvLinkRemotePciInfo_v2(device, link, &remote) == 0 &&
        (kind == NVML_REMOTE_GPU || kind == -1))
        say(child, "nvlink %u %.31s", gpu, remote.bus_id);
    else
        say(child, "nvlink %u other", gpu);
}

static bool ask_links(const struct child *child, const struct nvml *nvml, nvml_device device,
                      unsigned gpu)
{
    enum { NOT_SUPPORTED = 3, INVALID_ARGUMENT = 2 };
    if (!nvml->nvmlDeviceGetNvLinkState) {
        say(child, "why nvlink this NVML has no nvmlDeviceGetNvLinkState");
        return false;
    }
    for (unsigned link = 0; link < NVML_LINKS_MAX; link++) {
        unsigned up = 0;
        int code = nvml->nvmlDeviceGetNvLinkState(device, link, &up);
        if (code == INVALID_ARGUMENT || code == NOT_SUPPORTED)
            break; /* no more links, or none at all */
        if (code != 0) {
            say(child, "why nvlink NVML on link %u of GPU %u: %s", link, gpu,
                nvml_error(nvml, code));
            return false;
        }
        if (up)
            ask_link(child, nvml, device, gpu, link);
    }
    return true;
}

static bool ask_gpu(const struct child *child, const struct nvml *nvml, nvml_device device,
                    unsigned gpu)
{
    char name[96] = "";
    struct nvml_pci pci = {.bus_id = ""};
    struct nvml_memory memory;
    struct nvml_bar1 bar1;
    int major, minor;
    if (nvml->nvmlDeviceGetPciInfo_v3 && nvml->nvmlDeviceGetPciInfo_v3(device, &pci) == 0)
        say(child, "gpu %u busid %.31s", gpu, pci.bus_id);
    if (nvml->nvmlDeviceGetName && nvml->nvmlDeviceGetName(device, name, sizeof name) == 0)
        say(child, "gpu %u name %.95s", gpu, name);
    if (nvml->nvmlDeviceGetCudaComputeCapability &&
        nvml->nvmlDeviceGetCudaComputeCapability(device, &major, &minor) == 0)
        say(child, "gpu %u sm %d", gpu, major * 10 + minor);
    if (nvml->nvmlDeviceGetMemoryInfo && nvml->nvmlDeviceGetMemoryInfo(device, &memory) == 0)
        say(child, "gpu %u memory_B %llu", gpu, (unsigned long long)memory.total);
    if (nvml->nvmlDeviceGetBAR1MemoryInfo &&
        nvml->nvmlDeviceGetBAR1MemoryInfo(device, &bar1) == 0) {
        say(child, "gpu %u bar1_B %llu", gpu, (unsigned long long)bar1.total);
        say(child, "gpu %u bar1_used_B %llu", gpu, (unsigned long long)bar1.used);
    }
    return ask_links(child, nvml, device, gpu);
}

/* nvmlGpuP2PStatus_t. */
static const char *p2p_words(int status)
{
    static const char *const words[] = {"ok",
                                        "chipset not supported",
                                        "GPU not supported",
                                        "topology not supported",
                                        "disabled by regkey",
                                        "not supported"};
    return status >= 0 && status < 6 ? words[status] : "unknown";
}

static void ask_p2p(const struct child *child, const struct nvml *nvml, const nvml_device *devices,
                    unsigned count)
{
    if (!nvml->nvmlDeviceGetP2PStatus) {
        say(child, "why p2p this NVML has no nvmlDeviceGetP2PStatus");
        return;
    }
    for (unsigned i = 0; i < count; i++)
        for (unsigned j = 0; j < count; j++) {
            int read = 0, write = 0;
            if (i == j || !devices[i] || !devices[j])
                continue;
            int code = nvml->nvmlDeviceGetP2PStatus(devices[i], devices[j], NVML_P2P_READ, &read);
            if (code == 0)
                code = nvml->nvmlDeviceGetP2PStatus(devices[i], devices[j], NVML_P2P_WRITE, &write);
            if (code == 0)
                say(child, "p2p %u %u %s", i, j, p2p_words(read ? read : write));
            else
                say(child, "why p2p NVML: %s", nvml_error(nvml, code));
        }
}

static bool ask_nvml(const struct child *child, void *input)
{
    struct nvml nvml;
    struct why why = {""};
    nvml_device devices[DRIVER_GPUS] = {NULL};
    char version[32];
    unsigned count = 0;
    bool links = true;
    (void)input;
    if (!nvml_open(&nvml, &why)) {
        say(child, "why nvml %s", why.text);
        return true;
    }
    if (nvml.nvmlSystemGetDriverVersion &&
        nvml.nvmlSystemGetDriverVersion(version, sizeof version) == 0)
        say(child, "driver_version %.31s", version);
    int code = nvml.nvmlDeviceGetCount_v2(&count);
    if (code != 0)
        say(child, "why nvml nvmlDeviceGetCount: %s", nvml_error(&nvml, code));
    count = count < DRIVER_GPUS ? count : DRIVER_GPUS;
    for (unsigned i = 0; i < count; i++) {
        code = nvml.nvmlDeviceGetHandleByIndex_v2(i, &devices[i]);
        if (code != 0) {
            devices[i] = NULL;
            links = false;
            say(child, "why gpu NVML on GPU %u: %s", i, nvml_error(&nvml, code));
        } else {
            links = ask_gpu(child, &nvml, devices[i], i) && links;
        }
    }
    if (links)
        say(child, "nvlinks known");
    ask_p2p(child, &nvml, devices, count);
    nvml_close(&nvml);
    return true;
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

/* NVML counts all GPUs by bus id; CUDA counts those it may use, in an order of its own. Where NVML
 * said nothing, CUDA's number is taken, and CUDA names the GPU. -1: none. */
static int number_of(const struct child *child, const struct cuda *cuda, const struct driver *known,
                     int device, int ordinal)
{
    char text[PCI_BUSID] = "", busid[PCI_BUSID], name[96] = "";
    size_t memory_B = 0;
    if (!cuda->cuDeviceGetPCIBusId ||
        cuda->cuDeviceGetPCIBusId(text, (int)sizeof text, device) != 0 || !pci_busid(text, busid))
        return -1;
    if (known->gpu_count > 0)
        return driver_find(known, busid);
    say(child, "gpu %d busid %s", ordinal, busid);
    if (cuda->cuDeviceGetName && cuda->cuDeviceGetName(name, (int)sizeof name, device) == 0)
        say(child, "gpu %d name %.95s", ordinal, name);
    if (cuda->cuDeviceTotalMem_v2 && cuda->cuDeviceTotalMem_v2(&memory_B, device) == 0)
        say(child, "gpu %d memory_B %zu", ordinal, memory_B);
    return ordinal;
}

static void ask_attributes(const struct child *child, const struct cuda *cuda, int device, int gpu)
{
    static const struct {
        const char *key;
        int attribute;
    } rows[] = {{"gdr", CUDA_GDR_SUPPORTED},
                {"dmabuf", CUDA_DMA_BUF_SUPPORTED},
                {"multicast", CUDA_MULTICAST},
                {"stream_memops", CUDA_STREAM_MEMOPS}};
    int value;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (cuda->cuDeviceGetAttribute(&value, rows[i].attribute, device) == 0)
            say(child, "gpu %d %s %d", gpu, rows[i].key, value != 0);
}

static bool ask_cuda(const struct child *child, void *input)
{
    const struct driver *known = input;
    struct cuda cuda;
    struct why why = {""};
    int count = 0, version, devices[DRIVER_GPUS], index[DRIVER_GPUS], access;
    if (!cuda_open(&cuda, &why)) {
        say(child, "why cuda %s", why.text);
        return true;
    }
    if (cuda.cuDriverGetVersion && cuda.cuDriverGetVersion(&version) == 0)
        say(child, "cuda_version %d", version);
    int code = cuda.cuDeviceGetCount(&count);
    if (code != 0)
        say(child, "why cuda cuDeviceGetCount: %s", cuda_error(&cuda, code));
    count = count < DRIVER_GPUS ? count : DRIVER_GPUS;
    for (int i = 0; i < count; i++) {
        index[i] = -1;
        code = cuda.cuDeviceGet(&devices[i], i);
        if (code == 0)
            index[i] = number_of(child, &cuda, known, devices[i], i);
        if (index[i] >= 0)
            ask_attributes(child, &cuda, devices[i], index[i]);
        else
            say(child, "why cuda CUDA device %d is none of those that NVML names", i);
    }
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            if (i != j && index[i] >= 0 && index[j] >= 0 && cuda.cuDeviceCanAccessPeer &&
                cuda.cuDeviceCanAccessPeer(&access, devices[i], devices[j]) == 0)
                say(child, "peer %d %d %d", index[i], index[j], access != 0);
    return true;
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static bool ask_verbs(const struct child *child, void *input)
{
    static const char *const sonames[] = {"libibverbs.so.1", NULL};
    struct {
        void (*reg)(void);
    } verbs = {NULL};
    static const struct lib_symbol symbols[] = {{"ibv_reg_dmabuf_mr", 0, false}};
    void *handle;
    struct why why = {""};
    (void)input;
    if (lib_open(sonames, symbols, 1, &verbs, &handle, &why))
        say(child, "verbs_dmabuf %d", verbs.reg != NULL);
    else
        say(child, "why verbs %s", why.text);
    return true;
}

/* ---- all ------------------------------------------------------------------------------------- */

struct answer {
    char *text;
    size_t length;
};

static void take(void *context, const void *record)
{
    struct answer *answer = context;
    const struct line *line = record;
    size_t length = strnlen(line->text, sizeof line->text - 1);
    char *grown = realloc(answer->text, answer->length + length + 2);
    if (!grown)
        return;
    answer->text = grown;
    memcpy(grown + answer->length, line->text, length);
    answer->length += length;
    grown[answer->length++] = '\n';
    grown[answer->length] = '\0';
}

char *driver_ask(double timeout_s, struct why *ret_why)
{
    static const struct {
        const char *name;
        bool (*work)(const struct child *, void *);
    } questions[] = {{"NVML", ask_nvml}, {"CUDA", ask_cuda}, {"libibverbs", ask_verbs}};
    struct answer answer = {calloc(1, 1), 0};
    struct driver *known = malloc(sizeof *known);
    for (size_t i = 0; answer.text && known && i < sizeof questions / sizeof questions[0]; i++) {
        struct why why = {""};
        driver_parse(answer.text, known);
        if (!child_run(questions[i].work, known, timeout_s, sizeof(struct line), take, &answer,
                       &why) &&
            !ret_why->text[0])
            why_set(ret_why, "%s %.120s", questions[i].name, why.text);
    }
    free(known);
    return answer.text;
}
