/* diag.c: collecting and printing the mistakes of an input. See diag.h. */
#include "sim/load/diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MESSAGE_MAX = 512,
    LINE_WIDTH = 96, /* characters of a quoted line; longer ones are shown around the caret */
    LINE_BEFORE = 64,
};

struct diag_source {
    char *name;
    char *text; /* NULL: only the name is known */
    size_t length;
};

/* ---- a text that grows; after a failed allocation it only remembers that it failed ---------- */
struct text {
    char *at;
    size_t length, capacity;
    bool failed;
};

static void text_add(struct text *text, const char *from, size_t length)
{
    if (text->failed)
        return;
    if (text->capacity - text->length <= length) {
        size_t capacity = 2 * (text->capacity + length) + 64;
        char *at = realloc(text->at, capacity);
        if (!at) {
            text->failed = true;
            return;
        }
        text->at = at;
        text->capacity = capacity;
    }
    memcpy(text->at + text->length, from, length);
    text->length += length;
    text->at[text->length] = '\0';
}

static void text_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

/* ---- characters ----------------------------------------------------------------------------- */

/* Length of the character at `s`; *ret_clean says whether a terminal can be given it. A byte
 * that is not UTF-8 counts as one character. Direction overrides are not clean: they would make
 * the quoted line read differently from what is in the file. */
static size_t character_length(const char *s, size_t left, bool *ret_clean)
{
    const unsigned char *u = (const unsigned char *)s;
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = u[0] < 0x80 ? 1 : u[0] < 0xC0 ? 0 : u[0] < 0xE0 ? 2 : u[0] < 0xF0 ? 3 : 4;
    *ret_clean = false;
    if (length == 0 || length > left || u[0] > 0xF4)
        return 1;
    uint32_t code = length == 1 ? u[0] : u[0] & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((u[i] & 0xC0u) != 0x80u)
            return 1;
        code = code << 6 | (u[i] & 0x3Fu);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 1;
    *ret_clean = code >= 0x20 && !(code >= 0x7F && code <= 0x9F) && code != 0xFEFF &&
                 !(code >= 0x2028 && code <= 0x202E) && !(code >= 0x2066 && code <= 0x2069);
    return length;
}

static void text_clean(struct text *text, const char *from, size_t length, bool keep_tabs)
{
    for (size_t i = 0; i < length;) {
        bool clean;
        size_t step = character_length(from + i, length - i, &clean);
        if (clean || (keep_tabs && from[i] == '\t'))
            text_add(text, from + i, step);
        else
            text_add(text, "?", 1);
        i += step;
    }
}

size_t diag_line_end(const char *s, size_t left)
{
    if (s[0] == '\r')
        return left > 1 && s[1] == '\n' ? 2 : 1;
    if (s[0] == '\n')
        return 1;
    if (left > 1 && memcmp(s, "\xC2\x85", 2) == 0)
        return 2;
    if (left > 2 && (memcmp(s, "\xE2\x80\xA8", 3) == 0 || memcmp(s, "\xE2\x80\xA9", 3) == 0))
        return 3;
    return 0;
}

/* ---- the list ------------------------------------------------------------------------------- */
void diag_init(struct diag_list *list)
{
    memset(list, 0, sizeof *list);
}

