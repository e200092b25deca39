/* observe_nccl_info.c: what NCCL's log (NCCL_DEBUG=INFO) proves about the way that bytes took.
 *
 *   Channel 00/04 : 0[0] -> 1[1] via P2P/CUMEM                     one connection each
 *   Channel 00 : 0[0] -> 1[1] via SHM/direct/direct
 *   Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA         without /GDRDMA: staged
 *   CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA
 *   NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'
 *   NCCL_ALGO set by environment to Ring
 *   AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}
 *   NCCL version 2.28.3+cuda13.0;  comm 0x.. rank 0 nranks 2 ..
 *
 * What the log's own cost table says is for sim/load/nccl_tuning.c. Times that nccl-tests prints
 * between these lines are read too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/observation.h"

static void read_way(const struct text_line *line, const char *via, struct observed_run *run)
{
    static const struct {
        const char *word;
        size_t channels; /* offset in struct observed_channels */
    } ways[] = {{"P2P/", offsetof(struct observed_channels, p2p)},
                {"SHM", offsetof(struct observed_channels, shm)},
                {"COLLNET/", offsetof(struct observed_channels, collnet)},
                {"NET/", offsetof(struct observed_channels, net_staged)}};
    size_t left = line->length - (size_t)(via - line->start);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        size_t length = strlen(ways[i].word), offset = ways[i].channels;
        if (left < length || memcmp(via, ways[i].word, length) != 0)
            continue;
        if (strcmp(ways[i].word, "NET/") == 0 && text_find(line, "/GDRDMA"))
            offset = offsetof(struct observed_channels, net_gdr);
        ++*(uint32_t *)(void *)((char *)&run->channels + offset);
        return;
    }
}

/* The word after `key`, without what does not belong to it. */
static void word_after(const struct text_line *line, const char *key, char *to, size_t size)
{
    const char *at = text_find(line, key);
    if (!at)
        return;
    at += strlen(key);
    size_t length = 0, left = line->length - (size_t)(at - line->start);
    while (length < left && at[length] != ' ' && at[length] != ',')
        length++;
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), at);
}

static void read_choice(const struct text_line *line, const char *bytes, struct observations *all,
                        struct observed_run *run)
{
    struct observed_choice choice = {0};
    const char *from = bytes;
    struct text_word word;
    char channels[32] = "";
    int low = 0, high = -1;
    while (from > line->start && from[-1] >= '0' && from[-1] <= '9')
        from--;
    word = (struct text_word){from, (size_t)(bytes - from)};
    if (!text_whole(&word, &choice.size_B))
        return;
    word_after(line, "Algo ", choice.algorithm, sizeof choice.algorithm);
    word_after(line, "proto ", choice.protocol, sizeof choice.protocol);
    word_after(line, "{Lo..Hi}=", channels, sizeof channels);
    if (sscanf(channels, "{%d..%d}", &low, &high) == 2)
        choice.channels = high - low + 1;
    if (run->choice_count > 0 &&
        memcmp(&run->choices[run->choice_count - 1], &choice, sizeof choice) == 0)
        return; /* every rank says it */
    struct observed_choice *grown = realloc(run->choices, (run->choice_count + 1) * sizeof *grown);
    if (!grown) {
        all->nomem = true;
        return;
    }
    run->choices = grown;
    run->choices[run->choice_count++] = choice;
}

static void read_line(const struct text_line *line, struct observations *all, size_t run_index)
{
    struct observed_run *run = &all->runs[run_index];
    const char *via = text_find(line, " via ");
    const char *bytes = text_find(line, " Bytes -> Algo ");
    if (via && (text_find(line, "Channel ") || text_find(line, "CollNet ")))
        read_way(line, via + 5, run);
    if (text_find(line, "GPU Direct RDMA Disabled for HCA") ||
        text_find(line, "GPU Direct RDMA (nvidia-peermem) disabled"))
        run->gdr_disabled++;
    if (bytes)
        read_choice(line, bytes, all, run);
    word_after(line, "NCCL_ALGO set by environment to ", run->algorithm, sizeof run->algorithm);
    word_after(line, "NCCL_PROTO set by environment to ", run->protocol, sizeof run->protocol);
    if (!run->version[0])
        word_after(line, "NCCL version ", run->version, sizeof run->version);
    char ranks[16] = "";
    word_after(line, " nranks ", ranks, sizeof ranks);
    struct text_word word = {ranks, strlen(ranks)};
    double value;
    if (run->ranks == 0 && text_whole(&word, &value) && value < 1e7)
        run->ranks = (uint32_t)value;
}

enum status observe_nccl_info(const struct observe_input *in, struct observations *all,
                              struct diag_list *diag)
{
    size_t index = all->run_count;
    struct text_line line;
    (void)diag;
    if (!observe_run(all, in, OBSERVE_NCCL_INFO, 1))
        return STATUS_NOMEM;
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;)
        read_line(&line, all, index);
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}
