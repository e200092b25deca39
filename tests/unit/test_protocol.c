/* test_protocol.c: what NCCL's protocols and channels make of a run. See protocol.h and
 * models/nccl_protocol.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/core/protocol.h"
#include "tests/unit/help_core.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* cpu0 - gpu0, gpu1; NVLink of 371 GB/s and 0.5 us between them. Not finished. */
static void pair_of_gpus(struct machine *m, enum protocol_word protocol, double channels)
{
    machine_init(m);
    core_add(m, "cpu0", DEVICE_CPU);
    core_add(m, "gpu0", DEVICE_GPU);
    core_add(m, "gpu1", DEVICE_GPU);
    core_set(core_join(m, LINK_PCIE, "cpu0", "gpu0"), PARAM_PCIE_RATE, 50e9);
    core_set(core_join(m, LINK_PCIE, "cpu0", "gpu1"), PARAM_PCIE_RATE, 50e9);
    core_set(core_join(m, LINK_NVLINK, "gpu0", "gpu1"), PARAM_NVLINK_RATE, 371e9);
    core_set(&m->engine, PARAM_ENGINE_PROTOCOL, protocol);
    core_set(&m->engine, PARAM_ENGINE_CHANNELS, channels);
}

/* One send from rank 0 to rank `to`, over `lanes` lanes in equal parts. */
static void one_send(uint32_t ranks, uint32_t to, uint32_t lanes, struct plan *ret_plan)
{
    char text[512];
    snprintf(text, sizeof text,
             "collective = \"broadcast\"\n"
             "function plan(p)\n  p:split(%u)\n  p:step(function()\n"
             "    for i = 0, %u do p:send { from = 0, to = %u, chunk = i, lane = i } end\n"
             "  end)\nend\n",
             lanes, lanes - 1, to);
    core_script(text, ranks, ranks, ret_plan);
}

static int64_t run(struct machine *machine, const struct plan *plan, const char *mechanism,
                   enum accounting accounting, double size_B)
{
    struct ledger ledger;
    core_finish(machine);
    core_run(machine, plan, mechanism, accounting, size_B, &ledger);
    int64_t total_ps = ledger.total_ps;
    ledger_free(&ledger);
    return total_ps;
}

/* ---- constants ------------------------------------------------------------------------------ */

static void payload_and_slots(void **state)
{
    (void)state;
    assert_near(nccl_payload_share(NCCL_LL), 0.5, 0);
    assert_near(nccl_payload_share(NCCL_LL128), 0.9375, 0);
    assert_near(nccl_payload_share(NCCL_SIMPLE), 1, 0);
    assert_near(nccl_slot_B(NCCL_LL), 8 * 512 * 16 / 2, 0);             /* 32 KiB of 64 KiB */
    assert_near(nccl_slot_B(NCCL_LL128), 4915200.0 / 8 * 120 / 128, 0); /* 576,000 of 614,400 */
    assert_near(nccl_slot_B(NCCL_SIMPLE), 4194304 / 8, 0);
}

/* ---- a step that carries nothing ------------------------------------------------------------- */

/* Ring of two over NVLink: 2 steps. The tuner's own latencies of two H200: 7.8, 17.8, 15.2 us. */
static void empty_ring_takes_what_the_tuner_says(void **state)
{
    (void)state;
    static const struct {
        enum protocol_word protocol;
        double us;
    } rows[] = {{PROTOCOL_LL, 6.6 + 2 * 0.6},
                {PROTOCOL_LL128, 14.0 + 2 * 1.9},
                {PROTOCOL_SIMPLE, 8.4 + 2 * 3.4},
                {PROTOCOL_AUTO, 8.4 + 2 * 3.4}, /* nobody settled it: what large messages take */
                {PROTOCOL_NONE, 2 * (0.6 + 0.5)}};
    for (size_t i = 0; i < COUNT(rows); i++)
        for (int accounting = 0; accounting < 2; accounting++) {
            struct machine machine;
            struct plan plan;
            pair_of_gpus(&machine, rows[i].protocol, 0);
            core_lua_file("lua/ring.lua", 2, 2, &plan);
            assert_int_equal(run(&machine, &plan, "nvlink", (enum accounting)accounting, 0),
                             llround(rows[i].us * 1e6));
            plan_free(&plan);
            machine_free(&machine);
        }
}

