/* nccl_tuning.c: see nccl_tuning.h. One pass; each kind of line has a function that answers whether
 * the line was its own. */
#include "sim/load/nccl_tuning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_B = 2048, KEY = 96, BLOCK_ALGORITHMS = 3, BLOCK_CELLS = 9, THREADS_MAX = 4096 };

#define MARK "] NCCL INFO "

/* A thread that prints; what it says belongs to the communicator that it sets up. */
struct thread {
    char key[KEY];
    int comm; /* -1: none yet */
    bool saw_tree;
    char algorithms[BLOCK_ALGORITHMS][NCCL_LOG_WORD]; /* of the block of the table that is open */
    char protocols[BLOCK_CELLS][NCCL_LOG_WORD];
    int algorithm_count, protocol_count;
};

struct reader {
    struct nccl_log *log;
    struct thread *threads;
    size_t thread_count;
    struct thread *thread; /* of the line at hand */
    const char *file;
    uint32_t line;
    struct diag_list *diag;
    bool nomem;
};

static void complain(struct reader *reader, const char *hint, const char *what, const char *message)
{
    diag_add(reader->diag, (struct mark){reader->file, reader->line, 1}, hint, "%s: \"%.80s\"",
             what, message);
}

/* Room for one more of `size` bytes; NULL without memory. Grows in powers of two. */
static void *append(struct reader *reader, void **array, size_t *count, size_t size)
{
    if ((*count & (*count - 1)) == 0) {
        size_t capacity = *count ? 2 * *count : 1;
        void *grown = realloc(*array, capacity * size);
        if (!grown) {
            reader->nomem = true;
            return NULL;
        }
        *array = grown;
    }
    void *item = (char *)*array + *count * size;
    memset(item, 0, size);
    (*count)++;
    return item;
}

/* The thread whose prefix ends at `bracket`, the '[' before "gpu] NCCL INFO". */
static struct thread *thread_of(struct reader *reader, const char *line, const char *bracket)
{
    const char *end = bracket;
    while (end > line && end[-1] == ' ')
        end--;
    const char *start = end;
    while (start > line && start[-1] != ' ' && start[-1] != '\t')
        start--;
    size_t length = (size_t)(end - start) < KEY ? (size_t)(end - start) : KEY - 1;
    for (size_t i = 0; i < reader->thread_count; i++)
        if (strncmp(reader->threads[i].key, start, length) == 0 && !reader->threads[i].key[length])
            return &reader->threads[i];
    if (reader->thread_count == THREADS_MAX)
        return NULL;
    void *array = reader->threads;
    struct thread *thread = append(reader, &array, &reader->thread_count, sizeof *reader->threads);
    reader->threads = array;
    if (!thread)
        return NULL;
    memcpy(thread->key, start, length);
    thread->comm = -1;
    return thread;
}

/* The communicator with that id, new if need be; -1: too many. */
static int comm_of(struct nccl_log *log, const char *id)
{
    for (size_t i = 0; i < log->comm_count; i++)
        if (strcmp(log->comms[i].id, id) == 0)
            return (int)i;
    if (log->comm_count == NCCL_LOG_COMMS)
        return -1;
    struct nccl_log_comm *comm = &log->comms[log->comm_count];
    snprintf(comm->id, sizeof comm->id, "%s", id);
    comm->channels = comm->nvls_channels = -1;
    return (int)log->comm_count++;
}

static struct nccl_log_comm *comm_here(struct reader *reader)
{
    if (reader->thread->comm < 0)
        reader->thread->comm = comm_of(reader->log, "");
    return reader->thread->comm < 0 ? NULL : &reader->log->comms[reader->thread->comm];
}

/* ---- lines of the set-up -------------------------------------------------------------------- */

static bool read_version(struct reader *reader, const char *message)
{
    int major, minor, patch;
    if (sscanf(message, "NCCL version %3d.%3d.%3d", &major, &minor, &patch) != 3)
        return false;
    reader->log->version = 10000 * major + 100 * minor + patch;
    return true;
}

static bool read_start(struct reader *reader, const char *message)
{
    const char *id = strstr(message, "commId 0x");
    char word[24];
    if (!id || !strstr(message, "Init START") || sscanf(id + 7, "%23s", word) != 1)
        return false;
    reader->thread->comm = comm_of(reader->log, word);
    reader->thread->saw_tree = false;
    return true;
}

