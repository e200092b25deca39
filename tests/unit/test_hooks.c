/* test_hooks.c: what a script may say about single transfers: a cost, a mechanism, a message to
 * wait for; and plans by size. Each time is worked out beside it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sim/script/script.h"
#include "tests/unit/help_core.h"

#define US PS_PER_US

/* A transfer of 1 MB: posting 5 us, PCIe 25 us, wire 50 us, PCIe 25 us: 105 us serial. Pipelined in
 * ten slices: 5 + 5 us for the first, then one every 5 us (wire, posting): 55 us. */
static const struct core_spec two = {
    .nodes = 2, .pcie_Bps = 40e9, .nic_Bps = 20e9, .step_s = 5e-6, .slice_B = 1e5};
static const struct core_spec three = {
    .nodes = 3, .pcie_Bps = 40e9, .nic_Bps = 20e9, .step_s = 5e-6, .slice_B = 1e5};

static int64_t run(const struct core_spec *spec, const char *body, const char *mechanism,
                   enum accounting accounting)
{
    char text[1024];
    struct plan plan;
    snprintf(text, sizeof text,
             "collective = 'sendrecv' function plan(p) local r = p.rank\n%s\nend", body);
    core_script(text, spec->nodes, 1, &plan);
    int64_t time = core_time(spec, &plan, mechanism, accounting, 1e6);
    plan_free(&plan);
    return time;
}

/* The cost is paid once for each transfer, before its first slice. */
static void a_cost_is_paid_once(void **state)
{
    (void)state;
    static const char plain[] = "p:send{from = 0, to = 1}";
    static const char dear[] = "p:send{from = 0, to = 1, cost = '3 us'}";
    assert_int_equal(run(&two, plain, "gdr", ACCOUNTING_SERIAL), 105 * US);
    assert_int_equal(run(&two, dear, "gdr", ACCOUNTING_SERIAL), 108 * US);
    int64_t pipelined = run(&two, plain, "gdr", ACCOUNTING_PIPELINED);
    assert_int_equal(pipelined, 55 * US);
    assert_int_equal(run(&two, dear, "gdr", ACCOUNTING_PIPELINED), pipelined + 3 * US);
    /* two steps in one lane: each pays */
    assert_int_equal(run(&two,
                         "p:loop(2, function() p:send{to = (r + 1) % 2, where = eq(r, 0),\n"
                         "cost = '3 us'} end)",
                         "gdr", ACCOUNTING_SERIAL),
                     216 * US);
}

/* One transfer goes another way than the rest of the run; what it costs is what that way costs. */
static void a_mechanism_is_chosen_for_one_transfer(void **state)
{
    (void)state;
    static const char usual[] = "p:send{from = 0, to = 1}";
    static const char staged[] = "p:send{from = 0, to = 1, mechanism = 'staged'}";
    int64_t by_gdr = run(&two, usual, "gdr", ACCOUNTING_SERIAL);
    int64_t by_staged = run(&two, usual, "staged", ACCOUNTING_SERIAL);
    assert_true(by_staged > by_gdr);
    assert_int_equal(run(&two, staged, "gdr", ACCOUNTING_SERIAL), by_staged);
    assert_int_equal(run(&two,
                         "p:send{from = 0, to = 1}\n"
                         "p:send{from = 1, to = 0, mechanism = 'staged'}",
                         "gdr", ACCOUNTING_SERIAL),
                     by_gdr + by_staged);
    /* Rank 1's send waits for the message that it reads; 4 crossings of 25 us more. */
    assert_int_equal(by_staged, by_gdr + 2 * 25 * US);
}

