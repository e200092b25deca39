/* odd.h: nodes that differ from the others in parameters, never in devices or links.
 *
 * A machine has one node type, and kinds of it: kind 0 is the usual node, kind k is odd[k - 1].
 * Each kind has a finished machine of its own, made by machine_finish from the usual one as it is
 * then and what the odd nodes have otherwise: a change of the usual node changes all that say
 * nothing else. Devices, links and resources have the same numbers in all kinds, so a part of a
 * route is worked out on the machine of the node that it lies in and used like any other.
 */
#ifndef GDSIM_CORE_ODD_H
#define GDSIM_CORE_ODD_H

#include "sim/core/address.h"

#define ODD_MAX_KINDS 8 /* with the usual one: routes are kept for each pair of kinds */

/* Node numbers, in one stretch. */
struct node_range {
    uint32_t first, last;
};

/* A number of the machine (ADDRESS_STATE, ADDRESS_DEVICE or ADDRESS_LINK) that is another one. */
struct odd_change {
    struct address at;
    double value;
    struct origin origin;
};

struct odd_nodes {
    char name[MACHINE_NAME_LENGTH];
    struct node_range *ranges;
    size_t range_count;
    struct odd_change *changes;
    size_t change_count;
    char label[64];          /* "node 17", "nodes 3, 8-15" */
    struct machine *machine; /* made by machine_finish */
};

/* Add nodes that differ; what they are and how is filled by the next two. STATUS_INPUT: a name is
 * empty or too long, or there are too many kinds. */
enum status odd_add(struct machine *machine, const char *name, struct odd_nodes **ret_odd,
                    struct error *error);
enum status odd_add_range(struct odd_nodes *odd, struct node_range range, struct error *error);
enum status odd_add_change(struct odd_nodes *odd, struct odd_change change, struct error *error);

/* STATUS_INPUT for a number that holds for the job as a whole, not for a node. */
enum status odd_may_differ(const struct address *at, struct error *error);

/* Make odd nodes look like `like`, a changed copy of their machine: what differs from the usual
 * node (unfinished) becomes their changes. */
enum status odd_set(struct machine *machine, size_t index, const struct machine *like,
                    struct error *error);

/* For machine.c: kinds of nodes and their machines; a copy's own; and back. `finish` makes the
 * resources of a machine of one kind. */
enum status odd_finish(struct machine *machine,
                       enum status (*finish)(struct machine *machine, struct error *error),
                       struct error *error);
enum status odd_copy(const struct machine *from, struct machine *copy, struct error *error);
void odd_free(struct machine *machine);

#endif
