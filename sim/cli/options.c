/* options.c: options shared by the commands, and laying them on a scenario. See cli.h. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/load/file.h"
#include "sim/report/output.h"
#include "sim/script/script.h"

#define SCRIPT_LIMIT_B ((size_t)1 << 20)

enum { OPTION_STATS = 256 };

static const struct argp_option option_table[] = {
    {"set", 's', "KEY=VALUE", 0,
     "set any key of the scenario, e.g. nodes=16, or 'node.devices.nic*.rate=400 Gb/s': a star "
     "means "
     "all that fit",
     0},
    {"sizes", 'S', "LIST", 0,
     "message sizes instead of the scenario's, e.g. 1 MB,64 MiB or 8 B:1 GiB:x2", 0},
    {"accounting", 'a', "serial|pipelined", 0, "instead of the scenario's", 0},
    {"algorithm", 'A', "NAME|FILE", 0, "script instead of the scenario's", 0},
    {"mechanism", 'm', "NAME", 0, "this mechanism only", 0},
    {"protocol", 'P', "none|ll|ll128|simple|auto", 0,
     "NCCL's protocol, as --set engine.protocol=...", 0},
    {"walk", 'w', "auto|queue|order", 0,
     "auto: every shortcut that is exact (default); queue: every transfer, through the event "
     "queue; order: every transfer, without a queue where that is possible",
     0},
    {"stats", OPTION_STATS, NULL, 0, "say on stderr how each run was gone through", 0},
    {"format", 'f', "table|csv|json", 0, "how to print (default table)", 0},
    {"output", 'o', "FILE", 0, "write there instead of to the terminal", 0},
    {0},
};

static void add_set(struct argp_state *state, struct options *options, const char *set)
{
    if (options->set_count == CLI_MAX_SET)
        argp_error(state, "more than %d times --set", CLI_MAX_SET);
    options->set[options->set_count++] = set;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
    static const char *const protocols[] = {"engine.protocol=none", "engine.protocol=ll",
                                            "engine.protocol=ll128", "engine.protocol=simple",
                                            "engine.protocol=auto"};
    struct options *options = state->input;
    switch (key) {
    case 's':
        add_set(state, options, arg);
        return 0;
    case 'P':
        for (size_t i = 0; i < sizeof protocols / sizeof protocols[0]; i++)
            if (strcmp(strchr(protocols[i], '=') + 1, arg) == 0) {
                add_set(state, options, protocols[i]);
                return 0;
            }
        argp_error(state, "--protocol is none, ll, ll128, simple or auto, not \"%s\"", arg);
        return 0;
    case 'S':
        options->sizes = arg;
        return 0;
    case 'a':
        options->accounting = arg;
        return 0;
    case 'A':
        options->algorithm = arg;
        return 0;
    case 'm':
        options->mechanism = arg;
        return 0;
    case 'w':
        options->walk = arg;
        return 0;
    case OPTION_STATS:
        options->stats = true;
        return 0;
    case 'f':
        if (strcmp(arg, "table") != 0 && strcmp(arg, "csv") != 0 && strcmp(arg, "json") != 0)
            argp_error(state, "--format is table, csv or json, not \"%s\"", arg);
        options->format = arg;
        return 0;
    case 'o':
        options->output = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (options->file)
            argp_error(state, "one scenario at a time");
        options->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!options->file)
            argp_error(state, "which scenario?");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

void cli_parse(int argc, char **argv, const struct argp_option *table, argp_parser_t parser,
               const char *args_doc, const char *doc, void *input)
{
    const struct argp argp = {.options = table, .parser = parser, .args_doc = args_doc, .doc = doc};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, input);
}

void cli_parse_scenario(int argc, char **argv, const struct argp_option *table,
                        argp_parser_t parser, const char *doc, void *input)
{
    const struct argp shared = {.options = option_table, .parser = parse_option};
    const struct argp_child children[] = {{&shared, 0, NULL, 0}, {0}};
    const struct argp argp = {.options = table,
                              .parser = parser,
                              .args_doc = "SCENARIO.yaml",
                              .doc = doc,
                              .children = children};
    argp_err_exit_status = EXIT_BAD_INPUT;
    argp_parse(&argp, argc, argv, 0, NULL, input);
}

/* ---- errors --------------------------------------------------------------------------------- */

