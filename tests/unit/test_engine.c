/* test_engine.c: the closed forms of engine.h, to the picosecond: serial sums, one flow, equal
 * flows, windows, latencies, and where the ledger says that time went. What waits for what, and
 * what is refused: test_engine_order.c.
 *
 * Each expected number is worked out beside it. Durations are rounded to picoseconds once each, as
 * the engine promises; where the numbers are chosen round, nothing is rounded at all.
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

#define US PS_PER_US

/* scenarios/worked-table.yaml: 8 nodes, PCIe 31.5 GB/s, network 25 GB/s, T_SW 6 us, T_RED 2 us. */
static const struct core_spec worked = {
    .nodes = 8, .pcie_Bps = 31.5e9, .nic_Bps = 25e9, .step_s = 6e-6, .reduce_s = 2e-6};

static int64_t worked_time(const char *mechanism, double size_B)
{
    struct plan plan;
    core_lua_file(strcmp(mechanism, "sharp") == 0 ? "lua/sharp.lua" : "lua/ring.lua", 8, 1, &plan);
    int64_t time = core_time(&worked, &plan, mechanism, ACCOUNTING_SERIAL, size_B);
    plan_free(&plan);
    return time;
}

/* t = 2(n-1) (T_SW + 4 c/PCIE + c/NET), c = S/8: two crossings at each host. */
static void serial_ring_staged(void **state)
{
    (void)state;
    /* S = 1e6: c = 125000 B; c/PCIE = 3.96825396.. us = 3968254 ps; c/NET = 5 us.
     * 14 * (6000000 + 4 * 3968254 + 5000000) = 14 * 26873016 = 376222224 ps (0.376 ms) */
    assert_int_equal(worked_time("staged", 1e6), 376222224);
    /* S = 8e6: c = 1e6 B; c/PCIE = 31.7460317.. us = 31746032 ps; c/NET = 40 us.
     * 14 * (6000000 + 4 * 31746032 + 40000000) = 14 * 172984128 = 2421777792 ps (2.422 ms) */
    assert_int_equal(worked_time("staged", 8e6), 2421777792);
    /* S = 64e6: c = 8e6 B; c/PCIE = 253.968253.. us = 253968254 ps; c/NET = 320 us.
     * 14 * (6000000 + 4 * 253968254 + 320000000) = 14 * 1341873016 = 18786222224 (18.786 ms) */
    assert_int_equal(worked_time("staged", 64e6), 18786222224);
    /* S = 256e6: c = 32e6 B; c/PCIE = 1015.873015.. us = 1015873016 ps; c/NET = 1280 us.
     * 14 * (6000000 + 4 * 1015873016 + 1280000000) = 14 * 5349492064 = 74892888896 (74.893 ms) */
    assert_int_equal(worked_time("staged", 256e6), 74892888896);
    /* S = 1024e6: c = 128e6 B; c/PCIE = 4063.492063.. us = 4063492063 ps; c/NET = 5120 us.
     * 14 * (6000000 + 4 * 4063492063 + 5120000000) = 14 * 21379968252 = 299319555528 (299.320) */
    assert_int_equal(worked_time("staged", 1024e6), 299319555528);
}

/* t = 2(n-1) (T_SW + 2 c/PCIE + c/NET): one crossing at each host. */
static void serial_ring_gdr(void **state)
{
    (void)state;
    /* 14 * (6000000 + 2 * 3968254 + 5000000) = 14 * 18936508 = 265111112 ps (0.265 ms) */
    assert_int_equal(worked_time("gdr", 1e6), 265111112);
    /* 14 * (6000000 + 2 * 31746032 + 40000000) = 14 * 109492064 = 1532888896 ps (1.533 ms) */
    assert_int_equal(worked_time("gdr", 8e6), 1532888896);
    /* 14 * (6000000 + 2 * 253968254 + 320000000) = 14 * 833936508 = 11675111112 ps (11.675 ms) */
    assert_int_equal(worked_time("gdr", 64e6), 11675111112);
    /* 14 * (6000000 + 2 * 1015873016 + 1280000000) = 14 * 3317746032 = 46448444448 (46.448 ms) */
    assert_int_equal(worked_time("gdr", 256e6), 46448444448);
    /* 14 * (6000000 + 2 * 4063492063 + 5120000000) = 14 * 13252984126 = 185541777764 (185.542) */
    assert_int_equal(worked_time("gdr", 1024e6), 185541777764);
}

