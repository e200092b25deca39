/* protocol.c: see protocol.h. */
#include "sim/core/protocol.h"

#include <math.h>
#include <stdio.h>

#include "models/issue.h"

bool protocol_of(const struct machine *machine, enum nccl_protocol *ret_protocol)
{
    switch ((enum protocol_word)param_get(&machine->engine, PARAM_ENGINE_PROTOCOL)) {
    case PROTOCOL_NONE:
        return false;
    case PROTOCOL_LL:
        *ret_protocol = NCCL_LL;
        return true;
    case PROTOCOL_LL128:
        *ret_protocol = NCCL_LL128;
        return true;
    case PROTOCOL_SIMPLE:
    case PROTOCOL_AUTO:
        break;
    }
    *ret_protocol = NCCL_SIMPLE;
    return true;
}

double protocol_word_of(enum nccl_protocol protocol)
{
    return protocol == NCCL_LL      ? PROTOCOL_LL
           : protocol == NCCL_LL128 ? PROTOCOL_LL128
                                    : PROTOCOL_SIMPLE;
}

static enum nccl_algorithm hops_of(const struct machine *machine)
{
    enum { RING, TREE };
    return (int)param_get(&machine->engine, PARAM_ENGINE_HOPS) == TREE ? NCCL_TREE : NCCL_RING;
}

bool protocol_tree(const struct machine *machine)
{
    enum nccl_protocol protocol;
    return protocol_of(machine, &protocol) && hops_of(machine) == NCCL_TREE &&
           param_get(&machine->engine, PARAM_ENGINE_CHANNELS) > 0;
}

/* ---- routes --------------------------------------------------------------------------------- */

double protocol_hop_s(const struct machine *machine, const struct route *route)
{
    enum nccl_algorithm algorithm = hops_of(machine);
    enum nccl_protocol protocol;
    if (!protocol_of(machine, &protocol))
        return 0;
    enum nccl_hardware hardware = NCCL_HW_PCI;
    if (route_count_legs(route, LEG_NVLINK) > 0)
        hardware = NCCL_HW_NVLINK;
    if (route_count_legs(route, LEG_WIRE) > 0)
        hardware = NCCL_HW_NET;
    if (hardware == NCCL_HW_NET && route->asked == mechanism_find("nvls"))
        algorithm = NCCL_NVLS_TREE;
    /* With one GPU a node nothing hides the network: the tree's value for all (tuning.cc). */
    if (hardware == NCCL_HW_NET && machine->node.gpu_count == 1)
        algorithm = NCCL_TREE;
    double hop_s = 1e-6 * nccl_hop_us(hardware, algorithm, protocol);
    if (hardware == NCCL_HW_NET || algorithm != NCCL_RING || machine->node_count == 1 ||
        route->asked->span == SPAN_SWITCH)
        return hop_s;
    double post_s = param_get(&machine->software, PARAM_SOFTWARE_STEP_HANDOFF);
    return fmax(hop_s, post_s * nccl_posts(protocol));
}

/* Make a step of nothing take `hop` seconds, if what it takes by itself is less. What a CPU thread
 * does stays as it is, so that threads are busy for what they do. A flag over NVLink and the way
 * there are what NCCL's hop latency measures (also through an NVSwitch): they are replaced by it.
 * Where the channels flag their slots themselves, a hop delays a slice and keeps nobody busy; the
 * receiver's flag is part of it, the sender's is not, but in a tree. */
static void lay_hop(struct route *route, double hop, bool by_channels, bool tree)
{
    double own = 0;
    for (size_t i = 0; i < route->use_count && by_channels; i++)
        if (tree || route->uses[i].end == END_DST)
            own += route->uses[i].fixed_s;
    for (size_t s = 0; s < route->stage_count; s++)
        own += route->stages[s].handoff.cost_s;
    for (size_t i = 0; i < route->leg_count; i++)
        own += route->legs[i].latency_s;
    struct route_handoff *first = &route->stages[0].handoff;
    if (route->legs[0].kind == LEG_NVLINK && route->legs[0].latency_s > hop) {
        own -= route->legs[0].latency_s - hop;
        route->legs[0].latency_s = hop;
    }
    if (first->by_gpu && first->label[0] && by_channels) {
        own -= first->cost_s;
        first->cost_s = 0;
        snprintf(first->label, sizeof first->label, "flag of the channel");
    }
    if (first->by_gpu && first->label[0] && !by_channels) {
        first->cost_s = fmax(0, hop - (own - first->cost_s));
        snprintf(first->label, sizeof first->label, "flag the peer, by NCCL's hop");
    } else
        route->legs[0].latency_s += fmax(0, hop - own);
}

