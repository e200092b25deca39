/* help_core.c: see help_core.h. */
#include "tests/unit/help_core.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/script/script.h"

void core_assert_near(double actual, double expected, double rtol, const char *what,
                      const char *file, int line)
{
    if (fabs(actual - expected) <= rtol * fabs(expected))
        return;
    print_error("%s is %.17g, not %.17g (within %g)\n", what, actual, expected, rtol);
    _fail(file, line);
}

void core_assert_ok(enum status status, const struct error *error, const char *file, int line)
{
    if (status == STATUS_OK)
        return;
    print_error("status %d: %s\n", (int)status, error ? error->message : "");
    _fail(file, line);
}

static void set(struct params *params, enum param_id id, double value)
{
    param_set(params, id, value, ORIGIN_OF_TEST);
}

enum status core_link(struct machine *machine, const char *end0, const char *end1,
                      size_t *ret_index, struct error *error)
{
    return machine_add_link(machine, LINK_PCIE, end0, end1, ret_index, error);
}

bool core_path(const struct machine *machine, const char *from, const char *to,
               struct path *ret_path)
{
    return machine_path(machine, (size_t)machine_find_device(machine, from),
                        (size_t)machine_find_device(machine, to), LINK_DMA, ret_path);
}

int core_nearest(const struct machine *machine, const char *from, enum device_kind kind)
{
    return machine_nearest(machine, (size_t)machine_find_device(machine, from), kind, 0);
}

/* Of device `other` with a number to switch `sw` with a number. */
static void add_link(struct machine *machine, uint32_t sw, const char *other, uint32_t number,
                     double rate_Bps, const struct core_spec *spec)
{
    struct error error;
    size_t index;
    char ends[2][MACHINE_NAME_LENGTH];
    snprintf(ends[0], sizeof ends[0], "sw%u", sw);
    snprintf(ends[1], sizeof ends[1], "%s%u", other, number);
    assert_ok(core_link(machine, ends[0], ends[1], &index, &error), &error);
    struct params *params = &machine->node.links[index].params;
    set(params, PARAM_PCIE_RATE, rate_Bps > 0 ? rate_Bps : spec->pcie_Bps);
    set(params, PARAM_PCIE_LATENCY, spec->link_s);
}

static struct params *add_device(struct machine *machine, const char *name, enum device_kind kind)
{
    struct error error;
    size_t index;
    assert_ok(machine_add_device(machine, name, kind, &index, &error), &error);
    return &machine->node.devices[index].params;
}

void core_machine(const struct core_spec *spec, struct machine *ret_machine)
{
    struct machine *m = ret_machine;
    struct error error;
    uint32_t gpus = spec->gpus ? spec->gpus : 1;
    char name[MACHINE_NAME_LENGTH];
    machine_init(m);
    m->node_count = spec->nodes ? spec->nodes : 1;
    set(&m->software, PARAM_SOFTWARE_STEP_HANDOFF, spec->step_s);
    set(&m->software, PARAM_SOFTWARE_COPY_HANDOFF, spec->copy_s);
    set(&m->software, PARAM_SOFTWARE_COPY_BLOCKING, spec->blocking);
    set(&m->fabric, PARAM_FABRIC_HOP_LATENCY, spec->hop_s);
    set(&m->fabric, PARAM_FABRIC_SWITCH_REDUCE, spec->reduce_s);
    set(&m->sharp, PARAM_SHARP_MODE, 2); /* streaming, for nothing and at the whole rate */
    set(&m->sharp, PARAM_SHARP_SAT_SETUP, 0);
    set(&m->sharp, PARAM_SHARP_EFFICIENCY, 1);
    if (spec->slice_B > 0)
        set(&m->engine, PARAM_ENGINE_SLICE, spec->slice_B);
    if (spec->window > 0)
        set(&m->engine, PARAM_ENGINE_WINDOW, spec->window);
    struct params *cpu = add_device(m, "cpu0", DEVICE_CPU);
    if (spec->dram_Bps > 0)
        set(cpu, PARAM_CPU_DRAM_RATE, spec->dram_Bps);
    const uint32_t trees = spec->own_nics ? gpus : 1;
    for (uint32_t t = 0; t < trees; t++) {
        snprintf(name, sizeof name, "sw%u", t);
        set(add_device(m, name, DEVICE_PCIE_SWITCH), PARAM_PCIE_SWITCH_LATENCY, spec->switch_s);
    }
    for (uint32_t g = 0; g < gpus; g++) {
        snprintf(name, sizeof name, "gpu%u", g);
        add_device(m, name, DEVICE_GPU);
    }
    for (uint32_t t = 0; t < trees; t++) {
        snprintf(name, sizeof name, "nic%u", t);
        struct params *nic = add_device(m, name, DEVICE_NIC);
        set(nic, PARAM_NIC_RATE, spec->nic_Bps);
        set(nic, PARAM_NIC_EFFICIENCY, 1);
        set(nic, PARAM_NIC_LATENCY, spec->nic_s);
    }
    for (uint32_t t = 0; t < trees; t++)
        add_link(m, t, "cpu", 0, spec->cpu_link_Bps, spec);
    for (uint32_t g = 0; g < gpus; g++)
        add_link(m, g % trees, "gpu", g, spec->gpu_link_Bps, spec);
    for (uint32_t t = 0; t < trees; t++)
        add_link(m, t, "nic", t, spec->nic_link_Bps, spec);
    assert_ok(machine_finish(m, &error), &error);
}

