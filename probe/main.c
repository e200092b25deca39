/* main.c: the table of commands. */
#include <stdio.h>
#include <string.h>

#include "probe/cmd.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"facts", cmd_facts, "what this machine is and can do, as a report or as YAML for gdsim"},
    {"doctor", cmd_doctor, "whether each fast path can engage here: evidence, checks, fixes"},
    {"capture", cmd_capture, "copy what these two read into a directory, to ask it elsewhere"},
    {"bench", cmd_bench, "measure what transfers cost, and what the counters show meanwhile"},
    {"watch", cmd_watch, "run a command and say which way its bytes took"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void usage(FILE *to)
{
    fprintf(to, "Usage: gdprobe COMMAND [ARGUMENTS]\n"
                "Does the fast path of GPUDirect engage on this machine? Evidence, not absence of "
                "errors.\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n  gdprobe COMMAND --help    options and an example\n");
}

int main(int argc, char **argv)
{
    char name[32];
    if (argc < 2) {
        usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return EXIT_FINE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        snprintf(name, sizeof name, "gdprobe %s", commands[i].name);
        argv[1] = name;
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "gdprobe: unknown command \"%s\"\nTry gdprobe --help.\n", argv[1]);
    return EXIT_BAD_INPUT;
}
