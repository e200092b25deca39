/* vector.h: the inner loops of a run without a queue: maxima and sums over times of many ranks.
 *
 * Whole numbers only, so what they give does not depend on how they were compiled. On x86-64 they
 * are compiled twice, and the program takes at its start those that the processor can run.
 */
#ifndef GDSIM_CORE_VECTOR_H
#define GDSIM_CORE_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ret = max(ret, other) */
void vector_latest(int64_t *ret, const int64_t *other, size_t count);
/* ret = max(a, b) */
void vector_later(int64_t *ret, const int64_t *a, const int64_t *b, size_t count);
/* ret = a + b */
void vector_add(int64_t *ret, const int64_t *a, int64_t b, size_t count);
/* The largest, and `least` if all are smaller. */
int64_t vector_most(const int64_t *a, int64_t least, size_t count);

/* Whether none of `a` is less than its partner. */
bool vector_none_less(const int64_t *a, const int64_t *than, size_t count);

/* A stage begins: what it ends with so far, and when the next slice may follow, is `now`; the head
 * is so far ahead. */
void vector_begin(const int64_t *now_ps, int64_t *head_ps, int64_t *finish_ps, int64_t *next_ps,
                  int64_t ahead_ps, size_t count);

/* Service by a resource: each begins at its head or when the resource is free, whichever is later,
 * and takes `busy_ps`. The head goes on `handoff_ps` after the beginning. */
void vector_serve(int64_t *head_ps, int64_t *free_ps, int64_t *finish_ps, int64_t busy_ps,
                  int64_t handoff_ps, size_t count);

/* The same, where the resource also paces the sender: its next slice may start `offset_ps` before
 * the end. */
void vector_serve_and_pace(int64_t *head_ps, int64_t *free_ps, int64_t *finish_ps, int64_t *next_ps,
                           int64_t busy_ps, int64_t handoff_ps, int64_t offset_ps, size_t count);

#endif
