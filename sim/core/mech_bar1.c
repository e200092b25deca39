/* mech_bar1.c: GDRCopy: the CPU reaches into device memory through BAR1.
 *
 *   write  DRAM -> GPU: stores, combined to 64 B packets: fast to start, about 10 GB/s
 *   read   GPU -> DRAM: uncached loads, one small completion at a time: about 0.5 GB/s
 *
 * No driver call and no handoff: the CPU itself moves the bytes. Needs gdrdrv, and room in BAR1.
 */
#include "sim/core/mechanism.h"

#include <stdio.h>

MECHANISM(gdrcopy)
{
    bool writes =
        ends->dst.kind == ENDPOINT_DEVICE && mechanism_kind(machine, &ends->dst) == DEVICE_GPU;
    const struct endpoint *gpu_end = writes ? &ends->dst : &ends->src;
    const struct endpoint *cpu_end = writes ? &ends->src : &ends->dst;
    bool done;
    if (!ends->same_node || ends->src.kind != ENDPOINT_DEVICE ||
        ends->dst.kind != ENDPOINT_DEVICE || mechanism_kind(machine, gpu_end) != DEVICE_GPU ||
        mechanism_kind(machine, cpu_end) != DEVICE_CPU)
        return error_set(error, STATUS_INPUT, "GDRCopy moves bytes between a cpu and a gpu only");
    const struct device *gpu = &machine->node.devices[gpu_end->device];
    enum outcome outcome = OUTCOME_HOLDS;
    double bar1 =
        param_get(&gpu->params, PARAM_GPU_BAR1) - param_get(&gpu->params, PARAM_GPU_BAR1_USED);
    if (!(param_get(&machine->state, PARAM_STATE_GDRDRV) > 0)) {
        route_note(route, PRE_GDRDRV, OUTCOME_BREAKS, "the gdrdrv module is not loaded");
        outcome = OUTCOME_BREAKS;
    } else if (bar1 < param_get(&machine->state, PARAM_STATE_WORKING_SET)) {
        route_note(route, PRE_BAR1, OUTCOME_BREAKS,
                   "BAR1 of %s has %.0f MiB left, the mappings need %.0f MiB: gdr_map fails",
                   gpu->name, bar1 / 1048576,
                   param_get(&machine->state, PARAM_STATE_WORKING_SET) / 1048576);
        outcome = OUTCOME_BREAKS;
    }
    enum status status = mechanism_react(outcome, "staged", machine, ends, route, &done, error);
    if (status || done)
        return status;
    snprintf(route->setup, sizeof route->setup, "buffer pinned and mapped");
    status = route_stage_free(route, error);
    return status ? status : route_bar1(route, machine, ends->src.device, ends->dst.device, error);
}