/* t = T_SW + 2 (S/PCIE + S/NET + T_RED): up once, down once. */
static void serial_sharp(void **state)
{
    (void)state;
    /* S/PCIE = 31.7460317.. us = 31746032 ps; S/NET = 40 us.
     * 6000000 + 2 * (31746032 + 40000000 + 2000000) = 153492064 ps (0.153 ms) */
    assert_int_equal(worked_time("sharp", 1e6), 153492064);
    /* 6000000 + 2 * (253968254 + 320000000 + 2000000) = 1157936508 ps (1.158 ms) */
    assert_int_equal(worked_time("sharp", 8e6), 1157936508);
    /* S/PCIE = 2031.746031.. us = 2031746032 ps; S/NET = 2560 us.
     * 6000000 + 2 * (2031746032 + 2560000000 + 2000000) = 9193492064 ps (9.193 ms) */
    assert_int_equal(worked_time("sharp", 64e6), 9193492064);
    /* S/PCIE = 8126.984126.. us = 8126984127 ps; S/NET = 10240 us.
     * 6000000 + 2 * (8126984127 + 10240000000 + 2000000) = 36743968254 ps (36.744 ms) */
    assert_int_equal(worked_time("sharp", 256e6), 36743968254);
    /* S/PCIE = 32507.936507.. us = 32507936508 ps; S/NET = 40960 us.
     * 6000000 + 2 * (32507936508 + 40960000000 + 2000000) = 146945873016 ps (146.946 ms) */
    assert_int_equal(worked_time("sharp", 1024e6), 146945873016);
}

/* Without costs of software and switch, S = 1.2 MB on n = 8 nodes, NET = 25 GB/s:
 *   ring   2(n-1) (c/NET + 2 c/PCIE),  c = 150000 B, c/NET = 6 us
 *   sharp  2 (S/NET + S/PCIE),         S/NET = 48 us
 * ring < sharp <=> (n-1)/n (x + 2) < x + 1 with x = PCIE/NET <=> x > n - 2 = 6. */
static void ring_overtakes_sharp_only_beyond_n_minus_2(void **state)
{
    (void)state;
    struct plan ring, sharp;
    core_lua_file("lua/ring.lua", 8, 1, &ring);
    core_lua_file("lua/sharp.lua", 8, 1, &sharp);
    static const struct {
        double pcie_Bps;
        int64_t ring_us, sharp_us;
    } cases[] = {
        /* x = 5: 14 * (6 + 2 * 1.2) = 117.6 (in tenths below); 2 * (48 + 9.6) = 115.2 */
        {125e9, 1176, 1152},
        /* x = 6: 14 * (6 + 2 * 1) = 112; 2 * (48 + 8) = 112: a draw */
        {150e9, 1120, 1120},
        /* x = 8: 14 * (6 + 2 * 0.75) = 105; 2 * (48 + 6) = 108 */
        {200e9, 1050, 1080},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct core_spec spec = {.nodes = 8, .pcie_Bps = cases[i].pcie_Bps, .nic_Bps = 25e9};
        int64_t r = core_time(&spec, &ring, "gdr", ACCOUNTING_SERIAL, 1.2e6);
        int64_t s = core_time(&spec, &sharp, "sharp", ACCOUNTING_SERIAL, 1.2e6);
        assert_int_equal(r, cases[i].ring_us * US / 10);
        assert_int_equal(s, cases[i].sharp_us * US / 10);
    }
    /* A hair on either side of 6: 149 and 151 GB/s. */
    for (int side = -1; side <= 1; side += 2) {
        struct core_spec spec = {.nodes = 8, .pcie_Bps = 150e9 + side * 1e9, .nic_Bps = 25e9};
        int64_t r = core_time(&spec, &ring, "gdr", ACCOUNTING_SERIAL, 1.2e6);
        int64_t s = core_time(&spec, &sharp, "sharp", ACCOUNTING_SERIAL, 1.2e6);
        assert_true(side < 0 ? r > s : r < s);
    }
    plan_free(&ring);
    plan_free(&sharp);
}

