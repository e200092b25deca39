/* scenario_set.c: --set, laid on the tree of a scenario, and stars in a file. See scenario_read.h.
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

/* The map of devices or links; NULL: there is none. */
static const struct yaml_node *map_of(const struct yaml_node *root, enum address_place place)
{
    const struct yaml_entry *node = yaml_map_entry(root, "node");
    const struct yaml_entry *map =
        yaml_map_entry(node ? node->value : NULL, place == ADDRESS_DEVICE ? "devices" : "links");
    return map && map->value->kind == YAML_TREE_MAP ? map->value : NULL;
}

static enum status nothing_meant(const struct yaml_tree *tree,
                                 const struct address_objects *objects, struct mark mark,
                                 struct diag_list *diag)
{
    struct error error;
    const struct yaml_node *map = map_of(tree->root, objects->place);
    size_t count = map ? map->count : 0;
    const char **names = calloc(count + 1, sizeof *names);
    if (!names)
        return STATUS_NOMEM;
    size_t named = 0;
    for (size_t i = 0; i < count; i++)
        if (!yaml_is_star(map->entries[i].key))
            names[named++] = map->entries[i].key;
    address_none(objects, names, named, &error);
    free(names);
    return diag_add_error(diag, mark, &error);
}

static enum status note(struct scenario *scenario, const char *line)
{
    const char *before = scenario->set_notes ? scenario->set_notes : "";
    char *notes = line ? file_path("%s%s", before, line) : NULL;
    if (!notes)
        return STATUS_NOMEM;
    free(scenario->set_notes);
    scenario->set_notes = notes;
    return STATUS_OK;
}

static enum status note_star(struct scenario *scenario, const char *text,
                             const struct yaml_star *star)
{
    bool one = star->ret_count == 1;
    char *line = file_path("--set %s: %zu value%s, %s%s%s\n", text, star->ret_count, one ? "" : "s",
                           star->ret_first, one ? "" : " to ", one ? "" : star->ret_last);
    enum status status = note(scenario, line);
    free(line);
    return status;
}

/* nic0 and nic7, sw0-gpu0 and sw3-gpu7: alike but for their digits. */
static bool same_stem(const char *a, const char *b)
{
    static const char digits[] = "0123456789";
    for (;; a++, b++) {
        a += strspn(a, digits);
        b += strspn(b, digits);
        if (*a != *b)
            return false;
        if (*a == '\0')
            return true;
    }
}

/* One of several was named, and the others stay: that may be meant, or not. */
static enum status note_others(struct scenario *scenario, const char *text,
                               const struct address_objects *objects)
{
    const struct yaml_node *map = map_of(scenario->tree->root, objects->place);
    struct address_objects other = *objects;
    size_t others = 0;
    for (size_t i = 0; map && i < map->count; i++) {
        const struct yaml_entry *entry = &map->entries[i];
        if (strcmp(entry->key, objects->pattern) == 0 || !same_stem(entry->key, objects->pattern) ||
            strlen(entry->key) >= sizeof other.pattern)
            continue;
        memcpy(other.pattern, entry->key, strlen(entry->key) + 1);
        others += means(&other, entry);
    }
    if (others == 0)
        return STATUS_OK;
    char *line = file_path("--set %s: 1 value; %zu more like %s stay%s (a star means all)\n", text,
                           others, objects->pattern, others == 1 ? "s" : "");
    enum status status = note(scenario, line);
    free(line);
    return status;
}

