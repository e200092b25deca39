/* sweep_run.c: see sweep_run.h. */
#include "sim/cli/sweep_run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOW_S    0.2
#define HAND_IN_S 0.1

struct sweep_crew {
    struct sweep *sweep;
    struct sweep_desk desk;
    unsigned count;
    struct member {
        struct sweep_crew *crew;
        pthread_t thread;
        enum status status;
    } member[];
};

/* ---- threads --------------------------------------------------------------------------------- */

/* One block. Where it takes longer than it was cut for, what is done is handed in meanwhile. */
static enum status work_block(struct sweep_crew *crew, struct sweep_worker *worker,
                              struct block left, struct text *rows, double *time_us)
{
    enum status status = STATUS_OK;
    while (!status && left.count > 0) {
        double start_s = blocks_clock_s();
        struct block done = left;
        text_truncate(rows, 0);
        status = sweep_rows(worker, left, start_s + HAND_IN_S, rows, time_us, &done.count);
        left.first += done.count;
        left.count -= done.count;
        if (!status)
            status = crew->desk.put(crew->desk.owner, done, rows, time_us,
                                    blocks_clock_s() - start_s, left.count == 0);
    }
    return status;
}

static enum status work(struct sweep_crew *crew, struct sweep_worker *worker)
{
    struct text rows = {0};
    double *time_us = NULL;
    uint64_t room = 0;
    struct block block;
    enum status status = STATUS_OK;
    while (!status && crew->desk.take(crew->desk.owner, &block)) {
        if (block.count > room) {
            free(time_us);
            room = block.count;
            time_us = malloc((size_t)room * sizeof *time_us);
        }
        status = time_us ? work_block(crew, worker, block, &rows, time_us) : STATUS_NOMEM;
        if (status == STATUS_NOMEM)
            crew->desk.fail(crew->desk.owner, true);
    }
    free(time_us);
    text_free(&rows);
    return status;
}

static void *member_run(void *owner)
{
    struct member *member = owner;
    struct sweep_worker *worker = sweep_worker_new(member->crew->sweep);
    member->status = worker ? work(member->crew, worker) : STATUS_NOMEM;
    if (!worker)
        member->crew->desk.fail(member->crew->desk.owner, false);
    sweep_worker_free(worker);
    return NULL;
}

struct sweep_crew *sweep_crew_start(struct sweep *sweep, const struct sweep_desk *desk,
                                    unsigned threads)
{
    struct sweep_crew *crew = calloc(1, sizeof *crew + threads * sizeof crew->member[0]);
    if (!crew)
        return NULL;
    crew->sweep = sweep;
    crew->desk = *desk;
    for (unsigned i = 0; i < threads; i++) {
        struct member *member = &crew->member[crew->count];
        member->crew = crew;
        if (pthread_create(&member->thread, NULL, member_run, member) == 0)
            crew->count++;
    }
    if (crew->count > 0)
        return crew;
    free(crew);
    return NULL;
}

enum status sweep_crew_join(struct sweep_crew *crew)
{
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < crew->count; i++) {
        pthread_join(crew->member[i].thread, NULL);
        status = status ? status : crew->member[i].status;
    }
    free(crew);
    return status;
}

/* ---- the desk of one process ------------------------------------------------------------------
 */

bool sweep_local_take(void *owner, struct block *ret_block)
{
    struct sweep_local *local = owner;
    return blocks_take(local->blocks, ret_block);
}

enum status sweep_local_put(void *owner, struct block block, const struct text *rows,
                            const double *time_us, double seconds, bool last)
{
    struct sweep_local *local = owner;
    enum status status = sweep_file_put(local->file, block, rows->data, rows->length, time_us);
    if (status)
        blocks_stop(local->blocks, false);
    blocks_give(local->blocks, block, seconds, last || status); /* what failed goes no further */
    return status;
}

void sweep_local_fail(void *owner, bool with_block)
{
    struct sweep_local *local = owner;
    blocks_stop(local->blocks, with_block);
}

/* ---- progress -------------------------------------------------------------------------------- */

void sweep_progress_start(struct sweep_progress *progress, const struct sweep *sweep, uint64_t all,
                          uint64_t before)
{
    *progress = (struct sweep_progress){.shown = !sweep->options->quiet && isatty(STDERR_FILENO),
                                        .all = all,
                                        .before = before,
                                        .start_s = blocks_clock_s(),
                                        .eta.at_random = sweep->design.ranges > 0};
    progress->last_s = progress->start_s;
}

void sweep_progress_show(struct sweep_progress *progress, uint64_t finished)
{
    double now_s = blocks_clock_s(), seconds = now_s - progress->start_s;
    char left[32] = "?";
    if (!progress->shown || now_s - progress->last_s < SHOW_S)
        return;
    progress->last_s = now_s;
    uint64_t done = progress->before + finished;
    double rate = seconds > 0 ? (double)finished / seconds : 0;
    bool slower;
    double left_s = eta_left_s(&progress->eta, seconds, (double)finished,
                               (double)(progress->all - progress->before), &slower);
    if (!isnan(left_s))
        cli_duration(left_s, left, sizeof left);
    fprintf(stderr, "\r\033[K%llu of %llu points, %.0f %%, %.4g points/s, %s left%s",
            (unsigned long long)done, (unsigned long long)progress->all,
            100.0 * (double)done / (double)(progress->all ? progress->all : 1), rate, left,
            slower ? " (points get slower)" : "");
    fflush(stderr);
}

void sweep_progress_end(struct sweep_progress *progress)
{
    if (progress->shown)
        fprintf(stderr, "\r\033[K");
    progress->shown = false;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static enum status run_blocks(struct sweep *sweep, struct sweep_file *file, struct blocks *blocks,
                              uint64_t before, unsigned threads, int ranks)
{
    struct sweep_local local = {blocks, file};
    const struct sweep_desk desk = {sweep_local_take, sweep_local_put, sweep_local_fail, &local};
    struct sweep_progress progress;
    struct sweep_crew *crew = sweep_crew_start(sweep, &desk, threads);
    if (!crew)
        return STATUS_NOMEM;
    sweep_progress_start(&progress, sweep, file->end, before);
#ifdef GDSIM_MPI
    if (ranks > 1)
        sweep_mpi_serve(&local, &progress, ranks);
#else
    (void)ranks;
#endif
    for (uint64_t finished; !blocks_wait(blocks, SHOW_S, &finished);) {
        sweep_file_save(file, false);
        sweep_progress_show(&progress, finished);
    }
    enum status status = sweep_crew_join(crew);
    sweep_file_save(file, true);
    sweep_progress_end(&progress);
    return status;
}

enum status sweep_run(struct sweep *sweep, struct sweep_file *file, unsigned threads,
                      struct error *error)
{
    struct blocks blocks;
    struct block *done;
    size_t count;
    int ranks = 1;
    enum status status = sweep_file_done(file, &done, &count, error);
    if (status)
        return status;
#ifdef GDSIM_MPI
    int rank;
    sweep_mpi_start(&rank, &ranks);
#endif
    uint64_t before = file->next;
    for (size_t i = 0; i < count; i++)
        before += done[i].count;
    status =
        blocks_init(&blocks, file->next, file->end, done, count, threads * (unsigned)ranks, error);
    if (!status) {
        status = run_blocks(sweep, file, &blocks, before, threads, ranks);
        blocks_free(&blocks);
        if (status == STATUS_NOMEM)
            error_set(error, status, "out of memory");
        else if (status)
            *error = file->error;
    }
    free(done);
    return status;
}
