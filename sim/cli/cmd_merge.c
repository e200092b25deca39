/* cmd_merge.c: gdsim merge: the shards of a sweep into one file, as one run would have written it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/cli/sweep_rows.h"
#include "sim/load/file.h"
#include "sim/report/output.h"

static const char doc[] =
    "Put the shards of a sweep together. All must be there and complete, and of the same scenario "
    "and axes; the result has the bytes of a sweep that was not split.\v"
    "Example:\n"
    "  gdsim sweep big.yaml --shard 1/2 -o out/big.1.csv    # on one machine\n"
    "  gdsim sweep big.yaml --shard 2/2 -o out/big.2.csv    # on another\n"
    "  gdsim merge out/big.1.csv out/big.2.csv -o out/big.csv\n";

static const struct argp_option option_table[] = {
    {"output", 'o', "FILE", 0, "write there (default: to standard output)", 0}, {0}};

enum { HEAD_MAX = 512, TAIL_B = 1 << 16 };

struct merge_shard {
    const char *path; /* NULL: not given */
    FILE *stream;
    char *line;
    size_t room;
};

struct merge {
    const char *files[SHARDS_MAX], *output;
    size_t file_count;
    bool json;
    char head[HEAD_MAX]; /* the first line, without the shard */
    char *columns;       /* the second; NULL for JSON */
    uint64_t points, of;
    struct merge_shard *shards; /* of them */
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct merge *merge = state->input;
    if (key == 'o') {
        merge->output = arg;
    } else if (key == ARGP_KEY_ARG) {
        if (merge->file_count == SHARDS_MAX)
            argp_error(state, "more than %d shards", SHARDS_MAX);
        merge->files[merge->file_count++] = arg;
    } else if (key == ARGP_KEY_END && merge->file_count == 0) {
        argp_error(state, "which shards?");
    } else if (key != ARGP_KEY_END) {
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Cut `, shard 2/4` out of a first line. */
static bool read_head(char *head, bool *ret_json, uint64_t *ret_points, uint64_t *ret_number,
                      uint64_t *ret_of)
{
    static const char *const names[] = {", shard ", ", \"shard\": \""};
    static const char *const counts[] = {", points ", ", \"points\": "};
    static const char *const begins[] = {"# gdsim sweep 1, hash ", "{\"gdsim_sweep\": 1, \"hash\""};
    bool json = head[0] == '{';
    char *points = strstr(head, counts[json]), *shard = strstr(head, names[json]), *end;
    if (strncmp(head, begins[json], strlen(begins[json])) != 0 || !points)
        return false;
    *ret_json = json;
    *ret_points = strtoull(points + strlen(counts[json]), NULL, 10);
    *ret_number = *ret_of = 1;
    if (!shard)
        return true;
    *ret_number = strtoull(shard + strlen(names[json]), &end, 10);
    if (*end != '/')
        return false;
    *ret_of = strtoull(end + 1, &end, 10);
    end += json; /* its quote */
    memmove(shard, end, strlen(end) + 1);
    return *ret_of >= 1 && *ret_of <= SHARDS_MAX && *ret_number >= 1 && *ret_number <= *ret_of;
}

static enum status open_shard(struct merge *merge, const char *path, struct error *error)
{
    char head[HEAD_MAX];
    bool json = false;
    uint64_t points = 0, number = 0, of = 0;
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return error_set(error, STATUS_INPUT, "cannot open %s: %s", path, strerror(errno));
    struct merge_shard shard = {path, stream, NULL, 0};
    enum status status = STATUS_OK;
    if (!fgets(head, sizeof head, stream) || !read_head(head, &json, &points, &number, &of))
        status = error_set(error, STATUS_INPUT, "%s is no file of gdsim sweep", path);
    if (!status && !json && getline(&shard.line, &shard.room, stream) <= 0)
        status = error_set(error, STATUS_INPUT, "%s ends within its head", path);
    if (!status && !merge->shards) { /* the first says what the others must be */
        merge->json = json;
        merge->points = points;
        merge->of = of;
        memcpy(merge->head, head, sizeof head);
        merge->columns = json ? NULL : file_path("%s", shard.line);
        merge->shards = calloc((size_t)of, sizeof *merge->shards);
        if (!merge->shards || (!json && !merge->columns))
            status = error_set(error, STATUS_NOMEM, "out of memory");
    } else if (!status &&
               (json != merge->json || of != merge->of || strcmp(head, merge->head) != 0 ||
                (!json && strcmp(shard.line, merge->columns) != 0))) {
        if (of != merge->of && (of == 1 || merge->of == 1))
            status = error_set(error, STATUS_INPUT, "%s is a whole sweep, no shard of one",
                               of == 1 ? path : merge->files[0]);
        else
            status = error_set(error, STATUS_INPUT,
                               "%s and %s are not of one sweep: their first lines differ",
                               merge->files[0], path);
    }
    if (!status && merge->shards[number - 1].path)
        status = error_set(error, STATUS_INPUT, "%s and %s are both shard %" PRIu64 "/%" PRIu64,
                           merge->shards[number - 1].path, path, number, of);
    if (!status) {
        merge->shards[number - 1] = shard;
        return STATUS_OK;
    }
    free(shard.line);
    fclose(stream);
    return status;
}

/* Whether the last row of a file is that of the shard's last point. */
static bool is_complete(const struct merge *merge, const struct merge_shard *file,
                        const struct shard *shard)
{
    char tail[TAIL_B + 1];
    long here = ftell(file->stream);
    uint64_t point;
    if (fseek(file->stream, 0, SEEK_END))
        return false;
    long end = ftell(file->stream), from = end - here < TAIL_B ? here : end - TAIL_B;
    bool complete = shard->count == 0 && end == here;
    if (fseek(file->stream, from, SEEK_SET) == 0 && end > here) {
        size_t length = fread(tail, 1, TAIL_B, file->stream);
        tail[length] = '\0';
        if (length > 0 && tail[length - 1] == '\n') {
            tail[length - 1] = '\0';
            const char *last = strrchr(tail, '\n');
            complete = shard->count > 0 &&
                       rows_point(last ? last + 1 : tail, merge->json, &point) &&
                       point == shard_point(shard, shard->count - 1);
        }
    }
    return fseek(file->stream, here, SEEK_SET) == 0 && complete;
}

/* All shards must be there and whole; says which are not. */
static enum status check_shards(const struct merge *merge, struct error *error)
{
    struct text missing = {0}, broken = {0};
    for (uint64_t i = 0; i < merge->of; i++) {
        struct shard shard = shard_make(merge->points, i + 1, merge->of);
        uint64_t last = i;
        if (merge->shards[i].path) {
            if (!is_complete(merge, &merge->shards[i], &shard))
                text_printf(&broken, "%s%s", broken.length ? ", " : "", merge->shards[i].path);
            continue;
        }
        while (last + 1 < merge->of && !merge->shards[last + 1].path)
            last++;
        text_printf(&missing, "%s%" PRIu64, missing.length ? ", " : "", i + 1);
        if (last > i)
            text_printf(&missing, "-%" PRIu64, last + 1);
        i = last;
    }
    enum status status = STATUS_OK;
    if (missing.length > 0) {
        status = error_set(error, STATUS_INPUT, "of %" PRIu64 " shards these are missing: %.300s",
                           merge->of, missing.data);
        if (broken.length > 0)
            error_hint(error, "not complete: %.200s", broken.data);
    } else if (broken.length > 0) {
        status = error_set(error, STATUS_INPUT, "not complete: %.400s", broken.data);
        error_hint(error, "gdsim sweep ... --shard i/N --resume goes on with it");
    }
    text_free(&missing);
    text_free(&broken);
    return status;
}

static enum status copy_rows(struct merge *merge, FILE *to, struct error *error)
{
    uint64_t run = shard_make(merge->points, 1, merge->of).run;
    fputs(merge->head, to);
    if (merge->columns)
        fputs(merge->columns, to);
    for (uint64_t point = 0; point < merge->points; point++) {
        struct merge_shard *shard = &merge->shards[point / run % merge->of];
        uint64_t found;
        ssize_t length = getline(&shard->line, &shard->room, shard->stream);
        if (length <= 0 || shard->line[length - 1] != '\n' ||
            !rows_point(shard->line, merge->json, &found) || found != point)
            return error_set(error, STATUS_INPUT,
                             "%s: the row of point %" PRIu64 " is not in its "
                             "place: the file was changed",
                             shard->path, point);
        fwrite(shard->line, 1, (size_t)length, to);
    }
    return STATUS_OK;
}

static enum status merge_to(struct merge *merge, struct error *error)
{
    bool to_stdout = !merge->output || strcmp(merge->output, "-") == 0;
    char *part = to_stdout ? NULL : file_path("%s.part", merge->output);
    int code = to_stdout ? 0 : part ? output_folders(merge->output) : ENOMEM;
    FILE *to = to_stdout ? stdout : code ? NULL : fopen(part, "wbx");
    enum status status = STATUS_OK;
    if (!to) {
        code = code ? code : errno;
        status = output_fault(part ? part : merge->output, code, error);
        if (code == EEXIST)
            error_hint(error, "another merge or sweep writes it, or one that did not end left it: "
                              "then remove it");
    }
    if (!status)
        status = copy_rows(merge, to, error);
    if (to && !to_stdout) {
        bool failed = fflush(to) || ferror(to) || (fsync(fileno(to)) && errno != EINVAL);
        failed = fclose(to) || failed;
        if (!status && (failed || rename(part, merge->output)))
            status = output_fault(merge->output, errno, error);
        if (status)
            (void)unlink(part);
        if (!status)
            printf("%" PRIu64 " points of %" PRIu64 " shards in %s; the sweep's command without "
                   "--shard and with --resume -o %s says what it found\n",
                   merge->points, merge->of, merge->output, merge->output);
    } else if (to && !status && (fflush(to) || ferror(to))) {
        status = output_fault("standard output", errno, error);
    }
    free(part);
    return status;
}

/* All shards are open at once: often more than a process may by default. */
static void allow_files(size_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= count + 16)
        return;
    limit.rlim_cur = limit.rlim_max < count + 16 ? limit.rlim_max : count + 16;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* if not, the file that cannot be opened is told */
}

int cmd_merge(int argc, char **argv)
{
    struct error error;
    struct merge *merge = calloc(1, sizeof *merge);
    if (!merge) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    cli_parse(argc, argv, option_table, parse, "SHARD...", doc, merge);
    enum status status = STATUS_OK;
    allow_files(merge->file_count);
    for (size_t i = 0; i < merge->file_count && !status; i++)
        status = open_shard(merge, merge->files[i], &error);
    if (!status)
        status = check_shards(merge, &error);
    if (!status)
        status = merge_to(merge, &error);
    for (uint64_t i = 0; merge->shards && i < merge->of; i++) {
        free(merge->shards[i].line);
        if (merge->shards[i].stream)
            fclose(merge->shards[i].stream);
    }
    free(merge->shards);
    free(merge->columns);
    free(merge);
    return status ? cli_fail(&error) : EXIT_FINE;
}
