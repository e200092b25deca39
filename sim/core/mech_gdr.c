/* mech_gdr.c: GPUDirect RDMA.
 *
 *   GPU -> NIC -> wire -> NIC -> GPU
 *
 * One stage from VRAM to VRAM, cut through: the sender's NIC reads device memory, the receiver's
 * writes it. One crossing at each host. Inside a node: the best peer path.
 *
 * What is checked at each end, in this order: buffer known to CUDA, peermem or dma-buf, room in
 * BAR1, distance between GPU and NIC, root complex, ACS, IOMMU, trained links; relaxed ordering
 * (receiver) and outstanding reads (sender). What breaks the path at an end means staging through
 * that host's memory by SMs, as NCCL does, without a word: each end decides for itself (sendSetup
 * and recvSetup of transport/net.cc).
 *
 *   async  the same path; the GPU posts the transfer, so that no CPU is in the control path
 *
 * NCCL's LL protocol sends from host memory all the same, because the proxy must read its flags:
 *   GPU -> DRAM | DRAM -> NIC -> wire -> NIC -> GPU
 */
#include "sim/core/mechanism.h"

#include <math.h>
#include <stdio.h>

#include "sim/core/protocol.h"

static bool state_is(const struct machine *machine, enum param_id id)
{
    return param_get(&machine->state, id) > 0;
}

static enum outcome worse(enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}

/* What registration needs: a buffer of this driver, someone to pin it, room in the window. */
static enum outcome check_registration(const struct machine *machine, size_t gpu,
                                       struct route *route)
{
    const struct device *device = &machine->node.devices[gpu];
    if (!state_is(machine, PARAM_STATE_CUDA_BUFFER)) {
        route_note(route, PRE_CUDA_BUFFER, OUTCOME_BREAKS,
                   "the buffer is not CUDA's: registration fails with EINVAL");
        return OUTCOME_BREAKS;
    }
    if (!state_is(machine, PARAM_STATE_PEERMEM) && !state_is(machine, PARAM_STATE_DMABUF)) {
        route_note(route, PRE_PEER_MODULE, OUTCOME_BREAKS,
                   "neither nvidia_peermem nor dma-buf: the NIC cannot register GPU memory");
        return OUTCOME_BREAKS;
    }
    double bar1 = param_get(&device->params, PARAM_GPU_BAR1) -
                  param_get(&device->params, PARAM_GPU_BAR1_USED);
    if (bar1 < param_get(&machine->state, PARAM_STATE_WORKING_SET)) {
        route_note(route, PRE_BAR1, OUTCOME_BREAKS,
                   "BAR1 of %s has %.0f MiB left, the buffers need %.0f MiB", device->name,
                   bar1 / 1048576, param_get(&machine->state, PARAM_STATE_WORKING_SET) / 1048576);
        return OUTCOME_BREAKS;
    }
    return OUTCOME_HOLDS;
}

static enum outcome check_distance(const struct machine *machine, size_t gpu, size_t nic,
                                   struct route *route)
{
    struct path path;
    if (!machine_path(machine, gpu, nic, LINK_DMA, &path))
        return OUTCOME_HOLDS; /* route_check_peer says so */
    enum path_class at = machine_class(machine, &path);
    enum path_class level = (enum path_class)param_get(&machine->state, PARAM_STATE_GDR_LEVEL);
    if (at <= level)
        return OUTCOME_HOLDS;
    route_note(route, PRE_DISTANCE, OUTCOME_BREAKS,
               "%s and %s are %s apart, GPUDirect RDMA ends at %s", machine->node.devices[gpu].name,
               machine->node.devices[nic].name, path_class_name(at), path_class_name(level));
    return OUTCOME_BREAKS;
}

/* Strict order costs a share that is a property of the platform; where nobody gave it, say so. */
static bool orders_unknown(const struct machine *machine, size_t nic)
{
    const struct params *params = &machine->node.devices[nic].params;
    int cpu = machine_nearest(machine, nic, DEVICE_CPU, 0);
    return !(param_get(params, PARAM_NIC_RELAXED_ORDERING) > 0) && cpu >= 0 &&
           param_origin(&machine->node.devices[cpu].params, PARAM_CPU_STRICT_ORDER)->kind ==
               ORIGIN_DEFAULT;
}

