/* mech_storage_remote.c: drives of another node, by RDMA (NVMe-oF, or a file server with an RDMA
 * transport). The node that has the drive is the server; nodes are alike, so each can be one.
 *
 *   read    drive -> server's DRAM | the server posts: DRAM -> NIC, wire, NIC -> client
 *   write   client -> NIC, wire, NIC -> server's DRAM | the server submits: DRAM -> drive
 *
 *   gds         the client's NIC writes (reads) device memory itself: GPUDirect RDMA
 *   gds_compat  it writes host memory; a CPU copies from page cache to pinned buffer, and a copy
 *               engine brings it to the GPU; writes go the other way round
 *
 * The client submits, and its request takes a trip over the network before the drive begins.
 * Assumed: the server has its drives' data in host memory on the way (no transfers from drive to
 * NIC), and nothing is in its page cache.
 */
#include "sim/core/mech_storage.h"

/* The two nodes of a request. */
struct ends {
    size_t drive, other; /* other: the client's GPU or memory */
    size_t server_memory, client_memory;
    int server_nic, client_nic;
    enum route_end server, client;
    const struct machine *server_machine, *client_machine;
};

static enum status find_ends(const struct machine *machine, const struct endpoints *endpoints,
                             const struct storage *storage, struct ends *ret, struct error *error)
{
    const enum route_end server = storage->reads ? END_SRC : END_DST;
    const enum route_end client = storage->reads ? END_DST : END_SRC;
    *ret = (struct ends){.drive = storage->drive,
                         .other = storage->other,
                         .server_memory = mechanism_memory(machine, storage->drive),
                         .client_memory = mechanism_memory(machine, storage->other),
                         .server = server,
                         .client = client,
                         .server_machine = endpoints_machine(machine, endpoints, server),
                         .client_machine = endpoints_machine(machine, endpoints, client)};
    enum status status =
        mechanism_nic(machine, storage->drive, endpoints->rail, &ret->server_nic, error);
    return status
               ? status
               : mechanism_nic(machine, storage->other, endpoints->rail, &ret->client_nic, error);
}

enum outcome storage_check_remote(const struct machine *machine, const struct endpoints *endpoints,
                                  const struct storage *storage, struct route *route)
{
    machine = endpoints_machine(machine, endpoints, storage->reads ? END_DST : END_SRC);
    route->whose = machine->label;
    enum outcome outcome = storage_check_software(machine, route);
    int nic = machine_nearest(machine, storage->other, DEVICE_NIC, endpoints->rail);
    if (outcome >= OUTCOME_BREAKS || nic < 0)
        return outcome;
    return mechanism_check_nic(machine, storage->other, (size_t)nic, !storage->reads, route);
}

static enum status submit(const struct ends *ends, struct route *route, struct error *error)
{
    return route_stage(route, ends->client_machine, "submit the request",
                       PARAM_SOFTWARE_STORAGE_SUBMIT, ends->client, ends->other, error);
}

/* A read until the bytes are in the server's memory. */
static enum status fetch(const struct ends *ends, struct route *route, struct error *error)
{
    const struct params *nic = &ends->client_machine->node.devices[ends->client_nic].params;
    enum status status = submit(ends, route, error);
    if (!status)
        status = route_drive(route, ends->server_machine, ends->server, ends->drive, true, error);
    if (status)
        return status;
    route->legs[route->leg_count - 1].latency_s += /* the request's own way */
        param_get(nic, PARAM_NIC_LATENCY) +
        param_get(&ends->client_machine->fabric, PARAM_FABRIC_HOP_LATENCY);
    return route_crossing(route, ends->server_machine, ends->server, ends->drive,
                          ends->server_memory, TLP_NVME_WRITE, error);
}

/* Over the network into or out of `memory` of the client. */
static enum status carry(const struct ends *ends, size_t memory, bool reads, struct route *route,
                         struct error *error)
{
    const int nics[2] = {reads ? ends->server_nic : ends->client_nic,
                         reads ? ends->client_nic : ends->server_nic};
    const struct machine *sender = reads ? ends->server_machine : ends->client_machine;
    const struct machine *receiver = reads ? ends->client_machine : ends->server_machine;
    enum status status =
        route_crossing(route, sender, END_SRC, reads ? ends->server_memory : memory,
                       (size_t)nics[0], TLP_NIC_READ, error);
    if (!status)
        status = route_wire(route, sender, receiver, nics[0], nics[1], 0, error);
    return status ? status
                  : route_crossing(route, receiver, END_DST, (size_t)nics[1],
                                   reads ? memory : ends->server_memory, TLP_NIC_WRITE, error);
}

/* A write from the server's memory on. */
static enum status store(const struct ends *ends, struct route *route, struct error *error)
{
    enum status status =
        route_stage(route, ends->server_machine, "in the server's memory: submit to the drive",
                    PARAM_SOFTWARE_STORAGE_SUBMIT, ends->server, ends->drive, error);
    if (!status)
        status = route_crossing(route, ends->server_machine, ends->server, ends->server_memory,
                                ends->drive, TLP_NVME_READ, error);
    return status
               ? status
               : route_drive(route, ends->server_machine, ends->server, ends->drive, false, error);
}

/* Between the client's page cache and the buffer of its copy engine. */
static enum status page_cache(const struct ends *ends, struct route *route, struct error *error)
{
    enum status status =
        route_stage(route, ends->client_machine, "in the page cache: wake the copier",
                    PARAM_SOFTWARE_COPY_HANDOFF, ends->client, ends->other, error);
    return status
               ? status
               : route_copy(route, ends->client_machine, ends->client, ends->client_memory, error);
}

static enum status read_file(const struct ends *ends, bool direct, bool gpu, struct route *route,
                             struct error *error)
{
    enum status status = fetch(ends, route, error);
    if (!status)
        status = route_stage(route, ends->server_machine, "in the server's memory: post it",
                             PARAM_SOFTWARE_STEP_HANDOFF, ends->server, ends->drive, error);
    if (!status)
        status = carry(ends, direct ? ends->other : ends->client_memory, true, route, error);
    if (status || direct)
        return status;
    status = page_cache(ends, route, error);
    if (!status && gpu)
        status = route_stage(route, ends->client_machine, "in host memory: start the copy",
                             PARAM_SOFTWARE_COPY_HANDOFF, ends->client, ends->other, error);
    if (!status && gpu)
        status = route_crossing(route, ends->client_machine, ends->client, ends->client_memory,
                                ends->other, TLP_COPY_READ, error);
    return status;
}

static enum status write_file(const struct ends *ends, bool direct, bool gpu, struct route *route,
                              struct error *error)
{
    enum status status = submit(ends, route, error);
    if (!status && !direct && gpu)
        status = route_crossing(route, ends->client_machine, ends->client, ends->other,
                                ends->client_memory, TLP_COPY_WRITE, error);
    if (!status && !direct)
        status = page_cache(ends, route, error);
    if (!status && !direct)
        status = route_stage_free(route, error);
    if (!status)
        status = carry(ends, direct ? ends->other : ends->client_memory, false, route, error);
    return status ? status : store(ends, route, error);
}

enum status storage_remote(const struct machine *machine, const struct endpoints *endpoints,
                           const struct storage *storage, bool direct, struct route *route,
                           struct error *error)
{
    struct ends ends;
    bool gpu = machine->node.devices[storage->other].kind == DEVICE_GPU;
    enum status status = find_ends(machine, endpoints, storage, &ends, error);
    if (status)
        return status;
    return storage->reads ? read_file(&ends, direct, gpu, route, error)
                          : write_file(&ends, direct, gpu, route, error);
}
