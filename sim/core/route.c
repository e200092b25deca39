/* route.c: putting routes together. See route.h. */
#include "sim/core/route.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/protocol.h"

void route_init(struct route *route)
{
    const size_t first = offsetof(struct route, stage_count);
    memset((char *)route + first, 0, offsetof(struct route, verdicts) - first);
    route->verdict_count = 0;
    route->verdicts[0].sentence[0] = '\0';
}

/* ---- stages and legs ------------------------------------------------------------------------ */

static enum status too_long(struct error *error)
{
    return error_set(error, STATUS_INPUT, "the route has too many stages, legs or links");
}

enum status route_stage_free(struct route *route, struct error *error)
{
    if (route->stage_count == ROUTE_MAX_STAGES)
        return too_long(error);
    struct route_stage *stage = &route->stages[route->stage_count++];
    memset(stage, 0, sizeof *stage);
    stage->first_leg = (uint16_t)route->leg_count;
    return STATUS_OK;
}

/* The thread that acts for a device: the GPU's proxy. Host memory and drives are served by the
 * proxy of the first GPU, which stands for the process. */
static uint16_t thread_of(const struct machine *machine, size_t device)
{
    const struct node_type *node = &machine->node;
    size_t gpu = node->devices[device].kind == DEVICE_GPU ? device : node->gpus[0];
    return (uint16_t)(node->devices[gpu].resource + GPU_PROXY);
}

enum status route_stage(struct route *route, const struct machine *machine, const char *what,
                        enum param_id param, enum route_end end, size_t device, struct error *error)
{
    enum status status = route_stage_free(route, error);
    if (status)
        return status;
    struct route_handoff *handoff = &route->stages[route->stage_count - 1].handoff;
    machine_join(handoff->label, sizeof handoff->label, &what, 1);
    handoff->param = param;
    handoff->cost_s = param_get(&machine->software, param);
    handoff->end = end;
    /* What GPUs do themselves keeps no CPU thread busy, and each lane does it for itself. */
    handoff->by_gpu = param == PARAM_SOFTWARE_PEER_HANDOFF || param == PARAM_SOFTWARE_GPU_POST;
    handoff->thread = handoff->by_gpu
                          ? (uint16_t)(machine->node.devices[device].resource + GPU_FLAGS)
                          : thread_of(machine, device);
    handoff->wakes_cpu = param == PARAM_SOFTWARE_COPY_HANDOFF;
    handoff->blocking =
        handoff->wakes_cpu && param_get(&machine->software, PARAM_SOFTWARE_COPY_BLOCKING) > 0;
    return STATUS_OK;
}

static struct route_leg *open_leg(struct route *route, enum leg_kind kind, enum route_end end)
{
    if (route->leg_count == ROUTE_MAX_LEGS || route->stage_count == 0)
        return NULL;
    struct route_leg *leg = &route->legs[route->leg_count++];
    memset(leg, 0, sizeof *leg);
    leg->kind = kind;
    leg->end = end;
    leg->rate_Bps = (double)INFINITY;
    leg->first_use = (uint16_t)route->use_count;
    leg->slowest = leg->first_use;
    route->stages[route->stage_count - 1].leg_count++;
    return leg;
}

static bool add_use(struct route *route, struct route_leg *leg, const struct machine *machine,
                    enum route_end end, size_t resource)
{
    if (route->use_count == ROUTE_MAX_USES)
        return false;
    double rate = machine->node.resources[resource].rate_Bps;
    if (leg->use_count == 0 || rate < leg->rate_Bps) {
        leg->rate_Bps = rate;
        leg->slowest = (uint16_t)route->use_count;
    }
    leg->latency_s += machine->node.resources[resource].latency_s;
    leg->use_count++;
    route->uses[route->use_count++] = (struct route_use){.end = end,
                                                         .resource = (uint16_t)resource,
                                                         .bytes_factor = 1.0,
                                                         .efficiency = 1.0,
                                                         .rate_Bps = rate};
    return true;
}