/* Rank 1 sends on its own data, so nothing holds it back but the receive. */
static void a_receive_makes_the_lane_wait(void **state)
{
    (void)state;
    assert_int_equal(run(&three,
                         "p:split(2) p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:send{from = 1, to = 2, chunk = 1}",
                         "gdr", ACCOUNTING_SERIAL),
                     55 * US); /* half a message each: 5 + 50 us, side by side */
    assert_int_equal(run(&three,
                         "p:split(2) p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:recv{from = 0, where = eq(r, 1)}\n"
                         "p:send{from = 1, to = 2, chunk = 1}",
                         "gdr", ACCOUNTING_SERIAL),
                     110 * US);
    /* of two messages the second one is waited for by the second receive only */
    assert_int_equal(run(&three,
                         "p:split(2) p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:recv{from = 0, where = eq(r, 1)}\n"
                         "p:send{from = 1, to = 2, chunk = 1}",
                         "gdr", ACCOUNTING_SERIAL),
                     110 * US);
    assert_int_equal(run(&three,
                         "p:split(2) p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:loop(2, function() p:recv{from = 0, where = eq(r, 1)} end)\n"
                         "p:send{from = 1, to = 2, chunk = 1}",
                         "gdr", ACCOUNTING_SERIAL),
                     165 * US);
    /* other lanes go on */
    assert_int_equal(run(&three,
                         "p:split(2) p:send{from = 0, to = 1, chunk = 0}\n"
                         "p:recv{from = 0, where = eq(r, 1)}\n"
                         "p:send{from = 1, to = 2, chunk = 1, lane = 1}",
                         "gdr", ACCOUNTING_SERIAL),
                     55 * US);
}

/* Every rank first wants the message of the rank before it: nobody begins. */
static void a_circle_of_receives_never_ends(void **state)
{
    (void)state;
    struct machine machine;
    struct plan plan;
    struct routes routes;
    struct ledger ledger;
    struct error error;
    core_machine(&three, &machine);
    core_script("collective = 'sendrecv' function plan(p) p:recv{from = (p.rank + 2) % 3}\n"
                "p:send{to = (p.rank + 1) % 3, write = 'result'} end",
                3, 1, &plan);
    assert_ok(routes_init(&routes, &machine, mechanism_find("gdr"), &error), &error);
    struct engine_job job = {.plan = &plan, .routes = &routes, .size_B = 8};
    assert_int_equal(engine_run(&job, &ledger, &error), STATUS_FAILED);
    assert_string_equal(error.message,
                        "rank 0 waits for ever in step 1 for data that nobody sends");
    routes_free(&routes);
    plan_free(&plan);
    machine_free(&machine);
}

static void a_plan_for_each_size(void **state)
{
    (void)state;
    struct plan plan;
    core_script("collective = 'sendrecv'\n"
                "local function once(p) p:send{from = 0, to = 1} end\n"
                "local function twice(p) once(p) p:send{from = 1, to = 0} end\n"
                "by_size = {{up_to = '1 MB', plan = twice}, {up_to = '4 MB', plan = once},\n"
                "{plan = twice}}",
                2, 1, &plan);
    assert_int_equal(plan_for(&plan, 1)->steps, 2);
    assert_int_equal(plan_for(&plan, 1e6)->steps, 2);
    assert_int_equal(plan_for(&plan, 1e6 + 1)->steps, 1);
    assert_int_equal(plan_for(&plan, 4e6)->steps, 1);
    assert_int_equal(plan_for(&plan, 5e6)->steps, 2);
    /* 5 us and 100 us a MB */
    assert_int_equal(core_time(&two, &plan, "gdr", ACCOUNTING_SERIAL, 1e6), 2 * 105 * US);
    assert_int_equal(core_time(&two, &plan, "gdr", ACCOUNTING_SERIAL, 2e6), 205 * US);
    assert_int_equal(core_time(&two, &plan, "gdr", ACCOUNTING_SERIAL, 5e6), 2 * 505 * US);
    plan_free(&plan);
}

static void refused(const char *text, const char *message)
{
    struct script_job job = {
        .name = "t.lua", .text = text, .length = strlen(text), .ranks = 4, .gpus_per_node = 2};
    struct plan plan;
    struct error error = {0};
    assert_int_equal(script_plan(&job, &plan, &error), STATUS_INPUT);
    assert_string_equal(error.message, message);
    assert_string_equal(error.file, "t.lua");
}

