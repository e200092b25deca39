/* route_link.c: what is said of the PCIe links of a way: link speed and width as trained, not as
 * sold. See route.h.
 *
 *   could_Bps = rate of the link * pcie_write(Gen, width as sold) / pcie_write(Gen, width now)
 *
 * Nothing here changes a time: a link carries what its rate, or its Gen and width, say
 * (link_rate_Bps). Assumption: a rate by hand is a measured one, so that it lies between half of
 * what the encoded link carries (models/pcie.h, raw) and all of it; outside, one of the two numbers
 * is wrong. The lowest that the catalogue has is 0.70: uplinks of an A100 board, 22 of 31.5 GB/s.
 */
#include <math.h>
#include <stdio.h>

#include "models/pcie.h"
#include "sim/core/route.h"

#define GIVEN_RATE_SHARE 0.5
#define LONG_DMA_B       1e6 /* headers are what counts, not the length */

/* What the link would carry at this generation and width: a given rate grows with them. */
static double rate_at(const struct link *link, double gen, double width)
{
    int mps = (int)param_get(&link->params, PARAM_PCIE_MPS);
    double now = pcie_write_Bps((int)param_get(&link->params, PARAM_PCIE_GEN),
                                (int)param_get(&link->params, PARAM_PCIE_WIDTH), mps, LONG_DMA_B);
    return link_rate_Bps(link) * pcie_write_Bps((int)gen, (int)width, mps, LONG_DMA_B) / now;
}

/* The NIC at an end of the link; NULL: none. */
static const struct device *nic_of(const struct machine *machine, const struct link *link)
{
    for (int end = 0; end < 2; end++)
        if (machine->node.devices[link->end[end]].kind == DEVICE_NIC)
            return &machine->node.devices[link->end[end]];
    return NULL;
}

bool route_rate_denied(const struct link *link)
{
    double raw_Bps = pcie_raw_Bps((int)param_get(&link->params, PARAM_PCIE_GEN),
                                  (int)param_get(&link->params, PARAM_PCIE_WIDTH));
    double rate_Bps = link_rate_Bps(link);
    return rate_Bps > raw_Bps || rate_Bps < GIVEN_RATE_SHARE * raw_Bps;
}

/* A link that trained below what both ends can do, or that has been given a rate that its lanes
 * deny; else a NIC's link that is slower than the port. */
static enum outcome check_trained(struct route *route, const struct machine *machine,
                                  const struct link *link)
{
    const char *name = machine->node.resources[link->resource].name;
    double gen = param_get(&link->params, PARAM_PCIE_GEN);
    double width = param_get(&link->params, PARAM_PCIE_WIDTH);
    double gen_max = fmax(gen, param_get(&link->params, PARAM_PCIE_GEN_MAX));
    double width_max = fmax(width, param_get(&link->params, PARAM_PCIE_WIDTH_MAX));
    double rate_Bps = link_rate_Bps(link), raw_Bps = pcie_raw_Bps((int)gen, (int)width);
    const struct device *nic = nic_of(machine, link);
    double port_Bps = nic ? machine->node.resources[nic->resource].rate_Bps : 0;
    enum outcome outcome = OUTCOME_HOLDS;
    if (route_rate_denied(link)) {
        outcome = OUTCOME_SLOWS;
        route_note(route, PRE_LINK_RATE, OUTCOME_SLOWS,
                   "%s has been given %.4g GB/s, where Gen%.0f x%.0f %s %.4g", name, rate_Bps / 1e9,
                   gen, width, rate_Bps > raw_Bps ? "carries at most" : "could carry",
                   raw_Bps / 1e9);
    }
    if (rate_Bps > raw_Bps) /* then it says nothing of what training lower costs */
        return outcome;
    if (gen_max > gen || width_max > width) {
        char needs[64] = "";
        if (port_Bps > 0)
            snprintf(needs, sizeof needs, "; %s needs %.4g", nic->name, port_Bps / 1e9);
        route_note(route, PRE_LINK_TRAINED, OUTCOME_SLOWS,
                   "%s runs at Gen%.0f x%.0f, both ends could do Gen%.0f x%.0f: %.4g of %.4g "
                   "GB/s%s",
                   name, gen, width, gen_max, width_max, rate_Bps / 1e9,
                   rate_at(link, gen_max, width_max) / 1e9, needs);
    } else if (rate_Bps < port_Bps && outcome == OUTCOME_HOLDS)
        route_note(route, PRE_NIC_SLOT, OUTCOME_SLOWS,
                   "%s carries %.4g GB/s (Gen%.0f x%.0f), %s needs %.4g", name, rate_Bps / 1e9, gen,
                   width, nic->name, port_Bps / 1e9);
    else
        return outcome;
    return OUTCOME_SLOWS;
}

enum outcome route_check_links(struct route *route, const struct machine *machine,
                               const struct path *path)
{
    enum outcome outcome = OUTCOME_HOLDS;
    for (size_t i = 0; i < path->length; i++) {
        const struct link *link = &machine->node.links[path->link[i]];
        if (link->kind != LINK_PCIE)
            continue;
        route->about = link;
        if (check_trained(route, machine, link) == OUTCOME_SLOWS)
            outcome = OUTCOME_SLOWS;
        double duplex = param_get(&link->params, PARAM_PCIE_DUPLEX);
        if (duplex < 1) {
            route_note(route, PRE_DUPLEX, OUTCOME_SLOWS,
                       "%s gives each direction %.2f of its rate while both run",
                       machine->node.resources[link->resource].name, duplex);
            outcome = OUTCOME_SLOWS;
        }
    }
    route->about = NULL;
    return outcome;
}
