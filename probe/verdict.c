/* verdict.c: see verdict.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "probe/verdict.h"

const char *const verdict_words[] = {"direct", "staged", "redirected", "mixed", "undecided"};

/* Per byte of the payload, means over the GPUs that took part. Without a payload D is what came in
 * by the busier way, so that shares still can be told. */
struct shares {
    unsigned gpus;    /* that took part */
    unsigned counted; /* that have any counter */
    bool no_pcie;     /* of one that took part, PCIe is not counted */
    double unit_B;    /* D times the GPUs */
    double v, t, r;
    double written, read, out, in; /* W, R and m of each leg, of the header */
    double apart;                  /* W from R, relative */
    bool balanced;                 /* t = r within 1 % */
};

static double magnitude(double x)
{
    return x < 0 ? -x : x;
}

static double larger(double a, double b)
{
    return a > b ? a : b;
}

/* 0 when it is not counted, and never negative. */
static double counted(double x)
{
    return x > 0 ? x : 0;
}

/* W and R if the SMs or the copy engine (packets of `out` and `in` bytes) moved the two legs; how
 * far W is from R, relative. */
static double legs(const struct shares *shares, double out, double in, double *ret_written,
                   double *ret_read)
{
    *ret_read = shares->r / (1 + 20 / in);
    *ret_written = (shares->t - *ret_read * 24 / in) / (1 + 24 / out);
    double most = larger(*ret_written, *ret_read);
    return most > 0 ? magnitude(*ret_written - *ret_read) / most : 1;
}

/* Choose the movers that make W and R most equal: one for both legs, unless only two fit. */
static void split(struct shares *shares)
{
    static const double movers[][2] = {{128, 128}, {256, 256}, {256, 128}, {128, 256}};
    static const double FITS = 0.003;
    for (size_t i = 0; i < 4; i++) {
        double written, read;
        double apart = legs(shares, movers[i][0], movers[i][1], &written, &read);
        bool better = i < 2 ? apart < shares->apart
                            : apart < FITS && shares->apart > FITS && apart < shares->apart;
        if (i > 0 && !better)
            continue;
        shares->apart = apart;
        shares->written = written;
        shares->read = read;
        shares->out = movers[i][0];
        shares->in = movers[i][1];
    }
}

static void weigh(const struct evidence *evidence, struct shares *shares)
{
    double most = 0, v = 0, t = 0, r = 0;
    memset(shares, 0, sizeof *shares);
    for (unsigned i = 0; i < evidence->gpu_count; i++)
        most =
            larger(most, counted(evidence->gpus[i].nvlink_rx) + counted(evidence->gpus[i].pcie_rx) +
                             counted(evidence->gpus[i].pcie_tx));
    for (unsigned i = 0; i < evidence->gpu_count; i++) {
        double nvlink = counted(evidence->gpus[i].nvlink_rx);
        double out = counted(evidence->gpus[i].pcie_tx), in = counted(evidence->gpus[i].pcie_rx);
        shares->counted += !isnan(evidence->gpus[i].nvlink_rx) || !isnan(evidence->gpus[i].pcie_rx);
        if (nvlink + out + in < 0.01 * most || most == 0)
            continue; /* it did not take part */
        shares->gpus++;
        shares->no_pcie = shares->no_pcie || isnan(evidence->gpus[i].pcie_rx);
        v += nvlink;
        t += out;
        r += in;
    }
    shares->unit_B =
        isnan(evidence->payload_B) ? larger(v, larger(t, r)) : evidence->payload_B * shares->gpus;
    if (shares->unit_B <= 0)
        return;
    shares->v = v / shares->unit_B;
    shares->t = t / shares->unit_B;
    shares->r = r / shares->unit_B;
    shares->balanced = magnitude(shares->t - shares->r) < 0.01 * larger(shares->t, shares->r);
    split(shares);
}

