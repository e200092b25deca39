/* test_queue.c: events leave by (time, key, rank, sequence), however they came. */
#include "sim/core/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

static int by_order(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    if (x->key >> QUEUE_SEQUENCE_BITS != y->key >> QUEUE_SEQUENCE_BITS)
        return x->key < y->key ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static struct event at(int64_t time_ps, uint64_t key, uint32_t what)
{
    return (struct event){.time_ps = time_ps, .key = key, .rank = 0, .what = what};
}

static void push(struct queue *queue, struct event event)
{
    assert_true(queue_push(queue, event));
}

static void pop_is(struct queue *queue, struct event expected)
{
    struct event event;
    assert_true(queue_pop(queue, &event));
    assert_int_equal(event.time_ps, expected.time_ps);
    assert_int_equal(event.key, expected.key);
    assert_int_equal(event.rank, expected.rank);
    assert_int_equal(event.what, expected.what);
}

static void empty_queue(void **state)
{
    (void)state;
    struct queue queue;
    struct event event;
    queue_init(&queue);
    assert_false(queue_pop(&queue, &event));
    push(&queue, at(5, 6, 7));
    pop_is(&queue, at(5, 6, 7));
    assert_false(queue_pop(&queue, &event));
    queue_free(&queue);
    queue_free(&queue); /* twice does no harm */
}

/* Times from a small range, so that ties abound; keys are a shuffle and thus all different. */
static struct event *random_events(uint64_t *random, size_t count)
{
    struct event *events = malloc((count + 1) * sizeof *events);
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct event){.time_ps = (int64_t)core_random_below(random, 1 + count / 4),
                                   .key = (uint64_t)(i * 7919) << QUEUE_SEQUENCE_BITS};
        size_t j = core_random_below(random, i + 1);
        struct event swap = events[i];
        events[i] = events[j];
        events[j] = swap;
    }
    for (size_t i = 0; i < count; i++)
        events[i].what = (uint32_t)(events[i].key >> QUEUE_SEQUENCE_BITS) ^ 0x5A5A;
    return events;
}

static void extremes_are_ordered(void **state)
{
    (void)state;
    struct queue queue;
    queue_init(&queue);
    push(&queue, at(INT64_MAX, 0, 1));
    push(&queue, at(0, UINT64_MAX, 2));
    push(&queue, at(0, 0, 4));
    push(&queue, at(0, (uint64_t)1 << 63, 5));
    pop_is(&queue, at(0, 0, 4));
    pop_is(&queue, at(0, (uint64_t)1 << 63, 5));
    pop_is(&queue, at(0, UINT64_MAX, 2));
    pop_is(&queue, at(INT64_MAX, 0, 1));
    queue_free(&queue);
}

/* The sequence of one rank goes round: 0xfffe, 0xffff, 0, 1. Between ranks it says nothing. */
static void the_sequence_goes_round(void **state)
{
    (void)state;
    struct queue queue;
    queue_init(&queue);
    const uint64_t key = 5u << QUEUE_SEQUENCE_BITS;
    static const uint64_t order[] = {1, 0xffff, 0, 0xfffe};
    for (uint32_t i = 0; i < 8; i++)
        push(&queue,
             (struct event){.time_ps = 9, .key = key | order[i / 2], .rank = 1 - i % 2, .what = i});
    static const uint64_t leaves[] = {0xfffe, 0xffff, 0, 1};
    for (uint32_t i = 0; i < 8; i++) {
        struct event event;
        assert_true(queue_pop(&queue, &event));
        assert_int_equal(event.rank, i / 4);
        assert_int_equal(event.key, key | leaves[i % 4]);
    }
    queue_free(&queue);
}

