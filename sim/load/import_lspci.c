/* import_lspci.c: the text of `lspci -vvv`, with or without -D, -n, -nn.
 *
 *   17:00.0 PCI bridge: ...            class by name, [0604], or 0604: under -n
 *       NUMA node: 0
 *       Bus: primary=16, secondary=17, subordinate=1f
 *       Capabilities: [68] Express (v2) Root Port | Upstream Port | Downstream Port | Endpoint
 *           DevCtl: ... RlxdOrd+ ... MaxPayload 256 bytes, MaxReadReq 512 bytes
 *           LnkCap: Port #0, Speed 32GT/s, Width x16, ...
 *           LnkSta: Speed 16GT/s (downgraded), Width x8 (downgraded)
 *           ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-
 *
 * Without root lspci prints "Capabilities: <access denied>": then links and ACS are not known. A
 * port has no ACS only where extended capabilities are printed and ACS is not among them. Not in
 * lspci at all: NVLink, rates of NICs, the CPU's model, modules, IOMMU. VGA and display controllers
 * count as GPUs when their line names NVIDIA or AMD.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/import.h"
#include "sim/load/pci_tree.h"

enum section { SECTION_NONE, SECTION_DEVCTL, SECTION_LNKCAP, SECTION_LNKSTA, SECTION_ACSCTL };

struct reader {
    struct topology *topology;
    struct diag_list *diag;
    struct pci_tree tree;
    struct pci_function *at; /* that the lines belong to; NULL: none */
    struct mark mark;
    enum section section;
    bool extended, acs_seen; /* of `at` */
};

static const struct {
    const char *name;
    int class_code;
} classes[] = {
    {"PCI bridge", 0x0604},
    {"3D controller", 0x0302},
    {"VGA compatible controller", 0x0300},
    {"Display controller", 0x0380},
    {"Ethernet controller", 0x0200},
    {"Infiniband controller", 0x0207},
    {"InfiniBand controller", 0x0207},
    {"Network controller", 0x0280},
    {"Non-Volatile memory controller", 0x0108},
    {"Bridge", 0x0680},
};

static bool begins(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static int class_of(const char *rest)
{
    long code;
    char digits[8];
    const char *bracket = strchr(rest, '['), *colon = strchr(rest, ':');
    if (strspn(rest, "0123456789abcdef") == 4 && rest[4] == ':') {
        snprintf(digits, sizeof digits, "0x%.4s", rest);
        return import_number(digits, 0, 0xFFFF, &code) ? (int)code : -1;
    }
    if (bracket && colon && bracket < colon && strspn(bracket + 1, "0123456789abcdef") == 4 &&
        bracket[5] == ']') {
        snprintf(digits, sizeof digits, "0x%.4s", bracket + 1);
        return import_number(digits, 0, 0xFFFF, &code) ? (int)code : -1;
    }
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (begins(rest, classes[i].name) && rest[strlen(classes[i].name)] == ':')
            return classes[i].class_code;
    return -1;
}

/* A screen of the board management is no GPU. */
static bool is_compute(const char *rest, int class_code)
{
    static const char *const makers[] = {"NVIDIA", "Advanced Micro Devices", "[AMD",
                                         "10de:", "1002:"};
    if (class_code == 0x0302)
        return true;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strstr(rest, makers[i]))
            return true;
    return false;
}

/* A device without ACS among its extended capabilities has none. */
static void close_device(struct reader *reader)
{
    if (reader->at && reader->extended && !reader->acs_seen)
        reader->at->link.acs = 0;
    reader->at = NULL;
}

static void open_device(struct reader *reader, const char *busid, const char *rest)
{
    close_device(reader);
    reader->section = SECTION_NONE;
    reader->extended = reader->acs_seen = false;
    reader->at = pci_tree_add(&reader->tree, busid, reader->mark, reader->diag);
    if (!reader->at)
        return;
    reader->at->class_code = class_of(rest);
    if (reader->at->class_code >> 8 == 3 && !is_compute(rest, reader->at->class_code))
        reader->at->class_code = -1;
    if (reader->at->class_code == 0x0680 && !strstr(rest, "NVSwitch") && !strstr(rest, "10de:"))
        reader->at->class_code = -1;
    reader->at->is_virtual = strstr(rest, "Virtual Function") != NULL;
    const char *colon = strstr(rest, ": ");
    rest = colon ? colon + 2 : rest;
    topology_clean(reader->at->label, sizeof reader->at->label, rest);
    size_t name = strcspn(rest, "("); /* without "(rev a1)" */
    if (name > 0 && name < sizeof reader->at->label)
        reader->at->label[name - (rest[name - 1] == ' ')] = '\0';
}

/* ---- lines of a device ---------------------------------------------------------------------- */

/* The number after a word such as "Width x"; 0 without it. */
static long after(const char *line, const char *word, int base, long most)
{
    const char *at = strstr(line, word);
    if (!at)
        return 0;
    at += strlen(word);
    char *end;
    long value = strtol(at, &end, base);
    return end == at || value < 0 || value > most ? 0 : value;
}

static int gen_after_speed(const char *line)
{
    const char *at = strstr(line, "Speed ");
    return at ? topology_gen(at + 6) : 0;
}