static bool read_cpu(struct reader *reader, const char *message)
{
    int arch, vendor;
    if (sscanf(message, "CPU/%*[^ ] (%9d/%9d/%*d)", &arch, &vendor) != 2)
        return false;
    struct nccl_log *log = reader->log;
    log->cpu_arch = log->cpu_arch && log->cpu_arch != arch ? -1 : arch;
    log->cpu_vendor = log->cpu_vendor && log->cpu_vendor != vendor ? -1 : vendor;
    return true;
}

static bool read_environment(struct reader *reader, const char *message)
{
    char name[64], value[64];
    if (sscanf(message, "NCCL_%63s set by environment to %63s", name, value) != 2)
        return false;
    if (strcmp(name, "COLLNET_ENABLE") == 0)
        reader->log->collnet_enable = value[0] != '0';
    if (strcmp(name, "LL128_C2C") == 0)
        reader->log->ll128_c2c = value[0] != '0';
    size_t length = strlen(value);
    if (length > 0 && value[length - 1] == '.')
        value[length - 1] = '\0';
    if (strcmp(name, "ALGO") == 0)
        memcpy(reader->log->algo, value, sizeof value);
    if (strcmp(name, "PROTO") == 0)
        memcpy(reader->log->proto, value, sizeof value);
    if (strcmp(name, "NET_OVERHEAD") == 0)
        reader->log->net_overhead_us = strtod(value, NULL) / 1000;
    return true;
}

static bool read_pattern(struct reader *reader, const char *message)
{
    if (strncmp(message, "Pattern ", 8) != 0)
        return false;
    struct nccl_log_comm *comm = comm_here(reader);
    struct nccl_graph_row row = {.mark = {reader->file, reader->line, 1}};
    int same;
    if (sscanf(message,
               "Pattern %9d, crossNic %*d, nChannels %9d, bw %lf/%lf, type %7[A-Z0-9]/%7[A-Z0-9], "
               "sameChannels %9d",
               &row.pattern, &row.channels, &row.bw_intra_GBps, &row.bw_inter_GBps, row.type_intra,
               row.type_inter, &same) != 7 ||
        row.pattern < 1 || row.pattern > 6 || row.channels < 0 ||
        row.channels > NCCL_GRAPH_CHANNELS ||
        !(row.bw_intra_GBps >= 0 && row.bw_intra_GBps <= NCCL_GRAPH_GBPS) ||
        !(row.bw_inter_GBps >= 0 && row.bw_inter_GBps <= NCCL_GRAPH_GBPS)) {
        complain(reader, "Pattern p, crossNic c, nChannels n, bw a/b, type A/B, sameChannels s",
                 "no graph that gdsim can read", message);
        return true;
    }
    row.same_channels = same != 0;
    /* Pattern 3 is that of a tree and of the CollNet chain: the tree is searched first. */
    row.id = row.pattern == 4           ? 0
             : row.pattern == 5         ? 3
             : row.pattern == 6         ? 4
             : reader->thread->saw_tree ? 2
                                        : 1;
    reader->thread->saw_tree = reader->thread->saw_tree || row.id == 1;
    if (!comm)
        return true;
    void *array = comm->graphs;
    struct nccl_graph_row *into = append(reader, &array, &comm->graph_count, sizeof row);
    comm->graphs = array;
    if (into)
        *into = row;
    return true;
}

static bool read_comm(struct reader *reader, const char *message)
{
    int ranks, nodes, local = 0;
    if (sscanf(message, "comm %*s rank %*d nRanks %9d nNodes %9d localRanks %9d", &ranks, &nodes,
               &local) < 2)
        return false;
    struct nccl_log_comm *comm = comm_here(reader);
    if (ranks < 1 || nodes < 1 || nodes > ranks) {
        complain(reader, NULL, "impossible numbers of ranks and nodes", message);
    } else if (comm) {
        comm->ranks = ranks;
        comm->nodes = nodes;
        comm->local_ranks = local > comm->local_ranks ? local : comm->local_ranks;
    }
    return true;
}

static bool read_thresholds(struct reader *reader, const char *message)
{
    int t[8];
    if (sscanf(message, "threadThresholds %9d/%9d/%9d | %9d/%9d/%9d | %9d | %9d", &t[0], &t[1],
               &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) != 8)
        return false;
    struct nccl_log_comm *comm = comm_here(reader);
    if (comm) {
        memcpy(comm->thresholds, t, sizeof t);
        comm->has_thresholds = true;
    }
    return true;
}

