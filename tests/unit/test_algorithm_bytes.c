/* test_algorithm_bytes.c: what each script of lua/ sends and receives by its NICs, in messages S,
 * against the sums that follow from the algorithm; and which bytes change rails.
 *
 * facts: ring and Rabenseifner 2(n-1)/n each way, recursive doubling log2 n, double binary tree at
 * most 2 (an inner rank; half of them in one tree, and a leaf in the other), in-network
 * reduction 1.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define NIC_BPS 10e9
#define SIZE_B  1344000.0 /* 2^9 * 3 * 7 * 125: divides by all that the scripts divide it by */

/* Of one direction of the wire, in messages: on average over all NICs of all nodes, and the busiest
 * node's NIC (of the same number). */
struct traffic {
    double mean, most;
};

static struct traffic traffic_of(const struct machine *machine, const struct ledger *ledger,
                                 uint32_t nics, const char *direction)
{
    struct traffic traffic = {0, 0};
    for (uint32_t nic = 0; nic < nics; nic++) {
        char name[MACHINE_NAME_LENGTH * 2];
        snprintf(name, sizeof name, "nic%u wire %s", nic, direction);
        const struct ledger_resource *wire = &ledger->resources[core_resource(machine, name)];
        traffic.mean += wire->bytes / SIZE_B / nics / machine->node_count;
        traffic.most = fmax(traffic.most, (double)wire->busy_most_ps * 1e-12 * NIC_BPS / SIZE_B);
    }
    return traffic;
}

static void run(const char *script, const struct core_spec *spec, const char *mechanism,
                struct traffic *ret_sent, struct traffic *ret_received)
{
    struct machine machine;
    struct plan plan;
    struct ledger ledger;
    char path[64];
    uint32_t gpus = spec->gpus ? spec->gpus : 1;
    core_machine(spec, &machine);
    if (strcmp(mechanism, "nvls") == 0) {
        core_add(&machine, "nvs0", DEVICE_NVSWITCH);
        for (uint32_t gpu = 0; gpu < gpus; gpu++) {
            snprintf(path, sizeof path, "gpu%u", gpu);
            core_set(core_join(&machine, LINK_NVLINK, "nvs0", path), PARAM_NVLINK_RATE, 100e9);
        }
        core_finish(&machine);
    }
    snprintf(path, sizeof path, "lua/%s.lua", script);
    core_set(&machine.sharp, PARAM_SHARP_SAT_FLOWS, 64); /* room for every group */
    core_lua_file(path, spec->nodes * gpus, gpus, &plan);
    core_run(&machine, &plan, mechanism, ACCOUNTING_PIPELINED, SIZE_B, &ledger);
    *ret_sent = traffic_of(&machine, &ledger, spec->own_nics ? gpus : 1, "tx");
    *ret_received = traffic_of(&machine, &ledger, spec->own_nics ? gpus : 1, "rx");
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&machine);
}

/* ---- one GPU a node -------------------------------------------------------------------------- */

static double two_parts(double n)
{
    return 2 * (n - 1) / n;
}

static double part(double n)
{
    return (n - 1) / n;
}

static double one(double n)
{
    (void)n;
    return 1;
}

static double two(double n) /* but for two ranks: each is root of one tree and leaf of the other */
{
    return n > 3 ? 2 : 1 + (n > 2) * 0.5;
}

static double log_of(double n)
{
    return log2(n);
}

static double half_log(double n)
{
    return log2(n) / 2;
}

