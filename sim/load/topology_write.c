/* topology_write.c: a settled topology as a scenario in YAML. See topology.h. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/load/topology.h"

enum { COMMENT_WIDTH = 100, SUBJECTS_MAX = 1024 };

/* ---- the head: notes ------------------------------------------------------------------------ */

/* One comment, broken at spaces; further lines stand further right. */
static void write_comment(FILE *out, const char *text)
{
    const char *indent = "#   ";
    while (*text) {
        size_t room = COMMENT_WIDTH - strlen(indent), length = strlen(text);
        if (length > room) {
            size_t cut = room;
            while (cut > 0 && text[cut] != ' ')
                cut--;
            length = cut > 0 ? cut : room;
        }
        fprintf(out, "%s%.*s\n", indent, (int)length, text);
        text += length;
        text += strspn(text, " ");
        indent = "#     ";
    }
}

static bool is_about(const struct topology_note *note, size_t device)
{
    return note->devices[device / 64] >> (device % 64) & 1;
}

/* The device of a kind with that number in its name, or -1. */
static int named(const struct topology *topology, const char *prefix, size_t number)
{
    char name[sizeof topology->devices[0].name];
    snprintf(name, sizeof name, "%s%zu", prefix, number);
    for (size_t i = 0; i < topology->device_count; i++)
        if (strcmp(topology->devices[i].name, name) == 0)
            return (int)i;
    return -1;
}

/* "gpu0 to gpu7, nic2" */
static void write_subjects(const struct topology *topology, const struct topology_note *note,
                           char *text, size_t size)
{
    static const char *const prefixes[] = {"cpu", "sw", "gpu", "nic", "nvme", "nvs"};
    size_t used = 0;
    text[0] = '\0';
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
        for (size_t n = 0; used + 64 < size; n++) {
            int at = named(topology, prefixes[p], n), last = at;
            if (at < 0)
                break;
            if (!is_about(note, (size_t)at))
                continue;
            size_t first = n;
            for (int next;
                 (next = named(topology, prefixes[p], n + 1)) >= 0 && is_about(note, (size_t)next);
                 n++)
                last = next;
            const char *comma = used > 0 ? ", " : "";
            const char *to = n > first + 1 ? " to " : ", ";
            used += (size_t)snprintf(text + used, size - used, "%s%s", comma,
                                     topology->devices[at].name);
            if (n > first)
                used += (size_t)snprintf(text + used, size - used, "%s%s", to,
                                         topology->devices[last].name);
        }
}

static void write_level(FILE *out, const struct topology *topology, enum topology_level level,
                        const char *heading)
{
    size_t count = 0;
    for (size_t i = 0; i < topology->note_count; i++) {
        const struct topology_note *note = &topology->notes[i];
        char subjects[SUBJECTS_MAX], place[320] = "", file[256], line[2600];
        if (note->level != level)
            continue;
        if (count++ == 0)
            fprintf(out, "#\n# %s\n", heading);
        write_subjects(topology, note, subjects, sizeof subjects);
        if (note->mark.file && note->mark.line > 0) {
            topology_clean(file, sizeof file, note->mark.file);
            snprintf(place, sizeof place, " (%s:%u)", file, note->mark.line);
        }
        snprintf(line, sizeof line, "%s%s%s%s", subjects, subjects[0] ? ": " : "", note->text,
                 place);
        write_comment(out, line);
    }
    if (count == 0)
        fprintf(out, "#\n# %s\n#   nothing\n", heading);
}

/* ---- values --------------------------------------------------------------------------------- */

struct row {
    FILE *out;
    size_t count;
};

static void write_value(struct row *row, const char *format, ...) PRINTF_LIKE(2, 3);
static void write_value(struct row *row, const char *format, ...)
{
    va_list args;
    fputs(row->count++ ? ", " : "{", row->out);
    va_start(args, format);
    vfprintf(row->out, format, args);
    va_end(args);
}

static void write_end(struct row *row, const char *first, const char *second)
{
    fputs(row->count ? "}" : "{}", row->out);
    if (first[0] || second[0])
        fprintf(row->out, "  # %s%s%s", first, first[0] && second[0] ? ", " : "", second);
    fputc('\n', row->out);
}

/* A quantity, with its source if there is one. */
static void write_quantity(struct row *row, const char *key, double value, enum dimension dimension,
                           const char *source)
{
    char text[UNITS_TEXT_MAX], clean[512];
    units_format(value, dimension, text, sizeof text);
    if (!source) {
        write_value(row, "%s: %s", key, text);
        return;
    }
    topology_clean(clean, sizeof clean, source);
    for (char *c = clean; *c; c++)
        if (*c == '"' || *c == '\\')
            *c = '\'';
    write_value(row, "%s: {value: %s, source: \"%s\"}", key, text, clean);
}

