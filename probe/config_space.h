/* config_space.h: the configuration space of one PCI function, from its bytes.
 *
 *   0x00 vendor, 0x02 device, 0x06 status (bit 4: has capabilities), 0x0E header type,
 *   0x34 first capability; a capability: id, next, body
 *   capability 0x10 (PCI Express), from its start: +2 bits 7:4 kind of port; device control +8:
 *     relaxed ordering bit 4, maximum payload bits 7:5, maximum read request bits 14:12, each
 *     128 B << code
 *   0x100 first extended capability: id 16 bits, version 4, next 12
 *   0x000D ACS: +4 capability, +6 control; bits SV TB RR CR UF EC DT; peer traffic is redirected
 *     when RR, CR or EC is set (Linux drivers/pci/p2pdma.c)
 *   0x000F ATS: +6 control, bit 15 enabled
 * (offsets: Linux include/uapi/linux/pci_regs.h)
 *
 * Linux shows everybody the first 64 bytes, which hold no capability; root sees 256 or 4096. So a
 * short file is not an absent capability, and each answer that it cannot give is unknown.
 */
#ifndef GDPROBE_CONFIG_SPACE_H
#define GDPROBE_CONFIG_SPACE_H

#include <stdint.h>

#include "probe/sys.h"

enum { CONFIG_BYTES = 4096, ACS_REDIRECT = 0x2C };

enum port_kind {
    PORT_UNKNOWN = -1,
    PORT_ENDPOINT, /* or whatever has no port below */
    PORT_ROOT,
    PORT_UP,
    PORT_DOWN,
    PORT_BRIDGE, /* to or from conventional PCI */
};

struct config_space {
    bool silent; /* all ones: the device does not answer, it fell off the bus */
    enum port_kind port;
    int mps_B, mrrs_B; /* -1 unknown, 0 not PCI Express */
    int relaxed;       /* 1 on, 0 off, -1 unknown or not PCI Express */
    int acs;           /* control bits; 0: none set, or no ACS; -1 unknown */
    int ats;           /* 1 enabled, 0 not, or no ATS; -1 unknown */
    struct why why, why_extended;
};

/* Never reads beyond length; any bytes are fine. */
void config_space_parse(const uint8_t *bytes, size_t length, struct config_space *ret_config);

/* ACS bits as "SV RR", or "none". Returns `text`. */
enum { ACS_TEXT = 32 };
const char *acs_text(int bits, const char *between, char text[ACS_TEXT]);

#endif
