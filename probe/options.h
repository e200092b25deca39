/* options.h: what the commands that read the machine have in common. */
#ifndef GDPROBE_OPTIONS_H
#define GDPROBE_OPTIONS_H

#include <stdio.h>

#include "probe/sys.h"

struct options {
    const char *sysroot; /* NULL: this machine */
    const char *output;  /* NULL: standard output */
    double timeout_s;    /* of each question to a driver */
    const char *operand; /* NULL: none was given */
    bool yaml;           /* --yaml */
    bool quiet;          /* -q */
};

#define OPTIONS_HELP                                                                               \
    "  -r, --sysroot DIR    read a captured tree (gdprobe capture), and nothing outside of it\n"   \
    "  -t, --timeout SECONDS  to wait for each answer of a driver (default 20)\n"                  \
    "      --lib-dir DIR    take vendors' libraries from DIR alone\n"                              \
    "  -h, --help           this text\n"

/* Reads argv; `allowed` holds the letters of further options that the command takes: o (-o FILE),
 * y (--yaml), q (--quiet), 1 (one operand). True to go on; else *ret_code is the exit code. */
bool options_read(int argc, char **argv, const char *allowed, const char *help,
                  struct options *ret_options, struct sys *ret_sys, int *ret_code);

/* Write to `path` through a name of its own that is renamed at the end, so that no half file stays;
 * NULL is standard output. False with the error printed. */
bool options_write(const char *command, const char *path, void (*write)(void *what, FILE *to),
                   void *what);

#endif