/* ---- one flow over three stages ------------------------------------------------------------- */

/* Three stages of staged with handoffs a_0 = 0, a_1 = a_2 = copy:
 *   j = 0: GPU -> DRAM                  c/B_0 = c / min(gpu link, cpu link)
 *   j = 1: DRAM -> NIC, wire, NIC -> DRAM   c/B_1 = c / min(cpu link, nic link, NET)
 *   j = 2: DRAM -> GPU                  c/B_2 = c/B_0
 * sum_j (a_j + c/B_j) + (K-1) max_j b_j; b_j = a_j + c/B_j blocking, max(a_j, c/B_j) not. */
struct flow_case {
    double pcie_Bps, nic_Bps, copy_s;
    bool blocking;
    int64_t first_us, next_us; /* one slice; each slice more */
};

static const struct flow_case flow_cases[] = {
    /* c = 100 kB: c/B_0 = 4, c/B_1 = 10 us, copy 3: first 4 + 13 + 7 = 24 */
    {25e9, 10e9, 3e-6, true, 24, 13},  /* max(4, 3 + 10, 3 + 4) = 13 */
    {25e9, 10e9, 3e-6, false, 24, 10}, /* max(4, max(3, 10), max(3, 4)) = 10 */
    /* copy 20: first 4 + 30 + 24 = 58 */
    {25e9, 10e9, 20e-6, true, 58, 30},  /* max(4, 20 + 10, 20 + 4) = 30 */
    {25e9, 10e9, 20e-6, false, 58, 20}, /* max(4, 20, 20) = 20 */
    /* the PCIe side limits: c/B_0 = 10, c/B_1 = 10 (PCIe, not 4 of the wire), copy 3:
     * first 10 + 13 + 13 = 36 */
    {10e9, 25e9, 3e-6, true, 36, 13},  /* max(10, 13, 13) */
    {10e9, 25e9, 3e-6, false, 36, 10}, /* max(10, 10, 10) */
    /* no handoffs: 4 + 10 + 4 = 18, then 10 */
    {25e9, 10e9, 0, true, 18, 10},
    {25e9, 10e9, 0, false, 18, 10},
};

static const int64_t slice_counts[] = {1, 2, 7, 64};

static void one_flow_over_three_stages(void **state)
{
    (void)state;
    struct plan plan;
    core_one_edge(&plan);
    int bad = 0;
    for (size_t i = 0; i < sizeof flow_cases / sizeof flow_cases[0]; i++)
        for (size_t k = 0; k < sizeof slice_counts / sizeof slice_counts[0]; k++) {
            const struct flow_case *c = &flow_cases[i];
            int64_t slices = slice_counts[k];
            struct core_spec spec = {.nodes = 2,
                                     .pcie_Bps = c->pcie_Bps,
                                     .nic_Bps = c->nic_Bps,
                                     .copy_s = c->copy_s,
                                     .blocking = c->blocking,
                                     .slice_B = 1e5,
                                     .window = 64};
            int64_t time =
                core_time(&spec, &plan, "staged", ACCOUNTING_PIPELINED, 1e5 * (double)slices);
            int64_t expected = (c->first_us + (slices - 1) * c->next_us) * US;
            if (time != expected)
                print_error("case %zu, K = %d: %lld ps, not %lld\n", i, (int)slices,
                            (long long)time, (long long)expected);
            bad += time != expected;
        }
    assert_int_equal(bad, 0);
    plan_free(&plan);
}

static int64_t one_flow_time(const struct core_spec *spec, const char *mechanism, double size_B)
{
    struct plan plan;
    core_one_edge(&plan);
    int64_t time = core_time(spec, &plan, mechanism, ACCOUNTING_PIPELINED, size_B);
    plan_free(&plan);
    return time;
}

/* Latencies delay every slice but keep nothing busy: they count once, whatever K.
 * Latencies of staged: links 1 us each, PCIe switch 2, wire 5, fabric hop 3.
 *   j = 0: gpu - sw0 - cpu     1 + 2 + 1 = 4, c/B = 4     8
 *   j = 1: cpu - sw0 - nic     4; wire 5 + 3 = 8; nic - sw0 - cpu 4; c/B = 10   26
 *   j = 2: cpu - sw0 - gpu     4 + 4   8
 * 42 us + (K-1) * 10 us. */
