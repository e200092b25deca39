/* test_metamorphic.c: what must not change, or change in one direction only, when a machine
 * changes; tried on random machines. A failure prints the seed; run it alone by setting first_seed
 * to it and seeds to 1.
 *
 * A machine has 1 or 2 sockets, up to 3 PCIe switches, 1 to 4 GPUs, 1 to 4 NICs and a drive, each
 * below a random root complex or switch, and perhaps NVLink between GPUs; two nodes. All GPUs,
 * memories and drives are ranks, so that every mechanism has something to move.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const uint64_t first_seed = 1, seeds = 50;

/* ---- random machines ---------------------------------------------------------------------------
 */

static double between(uint64_t *state, double low, double high)
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
        core_set(cpu, PARAM_CPU_DRAM_RATE, between(state, 20e9, 200e9));
    if (one_in(state, 3))
        core_set(cpu, PARAM_CPU_PEER_WRITE, between(state, 8e9, 40e9));
    if (one_in(state, 3))
        core_set(cpu, PARAM_CPU_PEER_READ, between(state, 8e9, 40e9));
    core_set(cpu, PARAM_CPU_STRICT_ORDER, between(state, 0.4, 1));
    core_set(cpu, PARAM_CPU_COPY_RATE, between(state, 4e9, 7e9));
}

static void random_nic(uint64_t *state, struct params *nic)
{
    core_set(nic, PARAM_NIC_RATE, between(state, 10e9, 50e9));
    core_set(nic, PARAM_NIC_EFFICIENCY, between(state, 0.9, 1));
    core_set(nic, PARAM_NIC_RELAXED_ORDERING, !one_in(state, 4));
    if (one_in(state, 3)) /* 24 x 512 B / 0.9 us = 13.7 GB/s */
        core_set(nic, PARAM_NIC_READS, 24 + (double)core_random_below(state, 100));
}

static void random_link(uint64_t *state, struct params *link)
{
    core_set(link, PARAM_PCIE_GEN, 3 + (double)core_random_below(state, 3));
    core_set(link, PARAM_PCIE_WIDTH, one_in(state, 4) ? 8 : 16);
    core_set(link, PARAM_PCIE_LATENCY, one_in(state, 2) ? 0 : between(state, 0, 0.3e-6));
    if (one_in(state, 8))
        core_set(link, PARAM_PCIE_ACS, (double)core_random_below(state, 128));
    if (one_in(state, 8))
        core_set(link, PARAM_PCIE_DUPLEX, between(state, 0.5, 1));
}

static void random_state(uint64_t *state, struct machine *m)
{
    core_set(&m->state, PARAM_STATE_GDR_LEVEL, one_in(state, 2) ? PATH_SYS : PATH_P2C);
    core_set(&m->state, PARAM_STATE_P2P_LEVEL, one_in(state, 2) ? PATH_SYS : PATH_PXB);
    core_set(&m->state, PARAM_STATE_IOMMU, (double)core_random_below(state, 3));
    core_set(&m->state, PARAM_STATE_ATS, one_in(state, 3));
    core_set(&m->state, PARAM_STATE_VM, one_in(state, 2));
    core_set(&m->software, PARAM_SOFTWARE_STEP_HANDOFF, between(state, 1.5e-6, 3e-6));
    core_set(&m->software, PARAM_SOFTWARE_COPY_HANDOFF, between(state, 2e-6, 8e-6));
}

static void name_of(char *name, const char *what, size_t i)
{
    snprintf(name, MACHINE_NAME_LENGTH, "%s%zu", what, i);
}

/* Not finished. `bad` states and parameters as above; false: nothing stands in anybody's way. */
static void random_machine(uint64_t seed, bool bad, struct machine *ret_machine)
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
                 between(&state, 10e9, 40e9));
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
                core_set(params, PARAM_GPU_CHANNEL_RATE, between(&state, 4e9, 7e9));
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
                     between(&state, 50e9, 400e9));
        }
    }
}

static void finish(struct machine *m)
{
    struct node_type *node = &m->node;
    node->port_count = 0;
    for (size_t i = 0; i < node->device_count; i++)
        if (node->devices[i].kind == DEVICE_GPU || node->devices[i].kind == DEVICE_CPU ||
            node->devices[i].kind == DEVICE_NVME)
            node->ports[node->port_count++] = (uint16_t)i;
    core_finish(m);
}

