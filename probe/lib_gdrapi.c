/* lib_gdrapi.c: see lib_gdrapi.h. */
#include <string.h>

#include "probe/lib_gdrapi.h"

#define NEEDED(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct gdrapi, name), true                                                 \
    }
static const struct lib_symbol symbols[] = {
    NEEDED(gdr_open),
    NEEDED(gdr_close),
    NEEDED(gdr_pin_buffer),
    NEEDED(gdr_map),
    NEEDED(gdr_unmap),
    NEEDED(gdr_unpin_buffer),
    NEEDED(gdr_copy_to_mapping),
    NEEDED(gdr_copy_from_mapping),
};

bool gdrapi_open(struct gdrapi *gdrapi, struct why *ret_why)
{
    static const char *const sonames[] = {"libgdrapi.so.2", "libgdrapi.so", NULL};
    memset(gdrapi, 0, sizeof *gdrapi);
    return lib_open(sonames, symbols, sizeof symbols / sizeof symbols[0], gdrapi, &gdrapi->library,
                    ret_why);
}
