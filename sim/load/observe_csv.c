/* observe_csv.c: a table with named columns, one measurement a row (RFC 4180, '#' starts a comment
 * line, a first line of names).
 *
 *   path,direction,bytes,median_us,min_us,p90_us          times of an operation
 *   size_bytes,time_us,algbw_GBps,busbw_GBps,inplace      a collective
 *   run,size_bytes,device,counter,bytes_per_call          counters
 *   experiment,place,size_B,chunk_B,device,quantity,unit,value,min,p90,...,payload_B   gdprobe
 *
 * gdprobe's rows say what they measure: quantity time in s, or a counter's bytes (unit B, seen from
 * `device`) for payload_B of payload; a time without a size is one of software. Its head of
 * `# key: value` lines and the machine's facts behind `#| ` are not needed here.
 *
 * Columns are known by the names in `columns` below, which carry their unit; others are left out.
 * A row needs a size (or payload) and a time, a rate or a count.
 */
#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/observation.h"

#define MAX_FIELDS 64
#define FIELD_SIZE 128

enum field {
    SIZE,
    TIME,
    LOW,
    HIGH,
    ALGBW,
    BUSBW,
    COUNTED,
    PLACE,
    VALUE,
    PAYLOAD, /* numbers */
    WHAT,
    VARIANT,
    PART,
    DEVICE,
    QUANTITY,
    UNIT,
    CHUNK, /* words */
    UNKNOWN
};

static const struct {
    const char *name;
    enum field field;
    double unit; /* in SI */
} columns[] = {
    {"size_bytes", SIZE, 1},
    {"payload_bytes", SIZE, 1},
    {"size_B", SIZE, 1},
    {"bytes", SIZE, 1},
    {"size", SIZE, 1},
    {"msg_size", SIZE, 1},
    {"median_us", TIME, 1e-6},
    {"time_us", TIME, 1e-6},
    {"avg_us", TIME, 1e-6},
    {"avg_time_us", TIME, 1e-6},
    {"avg_latency_us", TIME, 1e-6},
    {"latency_us", TIME, 1e-6},
    {"us", TIME, 1e-6},
    {"time_s", TIME, 1},
    {"t_avg_us", TIME, 1e-6},
    {"time_ms", TIME, 1e-3},
    {"min_us", LOW, 1e-6},
    {"p90_us", HIGH, 1e-6},
    {"p99_us", HIGH, 1e-6},
    {"max_us", HIGH, 1e-6},
    {"algbw_GBps", ALGBW, 1e9},
    {"bandwidth_GBps", ALGBW, 1e9},
    {"bw_GBps", ALGBW, 1e9},
    {"GBps", ALGBW, 1e9},
    {"bandwidth_MBps", ALGBW, 1e6},
    {"bw_MBps", ALGBW, 1e6},
    {"busbw_GBps", BUSBW, 1e9},
    {"bytes_per_call", COUNTED, 1},
    {"counted_bytes", COUNTED, 1},
    {"value_bytes", COUNTED, 1},
    {"inplace", PLACE, 1},
    {"in_place", PLACE, 1},
    {"path", WHAT, 1},
    {"run", WHAT, 1},
    {"transfer", WHAT, 1},
    {"test", WHAT, 1},
    {"collective", WHAT, 1},
    {"what", WHAT, 1},
    {"direction", VARIANT, 1},
    {"variant", VARIANT, 1},
    {"device", VARIANT, 1},
    {"counter", PART, 1},
};

/* What gdprobe writes; "value" is what only it has. */
static const struct {
    const char *name;
    enum field field;
} probe_columns[] = {{"experiment", WHAT}, {"place", VARIANT},    {"size_B", SIZE},
                     {"chunk_B", CHUNK},   {"device", DEVICE},    {"quantity", QUANTITY},
                     {"unit", UNIT},       {"value", VALUE},      {"min", LOW},
                     {"p90", HIGH},        {"payload_B", PAYLOAD}};

struct reader {
    const struct observe_input *in;
    struct observations *all;
    struct diag_list *diag;
    uint32_t line;
    size_t field_count, column_count;
    char fields[MAX_FIELDS][FIELD_SIZE];
    enum field kind[MAX_FIELDS];
    double unit[MAX_FIELDS];
    bool counters; /* a column "counter": then "bytes" beside another size is what it counted */
    bool useless;  /* columns are missing: told once, not for each row */
    int row_end;   /* CR or LF that ended the last row */
};

