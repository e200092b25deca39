/* fake_cufile.c: a libcufile.so.0 in its compatible mode: it reads the file. */
#include "probe/lib_cufile.h"
#include "tests/probe/fake.h"

static const struct cufile_error fine = {0, 0};

struct cufile_error cuFileDriverOpen(void);
struct cufile_error cuFileDriverOpen(void)
{
    return (struct cufile_error){fake_fail("cuFileDriverOpen"), 0};
}

struct cufile_error cuFileDriverClose(void);
struct cufile_error cuFileDriverClose(void)
{
    return fine;
}

struct cufile_error cuFileHandleRegister(void **handle, struct cufile_descriptor *descriptor);
struct cufile_error cuFileHandleRegister(void **handle, struct cufile_descriptor *descriptor)
{
    *handle = (void *)(uintptr_t)(descriptor->handle.fd + 1);
    return fine;
}

void cuFileHandleDeregister(void *handle);
void cuFileHandleDeregister(void *handle)
{
    (void)handle;
}

struct cufile_error cuFileBufRegister(const void *device, size_t length, int flags);
struct cufile_error cuFileBufRegister(const void *device, size_t length, int flags)
{
    (void)device, (void)length, (void)flags;
    return fine;
}

struct cufile_error cuFileBufDeregister(const void *device);
struct cufile_error cuFileBufDeregister(const void *device)
{
    (void)device;
    return fine;
}

ssize_t cuFileRead(void *handle, void *device, size_t size, off_t file_offset, off_t device_offset);
ssize_t cuFileRead(void *handle, void *device, size_t size, off_t file_offset, off_t device_offset)
{
    char *to = (char *)device + device_offset;
    uint64_t packets = (size + 255) / 256;
    fake_add(&fake_state()->pcie_tx[0], 24 * packets);
    fake_add(&fake_state()->pcie_rx[0], size + 20 * packets);
    return pread((int)(uintptr_t)handle - 1, to, size, file_offset);
}
