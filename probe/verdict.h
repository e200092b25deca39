/* verdict.h: what the counters say of the way that a payload took.
 *
 * Let D be the payload of each GPU. From the sums over the GPUs that took part, each per byte of D:
 *   v   NVLink bytes received              t, r  PCIe bytes out of and into the GPU
 *   s   DRAM bytes read and written        i     bytes through the root ports, in and out
 *   n   bytes received by RDMA ports       e     bytes received by network interfaces
 *
 * PCIe counters count packets, so they tell who moved the bytes even where DRAM is not counted.
 * A store or a copy out of the GPU is a posted write: 24 B of header and framing on each packet of
 * m B. A load or a copy into it is a request of 24 B out, and a completion with 20 B on each m B
 * in. When W bytes are written to the host and R are read from it,
 *
 *   t = W (1 + 24/m) + R 24/m        r = R (1 + 20/m)
 *   R = r / (1 + 20/m)               W = (t - R 24/m) / (1 + 24/m)
 *
 * with m = 128 B for the SMs and 256 B for the copy engine, which may differ on the two legs. Bytes
 * staged through the host come back as often as they go: W = R, and the m that make them equal
 * tell the movers. For each byte written and read:
 *
 *   SMs both ways           t = 1.375     r = 1.15625
 *   copy engine both ways   t = 1.1875    r = 1.078125
 *   copy engine out, SMs in t = 1.28125   r = 1.15625
 *
 * Two different movers are only believed when they fit to 0.3 % and one alone does not. Between two
 * GPUs under one bridge every packet that leaves one enters the other: t = r, which staging never
 * gives. Bytes that come in while no requests go out (t < 24/1024 r) were pushed from outside: by a
 * NIC or a drive that writes straight into the GPU, or by the CPU through BAR1.
 * Source: packet headers of PCIe; counted around known transfers on H200s within 0.2 %
 * (tests/data/h200x2-probe).
 *
 * DRAM counts decide where they are there: s > 0.5 is staged (write and read of a bounce buffer
 * give 2, a memcpy on top 2 more); s ~ 0 with i ~ 2 went up to the root and back without memory
 * (redirected by ACS, or between root ports). A buffer that stays in the last-level cache also
 * gives s ~ 0: then only a payload much larger than it decides.
 */
#ifndef GDPROBE_VERDICT_H
#define GDPROBE_VERDICT_H

#include "probe/nccl_log.h"

enum verdict_word {
    VERDICT_DIRECT,     /* proven */
    VERDICT_STAGED,     /* through memory of the host; how much is in the text */
    VERDICT_REDIRECTED, /* up to the root ports and back, without memory */
    VERDICT_MIXED,      /* some direct, some not */
    VERDICT_UNDECIDED,
};
extern const char *const verdict_words[];

enum { VERDICT_GPUS = 16 };

/* Bytes in the window, idle baseline taken off; NAN: not counted. */
struct evidence {
    double payload_B; /* D, of one GPU; NAN: unknown */
    unsigned gpu_count;
    struct {
        double pcie_tx, pcie_rx, nvlink_tx, nvlink_rx;
    } gpus[VERDICT_GPUS];
    bool unsure;      /* a counter of a GPU is only at least so much */
    double dram, iio; /* both directions */
    double nic_rx, net_rx;
    const struct nccl_log *log;
};

struct verdict {
    enum verdict_word word;
    char text[400];     /* in one sentence, with the numbers that it rests on */
    char caution[400];  /* empty, or what would make it surer */
    char conflict[400]; /* empty, or where NCCL's label and the counters disagree */
};

void verdict_reach(const struct evidence *evidence, struct verdict *ret_verdict);

#endif
