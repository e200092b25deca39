/* odd.c: see odd.h. */
#include "sim/core/odd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One more entry at the end of a list that grows seldom; NULL: out of memory. */
static void *grow(void *list, size_t count, size_t size)
{
    return realloc(list, (count + 1) * size);
}

static enum status no_memory(struct error *error)
{
    return error_set(error, STATUS_NOMEM, "out of memory");
}

enum status odd_add(struct machine *machine, const char *name, struct odd_nodes **ret_odd,
                    struct error *error)
{
    if (!*name || strlen(name) >= MACHINE_NAME_LENGTH)
        return error_set(error, STATUS_INPUT, "a name has 1 to %d characters",
                         MACHINE_NAME_LENGTH - 1);
    if (machine->odd_count + 1 == ODD_MAX_KINDS)
        return error_set(error, STATUS_INPUT, "at most %d kinds of nodes that differ",
                         ODD_MAX_KINDS - 1);
    struct odd_nodes *grown = grow(machine->odd, machine->odd_count, sizeof *grown);
    if (!grown)
        return no_memory(error);
    machine->odd = grown;
    struct odd_nodes *odd = &grown[machine->odd_count++];
    memset(odd, 0, sizeof *odd);
    snprintf(odd->name, sizeof odd->name, "%s", name);
    *ret_odd = odd;
    return STATUS_OK;
}

enum status odd_add_range(struct odd_nodes *odd, struct node_range range, struct error *error)
{
    struct node_range *grown = grow(odd->ranges, odd->range_count, sizeof *grown);
    if (!grown)
        return no_memory(error);
    odd->ranges = grown;
    grown[odd->range_count++] = range;
    return STATUS_OK;
}

static bool same_place(const struct address *a, const struct address *b)
{
    return a->place == b->place && a->index == b->index && a->id == b->id;
}

/* The last one holds. */
enum status odd_add_change(struct odd_nodes *odd, struct odd_change change, struct error *error)
{
    for (size_t i = 0; i < odd->change_count; i++)
        if (same_place(&odd->changes[i].at, &change.at)) {
            odd->changes[i] = change;
            return STATUS_OK;
        }
    struct odd_change *grown = grow(odd->changes, odd->change_count, sizeof *grown);
    if (!grown)
        return no_memory(error);
    odd->changes = grown;
    grown[odd->change_count++] = change;
    return STATUS_OK;
}

enum status odd_may_differ(const struct address *at, struct error *error)
{
    static const struct {
        enum param_id id;
        const char *why;
    } whole[] = {
        {PARAM_GPU_COMPUTE_CAPABILITY, "NCCL chooses once for all ranks, by the oldest GPU"},
        {PARAM_CPU_MAKER, "NCCL chooses once for all ranks"},
        {PARAM_GPU_CHANNEL_DRIFT, "channels get out of step in the run as a whole"},
    };
    for (size_t i = 0; i < sizeof whole / sizeof whole[0]; i++)
        if (whole[i].id == at->id) {
            error_set(error, STATUS_INPUT, "%s.%s holds for all nodes",
                      param_kind_name(param_info(at->id)->kind), param_info(at->id)->name);
            return error_hint(error, "%s", whole[i].why);
        }
    return STATUS_OK;
}

