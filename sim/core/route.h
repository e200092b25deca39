/* route.h: how bytes get from one endpoint to another by one mechanism.
 *
 * A route is a list of stages. Between two stages stands a handoff: software acts before the
 * bytes go on. Inside a stage bytes are cut through, so a stage takes its latencies plus bytes
 * over its slowest resource, while each resource is busy for bytes over its own rate. A stage
 * consists of legs: a crossing is one DMA through the PCIe tree whatever number of physical links
 * it passes, a wire pass is one trip over the network. Serial accounting adds leg after leg;
 * pipelined accounting runs stages with slices in flight. Counters, explanation and what-if read
 * the same legs.
 *
 * A route is a template: it names resources by the end they belong to, so one route serves every
 * pair of nodes that looks the same.
 */
#ifndef GDSIM_CORE_ROUTE_H
#define GDSIM_CORE_ROUTE_H

#include "sim/core/machine.h"

#define ROUTE_MAX_STAGES 8
#define ROUTE_MAX_LEGS   16
#define ROUTE_MAX_USES   96
#define ROUTE_TEXT       96

enum route_end { END_SRC, END_DST };

enum leg_kind { LEG_CROSSING, LEG_WIRE };

/* One resource that a leg keeps busy: for bytes * bytes_factor / rate. */
struct route_use {
    enum route_end end;
    uint16_t resource;
    double bytes_factor;
};

struct route_leg {
    enum leg_kind kind;
    enum route_end end; /* the host whose PCIe tree a crossing loads */
    char label[ROUTE_TEXT];
    double rate_Bps;  /* of the slowest resource used */
    uint16_t slowest; /* use that limits */
    double latency_s;
    uint16_t first_use, use_count;
};

struct route_handoff {
    char label[ROUTE_TEXT]; /* "" : none */
    double cost_s;
    enum param_id param; /* the parameter the cost was taken from */
    enum route_end end;
    uint16_t thread; /* resource that is busy meanwhile */
    bool blocking;   /* the thread also waits for the stage */
    bool wakes_cpu;
};

struct route_stage {
    struct route_handoff handoff; /* before the stage */
    uint16_t first_leg, leg_count;
};

struct route {
    struct route_stage stages[ROUTE_MAX_STAGES];
    struct route_leg legs[ROUTE_MAX_LEGS];
    struct route_use uses[ROUTE_MAX_USES];
    size_t stage_count, leg_count, use_count;
    char setup[ROUTE_TEXT]; /* cost paid once, before the first transfer */
};

enum endpoint_kind { ENDPOINT_GPU, ENDPOINT_SWITCH };

struct endpoint {
    enum endpoint_kind kind;
    uint16_t device; /* of a GPU */
};

struct endpoints {
    struct endpoint src, dst;
    bool same_node;
};

/* ---- for mechanisms: put a route together, front to back ------------------------------------ */

/* Open a stage. `param` names the software cost of the handoff before it, paid by the thread of
 * GPU `gpu` at `end`; what = "" and cost 0 for a stage that starts by itself. */
enum status route_stage(struct route *route, const struct machine *machine, const char *what,
                        enum param_id param, enum route_end end, size_t gpu, struct error *error);
/* A stage without a handoff. */
enum status route_stage_free(struct route *route, struct error *error);

/* One DMA between two devices of the node at `end`; a cpu as end point means its DRAM. */
enum status route_crossing(struct route *route, const struct machine *machine, enum route_end end,
                           size_t from, size_t to, struct error *error);

/* One trip over the network: from NIC `src_nic` (-1: from a fabric switch) to `dst_nic` (-1: to a
 * fabric switch), with `extra_s` seconds added (for example the reduction in the switch). */
enum status route_wire(struct route *route, const struct machine *machine, int src_nic, int dst_nic,
                       double extra_s, struct error *error);

/* ---- reading a route ------------------------------------------------------------------------ */

/* Legs of one kind. */
size_t route_count_legs(const struct route *route, enum leg_kind kind);
/* Crossings that load the PCIe tree of one end. */
size_t route_count_crossings_at(const struct route *route, enum route_end end);
/* Handoffs that cost software time in a step beyond the posting of the transfer itself. */
size_t route_count_wakeups(const struct route *route);

#endif
