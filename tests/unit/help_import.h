/* help_import.h: what the tests of the importers share. */
#ifndef GDSIM_TESTS_HELP_IMPORT_H
#define GDSIM_TESTS_HELP_IMPORT_H

#include "sim/load/import.h"

struct import_fixture {
    struct diag_list diag;
    struct topology *topology;
    struct topology_settings settings;
    char *text; /* what was written */
};

int import_set_up(void **state);
int import_tear_down(void **state);

/* Read and settle a text; forgets what was there before. */
enum status import_given(struct import_fixture *f, enum import_format format, const char *text);

/* The devices and links that are written of a text, without head, comments and indent. */
void import_expect_node(struct import_fixture *f, enum import_format format, const char *text,
                        const char *expected);

/* Whether a note of that level about that device (NULL: any) holds the words. */
bool import_noted(const struct import_fixture *f, enum topology_level level, const char *device,
                  const char *words);
#define import_expect_note(f, level, device, words)                                                \
    assert_true(import_noted(f, level, device, words))

/* A refusal whose printed form holds the words. */
void import_expect_bad(struct import_fixture *f, enum import_format format, const char *text,
                       const char *words);

/* Pieces of NCCL's XML. */
#define SYSTEM(inner) "<system version=\"1\">" inner "</system>"
#define CPU0(inner)   "<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"V\">" inner "</cpu>"
#define XGPU(bus, dev)                                                                             \
    "<pci busid=\"" bus "\" class=\"0x030200\" link_speed=\"16 GT/s\" "                            \
    "link_width=\"16\"><gpu dev=\"" dev "\" sm=\"80\" gdr=\"1\"/></pci>"

/* Capabilities of a function as lspci -vvv shows them. */
#define EXPRESS(port, cap, sta)                                                                    \
    "\tCapabilities: [60] Express (v2) " port ", MSI 00\n"                                         \
    "\t\tDevCap:\tMaxPayload 512 bytes, PhantFunc 0\n"                                             \
    "\t\tDevCtl:\tCorrErr+ NonFatalErr+\n\t\t\tRlxdOrd+ ExtTag+\n"                                 \
    "\t\t\tMaxPayload 256 bytes, MaxReadReq 512 bytes\n\t\tDevSta:\tCorrErr-\n"                    \
    "\t\tLnkCap:\tPort #0, " cap ", ASPM not supported\n\t\tLnkSta:\t" sta "\n"                    \
    "\t\tLnkSta2: Current De-emphasis Level: -6dB\n"

#endif
