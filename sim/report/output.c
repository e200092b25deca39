/* output.c: see output.h. */
#include "sim/report/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/report/text.h"

/* More than this many leftovers of killed runs with our process id: something else is wrong. */
enum { TEMPORARY_NAMES = 100 };

/* Length of the folder's part of the path, with its last slash; 0 for the current folder. */
static size_t folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

enum status output_fault(const char *path, int code, struct error *error)
{
    enum status status =
        error_set(error, STATUS_FAILED, "cannot write '%s': %s", path, strerror(code));
    size_t length = folder_length(path);
    if (code == ENOENT && length > 0)
        error_hint(error, "the folder '%.*s' does not exist; create it, or use out/",
                   (int)(length > 128 ? 128 : length), path);
    else if (code == ENOTDIR)
        error_hint(error, "a part of the path is a file, not a folder");
    else if (code == EISDIR)
        error_hint(error, "this is a folder; name a file in it");
    else if (code == EACCES || code == EPERM || code == EROFS)
        error_hint(error, "choose a place that you may write to, such as out/");
    return status;
}

int output_write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, data, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno;
        data += written;
        length -= (size_t)written;
    }
    return 0;
}

static int write_in_place(const char *path, const char *data, size_t length)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno;
    int code = output_write_all(fd, data, length);
    if (close(fd) != 0 && code == 0)
        code = errno;
    return code;
}

int output_folders(const char *path)
{
    if (strncmp(path, "out/", 4) != 0 || strstr(path, "/../"))
        return 0;
    int code = 0;
    for (const char *slash = strchr(path, '/'); slash && code == 0;
         slash = strchr(slash + 1, '/')) {
        struct text folder = {0};
        text_append(&folder, path, (size_t)(slash - path));
        if (folder.failed)
            code = ENOMEM;
        else if (mkdir(folder.data, 0777) != 0 && errno != EEXIST)
            code = errno;
        text_free(&folder);
    }
    return code;
}

/* Open a new file beside `path` and put its name into `name`; -1 and *code on failure. The name
 * does not contain that of `path`, which may already be as long as the file system allows. */
static int open_temporary(const char *path, struct text *name, int *code)
{
    int fd = -1;
    *code = EEXIST;
    for (int i = 0; fd < 0 && *code == EEXIST && i < TEMPORARY_NAMES; i++) {
        text_truncate(name, 0);
        text_append(name, path, folder_length(path));
        text_printf(name, ".gdsim-%ld-%d.tmp", (long)getpid(), i);
        if (name->failed) {
            *code = ENOMEM;
            return -1;
        }
        fd = open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        *code = fd < 0 ? errno : 0;
    }
    return fd;
}

/* `old` is the file to be replaced, or NULL. */
static int replace(const char *path, const struct stat *old, const char *data, size_t length)
{
    struct text name = {0};
    int code;
    int fd = open_temporary(path, &name, &code);
    if (fd >= 0) {
        code = output_write_all(fd, data, length);
        if (code == 0 && old && fchmod(fd, old->st_mode & 0777) != 0)
            code = errno;
        if (code == 0 && fsync(fd) != 0 && errno != EINVAL) /* EINVAL: not on this file system */
            code = errno;
        if (close(fd) != 0 && code == 0)
            code = errno;
        if (code == 0 && rename(name.data, path) != 0)
            code = errno;
        if (code != 0)
            (void)unlink(name.data);
    }
    text_free(&name);
    return code;
}

enum status output_write(const char *path, const char *data, size_t length, struct error *error)
{
    if (path[0] == '\0')
        return error_set(error, STATUS_INPUT, "the name of the output file is empty");
    if (strcmp(path, "-") == 0) {
        /* What the program printed before must come first. */
        int code = fflush(stdout) != 0 ? errno : output_write_all(STDOUT_FILENO, data, length);
        return code == 0 ? STATUS_OK : output_fault("standard output", code, error);
    }
    int code = output_folders(path);
    if (code != 0)
        return output_fault(path, code, error);
    if (path[strlen(path) - 1] == '/')
        return output_fault(path, EISDIR, error);

    struct stat old;
    bool exists = lstat(path, &old) == 0;
    if (exists && S_ISDIR(old.st_mode))
        code = EISDIR;
    else if (exists && !S_ISREG(old.st_mode))
        code = write_in_place(path, data, length);
    else if (exists && faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0)
        code = errno; /* a rename would replace even a file that is write-protected */
    else
        code = replace(path, exists ? &old : NULL, data, length);
    return code == 0 ? STATUS_OK : output_fault(path, code, error);
}
