/* test_nccl_log.c: models/nccl against NCCL itself: the tables and choices that NCCL 2.28.3
 * and 2.28.9 printed on two H200, over NVLink, SHM and sockets (tests/data/h200x2/nccl-*.log); and
 * the readers of logs and graph XML. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/nccl.h"
#include "sim/load/file.h"
#include "sim/load/nccl_tuning.h"
#include "tests/unit/help_core.h"

/* ---- NCCL itself ---------------------------------------------------------------------------- */

static struct nccl_graph graph_of(const struct nccl_graph_row *row)
{
    struct nccl_graph graph = {.pattern = row->pattern,
                               .channels = row->channels,
                               .bw_intra_GBps = row->bw_intra_GBps,
                               .bw_inter_GBps = row->bw_inter_GBps,
                               .latency_inter_us = row->latency_inter_us,
                               .same_channels = row->same_channels};
    assert_true(nccl_path_find(row->type_intra, &graph.type_intra));
    assert_true(nccl_path_find(row->type_inter, &graph.type_inter));
    return graph;
}

static enum status read_log_text(const char *text, struct nccl_log **ret_log,
                                 struct diag_list *diag)
{
    diag_init(diag);
    return nccl_log_read("x.log", text, strlen(text), ret_log, diag);
}

static struct nccl_log *read_log(const char *path, struct diag_list *diag)
{
    struct error error;
    struct nccl_log *log = NULL;
    char *text;
    size_t length;
    assert_ok(file_read(path, NCCL_LOG_BYTES, &text, &length, &error), &error);
    assert_true(nccl_log_is(text));
    assert_int_equal(read_log_text(text, &log, diag), STATUS_OK);
    free(text);
    return log;
}

/* From the graphs of the log alone: its table, its channels and its choices are for comparing. */
static struct nccl_comm comm_of(const struct nccl_log *log)
{
    assert_int_equal(log->comm_count, 1);
    const struct nccl_log_comm *said = &log->comms[0];
    struct nccl_comm comm = {.version = log->version,
                             .ranks = said->ranks,
                             .nodes = said->nodes,
                             .max_local_ranks = said->local_ranks,
                             .min_cc = 90,
                             .max_cc = 90,
                             .cpu = NCCL_CPU_INTEL,
                             .net_overhead_us = -1,
                             .nvswitch = log->nvswitch};
    assert_true(!log->gpu[0] || nccl_gpu_cc(log->gpu) == 90); /* PyTorch does not say */
    assert_true(
        nccl_restrict(&comm, log->algo[0] ? log->algo : NULL, log->proto[0] ? log->proto : NULL));
    assert_int_equal(log->cpu_arch, 1);
    assert_int_equal(log->cpu_vendor, 1);
    for (size_t i = 0; i < said->graph_count; i++) {
        struct nccl_graph graph = graph_of(&said->graphs[i]);
        if (comm.graphs[said->graphs[i].id].pattern)
            nccl_graph_worst(&comm.graphs[said->graphs[i].id], &graph);
        else
            comm.graphs[said->graphs[i].id] = graph;
    }
    return comm;
}

