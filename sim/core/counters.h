/* counters.h: what a machine's own counters would show after a run.
 *
 * A PCIe counter counts packets, not payload: each crossing costs its payload and the headers of
 * the packets its mover issues, and reads cost requests against the direction of the payload
 * (models/tlp). NVLink counters count payload.
 */
#ifndef GDSIM_CORE_COUNTERS_H
#define GDSIM_CORE_COUNTERS_H

#include "sim/core/ledger.h"

/* Add, for each resource of a node (all nodes together), the bytes that a counter on it shows.
 * ret_bytes has machine->node.resource_count entries; resources that are no link stay as they are.
 */
void counters_add(const struct routes *routes, const struct ledger *ledger, double *ret_bytes);

#endif
