/* nvls.c: bytes of an all-reduce in the NVSwitch. Equations and source in nvls.h. */
#include "models/nvls.h"

#include <math.h>

double nvls_ring_factor(int gpus)
{
    return 2.0 * (gpus - 1) / gpus;
}

double nvls_factor(int gpus)
{
    return 1.0 + 1.0 / gpus;
}

double nvls_busbw_Bps(double wire_Bps, int gpus)
{
    /* algbw = wire / NVLS factor; busbw = algbw * ring factor */
    return wire_Bps * 2.0 * (gpus - 1) / (gpus + 1);
}

double nvls_breakeven_gpus(double wire_Bps, double ring_busbw_Bps)
{
    double margin = 2 * wire_Bps - ring_busbw_Bps; /* busbw tends to 2W as n grows */
    return margin > 0 ? (2 * wire_Bps + ring_busbw_Bps) / margin : HUGE_VAL;
}
