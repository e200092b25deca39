/* routes.h: the routes of one mechanism on one machine, made when first asked for.
 *
 * A route depends on which GPU of a node sends, which GPU of a node receives, whether the two nodes
 * are one, and of which kind they are (odd.h).
 */
#ifndef GDSIM_CORE_ROUTES_H
#define GDSIM_CORE_ROUTES_H

#include "sim/core/mechanism.h"
#include "sim/core/plan.h"

/* A plan may choose another mechanism for some of its transfers: each mechanism has its slots. */
struct routes {
    const struct machine *machine;
    const struct mechanism *mechanism;
    struct route **slot; /* NULL: not asked for yet */
    size_t slot_count;
    size_t per_mechanism; /* slots, */
    size_t per_kinds;     /* and for a pair of kinds of nodes */
    size_t kinds;
    uint32_t rails;  /* NICs that a GPU deals its lanes to */
    uint32_t groups; /* of the plan that switches work for (routes_groups) */
};

enum status routes_init(struct routes *routes, const struct machine *machine,
                        const struct mechanism *mechanism, struct error *error);
void routes_free(struct routes *routes);

/* Say how many groups of ranks have a switch add for them. Routes made for another number are
 * forgotten. */
void routes_groups(struct routes *routes, uint32_t groups);

/* Number of the slot for a transfer of so many bytes. Lanes are dealt to the rails in turn. */
size_t routes_slot(const struct routes *routes, const struct transfer *transfer, double bytes);

/* What the slot joins, and of which kind the node at an end is. */
struct endpoints routes_endpoints(const struct routes *routes, size_t slot);
static inline size_t routes_kind(const struct routes *routes, size_t slot, enum route_end end)
{
    const size_t pair = slot / routes->per_kinds;
    return end == END_SRC ? pair / routes->kinds : pair % routes->kinds;
}

/* Whether two slots, whose routes have been made, are accounted for in the same way and have as
 * much to be said about. */
bool routes_same(const struct routes *routes, size_t slot, size_t other);

/* Make the routes of all pairs that a plan uses for a size, without running it. A route that hangs
 * is kept too, for its verdicts: reports only. */
enum status routes_fill(struct routes *routes, const struct plan *plan, double size_B,
                        struct error *error);

/* The route in a slot. NULL and *error when the mechanism cannot serve it. */
const struct route *routes_get(struct routes *routes, size_t slot, struct error *error);

#endif
