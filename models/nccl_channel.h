/* nccl_channel.h: how fast the channels of one GPU push over NVLink together, and which of them
 * sends take.
 *
 * A channel is one block of threads on an SM. In a ring it does one thing after the other: it
 * pushes what goes on to the next GPU (at rate r), and copies what it keeps from its buffer to the
 * result (at rate c). N channels share the link (rate B of payload), and wait for it the more the
 * busier it is.
 *
 *   beside the link    p(x) = (x^m + (1/B)^m)^(1/m), m = 3.5     s for each byte
 *   in step            s_1 = p(1/(N r)) + k/(N c)
 *   apart              s_0 = p(1/(N r) + k/(N c))
 *   a whole message    s = w s_1 + (1 - w) s_0,   w = (1 - e^-l)/l,   l = S/(N d)
 *
 *   k   bytes kept for each byte pushed: 1/(2(n-1)) of an allreduce, 1/(n-1) of allgather,
 *       reduce-scatter, broadcast and reduce; 0 where other threads receive: of sends and of trees
 *   S   the message, bytes;  d: bytes of it for each channel after which channels that started
 *       together have drifted apart. By LL, with its small slots, w = 0.
 *
 * All channels start at the same moment and do the same, so at first they all push, and the link is
 * what they wait for; then they all copy, and the link stands still. Later some push while others
 * copy. A lane that has a part of the channels takes 1/part of the time. In a tree half of a
 * channel's threads go up and half down (NCCL: by LL and LL128 70 to 30), each at half the rate;
 * with LL128 a tree inside a node reaches 7/9 (NCCL's tuning.cc says so). Over several nodes the
 * channel whose GPU sends to other nodes has the most to do, for it reduces what comes from the
 * chain and from two children, and hands the sum to the chain and to both; what it manages is taken
 * from NCCL's ceilings (perChMaxTreeBws, perChMaxTreeLL128Bws): B200, two nodes, LL128: 31.67/4
 * = 7.92 GB/s.
 *
 * Hand: two H200, 24 channels, allreduce (k = 1/2): r = 39.7, c = 24.2, B = 358.7 GB/s. 1/(N r) =
 * 1.050 ps, 1/B = 2.788: pushing takes 2.814 ps a byte; in step + 0.5 * 1.722 = 3.675 (272 GB/s);
 * apart p(1.050 + 0.861) = 2.982 (335 GB/s). Measured: 268 GB/s at 64 MiB, 330 at 1 GiB, and 346
 * from 512 MiB to 1 GiB.
 *
 * Source: the order of a channel's work is NCCL's (src/device/all_reduce.h: send; receive, reduce
 * and send on; receive). The form is ours, one of eleven that were tried on scenarios/h200x2, and m
 * one of six; both were chosen by 1 to 24 channels of Simple and by LL128, and allgather and trees
 * were looked at afterwards.
 *
 * Sends and receives take other channels than collectives:
 *
 *   in all        P = 2^ceil(log2(channels of collectives))
 *   to one peer   Q = 2^ceil(log2(min(those, paths))), at most P
 *                 paths: twice the NVLinks between two GPUs; 2 by PCIe or host memory;
 *                 between nodes max(NICs, GB/s of one / 14); the least of all pairs, on all nodes
 *   of one send   m = Q halved while m n > P, then doubled while a part is above 16 MiB (512 KiB
 *                 between nodes), up to M = Q halved while M n > 4 P
 *
 * Source: NVIDIA/nccl, src/graph/paths.cc (ncclTopoComputeP2pChannels, ncclTopoGetNchannels) and
 * src/enqueue.cc (calcP2pChannelCount), restated. Logs of two H200 say 24 -> 32 and 32 to a peer
 * over NVLink, 4 -> 4 and 2 through host memory, 2 -> 2 and 2 by sockets; sendrecv there takes 884
 * us at 256 MiB (16 channels of 16 MiB) and only 1.7 times that, 1510 us, at 512 MiB (32 channels).
 */
#ifndef GDSIM_MODELS_NCCL_CHANNEL_H
#define GDSIM_MODELS_NCCL_CHANNEL_H

#include <stdbool.h>

struct nccl_p2p {
    int channels; /* of collectives */
    int paths;
    int ranks, nodes;
};

/* Channels that a send of so many bytes takes. */
int nccl_p2p_channels(const struct nccl_p2p *comm, double bytes);

struct nccl_pace {
    double kept;     /* k */
    double together; /* w: 1 in step, 0 apart */
    double share;    /* of the threads of all channels, what one lane has for itself; 1: all */
    double part;     /* of all channels, those of one lane: it takes 1/part of the time */
    double reached;  /* of all this, by a tree of LL128 inside a node: NCCL_TREE_LL128; else 1 */
    double least_s; /* for each byte of a lane of a tree, by the GPU that sends it to other nodes */
    bool within;    /* no lane shares its channels: together they stay within the link */
    bool by_line;   /* the first line of a slice is on its way while the others are pushed */
};

/* Share of a message that channels are in step, w, by l. 1 for l = 0. */
double nccl_in_step(double l);

/* Seconds for each byte pushed, s. Rates of all channels together, N r and N c; any may be
 * INFINITY. */
double nccl_push_s(double push_Bps, double copy_Bps, double link_Bps, struct nccl_pace pace);

#endif