/* Where the channels are counted, all of a GPU's together bound what its SMs push or pull: payload,
 * not flags. Otherwise each lane has one for itself towards host memory. While what they wait for
 * is busy, they are too. */
static bool use_channels(struct route *route, struct route_leg *leg, const struct machine *machine,
                         enum route_end end, size_t gpu, bool out, bool to_host)
{
    const struct device *device = &machine->node.devices[gpu];
    bool first = out || !protocol_split(machine);
    size_t at = (size_t)device->resource + (first ? GPU_CHANNELS_OUT : GPU_CHANNELS_IN);
    if (!(param_get(&machine->engine, PARAM_ENGINE_CHANNELS) > 0))
        return !to_host ||
               add_use(route, leg, machine, end, (size_t)device->resource + GPU_CHANNEL);
    const double before_Bps = leg->rate_Bps;
    const uint16_t slowest = leg->slowest;
    if (!add_use(route, leg, machine, end, at))
        return false;
    struct route_use *use = &route->uses[route->use_count - 1];
    double push_Bps = machine->node.resources[at].rate_Bps, rate_Bps;
    if (to_host) {
        rate_Bps = fmin(protocol_host_Bps(machine, &device->params), before_Bps);
        use->efficiency = rate_Bps / push_Bps;
    } else {
        use->link_Bps = protocol_link_Bps(machine, &device->params);
        use->copy_Bps = protocol_copy_Bps(machine, &device->params);
        rate_Bps = 1 / nccl_push_s(push_Bps, use->copy_Bps, use->link_Bps,
                                   (struct nccl_pace){0, 1, 1, 1, 1});
    }
    leg->rate_Bps = rate_Bps < before_Bps ? rate_Bps : before_Bps;
    leg->slowest = rate_Bps < before_Bps ? (uint16_t)(route->use_count - 1) : slowest;
    return true;
}

enum status route_head(struct route *route, const struct machine *machine, size_t gpu,
                       struct error *error)
{
    struct route_leg *leg = &route->legs[route->leg_count - 1];
    const double rate_Bps = leg->rate_Bps;
    const uint16_t slowest = leg->slowest;
    if (!protocol_tree(machine))
        return STATUS_OK;
    if (!add_use(route, leg, machine, END_SRC,
                 (size_t)machine->node.devices[gpu].resource + GPU_CHANNELS_OUT))
        return too_long(error);
    route->uses[route->use_count - 1].head = true;
    leg->rate_Bps = rate_Bps;
    leg->slowest = slowest;
    return STATUS_OK;
}

enum status route_read_flags(struct route *route, const struct machine *machine, size_t gpu,
                             struct error *error)
{
    struct route_leg *leg = &route->legs[route->leg_count - 1];
    enum nccl_protocol protocol;
    if (!protocol_of(machine, &protocol) || !nccl_sends_from_host(protocol) ||
        add_use(route, leg, machine, END_SRC, thread_of(machine, gpu)))
        return STATUS_OK;
    return too_long(error);
}

static void label_leg(const struct machine *machine, struct route_leg *leg, size_t from, size_t to,
                      const char *how)
{
    const struct node_type *node = &machine->node;
    const struct device *a = &node->devices[from], *b = &node->devices[to];
    const char *const parts[] = {a->name,
                                 a->kind == DEVICE_CPU ? " DRAM" : "",
                                 " -> ",
                                 b->name,
                                 b->kind == DEVICE_CPU ? " DRAM" : "",
                                 leg->end == END_SRC ? " (sender" : " (receiver",
                                 how,
                                 ")"};
    machine_join(leg->label, sizeof leg->label, parts, sizeof parts / sizeof parts[0]);
}

/* ---- what stands in the way -------------------------------------------------------------------
 */

/* Whether the same has been said of the link that is being looked at. */
static bool said_already(const struct route *route, enum precondition what)
{
    for (size_t i = 0; route->about && i < route->verdict_count; i++)
        if (route->verdicts[i].what == what && route->verdicts[i].about == route->about)
            return true;
    return false;
}

