/* cmd_import.c: gdsim import: what people have of a machine, into a scenario. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/rootcomplex.h"
#include "sim/cli/measured.h"
#include "sim/core/units.h"
#include "sim/load/file.h"
#include "sim/load/import.h"
#include "sim/report/output.h"

#define MAX_FILES 16

static const char doc[] =
    "Read what describes a machine (NCCL's topology XML, nvidia-smi topo -m, lspci -vvv, gdprobe "
    "facts) and write a scenario that gdsim run takes. Its head lists what was found, what was "
    "assumed and what is not known. Further files about the same machine fill what the first does "
    "not know. Output of a benchmark (nccl-tests, NCCL's log, OSU, perftest, nvbandwidth, GDRCopy, "
    "gdsio, nvidia-fs, gds_stats, CSV) comes out as one table of CSV.\v"
    "Examples:\n"
    "  NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8; gdsim import topo.xml -o node.yaml\n"
    "  sudo lspci -vvv > lspci.txt; nvidia-smi topo -m > topo.txt\n"
    "  gdsim import lspci.txt topo.txt --nic-rate '400 Gb/s' -o node.yaml && gdsim run node.yaml\n"
    "  gdsim import all_reduce.log -o out/all_reduce.csv\n";

enum { KEY_STRICT = 256, KEY_NIC_RATE };

struct import_options {
    const char *files[MAX_FILES];
    size_t count;
    enum import_format format;
    const char *output;
    struct topology_settings settings;
};

static const struct argp_option option_table[] = {
    {"format", 'f', "FORMAT", 0, "of all files: auto (default), nccl-xml, topo-m, lspci or facts",
     0},
    {"output", 'o', "FILE", 0, "write the scenario to FILE (default: standard output)", 0},
    {"strict", KEY_STRICT, NULL, 0, "refuse to assume anything: say what is missing", 0},
    {"nic-rate", KEY_NIC_RATE, "RATE", 0, "line rate of NICs whose rate is not in the input", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct import_options *options = state->input;
    struct error error;
    int format = 0;
    switch (key) {
    case 'f':
        while (format < IMPORT_FORMATS &&
               strcmp(arg, import_format_name((enum import_format)format)) != 0)
            format++;
        if (format == IMPORT_FORMATS && strcmp(arg, "auto") != 0)
            argp_error(state, "--format is auto, nccl-xml, topo-m, lspci or facts, not \"%s\"",
                       arg);
        options->format = (enum import_format)format;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case KEY_STRICT:
        options->settings.strict = true;
        return 0;
    case KEY_NIC_RATE:
        if (units_parse(arg, strlen(arg), DIM_RATE, &options->settings.nic_rate_Bps, &error))
            argp_error(state, "--nic-rate: %s", error.message);
        if (!(options->settings.nic_rate_Bps >= 1 && options->settings.nic_rate_Bps <= 1e14))
            argp_error(state, "--nic-rate is out of range");
        return 0;
    case ARGP_KEY_ARG:
        if (options->count == MAX_FILES)
            argp_error(state, "at most %d files", MAX_FILES);
        options->files[options->count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (options->count == 0)
            argp_error(state, "which file?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The table's row of a CPU; where the model is not in it, what holds for all of its maker. */
static void root_complex(const struct topology_device *cpu, struct topology_limits *ret_limits)
{
    const struct rootcomplex *unknown = rootcomplex_find(NULL);
    const struct rootcomplex *row = rootcomplex_of_cpu(cpu->family, cpu->model);
    if (row == unknown && strcmp(cpu->arch, "arm64") == 0)
        row = rootcomplex_find("arm");
    else if (row == unknown && strcmp(cpu->arch, "ppc64") == 0)
        row = rootcomplex_find("power9");
    else if (row == unknown && strcmp(cpu->vendor, "AuthenticAMD") == 0)
        row = rootcomplex_find("epyc");
    else if (row == unknown &&
             (strcmp(cpu->vendor, "CentaurHauls") == 0 || strstr(cpu->vendor, "Shanghai")))
        row = rootcomplex_find("zhaoxin");
    if (row == unknown)
        return;
    *ret_limits = (struct topology_limits){row->name,
                                           row->source,
                                           row->p2p_write_Bps,
                                           row->p2p_read_Bps,
                                           row->inter_socket_Bps,
                                           row->strict_order.low,
                                           row->strict_order.high};
}

static int fail(struct diag_list *diag, enum status status)
{
    char *text = NULL;
    if (status == STATUS_NOMEM || diag_render(diag, &text)) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    fputs(text, stderr);
    free(text);
    return EXIT_BAD_INPUT;
}

/* Read one file into *topology, or lay it on what is there. */
static enum status read_one(const char *path, const struct import_options *options,
                            struct topology **topology, struct diag_list *diag)
{
    struct error error;
    char *text;
    size_t length;
    if (file_read(path, IMPORT_BYTES, &text, &length, &error))
        return diag_add_error(diag, (struct mark){diag_intern(diag, path), 0, 0}, &error);
    struct topology *fresh = topology_new();
    enum status status =
        fresh ? import_read(path, text, length, options->format, fresh, NULL, diag) : STATUS_NOMEM;
    free(text);
    if (status || !*topology) {
        *topology = status ? *topology : fresh;
        if (status)
            topology_free(fresh);
        return status;
    }
    topology_merge(*topology, fresh, diag);
    topology_free(fresh);
    return diag_count(diag) > 0 ? STATUS_INPUT : STATUS_OK;
}

static int import_files(const struct import_options *options, struct diag_list *diag,
                        struct topology **topology)
{
    char from[512], *text = NULL;
    size_t length, used = 0;
    struct error error;
    from[0] = '\0';
    for (size_t i = 0; i < options->count; i++) {
        enum status status = read_one(options->files[i], options, topology, diag);
        if (status)
            return fail(diag, status);
        if (used < sizeof from)
            used += (size_t)snprintf(from + used, sizeof from - used, "%s%s", i ? " and " : "",
                                     options->files[i]);
    }
    enum status status = topology_settle(*topology, &options->settings, diag);
    if (!status)
        status = topology_write(*topology, from, &text, &length);
    if (status)
        return fail(diag, status);
    int code = output_write(options->output ? options->output : "-", text, length, &error)
                   ? cli_fail(&error)
                   : EXIT_FINE;
    free(text);
    return code;
}

/* Whether the file is surely no output of a benchmark. A matrix of `topo -m` is less sure: a log
 * may hold one, too. */
static bool is_topology(const char *path)
{
    struct error error;
    char *text;
    size_t length;
    if (file_read(path, IMPORT_BYTES, &text, &length, &error))
        return false;
    enum import_format format = import_detect(text, length);
    free(text);
    return format != IMPORT_FORMATS && format != IMPORT_TOPO_M;
}

int cmd_import(int argc, char **argv)
{
    struct import_options options = {.format = IMPORT_FORMATS,
                                     .settings = {.limits = root_complex}};
    struct diag_list diag;
    struct topology *topology = NULL;
    cli_parse(argc, argv, option_table, parse, "FILE...", doc, &options);
    if (options.format == IMPORT_FORMATS && !is_topology(options.files[0]) &&
        cli_is_run(options.files[0]))
        return cli_import_runs(options.files, options.count, options.output);
    diag_init(&diag);
    int code = import_files(&options, &diag, &topology);
    topology_free(topology);
    diag_free(&diag);
    return code;
}
