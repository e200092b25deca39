/* sweep_run.h: the threads of a sweep, and its progress. */
#ifndef GDSIM_CLI_SWEEP_RUN_H
#define GDSIM_CLI_SWEEP_RUN_H

#include "sim/cli/sweep_file.h"
#include "sim/study/eta.h"

/* Where a process gets its blocks and leaves their rows: in this process, or at rank 0. Both are
 * called from many threads. */
struct sweep_desk {
    bool (*take)(void *owner, struct block *ret_block);
    enum status (*put)(void *owner, struct block block, const struct text *rows,
                       const double *time_us, double seconds, bool last);
    /* Give up, with a block in hand or without. */
    void (*fail)(void *owner, bool with_block);
    void *owner;
};

struct sweep_crew;

/* Start threads that work until the desk has no more blocks. NULL: no memory. */
struct sweep_crew *sweep_crew_start(struct sweep *sweep, const struct sweep_desk *desk,
                                    unsigned threads);
/* Wait for them. The first status that was not fine. */
enum status sweep_crew_join(struct sweep_crew *crew);

/* The desk of one process. */
struct sweep_local {
    struct blocks *blocks;
    struct sweep_file *file;
};
bool sweep_local_take(void *owner, struct block *ret_block);
enum status sweep_local_put(void *owner, struct block block, const struct text *rows,
                            const double *time_us, double seconds, bool last);
void sweep_local_fail(void *owner, bool with_block);

/* Progress, on a terminal only. */
struct sweep_progress {
    bool shown;
    uint64_t all, before; /* points; done before this run */
    double start_s, last_s;
    struct eta eta;
};
void sweep_progress_start(struct sweep_progress *progress, const struct sweep *sweep, uint64_t all,
                          uint64_t before);
void sweep_progress_show(struct sweep_progress *progress, uint64_t finished);
void sweep_progress_end(struct sweep_progress *progress);

/* Do the whole sweep: threads of this process and, under MPI, those of all ranks. */
enum status sweep_run(struct sweep *sweep, struct sweep_file *file, unsigned threads,
                      struct error *error);

#ifdef GDSIM_MPI
/* Which rank this is of how many. */
void sweep_mpi_start(int *ret_rank, int *ret_ranks);
void sweep_mpi_stop(void);
/* End all ranks, if there are others. */
void sweep_mpi_abort(void);
/* Rank 0: serve the others until `blocks` is through. Other ranks: work for rank 0. */
void sweep_mpi_serve(struct sweep_local *local, struct sweep_progress *progress, int ranks);
enum status sweep_mpi_work(struct sweep *sweep, unsigned threads);
#endif

#endif