#define SCRIPT(body) "collective = 'allreduce'\nfunction plan(p)\n" body "\nend"

static void mistakes_are_named(void **state)
{
    (void)state;
    refused(SCRIPT("p:send{to = 0, from = 1, cost = 3}"),
            "cost must be a time such as 6 us, in quotes, got 3");
    refused(SCRIPT("p:send{to = 0, from = 1, cost = '3 MB'}"),
            "cost must be a time such as 6 us, in quotes, got 3 MB");
    refused(SCRIPT("p:switch_multicast{cost = '3 us'}"),
            "p:switch_multicast does not know \"cost\"; it takes chunk, count, where, lane, group, "
            "mechanism");
    refused(SCRIPT("p:send{to = 0, from = 1, mechanism = 'gds'}"),
            "mechanism \"gds\" moves nothing here; one of staged pageable host socket gdr async "
            "p2p nvlink ipc does");
    refused(SCRIPT("p:switch_reduce{mechanism = 'gdr'}"),
            "mechanism \"gdr\" moves nothing here; one of sharp nvls does");
    refused(SCRIPT("p.send{to = 1}"), "write p:send { ... }, with a colon");
    refused(SCRIPT("p:send(1, 2)"), "p:send takes its keys in braces, p:send { ... }");
    refused(SCRIPT("p.step(function() end)"), "write p:step(function() ... end), with a colon");
    refused(SCRIPT("p.loop(3, function() end)"),
            "write p:loop(turns, function(k) ... end), with a colon");
    refused(SCRIPT("p.groups(2)"), "write p:groups(size, stride), with a colon");
    refused(SCRIPT("p:send{to = p:inside().next()}"), "write group:next(d), with a colon");
    refused(SCRIPT("p:split(p.rank)"), "p:split: the number of chunks must be a whole number, the "
                                       "same for all ranks, got any rank or turn");
    refused(SCRIPT("p:loop(2.5, print)"), "p:loop: the number of turns must be a whole number, the "
                                          "same for all ranks, got 2.5");
    refused(SCRIPT("p:send{to = log2(p.rank)}"),
            "a logarithm needs a plain whole number of at least 1, got any rank or turn");
    refused(SCRIPT("p:groups(2, 3)"),
            "p:groups(size, stride): size times stride must divide the 4 ranks, got 2 and 3");
    refused("collective = 'allreduce'\nfunction by_size(p) p:split(2) return {} end",
            "by_size(p) returns a list of plans and sends nothing");
    refused(SCRIPT("p:recv{}"), "p:recv needs `from`: the rank whose message it waits for");
    refused("collective = 'allreduce' by_size = {}",
            "by_size is a list of 1 to 24 plans, not of 0");
    refused("collective = 'allreduce' by_size = {{}, {}}",
            "by_size[1]: every plan but the last has an up_to, such as up_to = \"256 KiB\"");
    refused("collective = 'allreduce' by_size = {{}}", "by_size[1].plan must be a function of p");
    refused("collective = 'allreduce' function f(p) p:switch_reduce{} end\n"
            "by_size = {{up_to = '2 MB', plan = f}, {up_to = '1 MB', plan = f}, {plan = f}}",
            "by_size[2].up_to = \"1 MB\" must be a size such as 256 KiB, larger than the one "
            "before");
}

