/* sweep_file.c: see sweep_file.h. */
#include "sim/cli/sweep_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/sweep_rows.h"
#include "sim/load/file.h"
#include "sim/report/output.h"
#include "sim/study/blocks.h"

#define HOLD_S 0.1 /* a block that waits longer than that goes to the journal */
#define SYNC_S 0.2 /* else the disk has all to do at the end */

enum { JOURNAL_HEAD = 80, HOLD_BYTES = 1 << 23 };

struct waiting {
    struct block block;
    char *rows;      /* held in memory; NULL: in the journal */
    double since_s;  /* held since */
    uint64_t offset; /* of its rows in the journal */
    uint64_t length;
};

static uint64_t checksum(const char *data, size_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)data[i]) * 1099511628211u;
    return hash;
}

void sweep_first_line(const struct sweep *sweep, bool whole, struct text *text)
{
    const struct shard *shard = &sweep->shard;
    bool sharded = !whole && shard->of > 1;
    text_printf(text,
                sweep->json ? "{\"gdsim_sweep\": 1, \"hash\": \"%016" PRIx64
                              "\", \"points\": %" PRIu64
                            : "# gdsim sweep 1, hash %016" PRIx64 ", points %" PRIu64,
                sweep->identity, shard->points);
    if (sharded)
        text_printf(text,
                    sweep->json ? ", \"shard\": \"%" PRIu64 "/%" PRIu64 "\""
                                : ", shard %" PRIu64 "/%" PRIu64,
                    shard->number, shard->of);
    if (sweep->design.ranges > 0) {
        bool latin = sweep->axes.method == AXES_LATIN;
        text_printf(text, sweep->json ? ", \"%s\": %" PRIu64 : ", %s %" PRIu64,
                    latin ? "lhs" : "sobol", sweep->design.samples);
        if (latin)
            text_printf(text, sweep->json ? ", \"seed\": %" PRIu64 : ", seed %" PRIu64,
                        sweep->axes.seed);
    }
    text_printf(text, sweep->json ? "}\n" : "\n");
}

/* ---- what waits for its turn ----------------------------------------------------------------- */

static bool add_waiting(struct sweep_file *file, struct waiting item)
{
    if (file->waiting_count == file->waiting_capacity) {
        size_t capacity = file->waiting_capacity ? 2 * file->waiting_capacity : 64;
        struct waiting *grown = realloc(file->waiting, capacity * sizeof *grown);
        if (!grown)
            return false;
        file->waiting = grown;
        file->waiting_capacity = capacity;
    }
    size_t at = file->waiting_count++;
    for (; at > 0 && file->waiting[at - 1].block.first > item.block.first; at--)
        file->waiting[at] = file->waiting[at - 1];
    file->waiting[at] = item;
    return true;
}

static int read_back(const struct sweep_file *file, const struct waiting *item, char *rows)
{
    for (uint64_t at = 0; at < item->length;) {
        ssize_t got = pread(file->journal_fd, rows + at, (size_t)(item->length - at),
                            (off_t)(item->offset + at));
        if (got <= 0 && errno != EINTR)
            return got < 0 ? errno : EIO;
        at += got > 0 ? (uint64_t)got : 0;
    }
    return 0;
}

/* Write what waited to the file; of the first `skip` the file has the rows already. */
static int copy_waiting(struct sweep_file *file, struct waiting *item, uint64_t skip)
{
    char *rows = item->rows ? item->rows : malloc((size_t)item->length + 1);
    int code = !rows ? ENOMEM : item->rows ? 0 : read_back(file, item, rows);
    const char *from = rows, *end = rows + item->length;
    for (; skip > 0 && code == 0; skip--)
        from = (const char *)memchr(from, '\n', (size_t)(end - from)) + 1;
    if (code == 0)
        code = output_write_all(file->fd, from, (size_t)(end - from));
    if (item->rows)
        file->held_B -= item->length;
    item->rows = NULL;
    free(rows);
    return code;
}

/* Blocks whose turn has come. An empty journal starts again from its beginning. */
static int take_waiting(struct sweep_file *file)
{
    size_t taken = 0;
    for (; taken < file->waiting_count && file->waiting[taken].block.first <= file->next; taken++) {
        struct waiting *item = &file->waiting[taken];
        uint64_t end = item->block.first + item->block.count;
        if (end <= file->next)
            continue;
        int code = copy_waiting(file, item, file->next - item->block.first);
        if (code)
            return code;
        file->next = end;
    }
    file->waiting_count -= taken;
    if (taken > 0)
        memmove(file->waiting, file->waiting + taken, file->waiting_count * sizeof *file->waiting);
    if (file->waiting_count > 0 || file->journal_end == 0)
        return 0;
    file->journal_end = 0;
    return ftruncate(file->journal_fd, 0) ? errno : 0;
}

