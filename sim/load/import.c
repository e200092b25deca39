/* import.c: which parser a text is for. See import.h. */
#include "sim/load/import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *import_format_name(enum import_format format)
{
    static const char *const names[] = {"nccl-xml", "topo-m", "lspci", "facts", "auto"};
    return names[format];
}

/* Whether the line at `at` starts with a bus id and a space. */
static bool starts_device(const char *at, const char *end)
{
    char word[24];
    size_t length = 0;
    uint64_t key;
    while (at + length < end && length + 1 < sizeof word && at[length] != ' ' && at[length] != '\n')
        length++;
    memcpy(word, at, length);
    word[length] = '\0';
    return at + length < end && at[length] == ' ' && topology_parse_busid(word, &key);
}

/* Observations of gdprobe begin so; behind "#| " they carry the facts of the machine. */
static const char OBSERVATIONS[] = "# gdprobe_observations:";

static bool is_observations(const char *text, size_t length)
{
    return length >= sizeof OBSERVATIONS - 1 &&
           memcmp(text, OBSERVATIONS, sizeof OBSERVATIONS - 1) == 0;
}

/* The facts alone, each character at its line and column: the rows become comments, and "#| " an
 * indentation, which is the same for all of the facts. NULL without memory. */
static char *facts_of_observations(const char *text, size_t length, bool *ret_any)
{
    char *facts = malloc(length + 1);
    *ret_any = false;
    if (!facts)
        return NULL;
    memcpy(facts, text, length);
    facts[length] = '\0';
    for (char *line = facts; *line; line += *line == '\n') {
        if (strncmp(line, "#| ", 3) == 0) {
            memset(line, ' ', 3);
            *ret_any = true;
        } else if (*line != '\n') {
            *line = '#';
        }
        line += strcspn(line, "\n");
    }
    return facts;
}

enum import_format import_detect(const char *text, size_t length)
{
    const char *end = text + length, *at = text;
    if (length >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        at += 3;
    while (at < end && strchr(" \t\r\n", *at))
        at++;
    if (at < end && *at == '<')
        return IMPORT_NCCL_XML;
    if (is_observations(at, (size_t)(end - at)))
        return IMPORT_FACTS;
    bool matrix = false;
    while (at < end) {
        if (starts_device(at, end))
            return IMPORT_LSPCI;
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t line = (size_t)((stop ? stop : end) - at);
        if (line >= 13 && memcmp(at, "gdprobe_facts", 13) == 0)
            return IMPORT_FACTS;
        for (size_t i = 0; i + 4 < line && !matrix; i++)
            matrix = memcmp(at + i, "GPU", 3) == 0 && at[i + 3] >= '0' && at[i + 3] <= '9';
        at = stop ? stop + 1 : end;
    }
    return matrix ? IMPORT_TOPO_M : IMPORT_FORMATS;
}

enum status import_read(const char *name, const char *text, size_t length,
                        enum import_format format, struct topology *topology,
                        enum import_format *ret_format, struct diag_list *diag)
{
    static enum status (*const parsers[])(const struct import_text *, struct topology *,
                                          struct diag_list *) = {import_nccl_xml, import_topo_m,
                                                                 import_lspci, import_facts};
    struct import_text in = {diag_add_source(diag, name, text, length), text, length};
    struct mark whole = {in.name, 0, 0};
    if (!in.name)
        return STATUS_NOMEM;
    if (length > IMPORT_BYTES)
        return diag_add(diag, whole, NULL, "the file is larger than %d MiB", IMPORT_BYTES >> 20);
    if (length == 0)
        return diag_add(diag, whole, NULL, "the file is empty");
    if (memchr(text, '\0', length))
        return diag_add(diag, whole, NULL, "this is no text: it holds NUL bytes%s",
                        (unsigned char)text[0] >= 0xFE ? " (UTF-16? write it as UTF-8)" : "");
    if (format == IMPORT_FORMATS)
        format = import_detect(text, length);
    if (format == IMPORT_FORMATS)
        return diag_add(diag, whole, "say which with --format nccl-xml, topo-m, lspci or facts",
                        "this looks like no format that gdsim imports");
    size_t before = diag_count(diag);
    char *facts = NULL;
    bool any = true;
    if (format == IMPORT_FACTS && is_observations(text, length)) {
        facts = facts_of_observations(text, length, &any);
        if (!facts)
            return STATUS_NOMEM;
        in.text = facts;
    }
    enum status status =
        any ? parsers[format](&in, topology, diag)
            : diag_add(diag, whole, "gdprobe writes them unless --no-facts says not to",
                       "these observations hold no facts of the machine");
    free(facts);
    if (ret_format)
        *ret_format = format;
    if (topology->nomem || diag->nomem)
        return STATUS_NOMEM;
    return !status && diag_count(diag) > before ? STATUS_INPUT : status;
}

bool import_number(const char *text, long low, long high, long *ret_value)
{
    char *end;
    if (!(*text >= '0' && *text <= '9') && *text != '-')
        return false;
    errno = 0;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    long value = strtol(text, &end, hex ? 16 : 10);
    if (end == text || *end || errno || value < low || value > high)
        return false;
    *ret_value = value;
    return true;
}
