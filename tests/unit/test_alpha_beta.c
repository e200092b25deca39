/* test_alpha_beta.c: what each script of lua/ costs on an ideal machine, against the alpha-beta
 * forms, exactly.
 *
 * Both at once, where the form is exact (costs): serial accounting, no latency, and b = 1/NET +
 * 2/PCIE = 50 + 2 * 25 = 100 ps for each byte, a = 5 us for each post. Adding costs nothing. S
 * divides by all the n.
 *
 * One at a time, for all (limits, switches): waits alone, posts alone, bytes alone. A wait delays a
 * message and keeps nobody busy; a post keeps its rank busy, so posts of one rank follow each
 * other; bytes keep both ends' wires busy. What overlaps is different in each, so for trees the
 * three do not add up to one form. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tests/unit/help_core.h"

#define US PS_PER_US

/* ---- both at once ---------------------------------------------------------------------------- */

#define ALPHA_PS (5 * US)
#define BETA_PS  100
#define SIZE_B   1344000.0 /* 2^8 * 3 * 7 * 250 */

static const struct core_spec ideal = {.pcie_Bps = 40e9, .nic_Bps = 20e9, .step_s = 5e-6};

static uint64_t log_down(uint64_t n)
{
    uint64_t log = 0;
    while (n >>= 1)
        log++;
    return log;
}

static bool is_power(uint64_t n)
{
    return (n & (n - 1)) == 0;
}

/* ---- posts, one after the other ---- */

static uint64_t once_round(uint64_t n)
{
    return n - 1;
}

static uint64_t twice_round(uint64_t n)
{
    return 2 * (n - 1);
}

/* The ranks beyond a power of two hand over first and receive last. */
static uint64_t doubling(uint64_t n)
{
    return log_down(n) + (is_power(n) ? 0 : 2);
}

static uint64_t halving(uint64_t n)
{
    return 2 * log_down(n) + (is_power(n) ? 0 : 2);
}

static uint64_t log_up(uint64_t n)
{
    return log_down(2 * n - 1);
}

/* Round a row of w and a column of n/w, twice; w is the largest divisor up to the root. */
static uint64_t round_a_torus(uint64_t n)
{
    uint64_t w = 1;
    for (uint64_t d = 1; d * d <= n; d++)
        w = n % d == 0 ? d : w;
    return 2 * (w - 1) + 2 * (n / w - 1);
}

static uint64_t once(uint64_t n)
{
    (void)n;
    return 1;
}

/* Blocks of S/n: 672000, 448000, 336000, 192000, 168000, 84000 and 21000 B; 1, 1, 1, 2, 2, 4 and 16
 * of them fit into 524288 B. At the distances n/2, n/4, ..., 1 there go, for n = 16: 1, 2, 4 and 8
 * blocks, so 1 + 1 + 1 + 2 messages. */
static uint64_t packed_rounds(uint64_t n)
{
    static const struct {
        uint64_t ranks, posts;
    } known[] = {{2, 1}, {3, 2}, {4, 3}, {7, 1 + 1 + 2}, {8, 1 + 1 + 2}, {16, 5}, {64, 5 + 2}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].ranks == n)
            return known[i].posts;
    return 0;
}

static uint64_t levels(uint64_t n)
{
    return log_down(n);
}

static uint64_t up_and_down(uint64_t n)
{
    return 2 * log_down(n);
}

/* ---- messages sent, one after the other ---- */

static double part(uint64_t n)
{
    return (double)(n - 1) / (double)n;
}

static double two_parts(uint64_t n)
{
    return 2 * part(n);
}

static double doubling_whole(uint64_t n)
{
    return (double)doubling(n);
}

static double halving_parts(uint64_t n)
{
    /* With n no power of two: the ranks that have nothing to wait for send half a message to those
     * that still get one. It is at the receiver's NIC S/2 * (25 + 50) ps after its post, and what
     * came from beyond the power of two, there after S * 25 ps, waits S/8 * 100 ps for it. */
    return two_parts((uint64_t)1 << log_down(n)) + (is_power(n) ? 0 : 2 + 0.125);
}

static double whole(uint64_t n)
{
    (void)n;
    return 1;
}

/* A block that goes j ranks on makes a hop for each bit of j: n/2 lg n hops of S/n if n is a power
 * of two. */
static double bruck_hops(uint64_t n)
{
    uint64_t hops = 0;
    for (uint64_t j = 1; j < n; j++)
        for (uint64_t bits = j; bits; bits >>= 1)
            hops += bits & 1;
    return (double)hops / (double)n;
}

