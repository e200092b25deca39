/* vector.c: see vector.h. */
#include "sim/core/vector.h"

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) &&   \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TWICE                                                                                      \
    __attribute__((target_clones("avx2", "default"),                                               \
                   optimize("O3", "no-tree-loop-distribute-patterns")))
#else
#define TWICE
#endif

static inline int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

TWICE void vector_latest(int64_t *restrict ret, const int64_t *restrict other, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = later(ret[i], other[i]);
}

TWICE void vector_later(int64_t *restrict ret, const int64_t *restrict a, const int64_t *restrict b,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = later(a[i], b[i]);
}

TWICE void vector_add(int64_t *restrict ret, const int64_t *restrict a, int64_t b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = a[i] + b;
}

TWICE int64_t vector_most(const int64_t *a, int64_t least, size_t count)
{
    for (size_t i = 0; i < count; i++)
        least = later(least, a[i]);
    return least;
}

TWICE bool vector_none_less(const int64_t *restrict a, const int64_t *restrict than, size_t count)
{
    int64_t least = 0;
    for (size_t i = 0; i < count; i++)
        least = later(least, than[i] - a[i]);
    return least == 0;
}

TWICE void vector_begin(const int64_t *restrict now_ps, int64_t *restrict head_ps,
                        int64_t *restrict finish_ps, int64_t *restrict next_ps, int64_t ahead_ps,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        finish_ps[i] = next_ps[i] = now_ps[i];
        head_ps[i] = now_ps[i] - ahead_ps;
    }
}

TWICE void vector_serve(int64_t *restrict head_ps, int64_t *restrict free_ps,
                        int64_t *restrict finish_ps, int64_t busy_ps, int64_t handoff_ps,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t start = later(head_ps[i], free_ps[i]), end = start + busy_ps;
        free_ps[i] = end;
        finish_ps[i] = later(finish_ps[i], end);
        head_ps[i] = start + handoff_ps;
    }
}

TWICE void vector_serve_and_pace(int64_t *restrict head_ps, int64_t *restrict free_ps,
                                 int64_t *restrict finish_ps, int64_t *restrict next_ps,
                                 int64_t busy_ps, int64_t handoff_ps, int64_t offset_ps,
                                 size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t start = later(head_ps[i], free_ps[i]), end = start + busy_ps;
        free_ps[i] = end;
        finish_ps[i] = later(finish_ps[i], end);
        next_ps[i] = later(next_ps[i], end - offset_ps);
        head_ps[i] = start + handoff_ps;
    }
}
