/* test_worse.c: a machine that is worse in one thing is never faster, for every parameter there is,
 * on random machines. A failure prints the seed; run it alone by setting first_seed to it and seeds
 * to 1. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/help_random.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const uint64_t first_seed = 1, seeds = 50;

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
    {PARAM_GPU_CHANNEL_COPY_RATE, TIMES, 0.5},
    {PARAM_GPU_CHANNEL_DRIFT, TIMES, 2},
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
    struct random_move *move;
    struct route *route;
    size_t count;
};

static void moves_of(const struct machine *machine, struct moves *ret_moves)
{
    struct random_move move;
    *ret_moves = (struct moves){0};
    FOR_EACH_MOVE(*machine, move)
    {
        size_t count = ret_moves->count++;
        ret_moves->move = realloc(ret_moves->move, ret_moves->count * sizeof move);
        ret_moves->route = realloc(ret_moves->route, ret_moves->count * sizeof(struct route));
        assert_non_null(ret_moves->move);
        assert_non_null(ret_moves->route);
        ret_moves->move[count] = move;
        random_route(machine, &move, &ret_moves->route[count]);
    }
}

static void compare_worse(uint64_t seed, const struct machine *good, const struct machine *bad,
                          const struct random_move *move, const struct route *before,
                          const struct worsening *by)
{
    static const double sizes[] = {0, 64, 1e6, 1e9};
    struct route after;
    struct error error;
    char what[256];
    enum status status =
        mechanism_route(mechanism_find(move->mechanism), bad, &move->ends, &after, &error);
    random_hold(seed, good, move, status == STATUS_OK || status == STATUS_FAILED,
                "a worse machine cannot do it at all");
    if (status)
        return; /* it hangs */
    for (size_t i = 0; i < COUNT(sizes); i++) {
        double was = random_serial_s(good, before, sizes[i]),
               is = random_serial_s(bad, &after, sizes[i]);
        if (is >= was * (1 - 1e-12) || (sizes[i] > 0 && may_gain(before, &after)))
            continue;
        snprintf(what, sizeof what, "worse %s: %.0f bytes took %.6g us, now %.6g (%s, was %s)",
                 param_info(by->id)->name, sizes[i], was * 1e6, is * 1e6, after.taken->name,
                 before->taken->name);
        random_hold(seed, good, move, false, what);
    }
    if (may_gain(before, &after) || rate_of(bad, &after) <= rate_of(good, before) * (1 + 1e-12))
        return;
    snprintf(what, sizeof what, "worse %s: the slowest had %.6g GB/s, now %.6g (%s, was %s)",
             param_info(by->id)->name, rate_of(good, before) / 1e9, rate_of(bad, &after) / 1e9,
             after.taken->name, before->taken->name);
    random_hold(seed, good, move, false, what);
}

static void worse_is_never_faster(void **state)
{
    (void)state;
    size_t compared = 0;
    for (uint64_t seed = first_seed; seed < first_seed + seeds; seed++) {
        struct machine good;
        struct moves moves;
        random_machine(seed, true, &good);
        random_finish(&good);
        moves_of(&good, &moves);
        for (size_t w = 0; w < COUNT(worsenings); w++)
            for (size_t which = 0;; which++) {
                struct machine bad;
                struct error error;
                bool changed = false;
                assert_ok(machine_copy(&good, &bad, &error), &error);
                bool more = worsen(&bad, &worsenings[w], which, &changed);
                if (more && changed) {
                    random_finish(&bad);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worse_is_never_faster),
        cmocka_unit_test(every_parameter_has_a_direction),
    };
    return cmocka_run_group_tests_name("worse", tests, NULL, NULL);
}