void diag_free(struct diag_list *list)
{
    if (!list)
        return;
    for (size_t i = 0; i < list->stored; i++) {
        free(list->items[i].message);
        free(list->items[i].hint);
    }
    for (size_t i = 0; i < list->source_count; i++) {
        free(list->sources[i].name);
        free(list->sources[i].text);
    }
    free(list->sources);
    memset(list, 0, sizeof *list);
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static struct diag_source *source_find(const struct diag_list *list, const char *name)
{
    for (size_t i = 0; i < list->source_count; i++) {
        if (list->sources[i].name == name || strcmp(list->sources[i].name, name) == 0)
            return &list->sources[i];
    }
    return NULL;
}

static struct diag_source *source_make(struct diag_list *list, const char *name)
{
    struct diag_source *found = source_find(list, name);
    if (found)
        return found;
    char *copy = copy_text(name, strlen(name));
    if (!copy)
        return NULL;
    struct diag_source *sources =
        realloc(list->sources, (list->source_count + 1) * sizeof *list->sources);
    if (!sources) {
        free(copy);
        return NULL;
    }
    list->sources = sources;
    sources[list->source_count] = (struct diag_source){.name = copy};
    return &sources[list->source_count++];
}

const char *diag_intern(struct diag_list *list, const char *name)
{
    struct diag_source *source = source_make(list, name);
    return source ? source->name : NULL;
}

const char *diag_add_source(struct diag_list *list, const char *name, const char *text,
                            size_t length)
{
    char *copy = copy_text(text, length);
    struct diag_source *source = copy ? source_make(list, name) : NULL;
    if (!source) {
        free(copy);
        return NULL;
    }
    free(source->text);
    source->text = copy;
    source->length = length;
    return source->name;
}

/* Messages quote the user's text, so they are cleaned and cut like quoted lines. */
static char *message_copy(const char *message)
{
    struct text text = {0};
    text_clean(&text, message, strlen(message), false);
    if (text.failed) {
        free(text.at);
        return NULL;
    }
    return text.at ? text.at : copy_text("", 0);
}

/* Shorten a text that did not fit to whole characters and three dots. */
static void message_cut(char message[MESSAGE_MAX])
{
    size_t end = MESSAGE_MAX - 4;
    while (end > 0 && ((unsigned char)message[end] & 0xC0u) == 0x80u)
        end--;
    memcpy(message + end, "...", 4);
}

enum status diag_add(struct diag_list *list, struct mark mark, const char *hint, const char *format,
                     ...)
{
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(message, sizeof message, format, args);
    va_end(args);
    if (length >= MESSAGE_MAX)
        message_cut(message);

    /* A value that a star gave to eight devices is wrong once. */
    for (size_t i = 0; mark.file && mark.line && i < list->stored; i++)
        if (list->items[i].mark.line == mark.line && list->items[i].mark.column == mark.column &&
            strcmp(list->items[i].mark.file, mark.file) == 0 &&
            strcmp(list->items[i].message, message) == 0)
            return STATUS_INPUT;
    list->total++;
    if (list->stored == DIAG_MAX)
        return STATUS_INPUT;

    struct diag item = {.mark = mark};
    item.message = message_copy(message);
    item.hint = hint ? message_copy(hint) : NULL;
    if (mark.file)
        item.mark.file = diag_intern(list, mark.file);
    if (!item.message || (hint && !item.hint) || (mark.file && !item.mark.file)) {
        free(item.message);
        free(item.hint);
        list->nomem = true;
        return STATUS_NOMEM;
    }
    list->items[list->stored++] = item;
    return STATUS_INPUT;
}

enum status diag_add_error(struct diag_list *list, struct mark mark, const struct error *error)
{
    return diag_add(list, mark, error->hint[0] ? error->hint : NULL, "%s", error->message);
}

size_t diag_count(const struct diag_list *list)
{
    return list->total;
}

const struct diag *diag_get(const struct diag_list *list, size_t index)
{
    return index < list->stored ? &list->items[index] : NULL;
}

/* ---- printing ------------------------------------------------------------------------------- */

/* The given line of a text, without its line end; false if there are fewer lines. */
static bool line_find(const struct diag_source *source, uint32_t line, const char **ret_start,
                      size_t *ret_length)
{
    size_t at = 0, start = 0;
    uint32_t here = 1;
    while (at < source->length) {
        size_t step = diag_line_end(source->text + at, source->length - at);
        if (step > 0) {
            if (here == line)
                break;
            here++;
            start = at + step;
        }
        at += step > 0 ? step : 1;
    }
    if (here != line)
        return false;
    *ret_start = source->text + start;
    *ret_length = at - start;
    return true;
}

/* Byte offset of the index-th character, or the length if there are fewer. */
static size_t line_offset(const char *line, size_t length, size_t index)
{
    size_t at = 0;
    bool clean;
    while (index-- > 0 && at < length)
        at += character_length(line + at, length - at, &clean);
    return at;
}

static void render_line(struct text *text, const struct diag_source *source, const struct mark *m)
{
    const char *line;
    size_t length;
    if (!line_find(source, m->line, &line, &length))
        return;

    size_t caret = m->column > 0 ? m->column - 1 : 0;
    size_t count = 0, first = 0;
    bool clean;
    for (size_t at = 0; at < length; count++)
        at += character_length(line + at, length - at, &clean);
    if (caret > count)
        caret = count;
    if (count > LINE_WIDTH && caret > LINE_BEFORE)
        first = caret - LINE_BEFORE;
    size_t from = line_offset(line, length, first);
    size_t here = line_offset(line, length, caret);
    size_t to = from + line_offset(line + from, length - from, LINE_WIDTH);

    char number[24];
    snprintf(number, sizeof number, "%6lu |", (unsigned long)m->line);
    text_string(text, number);
    if (length > 0)
        text_string(text, first > 0 ? " ..." : " ");
    text_clean(text, line + from, to - from, true);
    text_string(text, to < length ? "...\n" : "\n");

    for (size_t i = 0; number[i] != '|'; i++)
        number[i] = ' ';
    text_string(text, number);
    text_string(text, first > 0 ? "    " : " ");
    for (size_t at = from; at < here;) {
        text_string(text, line[at] == '\t' ? "\t" : " ");
        at += character_length(line + at, length - at, &clean);
    }
    text_string(text, "^\n");
}

enum status diag_render(const struct diag_list *list, char **ret_text)
{
    struct text text = {0};
    text_string(&text, "");
    for (size_t i = 0; i < list->stored; i++) {
        const struct diag *item = &list->items[i];
        const struct mark *mark = &item->mark;
        if (mark->file) {
            text_clean(&text, mark->file, strlen(mark->file), false);
            char place[32] = "";
            if (mark->line > 0)
                snprintf(place, sizeof place, ":%lu:%lu", (unsigned long)mark->line,
                         (unsigned long)mark->column);
            text_string(&text, place);
            text_string(&text, ": ");
        }
        text_string(&text, "error: ");
        text_string(&text, item->message);
        text_string(&text, "\n");
        const struct diag_source *source = mark->file ? source_find(list, mark->file) : NULL;
        if (source && source->text && mark->line > 0)
            render_line(&text, source, mark);
        if (item->hint) {
            text_string(&text, "  hint: ");
            text_string(&text, item->hint);
            text_string(&text, "\n");
        }
    }
    if (list->total > list->stored) {
        char rest[64];
        snprintf(rest, sizeof rest, "and %lu more\n", (unsigned long)(list->total - list->stored));
        text_string(&text, rest);
    }
    if (text.failed) {
        free(text.at);
        return STATUS_NOMEM;
    }
    *ret_text = text.at;
    return STATUS_OK;
}
