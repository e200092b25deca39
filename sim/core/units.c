/* units.c: quantities with units. See units.h.
 *
 * A unit is a factor `times` over `per`, both exact doubles: 6 us is 6 / 1e6, which rounds once
 * and so equals the literal 6e-6, while 6 * 1e-6 need not.
 */
#include "sim/core/units.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double times, per;
    bool shown; /* used by units_format(); these stand from small to large */
};

#define KI 1024.0
#define MI (KI * KI)
#define GI (KI * MI)
#define TI (KI * GI)
#define PI (KI * TI)

static const struct unit FRACTION_UNITS[] = {{"%", 1, 100, false}};

static const struct unit TIME_UNITS[] = {
    {"ps", 1, 1e12, true},
    {"ns", 1, 1e9, true},
    {"us", 1, 1e6, true},
    {"ms", 1, 1e3, true},
    {"s", 1, 1, true},
    {"\xC2\xB5s", 1, 1e6, false}, /* the micro sign */
    {"\xCE\xBCs", 1, 1e6, false}, /* the Greek mu, which looks the same */
};

static const struct unit BYTES_UNITS[] = {
    {"B", 1, 1, true},     {"kB", 1e3, 1, true},  {"MB", 1e6, 1, true},  {"GB", 1e9, 1, true},
    {"TB", 1e12, 1, true}, {"PB", 1e15, 1, true}, {"KB", 1e3, 1, false}, {"KiB", KI, 1, false},
    {"MiB", MI, 1, false}, {"GiB", GI, 1, false}, {"TiB", TI, 1, false}, {"PiB", PI, 1, false},
};

static const struct unit RATE_UNITS[] = {
    {"B/s", 1, 1, true},        {"kB/s", 1e3, 1, true},    {"MB/s", 1e6, 1, true},
    {"GB/s", 1e9, 1, true},     {"TB/s", 1e12, 1, true},   {"KB/s", 1e3, 1, false},
    {"KiB/s", KI, 1, false},    {"MiB/s", MI, 1, false},   {"GiB/s", GI, 1, false},
    {"TiB/s", TI, 1, false},    {"b/s", 1, 8, false},      {"kb/s", 1e3, 8, false},
    {"Kb/s", 1e3, 8, false},    {"Mb/s", 1e6, 8, false},   {"Gb/s", 1e9, 8, false},
    {"Tb/s", 1e12, 8, false},   {"bit/s", 1, 8, false},    {"kbit/s", 1e3, 8, false},
    {"Kbit/s", 1e3, 8, false},  {"Mbit/s", 1e6, 8, false}, {"Gbit/s", 1e9, 8, false},
    {"Tbit/s", 1e12, 8, false},
};

#define TABLE(units) units, sizeof units / sizeof *units

static const struct family {
    const char *expected;  /* what a message asks for */
    const char *noun;      /* what it calls a quantity of this kind */
    const char *unit;      /* what it proposes when the unit is missing */
    const char *all_units; /* what it lists when nothing is near */
    const struct unit *units;
    size_t count;
} FAMILIES[] = {
    [DIM_COUNT] = {"a whole number such as 8", "a number", "", "", NULL, 0},
    [DIM_NUMBER] = {"a number such as 1.5", "a number", "", "", NULL, 0},
    [DIM_FRACTION] = {"a fraction such as 0.85 or 85 %", "a percentage", "%", "only %",
                      TABLE(FRACTION_UNITS)},
    [DIM_TIME] = {"a time such as 6 us", "a time", "us", "ps, ns, us, ms, s", TABLE(TIME_UNITS)},
    [DIM_BYTES] = {"a size such as 64 MiB", "a size", "MiB",
                   "B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB", TABLE(BYTES_UNITS)},
    [DIM_RATE] = {"a rate such as 31.5 GB/s", "a rate", "GB/s",
                  "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s; "
                  "in bits kb/s, Mb/s, Gb/s, Tb/s",
                  TABLE(RATE_UNITS)},
    [DIM_BOOL] = {"yes or no", "", "", "", NULL, 0},
    [DIM_CHOICE] = {"one of a few words", "", "", "", NULL, 0}, /* parsed by param.c */
    [DIM_FLAGS] = {"words joined by +", "", "", "", NULL, 0},
};

/* A piece of the user's text, made safe to quote. */
struct quote {
    char text[44];
};

