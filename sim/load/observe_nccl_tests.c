/* observe_nccl_tests.c: the text of nccl-tests, any version, and the rows of it that people paste.
 *
 *   # Collective test starting: all_reduce_perf
 *   # nThread 1 nGpus 2 minBytes 8 ...                          a new run
 *   #  Rank  0 Group  0 Pid 1 on host device 0 [0000:0f:00] NVIDIA H200
 *   #       size  count  type  redop  root  time algbw busbw #wrong  time algbw busbw #wrong
 *      1048576  262144  float  sum  -1  30.59 34.28 34.28 0  29.28 35.82 35.82 0
 *
 * Columns are what the title line says: old versions lack redop or root and call #wrong error, -I
 * adds four, -C calls the time cputime, and without a title eight or six numbers are taken for two
 * halves, three or four for one. Words are counted from where two whole numbers and a type stand,
 * so a prefix of a launcher ("[1,0]<stdout>:", "0:") does not matter. A row that a line of NCCL's
 * log cuts in two ("...  -1host:1:1 [0] NCCL INFO") is put together again. The line "Avg bus
 * bandwidth" is a mean over all sizes and is not used.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/load/observation.h"

#define MAX_COLUMNS 24
#define HALF_WORDS  8

enum column { TIME, ALGBW, BUSBW, WRONG, MIN, MAX, P99, OTHER };

static const struct {
    const char *title;
    enum column column;
} titles[] = {{"time", TIME},    {"cputime", TIME}, {"algbw", ALGBW}, {"busbw", BUSBW},
              {"#wrong", WRONG}, {"error", WRONG},  {"i_min", MIN},   {"i_max", MAX},
              {"i_p99", P99},    {"i_cv%", OTHER}};

static const char *const types[] = {
    "float",    "half",   "bfloat16", "double",      "int8",    "uint8", "int32",      "uint32",
    "int64",    "uint64", "float16",  "float32",     "float64", "char",  "int",        "fp8_e4m3",
    "fp8_e5m2", "f8e4m3", "f8e5m2",   "float8_e4m3", "bf16",    "fp16",  "float8_e5m2"};
static const char *const redops[] = {"sum", "prod", "max", "min", "avg", "mulsum", "none", "all"};

struct reader {
    const struct observe_input *in;
    struct observations *all;
    struct diag_list *diag;
    struct observed_run *run; /* of which rows come; NULL: none yet */
    bool seen_rows;           /* a head after rows starts a new run */
    enum column columns[MAX_COLUMNS];
    size_t column_count; /* 0: no title yet */
    char collective[32];
    char host[64];
    char pending[512]; /* the first part of a row that was cut */
    size_t pending_length;
};

static bool one_of(const struct text_word *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_word_is(word, words[i]))
            return true;
    return false;
}

static struct observed_run *run_of(struct reader *reader, uint32_t line)
{
    if (!reader->run) {
        reader->run = observe_run(reader->all, reader->in, OBSERVE_NCCL_TESTS, line);
        reader->seen_rows = false;
        reader->host[0] = '\0';
    }
    return reader->run;
}

/* A head that follows rows belongs to the next run. */
static struct observed_run *head_of(struct reader *reader, uint32_t line)
{
    if (reader->seen_rows) {
        reader->run = NULL;
        reader->column_count = 0;
        reader->collective[0] = '\0';
    }
    return run_of(reader, line);
}

static void copy_word(char *to, size_t size, const char *from, size_t length)
{
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), from);
}

/* "all_reduce_perf", with or without a path before it. */
static void read_program(struct reader *reader, const struct text_word *word)
{
    struct observed_run *run = reader->run;
    const char *name = word->start;
    for (size_t i = 0; i < word->length; i++)
        if (word->start[i] == '/')
            name = word->start + i + 1;
    size_t length = word->length - (size_t)(name - word->start);
    copy_word(run->tool, sizeof run->tool, name, length);
    if (length > 5 && memcmp(name + length - 5, "_perf", 5) == 0)
        length -= 5;
    copy_word(reader->collective, sizeof reader->collective, name, length);
}

/* "Rank  0 Group  0 Pid 754 on vm device 0 [0000:00:06] NVIDIA H200" */
static void read_rank(struct reader *reader, const struct text_word *words, size_t count)
{
    struct observed_run *run = reader->run;
    run->ranks++;
    for (size_t i = 0; i + 2 < count; i++) {
        if (text_word_is(&words[i], "on") && text_word_is(&words[i + 2], "device")) {
            if (strlen(reader->host) != words[i + 1].length ||
                memcmp(reader->host, words[i + 1].start, words[i + 1].length) != 0)
                run->nodes++;
            copy_word(reader->host, sizeof reader->host, words[i + 1].start, words[i + 1].length);
        }
        if (words[i].start[0] == '[' && i > 6) {
            const struct text_word *last = &words[count - 1];
            copy_word(run->device, sizeof run->device, words[i + 1].start,
                      (size_t)(last->start + last->length - words[i + 1].start));
            return;
        }
    }
}

