/* mech_storage.c: drives to and from device memory.
 *
 *   gds         drive -> GPU: one crossing, the drive's DMA writes (or reads) device memory
 *   gds_compat  drive -> DRAM | page cache to pinned buffer | DRAM -> GPU: two crossings
 *
 * cuFile falls back to the second without an error: module missing, file system not supported,
 * no room in BAR1. Unaligned requests and drives far from the GPU bounce through a buffer.
 * Writes go the other way round. Drives of other nodes: mech_storage_remote.c.
 */
#include "sim/core/mech_storage.h"

#include <stdio.h>

static bool split(const struct machine *machine, const struct endpoints *ends, struct storage *ret)
{
    if (ends->src.kind != ENDPOINT_DEVICE || ends->dst.kind != ENDPOINT_DEVICE)
        return false;
    bool reads = mechanism_kind(machine, &ends->src) == DEVICE_NVME;
    *ret = (struct storage){.drive = reads ? ends->src.device : ends->dst.device,
                            .other = reads ? ends->dst.device : ends->src.device,
                            .reads = reads};
    return machine->node.devices[ret->drive].kind == DEVICE_NVME &&
           machine->node.devices[ret->other].kind != DEVICE_NVME;
}

static enum status refuse(struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "storage moves bytes between a drive and a GPU or memory");
}

enum outcome storage_check_software(const struct machine *machine, struct route *route)
{
    const struct params *state = &machine->state;
    if (!(param_get(state, PARAM_STATE_NVIDIA_FS) > 0)) {
        route_note(route, PRE_NVIDIA_FS, OUTCOME_BREAKS, "the nvidia-fs module is not loaded");
        return OUTCOME_BREAKS;
    }
    if (!(param_get(state, PARAM_STATE_GDS_FILESYSTEM) > 0)) {
        route_note(route, PRE_FILESYSTEM, OUTCOME_BREAKS, "the file system does not support GDS");
        return OUTCOME_BREAKS;
    }
    if (!(param_get(state, PARAM_STATE_GDS_ALIGNED) > 0)) {
        route_note(route, PRE_ALIGNED, OUTCOME_BREAKS,
                   "unaligned requests bounce through a buffer");
        return OUTCOME_BREAKS;
    }
    return OUTCOME_HOLDS;
}

static enum outcome check(const struct machine *machine, size_t drive, size_t gpu, bool reads,
                          struct route *route)
{
    const struct params *params = &machine->node.devices[gpu].params;
    struct path path;
    enum outcome outcome = storage_check_software(machine, route);
    if (outcome >= OUTCOME_BREAKS)
        return outcome;
    if (param_get(params, PARAM_GPU_BAR1) - param_get(params, PARAM_GPU_BAR1_USED) <= 0) {
        route_note(route, PRE_BAR1, OUTCOME_BREAKS, "no BAR1 is left for the drive to write to");
        return OUTCOME_BREAKS;
    }
    if (machine_path(machine, drive, gpu, LINK_DMA, &path) &&
        machine_class(machine, &path) >= PATH_SYS) {
        route_note(route, PRE_STORAGE_DISTANCE, OUTCOME_BREAKS,
                   "%s and %s are on different sockets: cuFile bounces",
                   machine->node.devices[drive].name, machine->node.devices[gpu].name);
        return OUTCOME_BREAKS;
    }
    /* A file that is read is written to the GPU by the drive, and the other way round. */
    return reads ? route_check_peer(route, machine, drive, gpu, false)
                 : route_check_peer(route, machine, gpu, drive, true);
}

/* The drive and its DMA to or from `other`, in one stage. */
static enum status drive_dma(const struct machine *machine, struct route *route, size_t drive,
                             size_t other, bool reads, struct error *error)
{
    enum status status =
        reads ? route_drive(route, machine, END_SRC, drive, true, error) : STATUS_OK;
    if (!status)
        status = reads
                     ? route_crossing(route, machine, END_SRC, drive, other, TLP_NVME_WRITE, error)
                     : route_crossing(route, machine, END_SRC, other, drive, TLP_NVME_READ, error);
    if (!status && !reads)
        status = route_drive(route, machine, END_SRC, drive, false, error);
    return status;
}

static enum status submit(const struct machine *machine, size_t gpu, struct route *route,
                          struct error *error)
{
    return route_stage(route, machine, "submit the request", PARAM_SOFTWARE_STORAGE_SUBMIT, END_SRC,
                       gpu, error);
}

MECHANISM(gds)
{
    struct storage storage;
    bool done;
    if (!split(machine, ends, &storage))
        return refuse(error);
    size_t drive = storage.drive, gpu = storage.other;
    if (machine->node.devices[gpu].kind != DEVICE_GPU)
        return mechanism_fall_back("gds_compat", machine, ends, route, error);
    enum outcome outcome = ends->same_node ? check(machine, drive, gpu, storage.reads, route)
                                           : storage_check_remote(machine, ends, &storage, route);
    enum status status = mechanism_react(outcome, "gds_compat", machine, ends, route, &done, error);
    if (status || done)
        return status;
    snprintf(route->setup, sizeof route->setup, "file and buffer registered (descriptors)");
    if (!ends->same_node)
        return storage_remote(machine, ends, &storage, true, route, error);
    status = submit(machine, gpu, route, error);
    return status ? status : drive_dma(machine, route, drive, gpu, storage.reads, error);
}

MECHANISM(gds_compat)
{
    struct storage storage;
    if (!split(machine, ends, &storage))
        return refuse(error);
    if (!ends->same_node)
        return storage_remote(machine, ends, &storage, false, route, error);
    size_t drive = storage.drive, other = storage.other;
    bool reads = storage.reads;
    size_t memory = mechanism_memory(machine, other);
    bool gpu = machine->node.devices[other].kind == DEVICE_GPU;
    enum status status = submit(machine, other, route, error);
    if (!status && reads)
        status = drive_dma(machine, route, drive, memory, true, error);
    if (!status && gpu && !reads)
        status = route_crossing(route, machine, END_SRC, other, memory, TLP_COPY_WRITE, error);
    /* Between page cache and pinned buffer a CPU copies. */
    if (!status)
        status = route_stage(route, machine, "in the page cache: wake the copier",
                             PARAM_SOFTWARE_COPY_HANDOFF, END_SRC, other, error);
    if (!status)
        status = route_copy(route, machine, END_SRC, memory, error);
    if (!status && gpu && reads) {
        status = route_stage(route, machine, "in host memory: start the copy",
                             PARAM_SOFTWARE_COPY_HANDOFF, END_SRC, other, error);
        if (!status)
            status = route_crossing(route, machine, END_SRC, memory, other, TLP_COPY_READ, error);
    }
    if (!status && !reads) {
        status = route_stage_free(route, error);
        if (!status)
            status = drive_dma(machine, route, drive, memory, false, error);
    }
    return status;
}