void route_note(struct route *route, enum precondition what, enum outcome outcome,
                const char *format, ...)
{
    if (route->verdict_count == ROUTE_VERDICTS || said_already(route, what))
        return;
    struct verdict_item *item = &route->verdicts[route->verdict_count];
    item->what = what;
    item->outcome = outcome;
    item->about = route->about;
    va_list args;
    va_start(args, format);
    size_t used = 0;
    if (route->whose)
        used = (size_t)snprintf(item->sentence, sizeof item->sentence, "%s: ", route->whose);
    vsnprintf(item->sentence + used, sizeof item->sentence - used, format, args);
    va_end(args);
    /* Both ends of a transfer often look the same: say a thing once. */
    for (size_t i = 0; i < route->verdict_count; i++)
        if (route->verdicts[i].what == what &&
            strcmp(route->verdicts[i].sentence, item->sentence) == 0)
            return;
    route->verdict_count++;
}

enum outcome route_worst(const struct route *route)
{
    enum outcome worst = OUTCOME_HOLDS;
    for (size_t i = 0; i < route->verdict_count; i++)
        if (route->verdicts[i].outcome > worst)
            worst = route->verdicts[i].outcome;
    return worst;
}

static bool state_is(const struct machine *machine, enum param_id id)
{
    return param_get(&machine->state, id) > 0;
}

enum { ACS_REDIRECT = 0x2C }; /* RR | CR | EC: what Linux' p2pdma looks at */

static bool passes(const struct machine *machine, const struct path *path, enum device_kind kind)
{
    for (size_t i = 1; i < path->length; i++)
        if (machine->node.devices[path->device[i]].kind == kind)
            return true;
    return false;
}

/* The port on the path whose ACS bits redirect peer packets; -1 if none does. Ports hold the bits
 * at the upper end of a link. What must climb to the root complex anyway is not redirected. */
static int redirecting_link(const struct machine *machine, const struct path *path)
{
    if (state_is(machine, PARAM_STATE_ATS) || passes(machine, path, DEVICE_CPU))
        return -1; /* with ATS translated packets pass straight (ACS direct translated) */
    for (size_t i = 0; i < path->length; i++) {
        const struct link *link = &machine->node.links[path->link[i]];
        if (link->kind == LINK_PCIE &&
            machine->node.devices[link->end[0]].kind == DEVICE_PCIE_SWITCH &&
            ((unsigned)param_get(&link->params, PARAM_PCIE_ACS) & ACS_REDIRECT))
            return path->link[i];
    }
    return -1;
}

static enum outcome worse(enum outcome a, enum outcome b)
{
    return a > b ? a : b;
}

static enum outcome check_root(struct route *route, const struct machine *machine,
                               const struct path *path, bool reads)
{
    enum outcome outcome = OUTCOME_HOLDS;
    for (size_t i = 1; i < path->length; i++) {
        const struct device *cpu = &machine->node.devices[path->device[i]];
        if (cpu->kind != DEVICE_CPU)
            continue;
        if (!(param_get(&cpu->params, PARAM_CPU_PEER_ALLOWED) > 0)) {
            route_note(route, PRE_ROOT_COMPLEX, OUTCOME_BREAKS,
                       "%s does not pass peer transfers between its root ports", cpu->name);
            return OUTCOME_BREAKS;
        }
        double ceiling =
            param_get(&cpu->params, reads ? PARAM_CPU_PEER_READ : PARAM_CPU_PEER_WRITE);
        if (!isinf(ceiling)) {
            route_note(route, PRE_ROOT_CEILING, OUTCOME_SLOWS, "peer %s through %s reach %.4g GB/s",
                       reads ? "reads" : "writes", cpu->name, ceiling / 1e9);
            outcome = OUTCOME_SLOWS;
        }
    }
    return outcome;
}