static void latencies_count_once(void **state)
{
    (void)state;
    struct core_spec spec = {.nodes = 2,
                             .pcie_Bps = 25e9,
                             .nic_Bps = 10e9,
                             .link_s = 1e-6,
                             .switch_s = 2e-6,
                             .nic_s = 5e-6,
                             .hop_s = 3e-6,
                             .slice_B = 1e5,
                             .window = 64};
    assert_int_equal(one_flow_time(&spec, "staged", 1e5), 42 * US);
    assert_int_equal(one_flow_time(&spec, "staged", 7e5), (42 + 6 * 10) * US);
    assert_int_equal(one_flow_time(&spec, "staged", 64e5), (42 + 63 * 10) * US);
    /* gdr: gpu - sw0 - nic 4, wire 8, nic - sw0 - gpu 4, c/B = 10: 26 us. */
    assert_int_equal(one_flow_time(&spec, "gdr", 1e5), 26 * US);
    assert_int_equal(one_flow_time(&spec, "gdr", 64e5), (26 + 63 * 10) * US);
}

/* Posting (step_handoff) and changing hands at the sender are the work of one thread: with
 * a_0 = 2, a_1 = a_2 = 3 us, c/B = 4, 10, 4 us the first slice takes 6 + 13 + 7 = 26 us, and
 * each further one max_j b_j = 10 us as long as the thread's 2 + 3 us fit into them. */
static void one_thread_posts_and_hands_over(void **state)
{
    (void)state;
    struct core_spec spec = {.nodes = 2,
                             .pcie_Bps = 25e9,
                             .nic_Bps = 10e9,
                             .step_s = 2e-6,
                             .copy_s = 3e-6,
                             .slice_B = 1e5,
                             .window = 64};
    assert_int_equal(one_flow_time(&spec, "staged", 1e5), 26 * US);
    assert_int_equal(one_flow_time(&spec, "staged", 7e5), (26 + 6 * 10) * US);
    assert_int_equal(one_flow_time(&spec, "staged", 64e5), (26 + 63 * 10) * US);
    /* A blocking thread is kept 2 + 13 us by each slice and limits: it posts slice 0 at 0, has
     * nothing to do from 2 to 4 us, when slice 1 can be posted, and is then busy to the end:
     * 2 + 15 K us, and 7 us for the last stage. */
    spec.blocking = true;
    assert_int_equal(one_flow_time(&spec, "staged", 1e5), 26 * US);
    assert_int_equal(one_flow_time(&spec, "staged", 7e5), (2 + 15 * 7 + 7) * US);
    assert_int_equal(one_flow_time(&spec, "staged", 64e5), (2 + 15 * 64 + 7) * US);
}

/* Cut through, gdr is one stage: K slices of c over max(c/PCIE, c/NET) plus the handoff once;
 * serially the three legs add up. Post 2 us, c/PCIE = 4, c/NET = 10 us. */
static void gdr_is_one_stage(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {
        .nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9, .step_s = 2e-6, .slice_B = 1e5};
    /* 2 + 10, then max(2, 10) for each of 6 more slices */
    assert_int_equal(one_flow_time(&spec, "gdr", 7e5), (12 + 6 * 10) * US);
    /* post 20 us: 20 + 10, then max(20, 10) */
    spec.step_s = 20e-6;
    assert_int_equal(one_flow_time(&spec, "gdr", 7e5), (30 + 6 * 20) * US);
    /* serial, not cut: 20 + 7 * (4 + 10 + 4) = 146 */
    core_one_edge(&plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 7e5), 146 * US);
    plan_free(&plan);
}

/* A transfer is cut into equal slices of at most engine.slice: 2.5 slices' worth becomes 3 slices
 * of 2.5/3. 250 kB in 3 slices of 83333.3 B at 10 GB/s: 8.3333333 us = 8333333 ps each. */
