/* observation.c: the list, its words, and which reader a text is for. See observation.h. */
#include "sim/load/observation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    observe_reader *read;
} formats[OBSERVE_FORMATS] = {
    [OBSERVE_NCCL_TESTS] = {"nccl-tests", observe_nccl_tests},
    [OBSERVE_NCCL_INFO] = {"nccl-info", observe_nccl_info},
    [OBSERVE_JSON] = {"json", observe_json},
    [OBSERVE_CSV] = {"csv", observe_csv},
    [OBSERVE_OSU] = {"osu", observe_osu},
    [OBSERVE_PERFTEST] = {"perftest", observe_perftest},
    [OBSERVE_GDRCOPY] = {"gdrcopy", observe_gdrcopy},
    [OBSERVE_GDSIO] = {"gdsio", observe_gdsio},
    [OBSERVE_NVFS] = {"nvidia-fs", observe_nvfs},
};

const char *observe_format_name(enum observe_format format)
{
    return format < OBSERVE_FORMATS ? formats[format].name : "auto";
}

void observations_init(struct observations *all)
{
    memset(all, 0, sizeof *all);
}

void observations_free(struct observations *all)
{
    for (size_t i = 0; i < all->run_count; i++)
        free(all->runs[i].choices);
    for (size_t i = 0; i < all->word_count; i++)
        free(all->words[i]);
    free(all->words);
    free(all->runs);
    free(all->items);
    memset(all, 0, sizeof *all);
}

const char *observe_word(struct observations *all, const char *word, size_t length)
{
    for (size_t i = all->word_count; i-- > 0;)
        if (strncmp(all->words[i], word, length) == 0 && all->words[i][length] == '\0')
            return all->words[i];
    char *copy = malloc(length + 1);
    char **grown = realloc(all->words, (all->word_count + 1) * sizeof *grown);
    if (grown)
        all->words = grown;
    if (!copy || !grown) {
        free(copy);
        all->nomem = true;
        return "";
    }
    memcpy(copy, word, length);
    copy[length] = '\0';
    return all->words[all->word_count++] = copy;
}

struct observed_run *observe_run(struct observations *all, const struct observe_input *in,
                                 enum observe_format format, uint32_t line)
{
    struct observed_run *grown = realloc(all->runs, (all->run_count + 1) * sizeof *grown);
    if (!grown) {
        all->nomem = true;
        return NULL;
    }
    all->runs = grown;
    struct observed_run *run = &all->runs[all->run_count++];
    *run = (struct observed_run){.file = observe_word(all, in->name, strlen(in->name)),
                                 .format = format,
                                 .line = line,
                                 .compat_ops = (double)NAN,
                                 .direct_ops = (double)NAN};
    return run;
}

struct observation *observe_add(struct observations *all, uint32_t line, const char *what,
                                const char *variant, double size_B)
{
    const double unknown = (double)NAN;
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 64;
        struct observation *grown = realloc(all->items, capacity * sizeof *grown);
        if (!grown) {
            all->nomem = true;
            return NULL;
        }
        all->items = grown;
        all->capacity = capacity;
    }
    struct observation *item = &all->items[all->count++];
    *item = (struct observation){.run = (uint32_t)(all->run_count - 1),
                                 .line = line,
                                 .what = observe_word(all, what, strlen(what)),
                                 .variant = observe_word(all, variant, strlen(variant)),
                                 .size_B = size_B,
                                 .time_s = unknown,
                                 .algbw_Bps = unknown,
                                 .busbw_Bps = unknown,
                                 .low_s = unknown,
                                 .high_s = unknown,
                                 .counted = unknown};
    return item;
}

/* ---- ranks ------------------------------------------------------------------------------------
 */

double observe_bus_factor(const char *collective, uint32_t ranks)
{
    static const char *const shares[] = {"reduce_scatter", "all_gather", "alltoall",
                                         "gather",         "scatter",    "allgather"};
    double n = ranks;
    if (strcmp(collective, "all_reduce") == 0 || strcmp(collective, "allreduce") == 0)
        return 2 * (n - 1) / n;
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++)
        if (strcmp(collective, shares[i]) == 0)
            return (n - 1) / n;
    return strcmp(collective, "broadcast") == 0 || strcmp(collective, "reduce") == 0 ||
                   strcmp(collective, "sendrecv") == 0
               ? 1.0
               : 0.0;
}

/* The factor f lies within (busbw +- step/2) / (algbw -+ step/2). With f = k (n-1)/n, k = 1 or 2,
 * n = k / (k - f). */
