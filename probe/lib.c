/* lib.c: see lib.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/lib.h"

static void *open_first(const char *const *sonames, struct why *ret_why)
{
    const char *directory = getenv("GDPROBE_LIB_DIR");
    for (size_t i = 0; sonames[i]; i++) {
        char path[SYS_PATH];
        if (directory && directory[0])
            snprintf(path, sizeof path, "%s/%s", directory, sonames[i]);
        else
            snprintf(path, sizeof path, "%s", sonames[i]);
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (handle)
            return handle;
        const char *error = dlerror();
        if (i == 0 || !strstr(error ? error : "", "No such file"))
            why_set(ret_why, "%s", error ? error : "cannot be loaded");
    }
    return NULL;
}

bool lib_open(const char *const *sonames, const struct lib_symbol *symbols, size_t count,
              void *table, void **ret_handle, struct why *ret_why)
{
    void *handle = open_first(sonames, ret_why);
    if (!handle)
        return false;
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(handle, symbols[i].name);
        if (!function && symbols[i].needed) {
            why_set(ret_why, "%s has no %s", sonames[0], symbols[i].name);
            dlclose(handle);
            return false;
        }
        /* POSIX: a function pointer has the bytes of the data pointer that dlsym returns. */
        memcpy((char *)table + symbols[i].offset, &function, sizeof function);
    }
    *ret_handle = handle;
    return true;
}
