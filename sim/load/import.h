/* import.h: texts that describe a real machine, into a struct topology. One parser each; what each
 * understands is in the head of its file and in scenarios/IMPORT.md.
 *
 * A parser adds mistakes to `diag` (and returns a failure), and notes to the topology for whatever
 * it left out or does not know. Its text is registered with `diag` by import_text(). On failure the
 * topology holds what was read so far; only topology_free() may be called on it.
 */
#ifndef GDSIM_LOAD_IMPORT_H
#define GDSIM_LOAD_IMPORT_H

#include "sim/load/topology.h"

enum { IMPORT_BYTES = 16 << 20 }; /* of one file */

enum import_format {
    IMPORT_NCCL_XML,
    IMPORT_TOPO_M,
    IMPORT_LSPCI,
    IMPORT_FACTS,
    IMPORT_FORMATS,
};

struct import_text {
    const char *name; /* interned in diag */
    const char *text; /* ends in NUL */
    size_t length;
};

const char *import_format_name(enum import_format format); /* "nccl-xml", ... */

/* What a text looks like; IMPORT_FORMATS when it looks like none of them. */
enum import_format import_detect(const char *text, size_t length);

/* Check the text (no NUL, not too long) and read it in a format; IMPORT_FORMATS: as it looks. */
enum status import_read(const char *name, const char *text, size_t length,
                        enum import_format format, struct topology *topology,
                        enum import_format *ret_format, struct diag_list *diag);

enum status import_nccl_xml(const struct import_text *in, struct topology *topology,
                            struct diag_list *diag);
enum status import_topo_m(const struct import_text *in, struct topology *topology,
                          struct diag_list *diag);
enum status import_lspci(const struct import_text *in, struct topology *topology,
                         struct diag_list *diag);
enum status import_facts(const struct import_text *in, struct topology *topology,
                         struct diag_list *diag);

/* A whole number in a text, decimal or with 0x; false when it is none or not low..high. */
bool import_number(const char *text, long low, long high, long *ret_value);

#endif
