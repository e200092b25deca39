/* cell.c: see cell.h. */
#include "sim/report/cell.h"

#include <math.h>
#include <string.h>

#include <csv.h>
#include <jansson.h>

/* ---- CSV ------------------------------------------------------------------------------------ */

/* Quoted as libcsv quotes; most texts hold no quote, and then it is a copy. */
static void csv_text(struct text *text, const char *string)
{
    size_t length = strlen(string);
    size_t needed = 2 * length + 2; /* were every character a quote */
    if (!text_reserve(text, needed))
        return;
    char *to = text->data + text->length;
    if (memchr(string, '"', length)) {
        text->length += csv_write(to, needed, string, length);
    } else {
        to[0] = '"';
        memcpy(to + 1, string, length);
        to[length + 1] = '"';
        text->length += length + 2;
    }
    text->data[text->length] = '\0';
}

/* A number straight into the text. */
static void append_number(struct text *text, double value)
{
    size_t length;
    if (!text_reserve(text, NUMBER_TEXT_MAX))
        return;
    (void)number_print(value, text->data + text->length, &length);
    text->length += length;
}

static void append_int(struct text *text, int64_t value)
{
    if (text_reserve(text, NUMBER_TEXT_MAX))
        text->length += number_print_int(value, text->data + text->length);
}

void cell_csv(struct text *text, enum grid_kind kind, const struct cell *cell)
{
    if (!cell->present || (kind == GRID_REAL && isnan(cell->as.real)))
        return;
    if (kind == GRID_INT)
        append_int(text, cell->as.integer);
    else if (kind == GRID_BOOL)
        text_append(text, cell->as.truth ? "true" : "false", cell->as.truth ? 4 : 5);
    else if (kind == GRID_TEXT)
        csv_text(text, cell->as.text);
    else
        append_number(text, cell->as.real);
}

void cell_csv_name(struct text *text, const char *name)
{
    if (name[strcspn(name, ",\"\r\n ")] != '\0')
        csv_text(text, name);
    else
        text_append(text, name, strlen(name));
}

void cells_csv_header(struct text *text, const struct grid_column *columns, size_t count)
{
    const char *comma = "";
    for (size_t i = 0; i < count; i++) {
        if (columns[i].human_only)
            continue;
        text_append(text, comma, strlen(comma));
        cell_csv_name(text, columns[i].name);
        comma = ",";
    }
    text_append(text, "\n", 1);
}

/* A number as it stands in the row before, or printed anew. -0 is not 0. */
static void append_again(struct text *text, double value, struct cell_memo *memo)
{
    if (memo->length == 0 || memcmp(&memo->value, &value, sizeof value) != 0) {
        size_t length;
        (void)number_print(value, memo->text, &length);
        memo->value = value;
        memo->length = (uint8_t)length;
    }
    text_append(text, memo->text, memo->length);
}

void cells_csv(struct text *text, const struct grid_column *columns, const struct cell *cells,
               size_t count, struct cell_memo *memos)
{
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (columns[i].human_only)
            continue;
        if (!first && text_reserve(text, 1))
            text->data[text->length++] = ',';
        first = false;
        if (columns[i].kind == GRID_REAL && cells[i].present && !isnan(cells[i].as.real))
            append_again(text, cells[i].as.real, &memos[i]);
        else
            cell_csv(text, columns[i].kind, &cells[i]);
    }
    text_append(text, "\n", 1);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static int append_json(const char *data, size_t size, void *context)
{
    struct text *text = context;
    text_append(text, data, size);
    return text->failed ? -1 : 0;
}

/* Jansson writes the value, and takes it. Without memory the text fails. */
static void by_jansson(struct text *text, json_t *value, int digits)
{
    size_t flags = JSON_ENCODE_ANY | (size_t)JSON_REAL_PRECISION(digits);
    if (!value || json_dump_callback(value, append_json, text, flags) != 0)
        text->failed = true;
    json_decref(value);
}

static bool is_plain(const char *string)
{
    for (const char *c = string; *c; c++)
        if (*c < ' ' || *c == '"' || *c == '\\' || *c == 0x7f)
            return false; /* a byte above 0x7f is below ' ' where char has a sign */
    return true;
}

void cell_json_text(struct text *text, const char *string)
{
    if (!is_plain(string)) {
        by_jansson(text, json_string(string), 0);
        return;
    }
    text_append(text, "\"", 1);
    text_append(text, string, strlen(string));
    text_append(text, "\"", 1);
}

static void json_number(struct text *text, double value)
{
    char number[NUMBER_TEXT_MAX];
    size_t length;
    int digits = number_print(value, number, &length);
    if (strchr(number, 'e')) { /* jansson writes exponents in its own way */
        by_jansson(text, json_real(value), digits);
        return;
    }
    text_append(text, number, length);
    if (!strchr(number, '.'))
        text_append(text, ".0", 2);
}

void cell_json(struct text *text, enum grid_kind kind, const struct cell *cell)
{
    if (!cell->present || (kind == GRID_REAL && isnan(cell->as.real)))
        text_append(text, "null", 4);
    else if (kind == GRID_INT)
        append_int(text, cell->as.integer);
    else if (kind == GRID_BOOL)
        text_append(text, cell->as.truth ? "true" : "false", cell->as.truth ? 4 : 5);
    else if (kind == GRID_TEXT)
        cell_json_text(text, cell->as.text);
    else if (isinf(cell->as.real)) /* JSON has no infinity */
        cell_json_text(text, cell->as.real > 0 ? "unlimited" : "-unlimited");
    else
        json_number(text, cell->as.real);
}

void cells_json(struct text *text, const struct grid_column *columns, const struct cell *cells,
                size_t count)
{
    const char *comma = "{";
    for (size_t i = 0; i < count; i++) {
        if (columns[i].human_only)
            continue;
        text_append(text, comma, strlen(comma));
        cell_json_text(text, columns[i].name);
        text_append(text, ": ", 2);
        cell_json(text, columns[i].kind, &cells[i]);
        comma = ", ";
    }
    text_append(text, "}\n", 2);
}
