/* scenario.c: see scenario.h. Passes: read the tree, lay it on what it extends, lay --set on
 * that, read the typed values. */
#include "sim/load/scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/suggest.h"
#include "sim/core/units.h"
#include "sim/load/file.h"
#include "sim/load/scenario_read.h"

static const char *const top_keys[] = {
    "title", "about",  "extends",     "report",     "collective", "algorithm", "root",
    "nodes", "sizes",  "node",        "mechanisms", "accounting", "software",  "fabric",
    "sharp", "engine", "state",       "transfers",  "expect",     "guide",     "sweep",
    "data",  "fit",    "calibration", "odd",
};
#define TOP_KEYS (sizeof top_keys / sizeof top_keys[0])

const char *scenario_report_name(enum scenario_report report)
{
    static const char *const names[] = {"collective", "comparison", "crossings", "guide"};
    return names[report];
}

/* ---- the tree ------------------------------------------------------------------------------- */

struct stack {
    const char *path;
    const struct stack *below;
};

static enum status load_tree(const struct scenario_request *request, struct diag_list *diag,
                             const char *path, const struct stack *below,
                             struct yaml_tree **ret_tree);

/* "name" is a preset of the catalogue; "./x.yaml" or "x.yaml" stands beside the file. */
static char *extends_path(const struct scenario_request *request, const char *from,
                          const char *name)
{
    size_t length = strlen(name);
    bool is_file = strchr(name, '/') || (length > 5 && strcmp(name + length - 5, ".yaml") == 0);
    if (!is_file)
        return file_path("%s/models/catalog/%s.yaml", request->root, name);
    if (name[0] == '/')
        return file_path("%s", name);
    char *directory = file_directory(from);
    char *path = directory ? file_path("%s/%s", directory, name) : NULL;
    free(directory);
    return path;
}

/* A preset that lowers a link of another says what its machine is, not how it trained. */
static bool is_preset(const struct scenario_request *request, const char *path)
{
    static const char catalog[] = "/models/catalog/";
    size_t root = strlen(request->root);
    return strncmp(path, request->root, root) == 0 &&
           strncmp(path + root, catalog, sizeof catalog - 1) == 0;
}

static void no_file(const struct scenario_request *request, struct diag_list *diag,
                    const struct yaml_node *name, const char *path)
{
    char near[200] = "";
    char *catalog = is_preset(request, path) ? file_path("%s/models/catalog", request->root) : NULL;
    if (catalog)
        file_near(catalog, ".yaml", name->text, near, sizeof near);
    free(catalog);
    diag_add(diag, name->mark,
             near[0] ? near : "gdsim list presets shows presets; a file's name ends in .yaml",
             "there is no \"%s\" to extend (looked for %s)", name->text, path);
}

/* Lay the tree of one `extends` entry under what is there so far. */
static enum status extend(const struct scenario_request *request, struct diag_list *diag,
                          const struct stack *stack, const struct yaml_node *name,
                          struct yaml_tree **base)
{
    struct yaml_tree *tree = NULL;
    if (name->kind != YAML_TREE_SCALAR || name->length == 0)
        return diag_add(diag, name->mark, NULL, "extends takes names of presets or files");
    char *path = extends_path(request, stack->path, name->text);
    if (!path)
        return STATUS_NOMEM;
    size_t depth = 0;
    for (const struct stack *s = stack; s; s = s->below, depth++)
        if (strcmp(s->path, path) == 0 || depth == SCENARIO_MAX_EXTENDS) {
            enum status status =
                diag_add(diag, name->mark, NULL,
                         "\"%s\" extends itself, or too many files in a row", name->text);
            free(path);
            return status;
        }
    enum status status = STATUS_INPUT;
    if (!file_exists(path))
        no_file(request, diag, name, path);
    else
        status = load_tree(request, diag, path, stack, &tree);
    bool preset = is_preset(request, path);
    free(path);
    if (!status && *base) {
        const struct yaml_node *before = (*base)->root;
        status = yaml_tree_merge(*base, tree);
        if (!status)
            status = scenario_spread_stars(*base, tree->root, diag);
        yaml_tree_free(tree);
        if (!status && !preset)
            status = scenario_keep_sold(*base, before);
    } else if (!status) {
        *base = tree;
    }
    return status;
}

