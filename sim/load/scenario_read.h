/* scenario_read.h: the parts of reading a scenario, between scenario.c, scenario_set.c, sold.c
 * and scenario_machine.c. */
#ifndef GDSIM_LOAD_SCENARIO_READ_H
#define GDSIM_LOAD_SCENARIO_READ_H

#include "sim/load/objects.h"
#include "sim/load/scenario.h"

/* --set: what a file is laid on must be known before the rest is laid on it. */
enum status scenario_set_extends(const struct scenario_request *request, struct yaml_tree *tree,
                                 struct diag_list *diag);
enum status scenario_apply_set(const struct scenario_request *request, struct scenario *scenario);

/* Stars among the names of devices and links of a file, `own`, that has been laid on the tree: each
 * of their parameters goes to all that fit and have it, where the file does not say it of one. */
enum status scenario_spread_stars(struct yaml_tree *tree, const struct yaml_node *own,
                                  struct diag_list *diag);

/* A link of the tree that was laid on `before`, or changed since, and trains lower than there,
 * could do what it did there: gen_max and width_max, unless given. See sold.c. */
enum status scenario_keep_sold(struct yaml_tree *tree, const struct yaml_node *before);

/* Fill scenario->machine from the keys nodes, node, software, engine, fabric and odd of `root`. */
void scenario_read_machine(const struct object_reader *reader, struct yaml_node *root,
                           struct scenario *scenario);

/* Nodes that differ, from the value of `odd` (NULL: none). The rest of the machine has been read.
 */
void scenario_read_odd(const struct object_reader *reader, struct yaml_node *odd,
                       struct machine *machine);

#endif
