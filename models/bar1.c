/* bar1.c: CPU access through the BAR. Equations and source in bar1.h. */
#include "models/bar1.h"

#include <math.h>

enum { LOAD_B = 16 }; /* the widest load that is not a streaming load */

const struct bar1 bar1_v100 = {
    .write_floor_s = 0.09e-6,
    .write_hidden_B = 256,
    .write_Bps = 10.1e9,
    .load_s = 0.86e-6,
    .plateau_s = 3.5e-6,
    .stream_B = 512,
    .read_start_s = 1.2e-6,
    .read_Bps = 0.54e9,
};

double bar1_write_s(const struct bar1 *bar, double bytes)
{
    return bar->write_floor_s + fmax(0.0, bytes - bar->write_hidden_B) / bar->write_Bps;
}

double bar1_read_s(const struct bar1 *bar, double bytes)
{
    if (bytes >= bar->stream_B)
        return bar->read_start_s + bytes / bar->read_Bps;
    /* Below 16 B a memcpy covers the length with two loads that overlap. */
    double loads = bytes <= 1 ? 1 : bytes < LOAD_B ? 2 : ceil(bytes / LOAD_B);
    return fmin(loads * bar->load_s, bar->plateau_s);
}

typedef double bar1_time(const struct bar1 *bar, double bytes);

/* Bisection keeps: the CPU is faster at low_B, the DMA at high_B. */
static double crossover_B(bar1_time *cpu_s, const struct bar1 *bar, double dma_floor_s,
                          double dma_Bps, double bend_B)
{
    double high_B = 0x1p50; /* 1 PiB: past this, faster is faster for good */
    if (cpu_s(bar, high_B) <= dma_floor_s + high_B / dma_Bps)
        return HUGE_VAL;
    /* Beyond the bend time is a straight line; start there if the CPU is still ahead. */
    double low_B = 1;
    if (cpu_s(bar, bend_B) < dma_floor_s + bend_B / dma_Bps)
        low_B = bend_B;
    else
        high_B = bend_B;
    if (cpu_s(bar, low_B) >= dma_floor_s + low_B / dma_Bps)
        return 0;
    while (high_B - low_B > 0.5) {
        double middle_B = low_B + (high_B - low_B) / 2;
        if (cpu_s(bar, middle_B) < dma_floor_s + middle_B / dma_Bps)
            low_B = middle_B;
        else
            high_B = middle_B;
    }
    return low_B;
}

double bar1_write_crossover_B(const struct bar1 *bar, double dma_floor_s, double dma_Bps)
{
    double bend_B = fmax(1.0, bar->write_hidden_B);
    return crossover_B(bar1_write_s, bar, dma_floor_s, dma_Bps, bend_B);
}

double bar1_read_crossover_B(const struct bar1 *bar, double dma_floor_s, double dma_Bps)
{
    double bend_B = fmax(1.0, bar->stream_B);
    return crossover_B(bar1_read_s, bar, dma_floor_s, dma_Bps, bend_B);
}