static enum status load_tree(const struct scenario_request *request, struct diag_list *diag,
                             const char *path, const struct stack *below,
                             struct yaml_tree **ret_tree)
{
    const struct stack stack = {path, below};
    struct yaml_tree *own = NULL, *base = NULL;
    enum status status = yaml_tree_load(path, &own, diag);
    if (!status && !below)
        status = scenario_set_extends(request, own, diag);
    if (status) {
        yaml_tree_free(own);
        return status;
    }
    const struct yaml_entry *extends = yaml_map_entry(own->root, "extends");
    if (!extends) {
        *ret_tree = own; /* a part of a list: its stars mean what it is laid on, too */
        return below ? STATUS_OK : scenario_spread_stars(own, own->root, diag);
    }
    const struct yaml_node *names = extends->value;
    if (names->kind == YAML_TREE_LIST)
        for (size_t i = 0; i < names->count && !status; i++)
            status = extend(request, diag, &stack, names->items[i], &base);
    else
        status = extend(request, diag, &stack, names, &base);
    const struct yaml_node *before = base ? base->root : NULL;
    if (!status && base)
        status = yaml_tree_merge(base, own);
    if (!status && base && base->root != before)
        base->root->mark = own->root->mark; /* what is missing is missing in this file */
    if (!status)
        status = scenario_spread_stars(base ? base : own, own->root, diag);
    if (!status && base && !is_preset(request, path))
        status = scenario_keep_sold(base, before);
    if (!status && base) {
        *ret_tree = base;
        yaml_tree_free(own);
    } else if (!status) {
        *ret_tree = own;
    } else {
        yaml_tree_free(own);
        yaml_tree_free(base);
    }
    return status;
}

/* ---- typed values --------------------------------------------------------------------------- */

static char *read_text(const struct object_reader *reader, struct yaml_node *root, const char *key)
{
    struct yaml_node *node = yaml_map_get(root, key);
    const char *text = node ? object_text(reader, node, key) : NULL;
    return text ? file_path("%s", text) : NULL;
}

/* The place of a word among `count` names; -1 with a mistake noted. */
static int read_choice(const struct object_reader *reader, const struct yaml_node *node,
                       const char *what, const char *const *names, size_t count)
{
    const char *text = object_text(reader, node, what);
    for (size_t i = 0; text && i < count; i++)
        if (strcmp(names[i], text) == 0)
            return (int)i;
    if (!text)
        return -1;
    char hint[256];
    const char *near = suggest_word(text, names, count);
    size_t used =
        (size_t)snprintf(hint, sizeof hint, near ? "did you mean \"%s\"?" : "one of", near);
    for (size_t i = 0; !near && i < count && used + 40 < sizeof hint; i++)
        used += (size_t)snprintf(hint + used, sizeof hint - used, "%s %s", i ? "," : "", names[i]);
    diag_add(reader->diag, node->mark, hint, "unknown %s \"%s\"", what, text);
    return -1;
}

static void read_mechanisms(const struct object_reader *reader, const struct yaml_node *node,
                            struct scenario *scenario)
{
    const char *names[SCENARIO_MAX_MECHANISMS];
    for (size_t i = 0; i < mechanism_count; i++)
        names[i] = mechanism_table[i].name;
    if (node->kind != YAML_TREE_LIST || node->count == 0 || node->count > SCENARIO_MAX_MECHANISMS) {
        diag_add(reader->diag, node->mark, "write for example mechanisms: [staged, gdr]",
                 "mechanisms must be a list of 1 to %d names", SCENARIO_MAX_MECHANISMS);
        return;
    }
    scenario->mechanism_count = 0;
    for (size_t i = 0; i < node->count; i++) {
        int at = read_choice(reader, node->items[i], "mechanism", names, mechanism_count);
        for (size_t j = 0; at >= 0 && j < scenario->mechanism_count; j++)
            if (scenario->mechanisms[j] == &mechanism_table[at]) {
                diag_add(reader->diag, node->items[i]->mark, NULL,
                         "mechanism \"%s\" is named twice", mechanism_table[at].name);
                at = -1;
            }
        if (at >= 0)
            scenario->mechanisms[scenario->mechanism_count++] = &mechanism_table[at];
    }
}