/* Through an NVSwitch the way is 1 us by the links' own latencies; LL's hop is 0.6 us there too. */
static void a_hop_through_a_switch(void **state)
{
    (void)state;
    struct machine machine;
    struct plan plan;
    pair_of_gpus(&machine, PROTOCOL_LL, 0);
    core_add(&machine, "gpu2", DEVICE_GPU);
    core_join(&machine, LINK_PCIE, "cpu0", "gpu2");
    core_add(&machine, "nvs0", DEVICE_NVSWITCH);
    core_set(core_join(&machine, LINK_NVLINK, "nvs0", "gpu0"), PARAM_NVLINK_RATE, 371e9);
    core_set(core_join(&machine, LINK_NVLINK, "nvs0", "gpu2"), PARAM_NVLINK_RATE, 371e9);
    one_send(3, 2, 1, &plan);
    assert_int_equal(run(&machine, &plan, "nvlink", ACCOUNTING_PIPELINED, 0),
                     llround((6.6 + 0.6) * 1e6));
    plan_free(&plan);
    machine_free(&machine);
}

/* Through host memory the GPUs flag each other, so NCCL's hops over PCIe hold, 1.0 us with LL
 * and 5.7 with Simple: 8.6 us with LL as the tuner printed. The tree's constants: LL128 over
 * NVLink 1.25 us. */
