/* storage.c: storage reads into GPU memory. Equations and source in storage.h. */
#include "models/storage.h"

#include <math.h>

#include "models/host.h"

const struct storage storage_dgx2 = {
    .submit_s = 0, /* within the latency, as it was measured from the program */
    .device_latency_s = 134e-6,
    .device_Bps = 7.0e9,
    .device_iops = 850e3,
    .path_Bps = 12e9,
    .memory_Bps = 12e9,
    .h2d_Bps = 12e9,
    .copy_s = 6.5e-6,
    .slab_B = 0,
    .peer_Bps = 12e9,
    .bounce_s = 35.7e-6,
    .align_B = 4096,
};

double storage_read_B(double offset_B, double length_B, double align_B)
{
    if (length_B <= 0)
        return 0;
    double first = floor(offset_B / align_B), end = ceil((offset_B + length_B) / align_B);
    return (end - first) * align_B;
}

double storage_mean_read_B(double length_B, double granule_B, double align_B)
{
    return length_B + align_B - granule_B;
}

double storage_slab_B(double length_B)
{
    return length_B <= 4096 ? 4096 : length_B <= 1048576 ? 1048576 : 16777216;
}

/* From the drives into the GPU next to them. */
static double near_Bps(const struct storage *storage)
{
    return fmin(storage->device_Bps, storage->path_Bps);
}

static double request_s(const struct storage *storage, double read_B)
{
    return storage->submit_s + storage->device_latency_s + read_B / near_Bps(storage);
}

static double bounce_leg_s(const struct storage *storage, double length_B)
{
    return storage->bounce_s + length_B / storage->peer_Bps;
}

double storage_direct_s(const struct storage *storage, double offset_B, double length_B)
{
    return request_s(storage, storage_read_B(offset_B, length_B, storage->align_B));
}

double storage_compat_s(const struct storage *storage, double offset_B, double length_B)
{
    double start_s = storage->submit_s + storage->device_latency_s;
    double read_B = storage_read_B(offset_B, length_B, storage->align_B);
    if (read_B == 0)
        return start_s;
    double slab_B = storage->slab_B > 0 ? storage->slab_B : storage_slab_B(length_B);
    /* Stages count in bytes asked for; the drive reads read_B for each length_B of them. */
    struct host_stage stages[2] = {
        {0, fmin(storage->device_Bps, storage->memory_Bps) * length_B / read_B},
        {storage->copy_s, storage->h2d_Bps},
    };
    return start_s + host_pipelined_s(stages, 2, length_B, slab_B);
}

double storage_bounce_s(const struct storage *storage, double offset_B, double length_B)
{
    return storage_direct_s(storage, offset_B, length_B) + bounce_leg_s(storage, length_B);
}

double storage_little_iops(double depth, double latency_s)
{
    return depth / latency_s;
}

double storage_depth_needed(double iops, double latency_s)
{
    return iops * latency_s;
}

double storage_loaded_latency_s(double depth, double iops)
{
    return depth / iops;
}

double storage_sequential_Bps(const struct storage *storage, double depth, double length_B)
{
    double read_B = storage_read_B(0, length_B, storage->align_B);
    double iops = storage_little_iops(depth, request_s(storage, read_B));
    return fmin(iops, near_Bps(storage) / read_B) * length_B;
}

double storage_random_Bps(const struct storage *storage, double depth, double length_B,
                          double granule_B)
{
    double read_B = storage_mean_read_B(length_B, granule_B, storage->align_B);
    double iops = storage_little_iops(depth, request_s(storage, read_B));
    return fmin(fmin(iops, storage->device_iops), near_Bps(storage) / read_B) * length_B;
}

double storage_bounce_Bps(const struct storage *storage, double depth, double length_B)
{
    double read_B = storage_read_B(0, length_B, storage->align_B);
    double busy_s = read_B / near_Bps(storage) + bounce_leg_s(storage, length_B);
    double iops = storage_little_iops(depth, storage_bounce_s(storage, 0, length_B));
    return fmin(fmin(iops, storage->device_iops), 1 / busy_s) * length_B;
}
