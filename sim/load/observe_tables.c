/* observe_tables.c: tools that print rows of numbers below a title: OSU, perftest, GDRCopy; and
 * those that print "Name: value" lines: gdsio, nvidia-fs and gds_stats.
 *
 *   # OSU MPI-CUDA Latency Test v7.2                         title; then
 *   # Size          Latency (us)                             size, time    | Bandwidth (MB/s)
 *    #bytes  #iterations  BW peak[MiB/sec]  BW average[MiB/sec]  MsgRate   perftest; [Gb/sec]
 *    #bytes #iterations t_min[usec] t_max t_typical t_avg t_stdev 99% 99.9%
 *   gdr_copy_to_mapping   1024   0.09   0.08                 copylat: test, size, median, min
 *   write BW: 9768.3MB/s                                     copybw
 *   IoType: READ XferType: GPUD .. IOSize: 1024(KiB) Throughput: 6.5 GiB/sec, Avg_Latency: 12 usecs
 *
 * perftest's "MB/sec" means MiB; OSU's MB is 10^6 B. A latency test of perftest prints half a
 * round trip. gdsio's throughput is GiB/s.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/load/observation.h"

#define MiB 1048576.0

static void copy_rest(char *to, size_t size, const struct text_word *from)
{
    snprintf(to, size, "%.*s", (int)(from->length < size ? from->length : size - 1), from->start);
}

/* What a table's columns mean; the first word of the row is the size. */
struct table {
    double rate_unit; /* of column `value`; 0: it is a time in us */
    size_t value;     /* column */
    size_t low, high; /* columns of the spread; 0: none */
    size_t fewest;    /* columns of a whole row */
};

static void read_table_row(const struct observe_input *in, const struct text_line *line,
                           const struct table *table, const char *what, const char *variant,
                           struct observations *all, struct diag_list *diag)
{
    struct text_word words[OBSERVE_MAX_WORDS];
    double size_B, value, bound;
    size_t count = text_words(line->start, line->length, words, OBSERVE_MAX_WORDS), at = 0;
    while (at < count && !text_whole(&words[at], &size_B)) /* behind a launcher's prefix */
        at++;
    if (at == count || (at > 0 && at + table->fewest > count))
        return;
    if (at + table->fewest > count || !text_number(&words[at + table->value], &value) ||
        !(value > 0)) {
        observe_complain(in, line, words[at].start, diag, "the other rows are used",
                         "this row has fewer numbers than its title");
        return;
    }
    struct observation *item = observe_add(all, line->number, what, variant, size_B);
    if (!item)
        return;
    if (table->rate_unit > 0) {
        item->algbw_Bps = value * table->rate_unit;
        item->time_s = size_B / item->algbw_Bps;
        return;
    }
    item->time_s = value * 1e-6;
    if (table->low && at + table->low < count && text_number(&words[at + table->low], &bound))
        item->low_s = bound * 1e-6;
    if (table->high && at + table->high < count && text_number(&words[at + table->high], &bound))
        item->high_s = bound * 1e-6;
}

enum status observe_osu(const struct observe_input *in, struct observations *all,
                        struct diag_list *diag)
{
    struct text_line line;
    struct table table = {.value = 1, .fewest = 2};
    struct observed_run *run = NULL;
    char variant[32] = "";
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;) {
        struct text_word words[OBSERVE_MAX_WORDS];
        const char *title = text_find(&line, "# OSU ");
        size_t count = text_words(line.start, line.length, words, OBSERVE_MAX_WORDS);
        if (title) {
            run = observe_run(all, in, OBSERVE_OSU, line.number);
            if (!run)
                break;
            struct text_word rest = {title + 2, line.length - (size_t)(title + 2 - line.start)};
            copy_rest(run->tool, sizeof run->tool, &rest);
            if (count > 0)
                copy_rest(run->version, sizeof run->version, &words[count - 1]);
            variant[0] = '\0';
        } else if (text_find(&line, "Buffer on")) {
            bool from = text_find(&line, "Send Buffer on DEVICE") != NULL;
            bool to = text_find(&line, "Receive Buffer on DEVICE") != NULL;
            snprintf(variant, sizeof variant, "%s to %s", from ? "device" : "host",
                     to ? "device" : "host");
        } else if (text_find(&line, "# Size")) {
            bool rate = text_find(&line, "MB/s") != NULL;
            bool spread = text_find(&line, "Min Lat") && text_find(&line, "Max Lat");
            table = (struct table){.rate_unit = rate ? 1e6 : 0,
                                   .value = 1,
                                   .low = spread ? 2 : 0,
                                   .high = spread ? 3 : 0,
                                   .fewest = 2};
        } else if (run && count > 0 && !text_find(&line, "#")) {
            read_table_row(in, &line, &table, all->runs[all->run_count - 1].tool, variant, all,
                           diag);
        }
    }
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}