/* One transfer of a machine: a mechanism and two ports. */
struct move {
    const char *mechanism;
    uint32_t from, to; /* ranks; from is on node 0 */
    struct endpoints ends;
};

/* Every mechanism between every two ports; `place` counts them. False: no more. */
static bool next_move(const struct machine *machine, size_t *place, struct move *ret_move)
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

#define FOR_EACH_MOVE(machine, move)                                                               \
    for (size_t place_ = 0; next_move(&(machine), &place_, &(move));)

static const char *way(const struct machine *machine, const struct move *move)
{
    static char text[4 * MACHINE_NAME_LENGTH];
    snprintf(text, sizeof text, "%s %s -> %s%s", move->mechanism,
             machine->node.devices[move->ends.src.device].name,
             machine->node.devices[move->ends.dst.device].name,
             move->ends.same_node ? "" : " of the next node");
    return text;
}

static void hold(uint64_t seed, const struct machine *machine, const struct move *move, bool good,
                 const char *what)
{
    if (good)
        return;
    print_error("seed %llu, %s: %s\n", (unsigned long long)seed,
                move ? way(machine, move) : "the machine", what);
    fail();
}

static void run(const struct machine *machine, const struct move *move, enum accounting accounting,
                double size_B, struct ledger *ret_ledger)
{
    struct plan plan;
    const struct plan_edge edges[] = {{.from = move->from, .to = move->to}, CORE_STEP_END};
    core_edges(machine_ranks(machine), 1, edges, 2, &plan);
    core_run(machine, &plan, move->mechanism, accounting, size_B, ret_ledger);
    plan_free(&plan);
}

/* The textbook's sum, from the route alone. */
static double serial_s(const struct machine *machine, const struct route *route, double bytes)
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

static void route_of(const struct machine *machine, const struct move *move,
                     struct route *ret_route)
{
    struct error error;
    assert_ok(
        mechanism_route(mechanism_find(move->mechanism), machine, &move->ends, ret_route, &error),
        &error);
}

/* ---- one transfer ------------------------------------------------------------------------------
 */

/* Serial: the sum over the route, to the rounding of each duration (half a picosecond each). */
static void serial_time_is_the_sum(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine machine;
        struct move move;
        random_machine(seed, true, &machine);
        finish(&machine);
        FOR_EACH_MOVE(machine, move)
        {
            static const double sizes[] = {0, 1, 3e6};
            struct route route;
            route_of(&machine, &move, &route);
            for (size_t i = 0; i < COUNT(sizes); i++) {
                struct ledger ledger;
                run(&machine, &move, ACCOUNTING_SERIAL, sizes[i], &ledger);
                double expected = serial_s(&machine, &route, sizes[i]) * 1e12;
                hold(seed, &machine, &move, fabs((double)ledger.total_ps - expected) <= 24,
                     "serial time is not the sum");
                ledger_free(&ledger);
            }
        }
        machine_free(&machine);
    }
}

/* Nothing to carry: latencies, handoffs and a drive's fixed time are left, in both accountings. */
static void zero_bytes_cost_latency_and_handoffs(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine machine;
        struct move move;
        random_machine(seed, true, &machine);
        finish(&machine);
        FOR_EACH_MOVE(machine, move)
        {
            struct route route;
            struct ledger serial, pipelined;
            double expected = 0;
            route_of(&machine, &move, &route);
            for (size_t i = 0; i < route.stage_count; i++)
                expected += route.stages[i].handoff.cost_s;
            for (size_t i = 0; i < route.leg_count; i++)
                expected += route.legs[i].latency_s;
            for (size_t i = 0; i < route.use_count; i++)
                expected += route.uses[i].fixed_s;
            run(&machine, &move, ACCOUNTING_SERIAL, 0, &serial);
            run(&machine, &move, ACCOUNTING_PIPELINED, 0, &pipelined);
            hold(seed, &machine, &move, fabs((double)serial.total_ps - expected * 1e12) <= 24,
                 "zero bytes are not free in serial accounting");
            hold(seed, &machine, &move, llabs(serial.total_ps - pipelined.total_ps) <= 24,
                 "nor in pipelined accounting");
            for (size_t i = 0; i < serial.resource_count; i++)
                hold(seed, &machine, &move,
                     !(serial.resources[i].bytes > 0) && !(pipelined.resources[i].bytes > 0),
                     "bytes out of nothing");
            ledger_free(&serial);
            ledger_free(&pipelined);
        }
        machine_free(&machine);
    }
}

