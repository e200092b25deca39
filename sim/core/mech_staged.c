/* mech_staged.c: bounce buffers in host memory.
 *
 *   staged    GPU -> DRAM | DRAM -> NIC -> wire -> NIC -> DRAM | DRAM -> GPU
 *
 * Three stages: each | is a handoff between the GPU's driver and the NIC's, so bytes are cut
 * through inside a stage and stored between stages. Two crossings at each host. Inside a node the
 * same with one buffer, in the memory of the source's socket: GPU -> DRAM | DRAM -> GPU.
 *
 *   pageable  as staged, with a CPU copy between the user's buffer and the pinned one
 *   host      as staged, but SMs store and load (one NCCL channel each), and the handoff is a flag
 *             that the proxy thread polls, not a driver call. Inside a node, by a protocol of
 *             NCCL (engine.protocol), the GPUs poll each other's flags
 *   socket    as staged, with a CPU copy into the kernel and one out of it
 *
 * An end that is host memory already needs no copy to get there.
 */
#include "sim/core/protocol.h"

struct style {
    bool sm;            /* SMs move the bytes, not copy engines */
    bool user_copies;   /* pageable buffers at the ends */
    bool kernel_copies; /* sockets */
};

/* Between a GPU and a bounce buffer in the memory of a socket. */
static enum status crossing(const struct machine *machine, struct route *route, enum route_end end,
                            size_t gpu, size_t memory, bool out, const struct style *style,
                            struct error *error)
{
    size_t from = out ? gpu : memory, to = out ? memory : gpu;
    if (style->sm)
        return route_sm_crossing(route, machine, end, from, to, error);
    return route_crossing(route, machine, end, from, to, out ? TLP_COPY_WRITE : TLP_COPY_READ,
                          error);
}

static enum status hand_over(const struct machine *machine, struct route *route, const char *what,
                             enum route_end end, size_t device, const struct style *style,
                             struct error *error)
{
    return route_stage(route, machine, what,
                       style->sm ? PARAM_SOFTWARE_FLAG_HANDOFF : PARAM_SOFTWARE_COPY_HANDOFF, end,
                       device, error);
}

static enum status copy(const struct machine *machine, struct route *route, enum route_end end,
                        size_t device, struct error *error)
{
    enum status status = route_stage_free(route, error);
    return status ? status
                  : route_copy(route, machine, end, mechanism_memory(machine, device), error);
}

static enum status over_network(const struct machine *machine, const struct endpoints *ends,
                                struct route *route, struct error *error)
{
    const struct machine *there = endpoints_machine(machine, ends, END_DST);
    size_t src = ends->src.device, dst = ends->dst.device;
    int src_nic, dst_nic;
    enum status status = mechanism_nic(machine, src, ends->rail, &src_nic, error);
    if (!status)
        status = mechanism_nic(there, dst, ends->rail, &dst_nic, error);
    if (!status)
        status = route_crossing(route, machine, END_SRC, mechanism_memory(machine, src),
                                (size_t)src_nic, TLP_NIC_READ, error);
    if (!status)
        status = route_read_flags(route, machine, src, error);
    if (!status)
        status = route_wire(route, machine, there, src_nic, dst_nic, 0, error);
    if (!status)
        status = route_crossing(route, there, END_DST, (size_t)dst_nic,
                                mechanism_memory(there, dst), TLP_NIC_WRITE, error);
    return status;
}

static enum status bounce(const struct machine *machine, const struct endpoints *ends,
                          struct route *route, const struct style *style, struct error *error)
{
    if (ends->src.kind != ENDPOINT_DEVICE || ends->dst.kind != ENDPOINT_DEVICE ||
        mechanism_kind(machine, &ends->src) == DEVICE_NVME ||
        mechanism_kind(machine, &ends->dst) == DEVICE_NVME)
        return error_set(error, STATUS_INPUT, "%s moves bytes between GPUs and memory only",
                         route->taken->name);
    const struct machine *there = endpoints_machine(machine, ends, END_DST);
    size_t src = ends->src.device, dst = ends->dst.device;
    bool from_gpu = mechanism_kind(machine, &ends->src) == DEVICE_GPU;
    bool to_gpu = mechanism_kind(machine, &ends->dst) == DEVICE_GPU;
    bool network = !ends->same_node;
    enum nccl_protocol protocol;
    /* NCCL's SHM: the SMs of both GPUs flag each other in the buffer, no CPU takes part. */
    bool flags = style->sm && !network && from_gpu && to_gpu && protocol_of(machine, &protocol);
    enum status status = flags ? mechanism_flag(machine, ends, route, error)
                               : mechanism_post(machine, ends, route, error);
    if (!status && from_gpu)
        status =
            crossing(machine, route, END_SRC, src,
                     mechanism_memory(machine, network || to_gpu ? src : dst), true, style, error);
    if (!status && (style->user_copies || (style->kernel_copies && network)))
        status = copy(machine, route, END_SRC, src, error);
    if (!status && network && (from_gpu || style->kernel_copies || style->user_copies))
        status =
            hand_over(machine, route, "in host memory: tell the NIC", END_SRC, src, style, error);
    if (!status && network)
        status = over_network(machine, ends, route, error);
    if (!status && network && (style->user_copies || style->kernel_copies))
        status = copy(there, route, END_DST, dst, error);
    if (!status && flags)
        status = route_stage_free(route, error);
    else if (!status && to_gpu && (from_gpu || network || style->user_copies))
        status =
            hand_over(there, route, "in host memory: start the copy", END_DST, dst, style, error);
    if (!status && to_gpu)
        status = crossing(there, route, END_DST, dst,
                          mechanism_memory(machine, network ? dst : src), false, style, error);
    if (!status && route->leg_count == 0)
        status = copy(machine, route, END_SRC, src, error); /* memory to memory of one node */
    return status;
}

MECHANISM(staged)
{
    return bounce(machine, ends, route, &(struct style){0}, error);
}

MECHANISM(pageable)
{
    return bounce(machine, ends, route, &(struct style){.user_copies = true}, error);
}

MECHANISM(host)
{
    return bounce(machine, ends, route, &(struct style){.sm = true}, error);
}

MECHANISM(socket)
{
    return bounce(machine, ends, route, &(struct style){.kernel_copies = true}, error);
}