static void check_nic(const struct machine *machine, size_t nic, size_t gpu, bool reads,
                      struct route *route)
{
    const struct device *device = &machine->node.devices[nic];
    const struct resource *resources = &machine->node.resources[device->resource];
    double rate = resources[NIC_TX].rate_Bps;
    if (reads && resources[NIC_READ_CREDITS].rate_Bps < rate)
        route_note(route, PRE_READ_CREDITS, OUTCOME_SLOWS,
                   "%s keeps %.0f reads outstanding: %.4g of %.4g GB/s, which need %.0f",
                   device->name, param_get(&device->params, PARAM_NIC_READS),
                   resources[NIC_READ_CREDITS].rate_Bps / 1e9, rate / 1e9,
                   ceil(param_get(&device->params, PARAM_NIC_READS) * rate /
                        resources[NIC_READ_CREDITS].rate_Bps));
    if (reads || !route_passes_root(machine, nic, gpu))
        return;
    if (orders_unknown(machine, nic))
        route_note(route, PRE_RELAXED_ORDERING, OUTCOME_SLOWS,
                   "%s writes in strict order through a root complex that is not known for it: "
                   "0.4 to 1.0 of the rate; 1.0 is taken",
                   device->name);
    if (resources[NIC_ORDERED_WRITES].rate_Bps < rate)
        route_note(route, PRE_RELAXED_ORDERING, OUTCOME_SLOWS,
                   "%s writes in strict order: %.4g of %.4g GB/s where a root complex is passed",
                   device->name, resources[NIC_ORDERED_WRITES].rate_Bps / 1e9, rate / 1e9);
}

enum outcome mechanism_check_nic(const struct machine *machine, size_t gpu, size_t nic, bool reads,
                                 struct route *route)
{
    route->whose = machine->label;
    enum outcome outcome = check_registration(machine, gpu, route);
    if (outcome < OUTCOME_BREAKS)
        outcome = worse(outcome, check_distance(machine, gpu, nic, route));
    if (outcome < OUTCOME_BREAKS)
        outcome = worse(
            outcome, route_check_peer(route, machine, reads ? gpu : nic, reads ? nic : gpu, reads));
    if (outcome < OUTCOME_BREAKS)
        check_nic(machine, nic, gpu, reads, route);
    return outcome;
}

static void note_setup(const struct machine *machine, size_t nic, struct route *route)
{
    snprintf(route->setup, sizeof route->setup, "buffer registered with the NIC");
    if (state_is(machine, PARAM_STATE_REGISTERED))
        return;
    double own_s = param_get(&machine->node.devices[nic].params, PARAM_NIC_REGISTRATION);
    route->setup_s = fmax(route->setup_s, own_s); /* at both ends at once */
    route->whose = machine->label;
    route_note(route, PRE_REGISTERED, OUTCOME_SLOWS,
               "the first iteration registers the buffer: %.4g us", own_s * 1e6);
}

/* What is decided about a transfer through the network. */
struct way {
    const struct machine *machine[2]; /* of each end */
    size_t gpu[2], nic[2];
    bool bounces[2]; /* through host memory at that end only */
    enum param_id post;
};

/* From the sender's GPU to its NIC. */
static enum status send(const struct way *way, struct route *route, struct error *error)
{
    const struct machine *machine = way->machine[END_SRC];
    const size_t gpu = way->gpu[END_SRC];
    size_t buffer = gpu;
    enum nccl_protocol protocol;
    const bool flags = protocol_of(machine, &protocol) && nccl_sends_from_host(protocol);
    enum status status = STATUS_OK;
    if (flags || way->bounces[END_SRC]) {
        buffer = mechanism_memory(machine, gpu);
        status = way->bounces[END_SRC]
                     ? route_stage(route, machine, "post the transfer", PARAM_SOFTWARE_STEP_HANDOFF,
                                   END_SRC, gpu, error)
                     : route_stage_free(route, error);
        if (!status)
            status = route_sm_crossing(route, machine, END_SRC, gpu, buffer, error);
    }
    if (!status && way->bounces[END_SRC])
        status = route_stage(route, machine, "in host memory: tell the NIC",
                             PARAM_SOFTWARE_FLAG_HANDOFF, END_SRC, gpu, error);
    else if (!status)
        status = route_stage(route, machine,
                             buffer == gpu ? "post the transfer" : "read the flags, post",
                             way->post, END_SRC, gpu, error);
    if (!status)
        status =
            route_crossing(route, machine, END_SRC, buffer, way->nic[END_SRC], TLP_NIC_READ, error);
    if (!status)
        status = route_read_flags(route, machine, gpu, error);
    return status ? status : route_head(route, machine, gpu, error);
}