enum status observe_perftest(const struct observe_input *in, struct observations *all,
                             struct diag_list *diag)
{
    struct text_line line;
    struct table table = {.fewest = 0};
    char test[32] = "perftest";
    const char *variant = "";
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;) {
        if (text_find(&line, "ib_write_") || text_find(&line, "ib_read_") ||
            text_find(&line, "ib_send_")) {
            struct text_word word = {text_find(&line, "ib_"), 0};
            while (word.start + word.length < line.start + line.length &&
                   strchr("abcdefghijklmnopqrstuvwxyz_", word.start[word.length]))
                word.length++;
            copy_rest(test, sizeof test, &word);
        } else if (text_find(&line, "RDMA_Write ") || text_find(&line, "RDMA_Read ") ||
                   text_find(&line, "Send ")) {
            bool late = text_find(&line, "Latency Test");
            snprintf(test, sizeof test, "ib_%s_%s",
                     text_find(&line, "RDMA_Write")  ? "write"
                     : text_find(&line, "RDMA_Read") ? "read"
                                                     : "send",
                     late ? "lat" : "bw");
            variant = text_find(&line, "Bidirectional") ? "both directions" : "";
        }
        if (text_find(&line, "#bytes")) {
            struct observed_run *run = observe_run(all, in, OBSERVE_PERFTEST, line.number);
            if (!run)
                break;
            snprintf(run->tool, sizeof run->tool, "%s", test);
            if (text_find(&line, "BW"))
                table = (struct table){
                    .rate_unit = text_find(&line, "Gb/sec") ? 125e6 : MiB, .value = 3, .fewest = 5};
            else if (text_find(&line, "t_typical"))
                table = (struct table){.value = 5, .low = 2, .high = 7, .fewest = 6};
            else
                table = (struct table){.value = 2, .fewest = 3};
        } else if (table.fewest && !text_find(&line, "---") && !text_find(&line, "#")) {
            read_table_row(in, &line, &table, test, variant, all, diag);
        }
    }
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}

/* The number after `key` on a line, perhaps with a few signs between, and where its text ends. */
static bool value_after(const struct text_line *line, const char *key, double *ret_value,
                        const char **ret_end)
{
    const char *at = text_find(line, key);
    const char *end = line->start + line->length;
    if (!at)
        return false;
    at += strlen(key);
    for (int skipped = 0; skipped < 12 && at < end && (*at < '0' || *at > '9'); skipped++)
        at++;
    struct text_word word = {at, 0};
    while (at + word.length < end && strchr("0123456789.", at[word.length]))
        word.length++;
    if (ret_end)
        *ret_end = at + word.length;
    return text_number(&word, ret_value);
}

enum status observe_gdrcopy(const struct observe_input *in, struct observations *all,
                            struct diag_list *diag)
{
    static const struct table latency = {.value = 1, .low = 2, .fewest = 2};
    static const char *const tests[] = {"gdr_copy_to_mapping", "gdr_copy_from_mapping",
                                        "cuMemcpy_H2D", "cuMemcpy_D2H"};
    const double copybw_B = 128.0 * 1024; /* its default; only the rate is printed */
    struct text_line line;
    double value;
    if (!observe_run(all, in, OBSERVE_GDRCOPY, 1))
        return STATUS_NOMEM;
    snprintf(all->runs[all->run_count - 1].tool, sizeof all->runs->tool, "gdrcopy");
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;) {
        static const char *const directions[] = {"write", "read"};
        for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
            const char *name = text_find(&line, tests[i]);
            if (!name)
                continue;
            struct text_line rest = line;
            rest.start = name + strlen(tests[i]);
            rest.length = line.length - (size_t)(rest.start - line.start);
            read_table_row(in, &rest, &latency, tests[i], "", all, diag);
        }
        for (size_t i = 0; i < 2; i++) {
            char key[16];
            snprintf(key, sizeof key, "%s BW:", directions[i]);
            if (!value_after(&line, key, &value, NULL) || !(value > 0))
                continue;
            struct observation *item =
                observe_add(all, line.number, "copybw", directions[i], copybw_B);
            if (item)
                item->algbw_Bps = value * 1e6, item->time_s = copybw_B / item->algbw_Bps;
        }
        if (text_find(&line, "Round-trip latency") &&
            (value_after(&line, "(median)", &value, NULL) ||
             value_after(&line, " is ", &value, NULL)) &&
            value > 0) {
            struct observation *item = observe_add(all, line.number, "pplat", "round trip", 4);
            if (item)
                item->time_s = value * 1e-6;
        }
    }
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}

