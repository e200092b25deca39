/* mech_sharp.c: reduction in the switches of the fabric.
 *
 *   up:   GPU -> NIC -> wire -> switch, which adds what arrives and passes the sum on to the level
 *         above
 *   down: switch -> wire -> NIC -> GPU
 *
 * Software posts the pass up; the pass down needs no handoff, so it is cut through: packets leave
 * the switch while later ones come in. A brief message takes the low latency tree, cut into
 * operations of which few are on their way; any other is streamed. models/sharp.h has the
 * formulas. Ordinary transfers between GPUs go by GPUDirect RDMA, or by the best peer path.
 *
 * Where GPUDirect RDMA does not work at one end, the NIC reads or writes a buffer in host memory
 * there, and the GPU's SMs fill or empty it in a stage of their own.
 *
 * A group is taken to stay on its rail where the fabric has rails, as NCCL makes them.
 */
#include "sim/core/mechanism.h"

#include <math.h>
#include <stdio.h>

#include "models/sharp.h"

#define MTU_B 4096.0 /* InfiniBand: what a switch passes on at a time */

enum mode { MODE_AUTO, MODE_LLT, MODE_SAT };
enum { PER_PORT, PER_SWITCH };
enum { FALLS_BACK, WAITS };

static double sharp_param(const struct machine *machine, enum param_id id)
{
    return param_get(&machine->sharp, id);
}

static enum mode mode_of(const struct machine *machine)
{
    return (enum mode)sharp_param(machine, PARAM_SHARP_MODE);
}

double mech_sharp_brief_B(const struct machine *machine)
{
    enum mode mode = mode_of(machine);
    return mode == MODE_LLT   ? (double)INFINITY
           : mode == MODE_SAT ? 0
                              : sharp_param(machine, PARAM_SHARP_THRESHOLD);
}

/* ---- room ----------------------------------------------------------------------------------- */

/* Groups that meet at a port: at most the GPUs that share its NIC; at a switch: all, unless each
 * rail has switches of its own. */
static uint32_t groups_at(const struct machine *machine, size_t nic, uint32_t groups, bool port)
{
    const struct node_type *node = &machine->node;
    uint32_t sharing = 0;
    for (size_t g = 0; g < node->gpu_count; g++)
        for (uint32_t rail = 0, rails = machine_rails(machine); rail < rails; rail++)
            if (machine_nearest(machine, node->gpus[g], DEVICE_NIC, rail) == (int)nic) {
                sharing++;
                break;
            }
    bool apart = port || machine_fabric(machine) == FABRIC_RAIL;
    return apart && sharing < groups ? sharing : groups;
}

struct crowd {
    double active, flows; /* streaming trees that want to run where they meet, and that can */
    double held, trees;   /* trees on a switch, and what it holds */
    const char *where;
};

static struct crowd crowd_at(const struct machine *machine, size_t nic, uint32_t groups)
{
    bool port = (int)sharp_param(machine, PARAM_SHARP_SAT_PER) == PER_PORT;
    double others = sharp_param(machine, PARAM_SHARP_OTHERS);
    groups = groups > 0 ? groups : 1; /* the least that a job has */
    return (struct crowd){
        .active = groups_at(machine, nic, groups, port) + others,
        .flows = sharp_param(machine, PARAM_SHARP_SAT_FLOWS),
        .held = groups_at(machine, nic, groups, false) + others,
        .trees = sharp_param(machine, PARAM_SHARP_TREES),
        .where = port ? "port" : "switch",
    };
}

/* Trees that a switch cannot hold are refused whatever the mode; streaming trees that meet may wait
 * for each other. */
static bool fits(const struct machine *machine, const struct crowd *crowd, char *why, size_t size)
{
    if (crowd->held > crowd->trees) {
        snprintf(why, size, "%.0f trees on one switch, which holds %.0f", crowd->held,
                 crowd->trees);
        return false;
    }
    bool waits = (int)sharp_param(machine, PARAM_SHARP_WHEN_FULL) == WAITS;
    if (mode_of(machine) == MODE_LLT || waits || crowd->active <= crowd->flows)
        return true;
    snprintf(why, size, "%.0f streaming trees on one %s, where %.0f can run at once", crowd->active,
             crowd->where, crowd->flows);
    return false;
}

