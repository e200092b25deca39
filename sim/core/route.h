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

#include "models/tlp.h"
#include "sim/core/precondition.h"

#define ROUTE_MAX_STAGES 8
#define ROUTE_MAX_LEGS   16
#define ROUTE_MAX_USES   96
#define ROUTE_TEXT       128
#define ROUTE_VERDICTS   24

enum route_end { END_SRC, END_DST, END_FABRIC };

enum leg_kind {
    LEG_CROSSING, /* one DMA through the PCIe tree */
    LEG_C2C,      /* the same over a coherent chip-to-chip link: not PCIe */
    LEG_NVLINK,
    LEG_WIRE,
    LEG_COPY,  /* a CPU copies from memory to memory */
    LEG_DEVICE /* inside a drive */
};

/* One resource that a leg keeps busy: for
 * bytes * bytes_factor / (rate * efficiency) + fixed_s. With pieces of at most piece_B, fixed_s is
 * paid for each piece after the first instead. */
struct route_use {
    enum route_end end;
    uint16_t resource;
    double bytes_factor;     /* what passes more than once */
    double efficiency;       /* share of the rate that such traffic reaches */
    double fixed_s, piece_B; /* piece_B: 0, no pieces */
    /* Of channels that push over NVLink: the link's rate, and at what rate they copy what they keep
     * (models/nccl_channel.h). 0: nothing of the kind. */
    double link_Bps, copy_Bps;
    double rate_Bps; /* of the resource */
    bool head;       /* of a channel of a tree that sends to another node: takes its pace alone */
};

struct route_leg {
    enum leg_kind kind;
    enum route_end end; /* the host whose PCIe tree a crossing loads */
    char label[ROUTE_TEXT];
    enum tlp_mover mover; /* of a crossing: who issues the packets */
    bool redirected;      /* ACS sent it up to the root complex and down again */
    double rate_Bps;      /* of the slowest resource used */
    uint16_t slowest;     /* use that limits */
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
    bool by_gpu;     /* each lane does it for itself: nobody waits for another */
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
    double line_factor;     /* bytes on the links for each byte of payload: flags of the protocol */
    char setup[ROUTE_TEXT]; /* cost paid once, before the first transfer */
    double setup_s;         /* of it, what this run pays */
    char mode[ROUTE_TEXT];  /* how the switch works, if one takes part */
    double stream_Bps;      /* bytes reach the switch at this rate, and the first stage passes them
                               on packet by packet while they come; 0: it waits for all of them */
    double packet_B;
    uint16_t nic[2]; /* of a wire leg: places among the node's NICs */
    const char
        *whose; /* nodes that are being looked at: said with each verdict; NULL: usual ones */
    const struct link *about; /* that is being looked at: nothing is said of it twice; or NULL */
    const struct mechanism *asked, *taken;
    struct verdict_item verdicts[ROUTE_VERDICTS];
    size_t verdict_count;
};

enum endpoint_kind { ENDPOINT_DEVICE, ENDPOINT_SWITCH };

struct endpoint {
    enum endpoint_kind kind;
    uint16_t device; /* gpu, cpu (its memory) or nvme */
};

struct endpoints {
    struct endpoint src, dst;
    const struct machine *receiver; /* of dst's node, where that is of another kind than the machine
                                       that the route is made on; NULL: they are alike */
    bool same_node;
    uint32_t rail;   /* which of equally near NICs: 0, 1, ... */
    bool brief;      /* to or from a switch: a message below the threshold of streaming */
    uint32_t groups; /* to or from a switch: of the job */
};

/* The machine of the node at an end. */
static inline const struct machine *endpoints_machine(const struct machine *machine,
                                                      const struct endpoints *ends,
                                                      enum route_end end)
{
    return end == END_DST && ends->receiver ? ends->receiver : machine;
}

/* An empty route. Its arrays are not cleared: each entry is, when it is taken. */
void route_init(struct route *route);

/* ---- for mechanisms: put a route together, front to back ------------------------------------ */

/* Open a stage. `param` names the software cost of the handoff before it, paid by the thread of
 * `device` at `end`; what = "" and cost 0 for a stage that starts by itself. */
enum status route_stage(struct route *route, const struct machine *machine, const char *what,
                        enum param_id param, enum route_end end, size_t device,
                        struct error *error);
