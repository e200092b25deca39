/* address.c: see address.h. */
#include "sim/core/address.h"

#include <fnmatch.h>
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

/* There is no device or link of that name, or none of them has the parameter. */
static enum status unknown_object(const struct machine *machine, enum address_place place,
                                  const char *pattern, bool matched, const char *param,
                                  struct error *error)
{
    const struct node_type *node = &machine->node;
    size_t count = place == ADDRESS_DEVICE ? node->device_count : node->link_count;
    const char *what = place == ADDRESS_DEVICE ? "device" : "link";
    if (matched)
        return error_set(error, STATUS_INPUT, "no %s \"%s\" has \"%s\"", what, pattern, param);
    error_set(error, STATUS_INPUT, "there is no %s \"%s\"", what, pattern);
    char(*names)[OBJECT_NAME] = calloc(count + 1, sizeof *names);
    const char **list = calloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count && names && list; i++) {
        object_name(machine, place, i, names[i], sizeof names[i]);
        list[i] = names[i];
    }
    const char *near = names && list ? suggest_word(pattern, list, count) : NULL;
    if (near)
        error_hint(error, "did you mean \"%s\"?", near);
    free(names);
    free(list);
    return STATUS_INPUT;
}

/* Devices or links whose name fits the pattern and that have the parameter. */
static enum status find_objects(const struct machine *machine, enum address_place place,
                                const char *pattern, const char *param, struct addresses *ret,
                                struct error *error)
{
    const struct node_type *node = &machine->node;
    size_t count = place == ADDRESS_DEVICE ? node->device_count : node->link_count;
    bool exact = !strpbrk(pattern, "*?["), matched = false;
    char name[OBJECT_NAME];
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count && !status; i++) {
        enum param_kind kind = place == ADDRESS_DEVICE ? device_param_kind(node->devices[i].kind)
                                                       : link_param_kind(node->links[i].kind);
        object_name(machine, place, i, name, sizeof name);
        if (fnmatch(pattern, name, 0) != 0)
            continue;
        matched = true;
        int id = find_param(kind, param);
        if (id >= 0)
            status = add(ret, (struct address){place, (uint16_t)i, (enum param_id)id}, error);
        else if (exact)
            status = unknown_param(kind, name, param, error);
    }
    if (!status && ret->count == 0)
        status = unknown_object(machine, place, pattern, matched, param, error);
    return status;
}

bool address_is(const char *key)
{
    if (strcmp(key, "nodes") == 0)
        return true;
    for (size_t i = 0; i < GROUPS; i++)
        if (begins(key, groups[i].prefix))
            return true;
    const char *dot = strrchr(key, '.');
    size_t prefix = begins(key, devices) ? sizeof devices - 1
                    : begins(key, links) ? sizeof links - 1
                                         : 0;
    return prefix && dot > key + prefix && (size_t)(dot - key) - prefix < OBJECT_NAME &&
           strcmp(dot, ".type") != 0;
}

enum status address_find(const struct machine *machine, const char *key, struct addresses *ret,
                         struct error *error)
{
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
    enum address_place place = begins(key, devices) ? ADDRESS_DEVICE : ADDRESS_LINK;
    const char *from = key + (place == ADDRESS_DEVICE ? sizeof devices : sizeof links) - 1;
    const char *dot = strrchr(key, '.');
    char pattern[OBJECT_NAME];
    snprintf(pattern, sizeof pattern, "%.*s", (int)(dot - from), from);
    enum status status = find_objects(machine, place, pattern, dot + 1, ret, error);
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
