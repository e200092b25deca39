/* snapshot.c: see snapshot.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/clock.h"
#include "probe/snapshot.h"

static void add(struct snapshot *snapshot, const char *device, const char *quantity,
                const char *unit, double value)
{
    if (snapshot->count == SNAPSHOT_ENTRIES || isnan(value))
        return;
    struct snapshot_entry *entry = &snapshot->entries[snapshot->count++];
    snprintf(entry->device, sizeof entry->device, "%s", device);
    snprintf(entry->quantity, sizeof entry->quantity, "%s", quantity);
    snprintf(entry->unit, sizeof entry->unit, "%s", unit);
    entry->value = value;
}

/* /proc/stat: all CPUs, interrupts and context switches. */
static void take_stat(const struct sys *sys, struct snapshot *snapshot)
{
    struct why why;
    char *text = sys_text(sys, "/proc/stat", &why), *rest = NULL;
    double ticks = (double)sysconf(_SC_CLK_TCK);
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        double user, nice, kernel, idle, iowait, irq, softirq, count;
        if (strncmp(line, "cpu ", 4) == 0 &&
            sscanf(line, "cpu %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &kernel, &idle, &iowait,
                   &irq, &softirq) == 7) {
            add(snapshot, "host", "cpu_user", "s", (user + nice) / ticks);
            add(snapshot, "host", "cpu_system", "s", (kernel + irq + softirq) / ticks);
        } else if (sscanf(line, "intr %lf", &count) == 1) {
            add(snapshot, "host", "interrupts", "count", count);
        } else if (sscanf(line, "ctxt %lf", &count) == 1) {
            add(snapshot, "host", "context_switches", "count", count);
        }
    }
    free(text);
}

/* /proc/interrupts: the sum over CPUs of every line that names one of these drivers. */
static void take_interrupts(const struct sys *sys, struct snapshot *snapshot)
{
    static const char *const drivers[] = {"nvidia", "mlx5", "nvme", "bnxt", "efa"};
    double sums[sizeof drivers / sizeof drivers[0]] = {0};
    bool seen[sizeof drivers / sizeof drivers[0]] = {false};
    struct why why;
    char *text = sys_text(sys, "/proc/interrupts", &why), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char *at = strchr(line, ':');
        size_t driver = 0;
        while (driver < sizeof drivers / sizeof drivers[0] && !strstr(line, drivers[driver]))
            driver++;
        if (!at || driver == sizeof drivers / sizeof drivers[0])
            continue;
        seen[driver] = true;
        for (at++;;) {
            char *end;
            double count = strtod(at, &end);
            if (end == at || (*end != ' ' && *end != '\0'))
                break;
            sums[driver] += count;
            at = end;
        }
    }
    for (size_t i = 0; i < sizeof drivers / sizeof drivers[0]; i++)
        if (seen[i])
            add(snapshot, drivers[i], "interrupts", "count", sums[i]);
    free(text);
}

static void take_net(const struct sys *sys, struct snapshot *snapshot)
{
    struct why why;
    char *text = sys_text(sys, "/proc/net/dev", &why), *rest = NULL;
    for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest)) {
        char name[24], device[32];
        double in, out;
        if (sscanf(line, " %23[^: ]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", name, &in, &out) != 3)
            continue;
        snprintf(device, sizeof device, "net %s", name);
        add(snapshot, device, "net_rx", "B", in);
        add(snapshot, device, "net_tx", "B", out);
    }
    free(text);
}

/* RDMA ports: data counts units of 4 octets (Linux ABI sysfs-class-infiniband). */
static void take_port(const struct sys *sys, struct snapshot *snapshot, const char *nic,
                      const char *port)
{
    static const struct {
        const char *file, *quantity, *unit;
        double scale;
    } counters[] = {{"counters/port_rcv_data", "port_rx", "B", 4},
                    {"counters/port_xmit_data", "port_tx", "B", 4},
                    {"counters/port_xmit_wait", "port_xmit_wait", "count", 1},
                    {"hw_counters/out_of_sequence", "out_of_sequence", "count", 1},
                    {"hw_counters/rnr_nak_retry_err", "rnr_nak_retry_err", "count", 1},
                    {"hw_counters/local_ack_timeout_err", "local_ack_timeout_err", "count", 1},
                    {"hw_counters/np_cnp_sent", "np_cnp_sent", "count", 1}};
    char device[32];
    snprintf(device, sizeof device, "nic %.20s/%.6s", nic, port);
    for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
        char path[SYS_PATH];
        long long value;
        struct why why;
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%s/%s", nic, port,
                 counters[i].file);
        if (sys_number(sys, path, &value, &why))
            add(snapshot, device, counters[i].quantity, counters[i].unit,
                counters[i].scale * (double)value);
    }
}

static void take_nics(const struct sys *sys, struct snapshot *snapshot)
{
    struct sys_list nics, ports;
    struct why why;
    if (!sys_list(sys, "/sys/class/infiniband", &nics, &why))
        return;
    for (size_t i = 0; i < nics.count; i++) {
        char path[SYS_PATH];
        snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports", nics.names[i]);
        if (!sys_list(sys, path, &ports, &why))
            continue;
        for (size_t k = 0; k < ports.count; k++)
            take_port(sys, snapshot, nics.names[i], ports.names[k]);
        sys_list_free(&ports);
    }
    sys_list_free(&nics);
}

/* nvidia-fs counts operations of the direct path: "Ops : Read=n Write=n BatchIO=n". */
static void take_storage(const struct sys *sys, struct snapshot *snapshot)
{
    struct why why;
    char *text = sys_text(sys, "/proc/driver/nvidia-fs/stats", &why);
    const char *line = text ? strstr(text, "\nOps") : NULL;
    double reads, writes;
    if (line && sscanf(line, "\nOps : Read=%lf Write=%lf", &reads, &writes) == 2) {
        add(snapshot, "nvidia-fs", "direct_reads", "count", reads);
        add(snapshot, "nvidia-fs", "direct_writes", "count", writes);
    }
    free(text);
}

void snapshot_take(const struct sys *sys, const struct perf *perf, struct snapshot *ret_snapshot)
{
    ret_snapshot->count = 0;
    ret_snapshot->time_s = clock_s();
    take_stat(sys, ret_snapshot);
    take_interrupts(sys, ret_snapshot);
    take_net(sys, ret_snapshot);
    take_nics(sys, ret_snapshot);
    take_storage(sys, ret_snapshot);
    for (int i = 0; i < PERF_QUANTITIES; i++)
        add(ret_snapshot, i < PERF_IIO_IN ? "dram" : "iio", perf_names[i], "B",
            perf_read(perf, (enum perf_quantity)i));
}

double snapshot_difference(const struct snapshot *before, const struct snapshot *after,
                           const struct snapshot_entry *entry)
{
    double values[2] = {(double)NAN, (double)NAN};
    const struct snapshot *both[2] = {before, after};
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < both[k]->count; i++)
            if (strcmp(both[k]->entries[i].device, entry->device) == 0 &&
                strcmp(both[k]->entries[i].quantity, entry->quantity) == 0)
                values[k] = both[k]->entries[i].value;
    return values[1] - values[0];
}
