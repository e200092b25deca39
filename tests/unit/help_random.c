/* help_random.c: see help_random.h. */
#include "tests/unit/help_random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

double random_between(uint64_t *state, double low, double high)
{
    return low + (high - low) * (double)core_random_below(state, 1000000) / 1e6;
}

static bool one_in(uint64_t *state, uint64_t n)
{
    return core_random_below(state, n) == 0;
}

/* Slower than any other way than host memory: what falls back to it must not gain. So SMs and CPUs
 * copy at 4 to 7 GB/s, and what only peer transfers meet (ceilings, read credits) has 8 or more. */
static void random_cpu(uint64_t *state, struct params *cpu)
{
    if (one_in(state, 2))
        core_set(cpu, PARAM_CPU_DRAM_RATE, random_between(state, 20e9, 200e9));
    if (one_in(state, 3))
        core_set(cpu, PARAM_CPU_PEER_WRITE, random_between(state, 8e9, 40e9));
    if (one_in(state, 3))
        core_set(cpu, PARAM_CPU_PEER_READ, random_between(state, 8e9, 40e9));
    core_set(cpu, PARAM_CPU_STRICT_ORDER, random_between(state, 0.4, 1));
    core_set(cpu, PARAM_CPU_COPY_RATE, random_between(state, 4e9, 7e9));
}

static void random_nic(uint64_t *state, struct params *nic)
{
    core_set(nic, PARAM_NIC_RATE, random_between(state, 10e9, 50e9));
    core_set(nic, PARAM_NIC_EFFICIENCY, random_between(state, 0.9, 1));
    core_set(nic, PARAM_NIC_RELAXED_ORDERING, !one_in(state, 4));
    if (one_in(state, 3)) /* 24 x 512 B / 0.9 us = 13.7 GB/s */
        core_set(nic, PARAM_NIC_READS, 24 + (double)core_random_below(state, 100));
}

static void random_link(uint64_t *state, struct params *link)
{
    core_set(link, PARAM_PCIE_GEN, 3 + (double)core_random_below(state, 3));
    core_set(link, PARAM_PCIE_WIDTH, one_in(state, 4) ? 8 : 16);
    core_set(link, PARAM_PCIE_LATENCY, one_in(state, 2) ? 0 : random_between(state, 0, 0.3e-6));
    if (one_in(state, 8))
        core_set(link, PARAM_PCIE_ACS, (double)core_random_below(state, 128));
    if (one_in(state, 8))
        core_set(link, PARAM_PCIE_DUPLEX, random_between(state, 0.5, 1));
}

static void random_state(uint64_t *state, struct machine *m)
{
    core_set(&m->state, PARAM_STATE_GDR_LEVEL, one_in(state, 2) ? PATH_SYS : PATH_P2C);
    core_set(&m->state, PARAM_STATE_P2P_LEVEL, one_in(state, 2) ? PATH_SYS : PATH_PXB);
    core_set(&m->state, PARAM_STATE_IOMMU, (double)core_random_below(state, 3));
    core_set(&m->state, PARAM_STATE_ATS, one_in(state, 3));
    core_set(&m->state, PARAM_STATE_VM, one_in(state, 2));
    core_set(&m->software, PARAM_SOFTWARE_STEP_HANDOFF, random_between(state, 1.5e-6, 3e-6));
    core_set(&m->software, PARAM_SOFTWARE_COPY_HANDOFF, random_between(state, 2e-6, 8e-6));
}

static void name_of(char *name, const char *what, size_t i)
{
    snprintf(name, MACHINE_NAME_LENGTH, "%s%zu", what, i);
}