int cli_fail(const struct error *error)
{
    if (error->file[0] && error->line)
        fprintf(stderr, "%s:%u: %s\n", error->file, error->line, error->message);
    else if (error->file[0])
        fprintf(stderr, "%s: %s\n", error->file, error->message);
    else
        fprintf(stderr, "gdsim: %s\n", error->message);
    if (error->hint[0])
        fprintf(stderr, " hint: %s\n", error->hint);
    else if (mechanism_hangs(error))
        fprintf(stderr, " hint: gdsim check shows each path with its fix; gdsim whatif --each what "
                        "ends the hang\n");
    return error->status == STATUS_INPUT ? EXIT_BAD_INPUT : EXIT_RUN_FAILED;
}

int cli_fail_scenario(const struct scenario *scenario, enum status status)
{
    char *text = NULL;
    if (status == STATUS_NOMEM || diag_render(&scenario->diag, &text)) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    fputs(text, stderr);
    free(text);
    return EXIT_BAD_INPUT;
}

int cli_refuse_format(const struct options *options, const char *what)
{
    if (!options->format || strcmp(options->format, "table") == 0)
        return EXIT_FINE;
    fprintf(stderr, "gdsim: %s is text only: no --format %s\n", what, options->format);
    return EXIT_BAD_INPUT;
}

/* ---- where things are ----------------------------------------------------------------------- */

const char *cli_root(void)
{
    static char root[PATH_MAX]; /* found once; threads come later */
    if (root[0])
        return root;
    char exe[PATH_MAX - 64], resolved[PATH_MAX];
    const char *given = getenv("GDSIM_ROOT");
    ssize_t length = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(exe, '/');
    if (slash)
        *slash = '\0';
    /* Built in out/bin (or out/build/NAME/bin), or installed in PREFIX/bin. */
    const char *const steps[] = {"/../..", "/../../../..", "/../share/gdsim"};
    for (size_t i = 0; i < 1 + sizeof steps / sizeof steps[0]; i++) {
        char candidate[PATH_MAX], probe[PATH_MAX + 16];
        if (i == 0 && !given)
            continue;
        if (i == 0)
            snprintf(candidate, sizeof candidate, "%s", given);
        else
            snprintf(candidate, sizeof candidate, "%s%s", exe, steps[i - 1]);
        snprintf(probe, sizeof probe, "%s/lua/ring.lua", candidate);
        if (!file_exists(probe) || !realpath(candidate, resolved))
            continue;
        /* Relative where that is short, for messages that look the same on every machine. */
        char here[PATH_MAX];
        bool is_here = getcwd(here, sizeof here) && strcmp(here, resolved) == 0;
        snprintf(root, sizeof root, "%s", is_here ? "." : resolved);
        return root;
    }
    fprintf(stderr, "gdsim: cannot find its data (lua/ring.lua); set GDSIM_ROOT\n");
    return NULL;
}

/* ---- loading -------------------------------------------------------------------------------- */

static enum status apply(const struct options *options, struct scenario *scenario,
                         struct error *error)
{
    if (options->accounting) {
        if (strcmp(options->accounting, "serial") == 0)
            scenario->accounting = ACCOUNTING_SERIAL;
        else if (strcmp(options->accounting, "pipelined") == 0)
            scenario->accounting = ACCOUNTING_PIPELINED;
        else
            return error_set(error, STATUS_INPUT, "--accounting is serial or pipelined, not \"%s\"",
                             options->accounting);
    }
    if (options->mechanism) {
        const struct mechanism *mechanism = mechanism_find(options->mechanism);
        if (!mechanism) {
            error_set(error, STATUS_INPUT, "unknown mechanism \"%s\"", options->mechanism);
            return error_hint(error, "gdsim list mechanisms shows them");
        }
        scenario->mechanisms[0] = mechanism;
        scenario->mechanism_count = 1;
    }
    scenario->stats = options->stats;
    if (options->walk && walk_kind_find(options->walk, &scenario->walk, error))
        return error->status;
    return options->sizes ? scenario_set_sizes(scenario, options->sizes, error) : STATUS_OK;
}

