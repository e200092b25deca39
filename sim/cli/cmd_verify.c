/* cmd_verify.c: gdsim verify: run a script's plan symbolically. */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/core/verify.h"

static const char doc[] =
    "Prove that an algorithm script does what its collective promises, for so many ranks; or "
    "name the first thing that is wrong.\v"
    "Examples:\n"
    "  gdsim verify ring --ranks 8\n"
    "  gdsim verify my.lua --ranks 2-33 --gpus-per-node 1\n"
    "  gdsim verify --all     every script in lua/, for 1 to 33, 64 and 256 ranks and nodes of\n"
    "                         1, 2, 4 and 8 GPUs\n";

struct verify_options {
    const char *script;
    bool all, chosen; /* chosen: which ranks, nodes or root */
    unsigned long first, last, gpus, rails, root;
};

static const struct argp_option option_table[] = {
    {"ranks", 'n', "N|N-M", 0, "how many ranks, or each number from N to M (default 8)", 0},
    {"gpus-per-node", 'g', "N", 0, "what the script sees as p.gpus_per_node (default 1)", 0},
    {"rails", 'R', "N", 0, "what the script sees as p.rails (default 1)", 0},
    {"root", 'r', "RANK", 0, "what the script sees as p.root (default 0)", 0},
    {"all", 'a', NULL, 0, "every script in lua/, one line each", 0},
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
        options->chosen = true;
        return 0;
    case 'g':
        options->gpus = number(state, "--gpus-per-node", arg, NULL);
        options->chosen = true;
        return 0;
    case 'R':
        options->rails = number(state, "--rails", arg, NULL);
        return 0;
    case 'r':
        options->root = number(state, "--root", arg, NULL);
        options->chosen = true;
        return 0;
    case 'a':
        options->all = true;
        return 0;
    case ARGP_KEY_ARG:
        if (options->script)
            argp_error(state, "one script at a time");
        options->script = arg;
        return 0;
    case ARGP_KEY_END:
        if (options->all && options->script)
            argp_error(state, "--all takes no script: it proves all of lua/");
        if (options->all && options->chosen)
            argp_error(state, "--all chooses ranks, nodes and roots itself");
        if (!options->all && !options->script)
            argp_error(state, "which script?");
        if (options->gpus < 1 || options->rails < 1)
            argp_error(state, "--gpus-per-node and --rails must be at least 1");
        if (options->first / options->gpus == options->last / options->gpus &&
            options->first % options->gpus != 0)
            argp_error(state, "%lu%s%.0lu ranks are no whole nodes of %lu GPUs", options->first,
                       options->last > options->first ? " to " : "",
                       options->last > options->first ? options->last : 0, options->gpus);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* "ring, allreduce, 8 ranks", and for which sizes if a script has several plans. */
static void print_subject(const struct plan *plan, const struct plan *smaller)
{
    char size[UNITS_TEXT_MAX];
    printf("%s, %s, %u ranks", plan->name, collective_name(plan->collective), plan->ranks);
    if (plan->larger)
        printf(", up to %s", units_format(plan->up_to_B, DIM_BYTES, size, sizeof size));
    else if (smaller)
        printf(", above %s", units_format(smaller->up_to_B, DIM_BYTES, size, sizeof size));
}

static void print_buffer(const struct plan *plan, const struct buffer_need *need)
{
    if (need->chunks == 0)
        printf(" Needs no buffer");
    else
        printf(" Needs %llu chunks of buffer at rank %u", (unsigned long long)need->chunks,
               need->rank);
    if (need->ranks < plan->ranks)
        printf(" (%u ranks looked at)", need->ranks);
    printf(".\n");
}

/* Verify the plan of a script, or each of its plans for ranges of sizes. Prints what is wrong, and
 * if `all` what is right; returns the exit code. */
static int judge(const struct plan *plan, const char *path, bool all)
{
    int code = EXIT_FINE;
    const struct plan *smaller = NULL;
    for (const struct plan *at = plan; at; smaller = at, at = at->larger) {
        struct verdict verdict;
        struct error error;
        if (verify_plan(at, &verdict, &error)) {
            if (!error.file[0])
                snprintf(error.file, sizeof error.file, "%s", plan->source);
            return cli_fail(&error);
        }
        if (verdict.correct && !all)
            continue;
        printf("%s: ", verdict.correct ? "right" : verdict.unbounded ? "UNBOUNDED" : "WRONG");
        print_subject(at, smaller);
        if (verdict.correct) {
            printf(", %llu steps, %llu transfers. %s", (unsigned long long)at->steps,
                   (unsigned long long)verdict.transfers, verdict.sentence);
            print_buffer(at, &verdict.buffer);
            continue;
        }
        printf(". %s", verdict.sentence);
        if (verdict.line)
            printf(" (%s:%u)", path, verdict.line);
        printf("\n");
        code = EXIT_RUN_FAILED;
    }
    return code;
}

/* Returns the exit code for one number of ranks. */
static int verify_one(const char *path, const struct verify_options *options, uint32_t ranks)
{
    struct plan plan;
    struct error error;
    if (cli_plan(path, ranks, (uint32_t)options->gpus, (uint32_t)options->rails, 0,
                 (uint32_t)options->root, &plan, &error))
        return cli_fail(&error);
    int code = judge(&plan, path, true);
    plan_free(&plan);
    return code;
}

/* ---- --all ---------------------------------------------------------------------------------- */

/* What one script came to so far. */
struct tally {
    const char *path;
    uint32_t rails;
    char name[64];
    enum collective collective;
    unsigned right, refused;
    char reason[512]; /* of the first refusal */
    int code;         /* not 0: something is wrong, and was said */
};

/* One more case. Returns the roots that make sense for the script; 1 for most. */
static uint32_t verify_case(struct tally *tally, uint32_t ranks, uint32_t gpus, uint32_t root)
{
    struct plan plan;
    struct error error;
    enum status status = cli_plan(tally->path, ranks, gpus, tally->rails, 0, root, &plan, &error);
    if (status == STATUS_INPUT) { /* counted: a script may serve powers of two only */
        if (tally->refused++ == 0)
            snprintf(tally->reason, sizeof tally->reason, "%s", error.message);
        return 1;
    }
    if (status) {
        tally->code = cli_fail(&error);
        return 1;
    }
    snprintf(tally->name, sizeof tally->name, "%s", plan.name);
    tally->collective = plan.collective;
    tally->code = judge(&plan, tally->path, false);
    tally->right += tally->code == EXIT_FINE;
    bool rooted = plan.collective == COLLECTIVE_BROADCAST || plan.collective == COLLECTIVE_REDUCE;
    plan_free(&plan);
    return rooted ? ranks : 1;
}

/* All sizes of nodes that divide so many ranks; of the roots the first, middle and last. */
static void verify_ranks(struct tally *tally, uint32_t ranks)
{
    for (uint32_t gpus = 1; gpus <= 8; gpus *= 2) {
        if (ranks % gpus != 0)
            continue;
        uint32_t roots = 1;
        for (uint32_t root = 0; root < roots && !tally->code;) {
            roots = verify_case(tally, ranks, gpus, root);
            root = root < roots / 2 ? roots / 2 : root < roots - 1 ? roots - 1 : roots;
        }
    }
}

static int verify_script(const char *path, uint32_t rails)
{
    struct tally tally = {.path = path, .rails = rails};
    for (uint32_t ranks = 1; ranks <= 33 && !tally.code; ranks++)
        verify_ranks(&tally, ranks);
    for (uint32_t ranks = 64; ranks <= 256 && !tally.code; ranks *= 4)
        verify_ranks(&tally, ranks);
    if (tally.code)
        return tally.code;
    if (tally.right == 0) {
        printf("REFUSED: %s, all %u cases: %s\n", path, tally.refused, tally.reason);
        return EXIT_BAD_INPUT;
    }
    printf("right: %s, %s, %u cases", tally.name, collective_name(tally.collective), tally.right);
    if (tally.refused)
        printf("; refused: %u (the first: %s)", tally.refused, tally.reason);
    printf("\n");
    return EXIT_FINE;
}

static int verify_all(const char *root, uint32_t rails)
{
    char pattern[4200];
    glob_t found = {0};
    int code = EXIT_FINE;
    snprintf(pattern, sizeof pattern, "%s/lua/*.lua", root);
    if (glob(pattern, 0, NULL, &found) != 0) {
        struct error error;
        error_set(&error, STATUS_FAILED, "there are no scripts in %s/lua", root);
        code = cli_fail(&error);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        int one = verify_script(found.gl_pathv[i], rails);
        fflush(stdout); /* errors go elsewhere: keep the order of the scripts */
        code = one > code ? one : code;
    }
    globfree(&found);
    return code;
}

int cmd_verify(int argc, char **argv)
{
    struct verify_options options = {.first = 8, .last = 8, .gpus = 1, .rails = 1};
    struct error error;
    char *path;
    cli_parse(argc, argv, option_table, parse, "SCRIPT\n--all", doc, &options);
    const char *root = cli_root();
    if (!root)
        return EXIT_RUN_FAILED;
    if (options.all)
        return verify_all(root, (uint32_t)options.rails);
    if (scenario_script_path(NULL, root, options.script, &path, &error))
        return cli_fail(&error);
    int code = EXIT_FINE;
    unsigned long start = (options.first + options.gpus - 1) / options.gpus * options.gpus;
    if (options.gpus > 1 && options.first < options.last)
        fprintf(stderr, "# only multiples of %lu: nodes are alike\n", options.gpus);
    for (unsigned long ranks = start; ranks <= options.last; ranks += options.gpus) {
        int one = verify_one(path, &options, (uint32_t)ranks);
        code = one > code ? one : code;
    }
    free(path);
    return code;
}
