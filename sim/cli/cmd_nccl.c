/* cmd_nccl.c: gdsim nccl: NCCL's own cost model and choice, beside what a log of NCCL says. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/nccl.h"
#include "sim/core/units.h"
#include "sim/load/file.h"

enum { NEWEST_VERSION = 23007 };

static const char doc[] =
    "Which algorithm, protocol and channels NCCL takes for a size, by NCCL's own formula; and "
    "whether a log of NCCL agrees. FILE is a log, a graph XML, or a scenario: then the engine runs "
    "NCCL's algorithms too, and says which is fastest there.\v"
    "A log: NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING all_reduce_perf ... > "
    "nccl.log\n"
    "A graph XML: NCCL_GRAPH_DUMP_FILE=graph.xml; it does not say the GPU, hence --cc.\n"
    "Sizes count the whole array, also of an all-gather. Exit code 1 when the log disagrees.\n"
    "Examples:\n"
    "  gdsim nccl nccl.log\n"
    "  gdsim nccl graph.xml --cc 9.0 --nodes 4 --cpu amd --collective allgather\n"
    "  gdsim nccl nccl.log --show matrix     NCCL's table as NCCL lays it out\n"
    "  gdsim nccl scenario.yaml --set nodes=4 --measured all_reduce_perf.log\n"
    "A scenario's graphs are searched in short (models/nccl_search.h) unless --graph has them. Of "
    "the options above those about the machine are for logs and XML: set a scenario's own keys.\n";

enum key {
    KEY_COMM = 256,
    KEY_ALGO,
    KEY_PROTO,
    KEY_RANKS,
    KEY_CC,
    KEY_CPU,
    KEY_VERSION,
    KEY_OVERHEAD,
    KEY_COLLNET,
    KEY_NO_NVLS,
    KEY_CHANNELS,
    KEY_SHOW
};

static const struct argp_option option_table[] = {
    {"graph", 'g', "FILE", 0, "take the graphs from this XML instead of the log", 0},
    {"nodes", 'n', "N", 0, "nodes (default: the log's; 1 with a graph XML)", 0},
    {"ranks", KEY_RANKS, "N", 0, "GPUs in all (default: the log's; nodes times those of a channel)",
     0},
    {"cc", KEY_CC, "X.Y", 0, "compute capability of the GPUs (default: by their name in the log)",
     0},
    {"cpu", KEY_CPU, "MAKER", 0, "intel, amd, power, mixed or other (default: the log's; intel)",
     0},
    {"nccl", KEY_VERSION, "X.Y.Z", 0, "version of NCCL (default: the log's; 2.30.7)", 0},
    {"net-overhead", KEY_OVERHEAD, "TIME", 0, "of posting to the network (default: by the CPU)", 0},
    {"collnet", KEY_COLLNET, NULL, 0, "CollNet is on and the network plugin offers it", 0},
    {"no-nvls", KEY_NO_NVLS, NULL, 0, "NVLS is off", 0},
    {"algo", KEY_ALGO, "LIST", 0, "as NCCL_ALGO, e.g. ring,tree (default: the log's)", 0},
    {"proto", KEY_PROTO, "LIST", 0, "as NCCL_PROTO, e.g. ^ll128 (default: the log's)", 0},
    {"channels", KEY_CHANNELS, "N", 0, "channels of the communicator (default: by the graphs)", 0},
    {"comm", KEY_COMM, "N", 0, "which communicator of the log, from 1 (default 1)", 0},
    {"collective", 'c', "NAME", 0, "choices for this one, or all (default: the log's; allreduce)",
     0},
    {"sizes", 'S', "LIST", 0, "choices for these sizes (default: the log's; 8 B to 1 GiB)", 0},
    {"set", 's', "KEY=VALUE", 0, "set any key of the scenario", 0},
    {"mechanism", 'm', "NAME", 0, "of the scenario, between GPUs (default: its first)", 0},
    {"measured", 'M', "FILE", 0, "lay a table of nccl-tests beside a scenario", 0},
    {"show", KEY_SHOW, "WHAT", 0, "costs, choices, matrix or all (default all)", 0},
    {"format", 'f', "table|csv|json", 0, "how to print (default table)", 0},
    {"output", 'o', "FILE", 0, "write there instead of to the terminal", 0},
    {0},
};

/* ---- options -------------------------------------------------------------------------------- */