static double once_round_whole(uint64_t n)
{
    return (double)once_round(n);
}

static double up_and_down_whole(uint64_t n)
{
    return (double)up_and_down(n);
}

static const struct {
    const char *script;
    uint64_t (*posts)(uint64_t n);
    double (*messages)(uint64_t n);
    bool powers_only;
} costs[] = {
    {"ring", twice_round, two_parts, false},         /* 2(n-1) a + 2(n-1)/n S b */
    {"hierarchical", twice_round, two_parts, false}, /* nodes of one GPU: the ring */
    {"torus", round_a_torus, two_parts, false},
    {"recursive_doubling", doubling, doubling_whole, false}, /* lg n (a + S b), + 2 (a + S b) */
    {"halving_doubling", halving, halving_parts, false}, /* 2 lg n a + 2(n-1)/n S b, + the same */
    {"binomial", up_and_down, up_and_down_whole, true},  /* 2 lg n (a + S b) */
    {"allgather_ring", once_round, part, false},         /* (n-1) a + (n-1)/n S b */
    {"reduce_scatter_ring", once_round, part, false},    /* the same */
    {"pat", packed_rounds, part, false},                 /* a post for each slot */
    {"pat_reduce_scatter", packed_rounds, part, false},
    {"allgather_doubling", levels, part, true},    /* lg n a + (n-1)/n S b */
    {"alltoall", once_round, part, false},         /* (n-1) a + (n-1)/n S b */
    {"alltoall_pxn", once_round, part, false},     /* nodes of one GPU: the same */
    {"alltoall_bruck", log_up, bruck_hops, false}, /* lg n a + S/2 lg n b */
    {"sendrecv", once, whole, false},              /* a + S b */
    {"sendrecv_pxn", once, whole, false},
    {"broadcast_chain", once_round, once_round_whole, false}, /* (n-1) (a + S b) */
    {"reduce_chain", once_round, once_round_whole, false},
};

static int64_t time_of(const char *script, uint32_t ranks)
{
    struct core_spec spec = ideal;
    struct plan plan;
    char path[64];
    spec.nodes = ranks;
    snprintf(path, sizeof path, "lua/%s.lua", script);
    core_lua_file(path, ranks, 1, &plan);
    int64_t time = core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, SIZE_B);
    plan_free(&plan);
    return time;
}

static void costs_as_the_formulas_say(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 4, 7, 8, 16, 64};
    int bad = 0;
    for (size_t i = 0; i < sizeof costs / sizeof costs[0]; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            uint32_t n = ranks[k];
            if (costs[i].powers_only && !is_power(n))
                continue;
            int64_t bytes = llround(costs[i].messages(n) * SIZE_B);
            int64_t expected = (int64_t)costs[i].posts(n) * ALPHA_PS + bytes * BETA_PS;
            int64_t time = time_of(costs[i].script, n);
            if (time != expected)
                print_error("%s, %u ranks: %lld ps, not %lld\n", costs[i].script, n,
                            (long long)time, (long long)expected);
            bad += time != expected;
        }
    assert_int_equal(bad, 0);
}

/* A small message in packed rounds: as many posts as rounds, log2 n rounded up, where a post for
 * each block takes n-1. S = 1344 B: (n-1)/n S b is 131.04 ns or so. */
static void packed_blocks_go_in_one_post(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 4, 7, 8, 16, 64};
    static const char *const scripts[] = {"lua/pat.lua", "lua/pat_reduce_scatter.lua"};
    for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++)
        for (size_t i = 0; i < 2; i++) {
            struct core_spec spec = ideal;
            struct plan plan;
            const uint32_t n = ranks[k];
            spec.nodes = n;
            core_lua_file(scripts[i], n, 1, &plan);
            int64_t time = core_time(&spec, &plan, "gdr", ACCOUNTING_SERIAL, 1344);
            assert_int_equal(time, (int64_t)log_up(n) * ALPHA_PS +
                                       (int64_t)(1344 / n * (n - 1)) * BETA_PS);
            plan_free(&plan);
        }
}

/* Powers of four: three whole messages in each of log4 n steps, all by one lane: 3 log4 n (a + S
 * b). */
static void three_messages_a_step(void **state)
{
    (void)state;
    for (uint32_t log = 1; log <= 3; log++)
        assert_int_equal(time_of("recursive_multiplying", 1u << 2 * log),
                         3 * (int64_t)log * (ALPHA_PS + (int64_t)SIZE_B * BETA_PS));
}

