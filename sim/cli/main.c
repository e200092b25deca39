/* main.c: the table of commands. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/suggest.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"run", cmd_run, "run a scenario and print its table, CSV or JSON"},
    {"explain", cmd_explain, "show the working of one cell, so that it can be redone by hand"},
    {"verify", cmd_verify, "prove that an algorithm script is right, or name what is wrong"},
    {"check", cmd_check, "say which path each transfer takes, why, and what mends it"},
    {"whatif", cmd_whatif, "before and after a change; --each tries every remedy and ranks them"},
    {"compare", cmd_compare, "put algorithms on mechanisms beside each other over sizes"},
    {"crossover", cmd_crossover, "find where along an axis the faster of two ways changes"},
    {"sweep", cmd_sweep, "run every combination along axes, on all cores, into one file"},
    {"merge", cmd_merge, "put the parts of a sweep together"},
    {"validate", cmd_validate, "compare predictions with published measurements"},
    {"overlay", cmd_overlay, "measured beside predicted, and what would explain the difference"},
    {"calibrate", cmd_calibrate,
     "fit named parameters to measured runs and write them as a preset"},
    {"import", cmd_import, "read NCCL XML, topo -m, lspci or gdprobe facts into a scenario"},
    {"nccl", cmd_nccl, "NCCL's own choice of algorithm and protocol, and whether a log agrees"},
    {"list", cmd_list, "list mechanisms, models, parameters, algorithms or presets"},
};
#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void usage(FILE *to)
{
    fprintf(to, "Usage: gdsim COMMAND [ARGUMENTS]\n"
                "What does GPU data movement cost, and which path does it take?\n\n");
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(to, "\n  gdsim run scenarios/worked-table.yaml\n"
                "  gdsim COMMAND --help    options, defaults and an example\n");
}

/* argp calls the program by argv[0]; let that name the command too. */
static int run_command(size_t command, int argc, char **argv)
{
    char name[32];
    snprintf(name, sizeof name, "gdsim %s", commands[command].name);
    argv[0] = name;
    return commands[command].run(argc, argv);
}

int main(int argc, char **argv)
{
    setlocale(LC_CTYPE, ""); /* names may be UTF-8; numbers stay in the C locale */
    if (argc < 2) {
        usage(stderr);
        return EXIT_BAD_INPUT;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        usage(stdout);
        return EXIT_FINE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return run_command(i, argc - 1, argv + 1);
    const char *names[COMMAND_COUNT];
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        names[i] = commands[i].name;
    const char *near = suggest_word(argv[1], names, COMMAND_COUNT);
    fprintf(stderr, "gdsim: unknown command \"%s\"", argv[1]);
    if (near)
        fprintf(stderr, "; did you mean \"%s\"?", near);
    fprintf(stderr, "\nTry gdsim --help.\n");
    return EXIT_BAD_INPUT;
}