void core_script(const char *text, uint32_t ranks, uint32_t gpus_per_node, struct plan *ret_plan)
{
    struct error error;
    struct script_job job = {.name = "test.lua",
                             .text = text,
                             .length = strlen(text),
                             .ranks = ranks,
                             .gpus_per_node = gpus_per_node};
    assert_ok(script_plan(&job, ret_plan, &error), &error);
}

void core_lua_file(const char *path, uint32_t ranks, uint32_t gpus_per_node, struct plan *ret_plan)
{
    char text[16384];
    FILE *file = fopen(path, "rb");
    if (!file)
        print_error("cannot read %s; run the tests at the root of the repository\n", path);
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    core_script(text, ranks, gpus_per_node, ret_plan);
}

void core_edges(uint32_t ranks, uint32_t chunks, const struct plan_edge *edges, size_t count,
                struct plan *ret_plan)
{
    struct error error;
    struct plan_op op = {.kind = PLAN_SEND, .count = rule_constant(1), .line = 1};
    bool open = false;
    plan_init(ret_plan, ranks);
    ret_plan->chunks = chunks;
    for (size_t i = 0; i < count; i++) {
        if (edges[i].from == edges[i].to) {
            if (open)
                assert_ok(plan_end_step(ret_plan, &error), &error);
            open = false;
            continue;
        }
        if (!open) {
            assert_ok(plan_begin_step(ret_plan, &error), &error);
            assert_ok(plan_add_op(ret_plan, &op, &error), &error);
        }
        open = true;
        assert_ok(plan_add_edge(ret_plan, edges[i], &error), &error);
    }
    if (open)
        assert_ok(plan_end_step(ret_plan, &error), &error);
    assert_ok(plan_finish(ret_plan, &error), &error);
}

void core_one_edge(struct plan *ret_plan)
{
    static const struct plan_edge edge[] = {{0, 1, 0}};
    core_edges(2, 1, edge, 1, ret_plan);
}

void core_run(const struct machine *machine, const struct plan *plan, const char *mechanism,
              enum accounting accounting, double size_B, struct ledger *ret_ledger)
{
    struct error error;
    struct routes routes;
    assert_non_null(mechanism_find(mechanism));
    assert_ok(routes_init(&routes, machine, mechanism_find(mechanism), &error), &error);
    struct engine_job job = {
        .plan = plan, .routes = &routes, .size_B = size_B, .accounting = accounting, .trace = true};
    assert_ok(engine_run(&job, ret_ledger, &error), &error);
    routes_free(&routes);
}

int64_t core_time(const struct core_spec *spec, const struct plan *plan, const char *mechanism,
                  enum accounting accounting, double size_B)
{
    struct machine machine;
    struct ledger ledger;
    core_machine(spec, &machine);
    core_run(&machine, plan, mechanism, accounting, size_B, &ledger);
    int64_t total = ledger.total_ps, sum = 0;
    assert_true(ledger.traced);
    for (size_t i = 0; i < ledger.resource_count + CATEGORY_COUNT; i++)
        sum += ledger.critical[i];
    assert_int_equal(sum, total);
    ledger_free(&ledger);
    machine_free(&machine);
    return total;
}

