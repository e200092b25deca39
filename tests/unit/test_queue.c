/* test_queue.c: events leave by (time, key, rank), however they came. */
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
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
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

static void extremes_are_ordered(void **state)
{
    (void)state;
    struct queue queue;
    queue_init(&queue);
    push(&queue, at(INT64_MAX, 0, 1));
    push(&queue, at(0, UINT64_MAX, 2));
    push(&queue, at(-1, 3, 3));
    push(&queue, at(0, 0, 4));
    push(&queue, at(0, (uint64_t)1 << 63, 5));
    pop_is(&queue, at(-1, 3, 3));
    pop_is(&queue, at(0, 0, 4));
    pop_is(&queue, at(0, (uint64_t)1 << 63, 5));
    pop_is(&queue, at(0, UINT64_MAX, 2));
    pop_is(&queue, at(INT64_MAX, 0, 1));
    queue_free(&queue);
}

/* Times from a small range, so that ties abound; keys are a shuffle and thus all different. */
static struct event *random_events(uint64_t *random, size_t count)
{
    struct event *events = malloc((count + 1) * sizeof *events);
    for (size_t i = 0; i < count; i++) {
        events[i] = (struct event){.time_ps = (int64_t)core_random_below(random, 1 + count / 4),
                                   .key = i * 7919};
        size_t j = core_random_below(random, i + 1);
        struct event swap = events[i];
        events[i] = events[j];
        events[j] = swap;
    }
    for (size_t i = 0; i < count; i++)
        events[i].what = (uint32_t)events[i].key ^ 0x5A5A;
    return events;
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
    queue_init(&queue);
    for (uint64_t turn = 0; turn < 20000; turn++) {
        if (count == 0 || (count < 512 && core_random_below(&random, 2))) {
            struct event event = {.time_ps = (int64_t)core_random_below(&random, 16),
                                  .key = core_random_below(&random, 4),
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
            events[i].rank = (uint32_t)(events[i].key / 7919);
            events[i].key = events[i].rank / 10;
            push(&queue, events[i]);
        }
        for (uint32_t i = 0; i < 100; i++)
            pop_is(&queue, (struct event){
                               .time_ps = 42, .key = i / 10, .rank = i, .what = i * 7919 ^ 0x5A5A});
        queue_free(&queue);
        free(events);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_queue),
        cmocka_unit_test(extremes_are_ordered),
        cmocka_unit_test(random_order_comes_out_sorted),
        cmocka_unit_test(mixed_pushes_and_pops),
        cmocka_unit_test(ties_go_by_key_and_rank),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