/* By Simple, SMs that push stop at the end of each slice for a fence and a flag
 * (software.peer_handoff), and those that pull wait for one in host memory (software.flag_handoff).
 * In a tree they do so for every chunk, and for the slot of the next GPU and for the chunk of the
 * one before as well: NCCL_TREE_BUSY of a hop.
 * False: no channel is counted here, so whoever posts pays for it. */
static bool lay_flags(const struct machine *machine, struct route *route, double hop_s)
{
    const double flag_s = param_get(&machine->software, PARAM_SOFTWARE_PEER_HANDOFF);
    const double src_s = hops_of(machine) == NCCL_TREE ? NCCL_TREE_BUSY * hop_s : flag_s;
    bool any = false;
    for (size_t i = 0; i < route->use_count; i++) {
        struct route_use *use = &route->uses[i];
        if (machine->node.resources[use->resource].kind != RESOURCE_SM)
            continue;
        use->fixed_s += use->end == END_SRC
                            ? src_s
                            : param_get(&machine->software, PARAM_SOFTWARE_FLAG_HANDOFF);
        any = true;
    }
    return any;
}

bool protocol_serves(const struct mechanism *mechanism)
{
    static const char *const names[] = {"host",   "socket", "gdr",   "async", "p2p",
                                        "nvlink", "ipc",    "sharp", "nvls"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (mechanism == mechanism_find(names[i]))
            return true;
    return false;
}

enum status protocol_lay(const struct mechanism *mechanism, const struct machine *machine,
                         const struct endpoints *ends, struct route *route, struct error *error)
{
    enum nccl_protocol protocol;
    route->line_factor = 1;
    if (!protocol_of(machine, &protocol))
        return STATUS_OK;
    if (!protocol_serves(mechanism) ||
        (mechanism->span == SPAN_SWITCH && protocol != NCCL_SIMPLE)) {
        error_set(error, STATUS_INPUT, "NCCL has no protocol %s for %s",
                  nccl_protocol_name(protocol), mechanism->title);
        return error_hint(error, mechanism->span == SPAN_SWITCH
                                     ? "reduction in a switch has the Simple protocol only"
                                     : "leave engine.protocol out, or take another mechanism");
    }
    route->line_factor = 1 / nccl_payload_share(protocol);
    for (size_t i = 0; i < route->use_count; i++) { /* SMs and threads count payload */
        enum resource_kind kind = machine->node.resources[route->uses[i].resource].kind;
        if (kind != RESOURCE_SM && kind != RESOURCE_THREAD)
            route->uses[i].bytes_factor *= route->line_factor;
    }
    /* What a pass to or from a switch takes is in the base latency of the whole. */
    bool peers = ends->src.kind == ENDPOINT_DEVICE && ends->dst.kind == ENDPOINT_DEVICE;
    const double hop_s = protocol_hop_s(machine, route);
    if (peers && route->leg_count > 0)
        lay_hop(route, hop_s, protocol == NCCL_SIMPLE && lay_flags(machine, route, hop_s),
                hops_of(machine) == NCCL_TREE);
    return STATUS_OK;
}

/* ---- slots and channels --------------------------------------------------------------------- */

#define SLICES_FINEST 64 /* of a transfer that is handed on by the grain */

static bool is_given(const struct machine *machine, enum param_id id)
{
    return param_origin(&machine->engine, id)->kind != ORIGIN_DEFAULT;
}

/* Lanes that have channels of their own. */
static uint32_t lane_groups(const struct plan *plan)
{
    return plan->lanes < plan->chunks ? plan->lanes : plan->chunks;
}

double protocol_lane_channels(const struct machine *machine, const struct plan *plan)
{
    return fmax(1, param_get(&machine->engine, PARAM_ENGINE_CHANNELS) / lane_groups(plan));
}

struct protocol_cut protocol_cut(const struct machine *machine, const struct plan *plan,
                                 bool network)
{
    enum nccl_protocol protocol;
    struct protocol_cut cut = {
        .slice_B = param_get(&machine->engine, PARAM_ENGINE_SLICE),
        .halves_B = (double)INFINITY,
        .window = (uint32_t)param_get(&machine->engine, PARAM_ENGINE_WINDOW),
    };
    bool given = is_given(machine, PARAM_ENGINE_SLICE);
    double each = given ? 1 : protocol_lane_channels(machine, plan);
    cut.grain_B = cut.slice_B *= each;
    if (given || !protocol_of(machine, &protocol))
        return cut;
    double chunk_B = param_get(&machine->engine, PARAM_ENGINE_CHUNK),
           slot_B = nccl_slot_B(protocol);
    double share = hops_of(machine) == NCCL_TREE ? NCCL_TREE_DOWN : 1; /* threads that go down */
    cut.slice_B = each * (chunk_B > 0 ? fmin(chunk_B, slot_B) : slot_B);
    cut.grain_B =
        fmin(cut.slice_B, each * nccl_grain_B(protocol) * (protocol == NCCL_SIMPLE ? 1 : share));
    if (network)
        cut.grain_B = cut.slice_B;
    bool in_loops = plan->collective == COLLECTIVE_ALLREDUCE ||
                    plan->collective == COLLECTIVE_ALLGATHER ||
                    plan->collective == COLLECTIVE_REDUCE_SCATTER;
    if (protocol == NCCL_SIMPLE && in_loops && hops_of(machine) == NCCL_RING) {
        cut.halves_B = 2 * NCCL_LEAST_SLICE_B * each;
        cut.slice_B *= NCCL_SLICE_SLOTS;
        cut.grain_B = cut.slice_B;
        cut.window = cut.window > NCCL_SLICE_SLOTS ? cut.window / NCCL_SLICE_SLOTS : 1;
    }
    return cut;
}

static double slots_of(const struct protocol_cut *cut, double bytes)
{
    return bytes > cut->slice_B ? ceil(bytes / cut->slice_B) : 1;
}

double protocol_slices(const struct protocol_cut *cut, double bytes)
{
    double slots = slots_of(cut, bytes);
    if (bytes > cut->grain_B && cut->grain_B < cut->slice_B)
        return fmax(slots, fmin(ceil(bytes / cut->grain_B), SLICES_FINEST));
    return bytes >= cut->halves_B ? fmax(slots, 2) : slots;
}

uint32_t protocol_window(const struct protocol_cut *cut, double bytes)
{
    if (!(cut->grain_B < cut->slice_B))
        return cut->window;
    return cut->window * (uint32_t)ceil(protocol_slices(cut, bytes) / slots_of(cut, bytes));
}

double protocol_launch_s(const struct machine *machine, const struct mechanism *mechanism)
{
    enum nccl_protocol protocol;
    if (!protocol_of(machine, &protocol))
        return 0;
    /* Reduction in a switch has no base latency; its hop latency is that of the whole. */
    if (mechanism == mechanism_find("nvls"))
        return 1e-6 * nccl_hop_us(NCCL_HW_NVLINK, NCCL_NVLS, protocol);
    if (mechanism == mechanism_find("sharp"))
        return 1e-6 * nccl_hop_us(NCCL_HW_NET, NCCL_COLLNET_CHAIN, protocol);
    return 1e-6 * nccl_base_us(hops_of(machine), protocol);
}

double protocol_issue_s(const struct machine *machine, double work_s)
{
    const struct params *software = &machine->software;
    double issue = issue_s(param_get(software, PARAM_SOFTWARE_ISSUE),
                           param_get(software, PARAM_SOFTWARE_ISSUE_CHANNEL),
                           param_get(&machine->engine, PARAM_ENGINE_CHANNELS));
    return issue_mean_s(issue, work_s, param_get(software, PARAM_SOFTWARE_CALLS)) - work_s;
}

/* Share of what a channel moves by Simple. */
static double share_of(const struct machine *machine, const struct params *gpu, enum param_id ll,
                       enum param_id ll128)
{
    enum nccl_protocol protocol;
    if (!protocol_of(machine, &protocol) || protocol == NCCL_SIMPLE)
        return 1;
    return param_get(gpu, protocol == NCCL_LL ? ll : ll128);
}

double protocol_push_Bps(const struct machine *machine, const struct params *gpu)
{
    double channels = param_get(&machine->engine, PARAM_ENGINE_CHANNELS);
    if (!(channels > 0))
        return (double)INFINITY;
    return channels * param_get(gpu, PARAM_GPU_PEER_CHANNEL_RATE) *
           share_of(machine, gpu, PARAM_GPU_LL_CHANNEL_SHARE, PARAM_GPU_LL128_CHANNEL_SHARE);
}

/* Bytes per second of the NVLinks that end at a GPU, one direction. */
static double nvlink_Bps(const struct machine *machine, const struct params *gpu)
{
    double rate_Bps = 0;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        const struct link *link = &machine->node.links[i];
        for (int end = 0; end < 2; end++)
            if (link->kind == LINK_NVLINK && &machine->node.devices[link->end[end]].params == gpu)
                rate_Bps += param_get(&link->params, PARAM_NVLINK_RATE);
    }
    return rate_Bps;
}

