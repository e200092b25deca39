/* test_nccl_search.c: NCCL's graph search in short, against the graphs that NCCL printed on two
 * H200 and those of our notes; and the communicator of a machine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/nccl_search.h"
#include "sim/core/odd.h"
#include "sim/study/nccl_comm.h"
#include "tests/unit/help_core.h"

static void expect(const struct nccl_graph *graph, int channels, double intra, double inter,
                   enum nccl_path type_intra)
{
    assert_int_equal(graph->channels, channels);
    assert_near(graph->bw_intra_GBps, intra, 1e-12);
    assert_near(graph->bw_inter_GBps, inter, 1e-12);
    assert_int_equal(graph->type_intra, type_intra);
}

/* tests/data/h200x2/nccl-{nvlink,shm,socket}.log, lines "Pattern ...".
 *   NVLink  370.8: 6 rings of 60 are 360, split in two; the tree 370.8 * 2/1 / 12 = 61.8, so 60
 *   SHM     48 / 1.2 = 40: 2 rings of 20; 30 or 24 give one each. The tree 80 / 2 = 40
 *   socket  1.25 GB/s between nodes of one GPU: 1.2; the tree within twice that */
static void as_printed_on_two_h200(void **state)
{
    (void)state;
    struct nccl_graph graphs[NCCL_SEARCHES];
    struct nccl_node node = {.nodes = 1,
                             .gpus = 2,
                             .cc = 90,
                             .nvlink_GBps = nccl_nvlink_GBps(90, 358.7e9),
                             .pci_GBps = nccl_pci_GBps(5, 16),
                             .gpu_gpu = NCCL_PATH_NVL,
                             .intel = true};
    assert_near(node.nvlink_GBps, 370.8, 1e-12); /* 18 links */
    assert_near(node.pci_GBps, 48, 1e-12);
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 12, 30, 30, NCCL_PATH_NVL);
    expect(&graphs[NCCL_SEARCH_TREE], 12, 60, 60, NCCL_PATH_NVL);
    assert_int_equal(graphs[NCCL_SEARCH_NVLS].channels, 0);
    node.nvlink_GBps = 0;
    node.gpu_gpu = NCCL_PATH_PHB;
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 2, 20, 20, NCCL_PATH_PHB);
    expect(&graphs[NCCL_SEARCH_TREE], 2, 40, 40, NCCL_PATH_PHB);
    node = (struct nccl_node){.nodes = 2,
                              .gpus = 1,
                              .nics = 1,
                              .cc = 90,
                              .nic_GBps = 1.25,
                              .pci_GBps = 48,
                              .gpu_nic = NCCL_PATH_PHB,
                              .intel = true};
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 1, 1.2, 1.2, NCCL_PATH_LOC);
    expect(&graphs[NCCL_SEARCH_TREE], 1, 2.4, 1.2, NCCL_PATH_LOC);
    assert_int_equal(graphs[NCCL_SEARCH_TREE].pattern, NCCL_PATTERN_TREE);
    assert_int_equal(graphs[NCCL_SEARCH_RING].type_inter, NCCL_PATH_PHB);
}

/* 8 H100 on NVSwitch: 8 NVLS channels of at most 46, so 40, and 60 below twice that: the graph of
 * our notes, whose time was measured. Eight NDR NICs between nodes: 8 rings of 48 do not fit into
 * 370.8, 45 do. 8 A100: 6 rings of 40, split. */
static void eight_gpus(void **state)
{
    (void)state;
    struct nccl_graph graphs[NCCL_SEARCHES];
    struct nccl_node node = {.nodes = 1,
                             .gpus = 8,
                             .nics = 8,
                             .cc = 90,
                             .nvlink_GBps = 370.8,
                             .pci_GBps = 48,
                             .nic_GBps = 48,
                             .gpu_gpu = NCCL_PATH_NVL,
                             .gpu_nic = NCCL_PATH_PIX,
                             .nvswitch = true};
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 12, 30, 30, NCCL_PATH_NVL);
    expect(&graphs[NCCL_SEARCH_NVLS], 8, 40, 60, NCCL_PATH_NVL);
    node.nodes = 2;
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 8, 45, 45, NCCL_PATH_NVL);
    node.nodes = 1;
    node.cc = 80;
    node.nvlink_GBps = nccl_nvlink_GBps(80, 240e9);
    nccl_search(&node, graphs);
    expect(&graphs[NCCL_SEARCH_RING], 12, 20, 20, NCCL_PATH_NVL);
    assert_int_equal(graphs[NCCL_SEARCH_NVLS].channels, 0);
}

/* core_rig: two nodes of four GPUs, no NVLink, GPUs two sockets apart; NICs of 25 GB/s below Gen4
 * links, 24. */
static void communicator_of_a_machine(void **state)
{
    (void)state;
    struct machine machine;
    struct nccl_comm comm;
    struct nccl_tuning tuning;
    struct nccl_choice choice;
    struct error error;
    core_rig(&machine);
    core_set(core_device(&machine, "gpu1"), PARAM_GPU_COMPUTE_CAPABILITY, 8.0);
    core_finish(&machine);
    assert_ok(nccl_comm_of(&machine, mechanism_find("gdr"), &comm, &error), &error);
    assert_int_equal(comm.ranks, 8);
    assert_int_equal(comm.nodes, 2);
    assert_int_equal(comm.min_cc, 80); /* the oldest counts */
    assert_int_equal(comm.cpu, NCCL_CPU_INTEL);
    assert_false(comm.nvls);
    const struct nccl_graph *ring = &comm.graphs[NCCL_SEARCH_RING];
    assert_int_equal(ring->type_intra, NCCL_PATH_SYS);
    assert_int_equal(ring->type_inter, NCCL_PATH_PHB); /* gpu3 has no NIC below its switch */
    expect(ring, 1, 20, 20, NCCL_PATH_SYS);            /* 24 / 1.2 through Intel's root complex */
    nccl_tune(&comm, &tuning);
    assert_true(nccl_choose(&comm, &tuning, NCCL_ALLREDUCE, 8, &choice));
    assert_int_equal(choice.protocol, NCCL_LL);
    machine_free(&machine);
}

