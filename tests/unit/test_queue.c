/* test_queue.c: events leave by (time, key), however they came. */
#include "sim/core/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

static int by_time_and_key(const void *a, const void *b)
{
    const struct event *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
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
    assert_int_equal(event.what, expected.what);
}

static void empty_queue(void **state)
{
    (void)state;
    struct queue queue;
    struct event event = {1, 2, 3};
    queue_init(&queue);
    assert_false(queue_pop(&queue, &event));
    push(&queue, (struct event){5, 6, 7});
    pop_is(&queue, (struct event){5, 6, 7});
    assert_false(queue_pop(&queue, &event));
    queue_free(&queue);
    queue_free(&queue); /* twice does no harm */
}

static void extremes_are_ordered(void **state)
{
    (void)state;
    struct queue queue;
    queue_init(&queue);
    push(&queue, (struct event){INT64_MAX, 0, 1});
    push(&queue, (struct event){0, UINT64_MAX, 2});
    push(&queue, (struct event){-1, 3, 3});
    push(&queue, (struct event){0, 0, 4});
    push(&queue, (struct event){0, (uint64_t)1 << 63, 5});
    pop_is(&queue, (struct event){-1, 3, 3});
    pop_is(&queue, (struct event){0, 0, 4});
    pop_is(&queue, (struct event){0, (uint64_t)1 << 63, 5});
    pop_is(&queue, (struct event){0, UINT64_MAX, 2});
    pop_is(&queue, (struct event){INT64_MAX, 0, 1});
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
        qsort(events, count, sizeof *events, by_time_and_key);
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
            struct event event = {(int64_t)core_random_below(&random, 64), turn, (uint32_t)turn};
            list[count++] = event;
            push(&queue, event);
            continue;
        }
        size_t first = 0;
        for (size_t i = 1; i < count; i++)
            if (by_time_and_key(&list[i], &list[first]) < 0)
                first = i;
        pop_is(&queue, list[first]);
        list[first] = list[--count];
    }
    queue_free(&queue);
}

/* All at one moment: the key alone decides, whatever the order of insertion. */
static void ties_go_by_key(void **state)
{
    (void)state;
    uint64_t random = 3;
    for (int turn = 0; turn < 50; turn++) {
        struct queue queue;
        queue_init(&queue);
        struct event *events = random_events(&random, 100);
        for (size_t i = 0; i < 100; i++) {
            events[i].time_ps = 42;
            push(&queue, events[i]);
        }
        for (uint64_t i = 0; i < 100; i++)
            pop_is(&queue, (struct event){42, i * 7919, (uint32_t)(i * 7919) ^ 0x5A5A});
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
        cmocka_unit_test(ties_go_by_key),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
