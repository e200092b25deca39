/* test_grid.c: the exact text of each written form, and that numbers and text survive it. */
#include "sim/report/grid.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <csv.h>
#include <jansson.h>

enum { NAME, SIZE, TIME, FAST, NOTE, SEED };

static struct grid *sample(void)
{
    static const struct grid_column columns[] = {
        {.name = "path", .title = "path", .kind = GRID_TEXT},
        {.name = "size_B", .title = "size", .kind = GRID_INT},
        {.name = "staged_ms", .title = "staged ms", .kind = GRID_REAL, .decimals = 3},
        {.name = "fast", .kind = GRID_BOOL},
        {.name = "note", .title = "note", .kind = GRID_TEXT, .human_only = true},
        {.name = "seed", .kind = GRID_INT, .machine_only = true},
    };
    struct grid *grid = grid_new();
    assert_non_null(grid);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        assert_int_equal(grid_column(grid, &columns[i]), i);

    grid_row(grid);
    grid_set_text(grid, NAME, "direct");
    grid_set_int(grid, SIZE, 1048576);
    grid_set_real(grid, TIME, 0.1 + 0.2);
    grid_set_bool(grid, FAST, true);
    grid_set_text(grid, NOTE, "best");
    grid_set_int(grid, SEED, INT64_MIN);

    grid_row(grid);
    grid_set_text(grid, NAME,
                  "gepr\xc3\xbc"
                  "ft \xe2\x86\x92 \xe4\xb8\xad");
    grid_set_int(grid, SIZE, 8);
    grid_set_real(grid, TIME, 1234.5);
    grid_set_bool(grid, FAST, false);

    grid_row(grid); /* all absent */

    grid_row(grid);
    grid_set_text(grid, NAME, "first");
    grid_set_text(grid, NAME, ""); /* replaces, and is not absent */
    grid_set_real(grid, TIME, (double)INFINITY);
    return grid;
}

typedef enum status writer(const struct grid *, struct text *, struct error *);

static void assert_written(writer *write, struct grid *grid, const char *expected)
{
    struct text text = {0};
    struct error error;
    assert_int_equal(write(grid, &text, &error), STATUS_OK);
    assert_string_equal(text.data, expected);
    assert_int_equal(text.length, strlen(expected));
    text_free(&text);
    grid_free(grid);
}

static void table_is_aligned_by_width(void **state)
{
    (void)state;
    /* 7 letters, a space, an arrow, a space and a wide character: 12 columns in 17 bytes. */
    assert_written(grid_write_table, sample(),
                   "path         |    size | staged ms | fast | note\n"
                   "-------------+---------+-----------+------+-----\n"
                   "direct       | 1048576 |     0.300 | yes  | best\n"
                   "gepr\xc3\xbc"
                   "ft \xe2\x86\x92 \xe4\xb8\xad |       8 |  1234.500 | no   | -\n"
                   "-            |       - |         - | -    | -\n"
                   "             |       - | unlimited | -    | -\n");
}

static void csv_is_exact(void **state)
{
    (void)state;
    assert_written(grid_write_csv, sample(),
                   "path,size_B,staged_ms,fast,seed\n"
                   "\"direct\",1048576,0.30000000000000004,true,-9223372036854775808\n"
                   "\"gepr\xc3\xbc"
                   "ft \xe2\x86\x92 \xe4\xb8\xad\",8,1234.5,false,\n"
                   ",,,,\n"
                   "\"\",,inf,,\n");
}

static void json_is_exact(void **state)
{
    (void)state;
    assert_written(
        grid_write_json, sample(),
        "[\n"
        "  {\"path\": \"direct\", \"size_B\": 1048576, \"staged_ms\": 0.30000000000000004, "
        "\"fast\": true, \"seed\": -9223372036854775808},\n"
        "  {\"path\": \"gepr\xc3\xbc"
        "ft \xe2\x86\x92 \xe4\xb8\xad\", \"size_B\": 8, "
        "\"staged_ms\": 1234.5, \"fast\": false, \"seed\": null},\n"
        "  {\"path\": null, \"size_B\": null, \"staged_ms\": null, \"fast\": null, "
        "\"seed\": null},\n"
        "  {\"path\": \"\", \"size_B\": null, \"staged_ms\": \"unlimited\", \"fast\": null, "
        "\"seed\": null}\n"
        "]\n");
}

static struct grid *one_column(enum grid_kind kind, int decimals)
{
    struct grid *grid = grid_new();
    assert_non_null(grid);
    grid_column(grid, &(struct grid_column){.name = "x", .kind = kind, .decimals = decimals});
    return grid;
}

static void empty_grid_has_a_header(void **state)
{
    (void)state;
    assert_written(grid_write_table, one_column(GRID_INT, 0), "x\n-\n");
    assert_written(grid_write_csv, one_column(GRID_INT, 0), "x\n");
    assert_written(grid_write_json, one_column(GRID_INT, 0), "[]\n");
    assert_written(grid_write_json, grid_new(), "[]\n");
}

