/* limit.c: see limit.h. */
#include "sim/report/limit.h"

#include <stdio.h>
#include <string.h>

#define EQUALLY_BUSY 0.01

/* The device whose resource it is; NULL: a link's. */
static const struct device *owner_of(const struct node_type *node, size_t resource)
{
    const struct device *owner = NULL;
    if (node->link_count && resource >= node->links[0].resource)
        return NULL;
    for (size_t i = 0; i < node->device_count; i++)
        if (node->devices[i].resource <= resource)
            owner = &node->devices[i];
    return owner;
}

static bool equals(const struct ledger *ledger, const struct node_type *node, size_t a, size_t b)
{
    const struct resource *one = &node->resources[a], *other = &node->resources[b];
    double busy = (double)ledger->resources[a].busy_most_ps;
    double apart = (double)ledger->resources[b].busy_most_ps - busy;
    return a == b || (busy > 0 && apart <= EQUALLY_BUSY * busy && -apart <= EQUALLY_BUSY * busy &&
                      !(one->rate_Bps < other->rate_Bps) && !(one->rate_Bps > other->rate_Bps));
}

/* Those that are equal to one and equally busy, itself among them. */
struct group {
    size_t count, first, last;
    int64_t critical_ps; /* of all */
};

static struct group group_of(const struct ledger *ledger, const struct node_type *node,
                             size_t category)
{
    struct group group = {0, category, category, 0};
    if (category >= ledger->resource_count) {
        group.critical_ps = ledger->traced ? ledger->critical[category] : 0;
        return group;
    }
    const uint16_t sort = node->resources[category].sort;
    for (size_t i = 0; i < ledger->resource_count; i++) {
        if (node->resources[i].sort != sort || !equals(ledger, node, category, i))
            continue;
        group.first = group.count++ ? group.first : i;
        group.last = i;
        group.critical_ps += ledger->traced ? ledger->critical[i] : 0;
    }
    return group;
}

/* Whose it is. */
static const char *whose(const struct ledger *ledger, const struct machine *machine,
                         size_t category, char buf[LIMIT_NAME_MAX])
{
    const size_t kind = ledger_category_kind(ledger, category);
    if (kind) {
        const size_t used = strlen(buf);
        snprintf(buf + used, LIMIT_NAME_MAX - used, " of %s",
                 machine_of_kind(machine, kind)->label);
    }
    return buf;
}

static const char *name_group(const struct ledger *ledger, const struct machine *machine,
                              size_t category, struct group group, char buf[LIMIT_NAME_MAX])
{
    static const char *const many[DEVICE_KIND_COUNT] = {
        [DEVICE_GPU] = "GPUs", [DEVICE_CPU] = "sockets", [DEVICE_PCIE_SWITCH] = "PCIe switches",
        [DEVICE_NIC] = "NICs", [DEVICE_NVME] = "drives", [DEVICE_NVSWITCH] = "NVSwitches"};
    const struct node_type *node = &machine->node;
    if (group.count < 2) {
        const char *name = ledger_category_name(ledger, machine, category);
        machine_join(buf, LIMIT_NAME_MAX, &name, 1);
        return whose(ledger, machine, category, buf);
    }
    const char *to_word = group.count == 2 ? ", " : " .. ";
    const struct device *from = owner_of(node, group.first), *to = owner_of(node, group.last);
    if (from && to)
        snprintf(buf, LIMIT_NAME_MAX, "%s of each of %zu %s (%s%s%s)",
                 node->resources[group.first].name + strlen(from->name) + 1, group.count,
                 many[from->kind], from->name, to_word, to->name);
    else
        snprintf(buf, LIMIT_NAME_MAX, "each of %zu links (%s%s%s)", group.count,
                 node->resources[group.first].name, to_word, node->resources[group.last].name);
    return whose(ledger, machine, category, buf);
}

const char *limit_name(const struct ledger *ledger, const struct machine *machine, size_t category,
                       char buf[LIMIT_NAME_MAX], int64_t *ret_critical_ps)
{
    const struct group group = group_of(ledger, &machine->node, category);
    *ret_critical_ps = group.critical_ps;
    return name_group(ledger, machine, category, group, buf);
}

/* What holds most of the critical path, and its group. */
static size_t find_limit(const struct ledger *ledger, const struct machine *machine,
                         struct group *ret_group)
{
    const struct resource *resources = machine->node.resources;
    int64_t of_kind_ps[RESOURCE_THREAD + 1] = {0};
    size_t best = ledger_limit(ledger);
    *ret_group = group_of(ledger, &machine->node, best);
    /* What holds half of the path holds most of it. */
    if (!ledger->traced || 2 * ret_group->critical_ps >= ledger->total_ps)
        return best;
    for (size_t i = 0; i < ledger->resource_count; i++)
        of_kind_ps[resources[i].kind] += ledger->critical[i];
    for (size_t i = 0; i < ledger->resource_count; i++) {
        if (ledger->critical[i] <= 0 || of_kind_ps[resources[i].kind] <= ret_group->critical_ps)
            continue;
        const struct group group = group_of(ledger, &machine->node, i);
        if (group.critical_ps > ret_group->critical_ps) {
            best = i;
            *ret_group = group;
        }
    }
    return best;
}

size_t limit_category(const struct ledger *ledger, const struct machine *machine)
{
    struct group group;
    return find_limit(ledger, machine, &group);
}

const char *limit_of(const struct ledger *ledger, const struct machine *machine,
                     char buf[LIMIT_NAME_MAX], int64_t *ret_critical_ps)
{
    struct group group;
    const size_t category = find_limit(ledger, machine, &group);
    *ret_critical_ps = group.critical_ps;
    return name_group(ledger, machine, category, group, buf);
}

void limit_nics(const struct ledger *ledger, const struct machine *machine, size_t *ret_used,
                size_t *ret_all)
{
    const struct node_type *node = &machine->node;
    *ret_used = *ret_all = 0;
    for (size_t i = 0; i < node->device_count; i++) {
        const struct ledger_resource *own = &ledger->resources[node->devices[i].resource];
        if (node->devices[i].kind != DEVICE_NIC)
            continue;
        ++*ret_all;
        *ret_used += own[NIC_TX].bytes > 0 || own[NIC_RX].bytes > 0;
    }
    if (*ret_used == 0)
        *ret_all = 0;
}

void limit_write(struct text *text, const struct ledger *ledger, const struct machine *machine)
{
    char name[LIMIT_NAME_MAX];
    int64_t critical_ps;
    text_printf(text, "%s", limit_of(ledger, machine, name, &critical_ps));
    if (ledger->traced && ledger->total_ps > 0)
        text_printf(text, " (%.0f %% of the critical path)",
                    100.0 * (double)critical_ps / (double)ledger->total_ps);
    else if (*ledger_untraced(ledger))
        text_printf(text, " (%s)", ledger_untraced(ledger));
    size_t used, all;
    limit_nics(ledger, machine, &used, &all);
    if (used < all)
        text_printf(text, "; %zu of %zu NICs of a node carr%s bytes", used, all,
                    used == 1 ? "ies" : "y");
}
