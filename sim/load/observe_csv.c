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
 * Where the line of names has semicolons and no comma, they stand between fields.
 * Columns are known by the names in `columns` below, or by their last word where that is a unit:
 * "nccl_time_us" and "nccl_busbw_GBps" are a time and a rate of one series, "nccl", which becomes
 * the variant of its observations; "min_ns" and "p90_ns" are how far a time spreads. Others are
 * left out. What gdsim itself predicted (columns "mechanism" and "accounting") is refused, but for
 * a series "measured". A row needs a size (or payload; "32 MB" is one) and a time, a rate or a
 * count.
 */
#include <csv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
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
    {"us", TIME, 1e-6},
    {"GBps", ALGBW, 1e9},
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

/* Last words of a name that are units. A second alone would also be one of "samples_s". */
static const struct {
    const char *name;
    enum field field;
    double unit;
} units[] = {{"ns", TIME, 1e-9},       {"us", TIME, 1e-6},       {"ms", TIME, 1e-3},
             {"GBps", ALGBW, 1e9},     {"GiBps", ALGBW, 0x1p30}, {"MBps", ALGBW, 1e6},
             {"MiBps", ALGBW, 0x1p20}, {"Gbps", ALGBW, 125e6},   {"Mbps", ALGBW, 125e3}};

/* Other words of such a name that say which quantity it is; what is left names the series. */
static const struct {
    const char *name;
    enum field field; /* UNKNOWN: as the unit says */
} quantities[] = {{"time", UNKNOWN},      {"latency", UNKNOWN}, {"t", UNKNOWN},   {"bw", UNKNOWN},
                  {"bandwidth", UNKNOWN}, {"algbw", ALGBW},     {"busbw", BUSBW}, {"avg", UNKNOWN},
                  {"median", UNKNOWN},    {"mean", UNKNOWN},    {"min", LOW},     {"max", HIGH},
                  {"p90", HIGH},          {"p99", HIGH}};

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
    size_t series[MAX_FIELDS]; /* that a measured column belongs to; 0: what has no name */
    char label[MAX_FIELDS + 1][FIELD_SIZE]; /* of each series */
    bool filled[MAX_FIELDS + 1];            /* whether it has a column that is a measurement */
    size_t series_count;
    bool counters; /* a column "counter": then "bytes" beside another size is what it counted */
    bool useless;  /* columns are missing: told once, not for each row */
    int row_end;   /* CR or LF that ended the last row */
};

static bool known(const char *name, size_t length)
{
    const char *unit = name;
    bool found = length == 6 && memcmp(name, "time_s", 6) == 0;
    for (size_t i = 0; i < length; i++)
        if (name[i] == '_')
            unit = name + i + 1;
    const size_t left = length - (size_t)(unit - name);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        found = found ||
                (strlen(columns[i].name) == length && memcmp(columns[i].name, name, length) == 0);
    for (size_t i = 0; i < sizeof probe_columns / sizeof probe_columns[0]; i++)
        found = found || (strlen(probe_columns[i].name) == length &&
                          memcmp(probe_columns[i].name, name, length) == 0);
    for (size_t i = 0; unit > name && i < sizeof units / sizeof units[0]; i++)
        found = found || (strlen(units[i].name) == left && memcmp(units[i].name, unit, left) == 0);
    return found;
}

bool observe_is_csv(const char *text, size_t length, char *ret_delimiter)
{
    const struct observe_input in = {"", text, length};
    const char *at = text;
    struct text_line line = {0};
    bool found = false;
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (!found && text_next_line(&in, &at, &line))
        found = line.length > 0 && line.start[0] != '#';
    if (!found)
        return false;
    const char *end = line.start + line.length;
    *ret_delimiter = memchr(line.start, ',', line.length) ? ',' : ';';
    size_t count = 0;
    for (const char *from = line.start; from < end;) {
        const char *to = memchr(from, *ret_delimiter, (size_t)(end - from));
        const char *next = to ? to + 1 : end;
        to = to ? to : end;
        while (from < to && strchr(" \"", *from))
            from++;
        while (from < to && strchr(" \"\r", to[-1]))
            to--;
        count += known(from, (size_t)(to - from));
        from = next;
    }
    return count >= 2;
}

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