static enum outcome check_acs(struct route *route, const struct machine *machine, int link)
{
    static const enum outcome outcomes[] = {OUTCOME_SLOWS, OUTCOME_BREAKS, OUTCOME_HANGS};
    static const char *const words[] = {"up to the root complex and down again",
                                        "nowhere: the transfer is refused", "nowhere: it hangs"};
    size_t which = (size_t)param_get(&machine->state, PARAM_STATE_ACS_OUTCOME);
    route_note(route, PRE_ACS, outcomes[which], "ACS on the port %s sends peer packets %s",
               machine->node.resources[machine->node.links[link].resource].name, words[which]);
    return outcomes[which];
}

static enum outcome check_iommu(struct route *route, const struct machine *machine)
{
    if (!machine_translates(machine) || state_is(machine, PARAM_STATE_ATS))
        return OUTCOME_HOLDS;
    if (state_is(machine, PARAM_STATE_VM)) {
        route_note(route, PRE_IOMMU, OUTCOME_SLOWS,
                   "the IOMMU translates for the VM: peer packets must go up to it");
        return OUTCOME_SLOWS;
    }
    route_note(route, PRE_IOMMU, OUTCOME_BREAKS,
               "the IOMMU translates: bus addresses no longer mean device memory");
    return OUTCOME_BREAKS;
}

static void append_path(struct path *path, const struct path *more)
{
    for (size_t i = 0; i < more->length && path->length < MACHINE_PATH_LENGTH; i++) {
        path->link[path->length] = more->link[i];
        path->reversed[path->length] = more->reversed[i];
        path->device[++path->length] = more->device[i + 1];
    }
}

/* The way that packets really take: a redirect climbs to the root complex and turns there. */
static bool real_path(const struct machine *machine, size_t from, size_t to, struct path *ret_path,
                      bool *ret_redirected)
{
    const struct node_type *node = &machine->node;
    struct path down;
    if (!machine_path(machine, from, to, LINK_DMA, ret_path))
        return false;
    bool peer = node->devices[from].kind != DEVICE_CPU && node->devices[to].kind != DEVICE_CPU;
    bool upwards = machine_translates(machine) && state_is(machine, PARAM_STATE_VM) &&
                   !state_is(machine, PARAM_STATE_ATS) && !passes(machine, ret_path, DEVICE_CPU);
    *ret_redirected = peer && (upwards || redirecting_link(machine, ret_path) >= 0);
    if (!*ret_redirected)
        return true;
    int root = machine_nearest(machine, from, DEVICE_CPU, 0);
    if (root < 0 || !machine_path(machine, from, (size_t)root, LINK_DMA, ret_path) ||
        !machine_path(machine, (size_t)root, to, LINK_DMA, &down))
        return false;
    append_path(ret_path, &down);
    return true;
}

bool route_passes_root(const struct machine *machine, size_t from, size_t to)
{
    struct path path;
    bool redirected;
    return real_path(machine, from, to, &path, &redirected) && passes(machine, &path, DEVICE_CPU);
}

enum outcome route_check_peer(struct route *route, const struct machine *machine, size_t from,
                              size_t to, bool reads)
{
    struct path path;
    bool redirected;
    if (!machine_path(machine, from, to, LINK_DMA, &path)) {
        route_note(route, PRE_DISTANCE, OUTCOME_BREAKS, "no chain of links joins %s and %s",
                   machine->node.devices[from].name, machine->node.devices[to].name);
        return OUTCOME_BREAKS;
    }
    enum outcome outcome = OUTCOME_HOLDS;
    int redirects = redirecting_link(machine, &path);
    if (redirects >= 0)
        outcome = check_acs(route, machine, redirects);
    outcome = worse(outcome, check_iommu(route, machine));
    if (outcome >= OUTCOME_BREAKS) /* nothing goes this way, so its links do not matter */
        return outcome;
    if (real_path(machine, from, to, &path, &redirected)) {
        outcome = worse(outcome, check_root(route, machine, &path, reads));
        outcome = worse(outcome, route_check_links(route, machine, &path));
    }
    return outcome;
}

