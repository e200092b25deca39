/* nvlink.c: NVLink rates. Equations and source in nvlink.h. */
#include "models/nvlink.h"

struct link_rate {
    const char *name;
    double raw_Bps, effective_Bps;
};

static const struct link_rate rates[NVLINK_GPU_COUNT] = {
    [NVLINK_P100] = {"P100", 20e9, 18e9},   [NVLINK_V100] = {"V100", 25e9, 20e9},
    [NVLINK_A100] = {"A100", 25e9, 20e9},   [NVLINK_GA10X] = {"GA10x", 14.0625e9, 12e9},
    [NVLINK_H100] = {"H100", 25e9, 20.6e9}, [NVLINK_B200] = {"B200", 50e9, 40.1e9},
};

const char *nvlink_gpu_name(enum nvlink_gpu gpu)
{
    return rates[gpu].name;
}

double nvlink_raw_Bps(enum nvlink_gpu gpu, int links)
{
    return rates[gpu].raw_Bps * links;
}

double nvlink_effective_Bps(enum nvlink_gpu gpu, int links)
{
    return rates[gpu].effective_Bps * links;
}
