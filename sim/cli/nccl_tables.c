/* nccl_tables.c: costs and choices of gdsim nccl, beside what a log says; see nccl.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/nccl.h"
#include "sim/core/units.h"
#include "sim/report/grid.h"

/* ---- comparison ----------------------------------------------------------------------------- */

static const struct nccl_log_cell *said_cell(const struct nccl_job *job, int c, int a, int p)
{
    for (size_t i = 0; job->said && i < job->said->cell_count; i++) {
        const struct nccl_log_cell *cell = &job->said->cells[i];
        enum nccl_collective collective;
        enum nccl_algorithm algorithm;
        enum nccl_protocol protocol;
        if (nccl_collective_find(cell->collective, &collective) && (int)collective == c &&
            nccl_algorithm_find(cell->algorithm, &algorithm) && (int)algorithm == a &&
            nccl_protocol_find(cell->protocol, &protocol) && (int)protocol == p)
            return cell;
    }
    return NULL;
}

/* As NCCL prints: one decimal. */
static const char *print_cell(double latency_us, double bandwidth_GBps, char buffer[48])
{
    snprintf(buffer, 48, "%8.1f/%6.1f", latency_us, bandwidth_GBps);
    return buffer;
}

enum cost_column {
    COLLECTIVE,
    ALGORITHM,
    PROTOCOL,
    LATENCY,
    BANDWIDTH,
    OURS,
    THEIR_LATENCY,
    THEIR_BANDWIDTH,
    THEIRS,
    COST_VERDICT,
    WHY
};

static const struct grid_column cost_columns[] = {
    [COLLECTIVE] = {.name = "collective", .kind = GRID_TEXT},
    [ALGORITHM] = {.name = "algorithm", .kind = GRID_TEXT},
    [PROTOCOL] = {.name = "protocol", .kind = GRID_TEXT},
    [LATENCY] = {.name = "latency_us", .kind = GRID_REAL, .machine_only = true},
    [BANDWIDTH] = {.name = "bandwidth_GBps", .kind = GRID_REAL, .machine_only = true},
    [OURS] = {.name = "gdsim",
              .title = "gdsim us/GB/s",
              .kind = GRID_TEXT,
              .align = GRID_ALIGN_RIGHT,
              .human_only = true},
    [THEIR_LATENCY] = {.name = "nccl_latency_us", .kind = GRID_REAL, .machine_only = true},
    [THEIR_BANDWIDTH] = {.name = "nccl_bandwidth_GBps", .kind = GRID_REAL, .machine_only = true},
    [THEIRS] = {.name = "nccl",
                .title = "NCCL us/GB/s",
                .kind = GRID_TEXT,
                .align = GRID_ALIGN_RIGHT,
                .human_only = true},
    [COST_VERDICT] = {.name = "verdict", .kind = GRID_TEXT},
    [WHY] = {.name = "why_not", .title = "why not", .kind = GRID_TEXT},
};

static void add_cost(struct nccl_job *job, struct grid *grid, int c, int a, int p, bool human)
{
    const struct nccl_cell *cell = &job->tuning.cells[c][a][p];
    const struct nccl_log_cell *said = said_cell(job, c, a, p);
    char ours[48], theirs[48];
    print_cell(cell->latency_us, cell->bandwidth_GBps, ours);
    bool same = true;
    if (said) {
        print_cell(said->latency_us, said->bandwidth_GBps, theirs);
        same = strcmp(ours, theirs) == 0;
        job->cells++;
        job->cells_same += same;
    }
    if (human && same && cell->latency_us == 0 && cell->bandwidth_GBps == 0)
        return;
    grid_row(grid);
    grid_set_text(grid, COLLECTIVE, nccl_collective_name((enum nccl_collective)c));
    grid_set_text(grid, ALGORITHM, nccl_algorithm_name((enum nccl_algorithm)a));
    grid_set_text(grid, PROTOCOL, nccl_protocol_name((enum nccl_protocol)p));
    grid_set_real(grid, LATENCY, cell->latency_us);
    grid_set_real(grid, BANDWIDTH, cell->bandwidth_GBps);
    grid_set_text(grid, OURS, ours);
    grid_set_text(grid, WHY,
                  nccl_unavailable(&job->comm, (enum nccl_collective)c, (enum nccl_algorithm)a,
                                   (enum nccl_protocol)p));
    if (!said)
        return;
    grid_set_real(grid, THEIR_LATENCY, said->latency_us);
    grid_set_real(grid, THEIR_BANDWIDTH, said->bandwidth_GBps);
    grid_set_text(grid, THEIRS, theirs);
    grid_set_text(grid, COST_VERDICT, same ? "same" : "DIFFERS");
}