static size_t series_of(struct reader *reader, const char *label)
{
    size_t i = 0;
    while (i < reader->series_count && strcmp(reader->label[i], label) != 0)
        i++;
    if (i == reader->series_count)
        snprintf(reader->label[reader->series_count++], FIELD_SIZE, "%s", label);
    return i;
}

/* A name that ends in a unit: its quantity, and the series that its other words name. */
static void read_quantity(struct reader *reader, size_t column, const char *name)
{
    const char *last = strrchr(name, '_');
    char label[FIELD_SIZE] = "";
    size_t used = 0;
    for (size_t i = 0; last && i < sizeof units / sizeof units[0]; i++)
        if (strcmp(last + 1, units[i].name) == 0) {
            reader->kind[column] = units[i].field;
            reader->unit[column] = units[i].unit;
        }
    if (strcmp(name, "time_s") == 0) {
        reader->kind[column] = TIME;
        reader->unit[column] = 1;
    }
    if (reader->kind[column] == UNKNOWN)
        return;
    for (const char *at = name; at < last; at += strcspn(at, "_") + 1) {
        size_t length = strcspn(at, "_"), i = 0;
        const size_t count = sizeof quantities / sizeof quantities[0];
        while (i < count && (strlen(quantities[i].name) != length ||
                             strncmp(quantities[i].name, at, length) != 0))
            i++;
        if (i == count)
            used += (size_t)snprintf(label + used, sizeof label - used, "%s%.*s", used ? "_" : "",
                                     (int)length, at);
        else if (quantities[i].field == BUSBW || reader->kind[column] == TIME)
            reader->kind[column] =
                quantities[i].field == UNKNOWN ? reader->kind[column] : quantities[i].field;
    }
    reader->series[column] = series_of(reader, label);
}

static void read_name(struct reader *reader, size_t column, const char *name, bool probe)
{
    reader->kind[column] = UNKNOWN;
    reader->unit[column] = 1;
    for (size_t j = 0; probe && j < sizeof probe_columns / sizeof probe_columns[0]; j++)
        if (strcmp(name, probe_columns[j].name) == 0) {
            reader->kind[column] = probe_columns[j].field;
            return;
        }
    for (size_t j = 0; j < sizeof columns / sizeof columns[0]; j++)
        if (strcmp(name, columns[j].name) == 0) {
            reader->kind[column] = columns[j].field;
            reader->unit[column] = columns[j].unit;
            return;
        }
    read_quantity(reader, column, name);
}

static bool is_measured(enum field kind)
{
    return kind == TIME || kind == ALGBW || kind == BUSBW || kind == COUNTED || kind == VALUE;
}

/* Whether the table is one that gdsim wrote: predictions, which only a name could take for
 * measured. What such a table has beside them as a series "measured" stays. */
static bool drop_predictions(struct reader *reader)
{
    bool mechanism = false, accounting = false;
    for (size_t i = 0; i < reader->column_count; i++) {
        mechanism |= strcmp(reader->fields[i], "mechanism") == 0;
        accounting |= strcmp(reader->fields[i], "accounting") == 0;
    }
    for (size_t i = 0; mechanism && accounting && i < reader->series_count; i++)
        if (strcmp(reader->label[i], "measured") != 0)
            reader->filled[i] = false;
    return mechanism && accounting;
}

