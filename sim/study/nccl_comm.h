/* nccl_comm.h: the communicator that NCCL would find on a machine, and what it would choose there.
 *
 * The graphs are those of models/nccl_search.h, a search in short, unless somebody has the real
 * ones. By the mechanism it is told what NCCL may use: host and socket mean neither P2P nor
 * GPUDirect RDMA (NCCL_P2P_DISABLE=1), p2p no NVLink, sharp that CollNet is on.
 */
#ifndef GDSIM_STUDY_NCCL_COMM_H
#define GDSIM_STUDY_NCCL_COMM_H

#include "sim/core/plan.h"
#include "sim/core/protocol.h"

/* STATUS_INPUT where NCCL would have nothing to do: one rank, or no way between nodes. */
enum status nccl_comm_of(const struct machine *machine, const struct mechanism *mechanism,
                         struct nccl_comm *ret_comm, struct error *error);

/* Protocol (unless one is given) and channels of sends and receives: alltoall and sendrecv. False:
 * the collective is none of these. */
bool nccl_sends(const struct machine *machine, const struct mechanism *mechanism,
                const struct nccl_comm *comm, enum collective collective,
                const enum nccl_protocol *protocol, double size_B, struct nccl_choice *ret_choice);

/* NCCL's name of a collective; false: it has none (alltoall, sendrecv: sends and receives). */
bool nccl_collective_of(enum collective collective, enum nccl_collective *ret_collective);

/* Which of NCCL's algorithms a script of lua/ is, by the script's name; false: none. */
bool nccl_algorithm_of(const char *script, enum nccl_algorithm *ret_algorithm);

/* How NCCL cuts a message; 0: as the protocol does by itself.
 *   trees    a channel's chunk
 *   CollNet  what of a transfer goes in one loop: a proxy posts the chunks of all channels at once
 *   NVLS     a channel's chunk, and as many as all channels together have under way: each of them
 *            serves all heads, so that one's chunk goes on while the next one's comes */
struct nccl_cut {
    double slice_B; /* engine.slice */
    double window;  /* engine.window */
    double chunk_B; /* engine.chunk */
};

/* For a plan that cuts the message into so many chunks. */
struct nccl_cut nccl_cut_of(const struct nccl_comm *comm, const struct nccl_choice *choice,
                            double size_B, uint32_t chunks);

/* Set engine.protocol, .channels and .hops to a choice and engine.slice, .window and .chunk to a
 * cut, where nobody gave them. The machine must be finished again. `why` (kept) says where they
 * came from. */
void nccl_settle(struct machine *machine, const struct nccl_choice *choice, struct nccl_cut cut,
                 const char *why);

#endif