void observe_bound_ranks(struct observed_run *run, const char *collective, double algbw,
                         double busbw, double step)
{
    double k = observe_bus_factor(collective, 1u << 30); /* 2, 1, or 1 for all n */
    k = k > 1.5 ? 2 : k > 0 && observe_bus_factor(collective, 1) < 0.5 ? 1 : 0;
    if (!(k > 0) || !(algbw > 100 * step))
        return;
    double least = (busbw - step / 2) / (algbw + step / 2);
    double most = (busbw + step / 2) / (algbw - step / 2);
    double low = least < k ? k / (k - least) : (double)INFINITY;
    double high = most < k ? k / (k - most) : (double)INFINITY;
    uint32_t from = low > 1e9 ? 1000000000u : (uint32_t)fmax(1, ceil(low - 1e-9));
    uint32_t to = high > 1e9 ? 1000000000u : (uint32_t)fmax(1, floor(high + 1e-9));
    if (from > to) /* no whole number at all: rounding beyond what is known; say nothing */
        return;
    if (run->ranks_high == 0) {
        run->ranks_low = from;
        run->ranks_high = to;
    }
    if (from > run->ranks_high || to < run->ranks_low)
        return;
    run->ranks_low = from > run->ranks_low ? from : run->ranks_low;
    run->ranks_high = to < run->ranks_high ? to : run->ranks_high;
}

void observe_check_run(const struct observed_run *run, struct diag_list *diag)
{
    struct mark mark = {diag_intern(diag, run->file), run->line, 0};
    if (run->ranks && run->ranks_high &&
        (run->ranks < run->ranks_low || run->ranks > run->ranks_high)) {
        if (run->ranks_low == run->ranks_high)
            diag_add(diag, mark, "the numbers are believed, not the label",
                     "its head lists %u ranks, but busbw over algbw is that of %u", run->ranks,
                     run->ranks_low);
        else
            diag_add(diag, mark, "the numbers are believed, not the label",
                     "its head lists %u ranks, but busbw over algbw is that of %u to %u",
                     run->ranks, run->ranks_low, run->ranks_high);
    }
    if (run->wrong)
        diag_add(diag, mark, "such times may be of a transfer that moved nothing",
                 "the test itself found %u wrong results", run->wrong);
}

/* ---- lines and words --------------------------------------------------------------------------
 */

bool text_next_line(const struct observe_input *in, const char **at, struct text_line *line)
{
    const char *end = in->text + in->length;
    if (*at == in->text)
        line->number = 0;
    if (*at >= end)
        return false;
    const char *stop = *at;
    while (stop < end && *stop != '\n' && *stop != '\r')
        stop++;
    line->start = *at;
    line->length = (size_t)(stop - *at);
    line->number++;
    if (stop < end)
        stop += *stop == '\r' && stop + 1 < end && stop[1] == '\n' ? 2 : 1;
    *at = stop;
    return true;
}

size_t text_words(const char *start, size_t length, struct text_word *words, size_t limit)
{
    size_t count = 0, i = 0;
    while (i < length && count < limit) {
        while (i < length && (start[i] == ' ' || start[i] == '\t'))
            i++;
        size_t from = i;
        while (i < length && start[i] != ' ' && start[i] != '\t')
            i++;
        if (i > from)
            words[count++] = (struct text_word){start + from, i - from};
    }
    return count;
}

bool text_word_is(const struct text_word *word, const char *text)
{
    return strlen(text) == word->length && memcmp(word->start, text, word->length) == 0;
}