static long whole(struct argp_state *state, const char *what, const char *arg, long most)
{
    char *end;
    long value = strtol(arg, &end, 10);
    if (end == arg || *end || value < 1 || value > most)
        argp_error(state, "%s is a whole number from 1 to %ld, not \"%s\"", what, most, arg);
    return value;
}

static int word(struct argp_state *state, const char *what, const char *arg,
                const char *const *words, int count)
{
    for (int i = 0; i < count; i++)
        if (strcmp(arg, words[i]) == 0)
            return i;
    argp_error(state, "%s cannot be \"%s\"", what, arg);
    return 0;
}

static void add_size(struct argp_state *state, struct nccl_options *options, double size_B)
{
    if (!(size_B >= 1 && size_B <= ldexp(1, NCCL_MAX_BYTES_LOG2)))
        argp_error(state, "--sizes: from 1 B to 1024 TiB");
    if (options->size_count == NCCL_MAX_SIZES)
        argp_error(state, "--sizes: at most %d", NCCL_MAX_SIZES);
    options->sizes[options->size_count++] = (uint64_t)size_B;
}

static void parse_sizes(struct argp_state *state, struct nccl_options *options, const char *arg)
{
    struct error error;
    for (const char *at = arg;; at++) {
        at += strspn(at, " ");
        size_t length = strcspn(at, ","), trimmed = length;
        double size_B = 0;
        while (trimmed > 0 && at[trimmed - 1] == ' ')
            trimmed--;
        if (units_parse(at, trimmed, DIM_BYTES, &size_B, &error))
            argp_error(state, "--sizes: %s", error.message);
        add_size(state, options, size_B);
        at += length;
        if (!*at)
            return;
    }
}

static bool is_scenario(const char *path)
{
    size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".yaml") == 0;
}

