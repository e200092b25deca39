/* observation.h: what was measured: runs of benchmarks and counters, read from their own output.
 *
 * An observation is one number of one run: an operation on so many bytes took so long. A run is one
 * start of a tool with everything its head says. The readers take what people have:
 *
 * - nccl-tests: text of all versions, also behind launcher prefixes and mixed with NCCL's log;
 * - NCCL_DEBUG=INFO: transport of each channel, GDRDMA or not, algorithm and protocol;
 * - nccl-tests, nvbandwidth and perftest: their JSON;
 * - osu, perftest, gdrcopy, gdsio, nvidia-fs, gds_stats: their text;
 * - CSV: a table with named columns, size_bytes, time_us, algbw_GBps, ... (observe_csv.c);
 *   gdprobe's observations are one.
 *
 * A row that cannot be read is told, with its line, and left out; whatever was read before and
 * after it stays. Only a file that gives nothing at all is a failure. Numbers are SI units.
 */
#ifndef GDSIM_LOAD_OBSERVATION_H
#define GDSIM_LOAD_OBSERVATION_H

#include "sim/load/diag.h"

enum { OBSERVE_BYTES = 1 << 28 }; /* of one file */

enum observe_format {
    OBSERVE_NCCL_TESTS,
    OBSERVE_NCCL_INFO,
    OBSERVE_JSON, /* nccl-tests, nvbandwidth or perftest: the keys say which */
    OBSERVE_CSV,
    OBSERVE_OSU,
    OBSERVE_PERFTEST,
    OBSERVE_GDRCOPY,
    OBSERVE_GDSIO,
    OBSERVE_NVFS, /* /proc/driver/nvidia-fs/stats, gds_stats */
    OBSERVE_FORMATS,
};

struct observation {
    uint32_t run, line;
    const char *what;    /* "all_reduce", "ib_write_bw", "memcpy_pinned" */
    const char *variant; /* "out-of-place", "in-place", "h2d"; "" */
    double size_B;
    double time_s;               /* of one operation; NAN: not said */
    double algbw_Bps, busbw_Bps; /* as printed; NAN: not said */
    double low_s, high_s;        /* how far the time spreads (min; p90, p99 or max); NAN */
    double counted;              /* a counter's bytes (or events) for size_B of payload; NAN */
};

/* How many connections of a run go which way, as NCCL's log says. */
struct observed_channels {
    uint32_t p2p, shm, net_gdr, net_staged, collnet;
};

struct observed_choice { /* NCCL's, for sizes from here on */
    double size_B;
    char algorithm[20], protocol[20];
    int channels;
};

struct observed_run {
    const char *file; /* as given */
    enum observe_format format;
    uint32_t line;                    /* where it starts */
    char tool[32];                    /* "all_reduce_perf" */
    char version[32];                 /* "2.19.6" */
    char device[64];                  /* "NVIDIA H200" */
    uint32_t ranks;                   /* that its head lists; 0: not said */
    uint32_t ranks_low, ranks_high;   /* that busbw / algbw allows; 0: cannot be told */
    uint32_t nodes;                   /* hosts of the ranks; 0: not said */
    char algorithm[20], protocol[20]; /* NCCL_ALGO, NCCL_PROTO as the log says; "" */
    struct observed_channels channels;
    uint32_t gdr_disabled;         /* NICs for which the log says so */
    bool average_ignored;          /* there was a line "Avg bus bandwidth" */
    uint32_t wrong;                /* results that the tool itself found wrong */
    double compat_ops, direct_ops; /* GDS: operations that fell back, that went direct; NAN */
    struct observed_choice *choices;
    size_t choice_count;
};

struct observations {
    struct observation *items;
    size_t count, capacity;
    struct observed_run *runs;
    size_t run_count;
    char **words; /* that items point to */
    size_t word_count;
    bool nomem;
};

void observations_init(struct observations *all);
void observations_free(struct observations *all);

const char *observe_format_name(enum observe_format format);
enum observe_format observe_detect(const char *text, size_t length);

/* Read a text (in `format`, or as it looks: OBSERVE_FORMATS) and append what it holds. Rows that
 * were left out are in `diag`. A failure: nothing could be read; `all` is as before, but for runs
 * without observations. */
enum status observe_text(const char *name, const char *text, size_t length,
                         enum observe_format format, struct observations *all,
                         struct diag_list *diag);

/* ---- for the readers ------------------------------------------------------------------------- */

struct observe_input {
    const char *name; /* interned in diag */
    const char *text; /* ends in NUL */
    size_t length;
};

typedef enum status observe_reader(const struct observe_input *in, struct observations *all,
                                   struct diag_list *diag);
observe_reader observe_nccl_tests, observe_nccl_info, observe_json, observe_csv, observe_osu,
    observe_perftest, observe_gdrcopy, observe_gdsio, observe_nvfs;

/* Whether the first line that is no comment names at least two columns that observe_csv knows; what
 * stands between them, a comma or else a semicolon. */
bool observe_is_csv(const char *text, size_t length, char *ret_delimiter);

/* A new run; NULL without memory. Valid until the next. */
struct observed_run *observe_run(struct observations *all, const struct observe_input *in,
                                 enum observe_format format, uint32_t line);

/* An observation of the last run with nothing known but these. NULL without memory. */
struct observation *observe_add(struct observations *all, uint32_t line, const char *what,
                                const char *variant, double size_B);

/* The list's own copy of a word. */
const char *observe_word(struct observations *all, const char *word, size_t length);

/* Bus bandwidth over algorithm bandwidth of nccl-tests for n ranks; 0: unknown name. */
double observe_bus_factor(const char *collective, uint32_t ranks);

/* Narrow ranks_low..ranks_high of the last run by what busbw and algbw of one row allow, each
 * printed with so small a step. */
void observe_bound_ranks(struct observed_run *run, const char *collective, double algbw,
                         double busbw, double step);

/* Tell of a run whose label and numbers disagree. */
void observe_check_run(const struct observed_run *run, struct diag_list *diag);

/* ---- lines and words ------------------------------------------------------------------------- */

/* The next line of a text, without its end; false at the end. *at starts at the text. */
struct text_line {
    const char *start;
    size_t length;
    uint32_t number;
};
bool text_next_line(const struct observe_input *in, const char **at, struct text_line *line);

#define OBSERVE_MAX_WORDS 64
struct text_word {
    const char *start;
    size_t length;
};

/* Cut at spaces and tabs. */
size_t text_words(const char *start, size_t length, struct text_word *words, size_t limit);
bool text_word_is(const struct text_word *word, const char *text);

/* A whole word as a finite number; N/A, nan and the like are none. */
bool text_number(const struct text_word *word, double *ret_value);
bool text_whole(const struct text_word *word, double *ret_value); /* digits only */

/* Where `needle` stands in the line; NULL. */
const char *text_find(const struct text_line *line, const char *needle);

/* A mistake at a place of the line. */
enum status observe_complain(const struct observe_input *in, const struct text_line *line,
                             const char *at, struct diag_list *diag, const char *hint,
                             const char *message);

#endif