static void slices_are_equal(void **state)
{
    (void)state;
    struct core_spec spec = {.nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5};
    assert_int_equal(one_flow_time(&spec, "gdr", 2.5e5), 3 * 8333333);
}

/* ---- sharing ----------------------------------------------------------------------------------
 */

/* k senders, one receiver whose wire rx they share: K slices each of c/NET = 10 us make k K 10 us
 * in all, for no sender has anything else that lasts longer. */
static void equal_flows_take_k_times_as_long(void **state)
{
    (void)state;
    static const uint32_t shares[] = {1, 2, 3, 8};
    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        uint32_t k = shares[i];
        struct plan_edge edges[8];
        struct plan plan;
        for (uint32_t e = 0; e < k; e++)
            edges[e] = (struct plan_edge){.from = e + 1, .to = 0, .chunk = e};
        core_edges(k + 1, k, edges, k, &plan);
        struct core_spec spec = {
            .nodes = k + 1, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
        for (int64_t slices = 1; slices <= 12; slices += 11)
            assert_int_equal(
                core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 1e5 * (double)slices * k),
                (int64_t)k * slices * 10 * US);
        /* Serially each has its own 4 us from the GPU and the receiver's links are free when the
         * wire's are done: 4 + k * slices * 10 + 4. */
        assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 12e5 * k),
                         (12 * 4 + (int64_t)k * 12 * 10 + 12 * 4) * US);
        plan_free(&plan);
    }
}

/* That they share slice by slice, and not one after the other, shows in what comes after the
 * first: rank 0 passes on sender 1's chunk to m other ranks, one after the other. Its last slice
 * arrives at f; the relays follow slice by slice, the first ending at f + 10 us, the others K * 10
 * each. Sharing, sender 1's last slice is one of the last k: f is from (k (K-1) + 1) * 10 to
 * k K * 10 us; first come, first served altogether would be f = K * 10. */
static void equal_flows_share_slice_by_slice(void **state)
{
    (void)state;
    enum { K = 12, M = 4 };
    for (uint32_t k = 2; k <= 3; k++) {
        struct plan_edge edges[8];
        struct plan plan;
        size_t count = 0;
        for (uint32_t e = 1; e <= k; e++)
            edges[count++] = (struct plan_edge){.from = e, .to = 0, .chunk = e - 1};
        edges[count++] = (struct plan_edge)CORE_STEP_END;
        for (uint32_t m = 0; m < M; m++)
            edges[count++] = (struct plan_edge){.from = 0, .to = k + 1 + m, .chunk = 0};
        core_edges(k + 1 + M, k, edges, count, &plan);
        struct core_spec spec = {
            .nodes = k + 1 + M, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
        int64_t time = core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 1e5 * K * k);
        int64_t f = time / (10 * US) - 1 - (M - 1) * K;
        assert_int_equal(time % (10 * US), 0);
        assert_in_range(f, k * (K - 1) + 1, k * K);
        plan_free(&plan);
    }
}

/* ---- small and large ----------------------------------------------------------------------------
 */

/* Zero bytes cost latencies and handoffs alone. staged with post 2, copy 3 us, link 1, PCIe switch
 * 2, wire 5, hop 3: 2 + 4 + 3 + (4 + 8 + 4) + 3 + 4 = 32 us. gdr: 2 + 4 + 8 + 4 = 18 us. */
static void zero_bytes_cost_latency_and_handoffs(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {.nodes = 2,
                             .pcie_Bps = 25e9,
                             .nic_Bps = 10e9,
                             .step_s = 2e-6,
                             .copy_s = 3e-6,
                             .link_s = 1e-6,
                             .switch_s = 2e-6,
                             .nic_s = 5e-6,
                             .hop_s = 3e-6};
    core_one_edge(&plan);
    for (int serial = 0; serial <= 1; serial++) {
        enum accounting how = serial ? ACCOUNTING_SERIAL : ACCOUNTING_PIPELINED;
        assert_int_equal(core_time(&spec, &plan, "staged", how, 0), 32 * US);
        assert_int_equal(core_time(&spec, &plan, "gdr", how, 0), 18 * US);
    }
    plan_free(&plan);
    /* SHARP: up 2 + 4 + 5/2 + 3, down 5/2 + 4, and the reduction 1.5 us in each pass: 21 us. */
    spec.reduce_s = 1.5e-6;
    core_lua_file("lua/sharp.lua", 2, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_SERIAL, 0), 21 * US);
    plan_free(&plan);
}