enum status scenario_check_size(double size_B, struct error *error)
{
    if (size_B > 1e15)
        return error_set(error, STATUS_INPUT, "a message has at most 1 PB");
    if (size_B > 0)
        return STATUS_OK;
    error_set(error, STATUS_INPUT, "a message of 0 B moves nothing");
    return error_hint(error, "latency shows at the smallest sizes: 8 B");
}

static enum status add_size(struct scenario *scenario, double size_B, struct error *error)
{
    if (scenario_check_size(size_B, error))
        return error->status;
    if (scenario->size_count == SCENARIO_MAX_SIZES)
        return error_set(error, STATUS_INPUT, "more than %d sizes", SCENARIO_MAX_SIZES);
    double *grown =
        realloc(scenario->sizes_B, (scenario->size_count + 1) * sizeof *scenario->sizes_B);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    scenario->sizes_B = grown;
    grown[scenario->size_count++] = size_B;
    return STATUS_OK;
}

static enum status add_row(struct scenario *scenario, double from_B, double to_B, double times,
                           struct error *error)
{
    if (!(from_B > 0) || !(to_B >= from_B) || !(times >= 1.01))
        return error_set(error, STATUS_INPUT,
                         "sizes must run upwards: 0 < from <= to, and times at least 1.01");
    enum status status = STATUS_OK;
    for (double size_B = from_B; size_B <= to_B * (1 + 1e-12) && !status; size_B *= times)
        status = add_size(scenario, size_B, error);
    return status;
}

/* Length of what stands before the separator, without spaces round it; *at moves to its start. */
static size_t piece(const char **at, char separator, const char **ret_next)
{
    *ret_next = *at + strcspn(*at, (const char[]){separator, ',', '\0'});
    *at += strspn(*at, " ");
    size_t length = *ret_next > *at ? (size_t)(*ret_next - *at) : 0;
    while (length > 0 && (*at)[length - 1] == ' ')
        length--;
    return length;
}

/* "1 MB", "8 B:1 GiB" or "8 B:1 GiB:x4". */
static enum status add_item(struct scenario *scenario, const char *at, const char **ret_next,
                            struct error *error)
{
    static const char *const form = "a row of sizes is FROM:TO or FROM:TO:xFACTOR";
    double value[3] = {0, 0, 2};
    int count = 0;
    for (bool more = true; more; count++) {
        size_t length = piece(&at, ':', ret_next);
        if (count == 3 || (count == 2 && *at != 'x'))
            return error_set(error, STATUS_INPUT, "%s", form);
        enum status status =
            count < 2 ? units_parse(at, length, DIM_BYTES, &value[count], error)
                      : units_parse(at + 1, length - 1, DIM_NUMBER, &value[count], error);
        if (status)
            return status;
        more = **ret_next == ':';
        at = *ret_next + more;
    }
    return count == 1 ? add_size(scenario, value[0], error)
                      : add_row(scenario, value[0], value[1], value[2], error);
}

enum status scenario_set_sizes(struct scenario *scenario, const char *text, struct error *error)
{
    scenario->size_count = 0;
    for (const char *at = text, *next;; at = next + 1) {
        enum status status = add_item(scenario, at, &next, error);
        if (status || *next == '\0')
            return status;
    }
}