/* All 105 cells, to the digit that NCCL prints. */
static void compare_cells(const char *path, const struct nccl_log_comm *said,
                          const struct nccl_tuning *tuning)
{
    assert_int_equal(said->cell_count, NCCL_COLLECTIVES * NCCL_ALGORITHMS * NCCL_PROTOCOLS);
    for (size_t i = 0; i < said->cell_count; i++) {
        const struct nccl_log_cell *cell = &said->cells[i];
        enum nccl_collective c;
        enum nccl_algorithm a;
        enum nccl_protocol p;
        char ours[64], theirs[64];
        if (!nccl_collective_find(cell->collective, &c) ||
            !nccl_algorithm_find(cell->algorithm, &a) || !nccl_protocol_find(cell->protocol, &p)) {
            fail_msg("%s:%u: unknown names", path, cell->line);
            return;
        }
        const struct nccl_cell *own = &tuning->cells[c][a][p];
        snprintf(ours, sizeof ours, "%8.1f/%6.1f", own->latency_us, own->bandwidth_GBps);
        snprintf(theirs, sizeof theirs, "%8.1f/%6.1f", cell->latency_us, cell->bandwidth_GBps);
        if (strcmp(ours, theirs) != 0)
            fail_msg("%s:%u: %s %s %s: %s, NCCL %s", path, cell->line, cell->collective,
                     cell->algorithm, cell->protocol, ours, theirs);
    }
    assert_int_equal(said->threads_count, NCCL_ALGORITHMS * NCCL_PROTOCOLS);
    for (size_t i = 0; i < said->threads_count; i++)
        assert_int_equal(said->threads[i].threads, tuning->threads[i / 3][i % 3]);
    assert_true(said->has_thresholds);
    for (int i = 0; i < 6; i++)
        assert_int_equal(said->thresholds[i], tuning->thresholds[i / 3][i % 3]);
    assert_int_equal(said->thresholds[6], tuning->thresholds[NCCL_COLLNET_DIRECT][NCCL_SIMPLE]);
    assert_int_equal(said->thresholds[7], tuning->thresholds[NCCL_COLLNET_CHAIN][NCCL_SIMPLE]);
}

/* Every choice of the log; NCCL counts the bytes of one rank. */
static void compare_choices(const char *path, const struct nccl_log *log,
                            const struct nccl_comm *comm, const struct nccl_tuning *tuning)
{
    for (size_t i = 0; i < log->choice_count; i++) {
        const struct nccl_log_choice *said = &log->choices[i];
        struct nccl_choice choice;
        enum nccl_collective c;
        enum nccl_algorithm a;
        enum nccl_protocol p;
        if (!nccl_collective_find(said->collective, &c) ||
            !nccl_algorithm_find(said->algorithm, &a) || !nccl_protocol_find(said->protocol, &p)) {
            fail_msg("%s:%u: unknown names", path, said->line);
            return;
        }
        bool gathers = c == NCCL_ALLGATHER || c == NCCL_REDUCESCATTER;
        uint64_t bytes = gathers ? said->bytes * (uint64_t)comm->ranks : said->bytes;
        assert_true(nccl_choose(comm, tuning, c, bytes, &choice));
        if (a != choice.algorithm || p != choice.protocol || said->lo != 0 ||
            said->hi != choice.channels - 1)
            fail_msg("%s:%u: %s %s, %d channels; NCCL took %s %s %d..%d", path, said->line,
                     nccl_algorithm_name(choice.algorithm), nccl_protocol_name(choice.protocol),
                     choice.channels, said->algorithm, said->protocol, said->lo, said->hi);
    }
}

static void tables_and_choices_of_nccl(void **state)
{
    (void)state;
    /* nccl-*: nccl-tests, all-reduce of 8 B .. 1 GiB, doubling. nccl-torch-*: all five collectives
     * of 48 sizes, every other one no power of two; -tree with NCCL_ALGO=allreduce:tree, which lets
     * the tree's correction decide, -ll128 with NCCL_PROTO=LL128. */
    static const struct {
        const char *name;
        int version, nodes, channels;
        double ring_Simple_GBps;
        size_t choices;
    } logs[] = {
        {"nvlink", 22803, 1, 24, 360, 28},    {"shm", 22803, 1, 4, 40, 28},
        {"socket", 22803, 2, 2, 1.2, 28},     {"torch-nvlink", 22809, 1, 24, 360, 240},
        {"torch-shm", 22809, 1, 4, 40, 240},  {"torch-socket", 22809, 2, 2, 1.2, 240},
        {"torch-tree", 22809, 1, 24, 0, 240}, {"torch-ll128", 22809, 1, 24, 0, 240},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        char path[96];
        struct diag_list diag;
        struct nccl_tuning tuning;
        snprintf(path, sizeof path, "tests/data/h200x2/nccl-%s.log", logs[i].name);
        struct nccl_log *log = read_log(path, &diag);
        struct nccl_comm comm = comm_of(log);
        assert_int_equal(log->version, logs[i].version);
        assert_int_equal(comm.ranks, 2);
        assert_int_equal(comm.nodes, logs[i].nodes);
        assert_int_equal(nccl_channels(&comm), logs[i].channels);
        assert_int_equal(log->comms[0].channels, logs[i].channels);
        assert_int_equal(log->comms[0].nvls_channels, nccl_nvls_channels(&comm));
        nccl_tune(&comm, &tuning);
        /* Two ranks: 2 steps for 2 ranks, so the algorithm's rate is channels * bw. */
        assert_near(tuning.cells[NCCL_ALLREDUCE][NCCL_RING][NCCL_SIMPLE].bandwidth_GBps,
                    logs[i].ring_Simple_GBps, 1e-12);
        compare_cells(path, &log->comms[0], &tuning);
        assert_int_equal(log->choice_count, logs[i].choices);
        compare_choices(path, log, &comm, &tuning);
        nccl_log_free(log);
        diag_free(&diag);
    }
}