/* What the route says is what the ledger holds; no resource is above its rate; and a pipeline is no
 * slower than the sum. */
static void bytes_are_conserved_within_rates(void **state)
{
    (void)state;
    const double S = 24e6;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine machine;
        struct move move;
        random_machine(seed, true, &machine);
        finish(&machine);
        FOR_EACH_MOVE(machine, move)
        {
            struct route route;
            struct ledger ledger[2];
            route_of(&machine, &move, &route);
            for (int a = 0; a < 2; a++) {
                int64_t sum = 0;
                run(&machine, &move, (enum accounting)a, S, &ledger[a]);
                for (size_t i = 0; i < ledger[a].resource_count + CATEGORY_COUNT; i++)
                    sum += ledger[a].critical[i];
                hold(seed, &machine, &move, sum == ledger[a].total_ps,
                     "the critical path does not add up");
            }
            for (int a = 0; a < 2; a++)
                for (size_t r = 0; r < machine.node.resource_count; r++) {
                    const struct resource *resource = &machine.node.resources[r];
                    double passes = 0;
                    size_t at_src = 0, at_dst = 0;
                    for (size_t u = 0; u < route.use_count; u++) {
                        if (route.uses[u].resource != r)
                            continue;
                        passes += route.uses[u].bytes_factor;
                        at_src += route.uses[u].end == END_SRC;
                        at_dst += route.uses[u].end == END_DST;
                    }
                    if (resource->kind == RESOURCE_THREAD)
                        continue;
                    hold(seed, &machine, &move,
                         fabs(ledger[a].resources[r].bytes - passes * S) <= 1e-6 * S,
                         resource->name);
                    /* the node at one end of it: bytes over time against rate */
                    double here = (double)(move.ends.same_node ? at_src + at_dst
                                           : at_src > at_dst   ? at_src
                                                               : at_dst);
                    double time_s = (double)ledger[a].total_ps * 1e-12;
                    hold(seed, &machine, &move,
                         here * S / time_s <= resource->rate_Bps * (1 + 1e-9), resource->name);
                    hold(seed, &machine, &move,
                         ledger[a].resources[r].busy_most_ps <= ledger[a].total_ps, resource->name);
                }
            hold(seed, &machine, &move,
                 (double)ledger[ACCOUNTING_PIPELINED].total_ps <=
                     1.02 * (double)ledger[ACCOUNTING_SERIAL].total_ps,
                 "pipelined is slower than serial");
            ledger_free(&ledger[0]);
            ledger_free(&ledger[1]);
        }
        machine_free(&machine);
    }
}

/* ---- faster resources --------------------------------------------------------------------------
 */

static int64_t time_of(const struct machine *machine, const struct move *move, double size_B)
{
    struct ledger ledger;
    run(machine, move, ACCOUNTING_PIPELINED, size_B, &ledger);
    int64_t total = ledger.total_ps;
    ledger_free(&ledger);
    return total;
}

/* By how much a faster resource may lengthen a run. Where slices of two stages compete for one
 * resource of one node, first come first served has anomalies (Graham 1969); 4 % were seen. Where
 * they meet only in the thread that hands over, a few nanoseconds. Else none. */
static double anomaly(const struct machine *machine, const struct move *move)
{
    struct route route;
    int used_by[2][1024]; /* 1 + stage, by node and resource */
    memset(used_by, 0, sizeof used_by);
    route_of(machine, move, &route);
    assert_true(machine->node.resource_count <= COUNT(used_by[0]));
    for (size_t s = 0; s < route.stage_count; s++)
        for (size_t l = 0; l < route.stages[s].leg_count; l++) {
            const struct route_leg *leg = &route.legs[route.stages[s].first_leg + l];
            for (size_t u = 0; u < leg->use_count; u++) {
                const struct route_use *use = &route.uses[leg->first_use + u];
                int *by =
                    &used_by[!move->ends.same_node && use->end == END_DST ? 1 : 0][use->resource];
                if (isinf(machine->node.resources[use->resource].rate_Bps))
                    continue;
                if (*by && *by != 1 + (int)s)
                    return 1.06;
                *by = 1 + (int)s;
            }
        }
    return route.stage_count > 1 ? 1.001 : 1;
}