/* The title line: the columns after the last of size, count, type, redop and root. */
static bool read_titles(struct reader *reader, const struct text_word *words, size_t count)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < sizeof titles / sizeof titles[0]; j++)
            if (text_word_is(&words[i], titles[j].title) && found < MAX_COLUMNS) {
                reader->columns[found++] = titles[j].column;
                break;
            }
    if (found >= 3)
        reader->column_count = found;
    return found >= 3;
}

/* Without a title the number of columns says it. */
static bool assume_titles(struct reader *reader, size_t numbers)
{
    static const enum column half[] = {TIME, ALGBW, BUSBW, WRONG};
    size_t width = numbers == 6 || numbers == 3 ? 3 : numbers == 8 || numbers == 4 ? 4 : 0;
    if (width == 0)
        return false;
    for (size_t i = 0; i < numbers; i++)
        reader->columns[i] = half[i % width];
    reader->column_count = numbers;
    return true;
}

/* Digits after the point say how finely a number was printed. */
static double printed_step(const struct text_word *word)
{
    double step = 1;
    for (size_t i = 0; i < word->length; i++)
        if (word->start[i] == '.')
            for (size_t j = i + 1; j < word->length && word->start[j] != 'e'; j++)
                step /= 10;
    return step;
}

/* One half of a row (out of place, in place) into an observation. */
static void read_half(struct reader *reader, uint32_t line, double size_B, const char *variant,
                      const struct text_word *words, const enum column *columns, size_t count)
{
    double values[OTHER + 1], algbw_step = 0;
    for (int i = 0; i <= OTHER; i++)
        values[i] = (double)NAN;
    for (size_t i = 0; i < count; i++) {
        text_number(&words[i], &values[columns[i]]);
        if (columns[i] == ALGBW)
            algbw_step = printed_step(&words[i]);
    }
    if (!(values[TIME] > 0))
        return;
    const char *what = reader->collective[0] ? reader->collective : "collective";
    struct observation *item = observe_add(reader->all, line, what, variant, size_B);
    if (!item)
        return;
    item->time_s = values[TIME] * 1e-6;
    item->algbw_Bps = values[ALGBW] * 1e9;
    item->busbw_Bps = values[BUSBW] * 1e9;
    item->low_s = values[MIN] * 1e-6;
    item->high_s = (isnan(values[P99]) ? values[MAX] : values[P99]) * 1e-6;
    reader->run->wrong += values[WRONG] > 0 ? (uint32_t)fmin(values[WRONG], 1e9) : 0;
    observe_bound_ranks(reader->run, what, values[ALGBW], values[BUSBW], algbw_step);
}

enum row { NO_ROW, CUT_ROW, WHOLE_ROW };

/* A row, wherever in the line it starts. */
static enum row read_row(struct reader *reader, uint32_t line, const char *text, size_t length)
{
    struct text_word words[OBSERVE_MAX_WORDS];
    size_t count = text_words(text, length, words, OBSERVE_MAX_WORDS), at = 0;
    double size_B, elements, root;
    while (at + 2 < count &&
           !(text_whole(&words[at], &size_B) && text_whole(&words[at + 1], &elements) &&
             one_of(&words[at + 2], types, sizeof types / sizeof types[0])))
        at++;
    if (at + 2 >= count)
        return NO_ROW;
    size_t next = at + 3;
    if (next < count && one_of(&words[next], redops, sizeof redops / sizeof redops[0]))
        next++;
    if (next < count && (text_word_is(&words[next], "-1") || text_whole(&words[next], &root)))
        next++;
    size_t numbers = count - next;
    if (numbers == 0 || !run_of(reader, line))
        return CUT_ROW;
    if (reader->column_count == 0 && !assume_titles(reader, numbers))
        return CUT_ROW;
    if (numbers < reader->column_count)
        return CUT_ROW;
    size_t half = reader->column_count;
    for (size_t i = 1; i < reader->column_count; i++)
        if (reader->columns[i] == TIME) {
            half = i;
            break;
        }
    reader->seen_rows = true;
    read_half(reader, line, size_B, half < reader->column_count ? "out-of-place" : "", &words[next],
              reader->columns, half);
    if (half < reader->column_count)
        read_half(reader, line, size_B, "in-place", &words[next + half], &reader->columns[half],
                  reader->column_count - half);
    return WHOLE_ROW;
}

