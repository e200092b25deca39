/* help_random.h: random machines, and every transfer of one.
 *
 * A machine has 1 or 2 sockets, up to 3 PCIe switches, 1 to 4 GPUs, 1 to 4 NICs and a drive, each
 * below a random root complex or switch, and perhaps NVLink between GPUs; two nodes. All GPUs,
 * memories and drives are ranks, so that every mechanism has something to move. */
#ifndef GDSIM_TESTS_HELP_RANDOM_H
#define GDSIM_TESTS_HELP_RANDOM_H

#include "sim/core/odd.h"
#include "tests/unit/help_core.h"

double random_between(uint64_t *state, double low, double high);

/* Not finished. `bad`: with states that stand in the way of mechanisms. */
void random_machine(uint64_t seed, bool bad, struct machine *ret_machine);
void random_finish(struct machine *machine);

/* Make `nodes` differ in some random ways: states, rates, ACS, trained links. Finish again. */
void random_odd(uint64_t *state, struct machine *machine, struct node_range nodes);

/* One transfer of a machine: a mechanism and two ports. */
struct random_move {
    const char *mechanism;
    uint32_t from, to; /* ranks; from is on node 0 */
    struct endpoints ends;
};

/* Every mechanism between every two ports; `place` counts them. False: no more. */
bool random_next_move(const struct machine *machine, size_t *place, struct random_move *ret_move);

#define FOR_EACH_MOVE(machine, move)                                                               \
    for (size_t place_ = 0; random_next_move(&(machine), &place_, &(move));)

/* Unless good, fails the test with seed, transfer (NULL: none) and what is wrong. */
void random_hold(uint64_t seed, const struct machine *machine, const struct random_move *move,
                 bool good, const char *what);

/* The route of a transfer, and a run of it alone; the ledger is for ledger_free. */
void random_route(const struct machine *machine, const struct random_move *move,
                  struct route *ret_route);
void random_run(const struct machine *machine, const struct random_move *move,
                enum accounting accounting, double size_B, struct ledger *ret_ledger);

/* The textbook's sum, from the route alone. */
double random_serial_s(const struct machine *machine, const struct route *route, double bytes);

#endif
