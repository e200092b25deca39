/* nic.c: NIC rates. Equations and source in nic.h. */
#include "models/nic.h"

#include <math.h>

double nic_wire_efficiency(enum nic_link link, int mtu_B)
{
    enum { BTH = 12, RETH = 16, ICRC = 4, VCRC = 2, DELIMITER = 2, LRH = 8, GRH = 40, ETH = 14 };
    double header_B = BTH + RETH + ICRC + VCRC + DELIMITER + (link == NIC_IB ? LRH : GRH + ETH);
    return mtu_B / (mtu_B + header_B);
}

double nic_payload_Bps(enum nic_link link, double line_Bps, int mtu_B)
{
    return line_Bps * nic_wire_efficiency(link, mtu_B);
}

double nic_read_Bps(double limit_Bps, double outstanding, double request_B, double round_trip_s)
{
    return fmin(limit_Bps, outstanding * request_B / round_trip_s);
}

double nic_reads_needed(double rate_Bps, double request_B, double round_trip_s)
{
    double reads = rate_Bps * round_trip_s / request_B;
    /* A whole number that rounding made a little larger is not one read more. */
    double whole = round(reads);
    return fabs(reads - whole) <= 1e-9 * whole ? whole : ceil(reads);
}
