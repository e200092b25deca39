/* lib_gdrapi.h: libgdrapi.so.2, GDRCopy: the CPU reads and writes a GPU's memory through BAR1.
 * Declarations as in GDRCopy 2's ABI; returns are 0 or an errno. */
#ifndef GDPROBE_LIB_GDRAPI_H
#define GDPROBE_LIB_GDRAPI_H

#include <stdint.h>

#include "probe/lib.h"

struct gdrapi_handle { /* gdr_mh_t, passed by value */
    unsigned long h;
};

struct gdrapi {
    void *library;
    void *(*gdr_open)(void);
    int (*gdr_close)(void *gdr);
    int (*gdr_pin_buffer)(void *gdr, unsigned long address, size_t size, uint64_t token,
                          uint32_t space, struct gdrapi_handle *handle);
    int (*gdr_unpin_buffer)(void *gdr, struct gdrapi_handle handle);
    int (*gdr_map)(void *gdr, struct gdrapi_handle handle, void **mapping, size_t size);
    int (*gdr_unmap)(void *gdr, struct gdrapi_handle handle, void *mapping, size_t size);
    int (*gdr_copy_to_mapping)(struct gdrapi_handle handle, void *mapping, const void *host,
                               size_t size);
    int (*gdr_copy_from_mapping)(struct gdrapi_handle handle, void *host, const void *mapping,
                                 size_t size);
};

bool gdrapi_open(struct gdrapi *gdrapi, struct why *ret_why);

#endif
