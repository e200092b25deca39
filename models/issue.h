/* issue.h: calls that a CPU issues one after the other, and the GPU does in the same order.
 *
 *   i_n  = i (1 + g (n - 1))             s to issue one call of n channels
 *   T(N) = i_n + (N - 1) max(i_n, w) + w  = N max(i_n, w) + min(i_n, w)
 *   mean = T(N) / N
 *
 * i = time to issue a call of one channel, s; g = what each further channel adds, of i; w = work of
 * one call on the GPU, s; N = calls before anything is waited for: 1 is a lone call, and
 * nccl-tests takes 20 and reports the mean. N = 1 gives i + w, many calls max(i, w).
 *
 * Assumptions: the queue between them never fills (1024 launches), work does not depend on what
 * else is queued, and noticing the end is part of i.
 *
 * Source: nccl-tests, src/common.cu (a loop of `iters` calls, then one wait; the time is divided by
 * iters), restated. Measured on two H200 (NCCL 2.28.9, one process, 2026-11-30, by issue.cu beside
 * its results in tests/data/h200x2-issue): allreduce by ring and Simple, 4 MiB: i 16.5 us (issued
 * while the GPUs were held back), w 32.86 (all calls queued before the GPUs began); mean of 20 then
 * 33.69, measured 33.60; of 100 33.03 and 33.06; a lone call 49.3 and 52.6: 3 us to notice the end.
 * g: 13.4 us with one channel and 16.0 with 24, 21.4 and 25.0 in another process: 0.8 % a channel.
 *
 * What it costs to issue does not depend on the call: allreduce, allgather, send and receive take
 * 13.4, 13.3 and 13.3 us in one process, and 21.4, 21.5 and 22.2 in another, where copies too take
 * 2.5 us to issue instead of 1.5. So a virtual machine has at least two speeds, a process may
 * change from one to the other, and a run's own cannot be known beforehand.
 */
#ifndef GDSIM_MODELS_ISSUE_H
#define GDSIM_MODELS_ISSUE_H

/* Seconds to issue a call. */
double issue_s(double one_channel_s, double growth, double channels);

/* Seconds for each of N calls. 0 s to issue: the work alone. */
double issue_mean_s(double issue_s, double work_s, double calls);

#endif