static void faster_resources(void **state)
{
    (void)state;
    const double S = 8e6;
    size_t limits = 0, helped = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds / 2 + 1; seed++) {
        struct machine machine;
        struct move move;
        random_machine(seed, true, &machine);
        finish(&machine);
        FOR_EACH_MOVE(machine, move)
        {
            struct ledger ledger;
            run(&machine, &move, ACCOUNTING_PIPELINED, S, &ledger);
            size_t limit = ledger_limit(&ledger);
            double slack = anomaly(&machine, &move);
            for (size_t r = 0; r < machine.node.resource_count; r++) {
                struct resource *resource = &machine.node.resources[r];
                const double share =
                    (double)ledger.resources[r].busy_most_ps / (double)ledger.total_ps;
                if (isinf(resource->rate_Bps) || ledger.resources[r].busy_most_ps == 0)
                    continue;
                /* in the finished machine, so that just this one direction changes */
                resource->rate_Bps *= 2;
                int64_t after = time_of(&machine, &move, S);
                resource->rate_Bps /= 2;
                hold(seed, &machine, &move, (double)after <= slack * (double)ledger.total_ps,
                     "a faster resource makes it slower");
                if (share < 0.5 && ledger.critical[r] == 0)
                    hold(seed, &machine, &move, (double)after > 0.98 * (double)ledger.total_ps,
                         resource->name);
                if (r == limit) {
                    limits++;
                    helped += (double)after < 0.99 * (double)ledger.total_ps;
                }
            }
            ledger_free(&ledger);
        }
        machine_free(&machine);
    }
    assert_true(limits > 500);
    /* not always: another as slow may stand beside it (both ends of a transfer, two equal links) */
    assert_true(helped * 2 > limits);
}

/* ---- worse machines ----------------------------------------------------------------------------
 */

enum how { TO, TIMES, PLUS };

