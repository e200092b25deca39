/* config_space.c: see config_space.h. */
#include "probe/config_space.h"

#include <stdio.h>
#include <string.h>

#define CUT SIZE_MAX
enum { CAP_EXPRESS = 0x10, EXT_ACS = 0x0D, EXT_ATS = 0x0F, EXT_START = 0x100 };

struct bytes {
    const uint8_t *at;
    size_t length;
};

/* Little endian; all ones beyond the end, as the bus gives where nobody answers. */
static unsigned read16(const struct bytes *bytes, size_t offset)
{
    if (offset + 2 > bytes->length)
        return 0xFFFF;
    return bytes->at[offset] | (unsigned)bytes->at[offset + 1] << 8;
}

static uint32_t read32(const struct bytes *bytes, size_t offset)
{
    return read16(bytes, offset) | (uint32_t)read16(bytes, offset + 2) << 16;
}

/* The offset of a capability, 0 when there is none, CUT when the bytes end before that is certain.
 * The list may be broken: no more steps than fit. */
static size_t find_capability(const struct bytes *bytes, unsigned id, size_t size)
{
    if (!(read16(bytes, 0x06) & 0x10))
        return 0;
    size_t at = bytes->at[0x34] & 0xFCu;
    for (int steps = 0; at >= 0x40 && steps < 48; steps++) {
        if (at + 2 > bytes->length)
            return CUT;
        if (bytes->at[at] == id)
            return at + size <= bytes->length ? at : CUT;
        at = bytes->at[at + 1] & 0xFCu;
    }
    return 0;
}

/* The offset of an extended capability of `size` bytes, 0 when there is none, CUT when the bytes
 * end before that is certain. */
static size_t find_extended(const struct bytes *bytes, unsigned id, size_t size)
{
    size_t at = EXT_START;
    for (int steps = 0; at >= EXT_START && steps < 960; steps++) {
        if (at + 4 > bytes->length)
            return CUT;
        uint32_t head = read32(bytes, at);
        if (head == 0 || head == 0xFFFFFFFFu)
            return 0;
        if ((head & 0xFFFF) == id)
            return at + size <= bytes->length ? at : CUT;
        at = head >> 20 & 0xFFC;
    }
    return 0;
}

static enum port_kind port_kind(unsigned flags)
{
    switch (flags >> 4 & 0xF) {
    case 4:
        return PORT_ROOT;
    case 5:
        return PORT_UP;
    case 6:
        return PORT_DOWN;
    case 7:
    case 8:
        return PORT_BRIDGE;
    default:
        return PORT_ENDPOINT;
    }
}

static void parse_extended(const struct bytes *bytes, struct config_space *config)
{
    if (bytes->length <= EXT_START) {
        why_set(&config->why_extended,
                "extended configuration space is not to be seen from here (no MMCONFIG, as in "
                "many virtual machines)");
        return;
    }
    size_t acs = find_extended(bytes, EXT_ACS, 8), ats = find_extended(bytes, EXT_ATS, 8);
    if (acs != CUT)
        config->acs = acs ? (int)(read16(bytes, acs + 6) & 0x7F) : 0;
    if (ats != CUT)
        config->ats = ats ? (int)(read16(bytes, ats + 6) >> 15) : 0;
    if (acs == CUT || ats == CUT)
        why_set(&config->why_extended, "extended configuration space is cut off");
}

void config_space_parse(const uint8_t *bytes, size_t length, struct config_space *ret_config)
{
    const struct bytes in = {bytes, length};
    *ret_config = (struct config_space){
        .port = PORT_UNKNOWN, .mps_B = -1, .mrrs_B = -1, .relaxed = -1, .acs = -1, .ats = -1};
    ret_config->silent = length >= 64 && read16(&in, 0) == 0xFFFF;
    if (length < 64 || ret_config->silent) {
        why_set(&ret_config->why, length < 64 ? "configuration space is cut off"
                                              : "the device does not answer (all ones)");
        ret_config->why_extended = ret_config->why;
        return;
    }
    if (length == 64 && read16(&in, 0x06) & 0x10) {
        why_set(&ret_config->why, "only 64 B of the configuration space: needs root");
        ret_config->why_extended = ret_config->why;
        return;
    }
    size_t express = find_capability(&in, CAP_EXPRESS, 10);
    if (express == CUT) {
        why_set(&ret_config->why, "configuration space is cut off");
        ret_config->why_extended = ret_config->why;
        return;
    }
    if (!express) { /* conventional: it has none of all this */
        ret_config->port = (in.at[0x0E] & 0x7F) == 1 ? PORT_BRIDGE : PORT_ENDPOINT;
        ret_config->mps_B = ret_config->mrrs_B = 0;
        ret_config->acs = ret_config->ats = 0;
        return;
    }
    unsigned control = read16(&in, express + 8);
    ret_config->port = port_kind(read16(&in, express + 2));
    ret_config->mps_B = 128 << (control >> 5 & 7);
    ret_config->mrrs_B = 128 << (control >> 12 & 7);
    ret_config->relaxed = control >> 4 & 1;
    parse_extended(&in, ret_config);
}

const char *acs_text(int bits, const char *between, char text[ACS_TEXT])
{
    static const char *const names[] = {"SV", "TB", "RR", "CR", "UF", "EC", "DT"};
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < 7; i++)
        if (bits >> i & 1) {
            int wrote =
                snprintf(text + length, ACS_TEXT - length, "%s%s", length ? between : "", names[i]);
            length += wrote > 0 ? (size_t)wrote : 0;
            if (length >= ACS_TEXT)
                break;
        }
    if (length == 0)
        strcpy(text, "none");
    return text;
}