double protocol_copy_Bps(const struct machine *machine, const struct params *gpu)
{
    double push_Bps = protocol_push_Bps(machine, gpu);
    return isinf(push_Bps) ? push_Bps
                           : push_Bps * param_get(gpu, PARAM_GPU_CHANNEL_COPY_RATE) /
                                 param_get(gpu, PARAM_GPU_PEER_CHANNEL_RATE);
}

double protocol_link_Bps(const struct machine *machine, const struct params *gpu)
{
    enum nccl_protocol protocol;
    double payload = protocol_of(machine, &protocol) ? nccl_payload_share(protocol) : 1;
    return payload * nvlink_Bps(machine, gpu);
}

double protocol_flags_Bps(const struct machine *machine)
{
    enum nccl_protocol protocol;
    bool reads = protocol_of(machine, &protocol) && nccl_sends_from_host(protocol);
    return reads ? param_get(&machine->software, PARAM_SOFTWARE_LL_FLAGS) : (double)INFINITY;
}

double protocol_host_Bps(const struct machine *machine, const struct params *gpu)
{
    double channels = param_get(&machine->engine, PARAM_ENGINE_CHANNELS);
    return 2 * channels * param_get(gpu, PARAM_GPU_CHANNEL_RATE) *
           share_of(machine, gpu, PARAM_GPU_LL_HOST_SHARE, PARAM_GPU_LL128_HOST_SHARE);
}

