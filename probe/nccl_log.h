/* nccl_log.h: what a program that is watched says of itself: NCCL's own account of its transports
 * (NCCL_DEBUG=INFO) and the table of nccl-tests, from which the payload follows. */
#ifndef GDPROBE_NCCL_LOG_H
#define GDPROBE_NCCL_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum nccl_class {
    NCCL_P2P,        /* GPU to GPU, over NVLink or PCIe: no host memory */
    NCCL_SHM,        /* staged through memory of the host */
    NCCL_NET_SOCKET, /* staged, and TCP */
    NCCL_NET_STAGED, /* staged, and an RDMA NIC */
    NCCL_NET_GDR,    /* an RDMA NIC straight from or to the GPU */
    NCCL_OTHER,
    NCCL_CLASSES
};

/* "via SHM/direct/direct": the connections that said so, each end counted, and their channels. */
struct nccl_label {
    char text[48];
    enum nccl_class class;
    unsigned connections;
    uint64_t channels; /* a bit for each of 0 to 63 */
};
enum { NCCL_LABELS = 16 };

struct nccl_log {
    struct nccl_label labels[NCCL_LABELS];
    size_t label_count;
    char version[48];
    /* nccl-tests */
    char test[32]; /* "all_reduce_perf" */
    double min_B, max_B, warmup, iters, agg, check;
    double rows;
    double payload_B; /* of all calls so far, of one rank; 0: no table seen */
};

void nccl_log_line(struct nccl_log *log, const char *line);

const char *nccl_class_text(enum nccl_class class);
/* "6 connections on channels 0-1,4 via SHM/direct/direct (staged through host memory)" */
void nccl_label_text(const struct nccl_label *label, char *buffer, size_t size);

#endif