/* A LogGP message takes o + L + (s-1) G + o. The route that has an overhead at both ends is
 * staged: copy_handoff is o (sender: tell the NIC; receiver: start the copy), the wire's latency
 * is L, 1/NET is G, and PCIe so fast that copies take no time. The model counts bytes, not gaps
 * between them, so s-1 bytes stand for a message of s. LogGOPSim's defaults: L 2500, o 1500 ns,
 * G 6 ns/B. s = 1: 5500 ns; s = 1001: 5500 + 6000 ns.
 * k messages back to back add (k-1) max(g + (s-1) G, o + (s-1) O), with g = O = 0 here. */
static void a_loggp_message(void **state)
{
    (void)state;
    struct core_spec spec = {.nodes = 2,
                             .pcie_Bps = (double)INFINITY,
                             .nic_Bps = 1e9 / 6,
                             .copy_s = 1500e-9,
                             .nic_s = 2500e-9,
                             .slice_B = 1000,
                             .window = 64};
    assert_int_equal(one_flow_time(&spec, "staged", 0), 5500 * 1000);
    assert_int_equal(one_flow_time(&spec, "staged", 1000), (5500 + 6000) * 1000);
    /* 5 messages of 1001 bytes: max((s-1) G, o) = 6000 */
    assert_int_equal(one_flow_time(&spec, "staged", 5000), (5500 + 6000 + 4 * 6000) * 1000);
    /* 5 of 101 bytes: (s-1) G = 600 < o: the processor limits */
    spec.slice_B = 100;
    assert_int_equal(one_flow_time(&spec, "staged", 500), (5500 + 600 + 4 * 1500) * 1000);
}

/* `window` slices on their way, a latency L = 1000 us much longer than a slice's s = 10 us: a new
 * slice starts as the first of the window arrives, so K = m W slices start in m batches L + s
 * apart, and the last one of the last batch (W-1) s later: m (L + s) + (W-1) s. The rate stays
 * below W c / (L + s). */
static void window_limits_the_rate(void **state)
{
    (void)state;
    for (int64_t w = 1; w <= 8; w *= 2)
        for (int64_t m = 1; m <= 9; m += 4) {
            struct core_spec spec = {.nodes = 2,
                                     .pcie_Bps = 25e9,
                                     .nic_Bps = 10e9,
                                     .nic_s = 1000e-6,
                                     .slice_B = 1e5,
                                     .window = (double)w};
            int64_t time = one_flow_time(&spec, "gdr", 1e5 * (double)(m * w));
            assert_int_equal(time, (m * 1010 + (w - 1) * 10) * US);
            double rate = 1e5 * (double)(m * w) / ((double)time * 1e-12);
            assert_true(rate <= (double)w * 1e5 / 1010e-6 * (1 + 1e-12));
        }
}

/* A ring passes slices on as they come: with n = 4, c = S/4 in K = 8 slices of 100 kB, gdr and
 * NET = 10 GB/s (10 us), each rank sends 6 chunks of 8 slices without a gap, but the first slice
 * of step 2 needs the first of step 1, long there: 6 * 8 * 10 us = 480 us, and no more. */
static void pipelined_ring_never_idles(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {
        .nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
    core_lua_file("lua/ring.lua", 4, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "gdr", ACCOUNTING_PIPELINED, 32e5), 480 * US);
    plan_free(&plan);
}

/* SHARP in slices overlaps up and down: the last of K slices is up at K * 10 us, and all of it but
 * its last packet, 4096/10e9 = 0.4096 us, is down as well. K = 12: 120.4096 us, where the serial
 * sum is 2 * 12 * (10 + 4) = 336 us. */