/* Between sockets NCCL takes LL at 32 KiB though Simple's table has the better time: the plateau
 * of 1.4. LL 16.6 + 32768/600 = 71.21; Simple 36.4 + 32768/1200 = 63.71, or 36.4*1.4 + 27.31 =
 * 78.27. */
static void the_plateau_decides(void **state)
{
    (void)state;
    struct diag_list diag;
    struct nccl_log *log = read_log("tests/data/h200x2/nccl-socket.log", &diag);
    struct nccl_comm comm = comm_of(log);
    struct nccl_tuning tuning;
    nccl_tune(&comm, &tuning);
    double ll = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_LL, 32768, 1);
    double simple = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 32768, 1);
    assert_near(ll, 71.21, 5e-5);
    assert_near(simple, 78.27, 5e-5);
    /* Below 64 bytes a rank and channel there is none: 4 * 63 = 252 bytes. */
    simple = nccl_time_us(&comm, &tuning, NCCL_ALLREDUCE, NCCL_RING, NCCL_SIMPLE, 252, 1);
    assert_near(simple, 36.4 + 252 / 1200.0, 1e-5);
    nccl_log_free(log);
    diag_free(&diag);
}

/* ---- readers -------------------------------------------------------------------------------- */

static void graph_xml(void **state)
{
    (void)state;
    struct error error;
    struct diag_list diag;
    struct nccl_graph_file file;
    char *text;
    size_t length;
    diag_init(&diag);
    assert_ok(file_read("tests/data/h200x2/graph.xml", NCCL_GRAPH_BYTES, &text, &length, &error),
              &error);
    assert_int_equal(nccl_graph_read("graph.xml", text, length, &file, &diag), STATUS_OK);
    free(text);
    /* What the log of the same machine calls Pattern 4 and 1. */
    struct diag_list log_diag;
    struct nccl_log *log = read_log("tests/data/h200x2/nccl-nvlink.log", &log_diag);
    struct nccl_comm comm = comm_of(log);
    for (int id = 0; id < 2; id++) {
        struct nccl_graph graph = graph_of(&file.rows[id]);
        const struct nccl_graph *said = &comm.graphs[id];
        assert_int_equal(graph.pattern, said->pattern);
        assert_int_equal(graph.channels, said->channels);
        assert_int_equal(graph.type_intra, said->type_intra);
        assert_int_equal(graph.type_inter, said->type_inter);
        assert_int_equal(graph.same_channels, said->same_channels);
        assert_near(graph.bw_intra_GBps, said->bw_intra_GBps, 0);
        assert_near(graph.bw_inter_GBps, said->bw_inter_GBps, 0);
    }
    assert_int_equal(file.rows[0].gpus, 2);
    assert_int_equal(file.rows[0].nets, 0);
    assert_true(file.present[NCCL_SEARCH_NVLS]);
    assert_int_equal(file.rows[NCCL_SEARCH_NVLS].channels, 0);
    nccl_log_free(log);
    diag_free(&log_diag);
    diag_free(&diag);
}

#define GRAPH(id, channels)                                                                        \
    "<graph id=\"" id "\" pattern=\"4\" nchannels=\"" channels                                     \
    "\" speedintra=\"2.4\" speedinter=\"1.2\" typeintra=\"LOC\" typeinter=\"PHB\" "                \
    "samechannels=\"1\"/>\n"