/* From memory, or of a block that is put now, to the end of the journal. */
static int to_journal(struct sweep_file *file, struct waiting *item, const char *rows)
{
    char head[JOURNAL_HEAD];
    size_t length = (size_t)item->length;
    int size = snprintf(head, sizeof head, "@ %" PRIu64 " %" PRIu64 " %zu %016" PRIx64 "\n",
                        item->block.first, item->block.count, length, checksum(rows, length));
    if (lseek(file->journal_fd, (off_t)file->journal_end, SEEK_SET) < 0)
        return errno;
    int code = output_write_all(file->journal_fd, head, (size_t)size);
    if (!code)
        code = output_write_all(file->journal_fd, rows, length);
    if (code)
        return code;
    item->offset = file->journal_end + (uint64_t)size;
    file->journal_end = item->offset + length;
    return 0;
}

/* Most blocks wait for a moment only: two threads that work on neighbours end at nearly the same
 * time, and to write a block twice costs more than to hold it. */
static int wait_turn(struct sweep_file *file, struct block block, const char *rows, size_t length)
{
    struct waiting item = {.block = block, .since_s = blocks_clock_s(), .length = length};
    if (file->held_B + length <= HOLD_BYTES)
        item.rows = malloc(length);
    int code = 0;
    if (item.rows)
        memcpy(item.rows, rows, length);
    else
        code = to_journal(file, &item, rows);
    if (code)
        return code;
    if (!add_waiting(file, item)) {
        free(item.rows);
        return ENOMEM;
    }
    file->held_B += item.rows ? length : 0;
    return 0;
}

static int save_held(struct sweep_file *file, double since_s)
{
    for (size_t i = 0; file->held_B > 0 && i < file->waiting_count; i++) {
        struct waiting *item = &file->waiting[i];
        if (!item->rows || item->since_s > since_s)
            continue;
        int code = to_journal(file, item, item->rows);
        if (code)
            return code;
        free(item->rows);
        item->rows = NULL;
        file->held_B -= item->length;
    }
    return 0;
}

static void note_code(struct sweep_file *file, int code)
{
    if (code)
        file->status =
            output_fault(file->path ? file->part : "standard output", code, &file->error);
}

void sweep_file_save(struct sweep_file *file, bool all)
{
    pthread_mutex_lock(&file->lock);
    const double now_s = blocks_clock_s();
    if (!file->status && file->held_B > 0)
        note_code(file, save_held(file, all ? HUGE_VAL : now_s - HOLD_S));
    const bool sync = file->path && !file->status && now_s - file->synced_s > SYNC_S;
    if (sync)
        file->synced_s = now_s;
    pthread_mutex_unlock(&file->lock);
    /* Not under the lock: threads put rows meanwhile. */
    const int code = sync && fdatasync(file->fd) && errno != EINVAL ? errno : 0;
    if (code) {
        pthread_mutex_lock(&file->lock);
        note_code(file, code);
        pthread_mutex_unlock(&file->lock);
    }
}

