/* test_units.c: quantities with units. Numbers are compared exactly: a value is read with one
 * rounding, so it must equal the literal of the same decimal. */
#include "sim/core/units.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct good {
    enum dimension dimension;
    const char *text;
    double value;
};

static void reads_each_unit(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {DIM_COUNT, "0", 0},
        {DIM_COUNT, "8", 8},
        {DIM_COUNT, "1e6", 1e6},
        {DIM_COUNT, "9007199254740992", 9007199254740992.0},
        {DIM_NUMBER, "1.5", 1.5},
        {DIM_NUMBER, "-2.5e-3", -2.5e-3},
        {DIM_NUMBER, "+.5", 0.5},
        {DIM_NUMBER, "5.", 5},
        {DIM_FRACTION, "0.85", 0.85},
        {DIM_FRACTION, "85 %", 0.85},
        {DIM_FRACTION, "100%", 1},
        {DIM_FRACTION, "1", 1},
        {DIM_TIME, "0", 0},
        {DIM_TIME, "0.0", 0},
        {DIM_TIME, "3 ps", 3e-12},
        {DIM_TIME, "250ns", 250e-9},
        {DIM_TIME, "6 us", 6e-6},
        {DIM_TIME, "6 \xC2\xB5s", 6e-6},
        {DIM_TIME, "6\xCE\xBCs", 6e-6},
        {DIM_TIME, "1.5 ms", 1.5e-3},
        {DIM_TIME, "2 s", 2},
        {DIM_TIME, "1e-3 s", 1e-3},
        {DIM_BYTES, "17 B", 17},
        {DIM_BYTES, "1 kB", 1000},
        {DIM_BYTES, "1 KB", 1000},
        {DIM_BYTES, "1.5 MB", 1.5e6},
        {DIM_BYTES, "2 GB", 2e9},
        {DIM_BYTES, "3 TB", 3e12},
        {DIM_BYTES, "1 PB", 1e15},
        {DIM_BYTES, "2 PiB", 2251799813685248},
        {DIM_BYTES, "4 KiB", 4096},
        {DIM_BYTES, "64 MiB", 67108864},
        {DIM_BYTES, "2GiB", 2147483648.0},
        {DIM_BYTES, "1 TiB", 1099511627776.0},
        {DIM_RATE, "31.5 GB/s", 31.5e9},
        {DIM_RATE, "1 GiB/s", 1073741824},
        {DIM_RATE, "900 MB/s", 900e6},
        {DIM_RATE, "1 KB/s", 1000},
        {DIM_RATE, "200 Gb/s", 25e9}, /* 200e9 bits over 8 */
        {DIM_RATE, "400 Gbit/s", 50e9},
        {DIM_RATE, "100 Mb/s", 12.5e6},
        {DIM_RATE, "8 b/s", 1},
        {DIM_RATE, "1.6 Tb/s", 200e9},
        {DIM_RATE, "unlimited", HUGE_VAL},
        {DIM_BYTES, "unlimited", HUGE_VAL},
        {DIM_BOOL, "yes", 1},
        {DIM_BOOL, "no", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -1;
        struct error error = {0};
        enum status status =
            units_parse(cases[i].text, strlen(cases[i].text), cases[i].dimension, &value, &error);
        if (status != STATUS_OK || value != cases[i].value)
            fail_msg("\"%s\": status %d, value %.17g, expected %.17g (%s)", cases[i].text,
                     (int)status, value, cases[i].value, error.message);
    }
}

static void zero_has_no_sign(void **state)
{
    (void)state;
    double value = -1;
    assert_int_equal(units_parse("-0", 2, DIM_TIME, &value, NULL), STATUS_OK);
    assert_false(signbit(value));
}

static void stops_at_the_length(void **state)
{
    (void)state;
    double value = -1;
    assert_int_equal(units_parse("6 usual", 4, DIM_TIME, &value, NULL), STATUS_OK);
    assert_true(value == 6e-6);
}

