/* iommu.c: cost of translation. Equations and source in iommu.h. */
#include "models/iommu.h"

#include <math.h>

double iommu_p_miss(double entries, double page_B, double working_set_B)
{
    double reach_B = entries * page_B;
    return working_set_B > reach_B ? 1.0 - reach_B / working_set_B : 0.0;
}

double iommu_dma_s(double base_s, double p_miss, double walk_s)
{
    return base_s + p_miss * walk_s;
}

double iommu_rate_Bps(double link_Bps, double outstanding_B, double round_trip_s, double p_miss,
                      double walk_s, double max_loss)
{
    double without = fmin(link_Bps, outstanding_B / round_trip_s);
    double with = fmin(link_Bps, outstanding_B / iommu_dma_s(round_trip_s, p_miss, walk_s));
    /* The floor is relative to what runs without translation: it must not lift a path that is
     * short of credits for another reason. */
    return fmax(with, (1.0 - max_loss) * without);
}

double iommu_ats_walk_s(double round_trip_s, double walk_s)
{
    return round_trip_s + walk_s;
}