/* What a scenario says itself cannot be said beside it. */
static void refuse_for_scenario(struct argp_state *state, const struct nccl_options *options)
{
    if (options->comm || options->nodes || options->ranks || options->cc || options->has_cpu ||
        options->channels || options->net_overhead_s >= 0 || options->has_collective ||
        options->show != SHOW_ALL)
        argp_error(state, "a scenario says what its machine is: use --set, as in --set nodes=4, "
                          "--set collective=allgather, --set engine.channels=8");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static const char *const cpus[] = {"intel", "amd", "power", "mixed", "other"};
    static const char *const shows[] = {"all", "costs", "choices", "matrix"};
    static const char *const formats[] = {"table", "csv", "json"};
    struct nccl_options *options = state->input;
    struct error error;
    int a, b, c = 0;
    char rest;
    switch (key) {
    case 'g':
        options->graph = arg;
        return 0;
    case 'n':
        options->nodes = whole(state, "--nodes", arg, 1 << 20);
        return 0;
    case KEY_RANKS:
        options->ranks = whole(state, "--ranks", arg, 1 << 20);
        return 0;
    case KEY_CC:
        if (sscanf(arg, "%2d.%1d%c", &a, &b, &rest) != 2 || a < 3)
            argp_error(state, "--cc is a compute capability such as 9.0, not \"%s\"", arg);
        options->cc = 10 * a + b;
        return 0;
    case KEY_CPU:
        options->cpu = (enum nccl_cpu)word(state, "--cpu", arg, cpus, 5);
        options->has_cpu = true;
        return 0;
    case KEY_VERSION:
        if (sscanf(arg, "%2d.%2d.%2d%c", &a, &b, &c, &rest) < 2 || a < 2)
            argp_error(state, "--nccl is a version such as 2.28.3, not \"%s\"", arg);
        options->version = 10000 * a + 100 * b + c;
        return 0;
    case KEY_OVERHEAD:
        if (units_parse(arg, strlen(arg), DIM_TIME, &options->net_overhead_s, &error))
            argp_error(state, "--net-overhead: %s", error.message);
        return 0;
    case KEY_COLLNET:
        options->collnet = true;
        return 0;
    case KEY_NO_NVLS:
        options->no_nvls = true;
        return 0;
    case KEY_ALGO:
        options->algo = arg;
        return 0;
    case KEY_PROTO:
        options->proto = arg;
        return 0;
    case KEY_CHANNELS:
        options->channels = whole(state, "--channels", arg, 64);
        return 0;
    case KEY_COMM:
        options->comm = whole(state, "--comm", arg, NCCL_LOG_COMMS);
        return 0;
    case 'c':
        options->has_collective = options->every_collective = strcmp(arg, "all") == 0;
        if (!options->every_collective &&
            !(options->has_collective = nccl_collective_find(arg, &options->collective)))
            argp_error(state,
                       "--collective is broadcast, reduce, allgather, reducescatter, "
                       "allreduce or all, not \"%s\"",
                       arg);
        return 0;
    case 'S':
        options->size_count = 0;
        options->shared.sizes = arg;
        parse_sizes(state, options, arg);
        return 0;
    case 's':
        if (options->shared.set_count == CLI_MAX_SET)
            argp_error(state, "more than %d times --set", CLI_MAX_SET);
        options->shared.set[options->shared.set_count++] = arg;
        return 0;
    case 'M':
        options->measured = arg;
        return 0;
    case 'm':
        options->shared.mechanism = arg;
        return 0;
    case KEY_SHOW:
        options->show = (enum nccl_show)word(state, "--show", arg, shows, 4);
        return 0;
    case 'f':
        options->shared.format = formats[word(state, "--format", arg, formats, 3)];
        return 0;
    case 'o':
        options->shared.output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->shared.file)
            argp_error(state, "one file at a time");
        options->shared.file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->shared.file)
            argp_error(state, "which file?");
        if (is_scenario(options->shared.file)) {
            refuse_for_scenario(state, options);
            return 0;
        }
        if (options->shared.set_count > 0 || options->shared.mechanism || options->measured)
            argp_error(state,
                       "--set, --mechanism and --measured are for a scenario (a file *.yaml)");
        if (options->show == SHOW_ALL && strcmp(options->shared.format, "csv") == 0)
            argp_error(state, "CSV is one table: add --show costs or --show choices");
        if (options->show == SHOW_MATRIX && strcmp(options->shared.format, "table") != 0)
            argp_error(state, "the matrix is for people: --show costs has the same numbers");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- from the files to the model ------------------------------------------------------------ */

static enum status lay_graph(struct nccl_job *job, const struct nccl_graph_row *row)
{
    struct nccl_graph graph = {.pattern = row->pattern,
                               .channels = row->channels,
                               .bw_intra_GBps = row->bw_intra_GBps,
                               .bw_inter_GBps = row->bw_inter_GBps,
                               .latency_inter_us = row->latency_inter_us,
                               .same_channels = row->same_channels};
    if (!nccl_path_find(row->type_intra, &graph.type_intra) ||
        !nccl_path_find(row->type_inter, &graph.type_inter))
        return diag_add(&job->diag, row->mark, NULL, "%s/%s: no kinds of path that gdsim knows",
                        row->type_intra, row->type_inter);
    if (job->comm.graphs[row->id].pattern)
        nccl_graph_worst(&job->comm.graphs[row->id], &graph);
    else
        job->comm.graphs[row->id] = graph;
    return STATUS_OK;
}

