/* fake_gdrapi.c: a libgdrapi.so.2: mapped memory is the memory; the CPU writes packets of 64 B. */
#include "probe/lib_gdrapi.h"
#include "tests/probe/fake.h"

#define FAKE(name, ...)                                                                            \
    int name(__VA_ARGS__);                                                                         \
    int name(__VA_ARGS__)

void *gdr_open(void);
void *gdr_open(void)
{
    return fake_fail("gdr_open") ? NULL : fake_state();
}

FAKE(gdr_close, void *gdr)
{
    (void)gdr;
    return 0;
}

FAKE(gdr_pin_buffer, void *gdr, unsigned long address, size_t size, uint64_t token, uint32_t space,
     struct gdrapi_handle *handle)
{
    (void)gdr, (void)size, (void)token, (void)space;
    handle->h = address;
    return fake_fail("gdr_pin_buffer") ? 12 : 0;
}

FAKE(gdr_unpin_buffer, void *gdr, struct gdrapi_handle handle)
{
    (void)gdr, (void)handle;
    return 0;
}

FAKE(gdr_map, void *gdr, struct gdrapi_handle handle, void **mapping, size_t size)
{
    (void)gdr, (void)size;
    *mapping = (void *)handle.h;
    return 0;
}

FAKE(gdr_unmap, void *gdr, struct gdrapi_handle handle, void *mapping, size_t size)
{
    (void)gdr, (void)handle, (void)mapping, (void)size;
    return 0;
}

FAKE(gdr_copy_to_mapping, struct gdrapi_handle handle, void *mapping, const void *host, size_t size)
{
    (void)handle;
    memcpy(mapping, host, size);
    fake_add(&fake_state()->pcie_rx[0], size + 24 * ((size + 63) / 64));
    return 0;
}

FAKE(gdr_copy_from_mapping, struct gdrapi_handle handle, void *host, const void *mapping,
     size_t size)
{
    (void)handle;
    memcpy(host, mapping, size);
    fake_add(&fake_state()->pcie_tx[0], size + 20 * ((size + 63) / 64));
    fake_add(&fake_state()->pcie_rx[0], 24 * ((size + 63) / 64));
    return 0;
}
