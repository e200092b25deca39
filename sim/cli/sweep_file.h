/* sweep_file.h: the file of a sweep, which grows in order and survives a kill.
 *
 *   FILE.part      first line, column names, then rows in order of their points
 *   FILE.journal   blocks that were done before an earlier one, each with its place, its length and
 *                  a checksum; copied to FILE.part when their turn comes
 *
 * A block goes to FILE.part as soon as it is done and those before it are; until then it is held in
 * memory for at most 0.1 s (sweep_file_save), then in the journal. So a killed run loses only what
 * was being worked on, and a moment's rows. When all is there, FILE.part becomes FILE. --resume
 * reads both: a last line without an end is cut off, rows must be those of the points in order, and
 * the first line, which holds a hash of scenario and axes, must be the one that this sweep would
 * write.
 *
 * All functions but open and close may be called from any thread.
 */
#ifndef GDSIM_CLI_SWEEP_FILE_H
#define GDSIM_CLI_SWEEP_FILE_H

#include "sim/cli/sweep.h"

struct sweep_file {
    const struct sweep *sweep;
    char *path, *part, *journal; /* path NULL: standard output */
    int fd, journal_fd;
    uint64_t next; /* place whose row comes next */
    uint64_t end;
    struct waiting *waiting; /* in memory or in the journal; by place */
    size_t waiting_count, waiting_capacity;
    uint64_t held_B; /* of what waits in memory */
    uint64_t journal_end;
    double synced_s; /* when the disk was last told to write */
    double *time_us; /* of each place; NULL: too many to keep */
    bool complete;   /* FILE was finished already */
    enum status status;
    struct error error; /* the first that happened */
    pthread_mutex_t lock;
};

/* Open or resume. `time_us` of what is there already is filled in. */
enum status sweep_file_open(struct sweep_file *file, const struct sweep *sweep,
                            struct error *error);

/* What is in the journal already and need not be done again; for free(). */
enum status sweep_file_done(const struct sweep_file *file, struct block **ret_blocks,
                            size_t *ret_count, struct error *error);

/* Put a block's rows where they belong. */
enum status sweep_file_put(struct sweep_file *file, struct block block, const char *rows,
                           size_t length, const double *time_us);

/* Write to the journal what has waited in memory too long; `all`: whatever waits. And have the disk
 * write, now and then, what the file has got. A fault is that of the next put. Wants to be called a
 * few times a second. */
void sweep_file_save(struct sweep_file *file, bool all);

/* All is there: FILE.part becomes FILE. */
enum status sweep_file_finish(struct sweep_file *file, struct error *error);
void sweep_file_close(struct sweep_file *file);

/* The first line of a sweep's file; without the shard as the whole file has it. */
void sweep_first_line(const struct sweep *sweep, bool whole, struct text *text);

#endif
