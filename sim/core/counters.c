/* counters.c: see counters.h. */
#include "sim/core/counters.h"

/* The link that a resource is a direction of; *ret_reverse is the other direction's resource. */
static const struct link *link_of(const struct node_type *node, uint16_t resource,
                                  uint16_t *ret_reverse)
{
    for (size_t i = 0; i < node->link_count; i++) {
        const struct link *link = &node->links[i];
        if (resource != link->resource && resource != link->resource + 1)
            continue;
        *ret_reverse = (uint16_t)(2 * link->resource + 1 - resource);
        return link;
    }
    return NULL;
}

static double read_request_B(const struct node_type *node, const struct route_leg *leg)
{
    for (size_t i = 0; i < node->device_count; i++)
        if (node->devices[i].kind == DEVICE_NIC && leg->mover == TLP_NIC_READ)
            return param_get(&node->devices[i].params, PARAM_NIC_READ_REQUEST);
    return 512;
}

static void add_leg(const struct routes *routes, size_t slot, const struct route_leg *leg,
                    double bytes, double *ret_bytes)
{
    const struct route *route = routes->slot[slot];
    const struct node_type *node =
        &machine_of_kind(routes->machine, routes_kind(routes, slot, leg->end))->node;
    for (size_t i = 0; i < leg->use_count; i++) {
        uint16_t resource = route->uses[leg->first_use + i].resource, reverse;
        const struct link *link = link_of(node, resource, &reverse);
        if (!link)
            continue;
        if (link->kind != LINK_PCIE) {
            ret_bytes[resource] += bytes;
            continue;
        }
        struct tlp_factors factors =
            tlp_factors(leg->mover, (int)param_get(&link->params, PARAM_PCIE_MPS),
                        (int)read_request_B(node, leg));
        ret_bytes[resource] += bytes * factors.forward;
        ret_bytes[reverse] += bytes * factors.back;
    }
}

void counters_add(const struct routes *routes, const struct ledger *ledger, double *ret_bytes)
{
    for (size_t slot = 0; slot < ledger->route_count; slot++) {
        const struct route *route = routes->slot[slot];
        if (!(ledger->route_bytes[slot] > 0))
            continue;
        for (size_t i = 0; i < route->leg_count; i++)
            if (route->legs[i].kind != LEG_WIRE)
                add_leg(routes, slot, &route->legs[i],
                        route->line_factor * ledger->route_bytes[slot], ret_bytes);
    }
}
