/* axes.c: axes and their values; --axis. See axes.h. */
#include "sim/load/axes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"

static const struct {
    const char *name;
    enum axis_kind kind;
} known[] = {
    {"rate", AXIS_RATE},
    {"size", AXIS_SIZE},
    {"sizes", AXIS_SIZE},
    {"mechanism", AXIS_MECHANISM},
    {"mechanisms", AXIS_MECHANISM},
    {"algorithm", AXIS_ALGORITHM},
    {"accounting", AXIS_ACCOUNTING},
};

void axes_free(struct axes *axes)
{
    for (size_t i = 0; i < axes->count; i++) {
        struct axis *axis = &axes->axis[i];
        for (size_t v = 0; v < axis->count; v++)
            free(axis->values[v].text);
        free(axis->values);
        free(axis->key);
    }
    memset(axes, 0, sizeof *axes);
}

bool axes_dimension(const char *key, enum dimension *ret_dimension)
{
    const char *dot = strrchr(key, '.');
    if (strcmp(key, "nodes") == 0 || strcmp(key, "root") == 0) {
        *ret_dimension = DIM_COUNT;
        return true;
    }
    for (int id = 0; dot && id < PARAM_COUNT; id++) {
        const struct param_info *info = param_info((enum param_id)id);
        if (strcmp(info->name, dot + 1) != 0)
            continue;
        *ret_dimension = info->dimension;
        return info->dimension != DIM_BOOL && info->dimension != DIM_CHOICE &&
               info->dimension != DIM_FLAGS;
    }
    return false;
}

void axes_number_text(double number, enum dimension dimension, char *buffer, size_t size)
{
    const char *unit = dimension == DIM_TIME    ? " s"
                       : dimension == DIM_BYTES ? " B"
                       : dimension == DIM_RATE  ? " B/s"
                                                : "";
    if (isinf(number))
        snprintf(buffer, size, "unlimited");
    else
        snprintf(buffer, size, "%.17g%s", number, unit);
}

const char *axis_text(const struct axis *axis, size_t value, char *buffer, size_t size)
{
    const struct axis_value *at = &axis->values[value];
    if (at->text)
        return at->text;
    axes_number_text(at->number, axis->dimension, buffer, size);
    return buffer;
}

struct axis *axes_find(struct axes *axes, enum axis_kind kind, const char *key)
{
    for (size_t i = 0; i < axes->count; i++)
        if (axes->axis[i].kind == kind && (kind != AXIS_KEY || strcmp(axes->axis[i].key, key) == 0))
            return &axes->axis[i];
    return NULL;
}

struct axis *axes_open(struct axes *axes, const char *key, struct mark mark, struct diag_list *diag)
{
    enum axis_kind kind = AXIS_KEY;
    if (strcmp(key, "protocol") == 0) /* as --protocol */
        key = "engine.protocol";
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, key) == 0)
            kind = known[i].kind;
    struct axis *axis = axes_find(axes, kind, key);
    if (axis) {
        for (size_t v = 0; v < axis->count; v++)
            free(axis->values[v].text);
        axis->count = 0;
        axis->sampled = axis->logarithmic = false;
        axis->mark = mark;
        return axis;
    }
    char *copy = malloc(strlen(key) + 1);
    if (axes->count == AXES_MAX || !copy) {
        free(copy);
        diag_add(diag, mark, NULL, "more than %d axes", AXES_MAX);
        return NULL;
    }
    memcpy(copy, key, strlen(key) + 1);
    axis = &axes->axis[axes->count++];
    *axis = (struct axis){.kind = kind, .key = copy, .mark = mark};
    axis->numeric = axes_dimension(key, &axis->dimension);
    if (kind == AXIS_RATE || kind == AXIS_SIZE) {
        axis->numeric = true;
        axis->dimension = kind == AXIS_RATE ? DIM_RATE : DIM_BYTES;
    }
    return axis;
}