static struct grid *costs(struct nccl_job *job, bool human)
{
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof cost_columns / sizeof cost_columns[0]; i++) {
        struct grid_column column = cost_columns[i];
        if (human && (i == THEIRS || i == COST_VERDICT))
            column.machine_only = !job->said || job->said->cell_count == 0;
        grid_column(grid, &column);
    }
    for (int i = 0; i < NCCL_COLLECTIVES * NCCL_ALGORITHMS * NCCL_PROTOCOLS; i++)
        add_cost(job, grid, i / NCCL_PROTOCOLS / NCCL_ALGORITHMS,
                 i / NCCL_PROTOCOLS % NCCL_ALGORITHMS, i % NCCL_PROTOCOLS, human);
    return grid;
}

enum choice_column {
    CHOICE_COLLECTIVE,
    SIZE,
    CHOICE_ALGORITHM,
    CHOICE_PROTOCOL,
    CHOICE_CHANNELS,
    THREADS,
    TIME,
    THEIR_ALGORITHM,
    THEIR_PROTOCOL,
    THEIR_CHANNELS,
    CHOICE_VERDICT
};

static const struct grid_column choice_columns[] = {
    [CHOICE_COLLECTIVE] = {.name = "collective", .kind = GRID_TEXT},
    [SIZE] = {.name = "size_B", .title = "size B", .kind = GRID_INT},
    [CHOICE_ALGORITHM] = {.name = "algorithm", .kind = GRID_TEXT},
    [CHOICE_PROTOCOL] = {.name = "protocol", .kind = GRID_TEXT},
    [CHOICE_CHANNELS] = {.name = "channels", .kind = GRID_INT},
    [THREADS] = {.name = "threads", .kind = GRID_INT},
    [TIME] = {.name = "time_us", .title = "time us", .kind = GRID_REAL, .decimals = 3},
    [THEIR_ALGORITHM] = {.name = "nccl_algorithm", .title = "NCCL", .kind = GRID_TEXT},
    [THEIR_PROTOCOL] = {.name = "nccl_protocol", .title = "protocol", .kind = GRID_TEXT},
    [THEIR_CHANNELS] = {.name = "nccl_channels", .title = "channels", .kind = GRID_INT},
    [CHOICE_VERDICT] = {.name = "verdict", .kind = GRID_TEXT},
};

static bool gathers(enum nccl_collective c)
{
    return c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER;
}

static void add_choice(struct nccl_job *job, struct grid *grid, enum nccl_collective c,
                       uint64_t bytes, const struct nccl_log_choice *said)
{
    struct nccl_choice choice;
    bool any = nccl_choose(&job->comm, &job->tuning, c, bytes, &choice);
    grid_row(grid);
    grid_set_text(grid, CHOICE_COLLECTIVE, nccl_collective_name(c));
    grid_set_int(grid, SIZE, (int64_t)bytes);
    if (any) {
        grid_set_text(grid, CHOICE_ALGORITHM, nccl_algorithm_name(choice.algorithm));
        grid_set_text(grid, CHOICE_PROTOCOL, nccl_protocol_name(choice.protocol));
        grid_set_int(grid, CHOICE_CHANNELS, choice.channels);
        grid_set_int(grid, THREADS, choice.threads);
        grid_set_real(grid, TIME, choice.time_us);
    }
    if (!said)
        return;
    enum nccl_algorithm algorithm;
    enum nccl_protocol protocol;
    bool named = nccl_algorithm_find(said->algorithm, &algorithm);
    bool spoken = nccl_protocol_find(said->protocol, &protocol);
    grid_set_text(grid, THEIR_ALGORITHM, named ? nccl_algorithm_name(algorithm) : said->algorithm);
    grid_set_text(grid, THEIR_PROTOCOL, spoken ? nccl_protocol_name(protocol) : said->protocol);
    if (said->hi >= 0)
        grid_set_int(grid, THEIR_CHANNELS, said->hi - said->lo + 1);
    bool same = any && named && spoken && algorithm == choice.algorithm &&
                protocol == choice.protocol &&
                (said->hi < 0 || said->hi - said->lo + 1 == choice.channels);
    grid_set_text(grid, CHOICE_VERDICT, same ? "same" : "DIFFERS");
    job->choices++;
    job->choices_same += same;
}

/* The choices of a log count bytes as the caller does: of an all-gather, those of one rank. */
static uint64_t said_bytes(const struct nccl_job *job, const struct nccl_log_choice *said,
                           enum nccl_collective c)
{
    return gathers(c) ? said->bytes * (uint64_t)job->comm.ranks : said->bytes;
}

static bool wanted(const struct nccl_options *options, enum nccl_collective c)
{
    return !options->has_collective || options->every_collective || options->collective == c;
}

