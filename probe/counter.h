/* counter.h: the sum of a counter that may have only 32 bits.
 *
 * A 32-bit count of bytes wraps every 2^32 B: at the 63 GB/s of PCIe Gen5 x16 in 68 ms. Between two
 * readings the true step is the difference modulo 2^32 plus an unknown number of whole wraps, which
 * is surely zero only when the link cannot carry 2^32 B in that time. Other steps are counted as
 * the least that they can be, and as doubts.
 */
#ifndef GDPROBE_COUNTER_H
#define GDPROBE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

struct counter {
    uint64_t total; /* since the first reading */
    uint64_t last;
    double last_s, worst_gap_s; /* the longest between two readings; the reader may set it to 0 */
    uint32_t wraps;             /* times that it came round */
    uint32_t doubts; /* steps in which the link could have carried 2^32 B more than were seen */
    uint32_t hidden; /* wraps that may have been missed in them, at most */
    bool started;
    bool wide; /* values above 32 bits were seen: it does not wrap */
};

/* Take a reading of time_s seconds. max_rate: the most bytes a second that the link can carry. */
void counter_read(struct counter *counter, uint64_t value, double time_s, double max_rate);

#endif