static bool equal(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static enum status set_group(struct odd_nodes *odd, struct address at, struct params *usual,
                             const struct params *like, struct error *error)
{
    enum param_id first;
    size_t count;
    enum status status = STATUS_OK;
    param_range(usual->kind, &first, &count);
    for (size_t i = 0; i < count && !status; i++) {
        at.id = (enum param_id)(first + i);
        const double value = param_get(like, at.id);
        if (!equal(param_get(usual, at.id), value))
            status = odd_add_change(odd, (struct odd_change){at, value, *param_origin(like, at.id)},
                                    error);
    }
    return status;
}

enum status odd_set(struct machine *machine, size_t index, const struct machine *like,
                    struct error *error)
{
    struct odd_nodes *odd = &machine->odd[index];
    struct node_type *node = &machine->node;
    odd->change_count = 0;
    enum status status = set_group(odd, (struct address){.place = ADDRESS_STATE}, &machine->state,
                                   &like->state, error);
    for (size_t i = 0; i < node->device_count && !status; i++)
        status = set_group(odd, (struct address){.place = ADDRESS_DEVICE, .index = (uint16_t)i},
                           &node->devices[i].params, &like->node.devices[i].params, error);
    for (size_t i = 0; i < node->link_count && !status; i++)
        status = set_group(odd, (struct address){.place = ADDRESS_LINK, .index = (uint16_t)i},
                           &node->links[i].params, &like->node.links[i].params, error);
    return status;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static void write_label(struct odd_nodes *odd)
{
    const struct node_range *all = odd->ranges;
    const bool one = odd->range_count == 1 && all[0].first == all[0].last;
    size_t used = (size_t)snprintf(odd->label, sizeof odd->label, one ? "node" : "nodes");
    for (size_t i = 0; i < odd->range_count; i++) {
        const char *before = i ? "," : "";
        if (used + 32 > sizeof odd->label) {
            snprintf(odd->label + used, sizeof odd->label - used, ", ...");
            return;
        }
        used += (size_t)snprintf(odd->label + used, sizeof odd->label - used, "%s %u", before,
                                 all[i].first);
        if (all[i].last > all[i].first)
            used +=
                (size_t)snprintf(odd->label + used, sizeof odd->label - used, "-%u", all[i].last);
    }
}

/* Whose fault it is; returns the error's status. */
static enum status of_nodes(const struct odd_nodes *odd, struct error *error)
{
    if (!error)
        return STATUS_INPUT;
    snprintf(error->subject, sizeof error->subject, "%s", odd->name);
    return error->status;
}

/* Which kind each node is. */
static enum status number_nodes(struct machine *machine, struct error *error)
{
    machine->kinds = calloc(machine->node_count, sizeof *machine->kinds);
    if (!machine->kinds)
        return no_memory(error);
    for (size_t k = 0; k < machine->odd_count; k++) {
        const struct odd_nodes *odd = &machine->odd[k];
        for (size_t r = 0; r < odd->range_count; r++) {
            if (odd->ranges[r].last >= machine->node_count) {
                error_set(error, STATUS_INPUT, "there is no node %u, only 0 to %u",
                          odd->ranges[r].last, machine->node_count - 1);
                return of_nodes(odd, error);
            }
            for (uint32_t n = odd->ranges[r].first; n <= odd->ranges[r].last; n++) {
                if (machine->kinds[n]) {
                    error_set(error, STATUS_INPUT, "node %u is named twice", n);
                    return of_nodes(odd, error);
                }
                machine->kinds[n] = (uint8_t)(k + 1);
            }
        }
    }
    return STATUS_OK;
}

static void forget_machine(struct odd_nodes *odd)
{
    machine_free(odd->machine);
    free(odd->machine);
    odd->machine = NULL;
}

/* A link that trained lower than the usual node's could do what that does; as sim/load/sold.c has
 * it for a file that is laid on another. */
static void keep_sold(const struct machine *usual, struct machine *own)
{
    static const enum param_id pairs[][2] = {{PARAM_PCIE_GEN, PARAM_PCIE_GEN_MAX},
                                             {PARAM_PCIE_WIDTH, PARAM_PCIE_WIDTH_MAX}};
    for (size_t i = 0; i < usual->node.link_count; i++)
        for (int p = 0; p < 2 && usual->node.links[i].kind == LINK_PCIE; p++) {
            const struct params *usually = &usual->node.links[i].params;
            struct params *params = &own->node.links[i].params;
            const double could = param_get(usually, pairs[p][0]);
            if (param_get(params, pairs[p][0]) < could && param_get(params, pairs[p][1]) < could)
                param_set(params, pairs[p][1], could, *param_origin(usually, pairs[p][0]));
        }
}

/* A machine all of whose nodes are like these. */
static enum status make_machine(const struct machine *usual, struct odd_nodes *odd,
                                enum status (*finish)(struct machine *machine, struct error *error),
                                struct error *error)
{
    struct error fault;
    struct machine alone = *usual; /* without odd nodes */
    alone.odd = NULL;
    alone.odd_count = 0;
    alone.kinds = NULL;
    odd->machine = calloc(1, sizeof *odd->machine);
    enum status status =
        odd->machine ? machine_copy(&alone, odd->machine, error) : no_memory(error);
    for (size_t i = 0; i < odd->change_count && !status; i++) {
        const struct odd_change *change = &odd->changes[i];
        param_set(address_params(odd->machine, &change->at), change->at.id, change->value,
                  change->origin);
    }
    if (!status)
        keep_sold(usual, odd->machine);
    if (!status && finish(odd->machine, &fault)) {
        error_set(error, fault.status, "%s: %s", odd->label, fault.message);
        return of_nodes(odd, error);
    }
    if (!status)
        odd->machine->label = odd->label;
    return status;
}

static bool differs(const struct machine *machine, const struct odd_nodes *odd)
{
    for (size_t i = 0; i < odd->change_count; i++)
        if (!equal(address_get(machine, &odd->changes[i].at), odd->changes[i].value))
            return true;
    return false;
}

enum status odd_finish(struct machine *machine,
                       enum status (*finish)(struct machine *machine, struct error *error),
                       struct error *error)
{
    enum status status = STATUS_OK;
    bool any = false;
    free(machine->kinds);
    machine->kinds = NULL;
    if (machine->odd_count > 0)
        status = number_nodes(machine, error);
    for (size_t k = 0; k < machine->odd_count && !status; k++) {
        struct odd_nodes *odd = &machine->odd[k];
        forget_machine(odd);
        write_label(odd);
        any = any || differs(machine, odd);
        status = make_machine(machine, odd, finish, error);
    }
    if (!any || status) { /* all alike after all */
        free(machine->kinds);
        machine->kinds = NULL;
    }
    return status;
}

enum status odd_copy(const struct machine *from, struct machine *copy, struct error *error)
{
    enum status status = STATUS_OK;
    copy->odd = NULL;
    copy->odd_count = 0;
    copy->kinds = NULL;
    for (size_t k = 0; k < from->odd_count && !status; k++) {
        const struct odd_nodes *theirs = &from->odd[k];
        struct odd_nodes *odd;
        status = odd_add(copy, theirs->name, &odd, error);
        for (size_t i = 0; i < theirs->range_count && !status; i++)
            status = odd_add_range(odd, theirs->ranges[i], error);
        for (size_t i = 0; i < theirs->change_count && !status; i++)
            status = odd_add_change(odd, theirs->changes[i], error);
    }
    return status;
}

void odd_free(struct machine *machine)
{
    for (size_t k = 0; k < machine->odd_count; k++) {
        forget_machine(&machine->odd[k]);
        free(machine->odd[k].ranges);
        free(machine->odd[k].changes);
    }
    free(machine->odd);
    free(machine->kinds);
}