void axis_add(struct axis *axis, const char *text, double number, struct mark mark,
              struct diag_list *diag)
{
    if (axis->count == AXES_MAX_VALUES) {
        diag_add(diag, mark, NULL, "more than %u values on one axis", AXES_MAX_VALUES);
        return;
    }
    size_t count = axis->count;
    char *copy = text ? malloc(strlen(text) + 1) : NULL;
    bool failed = text && !copy;
    if ((count & (count - 1)) == 0) { /* the room doubles */
        struct axis_value *grown =
            realloc(axis->values, (count ? 2 * count : 1) * sizeof *axis->values);
        axis->values = grown ? grown : axis->values;
        failed = failed || !grown;
    }
    if (failed) {
        free(copy);
        diag_add(diag, mark, NULL, "out of memory");
        return;
    }
    if (copy)
        memcpy(copy, text, strlen(text) + 1);
    axis->values[axis->count++] = (struct axis_value){copy, number, mark};
}

void axis_value(struct axis *axis, const char *text, size_t length, struct mark mark,
                struct diag_list *diag)
{
    struct error error;
    double number = (double)NAN;
    char *copy = malloc(length + 1);
    if (!copy) {
        diag_add(diag, mark, NULL, "out of memory");
        return;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (length == 0)
        diag_add(diag, mark, "write for example nodes=2,4,8", "\"%s\" has an empty value",
                 axis->key);
    else if (axis->numeric && units_parse(text, length, axis->dimension, &number, &error))
        diag_add_error(diag, mark, &error);
    else
        axis_add(axis, copy, number, mark, diag);
    free(copy);
}

void axis_fill(struct axis *axis, double low, double high, enum axis_row row, double by,
               struct mark mark, struct diag_list *diag)
{
    bool geometric = row == ROW_TIMES || row == ROW_SAMPLED_LOG;
    if (!(low <= high) || isinf(high) || (geometric && !(low > 0))) {
        diag_add(diag, mark, NULL,
                 geometric ? "a geometric row runs upwards from above 0 and has an end"
                           : "a row runs upwards and has an end");
        return;
    }
    if (row == ROW_SAMPLED || row == ROW_SAMPLED_LOG) {
        axis->sampled = true;
        axis->logarithmic = row == ROW_SAMPLED_LOG;
        axis->low = low;
        axis->high = high;
        axis_add(axis, NULL, low, mark, diag);
        axis_add(axis, NULL, high, mark, diag);
        return;
    }
    if (row == ROW_TIMES ? !(by >= 1.0001) : !(by > 0)) {
        diag_add(diag, mark, NULL,
                 row == ROW_TIMES ? "the factor of a row is at least 1.0001"
                                  : "the step of a row is above 0");
        return;
    }
    double before = (double)NAN;
    for (double i = 0; i <= AXES_MAX_VALUES; i++) {
        double number = row == ROW_TIMES ? low * pow(by, i) : low + by * i;
        if (number > high * (1 + 1e-12))
            return;
        if (axis->dimension == DIM_COUNT)
            number = round(number);
        if (number >= before && number <= before) /* whole numbers of a slow row: each once */
            continue;
        before = number;
        axis_add(axis, NULL, number, mark, diag);
    }
    diag_add(diag, mark, NULL, "more than %u values on one axis", AXES_MAX_VALUES);
}

/* ---- --axis ---------------------------------------------------------------------------------- */

struct option_reader {
    struct diag_list *diag;
    const char *file, *text; /* file: "--axis TEXT", interned */
};

static const char PREFIX[] = "--axis ";

static struct mark option_mark(const struct option_reader *reader, const char *at)
{
    uint32_t column = sizeof PREFIX;
    for (const char *c = reader->text; c < at; c++)
        column += ((unsigned char)*c & 0xC0u) != 0x80u;
    return (struct mark){reader->file, 1, column};
}

static void trim(const char **text, size_t *length)
{
    while (*length > 0 && **text == ' ') {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && (*text)[*length - 1] == ' ')
        (*length)--;
}

/* Length up to the separator or the end, not looking into brackets and quotes. */
static size_t part_length(const char *text, size_t length, char separator)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"')
            quoted = !quoted;
        else if (quoted)
            continue;
        else if (text[i] == '[' || text[i] == '{')
            depth++;
        else if (text[i] == ']' || text[i] == '}')
            depth--;
        else if (text[i] == separator && depth == 0)
            return i;
    }
    return length;
}