/* What makes things worse, one parameter of one object at a time. */
static const struct worsening {
    enum param_id id;
    enum how how;
    double by;
} worsenings[] = {
    {PARAM_STATE_PEERMEM, TO, 0},
    {PARAM_STATE_GDRDRV, TO, 0},
    {PARAM_STATE_NVIDIA_FS, TO, 0},
    {PARAM_STATE_CUDA_BUFFER, TO, 0},
    {PARAM_STATE_REGISTERED, TO, 0},
    {PARAM_STATE_IOMMU, TO, 1},
    {PARAM_STATE_IOMMU, TO, 2},
    {PARAM_STATE_ATS, TO, 0},
    {PARAM_STATE_ACS_OUTCOME, TO, 1},
    {PARAM_STATE_ACS_OUTCOME, TO, 2},
    {PARAM_STATE_GDR_LEVEL, PLUS, -1},
    {PARAM_STATE_GDR_LEVEL, TO, PATH_LOC},
    {PARAM_STATE_P2P_LEVEL, PLUS, -1},
    {PARAM_STATE_P2P_LEVEL, TO, PATH_LOC},
    {PARAM_STATE_P2P_DRIVER, TO, 0},
    {PARAM_STATE_IOTLB_ENTRIES, TIMES, 0.5},
    {PARAM_STATE_IOMMU_WALK, TIMES, 2},
    {PARAM_STATE_WORKING_SET, TIMES, 2},
    {PARAM_STATE_GDS_FILESYSTEM, TO, 0},
    {PARAM_STATE_GDS_ALIGNED, TO, 0},
    {PARAM_SOFTWARE_STEP_HANDOFF, TIMES, 2},
    {PARAM_SOFTWARE_COPY_HANDOFF, TIMES, 2},
    {PARAM_SOFTWARE_COPY_BLOCKING, TO, 1},
    {PARAM_SOFTWARE_FLAG_HANDOFF, TIMES, 2},
    {PARAM_SOFTWARE_GPU_POST, TIMES, 2},
    {PARAM_SOFTWARE_STORAGE_SUBMIT, TIMES, 2},
    {PARAM_FABRIC_HOP_LATENCY, TIMES, 2},
    {PARAM_GPU_BAR1, TO, 1e6},
    {PARAM_GPU_BAR1, TO, 0},
    {PARAM_GPU_BAR1_USED, TO, 1e15},
    {PARAM_GPU_CHANNEL_RATE, TIMES, 0.5},
    {PARAM_GPU_PEER_CHANNEL_RATE, TIMES, 0.5},
    {PARAM_GPU_CHANNEL_CONTENTION, TO, 1},
    {PARAM_GPU_LL_CHANNEL_SHARE, TIMES, 0.5},
    {PARAM_GPU_LL128_CHANNEL_SHARE, TIMES, 0.5},
    {PARAM_GPU_LL_HOST_SHARE, TIMES, 0.5},
    {PARAM_GPU_LL128_HOST_SHARE, TIMES, 0.5},
    {PARAM_GPU_BAR_WRITE_RATE, TIMES, 0.5},
    {PARAM_GPU_BAR_WRITE_LATENCY, TIMES, 2},
    {PARAM_GPU_BAR_READ_RATE, TIMES, 0.5},
    {PARAM_GPU_BAR_READ_LATENCY, TIMES, 2},
    {PARAM_CPU_DRAM_RATE, TIMES, 0.5},
    {PARAM_CPU_DRAM_RATE, TO, 5e9},
    {PARAM_CPU_COPY_RATE, TIMES, 0.5},
    {PARAM_CPU_PEER_WRITE, TIMES, 0.5},
    {PARAM_CPU_PEER_WRITE, TO, 1e9},
    {PARAM_CPU_PEER_READ, TIMES, 0.5},
    {PARAM_CPU_PEER_READ, TO, 1e9},
    {PARAM_CPU_PEER_ALLOWED, TO, 0},
    {PARAM_CPU_PEER_LATENCY, TIMES, 2},
    {PARAM_CPU_STRICT_ORDER, TIMES, 0.5},
    {PARAM_PCIE_SWITCH_LATENCY, TIMES, 2},
    {PARAM_NIC_RATE, TIMES, 0.5},
    {PARAM_NIC_EFFICIENCY, TIMES, 0.5},
    {PARAM_NIC_LATENCY, TIMES, 2},
    {PARAM_NIC_READS, TIMES, 0.5},
    {PARAM_NIC_READ_REQUEST, TIMES, 0.5},
    {PARAM_NIC_RELAXED_ORDERING, TO, 0},
    {PARAM_NIC_BACKGROUND, TO, 0.5},
    {PARAM_NIC_REGISTRATION, TIMES, 2},
    {PARAM_NVME_READ_RATE, TIMES, 0.5},
    {PARAM_NVME_WRITE_RATE, TIMES, 0.5},
    {PARAM_NVME_LATENCY, TIMES, 2},
    {PARAM_NVME_IOPS, TIMES, 0.5},
    {PARAM_PCIE_GEN, PLUS, -1},
    {PARAM_PCIE_WIDTH, TIMES, 0.5},
    {PARAM_PCIE_GEN_MAX, TO, 7},
    {PARAM_PCIE_WIDTH_MAX, TO, 32},
    {PARAM_PCIE_MPS, TIMES, 0.5},
    {PARAM_PCIE_RATE, TO, 3e9},
    {PARAM_PCIE_DUPLEX, TIMES, 0.6},
    {PARAM_PCIE_LATENCY, PLUS, 0.2e-6},
    {PARAM_PCIE_ACS, TO, 0x2C},
    {PARAM_NVLINK_RATE, TIMES, 0.5},
    {PARAM_NVLINK_LATENCY, TIMES, 2},
    {PARAM_NVLINK_NVLS_EFFICIENCY, TIMES, 0.5},
    {PARAM_SOCKET_RATE, TIMES, 0.5},
    {PARAM_SOCKET_LATENCY, TIMES, 2},
};

/* What these say is not worse or better: how much memory, who is translated for (a VM's peer
 * packets are sent up, on bare metal they are refused), how dma-buf stands in for the module. */
static const enum param_id neither[] = {
    PARAM_STATE_VM,         PARAM_STATE_DMABUF,           PARAM_STATE_IOMMU_PAGE, PARAM_GPU_MEMORY,
    PARAM_GPU_READ_LATENCY, PARAM_GPU_COMPUTE_CAPABILITY, PARAM_CPU_MAKER};

static bool change(struct params *params, const struct worsening *by)
{
    const struct param_info *info = param_info(by->id);
    double before = param_get(params, by->id);
    double value = by->how == TO ? by->by : by->how == TIMES ? before * by->by : before + by->by;
    if (info->dimension == DIM_COUNT || info->dimension == DIM_CHOICE)
        value = floor(value);
    value = fmin(fmax(value, info->minimum), info->maximum);
    if (isinf(before) && isinf(value))
        return false;
    if (by->id == PARAM_STATE_IOMMU && value < before)
        return false;
    if (!(value < before) && !(value > before))
        return false;
    core_set(params, by->id, value);
    return true;
}

