/* sys.c: see sys.h. */
#include "probe/sys.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINKS_MAX = 40, LIST_MAX = 65536 }; /* as the kernel: more links are a loop */

void why_set(struct why *why, const char *format, ...)
{
    va_list args;
    if (!why)
        return;
    va_start(args, format);
    vsnprintf(why->text, sizeof why->text, format, args);
    va_end(args);
}

/* An errno in the words of the report. */
static void why_errno(struct why *why, const char *path, int code)
{
    if (code == EACCES || code == EPERM)
        why_set(why, "%s: not permitted%s", path, geteuid() ? " (not root)" : "");
    else if (code == ENOENT || code == ENOTDIR)
        why_set(why, "%s: not there", path);
    else
        why_set(why, "%s: %s", path, strerror(code));
}

bool sys_open(struct sys *sys, const char *root, struct why *ret_why)
{
    struct stat info;
    *sys = (struct sys){.root = root ? root : ""};
    if (!root)
        return true;
    if (stat(root, &info)) {
        why_errno(ret_why, root, errno);
        return false;
    }
    if (!S_ISDIR(info.st_mode))
        why_set(ret_why, "%s: not a directory", root);
    return S_ISDIR(info.st_mode);
}

bool sys_is_captured(const struct sys *sys)
{
    return sys->root[0] != '\0';
}

/* Where a path of the machine lies for this process; false when that is too long. */
static bool outside(const struct sys *sys, const char *path, char *buffer, size_t size)
{
    int length = snprintf(buffer, size, "%s%s", sys->root, path);
    return length >= 0 && (size_t)length < size;
}

/* Put a link's target in front of what is left of a path. */
static bool prepend(char *rest, size_t size, const char *target)
{
    char joined[SYS_PATH * 2];
    int length = snprintf(joined, sizeof joined, "%s/%s", target, rest);
    if (length < 0 || (size_t)length >= size)
        return false;
    memcpy(rest, joined, (size_t)length + 1);
    return true;
}

/* Follow a path name by name, so that no link and no ".." leads out of the sysroot. */
bool sys_real(const struct sys *sys, const char *path, char ret_real[SYS_PATH], struct why *ret_why)
{
    char real[SYS_PATH] = "", rest[SYS_PATH * 2], host[SYS_PATH * 2], target[SYS_PATH];
    int links = 0;
    if (strlen(path) >= SYS_PATH) {
        why_set(ret_why, "%.60s...: the path is too long", path);
        return false;
    }
    strcpy(rest, path);
    for (char *at = rest; *at;) {
        size_t skip = strspn(at, "/"), length = strcspn(at + skip, "/"), before = strlen(real);
        const char *name = at + skip;
        at += skip + length;
        if (length == 0 || (length == 1 && name[0] == '.'))
            continue;
        if (length == 2 && memcmp(name, "..", 2) == 0) {
            char *slash = strrchr(real, '/');
            if (slash)
                *slash = '\0';
            continue;
        }
        if (before + 1 + length >= SYS_PATH) {
            why_set(ret_why, "%.60s...: the path is too long", path);
            return false;
        }
        real[before] = '/';
        memcpy(real + before + 1, name, length);
        real[before + 1 + length] = '\0';
        if (!outside(sys, real, host, sizeof host)) {
            why_set(ret_why, "%.60s...: the path is too long", path);
            return false;
        }
        ssize_t got = readlink(host, target, sizeof target - 1);
        if (got < 0)
            continue; /* no link, or not there: opening it will tell */
        target[got] = '\0';
        if (sys->watch)
            sys->watch->link(sys->watch->context, real, target);
        memmove(rest, at, strlen(at) + 1);
        if (++links > LINKS_MAX || !prepend(rest, sizeof rest, target)) {
            why_set(ret_why, "%.60s: too many links", path);
            return false;
        }
        real[target[0] == '/' ? 0 : before] = '\0';
        at = rest;
    }
    strcpy(ret_real, real[0] ? real : "/");
    return true;
}

/* The open file of a path, or -1 with a reason. */
static int open_real(const struct sys *sys, const char *path, int flags, char real[SYS_PATH],
                     struct why *ret_why)
{
    char host[SYS_PATH * 2];
    if (!sys_real(sys, path, real, ret_why))
        return -1;
    if (!outside(sys, real, host, sizeof host)) {
        why_set(ret_why, "%.60s...: the path is too long", path);
        return -1;
    }
    /* O_NONBLOCK: a FIFO in a captured tree must not stop us. */
    int file = open(host, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | flags);
    if (file < 0)
        why_errno(ret_why, path, errno);
    return file;
}

