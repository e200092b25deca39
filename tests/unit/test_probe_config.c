/* test_probe_config.c: configuration space, byte by byte, and every way that it can be short. */
#include "probe/config_space.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* A down port: PCI Express at 0x40 with device control 0x5936, behind another capability; ATS at
 * 0x100, ACS at 0x140 with control 0x1d.
 *   0x5936 = 0101 1001 0011 0110: MRRS code 5 (128 << 5 = 4096 B), MPS code 1 (bits 7:5 of 0x36 =
 *   0011 0110 are 001: 256 B), bit 4 set: relaxed ordering on
 *   flags 0x0062: version 2, kind 6, a down port
 *   0x1d = 001 1101: SV, RR, CR, UF */
static void fill(uint8_t *bytes)
{
    static const struct {
        unsigned at;
        uint8_t value;
    } rows[] = {{0x00, 0xF8},  {0x01, 0x15},  {0x06, 0x10},  {0x0E, 0x01},  {0x34, 0x60},
                {0x60, 0x05},  {0x61, 0x40},  {0x40, 0x10},  {0x41, 0x00},  {0x42, 0x62},
                {0x48, 0x36},  {0x49, 0x59},  {0x100, 0x0F}, {0x102, 0x01}, {0x103, 0x14},
                {0x107, 0x80}, {0x140, 0x0D}, {0x142, 0x01}, {0x146, 0x1D}};
    memset(bytes, 0, CONFIG_BYTES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        bytes[rows[i].at] = rows[i].value;
}

static void whole(void **state)
{
    (void)state;
    uint8_t bytes[CONFIG_BYTES];
    struct config_space config;
    char text[ACS_TEXT];
    fill(bytes);
    bytes[0x107] = 0x80;
    config_space_parse(bytes, sizeof bytes, &config);
    assert_int_equal(config.port, PORT_DOWN);
    assert_int_equal(config.mps_B, 256);
    assert_int_equal(config.mrrs_B, 4096);
    assert_int_equal(config.relaxed, 1);
    assert_int_equal(config.acs, 0x1D);
    assert_int_equal(config.acs & ACS_REDIRECT, 0x0C);
    assert_int_equal(config.ats, 1); /* control at 0x100 + 6, bit 15: the top bit of byte 0x107 */
    assert_string_equal(acs_text(config.acs, " ", text), "SV RR CR UF");
    assert_string_equal(acs_text(0x7F, ", ", text), "SV, TB, RR, CR, UF, EC, DT");
    assert_string_equal(acs_text(0, " ", text), "none");
    assert_string_equal(config.why.text, "");
    assert_string_equal(config.why_extended.text, "");
}

/* What a plain user sees: 64 bytes. Unknown, never off. */
static void not_root(void **state)
{
    (void)state;
    uint8_t bytes[CONFIG_BYTES];
    struct config_space config;
    fill(bytes);
    config_space_parse(bytes, 64, &config);
    assert_int_equal(config.acs, -1);
    assert_int_equal(config.ats, -1);
    assert_int_equal(config.mps_B, -1);
    assert_int_equal(config.relaxed, -1);
    assert_int_equal(config.port, PORT_UNKNOWN);
    assert_non_null(strstr(config.why.text, "needs root"));
    config_space_parse(bytes, 256, &config); /* root, but without MMCONFIG */
    assert_int_equal(config.mps_B, 256);
    assert_int_equal(config.acs, -1);
    assert_string_equal(config.why.text, "");
    assert_non_null(strstr(config.why_extended.text, "MMCONFIG"));
}

static void without_capabilities(void **state)
{
    (void)state;
    uint8_t bytes[CONFIG_BYTES];
    struct config_space config;
    fill(bytes);
    bytes[0x140] = 0x0B; /* some other extended capability: then there is no ACS */
    bytes[0x107] = 0;
    config_space_parse(bytes, sizeof bytes, &config);
    assert_int_equal(config.acs, 0);
    assert_int_equal(config.ats, 0);
    fill(bytes);
    bytes[0x40] = 0x01; /* conventional PCI: nobody could redirect anything */
    config_space_parse(bytes, 256, &config);
    assert_int_equal(config.acs, 0);
    assert_int_equal(config.mps_B, 0);
    assert_int_equal(config.port, PORT_BRIDGE);
    memset(bytes, 0xFF, sizeof bytes); /* a device that fell off the bus */
    config_space_parse(bytes, sizeof bytes, &config);
    assert_int_equal(config.acs, -1);
    assert_true(config.silent);
    assert_non_null(strstr(config.why.text, "does not answer"));
}

/* Lists that point at themselves, out of the file, or past its cut: no read beyond the length (the
 * sanitizers look), and an end. */
static void broken_lists(void **state)
{
    (void)state;
    struct config_space config;
    uint8_t bytes[CONFIG_BYTES];
    fill(bytes);
    bytes[0x61] = 0x60;
    config_space_parse(bytes, sizeof bytes, &config);
    assert_int_equal(config.mps_B, 0);
    fill(bytes);
    bytes[0x102] = 0x01, bytes[0x103] = 0x10; /* next: 0x100 itself */
    config_space_parse(bytes, sizeof bytes, &config);
    assert_int_equal(config.acs, 0);
    for (size_t length = 0; length <= 0x150; length++) {
        uint8_t *cut = malloc(length ? length : 1);
        fill(bytes);
        memcpy(cut, bytes, length);
        config_space_parse(cut, length, &config);
        /* The ACS control word ends at 0x148: known from there on, and never before. */
        assert_int_equal(config.acs, length >= 0x148                     ? 0x1D
                                     : length > 0x143 || length <= 0x100 ? -1
                                                                         : config.acs);
        free(cut);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole),
        cmocka_unit_test(not_root),
        cmocka_unit_test(without_capabilities),
        cmocka_unit_test(broken_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
