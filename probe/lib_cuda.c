/* lib_cuda.c: see lib_cuda.h. */
#include <string.h>

#include "probe/lib_cuda.h"

#define NEEDED(name, arguments)   {#name, offsetof(struct cuda, name), true},
#define OPTIONAL(name, arguments) {#name, offsetof(struct cuda, name), false},
static const struct lib_symbol symbols[] = {CUDA_FUNCTIONS(NEEDED, OPTIONAL)};
enum { SYMBOLS = sizeof symbols / sizeof symbols[0] };

const char *cuda_error(const struct cuda *cuda, int code)
{
    const char *text = NULL;
    if (cuda->cuGetErrorString)
        cuda->cuGetErrorString(code, &text);
    return text ? text : "unknown error";
}

bool cuda_open(struct cuda *cuda, struct why *ret_why)
{
    static const char *const sonames[] = {"libcuda.so.1", NULL};
    memset(cuda, 0, sizeof *cuda);
    if (!lib_open(sonames, symbols, SYMBOLS, cuda, &cuda->handle, ret_why))
        return false;
    int code = cuda->cuInit(0);
    if (code == 0)
        return true;
    why_set(ret_why, "cuInit: %s", cuda_error(cuda, code));
    return false;
}

bool cuda_complete(const struct cuda *cuda, struct why *ret_why)
{
    for (size_t i = 0; i < SYMBOLS; i++) {
        void *function;
        memcpy(&function, (const char *)cuda + symbols[i].offset, sizeof function);
        if (function)
            continue;
        why_set(ret_why, "the CUDA driver has no %s", symbols[i].name);
        return false;
    }
    return true;
}