static void write_cpu(struct row *row, const struct topology_device *cpu)
{
    const struct topology_limits *limits = &cpu->limits;
    if (!isnan(limits->peer_write_Bps))
        write_quantity(row, "peer_write", limits->peer_write_Bps, DIM_RATE, limits->source);
    if (!isnan(limits->peer_read_Bps))
        write_quantity(row, "peer_read", limits->peer_read_Bps, DIM_RATE, limits->source);
    if (limits->name && !(limits->strict_low < limits->strict_high))
        write_quantity(row, "strict_order", limits->strict_low, DIM_FRACTION, limits->source);
}

static void write_device(FILE *out, const struct topology_device *device)
{
    struct row row = {out, 0};
    char numa[32] = "";
    fprintf(out, "    %s: ", device->name);
    write_value(&row, "type: %s", device_kind_name(device->kind));
    if (device->kind == DEVICE_CPU) {
        write_cpu(&row, device);
        if (device->numa >= 0)
            snprintf(numa, sizeof numa, "NUMA node %d", device->numa);
        write_end(&row, numa, device->limits.name ? device->limits.name : "");
        return;
    }
    if (device->kind == DEVICE_GPU) {
        if (device->memory_B > 0)
            write_quantity(&row, "memory", device->memory_B, DIM_BYTES, NULL);
        if (device->bar1_B >= 0)
            write_quantity(&row, "bar1", device->bar1_B, DIM_BYTES, NULL);
        if (device->bar1_used_B >= 0)
            write_quantity(&row, "bar1_used", device->bar1_used_B, DIM_BYTES, NULL);
    }
    if (device->kind == DEVICE_NIC) {
        char rate[32];
        /* As people write it: bits for whole Gb/s. */
        double gigabits = device->rate_Bps * 8 / 1e9;
        if (gigabits >= 1 && gigabits == floor(gigabits)) {
            snprintf(rate, sizeof rate, "%.0f Gb/s", gigabits);
            write_value(&row, "rate: %s", rate);
        } else {
            write_quantity(&row, "rate", device->rate_Bps, DIM_RATE, NULL);
        }
        if (device->mrrs_B >= 64 && device->mrrs_B <= 4096)
            write_value(&row, "read_request: %u B", device->mrrs_B);
        if (device->relaxed >= 0)
            write_value(&row, "relaxed_ordering: %s", device->relaxed ? "yes" : "no");
    }
    write_end(&row, device->label, device->busid);
}

static void write_link(FILE *out, const struct topology *topology,
                       const struct topology_device *device)
{
    struct row row = {out, 0};
    const struct topology_link *up = &device->up;
    char acs[TOPOLOGY_ACS];
    fprintf(out, "    %s-%s: ", topology->devices[device->parent].name, device->name);
    write_value(&row, "gen: %d", up->gen);
    write_value(&row, "width: %d", up->width);
    if (up->gen_max > up->gen)
        write_value(&row, "gen_max: %d", up->gen_max);
    if (up->width_max > up->width)
        write_value(&row, "width_max: %d", up->width_max);
    if (up->mps_B >= 128 && up->mps_B <= 4096)
        write_value(&row, "mps: %u B", up->mps_B);
    if (up->acs >= 0)
        write_value(&row, "acs: %s", topology_acs(up->acs, acs));
    write_end(&row, "", "");
}

static void write_pair(FILE *out, const struct topology *topology, const struct topology_pair *pair)
{
    struct row row = {out, 0};
    char count[32] = "";
    fprintf(out, "    %s-%s: ", topology->devices[pair->end[0]].name,
            topology->devices[pair->end[1]].name);
    write_value(&row, "type: %s", link_kind_name(pair->kind));
    if (pair->rate_Bps > 0)
        write_quantity(&row, "rate", pair->rate_Bps, DIM_RATE, pair->source);
    if (pair->kind == LINK_NVLINK && pair->count > 0)
        snprintf(count, sizeof count, "%u links", pair->count);
    write_end(&row, count, "");
}

static void write_state(FILE *out, const struct topology_state *state)
{
    const struct {
        const char *key;
        int value;
    } rows[] = {{"peermem", state->peermem}, {"dmabuf", state->dmabuf},
                {"gdrdrv", state->gdrdrv},   {"nvidia_fs", state->nvidia_fs},
                {"vm", state->vm},           {"p2p_driver", state->p2p_driver},
                {"ats", state->ats},         {"gds_filesystem", state->gds_filesystem}};
    const struct {
        const char *key;
        enum param_id id;
        int value;
    } choices[] = {{"iommu", PARAM_STATE_IOMMU, state->iommu},
                   {"gdr_level", PARAM_STATE_GDR_LEVEL, state->gdr_level},
                   {"p2p_level", PARAM_STATE_P2P_LEVEL, state->p2p_level}};
    bool any = false;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        any = any || rows[i].value >= 0;
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        any = any || choices[i].value >= 0;
    fputs(any ? "state:\n" : "state: {}  # nothing is known\n", out);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].value >= 0)
            fprintf(out, "  %s: %s\n", rows[i].key, rows[i].value ? "yes" : "no");
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; i++)
        if (choices[i].value >= 0)
            fprintf(out, "  %s: %s\n", choices[i].key,
                    param_words(choices[i].id)[choices[i].value]);
}