static void take_field(void *text, size_t length, void *data)
{
    struct reader *reader = data;
    if (reader->field_count < MAX_FIELDS) {
        snprintf(reader->fields[reader->field_count], FIELD_SIZE, "%.*s",
                 (int)(length < FIELD_SIZE ? length : FIELD_SIZE - 1),
                 text ? (const char *)text : "");
    }
    reader->field_count++;
}

static void read_names(struct reader *reader)
{
    bool sized = false, probe = false;
    for (size_t i = 0; i < reader->field_count && i < MAX_FIELDS; i++)
        probe = probe || strcmp(reader->fields[i], "experiment") == 0;
    reader->column_count = reader->field_count < MAX_FIELDS ? reader->field_count : MAX_FIELDS;
    for (size_t i = 0; i < reader->column_count; i++) {
        const char *name = reader->fields[i];
        reader->kind[i] = UNKNOWN;
        if (i == 0 && strncmp(name, "\xEF\xBB\xBF", 3) == 0)
            name += 3;
        for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++)
            if (strcmp(name, columns[j].name) == 0) {
                reader->kind[i] = columns[j].field;
                reader->unit[i] = columns[j].unit;
            }
        for (size_t j = 0; probe && j < sizeof probe_columns / sizeof probe_columns[0]; j++)
            if (strcmp(name, probe_columns[j].name) == 0) {
                reader->kind[i] = probe_columns[j].field;
                reader->unit[i] = 1;
            }
        if (reader->kind[i] == SIZE) {
            if (sized && strcmp(name, "bytes") == 0)
                reader->kind[i] = COUNTED;
            sized = true;
        }
    }
    for (size_t i = 0; i < reader->column_count; i++)
        reader->counters = reader->counters || reader->kind[i] == PART;
    bool measured = false;
    for (size_t i = 0; i < reader->column_count; i++)
        measured = measured || reader->kind[i] == TIME || reader->kind[i] == ALGBW ||
                   reader->kind[i] == BUSBW || reader->kind[i] == COUNTED ||
                   reader->kind[i] == VALUE;
    reader->useless = !sized || !measured;
    if (reader->useless)
        diag_add(reader->diag, (struct mark){reader->in->name, reader->line, 1},
                 "name them for example size_bytes,time_us; known are also median_us, latency_us, "
                 "algbw_GBps, busbw_GBps, bandwidth_MBps, bytes_per_call",
                 "no column of these is a %s", sized ? "time, rate or count" : "size");
}

/* Text of the columns of one kind, joined. */
static void words_of(const struct reader *reader, enum field kind, char *to, size_t size)
{
    size_t used = 0;
    to[0] = '\0';
    for (size_t i = 0; i < reader->column_count && used + 1 < size; i++)
        if (reader->kind[i] == kind)
            used += (size_t)snprintf(to + used, size - used, "%s%s", used ? " " : "",
                                     reader->fields[i]);
}

static bool number_of(const struct reader *reader, enum field kind, double *ret_value,
                      size_t *ret_wrong)
{
    for (size_t i = 0; i < reader->column_count; i++) {
        const struct text_word word = {reader->fields[i], strlen(reader->fields[i])};
        double value;
        if (reader->kind[i] != kind || word.length == 0)
            continue;
        if (text_number(&word, &value)) {
            *ret_value = value * reader->unit[i];
            return true;
        }
        *ret_wrong = i + 1;
    }
    return false;
}