static struct quote quote(const char *text, size_t length)
{
    struct quote q = {""};
    size_t limit = sizeof q.text - 4, end = length;
    if (length > limit) {
        end = limit;
        while (end > 0 && ((unsigned char)text[end] & 0xC0u) == 0x80u)
            end--;
    }
    for (size_t i = 0; i < end; i++)
        q.text[i] = (unsigned char)text[i] < 0x20 || text[i] == 0x7F ? '?' : text[i];
    if (length > limit)
        memcpy(q.text + end, "...", 4);
    return q;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool equals(const char *text, size_t length, const char *word)
{
    return length == strlen(word) && memcmp(text, word, length) == 0;
}

static bool equals_but_case(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if (*a != *b && ((*a ^ *b) != 0x20 || (*a | 0x20) < 'a' || (*a | 0x20) > 'z'))
            return false;
    }
    return *a == *b;
}

/* Length of the plain decimal number that starts the text; 0 if none does. Written out because
 * strtod would also take inf, nan and hexadecimal. */
static size_t number_length(const char *text, size_t length)
{
    size_t at = 0, digits = 0;
    if (at < length && (text[at] == '+' || text[at] == '-'))
        at++;
    for (; at < length && is_digit(text[at]); at++)
        digits++;
    if (at < length && text[at] == '.')
        at++;
    for (; at < length && is_digit(text[at]); at++)
        digits++;
    if (digits == 0)
        return 0;
    size_t exponent = at + 1;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        if (exponent < length && (text[exponent] == '+' || text[exponent] == '-'))
            exponent++;
        if (exponent < length && is_digit(text[exponent])) {
            for (at = exponent; at < length && is_digit(text[at]);)
                at++;
        }
    }
    return at;
}

static const struct unit *unit_find(enum dimension dimension, const char *text, size_t length)
{
    const struct family *family = &FAMILIES[dimension];
    for (size_t i = 0; i < family->count; i++) {
        if (equals(text, length, family->units[i].name))
            return &family->units[i];
    }
    return NULL;
}

/* ---- mistakes in the unit ------------------------------------------------------------------- */

/* The prefix of a unit in its proper case ("k" or "M"), "" for none or a letter that is none. */
static const char *prefix_of(const char *unit)
{
    static const char *const prefixes[] = {"k", "M", "G", "T"};
    for (size_t i = 0; i < 4; i++) {
        if ((unit[0] | 0x20) == (prefixes[i][0] | 0x20))
            return prefixes[i];
    }
    return "";
}

/* These two say whether they knew what is wrong, and filled the error. */
static bool unknown_size(const char *unit, const char *whole, struct error *error)
{
    const char *prefix = prefix_of(unit), *rest = unit + (*prefix ? 1 : 0);
    if (strcmp(rest, "b") == 0 || strcmp(rest, "bit") == 0) {
        error_set(error, STATUS_INPUT, "\"%s\" is in bits; a size is in bytes", whole);
        error_hint(error, "did you mean \"%sB\"?", prefix);
        return true;
    }
    if (*prefix && *rest == '\0') {
        const char *binary = *prefix == 'k' ? "K" : prefix;
        error_set(error, STATUS_INPUT, "unknown unit \"%s\" in \"%s\"", unit, whole);
        error_hint(error, "write \"%sB\" for powers of 1000, \"%siB\" for powers of 1024", prefix,
                   binary);
        return true;
    }
    return false;
}

static bool unknown_rate(const char *unit, const char *whole, struct error *error)
{
    const char *prefix = prefix_of(unit), *rest = unit + (*prefix ? 1 : 0);
    if (strcmp(rest, "T/s") == 0 || strcmp(rest, "Tps") == 0) {
        error_set(error, STATUS_INPUT, "\"%s\" counts transfers, not bytes", whole);
        error_hint(error, "a PCIe rate is given by gen and width, for example gen: 5 "
                          "and width: 16");
        return true;
    }
    if (strcmp(rest, "Bps") == 0 || strcmp(rest, "bps") == 0) {
        error_set(error, STATUS_INPUT, "unknown unit \"%s\" in \"%s\"", unit, whole);
        error_hint(error, "did you mean \"%s%c/s\"?", prefix, rest[0]);
        return true;
    }
    /* gb/s and the like: bits or bytes, a factor of 8 that is not ours to guess. */
    if (*prefix && (*rest == '\0' || (rest[0] | 0x20) == 'b')) {
        error_set(error, STATUS_INPUT, "unknown unit \"%s\" in \"%s\"", unit, whole);
        error_hint(error, "did you mean \"%sB/s\" or \"%sb/s\"?", prefix, prefix);
        return true;
    }
    return false;
}