/* Two ranks: all that is left of the ring and of Rabenseifner is 2 a + S b = 10 + 134.4 us. */
static void two_ranks_have_one_way(void **state)
{
    (void)state;
    assert_int_equal(time_of("ring", 2), 144400000);
    assert_int_equal(time_of("halving_doubling", 2), 144400000);
    assert_int_equal(time_of("hierarchical", 2), 144400000);
}

/* ---- one at a time --------------------------------------------------------------------------- */

/* The most set bits of a number below n: the depth of a binomial tree, and the hops of a block that
 * goes each distance by its bits. */
static uint64_t most_bits(uint64_t n)
{
    uint64_t most = 0;
    for (uint64_t r = 1; r < n; r++) {
        uint64_t bits = 0;
        for (uint64_t left = r; left; left &= left - 1)
            bits++;
        most = bits > most ? bits : most;
    }
    return most;
}

/* Blocks that travel packed wait for the last of them: from the second round on, one has come in
 * the round before, but for 3 ranks, whose second round has one block only. */
static uint64_t packed_waits(uint64_t n)
{
    return n == 3 ? 1 : log_up(n);
}

static uint64_t twice_most_bits(uint64_t n)
{
    return 2 * most_bits(n);
}

/* Three ranks: 1 does not wait for 2, which 0 stands in for, before it sends to 0; so 0 has all
 * after one wait, and 2 after another. */
static uint64_t doubling_waits(uint64_t n)
{
    return n == 3 ? 2 : doubling(n);
}

/* NCCL's binary tree: 0, below it the highest power of two below n, below that halves to both
 * sides: lg n levels, rounded up. */
static uint64_t tree_waits(uint64_t n)
{
    return 2 * log_up(n);
}

/* A tree over n = 2^k ranks. Up all post at once: k. Down, the root has one child, and on each of
 * the k - 1 levels below the right child is posted after the left one: 1 + 2 (k - 1). With n =
 * 2^k - 1 the way that goes right at each level ends one level higher: one less. */
static uint64_t tree_posts(uint64_t n)
{
    return 3 * log_up(n) - (is_power(n) ? 1 : 2);
}

/* Halves of S, since each tree has one. Up, two children's messages come in one after the other on
 * each of the k - 1 levels, and one at the root: 2 (k - 1) + 1; down, as many go out. So k - 1/2
 * whole messages each way. With n = 2^k - 1 a node with one child hands on while its sibling still
 * receives: half a message less each way. The trees do not meet: where a rank has children in one
 * it is a leaf of the other. */
static double tree_messages(uint64_t n)
{
    return 2 * (double)log_up(n) - (is_power(n) ? 1 : 2);
}

/* Up, each rank posts once on its way; down, the root posts to its children one after the other,
 * the largest subtree first. */
static uint64_t binomial_posts(uint64_t n)
{
    return most_bits(n) + log_up(n);
}

/* The root receives from lg n children, one after the other, and sends to as many. */
static double binomial_messages(uint64_t n)
{
    return 2 * (double)log_up(n);
}

/* Two rings: two posts in each of the 2(n-1) steps. */
static uint64_t two_rings(uint64_t n)
{
    return 2 * twice_round(n);
}

/* A switch: up, and then down, one after the other by serial accounting. */
static double up_then_down(uint64_t n)
{
    (void)n;
    return 2;
}

static uint64_t none(uint64_t n)
{
    (void)n;
    return 0;
}