static enum status read_xml(struct nccl_job *job, const char *path, const char *text, size_t length)
{
    struct nccl_graph_file file;
    memset(job->comm.graphs, 0, sizeof job->comm.graphs);
    enum status status = nccl_graph_read(path, text, length, &file, &job->diag);
    for (int id = 0; id < NCCL_GRAPH_IDS && !status; id++)
        if (file.present[id])
            status = lay_graph(job, &file.rows[id]);
    job->graph_gpus = status ? 0 : file.rows[NCCL_SEARCH_RING].gpus;
    job->graph_nets = status ? -1 : file.rows[NCCL_SEARCH_RING].nets;
    return status;
}

static enum status read_log(struct nccl_job *job, const char *path, const char *text, size_t length)
{
    enum status status = nccl_log_read(path, text, length, &job->log, &job->diag);
    if (status)
        return status;
    struct mark mark = {diag_intern(&job->diag, path), 0, 0};
    size_t comm = job->options->comm ? (size_t)job->options->comm - 1 : 0;
    if (job->log->comm_count == 0)
        return diag_add(&job->diag, mark, "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,TUNING",
                        "it says nothing of a communicator");
    if (comm >= job->log->comm_count)
        return diag_add(&job->diag, mark, NULL, "--comm %zu: the log has %zu", comm + 1,
                        job->log->comm_count);
    job->said = &job->log->comms[comm];
    if (job->said->graph_count == 0 && !job->options->graph)
        return diag_add(&job->diag, mark, "NCCL_DEBUG_SUBSYS must have GRAPH; or give --graph",
                        "no line \"Pattern p, crossNic ...\": the graphs are not known");
    for (size_t i = 0; i < job->said->graph_count && !status; i++)
        status = lay_graph(job, &job->said->graphs[i]);
    return status;
}

static enum status read_file(struct nccl_job *job, const char *path, bool only_xml)
{
    struct error error;
    char *text;
    size_t length;
    struct mark mark = {diag_intern(&job->diag, path), 0, 0};
    if (file_read(path, NCCL_LOG_BYTES, &text, &length, &error))
        return diag_add_error(&job->diag, mark, &error);
    enum status status;
    if (!only_xml && nccl_log_is(text))
        status = read_log(job, path, text, length);
    else if (only_xml || text[strspn(text, " \t\r\n")] == '<')
        status = read_xml(job, path, text, length);
    else
        status = diag_add(&job->diag, mark,
                          "NCCL_DEBUG=INFO writes the one, "
                          "NCCL_GRAPH_DUMP_FILE=graph.xml the other",
                          "neither a log of NCCL nor a graph XML");
    free(text);
    return status;
}

static enum nccl_cpu cpu_of(const struct nccl_log *log)
{
    if (log->cpu_arch == -1 || log->cpu_vendor == -1)
        return NCCL_CPU_MIXED;
    if (log->cpu_arch == 2)
        return NCCL_CPU_POWER;
    return log->cpu_arch > 1 || log->cpu_vendor > 2 ? NCCL_CPU_OTHER
           : log->cpu_vendor == 2                   ? NCCL_CPU_AMD
                                                    : NCCL_CPU_INTEL;
}