static void bad_graph_xml(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } rows[] = {
        {"<system/>", "root is not <graphs>", 1},
        {"", "broken XML", 1},
        {"<graphs>\n" GRAPH("0", "2"), "broken XML", 3},
        {"<graphs>\n" GRAPH("0", "2") "</graphs>", "no graph of a tree", 0},
        {"<graphs>\n" GRAPH("0", "2") GRAPH("0", "2") "</graphs>", "a second graph", 3},
        {"<graphs>\n" GRAPH("0", "2") GRAPH("5", "2") "</graphs>", "from 0 to 4", 3},
        {"<graphs>\n" GRAPH("0", "1e9") "</graphs>", "nchannels=\"1e9\"", 2},
        {"<graphs>\n" GRAPH("0", "1.5") "</graphs>", "whole number", 2},
        {"<graphs>\n" GRAPH("0", "nan") "</graphs>", "nchannels=\"nan\"", 2},
        {"<graphs>\n<graph id=\"0\"/></graphs>", "graph without pattern", 2},
        {"<!DOCTYPE graphs>\n<graphs/>", "DOCTYPE", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diag_list diag;
        struct nccl_graph_file file;
        diag_init(&diag);
        assert_int_equal(nccl_graph_read("g.xml", rows[i].text, strlen(rows[i].text), &file, &diag),
                         STATUS_INPUT);
        const struct diag *first = diag_get(&diag, 0);
        if (!strstr(first->message, rows[i].message) || first->mark.line != rows[i].line)
            fail_msg("row %zu: line %u: %s", i, first->mark.line, first->message);
        diag_free(&diag);
    }
}

#define P "h:1:2 [0] NCCL INFO "
#define HEAD                                                                                       \
    P " Algorithm | Tree | Ring |\n" P "Protocol | LL | LL128 | Simple | LL | LL128 | Simple |\n"

static void bad_logs(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
        uint32_t line;
    } rows[] = {
        {P "Pattern 4, crossNic 0, nChannels 2, bw 1/1", "no graph", 1},
        {"\n" P "Pattern 9, crossNic 0, nChannels 2, bw 1/1, type LOC/PHB, sameChannels 1",
         "no graph", 2},
        {P "Pattern 4, crossNic 0, nChannels -2, bw 1/1, type LOC/PHB, sameChannels 1", "no graph",
         1},
        {P "Pattern 4, crossNic 0, nChannels 2, bw nan/1, type LOC/PHB, sameChannels 1", "no graph",
         1},
        {P "comm 0x1 rank 0 nRanks 2 nNodes 3 localRanks 1", "impossible", 1},
        {HEAD P "AllReduce | 1.0/ 2.0 | 1.0/ 2.0 |", "does not fit its head", 3},
        {HEAD P "AllReduce | 1/ 2 | 1/ 2 | 1/ 2 | 1/ 2 | 1/ 2 | what |", "no cell", 3},
        {HEAD P "Max NThreads | 1 | 2 | 3 | 4 | 5 | six |", "no number of threads", 3},
        {P "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..", "no range", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct diag_list diag;
        struct nccl_log *log = NULL;
        assert_int_equal(read_log_text(rows[i].text, &log, &diag), STATUS_INPUT);
        const struct diag *first = diag_get(&diag, 0);
        if (!strstr(first->message, rows[i].message) || first->mark.line != rows[i].line)
            fail_msg("row %zu: line %u: %s", i, first->mark.line, first->message);
        diag_free(&diag);
    }
}

