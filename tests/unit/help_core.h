/* help_core.h: machines, plans and runs built in code, for the tests of sim/core. */
#ifndef GDSIM_TESTS_HELP_CORE_H
#define GDSIM_TESTS_HELP_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/engine.h"
#include "sim/core/routes.h"

/* A machine of equal nodes: cpu0, sw0, gpu0 .. and one nic0, all behind sw0. What is left at zero
 * costs nothing (times) or keeps its default (slice, window) or is one (nodes, gpus). SHARP streams
 * whatever the size, at the whole rate, and is set up for nothing. */
struct core_spec {
    uint32_t nodes, gpus;
    bool own_nics;   /* each GPU gpuN has a switch swN and a NIC nicN of its own */
    double pcie_Bps; /* of every link without a rate of its own */
    double cpu_link_Bps, gpu_link_Bps, nic_link_Bps;
    double nic_Bps;
    double dram_Bps;                       /* 0: unlimited */
    double step_s, copy_s;                 /* handoffs */
    bool blocking;                         /* copy_blocking */
    double link_s, switch_s, nic_s, hop_s; /* latencies: PCIe link and switch, wire, fabric */
    double reduce_s;                       /* in the fabric switch, each pass */
    double slice_B, window;
};

#define PS_PER_US ((int64_t)1000000)

#define ORIGIN_OF_TEST ((struct origin){.kind = ORIGIN_SET})

/* Within rtol of expected, relative to it; prints both. assert_float_equal casts to float. */
#define assert_near(actual, expected, rtol)                                                        \
    core_assert_near((actual), (expected), (rtol), #actual, __FILE__, __LINE__)
void core_assert_near(double actual, double expected, double rtol, const char *what,
                      const char *file, int line);

/* Fails the test with the error's message unless status is STATUS_OK. */
#define assert_ok(status, error) core_assert_ok((status), (error), __FILE__, __LINE__)
void core_assert_ok(enum status status, const struct error *error, const char *file, int line);

void core_machine(const struct core_spec *spec, struct machine *ret_machine);

/* One link at default parameters, and a way through a node: what all tests call, so that they need
 * not know of kinds of links. */
enum status core_link(struct machine *machine, const char *end0, const char *end1,
                      size_t *ret_index, struct error *error);
bool core_path(const struct machine *machine, const char *from, const char *to,
               struct path *ret_path);

/* The nearest device of a kind as seen from another, on the first rail; -1 if none. */
int core_nearest(const struct machine *machine, const char *from, enum device_kind kind);

/* A plan from the text of a script, or from a script of lua/ (tests run at the repository root). */
void core_script(const char *text, uint32_t ranks, uint32_t gpus_per_node, struct plan *ret_plan);
void core_lua_file(const char *path, uint32_t ranks, uint32_t gpus_per_node, struct plan *ret_plan);

/* A plan of one step for each row of edges; a row ends with an edge from == to. */
#define CORE_STEP_END                                                                              \
    {                                                                                              \
        .from = 0, .to = 0                                                                         \
    }
void core_edges(uint32_t ranks, uint32_t chunks, const struct plan_edge *edges, size_t count,
                struct plan *ret_plan);

/* From rank 0 to rank 1, the whole message. */
void core_one_edge(struct plan *ret_plan);

/* Run; the ledger is for ledger_free. Always traced. */
void core_run(const struct machine *machine, const struct plan *plan, const char *mechanism,
              enum accounting accounting, double size_B, struct ledger *ret_ledger);

/* The same, for the time alone. */
int64_t core_time(const struct core_spec *spec, const struct plan *plan, const char *mechanism,
                  enum accounting accounting, double size_B);

/* ---- machines put together by hand, and their routes ----------------------------------------- */

void core_set(struct params *params, enum param_id id, double value);
/* The parameters, good until the next device or link is added. */
struct params *core_add(struct machine *machine, const char *name, enum device_kind kind);
struct params *core_join(struct machine *machine, enum link_kind kind, const char *end0,
                         const char *end1);
void core_finish(struct machine *machine);
struct params *core_device(struct machine *machine, const char *name);
struct params *core_link_of(struct machine *machine, const char *end0, const char *end1);

/* A resource of a node by its name, "sw0 -> cpu0". */
size_t core_resource(const struct machine *machine, const char *name);

/* Two nodes of two sockets where nothing stands in the way; not finished, so it can be spoilt:
 *
 *   cpu0 - sw0 - gpu0, gpu1, nic0, nvme0
 *    |
 *   cpu1 - sw1 - gpu2, nic1, nvme1        gpu0 and nic0, gpu2 and nic1: PIX
 *      \-- sw2 - gpu3                      gpu3 and nic1: PHB; gpu0 and gpu2: SYS
 *
 * All links Gen4 x16 (25.99 GB/s), NICs of 25 GB/s, levels SYS. */
void core_rig(struct machine *ret_machine);

/* One parameter of a device (name), a link (name, end1) or the machine (neither). */
struct core_change {
    enum param_id id;
    double value;
    const char *name, *end1;
};
void core_change(struct machine *machine, const struct core_change *change);

/* The rig with some changes, finished; and the route of one mechanism on it. */
void core_rig_changed(const struct core_change *changes, size_t count, struct machine *ret_machine);
void core_rig_route(const struct core_change *changes, size_t count, const char *mechanism,
                    const char *src, const char *dst, bool same_node, struct route *ret_route);

/* Two nodes of gpu0 and another device "far", so far apart; not finished. */
void core_apart(enum path_class apart, enum device_kind other, struct machine *ret_machine);

/* The route between two devices by name; NULL: the switch of the fabric. */
enum status core_route(const struct machine *machine, const char *mechanism, const char *src,
                       const char *dst, bool same_node, struct route *route, struct error *error);

/* The verdict on a precondition; NULL: none noted. */
const struct verdict_item *core_verdict(const struct route *route, enum precondition what);

/* Rate of the slowest leg. */
double core_slowest_Bps(const struct route *route);

/* Random numbers that are the same everywhere. */
uint64_t core_random(uint64_t *state);
/* 0 .. limit - 1 */
uint64_t core_random_below(uint64_t *state, uint64_t limit);

#endif