bool text_number(const struct text_word *word, double *ret_value)
{
    char copy[48], *end;
    if (word->length == 0 || word->length >= sizeof copy)
        return false;
    for (size_t i = 0; i < word->length; i++)
        if (!strchr("0123456789.+-eE", word->start[i]))
            return false;
    memcpy(copy, word->start, word->length);
    copy[word->length] = '\0';
    double value = strtod(copy, &end);
    if (end == copy || *end || !isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

bool text_whole(const struct text_word *word, double *ret_value)
{
    if (word->length == 0 || word->length > 18)
        return false;
    double value = 0;
    for (size_t i = 0; i < word->length; i++) {
        if (word->start[i] < '0' || word->start[i] > '9')
            return false;
        value = value * 10 + (word->start[i] - '0');
    }
    *ret_value = value;
    return true;
}

const char *text_find(const struct text_line *line, const char *needle)
{
    size_t length = strlen(needle);
    for (size_t i = 0; i + length <= line->length; i++)
        if (line->start[i] == needle[0] && memcmp(line->start + i, needle, length) == 0)
            return line->start + i;
    return NULL;
}

enum status observe_complain(const struct observe_input *in, const struct text_line *line,
                             const char *at, struct diag_list *diag, const char *hint,
                             const char *message)
{
    uint32_t column = 1;
    for (const char *c = line->start; c < at; c++)
        column += ((unsigned char)*c & 0xC0) != 0x80;
    return diag_add(diag, (struct mark){in->name, line->number, column}, hint, "%s", message);
}

/* ---- which reader -----------------------------------------------------------------------------
 */

/* What a text of each format is sure to say near its start; the first that is found decides. */
static const struct {
    const char *needle;
    enum observe_format format;
} signs[] = {
    {"IoType:", OBSERVE_GDSIO},
    {"XferType:", OBSERVE_GDSIO},
    {"GDS Version:", OBSERVE_NVFS},
    {"NVFS statistics", OBSERVE_NVFS},
    {"GLOBAL STATS", OBSERVE_NVFS},
    {"PER_GPU STATS", OBSERVE_NVFS},
    {"cuFile STATS", OBSERVE_NVFS},
    {"# OSU ", OBSERVE_OSU},
    {"#bytes", OBSERVE_PERFTEST},
    {"nThread ", OBSERVE_NCCL_TESTS},
    {"nccl-tests version", OBSERVE_NCCL_TESTS},
    {"(elements)", OBSERVE_NCCL_TESTS},
    {" busbw ", OBSERVE_NCCL_TESTS},
    {"Collective test starting", OBSERVE_NCCL_TESTS},
    {"gdr_copy_to_mapping", OBSERVE_GDRCOPY},
    {"gdr_copy_from_mapping", OBSERVE_GDRCOPY},
    {"write BW:", OBSERVE_GDRCOPY},
    {"Round-trip latency", OBSERVE_GDRCOPY},
    {"pin.Time(us)", OBSERVE_GDRCOPY},
    {"NCCL INFO", OBSERVE_NCCL_INFO},
};

enum observe_format observe_detect(const char *text, size_t length)
{
    const char *at = text, *end = text + length;
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    if (at < end && (*at == '{' || *at == '['))
        return OBSERVE_JSON;
    char delimiter;
    if (observe_is_csv(text, length, &delimiter)) /* whatever words are in its rows */
        return OBSERVE_CSV;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strstr(at, signs[i].needle))
            return signs[i].format;
    /* A first line of names with commas, after comments. */
    while (at < end && *at == '#') {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        at = line ? line + 1 : end;
    }
    const char *stop = at;
    size_t commas = 0;
    while (stop < end && *stop != '\n')
        commas += *stop++ == ',';
    if (commas > 0)
        return OBSERVE_CSV;
    /* Bare rows, as people paste them. */
    struct observe_input in = {"", text, length};
    struct text_line line;
    struct text_word words[8];
    double value;
    for (const char *from = text; text_next_line(&in, &from, &line);)
        if (text_words(line.start, line.length, words, 8) >= 8 && text_whole(&words[0], &value) &&
            text_whole(&words[1], &value) && !text_number(&words[2], &value))
            return OBSERVE_NCCL_TESTS;
    return OBSERVE_FORMATS;
}

enum status observe_text(const char *name, const char *text, size_t length,
                         enum observe_format format, struct observations *all,
                         struct diag_list *diag)
{
    struct observe_input in = {diag_add_source(diag, name, text, length), text, length};
    struct mark whole = {in.name, 0, 0};
    if (!in.name)
        return STATUS_NOMEM;
    if (length > OBSERVE_BYTES)
        return diag_add(diag, whole, NULL, "the file is larger than %d MiB", OBSERVE_BYTES >> 20);
    if (length == 0)
        return diag_add(diag, whole, NULL, "the file is empty");
    if (memchr(text, '\0', length))
        return diag_add(diag, whole, NULL, "this is no text: it holds NUL bytes%s",
                        (unsigned char)text[0] >= 0xFE ? " (UTF-16? write it as UTF-8)" : "");
    if (format == OBSERVE_FORMATS)
        format = observe_detect(text, length);
    if (format == OBSERVE_FORMATS)
        return diag_add(diag, whole, "gdsim import --help lists what can be read",
                        "this looks like no output of a benchmark that gdsim knows");
    size_t runs = all->run_count, count = all->count;
    enum status status = formats[format].read(&in, all, diag);
    if (!status && format == OBSERVE_NCCL_TESTS && strstr(text, "NCCL INFO"))
        status = observe_nccl_info(&in, all, diag); /* one log of both */
    if (all->nomem || diag->nomem)
        return STATUS_NOMEM;
    if (status)
        return status;
    bool said = all->count > count;
    for (size_t i = runs; i < all->run_count; i++) {
        const struct observed_run *run = &all->runs[i];
        const struct observed_channels *ways = &run->channels;
        said = said || run->choice_count || run->gdr_disabled || !isnan(run->compat_ops) ||
               ways->p2p + ways->shm + ways->net_gdr + ways->net_staged + ways->collnet > 0;
        observe_check_run(run, diag);
    }
    return said
               ? STATUS_OK
               : diag_add(diag, whole,
                          all->run_count > runs && format != OBSERVE_CSV
                              ? "its head is there, but no row: the file may end early"
                              : NULL,
                          "no measurement could be read from this %s output", formats[format].name);
}