bool sys_exists(const struct sys *sys, const char *path)
{
    char real[SYS_PATH], host[SYS_PATH * 2];
    struct stat info;
    if (!sys_real(sys, path, real, NULL) || !outside(sys, real, host, sizeof host) ||
        lstat(host, &info) != 0)
        return false;
    if (sys->watch)
        sys->watch->seen(sys->watch->context, real);
    return true;
}

long sys_bytes(const struct sys *sys, const char *path, void *buffer, size_t size,
               struct why *ret_why)
{
    char real[SYS_PATH];
    size_t length = 0;
    int file = open_real(sys, path, 0, real, ret_why);
    if (file < 0)
        return -1;
    while (length < size) {
        ssize_t got = read(file, (char *)buffer + length, size - length);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            why_errno(ret_why, path, errno);
            close(file);
            return -1;
        }
        if (got == 0)
            break;
        length += (size_t)got;
    }
    close(file);
    if (sys->watch)
        sys->watch->file(sys->watch->context, real, buffer, length);
    return (long)length;
}

char *sys_text(const struct sys *sys, const char *path, struct why *ret_why)
{
    char *text = malloc(SYS_FILE_BYTES + 1), *fitted;
    if (!text) {
        why_set(ret_why, "out of memory");
        return NULL;
    }
    long length = sys_bytes(sys, path, text, SYS_FILE_BYTES, ret_why);
    if (length < 0) {
        free(text);
        return NULL;
    }
    text[length] = '\0';
    fitted = realloc(text, (size_t)length + 1);
    return fitted ? fitted : text;
}

bool sys_line(const struct sys *sys, const char *path, char *buffer, size_t size,
              struct why *ret_why)
{
    char line[4096];
    long length = sys_bytes(sys, path, line, sizeof line - 1, ret_why);
    if (length < 0)
        return false;
    line[length] = '\0';
    char *start = line + strspn(line, " \t"), *end = start + strcspn(start, "\n");
    while (end > start && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    snprintf(buffer, size, "%s", start);
    return true;
}

bool sys_number(const struct sys *sys, const char *path, long long *ret_value, struct why *ret_why)
{
    char line[64], *end;
    if (!sys_line(sys, path, line, sizeof line, ret_why))
        return false;
    errno = 0;
    long long value = strtoll(line, &end, 0);
    if (end == line || *end || errno) {
        why_set(ret_why, "%s: \"%.32s\" is no number", path, line);
        return false;
    }
    *ret_value = value;
    return true;
}

static void watch_list(const struct sys_watch *watch, const char *real, const struct sys_list *list)
{
    char path[SYS_PATH + SYS_NAME];
    watch->directory(watch->context, real);
    for (size_t i = 0; i < list->count; i++) {
        snprintf(path, sizeof path, "%s/%s", real, list->names[i]);
        watch->seen(watch->context, path);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

bool sys_list(const struct sys *sys, const char *path, struct sys_list *ret_list,
              struct why *ret_why)
{
    char real[SYS_PATH];
    size_t room = 0;
    const struct dirent *entry;
    *ret_list = (struct sys_list){0};
    int file = open_real(sys, path, O_DIRECTORY, real, ret_why);
    DIR *directory = file < 0 ? NULL : fdopendir(file);
    if (!directory) {
        if (file >= 0)
            close(file);
        return false;
    }
    while (ret_list->count < LIST_MAX && (entry = readdir(directory))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            strlen(entry->d_name) >= SYS_NAME)
            continue;
        if (ret_list->count == room) {
            room = room ? room * 2 : 32;
            char(*grown)[SYS_NAME] = realloc(ret_list->names, room * SYS_NAME);
            if (!grown) {
                why_set(ret_why, "out of memory");
                sys_list_free(ret_list);
                closedir(directory);
                return false;
            }
            ret_list->names = grown;
        }
        strcpy(ret_list->names[ret_list->count++], entry->d_name);
    }
    closedir(directory);
    if (ret_list->count)
        qsort(ret_list->names, ret_list->count, SYS_NAME, by_name);
    if (sys->watch)
        watch_list(sys->watch, real, ret_list);
    return true;
}

void sys_list_free(struct sys_list *list)
{
    free(list->names);
    *list = (struct sys_list){0};
}
