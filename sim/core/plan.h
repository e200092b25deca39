/* plan.h: what an algorithm does, without sizes and speeds.
 *
 * The message of S bytes is split into `chunks` equal parts. A plan is a sequence of steps, with
 * loops around some of them. A step holds operations that happen together; each is a rule over
 * ranks (see rule.h) or a list of edges, so a plan's memory goes with its steps as written, not
 * with ranks times steps.
 *
 * Order: within a step every operation reads what was there before the step. An operation waits
 * for exactly those receives of earlier steps, at its own rank, that overlap the chunks it reads;
 * it does so slice by slice, so that messages flow through. Operations of one rank and lane are
 * issued in program order; different lanes run side by side.
 *
 * A fence stands between steps: what comes after it begins at a rank only when all that earlier
 * steps sent to that rank has arrived whole. So does a collective that is called when the one
 * before it has ended, instead of being fed slice by slice.
 *
 * A receive makes a lane wait: it goes on when one more message of a given rank, sent in the lane
 * of the same number, is complete. Data needs no receives, because an operation waits for what it
 * reads; they say what else must be over first.
 *
 * A script may give different plans for different sizes: then plans of growing size hang together.
 *
 * A rank has two buffers of `chunks` chunks: its message, and a result that only some algorithms
 * use. A cell is a chunk of either: cells 0 .. chunks-1 are the message, then the result.
 */
#ifndef GDSIM_CORE_PLAN_H
#define GDSIM_CORE_PLAN_H

#include "sim/core/rule.h"

#define PLAN_MAX_LANES  64
#define PLAN_MAX_CHUNKS (1u << 24)
#define PLAN_MAX_STEPS  ((uint64_t)1 << 32) /* with loops unrolled */

enum collective {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_REDUCE,
    COLLECTIVE_ALLTOALL,  /* chunks for rank d in block d of the message, from rank s in block s of
                             the result */
    COLLECTIVE_SENDRECV,  /* to the next rank, round the ranks */
    COLLECTIVE_TRANSFERS, /* no collective: bytes from here to there */
    COLLECTIVE_COUNT
};

enum plan_op_kind {
    PLAN_SEND,    /* rank to rank */
    PLAN_UP,      /* every member to the switch of its group, which adds */
    PLAN_DOWN,    /* the switch to every member of the group */
    PLAN_RECEIVE, /* wait for the next message of rank `to` */
};

/* One hand-written edge of an operation. */
struct plan_edge {
    uint32_t from, to, chunk;
    uint32_t into; /* if the operation has_into */
};

struct plan_op {
    enum plan_op_kind kind;
    bool reduce; /* the receiver adds; otherwise it overwrites */
    bool conditional;
    uint8_t lane;
    uint8_t mechanism;  /* 0: that of the run; else 1 + its row in mechanism_table */
    uint32_t number;    /* its place in the plan's ops; plan_add_op */
    uint32_t line;      /* of the script */
    double cost_s;      /* added to the handoff before the first slice of each transfer */
    struct rule where;  /* non-zero: this rank takes part (if conditional) */
    struct rule to;     /* PLAN_SEND; PLAN_RECEIVE: from whom */
    struct rule chunk;  /* first chunk */
    struct rule count;  /* consecutive chunks */
    struct rule into;   /* first chunk at the receiver (if has_into; else the same) */
    struct rule group;  /* of a switch operation: which switch */
    struct rule packed; /* non-zero: part of the message that the lane sent before: no handoff */
    bool has_into;
    bool from_result, to_result; /* which buffers */
    bool plain;      /* a send by rules, within the message: what plan_transfer does at once */
    bool invertible; /* a send by rules, and its receiver tells the sender; see rule.h */
    bool stays;      /* plain, and from turn to turn only the chunk changes */
    size_t first_edge, edge_count; /* edge_count > 0: edges instead of rules to, chunk, where */
};

enum plan_code { PLAN_STEP, PLAN_LOOP, PLAN_END, PLAN_FENCE };

/* The program, flat: a LOOP runs up to its END `count` times. */
struct plan_instruction {
    enum plan_code code;
    uint32_t first_op, op_count; /* STEP */
    uint32_t count;              /* LOOP: turns */
    uint32_t partner;            /* LOOP: its END; END: its LOOP */
    bool again;                  /* END: of a loop that begins with a STEP */
    uint32_t depth;              /* LOOP: which counter */
};

struct plan {
    char name[64];
    char source[256]; /* the script it came from, for messages */
    enum collective collective;
    uint32_t ranks, chunks;
    uint32_t root; /* broadcast, reduce */
    uint32_t lanes;
    uint32_t groups;    /* of switch operations; 0 without any */
    bool uses_result;   /* the second buffer */
    bool uses_receives; /* lanes wait for messages */
    uint64_t steps;     /* loops unrolled */
    struct plan_op *ops;
    size_t op_count;
    struct plan_instruction *program;
    size_t length;
    struct plan_edge *edges; /* of each op sorted by sender */
    size_t edge_count;
    double up_to_B;      /* for messages up to this size, if there is a larger plan */
    struct plan *larger; /* for those above; owned. NULL: good for all sizes */
};

/* One transfer that a rank makes in one step. */
struct transfer {
    const struct plan_op *op;
    uint32_t from, to;    /* to = UINT32_MAX: the switch */
    uint32_t chunk, into; /* first cell at the sender, and at the receiver */
    uint32_t count;       /* cells */
    uint32_t edge;        /* which edge of the op; 0 for rules */
    uint32_t group;       /* of switch operations */
};