/* Options over the log over defaults. */
static enum status settle(struct nccl_job *job)
{
    const struct nccl_options *options = job->options;
    struct nccl_comm *comm = &job->comm;
    const struct nccl_log *log = job->log;
    const struct nccl_log_comm *said = job->said;
    struct mark mark = {diag_intern(&job->diag, options->shared.file), 0, 0};
    comm->version = options->version      ? options->version
                    : log && log->version ? log->version
                                          : NEWEST_VERSION;
    comm->nodes = options->nodes ? (int)options->nodes : said && said->nodes ? said->nodes : 1;
    comm->ranks = options->ranks                           ? (int)options->ranks
                  : said && said->ranks && !options->nodes ? said->ranks
                                                           : comm->nodes * job->graph_gpus;
    comm->max_local_ranks = said && !options->nodes && !options->ranks ? said->local_ranks : 0;
    comm->min_cc = comm->max_cc = options->cc ? options->cc : log ? nccl_gpu_cc(log->gpu) : 0;
    comm->cpu = options->has_cpu ? options->cpu : log ? cpu_of(log) : NCCL_CPU_INTEL;
    comm->net_overhead_us = options->net_overhead_s >= 0 ? 1e6 * options->net_overhead_s
                            : log                        ? log->net_overhead_us
                                                         : -1;
    comm->collnet = options->collnet || (log && log->collnet_enable == 1);
    comm->collnet_gather = options->collnet;
    comm->nvswitch = log ? log->nvswitch : true;
    comm->nvls = !options->no_nvls && comm->graphs[NCCL_SEARCH_NVLS].channels > 0 &&
                 (!said || said->nvls_channels != 0);
    comm->no_ll128_pxn = log && log->ll128_c2c == 0;
    job->algo = options->algo ? options->algo : log && log->algo[0] ? log->algo : NULL;
    job->proto = options->proto ? options->proto : log && log->proto[0] ? log->proto : NULL;
    if (!nccl_restrict(comm, job->algo, job->proto))
        diag_add(&job->diag, mark, "as in ring,tree or ^ll128 or allreduce:tree;broadcast:ring",
                 "NCCL_ALGO \"%s\", NCCL_PROTO \"%s\": words that gdsim does not know",
                 job->algo ? job->algo : "", job->proto ? job->proto : "");
    comm->channels = (int)options->channels;
    comm->nvls_channels = said && said->nvls_channels > 0 && comm->nvls ? said->nvls_channels : 0;
    bool one = job->graph_nets >= 0 ? job->graph_nets == 0 : said && said->nodes == 1;
    if (one != (comm->nodes == 1) && (job->graph_nets >= 0 || (said && said->nodes)))
        diag_add(&job->diag, mark,
                 one ? "dump the graphs of a job on several nodes" : "give --nodes",
                 one ? "its graphs stay in one node: no NIC is in them"
                     : "its graphs go from node to node");
    if (comm->min_cc == 0)
        diag_add(&job->diag, mark, "give --cc, e.g. --cc 9.0 for H100 and H200",
                 "it does not say which GPUs these are");
    if (comm->ranks < 2 || comm->nodes > comm->ranks)
        diag_add(&job->diag, mark, "give --ranks and --nodes",
                 "%d ranks on %d nodes: no such "
                 "communicator",
                 comm->ranks, comm->nodes);
    return diag_count(&job->diag) ? STATUS_INPUT : STATUS_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

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

static int run(struct nccl_job *job)
{
    const struct nccl_options *options = job->options;
    struct error error;
    bool scenario = is_scenario(options->shared.file);
    enum status status = scenario ? STATUS_OK : read_file(job, options->shared.file, false);
    if (!status && options->graph)
        status = read_file(job, options->graph, true);
    if (!status && scenario)
        return nccl_scenario(job);
    if (!status)
        status = settle(job);
    if (status)
        return fail(&job->diag, status);
    struct text text = {0};
    nccl_tune(&job->comm, &job->tuning);
    job->derived = nccl_channels(&job->comm);
    if (job->said && job->said->channels > 0 && !options->channels)
        job->comm.channels = job->said->channels;
    int code =
        nccl_write(job, &text, &error) ? cli_fail(&error) : cli_write(&options->shared, &text);
    text_free(&text);
    bool same = job->cells == job->cells_same && job->choices == job->choices_same &&
                job->threads == job->threads_same;
    return code ? code : same ? EXIT_FINE : EXIT_RUN_FAILED;
}

int cmd_nccl(int argc, char **argv)
{
    struct nccl_options options = {.shared = {.format = "table"}, .net_overhead_s = -1};
    cli_parse(argc, argv, option_table, parse, "FILE", doc, &options);
    struct nccl_job *job = calloc(1, sizeof *job);
    if (!job) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    job->options = &options;
    job->graph_nets = -1;
    diag_init(&job->diag);
    int code = run(job);
    nccl_log_free(job->log);
    diag_free(&job->diag);
    free(job);
    return code;
}
