/* issue.c: see issue.h. */
#include "models/issue.h"

#include <math.h>

double issue_s(double one_channel_s, double growth, double channels)
{
    return one_channel_s * (1 + growth * fmax(0, channels - 1));
}

double issue_mean_s(double issue_s, double work_s, double calls)
{
    return fmax(issue_s, work_s) + fmin(issue_s, work_s) / calls;
}
