/* scenario_odd.c: nodes that differ from the others. See scenario_read.h.
 *
 *   odd:
 *     slow:
 *       nodes: [17, 40-47]
 *       state: {iommu: translating}
 *       links: {sw0-gpu0: {acs: RR+CR}}
 *
 * A key of theirs is a key of the machine (core/address.h), and its value is read as there.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/odd.h"
#include "sim/core/units.h"
#include "sim/load/file.h"
#include "sim/load/scenario_read.h"

struct odd_reader {
    const struct object_reader *objects;
    struct machine *machine;
    struct odd_nodes *odd;
};

/* One value for all numbers that a key names. */
static void read_number(const struct odd_reader *reader, const char *place,
                        struct yaml_entry *entry)
{
    struct addresses all;
    struct error error;
    struct params read = {.kind = KIND_COUNT};
    if (strcmp(entry->key, "type") == 0) {
        diag_add(reader->objects->diag, entry->key_mark, NULL,
                 "nodes that differ have the same devices and links, with other parameters");
        return;
    }
    size_t before = diag_count(reader->objects->diag);
    char *key = file_path("%s.%s", place, entry->key);
    enum status status = key ? address_find(reader->machine, key, &all, &error)
                             : error_set(&error, STATUS_NOMEM, "out of memory");
    free(key);
    if (status) {
        diag_add_error(reader->objects->diag, entry->key_mark, &error);
        return;
    }
    for (size_t i = 0; i < all.count && diag_count(reader->objects->diag) == before; i++) {
        const struct address *at = &all.at[i];
        const struct params *usual = address_params(reader->machine, at);
        if (read.kind != usual->kind) { /* another kind's parameter of the same name */
            read = *usual;
            object_read_one(reader->objects, entry->value, at->id, &read);
        }
        const struct odd_change change = {*at, param_get(&read, at->id),
                                          *param_origin(&read, at->id)};
        if (odd_may_differ(at, &error) || odd_add_change(reader->odd, change, &error))
            diag_add_error(reader->objects->diag, entry->key_mark, &error);
    }
    free(all.at);
}

static void read_numbers(const struct odd_reader *reader, const char *place,
                         struct yaml_node *numbers)
{
    if (numbers->kind != YAML_TREE_MAP) {
        diag_add(reader->objects->diag, numbers->mark, NULL, "expected a map of parameters, got %s",
                 yaml_kind_name(numbers));
        return;
    }
    for (size_t i = 0; i < numbers->count; i++)
        read_number(reader, place, &numbers->entries[i]);
}

/* Devices or links, by name or pattern. */
static void read_objects(const struct odd_reader *reader, const char *group,
                         struct yaml_node *objects)
{
    if (objects && objects->kind != YAML_TREE_MAP) {
        diag_add(reader->objects->diag, objects->mark, NULL, "%s must be a map, got %s", group,
                 yaml_kind_name(objects));
        return;
    }
    for (size_t i = 0; objects && i < objects->count; i++) {
        char *place = file_path("node.%s.%s", group, objects->entries[i].key);
        if (place)
            read_numbers(reader, place, objects->entries[i].value);
        free(place);
    }
}

/* "17" or "40-47". */
static void read_range(const struct odd_reader *reader, const struct yaml_node *node)
{
    const double most = (double)reader->machine->node_count - 1;
    double ends[2];
    struct error error;
    const char *dash = node->kind == YAML_TREE_SCALAR ? strchr(node->text, '-') : NULL;
    if (dash) {
        const size_t lengths[2] = {(size_t)(dash - node->text),
                                   node->length - (size_t)(dash - node->text) - 1};
        for (int i = 0; i < 2; i++)
            if (units_parse(i ? dash + 1 : node->text, lengths[i], DIM_COUNT, &ends[i], &error)) {
                diag_add(reader->objects->diag, node->mark, "write 17, or 40-47 for a stretch",
                         "\"%s\" names no nodes", node->text);
                return;
            }
    } else if (object_integer(reader->objects, node, "a node", 0, most, &ends[0])) {
        ends[1] = ends[0];
    } else {
        return;
    }
    if (ends[0] > ends[1] || ends[1] > most) {
        diag_add(reader->objects->diag, node->mark, NULL,
                 "nodes %s must run upwards, within 0 to %.0f", node->text, most);
        return;
    }
    const struct node_range range = {(uint32_t)ends[0], (uint32_t)ends[1]};
    if (odd_add_range(reader->odd, range, &error))
        diag_add_error(reader->objects->diag, node->mark, &error);
}

static void read_nodes(const struct odd_reader *reader, const struct yaml_entry *entry,
                       struct yaml_node *nodes)
{
    if (!nodes || (nodes->kind == YAML_TREE_LIST && nodes->count == 0))
        diag_add(reader->objects->diag, entry->key_mark, "write for example nodes: [17, 40-47]",
                 "\"%s\" says not which nodes differ", entry->key);
    else if (nodes->kind == YAML_TREE_LIST)
        for (size_t i = 0; i < nodes->count; i++)
            read_range(reader, nodes->items[i]);
    else
        read_range(reader, nodes);
}

static void read_entry(struct odd_reader *reader, struct yaml_entry *entry)
{
    static const char *const keys[] = {"nodes", "state", "devices", "links"};
    struct error error;
    yaml_check_keys(entry->value, keys, 4, "nodes that differ", reader->objects->diag);
    if (entry->value->kind != YAML_TREE_MAP)
        return;
    if (odd_add(reader->machine, entry->key, &reader->odd, &error)) {
        diag_add_error(reader->objects->diag, entry->key_mark, &error);
        return;
    }
    size_t before = diag_count(reader->objects->diag);
    struct yaml_node *state = yaml_map_get(entry->value, "state");
    read_nodes(reader, entry, yaml_map_get(entry->value, "nodes"));
    if (state)
        read_numbers(reader, "state", state);
    read_objects(reader, "devices", yaml_map_get(entry->value, "devices"));
    read_objects(reader, "links", yaml_map_get(entry->value, "links"));
    if (reader->odd->change_count == 0 && diag_count(reader->objects->diag) == before)
        diag_add(reader->objects->diag, entry->key_mark,
                 "write for example links: {sw0-gpu0: {acs: RR+CR}}",
                 "\"%s\" says not in what its nodes differ", entry->key);
}

void scenario_read_odd(const struct object_reader *reader, struct yaml_node *odd,
                       struct machine *machine)
{
    struct odd_reader all = {.objects = reader, .machine = machine};
    if (!odd || yaml_is_blank(odd))
        return;
    if (odd->kind != YAML_TREE_MAP) {
        diag_add(reader->diag, odd->mark,
                 "write for example odd: {slow: {nodes: 17, state: {peermem: no}}}",
                 "odd must be a map from names to nodes that differ, got %s", yaml_kind_name(odd));
        return;
    }
    for (size_t i = 0; i < odd->count; i++)
        read_entry(&all, &odd->entries[i]);
}