/* ---- legs
 * ----------------------------------------------------------------------------------------- */

/* Use the links of a path. A root complex in the middle is passed by peer traffic. */
static bool use_path(struct route *route, struct route_leg *leg, const struct machine *machine,
                     const struct path *path, bool reads)
{
    const struct node_type *node = &machine->node;
    bool peer = node->devices[path->device[0]].kind != DEVICE_CPU &&
                node->devices[path->device[path->length]].kind != DEVICE_CPU;
    for (size_t i = 0; i < path->length; i++) {
        const struct link *link = &node->links[path->link[i]];
        if (!add_use(route, leg, machine, leg->end,
                     (size_t)link->resource + (path->reversed[i] ? 1 : 0)))
            return false;
        if (link->kind == LINK_PCIE && param_get(&link->params, PARAM_PCIE_DUPLEX) < 1 &&
            !add_use(route, leg, machine, leg->end, (size_t)link->resource + 2))
            return false;
        const struct device *through = &node->devices[path->device[i + 1]];
        if (i + 1 == path->length)
            break;
        if (through->kind == DEVICE_PCIE_SWITCH)
            leg->latency_s += param_get(&through->params, PARAM_PCIE_SWITCH_LATENCY);
        if (through->kind == DEVICE_CPU && peer) {
            leg->latency_s += param_get(&through->params, PARAM_CPU_PEER_LATENCY);
            if (!add_use(route, leg, machine, leg->end,
                         (size_t)through->resource + (reads ? CPU_PEER_READS : CPU_PEER_WRITES)))
                return false;
        }
    }
    return true;
}

/* Read credits bound what a NIC reads of device memory; ordering what it writes through a root. */
static bool use_nic_limits(struct route *route, struct route_leg *leg,
                           const struct machine *machine, const struct path *path, size_t from,
                           size_t to)
{
    const struct device *source = &machine->node.devices[from];
    const struct device *target = &machine->node.devices[to];
    bool at_root = target->kind == DEVICE_CPU || passes(machine, path, DEVICE_CPU);
    const struct device *nic = leg->mover == TLP_NIC_READ ? target : source;
    bool by_nic = leg->mover == TLP_NIC_READ || leg->mover == TLP_NIC_WRITE;
    bool at_root_too = at_root || source->kind == DEVICE_CPU;
    if (by_nic && at_root_too && machine_translates(machine) &&
        !add_use(route, leg, machine, leg->end,
                 (size_t)nic->resource +
                     (nic == target ? NIC_TRANSLATED_READS : NIC_TRANSLATED_WRITES)))
        return false;
    if (leg->mover == TLP_NIC_READ && source->kind == DEVICE_GPU)
        return add_use(route, leg, machine, leg->end, (size_t)target->resource + NIC_READ_CREDITS);
    if (leg->mover == TLP_NIC_WRITE && at_root)
        return add_use(route, leg, machine, leg->end,
                       (size_t)source->resource + NIC_ORDERED_WRITES);
    return true;
}

enum status route_crossing(struct route *route, const struct machine *machine, enum route_end end,
                           size_t from, size_t to, enum tlp_mover mover, struct error *error)
{
    const struct node_type *node = &machine->node;
    struct path path;
    bool redirected;
    if (!real_path(machine, from, to, &path, &redirected))
        return error_set(error, STATUS_INPUT, "no chain of links leads from %s to %s",
                         node->devices[from].name, node->devices[to].name);
    bool pcie = false;
    for (size_t i = 0; i < path.length; i++)
        pcie = pcie || node->links[path.link[i]].kind == LINK_PCIE;
    struct route_leg *leg = open_leg(route, pcie ? LEG_CROSSING : LEG_C2C, end);
    if (!leg)
        return too_long(error);
    leg->mover = mover;
    leg->redirected = redirected;
    bool fits = use_path(route, leg, machine, &path, tlp_mover_reads(mover)) &&
                use_nic_limits(route, leg, machine, &path, from, to);
    const size_t ends[2] = {from, to};
    for (int i = 0; i < 2 && fits; i++)
        if (node->devices[ends[i]].kind == DEVICE_CPU)
            fits = add_use(route, leg, machine, end,
                           (size_t)node->devices[ends[i]].resource + CPU_DRAM);
    if (!fits)
        return too_long(error);
    label_leg(machine, leg, from, to, redirected ? ", redirected by ACS" : "");
    return STATUS_OK;
}