static const struct {
    const char *script, *mechanism;
    uint64_t (*waits)(uint64_t n);
    uint64_t (*posts)(uint64_t n);  /* none: see costs */
    double (*messages)(uint64_t n); /* NULL: see costs */
    bool powers_only;
} limits[] = {
    {"ring", "gdr", twice_round, none, NULL, false},
    {"hierarchical", "gdr", twice_round, none, NULL, false},
    {"torus", "gdr", round_a_torus, none, NULL, false},
    {"recursive_doubling", "gdr", doubling_waits, none, NULL, false},
    {"halving_doubling", "gdr", halving, none, NULL, false},
    {"allgather_ring", "gdr", once_round, none, NULL, false},
    {"reduce_scatter_ring", "gdr", once_round, none, NULL, false},
    {"allgather_doubling", "gdr", levels, none, NULL, true},
    {"pat", "gdr", most_bits, none, NULL, false},
    {"pat_reduce_scatter", "gdr", packed_waits, none, NULL, false},
    {"broadcast_chain", "gdr", once_round, none, NULL, false},
    {"reduce_chain", "gdr", once_round, none, NULL, false},
    {"alltoall", "gdr", once, none, NULL, false},
    {"alltoall_pxn", "gdr", once, none, NULL, false},
    {"alltoall_bruck", "gdr", packed_waits, none, NULL, false},
    {"sendrecv", "gdr", once, none, NULL, false},
    {"sendrecv_pxn", "gdr", once, none, NULL, false},
    {"alltoall_lanes", "gdr", once, once_round, part, false}, /* one thread posts for all lanes */
    {"rings", "gdr", twice_round, two_rings, two_parts, false},
    {"allgather_rings", "gdr", once_round, twice_round, part, false}, /* two rings likewise */
    {"reduce_scatter_rings", "gdr", once_round, twice_round, part, false},
    {"binomial", "gdr", twice_most_bits, binomial_posts, binomial_messages, false},
    {"double_tree", "gdr", tree_waits, tree_posts, tree_messages, false},
    {"nccl_tree", "gdr", tree_waits, tree_posts, tree_messages, false}, /* of one GPU a node */
    {"nvls_tree", "gdr", tree_waits, tree_posts, tree_messages, false},
    {"sharp", "sharp", once, once, up_then_down, false},
    {"collnet_direct", "sharp", once, once, up_then_down, false},
    {"collnet_chain", "sharp", once, once, up_then_down, false},
};

#define NO_LIMIT_BPS 1e30 /* bytes take no picosecond */

/* n nodes of one GPU. What is not given costs nothing. */
static int64_t alone(size_t i, uint32_t ranks, double wait_s, double post_s, double nic_Bps)
{
    struct core_spec spec = {.nodes = ranks,
                             .pcie_Bps = NO_LIMIT_BPS,
                             .nic_Bps = nic_Bps,
                             .hop_s = wait_s,
                             .step_s = post_s,
                             .slice_B = 1e9,
                             .window = 64};
    struct plan plan;
    char path[64];
    snprintf(path, sizeof path, "lua/%s.lua", limits[i].script);
    core_lua_file(path, ranks, 1, &plan);
    /* Waits do not add up in a rank's order, but in that of the data. */
    enum accounting accounting = wait_s > 0 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL;
    int64_t time = core_time(&spec, &plan, limits[i].mechanism, accounting, SIZE_B);
    plan_free(&plan);
    return time;
}

static bool is(const char *what, size_t i, uint32_t ranks, int64_t time, int64_t expected)
{
    if (time != expected)
        print_error("%s, %u ranks, %s: %lld ps, not %lld\n", limits[i].script, ranks, what,
                    (long long)time, (long long)expected);
    return time == expected;
}

static void waits_posts_and_bytes_alone(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 3, 4, 7, 8, 16, 64};
    const double wait_s = 7e-6, nic_Bps = 10e9;
    int bad = 0;
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            uint32_t n = ranks[k];
            if (limits[i].powers_only && !is_power(n))
                continue;
            bad += !is("waits", i, n, alone(i, n, wait_s, 0, NO_LIMIT_BPS),
                       (int64_t)limits[i].waits(n) * 7 * US);
            if (!limits[i].messages)
                continue;
            bad += !is("posts", i, n, alone(i, n, 0, 5e-6, NO_LIMIT_BPS),
                       (int64_t)limits[i].posts(n) * 5 * US);
            bad += !is("bytes", i, n, alone(i, n, 0, 0, nic_Bps),
                       llround(limits[i].messages(n) * SIZE_B) * 100);
        }
    assert_int_equal(bad, 0);
}

/* A switch of the fabric, all at once. Serial: a post, a wait for the switch on the way up, and the
 * bytes up and down: a + w + 2 S b. Pipelined, what came up goes down in packets of 4096 B: a + w +
 * (S + 4096) b. */