static struct grid *real_grid(const double *values, size_t count, int decimals)
{
    struct grid *grid = one_column(GRID_REAL, decimals);
    for (size_t i = 0; i < count; i++) {
        grid_row(grid);
        grid_set_real(grid, 0, values[i]);
    }
    return grid;
}

static void odd_numbers_are_exact(void **state)
{
    (void)state;
    /* -NAN too: the sign of a NaN differs between compilers and must not show. */
    const double values[] = {(double)NAN, -(double)NAN, -(double)INFINITY, -0.0, 3.0, 1e300, 0.1};
    const size_t count = sizeof values / sizeof values[0];
    assert_written(grid_write_csv, real_grid(values, count, 0),
                   "x\n\n\n-inf\n-0\n3\n1e+300\n0.1\n");
    assert_written(grid_write_json, real_grid(values, count, 0),
                   "[\n  {\"x\": null},\n  {\"x\": null},\n  {\"x\": \"-unlimited\"},\n"
                   "  {\"x\": -0.0},\n  {\"x\": 3.0},\n  {\"x\": 1e300},\n  {\"x\": 0.1}\n]\n");
    assert_written(grid_write_table, real_grid(values, count, 1),
                   "         x\n----------\n       nan\n       nan\n-unlimited\n"
                   "       0.0\n       3.0\n    1e+300\n       0.1\n");
    const double general[] = {1.0 / 3.0, 2e7};
    assert_written(grid_write_table, real_grid(general, 2, GRID_GENERAL),
                   "       x\n--------\n0.333333\n   2e+07\n");
}

/* A small generator (xorshift64): bit patterns over the whole range of doubles. */
static double any_double(uint64_t *seed)
{
    double value;
    do {
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        memcpy(&value, seed, sizeof value);
    } while (!isfinite(value));
    return value;
}

static void doubles_survive(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static double values[COUNT] = {0.1 + 0.2, 1e-310, 1e300, -0.0, 5e-324, 1.7976931348623157e308};
    uint64_t seed = 42;
    for (size_t i = 6; i < COUNT; i++)
        values[i] = any_double(&seed);

    struct grid *grid = real_grid(values, COUNT, 0);
    struct text csv = {0}, json = {0};
    assert_int_equal(grid_write_csv(grid, &csv, NULL), STATUS_OK);
    assert_int_equal(grid_write_json(grid, &json, NULL), STATUS_OK);
    json_t *rows = json_loadb(json.data, json.length, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(rows), COUNT);
    char *at = csv.data + strlen("x\n");
    for (size_t i = 0; i < COUNT; i++) {
        double from_csv = strtod(at, &at);
        double from_json = json_real_value(json_object_get(json_array_get(rows, i), "x"));
        assert_int_equal(*at++, '\n');
        assert_memory_equal(&from_csv, &values[i], sizeof from_csv);
        assert_memory_equal(&from_json, &values[i], sizeof from_json);
    }
    json_decref(rows);
    text_free(&csv);
    text_free(&json);
    grid_free(grid);
}

static const char *const nasty[] = {
    "a,b", "say \"hi\"", "two\nlines", "cr\r\n", " spaces ", "\xc3\xa9\xe4\xb8\xad",
    "\\",  "\x1b[31m",   "",
};
enum { NASTY = sizeof nasty / sizeof nasty[0] };

static struct grid *nasty_grid(void)
{
    struct grid *grid = one_column(GRID_TEXT, 0);
    for (size_t i = 0; i < NASTY; i++) {
        grid_row(grid);
        grid_set_text(grid, 0, nasty[i]);
    }
    return grid;
}

struct reading {
    size_t fields;
    size_t wrong;
};

static void on_field(void *data, size_t length, void *context)
{
    struct reading *reading = context;
    size_t i = reading->fields++;
    const char *expected = i == 0 ? "x" : i <= NASTY ? nasty[i - 1] : "too many";
    if (strlen(expected) != length || memcmp(expected, data, length) != 0)
        reading->wrong++;
}

static void text_is_quoted_and_survives(void **state)
{
    (void)state;
    assert_written(grid_write_csv, nasty_grid(),
                   "x\n\"a,b\"\n\"say \"\"hi\"\"\"\n\"two\nlines\"\n\"cr\r\n\"\n\" spaces \"\n"
                   "\"\xc3\xa9\xe4\xb8\xad\"\n\"\\\"\n\"\x1b[31m\"\n\"\"\n");
    assert_written(grid_write_table, nasty_grid(),
                   "x\n----------\na,b\nsay \"hi\"\ntwo\\nlines\ncr\\x0d\\n\n spaces \n"
                   "\xc3\xa9\xe4\xb8\xad\n\\\n\\x1b[31m\n\n");

    struct grid *grid = nasty_grid();
    struct text csv = {0}, json = {0};
    assert_int_equal(grid_write_csv(grid, &csv, NULL), STATUS_OK);
    assert_int_equal(grid_write_json(grid, &json, NULL), STATUS_OK);

    struct csv_parser parser;
    struct reading reading = {0};
    assert_int_equal(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_REPALL_NL), 0);
    assert_int_equal(csv_parse(&parser, csv.data, csv.length, on_field, NULL, &reading),
                     csv.length);
    assert_int_equal(csv_fini(&parser, on_field, NULL, &reading), 0);
    csv_free(&parser);
    assert_int_equal(reading.fields, NASTY + 1);
    assert_int_equal(reading.wrong, 0);

    json_t *rows = json_loadb(json.data, json.length, JSON_REJECT_DUPLICATES, NULL);
    assert_int_equal(json_array_size(rows), NASTY);
    for (size_t i = 0; i < NASTY; i++)
        assert_string_equal(json_string_value(json_object_get(json_array_get(rows, i), "x")),
                            nasty[i]);
    json_decref(rows);
    text_free(&csv);
    text_free(&json);
    grid_free(grid);
}

