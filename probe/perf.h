/* perf.h: bytes to and from DRAM and through the root ports, by the kernel's perf events.
 *
 * Uncore PMUs count for a whole socket, so one event is opened for each instance on each CPU that
 * its cpumask names. Events, their scale and unit are taken from sysfs, where the kernel describes
 * them: tables of raw codes would be wrong on the next processor.
 */
#ifndef GDPROBE_PERF_H
#define GDPROBE_PERF_H

#include <stdint.h>

#include "probe/sys.h"

enum { PERF_EVENTS = 256 };
enum perf_quantity { PERF_DRAM_READ, PERF_DRAM_WRITE, PERF_IIO_IN, PERF_IIO_OUT, PERF_QUANTITIES };
extern const char *const perf_names[PERF_QUANTITIES];

struct perf_event {
    enum perf_quantity quantity;
    uint32_t type;
    uint64_t config[3];
    int cpu, fd;
    double scale_B; /* bytes a count */
};
struct perf {
    struct perf_event events[PERF_EVENTS];
    size_t count;
    bool open;
    struct why why; /* nothing is counted: why */
};

/* Find the events of the machine; those of a sysroot are found but cannot be opened. */
void perf_find(const struct sys *sys, struct perf *ret_perf);
void perf_open(struct perf *perf);
/* The sum of a quantity in bytes since it was opened; NAN when it is not counted. */
double perf_read(const struct perf *perf, enum perf_quantity quantity);
void perf_close(struct perf *perf);

#endif
