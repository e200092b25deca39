/* file.c: see file.h. */
#include "sim/load/file.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/core/suggest.h"

#define NAMES_MAX 256

int file_exists(const char *path)
{
    struct stat stats;
    return stat(path, &stats) == 0 && S_ISREG(stats.st_mode);
}

char *file_path(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *path = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!path)
        return NULL;
    va_start(args, format);
    vsnprintf(path, (size_t)length + 1, format, args);
    va_end(args);
    return path;
}

char *file_directory(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return file_path(".");
    return file_path("%.*s", slash == path ? 1 : (int)(slash - path), path);
}

enum status file_read(const char *path, size_t limit, char **ret_text, size_t *ret_length,
                      struct error *error)
{
    struct stat stats;
    if (stat(path, &stats) == 0 && S_ISDIR(stats.st_mode))
        return error_set(error, STATUS_INPUT, "%s is a directory", path);
    FILE *file = fopen(path, "rb");
    if (!file)
        return error_set(error, STATUS_INPUT, "cannot open %s: %s", path, strerror(errno));
    char *text = malloc(limit + 2);
    size_t length = text ? fread(text, 1, limit + 1, file) : 0;
    int failed = ferror(file);
    fclose(file);
    if (!text)
        return error_set(error, STATUS_NOMEM, "out of memory");
    if (failed || length > limit) {
        free(text);
        return error_set(error, STATUS_INPUT, failed ? "cannot read %s" : "%s is too large", path);
    }
    text[length] = '\0';
    *ret_text = text;
    *ret_length = length;
    return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

size_t file_names(const char *directory, const char *ending, char **ret_names, size_t most)
{
    size_t count = 0, tail = strlen(ending);
    DIR *folder = opendir(directory);
    for (struct dirent *entry; folder && count < most && (entry = readdir(folder));) {
        size_t length = strlen(entry->d_name);
        if (length <= tail || strcmp(entry->d_name + length - tail, ending) != 0)
            continue;
        ret_names[count] = file_path("%.*s", (int)(length - tail), entry->d_name);
        count += ret_names[count] != NULL;
    }
    if (folder)
        closedir(folder);
    qsort(ret_names, count, sizeof *ret_names, by_name);
    return count;
}

void file_near(const char *directory, const char *ending, const char *word, char *buffer,
               size_t size)
{
    char *names[NAMES_MAX];
    size_t count = file_names(directory, ending, names, NAMES_MAX), used = 0;
    const char *near = suggest_word(word, (const char *const *)names, count);
    *buffer = '\0';
    for (size_t i = 0; i < count && used < size; i++)
        if (names[i] == near || (*word && strstr(names[i], word)))
            used += (size_t)snprintf(buffer + used, size - used, "%s%s",
                                     used ? ", " : "did you mean ", names[i]);
    if (used > 0 && used < size)
        snprintf(buffer + used, size - used, "?");
    for (size_t i = 0; i < count; i++)
        free(names[i]);
}