static bool read_channels(struct reader *reader, const char *message)
{
    int channels, nvls;
    if (sscanf(message, "%9d coll channels, %*d collnet channels, %9d nvls channels", &channels,
               &nvls) != 2 &&
        sscanf(message, "%9d coll channels, %9d nvls channels", &channels, &nvls) != 2)
        return false;
    struct nccl_log_comm *comm = comm_here(reader);
    if (comm && channels >= 1 && channels <= NCCL_GRAPH_CHANNELS && nvls >= 0 &&
        nvls <= NCCL_GRAPH_CHANNELS) {
        comm->channels = channels;
        comm->nvls_channels = nvls;
    }
    return true;
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Cut "name | a | b |" at its bars; returns the cells after the name, each without blanks. */
static int cut(char *message, char **ret_name, char *cells[BLOCK_CELLS])
{
    int count = -1;
    for (char *at = message; at && *at && count < BLOCK_CELLS;) {
        char *bar = strchr(at, '|');
        if (!bar)
            break;
        char *end = bar;
        *bar = '\0';
        while (*at == ' ')
            at++;
        while (end > at && end[-1] == ' ')
            *--end = '\0';
        if (count < 0)
            *ret_name = at;
        else
            cells[count] = at;
        count++;
        at = bar + 1;
    }
    return count;
}

static void read_threads(struct reader *reader, struct nccl_log_comm *comm, char *const *cells,
                         int count)
{
    const struct thread *thread = reader->thread;
    for (int i = 0; i < count; i++) {
        void *array = comm->threads;
        struct nccl_log_threads *into = append(reader, &array, &comm->threads_count, sizeof *into);
        comm->threads = array;
        if (!into)
            return;
        memcpy(into->algorithm, thread->algorithms[i / 3], NCCL_LOG_WORD);
        memcpy(into->protocol, thread->protocols[i], NCCL_LOG_WORD);
        if (sscanf(cells[i], "%9d", &into->threads) != 1)
            complain(reader, NULL, "no number of threads", cells[i]);
    }
}

static void read_costs(struct reader *reader, struct nccl_log_comm *comm, const char *name,
                       char *const *cells, int count)
{
    const struct thread *thread = reader->thread;
    for (int i = 0; i < count; i++) {
        void *array = comm->cells;
        struct nccl_log_cell *into = append(reader, &array, &comm->cell_count, sizeof *into);
        comm->cells = array;
        if (!into)
            return;
        snprintf(into->collective, sizeof into->collective, "%.19s", name);
        memcpy(into->algorithm, thread->algorithms[i / 3], NCCL_LOG_WORD);
        memcpy(into->protocol, thread->protocols[i], NCCL_LOG_WORD);
        into->line = reader->line;
        if (sscanf(cells[i], "%lf/ %lf", &into->latency_us, &into->bandwidth_GBps) != 2)
            complain(reader, "a cell is latency in us / bandwidth in GB/s",
                     "no cell of NCCL's table", cells[i]);
    }
}

static bool is_row(const char *start)
{
    static const char *const names[] = {"Protocol ",  "Max NThreads ",  "Broadcast ", "Reduce ",
                                        "AllGather ", "ReduceScatter ", "AllReduce "};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strncmp(start, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static bool read_table(struct reader *reader, const char *message)
{
    struct thread *thread = reader->thread;
    char copy[LINE_MAX_B], *name = NULL, *cells[BLOCK_CELLS];
    const char *start = message + strspn(message, " ");
    bool head = strncmp(start, "Algorithm ", 10) == 0;
    if (!head && (thread->algorithm_count == 0 || !is_row(start)))
        return false;
    snprintf(copy, sizeof copy, "%s", start);
    int count = cut(copy, &name, cells);
    if (count < 1)
        return false;
    struct nccl_log_comm *comm = comm_here(reader);
    if (head) {
        thread->algorithm_count = count < BLOCK_ALGORITHMS ? count : BLOCK_ALGORITHMS;
        thread->protocol_count = 0;
        for (int i = 0; i < thread->algorithm_count; i++)
            snprintf(thread->algorithms[i], NCCL_LOG_WORD, "%.19s", cells[i]);
        return true;
    }
    int wanted = 3 * thread->algorithm_count;
    if (strcmp(name, "Protocol") == 0 && count >= wanted) { /* 2.28 prints too many under PAT */
        thread->protocol_count = wanted;
        for (int i = 0; i < wanted; i++)
            snprintf(thread->protocols[i], NCCL_LOG_WORD, "%.19s", cells[i]);
    } else if (count != wanted || thread->protocol_count != wanted) {
        complain(reader, "was the line cut off, or are lines missing?",
                 "a row of NCCL's table that does not fit its head", message);
    } else if (comm && strcmp(name, "Max NThreads") == 0) {
        read_threads(reader, comm, cells, count);
    } else if (comm) {
        read_costs(reader, comm, name, cells, count);
    }
    return true;
}

/* ---- choices -------------------------------------------------------------------------------- */

static bool read_choice(struct reader *reader, const char *message)
{
    struct nccl_log_choice choice = {.lo = -1, .hi = -1, .line = reader->line};
    char bytes[20];
    if (sscanf(message, "%19[A-Za-z]: %19[0-9] Bytes -> Algo %19s proto %19s", choice.collective,
               bytes, choice.algorithm, choice.protocol) != 4)
        return false;
    choice.bytes = strtoull(bytes, NULL, 10);
    const char *range = strstr(message, "channel{Lo..Hi}={");
    if (range && sscanf(range, "channel{Lo..Hi}={%9d..%9d}", &choice.lo, &choice.hi) != 2) {
        complain(reader, NULL, "no range of channels", message);
        return true;
    }
    struct nccl_log *log = reader->log;
    for (size_t i = log->choice_count; i-- > 0;) {
        const struct nccl_log_choice *old = &log->choices[i];
        if (old->bytes == choice.bytes && old->lo == choice.lo && old->hi == choice.hi &&
            strcmp(old->collective, choice.collective) == 0 &&
            strcmp(old->algorithm, choice.algorithm) == 0 &&
            strcmp(old->protocol, choice.protocol) == 0)
            return true;
        if (log->choice_count - i > 256) /* far back enough: a log of training repeats its sizes */
            break;
    }
    void *array = log->choices;
    struct nccl_log_choice *into = append(reader, &array, &log->choice_count, sizeof choice);
    log->choices = array;
    if (into)
        *into = choice;
    return true;
}

/* ---- the file ------------------------------------------------------------------------------- */

/* "#  Rank  0 Group  0 Pid    626 on  vm device  0 [0000:00:06] NVIDIA H200" of nccl-tests. */
static void read_gpu(struct reader *reader, const char *line)
{
    const char *name = strstr(line, "] NVIDIA ");
    if (line[0] == '#' && name && strstr(line, " Rank ") && !reader->log->gpu[0])
        snprintf(reader->log->gpu, sizeof reader->log->gpu, "%.63s", name + 2);
}

static void read_line(struct reader *reader, const char *line)
{
    static bool (*const kinds[])(struct reader *, const char *) = {
        read_choice, read_table,   read_pattern,    read_comm,     read_start,
        read_cpu,    read_version, read_thresholds, read_channels, read_environment};
    const char *mark = strstr(line, MARK), *bracket = mark;
    if (!mark) {
        read_gpu(reader, line);
        return;
    }
    while (bracket > line && *bracket != '[')
        bracket--;
    reader->thread = thread_of(reader, line, bracket);
    if (!reader->thread)
        return;
    const char *message = mark + strlen(MARK);
    if (strstr(message, "] - NVS/"))
        reader->log->nvswitch = true;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (kinds[i](reader, message))
            return;
}

bool nccl_log_is(const char *text)
{
    return strstr(text, MARK) != NULL;
}

enum status nccl_log_read(const char *name, const char *text, size_t length,
                          struct nccl_log **ret_log, struct diag_list *diag)
{
    size_t before = diag_count(diag);
    const char *file = diag_add_source(diag, name, text, length);
    struct nccl_log *log = calloc(1, sizeof *log);
    if (!file || !log) {
        free(log);
        return STATUS_NOMEM;
    }
    log->net_overhead_us = log->collnet_enable = log->ll128_c2c = -1;
    struct reader reader = {.log = log, .file = file, .diag = diag};
    char line[LINE_MAX_B];
    for (size_t at = 0; at < length && !reader.nomem;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t whole = end ? (size_t)(end - text) - at : length - at;
        size_t kept = whole < sizeof line ? whole : sizeof line - 1;
        memcpy(line, text + at, kept);
        while (kept > 0 && line[kept - 1] == '\r')
            kept--;
        line[kept] = '\0';
        reader.line++;
        read_line(&reader, line);
        at += whole + 1;
    }
    free(reader.threads);
    if (reader.nomem || diag_count(diag) > before) {
        nccl_log_free(log);
        return reader.nomem ? STATUS_NOMEM : STATUS_INPUT;
    }
    *ret_log = log;
    return STATUS_OK;
}

void nccl_log_free(struct nccl_log *log)
{
    if (!log)
        return;
    for (size_t i = 0; i < log->comm_count; i++) {
        free(log->comms[i].graphs);
        free(log->comms[i].cells);
        free(log->comms[i].threads);
    }
    free(log->choices);
    free(log);
}
