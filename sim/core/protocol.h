/* protocol.h: a run by one of NCCL's protocols: what it makes of routes, slices and channels.
 *
 * engine.protocol names it; `none` leaves the plain transfers of the mechanism. By a protocol
 *   - flags travel with the payload: every link carries payload / share (models/nccl_protocol.h);
 *   - a step takes at least NCCL's hop latency: what the route's own handoffs and latencies leave
 *     of it is added; where GPUs flag each other it replaces the flag's cost, and over NVLink the
 *     way's. In a ring over several nodes a step inside a node takes no less than posting does;
 *   - a transfer is cut into slots, 8 of them in flight (NCCL_STEPS); inside a node LL and LL128
 *     hand on what has come of a slot;
 *   - the collective pays NCCL's base latency once.
 * LL also moves the sender's buffer to the host (mech_gdr.c), where the proxy reads its flags.
 *
 * engine.channels > 0: so many channels share the plan's lanes equally. What SMs push and pull is
 * then bounded by channels times the rate of one (models/nccl_channel.h), a channel does one thing
 * at a time unless its threads are split (engine.split), and a lane's slice holds a slot of each of
 * its channels, of the ring by Simple two. A lane pushes over NVLink with its own channels only:
 * lanes do not wait for each other there, and together stay within the link. Channels are not
 * simulated one by one: they all do the same at the same time, and k equal flows through a link end
 * within one slot of one flow of k slots. A slot counts as free when it has arrived; NCCL's is free
 * when the receiver has passed it on, which holds the sender back but not the receiver.
 *
 * engine.hops: tree, with channels: a channel's threads are split, up and down. Slots are chunks
 * (engine.chunk); by Simple threads are busy with a chunk for a whole hop besides its bytes; by LL
 * and LL128 lines are handed on as they come. A GPU that sends to other nodes takes NCCL's ceiling
 * of a tree's channel for that (nccl_tree_channel_GBps).
 */
#ifndef GDSIM_CORE_PROTOCOL_H
#define GDSIM_CORE_PROTOCOL_H

#include "models/nccl_channel.h"
#include "models/nccl_protocol.h"
#include "sim/core/mechanism.h"
#include "sim/core/plan.h"

/* The words of engine.protocol. AUTO is for who runs the engine to settle, size by size; where
 * no size is known it means what large messages take: Simple. */
enum protocol_word { PROTOCOL_NONE, PROTOCOL_LL, PROTOCOL_LL128, PROTOCOL_SIMPLE, PROTOCOL_AUTO };

/* False: none. */
bool protocol_of(const struct machine *machine, enum nccl_protocol *ret_protocol);
double protocol_word_of(enum nccl_protocol protocol);

/* Whether channels work as NCCL's tree: a protocol, its hops, and channels that are counted. */
bool protocol_tree(const struct machine *machine);

/* Whether NCCL moves bytes by the mechanism, so that it has protocols. */
bool protocol_serves(const struct mechanism *mechanism);

/* Lay the protocol on a route that has just been built. STATUS_INPUT where NCCL has no such
 * transfer. */
enum status protocol_lay(const struct mechanism *mechanism, const struct machine *machine,
                         const struct endpoints *ends, struct route *route, struct error *error);

/* NCCL's latency for one step over the route, in seconds; 0 without a protocol. */
double protocol_hop_s(const struct machine *machine, const struct route *route);

/* Channels that a lane of the plan stands for, at least 1. Lanes that carry the same chunks are one
 * channel's: the ways up and down a tree. */
double protocol_lane_channels(const struct machine *machine, const struct plan *plan);

/* How transfers of a lane are cut into slices. */
struct protocol_cut {
    double slice_B;  /* payload of one at most: a slot of each channel that the lane stands for */
    double grain_B;  /* of one at least, where it need not wait for the slot; else slice_B */
    double halves_B; /* from here on a transfer has two slices at least; INFINITY: never */
    uint32_t window; /* slots in flight at most */
};

/* Through the network a slice is a slot, since a proxy posts slots; between GPUs of a node it is
 * what the protocol hands on at once. NCCL's ring by Simple hands on two slots at once, and a chunk
 * in two parts, if they have 32 KiB. engine.slice and engine.window hold where they were given, so
 * for CollNet, whose loops are given as slices by whoever settles the machine for a size. */
struct protocol_cut protocol_cut(const struct machine *machine, const struct plan *plan,
                                 bool network);

/* Into how many slices a transfer is cut: as fine as the grain, but no finer than a 64th of the
 * transfer, beyond which hardly any time is saved. */
double protocol_slices(const struct protocol_cut *cut, double bytes);

/* How many of these slices may be in flight: those of `window` slots. */
uint32_t protocol_window(const struct protocol_cut *cut, double bytes);

/* The base latency, in seconds. */
double protocol_launch_s(const struct machine *machine, const struct mechanism *mechanism);

/* What a call whose work takes so long takes beyond it, in seconds, because it stands in a row of
 * calls (models/issue.h); 0 where nothing is said of issuing. */
double protocol_issue_s(const struct machine *machine, double work_s);

/* How the channels of a GPU get along in a run of a plan on a message. */
struct nccl_pace protocol_pace(const struct machine *machine, const struct plan *plan,
                               double size_B);

/* Payload per second that a GPU's channels push to a peer, together and one thing at a time;
 * INFINITY: their number is not known. */
double protocol_push_Bps(const struct machine *machine, const struct params *gpu);

/* Payload per second that they copy to the result, and that the GPU's NVLinks carry. */
double protocol_copy_Bps(const struct machine *machine, const struct params *gpu);
double protocol_link_Bps(const struct machine *machine, const struct params *gpu);

/* Payload per second whose flags a proxy thread reads; INFINITY: it reads none. */
double protocol_flags_Bps(const struct machine *machine);

/* Payload per second that they move to host memory, or from there. */
double protocol_host_Bps(const struct machine *machine, const struct params *gpu);

/* Whether channels send and receive at the same time. */
bool protocol_split(const struct machine *machine);

#endif
