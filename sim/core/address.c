/* address.c: see address.h. */
#include "sim/core/address.h"

#include <fnmatch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/suggest.h"

#define OBJECT_NAME (2 * MACHINE_NAME_LENGTH + 2)

static const char devices[] = "node.devices.", links[] = "node.links.";

static const struct {
    const char *prefix;
    enum address_place place;
    enum param_kind kind;
} groups[] = {{"engine.", ADDRESS_ENGINE, KIND_ENGINE},
              {"software.", ADDRESS_SOFTWARE, KIND_SOFTWARE},
              {"fabric.", ADDRESS_FABRIC, KIND_FABRIC},
              {"sharp.", ADDRESS_SHARP, KIND_SHARP},
              {"state.", ADDRESS_STATE, KIND_STATE}};

enum { GROUPS = sizeof groups / sizeof groups[0] };

static bool begins(const char *key, const char *prefix)
{
    return strncmp(key, prefix, strlen(prefix)) == 0;
}

struct params *address_params(struct machine *machine, const struct address *address)
{
    switch (address->place) {
    case ADDRESS_ENGINE:
        return &machine->engine;
    case ADDRESS_SOFTWARE:
        return &machine->software;
    case ADDRESS_FABRIC:
        return &machine->fabric;
    case ADDRESS_SHARP:
        return &machine->sharp;
    case ADDRESS_STATE:
        return &machine->state;
    case ADDRESS_DEVICE:
        return &machine->node.devices[address->index].params;
    case ADDRESS_LINK:
        return &machine->node.links[address->index].params;
    case ADDRESS_NODES:
        break;
    }
    return NULL;
}

double address_get(const struct machine *machine, const struct address *address)
{
    /* Only looked at. */
    const struct params *params = address_params((struct machine *)(uintptr_t)machine, address);
    return params ? param_get(params, address->id) : machine->node_count;
}

static void object_name(const struct machine *machine, enum address_place place, size_t index,
                        char *buffer, size_t size)
{
    const struct node_type *node = &machine->node;
    if (place == ADDRESS_DEVICE)
        snprintf(buffer, size, "%s", node->devices[index].name);
    else
        snprintf(buffer, size, "%s-%s", node->devices[node->links[index].end[0]].name,
                 node->devices[node->links[index].end[1]].name);
}

void address_key(const struct machine *machine, const struct address *address, char *buffer,
                 size_t size)
{
    char object[OBJECT_NAME];
    const char *name = address->place == ADDRESS_NODES ? "" : param_info(address->id)->name;
    if (address->place == ADDRESS_NODES)
        snprintf(buffer, size, "nodes");
    for (size_t i = 0; i < GROUPS; i++)
        if (address->place == groups[i].place)
            snprintf(buffer, size, "%s%s", groups[i].prefix, name);
    if (address->place == ADDRESS_DEVICE || address->place == ADDRESS_LINK) {
        object_name(machine, address->place, address->index, object, sizeof object);
        snprintf(buffer, size, "%s%s.%s", address->place == ADDRESS_DEVICE ? devices : links,
                 object, name);
    }
}

static enum status add(struct addresses *all, struct address address, struct error *error)
{
    struct address *grown = realloc(all->at, (all->count + 1) * sizeof *grown);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    all->at = grown;
    grown[all->count++] = address;
    return STATUS_OK;
}

/* The parameter of a kind by its name; -1 if there is none. */
static int find_param(enum param_kind kind, const char *name)
{
    enum param_id first;
    size_t count;
    param_range(kind, &first, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(param_info((enum param_id)(first + i))->name, name) == 0)
            return (int)(first + i);
    return -1;
}

static enum status unknown_param(enum param_kind kind, const char *of, const char *name,
                                 struct error *error)
{
    const char *names[PARAM_MAX_PER_KIND];
    enum param_id first;
    size_t count;
    param_range(kind, &first, &count);
    for (size_t i = 0; i < count; i++)
        names[i] = param_info((enum param_id)(first + i))->name;
    const char *near = suggest_word(name, names, count);
    error_set(error, STATUS_INPUT, "%s has no \"%s\"", of, name);
    return near ? error_hint(error, "did you mean \"%s\"?", near)
                : error_hint(error, "gdsim list params shows what there is");
}

bool address_objects(const char *key, struct address_objects *ret)
{
    const char *dot = strrchr(key, '.');
    size_t prefix = begins(key, devices) ? sizeof devices - 1
                    : begins(key, links) ? sizeof links - 1
                                         : 0;
    if (!prefix || dot <= key + prefix || (size_t)(dot - key) - prefix >= sizeof ret->pattern)
        return false;
    *ret = (struct address_objects){.place = begins(key, devices) ? ADDRESS_DEVICE : ADDRESS_LINK,
                                    .param = dot + 1};
    snprintf(ret->pattern, sizeof ret->pattern, "%.*s", (int)(dot - key - (ptrdiff_t)prefix),
             key + prefix);
    ret->many = strpbrk(ret->pattern, "*?[") != NULL;
    return true;
}