/* A stage without a handoff. */
enum status route_stage_free(struct route *route, struct error *error);

/* One DMA between two devices of the node at `end`; a cpu as end point means its DRAM. `mover`
 * issues its packets. Between two devices it is a peer transfer, subject to ACS and to what the
 * root complex can do; see route_check_peer, which notes that before. */
enum status route_crossing(struct route *route, const struct machine *machine, enum route_end end,
                           size_t from, size_t to, enum tlp_mover mover, struct error *error);

/* Of a tree of NCCL: the channels of the sender's GPU, which reduce and hand out what this leg, the
 * last one, takes to other nodes. Otherwise nothing. */
enum status route_head(struct route *route, const struct machine *machine, size_t gpu,
                       struct error *error);

/* By LL the proxy thread of a GPU reads the flags of all that the last leg takes to a NIC. */
enum status route_read_flags(struct route *route, const struct machine *machine, size_t gpu,
                             struct error *error);

/* The same by the SM of a GPU: limited by what one NCCL channel moves. `gpu` is one of the ends. */
enum status route_sm_crossing(struct route *route, const struct machine *machine,
                              enum route_end end, size_t from, size_t to, struct error *error);

/* Over NVLink, inside a node. */
enum status route_nvlink(struct route *route, const struct machine *machine, size_t from, size_t to,
                         struct error *error);

/* A CPU thread copies inside the memory of `cpu`. */
enum status route_copy(struct route *route, const struct machine *machine, enum route_end end,
                       size_t cpu, struct error *error);

/* The CPU itself, through BAR1: from a cpu to a gpu (writes) or back (reads). */
enum status route_bar1(struct route *route, const struct machine *machine, size_t from, size_t to,
                       struct error *error);

/* A drive reads (or writes) its medium. */
enum status route_drive(struct route *route, const struct machine *machine, enum route_end end,
                        size_t nvme, bool reads, struct error *error);

/* Note a verdict. */
void route_note(struct route *route, enum precondition what, enum outcome outcome,
                const char *format, ...) PRINTF_LIKE(4, 5);

/* Whether gen and width of a PCIe link deny its rate, which was then given by hand. */
bool route_rate_denied(const struct link *link);

/* Notes PCIe links of the way that trained below what they could do, that have been given a rate
 * which their lanes deny, that are slower than the port of their NIC, or slow both ways at once. */
enum outcome route_check_links(struct route *route, const struct machine *machine,
                               const struct path *path);

/* Note what stands in the way of a peer transfer between two devices of a node: root complex, ACS,
 * IOMMU, links. Returns the worst outcome. */
enum outcome route_check_peer(struct route *route, const struct machine *machine, size_t from,
                              size_t to, bool reads);

/* Whether packets between two devices really pass a root complex: on their way, or redirected. */
bool route_passes_root(const struct machine *machine, size_t from, size_t to);

/* One trip over the network: from NIC `src_nic` (-1: from a fabric switch) to `dst_nic` (-1: to a
 * fabric switch), with `extra_s` seconds added. From NIC to NIC the switch's hop is counted; what
 * switches cost that end a trip is for the caller to add. `receiver`: the machine of dst_nic's
 * node. */
enum status route_wire(struct route *route, const struct machine *machine,
                       const struct machine *receiver, int src_nic, int dst_nic, double extra_s,
                       struct error *error);

/* Pace the last leg: each piece of `piece_B` after the first takes `each_s` of the resource. */
enum status route_paced(struct route *route, struct route_leg *leg, const struct machine *machine,
                        enum route_end end, size_t resource, double each_s, double piece_B,
                        struct error *error);

/* Let a leg of one use reach only a share of its rate. */
void route_slow(struct route *route, struct route_leg *leg, double share);

/* ---- reading a route ------------------------------------------------------------------------ */

/* Legs of one kind. */
size_t route_count_legs(const struct route *route, enum leg_kind kind);
/* The worst verdict of the route. */
enum outcome route_worst(const struct route *route);
/* Crossings that load the PCIe tree of one end. */
size_t route_count_crossings_at(const struct route *route, enum route_end end);
/* Handoffs that cost software time in a step beyond the posting of the transfer itself. */
size_t route_count_wakeups(const struct route *route);

#endif