static const struct {
    const char *script, *mechanism;
    double (*mean)(double n);
    double (*most)(double n);
    bool powers_only;
} cases[] = {
    {"ring", "gdr", two_parts, two_parts, false},
    {"rings", "gdr", two_parts, two_parts, false},
    {"torus", "gdr", two_parts, two_parts, false},
    {"hierarchical", "gdr", two_parts, two_parts, false},
    {"halving_doubling", "gdr", two_parts, two_parts, true},
    {"recursive_doubling", "gdr", log_of, log_of, true},
    {"binomial", "gdr", two_parts, log_of, true}, /* 2(n-1) edges; the root has log2 n children */
    {"double_tree", "gdr", two_parts, two, false},
    {"nvls_tree", "gdr", two_parts, two, false},
    {"sharp", "sharp", one, one, false},
    {"collnet_direct", "sharp", one, one, false},
    {"collnet_chain", "sharp", one, one, false},
    {"allgather_ring", "gdr", part, part, false},
    {"allgather_rings", "gdr", part, part, false},
    {"allgather_doubling", "gdr", part, part, true},
    {"pat", "gdr", part, part, false},
    {"pat_reduce_scatter", "gdr", part, part, false},
    {"reduce_scatter_ring", "gdr", part, part, false},
    {"reduce_scatter_rings", "gdr", part, part, false},
    {"broadcast_chain", "gdr", part, one, false},
    {"reduce_chain", "gdr", part, one, false},
    {"alltoall", "gdr", part, part, false},
    {"alltoall_pxn", "gdr", part, part, false},
    {"alltoall_bruck", "gdr", half_log, half_log, true},
    {"sendrecv", "gdr", one, one, false},
    {"sendrecv_pxn", "gdr", one, one, false},
};

static void bytes_of_each_direction(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 4, 7, 8, 16, 64};
    int bad = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            uint32_t n = ranks[k];
            if (cases[i].powers_only && (n & (n - 1)) != 0)
                continue;
            struct core_spec spec = {
                .nodes = n, .pcie_Bps = 25e9, .nic_Bps = NIC_BPS, .slice_B = 1e9};
            struct traffic sent, received;
            run(cases[i].script, &spec, cases[i].mechanism, &sent, &received);
            double mean = cases[i].mean(n), most = cases[i].most(n);
            bool right = fabs(sent.mean - mean) < 1e-9 && fabs(received.mean - mean) < 1e-9 &&
                         fabs(sent.most - most) < 1e-6 && fabs(received.most - most) < 1e-6;
            if (!right)
                print_error("%s, %u ranks: sends %.9g, at most %.9g; receives %.9g, at most %.9g; "
                            "not %.9g and %.9g\n",
                            cases[i].script, n, sent.mean, sent.most, received.mean, received.most,
                            mean, most);
            bad += !right;
        }
    assert_int_equal(bad, 0);
}

/* ---- nodes of four GPUs with a NIC each ------------------------------------------------------ */

/* N = 4 nodes, g = 4 GPUs, n = 16 ranks: what leaves a node by one of its NICs. */
static void bytes_of_each_nic(void **state)
{
    (void)state;
    static const struct {
        const char *script, *mechanism;
        double mean, most;
    } nodes[] = {
        {"hierarchical", "gdr", 1.5 / 4, 1.5 / 4},          /* 2(N-1)/N of S/g */
        {"nvls_tree", "nvls", 1.5 / 4, 2.0 / 4},            /* double tree of S/g over the nodes */
        {"collnet_direct", "sharp", 0.25, 0.25},            /* S/g */
        {"collnet_chain", "sharp", 0.25, 0.25},             /* S/g */
        {"rings", "gdr", 1.875 / 4, 1.875 / 4},             /* 2(n-1)/n of S/g */
        {"ring", "gdr", 1.875 / 4, 1.875},                  /* all by the last GPU's NIC */
        {"allgather_rings", "gdr", 0.9375 / 4, 0.9375 / 4}, /* (n-1)/n of S/g */
        {"reduce_scatter_rings", "gdr", 0.9375 / 4, 0.9375 / 4},
        {"alltoall", "gdr", 0.75, 0.75},     /* (N-1)/N of S */
        {"alltoall_pxn", "gdr", 0.75, 0.75}, /* the same bytes in fewer messages */
        {"sendrecv", "gdr", 0.25, 1},        /* one GPU's of four */
        {"sendrecv_pxn", "gdr", 0.25, 1},
    };
    for (size_t i = 0; i < sizeof nodes / sizeof nodes[0]; i++) {
        struct core_spec spec = {.nodes = 4,
                                 .gpus = 4,
                                 .own_nics = true,
                                 .pcie_Bps = 25e9,
                                 .nic_Bps = NIC_BPS,
                                 .slice_B = 1e9};
        struct traffic sent, received;
        run(nodes[i].script, &spec, nodes[i].mechanism, &sent, &received);
        const struct traffic both[] = {sent, received};
        for (int d = 0; d < 2; d++) {
            if (!(fabs(both[d].mean - nodes[i].mean) < 1e-9 &&
                  fabs(both[d].most - nodes[i].most) < 1e-6))
                fail_msg("%s %s %.9g, at most %.9g; not %.9g and %.9g", nodes[i].script,
                         d ? "receives" : "sends", both[d].mean, both[d].most, nodes[i].mean,
                         nodes[i].most);
        }
    }
}

