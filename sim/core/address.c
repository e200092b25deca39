/* address.c: see address.h. */
#include "sim/core/address.h"

#include <stdio.h>
#include <string.h>

/* Whether the first `length` characters of a pattern, which may hold stars, fit a name. */
static bool fits(const char *pattern, size_t length, const char *name)
{
    if (length == 0)
        return *name == '\0';
    if (*pattern != '*')
        return *name == *pattern && fits(pattern + 1, length - 1, name + 1);
    for (;; name++) {
        if (fits(pattern + 1, length - 1, name))
            return true;
        if (*name == '\0')
            return false;
    }
}

static size_t add(struct params *params, const char *name, struct address *ret, size_t limit,
                  size_t count)
{
    enum param_id first;
    size_t rows;
    param_range(params->kind, &first, &rows);
    for (size_t i = 0; i < rows; i++)
        if (strcmp(param_info((enum param_id)(first + i))->name, name) == 0 && count < limit)
            ret[count++] = (struct address){params, (enum param_id)(first + i)};
    return count;
}

size_t address_find(struct machine *machine, const char *key, struct address *ret, size_t limit)
{
    struct {
        const char *name;
        struct params *params;
    } groups[] = {{"engine.", &machine->engine},
                  {"software.", &machine->software},
                  {"fabric.", &machine->fabric},
                  {"state.", &machine->state}};
    static const char devices[] = "node.devices.", links[] = "node.links.";
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strncmp(key, groups[i].name, strlen(groups[i].name)) == 0)
            return add(groups[i].params, key + strlen(groups[i].name), ret, limit, 0);
    bool device = strncmp(key, devices, sizeof devices - 1) == 0;
    if (!device && strncmp(key, links, sizeof links - 1) != 0)
        return 0;
    const char *name = key + (device ? sizeof devices : sizeof links) - 1;
    const char *dot = strchr(name, '.');
    size_t count = 0;
    if (!dot)
        return 0;
    size_t length = (size_t)(dot - name);
    struct node_type *node = &machine->node;
    for (size_t i = 0; device && i < node->device_count; i++)
        if (fits(name, length, node->devices[i].name))
            count = add(&node->devices[i].params, dot + 1, ret, limit, count);
    for (size_t i = 0; !device && i < node->link_count; i++) {
        char ends[2 * MACHINE_NAME_LENGTH + 2];
        snprintf(ends, sizeof ends, "%s-%s", node->devices[node->links[i].end[0]].name,
                 node->devices[node->links[i].end[1]].name);
        if (fits(name, length, ends))
            count = add(&node->links[i].params, dot + 1, ret, limit, count);
    }
    return count;
}
