/* storage.h: reads from NVMe into GPU memory: direct, through the host, or through another GPU.
 *
 *   read      : R = ceil((o + n)/A)*A - floor(o/A)*A       bytes the drive really reads
 *   direct    : t = t_submit + t_dev + R/min(B_dev, B_path)
 *   compat    : t = t_submit + t_dev + pipeline over slabs of ( R/min(B_dev, B_mem);
 *                                                              t_copy + n/B_h2d )
 *   bounce    : t = direct + b;   b = t_bounce + n/B_peer, from the nearer GPU to the asked one
 *   IOPS      : direct min(D/t, I_dev, min(B_dev, B_path)/R)
 *               bounce min(D/t, I_dev, 1/(R/min(B_dev, B_path) + b))
 *   latency under load: D/IOPS (Little's law);   depth needed: IOPS * t
 *   mean read : R = n + A - g for offsets spread evenly over the multiples of g (g divides A, n)
 *
 * o, n = offset and length asked for, bytes; A = 4 KiB; t_dev = latency of the drive, s; B =
 * rates, bytes/s; D = requests in flight; I_dev = most requests/s of the drives, for random reads
 * only. A bounce is one server: a request occupies it for both of its legs. That is our reading of
 * the numbers below (assumed): were the legs to overlap, throughput would not fall.
 *
 * Sources: form of the models and 4 KiB: NVIDIA GPUDirect Storage guides (alignment; slabs of 4,
 * 1024 and 16384 KiB in compatibility mode). storage_dgx2: NVIDIA GDS benchmarking guide, DGX-2, 2
 * NVMe: near GPU 6.52 GiB/s at 1.2 ms, far GPU 3.89 GiB/s at 2.0 ms; 4 KiB random 134 us, 485 k and
 * 850 k IOPS, far 28 k at 2.3 ms. Of its fields device_Bps, device_latency_s and device_iops are
 * those numbers; peer_Bps = 12 GB/s is PCIe Gen3 x16 (assumed); bounce_s = 35.7 us is fitted
 * to 28 k IOPS and then predicts the far rate of 1 MiB requests, and with it their latency, within
 * 9 %. memory_Bps, h2d_Bps and copy_s are assumed. Not modelled: readahead, page cache, writes,
 * single-thread limits of either library (a single submitter was seen at 12.6 GiB/s direct
 * against 21.6 by POSIX: gds-bench. farmgpu.net), so compat may win in practice where direct wins
 * here.
 */
#ifndef GDSIM_MODELS_STORAGE_H
#define GDSIM_MODELS_STORAGE_H

struct storage {
    double submit_s, device_latency_s;
    double device_Bps, device_iops;
    double path_Bps;            /* PCIe from the drives to the GPU they reach directly */
    double memory_Bps, h2d_Bps; /* compat: into host memory, and from there */
    double copy_s;              /* compat: fixed time of a slab's copy */
    double slab_B;              /* compat: 0 takes storage_slab_B() */
    double peer_Bps, bounce_s;  /* bounce: nearer GPU to the GPU asked for */
    double align_B;
};

extern const struct storage storage_dgx2;

/* Bytes read for a request. Offset 100, length 4096, alignment 4096: 8192. */
double storage_read_B(double offset_B, double length_B, double align_B);

/* Mean of the same over all offsets that are multiples of granule_B. */
double storage_mean_read_B(double length_B, double granule_B, double align_B);

/* The slab that compat mode takes for a length: 4 KiB, 1 MiB or 16 MiB. */
double storage_slab_B(double length_B);

/* Time of one request, nothing else running. */
double storage_direct_s(const struct storage *storage, double offset_B, double length_B);
double storage_compat_s(const struct storage *storage, double offset_B, double length_B);
double storage_bounce_s(const struct storage *storage, double offset_B, double length_B);

/* Little's law: requests/s of `depth` requests in flight that take latency_s; its two inverses. */
double storage_little_iops(double depth, double latency_s);
double storage_depth_needed(double iops, double latency_s);
double storage_loaded_latency_s(double depth, double iops);

/* Payload bytes/s with `depth` requests of length_B in flight. Sequential: aligned offsets, no
 * bound from random IOPS. Random: offsets are multiples of granule_B. */
double storage_sequential_Bps(const struct storage *storage, double depth, double length_B);
double storage_random_Bps(const struct storage *storage, double depth, double length_B,
                          double granule_B);

/* The same (random, aligned) into a GPU that is reached through a nearer one. */
double storage_bounce_Bps(const struct storage *storage, double depth, double length_B);

#endif