/* On rails alltoall sends all but one g-th of what leaves a node across the spine: (N-1)/N S of
 * each of n ranks, times (g-1)/g. With PXN nothing changes rails. A sendrecv's last GPU sends to
 * the next node's first one. */
static void pxn_stays_on_its_rail(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        double messages; /* across the spine */
    } rails[] = {{"alltoall", 16 * 0.75 * 0.75},
                 {"alltoall_pxn", 0},
                 {"sendrecv", 4},
                 {"sendrecv_pxn", 0},
                 {"hierarchical", 0},
                 {"rings", 0},
                 {"allgather_rings", 4 * 4 * 0.9375 / 4}}; /* each ring, out of each node */
    for (size_t i = 0; i < sizeof rails / sizeof rails[0]; i++) {
        struct core_spec spec = {.nodes = 4,
                                 .gpus = 4,
                                 .own_nics = true,
                                 .pcie_Bps = 25e9,
                                 .nic_Bps = NIC_BPS,
                                 .slice_B = 1e9};
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        char path[64];
        core_machine(&spec, &machine);
        core_set(&machine.fabric, PARAM_FABRIC_KIND, FABRIC_RAIL);
        core_set(&machine.fabric, PARAM_FABRIC_UPLINKS, 4);
        core_set(&machine.fabric, PARAM_FABRIC_UPLINK_RATE, NIC_BPS);
        core_finish(&machine);
        snprintf(path, sizeof path, "lua/%s.lua", rails[i].script);
        core_lua_file(path, 16, 4, &plan);
        core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, SIZE_B, &ledger);
        for (size_t d = 0; d < 2; d++)
            assert_near(1 + ledger.resources[machine.node.uplinks + d].bytes / SIZE_B,
                        1 + rails[i].messages, 1e-9);
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* Between nodes the last GPU of one sends to the first of the next, as NCCL's rings do; inside,
 * each to the next. */
static void the_ring_goes_from_node_to_node(void **state)
{
    (void)state;
    struct plan plan;
    struct plan_cursor cursor;
    struct error error;
    core_lua_file("lua/ring.lua", 12, 4, &plan);
    for (plan_first(&plan, &cursor); !cursor.done; plan_next(&plan, &cursor))
        for (uint32_t rank = 0; rank < 12; rank++) {
            struct transfer transfer;
            const struct plan_op *op = &plan.ops[plan.program[cursor.at].first_op];
            assert_int_equal(plan_transfer(&plan, op, &cursor, rank, 0, &transfer, &error), 1);
            assert_int_equal(transfer.to, rank == 11 ? 0 : rank + 1);
        }
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_each_direction),
        cmocka_unit_test(bytes_of_each_nic),
        cmocka_unit_test(pxn_stays_on_its_rail),
        cmocka_unit_test(the_ring_goes_from_node_to_node),
    };
    return cmocka_run_group_tests_name("algorithm_bytes", tests, NULL, NULL);
}