static int channels_of_sends(const struct machine *machine, enum collective collective,
                             double size_B, int *ret_all)
{
    const struct mechanism *gdr = mechanism_find("gdr");
    struct nccl_comm comm;
    struct nccl_choice choice;
    struct error error;
    assert_ok(nccl_comm_of(machine, gdr, &comm, &error), &error);
    *ret_all = nccl_channels(&comm);
    assert_true(nccl_sends(machine, gdr, &comm, collective, NULL, size_B, &choice));
    assert_int_equal(choice.protocol, NCCL_SIMPLE);
    return choice.channels;
}

/* Two nodes of one GPU (Hopper) and one NIC of 50 GB/s below Gen5, 48 GB/s as NCCL counts:
 *   one ring of 48 fits, split in two of 24: 4 channels, P = 4. To one peer ceil(48/14) = 4, Q = 4.
 *   A send: 4 channels at 2 ranks are 8 > 4, 2 channels are not: 2; parts above 512 KiB: 4.
 * The NIC of node 1 trained at Gen3, 12 GB/s: a ring of 12, not split: 2 channels, P = 2; but to
 * one peer ceil(12/14) = 1, Q = 1: a send takes one channel whatever its size, where 4 of the usual
 * node would let it take two. The same where node 0 is the slow one and node 1 the odd. */
static void sends_take_the_worst_node(void **state)
{
    (void)state;
    static const struct core_spec spec = {.nodes = 2, .gpus = 1, .nic_Bps = 50e9};
    struct machine machine;
    struct error error;
    struct odd_nodes *odd;
    int all;
    core_machine(&spec, &machine);
    core_set(core_device(&machine, "gpu0"), PARAM_GPU_COMPUTE_CAPABILITY, 9.0);
    for (size_t i = 0; i < machine.node.link_count; i++)
        core_set(&machine.node.links[i].params, PARAM_PCIE_GEN, 5);
    core_finish(&machine);
    assert_int_equal(channels_of_sends(&machine, COLLECTIVE_SENDRECV, 1e6, &all), 2);
    assert_int_equal(all, 4);
    assert_int_equal(channels_of_sends(&machine, COLLECTIVE_SENDRECV, 1e9, &all), 4);
    struct address gen;
    assert_true(address_first(&machine, "node.links.sw0-nic0.gen", &gen));
    assert_ok(odd_add(&machine, "slow", &odd, &error), &error);
    assert_ok(odd_add_range(odd, (struct node_range){1, 1}, &error), &error);
    assert_ok(odd_add_change(odd, (struct odd_change){gen, 3, ORIGIN_OF_TEST}, &error), &error);
    core_finish(&machine);
    assert_int_equal(channels_of_sends(&machine, COLLECTIVE_SENDRECV, 1e9, &all), 1);
    assert_int_equal(all, 2);
    core_set(core_link_of(&machine, "sw0", "nic0"), PARAM_PCIE_GEN, 3);
    assert_ok(odd_add_change(&machine.odd[0], (struct odd_change){gen, 5, ORIGIN_OF_TEST}, &error),
              &error);
    core_finish(&machine);
    assert_int_equal(channels_of_sends(&machine, COLLECTIVE_SENDRECV, 1e9, &all), 1);
    assert_int_equal(all, 2);
    machine_free(&machine);
}

/* What settles a machine leaves alone what somebody gave. */
static void given_settings_stand(void **state)
{
    (void)state;
    struct machine machine;
    struct nccl_choice choice = {.algorithm = NCCL_TREE, .protocol = NCCL_LL128, .channels = 7};
    core_rig(&machine);
    core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, PROTOCOL_AUTO);
    nccl_settle(&machine, &choice, (struct nccl_cut){0}, "a test");
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_PROTOCOL), PROTOCOL_LL128);
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_CHANNELS), 7);
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_HOPS), 1);
    assert_int_equal(param_origin(&machine.engine, PARAM_ENGINE_SLICE)->kind, ORIGIN_DEFAULT);
    core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, PROTOCOL_SIMPLE);
    core_set(&machine.engine, PARAM_ENGINE_CHANNELS, 3);
    nccl_settle(&machine, &choice, (struct nccl_cut){.slice_B = 4096},
                "a test"); /* a loop of CollNet */
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_SLICE), 4096);
    nccl_settle(&machine, &choice, (struct nccl_cut){.slice_B = 8192}, "a test");
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_SLICE), 4096);
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_PROTOCOL), PROTOCOL_SIMPLE);
    assert_int_equal(param_get(&machine.engine, PARAM_ENGINE_CHANNELS), 3);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_printed_on_two_h200),    cmocka_unit_test(eight_gpus),
        cmocka_unit_test(communicator_of_a_machine), cmocka_unit_test(sends_take_the_worst_node),
        cmocka_unit_test(given_settings_stand),
    };
    return cmocka_run_group_tests_name("nccl_search", tests, NULL, NULL);
}