static void pipelined_sharp_overlaps_up_and_down(void **state)
{
    (void)state;
    struct plan plan;
    struct core_spec spec = {
        .nodes = 4, .pcie_Bps = 25e9, .nic_Bps = 10e9, .slice_B = 1e5, .window = 8};
    core_lua_file("lua/sharp.lua", 4, 1, &plan);
    assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_PIPELINED, 12e5), 120409600);
    assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_SERIAL, 12e5), 336 * US);
    plan_free(&plan);
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* Two nodes, one message of 1 MB staged: four crossings, one wire pass. Critical path, serially:
 * 2 us post, 2 * 3 us copy handoffs, 40 us on each of the four crossings, 100 us on the wire. */
static void ledger_says_where_it_went(void **state)
{
    (void)state;
    struct plan plan;
    struct machine machine;
    struct ledger ledger;
    struct core_spec spec = {
        .nodes = 2, .pcie_Bps = 25e9, .nic_Bps = 10e9, .step_s = 2e-6, .copy_s = 3e-6};
    core_one_edge(&plan);
    core_machine(&spec, &machine);
    core_run(&machine, &plan, "staged", ACCOUNTING_SERIAL, 1e6, &ledger);
    assert_int_equal(ledger.total_ps, (2 + 2 * 3 + 4 * 40 + 100) * US);
    assert_int_equal(ledger.transfers, 1);
    assert_int_equal(ledger.slices, 1);
    assert_near(ledger.crossing_bytes, 4e6, 0);
    assert_near(ledger.wire_bytes, 1e6, 0);
    const int64_t *critical = ledger.critical;
    assert_int_equal(critical[ledger.resource_count + CATEGORY_STEP_HANDOFF], 2 * US);
    assert_int_equal(critical[ledger.resource_count + CATEGORY_COPY_HANDOFF], 6 * US);
    int64_t pcie = 0, wire = 0;
    for (size_t r = 0; r < ledger.resource_count; r++) {
        pcie += machine.node.resources[r].kind == RESOURCE_PCIE ? critical[r] : 0;
        wire += machine.node.resources[r].kind == RESOURCE_WIRE ? critical[r] : 0;
    }
    assert_int_equal(pcie, 160 * US);
    assert_int_equal(wire, 100 * US);
    /* sw0 -> cpu0 carries the bytes at the sender and again at the receiver, 40 us each. */
    for (size_t r = 0; r < ledger.resource_count; r++)
        if (strcmp(machine.node.resources[r].name, "sw0 -> cpu0") == 0) {
            assert_near(ledger.resources[r].bytes, 2e6, 0);
            assert_int_equal(ledger.resources[r].busy_ps, 80 * US);
            assert_int_equal(ledger.resources[r].busy_most_ps, 40 * US);
        }
    ledger_free(&ledger);
    machine_free(&machine);
    plan_free(&plan);
}

static void seconds_are_rounded_to_picoseconds(void **state)
{
    (void)state;
    assert_int_equal(engine_ps(0), 0);
    assert_int_equal(engine_ps(1e-6), 1000000);
    assert_int_equal(engine_ps(0.4e-12), 0);
    assert_int_equal(engine_ps(0.6e-12), 1);
    /* 125000 / 31.5e9 s = 3968253.968.. ps */
    assert_int_equal(engine_ps(125000 / 31.5e9), 3968254);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_ring_staged),
        cmocka_unit_test(serial_ring_gdr),
        cmocka_unit_test(serial_sharp),
        cmocka_unit_test(ring_overtakes_sharp_only_beyond_n_minus_2),
        cmocka_unit_test(one_flow_over_three_stages),
        cmocka_unit_test(latencies_count_once),
        cmocka_unit_test(one_thread_posts_and_hands_over),
        cmocka_unit_test(gdr_is_one_stage),
        cmocka_unit_test(slices_are_equal),
        cmocka_unit_test(equal_flows_take_k_times_as_long),
        cmocka_unit_test(equal_flows_share_slice_by_slice),
        cmocka_unit_test(zero_bytes_cost_latency_and_handoffs),
        cmocka_unit_test(a_loggp_message),
        cmocka_unit_test(window_limits_the_rate),
        cmocka_unit_test(pipelined_ring_never_idles),
        cmocka_unit_test(pipelined_sharp_overlaps_up_and_down),
        cmocka_unit_test(ledger_says_where_it_went),
        cmocka_unit_test(seconds_are_rounded_to_picoseconds),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
