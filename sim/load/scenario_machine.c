/* scenario_machine.c: the machine part of a scenario. See scenario_read.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/address.h"
#include "sim/core/suggest.h"
#include "sim/load/scenario_read.h"

static const char *const device_keys[] = {"type"};

/* --set of a device that is not there: it stands after those that are. */
static void add_unknown(const struct object_reader *reader, const struct yaml_entry *entry,
                        const struct machine *machine)
{
    const char *names[MACHINE_MAX_DEVICES];
    struct error error;
    struct address_objects objects = {.place = ADDRESS_DEVICE, .param = ""};
    for (size_t i = 0; i < machine->node.device_count; i++)
        names[i] = machine->node.devices[i].name;
    snprintf(objects.pattern, sizeof objects.pattern, "%s", entry->key);
    address_none(&objects, names, machine->node.device_count, &error);
    diag_add_error(reader->diag, entry->key_mark, &error);
}

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
    if (!type && entry->value->origin_note) {
        add_unknown(reader, entry, machine);
        return;
    }
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
    const char *near = suggest_word(name, kinds, DEVICE_KIND_COUNT);
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
        const char *near = suggest_word(wrong, names, count);
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

/* The port of a device; makes it one if it is not. -1 with a mistake noted. */
static int read_port(const struct object_reader *reader, const struct yaml_node *node,
                     const char *what, struct machine *machine)
{
    struct node_type *type = &machine->node;
    const char *name = node ? object_text(reader, node, what) : NULL;
    int device = name ? machine_find_device(machine, name) : -1;
    if (name && device < 0)
        diag_add(reader->diag, node->mark, NULL, "there is no device \"%s\"", name);
    if (device < 0)
        return -1;
    for (size_t i = 0; i < type->port_count; i++)
        if (type->ports[i] == device)
            return (int)i;
    type->ports[type->port_count] = (uint16_t)device;
    return (int)type->port_count++;
}

static void read_transfer(const struct object_reader *reader, struct yaml_node *item,
                          struct scenario *scenario, struct scenario_transfer *ret)
{
    static const char *const keys[] = {"from", "to", "share", "remote"};
    double share = 1;
    if (yaml_check_keys(item, keys, 4, "a transfer", reader->diag) || item->kind != YAML_TREE_MAP)
        return;
    struct yaml_node *from = yaml_map_get(item, "from"), *to = yaml_map_get(item, "to");
    struct yaml_node *remote = yaml_map_get(item, "remote");
    struct yaml_node *weight = yaml_map_get(item, "share");
    if (!from || !to) {
        diag_add(reader->diag, item->mark, "write for example {from: nvme0, to: gpu0}",
                 "a transfer needs from and to");
        return;
    }
    int ports[2] = {read_port(reader, from, "from", &scenario->machine),
                    read_port(reader, to, "to", &scenario->machine)};
    if (weight && !object_integer(reader, weight, "share", 1, 10000, &share))
        return;
    const char *word = remote ? object_text(reader, remote, "remote") : "no";
    bool is_remote = word && strcmp(word, "yes") == 0;
    if (word && !is_remote && strcmp(word, "no") != 0)
        diag_add(reader->diag, remote->mark, NULL, "remote is yes or no");
    if (ports[0] < 0 || ports[1] < 0)
        return;
    if (ports[0] == ports[1] && !is_remote)
        diag_add(reader->diag, item->mark, NULL, "a transfer from a device to itself");
    if (is_remote && scenario->machine.node_count < 2)
        diag_add(reader->diag, item->mark, "nodes: 2", "a remote transfer needs a second node");
    *ret = (struct scenario_transfer){.from = (uint16_t)ports[0],
                                      .to = (uint16_t)ports[1],
                                      .remote = is_remote,
                                      .share = (uint32_t)share};
}

static void read_transfers(const struct object_reader *reader, struct yaml_node *list,
                           struct scenario *scenario)
{
    if (!list)
        return;
    if (list->kind != YAML_TREE_LIST || list->count == 0 || list->count > SCENARIO_MAX_TRANSFERS) {
        diag_add(reader->diag, list->mark, "write for example [{from: nvme0, to: gpu0}]",
                 "transfers must be a list of 1 to %d", SCENARIO_MAX_TRANSFERS);
        return;
    }
    scenario->transfers = calloc(list->count, sizeof *scenario->transfers);
    if (!scenario->transfers)
        return;
    scenario->transfer_count = list->count;
    for (size_t i = 0; i < list->count; i++)
        read_transfer(reader, list->items[i], scenario, &scenario->transfers[i]);
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
    object_read(reader, yaml_map_get(root, "sharp"), NULL, 0, "sharp", &machine->sharp);
    object_read(reader, yaml_map_get(root, "state"), NULL, 0, "state", &machine->state);
    if (!node) {
        diag_add(reader->diag, root->mark, "say what is in a node, or extend a preset",
                 "the scenario has no node");
        return;
    }
    read_node(reader, node, machine);
    read_transfers(reader, yaml_map_get(root, "transfers"), scenario);
    struct yaml_node *odd = yaml_map_get(root, "odd");
    if (diag_count(reader->diag) == before)
        scenario_read_odd(reader, odd, machine);
    if (machine->odd_count > 0 && scenario->report == REPORT_CROSSINGS)
        diag_add(reader->diag, odd->mark, "leave odd out, or take another report",
                 "report: crossings says what a transfer costs usual nodes");
    if (diag_count(reader->diag) == before && machine_finish(machine, &error)) {
        const struct yaml_entry *entry = odd ? yaml_map_entry(odd, error.subject) : NULL;
        if (!entry)
            entry = yaml_map_entry(yaml_map_get(node, "devices"), error.subject);
        diag_add(reader->diag, entry ? entry->key_mark : node->mark, NULL, "%s", error.message);
    }
}
