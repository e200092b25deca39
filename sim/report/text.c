/* text.c: see text.h. */
#include "sim/report/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool text_reserve(struct text *text, size_t extra)
{
    if (text->failed)
        return false;
    if (extra >= SIZE_MAX / 2 - text->length) {
        text->failed = true;
        return false;
    }
    size_t needed = text->length + extra + 1;
    if (needed <= text->capacity)
        return true;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity < needed)
        capacity *= 2;
    char *data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    data[text->length] = '\0';
    return true;
}

void text_append(struct text *text, const char *data, size_t length)
{
    if (!text_reserve(text, length))
        return;
    if (length > 0)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_printf(struct text *text, const char *format, ...)
{
    if (text->failed)
        return;
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    if (length < 0) {
        text->failed = true;
    } else if (text_reserve(text, (size_t)length)) {
        (void)vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

void text_append_utf8(struct text *text, const char *string)
{
    text_append(text, "", 0); /* an empty string is a string too: data must not stay NULL */
    while (*string) {
        uint32_t code;
        size_t length = text_decode(string, &code);
        if (code == TEXT_NOT_UTF8)
            text_append(text, "\xef\xbf\xbd", 3);
        else
            text_append(text, string, length);
        string += length;
    }
}

void text_printf_small(struct text *text, double value, int decimals)
{
    double magnitude = fabs(value);
    if (magnitude > 0 && magnitude < 0.5 * pow(10, -decimals))
        decimals = 1 - (int)floor(log10(magnitude));
    text_printf(text, "%.*f", decimals, value);
}

void text_fill(struct text *text, char c, size_t count)
{
    if (!text_reserve(text, count))
        return;
    memset(text->data + text->length, c, count);
    text->length += count;
    text->data[text->length] = '\0';
}

void text_truncate(struct text *text, size_t length)
{
    if (!text->data || length > text->length)
        return;
    text->length = length;
    text->data[length] = '\0';
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){0};
}

size_t text_decode(const char *string, uint32_t *code)
{
    unsigned char lead = (unsigned char)string[0];
    *code = TEXT_NOT_UTF8;
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4)
        return 1;
    uint32_t value = lead & (0x7fU >> length);
    /* The final NUL is no continuation byte, so this never reads past the string. */
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)string[i];
        if ((next & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (next & 0x3fU);
    }
    bool overlong = (length == 3 && value < 0x800) || (length == 4 && value < 0x10000);
    bool surrogate = value >= 0xd800 && value <= 0xdfff;
    if (overlong || surrogate || value > 0x10ffff)
        return 1;
    *code = value;
    return length;
}

/* Ranges of Unicode that are not one column wide: the blocks that matter for names and units, not
 * the full tables of UAX #11. A miss costs a crooked column, nothing else. */
static const struct {
    uint32_t first, last;
    unsigned char width;
} odd_widths[] = {
    {0x0000, 0x001f, 0},   {0x007f, 0x009f, 0},   {0x0300, 0x036f, 0},   {0x0483, 0x0489, 0},
    {0x0591, 0x05bd, 0},   {0x064b, 0x065f, 0},   {0x1100, 0x115f, 2},   {0x1ab0, 0x1aff, 0},
    {0x1dc0, 0x1dff, 0},   {0x200b, 0x200f, 0},   {0x20d0, 0x20ff, 0},   {0x2e80, 0x303e, 2},
    {0x3041, 0x4dbf, 2},   {0x4e00, 0xa4cf, 2},   {0xac00, 0xd7a3, 2},   {0xf900, 0xfaff, 2},
    {0xfe00, 0xfe0f, 0},   {0xfe20, 0xfe2f, 0},   {0xfe30, 0xfe6f, 2},   {0xfeff, 0xfeff, 0},
    {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},   {0x1f300, 0x1f64f, 2}, {0x1f680, 0x1f6ff, 2},
    {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2},
};

static size_t code_width(uint32_t code)
{
    for (size_t i = 0; i < sizeof odd_widths / sizeof odd_widths[0]; i++)
        if (code >= odd_widths[i].first && code <= odd_widths[i].last)
            return odd_widths[i].width;
    return 1; /* also a byte that is not UTF-8: terminals draw one replacement mark */
}

size_t text_width(const char *string)
{
    size_t width = 0;
    while (*string) {
        uint32_t code;
        string += text_decode(string, &code);
        width += code_width(code);
    }
    return width;
}