static void switches_cut_through(void **state)
{
    (void)state;
    static const char *const scripts[] = {"sharp", "collnet_direct", "collnet_chain"};
    static const uint32_t ranks[] = {2, 3, 4, 7, 8, 16, 64};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
            struct core_spec spec = {.nodes = ranks[k],
                                     .pcie_Bps = NO_LIMIT_BPS,
                                     .nic_Bps = 10e9,
                                     .hop_s = 7e-6,
                                     .step_s = 5e-6,
                                     .slice_B = 1e9};
            struct plan plan;
            char path[64];
            snprintf(path, sizeof path, "lua/%s.lua", scripts[i]);
            core_lua_file(path, ranks[k], 1, &plan);
            assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_SERIAL, SIZE_B),
                             12 * US + 2 * (int64_t)SIZE_B * 100);
            assert_int_equal(core_time(&spec, &plan, "sharp", ACCOUNTING_PIPELINED, SIZE_B),
                             12 * US + ((int64_t)SIZE_B + 4096) * 100);
            plan_free(&plan);
        }
}

/* ---- NVLS ------------------------------------------------------------------------------------ */

/* n GPUs at one NVSwitch. */
static int64_t at_an_nvswitch(const char *script, uint32_t gpus, double wait_s, double post_s,
                              double rate_Bps)
{
    struct machine m;
    struct plan plan;
    struct ledger ledger;
    char name[64];
    machine_init(&m);
    m.node_count = 1;
    core_set(&m.software, PARAM_SOFTWARE_PEER_HANDOFF, post_s);
    core_set(&m.engine, PARAM_ENGINE_SLICE, 1e9);
    core_add(&m, "cpu0", DEVICE_CPU);
    core_add(&m, "nvs0", DEVICE_NVSWITCH);
    for (uint32_t g = 0; g < gpus; g++) {
        snprintf(name, sizeof name, "gpu%u", g);
        core_add(&m, name, DEVICE_GPU);
        core_join(&m, LINK_PCIE, "cpu0", name);
        struct params *link = core_join(&m, LINK_NVLINK, "nvs0", name);
        core_set(link, PARAM_NVLINK_RATE, rate_Bps);
        core_set(link, PARAM_NVLINK_LATENCY, wait_s);
        core_set(link, PARAM_NVLINK_NVLS_EFFICIENCY, 1);
    }
    core_finish(&m);
    snprintf(name, sizeof name, "lua/%s.lua", script);
    core_lua_file(name, gpus, gpus, &plan);
    core_run(&m, &plan, "nvls", wait_s > 0 ? ACCOUNTING_PIPELINED : ACCOUNTING_SERIAL, SIZE_B,
             &ledger);
    int64_t time = ledger.total_ps;
    ledger_free(&ledger);
    plan_free(&plan);
    machine_free(&m);
    return time;
}

/* Allreduce: each byte goes to the switch and as part of a sum to its owner, to the switch and to
 * all: 4 waits. Up to 8 GPUs all owners work at once: a post to read and one to store. Bytes, in
 * whole chunks of S/n: a GPU's link is busy for S while it serves all owners' reads, for S/n while
 * it stores, and down for S with the results: 2 S + S/n; what comes down for the owner itself falls
 * into the first S. Allgather: up S/n, down S. */
static void nvls_waits_posts_and_bytes(void **state)
{
    (void)state;
    static const uint32_t gpus[] = {2, 3, 4, 7, 8};
    for (size_t k = 0; k < sizeof gpus / sizeof gpus[0]; k++) {
        const uint32_t n = gpus[k];
        const int64_t size = (int64_t)SIZE_B;
        assert_int_equal(at_an_nvswitch("nvls", n, 7e-6, 0, NO_LIMIT_BPS), 4 * 7 * US);
        assert_int_equal(at_an_nvswitch("nvls", n, 0, 5e-6, NO_LIMIT_BPS), 2 * 5 * US);
        assert_int_equal(at_an_nvswitch("nvls", n, 0, 0, 10e9), (2 * size + size / n) * 100);
        assert_int_equal(at_an_nvswitch("allgather_nvls", n, 7e-6, 0, NO_LIMIT_BPS), 2 * 7 * US);
        assert_int_equal(at_an_nvswitch("allgather_nvls", n, 0, 5e-6, NO_LIMIT_BPS), 5 * US);
        assert_int_equal(at_an_nvswitch("allgather_nvls", n, 0, 0, 10e9), (size + size / n) * 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_as_the_formulas_say),
        cmocka_unit_test(packed_blocks_go_in_one_post),
        cmocka_unit_test(two_ranks_have_one_way),
        cmocka_unit_test(three_messages_a_step),
        cmocka_unit_test(waits_posts_and_bytes_alone),
        cmocka_unit_test(switches_cut_through),
        cmocka_unit_test(nvls_waits_posts_and_bytes),
    };
    return cmocka_run_group_tests_name("alpha_beta", tests, NULL, NULL);
}