enum status route_sm_crossing(struct route *route, const struct machine *machine,
                              enum route_end end, size_t from, size_t to, struct error *error)
{
    const struct node_type *node = &machine->node;
    bool stores = node->devices[from].kind == DEVICE_GPU;
    size_t gpu = stores ? from : to;
    enum status status =
        route_crossing(route, machine, end, from, to, stores ? TLP_SM_STORE : TLP_SM_LOAD, error);
    if (!status &&
        !use_channels(route, &route->legs[route->leg_count - 1], machine, end, gpu, stores, true))
        status = too_long(error);
    return status;
}

enum status route_nvlink(struct route *route, const struct machine *machine, size_t from, size_t to,
                         struct error *error)
{
    struct path path;
    if (!machine_path(machine, from, to, LINK_NVLINK, &path))
        return error_set(error, STATUS_INPUT, "no NVLink leads from %s to %s",
                         machine->node.devices[from].name, machine->node.devices[to].name);
    struct route_leg *leg = open_leg(route, LEG_NVLINK, END_SRC);
    const struct device *devices = machine->node.devices;
    bool peers = devices[from].kind == DEVICE_GPU && devices[to].kind == DEVICE_GPU;
    if (!leg || !use_path(route, leg, machine, &path, false) ||
        (peers && !use_channels(route, leg, machine, END_SRC, from, true, false)))
        return too_long(error);
    label_leg(machine, leg, from, to, ", NVLink");
    return STATUS_OK;
}

enum status route_copy(struct route *route, const struct machine *machine, enum route_end end,
                       size_t cpu, struct error *error)
{
    struct route_leg *leg = open_leg(route, LEG_COPY, end);
    size_t at = machine->node.devices[cpu].resource;
    /* A copy reads and writes memory: twice its bytes. */
    if (!leg || !add_use(route, leg, machine, end, at + CPU_COPIER) ||
        !add_use(route, leg, machine, end, at + CPU_DRAM))
        return too_long(error);
    route->uses[route->use_count - 1].bytes_factor = 2;
    label_leg(machine, leg, cpu, cpu, ", memcpy");
    return STATUS_OK;
}

enum status route_bar1(struct route *route, const struct machine *machine, size_t from, size_t to,
                       struct error *error)
{
    const struct node_type *node = &machine->node;
    bool writes = node->devices[to].kind == DEVICE_GPU;
    const struct device *gpu = &node->devices[writes ? to : from];
    enum status status = route_crossing(route, machine, END_SRC, from, to,
                                        writes ? TLP_CPU_STORE_WC : TLP_CPU_LOAD_UC, error);
    if (status)
        return status;
    struct route_leg *leg = &route->legs[route->leg_count - 1];
    leg->latency_s +=
        param_get(&gpu->params, writes ? PARAM_GPU_BAR_WRITE_LATENCY : PARAM_GPU_BAR_READ_LATENCY);
    return add_use(route, leg, machine, END_SRC,
                   (size_t)gpu->resource + (writes ? GPU_BAR_WRITES : GPU_BAR_READS))
               ? STATUS_OK
               : too_long(error);
}

