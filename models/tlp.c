/* tlp.c: TLP bytes by mover. Equations and source in tlp.h. */
#include "models/tlp.h"

#include <limits.h>

#include "models/pcie.h"

struct mover {
    const char *name;
    bool reads;
    int issues_B; /* the largest access that it makes at once */
};

static const struct mover movers[TLP_MOVER_COUNT] = {
    [TLP_COPY_WRITE] = {"copy engine write", false, 256},
    [TLP_COPY_READ] = {"copy engine read", true, 256},
    [TLP_SM_STORE] = {"SM store", false, 128},
    [TLP_SM_LOAD] = {"SM load", true, 128},
    [TLP_NIC_WRITE] = {"NIC write", false, INT_MAX},
    [TLP_NIC_READ] = {"NIC read", true, INT_MAX},
    [TLP_CPU_STORE_WC] = {"CPU write-combined store", false, 64},
    [TLP_CPU_LOAD_UC] = {"CPU uncached load", true, 8},
    [TLP_NVME_WRITE] = {"NVMe write", false, INT_MAX},
    [TLP_NVME_READ] = {"NVMe read", true, INT_MAX},
};

static double smaller(int a, int b)
{
    return a < b ? a : b;
}

struct tlp_factors tlp_factors(enum tlp_mover mover, int mps_B, int mrrs_B)
{
    double payload_B = smaller(mps_B, movers[mover].issues_B);
    double request_B = smaller(mrrs_B, movers[mover].issues_B);
    if (!movers[mover].reads)
        return (struct tlp_factors){.forward = 1.0 + PCIE_REQUEST_B / payload_B, .back = 0.0};
    /* A request smaller than MPS is answered by one completion of its own size. */
    double completion_B = payload_B < request_B ? payload_B : request_B;
    return (struct tlp_factors){.forward = 1.0 + PCIE_COMPLETION_B / completion_B,
                                .back = PCIE_REQUEST_B / request_B};
}

bool tlp_mover_reads(enum tlp_mover mover)
{
    return movers[mover].reads;
}

const char *tlp_mover_name(enum tlp_mover mover)
{
    return movers[mover].name;
}
