/* nccl.h: what the parts of gdsim nccl share: what was asked for and read (cmd_nccl.c), and the
 * tables, beside what a log says (nccl_tables.c). The model is models/nccl.h. */
#ifndef GDSIM_CLI_NCCL_H
#define GDSIM_CLI_NCCL_H

#include "models/nccl.h"
#include "sim/cli/cli.h"
#include "sim/load/nccl_tuning.h"

#define NCCL_MAX_SIZES      256
#define NCCL_MAX_BYTES_LOG2 50

enum nccl_show { SHOW_ALL, SHOW_COSTS, SHOW_CHOICES, SHOW_MATRIX };

/* The script that runs one of NCCL's algorithms, and the mechanism that it needs (NULL: the
 * scenario's). */
struct nccl_script {
    enum nccl_collective collective;
    enum nccl_algorithm algorithm;
    const char *script, *mechanism;
};
extern const struct nccl_script nccl_scripts[];
extern const size_t nccl_script_count;

struct nccl_options {
    struct options shared; /* file, format, output; of a scenario also set, mechanism, sizes */
    const char *graph, *algo, *proto, *measured;
    long comm, nodes, ranks, channels;
    int cc, version;
    bool has_cpu, collnet, no_nvls;
    enum nccl_cpu cpu;
    double net_overhead_s; /* < 0: not given */
    bool has_collective, every_collective;
    enum nccl_collective collective;
    enum nccl_show show;
    uint64_t sizes[NCCL_MAX_SIZES];
    size_t size_count;
};

struct nccl_job {
    const struct nccl_options *options;
    struct diag_list diag;
    struct nccl_log *log;             /* NULL: a graph XML alone */
    const struct nccl_log_comm *said; /* the communicator of the log; NULL likewise */
    struct nccl_comm comm;
    struct nccl_tuning tuning;
    int graph_gpus;           /* of a node, by the XML; 0: not said */
    int graph_nets;           /* NICs in a channel; -1: not said */
    int derived;              /* channels, by the graphs */
    const char *algo, *proto; /* NCCL_ALGO, NCCL_PROTO; NULL: not set */
    /* How many the log says, and how many of them come out. */
    size_t cells, cells_same, choices, choices_same, threads, threads_same;
};

/* "# ..." lines: the communicator, its graphs and channels. */
void nccl_write_head(const struct nccl_job *job, struct text *text);

/* The whole command on a scenario; returns the exit code. Of a graph XML job->comm has the graphs.
 */
int nccl_scenario(struct nccl_job *job);

/* Write the tables that were asked for; counts in the job what the log says and what agrees. */
enum status nccl_write(struct nccl_job *job, struct text *text, struct error *error);

#endif