/* Rows of the log, as far as they were asked for. */
static void add_said(struct nccl_job *job, struct grid *grid)
{
    const struct nccl_options *options = job->options;
    for (size_t i = 0; i < job->log->choice_count; i++) {
        const struct nccl_log_choice *said = &job->log->choices[i];
        enum nccl_collective c;
        if (!nccl_collective_find(said->collective, &c) || !wanted(options, c) || said->bytes < 1 ||
            said->bytes >> NCCL_MAX_BYTES_LOG2)
            continue;
        uint64_t bytes = said_bytes(job, said, c);
        bool asked = options->size_count == 0;
        for (size_t k = 0; k < options->size_count; k++)
            asked = asked || options->sizes[k] == bytes;
        if (asked)
            add_choice(job, grid, c, bytes, said);
    }
}

/* Whether the log's choices can be laid beside ours: they do not say their communicator. */
static bool comparable(const struct nccl_job *job)
{
    return job->log && job->log->choice_count > 0 && job->log->comm_count == 1;
}

static struct grid *choices(struct nccl_job *job)
{
    const struct nccl_options *options = job->options;
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof choice_columns / sizeof choice_columns[0]; i++) {
        struct grid_column column = choice_columns[i];
        column.machine_only = i >= THEIR_ALGORITHM && !comparable(job);
        grid_column(grid, &column);
    }
    if (comparable(job))
        add_said(job, grid);
    if (grid && grid_row_count(grid) > 0)
        return grid;
    for (int c = 0; c < NCCL_COLLECTIVES; c++) {
        bool alone = !options->has_collective && c != NCCL_ALLREDUCE;
        if (alone || !wanted(options, (enum nccl_collective)c))
            continue;
        for (size_t i = 0; i < options->size_count; i++)
            add_choice(job, grid, (enum nccl_collective)c, options->sizes[i], NULL);
        for (int log2 = 3; log2 <= 30 && options->size_count == 0; log2++)
            add_choice(job, grid, (enum nccl_collective)c, UINT64_C(1) << log2, NULL);
    }
    return grid;
}

/* ---- what stands around the tables ---------------------------------------------------------- */

/* Three algorithms a block, as NCCL prints it; but for PAT's protocols, of which 2.28 prints nine.
 */
static void print_matrix(const struct nccl_job *job, struct text *text)
{
    for (int first = 0; first < NCCL_ALGORITHMS; first += 3) {
        int last = first + 3 < NCCL_ALGORITHMS ? first + 3 : NCCL_ALGORITHMS;
        text_printf(text, "  Algorithm   |");
        for (int a = first; a < last; a++)
            text_printf(text, " %14s   %14s   %14s |", "",
                        nccl_algorithm_name((enum nccl_algorithm)a), "");
        text_printf(text, "\n  Protocol    |");
        for (int i = 3 * first; i < 3 * last; i++)
            text_printf(text, " %14s |", nccl_protocol_name((enum nccl_protocol)(i % 3)));
        text_printf(text, "\n Max NThreads |");
        for (int i = 3 * first; i < 3 * last; i++)
            text_printf(text, " %14d |", job->tuning.threads[i / 3][i % 3]);
        for (int c = 0; c < NCCL_COLLECTIVES; c++) {
            text_printf(text, "\n%13s |", nccl_collective_name((enum nccl_collective)c));
            for (int i = 3 * first; i < 3 * last; i++) {
                const struct nccl_cell *cell = &job->tuning.cells[c][i / 3][i % 3];
                text_printf(text, "%8.1f/%6.1f |", cell->latency_us, cell->bandwidth_GBps);
            }
        }
        text_printf(text, "\n");
    }
}

static void print_graphs(const struct nccl_job *job, struct text *text)
{
    static const char *const names[] = {"ring", "tree", "CollNetChain", "NVLS", "CollNetDirect"};
    for (int id = 0; id < NCCL_SEARCHES; id++) {
        const struct nccl_graph *graph = &job->comm.graphs[id];
        if (graph->channels == 0)
            continue;
        text_printf(text,
                    "# %s graph: pattern %d, %d channel%s of %g/%g GB/s, %s/%s, sameChannels %d",
                    names[id], graph->pattern, graph->channels, graph->channels == 1 ? "" : "s",
                    graph->bw_intra_GBps, graph->bw_inter_GBps, nccl_path_name(graph->type_intra),
                    nccl_path_name(graph->type_inter), graph->same_channels);
        if (graph->latency_inter_us > 0)
            text_printf(text, ", latency %g us", graph->latency_inter_us);
        text_printf(text, "\n");
    }
}

