/* number.c: see number.h.
 *
 * A double is m * 2^e with m below 2^53. To get P significant digits of it, it is multiplied by
 * 10^k, with k = P - 1 - x for its decimal exponent x: that is m * 5^k * 2^(e+k), and m * 5^k fits
 * into 128 bits, so the digits and what is left over are exact. They read back as the same double
 * when the error is below half of its last bit, which in these units is 5^k / 2.
 */
#include "sim/report/number.h"

#include <langinfo.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 wide;

enum { DIGITS_LEAST = 15, DIGITS_MOST = 17, MANTISSA_BITS = 52 };

void number_use_dot(char *number)
{
    const char *point = nl_langinfo(RADIXCHAR);
    char *found = strcmp(point, ".") != 0 && *point ? strstr(number, point) : NULL;
    if (!found)
        return;
    *found = '.';
    const char *rest = found + strlen(point);
    memmove(found + 1, rest, strlen(rest) + 1);
}

int number_print_slowly(double value, char buffer[NUMBER_TEXT_MAX], size_t *ret_length)
{
    int digits = DIGITS_LEAST;
    for (;; digits++) {
        (void)snprintf(buffer, NUMBER_TEXT_MAX, "%.*g", digits, value);
        if (digits == DIGITS_MOST || strtod(buffer, NULL) == value)
            break;
    }
    number_use_dot(buffer);
    if (ret_length)
        *ret_length = strlen(buffer);
    return digits;
}

/* Decimal digits of a number below 10^20 into out[0..count), zeros in front; two at a time. */
static void put_digits(uint64_t number, char *out, int count)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";
    int i = count;
    for (; i > 1; i -= 2, number /= 100)
        memcpy(out + i - 2, pairs + 2 * (number % 100), 2);
    if (i == 1)
        out[0] = (char)('0' + number % 10);
}

size_t number_print_int(int64_t value, char buffer[NUMBER_TEXT_MAX])
{
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    int count = 1;
    size_t at = 0;
    for (uint64_t rest = magnitude; rest >= 10; rest /= 10)
        count++;
    if (value < 0)
        buffer[at++] = '-';
    put_digits(magnitude, buffer + at, count);
    at += (size_t)count;
    buffer[at] = '\0';
    return at;
}

/* 5^i and, as far as needed, 10^i. */
static const uint64_t fives[] = {1,
                                 5,
                                 25,
                                 125,
                                 625,
                                 3125,
                                 15625,
                                 78125,
                                 390625,
                                 1953125,
                                 9765625,
                                 48828125,
                                 244140625,
                                 1220703125,
                                 6103515625,
                                 30517578125,
                                 152587890625,
                                 762939453125,
                                 3814697265625,
                                 19073486328125,
                                 95367431640625,
                                 476837158203125,
                                 2384185791015625};
static const uint64_t tens[] = {[14] = 100000000000000,
                                [15] = 1000000000000000,
                                [16] = 10000000000000000,
                                [17] = 100000000000000000};

struct split {
    uint64_t mantissa;
    int exponent; /* of two */
};

/* `digits` significant digits of the number, its decimal exponent being about *exponent, which is
 * corrected. Returns whether they read back as the same number. */
static bool round_to(struct split number, int digits, int *exponent, uint64_t *ret_digits)
{
    for (;;) {
        int k = digits - 1 - *exponent;
        uint64_t five = fives[k];
        wide product = (wide)number.mantissa * five;
        int shift = -(number.exponent + k);
        uint64_t whole = (uint64_t)(product >> shift);
        if (whole < tens[digits - 1]) {
            (*exponent)--;
            continue;
        }
        if (whole >= tens[digits]) {
            (*exponent)++;
            continue;
        }
        wide left = product - ((wide)whole << shift), half = (wide)1 << (shift - 1);
        if (left > half || (left == half && (whole & 1))) { /* to even, as printf does */
            whole++;
            left = ((wide)1 << shift) - left;
        }
        /* The next lower double of a power of two is only half as far away. */
        bool power = number.mantissa == (uint64_t)1 << MANTISSA_BITS;
        *ret_digits = whole;
        return (power ? 4 : 2) * left < five;
    }
}

/* Fixed notation, without zeros at the end. */
static size_t put_fixed(uint64_t number, int digits, int exponent, char *out)
{
    char text[DIGITS_MOST];
    put_digits(number, text, digits);
    while (digits > 1 && text[digits - 1] == '0')
        digits--;
    if (exponent < 0) {
        size_t zeros = (size_t)(1 - exponent); /* 0.00 */
        memcpy(out, "0.0000", zeros);
        memcpy(out + zeros, text, (size_t)digits);
        return zeros + (size_t)digits;
    }
    int before = exponent + 1; /* the point */
    if (digits <= before) {
        memcpy(out, text, (size_t)digits);
        memset(out + digits, '0', (size_t)(before - digits));
        return (size_t)before;
    }
    memcpy(out, text, (size_t)before);
    out[before] = '.';
    memcpy(out + before + 1, text + before, (size_t)(digits - before));
    return (size_t)digits + 1;
}

int number_print(double value, char buffer[NUMBER_TEXT_MAX], size_t *ret_length)
{
    static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4, 1e5,
                                    1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14};
    double magnitude = fabs(value);
    if (!(magnitude >= 1e-4 && magnitude < 1e15))
        return number_print_slowly(value, buffer, ret_length);
    enum { LOWEST = -4, HIGHEST = 14, EXPONENT_BIAS = 1075 };
    const uint64_t hidden = (uint64_t)1 << MANTISSA_BITS;
    uint64_t bits;
    memcpy(&bits, &magnitude, sizeof bits);
    struct split number = {(bits & (hidden - 1)) | hidden,
                           (int)(bits >> MANTISSA_BITS) - EXPONENT_BIAS};
    /* log10(2) = 1233/4096, downwards, and a little more: at most one off, which round_to corrects.
     * Within the bounds of the tables. */
    int exponent = (number.exponent + MANTISSA_BITS + 64) * 1233 / 4096 - 19;
    int digits = DIGITS_LEAST;
    exponent = exponent < LOWEST ? LOWEST : exponent > HIGHEST ? HIGHEST : exponent;
    if (exponent < HIGHEST && magnitude >= powers[exponent + 1 - LOWEST])
        exponent++;
    uint64_t decimal;
    while (!round_to(number, digits, &exponent, &decimal) && digits < DIGITS_MOST)
        digits++;
    if (decimal == tens[digits] || exponent < LOWEST || exponent > HIGHEST)
        return number_print_slowly(value, buffer, ret_length); /* rounded up to one digit more */
    size_t at = 0;
    if (value < 0)
        buffer[at++] = '-';
    at += put_fixed(decimal, digits, exponent, buffer + at);
    buffer[at] = '\0';
    if (ret_length)
        *ret_length = at;
    return digits;
}
