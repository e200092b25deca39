/* nccl_comm.c: see nccl_comm.h. */
#include "sim/study/nccl_comm.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "sim/core/nccl_node.h"

enum {
    NEWEST_VERSION = 23007,
    NVLS_SLICES = 16 /* of a part at most, beyond which hardly any time is saved */
};

static enum nccl_cpu cpu_of(const struct machine *machine)
{
    static const enum nccl_cpu makers[] = {NCCL_CPU_INTEL, NCCL_CPU_AMD, NCCL_CPU_POWER,
                                           NCCL_CPU_OTHER};
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == DEVICE_CPU)
            return makers[(size_t)param_get(&machine->node.devices[i].params, PARAM_CPU_MAKER)];
    return NCCL_CPU_OTHER;
}

static void look(const struct machine *machine, const struct mechanism *mechanism,
                 struct nccl_node *ret)
{
    bool staged = mechanism == mechanism_find("host") || mechanism == mechanism_find("socket");
    nccl_node_of(machine, staged, mechanism == mechanism_find("p2p"), ret);
}

enum status nccl_comm_of(const struct machine *machine, const struct mechanism *mechanism,
                         struct nccl_comm *ret_comm, struct error *error)
{
    struct nccl_node node;
    struct nccl_comm comm = {.version = NEWEST_VERSION, .net_overhead_us = -1};
    look(machine, mechanism, &node);
    comm.ranks = (int)machine_ranks(machine);
    comm.nodes = (int)machine->node_count;
    comm.max_local_ranks = node.gpus;
    comm.min_cc = comm.max_cc = node.cc;
    comm.cpu = cpu_of(machine);
    node.intel = comm.cpu == NCCL_CPU_INTEL;
    if (param_origin(&machine->software, PARAM_SOFTWARE_STEP_HANDOFF)->kind != ORIGIN_DEFAULT)
        comm.net_overhead_us = 1e6 * param_get(&machine->software, PARAM_SOFTWARE_STEP_HANDOFF);
    comm.nvswitch = node.nvswitch;
    comm.nvls = node.nvswitch && node.cc >= 90 && node.gpus > 1;
    comm.collnet = mechanism == mechanism_find("sharp");
    if (comm.ranks < 2)
        return error_set(error, STATUS_INPUT, "NCCL has nothing to do for one GPU");
    if (comm.nodes > 1 && node.nics == 0)
        return error_set(error, STATUS_INPUT, "NCCL needs NICs between nodes, and there are none");
    nccl_search(&node, comm.graphs);
    for (size_t k = 1; k < machine_kind_count(machine); k++) { /* all take the worst node's */
        struct nccl_graph other[NCCL_SEARCHES];
        look(machine_of_kind(machine, k), mechanism, &node);
        node.intel = comm.cpu == NCCL_CPU_INTEL;
        nccl_search(&node, other);
        for (size_t i = 0; i < NCCL_SEARCHES; i++)
            nccl_graph_worst(&comm.graphs[i], &other[i]);
    }
    if (comm.graphs[NCCL_SEARCH_RING].channels == 0)
        return error_set(error, STATUS_INPUT,
                         "links or NICs are slower than anything that NCCL's search tries");
    *ret_comm = comm;
    return STATUS_OK;
}

enum { P2P_LL_B = 16384 }; /* of a channel; NCCL_P2P_LL_THRESHOLD */

/* Paths of models/nccl_channel.h as the GPUs of one node see them: the least of all their peers. */
static int paths_of(const struct nccl_node *node)
{
    int paths = INT_MAX;
    if (node->gpus > 1)
        paths = node->nvlink_GBps > 0 ? 2 * nccl_nvlinks(node->cc, node->nvlink_GBps) : 2;
    if (node->nodes > 1)
        paths = (int)fmin(paths, fmax(node->nics, ceil(node->nic_GBps / 14)));
    return paths;
}

bool nccl_sends(const struct machine *machine, const struct mechanism *mechanism,
                const struct nccl_comm *comm, enum collective collective,
                const enum nccl_protocol *protocol, double size_B, struct nccl_choice *ret_choice)
{
    if (collective != COLLECTIVE_ALLTOALL && collective != COLLECTIVE_SENDRECV)
        return false;
    struct nccl_p2p p2p = {.channels = nccl_channels(comm),
                           .paths = INT_MAX,
                           .ranks = comm->ranks,
                           .nodes = comm->nodes};
    for (size_t k = 0; k < machine_kind_count(machine); k++) { /* both ends cut a send alike */
        struct nccl_node node;
        look(machine_of_kind(machine, k), mechanism, &node);
        p2p.paths = (int)fmin(p2p.paths, paths_of(&node));
    }
    int peers = collective == COLLECTIVE_ALLTOALL ? comm->ranks - 1 : 1;
    double bytes = collective == COLLECTIVE_ALLTOALL ? size_B / comm->ranks : size_B;
    int channels = nccl_p2p_channels(&p2p, bytes);
    bool small = comm->nodes == 1 && bytes <= (double)channels * P2P_LL_B;
    /* All peers at once, on as many channels as there are. */
    int all = 1;
    while (all < p2p.channels)
        all *= 2;
    *ret_choice = (struct nccl_choice){.algorithm = NCCL_RING,
                                       .protocol = protocol ? *protocol
                                                   : small  ? NCCL_LL
                                                            : NCCL_SIMPLE,
                                       .channels = (int)fmin((double)channels * peers, all)};
    return true;
}

