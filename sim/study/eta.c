/* eta.c: see eta.h. */
#include "sim/study/eta.h"

#include <math.h>

#define LEAST   0.2
#define STEADY  0.8
#define EARLIER 4 /* the mark is at least so many times as early */

double eta_left_s(struct eta *eta, double seconds, double done, double all, bool *ret_slower)
{
    double exponent = 1;
    *ret_slower = false;
    if (!(done > 0) || !(seconds > 0))
        return (double)NAN;
    size_t i = eta->count;
    while (i > 0 && eta->mark[i - 1].seconds > seconds / EARLIER)
        i--;
    if (i > 0 && !eta->at_random)
        exponent = log(done / eta->mark[i - 1].done) / log(seconds / eta->mark[i - 1].seconds);
    *ret_slower = exponent <= STEADY;
    exponent = *ret_slower ? fmax(exponent, LEAST) : 1;
    if (eta->count < ETA_MARKS &&
        (eta->count == 0 || seconds >= 2 * eta->mark[eta->count - 1].seconds)) {
        eta->mark[eta->count].seconds = seconds;
        eta->mark[eta->count++].done = done;
    }
    return seconds * (pow(all / done, 1 / exponent) - 1);
}
