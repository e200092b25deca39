/* cmd_list.c: gdsim list: what there is, from the tables themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/registry.h"
#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/load/file.h"

#define MOST_NAMES 256

static const char doc[] = "List what gdsim knows.\v"
                          "Examples:\n"
                          "  gdsim list mechanisms\n"
                          "  gdsim list presets     what a scenario can be laid on: extends: NAME\n"
                          "  gdsim list params      the schema page of scenarios/README.md\n";

static int list_mechanisms(void)
{
    for (size_t i = 0; i < mechanism_count; i++)
        printf("%-10s %s%s%s%s\n", mechanism_table[i].name, mechanism_table[i].summary,
               mechanism_table[i].algorithm ? " (brings lua/" : "",
               mechanism_table[i].algorithm ? mechanism_table[i].algorithm : "",
               mechanism_table[i].algorithm ? ".lua)" : "");
    return EXIT_FINE;
}

static int list_models(void)
{
    for (size_t i = 0; i < model_registry_count; i++)
        printf("%-12s %s\n             %s\n             source: %s\n", model_registry[i].name,
               model_registry[i].summary, model_registry[i].equation, model_registry[i].source);
    return EXIT_FINE;
}

/* What stands in the column `range`: the words that may stand there, or two ends. */
static void print_range(enum param_id id)
{
    const struct param_info *info = param_info(id);
    const char *const *words = param_words(id);
    char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
    if (!words)
        printf("%s to %s", param_format(id, info->minimum, low, sizeof low),
               param_format(id, info->maximum, high, sizeof high));
    for (size_t i = 0; words && words[i]; i++)
        printf("%s`%s`", i > 0 ? ", " : "", words[i]);
}

static int list_params(void)
{
    static const char *const expects[] = {
        [DIM_COUNT] = "whole number",
        [DIM_NUMBER] = "number",
        [DIM_FRACTION] = "0.85 or 85 %",
        [DIM_TIME] = "time, 6 us",
        [DIM_BYTES] = "size, 64 MiB",
        [DIM_RATE] = "rate, 25 GB/s",
        [DIM_BOOL] = "yes or no",
        [DIM_CHOICE] = "one of these words",
        [DIM_FLAGS] = "none, or these words joined by +",
    };
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        enum param_id first;
        size_t count;
        param_range((enum param_kind)kind, &first, &count);
        printf("\n### %s\n\n| key | takes | range | default | meaning | source of the default |\n"
               "|---|---|---|---|---|---|\n",
               param_kind_name((enum param_kind)kind));
        for (size_t i = 0; i < count; i++) {
            const enum param_id id = (enum param_id)(first + i);
            const struct param_info *info = param_info(id);
            char value[UNITS_TEXT_MAX];
            printf("| `%s` | %s | ", info->name, expects[info->dimension]);
            print_range(id);
            printf(" | %s | %s | %s |\n",
                   isnan(info->fallback) ? "must be given"
                                         : param_format(id, info->fallback, value, sizeof value),
                   info->help, info->source);
        }
    }
    return EXIT_FINE;
}

/* The comment at the top of a file, whose lines begin with `mark`, up to the first of `stops` that
 * a space or the end of a line follows. */
static void first_words(const char *path, const char *mark, const char *stops, char *words,
                        size_t size)
{
    const size_t skip = strlen(mark);
    char *text = NULL;
    size_t length, used = 0;
    struct error error;
    bool over = path == NULL || file_read(path, (size_t)1 << 20, &text, &length, &error);
    words[0] = '\0';
    for (const char *at = text; !over && strncmp(at, mark, skip) == 0;) {
        size_t line = strcspn(at, "\n"), take = skip;
        while (take < line && !over)
            if (strchr(stops, at[take]) && strchr(" \n", at[take + 1]))
                over = true;
            else
                take++;
        over = over || used + take + 2 > size;
        used += (size_t)snprintf(words + used, size - used, "%s%.*s", used ? " " : "",
                                 (int)(take - skip), at + skip);
        at += line + (at[line] == '\n');
    }
    free(text);
}

static int list_algorithms(void)
{
    char *names[MOST_NAMES], words[200];
    const char *root = cli_root();
    char *folder = root ? file_path("%s/lua", root) : NULL;
    size_t count = folder ? file_names(folder, ".lua", names, MOST_NAMES) : 0;
    for (size_t i = 0; i < count; i++) {
        char *path = file_path("%s/%s.lua", folder, names[i]);
        first_words(path, "-- ", ".:", words, sizeof words);
        printf("%-22s %s\n", names[i], words);
        free(path);
        free(names[i]);
    }
    free(folder);
    return count > 0 ? EXIT_FINE : EXIT_RUN_FAILED;
}

static int list_presets(void)
{
    char *names[MOST_NAMES], words[200];
    const char *root = cli_root();
    char *folder = root ? file_path("%s/models/catalog", root) : NULL;
    size_t count = folder ? file_names(folder, ".yaml", names, MOST_NAMES) : 0;
    for (size_t i = 0; i < count; i++) {
        char *path = file_path("%s/%s.yaml", folder, names[i]);
        first_words(path, "# ", ".", words, sizeof words);
        if (strncmp(words, "Part of presets", 15) != 0)
            printf("%-18s %s\n", names[i], words);
        free(path);
        free(names[i]);
    }
    free(folder);
    return count > 0 ? EXIT_FINE : EXIT_RUN_FAILED;
}

static const struct {
    const char *name;
    int (*list)(void);
} subjects[] = {{"mechanisms", list_mechanisms}, {"models", list_models},
                {"params", list_params},         {"parameters", list_params},
                {"algorithms", list_algorithms}, {"presets", list_presets}};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const char **subject = state->input;
    if (key == ARGP_KEY_ARG && !*subject) {
        *subject = arg;
        return 0;
    }
    if (key == ARGP_KEY_END && !*subject)
        argp_error(state, "list what? mechanisms, models, params, algorithms or presets");
    return ARGP_ERR_UNKNOWN;
}

int cmd_list(int argc, char **argv)
{
    const char *subject = NULL;
    cli_parse(argc, argv, NULL, parse, "mechanisms|models|params|algorithms|presets", doc,
              &subject);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++)
        if (strcmp(subjects[i].name, subject) == 0)
            return subjects[i].list();
    fprintf(stderr,
            "gdsim list: \"%s\" is not one of mechanisms, models, params, algorithms, presets\n",
            subject);
    return EXIT_BAD_INPUT;
}