/* Every object of the kind, one after the other: `which` counts. False: no more. */
static bool worsen(struct machine *machine, const struct worsening *by, size_t which,
                   bool *ret_changed)
{
    enum param_kind kind = param_info(by->id)->kind;
    struct params *wide = kind == KIND_STATE      ? &machine->state
                          : kind == KIND_SOFTWARE ? &machine->software
                          : kind == KIND_FABRIC   ? &machine->fabric
                          : kind == KIND_SHARP    ? &machine->sharp
                                                  : NULL;
    if (wide) {
        *ret_changed = which == 0 && change(wide, by);
        return which == 0;
    }
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (device_param_kind(machine->node.devices[i].kind) == kind && which-- == 0) {
            *ret_changed = change(&machine->node.devices[i].params, by);
            return true;
        }
    for (size_t i = 0; i < machine->node.link_count; i++)
        if (link_param_kind(machine->node.links[i].kind) == kind && which-- == 0) {
            *ret_changed = change(&machine->node.links[i].params, by);
            return true;
        }
    return false;
}

/* The slowest leg with its bytes counted: a copy in memory reads and writes. */
static double rate_of(const struct machine *machine, const struct route *route)
{
    double rate = (double)INFINITY;
    for (size_t i = 0; i < route->use_count; i++)
        rate = fmin(rate, machine->node.resources[route->uses[i].resource].rate_Bps /
                              route->uses[i].bytes_factor);
    return rate;
}

/* GDRCopy is quick to start and slow to read: what it falls back to, the copy engine, is faster for
 * many bytes, and that is no mistake. It must win for none only. */
static bool may_gain(const struct route *good, const struct route *bad)
{
    return strcmp(good->taken->name, "gdrcopy") == 0 && bad->taken != good->taken;
}

/* The moves of a machine and the routes they take, found once. */
struct moves {
    struct move *move;
    struct route *route;
    size_t count;
};

static void moves_of(const struct machine *machine, struct moves *ret_moves)
{
    struct move move;
    *ret_moves = (struct moves){0};
    FOR_EACH_MOVE(*machine, move)
    {
        size_t count = ret_moves->count++;
        ret_moves->move = realloc(ret_moves->move, ret_moves->count * sizeof move);
        ret_moves->route = realloc(ret_moves->route, ret_moves->count * sizeof(struct route));
        assert_non_null(ret_moves->move);
        assert_non_null(ret_moves->route);
        ret_moves->move[count] = move;
        route_of(machine, &move, &ret_moves->route[count]);
    }
}

static void compare_worse(uint64_t seed, const struct machine *good, const struct machine *bad,
                          const struct move *move, const struct route *before,
                          const struct worsening *by)
{
    static const double sizes[] = {0, 64, 1e6, 1e9};
    struct route after;
    struct error error;
    char what[256];
    enum status status =
        mechanism_route(mechanism_find(move->mechanism), bad, &move->ends, &after, &error);
    hold(seed, good, move, status == STATUS_OK || status == STATUS_FAILED,
         "a worse machine cannot do it at all");
    if (status)
        return; /* it hangs */
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double was = serial_s(good, before, sizes[i]), is = serial_s(bad, &after, sizes[i]);
        if (is >= was * (1 - 1e-12) || (sizes[i] > 0 && may_gain(before, &after)))
            continue;
        snprintf(what, sizeof what, "worse %s: %.0f bytes took %.6g us, now %.6g (%s, was %s)",
                 param_info(by->id)->name, sizes[i], was * 1e6, is * 1e6, after.taken->name,
                 before->taken->name);
        hold(seed, good, move, false, what);
    }
    if (may_gain(before, &after) || rate_of(bad, &after) <= rate_of(good, before) * (1 + 1e-12))
        return;
    snprintf(what, sizeof what, "worse %s: the slowest had %.6g GB/s, now %.6g (%s, was %s)",
             param_info(by->id)->name, rate_of(good, before) / 1e9, rate_of(bad, &after) / 1e9,
             after.taken->name, before->taken->name);
    hold(seed, good, move, false, what);
}

static void worse_is_never_faster(void **state)
{
    (void)state;
    size_t compared = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine good;
        struct moves moves;
        random_machine(seed, true, &good);
        finish(&good);
        moves_of(&good, &moves);
        for (size_t w = 0; w < COUNT(worsenings); w++)
            for (size_t which = 0;; which++) {
                struct machine bad;
                struct error error;
                bool changed = false;
                assert_ok(machine_copy(&good, &bad, &error), &error);
                bool more = worsen(&bad, &worsenings[w], which, &changed);
                if (more && changed) {
                    finish(&bad);
                    /* every third, another one each time */
                    for (size_t i = (w + which + seed) % 3; i < moves.count; i += 3, compared++)
                        compare_worse(seed, &good, &bad, &moves.move[i], &moves.route[i],
                                      &worsenings[w]);
                }
                machine_free(&bad);
                if (!more)
                    break;
            }
        free(moves.move);
        free(moves.route);
        machine_free(&good);
    }
    assert_true(compared > 100000);
}

