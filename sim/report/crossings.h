/* crossings.h: what one transfer by each mechanism costs a host, read off the routes. */
#ifndef GDSIM_REPORT_CROSSINGS_H
#define GDSIM_REPORT_CROSSINGS_H

#include "sim/report/grid.h"
#include "sim/report/results.h"

/* One row a mechanism: PCIe bytes per byte moved at each host, whether a CPU is woken for each
 * chunk, and where the fixed cost lands. STATUS_INPUT when a mechanism has no route here. */
enum status crossings_grid(const struct machine *machine, const struct mechanism *const *mechanisms,
                           size_t count, struct grid **ret_grid, struct error *error);

#endif
