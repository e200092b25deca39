/* mechanism.h: the table of mechanisms: who moves the bytes, and by which stages.
 *
 * A mechanism is one file (mech_NAME.c) with one function, and one row in mechanism.c.
 */
#ifndef GDSIM_CORE_MECHANISM_H
#define GDSIM_CORE_MECHANISM_H

#include "sim/core/route.h"

struct mechanism {
    const char *name;      /* as scenarios write it */
    const char *label;     /* as table headings and short lists write it */
    const char *title;     /* as sentences write it */
    const char *summary;   /* one line for `gdsim list mechanisms` */
    const char *algorithm; /* script it brings along (a mechanism that reduces in the network), or
                              NULL: the scenario's algorithm */
    /* Build the route between two endpoints. STATUS_INPUT when the mechanism cannot serve them,
     * with the reason. `route` comes zeroed. */
    enum status (*route)(const struct machine *machine, const struct endpoints *ends,
                         struct route *route, struct error *error);
};

extern const struct mechanism mechanism_table[];
extern const size_t mechanism_count;

const struct mechanism *mechanism_find(const char *name);

/* Clear *route and build it. */
enum status mechanism_route(const struct mechanism *mechanism, const struct machine *machine,
                            const struct endpoints *ends, struct route *route, struct error *error);

/* The NIC that a GPU uses; STATUS_INPUT when it reaches none. */
enum status mechanism_nic(const struct machine *machine, size_t gpu, int *ret_nic,
                          struct error *error);

/* One per mechanism, in mech_NAME.c. */
enum status mech_staged_route(const struct machine *machine, const struct endpoints *ends,
                              struct route *route, struct error *error);
enum status mech_gdr_route(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error);
enum status mech_sharp_route(const struct machine *machine, const struct endpoints *ends,
                             struct route *route, struct error *error);

#endif