static void broken_utf8_is_replaced(void **state)
{
    (void)state;
    struct grid *grid = one_column(GRID_TEXT, 0);
    grid_row(grid);
    grid_set_text(grid, 0, "\xfc!"); /* jansson would refuse it */
    assert_written(grid_write_json, grid, "[\n  {\"x\": \"\xef\xbf\xbd!\"}\n]\n");
}

static void column_names_are_quoted_when_needed(void **state)
{
    (void)state;
    struct grid *grid = grid_new();
    grid_column(grid, &(struct grid_column){.name = "nic.rate_Gbps", .kind = GRID_INT});
    grid_column(grid, &(struct grid_column){.name = "a,\"b\"", .kind = GRID_INT});
    assert_true(grid_has_column(grid, "a,\"b\""));
    assert_false(grid_has_column(grid, "a"));
    assert_written(grid_write_csv, grid, "nic.rate_Gbps,\"a,\"\"b\"\"\"\n");
}

static void alignment_can_be_chosen(void **state)
{
    (void)state;
    struct grid *grid = grid_new();
    grid_column(
        grid, &(struct grid_column){.name = "name", .kind = GRID_TEXT, .align = GRID_ALIGN_RIGHT});
    grid_column(grid,
                &(struct grid_column){.name = "long", .kind = GRID_INT, .align = GRID_ALIGN_LEFT});
    grid_row(grid);
    grid_set_text(grid, 0, "a");
    grid_set_int(grid, 1, 7);
    assert_written(grid_write_table, grid, "name | long\n-----+-----\n   a | 7\n");
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "de_DE.utf8") &&
        !setlocale(LC_NUMERIC, "fr_FR.UTF-8"))
        skip();
    const double values[] = {1.5};
    assert_written(grid_write_csv, real_grid(values, 1, 2), "x\n1.5\n");
    assert_written(grid_write_json, real_grid(values, 1, 2), "[\n  {\"x\": 1.5}\n]\n");
    assert_written(grid_write_table, real_grid(values, 1, 2), "   x\n----\n1.50\n");
    setlocale(LC_NUMERIC, "C");
}

static void *no_memory(size_t size)
{
    (void)size;
    return NULL;
}

static void lack_of_memory_is_reported(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, "kept", 4);
    struct error error;
    assert_int_equal(grid_write_csv(NULL, &text, &error), STATUS_NOMEM);
    assert_int_equal(error.status, STATUS_NOMEM);
    grid_set_int(NULL, 3, 1); /* a grid that could not be made takes calls without harm */
    grid_row(NULL);
    assert_int_equal(grid_column(NULL, NULL), 0);

    struct grid *grid = sample();
    json_set_alloc_funcs(no_memory, free);
    assert_int_equal(grid_write_json(grid, &text, &error), STATUS_NOMEM);
    json_set_alloc_funcs(malloc, free);
    assert_string_equal(text.data, "kept");

    assert_false(text_reserve(&text, SIZE_MAX - 1));
    assert_int_equal(grid_write_csv(grid, &text, &error), STATUS_NOMEM);
    assert_int_equal(grid_write_table(grid, &text, &error), STATUS_NOMEM);
    assert_int_equal(grid_write_json(grid, &text, NULL), STATUS_NOMEM);
    assert_string_equal(text.data, "kept");
    text_free(&text);
    grid_free(grid);
    grid_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_aligned_by_width),
        cmocka_unit_test(csv_is_exact),
        cmocka_unit_test(json_is_exact),
        cmocka_unit_test(empty_grid_has_a_header),
        cmocka_unit_test(odd_numbers_are_exact),
        cmocka_unit_test(doubles_survive),
        cmocka_unit_test(text_is_quoted_and_survives),
        cmocka_unit_test(broken_utf8_is_replaced),
        cmocka_unit_test(column_names_are_quoted_when_needed),
        cmocka_unit_test(alignment_can_be_chosen),
        cmocka_unit_test(locale_does_not_matter),
        cmocka_unit_test(lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests_name("grid", tests, NULL, NULL);
}