/* `sizes: [1 MB, 8 MB]` or `sizes: {from: 8 B, to: 1 GiB, times: 2}`. */
static void read_sizes(const struct object_reader *reader, struct yaml_node *node,
                       struct scenario *scenario)
{
    static const char *const keys[] = {"from", "to", "times"};
    struct error error;
    if (node->kind == YAML_TREE_LIST && node->count > 0) {
        for (size_t i = 0; i < node->count; i++) {
            const struct yaml_node *item = node->items[i];
            const char *text = object_text(reader, item, "a size");
            double size_B;
            if (text && (units_parse(text, item->length, DIM_BYTES, &size_B, &error) ||
                         add_size(scenario, size_B, &error)))
                diag_add_error(reader->diag, item->mark, &error);
        }
        return;
    }
    double range[3] = {0, 0, 2};
    if (node->kind != YAML_TREE_MAP) {
        diag_add(reader->diag, node->mark,
                 "write [1 MB, 64 MB], or {from: 8 B, to: 1 GiB, times: 2}",
                 "sizes must be a list, or say from, to and times");
        return;
    }
    if (yaml_check_keys(node, keys, 3, "sizes", reader->diag))
        return;
    for (int i = 0; i < 3; i++) {
        const struct yaml_node *value = yaml_map_get(node, keys[i]);
        if (!value && i < 2) {
            diag_add(reader->diag, node->mark, "write sizes: {from: 8 B, to: 1 GiB, times: 2}",
                     "sizes has no \"%s\"", keys[i]);
            return;
        }
        if (!value)
            continue;
        if (value->kind != YAML_TREE_SCALAR ||
            units_parse(value->text, value->length, i < 2 ? DIM_BYTES : DIM_NUMBER, &range[i],
                        &error)) {
            if (value->kind != YAML_TREE_SCALAR)
                error_set(&error, STATUS_INPUT, "\"%s\" must be one value", keys[i]);
            diag_add_error(reader->diag, value->mark, &error);
            return;
        }
    }
    if (add_row(scenario, range[0], range[1], range[2], &error))
        diag_add_error(reader->diag, node->mark, &error);
}

/* A title that counts nodes or ranks must do so also after --set: {nodes} and {ranks} are written
 * as numbers. */
static void fill_title(const struct object_reader *reader, struct yaml_node *root,
                       struct scenario *scenario)
{
    const struct machine *machine = &scenario->machine;
    const struct {
        const char *word;
        uint32_t number;
    } words[] = {{"{nodes}", machine->node_count}, {"{ranks}", machine_ranks(machine)}};
    struct yaml_node *node = yaml_map_get(root, "title");
    for (char *at = scenario->title; at && (at = strchr(at, '{'));) {
        char *fresh = NULL;
        size_t offset = (size_t)(at - scenario->title);
        for (size_t i = 0; i < sizeof words / sizeof words[0] && !fresh; i++)
            if (strncmp(at, words[i].word, strlen(words[i].word)) == 0)
                fresh = file_path("%.*s%u%s", (int)offset, scenario->title, words[i].number,
                                  at + strlen(words[i].word));
        if (!fresh) {
            diag_add(reader->diag, node->mark, "write {nodes} or {ranks}, or no brace",
                     "title: what stands after { is no number that a title can show");
            return;
        }
        free(scenario->title);
        scenario->title = fresh;
        at = scenario->title + offset;
    }
}

static void read_values(const struct object_reader *reader, struct yaml_node *root,
                        struct scenario *scenario)
{
    static const char *const reports[] = {"collective", "comparison", "crossings", "guide"};
    static const char *const accountings[] = {"serial", "pipelined"};
    const char *collectives[COLLECTIVE_TRANSFERS];
    for (int i = 0; i < COLLECTIVE_TRANSFERS; i++)
        collectives[i] = collective_name((enum collective)i);
    yaml_check_keys(root, top_keys, TOP_KEYS, NULL, reader->diag);
    if (root->kind != YAML_TREE_MAP)
        return;
    scenario->title = read_text(reader, root, "title");
    scenario->about = read_text(reader, root, "about");
    scenario->algorithm = read_text(reader, root, "algorithm");
    struct yaml_node *node = yaml_map_get(root, "report");
    int at = node ? read_choice(reader, node, "report", reports, 4) : -1;
    scenario->report = at > 0 ? (enum scenario_report)at : REPORT_COLLECTIVE;
    node = yaml_map_get(root, "accounting");
    at = node ? read_choice(reader, node, "accounting", accountings, 2) : -1;
    scenario->accounting = at == 0 ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED;
    node = yaml_map_get(root, "collective");
    at = node ? read_choice(reader, node, "collective", collectives, COLLECTIVE_TRANSFERS) : -1;
    scenario->collective = at > 0 ? (enum collective)at : COLLECTIVE_ALLREDUCE;
    node = yaml_map_get(root, "mechanisms");
    if (node)
        read_mechanisms(reader, node, scenario);
    else
        diag_add(reader->diag, root->mark, "write for example mechanisms: [gdr]",
                 "the scenario names no mechanisms");
    node = yaml_map_get(root, "sizes");
    if (node)
        read_sizes(reader, node, scenario);
    else if (scenario->report != REPORT_CROSSINGS)
        diag_add(reader->diag, root->mark, "write for example sizes: [1 MB, 64 MB]",
                 "the scenario names no sizes");
    scenario_read_machine(reader, root, scenario);
    fill_title(reader, root, scenario);
    if (scenario->transfer_count > 0) {
        scenario->collective = COLLECTIVE_TRANSFERS;
        node = yaml_map_get(root, "algorithm");
        if (node)
            diag_add(reader->diag, node->mark, NULL,
                     "a scenario has an algorithm or transfers, not both");
    }
    double rank;
    node = yaml_map_get(root, "root");
    if (node && object_integer(reader, node, "root", 0,
                               (double)machine_ranks(&scenario->machine) - 1, &rank))
        scenario->root_rank = (uint32_t)rank;
}

