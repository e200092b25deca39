/* sweep_slots.c: which numbers of a machine a key means. See sweep.h. */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sweep.h"

struct params *slot_params(struct machine *machine, const struct slot *slot)
{
    switch (slot->place) {
    case SLOT_ENGINE:
        return &machine->engine;
    case SLOT_SOFTWARE:
        return &machine->software;
    case SLOT_FABRIC:
        return &machine->fabric;
    case SLOT_SHARP:
        return &machine->sharp;
    case SLOT_STATE:
        return &machine->state;
    case SLOT_DEVICE:
        return &machine->node.devices[slot->index].params;
    case SLOT_LINK:
        return &machine->node.links[slot->index].params;
    case SLOT_NODES:
        break;
    }
    return NULL;
}

static void object_name(const struct machine *machine, enum slot_place place, size_t index,
                        char *buffer, size_t size)
{
    const struct node_type *node = &machine->node;
    if (place == SLOT_DEVICE)
        snprintf(buffer, size, "%s", node->devices[index].name);
    else
        snprintf(buffer, size, "%s-%s", node->devices[node->links[index].end[0]].name,
                 node->devices[node->links[index].end[1]].name);
}

void slot_key(const struct machine *machine, const struct slot *slot, char *buffer, size_t size)
{
    static const char *const places[] = {[SLOT_ENGINE] = "engine",
                                         [SLOT_SOFTWARE] = "software",
                                         [SLOT_FABRIC] = "fabric",
                                         [SLOT_SHARP] = "sharp",
                                         [SLOT_STATE] = "state"};
    char object[2 * MACHINE_NAME_LENGTH + 2];
    const char *name = slot->place == SLOT_NODES ? "" : param_info(slot->id)->name;
    if (slot->place == SLOT_NODES) {
        snprintf(buffer, size, "nodes");
    } else if (slot->place == SLOT_DEVICE || slot->place == SLOT_LINK) {
        object_name(machine, slot->place, slot->index, object, sizeof object);
        snprintf(buffer, size, "node.%s.%s.%s", slot->place == SLOT_DEVICE ? "devices" : "links",
                 object, name);
    } else {
        snprintf(buffer, size, "%s.%s", places[slot->place], name);
    }
}

static enum status add(struct slots *slots, struct slot slot, struct error *error)
{
    struct slot *grown = realloc(slots->slot, (slots->count + 1) * sizeof *grown);
    if (!grown)
        return error_set(error, STATUS_NOMEM, "out of memory");
    slots->slot = grown;
    grown[slots->count++] = slot;
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
    const char *near = diag_suggest(name, names, count);
    error_set(error, STATUS_INPUT, "%s has no \"%s\"", of, name);
    return near ? error_hint(error, "did you mean \"%s\"?", near)
                : error_hint(error, "gdsim list params shows what there is");
}

/* Devices or links whose name fits the pattern and that have the parameter. */
static enum status find_objects(const struct machine *machine, enum slot_place place,
                                const char *pattern, const char *param, struct slots *ret,
                                struct error *error)
{
    const struct node_type *node = &machine->node;
    size_t count = place == SLOT_DEVICE ? node->device_count : node->link_count;
    bool exact = !strpbrk(pattern, "*?[");
    const char *what = place == SLOT_DEVICE ? "device" : "link";
    char(*names)[2 * MACHINE_NAME_LENGTH + 2] = calloc(count + 1, sizeof *names);
    const char **list = calloc(count + 1, sizeof *list);
    enum status status =
        names && list ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    size_t matched = 0;
    for (size_t i = 0; i < count && !status; i++) {
        enum param_kind kind = place == SLOT_DEVICE ? device_param_kind(node->devices[i].kind)
                                                    : link_param_kind(node->links[i].kind);
        object_name(machine, place, i, names[i], sizeof names[i]);
        list[i] = names[i];
        if (fnmatch(pattern, names[i], 0) != 0)
            continue;
        matched++;
        int id = find_param(kind, param);
        if (id >= 0)
            status = add(ret, (struct slot){place, (uint16_t)i, (enum param_id)id}, error);
        else if (exact)
            status = unknown_param(kind, names[i], param, error);
    }
    if (!status && ret->count == 0) {
        const char *near = matched == 0 ? diag_suggest(pattern, list, count) : NULL;
        if (matched == 0)
            status = error_set(error, STATUS_INPUT, "there is no %s \"%s\"", what, pattern);
        else
            status =
                error_set(error, STATUS_INPUT, "no %s \"%s\" has \"%s\"", what, pattern, param);
        if (near)
            error_hint(error, "did you mean \"%s\"?", near);
    }
    free(names);
    free(list);
    return status;
}

enum status slots_find(const struct machine *machine, const struct axis *axis, struct slots *ret,
                       struct error *error)
{
    static const struct {
        const char *name;
        enum slot_place place;
        enum param_kind kind;
    } maps[] = {{"engine.", SLOT_ENGINE, KIND_ENGINE},
                {"software.", SLOT_SOFTWARE, KIND_SOFTWARE},
                {"fabric.", SLOT_FABRIC, KIND_FABRIC},
                {"sharp.", SLOT_SHARP, KIND_SHARP},
                {"state.", SLOT_STATE, KIND_STATE}};
    const char *key = axis->kind == AXIS_RATE ? "node.devices.*.rate" : axis->key;
    *ret = (struct slots){NULL, 0};
    if (axis->kind == AXIS_KEY && strcmp(key, "nodes") == 0)
        return add(ret, (struct slot){.place = SLOT_NODES}, error);
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
        size_t length = strlen(maps[i].name);
        if (strncmp(key, maps[i].name, length) != 0)
            continue;
        int id = find_param(maps[i].kind, key + length);
        if (id < 0)
            return unknown_param(maps[i].kind, param_kind_name(maps[i].kind), key + length, error);
        return add(ret, (struct slot){maps[i].place, 0, (enum param_id)id}, error);
    }
    enum slot_place place = strncmp(key, "node.devices.", 13) == 0 ? SLOT_DEVICE
                            : strncmp(key, "node.links.", 11) == 0 ? SLOT_LINK
                                                                   : SLOT_NODES;
    const char *dot = strrchr(key, '.');
    if (place == SLOT_NODES || strcmp(dot, ".type") == 0)
        return STATUS_OK; /* nothing in the machine: the scenario must be read anew */
    const char *from = key + (place == SLOT_DEVICE ? 13 : 11);
    char pattern[2 * MACHINE_NAME_LENGTH + 2];
    if (dot < from || (size_t)(dot - from) >= sizeof pattern)
        return STATUS_OK;
    memcpy(pattern, from, (size_t)(dot - from));
    pattern[dot - from] = '\0';
    return find_objects(machine, place, pattern, dot + 1, ret, error);
}