static void write_node(FILE *out, const struct topology *topology)
{
    static const char *const prefixes[] = {"cpu", "sw", "gpu", "nic", "nvme", "nvs"};
    static const enum link_kind kinds[] = {LINK_C2C, LINK_NVLINK, LINK_SOCKET, LINK_PCIE};
    fputs("node:\n  devices:\n", out);
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
        for (int at, n = 0; (at = named(topology, prefixes[p], (size_t)n)) >= 0; n++)
            write_device(out, &topology->devices[at]);
    fputs("  links:\n", out);
    /* C2C first: of two ways equally short, gdsim takes the link that was named first. */
    for (size_t i = 0; i < topology->pair_count; i++)
        if (topology->pairs[i].kind == LINK_C2C)
            write_pair(out, topology, &topology->pairs[i]);
    for (size_t p = 0; p < sizeof prefixes / sizeof prefixes[0]; p++)
        for (int at, n = 0; (at = named(topology, prefixes[p], (size_t)n)) >= 0; n++)
            if (topology->devices[at].parent >= 0)
                write_link(out, topology, &topology->devices[at]);
    for (size_t k = 1; k < sizeof kinds / sizeof kinds[0]; k++)
        for (size_t i = 0; i < topology->pair_count; i++)
            if (topology->pairs[i].kind == kinds[k])
                write_pair(out, topology, &topology->pairs[i]);
}

/* NICs that are not virtual: of those without a PCIe address nothing is known, and 10 Gb/s is what
 * NCCL writes then. */
static size_t real_nics(const struct topology *topology)
{
    size_t count = 0;
    for (size_t i = 0; i < topology->device_count; i++) {
        const struct topology_device *device = &topology->devices[i];
        bool is_virtual = device->up.no_port && !device->busid[0];
        count += device->kind == DEVICE_NIC && !is_virtual;
    }
    return count;
}

/* A job that meets every NIC, if there is one: inside one node no byte passes it, and nothing that
 * is wrong with it would show. */
static void write_job(FILE *out, const struct topology *topology)
{
    fputs("collective: allreduce\n", out);
    if (real_nics(topology) > 0)
        fputs("algorithm: rings  # a ring for each GPU, so that every NIC carries its share\n"
              "nodes: 2  # as if two such machines were joined, so that check and run look at the "
              "NICs\n",
              out);
    else if (topology_count(topology, DEVICE_NIC) > 0)
        fputs(
            "algorithm: ring\n"
            "nodes: 1  # its NIC is virtual: how it is joined, and its rate, would be a guess; say "
            "both below,\n"
            "          # and nodes: 2, to look at it\n",
            out);
    else
        fputs("algorithm: ring\nnodes: 1  # no NIC was found\n", out);
    fputs("mechanisms: [gdr, host]\nsizes: {from: 1 MiB, to: 1 GiB, times: 4}\n", out);
}

enum status topology_write(const struct topology *topology, const char *from, char **ret_text,
                           size_t *ret_length)
{
    char *text = NULL, name[256];
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out)
        return STATUS_NOMEM;
    topology_clean(name, sizeof name, from);
    for (char *c = name; *c; c++)
        if (*c == '"' || *c == '\\')
            *c = '?';
    fprintf(out, "# Written by gdsim import from %s.\n", name);
    write_level(out, topology, TOPOLOGY_FOUND, "Found:");
    write_level(out, topology, TOPOLOGY_ASSUMED,
                "Assumed, because the input does not say (correct these first):");
    write_level(out, topology, TOPOLOGY_UNKNOWN,
                "Not known; gdsim's own defaults stand in, as given in brackets:");
    if (topology->note_lost > 0)
        fprintf(out, "#\n# And %zu further notes, for which there was no room.\n",
                topology->note_lost);
    fprintf(out, "title: \"Imported from %s\"\n", name);
    write_job(out, topology);
    write_state(out, &topology->state);
    write_node(out, topology);
    if (fflush(out) || ferror(out) || topology->nomem) {
        fclose(out);
        free(text);
        return STATUS_NOMEM;
    }
    if (fclose(out)) {
        free(text);
        return STATUS_NOMEM;
    }
    *ret_text = text;
    *ret_length = length;
    return STATUS_OK;
}
