/* suggest.c: see suggest.h. */
#include "sim/core/suggest.h"

#include <assert.h>
#include <string.h>

enum { SUGGEST_MAX = 48 }; /* a longer word is no slip of the keyboard */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Damerau-Levenshtein distance (each place edited once), blind to case. */
static size_t word_distance(const char *a, size_t n, const char *b, size_t m)
{
    size_t rows[3][SUGGEST_MAX + 1];
    assert(n <= SUGGEST_MAX && m <= SUGGEST_MAX);
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *row = rows[i % 3], *up = rows[(i - 1) % 3], *up2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = up[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            if (up[j] + 1 < best)
                best = up[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
                lower(a[i - 2]) == lower(b[j - 1]) && up2[j - 2] + 1 < best)
                best = up2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *suggest_word(const char *word, const char *const *candidates, size_t count)
{
    const char *best = NULL;
    size_t best_distance = 0, length = strlen(word);
    if (length == 0 || length > SUGGEST_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = candidates[i] ? strlen(candidates[i]) : 0;
        if (other == 0 || other > SUGGEST_MAX)
            continue;
        /* One slip in three letters, three at most: beyond that a guess only misleads. */
        size_t limit = ((length > other ? length : other) + 1) / 3;
        size_t distance = word_distance(word, length, candidates[i], other);
        if (distance <= (limit < 3 ? limit : 3) && (!best || distance < best_distance)) {
            best = candidates[i];
            best_distance = distance;
        }
    }
    return best;
}
