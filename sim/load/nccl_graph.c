/* nccl_graph.c: see nccl_graph.h. Read by expat as a stream; a DOCTYPE is refused, and with it
 * every entity of its own. Attributes and elements that say nothing about cost are not looked at.
 */
#include "sim/load/nccl_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <expat.h>

enum { DEPTH_MAX = 16 };

struct reader {
    XML_Parser parser;
    const char *file;
    struct nccl_graph_file *into;
    struct diag_list *diag;
    int depth;
    int graph;    /* id of the graph that is open; -1: none */
    int channels; /* of it, so far */
    bool stopped;
};

static struct mark here(const struct reader *reader)
{
    return (struct mark){reader->file, (uint32_t)XML_GetCurrentLineNumber(reader->parser),
                         (uint32_t)XML_GetCurrentColumnNumber(reader->parser) + 1};
}

static void stop(struct reader *reader, const char *hint, const char *message)
{
    if (!reader->stopped)
        diag_add(reader->diag, here(reader), hint, "%s", message);
    reader->stopped = true;
    XML_StopParser(reader->parser, XML_FALSE);
}

static const char *attribute(const XML_Char **attributes, const char *name)
{
    for (size_t i = 0; attributes[i]; i += 2)
        if (strcmp(attributes[i], name) == 0)
            return attributes[i + 1];
    return NULL;
}

/* A number from `low` to `high`; a mistake where there is none. `optional`: 0 without it. */
static double number(struct reader *reader, const XML_Char **attributes, const char *name,
                     double low, double high, bool optional)
{
    const char *text = attribute(attributes, name);
    if (!text && optional)
        return 0;
    if (!text) {
        diag_add(reader->diag, here(reader), NULL, "graph without %s", name);
        return low;
    }
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high) {
        diag_add(reader->diag, here(reader), NULL, "%s=\"%.40s\" is no number from %g to %g", name,
                 text, low, high);
        return low;
    }
    return value;
}

static int whole(struct reader *reader, const XML_Char **attributes, const char *name, int low,
                 int high)
{
    double value = number(reader, attributes, name, low, high, false);
    if (value != floor(value))
        diag_add(reader->diag, here(reader), NULL, "%s must be a whole number, not %g", name,
                 value);
    return (int)value;
}

static void word(struct reader *reader, const XML_Char **attributes, const char *name, char *into,
                 size_t size)
{
    const char *text = attribute(attributes, name);
    if (!text || !*text || strlen(text) >= size)
        diag_add(reader->diag, here(reader), NULL, "%s must be a kind of path such as NVL", name);
    else
        memcpy(into, text, strlen(text) + 1);
}

static void open_graph(struct reader *reader, const XML_Char **attributes)
{
    struct nccl_graph_row row = {.id = whole(reader, attributes, "id", 0, NCCL_GRAPH_IDS - 1),
                                 .mark = here(reader)};
    row.pattern = whole(reader, attributes, "pattern", 1, 6);
    row.channels = whole(reader, attributes, "nchannels", 0, NCCL_GRAPH_CHANNELS);
    row.bw_intra_GBps = number(reader, attributes, "speedintra", 0, NCCL_GRAPH_GBPS, false);
    row.bw_inter_GBps = number(reader, attributes, "speedinter", 0, NCCL_GRAPH_GBPS, false);
    row.latency_inter_us = number(reader, attributes, "latencyinter", 0, 1e6, true);
    row.same_channels = whole(reader, attributes, "samechannels", 0, 1) == 1;
    word(reader, attributes, "typeintra", row.type_intra, sizeof row.type_intra);
    word(reader, attributes, "typeinter", row.type_inter, sizeof row.type_inter);
    if (reader->into->present[row.id])
        diag_add(reader->diag, row.mark, NULL, "a second graph with id %d", row.id);
    reader->into->present[row.id] = true;
    reader->into->rows[row.id] = row;
    reader->graph = row.id;
    reader->channels = 0;
}

static void XMLCALL open_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = data;
    if (reader->stopped)
        return;
    if (++reader->depth > DEPTH_MAX)
        stop(reader, NULL, "nested too deeply");
    else if (reader->depth == 1 && strcmp(name, "graphs") != 0)
        stop(reader,
             strcmp(name, "system") == 0 ? "this is a topology: gdsim import reads it"
                                         : "NCCL_GRAPH_DUMP_FILE=graph.xml makes NCCL write one",
             "no NCCL graphs: the root is not <graphs>");
    else if (reader->depth == 2 && strcmp(name, "graph") == 0)
        open_graph(reader, attributes);
    else if (reader->depth == 3 && strcmp(name, "channel") == 0)
        reader->channels++;
    else if (reader->depth == 4 && reader->graph >= 0 && reader->channels == 1) {
        reader->into->rows[reader->graph].gpus += strcmp(name, "gpu") == 0;
        reader->into->rows[reader->graph].nets += strcmp(name, "net") == 0;
    }
}

static void XMLCALL close_element(void *data, const XML_Char *name)
{
    struct reader *reader = data;
    (void)name;
    if (reader->depth-- == 2)
        reader->graph = -1;
}

static void XMLCALL open_doctype(void *data, const XML_Char *name, const XML_Char *system,
                                 const XML_Char *public_id, int internal)
{
    (void)name, (void)system, (void)public_id, (void)internal;
    stop(data, "NCCL writes none; delete it", "a DOCTYPE is not read");
}

enum status nccl_graph_read(const char *name, const char *text, size_t length,
                            struct nccl_graph_file *ret_file, struct diag_list *diag)
{
    size_t before = diag_count(diag);
    const char *file = diag_add_source(diag, name, text, length);
    XML_Parser parser = XML_ParserCreate(NULL);
    struct nccl_graph_file into = {0};
    if (!file || !parser) {
        XML_ParserFree(parser);
        return STATUS_NOMEM;
    }
    struct reader reader = {
        .parser = parser, .file = file, .into = &into, .diag = diag, .graph = -1};
    XML_SetUserData(parser, &reader);
    XML_SetElementHandler(parser, open_element, close_element);
    XML_SetStartDoctypeDeclHandler(parser, open_doctype);
    if (length > NCCL_GRAPH_BYTES)
        diag_add(diag, (struct mark){file, 0, 0}, NULL, "larger than %d MiB",
                 NCCL_GRAPH_BYTES >> 20);
    else if (XML_Parse(parser, text, (int)length, 1) == XML_STATUS_ERROR && !reader.stopped)
        diag_add(diag, here(&reader), NULL, "broken XML: %s",
                 XML_ErrorString(XML_GetErrorCode(parser)));
    if (diag_count(diag) == before && (!into.present[0] || !into.present[1]))
        diag_add(diag, (struct mark){file, 0, 0}, NULL, "no graph of a %s (id %d)",
                 into.present[0] ? "tree" : "ring", into.present[0] ? 1 : 0);
    XML_ParserFree(parser);
    if (diag_count(diag) > before)
        return STATUS_INPUT;
    *ret_file = into;
    return STATUS_OK;
}
