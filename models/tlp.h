/* tlp.h: bytes on a PCIe link for each byte of payload, by who moves it.
 *
 *   write (mover pushes) : forward = 1 + 24/p        back = 0
 *   read  (mover pulls)  : forward = 1 + 20/c        back = 24/r
 *
 * forward = link bytes for each payload byte in the direction of the payload; back = the same
 * against it; p, c = payload bytes of one write or completion TLP = min(MPS, what the mover
 * issues); r = bytes of one read request = min(MRRS, what the mover issues). 24 B and 20 B as in
 * pcie.h, where they come from (pcie-bench, SIGCOMM 2018, doi 10.1145/3230543.3230560).
 *
 *   mover                 issues      how sure
 *   copy engine           256 B       measured: H200, NVML fields 197/198 around 64 GiB copies,
 *                                     1.0938 out, 1.0781 in, 0.0938 requests, to 0.2 %
 *   SM loads and stores   128 B       measured: H200, NCCL over SHM, 1.375 out, 1.156 in, to 0.2 %
 *   NIC, NVMe             MPS, MRRS   as the PCIe standard lets a DMA device do
 *   CPU write-combined    64 B        cited: NVIDIA/gdrcopy issue 221 (32 or 64 B stores)
 *   CPU uncached loads    8 B         assumed: one read for one 64-bit load. Wider loads give less:
 *                                     16 B (SSE) halves and 64 B (streaming load) divides by 8 all
 *                                     that is above 1; GDRCopy on x86 looks like 16 B (bar1.h).
 *
 * Assumptions: 64-bit addresses, no ECRC, completions not cut at the read completion boundary of
 * 64 B, transfers of many TLPs. DLLPs are not counted: NVML does not count them either.
 */
#ifndef GDSIM_MODELS_TLP_H
#define GDSIM_MODELS_TLP_H

#include <stdbool.h>

enum tlp_mover {
    TLP_COPY_WRITE, /* copy engine pushes: device to host, or to a peer */
    TLP_COPY_READ,  /* copy engine pulls: host to device */
    TLP_SM_STORE,
    TLP_SM_LOAD,
    TLP_NIC_WRITE,    /* receive */
    TLP_NIC_READ,     /* send */
    TLP_CPU_STORE_WC, /* stores through a write-combined BAR mapping */
    TLP_CPU_LOAD_UC,  /* loads through a BAR mapping */
    TLP_NVME_WRITE,   /* the drive writes memory: a storage read */
    TLP_NVME_READ,
    TLP_MOVER_COUNT
};

struct tlp_factors {
    double forward, back; /* link bytes per payload byte, with and against the payload */
};

/* mps_B and mrrs_B are those of the path, 128 .. 4096. TLP_COPY_READ, 256, 512: {1.078125, 0.09375}
 */
struct tlp_factors tlp_factors(enum tlp_mover mover, int mps_B, int mrrs_B);

/* True where the mover pulls, so that requests go against the payload and credits bound it. */
bool tlp_mover_reads(enum tlp_mover mover);

/* "copy engine write" .. "NVMe read". */
const char *tlp_mover_name(enum tlp_mover mover);

#endif
