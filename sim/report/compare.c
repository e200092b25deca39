/* compare.c: see compare.h. */
#include "sim/report/compare.h"

#include <string.h>

#include "sim/core/units.h"
#include "sim/report/limit.h"

#define SIZE_WIDTH 12
#define TIME_WIDTH 10

/* Milliseconds with three places as in the comparison, unless that would leave the fastest run
 * fewer than three digits. */
static bool in_ms(const struct results *results)
{
    for (size_t i = 0; i < results->size_count * results->column_count; i++)
        if (results->ledgers[i].resources && results->ledgers[i].total_ps < 100 * (int64_t)1000000)
            return false;
    return true;
}

static int column_width(const struct results *results, const char *const *algorithms, size_t c)
{
    size_t width = strlen(results->columns[c].mechanism->name) + strlen(" ms");
    if (width < strlen(algorithms[c]))
        width = strlen(algorithms[c]);
    return width > TIME_WIDTH ? (int)width : TIME_WIDTH;
}

static void write_heading(struct text *text, const struct results *results,
                          const char *const *algorithms, const char *unit)
{
    text_printf(text, "%*s", SIZE_WIDTH, "");
    for (size_t c = 0; c < results->column_count; c++)
        text_printf(text, " | %*s", column_width(results, algorithms, c), algorithms[c]);
    text_printf(text, " |\n");
    size_t start = text->length;
    text_printf(text, "%*s", SIZE_WIDTH, "S");
    for (size_t c = 0; c < results->column_count; c++)
        text_printf(text, " | %*s %s", column_width(results, algorithms, c) - 3,
                    results->columns[c].mechanism->name, unit);
    text_printf(text, " | fastest");
    size_t width = text->length - start;
    text_printf(text, "\n");
    text_fill(text, '-', width + 1);
    text_printf(text, "\n");
}

/* results->column_count: nothing ran at this size. */
static size_t fastest(const struct results *results, size_t size)
{
    size_t best = results->column_count;
    for (size_t c = 0; c < results->column_count; c++)
        if (results_has(results, size, c) &&
            (best == results->column_count ||
             results_at(results, size, c)->total_ps < results_at(results, size, best)->total_ps))
            best = c;
    return best;
}

/* "ring/gdr", and every other that takes exactly as long. */
static void write_fastest(struct text *text, const struct results *results,
                          const char *const *algorithms, size_t size)
{
    size_t best = fastest(results, size);
    if (best == results->column_count) {
        text_printf(text, " | -\n");
        return;
    }
    int64_t least = results_at(results, size, best)->total_ps;
    for (size_t c = best; c < results->column_count; c++)
        if (results_has(results, size, c) && results_at(results, size, c)->total_ps == least)
            text_printf(text, "%s%s/%s", c == best ? " | " : " = ", algorithms[c],
                        results->columns[c].mechanism->name);
    text_printf(text, "\n");
}

/* Of the largest size at which anything ran. */
static void write_last_size(struct text *text, const struct results *results,
                            const char *const *algorithms)
{
    char size[UNITS_TEXT_MAX];
    size_t last = results->size_count, widest = 0;
    for (size_t s = 0; s < results->size_count; s++)
        if (fastest(results, s) < results->column_count &&
            (last == results->size_count || results->sizes_B[s] > results->sizes_B[last]))
            last = s;
    if (last == results->size_count)
        return;
    for (size_t c = 0; c < results->column_count; c++) {
        size_t width = strlen(algorithms[c]) + 1 + strlen(results->columns[c].mechanism->name);
        widest = width > widest ? width : widest;
    }
    text_printf(text, "\nAt %s:\n",
                units_format(results->sizes_B[last], DIM_BYTES, size, sizeof size));
    for (size_t c = 0; c < results->column_count; c++) {
        const struct ledger *ledger = results_at(results, last, c);
        const char *mechanism = results->columns[c].mechanism->name;
        struct text busbw = {0};
        if (!results_has(results, last, c)) {
            text_printf(text, "  %s/%-*s  left out\n", algorithms[c],
                        (int)(widest - strlen(algorithms[c]) - 1), mechanism);
            continue;
        }
        text_printf_small(&busbw, results_busbw_Bps(results, last, c) / 1e9, 2);
        text_printf(text, "  %s/%-*s  busbw %7s GB/s, limited by ", algorithms[c],
                    (int)(widest - strlen(algorithms[c]) - 1), mechanism,
                    busbw.failed ? "" : busbw.data);
        text->failed |= busbw.failed;
        text_free(&busbw);
        limit_write(text, ledger, results->machine);
        text_printf(text, "\n");
    }
}

void compare_write(struct text *text, const struct results *results, const char *const *algorithms)
{
    bool ms = in_ms(results);
    write_heading(text, results, algorithms, ms ? "ms" : "us");
    for (size_t s = 0; s < results->size_count; s++) {
        char size[UNITS_TEXT_MAX];
        text_printf(text, "%*s", SIZE_WIDTH,
                    units_format(results->sizes_B[s], DIM_BYTES, size, sizeof size));
        for (size_t c = 0; c < results->column_count; c++) {
            const int width = column_width(results, algorithms, c);
            if (results_has(results, s, c))
                text_printf(text, " | %*.*f", width, ms ? 3 : 2,
                            (double)results_at(results, s, c)->total_ps * (ms ? 1e-9 : 1e-6));
            else
                text_printf(text, " | %*s", width, "-");
        }
        write_fastest(text, results, algorithms, s);
    }
    write_last_size(text, results, algorithms);
}
