/* lib_cufile.h: libcufile.so.0, GPUDirect Storage. Declarations as in cuFile's ABI. */
#ifndef GDPROBE_LIB_CUFILE_H
#define GDPROBE_LIB_CUFILE_H

#include <sys/types.h>

#include "probe/lib.h"

struct cufile_error { /* CUfileError_t, returned by value */
    int code;         /* CUfileOpError; 0: success */
    int cuda;         /* CUresult */
};
enum { CUFILE_OPAQUE_FD = 1 };
struct cufile_descriptor { /* CUfileDescr_t */
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *operations;
};

struct cufile {
    void *library;
    struct cufile_error (*cuFileDriverOpen)(void);
    struct cufile_error (*cuFileDriverClose)(void);
    struct cufile_error (*cuFileHandleRegister)(void **handle,
                                                struct cufile_descriptor *descriptor);
    void (*cuFileHandleDeregister)(void *handle);
    struct cufile_error (*cuFileBufRegister)(const void *device, size_t length, int flags);
    struct cufile_error (*cuFileBufDeregister)(const void *device);
    ssize_t (*cuFileRead)(void *handle, void *device, size_t size, off_t file_offset,
                          off_t device_offset);
};

/* The meaning of a code, where it says what is missing on this machine. */
const char *cufile_error_text(int code);

/* Load the library and open its driver; CUDA must have a context by then. */
bool cufile_open(struct cufile *cufile, struct why *ret_why);
void cufile_close(struct cufile *cufile);

#endif
