/* fabric.c: the switches above the nodes: which leaf a NIC hangs on, which uplink a flow takes. See
 * machine.h. */
#include "sim/core/machine.h"

enum fabric_kind machine_fabric(const struct machine *machine)
{
    return (enum fabric_kind)param_get(&machine->fabric, PARAM_FABRIC_KIND);
}

static uint32_t nic_count(const struct machine *machine)
{
    uint32_t count = 0;
    for (size_t i = 0; i < machine->node.device_count; i++)
        count += machine->node.devices[i].kind == DEVICE_NIC;
    return count;
}

uint32_t machine_leaves(const struct machine *machine)
{
    uint32_t group = (uint32_t)param_get(&machine->fabric, PARAM_FABRIC_NODES_PER_LEAF);
    return machine_fabric(machine) == FABRIC_RAIL ? nic_count(machine)
                                                  : (machine->node_count + group - 1) / group;
}

/* A fixed mixing of bits, so that hashed routing is the same on every machine. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

bool machine_uplinks(const struct machine *machine, const uint32_t node[2], const uint32_t nic[2],
                     uint32_t lane, uint32_t ret_uplink[2])
{
    enum { BEST, HASHED };
    uint32_t group = (uint32_t)param_get(&machine->fabric, PARAM_FABRIC_NODES_PER_LEAF);
    uint32_t uplinks = (uint32_t)param_get(&machine->fabric, PARAM_FABRIC_UPLINKS);
    uint32_t nics = nic_count(machine);
    int routing = (int)param_get(&machine->fabric, PARAM_FABRIC_ROUTING);
    uint64_t seed = (uint64_t)param_get(&machine->fabric, PARAM_FABRIC_HASH_SEED);
    bool rail = machine_fabric(machine) == FABRIC_RAIL;
    const uint32_t leaf[2] = {rail ? nic[0] : node[0] / group, rail ? nic[1] : node[1] / group};
    if (leaf[0] == leaf[1])
        return false;
    for (int i = 0; i < 2; i++) {
        /* The port of the leaf that the flow uses: in best routing each has its own uplink. */
        uint32_t port = rail ? node[i] : node[i] % group * nics + nic[i];
        uint64_t flow = ((uint64_t)(node[0] * nics + nic[0]) << 32 | (node[1] * nics + nic[1])) +
                        (uint64_t)lane * 0x9E3779B97F4A7C15u + seed * 0xD1B54A32D192ED03u;
        uint32_t which = routing == BEST     ? port % uplinks
                         : routing == HASHED ? (uint32_t)(mix(flow + (uint64_t)i) % uplinks)
                                             : 0;
        ret_uplink[i] = leaf[i] * uplinks + which;
    }
    return true;
}
