/* nccl_protocol.h: NCCL's protocols: what they put on the wire, and what a step costs by them.
 *
 *   wire   = payload / share        LL 1/2: 4 B of flag beside every 4 B; LL128 120/128; Simple 1
 *   slot   = share * buffer / 8     payload that one of a channel's 8 slots holds (NCCL_STEPS)
 *   step   = hop                    latency of a step that carries nothing; us
 *   launch = base                   once for each collective; us
 *
 *   buffer = 512 KiB (LL: 8 lines * 512 threads * 8 slots * 16 B), 4,915,200 B (LL128: 120 * 640 *
 *   8 * 8 B), 4 MiB (Simple); hop and base by hardware, algorithm and protocol.
 *
 * With LL and LL128 data and flag arrive together, so that the receiver polls the data itself and
 * can use each line as it comes; Simple moves bare data and then a flag for the slot, with a fence
 * between. With LL a network proxy must read the flags, so the sender's buffer is in host memory
 * even where GPUDirect RDMA works; the receiver's, and both of LL128 and Simple, are in device
 * memory then. For that reading a proxy passes no more than software.ll_flags; that host memory is
 * read once more is left out.
 *
 * Source: NVIDIA/nccl at 5067397c (2.30.7): src/graph/tuning.cc (baseLat, hwLat), src/init.cc and
 * src/include/device.h (buffers), src/transport/net.cc (where they are), as restated in our notes.
 *
 * Measured on two H200 (NCCL 2.28.9, allreduce, tests/data/h200x2/protocols.csv), bytes on the
 * NVLink for each byte of payload: LL 2.0005, LL128 1.0667, Simple 1.0001; through host memory LL
 * shows twice the PCIe bytes of Simple. LL128 through host memory reads more than this (RX 2.0 to
 * 2.6 instead of 1.23): it polls across PCIe. NCCL does not choose it there.
 *
 * Assumptions: a hop includes flags, fences and proxy, and is the same at all sizes.
 */
#ifndef GDSIM_MODELS_NCCL_PROTOCOL_H
#define GDSIM_MODELS_NCCL_PROTOCOL_H

#include "models/nccl.h"

#define NCCL_STEPS         8         /* slots of a channel's buffer */
#define NCCL_SLICE_SLOTS   2         /* that the ring by Simple hands on at once (collectives.h) */
#define NCCL_TREE_LL128    (7.0 / 9) /* of a ring's rate, that a tree by LL128 reaches on one node */
#define NCCL_TREE_DOWN     0.3       /* of a tree's threads by LL and LL128; the others go up */
#define NCCL_TREE_BUSY     1.0   /* of a hop by Simple, that a tree's threads spend on a chunk */
#define NCCL_LEAST_SLICE_B 32768 /* of the ring by Simple: 2 slots over 32 (prims_simple.h) */

enum nccl_hardware { NCCL_HW_NVLINK, NCCL_HW_PCI, NCCL_HW_NET, NCCL_HARDWARE };

/* Payload for each byte on the wire: 0.5, 0.9375, 1. */
double nccl_payload_share(enum nccl_protocol protocol);

/* Payload in one slot: 32768, 576000, 524288 B. */
double nccl_slot_B(enum nccl_protocol protocol);

/* Payload that a channel hands on at once, while the rest of the slot is still on its way: 512
 * threads with a line of 8 B each, 640 threads with 64 B less flags, the slot: 4096, 38400, 524288
 * B. */
double nccl_grain_B(enum nccl_protocol protocol);

/* Whether the sender's buffer towards the network is in host memory even with GPUDirect RDMA. */
bool nccl_sends_from_host(enum nccl_protocol protocol);

/* Latency of one step in us. NCCL_HW_NVLINK, NCCL_RING, NCCL_SIMPLE: 3.4 */
double nccl_hop_us(enum nccl_hardware hardware, enum nccl_algorithm algorithm,
                   enum nccl_protocol protocol);

/* What a step inside a node takes at least in a ring over several nodes, all of whose steps keep
 * the pace of those between nodes, in times of what posting to the network takes: 3 by Simple,
 * else 1. */
double nccl_posts(enum nccl_protocol protocol);

/* Of the whole collective, in us. NCCL_RING, NCCL_LL: 6.6 */
double nccl_base_us(enum nccl_algorithm algorithm, enum nccl_protocol protocol);

#endif