enum status route_drive(struct route *route, const struct machine *machine, enum route_end end,
                        size_t nvme, bool reads, struct error *error)
{
    struct route_leg *leg = open_leg(route, LEG_DEVICE, end);
    const struct params *params = &machine->node.devices[nvme].params;
    if (!leg || !add_use(route, leg, machine, end,
                         (size_t)machine->node.devices[nvme].resource +
                             (reads ? NVME_READER : NVME_WRITER)))
        return too_long(error);
    route->uses[route->use_count - 1].fixed_s = 1 / param_get(params, PARAM_NVME_IOPS);
    leg->latency_s = param_get(params, PARAM_NVME_LATENCY);
    label_leg(machine, leg, nvme, nvme, reads ? ", drive reads" : ", drive writes");
    return STATUS_OK;
}

enum status route_wire(struct route *route, const struct machine *machine,
                       const struct machine *receiver, int src_nic, int dst_nic, double extra_s,
                       struct error *error)
{
    const struct machine *const machines[2] = {machine, receiver};
    struct route_leg *leg = open_leg(route, LEG_WIRE, END_SRC);
    if (!leg)
        return too_long(error);
    const int nics[2] = {src_nic, dst_nic};
    const char *names[2] = {"switch", "switch"};
    bool spine = machine_fabric(machine) != FABRIC_ONE_SWITCH && src_nic >= 0 && dst_nic >= 0;
    for (int i = 0; i < 2; i++) {
        if (i == 1 && spine &&
            (!add_use(route, leg, machine, END_FABRIC, machine->node.uplinks) ||
             !add_use(route, leg, machine, END_FABRIC, machine->node.uplinks + 1u)))
            return too_long(error);
        if (nics[i] < 0)
            continue;
        const struct node_type *node = &machines[i]->node;
        const struct device *nic = &node->devices[nics[i]];
        names[i] = nic->name;
        route->nic[i] = 0;
        for (int before = 0; before < nics[i]; before++)
            route->nic[i] = (uint16_t)(route->nic[i] + (node->devices[before].kind == DEVICE_NIC));
        leg->latency_s += param_get(&nic->params, PARAM_NIC_LATENCY) / 2;
        if (!add_use(route, leg, machines[i], i == 0 ? END_SRC : END_DST,
                     (size_t)nic->resource + (i == 0 ? NIC_TX : NIC_RX)))
            return too_long(error);
    }
    if (src_nic >= 0 && dst_nic >= 0)
        leg->latency_s += param_get(&machine->fabric, PARAM_FABRIC_HOP_LATENCY);
    leg->latency_s += extra_s;
    machine_join(leg->label, sizeof leg->label,
                 (const char *const[]){names[0], " -> ", names[1], " (wire)"}, 4);
    return STATUS_OK;
}

enum status route_paced(struct route *route, struct route_leg *leg, const struct machine *machine,
                        enum route_end end, size_t resource, double each_s, double piece_B,
                        struct error *error)
{
    /* Uses of a leg stand together, so only the last leg can get one more. */
    if (leg != &route->legs[route->leg_count - 1] || !add_use(route, leg, machine, end, resource))
        return too_long(error);
    struct route_use *use = &route->uses[route->use_count - 1];
    use->fixed_s = each_s;
    use->piece_B = piece_B;
    return STATUS_OK;
}

void route_slow(struct route *route, struct route_leg *leg, double share)
{
    for (size_t i = 0; i < leg->use_count; i++)
        route->uses[leg->first_use + i].efficiency *= share;
    leg->rate_Bps *= share;
}

/* ---- reading a route
 * ------------------------------------------------------------------------------- */

size_t route_count_legs(const struct route *route, enum leg_kind kind)
{
    size_t count = 0;
    for (size_t i = 0; i < route->leg_count; i++)
        count += route->legs[i].kind == kind;
    return count;
}

size_t route_count_crossings_at(const struct route *route, enum route_end end)
{
    size_t count = 0;
    for (size_t i = 0; i < route->leg_count; i++)
        count += route->legs[i].kind == LEG_CROSSING && route->legs[i].end == end;
    return count;
}

size_t route_count_wakeups(const struct route *route)
{
    size_t count = 0;
    for (size_t i = 0; i < route->stage_count; i++)
        count += route->stages[i].handoff.wakes_cpu;
    return count;
}
