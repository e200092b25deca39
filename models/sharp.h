/* sharp.h: reduction in the switches of the fabric (SHARP) and its two operating modes.
 *
 *   levels   L = 1 where one switch joins all members; a switch above a leaf joins p/2 below it,
 *            so L levels of switches with p ports join p (p/2)^(L-1)
 *   up       L (t_hop + t_agg)               every level passes on and adds
 *   down     t_agg + (L - 1) t_hop           the root hands out, the levels below pass on
 *   LLT      t = t_0 + max(S/B, (ceil(S/P) - 1) t_round/O)
 *   SAT      t = t_0 + t_setup + S/(e B_tree)
 *   tree     e B_tree = e min(B_nic, B_up min(1, u/G)) min(1, F/A)
 *
 * LLT = low latency tree: a message of S bytes is cut into operations of at most P bytes, of which
 * O may be on their way; each is known to be over when its result is back, t_round after it was
 * posted (Little's law). SAT = streaming aggregation tree: the switch adds the bytes as they pass,
 * so one operation carries any S at nearly the rate of the link, once it is set up.
 * t_0 = posting, wire, up and down; B = rate of the link, B_up = of a switch's uplink, u = uplinks
 * of a leaf, G = groups (trees) of the job, F = SAT operations that run at once on what they share
 * (a port or a switch), A = those that want to; e = share of point-to-point bandwidth. Times in
 * seconds, S and P in bytes, rates in bytes/s.
 *
 * Assumptions: all members arrive at once; the root is as fast as a leaf; groups that share a
 * switch take turns of equal length; whether they may (or the job runs without SHARP) is for the
 * caller to say. Left out: longer messages are cut (at 1 GiB - 32 B; by NCCL's plugin at 512 MiB)
 * and set up once for each piece, which adds less than a thousandth. Bytes: each member sends S and
 * receives S, whatever their number; a ring sends and receives 2(n-1)/n S.
 *
 * Sources: Graham et al., COMHPC 2016, doi 10.1109/COMHPC.2016.006: 128 hosts, 8 B 2.83 us, 4096 B
 * in operations of 256 B 14.48 us, so 0.78 us each (cited). Graham et al., ISC 2020, doi
 * 10.1007/978-3-030-50743-5_3: SAT reaches 96 % of point-to-point bandwidth (cited). NVIDIA SHARP
 * documentation: SAT from 16384 B on, P up to 1024 or 2048 B on Quantum and 256 B on Switch-IB 2,
 * at least 2 operations a group; one active SAT tree a switch on Quantum (2 flows from firmware
 * 27.2000.2708 on), one a port on Quantum-2; 63 and 511 trees of each mode (cited). t_setup = 5.5
 * us is fitted: the line through the manual's 128 nodes from 16 KiB to 1 MiB begins at 12.9 us,
 * its LLT at 7.4 us.
 */
#ifndef GDSIM_MODELS_SHARP_H
#define GDSIM_MODELS_SHARP_H

/* Levels of switches with `ports` ports that join `members` ports. 64 ports: 1 up to 64, 2 up to
 * 2048, 3 up to 65536. */
int sharp_levels(double members, double ports);

/* What the switches add on the way up, and on the way down. */
double sharp_up_s(int levels, double hop_s, double add_s);
double sharp_down_s(int levels, double hop_s, double add_s);

/* Operations of at most payload_B that a message is cut into: at least 1. */
double sharp_operations(double size_B, double payload_B);

/* From one operation to the next, as far as operations outstanding limit it. */
double sharp_operation_s(double round_s, double outstanding);

/* Whole low-latency allreduce; base_s = t_0. */
double sharp_llt_s(double size_B, double payload_B, double rate_Bps, double base_s, double round_s,
                   double outstanding);

/* Whole streaming allreduce. */
double sharp_sat_s(double size_B, double tree_Bps, double base_s, double setup_s);

/* Share of its rate that a tree has where `active` want to run and `flows` can. */
double sharp_share(double active, double flows);

/* Rate of a tree: of its members' links and, with more than one level, of the uplinks. */
double sharp_tree_Bps(double link_Bps, double efficiency, int levels, double uplink_Bps,
                      double uplinks, double groups);

#endif
