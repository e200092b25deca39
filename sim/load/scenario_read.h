/* scenario_read.h: the parts of reading a scenario, between scenario.c and scenario_machine.c. */
#ifndef GDSIM_LOAD_SCENARIO_READ_H
#define GDSIM_LOAD_SCENARIO_READ_H

#include "sim/load/objects.h"
#include "sim/load/scenario.h"

/* Fill scenario->machine from the keys nodes, node, software, engine and fabric of `root`. */
void scenario_read_machine(const struct object_reader *reader, struct yaml_node *root,
                           struct scenario *scenario);

#endif