static void hops_by_path_and_algorithm(void **state)
{
    (void)state;
    static const struct {
        enum protocol_word protocol;
        double hops; /* 1: the tree's */
        const char *mechanism;
        double us;
    } rows[] = {{PROTOCOL_SIMPLE, 0, "host", 8.4 + 2 * 5.7},
                {PROTOCOL_LL, 0, "host", 6.6 + 2 * 1.0},
                {PROTOCOL_LL128, 1, "nvlink", 14.0 + 2 * 1.25},
                {PROTOCOL_LL, 1, "nvlink", 6.8 + 2 * 0.6}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct plan plan;
        pair_of_gpus(&machine, rows[i].protocol, 0);
        core_set(&machine.engine, PARAM_ENGINE_HOPS, rows[i].hops);
        core_lua_file("lua/ring.lua", 2, 2, &plan);
        assert_int_equal(run(&machine, &plan, rows[i].mechanism, ACCOUNTING_SERIAL, 0),
                         llround(rows[i].us * 1e6));
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* Between nodes of one GPU each the tree's hop counts also for the ring: 5.0 with LL, 14 with
 * Simple. Where a node has more, the ring's own: LL 2.7. The NICs' 0.6 us and the switch's 0.15 us
 * are part of it. */
static void hops_between_nodes(void **state)
{
    (void)state;
    static const struct {
        enum protocol_word protocol;
        uint32_t gpus;
        double us;
    } rows[] = {{PROTOCOL_SIMPLE, 1, 8.4 + 14.0},
                {PROTOCOL_LL, 1, 6.6 + 5.0},
                {PROTOCOL_LL128, 2, 14 + 4.0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct core_spec spec = {.nodes = 2,
                                 .gpus = rows[i].gpus,
                                 .pcie_Bps = 25e9,
                                 .nic_Bps = 25e9,
                                 .step_s = 1e-6,
                                 .nic_s = 0.6e-6,
                                 .hop_s = 0.15e-6};
        struct machine machine;
        struct plan plan;
        core_machine(&spec, &machine);
        core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, rows[i].protocol);
        one_send(2 * rows[i].gpus, rows[i].gpus, 1, &plan);
        assert_int_equal(run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, 0),
                         llround(rows[i].us * 1e6));
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* ---- channels ------------------------------------------------------------------------------- */

/* 64 MiB by 4 channels that push 38.5 GB/s each and copy 23.5 of what they keep, which is all of
 * it: slices of 4 slots, 2 MiB, so 32 of them, and 0.6 us for each one's flag; the first has waited
 * for launch and hop. LL: a quarter of the rate, 512 slots of 4 * 32 KiB. LL128: 0.85; 30 slots,
 * but lines are handed on, in 64 slices. What a byte takes is tested by hand in
 * test_nccl_channel.c; with LL128 128/120 of the payload passes the link of 371 GB/s, with LL twice
 * of it.
 */
static void channels_bound_what_a_gpu_pushes(void **state)
{
    (void)state;
    const double S = 67108864;
    static const struct {
        enum protocol_word protocol;
        double channels, us, slice_B, share, link;
        bool lines;
        double flag_us;
    } rows[] = {{PROTOCOL_SIMPLE, 4, 8.4 + 3.4, 4 * 524288, 1, 1, false, 0.6},
                {PROTOCOL_LL, 4, 6.6 + 0.6, 4 * 32768, 0.25, 0.5, true},
                {PROTOCOL_LL128, 4, 14 + 1.9, 4 * 576000, 0.85, 0.9375, true},
                {PROTOCOL_SIMPLE, 24, 8.4 + 3.4, 24 * 524288, 1, 1, false, 0.6},
                {PROTOCOL_LL128, 24, 14 + 1.9, 24 * 576000, 0.85, 0.9375, true},
                {PROTOCOL_NONE, 4, 0.6 + 0.5, 4 * 524288, 1, 1},
                {PROTOCOL_NONE, 0, 0.6 + 0.5, 524288, 0, 1}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct plan plan;
        const double n = rows[i].channels * rows[i].share, drifts = S / (rows[i].channels * 4.2e6);
        const struct nccl_pace pace = {
            1, rows[i].protocol == PROTOCOL_LL ? 0 : nccl_in_step(drifts), 1, 1, 1};
        double byte_s =
            n > 0 ? nccl_push_s(n * 38.5e9, n * 23.5e9, rows[i].link * 371e9, pace) : 1 / 371e9;
        pair_of_gpus(&machine, rows[i].protocol, rows[i].channels);
        one_send(2, 1, 1, &plan);
        /* where lines are handed on: 64 at least, more where slots are smaller */
        double slices = fmax(ceil(S / rows[i].slice_B), rows[i].lines ? 64 : 1);
        double each_us = 1e6 * S / slices * byte_s + rows[i].flag_us;
        int64_t expected = llround(rows[i].us * 1e6) + (int64_t)slices * llround(each_us * 1e6);
        int64_t actual = run(&machine, &plan, "nvlink", ACCOUNTING_PIPELINED, S);
        if (llabs(actual - expected) > 1)
            print_error("row %zu: %lld ps, not %lld\n", i, (long long)actual, (long long)expected);
        assert_true(llabs(actual - expected) <= 1);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* Eight channels on one lane, or one on each of eight lanes: the same within the time of one slot
 * of each channel. So channels need not be simulated one by one. */
static void lanes_share_the_channels(void **state)
{
    (void)state;
    const double S = 67108864;
    int64_t times[2];
    for (int i = 0; i < 2; i++) {
        struct machine machine;
        struct plan plan;
        pair_of_gpus(&machine, PROTOCOL_SIMPLE, 8);
        one_send(2, 1, i ? 8 : 1, &plan);
        times[i] = run(&machine, &plan, "nvlink", ACCOUNTING_PIPELINED, S);
        plan_free(&plan);
        machine_free(&machine);
    }
    assert_true(llabs(times[0] - times[1]) <= llround(8 * 524288 / 168e9 * 1e12));
}

/* Towards host memory a channel moves 7.6 GB/s both ways, so 15.2 one way: 2 of them 30.4, out of
 * the sender and into the receiver, two stages of 1 MiB each, with 0.6 us for the flag of the one
 * that pushes and 1 us for the other's, which is part of the hop. 4 of them wait for the link, 50
 * GB/s, and are busy meanwhile.
 */
static void channels_to_host_memory(void **state)
{
    (void)state;
    const double S = 67108864;
    struct machine machine;
    struct plan plan;
    pair_of_gpus(&machine, PROTOCOL_SIMPLE, 2);
    one_send(2, 1, 1, &plan);
    int64_t each_ps = llround(1e12 * (2 * 524288) / 30.4e9);
    assert_int_equal(run(&machine, &plan, "host", ACCOUNTING_PIPELINED, S),
                     llround((8.4 + 5.7 - 1) * 1e6) + each_ps + 600000 + 64 * (each_ps + 1000000));
    machine_free(&machine);
    pair_of_gpus(&machine, PROTOCOL_SIMPLE, 4);
    each_ps = llround(1e12 * (4 * 524288) / 50e9);
    assert_int_equal(run(&machine, &plan, "host", ACCOUNTING_PIPELINED, S),
                     llround((8.4 + 5.7 - 1) * 1e6) + each_ps + 600000 + 32 * (each_ps + 1000000));
    plan_free(&plan);
    machine_free(&machine);
}

/* A ring of two through host memory: each channel pushes, pulls and pushes, and pulls: nothing goes
 * beside anything else of the same GPU. With threads for either way (engine.split) both go at once,
 * and the whole takes little more than half. */
static void channels_do_one_thing_after_the_other(void **state)
{
    (void)state;
    const double S = 67108864;
    int64_t times[2];
    for (int split = 0; split < 2; split++) {
        struct machine machine;
        struct plan plan;
        pair_of_gpus(&machine, PROTOCOL_SIMPLE, 2);
        core_set(&machine.engine, PARAM_ENGINE_SPLIT, split);
        core_script("collective = \"sendrecv\"\n"
                    "function plan(p) p:send { to = (p.rank + 1) % 2, write = \"result\" } end\n",
                    2, 2, &plan);
        times[split] = run(&machine, &plan, "host", ACCOUNTING_PIPELINED, S);
        plan_free(&plan);
        machine_free(&machine);
    }
    double ratio = (double)times[0] / (double)times[1];
    assert_true(ratio > 1.9 && ratio < 2.1);
}

/* What a slower next hop holds back: with 8 slots or with any number the far end of a chain has its
 * last byte at the same time. So it does not matter that a slot is free here when it has arrived,
 * and in NCCL when it has been passed on. */
static void slots_do_not_hold_back_the_end_of_a_chain(void **state)
{
    (void)state;
    int64_t times[2];
    for (int i = 0; i < 2; i++) {
        struct core_spec spec = {.nodes = 4,
                                 .gpus = 1,
                                 .pcie_Bps = 25e9,
                                 .nic_Bps = 12e9,
                                 .nic_s = 1e-6,
                                 .window = i ? 65536 : 8};
        struct plan plan;
        core_lua_file("lua/broadcast_chain.lua", 4, 1, &plan);
        times[i] = core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 67108864);
        plan_free(&plan);
    }
    assert_int_equal(times[0], times[1]);
}

/* engine.slice, where somebody gave it, is the slice. */
static void a_slice_that_was_given_stands(void **state)
{
    (void)state;
    struct machine machine;
    struct plan plan;
    pair_of_gpus(&machine, PROTOCOL_LL, 16);
    one_send(2, 1, 2, &plan);
    struct protocol_cut cut = protocol_cut(&machine, &plan, true); /* slots of 8 channels */
    assert_near(protocol_slices(&cut, 800000), 4, 0);              /* of 262,144 B */
    assert_int_equal(protocol_window(&cut, 800000), 8);
    cut = protocol_cut(&machine, &plan, false); /* the same bytes in flight, in lines of 32 KiB */
    assert_near(protocol_slices(&cut, 800000), 25, 0);
    assert_int_equal(protocol_window(&cut, 800000), 8 * 7); /* 25 slices in 4 slots */
    assert_near(protocol_slices(&cut, 8e6), 64, 0);         /* no finer: 31 slots */
    assert_near(protocol_slices(&cut, 100), 1, 0);
    assert_int_equal(protocol_window(&cut, 100), 8); /* each transfer takes a slot */
    core_set(&machine.engine, PARAM_ENGINE_SLICE, 100000);
    cut = protocol_cut(&machine, &plan, false);
    assert_near(protocol_slices(&cut, 800000), 8, 0);
    assert_int_equal(protocol_window(&cut, 800000), 8);
    plan_free(&plan);
    machine_free(&machine);
}

/* Chains of a tree, two a NIC, have lanes up and down, and are channels of NCCL; so are the rings
 * of a node, and the one ring stands for all channels. */
static void lanes_that_share_chunks_are_one_channel(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        double each;
    } rows[] = {
        {"lua/nccl_tree.lua", 24 / 16.0}, {"lua/rings.lua", 24 / 8.0}, {"lua/ring.lua", 24}};
    struct machine machine;
    pair_of_gpus(&machine, PROTOCOL_SIMPLE, 24);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct plan plan;
        core_lua_file(rows[i].script, 16, 8, &plan);
        assert_near(protocol_lane_channels(&machine, &plan), rows[i].each, 0);
        plan_free(&plan);
    }
    machine_free(&machine);
}

/* Eight rings have an eighth of the channels each, for themselves; a tree's chains as well, of
 * which by LL128 one half goes each way, by Simple half of the threads of each. What a GPU sends to
 * another node takes NCCL's ceiling, here of Hopper on two nodes: LL128 36.7/4 GB/s a channel,
 * Simple 41.4/4; 16 chains share 24 channels. */
static void each_lane_has_its_channels(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        enum protocol_word protocol;
        bool tree;
        double part, share, GBps;
    } rows[] = {{"lua/rings.lua", PROTOCOL_LL128, false, 1 / 8.0, 1, 0},
                {"lua/ring.lua", PROTOCOL_LL128, false, 1, 1, 0},
                {"lua/nccl_tree.lua", PROTOCOL_LL128, true, 1 / 16.0, 1, 24 * 36.7 / 4 / 16},
                {"lua/nccl_tree.lua", PROTOCOL_SIMPLE, true, 1, 1 / 32.0, 24 * 41.4 / 4 / 16}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct plan plan;
        pair_of_gpus(&machine, rows[i].protocol, 24);
        machine.node_count = 2;
        core_set(&machine.engine, PARAM_ENGINE_HOPS, rows[i].tree);
        core_finish(&machine);
        core_lua_file(rows[i].script, 16, 8, &plan);
        struct nccl_pace pace = protocol_pace(&machine, &plan, 1e6);
        assert_near(pace.part, rows[i].part, 1e-12);
        assert_near(pace.share, rows[i].share, 1e-12);
        assert_near(pace.least_s, rows[i].GBps > 0 ? 1e-9 / rows[i].GBps : 0, 1e-12);
        assert_int_equal(pace.by_line, rows[i].tree && rows[i].protocol == PROTOCOL_LL128);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* ---- where the buffers are --------------------------------------------------------------------
 */

/* With GPUDirect RDMA LL still sends from host memory: SMs store payload and flags, 2 S, and the
 * NIC reads them, 2 S more; the receiver's DRAM sees nothing. LL128 and Simple stay in device
 * memory. */
static void ll_sends_from_host_memory(void **state)
{
    (void)state;
    static const struct {
        enum protocol_word protocol;
        double sender_dram, wire;
    } rows[] = {{PROTOCOL_LL, 4, 2}, {PROTOCOL_LL128, 0, 128.0 / 120}, {PROTOCOL_SIMPLE, 0, 1}};
    const double S = 1 << 24;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        core_rig(&machine);
        core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, rows[i].protocol);
        core_finish(&machine);
        one_send(8, 6, 1, &plan); /* gpu0 of node 0 to gpu2 of node 1 */
        core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, S, &ledger);
        assert_near(ledger.resources[core_resource(&machine, "cpu0 DRAM")].bytes,
                    rows[i].sender_dram * S, 1e-12);
        assert_near(ledger.resources[core_resource(&machine, "cpu1 DRAM")].bytes, 0, 0);
        assert_near(ledger.resources[core_resource(&machine, "nic0 wire tx")].bytes,
                    rows[i].wire * S, 1e-12);
        assert_near(ledger.wire_bytes, rows[i].wire * S, 1e-12);
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* A proxy thread reads LL's flags: of 16 MiB, at 1 GB/s of payload, 16.8 ms, where the wire takes
 * 2 * 16 MiB at 25 GB/s. */
static void a_proxy_reads_the_flags_of_ll(void **state)
{
    (void)state;
    for (int ll = 0; ll < 2; ll++) {
        struct machine machine;
        struct plan plan;
        struct ledger ledger;
        core_rig(&machine);
        core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, ll ? PROTOCOL_LL : PROTOCOL_SIMPLE);
        core_set(&machine.software, PARAM_SOFTWARE_LL_FLAGS, 1e9);
        core_set(&machine.software, PARAM_SOFTWARE_STEP_HANDOFF, 0);
        core_finish(&machine);
        one_send(8, 6, 1, &plan);
        core_run(&machine, &plan, "gdr", ACCOUNTING_PIPELINED, 1 << 24, &ledger);
        const struct ledger_resource *proxy =
            &ledger.resources[core_resource(&machine, "gpu0 proxy thread")];
        assert_near((double)proxy->busy_ps, ll ? (1 << 24) * 1e3 : 0, 1e-9);
        assert_true((ledger.total_ps > 16777216000) == (ll == 1));
        ledger_free(&ledger);
        plan_free(&plan);
        machine_free(&machine);
    }
}

/* ---- what there is not ------------------------------------------------------------------------
 */

static void what_nccl_does_not_have_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum protocol_word protocol;
        const char *mechanism;
        const char *dst; /* NULL: the switch */
    } rows[] = {{PROTOCOL_SIMPLE, "staged", "gpu2"}, {PROTOCOL_LL, "sharp", NULL}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct machine machine;
        struct route route;
        struct error error;
        core_rig(&machine);
        core_set(&machine.engine, PARAM_ENGINE_PROTOCOL, rows[i].protocol);
        core_finish(&machine);
        assert_int_equal(
            core_route(&machine, rows[i].mechanism, "gpu0", rows[i].dst, false, &route, &error),
            STATUS_INPUT);
        assert_non_null(strstr(error.message, "NCCL has no protocol"));
        assert_true(error.hint[0] != '\0');
        machine_free(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(payload_and_slots),
        cmocka_unit_test(empty_ring_takes_what_the_tuner_says),
        cmocka_unit_test(a_hop_through_a_switch),
        cmocka_unit_test(hops_by_path_and_algorithm),
        cmocka_unit_test(hops_between_nodes),
        cmocka_unit_test(channels_bound_what_a_gpu_pushes),
        cmocka_unit_test(lanes_share_the_channels),
        cmocka_unit_test(channels_to_host_memory),
        cmocka_unit_test(channels_do_one_thing_after_the_other),
        cmocka_unit_test(slots_do_not_hold_back_the_end_of_a_chain),
        cmocka_unit_test(lanes_that_share_chunks_are_one_channel),
        cmocka_unit_test(a_slice_that_was_given_stands),
        cmocka_unit_test(each_lane_has_its_channels),
        cmocka_unit_test(ll_sends_from_host_memory),
        cmocka_unit_test(a_proxy_reads_the_flags_of_ll),
        cmocka_unit_test(what_nccl_does_not_have_is_refused),
    };
    return cmocka_run_group_tests_name("protocol", tests, NULL, NULL);
}
