/* lib_nvml.c: see lib_nvml.h. */
#include <dlfcn.h>
#include <string.h>

#include "probe/lib_nvml.h"

_Static_assert(sizeof(struct nvml_field) == 40, "nvmlFieldValue_t is 40 bytes");
_Static_assert(sizeof(struct nvml_pci) == 68, "nvmlPciInfo_t is 68 bytes");

#define NEEDED(name, arguments)   {#name, offsetof(struct nvml, name), true},
#define OPTIONAL(name, arguments) {#name, offsetof(struct nvml, name), false},
static const struct lib_symbol symbols[] = {
    {"nvmlErrorString", offsetof(struct nvml, nvmlErrorString), false},
    NVML_FUNCTIONS(NEEDED, OPTIONAL)};

const char *nvml_error(const struct nvml *nvml, int code)
{
    const char *text = nvml->nvmlErrorString ? nvml->nvmlErrorString(code) : NULL;
    return text ? text : "unknown error";
}

bool nvml_open(struct nvml *nvml, struct why *ret_why)
{
    static const char *const sonames[] = {"libnvidia-ml.so.1", NULL};
    memset(nvml, 0, sizeof *nvml);
    if (!lib_open(sonames, symbols, sizeof symbols / sizeof symbols[0], nvml, &nvml->handle,
                  ret_why))
        return false;
    int code = nvml->nvmlInit_v2();
    if (code == 0)
        return true;
    why_set(ret_why, "nvmlInit: %s", nvml_error(nvml, code));
    dlclose(nvml->handle);
    nvml->handle = NULL;
    return false;
}

void nvml_close(struct nvml *nvml)
{
    if (!nvml->handle)
        return;
    nvml->nvmlShutdown();
    dlclose(nvml->handle);
    nvml->handle = NULL;
}
