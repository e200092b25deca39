/* capture.c: see capture.h. It listens while facts_read reads: so it can miss nothing that the
 * other commands would read, and copies nothing else. */
#include "probe/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probe/facts.h"

struct capture {
    int root;   /* the directory, open */
    char *seen; /* paths, each ended by a newline */
    size_t seen_length, files;
    struct why why; /* the first fault */
};

static void fault(struct capture *capture, const char *path)
{
    if (!capture->why.text[0])
        why_set(&capture->why, "%.100s: %s", path, strerror(errno));
}

/* The directory of a path, made if need be, entered name by name so that no link leads out of the
 * tree; -1 with the fault noted. *ret_leaf is the path's last name. */
static int enter(struct capture *capture, const char *path, const char **ret_leaf)
{
    char name[SYS_NAME];
    int at = dup(capture->root);
    for (;;) {
        path += strspn(path, "/");
        size_t length = strcspn(path, "/");
        if (!path[length] || at < 0)
            break;
        snprintf(name, sizeof name, "%.*s", (int)(length < SYS_NAME ? length : SYS_NAME - 1), path);
        int below = -1;
        if (mkdirat(at, name, 0777) == 0 || errno == EEXIST)
            below = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        close(at);
        at = below;
        path += length;
    }
    if (at < 0)
        fault(capture, path);
    *ret_leaf = path;
    return at;
}

static void copy_file(void *context, const char *path, const void *data, size_t length)
{
    struct capture *capture = context;
    const char *leaf, *from = data;
    int parent = enter(capture, path, &leaf);
    if (parent < 0)
        return;
    int file = openat(parent, leaf, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    close(parent);
    if (file < 0) {
        fault(capture, path);
        return;
    }
    capture->files++;
    while (length > 0) {
        ssize_t wrote = write(file, from, length);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0) {
            fault(capture, path);
            break;
        }
        from += wrote;
        length -= (size_t)wrote;
    }
    if (close(file) != 0)
        fault(capture, path);
}

static void copy_link(void *context, const char *path, const char *target)
{
    struct capture *capture = context;
    const char *leaf;
    int parent = enter(capture, path, &leaf);
    if (parent < 0)
        return;
    if (symlinkat(target, parent, leaf) != 0 && errno != EEXIST)
        fault(capture, path);
    close(parent);
}

static void copy_directory(void *context, const char *path)
{
    struct capture *capture = context;
    const char *leaf;
    int parent = enter(capture, path, &leaf);
    if (parent < 0)
        return;
    if (*leaf && mkdirat(parent, leaf, 0777) != 0 && errno != EEXIST)
        fault(capture, path);
    close(parent);
}

/* What is only seen may be read or followed later: it is made at the end, where nothing is then. */
static void note_seen(void *context, const char *path)
{
    struct capture *capture = context;
    size_t length = strlen(path);
    char *grown = realloc(capture->seen, capture->seen_length + length + 2);
    if (!grown) {
        errno = ENOMEM;
        fault(capture, path);
        return;
    }
    capture->seen = grown;
    memcpy(grown + capture->seen_length, path, length);
    capture->seen_length += length;
    grown[capture->seen_length++] = '\n';
    grown[capture->seen_length] = '\0';
}

static void make_seen(struct capture *capture)
{
    char *save = NULL;
    for (char *path = capture->seen ? strtok_r(capture->seen, "\n", &save) : NULL; path;
         path = strtok_r(NULL, "\n", &save)) {
        const char *leaf;
        struct stat info;
        int parent = enter(capture, path, &leaf);
        if (parent < 0)
            continue;
        bool there = !*leaf || fstatat(parent, leaf, &info, AT_SYMLINK_NOFOLLOW) == 0;
        close(parent);
        if (!there) {
            copy_file(capture, path, "", 0);
            capture->files--; /* it holds nothing */
        }
    }
}

/* The answers, and the reasons that a hang or a crash gave to what is missing. */
static void write_driver(struct capture *capture, const struct driver *driver)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (!memory) {
        fault(capture, "gdprobe/driver");
        return;
    }
    fputs(driver->text ? driver->text : "", memory);
    for (size_t i = 0; i < driver->reason_count; i++)
        fprintf(memory, "why %s %s\n", driver->reasons[i].what, driver->reasons[i].why.text);
    if (fclose(memory) == 0)
        copy_file(capture, "/gdprobe/driver", text, length);
    free(text);
}

bool capture_write(const struct sys *sys, double timeout_s, const char *directory,
                   size_t *ret_files, struct why *ret_why)
{
    struct capture capture = {.root = -1};
    const struct sys_watch watch = {copy_file, copy_link, copy_directory, note_seen, &capture};
    struct sys listened = *sys;
    listened.watch = &watch;
    if (mkdir(directory, 0777) == 0)
        capture.root = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (capture.root < 0) {
        why_set(ret_why, "%.100s: %s", directory, strerror(errno));
        return false;
    }
    struct facts *facts = facts_read(&listened, timeout_s);
    if (facts) {
        const char *environment = facts->settings.environment;
        make_seen(&capture);
        write_driver(&capture, &facts->driver);
        if (environment)
            copy_file(&capture, "/gdprobe/environment", environment, strlen(environment));
    } else {
        errno = ENOMEM;
        fault(&capture, directory);
    }
    facts_free(facts);
    free(capture.seen);
    close(capture.root);
    *ret_files = capture.files;
    *ret_why = capture.why;
    return !capture.why.text[0];
}
