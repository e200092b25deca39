/* sweep_mpi.c: a sweep over several processes. See sweep_run.h. Empty without MPI=1.
 *
 * Rank 0 has the file and deals out the blocks, to its own threads and to the other ranks. A thread
 * of another rank hands in the rows of its last block with the request for the next, one message
 * each way:
 *
 *   to rank 0     header {first, count, last, bytes, seconds}, then times and rows if there are any
 *   from rank 0   {first, count}; count 0: there is no more
 *
 * A rank that has no more to do says so and ends. If a rank dies, mpirun ends the others; what was
 * handed in is on disk, and --resume goes on with it, with or without MPI.
 */
#ifdef GDSIM_MPI

#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/cli/sweep_run.h"

enum { TAG_REQUEST = 1, TAG_TIMES, TAG_ROWS, TAG_BLOCK };
enum { WANTS_BLOCK = 1, HANDS_IN = 2, IS_LAST = 4, LEAVES = 8, HAS_FAILED = 16 };

struct request {
    uint64_t what; /* of the words above */
    uint64_t first, count, bytes;
    double seconds;
};

void sweep_mpi_start(int *ret_rank, int *ret_ranks)
{
    int given, already;
    MPI_Initialized(&already);
    if (!already)
        MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, ret_rank);
    MPI_Comm_size(MPI_COMM_WORLD, ret_ranks);
}

void sweep_mpi_stop(void)
{
    int already;
    MPI_Initialized(&already);
    if (already)
        MPI_Finalize();
}

void sweep_mpi_abort(void)
{
    int already, ranks = 1;
    MPI_Initialized(&already);
    if (already)
        MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks > 1)
        MPI_Abort(MPI_COMM_WORLD, EXIT_RUN_FAILED);
}

/* ---- rank 0 ---------------------------------------------------------------------------------- */

/* Rows that a rank hands in. */
static enum status receive_rows(struct sweep_local *local, int rank, const struct request *request)
{
    struct text rows = {0};
    const struct block block = {request->first, request->count};
    double *time_us = malloc((size_t)request->count * sizeof *time_us + 1);
    if (!time_us || request->bytes > INT_MAX || !text_reserve(&rows, (size_t)request->bytes)) {
        free(time_us);
        text_free(&rows);
        return STATUS_NOMEM;
    }
    MPI_Recv(time_us, (int)request->count, MPI_DOUBLE, rank, TAG_TIMES, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Recv(rows.data, (int)request->bytes, MPI_CHAR, rank, TAG_ROWS, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    rows.length = (size_t)request->bytes;
    enum status status = sweep_local_put(local, block, &rows, time_us, request->seconds,
                                         (request->what & IS_LAST) != 0);
    free(time_us);
    text_free(&rows);
    return status;
}

/* Answer one message. Returns whether its rank has left. */
static bool serve(struct sweep_local *local, int rank)
{
    struct request request;
    struct block block = {0, 0};
    MPI_Recv(&request, (int)sizeof request, MPI_BYTE, rank, TAG_REQUEST, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    if (request.what & HANDS_IN && receive_rows(local, rank, &request) == STATUS_NOMEM)
        sweep_mpi_abort(); /* what is on disk stays there */
    if (request.what & HAS_FAILED)
        sweep_local_fail(local, true);
    if (request.what & WANTS_BLOCK) {
        if (!sweep_local_take(local, &block))
            block.count = 0;
        MPI_Send(&block, (int)sizeof block, MPI_BYTE, rank, TAG_BLOCK, MPI_COMM_WORLD);
    }
    return (request.what & LEAVES) != 0;
}

void sweep_mpi_serve(struct sweep_local *local, struct sweep_progress *progress, int ranks)
{
    const struct timespec nap = {.tv_nsec = 100000};
    for (int left = ranks - 1; left > 0;) {
        int waiting;
        uint64_t finished;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_REQUEST, MPI_COMM_WORLD, &waiting, &status);
        if (waiting) {
            left -= serve(local, status.MPI_SOURCE);
            continue;
        }
        (void)blocks_wait(local->blocks, 0, &finished);
        sweep_file_save(local->file, false);
        sweep_progress_show(progress, finished);
        nanosleep(&nap, NULL); /* a blocking receive would keep a core busy */
    }
}

/* ---- other ranks ----------------------------------------------------------------------------- */

struct remote {
    pthread_mutex_t lock; /* one message at a time */
};

static void send(struct request request, const struct text *rows, const double *time_us)
{
    MPI_Send(&request, (int)sizeof request, MPI_BYTE, 0, TAG_REQUEST, MPI_COMM_WORLD);
    if (!(request.what & HANDS_IN))
        return;
    MPI_Send(time_us, (int)request.count, MPI_DOUBLE, 0, TAG_TIMES, MPI_COMM_WORLD);
    MPI_Send(rows->data, (int)rows->length, MPI_CHAR, 0, TAG_ROWS, MPI_COMM_WORLD);
}

static bool remote_take(void *owner, struct block *ret_block)
{
    struct remote *remote = owner;
    pthread_mutex_lock(&remote->lock);
    send((struct request){.what = WANTS_BLOCK}, NULL, NULL);
    MPI_Recv(ret_block, (int)sizeof *ret_block, MPI_BYTE, 0, TAG_BLOCK, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&remote->lock);
    return ret_block->count > 0;
}

static enum status remote_put(void *owner, struct block block, const struct text *rows,
                              const double *time_us, double seconds, bool last)
{
    struct remote *remote = owner;
    pthread_mutex_lock(&remote->lock);
    send((struct request){.what = HANDS_IN | (last ? IS_LAST : 0u),
                          .first = block.first,
                          .count = block.count,
                          .bytes = rows->length,
                          .seconds = seconds},
         rows, time_us);
    pthread_mutex_unlock(&remote->lock);
    return STATUS_OK;
}

static void remote_fail(void *owner, bool with_block)
{
    struct remote *remote = owner;
    pthread_mutex_lock(&remote->lock);
    if (with_block)
        send((struct request){.what = HAS_FAILED}, NULL, NULL);
    pthread_mutex_unlock(&remote->lock);
}

enum status sweep_mpi_work(struct sweep *sweep, unsigned threads)
{
    struct remote remote;
    const struct sweep_desk desk = {remote_take, remote_put, remote_fail, &remote};
    pthread_mutex_init(&remote.lock, NULL);
    struct sweep_crew *crew = sweep_crew_start(sweep, &desk, threads);
    enum status status = crew ? sweep_crew_join(crew) : STATUS_NOMEM;
    send((struct request){.what = LEAVES}, NULL, NULL);
    pthread_mutex_destroy(&remote.lock);
    return status;
}

#else

typedef int sweep_mpi_is_empty; /* a file of ISO C holds at least one declaration */

#endif