bool protocol_split(const struct machine *machine)
{
    return param_get(&machine->engine, PARAM_ENGINE_SPLIT) > 0;
}

/* Bytes that a rank keeps for each that it pushes on, where everything goes round a ring or along a
 * chain: the last of all chunks that come to it. */
static double kept_of(const struct plan *plan)
{
    double ranks = plan->ranks;
    switch (plan->collective) {
    case COLLECTIVE_ALLREDUCE:
        return ranks > 1 ? 0.5 / (ranks - 1) : 0;
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
        return ranks > 1 ? 1 / (ranks - 1) : 0;
    default:
        return 0;
    }
}

/* GPUs of a node are alike, or wait for the slowest. */
static const struct params *first_gpu(const struct machine *machine)
{
    return &machine->node.devices[machine->node.gpus[0]].params;
}

/* By Simple each half of a channel's threads goes its way, slot by slot, whether the other has
 * something to do or not. By LL and LL128 a GPU in the middle of a chain pushes both ways at once;
 * of two GPUs each pushes one way only. */
static void pace_tree(const struct machine *machine, enum nccl_protocol protocol, double channels,
                      double groups, struct nccl_pace *pace)
{
    int cc = (int)lround(10 * param_get(first_gpu(machine), PARAM_GPU_COMPUTE_CAPABILITY));
    int nodes = (int)machine->node_count;
    pace->least_s = groups / (channels * 1e9 * nccl_tree_channel_GBps(cc, nodes, protocol));
    if (protocol == NCCL_SIMPLE) {
        pace->kept = 0;
        pace->share = 0.5 / groups;
        pace->part = 1;
    } else if (machine->node.gpu_count > 2)
        pace->part *= 0.5;
    pace->by_line = protocol != NCCL_SIMPLE;
    if (protocol == NCCL_LL128 && nodes == 1)
        pace->reached = NCCL_TREE_LL128;
}

struct nccl_pace protocol_pace(const struct machine *machine, const struct plan *plan,
                               double size_B)
{
    const double channels = param_get(&machine->engine, PARAM_ENGINE_CHANNELS);
    const double groups = lane_groups(plan);
    struct nccl_pace pace = {.kept = protocol_split(machine) ? 0 : kept_of(plan),
                             .together = 1,
                             .share = 1,
                             .part = 1,
                             .reached = 1};
    enum nccl_protocol protocol;
    if (!(channels > 0) || machine->node.gpu_count == 0)
        return pace;
    pace.part = 1 / groups;
    pace.within = plan->lanes <= groups;
    pace.together =
        nccl_in_step(size_B / (channels * param_get(first_gpu(machine), PARAM_GPU_CHANNEL_DRIFT)));
    if (!protocol_of(machine, &protocol))
        return pace;
    if (protocol == NCCL_LL) /* a slot is small: channels are apart after their first loops */
        pace.together = 0;
    if (protocol_tree(machine) && plan->lanes > groups)
        pace_tree(machine, protocol, channels, groups, &pace);
    return pace;
}
