/* pcie.h: what a PCIe link carries.
 *
 * Equations (pcie-bench, SIGCOMM 2018, doi 10.1145/3230543.3230560; the code of its model, which
 * differs from the paper's text in the request direction, is followed):
 *
 *   raw     = GT/s * width * encoding / 8                                       bytes/s
 *   link    = raw * (1 - 8/ack - 8/fc - 4/1538)      ACK and flow-control DLLPs of 8 B, SKIP
 *   write   : wire = ceil(n/MPS)*24 + n               rate = link * n / wire
 *   read    : up   = ceil(n/MRRS)*24;  down = ceil(n/MPS)*20 + n
 *             rate = link * n / max(up, down)
 *
 * n = bytes of one DMA, MPS = maximum payload size, MRRS = maximum read request size. 24 B is a
 * memory write or read request header with 64-bit address, 20 B a completion header, both with
 * data-link header and framing. ack = fc = bytes between DLLPs, by width and MPS (table in
 * pcie.c). Assumptions: no ECRC, completions cut at MPS, enough credits and tags in flight.
 */
#ifndef GDSIM_MODELS_PCIE_H
#define GDSIM_MODELS_PCIE_H

#define PCIE_REQUEST_B    24.0 /* header bytes on the link of a write or read request TLP */
#define PCIE_COMPLETION_B 20.0 /* header bytes on the link of a completion TLP */

/* Bytes per second of an encoded link, one direction, before any header. gen 1..7, width 1..32.
 * Gen4 x16: 31.51e9. Returns 0 for a generation that does not exist. */
double pcie_raw_Bps(int gen, int width);

/* The same less DLLPs and SKIP symbols: what is left for TLPs. mps 128 .. 4096 bytes. */
double pcie_tlp_Bps(int gen, int width, int mps_B);

/* Payload rate of back-to-back DMA writes of n bytes. Gen4 x16, MPS 256, 64 KiB: 25.99e9. */
double pcie_write_Bps(int gen, int width, int mps_B, double n_B);

/* Payload rate of back-to-back DMA reads of n bytes. Gen4 x16, MPS 256, MRRS 512: 26.37e9. */
double pcie_read_Bps(int gen, int width, int mps_B, int mrrs_B, double n_B);

#endif