/* Groups of `size`, `stride` apart: checked against a count by hand, for every rank. */
static void groups_cut_the_ranks(void **state)
{
    (void)state;
    static const struct {
        uint32_t size, stride;
    } cuts[] = {{1, 1}, {12, 1}, {4, 1}, {3, 4}, {2, 3}, {3, 2}, {6, 2}, {1, 12}, {2, 2}};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        char text[512];
        struct plan plan;
        struct plan_cursor cursor;
        struct error error;
        snprintf(text, sizeof text,
                 "collective = 'allreduce' function plan(p) local g = p:groups(%u, %u)\n"
                 "p:split(12) p:step(function()\n"
                 "p:send{to = g:next(), chunk = g.place, where = no(eq(g:next(), p.rank))}\n"
                 "p:send{to = g:prev(), chunk = g.number, where = no(eq(g:prev(), p.rank))}\n"
                 "p:send{to = g:at(0), where = no(eq(g:at(0), p.rank))} end) end",
                 cuts[i].size, cuts[i].stride);
        core_script(text, 12, 1, &plan);
        plan_first(&plan, &cursor);
        for (uint32_t r = 0; r < 12; r++) {
            const uint32_t size = cuts[i].size, stride = cuts[i].stride;
            const uint32_t place = r / stride % size, base = r - place * stride;
            const uint32_t to[] = {base + (place + 1) % size * stride,
                                   base + (place + size - 1) % size * stride, base};
            const uint32_t number = r / (size * stride) * stride + r % stride;
            const uint32_t chunk[] = {place, number, 0};
            for (uint32_t o = 0; o < 3; o++) {
                struct transfer transfer;
                int found = plan_transfer(&plan, &plan.ops[o], &cursor, r, 0, &transfer, &error);
                assert_int_equal(found, to[o] != r);
                if (found) {
                    assert_int_equal(transfer.to, to[o]);
                    assert_int_equal(transfer.chunk, chunk[o]);
                }
            }
        }
        plan_free(&plan);
    }
}

/* Parents, children and edges tell the same story; what NCCL's trees look like for 8 and 5 ranks
 * is written out. The script checks itself. */
static void trees_agree_with_themselves(void **state)
{
    (void)state;
    static const char text[] =
        "collective = 'allreduce'\n"
        "local function check(t, n)\n"
        "  local seen, depth = 0, 0\n"
        "  for k = 0, t.levels - 1 do\n"
        "    for _, e in ipairs(t:edges(k)) do\n"
        "      seen = seen + 1\n"
        "      assert(t:parent(e.child) == e.parent)\n"
        "      local mine = 0\n"
        "      for _, c in ipairs(t:children(e.parent)) do if c == e.child then mine = mine + 1 "
        "end end\n"
        "      assert(mine == 1)\n"
        "    end\n"
        "  end\n"
        "  assert(seen == n - 1)\n"
        "end\n"
        "local function list(t, n)\n"
        "  local text = ''\n"
        "  for r = 0, n - 1 do text = text .. ' ' .. tostring(t:parent(r)) end\n"
        "  return text\n"
        "end\n"
        "function plan(p)\n"
        "  for n = 1, 40 do\n"
        "    check(binary_tree(n), n)\n"
        "    for _, t in ipairs(double_tree(n)) do check(t, n) end\n"
        "    for root = 0, n - 1 do check(binomial_tree(n, root), n) end\n"
        "  end\n"
        "  assert(list(binary_tree(8), 8) == ' nil 2 4 2 0 6 4 6')\n"
        "  assert(list(double_tree(8)[2], 8) == ' 1 3 1 7 5 3 5 nil')\n"
        "  assert(list(double_tree(5)[2], 5) == ' 1 nil 3 0 3')\n"
        "  assert(list(binomial_tree(8), 8) == ' nil 0 0 2 0 4 4 6')\n"
        "  assert(list(binomial_tree(4, 1), 4) == ' 3 nil 1 1')\n"
        "  p:switch_reduce{} p:switch_multicast{}\n"
        "end";
    struct plan plan;
    core_script(text, 4, 1, &plan);
    plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cost_is_paid_once),
        cmocka_unit_test(a_mechanism_is_chosen_for_one_transfer),
        cmocka_unit_test(a_receive_makes_the_lane_wait),
        cmocka_unit_test(a_circle_of_receives_never_ends),
        cmocka_unit_test(a_plan_for_each_size),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(groups_cut_the_ranks),
        cmocka_unit_test(trees_agree_with_themselves),
    };
    return cmocka_run_group_tests_name("hooks", tests, NULL, NULL);
}
