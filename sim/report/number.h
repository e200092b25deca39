/* number.h: real numbers as text, the same bytes everywhere and quickly.
 *
 * The text has the fewest of 15 to 17 significant digits that read back as the same number: 17
 * always do, 15 look as people wrote them. It is what printf("%.15g"), "%.16g" or "%.17g" writes in
 * the C locale, correctly rounded; most numbers are done in integers, about ten times as fast.
 */
#ifndef GDSIM_REPORT_NUMBER_H
#define GDSIM_REPORT_NUMBER_H

#include <stddef.h>
#include <stdint.h>

enum { NUMBER_TEXT_MAX = 40 };

/* Write a finite number; returns how many significant digits it took (before trailing zeros were
 * left out). *ret_length may be NULL. */
int number_print(double value, char buffer[NUMBER_TEXT_MAX], size_t *ret_length);

/* The same by printf and strtod alone: what tests compare with. */
int number_print_slowly(double value, char buffer[NUMBER_TEXT_MAX], size_t *ret_length);

/* A whole number; returns its length. */
size_t number_print_int(int64_t value, char buffer[NUMBER_TEXT_MAX]);

/* printf follows the program's locale; results must not. */
void number_use_dot(char *number);

#endif