/* Explain a unit that is not one of the dimension's. */
static enum status unit_refuse(const char *text, size_t length, size_t unit_at,
                               enum dimension dimension, struct error *error)
{
    const struct family *family = &FAMILIES[dimension];
    struct quote whole = quote(text, length), unit = quote(text + unit_at, length - unit_at);

    for (size_t d = DIM_FRACTION; d <= DIM_RATE; d++) {
        if (d == (size_t)dimension ||
            !unit_find((enum dimension)d, text + unit_at, length - unit_at))
            continue;
        enum status status = error_set(error, STATUS_INPUT, "expected %s, got %s: \"%s\"",
                                       family->expected, FAMILIES[d].noun, whole.text);
        const char *prefix = prefix_of(unit.text);
        if (dimension == DIM_RATE && strchr(unit.text, 'i'))
            return error_hint(error, "did you mean \"%s/s\"?", unit.text);
        if (dimension == DIM_RATE && d == DIM_BYTES)
            return error_hint(error, "did you mean \"%sB/s\" or \"%sb/s\"?", prefix, prefix);
        return status;
    }
    if (family->count == 0) {
        error_set(error, STATUS_INPUT, "expected %s, got \"%s\"", family->expected, whole.text);
        return error_hint(error, "write it without a unit or separator");
    }

    if (dimension == DIM_BYTES && unknown_size(unit.text, whole.text, error))
        return STATUS_INPUT;
    if (dimension == DIM_RATE && unknown_rate(unit.text, whole.text, error))
        return STATUS_INPUT;