static void read_names(struct reader *reader)
{
    bool sized = false, probe = false, measured = false;
    for (size_t i = 0; i < reader->field_count && i < MAX_FIELDS; i++)
        probe = probe || strcmp(reader->fields[i], "experiment") == 0;
    reader->column_count = reader->field_count < MAX_FIELDS ? reader->field_count : MAX_FIELDS;
    series_of(reader, "");
    for (size_t i = 0; i < reader->column_count; i++) {
        const char *name = reader->fields[i];
        if (i == 0 && strncmp(name, "\xEF\xBB\xBF", 3) == 0)
            name += 3;
        read_name(reader, i, name, probe);
        if (reader->kind[i] == SIZE) {
            if (sized && strcmp(name, "bytes") == 0)
                reader->kind[i] = COUNTED;
            sized = true;
        }
        reader->counters = reader->counters || reader->kind[i] == PART;
        if (is_measured(reader->kind[i]))
            measured = reader->filled[reader->series[i]] = true;
    }
    if (drop_predictions(reader)) {
        reader->useless = true;
        for (size_t i = 0; i < reader->series_count; i++)
            reader->useless = reader->useless && !reader->filled[i];
        if (reader->useless)
            diag_add(reader->diag, (struct mark){reader->in->name, reader->line, 1},
                     "measured runs are laid beside a scenario; what was measured at these points "
                     "goes into a column measured_us",
                     "these are predictions of gdsim: the columns \"mechanism\" and "
                     "\"accounting\" say so");
        return;
    }
    reader->useless = !sized || !measured;
    if (reader->useless)
        diag_add(reader->diag, (struct mark){reader->in->name, reader->line, 1},
                 "name them for example size_bytes,time_us; a name that ends in _us, _ns, _ms, "
                 "_GBps, _Gbps, _MBps or _MiBps is a time or a rate",
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

static bool number_of(const struct reader *reader, enum field kind, size_t series,
                      double *ret_value, size_t *ret_wrong)
{
    for (size_t i = 0; i < reader->column_count; i++) {
        const struct text_word word = {reader->fields[i], strlen(reader->fields[i])};
        double value;
        if (reader->kind[i] != kind || reader->series[i] != series || word.length == 0)
            continue;
        if (text_number(&word, &value) ||
            (kind == SIZE && !units_parse(word.start, word.length, DIM_BYTES, &value, NULL))) {
            *ret_value = value * reader->unit[i];
            return true;
        }
        *ret_wrong = i + 1;
    }
    return false;
}

/* What a row says of one series. */
static void read_series(struct reader *reader, size_t series)
{
    char what[FIELD_SIZE * 2], variant[FIELD_SIZE * 6], part[FIELD_SIZE];
    double value[UNKNOWN];
    size_t wrong = 0;
    for (int i = 0; i < UNKNOWN; i++) {
        value[i] = (double)NAN;
        if (i < WHAT)
            number_of(reader, (enum field)i, i >= TIME && i <= BUSBW ? series : 0, &value[i],
                      &wrong);
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
        if (series > 0 && !wrong && !isnan(value[SIZE]))
            return; /* an empty place in a table of several series */
        if (wrong)
            diag_add(reader->diag, mark,
                     strchr(reader->fields[wrong - 1], ',')
                         ? "decimals begin with a point; the other rows are used"
                         : "the other rows are used",
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
    if (series > 0)
        snprintf(variant + strlen(variant), sizeof variant - strlen(variant), "%s%s",
                 variant[0] ? " " : "", reader->label[series]);
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
        bool had_names = reader->column_count > 0;
        if (!had_names)
            read_names(reader);
        for (size_t i = 0; had_names && !reader->useless && i < reader->series_count; i++)
            if (reader->filled[i])
                read_series(reader, i);
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
    char delimiter;
    if (observe_is_csv(in->text, in->length, &delimiter))
        csv_set_delim(&parser, (unsigned char)delimiter);
    if (!parse(&parser, in, reader) || csv_fini(&parser, take_field, take_row, reader))
        diag_add(diag, (struct mark){in->name, reader->line + 1, 1}, "the rows before it are used",
                 "a quote is not closed, or stands in a field");
    csv_free(&parser);
    free(reader);
    return all->nomem ? STATUS_NOMEM : STATUS_OK;
}