enum status scenario_load(const struct scenario_request *request, struct scenario *ret_scenario)
{
    struct scenario *scenario = ret_scenario;
    memset(scenario, 0, sizeof *scenario);
    diag_init(&scenario->diag);
    machine_init(&scenario->machine);
    scenario->path = file_path("%s", request->path);
    if (!scenario->path)
        return STATUS_NOMEM;
    enum status status = load_tree(request, &scenario->diag, request->path, NULL, &scenario->tree);
    const struct yaml_node *before = status ? NULL : scenario->tree->root;
    if (!status)
        status = scenario_apply_set(request, scenario);
    if (!status)
        status = scenario_keep_sold(scenario->tree, before);
    if (status)
        return status;
    struct object_reader reader = {&scenario->diag, diag_intern(&scenario->diag, request->path)};
    read_values(&reader, scenario->tree->root, scenario);
    return diag_count(&scenario->diag) > 0 ? STATUS_INPUT : STATUS_OK;
}

void scenario_free(struct scenario *scenario)
{
    if (!scenario)
        return;
    machine_free(&scenario->machine);
    yaml_tree_free(scenario->tree);
    diag_free(&scenario->diag);
    free(scenario->path);
    free(scenario->title);
    free(scenario->about);
    free(scenario->algorithm);
    free(scenario->transfers);
    free(scenario->sizes_B);
    free(scenario->set_notes);
    memset(scenario, 0, sizeof *scenario);
}

enum status scenario_script_path(const struct scenario *scenario, const char *root,
                                 const char *algorithm, char **ret_path, struct error *error)
{
    size_t length = strlen(algorithm);
    bool is_file =
        strchr(algorithm, '/') || (length > 4 && strcmp(algorithm + length - 4, ".lua") == 0);
    char *path;
    if (!is_file) {
        path = file_path("%s/lua/%s.lua", root, algorithm);
    } else {
        path = file_path("%s", algorithm);
        if (path && scenario && algorithm[0] != '/' && !file_exists(path)) {
            char *directory = file_directory(scenario->path);
            free(path);
            path = directory ? file_path("%s/%s", directory, algorithm) : NULL;
            free(directory);
        }
    }
    if (!path)
        return error_set(error, STATUS_NOMEM, "out of memory");
    if (!file_exists(path)) {
        error_set(error, STATUS_INPUT, "there is no algorithm \"%s\" (looked for %s)", algorithm,
                  path);
        char near[200] = "";
        char *scripts = is_file ? NULL : file_path("%s/lua", root);
        if (scripts)
            file_near(scripts, ".lua", algorithm, near, sizeof near);
        free(scripts);
        error_hint(error, "%s",
                   near[0] ? near
                           : "gdsim list algorithms shows them; the name of a file ends in .lua");
        free(path);
        return STATUS_INPUT;
    }
    *ret_path = path;
    return STATUS_OK;
}