struct bad {
    enum dimension dimension;
    const char *text, *message, *hint;
};

static void explains_each_mistake(void **state)
{
    (void)state;
    static const struct bad cases[] = {
        {DIM_TIME, "", "expected a time such as 6 us, got nothing", ""},
        {DIM_TIME, "soon", "expected a time such as 6 us, got \"soon\"", ""},
        {DIM_TIME, "6", "expected a time such as 6 us, got a number without a unit: \"6\"",
         "write for example 6 us"},
        {DIM_TIME, "6 MB", "expected a time such as 6 us, got a size: \"6 MB\"", ""},
        {DIM_TIME, "6 GB/s", "expected a time such as 6 us, got a rate: \"6 GB/s\"", ""},
        {DIM_TIME, "6 US", "unknown unit \"US\" in \"6 US\"", "did you mean \"us\"?"},
        {DIM_TIME, "6 hours", "unknown unit \"hours\" in \"6 hours\"",
         "units of this quantity: ps, ns, us, ms, s"},
        {DIM_TIME, "6 us ", "blank after the end of \"6 us \"", ""},
        {DIM_TIME, "0 ", "blank after the end of \"0 \"", ""},
        {DIM_TIME, " 6 us", "expected a time such as 6 us, got \" 6 us\"", ""},
        {DIM_TIME, "-6 us", "expected a time such as 6 us, got a negative value: \"-6 us\"", ""},
        {DIM_TIME, "nan", "expected a time such as 6 us, got \"nan\"", ""},
        {DIM_TIME, "inf s", "expected a time such as 6 us, got \"inf s\"", ""},
        {DIM_TIME, "0x1p3 s", "unknown unit \"x1p3 s\" in \"0x1p3 s\"",
         "units of this quantity: ps, ns, us, ms, s"},
        {DIM_TIME, "unlimited", "expected a time such as 6 us, got \"unlimited\"", ""},
        {DIM_TIME, "1e999 s", "\"1e999 s\" is out of range", ""},
        {DIM_TIME, "1e-999 s", "\"1e-999 s\" is out of range", ""},
        {DIM_TIME, "1e-300 ps", "\"1e-300 ps\" is out of range", ""},
        {DIM_BYTES, "1e300 TB", "\"1e300 TB\" is out of range", ""},
        {DIM_BYTES, "64",
         "expected a size such as 64 MiB, got a number without a unit: "
         "\"64\"",
         "write 64 B for bytes, or for example 64 MiB"},
        {DIM_BYTES, "8 b", "\"8 b\" is in bits; a size is in bytes", "did you mean \"B\"?"},
        {DIM_BYTES, "8 Kb", "\"8 Kb\" is in bits; a size is in bytes", "did you mean \"kB\"?"},
        {DIM_BYTES, "8 Mbit", "\"8 Mbit\" is in bits; a size is in bytes", "did you mean \"MB\"?"},
        {DIM_BYTES, "8M", "unknown unit \"M\" in \"8M\"",
         "write \"MB\" for powers of 1000, \"MiB\" for powers of 1024"},
        {DIM_BYTES, "8 k", "unknown unit \"k\" in \"8 k\"",
         "write \"kB\" for powers of 1000, \"KiB\" for powers of 1024"},
        {DIM_BYTES, "8 Mib", "unknown unit \"Mib\" in \"8 Mib\"", "did you mean \"MiB\"?"},
        {DIM_BYTES, "8 us", "expected a size such as 64 MiB, got a time: \"8 us\"", ""},
        {DIM_BYTES, "1 B 2", "unknown unit \"B 2\" in \"1 B 2\"",
         "units of this quantity: B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB"},
        {DIM_RATE, "64 GT/s", "\"64 GT/s\" counts transfers, not bytes",
         "a PCIe rate is given by gen and width, for example gen: 5 and width: 16"},
        {DIM_RATE, "64 GB", "expected a rate such as 31.5 GB/s, got a size: \"64 GB\"",
         "did you mean \"GB/s\" or \"Gb/s\"?"},
        {DIM_RATE, "64 GiB", "expected a rate such as 31.5 GB/s, got a size: \"64 GiB\"",
         "did you mean \"GiB/s\"?"},
        {DIM_RATE, "200 Gb", "unknown unit \"Gb\" in \"200 Gb\"",
         "did you mean \"GB/s\" or \"Gb/s\"?"},
        {DIM_RATE, "200 gb/s", "unknown unit \"gb/s\" in \"200 gb/s\"",
         "did you mean \"GB/s\" or \"Gb/s\"?"},
        {DIM_RATE, "200 Gbps", "unknown unit \"Gbps\" in \"200 Gbps\"", "did you mean \"Gb/s\"?"},
        {DIM_RATE, "200 GBps", "unknown unit \"GBps\" in \"200 GBps\"", "did you mean \"GB/s\"?"},
        {DIM_RATE, "200",
         "expected a rate such as 31.5 GB/s, got a number without a unit: "
         "\"200\"",
         "write 200 Gb/s for bits or 200 GB/s for bytes"},
        {DIM_COUNT, "8.5", "expected a whole number such as 8, got \"8.5\"", ""},
        {DIM_COUNT, "-1", "expected a whole number such as 8, got a negative value: \"-1\"", ""},
        {DIM_COUNT, "8 GB", "expected a whole number such as 8, got a size: \"8 GB\"", ""},
        {DIM_COUNT, "1,000", "expected a whole number such as 8, got \"1,000\"",
         "write it without a unit or separator"},
        {DIM_COUNT, "9007199254740994", "\"9007199254740994\" is out of range", ""},
        {DIM_NUMBER, "1.5 us", "expected a number such as 1.5, got a time: \"1.5 us\"", ""},
        {DIM_NUMBER, "1.5.2", "expected a number such as 1.5, got \"1.5.2\"",
         "write it without a unit or separator"},
        {DIM_NUMBER, ".", "expected a number such as 1.5, got \".\"", ""},
        {DIM_BOOL, "maybe", "expected yes or no, got \"maybe\"", ""},
        {DIM_FRACTION, "85", "expected a fraction from 0 to 1, got \"85\"",
         "did you mean \"85 %\"?"},
        {DIM_FRACTION, "120 %", "expected a fraction from 0 to 1, got \"120 %\"", ""},
        {DIM_FRACTION, "0.5 s", "expected a fraction such as 0.85 or 85 %, got a time: \"0.5 s\"",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double value = -7;
        struct error error = {0};
        enum status status =
            units_parse(cases[i].text, strlen(cases[i].text), cases[i].dimension, &value, &error);
        if (status != STATUS_INPUT || value != -7 || strcmp(error.message, cases[i].message) != 0 ||
            strcmp(error.hint, cases[i].hint) != 0)
            fail_msg("\"%s\": status %d, value %g\n  message: %s\n  hint: %s", cases[i].text,
                     (int)status, value, error.message, error.hint);
        assert_int_equal(
            units_parse(cases[i].text, strlen(cases[i].text), cases[i].dimension, &value, NULL),
            STATUS_INPUT);
    }
}

static void survives_hostile_text(void **state)
{
    (void)state;
    double value = -7;
    struct error error;
    char digits[1000];
    memset(digits, '9', sizeof digits);
    assert_int_equal(units_parse(digits, sizeof digits, DIM_TIME, &value, &error), STATUS_INPUT);
    assert_string_equal(error.message,
                        "\"9999999999999999999999999999999999999999...\" has too many digits");
    assert_int_equal(units_parse("6\0us", 4, DIM_TIME, &value, &error), STATUS_INPUT);
    assert_string_equal(error.message, "unknown unit \"?us\" in \"6?us\"");
    assert_int_equal(units_parse("6 \xFF\xFE", 4, DIM_RATE, &value, &error), STATUS_INPUT);
    for (int c = 0; c < 256; c++) {
        char text[3] = {'1', (char)c, (char)c};
        for (int d = DIM_COUNT; d <= DIM_BOOL; d++)
            units_parse(text, sizeof text, (enum dimension)d, &value, &error);
    }
}

static void writes_the_fitting_unit(void **state)
{
    (void)state;
    static const struct good cases[] = {
        {DIM_COUNT, "1048576", 1048576},
        {DIM_NUMBER, "1.23457", 1.2345678},
        {DIM_NUMBER, "0", -0.0},
        {DIM_FRACTION, "0.85", 0.85},
        {DIM_TIME, "0 s", 0},
        {DIM_TIME, "6 us", 6e-6},
        {DIM_TIME, "-6 us", -6e-6},
        {DIM_TIME, "1.5 ms", 1.5e-3},
        {DIM_TIME, "12345 s", 12345},
        {DIM_TIME, "0.001 ps", 1e-15},
        {DIM_TIME, "1 us", 999.9999999e-9},
        {DIM_TIME, "999.999 ns", 999.999e-9},
        {DIM_BYTES, "0 B", 0},
        {DIM_BYTES, "4.096 kB", 4096},
        {DIM_BYTES, "64 MiB", 67108864},
        {DIM_BYTES, "1 GiB", 1073741824},
        {DIM_BYTES, "1536 MiB", 1610612736},
        {DIM_BYTES, "1.5 MB", 1.5e6},
        {DIM_BYTES, "1 MB", 1e6},
        {DIM_BYTES, "8 GB", 8e9},
        {DIM_BYTES, "unlimited", HUGE_VAL},
        {DIM_RATE, "31.5 GB/s", 31.5e9},
        {DIM_RATE, "25 GB/s", 25e9},
        {DIM_RATE, "1 MB/s", 999999.9999},
        {DIM_RATE, "0.125 B/s", 0.125},
        {DIM_RATE, "1e+06 TB/s", 1e18},
        {DIM_RATE, "unlimited", HUGE_VAL},
        {DIM_BOOL, "yes", 1},
        {DIM_BOOL, "no", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char buffer[UNITS_TEXT_MAX];
        assert_string_equal(units_format(cases[i].value, cases[i].dimension, buffer, sizeof buffer),
                            cases[i].text);
    }
}

/* What is written is read back to six digits, and written the same again. */
static void goes_round(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        double digits = 1.0 + (double)(random >> 40) / 16777216.0 * 9.0;
        double value = digits * pow(10, (double)((random >> 20) % 36) - 18.0);
        enum dimension dimension = (enum dimension)(DIM_TIME + (int)(random >> 60) % 3);
        char first[UNITS_TEXT_MAX], second[UNITS_TEXT_MAX];
        struct error error;
        double back = -1;
        units_format(value, dimension, first, sizeof first);
        if (units_parse(first, strlen(first), dimension, &back, &error) != STATUS_OK)
            fail_msg("%.17g -> \"%s\": %s", value, first, error.message);
        if (fabs(back - value) > 5.0001e-6 * value)
            fail_msg("%.17g -> \"%s\" -> %.17g", value, first, back);
        assert_string_equal(units_format(back, dimension, second, sizeof second), first);
    }
}

static void cuts_to_the_buffer(void **state)
{
    (void)state;
    char small[4];
    assert_string_equal(units_format(31.5e9, DIM_RATE, small, sizeof small), "31.");
    assert_string_equal(units_expected(DIM_TIME), "a time such as 6 us");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_unit),
        cmocka_unit_test(zero_has_no_sign),
        cmocka_unit_test(stops_at_the_length),
        cmocka_unit_test(explains_each_mistake),
        cmocka_unit_test(survives_hostile_text),
        cmocka_unit_test(writes_the_fitting_unit),
        cmocka_unit_test(goes_round),
        cmocka_unit_test(cuts_to_the_buffer),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
