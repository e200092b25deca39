/* sampler.h: the byte counters of the GPUs, read often enough that 32-bit ones do not wrap unseen.
 *
 * NVML is called in a child only, which reads all counters every period_s and keeps the sums. Who
 * wants a reading asks for one: it comes from a round that began after the question, so a
 * difference of two readings holds all that moved between them. The question may come from a forked
 * child.
 */
#ifndef GDPROBE_SAMPLER_H
#define GDPROBE_SAMPLER_H

#include <sys/types.h>

#include "probe/counter.h"
#include "probe/observe.h"

enum { SAMPLER_GPUS = 16 };
enum sampler_counter {
    SAMPLER_PCIE_TX,
    SAMPLER_PCIE_RX,
    SAMPLER_NVLINK_TX,
    SAMPLER_NVLINK_RX,
    SAMPLER_REPLAYS,
    SAMPLER_COUNTERS
};
/* The name and unit of a counter in an observation. */
extern const char *const sampler_names[SAMPLER_COUNTERS];
extern const char *const sampler_units[SAMPLER_COUNTERS];

struct sampler_gpu {
    char name[64], busid[32];
    unsigned max_gen, max_width; /* of the PCIe link; 0: unknown */
    unsigned nvlinks;            /* that are up */
    double pcie_rate;            /* most bytes a second on the link, one direction */
};

/* What NVML says of the machine, once. */
struct sampler_machine {
    struct sampler_gpu gpus[SAMPLER_GPUS];
    unsigned gpu_count;
    char driver[32];
    int cuda_version; /* 13000: 13.0; 0: unknown */
    struct why why;   /* not empty: there is no NVML here, and so no counter */
};

struct sampler_value {
    uint64_t total;
    uint32_t wraps, doubts, hidden;
    double worst_gap_s; /* since the last answer */
    int status;         /* nvmlReturn_t of the last reading; 0: good, -1: never read */
};
struct sampler_reading {
    uint64_t number; /* of the question */
    double time_s;   /* when the round began */
    double round_s;  /* that it took */
    uint64_t rounds;
    struct sampler_value values[SAMPLER_GPUS][SAMPLER_COUNTERS];
};

struct sampler {
    pid_t pid; /* 0: not running */
    int ask, answer;
    uint64_t number;
    struct sampler_machine machine;
};

/* Start the child and wait for what NVML says. When that does not work the sampler has no GPUs and
 * machine.why says the reason; every other call still works. */
void sampler_start(struct sampler *sampler, double period_s, double timeout_s);
/* False with a reason when the child does not answer. */
bool sampler_read(struct sampler *sampler, struct sampler_reading *ret_reading,
                  struct why *ret_why);
void sampler_stop(struct sampler *sampler);

/* The difference of two readings of one counter as a row's value, samples, seconds and quality. */
void sampler_difference(const struct sampler *sampler, const struct sampler_reading *before,
                        const struct sampler_reading *after, unsigned gpu,
                        enum sampler_counter which, struct observation *row);

/* "gpu0: NAME, BUSID, PCIe gen 5 x16, 18 NVLinks", driver and cuda in the header of a file. */
void sampler_head(const struct sampler *sampler, struct observe_file *file);

#endif
