/* bench_gdrcopy.c: the CPU writes and reads a GPU's memory through BAR1 (GDRCopy). Writes are
 * combined and posted, reads wait for each answer: small sizes are what it is for. */
#include "probe/bench.h"
#include "probe/lib_gdrapi.h"

struct window {
    struct gdrapi gdrapi;
    struct gdrapi_handle handle;
    char *mapping, *host;
};

static bool write_window(struct bench *bench, void *context, size_t size)
{
    struct window *window = context;
    return bench_check(
        bench,
        -window->gdrapi.gdr_copy_to_mapping(window->handle, window->mapping, window->host, size),
        "gdr_copy_to_mapping");
}

static bool read_window(struct bench *bench, void *context, size_t size)
{
    struct window *window = context;
    return bench_check(
        bench,
        -window->gdrapi.gdr_copy_from_mapping(window->handle, window->host, window->mapping, size),
        "gdr_copy_from_mapping");
}

/* GPU pages are of 64 KiB; cuMemAlloc gives whole ones of 2 MiB, so no offset is left over. */
static bool map_window(struct window *window, void *gdr, cuda_ptr device, size_t size,
                       struct why *ret_why)
{
    void *mapping = NULL;
    int code =
        window->gdrapi.gdr_pin_buffer(gdr, (unsigned long)device, size, 0, 0, &window->handle);
    if (code != 0) {
        why_set(ret_why, "gdr_pin_buffer: error %d", code);
        return false;
    }
    code = window->gdrapi.gdr_map(gdr, window->handle, &mapping, size);
    if (code != 0)
        why_set(ret_why, "gdr_map: error %d", code);
    window->mapping = mapping;
    return code == 0;
}

void bench_gdrcopy(struct bench *bench)
{
    enum { WRITE_MOST = 4 << 20, READ_MOST = 64 << 10 };
    static struct window window;
    char there[24], back[24];
    struct why why = {""};
    if (!bench_open_gpus(bench, "gdrcopy_write", false))
        return;
    struct bench_gpu *gpu = &bench->gpus[bench->first];
    snprintf(there, sizeof there, "host>%s", gpu->label);
    snprintf(back, sizeof back, "%s>host", gpu->label);
    if (!gdrapi_open(&window.gdrapi, &why)) {
        bench_missing(bench, "gdrcopy_write", there, "no GDRCopy: %s", why.text);
        return;
    }
    void *gdr = window.gdrapi.gdr_open();
    if (!gdr) {
        bench_missing(bench, "gdrcopy_write", there, "gdr_open failed: no gdrdrv module");
        return;
    }
    if (bench->largest_B > WRITE_MOST)
        bench->largest_B = WRITE_MOST;
    cuda_ptr device = bench_device_memory(bench, gpu, WRITE_MOST);
    window.host = bench_host_memory(bench, WRITE_MOST);
    if (bench_failed(bench, "gdrcopy_write", there))
        return;
    unsigned on = 1;
    BENCH_CALL(bench, cuPointerSetAttribute, &on, CUDA_POINTER_SYNC_MEMOPS, device);
    if (map_window(&window, gdr, device, WRITE_MOST, &why)) {
        bench_sweep(bench, "gdrcopy_write", there, 0, 1, write_window, &window);
        if (bench->largest_B > READ_MOST)
            bench->largest_B = READ_MOST;
        bench_sweep(bench, "gdrcopy_read", back, 0, 1, read_window, &window);
        window.gdrapi.gdr_unmap(gdr, window.handle, window.mapping, WRITE_MOST);
        window.gdrapi.gdr_unpin_buffer(gdr, window.handle);
    } else {
        bench_missing(bench, "gdrcopy_write", there, "%s", why.text);
    }
    window.gdrapi.gdr_close(gdr);
}