static bool named(const struct address_objects *objects, const char *name)
{
    return fnmatch(objects->pattern, name, 0) == 0;
}

bool address_means(const struct address_objects *objects, const char *name, enum param_kind kind)
{
    return named(objects, name) && find_param(kind, objects->param) >= 0;
}

/* Any thing's parameter may have been meant. */
static enum status hint_param(const char *name, struct error *error)
{
    const char *names[PARAM_COUNT];
    for (int id = 0; id < PARAM_COUNT; id++)
        names[id] = param_info((enum param_id)id)->name;
    const char *near = suggest_word(name, names, PARAM_COUNT);
    if (near && strcmp(near, name) != 0)
        return error_hint(error, "did you mean \"%s\"?", near);
    return error_hint(error, "gdsim list params shows what each kind of thing has");
}

enum status address_none(const struct address_objects *objects, const char *const *names,
                         size_t count, struct error *error)
{
    const char *what = objects->place == ADDRESS_DEVICE ? "device" : "link";
    for (size_t i = 0; i < count; i++)
        if (named(objects, names[i])) {
            error_set(error, STATUS_INPUT, "no %s \"%s\" has \"%s\"", what, objects->pattern,
                      objects->param);
            return hint_param(objects->param, error);
        }
    error_set(error, STATUS_INPUT, "there is no %s \"%s\"", what, objects->pattern);
    const char *near = suggest_word(objects->pattern, names, count);
    if (near && !objects->many)
        return error_hint(error, "did you mean \"%s\"?", near);
    char list[160] = "";
    size_t used = 0, i;
    for (i = 0; i < count && used + OBJECT_NAME < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    return error_hint(error, "there are: %s%s", list, i < count ? ", ..." : "");
}

/* Devices or links whose name fits the pattern and that have the parameter. */
static enum status find_objects(const struct machine *machine,
                                const struct address_objects *objects, struct addresses *ret,
                                struct error *error)
{
    const struct node_type *node = &machine->node;
    bool device = objects->place == ADDRESS_DEVICE;
    size_t count = device ? node->device_count : node->link_count;
    char(*names)[OBJECT_NAME] = calloc(count + 1, sizeof *names);
    const char **list = calloc(count + 1, sizeof *list);
    enum status status =
        names && list ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < count && !status; i++) {
        enum param_kind kind = device ? device_param_kind(node->devices[i].kind)
                                      : link_param_kind(node->links[i].kind);
        object_name(machine, objects->place, i, names[i], sizeof names[i]);
        list[i] = names[i];
        int id = find_param(kind, objects->param);
        if (address_means(objects, names[i], kind))
            status =
                add(ret, (struct address){objects->place, (uint16_t)i, (enum param_id)id}, error);
        else if (!objects->many && named(objects, names[i]))
            status = unknown_param(kind, names[i], objects->param, error);
    }
    if (!status && ret->count == 0)
        status = address_none(objects, list, count, error);
    free(names);
    free(list);
    return status;
}

bool address_is(const char *key)
{
    struct address_objects objects;
    if (strcmp(key, "nodes") == 0)
        return true;
    for (size_t i = 0; i < GROUPS; i++)
        if (begins(key, groups[i].prefix))
            return true;
    return address_objects(key, &objects) && strcmp(objects.param, "type") != 0;
}

enum status address_find(const struct machine *machine, const char *key, struct addresses *ret,
                         struct error *error)
{
    struct address_objects objects;
    *ret = (struct addresses){NULL, 0};
    if (!address_is(key)) {
        error_set(error, STATUS_INPUT, "\"%s\" is no number of a machine", key);
        return error_hint(error, "write for example software.launch or node.devices.gpu*.memory");
    }
    if (strcmp(key, "nodes") == 0)
        return add(ret, (struct address){.place = ADDRESS_NODES}, error);
    for (size_t i = 0; i < GROUPS; i++) {
        if (!begins(key, groups[i].prefix))
            continue;
        const char *name = key + strlen(groups[i].prefix);
        int id = find_param(groups[i].kind, name);
        if (id < 0)
            return unknown_param(groups[i].kind, param_kind_name(groups[i].kind), name, error);
        return add(ret, (struct address){groups[i].place, 0, (enum param_id)id}, error);
    }
    address_objects(key, &objects);
    enum status status = find_objects(machine, &objects, ret, error);
    if (status) {
        free(ret->at);
        *ret = (struct addresses){NULL, 0};
    }
    return status;
}

bool address_first(const struct machine *machine, const char *key, struct address *ret)
{
    struct addresses all;
    struct error error;
    if (address_find(machine, key, &all, &error))
        return false;
    *ret = all.at[0];
    free(all.at);
    return true;
}