/* All later by the same time, in the same order, and then new ones between them. */
static void a_shift_keeps_the_order(void **state)
{
    (void)state;
    uint64_t random = 11;
    struct queue queue;
    queue_init(&queue);
    struct event *events = random_events(&random, 200), event;
    for (size_t i = 0; i < 200; i++)
        push(&queue, events[i]);
    qsort(events, 200, sizeof *events, by_order);
    for (size_t i = 0; i < 60; i++)
        pop_is(&queue, events[i]);
    const int64_t by_ps = ((int64_t)1 << 50) + 12345;
    assert_true(queue_shift(&queue, by_ps, 0));
    for (size_t i = 60; i < 200; i++)
        events[i].time_ps += by_ps;
    struct event between = {.time_ps = events[130].time_ps, .key = UINT64_MAX, .what = 1};
    push(&queue, between);
    for (size_t i = 60; i < 200; i++) {
        if (events[i - 1].time_ps == between.time_ps && events[i].time_ps > between.time_ps)
            pop_is(&queue, between);
        pop_is(&queue, events[i]);
    }
    assert_false(queue_pop(&queue, &event));
    queue_free(&queue);
    free(events);
}

static void random_order_comes_out_sorted(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (size_t count = 0; count <= 400; count += 1 + count / 8) {
        struct queue queue;
        queue_init(&queue);
        struct event *events = random_events(&random, count), event;
        for (size_t i = 0; i < count; i++)
            push(&queue, events[i]);
        qsort(events, count, sizeof *events, by_order);
        for (size_t i = 0; i < count; i++)
            pop_is(&queue, events[i]);
        assert_false(queue_pop(&queue, &event));
        queue_free(&queue);
        free(events);
    }
}

/* Pushes and pops mixed, against a list that is searched from end to end. */
static void mixed_pushes_and_pops(void **state)
{
    (void)state;
    uint64_t random = 7;
    struct queue queue;
    struct event list[512];
    size_t count = 0;
    int64_t now_ps = 0; /* nothing is pushed before it */
    queue_init(&queue);
    for (uint64_t turn = 0; turn < 20000; turn++) {
        if (count == 0 || (count < 512 && core_random_below(&random, 2))) {
            struct event event = {.time_ps = now_ps + (int64_t)core_random_below(&random, 16),
                                  .key = core_random_below(&random, 4) << QUEUE_SEQUENCE_BITS,
                                  .rank = (uint32_t)turn,
                                  .what = (uint32_t)turn};
            list[count++] = event;
            push(&queue, event);
            continue;
        }
        size_t first = 0;
        for (size_t i = 1; i < count; i++)
            if (by_order(&list[i], &list[first]) < 0)
                first = i;
        pop_is(&queue, list[first]);
        now_ps = list[first].time_ps;
        list[first] = list[--count];
    }
    queue_free(&queue);
}

/* All at one moment: the key decides, and for equal keys the rank, whatever the order of
 * insertion. */
static void ties_go_by_key_and_rank(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int turn = 0; turn < 50; turn++) {
        struct queue queue;
        queue_init(&queue);
        struct event *events = random_events(&random, 100);
        for (size_t i = 0; i < 100; i++) {
            events[i].time_ps = 42;
            events[i].rank = (uint32_t)((events[i].key >> QUEUE_SEQUENCE_BITS) / 7919);
            events[i].key = (uint64_t)(events[i].rank / 10) << QUEUE_SEQUENCE_BITS;
            push(&queue, events[i]);
        }
        for (uint32_t i = 0; i < 100; i++)
            pop_is(&queue, (struct event){.time_ps = 42,
                                          .key = (uint64_t)(i / 10) << QUEUE_SEQUENCE_BITS,
                                          .rank = i,
                                          .what = i * 7919 ^ 0x5A5A});
        queue_free(&queue);
        free(events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_queue),
        cmocka_unit_test(extremes_are_ordered),
        cmocka_unit_test(the_sequence_goes_round),
        cmocka_unit_test(a_shift_keeps_the_order),
        cmocka_unit_test(random_order_comes_out_sorted),
        cmocka_unit_test(mixed_pushes_and_pops),
        cmocka_unit_test(ties_go_by_key_and_rank),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