static enum section section_of(const char *line, enum section current)
{
    static const struct {
        const char *word;
        enum section section;
    } rows[] = {{"DevCtl:", SECTION_DEVCTL},
                {"LnkCap:", SECTION_LNKCAP},
                {"LnkSta:", SECTION_LNKSTA},
                {"ACSCtl:", SECTION_ACSCTL}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (begins(line, rows[i].word))
            return rows[i].section;
    /* Another section starts with a word and a colon; a further line of this one does not. */
    size_t word = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    return word > 0 && line[word] == ':' ? SECTION_NONE : current;
}

static void read_acs(struct reader *reader, const char *line)
{
    static const char *const words[] = {"SrcValid",    "TransBlk",   "ReqRedir",   "CmpltRedir",
                                        "UpstreamFwd", "EgressCtrl", "DirectTrans"};
    int bits = 0;
    for (int i = 0; i < 7; i++) {
        const char *at = strstr(line, words[i]);
        char sign = at ? at[strlen(words[i])] : '\0';
        if (sign == '+')
            bits |= 1 << i;
        else if (sign != '-')
            topology_note(reader->topology, TOPOLOGY_FOUND, -1, reader->mark,
                          "ACSCtl does not say %s; taken as off", words[i]);
    }
    reader->at->link.acs = bits;
    reader->acs_seen = true;
}

static void read_capability(struct reader *reader, const char *line)
{
    const char *bracket = strchr(line, '[');
    if (strstr(line, "<access denied>")) {
        topology_note(reader->topology, TOPOLOGY_UNKNOWN, -1, reader->mark,
                      "capabilities (\"access denied\"): links and ACS bits are there for root "
                      "only: sudo lspci -vvv");
        return;
    }
    if (bracket && strtol(bracket + 1, NULL, 16) >= 0x100)
        reader->extended = true;
    if (!strstr(line, "Express"))
        return;
    if (strstr(line, "Root Port"))
        reader->at->port = PCI_PORT_ROOT;
    else if (strstr(line, "Upstream Port"))
        reader->at->port = PCI_PORT_UP;
    else if (strstr(line, "Downstream Port"))
        reader->at->port = PCI_PORT_DOWN;
}

static void read_detail(struct reader *reader, const char *line)
{
    struct pci_function *at = reader->at;
    reader->section = section_of(line, reader->section);
    if (begins(line, "NUMA node:"))
        at->numa = (int)after(line, "node:", 10, 4095);
    else if (begins(line, "Bus:") && strstr(line, "secondary="))
        at->secondary = (int)after(line, "secondary=", 16, 255);
    else if (begins(line, "Capabilities:"))
        read_capability(reader, line);
    if (reader->section == SECTION_DEVCTL) {
        if (strstr(line, "RlxdOrd+"))
            at->relaxed = 1;
        else if (strstr(line, "RlxdOrd-"))
            at->relaxed = 0;
        if (strstr(line, "MaxPayload "))
            at->link.mps_B = (uint32_t)after(line, "MaxPayload ", 10, 4096);
        if (strstr(line, "MaxReadReq "))
            at->mrrs_B = (uint32_t)after(line, "MaxReadReq ", 10, 4096);
    } else if (reader->section == SECTION_LNKCAP && begins(line, "LnkCap:")) {
        at->link.gen_max = gen_after_speed(line);
        at->link.width_max = (int)after(line, "Width x", 10, 32);
    } else if (reader->section == SECTION_LNKSTA && begins(line, "LnkSta:")) {
        at->link.gen = gen_after_speed(line);
        at->link.width = (int)after(line, "Width x", 10, 32);
    } else if (reader->section == SECTION_ACSCTL && begins(line, "ACSCtl:")) {
        read_acs(reader, line);
    }
}

static void read_line(struct reader *reader, const char *line)
{
    char busid[24];
    uint64_t key;
    if (*line == ' ' || *line == '\t') {
        if (reader->at)
            read_detail(reader, line + strspn(line, " \t"));
        return;
    }
    if (!*line)
        return;
    size_t length = strcspn(line, " ");
    if (length < sizeof busid) {
        memcpy(busid, line, length);
        busid[length] = '\0';
        if (topology_parse_busid(busid, &key)) {
            open_device(reader, busid, line + length + (line[length] == ' '));
            return;
        }
    }
    close_device(reader);
    topology_note(reader->topology, TOPOLOGY_FOUND, -1, reader->mark,
                  "lines that belong to no device were left out");
}

enum status import_lspci(const struct import_text *in, struct topology *topology,
                         struct diag_list *diag)
{
    struct reader reader = {.topology = topology, .diag = diag, .mark = {in->name, 0, 1}};
    size_t before = diag_count(diag);
    enum status status = STATUS_INPUT;
    char *line = NULL;
    for (const char *at = in->text; at < in->text + in->length && diag_count(diag) == before;) {
        size_t length = strcspn(at, "\n");
        char *grown = realloc(line, length + 1);
        if (!grown) {
            free(line);
            pci_tree_free(&reader.tree);
            return STATUS_NOMEM;
        }
        line = grown;
        memcpy(line, at, length);
        while (length > 0 && line[length - 1] == '\r')
            length--;
        line[length] = '\0';
        reader.mark.line++;
        read_line(&reader, line);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    close_device(&reader);
    free(line);
    if (diag_count(diag) == before && reader.tree.count == 0)
        diag_add(diag, (struct mark){in->name, 0, 0}, "gdsim wants the text of sudo lspci -vvv",
                 "there is no PCI device in the file");
    if (diag_count(diag) == before)
        pci_tree_by_buses(&reader.tree, topology, diag);
    if (diag_count(diag) == before)
        status = pci_tree_build(&reader.tree, topology, diag);
    topology->silent_nvlinks = true;
    pci_tree_free(&reader.tree);
    return status;
}