uint64_t core_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u; /* splitmix64 */
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

uint64_t core_random_below(uint64_t *state, uint64_t limit)
{
    return core_random(state) % limit;
}

void core_set(struct params *params, enum param_id id, double value)
{
    set(params, id, value);
}

struct params *core_add(struct machine *machine, const char *name, enum device_kind kind)
{
    return add_device(machine, name, kind);
}

struct params *core_join(struct machine *machine, enum link_kind kind, const char *end0,
                         const char *end1)
{
    struct error error;
    size_t index;
    assert_ok(machine_add_link(machine, kind, end0, end1, &index, &error), &error);
    return &machine->node.links[index].params;
}

struct params *core_device(struct machine *machine, const char *name)
{
    int at = machine_find_device(machine, name);
    if (at < 0)
        print_error("no device %s\n", name);
    assert_true(at >= 0);
    return &machine->node.devices[at].params;
}

struct params *core_link_of(struct machine *machine, const char *end0, const char *end1)
{
    const struct node_type *node = &machine->node;
    for (size_t i = 0; i < node->link_count; i++)
        if (strcmp(node->devices[node->links[i].end[0]].name, end0) == 0 &&
            strcmp(node->devices[node->links[i].end[1]].name, end1) == 0)
            return &machine->node.links[i].params;
    print_error("no link %s - %s\n", end0, end1);
    fail();
    return NULL;
}

size_t core_resource(const struct machine *machine, const char *name)
{
    for (size_t i = 0; i < machine->node.resource_count; i++)
        if (strcmp(machine->node.resources[i].name, name) == 0)
            return i;
    print_error("no resource \"%s\"\n", name);
    fail();
    return 0;
}

enum status core_route(const struct machine *machine, const char *mechanism, const char *src,
                       const char *dst, bool same_node, struct route *route, struct error *error)
{
    const char *const names[2] = {src, dst};
    struct endpoint ends[2];
    for (int i = 0; i < 2; i++) {
        int at = names[i] ? machine_find_device(machine, names[i]) : 0;
        assert_true(at >= 0);
        ends[i] = (struct endpoint){.kind = names[i] ? ENDPOINT_DEVICE : ENDPOINT_SWITCH,
                                    .device = (uint16_t)at};
    }
    assert_non_null(mechanism_find(mechanism));
    return mechanism_route(
        mechanism_find(mechanism), machine,
        &(struct endpoints){.src = ends[0], .dst = ends[1], .same_node = same_node}, route, error);
}

const struct verdict_item *core_verdict(const struct route *route, enum precondition what)
{
    for (size_t i = 0; i < route->verdict_count; i++)
        if (route->verdicts[i].what == what)
            return &route->verdicts[i];
    return NULL;
}

double core_slowest_Bps(const struct route *route)
{
    double slowest = (double)INFINITY;
    for (size_t i = 0; i < route->leg_count; i++)
        slowest = fmin(slowest, route->legs[i].rate_Bps);
    return slowest;
}

void core_rig(struct machine *ret_machine)
{
    static const struct {
        enum device_kind kind;
        const char *name, *upper;
    } devices[] = {
        {DEVICE_CPU, "cpu0", NULL},          {DEVICE_CPU, "cpu1", NULL},
        {DEVICE_PCIE_SWITCH, "sw0", "cpu0"}, {DEVICE_PCIE_SWITCH, "sw1", "cpu1"},
        {DEVICE_PCIE_SWITCH, "sw2", "cpu1"}, {DEVICE_GPU, "gpu0", "sw0"},
        {DEVICE_GPU, "gpu1", "sw0"},         {DEVICE_GPU, "gpu2", "sw1"},
        {DEVICE_GPU, "gpu3", "sw2"},         {DEVICE_NIC, "nic0", "sw0"},
        {DEVICE_NIC, "nic1", "sw1"},         {DEVICE_NVME, "nvme0", "sw0"},
        {DEVICE_NVME, "nvme1", "sw1"},
    };
    struct machine *m = ret_machine;
    machine_init(m);
    m->node_count = 2;
    set(&m->state, PARAM_STATE_GDR_LEVEL, PATH_SYS);
    set(&m->state, PARAM_STATE_P2P_LEVEL, PATH_SYS);
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        struct params *params = add_device(m, devices[i].name, devices[i].kind);
        if (devices[i].kind == DEVICE_NIC) {
            set(params, PARAM_NIC_RATE, 25e9);
            set(params, PARAM_NIC_EFFICIENCY, 1);
        }
        if (devices[i].upper)
            core_join(m, LINK_PCIE, devices[i].upper, devices[i].name);
    }
    core_join(m, LINK_SOCKET, "cpu0", "cpu1");
}