/* Where a line of NCCL's log begins inside a line: "host:12:34 [0] NCCL INFO". */
static size_t cut_at(const struct text_line *line)
{
    const char *found = text_find(line, "] NCCL ");
    if (!found)
        return line->length;
    size_t at = (size_t)(found - line->start);
    while (at > 0 && line->start[at] != '[')
        at--;
    while (at > 0 && line->start[at - 1] == ' ')
        at--;
    while (at > 0 && line->start[at - 1] != ' ') /* "-1host:1:1" sticks to the word before it */
        at--;
    size_t word = at;
    while (at < line->length && (strchr("-0123456789./NA", line->start[at])))
        at++;
    /* A host that starts with digits: only what is a number by itself belongs to the row. */
    return line->start[at] == ':' ? word : at;
}

static void read_head(struct reader *reader, const struct text_line *line)
{
    struct text_word words[OBSERVE_MAX_WORDS];
    const char *hash = text_find(line, "#");
    if (!hash)
        return;
    size_t count = text_words(hash + 1, line->length - (size_t)(hash + 1 - line->start), words,
                              OBSERVE_MAX_WORDS);
    if (count == 0)
        return;
    if (text_word_is(&words[0], "nccl-tests") && count > 2) {
        if (head_of(reader, line->number))
            copy_word(reader->run->version, sizeof reader->run->version, words[2].start,
                      words[2].length);
    } else if (text_find(line, "Collective test starting:") && count > 3) {
        if (head_of(reader, line->number))
            read_program(reader, &words[3]);
    } else if (text_word_is(&words[0], "nThread")) {
        head_of(reader, line->number);
    } else if (text_word_is(&words[0], "Rank") && count > 4) {
        if (head_of(reader, line->number))
            read_rank(reader, words, count);
    } else if (text_find(line, "Avg bus bandwidth")) {
        if (run_of(reader, line->number))
            reader->run->average_ignored = true;
    } else {
        read_titles(reader, words, count);
    }
}

/* "all_reduce_perf -b 8 -e 8G", as people paste the command before its output. */
static void read_command(struct reader *reader, const struct text_line *line)
{
    struct text_word words[OBSERVE_MAX_WORDS];
    size_t count = text_words(line->start, line->length, words, OBSERVE_MAX_WORDS);
    for (size_t i = 0; i < count; i++)
        if (words[i].length > 5 && memcmp(words[i].start + words[i].length - 5, "_perf", 5) == 0) {
            if (head_of(reader, line->number))
                read_program(reader, &words[i]);
            return;
        }
}

static void read_line(struct reader *reader, const struct text_line *line)
{
    size_t length = cut_at(line);
    bool cut = length < line->length;
    if (reader->pending_length > 0 || cut) {
        char whole[1024];
        int joined = snprintf(whole, sizeof whole, "%.*s %.*s", (int)reader->pending_length,
                              reader->pending, (int)(length < 400 ? length : 400), line->start);
        enum row row = read_row(reader, line->number, whole, (size_t)joined);
        if (row == WHOLE_ROW) {
            reader->pending_length = 0;
            return;
        }
        if (row == CUT_ROW && (size_t)joined < sizeof reader->pending) {
            memcpy(reader->pending, whole, (size_t)joined);
            reader->pending_length = (size_t)joined;
            if (cut)
                return;
        }
    }
    enum row row = cut ? NO_ROW : read_row(reader, line->number, line->start, line->length);
    if (row == CUT_ROW) {
        bool last = line->start + line->length >= reader->in->text + reader->in->length;
        observe_complain(reader->in, line, line->start, reader->diag,
                         last ? "the file ends within it; the other rows are used"
                              : "the other rows are used",
                         "this row has fewer columns than its title");
        reader->pending_length = 0;
    } else if (row == WHOLE_ROW) {
        reader->pending_length = 0;
    } else if (!cut && memchr(line->start, '#', line->length)) {
        read_head(reader, line);
    } else if (!cut && text_find(line, "_perf")) {
        read_command(reader, line);
    }
}

enum status observe_nccl_tests(const struct observe_input *in, struct observations *all,
                               struct diag_list *diag)
{
    struct reader *reader = &(struct reader){.in = in, .all = all, .diag = diag};
    struct text_line line;
    for (const char *at = in->text; text_next_line(in, &at, &line) && !all->nomem;)
        read_line(reader, &line);
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}