static void read_row(struct reader *reader)
{
    char what[FIELD_SIZE * 2], variant[FIELD_SIZE * 6], part[FIELD_SIZE];
    double value[UNKNOWN];
    size_t wrong = 0;
    for (int i = 0; i < UNKNOWN; i++) {
        value[i] = (double)NAN;
        if (i < WHAT)
            number_of(reader, (enum field)i, &value[i], &wrong);
    }
    struct mark mark = {reader->in->name, reader->line, 1};
    char unit[FIELD_SIZE], quantity[FIELD_SIZE], device[FIELD_SIZE], chunk[FIELD_SIZE];
    words_of(reader, UNIT, unit, sizeof unit);
    words_of(reader, QUANTITY, quantity, sizeof quantity);
    words_of(reader, DEVICE, device, sizeof device);
    words_of(reader, CHUNK, chunk, sizeof chunk);
    if (unit[0] && isnan(value[VALUE]) && !wrong) /* missing: its note says why */
        return;
    if (unit[0] && strcmp(quantity, "time") == 0) {
        value[TIME] = value[VALUE];
        if (isnan(value[SIZE])) /* a launch, an event: no bytes */
            value[SIZE] = 0;
    } else if (unit[0]) {
        value[COUNTED] = value[VALUE];
        value[SIZE] = value[PAYLOAD];
        reader->counters = true;
    }
    bool counts = reader->counters && !isnan(value[COUNTED]);
    if (reader->field_count < reader->column_count || isnan(value[SIZE]) ||
        (isnan(value[TIME]) && isnan(value[ALGBW]) && isnan(value[BUSBW]) && !counts)) {
        if (wrong)
            diag_add(reader->diag, mark, "the other rows are used",
                     "\"%s\" in column %zu is no number", reader->fields[wrong - 1], wrong);
        else
            diag_add(reader->diag, mark, "the other rows are used", "this row has no %s",
                     isnan(value[SIZE]) ? "size" : "measurement");
        return;
    }
    /* nccl-tests rounds the rates of small messages to 0.00; their time says all. */
    for (int i = ALGBW; i <= BUSBW && value[TIME] > 0; i++)
        if (value[i] >= 0 && !(value[i] > 0))
            value[i] = (double)NAN;
    for (int i = TIME; i <= BUSBW; i++)
        if (i != LOW && i != HIGH && !isnan(value[i]) && !(value[i] > 0 && value[i] < 1e18)) {
            diag_add(reader->diag, mark, "the other rows are used", "its %s is not above 0",
                     i == TIME ? "time" : "rate");
            return;
        }
    words_of(reader, WHAT, what, sizeof what);
    words_of(reader, VARIANT, variant, sizeof variant);
    words_of(reader, PART, part, sizeof part);
    if (part[0])
        snprintf(variant + strlen(variant), sizeof variant - strlen(variant), " %s", part);
    const char *more[] = {chunk, unit[0] && strcmp(quantity, "time") != 0 ? device : "",
                          unit[0] && strcmp(quantity, "time") != 0 ? quantity : ""};
    for (size_t i = 0; i < 3; i++)
        if (more[i][0])
            snprintf(variant + strlen(variant), sizeof variant - strlen(variant), " %s", more[i]);
    if (!isnan(value[PLACE]))
        snprintf(variant, sizeof variant, "%s", value[PLACE] > 0 ? "in-place" : "out-of-place");
    struct observation *item = observe_add(reader->all, reader->line, what, variant, value[SIZE]);
    if (!item)
        return;
    item->time_s = value[TIME];
    item->low_s = value[LOW];
    item->high_s = value[HIGH];
    item->algbw_Bps = value[ALGBW];
    item->busbw_Bps = value[BUSBW];
    item->counted = counts ? value[COUNTED] : (double)NAN;
    if (isnan(item->time_s) && value[ALGBW] > 0)
        item->time_s = value[SIZE] / value[ALGBW];
}

static void take_row(int end, void *data)
{
    struct reader *reader = data;
    bool second = end == '\n' && reader->row_end == '\r' && reader->field_count == 0; /* of CR LF */
    reader->row_end = end;
    reader->line += !second;
    bool blank =
        reader->field_count == 0 || (reader->field_count == 1 && reader->fields[0][0] == '\0');
    if (!blank && reader->fields[0][0] != '#') {
        if (reader->column_count == 0)
            read_names(reader);
        else if (!reader->useless)
            read_row(reader);
    }
    reader->field_count = 0;
}

/* Line by line: of a comment, which may hold any quotes, only its end. False at a wrong quote. */
static bool parse(struct csv_parser *parser, const struct observe_input *in, struct reader *reader)
{
    const char *at = in->text, *end = in->text + in->length;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *next = stop ? stop + 1 : end;
        if (*at == '#' && !parser->quoted)
            at = stop ? stop : end;
        size_t length = (size_t)(next - at);
        if (csv_parse(parser, at, length, take_field, take_row, reader) < length)
            return false;
        at = next;
    }
    return true;
}

enum status observe_csv(const struct observe_input *in, struct observations *all,
                        struct diag_list *diag)
{
    struct csv_parser parser;
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader || !observe_run(all, in, OBSERVE_CSV, 1)) {
        free(reader);
        return STATUS_NOMEM;
    }
    reader->in = in;
    reader->all = all;
    reader->diag = diag;
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL)) {
        free(reader);
        return STATUS_NOMEM;
    }
    if (!parse(&parser, in, reader) || csv_fini(&parser, take_field, take_row, reader))
        diag_add(diag, (struct mark){in->name, reader->line + 1, 1}, "the rows before it are used",
                 "a quote is not closed, or stands in a field");
    csv_free(&parser);
    free(reader);
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}