#define TRANSFER_SWITCH UINT32_MAX

/* A place in the program. Start with plan_first, go on with plan_next; `at` stays valid. */
struct plan_cursor {
    uint32_t at; /* instruction, a STEP unless done */
    bool done;
    uint64_t step;  /* number of the step, loops unrolled */
    uint64_t fence; /* what is sent to a rank in steps before this must have arrived whole */
    int64_t loops[RULE_LOOPS];
};

const char *collective_name(enum collective collective);
int collective_find(const char *name); /* -1 if none */
/* busbw = algbw * factor, as nccl-tests defines it. */
double collective_busbw_factor(enum collective collective, uint32_t ranks);

void plan_init(struct plan *plan, uint32_t ranks);
void plan_free(struct plan *plan);

/* Building, in program order. `plan_op` adds to the open step. */
enum status plan_begin_step(struct plan *plan, struct error *error);
enum status plan_add_op(struct plan *plan, const struct plan_op *op, struct error *error);
enum status plan_add_edge(struct plan *plan, struct plan_edge edge, struct error *error);
enum status plan_end_step(struct plan *plan, struct error *error);
enum status plan_begin_loop(struct plan *plan, uint32_t count, uint32_t depth, struct error *error);
enum status plan_end_loop(struct plan *plan, struct error *error);
enum status plan_add_fence(struct plan *plan, struct error *error);
/* Close the plan: counts steps and lanes, sorts edges, refuses an empty plan. */
enum status plan_finish(struct plan *plan, struct error *error);

void plan_first(const struct plan *plan, struct plan_cursor *cursor);
/* From instruction `at` to the next STEP. A loop that ends and begins anew counts its turn. */
void plan_settle(const struct plan *plan, struct plan_cursor *cursor);
static inline void plan_next(const struct plan *plan, struct plan_cursor *cursor)
{
    const struct plan_instruction *in = &plan->program[++cursor->at];
    cursor->step++;
    if (cursor->at < plan->length && in->code == PLAN_STEP)
        return;
    if (cursor->at < plan->length && in->again &&
        cursor->loops[in->depth] + 1 < plan->program[in->partner].count) {
        cursor->loops[in->depth]++;
        cursor->at = in->partner + 1;
        return;
    }
    plan_settle(plan, cursor);
}

/* The one of the plans that hang together which is for messages of so many bytes. */
const struct plan *plan_for(const struct plan *plan, double size_B);

/* Whether a switch takes part, in any of the plans that hang together. */
bool plan_uses_switch(const struct plan *plan);

/* Groups of switch operations, the most that any of the plans that hang together has. */
uint32_t plan_groups(const struct plan *plan);

/* The index-th transfer that `rank` sends by `op` at `cursor`. Returns 1 and fills *ret, 0 when
 * there is no such transfer, -1 (error filled) when the script's rule gives nonsense for it.
 * For PLAN_DOWN the rank is the receiver and *ret goes to it from the switch. */
int plan_transfer_any(const struct plan *plan, const struct plan_op *op,
                      const struct plan_cursor *cursor, uint32_t rank, uint32_t index,
                      struct transfer *ret, struct error *error);
static inline int plan_transfer(const struct plan *plan, const struct plan_op *op,
                                const struct plan_cursor *cursor, uint32_t rank, uint32_t index,
                                struct transfer *ret, struct error *error)
{
    const int64_t *loops = cursor->loops;
    if (!op->plain)
        return plan_transfer_any(plan, op, cursor, rank, index, ret, error);
    if (index > 0 || (op->conditional && rule_eval(&op->where, rank, loops) == 0))
        return 0;
    const int64_t chunk = rule_eval(&op->chunk, rank, loops), chunks = plan->chunks;
    const int64_t count = rule_eval(&op->count, rank, loops);
    const int64_t to = rule_eval(&op->to, rank, loops);
    if (chunk < 0 || chunk >= chunks || count < 1 || count > chunks - chunk || to < 0 ||
        to >= plan->ranks || to == rank) /* it tells what is wrong */
        return plan_transfer_any(plan, op, cursor, rank, index, ret, error);
    *ret = (struct transfer){.op = op,
                             .from = rank,
                             .to = (uint32_t)to,
                             .chunk = (uint32_t)chunk,
                             .into = (uint32_t)chunk,
                             .count = (uint32_t)count};
    return 1;
}

/* The same for one more turn, by an operation that stays: only the chunk is found again. False:
 * plan_transfer knows what is wrong. */
static inline bool plan_turn(const struct plan *plan, const struct plan_cursor *cursor,
                             struct transfer *transfer)
{
    const int64_t chunk = rule_eval(&transfer->op->chunk, transfer->from, cursor->loops);
    if (chunk < 0 || chunk > (int64_t)plan->chunks - transfer->count)
        return false;
    transfer->chunk = transfer->into = (uint32_t)chunk;
    return true;
}

/* For whose message `rank` waits by a PLAN_RECEIVE. Returns as plan_transfer. */
int plan_receive(const struct plan *plan, const struct plan_op *op,
                 const struct plan_cursor *cursor, uint32_t rank, uint32_t *ret_from,
                 struct error *error);

#endif
