/* settings.c: see settings.h. */
#include "probe/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPTURED "/gdprobe/environment"

extern char **environ;

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A value may hold a line break, which would look like another variable. */
static char *own_environment(struct why *why)
{
    char *text = NULL, **names = NULL;
    size_t length, count = 0;
    for (char **at = environ; at && *at; at++)
        count += strncmp(*at, "NCCL_", 5) == 0 && !strchr(*at, '\n');
    names = malloc((count + 1) * sizeof *names);
    FILE *to = names ? open_memstream(&text, &length) : NULL;
    if (!to) {
        why_set(why, "out of memory");
        free(names);
        return NULL;
    }
    count = 0;
    for (char **at = environ; at && *at; at++)
        if (strncmp(*at, "NCCL_", 5) == 0 && !strchr(*at, '\n'))
            names[count++] = *at;
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%s\n", names[i]);
    free(names);
    if (fclose(to) != 0) {
        why_set(why, "out of memory");
        free(text);
        return NULL;
    }
    return text;
}

void settings_read(const struct sys *sys, struct settings *ret_settings)
{
    *ret_settings = (struct settings){0};
    ret_settings->environment = sys_is_captured(sys) ? sys_text(sys, CAPTURED, &ret_settings->why)
                                                     : own_environment(&ret_settings->why);
    ret_settings->file = sys_text(sys, "/etc/nccl.conf", NULL);
}

void settings_free(struct settings *settings)
{
    free(settings->environment);
    free(settings->file);
    *settings = (struct settings){0};
}

static bool find(const char *text, const char *name, char ret_value[SETTING_VALUE])
{
    size_t length = strlen(name);
    for (const char *at = text; at && *at; at += strcspn(at, "\n"), at += *at == '\n') {
        at += strspn(at, " \t");
        if (strncmp(at, name, length) != 0 || at[length] != '=')
            continue;
        const char *value = at + length + 1;
        size_t used = strcspn(value, " \t\r\n#");
        snprintf(ret_value, SETTING_VALUE, "%.*s",
                 (int)(used < SETTING_VALUE ? used : SETTING_VALUE - 1), value);
        return true;
    }
    return false;
}

bool settings_find(const struct settings *settings, const char *name, char ret_value[SETTING_VALUE],
                   const char **ret_where)
{
    *ret_where = "environment";
    if (find(settings->environment, name, ret_value))
        return true;
    *ret_where = "/etc/nccl.conf";
    return find(settings->file, name, ret_value);
}