/* A new parameter of the machine's state or hardware must say here which way is worse. */
static void every_parameter_has_a_direction(void **state)
{
    (void)state;
    static const enum param_kind kinds[] = {KIND_STATE,       KIND_GPU,    KIND_CPU,
                                            KIND_PCIE_SWITCH, KIND_NIC,    KIND_NVME,
                                            KIND_PCIE,        KIND_NVLINK, KIND_SOCKET};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        enum param_id first;
        size_t count;
        param_range(kinds[k], &first, &count);
        for (size_t i = 0; i < count; i++) {
            enum param_id id = (enum param_id)((size_t)first + i);
            bool seen = false;
            for (size_t w = 0; w < COUNT(worsenings); w++)
                seen = seen || worsenings[w].id == id;
            for (size_t n = 0; n < COUNT(neither); n++)
                seen = seen || neither[n] == id;
            if (!seen)
                print_error("which way is %s worse?\n", param_info(id)->name);
            assert_true(seen);
        }
    }
}

/* ---- names and order ---------------------------------------------------------------------------
 */

/* The same machine, renamed, with links added back to front, and switches and sockets too. GPUs,
 * NICs and drives keep their order among themselves: it numbers ranks and deals out NICs. */
static void rebuild(const struct machine *from, struct machine *ret_to)
{
    static const enum device_kind order[] = {DEVICE_NIC, DEVICE_NVSWITCH,    DEVICE_NVME,
                                             DEVICE_GPU, DEVICE_PCIE_SWITCH, DEVICE_CPU};
    const struct node_type *node = &from->node;
    char names[MACHINE_MAX_DEVICES][MACHINE_NAME_LENGTH];
    machine_init(ret_to);
    ret_to->node_count = from->node_count;
    ret_to->engine = from->engine;
    ret_to->software = from->software;
    ret_to->fabric = from->fabric;
    ret_to->sharp = from->sharp;
    ret_to->state = from->state;
    for (size_t i = 0; i < node->device_count; i++)
        snprintf(names[i], sizeof names[i], "%c-%zu", (int)('z' - i), i);
    for (size_t k = 0; k < COUNT(order); k++)
        for (size_t i = 0; i < node->device_count; i++) {
            bool turn = order[k] == DEVICE_CPU || order[k] == DEVICE_PCIE_SWITCH;
            size_t d = turn ? node->device_count - 1 - i : i;
            if (node->devices[d].kind == order[k])
                *core_add(ret_to, names[d], order[k]) = node->devices[d].params;
        }
    for (size_t i = node->link_count; i-- > 0;) {
        const struct link *link = &node->links[i];
        *core_join(ret_to, link->kind, names[link->end[0]], names[link->end[1]]) = link->params;
    }
    for (size_t p = 0; p < node->port_count; p++)
        ret_to->node.ports[p] = (uint16_t)machine_find_device(ret_to, names[node->ports[p]]);
    ret_to->node.port_count = node->port_count;
    core_finish(ret_to);
}

/* The sum over all resources: names differ, so they cannot be compared one by one. */
static double all_bytes(const struct ledger *ledger)
{
    double sum = 0;
    for (size_t i = 0; i < ledger->resource_count; i++)
        sum += ledger->resources[i].bytes;
    return sum;
}

static void names_and_order_change_nothing(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine machine, other;
        struct move move;
        random_machine(seed, true, &machine);
        finish(&machine);
        rebuild(&machine, &other);
        FOR_EACH_MOVE(machine, move)
        {
            for (int a = 0; a < 2; a++) {
                struct ledger one, two;
                run(&machine, &move, (enum accounting)a, 5e6, &one);
                run(&other, &move, (enum accounting)a, 5e6, &two);
                hold(seed, &machine, &move, one.total_ps == two.total_ps, "another total");
                hold(seed, &machine, &move, one.events == two.events, "other events");
                hold(seed, &machine, &move, fabs(all_bytes(&one) - all_bytes(&two)) < 1,
                     "other bytes");
                hold(seed, &machine, &move,
                     fabs(one.crossing_bytes - two.crossing_bytes) < 1 &&
                         fabs(one.wire_bytes - two.wire_bytes) < 1,
                     "other crossings");
                ledger_free(&one);
                ledger_free(&two);
            }
        }
        machine_free(&machine);
        machine_free(&other);
    }
}