static void conclude(struct verdict *verdict, enum verdict_word word, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void conclude(struct verdict *verdict, enum verdict_word word, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(verdict->text, sizeof verdict->text, format, arguments);
    va_end(arguments);
    verdict->word = word;
}

static void add_caution(struct verdict *verdict, const char *text)
{
    size_t length = strlen(verdict->caution);
    snprintf(verdict->caution + length, sizeof verdict->caution - length, "%s%s",
             length ? "; " : "", text);
}

/* DRAM is counted: it decides. */
static void by_memory(const struct evidence *evidence, const struct shares *shares,
                      struct verdict *verdict)
{
    double s = counted(evidence->dram) / shares->unit_B;
    double i = counted(evidence->iio) / shares->unit_B;
    if (s > 0.5)
        conclude(verdict, VERDICT_STAGED,
                 "through memory of the host: %.2f B of DRAM traffic a payload byte (a bounce "
                 "buffer makes 2, a memcpy on top 2 more)",
                 s);
    else if (isnan(evidence->iio))
        conclude(verdict, VERDICT_DIRECT,
                 "over PCIe without memory of the host: %.2f B of DRAM traffic a payload byte", s);
    else if (i > 0.5)
        conclude(verdict, VERDICT_REDIRECTED,
                 "up to the root ports and back (%.2f B there a payload byte) without memory "
                 "(%.2f B of DRAM traffic): redirected by ACS, or between root ports",
                 i, s);
    else
        conclude(verdict, VERDICT_DIRECT,
                 "under one PCIe switch: %.2f B through the root ports and %.2f B of DRAM traffic "
                 "a payload byte",
                 i, s);
    if (s < 0.5)
        add_caution(verdict, "a bounce buffer that stays in the last-level cache shows no DRAM "
                             "traffic either: repeat with a payload much larger than the cache");
}

static const char *mover_text(double packet)
{
    return packet < 200 ? "the SMs" : "the copy engine";
}

/* Only the GPUs' own PCIe counters: the packets decide. */
static void by_packets(const struct shares *shares, struct verdict *verdict)
{
    if (shares->gpus > 1 && shares->balanced && shares->r > 0.02)
        conclude(
            verdict, VERDICT_DIRECT,
            "GPU to GPU over PCIe: every packet that left one GPU entered another (%.4f B out, "
            "%.4f B in a payload byte)",
            shares->t, shares->r);
    else if (shares->r > 0.02 && shares->t < 24.0 / 1024 * shares->r)
        conclude(verdict, VERDICT_DIRECT,
                 "a NIC, a drive or the CPU wrote straight into the GPU: %.4f B came in a payload "
                 "byte and no read requests went out (%.4f B)",
                 shares->r, shares->t);
    else if (shares->r < 0.01 * shares->t)
        conclude(verdict, VERDICT_UNDECIDED,
                 "%.4f B left the GPU a payload byte and nothing came in: a copy to the host, or "
                 "writes into another device",
                 shares->t);
    else if (shares->apart < 0.03)
        conclude(
            verdict, VERDICT_STAGED,
            "through memory of the host: for each payload byte %.3f B written to it by %s (packets "
            "of %g B) and %.3f B read from it by %s (%g B)",
            shares->written, mover_text(shares->out), shares->out, shares->read,
            mover_text(shares->in), shares->in);
    else if (shares->written < 0.03 * shares->read)
        conclude(verdict, VERDICT_UNDECIDED,
                 "the GPU read %.3f B from the host a payload byte and wrote nothing back: a copy "
                 "to the GPU, or the reading half of a staged transfer",
                 shares->read);
    else
        conclude(verdict, VERDICT_UNDECIDED,
                 "%.4f B out and %.4f B in a payload byte fit neither staging (then as much would "
                 "be read from the host as written) nor direct transfers between GPUs (then as "
                 "much would come in as goes out)",
                 shares->t, shares->r);
    if (verdict->word != VERDICT_UNDECIDED)
        add_caution(verdict, "DRAM is not counted here: this rests on the headers of the packets");
}

/* Without a payload to compare with, less traffic than this says nothing. */
static const double LEAST_B = 10e6;

static void by_counters(const struct evidence *evidence, const struct shares *shares,
                        struct verdict *verdict)
{
    double pcie = larger(shares->t, shares->r), all = shares->v + pcie;
    bool known = !isnan(evidence->payload_B);
    if (shares->counted == 0) {
        conclude(verdict, VERDICT_UNDECIDED, "no counter of a GPU could be read");
    } else if (shares->unit_B <= 0 || shares->gpus == 0) {
        conclude(verdict, VERDICT_UNDECIDED, "the counters of the GPUs saw nothing");
    } else if (!known && all * shares->unit_B < LEAST_B) {
        conclude(verdict, VERDICT_UNDECIDED,
                 "the GPUs moved only %.1f MB beyond what they move idle",
                 all * shares->unit_B * 1e-6);
    } else if (known && all < 0.02) {
        conclude(
            verdict, VERDICT_UNDECIDED,
            "the counters saw only %.4f B a payload byte: the payload took another way, or was "
            "not what was said",
            all);
    } else if (pcie < 0.02 * all) {
        if (known)
            conclude(verdict, VERDICT_DIRECT,
                     "over NVLink: %.4f B a payload byte, and %.4f B over PCIe", shares->v, pcie);
        else
            conclude(verdict, VERDICT_DIRECT, "over NVLink: %.2f GB came in, PCIe carried %.2f %%",
                     shares->v * shares->unit_B * 1e-9, 100 * pcie / all);
    } else if (shares->v > 0.02 * all) {
        conclude(verdict, VERDICT_MIXED,
                 "%.4f B over NVLink and %.4f B out, %.4f B in over PCIe a byte of %s", shares->v,
                 shares->t, shares->r, known ? "payload" : "the busier way");
    } else if (!isnan(evidence->dram)) {
        by_memory(evidence, shares, verdict);
    } else {
        by_packets(shares, verdict);
    }
}

/* ---- NCCL's label against the counters ------------------------------------------------------- */

static unsigned connections_of(const struct nccl_log *log, enum nccl_class class)
{
    unsigned sum = 0;
    for (size_t i = 0; i < log->label_count; i++)
        if (log->labels[i].class == class)
            sum += log->labels[i].connections;
    return sum;
}

static void disagree(struct verdict *verdict, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void disagree(struct verdict *verdict, const char *format, ...)
{
    size_t length = strlen(verdict->conflict);
    va_list arguments;
    if (length)
        length +=
            (size_t)snprintf(verdict->conflict + length, sizeof verdict->conflict - length, "; ");
    if (length >= sizeof verdict->conflict)
        return;
    va_start(arguments, format);
    vsnprintf(verdict->conflict + length, sizeof verdict->conflict - length, format, arguments);
    va_end(arguments);
}

static void compare(const struct evidence *evidence, const struct shares *shares,
                    struct verdict *verdict)
{
    const struct nccl_log *log = evidence->log;
    bool known = !isnan(evidence->payload_B);
    if (!log || log->label_count == 0 || shares->unit_B <= 0)
        return;
    unsigned direct = connections_of(log, NCCL_P2P), socket = connections_of(log, NCCL_NET_SOCKET);
    unsigned gdr = connections_of(log, NCCL_NET_GDR), nic = connections_of(log, NCCL_NET_STAGED);
    unsigned staged = connections_of(log, NCCL_SHM) + socket + nic;
    if (direct && !staged && verdict->word == VERDICT_STAGED)
        disagree(verdict, "NCCL says P2P on every channel, but the bytes went through the host");
    if (gdr && !staged && verdict->word == VERDICT_STAGED)
        disagree(verdict, "NCCL says GPUDirect RDMA, but the bytes went through the host");
    if (staged && !direct && !gdr && shares->v > 0.1)
        disagree(verdict,
                 "NCCL says that every channel is staged, but NVLink carried %.2f B a "
                 "byte",
                 shares->v);
    else if (staged && !direct && !gdr && verdict->word == VERDICT_DIRECT)
        disagree(verdict, "NCCL says that every channel is staged, but the counters say direct");
    if (known && socket && counted(evidence->net_rx) < 0.1 * evidence->payload_B)
        disagree(verdict,
                 "NCCL says sockets, but network interfaces received only %.3f B a "
                 "payload byte",
                 counted(evidence->net_rx) / evidence->payload_B);
    if (known && gdr + nic && !(evidence->nic_rx > 0.1 * evidence->payload_B))
        disagree(verdict,
                 "NCCL says an RDMA NIC, but its ports received only %.3f B a payload "
                 "byte",
                 counted(evidence->nic_rx) / evidence->payload_B);
    if (known && !(gdr + nic) && evidence->nic_rx > 0.1 * evidence->payload_B)
        disagree(verdict, "NCCL names no RDMA NIC, but its ports received %.3f B a payload byte",
                 evidence->nic_rx / evidence->payload_B);
}

void verdict_reach(const struct evidence *evidence, struct verdict *ret_verdict)
{
    struct shares shares;
    memset(ret_verdict, 0, sizeof *ret_verdict);
    weigh(evidence, &shares);
    by_counters(evidence, &shares, ret_verdict);
    if (shares.no_pcie)
        add_caution(ret_verdict, "PCIe is not counted here");
    if (evidence->unsure)
        add_caution(ret_verdict, "some bytes may be missing: a 32-bit counter was read too rarely");
    if (isnan(evidence->payload_B))
        add_caution(ret_verdict, "the payload is not known (--bytes), so bytes a payload byte are "
                                 "not known either");
    size_t length = strlen(ret_verdict->text);
    if (ret_verdict->word == VERDICT_STAGED && evidence->net_rx > 0.1 * shares.unit_B)
        snprintf(ret_verdict->text + length, sizeof ret_verdict->text - length,
                 "; and over TCP: network interfaces received %.3f B",
                 evidence->net_rx / shares.unit_B);
    compare(evidence, &shares, ret_verdict);
}
