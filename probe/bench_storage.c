/* bench_storage.c: a file into memory: of the host by read(2), from there to a GPU, and by cuFile.
 *
 * cuFile falls back to its compatible mode (read(2) into a bounce buffer and a copy) without saying
 * so. What it did is told by the module's own count of direct reads, which is a row of its own, and
 * by a second run that asks for the compatible mode.
 */
#define _GNU_SOURCE /* O_DIRECT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/bench.h"
#include "probe/lib_cufile.h"
#include "probe/snapshot.h"

struct storage {
    struct bench_gpu *gpu;
    int file;
    char name[SYS_PATH]; /* of the file, until it is removed */
    bool direct;         /* the file is read past the page cache */
    char *host;
    cuda_ptr device;
    struct cufile cufile;
    struct why no_cufile; /* not empty: it cannot be used */
    void *handle;
};

/* A file of its own; its name goes when cuFile, which looks at it, has seen it. False and a reason
 * when it cannot be. */
static bool make_file(struct storage *storage, const char *directory, double bytes,
                      struct why *ret_why)
{
    enum { BLOCK = 1 << 20 };
    snprintf(storage->name, sizeof storage->name, "%s/gdprobe-XXXXXX", directory ? directory : ".");
    storage->file = mkstemp(storage->name);
    char *block = calloc(1, BLOCK);
    bool good = storage->file >= 0 && block;
    for (double done = 0; good && done < bytes; done += BLOCK)
        good = write(storage->file, block, BLOCK) == BLOCK;
    good = good && fsync(storage->file) == 0;
    if (!good)
        why_set(ret_why, "%s: %s", storage->name, strerror(errno));
    free(block);
    int direct = good ? open(storage->name, O_RDONLY | O_DIRECT) : -1;
    storage->direct = direct >= 0;
    if (storage->file >= 0 && (storage->direct || !good))
        close(storage->file);
    if (storage->direct)
        storage->file = direct;
    if (!good)
        unlink(storage->name);
    return good;
}

static bool read_host(struct bench *bench, void *context, size_t size)
{
    struct storage *storage = context;
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(storage->file, storage->host + done, size - done, (off_t)done);
        if (n <= 0)
            return bench_check(bench, n < 0 ? -errno : -EIO, "pread");
        done += (size_t)n;
    }
    return true;
}

static bool read_staged(struct bench *bench, void *context, size_t size)
{
    struct storage *storage = context;
    void *stream = storage->gpu->streams[0];
    return read_host(bench, context, size) &&
           BENCH_CALL(bench, cuMemcpyHtoDAsync_v2, storage->device, storage->host, size, stream) &&
           BENCH_CALL(bench, cuStreamSynchronize, stream);
}

static bool read_cufile(struct bench *bench, void *context, size_t size)
{
    struct storage *storage = context;
    for (size_t done = 0; done < size;) {
        ssize_t n = storage->cufile.cuFileRead(storage->handle, (void *)(uintptr_t)storage->device,
                                               size - done, (off_t)done, (off_t)done);
        if (n <= 0)
            return bench_check(bench, n == -1 ? -errno : n < 0 ? (int)n : -EIO, "cuFileRead");
        done += (size_t)n;
    }
    return true;
}

/* How many reads nvidia-fs did without a bounce buffer; NAN: there is no such module. */
static double direct_reads(void)
{
    static struct snapshot snapshot; /* in a child of its own */
    static const struct perf no_perf;
    struct sys sys;
    struct why why;
    if (!sys_open(&sys, NULL, &why))
        return (double)NAN;
    snapshot_take(&sys, &no_perf, &snapshot);
    for (size_t i = 0; i < snapshot.count; i++)
        if (strcmp(snapshot.entries[i].quantity, "direct_reads") == 0)
            return snapshot.entries[i].value;
    return (double)NAN;
}

static void by_cufile(struct bench *bench, struct storage *storage, const char *experiment)
{
    char place[24];
    struct cufile *cufile = &storage->cufile;
    struct cufile_descriptor descriptor;
    snprintf(place, sizeof place, "file>%s", storage->gpu->label);
    if (storage->no_cufile.text[0]) {
        bench_missing(bench, experiment, place, "no cuFile: %s", storage->no_cufile.text);
        unlink(storage->name);
        return;
    }
    memset(&descriptor, 0, sizeof descriptor);
    descriptor.type = CUFILE_OPAQUE_FD;
    descriptor.handle.fd = storage->file;
    struct cufile_error error = cufile->cuFileHandleRegister(&storage->handle, &descriptor);
    unlink(storage->name);
    if (error.code != 0) {
        bench_missing(bench, experiment, place, "cuFileHandleRegister: code %d, %s", error.code,
                      cufile_error_text(error.code));
        return;
    }
    void *device = (void *)(uintptr_t)storage->device;
    error = cufile->cuFileBufRegister(device, (size_t)bench->largest_B, 0);
    double before = direct_reads();
    bench->note = isnan(before) ? "compatible mode: there is no nvidia-fs" : "";
    bench_sweep(bench, experiment, place, 0, 1, read_cufile, storage);
    if (!isnan(before)) {
        struct observation row = observation(experiment, place, "direct_reads", "count");
        snprintf(row.device, sizeof row.device, "nvidia-fs");
        row.value = direct_reads() - before;
        child_send(bench->child, &row);
    }
    bench->note = "";
    if (error.code == 0)
        cufile->cuFileBufDeregister(device);
    cufile->cuFileHandleDeregister(storage->handle);
    cufile_close(cufile);
}

static bool prepare(struct bench *bench, struct storage *storage, const char *experiment)
{
    struct why why = {""};
    if (!bench_open_gpus(bench, experiment, false))
        return false;
    storage->gpu = &bench->gpus[bench->first];
    storage->host = bench_host_memory(bench, bench->largest_B);
    storage->device = bench_device_memory(bench, storage->gpu, bench->largest_B);
    if (bench_failed(bench, experiment, ""))
        return false;
    /* First what may hang, so that no file is left behind by a child that is killed. */
    cufile_open(&storage->cufile, &storage->no_cufile);
    if (make_file(storage, bench->settings->path, bench->largest_B, &why))
        return true;
    bench_missing(bench, experiment, "", "%s", why.text);
    return false;
}

void bench_storage(struct bench *bench)
{
    static struct storage storage;
    char place[32];
    if (!prepare(bench, &storage, "posix_read"))
        return;
    bench->note = storage.direct ? "" : "from the page cache: no O_DIRECT on this file system";
    bench->smallest_B = 4096; /* O_DIRECT wants whole blocks */
    bench_sweep(bench, "posix_read", "file>host", 0, 1, read_host, &storage);
    snprintf(place, sizeof place, "file>host>%s", storage.gpu->label);
    bench_sweep(bench, "posix_read_copy", place, 0, 1, read_staged, &storage);
    bench->note = "";
    by_cufile(bench, &storage, "cufile_read");
    close(storage.file);
}

void bench_storage_compatible(struct bench *bench)
{
    static struct storage storage;
    if (setenv("CUFILE_FORCE_COMPAT_MODE", "true", 1) != 0 ||
        !prepare(bench, &storage, "cufile_read_compat"))
        return;
    bench->smallest_B = 4096;
    by_cufile(bench, &storage, "cufile_read_compat");
    close(storage.file);
}