    error_set(error, STATUS_INPUT, "unknown unit \"%s\" in \"%s\"", unit.text, whole.text);
    for (size_t i = 0; i < family->count; i++) {
        if (equals_but_case(unit.text, family->units[i].name))
            return error_hint(error, "did you mean \"%s\"?", family->units[i].name);
    }
    return error_hint(error, "units of this quantity: %s", family->all_units);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The rules that hold once the value is known. */
static enum status value_check(double value, enum dimension dimension, const char *whole,
                               const char *number, struct error *error)
{
    if (dimension != DIM_NUMBER && value < 0)
        return error_set(error, STATUS_INPUT, "expected %s, got a negative value: \"%s\"",
                         FAMILIES[dimension].expected, whole);
    if (dimension == DIM_COUNT && value != floor(value))
        return error_set(error, STATUS_INPUT, "expected %s, got \"%s\"",
                         FAMILIES[dimension].expected, whole);
    if (dimension == DIM_COUNT && value > 9007199254740992.0)
        return error_set(error, STATUS_INPUT, "\"%s\" is out of range", whole);
    if (dimension == DIM_FRACTION && value > 1) {
        error_set(error, STATUS_INPUT, "expected a fraction from 0 to 1, got \"%s\"", whole);
        if (value <= 100 && strcmp(number, whole) == 0)
            return error_hint(error, "did you mean \"%s %%\"?", number);
        return STATUS_INPUT;
    }
    return STATUS_OK;
}

enum status units_parse(const char *text, size_t length, enum dimension dimension,
                        double *ret_value, struct error *error)
{
    const struct family *family = &FAMILIES[dimension];
    struct quote whole = quote(text, length);
    if (length == 0)
        return error_set(error, STATUS_INPUT, "expected %s, got nothing", family->expected);
    if (text[length - 1] == ' ')
        return error_set(error, STATUS_INPUT, "blank after the end of \"%s\"", whole.text);
    if (dimension == DIM_BOOL) {
        bool yes = equals(text, length, "yes");
        if (!yes && !equals(text, length, "no"))
            return error_set(error, STATUS_INPUT, "expected %s, got \"%s\"", family->expected,
                             whole.text);
        *ret_value = yes ? 1 : 0;
        return STATUS_OK;
    }
    if ((dimension == DIM_RATE || dimension == DIM_BYTES) && equals(text, length, "unlimited")) {
        *ret_value = HUGE_VAL;
        return STATUS_OK;
    }

    size_t end = number_length(text, length);
    if (end == 0)
        return error_set(error, STATUS_INPUT, "expected %s, got \"%s\"", family->expected,
                         whole.text);
    char number[64], *stop;
    if (end >= sizeof number)
        return error_set(error, STATUS_INPUT, "\"%s\" has too many digits", whole.text);
    memcpy(number, text, end);
    number[end] = '\0';
    errno = 0;
    double value = strtod(number, &stop);
    if (*stop != '\0') /* someone set a locale with another decimal point */
        return error_set(error, STATUS_FAILED, "\"%s\" cannot be read in this locale", whole.text);
    if (errno == ERANGE)
        return error_set(error, STATUS_INPUT, "\"%s\" is out of range", whole.text);

    size_t unit_at = end;
    while (unit_at < length && text[unit_at] == ' ')
        unit_at++;

    if (unit_at < length) {
        const struct unit *unit = unit_find(dimension, text + unit_at, length - unit_at);
        if (!unit)
            return unit_refuse(text, length, unit_at, dimension, error);
        double scaled = value * unit->times / unit->per;
        if (!isfinite(scaled) || (value != 0 && !isnormal(scaled)))
            return error_set(error, STATUS_INPUT, "\"%s\" is out of range", whole.text);
        value = scaled;
    } else if (dimension >= DIM_TIME && value != 0) {
        error_set(error, STATUS_INPUT, "expected %s, got a number without a unit: \"%s\"",
                  family->expected, whole.text);
        if (dimension == DIM_RATE)
            return error_hint(error, "write %s Gb/s for bits or %s GB/s for bytes", number, number);
        if (dimension == DIM_BYTES)
            return error_hint(error, "write %s B for bytes, or for example %s MiB", number, number);
        return error_hint(error, "write for example %s %s", number, family->unit);
    }

    enum status status = value_check(value, dimension, whole.text, number, error);
    if (status == STATUS_OK)
        *ret_value = value == 0 ? 0 : value; /* no negative zero */
    return status;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Sizes that are whole MiB and more read best as such; six digits must say them exactly. */
static bool format_binary(double value, char *buffer, size_t size)
{
    static const struct unit large[] = {
        {"TiB", TI, 1, true}, {"GiB", GI, 1, true}, {"MiB", MI, 1, true}};
    for (size_t i = 0; i < 3; i++) {
        double number = value / large[i].times;
        if (fabs(number) >= 1 && fabs(number) < 1e6 && number == floor(number)) {
            snprintf(buffer, size, "%.0f %s", number, large[i].name);
            return true;
        }
    }
    return false;
}

const char *units_format(double value, enum dimension dimension, char *buffer, size_t size)
{
    const struct family *family = &FAMILIES[dimension];
    if (dimension == DIM_BOOL) {
        snprintf(buffer, size, "%s", value != 0 ? "yes" : "no");
        return buffer;
    }
    if (value == 0)
        value = 0; /* no negative zero */
    if (isinf(value)) {
        snprintf(buffer, size, "%sunlimited", value < 0 ? "-" : "");
        return buffer;
    }
    if (dimension < DIM_TIME) {
        if (dimension == DIM_COUNT && fabs(value) <= 9007199254740992.0)
            snprintf(buffer, size, "%.0f", value);
        else
            snprintf(buffer, size, "%.6g", value);
        return buffer;
    }
    if (dimension == DIM_BYTES && format_binary(value, buffer, size))
        return buffer;
    if (value == 0 || isnan(value)) {
        const char *base = dimension == DIM_TIME ? "s" : family->units[0].name;
        snprintf(buffer, size, "%.6g %s", value, base);
        return buffer;
    }

    /* The smallest unit in which the rounded number stays below 1000: rounding first, since
     * 999.9999 kB prints as 1 MB. */
    for (size_t i = 0; i < family->count && family->units[i].shown; i++) {
        const struct unit *unit = &family->units[i];
        char number[UNITS_TEXT_MAX];
        snprintf(number, sizeof number, "%.6g", value * unit->per / unit->times);
        snprintf(buffer, size, "%s %s", number, unit->name);
        if (fabs(strtod(number, NULL)) < 1000)
            break;
    }
    return buffer;
}

const char *units_expected(enum dimension dimension)
{
    assert((size_t)dimension < sizeof FAMILIES / sizeof *FAMILIES);
    return FAMILIES[dimension].expected;
}
