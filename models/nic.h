/* nic.h: what a NIC delivers of its line rate, and the bound on what it can read over PCIe.
 *
 *   wire   : payload = line * MTU / (MTU + h)
 *            h = BTH 12 + RETH 16 + ICRC 4 + VCRC 2 + delimiter 2 + { LRH 8             IB     44 B
 *                                                                  { GRH 40 + Eth 14   RoCE   90 B
 *   reads  : rate = min(limit, N * r / t)             needed: N = ceil(rate * t / r)
 *
 * line = data rate, bytes/s; h = header bytes a packet; N = PCIe reads outstanding; r = bytes of a
 * read request (at most MRRS); t = round trip of a read, s; limit = link or line rate, bytes/s.
 * The read bound is Little's law. It holds for the sending side, which reads GPU memory; the
 * receiving side posts writes and is not bound by it.
 *
 * Source: header sizes and formula, openucx/ucx at 9466d104, src/uct/ib/base/ib_iface.c and
 * ib_device.h (cited). Read bound: NVIDIA/nccl-tests issue 152, where 44 outstanding reads
 * (MAX_ACC_OUT_READ) lifted 4 x HDR from 30 to 93 GB/s; neither r nor t is printed there, so both
 * are parameters. Assumptions: full packets, RC transport, no loss. Measured on NDR with MTU 4096:
 * 47.3 .. 47.5 GB/s of 50, which is 0.96 of the 49.5 given here; the difference is not explained.
 */
#ifndef GDSIM_MODELS_NIC_H
#define GDSIM_MODELS_NIC_H

enum nic_link { NIC_IB, NIC_ROCE };

/* Payload bytes per wire byte for full packets; mtu 256 .. 4096 bytes. IB, 4096: 0.98937. */
double nic_wire_efficiency(enum nic_link link, int mtu_B);

/* Payload rate of a line of so many bytes/s. IB, 25e9, 4096: 24.73e9. */
double nic_payload_Bps(enum nic_link link, double line_Bps, int mtu_B);

/* Rate of reads over PCIe: min(limit, outstanding * request / round trip). */
double nic_read_Bps(double limit_Bps, double outstanding, double request_B, double round_trip_s);

/* Outstanding reads needed for a rate: the smallest whole number that nic_read_Bps() needs. */
double nic_reads_needed(double rate_Bps, double request_B, double round_trip_s);

#endif