/* Not finished. `bad` states and parameters as above; false: nothing stands in anybody's way. */
void random_machine(uint64_t seed, bool bad, struct machine *ret_machine)
{
    struct machine *m = ret_machine;
    uint64_t state = seed * 77 + 5;
    char uppers[8][MACHINE_NAME_LENGTH], name[MACHINE_NAME_LENGTH];
    size_t sockets = 1 + core_random_below(&state, 2), switches = core_random_below(&state, 4);
    size_t gpus = 1 + core_random_below(&state, 4), nics = 1 + core_random_below(&state, 4);
    machine_init(m);
    m->node_count = 2;
    core_set(&m->state, PARAM_STATE_GDR_LEVEL, PATH_SYS);
    core_set(&m->state, PARAM_STATE_P2P_LEVEL, PATH_SYS);
    if (bad)
        random_state(&state, m);
    for (size_t i = 0; i < sockets; i++) {
        name_of(uppers[i], "cpu", i);
        random_cpu(&state, core_add(m, uppers[i], DEVICE_CPU));
    }
    if (sockets == 2)
        core_set(core_join(m, LINK_SOCKET, "cpu0", "cpu1"), PARAM_SOCKET_RATE,
                 random_between(&state, 10e9, 40e9));
    const struct {
        const char *what;
        enum device_kind kind;
        size_t count;
    } kinds[] = {{"sw", DEVICE_PCIE_SWITCH, switches},
                 {"gpu", DEVICE_GPU, gpus},
                 {"nic", DEVICE_NIC, nics},
                 {"nvme", DEVICE_NVME, 1}};
    size_t upper_count = sockets;
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (size_t i = 0; i < kinds[k].count; i++) {
            name_of(name, kinds[k].what, i);
            struct params *params = core_add(m, name, kinds[k].kind);
            if (kinds[k].kind == DEVICE_NIC)
                random_nic(&state, params);
            if (kinds[k].kind == DEVICE_GPU)
                core_set(params, PARAM_GPU_CHANNEL_RATE, random_between(&state, 4e9, 7e9));
            struct params *link =
                core_join(m, LINK_PCIE, uppers[core_random_below(&state, upper_count)], name);
            random_link(&state, link);
            if (!bad) {
                core_set(link, PARAM_PCIE_ACS, 0);
                core_set(link, PARAM_PCIE_DUPLEX, 1);
            }
            if (kinds[k].kind == DEVICE_PCIE_SWITCH)
                snprintf(uppers[upper_count++], MACHINE_NAME_LENGTH, "%s", name);
        }
    if (gpus > 1 && one_in(&state, 3)) {
        core_add(m, "nvs", DEVICE_NVSWITCH);
        for (size_t i = 0; i < gpus; i++) {
            name_of(name, "gpu", i);
            core_set(core_join(m, LINK_NVLINK, name, "nvs"), PARAM_NVLINK_RATE,
                     random_between(&state, 50e9, 400e9));
        }
    }
}

void random_finish(struct machine *m)
{
    struct node_type *node = &m->node;
    node->port_count = 0;
    for (size_t i = 0; i < node->device_count; i++)
        if (node->devices[i].kind == DEVICE_GPU || node->devices[i].kind == DEVICE_CPU ||
            node->devices[i].kind == DEVICE_NVME)
            node->ports[node->port_count++] = (uint16_t)i;
    core_finish(m);
}

void random_odd(uint64_t *state, struct machine *machine, struct node_range nodes)
{
    struct machine like;
    struct odd_nodes *odd;
    struct error error;
    char name[MACHINE_NAME_LENGTH];
    name_of(name, "odd", machine->odd_count);
    assert_ok(machine_copy(machine, &like, &error), &error);
    const struct node_type *node = &like.node;
    for (size_t ways = 1 + core_random_below(state, 3); ways > 0; ways--) {
        struct link *link = &like.node.links[core_random_below(state, node->link_count)];
        struct device *device = &like.node.devices[core_random_below(state, node->device_count)];
        switch (core_random_below(state, 6)) {
        case 0:
            core_set(&like.state, PARAM_STATE_PEERMEM, 0);
            break;
        case 1:
            core_set(&like.state, PARAM_STATE_IOMMU, 2);
            core_set(&like.state, PARAM_STATE_VM, (double)core_random_below(state, 2));
            break;
        case 2:
            if (device->kind == DEVICE_NIC)
                core_set(&device->params, PARAM_NIC_RATE,
                         param_get(&device->params, PARAM_NIC_RATE) /
                             (double)(2 + core_random_below(state, 3)));
            else if (device->kind == DEVICE_CPU)
                core_set(&device->params, PARAM_CPU_PEER_WRITE, random_between(state, 3e9, 9e9));
            break;
        case 3:
            if (link->kind == LINK_PCIE)
                core_set(&link->params, PARAM_PCIE_DUPLEX, 0.6);
            break;
        case 4:
            if (link->kind == LINK_PCIE)
                core_set(&link->params, PARAM_PCIE_ACS, 0x0C);
            break;
        default:
            if (link->kind == LINK_PCIE)
                core_set(&link->params, PARAM_PCIE_RATE, random_between(state, 2e9, 9e9));
        }
    }
    assert_ok(odd_add(machine, name, &odd, &error), &error);
    assert_ok(odd_add_range(odd, nodes, &error), &error);
    assert_ok(odd_set(machine, machine->odd_count - 1, &like, &error), &error);
    machine_free(&like);
    assert_ok(machine_finish(machine, &error), &error);
}