/* A message that no GPU can hold is a mistake, or a question of what a rate would be: it runs. */
static void note_memory(const struct scenario *scenario)
{
    const struct node_type *node = &scenario->machine.node;
    const struct device *least = &node->devices[node->gpus[0]];
    double most_B = 0;
    char size[UNITS_TEXT_MAX], memory[UNITS_TEXT_MAX];
    for (size_t i = 0; i < scenario->size_count; i++)
        most_B = fmax(most_B, scenario->sizes_B[i]);
    for (size_t i = 1; i < node->gpu_count; i++)
        if (param_get(&node->devices[node->gpus[i]].params, PARAM_GPU_MEMORY) <
            param_get(&least->params, PARAM_GPU_MEMORY))
            least = &node->devices[node->gpus[i]];
    double memory_B = param_get(&least->params, PARAM_GPU_MEMORY);
    if (scenario->transfer_count > 0 || !(most_B > memory_B))
        return;
    const struct origin *origin = param_origin(&least->params, PARAM_GPU_MEMORY);
    fprintf(
        stderr,
        "# %s does not fit into a GPU: %s.memory is %s (%s), for message, result and all else\n",
        units_format(most_B, DIM_BYTES, size, sizeof size), least->name,
        units_format(memory_B, DIM_BYTES, memory, sizeof memory),
        origin->kind == ORIGIN_DEFAULT ? "assumed" : origin_kind_name(origin->kind));
}

int cli_load(const struct options *options, struct scenario *ret_scenario)
{
    struct error error;
    const char *root = cli_root();
    if (!root)
        return EXIT_RUN_FAILED;
    struct scenario_request request = {
        .path = options->file, .root = root, .set = options->set, .set_count = options->set_count};
    enum status status = scenario_load(&request, ret_scenario);
    int code = status ? cli_fail_scenario(ret_scenario, status) : EXIT_FINE;
    if (!code && apply(options, ret_scenario, &error))
        code = cli_fail(&error);
    if (code)
        scenario_free(ret_scenario);
    else if (!options->quiet) {
        fputs(ret_scenario->set_notes ? ret_scenario->set_notes : "", stderr);
        note_memory(ret_scenario);
    }
    return code;
}

int cli_write(const struct options *options, const struct text *text)
{
    struct error error;
    if (text->failed) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    if (output_write(options->output ? options->output : "-", text->data ? text->data : "",
                     text->length, &error))
        return cli_fail(&error);
    return EXIT_FINE;
}

/* ---- scripts -------------------------------------------------------------------------------- */

static void print_line(void *owner, const char *line)
{
    fprintf(stderr, "%s: %s\n", (const char *)owner, line);
}

enum status cli_plan(const char *path, uint32_t ranks, uint32_t gpus_per_node, uint32_t rails,
                     uint32_t nics, uint32_t root, struct plan *ret_plan, struct error *error)
{
    char *text, owner[256];
    size_t length;
    enum status status = file_read(path, SCRIPT_LIMIT_B, &text, &length, error);
    if (status)
        return status;
    snprintf(owner, sizeof owner, "%s", path);
    struct script_job job = {.name = path,
                             .text = text,
                             .length = length,
                             .ranks = ranks,
                             .gpus_per_node = gpus_per_node,
                             .rails = rails,
                             .nics = nics,
                             .root = root,
                             .print = print_line,
                             .owner = owner};
    status = script_plan(&job, ret_plan, error);
    free(text);
    return status;
}