static enum status set_one(struct scenario *scenario, const char *text, const char *key,
                           const char *value)
{
    struct address_objects objects;
    struct yaml_star star = {.means = means, .owner = &objects};
    bool parameter = address_objects(key, &objects);
    if (!parameter && strncmp(key, "node.", 5) == 0 && strpbrk(key, "*?"))
        return diag_add(&scenario->diag, (struct mark){.file = NULL},
                        "write for example --set 'node.devices.nic*.rate=400 Gb/s'",
                        "--set %s: a star stands in the name of a device or link, before a "
                        "parameter",
                        text);
    if (!parameter || !objects.many) {
        enum status status = yaml_tree_set(scenario->tree, key, value, &scenario->diag);
        return status || !parameter ? status : note_others(scenario, text, &objects);
    }
    enum status status = yaml_tree_set_many(scenario->tree, key, value, &star, &scenario->diag);
    if (status)
        return status;
    return star.ret_count ? note_star(scenario, text, &star)
                          : nothing_meant(scenario->tree, &objects, star.ret_mark, &scenario->diag);
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

/* ---- stars in a file ------------------------------------------------------------------------- */

/* What a star of the file means: others of the same map that name an object win. */
struct spread {
    struct address_objects objects;
    const struct yaml_node *own; /* the map of the file */
};

static bool means_too(const void *owner, const struct yaml_entry *entry)
{
    const struct spread *spread = owner;
    const struct yaml_entry *exact = yaml_map_entry(spread->own, entry->key);
    return !yaml_is_star(entry->key) && means(&spread->objects, entry) &&
           !(exact && yaml_map_entry(exact->value, spread->objects.param));
}

/* One parameter of one star: `links: {"cpu0-*": {gen: 3}}`. */
static enum status spread_one(struct yaml_tree *tree, const char *place, struct spread *spread,
                              const struct yaml_entry *entry, struct diag_list *diag)
{
    struct yaml_star star = {.means = means_too, .owner = spread};
    const char *const path[] = {"node", place, spread->objects.pattern, entry->key};
    spread->objects.param = entry->key;
    enum status status = yaml_tree_put(tree, path, 4, entry->value, &star);
    return status || star.ret_count ? status
                                    : nothing_meant(tree, &spread->objects, entry->key_mark, diag);
}

/* `map` holds the stars, as copied into the tree. */
static enum status spread_map(struct yaml_tree *tree, const char *place,
                              const struct yaml_node *map, struct spread *spread,
                              struct diag_list *diag)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < map->count && status != STATUS_NOMEM; i++) {
        const struct yaml_entry *entry = &map->entries[i];
        if (!yaml_is_star(entry->key))
            continue;
        if (entry->value->kind != YAML_TREE_MAP ||
            strlen(entry->key) >= sizeof spread->objects.pattern) {
            status = diag_add(diag, entry->key_mark, "write for example \"cpu0-*\": {gen: 3}",
                              "\"%s\" means many: say in a map what they have", entry->key);
            continue;
        }
        memcpy(spread->objects.pattern, entry->key, strlen(entry->key) + 1);
        for (size_t k = 0; k < entry->value->count && status != STATUS_NOMEM; k++)
            status = spread_one(tree, place, spread, &entry->value->entries[k], diag);
    }
    return status;
}

enum status scenario_spread_stars(struct yaml_tree *tree, const struct yaml_node *own,
                                  struct diag_list *diag)
{
    static const struct {
        const char *name;
        enum address_place place;
    } places[] = {{"devices", ADDRESS_DEVICE}, {"links", ADDRESS_LINK}};
    enum status status = STATUS_OK;
    for (size_t i = 0; i < 2 && status != STATUS_NOMEM; i++) {
        struct spread spread = {.objects = {.place = places[i].place, .many = true},
                                .own = map_of(own, places[i].place)};
        const struct yaml_node *map = map_of(tree->root, places[i].place);
        bool any = false;
        for (size_t k = 0; map && k < map->count; k++)
            any = any || yaml_is_star(map->entries[k].key);
        if (!any)
            continue;
        status = spread_map(tree, places[i].name, map, &spread, diag);
        if (status != STATUS_NOMEM && yaml_tree_drop_stars(tree, "node", places[i].name))
            status = STATUS_NOMEM;
    }
    return status == STATUS_NOMEM ? status : STATUS_OK; /* mistakes are noted */
}