/* Every mechanism between every two ports; `place` counts them. False: no more. */
bool random_next_move(const struct machine *machine, size_t *place, struct random_move *ret_move)
{
    const size_t ports = machine->node.port_count, ways = ports * ports * 2;
    for (; *place < mechanism_count * ways; (*place)++) {
        size_t way = *place % ways, from = way / 2 / ports, to = way / 2 % ports;
        bool same = way % 2 == 1;
        if (same && from == to)
            continue;
        ret_move->mechanism = mechanism_table[*place / ways].name;
        ret_move->from = (uint32_t)from;
        ret_move->to = (uint32_t)(to + (same ? 0 : ports));
        ret_move->ends = (struct endpoints){.src.device = machine->node.ports[from],
                                            .dst.device = machine->node.ports[to],
                                            .same_node = same};
        struct route route;
        struct error error;
        if (mechanism_route(mechanism_find(ret_move->mechanism), machine, &ret_move->ends, &route,
                            &error) == STATUS_OK) {
            (*place)++;
            return true;
        }
    }
    return false;
}

static const char *way(const struct machine *machine, const struct random_move *move)
{
    static char text[4 * MACHINE_NAME_LENGTH];
    snprintf(text, sizeof text, "%s %s -> %s%s", move->mechanism,
             machine->node.devices[move->ends.src.device].name,
             machine->node.devices[move->ends.dst.device].name,
             move->ends.same_node ? "" : " of the next node");
    return text;
}

void random_hold(uint64_t seed, const struct machine *machine, const struct random_move *move,
                 bool good, const char *what)
{
    if (good)
        return;
    print_error("seed %llu, %s: %s\n", (unsigned long long)seed,
                move ? way(machine, move) : "the machine", what);
    fail();
}

void random_run(const struct machine *machine, const struct random_move *move,
                enum accounting accounting, double size_B, struct ledger *ret_ledger)
{
    struct plan plan;
    const struct plan_edge edges[] = {{.from = move->from, .to = move->to}, CORE_STEP_END};
    core_edges(machine_ranks(machine), 1, edges, 2, &plan);
    core_run(machine, &plan, move->mechanism, accounting, size_B, ret_ledger);
    plan_free(&plan);
}

/* The textbook's sum, from the route alone. */
double random_serial_s(const struct machine *machine, const struct route *route, double bytes)
{
    double total = route->setup_s;
    for (size_t i = 0; i < route->stage_count; i++)
        total += route->stages[i].handoff.cost_s;
    for (size_t i = 0; i < route->leg_count; i++) {
        const struct route_leg *leg = &route->legs[i];
        double slowest = 0;
        for (size_t u = 0; u < leg->use_count; u++) {
            const struct route_use *use = &route->uses[leg->first_use + u];
            double rate = machine->node.resources[use->resource].rate_Bps * use->efficiency;
            slowest = fmax(slowest, bytes * use->bytes_factor / rate + use->fixed_s);
        }
        total += leg->latency_s + slowest;
    }
    return total;
}

void random_route(const struct machine *machine, const struct random_move *move,
                  struct route *ret_route)
{
    struct error error;
    assert_ok(
        mechanism_route(mechanism_find(move->mechanism), machine, &move->ends, ret_route, &error),
        &error);
}
