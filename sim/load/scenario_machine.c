/* scenario_machine.c: the machine part of a scenario. See scenario_read.h. */
#include <stdio.h>
#include <string.h>

#include "sim/load/scenario_read.h"

static const char *const device_keys[] = {"type"};

static void read_device(const struct object_reader *reader, struct yaml_entry *entry,
                        struct machine *machine)
{
    const char *kinds[DEVICE_KIND_COUNT];
    struct error error;
    size_t index;
    char what[MACHINE_NAME_LENGTH + 8];
    struct yaml_node *type = yaml_map_get(entry->value, "type");
    for (size_t i = 0; i < DEVICE_KIND_COUNT; i++)
        kinds[i] = device_kind_name((enum device_kind)i);
    if (!type) {
        diag_add(reader->diag, entry->key_mark, "write for example {type: gpu}",
                 "device \"%s\" has no type", entry->key);
        return;
    }
    const char *name = object_text(reader, type, "type");
    for (size_t i = 0; name && i < DEVICE_KIND_COUNT; i++) {
        if (strcmp(name, kinds[i]) != 0)
            continue;
        if (machine_add_device(machine, entry->key, (enum device_kind)i, &index, &error)) {
            diag_add(reader->diag, entry->key_mark, NULL, "%s", error.message);
            return;
        }
        snprintf(what, sizeof what, "device %s", entry->key);
        object_read(reader, entry->value, device_keys, 1, what,
                    &machine->node.devices[index].params);
        return;
    }
    if (!name)
        return;
    const char *near = diag_suggest(name, kinds, DEVICE_KIND_COUNT);
    char hint[96];
    snprintf(hint, sizeof hint,
             near ? "did you mean \"%s\"?" : "types: gpu, cpu, pcie_switch, nic, nvme, nvswitch",
             near);
    diag_add(reader->diag, type->mark, hint, "unknown device type \"%s\"", name);
}

static bool read_link_kind(const struct object_reader *reader, struct yaml_node *link,
                           enum link_kind *ret_kind)
{
    static const enum link_kind kinds[] = {LINK_PCIE, LINK_NVLINK, LINK_C2C, LINK_SOCKET};
    struct yaml_node *type = yaml_map_get(link, "type");
    const char *name = type ? object_text(reader, type, "type") : "pcie";
    for (size_t i = 0; name && i < 4; i++)
        if (strcmp(name, link_kind_name(kinds[i])) == 0) {
            *ret_kind = kinds[i];
            return true;
        }
    if (name)
        diag_add(reader->diag, type->mark, "types: pcie, nvlink, c2c, socket",
                 "unknown link type \"%s\"", name);
    return false;
}

/* The key of a link names its two ends: "cpu0-sw0", the upper end first. */
static void read_link(const struct object_reader *reader, struct yaml_entry *entry,
                      struct machine *machine)
{
    char ends[2 * MACHINE_NAME_LENGTH + 1];
    struct error error;
    size_t index;
    char *dash = NULL;
    if (strlen(entry->key) < sizeof ends) {
        memcpy(ends, entry->key, strlen(entry->key) + 1);
        dash = strchr(ends, '-');
    }
    if (!dash) {
        diag_add(reader->diag, entry->key_mark, "write for example \"cpu0-sw0: {gen: 4}\"",
                 "the key of a link names its two ends, joined by -");
        return;
    }
    *dash = '\0';
    enum link_kind kind;
    if (!read_link_kind(reader, entry->value, &kind))
        return;
    if (machine_add_link(machine, kind, ends, dash + 1, &index, &error)) {
        const char *names[MACHINE_MAX_DEVICES];
        size_t count = machine->node.device_count;
        for (size_t i = 0; i < count; i++)
            names[i] = machine->node.devices[i].name;
        const char *wrong = machine_find_device(machine, ends) < 0 ? ends : dash + 1;
        const char *near = diag_suggest(wrong, names, count);
        char hint[96];
        snprintf(hint, sizeof hint, "did you mean \"%s\"?", near ? near : "");
        diag_add(reader->diag, entry->key_mark, near ? hint : NULL, "%s", error.message);
        return;
    }
    char what[MACHINE_NAME_LENGTH];
    snprintf(what, sizeof what, "a link of type %s", link_kind_name(kind));
    object_read(reader, entry->value, device_keys, 1, what, &machine->node.links[index].params);
}

static void read_node(const struct object_reader *reader, struct yaml_node *node,
                      struct machine *machine)
{
    static const char *const keys[] = {"devices", "links"};
    yaml_check_keys(node, keys, 2, "node", reader->diag);
    struct yaml_node *devices = yaml_map_get(node, "devices");
    struct yaml_node *links = yaml_map_get(node, "links");
    if (!devices || devices->kind != YAML_TREE_MAP)
        diag_add(reader->diag, devices ? devices->mark : node->mark,
                 "write for example devices: {gpu0: {type: gpu}, cpu0: {type: cpu}}",
                 "node needs devices, a map from names to types");
    else
        for (size_t i = 0; i < devices->count; i++)
            read_device(reader, &devices->entries[i], machine);
    if (!links)
        return;
    if (links->kind != YAML_TREE_MAP)
        diag_add(reader->diag, links->mark, "write for example links: {cpu0-sw0: {gen: 4}}",
                 "links must be a map");
    else
        for (size_t i = 0; i < links->count; i++)
            read_link(reader, &links->entries[i], machine);
}

void scenario_read_machine(const struct object_reader *reader, struct yaml_node *root,
                           struct scenario *scenario)
{
    struct machine *machine = &scenario->machine;
    struct yaml_node *nodes = yaml_map_get(root, "nodes");
    struct yaml_node *node = yaml_map_get(root, "node");
    struct error error;
    size_t before = diag_count(reader->diag);
    double count;
    if (nodes && object_integer(reader, nodes, "nodes", 1, MACHINE_MAX_NODES, &count))
        machine->node_count = (uint32_t)count;
    object_read(reader, yaml_map_get(root, "engine"), NULL, 0, "engine", &machine->engine);
    object_read(reader, yaml_map_get(root, "software"), NULL, 0, "software", &machine->software);
    object_read(reader, yaml_map_get(root, "fabric"), NULL, 0, "fabric", &machine->fabric);
    object_read(reader, yaml_map_get(root, "state"), NULL, 0, "state", &machine->state);
    if (!node) {
        diag_add(reader->diag, root->mark, "say what is in a node, or extend a preset",
                 "the scenario has no node");
        return;
    }
    read_node(reader, node, machine);
    if (diag_count(reader->diag) == before && machine_finish(machine, &error)) {
        const struct yaml_entry *entry =
            yaml_map_entry(yaml_map_get(node, "devices"), error.subject);
        diag_add(reader->diag, entry ? entry->key_mark : node->mark, NULL, "%s", error.message);
    }
}