void core_finish(struct machine *machine)
{
    struct error error;
    assert_ok(machine_finish(machine, &error), &error);
}

void core_change(struct machine *machine, const struct core_change *change)
{
    if (change->end1)
        set(core_link_of(machine, change->name, change->end1), change->id, change->value);
    else if (change->name)
        set(core_device(machine, change->name), change->id, change->value);
    else if (param_info(change->id)->kind == KIND_STATE)
        set(&machine->state, change->id, change->value);
    else if (param_info(change->id)->kind == KIND_SOFTWARE)
        set(&machine->software, change->id, change->value);
    else if (param_info(change->id)->kind == KIND_ENGINE)
        set(&machine->engine, change->id, change->value);
    else if (param_info(change->id)->kind == KIND_SHARP)
        set(&machine->sharp, change->id, change->value);
    else
        set(&machine->fabric, change->id, change->value);
}

void core_rig_changed(const struct core_change *changes, size_t count, struct machine *ret_machine)
{
    core_rig(ret_machine);
    for (size_t i = 0; i < count; i++)
        core_change(ret_machine, &changes[i]);
    core_finish(ret_machine);
}

void core_rig_route(const struct core_change *changes, size_t count, const char *mechanism,
                    const char *src, const char *dst, bool same_node, struct route *ret_route)
{
    struct machine machine;
    struct error error;
    core_rig_changed(changes, count, &machine);
    assert_ok(core_route(&machine, mechanism, src, dst, same_node, ret_route, &error), &error);
    machine_free(&machine);
}

void core_apart(enum path_class apart, enum device_kind other, struct machine *ret_machine)
{
    struct machine *m = ret_machine;
    machine_init(m);
    m->node_count = 2;
    core_add(m, "cpu0", DEVICE_CPU);
    core_add(m, "gpu0", DEVICE_GPU);
    struct params *params = core_add(m, "far", other);
    if (other == DEVICE_NIC)
        core_set(params, PARAM_NIC_RATE, 25e9);
    switch (apart) {
    case PATH_PIX:
        core_add(m, "sw0", DEVICE_PCIE_SWITCH);
        core_join(m, LINK_PCIE, "cpu0", "sw0");
        core_join(m, LINK_PCIE, "sw0", "gpu0");
        core_join(m, LINK_PCIE, "sw0", "far");
        break;
    case PATH_PXB:
        core_add(m, "sw0", DEVICE_PCIE_SWITCH);
        core_add(m, "sw1", DEVICE_PCIE_SWITCH);
        core_join(m, LINK_PCIE, "cpu0", "sw0");
        core_join(m, LINK_PCIE, "sw0", "sw1");
        core_join(m, LINK_PCIE, "sw0", "gpu0");
        core_join(m, LINK_PCIE, "sw1", "far");
        break;
    case PATH_P2C:
        core_join(m, LINK_C2C, "cpu0", "gpu0");
        core_join(m, LINK_PCIE, "cpu0", "far");
        break;
    case PATH_PHB:
        core_join(m, LINK_PCIE, "cpu0", "gpu0");
        core_join(m, LINK_PCIE, "cpu0", "far");
        break;
    default:
        core_add(m, "cpu1", DEVICE_CPU);
        core_join(m, LINK_SOCKET, "cpu0", "cpu1");
        core_join(m, LINK_PCIE, "cpu0", "gpu0");
        core_join(m, LINK_PCIE, "cpu1", "far");
    }
}
