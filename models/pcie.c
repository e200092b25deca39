/* pcie.c: PCIe link rates. Equations and source in pcie.h. */
#include "models/pcie.h"

#include <math.h>

static int width_row(int width)
{
    return width >= 32 ? 5 : width >= 16 ? 4 : width >= 8 ? 3 : width >= 4 ? 2 : width >= 2 ? 1 : 0;
}

static int mps_column(int mps_B)
{
    int column = 0;
    for (int mps = 128; mps < mps_B && column < 5; mps *= 2)
        column++;
    return column;
}

/* Bytes between two ACK (and between two flow-control) DLLPs; rows x1 x2 x4 x8 x16 x32, columns
 * MPS 128..4096. From pcie-bench/pcie-model, generations 3 to 5; 6 and 7 take the same values.
 * Generations 1 and 2 differ and are known for x16 only, which is used for every width. */
static double dllp_gap_B(int gen, int width, int mps_B)
{
    static const double gen3[6][6] = {
        {333, 512, 655, 1167, 2191, 4239}, {224, 313, 385, 641, 1153, 2177},
        {169, 214, 250, 378, 634, 1146},   {163, 203, 182, 246, 374, 630},
        {144, 168, 182, 246, 374, 630},    {129, 141, 148, 180, 244, 372},
    };
    static const double gen1[6] = {48, 72, 86, 150, 278, 534};
    static const double gen2[6] = {99, 123, 137, 201, 329, 585};
    int column = mps_column(mps_B);
    return gen == 1 ? gen1[column] : gen == 2 ? gen2[column] : gen3[width_row(width)][column];
}

double pcie_raw_Bps(int gen, int width)
{
    static const double gigatransfers[] = {0, 2.5, 5, 8, 16, 32, 64, 128};
    if (gen < 1 || gen > 7)
        return 0;
    double encoding = gen <= 2 ? 8.0 / 10.0 : gen <= 5 ? 128.0 / 130.0 : 242.0 / 256.0;
    return gigatransfers[gen] * 1e9 * width * encoding / 8.0;
}

double pcie_tlp_Bps(int gen, int width, int mps_B)
{
    double gap = dllp_gap_B(gen, width, mps_B);
    return pcie_raw_Bps(gen, width) * (1.0 - 8.0 / gap - 8.0 / gap - 4.0 / 1538.0);
}

double pcie_write_Bps(int gen, int width, int mps_B, double n_B)
{
    double wire = ceil(n_B / mps_B) * PCIE_REQUEST_B + n_B;
    return pcie_tlp_Bps(gen, width, mps_B) * n_B / wire;
}

double pcie_read_Bps(int gen, int width, int mps_B, int mrrs_B, double n_B)
{
    double up = ceil(n_B / mrrs_B) * PCIE_REQUEST_B;
    double down = ceil(n_B / mps_B) * PCIE_COMPLETION_B + n_B;
    return pcie_tlp_Bps(gen, width, mps_B) * n_B / fmax(up, down);
}
