/* nccl_log.c: see nccl_log.h.
 *
 * Payload of a run of nccl-tests, from its header and the sizes of its rows (2.19; as its source
 * does): before the rows W warm-up calls of the largest and W of the smallest size; then for each
 * row, out of place and in place, one call to synchronize, N x A timed ones, and one whose result
 * is checked when validation is on: W (max + min) + sum over rows 2 size (1 + N A + check)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/nccl_log.h"

const char *nccl_class_text(enum nccl_class class)
{
    static const char *const texts[NCCL_CLASSES] = {
        "GPU to GPU",       "staged through host memory",
        "staged, over TCP", "staged, over an RDMA NIC",
        "GPUDirect RDMA",   "unknown transport"};
    return texts[class];
}

void nccl_label_text(const struct nccl_label *label, char *buffer, size_t size)
{
    char channels[200] = "";
    size_t length = 0;
    for (int first = 0; first < 64 && length < sizeof channels; first++) {
        int last = first;
        if (!(label->channels >> first & 1))
            continue;
        while (last < 63 && label->channels >> (last + 1) & 1)
            last++;
        length +=
            (size_t)snprintf(channels + length, sizeof channels - length,
                             last > first ? "%s%d-%d" : "%s%d", length ? "," : "", first, last);
        first = last;
    }
    snprintf(buffer, size, "%u connections on channels %s via %s (%s)", label->connections,
             channels, label->text, nccl_class_text(label->class));
}

static enum nccl_class class_of(const char *via)
{
    if (strncmp(via, "P2P", 3) == 0)
        return NCCL_P2P;
    if (strncmp(via, "SHM", 3) == 0)
        return NCCL_SHM;
    if (strncmp(via, "NET/Socket", 10) == 0)
        return NCCL_NET_SOCKET;
    if (strncmp(via, "NET/", 4) == 0)
        return strstr(via, "GDRDMA") ? NCCL_NET_GDR : NCCL_NET_STAGED;
    return NCCL_OTHER;
}

/* "Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA comm 0x..." */
static void take_channel(struct nccl_log *log, const char *via, unsigned long channel)
{
    char text[48];
    size_t length = strcspn(via, " \r\n");
    if (strncmp(via, "P2P/direct pointer", 18) == 0)
        length = 18;
    if (length == 0 || length >= sizeof text)
        return;
    snprintf(text, sizeof text, "%.*s", (int)length, via);
    for (size_t i = 0; i < log->label_count; i++)
        if (strcmp(log->labels[i].text, text) == 0) {
            log->labels[i].connections++;
            log->labels[i].channels |= channel < 64 ? UINT64_C(1) << channel : 0;
            return;
        }
    if (log->label_count == NCCL_LABELS)
        return;
    struct nccl_label *label = &log->labels[log->label_count++];
    snprintf(label->text, sizeof label->text, "%s", text);
    label->class = class_of(text);
    label->connections = 1;
    label->channels = channel < 64 ? UINT64_C(1) << channel : 0;
}

static double after(const char *line, const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtod(at + strlen(key), NULL) : 0;
}

/* "# nThread 1 nGpus 2 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg
 * iters: 1 validation: 1 ..." */
static void take_header(struct nccl_log *log, const char *line)
{
    log->min_B = after(line, "minBytes ");
    log->max_B = after(line, "maxBytes ");
    log->warmup = after(line, "warmup iters: ");
    const char *iters = strstr(line, "warmup iters: ");
    log->iters = iters ? after(iters + strlen("warmup "), " iters: ") : 0;
    log->agg = after(line, "agg iters: ");
    log->check = after(line, "validation: ") > 0;
    log->payload_B += log->warmup * (log->min_B + log->max_B);
}

/* "  1024   256   float   sum   -1   9.30 ...": size, count, type. */
static void take_row(struct nccl_log *log, const char *line)
{
    double size, count;
    char type[16];
    if (log->iters <= 0 || sscanf(line, " %lf %lf %15[a-z0-9_]", &size, &count, type) != 3 ||
        type[0] < 'a' || size < log->min_B || size > log->max_B)
        return;
    log->rows++;
    log->payload_B += 2 * size * (1 + log->iters * (log->agg > 0 ? log->agg : 1) + log->check);
}

void nccl_log_line(struct nccl_log *log, const char *line)
{
    const char *channel = strstr(line, "NCCL INFO Channel ");
    const char *via = channel ? strstr(channel, " via ") : NULL;
    const char *version = strstr(line, "NCCL version ");
    if (via)
        take_channel(log, via + 5, strtoul(channel + strlen("NCCL INFO Channel "), NULL, 10));
    else if (version && !log->version[0])
        snprintf(log->version, sizeof log->version, "%.*s", (int)strcspn(version + 13, " \r"),
                 version + 13);
    else if (strncmp(line, "# Collective test starting: ", 28) == 0)
        snprintf(log->test, sizeof log->test, "%.*s", (int)strcspn(line + 28, " \r"), line + 28);
    else if (strncmp(line, "# nThread ", 10) == 0)
        take_header(log, line);
    else if (line[0] == ' ')
        take_row(log, line);
}