enum status sweep_file_put(struct sweep_file *file, struct block block, const char *rows,
                           size_t length, const double *time_us)
{
    pthread_mutex_lock(&file->lock);
    int code = 0;
    if (!file->status && file->time_us)
        memcpy(&file->time_us[block.first], time_us, (size_t)block.count * sizeof *time_us);
    if (!file->status && block.first == file->next) {
        code = output_write_all(file->fd, rows, length);
        file->next += block.count;
        if (!code)
            code = take_waiting(file);
    } else if (!file->status) {
        code = wait_turn(file, block, rows, length);
    }
    note_code(file, code);
    enum status status = file->status;
    pthread_mutex_unlock(&file->lock);
    return status;
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* Blocks of the journal that are whole; the rest is of a run that was killed while writing it. */
static enum status read_journal(struct sweep_file *file, struct error *error)
{
    struct rows_reader *reader = rows_open(file->sweep, error);
    FILE *stream = fopen(file->journal, "rb");
    char head[JOURNAL_HEAD];
    enum status status = reader ? STATUS_OK : STATUS_NOMEM;
    while (stream && !status && fgets(head, sizeof head, stream)) {
        uint64_t first, count, sum;
        size_t length;
        if (sscanf(head, "@ %" SCNu64 " %" SCNu64 " %zu %" SCNx64 "\n", &first, &count, &length,
                   &sum) != 4 ||
            first + count > file->end || length > (size_t)1 << 32)
            break;
        char *rows = malloc(length + 1);
        long offset = ftell(stream);
        if (!rows) {
            status = error_set(error, STATUS_NOMEM, "out of memory");
            break;
        }
        bool whole = fread(rows, 1, length, stream) == length && checksum(rows, length) == sum;
        if (whole && rows_check(reader, rows, length, first, count, file->time_us) &&
            first + count > file->next) {
            const struct waiting item = {
                .block = {first, count}, .offset = (uint64_t)offset, .length = length};
            if (!add_waiting(file, item))
                status = error_set(error, STATUS_NOMEM, "out of memory");
        }
        free(rows);
        if (!whole)
            break;
        file->journal_end = (uint64_t)offset + length;
    }
    if (stream)
        fclose(stream);
    rows_close(reader);
    return status;
}

static enum status other_sweep(const char *path, const char *found, struct error *error)
{
    error_set(error, STATUS_INPUT,
              "%s is not of this sweep: scenario, axes, options, shard or seed were others (it "
              "begins \"%.60s\")",
              path, found);
    return error_hint(error, "give what it was started with; --restart begins anew");
}

/* Check the first lines and count the rows of a file. *ret_size: up to the end of the last whole
 * row. */
static enum status read_rows(struct sweep_file *file, const char *path, uint64_t *ret_size,
                             struct error *error)
{
    struct text want = {0};
    struct rows_reader *reader = rows_open(file->sweep, error);
    FILE *stream = fopen(path, "rb");
    char *line = NULL;
    size_t room = 0;
    sweep_first_line(file->sweep, false, &want);
    sweep_header(file->sweep, &want);
    enum status status = reader && !want.failed ? STATUS_OK : STATUS_NOMEM;
    if (!status && !stream)
        status = error_set(error, STATUS_FAILED, "cannot read %s: %s", path, strerror(errno));
    char *head = calloc(1, want.length + 1);
    *ret_size = 0;
    if (!status && head && fread(head, 1, want.length, stream) != want.length &&
        memcmp(head, want.data, strlen(head)) == 0) {
        file->next = 0; /* killed before its head was written: nothing is lost */
    } else if (!status && head && memcmp(head, want.data, want.length) != 0) {
        head[strcspn(head, "\n")] = '\0';
        status = other_sweep(path, head, error);
    } else if (!status) {
        *ret_size = want.length;
        for (ssize_t got; !status && (got = getline(&line, &room, stream)) > 0;) {
            if (line[got - 1] != '\n')
                break;
            if (file->next == file->end ||
                !rows_check(reader, line, (size_t)got, file->next, 1, file->time_us))
                status = error_set(error, STATUS_FAILED,
                                   "%s: row %" PRIu64 " is not that of its "
                                   "point: the file was changed",
                                   path, file->next + 1);
            file->next++;
            *ret_size += (uint64_t)got;
        }
    }
    free(line);
    free(head);
    if (stream)
        fclose(stream);
    rows_close(reader);
    text_free(&want);
    return status;
}

static enum status resume(struct sweep_file *file, struct error *error)
{
    uint64_t size;
    enum status status = read_rows(file, file->part, &size, error);
    if (!status)
        status = read_journal(file, error);
    if (status)
        return status;
    if (ftruncate(file->fd, (off_t)size) || lseek(file->fd, 0, SEEK_END) < 0)
        return output_fault(file->part, errno, error);
    int code = size == 0 ? 0 : take_waiting(file);
    return code ? output_fault(file->part, code, error) : STATUS_OK;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static enum status name_files(struct sweep_file *file, struct error *error)
{
    const struct sweep *sweep = file->sweep;
    const char *given = sweep->options->shared.output, *scenario = sweep->options->shared.file;
    if (given && strcmp(given, "-") == 0)
        return STATUS_OK;
    if (given) {
        file->path = file_path("%s", given);
    } else {
        const char *slash = strrchr(scenario, '/'), *name = slash ? slash + 1 : scenario;
        struct text text = {0};
        text_printf(&text, "out/%s%.*s", strncmp(name, "sweep-", 6) == 0 ? "" : "sweep-",
                    (int)strcspn(name, "."), name);
        if (sweep->shard.of > 1)
            text_printf(&text, ".%" PRIu64 "of%" PRIu64, sweep->shard.number, sweep->shard.of);
        text_printf(&text, sweep->json ? ".jsonl" : ".csv");
        file->path = text.failed ? NULL : text.data;
    }
    if (file->path) {
        file->part = file_path("%s.part", file->path);
        file->journal = file_path("%s.journal", file->path);
    }
    return file->path && file->part && file->journal
               ? STATUS_OK
               : error_set(error, STATUS_NOMEM, "out of memory");
}

static enum status open_files(struct sweep_file *file, bool keep, struct error *error)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC;
    int code = output_folders(file->path);
    file->fd = code ? -1 : open(file->part, flags, 0666);
    if (file->fd < 0)
        return output_fault(file->part, code ? code : errno, error);
    /* Who held the lock may have renamed the file before it let go: then this is its result. */
    struct stat opened, named;
    if (flock(file->fd, LOCK_EX | LOCK_NB) || fstat(file->fd, &opened) ||
        stat(file->part, &named) || opened.st_ino != named.st_ino || opened.st_dev != named.st_dev)
        return error_set(error, STATUS_FAILED, "another sweep is writing %s", file->part);
    if (!keep && ftruncate(file->fd, 0))
        return output_fault(file->part, errno, error);
    file->journal_fd = open(file->journal, flags | (keep ? 0 : O_TRUNC), 0666);
    return file->journal_fd < 0 ? output_fault(file->journal, errno, error) : STATUS_OK;
}

static enum status open_on_disk(struct sweep_file *file, struct error *error)
{
    const struct sweep_options *options = file->sweep->options;
    uint64_t size;
    struct stat stats;
    bool killed = stat(file->part, &stats) == 0;
    if (options->resume && !killed && file_exists(file->path)) {
        enum status status = read_rows(file, file->path, &size, error);
        if (!status && file->next < file->end)
            status =
                error_set(error, STATUS_FAILED, "%s ends after %" PRIu64 " of %" PRIu64 " rows",
                          file->path, file->next, file->end);
        file->complete = !status;
        return status;
    }
    if (killed && !options->resume && !options->restart) {
        error_set(error, STATUS_INPUT, "a sweep that did not end left %s", file->part);
        return error_hint(error, "--resume goes on with it, --restart begins anew");
    }
    bool keep = options->resume && killed;
    enum status status = open_files(file, keep, error);
    if (!status && keep)
        status = resume(file, error);
    return status;
}

enum status sweep_file_open(struct sweep_file *file, const struct sweep *sweep, struct error *error)
{
    memset(file, 0, sizeof *file);
    file->sweep = sweep;
    file->fd = file->journal_fd = -1;
    file->end = sweep->shard.count;
    pthread_mutex_init(&file->lock, NULL);
    if (file->end <= SWEEP_KEEP_TIMES)
        file->time_us = calloc((size_t)file->end + 1, sizeof *file->time_us);
    enum status status = name_files(file, error);
    if (status)
        return status;
    if (file->path) {
        status = open_on_disk(file, error);
    } else if (sweep->options->resume) {
        status = error_set(error, STATUS_INPUT, "what went to standard output cannot be resumed");
    } else {
        FILE *stream = tmpfile();
        file->fd = STDOUT_FILENO;
        file->journal_fd = stream ? dup(fileno(stream)) : -1;
        if (file->journal_fd < 0)
            status = output_fault("a temporary file", errno, error);
        if (stream)
            fclose(stream);
    }
    bool begun = file->path && !status && !file->complete && lseek(file->fd, 0, SEEK_CUR) > 0;
    if (status || file->complete || begun)
        return status;
    struct text head = {0};
    sweep_first_line(sweep, false, &head);
    sweep_header(sweep, &head);
    int code = head.failed ? ENOMEM : output_write_all(file->fd, head.data, head.length);
    if (!code)
        code = take_waiting(file);
    text_free(&head);
    return code ? output_fault(file->path ? file->part : "standard output", code, error)
                : STATUS_OK;
}

enum status sweep_file_done(const struct sweep_file *file, struct block **ret_blocks,
                            size_t *ret_count, struct error *error)
{
    *ret_blocks = calloc(file->waiting_count + 1, sizeof **ret_blocks);
    *ret_count = file->waiting_count;
    for (size_t i = 0; *ret_blocks && i < file->waiting_count; i++)
        (*ret_blocks)[i] = file->waiting[i].block;
    return *ret_blocks ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
}

enum status sweep_file_finish(struct sweep_file *file, struct error *error)
{
    if (file->status) {
        *error = file->error;
        return file->status;
    }
    if (!file->path || file->complete)
        return STATUS_OK;
    if ((fsync(file->fd) && errno != EINVAL) || rename(file->part, file->path))
        return output_fault(file->path, errno, error);
    (void)unlink(file->journal);
    return STATUS_OK;
}

void sweep_file_close(struct sweep_file *file)
{
    if (file->path && file->fd >= 0)
        close(file->fd);
    if (file->journal_fd >= 0)
        close(file->journal_fd);
    free(file->path);
    free(file->part);
    free(file->journal);
    for (size_t i = 0; i < file->waiting_count; i++)
        free(file->waiting[i].rows);
    free(file->waiting);
    free(file->time_us);
    pthread_mutex_destroy(&file->lock);
}