/* "low:high", "low:high:x2", "low:high:+step", "low:high:log". */
static void read_row(const struct option_reader *reader, struct axis *axis, const char *text,
                     size_t length)
{
    static const char hint[] = "write KEY=low:high:x2 (geometric), KEY=low:high:+step, or "
                               "KEY=low:high[:log] with --lhs or --sobol";
    const char *part[4];
    size_t size[4], count = 0;
    for (const char *at = text, *end = text + length; count < 4; count++) {
        part[count] = at;
        size[count] = part_length(at, (size_t)(end - at), ':');
        at += size[count] + 1;
        trim(&part[count], &size[count]);
        if (at > end) {
            count++;
            break;
        }
    }
    if (!axis->numeric) {
        diag_add(reader->diag, option_mark(reader, text), "give its values, separated by commas",
                 "\"%s\" takes no number, so it has no row from : to", axis->key);
        return;
    }
    double ends[2], by = 0;
    struct error error;
    for (size_t i = 0; i < 2; i++)
        if (units_parse(part[i], size[i], axis->dimension, &ends[i], &error)) {
            diag_add_error(reader->diag, option_mark(reader, part[i]), &error);
            return;
        }
    enum axis_row row = ROW_SAMPLED;
    bool fine = count == 2;
    if (count == 3 && size[2] == 3 && memcmp(part[2], "log", 3) == 0) {
        row = ROW_SAMPLED_LOG;
        fine = true;
    } else if (count == 3 && size[2] > 1 && (part[2][0] == 'x' || part[2][0] == '+')) {
        row = part[2][0] == 'x' ? ROW_TIMES : ROW_STEP;
        if (units_parse(part[2] + 1, size[2] - 1, row == ROW_TIMES ? DIM_NUMBER : axis->dimension,
                        &by, &error)) {
            diag_add_error(reader->diag, option_mark(reader, part[2] + 1), &error);
            return;
        }
        fine = true;
    }
    if (!fine) {
        diag_add(reader->diag, option_mark(reader, count > 2 ? part[2] : text), hint,
                 "a row has two ends and how it goes from one to the other");
        return;
    }
    axis_fill(axis, ends[0], ends[1], row, by, option_mark(reader, text), reader->diag);
}

enum status axes_option(struct axes *axes, const char *text, struct diag_list *diag)
{
    size_t before = diag_count(diag), length = sizeof PREFIX + strlen(text);
    char *whole = malloc(length);
    if (!whole)
        return STATUS_NOMEM;
    memcpy(whole, PREFIX, sizeof PREFIX - 1);
    memcpy(whole + sizeof PREFIX - 1, text, strlen(text) + 1);
    struct option_reader reader = {diag, diag_add_source(diag, whole, whole, length - 1), text};
    free(whole);
    const char *equals = strchr(text, '=');
    if (!reader.file)
        return STATUS_NOMEM;
    if (!equals || equals == text)
        return diag_add(diag, option_mark(&reader, text), "write for example --axis nodes=2,4,8",
                        "an axis is KEY=VALUES");
    whole = malloc((size_t)(equals - text) + 1);
    if (!whole)
        return STATUS_NOMEM;
    memcpy(whole, text, (size_t)(equals - text));
    whole[equals - text] = '\0';
    struct axis *axis = axes_open(axes, whole, option_mark(&reader, text), diag);
    free(whole);
    for (const char *at = equals + 1, *end = text + strlen(text); axis && at <= end;) {
        size_t size = part_length(at, (size_t)(end - at), ','), trimmed = size;
        const char *part = at;
        trim(&part, &trimmed);
        if (part_length(part, trimmed, ':') < trimmed)
            read_row(&reader, axis, part, trimmed);
        else
            axis_value(axis, part, trimmed, option_mark(&reader, part), diag);
        at += size + 1;
    }
    if (axis && axis->sampled && axis->count > 2)
        diag_add(diag, axis->mark, NULL, "a range that is sampled stands alone on its axis");
    return diag_count(diag) > before ? STATUS_INPUT : STATUS_OK;
}
