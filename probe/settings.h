/* settings.h: NCCL's settings, which decide over paths without a word: variables of the environment
 * (those of the shell that gdprobe runs in; in a captured tree the file gdprobe/environment) and
 * /etc/nccl.conf. The environment wins, as in NCCL. */
#ifndef GDPROBE_SETTINGS_H
#define GDPROBE_SETTINGS_H

#include "probe/sys.h"

struct settings {
    char *environment; /* lines NAME=VALUE, sorted, of NCCL_*; NULL: unknown */
    char *file;        /* /etc/nccl.conf; NULL: not there */
    struct why why;    /* why the environment is unknown */
};

void settings_read(const struct sys *sys, struct settings *ret_settings);
void settings_free(struct settings *settings);

enum { SETTING_VALUE = 64 };
/* The value of a variable and where it is set ("environment"); false when it is not set. */
bool settings_find(const struct settings *settings, const char *name, char ret_value[SETTING_VALUE],
                   const char **ret_where);

#endif
