/* mechanism.h: the table of mechanisms: who moves the bytes, and by which stages.
 *
 * A mechanism is one function in a file mech_*.c and one row in mechanism.c. Its function walks
 * the preconditions of its path in the order hardware and software meet them, notes each that
 * does not hold (route_note), and builds the route that is really taken: where a precondition
 * breaks the path, that of the mechanism fallen back to (mechanism_fall_back).
 */
#ifndef GDSIM_CORE_MECHANISM_H
#define GDSIM_CORE_MECHANISM_H

#include "sim/core/route.h"

/* Between what a mechanism moves bytes. */
enum mechanism_span {
    SPAN_NETWORK, /* GPUs of two nodes */
    SPAN_PEERS,   /* GPUs of one node */
    SPAN_MEMORY,  /* memory and a GPU */
    SPAN_DRIVE,   /* a drive and a GPU */
    SPAN_SWITCH,  /* a GPU and a switch that reduces */
};

struct mechanism {
    enum mechanism_span span;
    const char *name;      /* as scenarios and column headings write it */
    const char *label;     /* as short lists under a table write it */
    const char *title;     /* as sentences write it */
    const char *summary;   /* one line for `gdsim list mechanisms` */
    const char *algorithm; /* script it brings along (a mechanism that reduces in the network), or
                              NULL: the scenario's algorithm */
    /* Build the route between two endpoints. STATUS_INPUT when the mechanism cannot serve them,
     * with the reason; STATUS_FAILED when the transfer hangs. `route` comes zeroed. */
    enum status (*route)(const struct machine *machine, const struct endpoints *ends,
                         struct route *route, struct error *error);
    /* Messages to and from switches below this many bytes go another way; NULL: none do. */
    double (*brief_B)(const struct machine *machine);
    /* Whether the network has room for that many groups; if not, why. NULL: always. */
    bool (*has_room)(const struct machine *machine, uint32_t groups, char *why, size_t size);
};

extern const struct mechanism mechanism_table[];
extern const size_t mechanism_count;

const struct mechanism *mechanism_find(const char *name);

/* Clear *route and build it; fills asked and taken. */
enum status mechanism_route(const struct mechanism *mechanism, const struct machine *machine,
                            const struct endpoints *ends, struct route *route, struct error *error);

/* Whether the network has room for the groups of a plan; if not, *why says what is missing. */
bool mechanism_has_room(const struct mechanism *mechanism, const struct machine *machine,
                        uint32_t groups, char *why, size_t size);

/* Whether an error says that the transfer hangs. */
bool mechanism_hangs(const struct error *error);

/* ---- for mechanisms ---------------------------------------------------------------------------
 */

/* Build the route of another mechanism instead, keeping the verdicts noted so far. */
enum status mechanism_fall_back(const char *name, const struct machine *machine,
                                const struct endpoints *ends, struct route *route,
                                struct error *error);

/* What an outcome means for a mechanism: STATUS_OK to go on, else the path that is taken instead
 * has been built (*ret_done = true) or the transfer hangs (STATUS_FAILED). */
enum status mechanism_react(enum outcome outcome, const char *fall_back,
                            const struct machine *machine, const struct endpoints *ends,
                            struct route *route, bool *ret_done, struct error *error);

/* STATUS_FAILED, with the reason that was noted. */
enum status mechanism_hang(const struct route *route, struct error *error);

/* The NIC that a device uses for a rail; STATUS_INPUT when it reaches none. */
enum status mechanism_nic(const struct machine *machine, size_t device, uint32_t rail, int *ret_nic,
                          struct error *error);

/* GPUDirect RDMA at one end: everything that must hold for the NIC to read (or write) the memory of
 * the GPU. Notes what does not. */
enum outcome mechanism_check_nic(const struct machine *machine, size_t gpu, size_t nic, bool reads,
                                 struct route *route);

/* The root complex whose memory serves a device: itself for a cpu. */
size_t mechanism_memory(const struct machine *machine, size_t device);

enum device_kind mechanism_kind(const struct machine *machine, const struct endpoint *endpoint);

/* The first stage of every transfer: software posts it. */
enum status mechanism_post(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error);

/* The same between two GPUs of a node: they flag each other, no CPU thread takes part. */
enum status mechanism_flag(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error);

/* GPU to GPU inside a node, the best way: NVLink, else PCIe peer, else through host memory. */
enum status mechanism_peer(const struct machine *machine, const struct endpoints *ends,
                           struct route *route, struct error *error);

#define MECHANISM(name)                                                                            \
    enum status mech_##name##_route(const struct machine *machine, const struct endpoints *ends,   \
                                    struct route *route, struct error *error)
MECHANISM(staged);
MECHANISM(pageable);
MECHANISM(host);
MECHANISM(socket);
MECHANISM(gdr);
MECHANISM(async);
MECHANISM(p2p);
MECHANISM(nvlink);
MECHANISM(ipc);
MECHANISM(gdrcopy);
MECHANISM(gds);
MECHANISM(gds_compat);
MECHANISM(sharp);
MECHANISM(nvls);

double mech_sharp_brief_B(const struct machine *machine);
bool mech_sharp_has_room(const struct machine *machine, uint32_t groups, char *why, size_t size);

#endif
