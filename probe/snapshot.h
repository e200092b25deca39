/* snapshot.h: every counter of the machine that is a plain read: /proc, /sys and the PMUs of memory
 * and IO. A difference of two snapshots is what moved. */
#ifndef GDPROBE_SNAPSHOT_H
#define GDPROBE_SNAPSHOT_H

#include "probe/observe.h"
#include "probe/perf.h"

enum { SNAPSHOT_ENTRIES = 512 };

struct snapshot_entry {
    char device[32], quantity[32], unit[8];
    double value; /* since some moment; it never wraps */
};
struct snapshot {
    double time_s;
    size_t count;
    struct snapshot_entry entries[SNAPSHOT_ENTRIES];
};

/* cpu_user, cpu_system, context_switches, interrupts (all, and per driver), bytes of each network
 * interface, bytes and faults of each RDMA port, operations of nvidia-fs, DRAM and IO bytes. What
 * is not there is left out. */
void snapshot_take(const struct sys *sys, const struct perf *perf, struct snapshot *ret_snapshot);

/* The value of after minus before; NAN when an entry is in one only. */
double snapshot_difference(const struct snapshot *before, const struct snapshot *after,
                           const struct snapshot_entry *entry);

#endif