bool mech_sharp_has_room(const struct machine *machine, uint32_t groups, char *why, size_t size)
{
    for (size_t i = 0; i < machine->node.device_count; i++) {
        if (machine->node.devices[i].kind != DEVICE_NIC)
            continue;
        struct crowd crowd = crowd_at(machine, i, groups);
        if (!fits(machine, &crowd, why, size))
            return false;
    }
    return true;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* Levels of switches: above leaves as the fabric has them, else as many as the ports need. */
static int levels_of(const struct machine *machine, uint32_t groups)
{
    double ports = sharp_param(machine, PARAM_SHARP_PORTS), nics = 0;
    if (machine_fabric(machine) == FABRIC_LEAF_SPINE) {
        uint32_t leaves = machine_leaves(machine);
        return leaves > 1 ? 1 + sharp_levels(leaves, ports) : 1;
    }
    for (size_t i = 0; i < machine->node.device_count; i++)
        nics += machine->node.devices[i].kind == DEVICE_NIC;
    if (machine_fabric(machine) == FABRIC_RAIL)
        nics = 1;
    double each = groups > 0 ? ceil(nics / groups) : nics;
    return sharp_levels(machine->node_count * each, ports);
}

/* ---- one pass ------------------------------------------------------------------------------- */

struct pass {
    bool up, bounce; /* bounce: through host memory */
    size_t gpu, end; /* whose memory the NIC reads or writes */
    size_t nic;
    double switches_s; /* what the tree adds */
};

static enum status build_up(const struct machine *machine, const struct endpoints *ends,
                            const struct pass *pass, struct route *route, struct error *error)
{
    enum status status = STATUS_OK;
    if (pass->bounce) {
        status = mechanism_post(machine, ends, route, error);
        if (!status)
            status = route_sm_crossing(route, machine, END_SRC, pass->gpu, pass->end, error);
    }
    if (!status)
        status =
            route_stage(route, machine, "post the reduction",
                        pass->bounce ? PARAM_SOFTWARE_FLAG_HANDOFF : PARAM_SOFTWARE_STEP_HANDOFF,
                        END_SRC, pass->gpu, error);
    if (!status)
        status = route_crossing(route, machine, END_SRC, pass->end, pass->nic, TLP_NIC_READ, error);
    return status
               ? status
               : route_wire(route, machine, machine, (int)pass->nic, -1, pass->switches_s, error);
}

static enum status build_down(const struct machine *machine, const struct pass *pass,
                              struct route *route, struct error *error)
{
    enum status status = route_stage_free(route, error);
    if (!status)
        status = route_wire(route, machine, machine, -1, (int)pass->nic, pass->switches_s, error);
    if (!status)
        status =
            route_crossing(route, machine, END_DST, pass->nic, pass->end, TLP_NIC_WRITE, error);
    if (!status && pass->bounce) {
        status = route_stage(route, machine, "in host memory: flag the GPU",
                             PARAM_SOFTWARE_FLAG_HANDOFF, END_DST, pass->gpu, error);
        if (!status)
            status = route_sm_crossing(route, machine, END_DST, pass->end, pass->gpu, error);
    }
    return status;
}

/* A GPU's pass up or down, without what the mode makes of it. */
static enum status build(const struct machine *machine, const struct endpoints *ends, bool up,
                         int levels, struct route *route, struct pass *ret, struct error *error)
{
    size_t gpu = ends->src.kind == ENDPOINT_DEVICE ? ends->src.device : ends->dst.device;
    double hop_s = param_get(&machine->fabric, PARAM_FABRIC_HOP_LATENCY);
    double add_s = param_get(&machine->fabric, PARAM_FABRIC_SWITCH_REDUCE);
    struct endpoints pass_ends = *ends;
    pass_ends.src.device = pass_ends.dst.device = (uint16_t)gpu;
    int nic;
    enum status status = mechanism_nic(machine, gpu, ends->rail, &nic, error);
    if (status)
        return status;
    enum outcome outcome = mechanism_check_nic(machine, gpu, (size_t)nic, up, route);
    if (outcome == OUTCOME_HANGS)
        return mechanism_hang(route, error);
    bool bounce = outcome == OUTCOME_BREAKS;
    *ret = (struct pass){.up = up,
                         .bounce = bounce,
                         .gpu = gpu,
                         .end = bounce ? mechanism_memory(machine, gpu) : gpu,
                         .nic = (size_t)nic,
                         .switches_s = up ? sharp_up_s(levels, hop_s, add_s)
                                          : sharp_down_s(levels, hop_s, add_s)};
    return up ? build_up(machine, &pass_ends, ret, route, error)
              : build_down(machine, ret, route, error);
}

static struct route_leg *wire_of(struct route *route)
{
    for (size_t i = 0; i < route->leg_count; i++)
        if (route->legs[i].kind == LEG_WIRE)
            return &route->legs[i];
    return NULL;
}

/* Everything that is waited for but the bytes. */
static double latency_s(const struct route *route)
{
    double sum_s = 0;
    for (size_t i = 0; i < route->leg_count; i++)
        sum_s += route->legs[i].latency_s;
    for (size_t i = 0; i < route->stage_count; i++)
        sum_s += route->stages[i].handoff.cost_s;
    return sum_s;
}

/* ---- modes ---------------------------------------------------------------------------------- */

/* Low latency: the next operation waits until one of those outstanding has come back. */
static enum status low_latency(const struct machine *machine, const struct route *other,
                               const struct pass *pass, int levels, struct route *route,
                               struct error *error)
{
    double payload_B = sharp_param(machine, PARAM_SHARP_PAYLOAD);
    double outstanding = sharp_param(machine, PARAM_SHARP_OUTSTANDING);
    struct route_leg *wire = wire_of(route);
    double round_s = latency_s(route) + latency_s(other) + 2 * payload_B / wire->rate_Bps;
    double each_s = sharp_operation_s(round_s, outstanding);
    route->packet_B = payload_B;
    snprintf(route->mode, sizeof route->mode,
             "low latency tree, levels: %d; pieces of %.0f B, %.0f on their way, one each %.3f us",
             levels, payload_B, outstanding, each_s * 1e6);
    if (!pass->up)
        return STATUS_OK;
    return route_paced(route, wire, machine, END_SRC,
                       (size_t)machine->node.devices[pass->nic].resource + NIC_SHARP_OPERATIONS,
                       each_s, payload_B, error);
}

/* Streaming: set up once, then at the rate of the tree, or its share of it. */
static void streaming(const struct machine *machine, const struct pass *pass, int levels,
                      const struct crowd *crowd, uint32_t groups, struct route *route)
{
    double uplink_Bps = param_get(&machine->fabric, PARAM_FABRIC_UPLINK_RATE);
    double uplinks = param_get(&machine->fabric, PARAM_FABRIC_UPLINKS);
    double setup_s = sharp_param(machine, PARAM_SHARP_SAT_SETUP);
    struct route_leg *wire = wire_of(route);
    double link_Bps = wire->rate_Bps;
    int narrow = machine_fabric(machine) == FABRIC_LEAF_SPINE ? levels : 1;
    double tree_Bps = sharp_tree_Bps(link_Bps, sharp_param(machine, PARAM_SHARP_EFFICIENCY), narrow,
                                     uplink_Bps, uplinks, groups > 0 ? groups : 1);
    double share = sharp_share(crowd->active, crowd->flows);
    double up_Bps = uplink_Bps * sharp_share(groups > 0 ? groups : 1, uplinks);
    if (narrow > 1 && up_Bps < link_Bps)
        route_note(route, PRE_SHARP_UPLINK, OUTCOME_SLOWS,
                   "a tree has %.4g GB/s of a leaf's uplinks, its members' NICs %.4g", up_Bps / 1e9,
                   link_Bps / 1e9);
    if (share < 1)
        route_note(route, PRE_SHARP_TREE, OUTCOME_SLOWS,
                   "%.0f streaming trees take turns on one %s, where %.0f can run at once",
                   crowd->active, crowd->where, crowd->flows);
    route_slow(route, wire, tree_Bps * share / link_Bps);
    if (pass->up)
        wire->latency_s += setup_s;
    route->packet_B = MTU_B;
    snprintf(route->mode, sizeof route->mode,
             "streaming tree, levels: %d; %.4g GB/s, set up in %.3f us", levels,
             wire->rate_Bps / 1e9, setup_s * 1e6);
}

static double slowest_Bps(const struct route *route)
{
    double rate_Bps = (double)INFINITY;
    for (size_t i = 0; i < route->leg_count; i++)
        if (route->legs[i].rate_Bps < rate_Bps)
            rate_Bps = route->legs[i].rate_Bps;
    return rate_Bps;
}

/* Between two GPUs. Where SHARP has no room the job runs an algorithm of the hosts. */
static enum status between(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error)
{
    char why[96];
    if (mech_sharp_has_room(machine, ends->groups, why, sizeof why))
        return mech_gdr_route(machine, ends, route, error);
    route_note(route, PRE_SHARP_TREE, OUTCOME_BREAKS, "%s: an algorithm of the hosts instead", why);
    return mechanism_fall_back("gdr", machine, ends, route, error);
}

MECHANISM(sharp)
{
    char why[96];
    if (ends->src.kind == ENDPOINT_DEVICE && ends->dst.kind == ENDPOINT_DEVICE)
        return between(machine, ends, route, error);
    bool up = ends->src.kind == ENDPOINT_DEVICE;
    int levels = levels_of(machine, ends->groups);
    struct route other; /* the way back */
    route_init(&other);
    struct pass pass, back;
    enum status status = build(machine, ends, !up, levels, &other, &back, error);
    if (!status)
        status = build(machine, ends, up, levels, route, &pass, error);
    if (status)
        return status;
    struct crowd crowd = crowd_at(machine, pass.nic, ends->groups);
    if (!fits(machine, &crowd, why, sizeof why))
        return error_set(error, STATUS_INPUT, "no room for SHARP: %s", why);
    snprintf(route->setup, sizeof route->setup,
             "buffer registered with the NIC, reduction tree set up");
    if (ends->brief) {
        status = low_latency(machine, &other, &pass, levels, route, error);
    } else {
        streaming(machine, &pass, levels, &crowd, ends->groups, route);
        streaming(machine, &back, levels, &crowd, ends->groups, &other);
    }
    if (!up)
        route->stream_Bps = slowest_Bps(&other);
    return status;
}
