/* nccl_channel.c: see nccl_channel.h. */
#include "models/nccl_channel.h"

#include <math.h>

double nccl_in_step(double l)
{
    return l > 1e-9 ? -expm1(-l) / l : 1;
}

/* What takes a and waits for a link that takes b. */
static double beside(double a, double b)
{
    const double steepness = 3.5;
    double more = fmax(a, b), less = fmin(a, b);
    return more * pow(1 + pow(less / more, steepness), 1 / steepness);
}

double nccl_push_s(double push_Bps, double copy_Bps, double link_Bps, struct nccl_pace pace)
{
    double push_s = 1 / (push_Bps * pace.share), copy_s = pace.kept / (copy_Bps * pace.share);
    double link_s = 1 / link_Bps;
    double in_step = beside(push_s, link_s) + copy_s, apart = beside(push_s + copy_s, link_s);
    return (pace.together * in_step + (1 - pace.together) * apart) / (pace.reached * pace.part);
}

static int power_of_two(int n)
{
    int power = 1;
    while (power < n)
        power *= 2;
    return power;
}

int nccl_p2p_channels(const struct nccl_p2p *comm, double bytes)
{
    const double most_B = comm->nodes > 1 ? 524288 : 16777216;
    int all = power_of_two(comm->channels);
    int each = power_of_two(comm->paths < comm->channels ? comm->paths : comm->channels);
    int least, most;
    each = each < all ? each : all;
    for (least = each; least > 1 && (double)least * comm->ranks > all;)
        least /= 2;
    for (most = each; most > 1 && (double)most * comm->ranks > 4.0 * all;)
        most /= 2;
    int channels = least;
    while (bytes / channels > most_B && channels <= most / 2)
        channels *= 2;
    return channels;
}
