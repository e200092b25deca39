/* scenario_set.c: --set, laid on the tree of a scenario. See scenario_read.h.
 *
 * A key of devices or links may have a star for their names, as everywhere (core/address.h):
 * node.devices.nic*.rate, node.links.*.acs. It means those that are there and have the parameter.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/core/address.h"
#include "sim/load/file.h"
#include "sim/load/scenario_read.h"

static const char EXTENDS[] = "extends=";

static bool sets_extends(const char *set)
{
    return strncmp(set, EXTENDS, sizeof EXTENDS - 1) == 0;
}

enum status scenario_set_extends(const struct scenario_request *request, struct yaml_tree *tree,
                                 struct diag_list *diag)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < request->set_count && !status; i++)
        if (sets_extends(request->set[i]))
            status = yaml_tree_set(tree, "extends", request->set[i] + sizeof EXTENDS - 1, diag);
    return status;
}

/* What a device or link of the tree is, by its type; false: nothing that is known. */
static bool kind_of(const struct yaml_entry *entry, enum address_place place, enum param_kind *ret)
{
    static const enum link_kind links[] = {LINK_PCIE, LINK_NVLINK, LINK_C2C, LINK_SOCKET};
    const struct yaml_entry *type = yaml_map_entry(entry->value, "type");
    const char *name = type ? type->value->text : place == ADDRESS_LINK ? "pcie" : NULL;
    for (int i = 0; name && place == ADDRESS_DEVICE && i < DEVICE_KIND_COUNT; i++)
        if (strcmp(name, device_kind_name((enum device_kind)i)) == 0) {
            *ret = device_param_kind((enum device_kind)i);
            return true;
        }
    for (int i = 0; name && place == ADDRESS_LINK && i < 4; i++)
        if (strcmp(name, link_kind_name(links[i])) == 0) {
            *ret = link_param_kind(links[i]);
            return true;
        }
    return false;
}

static bool means(const void *owner, const struct yaml_entry *entry)
{
    const struct address_objects *objects = owner;
    enum param_kind kind;
    return kind_of(entry, objects->place, &kind) && address_means(objects, entry->key, kind);
}

static enum status nothing_meant(struct scenario *scenario, const struct address_objects *objects,
                                 struct mark mark)
{
    struct error error;
    const struct yaml_entry *node = yaml_map_entry(scenario->tree->root, "node");
    const struct yaml_entry *map = yaml_map_entry(
        node ? node->value : NULL, objects->place == ADDRESS_DEVICE ? "devices" : "links");
    size_t count = map ? map->value->count : 0;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names)
        return STATUS_NOMEM;
    for (size_t i = 0; i < count && map->value->kind == YAML_TREE_MAP; i++)
        names[i] = map->value->entries[i].key;
    if (map && map->value->kind != YAML_TREE_MAP)
        count = 0;
    address_none(objects, names, count, &error);
    free(names);
    return diag_add_error(&scenario->diag, mark, &error);
}

static enum status note(struct scenario *scenario, const char *text, const struct yaml_star *star)
{
    const char *before = scenario->set_notes ? scenario->set_notes : "";
    bool one = star->ret_count == 1;
    char *notes =
        file_path("%s--set %s: %zu value%s, %s%s%s\n", before, text, star->ret_count,
                  one ? "" : "s", star->ret_first, one ? "" : " to ", one ? "" : star->ret_last);
    if (!notes)
        return STATUS_NOMEM;
    free(scenario->set_notes);
    scenario->set_notes = notes;
    return STATUS_OK;
}

static enum status set_one(struct scenario *scenario, const char *text, const char *key,
                           const char *value)
{
    struct address_objects objects;
    struct yaml_star star = {.means = means, .owner = &objects};
    if (!address_objects(key, &objects) || !objects.many)
        return yaml_tree_set(scenario->tree, key, value, &scenario->diag);
    enum status status = yaml_tree_set_many(scenario->tree, key, value, &star, &scenario->diag);
    if (status)
        return status;
    return star.ret_count ? note(scenario, text, &star)
                          : nothing_meant(scenario, &objects, star.ret_mark);
}

enum status scenario_apply_set(const struct scenario_request *request, struct scenario *scenario)
{
    for (size_t i = 0; i < request->set_count; i++) {
        const char *text = request->set[i], *equals = strchr(text, '=');
        if (sets_extends(text))
            continue;
        char *key = equals ? file_path("%.*s", (int)(equals - text), text) : NULL;
        if (!equals || equals == text) {
            free(key);
            diag_add(&scenario->diag, (struct mark){.file = NULL},
                     "write for example --set nodes=16", "--set \"%s\" has no key and value", text);
            continue;
        }
        if (!key)
            return STATUS_NOMEM;
        enum status status = set_one(scenario, text, key, equals + 1);
        free(key);
        if (status == STATUS_NOMEM)
            return status;
    }
    return STATUS_OK;
}