enum status observe_gdsio(const struct observe_input *in, struct observations *all,
                          struct diag_list *diag)
{
    struct text_line line;
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;) {
        const char *type = text_find(&line, "IoType:"), *way = text_find(&line, "XferType:");
        double size_KiB, rate, latency, jobs;
        const char *end;
        if (!type || !way)
            continue;
        if (!value_after(&line, "IOSize:", &size_KiB, NULL) ||
            !value_after(&line, "Throughput:", &rate, &end) || !(rate > 0) || !(size_KiB > 0)) {
            observe_complain(in, &line, line.start, diag, "the other lines are used",
                             "a line of gdsio without IOSize or Throughput");
            continue;
        }
        struct text_word words[2], ways[2];
        char variant[64];
        size_t left = line.length - (size_t)(type - line.start);
        if (text_words(type + 7, left - 7, words, 1) != 1 ||
            text_words(way + 9, line.length - (size_t)(way + 9 - line.start), ways, 1) != 1 ||
            !observe_run(all, in, OBSERVE_GDSIO, line.number))
            continue;
        snprintf(variant, sizeof variant, "%.*s", (int)(ways[0].length < 60 ? ways[0].length : 60),
                 ways[0].start);
        char what[40];
        snprintf(what, sizeof what, "gdsio %.*s",
                 (int)(words[0].length < 30 ? words[0].length : 30), words[0].start);
        snprintf(all->runs[all->run_count - 1].tool, sizeof all->runs->tool, "gdsio");
        struct observation *item = observe_add(all, line.number, what, variant, size_KiB * 1024);
        if (!item)
            break;
        bool mib = end + 2 < line.start + line.length && memcmp(end, " MiB", 4) == 0;
        item->algbw_Bps = rate * (mib ? MiB : 1024 * MiB);
        item->time_s = item->size_B / item->algbw_Bps;
        if (value_after(&line, "Threads:", &jobs, NULL) &&
            value_after(&line, "Avg_Latency:", &latency, NULL))
            item->high_s = latency * 1e-6; /* of one request, `jobs` of them at a time */
    }
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}

/* Sum of the numbers that follow each `key` of the text: "posix=3", "Ops : Read=3 Write=1". */
static double sum_after(const struct text_line *line, const char *key, double before)
{
    struct text_line rest = *line;
    const char *at;
    double value;
    while ((at = text_find(&rest, key))) {
        rest.length -= (size_t)(at - rest.start);
        rest.start = at;
        if (value_after(&rest, key, &value, NULL))
            before = (isnan(before) ? 0 : before) + value;
        rest.start += strlen(key);
        rest.length -= strlen(key);
    }
    return before;
}

enum status observe_nvfs(const struct observe_input *in, struct observations *all,
                         struct diag_list *diag)
{
    static const struct {
        const char *line, *value, *what;
        double unit;
    } counters[] = {{"Reads", "readMiB=", "nvidia-fs reads", MiB},
                    {"Writes", "writeMiB=", "nvidia-fs writes", MiB},
                    {"Bar1-map", "active=", "nvidia-fs active BAR1 maps", 1},
                    {"GPU ", "Registered_MiB=", "nvidia-fs registered", MiB}};
    struct text_line line;
    (void)diag;
    if (!observe_run(all, in, OBSERVE_NVFS, 1))
        return STATUS_NOMEM;
    size_t index = all->run_count - 1;
    snprintf(all->runs[index].tool, sizeof all->runs->tool, "nvidia-fs");
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;) {
        struct observed_run *run = &all->runs[index];
        double value;
        run->compat_ops = sum_after(&line, "posix=", run->compat_ops);
        if (text_find(&line, "Ops")) {
            run->direct_ops = sum_after(&line, "Read=", run->direct_ops);
            run->direct_ops = sum_after(&line, "Write=", run->direct_ops);
        }
        for (size_t i = 0; i < sizeof counters / sizeof counters[0]; i++) {
            if (!text_find(&line, counters[i].line) ||
                !value_after(&line, counters[i].value, &value, NULL))
                continue;
            struct observation *item =
                observe_add(all, line.number, counters[i].what, "counter", 0);
            if (item)
                item->counted = value * counters[i].unit;
        }
    }
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}
