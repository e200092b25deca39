/* cmd_verify.c: gdsim verify: run a script's plan symbolically. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/verify.h"

static const char doc[] =
    "Prove that an algorithm script does what its collective promises, for so many ranks; or "
    "name the first thing that is wrong.\v"
    "Examples:\n"
    "  gdsim verify ring --ranks 8\n"
    "  gdsim verify my.lua --ranks 2-33 --gpus-per-node 1\n";

struct verify_options {
    const char *script;
    unsigned long first, last, gpus, root;
};

static const struct argp_option option_table[] = {
    {"ranks", 'n', "N|N-M", 0, "how many ranks, or each number from N to M (default 8)", 0},
    {"gpus-per-node", 'g', "N", 0, "what the script sees as p.gpus_per_node (default 1)", 0},
    {"root", 'r', "RANK", 0, "what the script sees as p.root (default 0)", 0},
    {0},
};

static unsigned long number(struct argp_state *state, const char *what, const char *arg,
                            const char **ret_end)
{
    char *end;
    unsigned long value = strtoul(arg, &end, 10);
    if (end == arg || *arg == '-' || value > MACHINE_MAX_RANKS)
        argp_error(state, "%s must be a whole number up to %u, not \"%s\"", what, MACHINE_MAX_RANKS,
                   arg);
    if (ret_end)
        *ret_end = end;
    else if (*end)
        argp_error(state, "%s must be a whole number, not \"%s\"", what, arg);
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct verify_options *options = state->input;
    const char *end;
    switch (key) {
    case 'n':
        options->first = options->last = number(state, "--ranks", arg, &end);
        if (*end == '-')
            options->last = number(state, "--ranks", end + 1, NULL);
        else if (*end)
            argp_error(state, "--ranks is a number or a range such as 2-33, not \"%s\"", arg);
        if (options->first < 1 || options->last < options->first)
            argp_error(state, "--ranks must be at least 1 and run upwards");
        return 0;
    case 'g':
        options->gpus = number(state, "--gpus-per-node", arg, NULL);
        return 0;
    case 'r':
        options->root = number(state, "--root", arg, NULL);
        return 0;
    case ARGP_KEY_ARG:
        if (options->script)
            argp_error(state, "one script at a time");
        options->script = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->script)
            argp_error(state, "which script?");
        if (options->gpus < 1)
            argp_error(state, "--gpus-per-node must be at least 1");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Returns the exit code for one number of ranks. */
static int verify_one(const char *path, const struct verify_options *options, uint32_t ranks)
{
    struct plan plan;
    struct verdict verdict;
    struct error error;
    if (cli_plan(path, ranks, (uint32_t)options->gpus, 1, (uint32_t)options->root, &plan, &error))
        return cli_fail(&error);
    int code = EXIT_FINE;
    if (verify_plan(&plan, &verdict, &error)) {
        if (error.line && !error.file[0])
            snprintf(error.file, sizeof error.file, "%s", plan.source);
        code = cli_fail(&error);
    } else if (verdict.correct) {
        printf("right: %s, %s, %u ranks, %llu steps, %llu transfers. %s\n", plan.name,
               collective_name(plan.collective), ranks, (unsigned long long)plan.steps,
               (unsigned long long)verdict.transfers, verdict.sentence);
    } else {
        printf("WRONG: %s, %s, %u ranks. %s", plan.name, collective_name(plan.collective), ranks,
               verdict.sentence);
        if (verdict.line)
            printf(" (%s:%u)", path, verdict.line);
        printf("\n");
        code = EXIT_RUN_FAILED;
    }
    plan_free(&plan);
    return code;
}

int cmd_verify(int argc, char **argv)
{
    struct verify_options options = {.first = 8, .last = 8, .gpus = 1};
    const struct argp argp = {
        .options = option_table, .parser = parse, .args_doc = "SCRIPT", .doc = doc};
    struct error error;
    char *path;
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    const char *root = cli_root();
    if (!root)
        return EXIT_RUN_FAILED;
    if (scenario_script_path(NULL, root, options.script, &path, &error))
        return cli_fail(&error);
    int code = EXIT_FINE;
    for (unsigned long ranks = options.first; ranks <= options.last; ranks++) {
        int one = verify_one(path, &options, (uint32_t)ranks);
        code = one > code ? one : code;
    }
    free(path);
    return code;
}