bool nccl_collective_of(enum collective collective, enum nccl_collective *ret_collective)
{
    switch (collective) {
    case COLLECTIVE_ALLREDUCE:
        *ret_collective = NCCL_ALLREDUCE;
        return true;
    case COLLECTIVE_ALLGATHER:
        *ret_collective = NCCL_ALLGATHER;
        return true;
    case COLLECTIVE_REDUCE_SCATTER:
        *ret_collective = NCCL_REDUCESCATTER;
        return true;
    case COLLECTIVE_BROADCAST:
        *ret_collective = NCCL_BROADCAST;
        return true;
    case COLLECTIVE_REDUCE:
        *ret_collective = NCCL_REDUCE;
        return true;
    default:
        return false;
    }
}

bool nccl_algorithm_of(const char *script, enum nccl_algorithm *ret_algorithm)
{
    static const struct {
        const char *script;
        enum nccl_algorithm algorithm;
    } scripts[] = {{"ring", NCCL_RING},
                   {"rings", NCCL_RING},
                   {"allgather_ring", NCCL_RING},
                   {"allgather_rings", NCCL_RING},
                   {"reduce_scatter_ring", NCCL_RING},
                   {"reduce_scatter_rings", NCCL_RING},
                   {"broadcast_chain", NCCL_RING},
                   {"reduce_chain", NCCL_RING},
                   {"nccl_tree", NCCL_TREE},
                   {"double_tree", NCCL_TREE},
                   {"pat", NCCL_PAT},
                   {"pat_reduce_scatter", NCCL_PAT},
                   {"nvls", NCCL_NVLS},
                   {"nvls_tree", NCCL_NVLS_TREE},
                   {"collnet_direct", NCCL_COLLNET_DIRECT},
                   {"collnet_chain", NCCL_COLLNET_CHAIN},
                   {"sharp", NCCL_COLLNET_CHAIN}};
    for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++)
        if (strcmp(script, scripts[i].script) == 0) {
            *ret_algorithm = scripts[i].algorithm;
            return true;
        }
    return false;
}

struct nccl_cut nccl_cut_of(const struct nccl_comm *comm, const struct nccl_choice *choice,
                            double size_B, uint32_t chunks)
{
    double chunk_B = nccl_chunk_B(comm, choice, size_B);
    double each_B = nccl_loop_B(comm, choice, size_B) / chunks;
    switch (choice->algorithm) {
    case NCCL_TREE:
        return (struct nccl_cut){.chunk_B = chunk_B};
    case NCCL_COLLNET_DIRECT:
    case NCCL_COLLNET_CHAIN:
        return (struct nccl_cut){.slice_B = each_B};
    case NCCL_NVLS:
    case NCCL_NVLS_TREE:
        chunk_B = fmin(each_B, fmax(chunk_B, size_B / chunks / NVLS_SLICES));
        return (struct nccl_cut){.slice_B = chunk_B, .window = NCCL_STEPS * ceil(each_B / chunk_B)};
    default:
        return (struct nccl_cut){0};
    }
}

void nccl_settle(struct machine *machine, const struct nccl_choice *choice, struct nccl_cut cut,
                 const char *why)
{
    struct params *engine = &machine->engine;
    struct origin origin = {.kind = ORIGIN_SET, .file = why};
    if ((int)param_get(engine, PARAM_ENGINE_PROTOCOL) == PROTOCOL_AUTO)
        param_set(engine, PARAM_ENGINE_PROTOCOL, protocol_word_of(choice->protocol), origin);
    if (!(param_get(engine, PARAM_ENGINE_CHANNELS) > 0))
        param_set(engine, PARAM_ENGINE_CHANNELS, choice->channels, origin);
    if (param_origin(engine, PARAM_ENGINE_HOPS)->kind == ORIGIN_DEFAULT &&
        choice->algorithm == NCCL_TREE)
        param_set(engine, PARAM_ENGINE_HOPS, 1, origin);
    if (cut.slice_B > 0 && param_origin(engine, PARAM_ENGINE_SLICE)->kind == ORIGIN_DEFAULT)
        param_set(engine, PARAM_ENGINE_SLICE, cut.slice_B, origin);
    if (cut.window > 0 && param_origin(engine, PARAM_ENGINE_WINDOW)->kind == ORIGIN_DEFAULT)
        param_set(engine, PARAM_ENGINE_WINDOW, cut.window, origin);
    if (cut.chunk_B > 0 && param_origin(engine, PARAM_ENGINE_CHUNK)->kind == ORIGIN_DEFAULT)
        param_set(engine, PARAM_ENGINE_CHUNK, cut.chunk_B, origin);
}
