/* rootcomplex.h: what a CPU's root complex does to traffic between two devices below it.
 *
 *   peer    : rate = min(links, p2p_write or p2p_read ceiling)
 *   sockets : rate = min(links, p2p_cross) for one peer flow; inter_socket under load of all
 *   order   : rate(relaxed ordering off) = f * rate(on),   f = strict_order
 *
 * Rates in bytes/s, each for one direction. Unknown is NAN, not a guess: peer traffic through such
 * a CPU has no number. 0 is a known refusal. f is an interval: low = high where it was measured; a
 * CPU that is not in the table, or without measurement, has 0.4 .. 1.0, from the worst seen to no
 * effect. f holds for paths through the root complex only; below one PCIe switch, on bare metal, it
 * is 1 (NVIDIA/nccl issue 1205).
 *
 * All ceilings are cited, each row with its source; none is a data sheet's. Where the GPU's own
 * link was the limit the ceiling is a lower bound and the row says "link-bound". Peer copies of
 * unstated direction stand as writes (assumed: copy engines push). inter_socket is what NCCL counts
 * on (effective under load of all GPUs; NVIDIA/nccl at 5067397c, src/graph/topo.h), well below a
 * CPU's own memory benchmark (NVIDIA/nccl issue 1163). Model numbers: Linux,
 * arch/x86/include/asm/intel-family.h, and AMD's family and model numbers; 0 where no number tells
 * it.
 */
#ifndef GDSIM_MODELS_ROOTCOMPLEX_H
#define GDSIM_MODELS_ROOTCOMPLEX_H

#include <stddef.h>

struct rootcomplex_interval {
    double low, high;
};

struct rootcomplex {
    const char *name;  /* "emerald-rapids"; the last row is "unknown" */
    int family, model; /* of /proc/cpuinfo; a hint */
    double p2p_write_Bps, p2p_read_Bps;
    double p2p_cross_Bps;    /* one peer flow from socket to socket */
    double inter_socket_Bps; /* the link between sockets, under load */
    struct rootcomplex_interval strict_order;
    const char *source;
};

extern const struct rootcomplex rootcomplex_table[];
extern const size_t rootcomplex_count;

/* The row of that name; "unknown" if there is none, or name is NULL. Never NULL. */
const struct rootcomplex *rootcomplex_find(const char *name);

/* The row of a family and model of /proc/cpuinfo; "unknown" if there is none. */
const struct rootcomplex *rootcomplex_of_cpu(int family, int model);

#endif