/* From the receiver's NIC to its GPU. */
static enum status receive(const struct way *way, struct route *route, struct error *error)
{
    const struct machine *machine = way->machine[END_DST];
    const size_t gpu = way->gpu[END_DST], nic = way->nic[END_DST];
    if (!way->bounces[END_DST])
        return route_crossing(route, machine, END_DST, nic, gpu, TLP_NIC_WRITE, error);
    const size_t buffer = mechanism_memory(machine, gpu);
    enum status status = route_crossing(route, machine, END_DST, nic, buffer, TLP_NIC_WRITE, error);
    if (!status)
        status = route_stage(route, machine, "in host memory: start the copy",
                             PARAM_SOFTWARE_FLAG_HANDOFF, END_DST, gpu, error);
    return status ? status : route_sm_crossing(route, machine, END_DST, buffer, gpu, error);
}

static enum status remote(const struct machine *machine, const struct endpoints *ends,
                          struct route *route, enum param_id post, struct error *error)
{
    const size_t gpus[2] = {ends->src.device, ends->dst.device};
    struct way way = {.post = post};
    enum outcome worst = OUTCOME_HOLDS;
    for (int end = END_SRC; end <= END_DST; end++) {
        int nic;
        way.machine[end] = endpoints_machine(machine, ends, (enum route_end)end);
        way.gpu[end] = gpus[end];
        if (mechanism_nic(way.machine[end], gpus[end], ends->rail, &nic, error))
            return STATUS_INPUT;
        way.nic[end] = (size_t)nic;
        enum outcome outcome =
            mechanism_check_nic(way.machine[end], gpus[end], (size_t)nic, end == END_SRC, route);
        way.bounces[end] = outcome >= OUTCOME_BREAKS;
        worst = worse(worst, outcome);
    }
    if (worst == OUTCOME_HANGS)
        return mechanism_hang(route, error);
    if (way.bounces[END_SRC] && way.bounces[END_DST])
        return mechanism_fall_back("host", machine, ends, route, error);
    if (worst == OUTCOME_BREAKS)
        route->taken = mechanism_find("host");
    for (int end = END_SRC; end <= END_DST; end++)
        if (!way.bounces[end])
            note_setup(way.machine[end], way.nic[end], route);
    enum status status = send(&way, route, error);
    if (!status)
        status = route_wire(route, machine, way.machine[END_DST], (int)way.nic[END_SRC],
                            (int)way.nic[END_DST], 0, error);
    return status ? status : receive(&way, route, error);
}

static enum status direct(const struct machine *machine, const struct endpoints *ends,
                          struct route *route, enum param_id post, struct error *error)
{
    if (ends->src.kind != ENDPOINT_DEVICE || ends->dst.kind != ENDPOINT_DEVICE ||
        mechanism_kind(machine, &ends->src) != DEVICE_GPU ||
        mechanism_kind(machine, &ends->dst) != DEVICE_GPU)
        return error_set(error, STATUS_INPUT, "GPUDirect RDMA moves bytes between GPUs only");
    if (ends->same_node)
        return mechanism_peer(machine, ends, route, error);
    return remote(machine, ends, route, post, error);
}

MECHANISM(gdr)
{
    return direct(machine, ends, route, PARAM_SOFTWARE_STEP_HANDOFF, error);
}

MECHANISM(async)
{
    return direct(machine, ends, route, PARAM_SOFTWARE_GPU_POST, error);
}
