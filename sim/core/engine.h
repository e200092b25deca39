/* engine.h: run a plan on a machine and account for every picosecond and byte.
 *
 * Time is a signed 64-bit count of picoseconds; each duration is rounded to it once. A slice goes
 * through its stage resource by resource. Where one is busy it stands in that resource's queue, in
 * order of arrival, and asks for the next one only when it gets there; it then keeps each busy for
 * its own service time, and the stage ends with the latest of them plus the latencies. There is one
 * event for the end of each stage, one for each handoff, and one for each wait.
 *
 * serial:    one slice per transfer, and every crossing and wire pass is a stage of its own: the
 *            textbook's sum. A rank starts its next operation when its last one has arrived.
 * pipelined: transfers are cut into equal slices of at most engine.slice bytes, engine.window of
 *            them on their way per rank and lane; stages are cut through.
 *
 * Exact closed forms, which tests hold the engine to:
 *   serial      t = sum over crossings and wire passes of c/B + latencies + handoffs
 *   pipelined   t = sum_j (a_j + c/B_j) + (K-1) max_j b_j      K slices of c bytes over stages j;
 *               b_j = a_j + c/B_j when the handoff's thread waits for its stage (blocking),
 *               max(a_j, c/B_j) when it does not. (Handoffs of one GPU share its thread: where
 *               they add up to more than the b_j, or a blocking one keeps another waiting, the
 *               thread is one more stage.)
 */
#ifndef GDSIM_CORE_ENGINE_H
#define GDSIM_CORE_ENGINE_H

#include "sim/core/ledger.h"
#include "sim/core/plan.h"

enum accounting { ACCOUNTING_SERIAL, ACCOUNTING_PIPELINED };

/* How a run goes through its transfers. All give the same times and bytes. */
enum walk_kind {
    WALK_AUTO,  /* take every shortcut that is exact */
    WALK_QUEUE, /* every transfer of every rank, through the event queue */
    WALK_ORDER, /* every transfer, without a queue: where the order is fixed; see order.h */
};

#define ENGINE_MAX_TIME_PS ((int64_t)1 << 62)

struct engine_job;

/* Who wants to know how far a long run is: told about every 260,000 events. `share`: of the plan,
 * 1 when the run has ended; `events`: gone through so far. */
struct engine_watch {
    void (*tell)(void *context, const struct engine_job *job, double share, uint64_t events);
    void *context;
};

struct engine_job {
    const struct plan *plan; /* where several hang together, the one for size_B is run */
    struct routes *routes;   /* of the machine and mechanism; filled as needed */
    double size_B;           /* S */
    enum accounting accounting;
    bool trace; /* attribute the critical path (the engine leaves it out of runs too large) */
    enum walk_kind walk;
    const struct engine_watch *watch; /* NULL: nobody */
};

/* What many runs share: buffers, and what has been found out about the last plan. Not for two
 * threads at once. */
struct engine;

const char *accounting_name(enum accounting accounting);

const char *walk_kind_name(enum walk_kind walk);
/* STATUS_INPUT, naming all of them, when there is none of that name. */
enum status walk_kind_find(const char *name, enum walk_kind *ret_walk, struct error *error);

/* Run to the end. *ret_ledger is for ledger_free. STATUS_INPUT: the plan or the mechanism cannot
 * be run on this machine; STATUS_FAILED: the plan waits for ever. */
enum status engine_run(const struct engine_job *job, struct ledger *ret_ledger,
                       struct error *error);

/* The same for many runs: another size, accounting, plan or machine each time. *ret_ledger belongs
 * to the engine and holds until its next run. */
enum status engine_new(struct engine **ret_engine, struct error *error);
void engine_free(struct engine *engine);
enum status engine_rerun(struct engine *engine, const struct engine_job *job,
                         const struct ledger **ret_ledger, struct error *error);
/* Call when a plan has been changed or freed since the last run: what was found out about it is
 * then found out again. The buffers stay. */
void engine_forget(struct engine *engine);

/* Seconds to picoseconds, rounded once. */
int64_t engine_ps(double seconds);

#endif