void nccl_write_head(const struct nccl_job *job, struct text *text)
{
    static const char *const cpus[] = {"Intel", "AMD", "POWER", "mixed", "other"};
    const struct nccl_comm *comm = &job->comm;
    int said = job->said ? job->said->channels : -1;
    text_printf(text, "# NCCL %d.%d.%d, compute capability %d.%d, %s CPU, %d ranks on %d node%s\n",
                comm->version / 10000, comm->version / 100 % 100, comm->version % 100,
                comm->min_cc / 10, comm->min_cc % 10, cpus[comm->cpu], comm->ranks, comm->nodes,
                comm->nodes == 1 ? "" : "s");
    print_graphs(job, text);
    text_printf(text, "# %d channels", job->derived);
    if (said > 0 && said == job->derived)
        text_printf(text, ", as NCCL made");
    else if (said > 0)
        text_printf(text, "; NCCL made %d, which the choices take", said);
    text_printf(text, "\n");
    if (comm->version / 100 != 228)
        text_printf(text, "# by the constants of 2.30.7; only logs of 2.28 were checked\n");
    if (job->algo)
        text_printf(text, "# NCCL_ALGO=%s\n", job->algo);
    if (job->proto)
        text_printf(text, "# NCCL_PROTO=%s\n", job->proto);
    if (job->log && job->log->comm_count > 1)
        text_printf(text,
                    "# %zu communicators in the log; its choices do not say whose they are, "
                    "and are left out\n",
                    job->log->comm_count);
}

static void compare_threads(struct nccl_job *job)
{
    const struct nccl_log_comm *said = job->said;
    for (size_t i = 0; said && i < said->threads_count; i++) {
        enum nccl_algorithm a;
        enum nccl_protocol p;
        if (!nccl_algorithm_find(said->threads[i].algorithm, &a) ||
            !nccl_protocol_find(said->threads[i].protocol, &p))
            continue;
        job->threads++;
        job->threads_same += said->threads[i].threads == job->tuning.threads[a][p];
    }
    static const struct {
        enum nccl_algorithm algorithm;
        enum nccl_protocol protocol;
    } printed[] = {{NCCL_TREE, NCCL_LL},
                   {NCCL_TREE, NCCL_LL128},
                   {NCCL_TREE, NCCL_SIMPLE},
                   {NCCL_RING, NCCL_LL},
                   {NCCL_RING, NCCL_LL128},
                   {NCCL_RING, NCCL_SIMPLE},
                   {NCCL_COLLNET_DIRECT, NCCL_SIMPLE},
                   {NCCL_COLLNET_CHAIN, NCCL_SIMPLE}};
    for (int i = 0; said && said->has_thresholds && i < 8; i++) {
        job->threads++;
        job->threads_same += said->thresholds[i] ==
                             job->tuning.thresholds[printed[i].algorithm][printed[i].protocol];
    }
}

static void print_verdict(const struct nccl_job *job, struct text *text)
{
    if (job->cells)
        text_printf(text, "# %zu of %zu cells of NCCL's table come out to the printed digit\n",
                    job->cells_same, job->cells);
    if (job->threads)
        text_printf(text, "# %zu of %zu maximum threads and thread thresholds come out\n",
                    job->threads_same, job->threads);
    if (job->choices)
        text_printf(text, "# %zu of %zu choices of algorithm, protocol and channels come out\n",
                    job->choices_same, job->choices);
}

enum status nccl_write(struct nccl_job *job, struct text *text, struct error *error)
{
    const struct nccl_options *options = job->options;
    const char *format = options->shared.format;
    bool human = strcmp(format, "table") == 0, json = strcmp(format, "json") == 0;
    bool both = options->show == SHOW_ALL;
    enum status (*const write)(const struct grid *, struct text *, struct error *) =
        human  ? grid_write_table
        : json ? grid_write_json
               : grid_write_csv;
    enum status status = STATUS_OK;
    if (human && options->show != SHOW_MATRIX)
        nccl_write_head(job, text);
    if (json && both)
        text_printf(text, "{\"costs\": ");
    if (options->show == SHOW_MATRIX)
        print_matrix(job, text);
    if (both || options->show == SHOW_COSTS) {
        struct grid *grid = costs(job, human);
        status = write(grid, text, error);
        grid_free(grid);
        compare_threads(job);
    }
    if (both && json && !status)
        text_truncate(text, text->length - 1); /* the end of line after ] */
    if (both)
        text_printf(text, json ? ",\n\"choices\": " : "\n");
    if (!status && (both || options->show == SHOW_CHOICES)) {
        struct grid *grid = choices(job);
        status = write(grid, text, error);
        grid_free(grid);
    }
    if (json && both)
        text_printf(text, "}\n");
    if (human)
        print_verdict(job, text);
    return status;
}
