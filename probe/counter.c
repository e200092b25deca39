/* counter.c: see counter.h. */
#include "probe/counter.h"

static const double WRAP_B = 4294967296.0;

void counter_read(struct counter *counter, uint64_t value, double time_s, double max_rate)
{
    if (value > UINT32_MAX)
        counter->wide = true;
    if (counter->started) {
        bool back = value < counter->last;
        double gap_s = time_s - counter->last_s;
        /* A 64-bit count that goes back was reset: what came since is the new value. */
        uint64_t step = !back           ? value - counter->last
                        : counter->wide ? value
                                        : value + (UINT64_C(1) << 32) - counter->last;
        counter->total += step;
        if (gap_s > counter->worst_gap_s)
            counter->worst_gap_s = gap_s;
        if (!counter->wide) {
            counter->wraps += back;
            double room = (gap_s * max_rate - (double)step) / WRAP_B;
            counter->doubts += room >= 1;
            counter->hidden += room >= 1 ? (uint32_t)room : 0;
        }
    }
    counter->started = true;
    counter->last = value;
    counter->last_s = time_s;
}
