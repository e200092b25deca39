/* limit.c: see limit.h. */
#include "sim/report/limit.h"

#include <stdio.h>
#include <string.h>

#define EQUALLY_BUSY 0.01

/* Whose a resource is: a device's, or a link's (ends in the direction of the bytes). */
struct owner {
    const struct device *device;
    const struct link *link;
    size_t offset; /* among the owner's resources */
};

static struct owner owner_of(const struct node_type *node, size_t resource)
{
    struct owner owner = {NULL, NULL, resource};
    for (size_t i = 0; i < node->device_count; i++)
        if (node->devices[i].resource <= resource &&
            resource - node->devices[i].resource <= owner.offset)
            owner = (struct owner){&node->devices[i], NULL, resource - node->devices[i].resource};
    for (size_t i = 0; i < node->link_count; i++)
        if (node->links[i].resource <= resource &&
            resource - node->links[i].resource <= owner.offset)
            owner = (struct owner){NULL, &node->links[i], resource - node->links[i].resource};
    return owner;
}

static enum device_kind end_kind(const struct node_type *node, const struct owner *owner, int end)
{
    return node->devices[owner->link->end[end ^ (owner->offset == 1)]].kind;
}

static bool one_sort(const struct node_type *node, const struct owner *a, const struct owner *b)
{
    if (a->device && b->device)
        return a->device->kind == b->device->kind && a->offset == b->offset;
    return a->link && b->link && a->link->kind == b->link->kind &&
           (a->offset == 2) == (b->offset == 2) && end_kind(node, a, 0) == end_kind(node, b, 0) &&
           end_kind(node, a, 1) == end_kind(node, b, 1);
}

static bool equals(const struct ledger *ledger, const struct node_type *node, size_t a, size_t b)
{
    const struct owner one = owner_of(node, a), other = owner_of(node, b);
    double busy = (double)ledger->resources[a].busy_most_ps;
    double apart = (double)ledger->resources[b].busy_most_ps - busy;
    bool same_rate = !(node->resources[a].rate_Bps < node->resources[b].rate_Bps) &&
                     !(node->resources[a].rate_Bps > node->resources[b].rate_Bps);
    return node->resources[a].kind == node->resources[b].kind && same_rate && busy > 0 &&
           apart <= EQUALLY_BUSY * busy && -apart <= EQUALLY_BUSY * busy &&
           one_sort(node, &one, &other);
}

/* Whose it is, where it is mostly that of odd nodes. */
static const char *whose(const struct ledger *ledger, const struct machine *machine,
                         size_t category, char buf[LIMIT_NAME_MAX])
{
    const size_t kind = ledger_category_kind(ledger, category), used = strlen(buf);
    if (kind)
        snprintf(buf + used, LIMIT_NAME_MAX - used, " of %s",
                 machine_of_kind(machine, kind)->label);
    return buf;
}

const char *limit_name(const struct ledger *ledger, const struct machine *machine, size_t category,
                       char buf[LIMIT_NAME_MAX], int64_t *ret_critical_ps)
{
    static const char *const many[DEVICE_KIND_COUNT] = {
        [DEVICE_GPU] = "GPUs", [DEVICE_CPU] = "sockets", [DEVICE_PCIE_SWITCH] = "PCIe switches",
        [DEVICE_NIC] = "NICs", [DEVICE_NVME] = "drives", [DEVICE_NVSWITCH] = "NVSwitches"};
    const struct node_type *node = &machine->node;
    size_t count = 0, first = category, last = category;
    *ret_critical_ps = 0;
    for (size_t i = 0; i < ledger->resource_count && category < ledger->resource_count; i++) {
        if (!equals(ledger, node, category, i))
            continue;
        first = count++ ? first : i;
        last = i;
        *ret_critical_ps += ledger->traced ? ledger->critical[i] : 0;
    }
    if (count < 2) {
        *ret_critical_ps = ledger->traced ? ledger->critical[category] : 0;
        snprintf(buf, LIMIT_NAME_MAX, "%s", ledger_category_name(ledger, machine, category));
        return whose(ledger, machine, category, buf);
    }
    const char *to_word = count == 2 ? ", " : " .. ";
    const struct owner from = owner_of(node, first), to = owner_of(node, last);
    if (from.device)
        snprintf(buf, LIMIT_NAME_MAX, "%s of each of %zu %s (%s%s%s)",
                 node->resources[first].name + strlen(from.device->name) + 1, count,
                 many[from.device->kind], from.device->name, to_word, to.device->name);
    else
        snprintf(buf, LIMIT_NAME_MAX, "each of %zu links (%s%s%s)", count,
                 node->resources[first].name, to_word, node->resources[last].name);
    return whose(ledger, machine, category, buf);
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
    text_printf(text, "%s", limit_name(ledger, machine, ledger_limit(ledger), name, &critical_ps));
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
