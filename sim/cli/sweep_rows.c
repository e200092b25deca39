/* sweep_rows.c: see sweep_rows.h. */
#include "sim/cli/sweep_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>
#include <jansson.h>

static const char JSON_BEGIN[] = "{\"point\": ";

struct rows_reader {
    const struct sweep *sweep;
    struct csv_parser parser;
    size_t field, time_field;
    double time_us;
    bool whole; /* as many fields as columns */
};

struct rows_reader *rows_open(const struct sweep *sweep, struct error *error)
{
    struct rows_reader *reader = calloc(1, sizeof *reader);
    if (!reader || csv_init(&reader->parser, CSV_STRICT | CSV_STRICT_FINI)) {
        free(reader);
        error_set(error, STATUS_NOMEM, "out of memory");
        return NULL;
    }
    reader->sweep = sweep;
    for (size_t i = 0; i < sweep->column_count; i++)
        if (strcmp(sweep->columns[i].name, "time_us") == 0)
            reader->time_field = i;
    return reader;
}

void rows_close(struct rows_reader *reader)
{
    if (!reader)
        return;
    csv_free(&reader->parser);
    free(reader);
}

bool rows_point(const char *row, bool json, uint64_t *ret_point)
{
    char *end;
    size_t begin = json ? sizeof JSON_BEGIN - 1 : 0;
    if (json && strncmp(row, JSON_BEGIN, begin) != 0)
        return false;
    if (row[begin] < '0' || row[begin] > '9')
        return false;
    *ret_point = strtoull(row + begin, &end, 10);
    return *end == ',';
}

static void on_field(void *field, size_t length, void *owner)
{
    struct rows_reader *reader = owner;
    char number[64];
    if (reader->field++ != reader->time_field || length == 0 || length >= sizeof number)
        return;
    memcpy(number, field, length);
    number[length] = '\0';
    reader->time_us = strtod(number, NULL);
}

static void on_row(int end, void *owner)
{
    struct rows_reader *reader = owner;
    (void)end;
    reader->whole = reader->field == reader->sweep->column_count;
}

static bool read_csv(struct rows_reader *reader, const char *row, size_t length)
{
    reader->field = 0;
    reader->whole = false;
    return csv_parse(&reader->parser, row, length, on_field, on_row, reader) == length &&
           reader->whole;
}

static bool read_json(struct rows_reader *reader, const char *row, size_t length)
{
    json_t *object = json_loadb(row, length, 0, NULL);
    const json_t *time = json_object_get(object, "time_us");
    bool whole = json_object_size(object) == reader->sweep->column_count;
    if (json_is_number(time))
        reader->time_us = json_number_value(time);
    json_decref(object);
    return whole;
}

bool rows_check(struct rows_reader *reader, const char *text, size_t length, uint64_t first,
                uint64_t count, double *time_us)
{
    const struct sweep *sweep = reader->sweep;
    const char *end = text + length;
    for (uint64_t i = 0; i < count; i++) {
        const char *stop = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
        uint64_t point;
        if (!stop || !rows_point(text, sweep->json, &point) ||
            point != shard_point(&sweep->shard, first + i))
            return false;
        size_t size = (size_t)(stop - text) + 1;
        reader->time_us = (double)NAN;
        if (!(sweep->json ? read_json(reader, text, size) : read_csv(reader, text, size)))
            return false;
        if (time_us)
            time_us[first + i] = reader->time_us;
        text = stop + 1;
    }
    return text == end;
}
