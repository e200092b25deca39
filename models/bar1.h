/* bar1.h: the CPU copies to and from GPU memory through the BAR (GDRCopy).
 *
 *   write  : t = w0 + max(0, S - h)/Bw
 *   read   : S < s : t = min(loads*l, plateau),   loads = 1 (S = 1), 2 (S < 16), ceil(S/16)
 *            S >= s: t = r0 + S/Br
 *   DMA    : t = d0 + S/Bd;  the crossover is where both take the same time
 *
 * S = bytes; w0 = floor of a write, s; h = bytes hidden in the floor; Bw, Br = rates, bytes/s;
 * l = one uncached load, s; s = size from which streaming loads of whole lines are used; r0 = their
 * start, s. d0 and Bd: the copy engine (6 .. 7 us and link rate).
 *
 * Why: stores are posted and combined into TLPs of 32 or 64 B, bound by the CPU; loads are
 * uncached, not posted, and wait for small completions. Hence the plateau, not monotone in S, of
 * reads below a few lines. A write ends when the CPU has issued it, not when the data are visible
 * in the GPU.
 *
 * Source of the defaults: README of NVIDIA/gdrcopy at fcec3ce, copylat on V100-SXM2-32GB (measured
 * by them, 50 rows); explanation NVIDIA/gdrcopy issue 221. w0 = 0.09 us, Bw = 10.1 GB/s and the
 * loads are read off the table; h = 256 B, r0 = 1.2 us and Br = 0.54 GB/s are fitted by us: largest
 * error 9 % for writes, 16 % for reads (16 MiB, where the table itself falls to 0.46 GB/s). Its
 * copybw prints 9638.5 and 530.1 "MB/s" that are MiB/s: 10.11 and 0.556 GB/s, as copylat says.
 * Other machines differ much, so that all is in a struct: a DGX-2 reads 1 B in 1.6 us (ucx issue
 * 5218), UCX assumes 6.9 GB/s and 0.4 us for writes, 0.25 GB/s and 1.4 us for reads
 * (openucx/ucx at 9466d104), and 30 GB/s, 30 ns both ways where the mapping is cached (Grace).
 */
#ifndef GDSIM_MODELS_BAR1_H
#define GDSIM_MODELS_BAR1_H

struct bar1 {
    double write_floor_s, write_hidden_B, write_Bps;
    double load_s, plateau_s;      /* one uncached load; most that a read below stream_B takes */
    double stream_B;               /* size from which reads stream */
    double read_start_s, read_Bps; /* of streaming reads */
};

extern const struct bar1 bar1_v100; /* the defaults */

double bar1_write_s(const struct bar1 *bar, double bytes);
double bar1_read_s(const struct bar1 *bar, double bytes);

/* Size up to which the CPU is faster than a DMA of dma_floor_s + bytes/dma_Bps: 0 if it never is,
 * HUGE_VAL if it always is. Steps of short reads may make several: then one above the
 * plateau if there is one. V100 against 6.5 us and 26 GB/s: writes 106 kB, reads 2.9 kB. */
double bar1_write_crossover_B(const struct bar1 *bar, double dma_floor_s, double dma_Bps);
double bar1_read_crossover_B(const struct bar1 *bar, double dma_floor_s, double dma_Bps);

#endif
