/* sharp.c: reduction in the switches of the fabric. Equations and sources in sharp.h. */
#include "models/sharp.h"

#include <math.h>

int sharp_levels(double members, double ports)
{
    int levels = 1;
    for (double joined = ports; joined < members && ports > 2; joined *= floor(ports / 2))
        levels++;
    return levels;
}

double sharp_up_s(int levels, double hop_s, double add_s)
{
    return levels * (hop_s + add_s);
}

double sharp_down_s(int levels, double hop_s, double add_s)
{
    return add_s + (levels - 1) * hop_s;
}

double sharp_operations(double size_B, double payload_B)
{
    return size_B > payload_B ? ceil(size_B / payload_B) : 1;
}

double sharp_operation_s(double round_s, double outstanding)
{
    return round_s / outstanding;
}

double sharp_llt_s(double size_B, double payload_B, double rate_Bps, double base_s, double round_s,
                   double outstanding)
{
    double gaps =
        (sharp_operations(size_B, payload_B) - 1) * sharp_operation_s(round_s, outstanding);
    double wire_s = size_B / rate_Bps;
    return base_s + (gaps > wire_s ? gaps : wire_s);
}

double sharp_sat_s(double size_B, double tree_Bps, double base_s, double setup_s)
{
    return base_s + setup_s + size_B / tree_Bps;
}

double sharp_share(double active, double flows)
{
    return active > flows ? flows / active : 1;
}

double sharp_tree_Bps(double link_Bps, double efficiency, int levels, double uplink_Bps,
                      double uplinks, double groups)
{
    double up_Bps = uplink_Bps * sharp_share(groups, uplinks);
    return efficiency * (levels > 1 && up_Bps < link_Bps ? up_Bps : link_Bps);
}
