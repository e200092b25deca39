/* units.h: quantities with units, from text to SI base units and back.
 *
 * Inside gdsim every number is in seconds, bytes, bytes per second or dimensionless; units exist
 * only in the texts that people write and read, and only here.
 *
 *   COUNT     a whole number from 0 to 2^53, no unit           8
 *   NUMBER    a plain number of either sign, no unit           1.5
 *   FRACTION  from 0 to 1, or in percent                       0.85, 85 %
 *   TIME      seconds: ps ns us ms s                           6 us
 *   BYTES     B kB MB GB TB (1000), KiB MiB GiB TiB (1024)     64 MiB
 *   RATE      bytes per second: GB/s, GiB/s, Gb/s, Gbit/s ...  31.5 GB/s
 *   BOOL      1 or 0                                           yes, no
 *
 * A unit is mandatory, but for the value 0. GB and Gb differ: B is a byte, b a bit. The word
 * "unlimited" is a RATE or BYTES without bound (HUGE_VAL). No dimension but NUMBER is negative.
 */
#ifndef GDSIM_CORE_UNITS_H
#define GDSIM_CORE_UNITS_H

#include <stddef.h>

#include "sim/core/param.h"
#include "sim/core/status.h"

enum { UNITS_TEXT_MAX = 32 }; /* any text of units_format() fits */

/* Read the whole of text[0..length); it need not end in NUL. */
enum status units_parse(const char *text, size_t length, enum dimension dimension,
                        double *ret_value, struct error *error);

/* Write `value` with the unit that fits it, in at most six digits (a COUNT in all of its digits);
 * units_parse() reads it back. Returns `buffer`. */
const char *units_format(double value, enum dimension dimension, char *buffer, size_t size);

/* What a message should ask for: "a time such as 6 us". */
const char *units_expected(enum dimension dimension);

#endif
