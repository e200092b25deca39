/* nccl_graph.c: see nccl_graph.h. Read by expat as a stream; a DOCTYPE is refused, and with it
 * every entity of its own. Attributes and elements that say nothing about cost are not looked at.
 */
#include "sim/load/nccl_graph.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/xml.h"

enum { DEPTH_MAX = 16 };

struct reader {
    struct xml xml; /* first: see xml.h */
    struct nccl_graph_file *into;
    int depth;
    int graph;    /* id of the graph that is open; -1: none */
    int channels; /* of it, so far */
};

/* A number from `low` to `high`; a mistake where there is none. `optional`: 0 without it. */
static double number(struct reader *reader, const XML_Char **attributes, const char *name,
                     double low, double high, bool optional)
{
    const char *text = xml_attribute(attributes, name);
    if (!text && optional)
        return 0;
    if (!text) {
        diag_add(reader->xml.diag, xml_here(&reader->xml), NULL, "graph without %s", name);
        return low;
    }
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high) {
        diag_add(reader->xml.diag, xml_here(&reader->xml), NULL,
                 "%s=\"%.40s\" is no number from %g to %g", name, text, low, high);
        return low;
    }
    return value;
}

static int whole(struct reader *reader, const XML_Char **attributes, const char *name, int low,
                 int high)
{
    double value = number(reader, attributes, name, low, high, false);
    if (value != floor(value))
        diag_add(reader->xml.diag, xml_here(&reader->xml), NULL,
                 "%s must be a whole number, not %g", name, value);
    return (int)value;
}

static void word(struct reader *reader, const XML_Char **attributes, const char *name, char *into,
                 size_t size)
{
    const char *text = xml_attribute(attributes, name);
    if (!text || !*text || strlen(text) >= size)
        diag_add(reader->xml.diag, xml_here(&reader->xml), NULL,
                 "%s must be a kind of path such as NVL", name);
    else
        memcpy(into, text, strlen(text) + 1);
}

static void open_graph(struct reader *reader, const XML_Char **attributes)
{
    struct nccl_graph_row row = {.id = whole(reader, attributes, "id", 0, NCCL_GRAPH_IDS - 1),
                                 .mark = xml_here(&reader->xml)};
    row.pattern = whole(reader, attributes, "pattern", 1, 6);
    row.channels = whole(reader, attributes, "nchannels", 0, NCCL_GRAPH_CHANNELS);
    row.bw_intra_GBps = number(reader, attributes, "speedintra", 0, NCCL_GRAPH_GBPS, false);
    row.bw_inter_GBps = number(reader, attributes, "speedinter", 0, NCCL_GRAPH_GBPS, false);
    row.latency_inter_us = number(reader, attributes, "latencyinter", 0, 1e6, true);
    row.same_channels = whole(reader, attributes, "samechannels", 0, 1) == 1;
    word(reader, attributes, "typeintra", row.type_intra, sizeof row.type_intra);
    word(reader, attributes, "typeinter", row.type_inter, sizeof row.type_inter);
    if (reader->into->present[row.id])
        diag_add(reader->xml.diag, row.mark, NULL, "a second graph with id %d", row.id);
    reader->into->present[row.id] = true;
    reader->into->rows[row.id] = row;
    reader->graph = row.id;
    reader->channels = 0;
}

static void XMLCALL open_element(void *data, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = data;
    if (reader->xml.stopped)
        return;
    if (++reader->depth > DEPTH_MAX)
        xml_stop(&reader->xml, NULL, "nested too deeply");
    else if (reader->depth == 1 && strcmp(name, "graphs") != 0)
        xml_stop(&reader->xml,
                 strcmp(name, "system") == 0
                     ? "this is a topology: gdsim import reads it"
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

enum status nccl_graph_read(const char *name, const char *text, size_t length,
                            struct nccl_graph_file *ret_file, struct diag_list *diag)
{
    size_t before = diag_count(diag);
    const char *file = diag_add_source(diag, name, text, length);
    struct nccl_graph_file into = {0};
    if (!file)
        return STATUS_NOMEM;
    struct reader reader = {.xml = {.file = file, .diag = diag}, .into = &into, .graph = -1};
    const struct xml_handlers handlers = {open_element, close_element, NULL};
    if (length > NCCL_GRAPH_BYTES)
        diag_add(diag, (struct mark){file, 0, 0}, NULL, "larger than %d MiB",
                 NCCL_GRAPH_BYTES >> 20);
    else if (xml_read(&reader.xml, &handlers, text, length))
        return STATUS_NOMEM;
    if (diag_count(diag) == before && (!into.present[0] || !into.present[1]))
        diag_add(diag, (struct mark){file, 0, 0}, NULL, "no graph of a %s (id %d)",
                 into.present[0] ? "tree" : "ring", into.present[0] ? 1 : 0);
    if (diag_count(diag) > before)
        return STATUS_INPUT;
    *ret_file = into;
    return STATUS_OK;
}