/* ---- many transfers at once --------------------------------------------------------------------
 */

/* Every rank to its right and to its left, in two lanes. */
static const char *const both_ways = "collective = 'allreduce'\n"
                                     "function plan(p) local n, r = p.ranks, p.rank\n"
                                     "p:split(2 * n)\n"
                                     "p:loop(n - 1, function(k) p:step(function()\n"
                                     "p:send{to = (r + 1) % n, chunk = (r - k) % n, lane = 0}\n"
                                     "p:send{to = (r - 1) % n, chunk = n + (r + k) % n, lane = 1}\n"
                                     "end) end)\n"
                                     "end\n";

/* No convoys: each step may wait for its latencies (all stages of a route, and the slices of a
 * pipeline on their way), and for the busiest resource four times over; and the time of a step does
 * not grow with the nodes. S grows with the nodes, so each transfer stays of the same size. */
static void rings_both_ways_have_no_convoys(void **state)
{
    (void)state;
    static const char *const mechanisms[] = {"staged", "host", "gdr"};
    for (uint64_t seed = first_seed; seed < first_seed + 10; seed++)
        for (size_t m = 0; m < COUNT(mechanisms); m++) {
            double first_s = 0;
            for (uint32_t nodes = 2; nodes <= 16; nodes++) {
                uint64_t random = seed;
                const struct core_spec spec = {.nodes = nodes,
                                               .pcie_Bps = between(&random, 10e9, 60e9),
                                               .cpu_link_Bps = between(&random, 10e9, 60e9),
                                               .nic_Bps = between(&random, 5e9, 50e9),
                                               .dram_Bps = between(&random, 50e9, 200e9),
                                               .step_s = between(&random, 0, 2e-6),
                                               .copy_s = between(&random, 0, 6e-6),
                                               .nic_s = 1e-6,
                                               .hop_s = 0.15e-6};
                struct machine machine;
                struct plan plan;
                struct ledger ledger;
                struct route route;
                struct error error;
                const double chunk_B = 4e6;
                core_machine(&spec, &machine);
                core_script(both_ways, nodes, 1, &plan);
                core_run(&machine, &plan, mechanisms[m], ACCOUNTING_PIPELINED, 2 * nodes * chunk_B,
                         &ledger);
                assert_ok(
                    core_route(&machine, mechanisms[m], "gpu0", "gpu0", false, &route, &error),
                    &error);
                int64_t busiest = 0;
                for (size_t r = 0; r < ledger.resource_count; r++)
                    if (ledger.resources[r].busy_most_ps > busiest)
                        busiest = ledger.resources[r].busy_most_ps;
                /* a slice through all stages, once a step */
                double latency_s = serial_s(&machine, &route, 524288) * (nodes - 1);
                double limit = 4 * (double)busiest + latency_s * 1e12;
                double step_s = (double)ledger.total_ps * 1e-12 / (nodes - 1);
                if (first_s <= 0)
                    first_s = step_s;
                bool good = (double)ledger.total_ps <= limit && step_s <= 1.05 * first_s;
                if (!good)
                    print_error(
                        "seed %llu, %s, %u nodes: %lld ps, busiest %lld, limit %.0f, a step "
                        "%.3f us, with 2 nodes %.3f\n",
                        (unsigned long long)seed, mechanisms[m], nodes, (long long)ledger.total_ps,
                        (long long)busiest, limit, step_s * 1e6, first_s * 1e6);
                assert_true(good);
                ledger_free(&ledger);
                plan_free(&plan);
                machine_free(&machine);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_time_is_the_sum),
        cmocka_unit_test(zero_bytes_cost_latency_and_handoffs),
        cmocka_unit_test(bytes_are_conserved_within_rates),
        cmocka_unit_test(faster_resources),
        cmocka_unit_test(worse_is_never_faster),
        cmocka_unit_test(every_parameter_has_a_direction),
        cmocka_unit_test(names_and_order_change_nothing),
        cmocka_unit_test(rings_both_ways_have_no_convoys),
    };
    return cmocka_run_group_tests_name("metamorphic", tests, NULL, NULL);
}