static void logs_of_many(void **state)
{
    (void)state;
    /* Two communicators set up at once on two threads each; old choices; a chain after the tree. */
    static const char text[] =
        "h:1:2 [0] NCCL INFO ncclCommInitRank comm 0xa rank 0 nranks 4 commId 0xaa - Init START\n"
        "h:1:3 [1] NCCL INFO ncclCommInitRank comm 0xb rank 0 nranks 2 commId 0xbb - Init START\n"
        "h:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 20.0/10.0, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:3 [1] NCCL INFO Pattern 4, crossNic 0, nChannels 4, bw 1/1, type SYS/SYS, "
        "sameChannels 0\r\n"
        "h:1:2 [0] NCCL INFO Pattern 1, crossNic 0, nChannels 2, bw 20/10, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:2 [0] NCCL INFO Pattern 3, crossNic 0, nChannels 1, bw 20/10, type NVL/PXB, "
        "sameChannels 1\n"
        "h:1:2 [0] NCCL INFO comm 0xa rank 0 nRanks 4 nNodes 2 localRanks 2 localRank 0 MNNVL 0\n"
        "h:1:3 [1] NCCL INFO comm 0xb rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n"
        "h:1:2 [0] NCCL INFO CPU/0-0 (1/1/4)\n"
        "h:1:2 [0] NCCL INFO CPU/0-1 (1/2/2)\n"
        "h:1:2 [0] NCCL INFO NCCL_NET_OVERHEAD set by environment to 1500.\n"
        "h:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
        "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 1 proto 2 time 7.800000\n"
        "h:1:1 [0] NCCL INFO AllReduce: 8 Bytes -> Algo 1 proto 2 time 7.800000\n";
    struct diag_list diag;
    struct nccl_log *log = NULL;
    assert_int_equal(read_log_text(text, &log, &diag), STATUS_OK);
    assert_int_equal(log->comm_count, 2);
    assert_int_equal(log->comms[0].ranks, 4);
    assert_int_equal(log->comms[0].nodes, 2);
    assert_int_equal(log->comms[0].graph_count, 3);
    assert_int_equal(log->comms[0].graphs[1].id, NCCL_SEARCH_TREE);
    assert_int_equal(log->comms[0].graphs[2].id, NCCL_SEARCH_COLLNET_CHAIN);
    assert_int_equal(log->comms[1].ranks, 2);
    assert_int_equal(log->comms[1].graph_count, 1);
    assert_string_equal(log->comms[1].graphs[0].type_inter, "SYS");
    assert_int_equal(log->cpu_vendor, -1);
    assert_near(log->net_overhead_us, 1.5, 1e-12);
    assert_string_equal(log->algo, "Ring");
    assert_string_equal(log->proto, "");
    assert_int_equal(log->choice_count, 1);
    assert_string_equal(log->choices[0].algorithm, "1");
    assert_int_equal(log->choices[0].hi, -1);
    nccl_log_free(log);
    diag_free(&diag);

    /* Ranks that found unlike graphs: the worst of each. */
    struct nccl_graph worst = {.pattern = 1,
                               .channels = 4,
                               .bw_intra_GBps = 20,
                               .bw_inter_GBps = 10,
                               .type_intra = NCCL_PATH_NVL,
                               .type_inter = NCCL_PATH_SYS,
                               .same_channels = true};
    nccl_graph_worst(&worst, &(struct nccl_graph){.pattern = 3,
                                                  .channels = 2,
                                                  .bw_intra_GBps = 30,
                                                  .bw_inter_GBps = 5,
                                                  .latency_inter_us = 1,
                                                  .type_intra = NCCL_PATH_PHB,
                                                  .type_inter = NCCL_PATH_PIX});
    assert_int_equal(worst.pattern, 3);
    assert_int_equal(worst.channels, 2);
    assert_near(worst.bw_intra_GBps, 20, 0);
    assert_near(worst.bw_inter_GBps, 5, 0);
    assert_near(worst.latency_inter_us, 1, 0);
    assert_int_equal(worst.type_intra, NCCL_PATH_PHB);
    assert_int_equal(worst.type_inter, NCCL_PATH_SYS);
    assert_false(worst.same_channels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_and_choices_of_nccl),
        cmocka_unit_test(the_plateau_decides),
        cmocka_unit_test(graph_xml),
        cmocka_unit_test(bad_graph_xml),
        cmocka_unit_test(bad_logs),
        cmocka_unit_test(logs_of_many),
    };
    return cmocka_run_group_tests_name("nccl_log", tests, NULL, NULL);
}
