/* verify.h: does a plan do what its collective promises?
 *
 * The plan is run symbolically: every chunk of every rank holds a set of contributions. Exact for
 * any number of ranks; the first wrong thing is named in a sentence. Before that, a plan with
 * receives must come to its end (deadlock.h); after it, no rank may need a buffer without bound for
 * what it is sent too early (buffer.h).
 */
#ifndef GDSIM_CORE_VERIFY_H
#define GDSIM_CORE_VERIFY_H

#include "sim/core/buffer.h"

#define VERIFY_MAX_CELLS (1u << 25) /* cells of all ranks and switches */

struct verdict {
    bool correct;
    char sentence[512];
    uint64_t step; /* of the fault, counted from 0 (sentences count from 1); number of steps when it
                      shows at the end only */
    uint32_t rank, chunk;
    uint32_t line;             /* of the script; 0 unknown */
    uint64_t transfers;        /* made */
    struct buffer_need buffer; /* of a plan that is right but for, perhaps, this */
    bool unbounded;            /* it is not correct because of it */
};

/* STATUS_OK with the verdict; STATUS_INPUT when the plan gives nonsense (an error of the script,
 * not of the algorithm) or is too large to be verified. */
enum status verify_plan(const struct plan *plan, struct verdict *ret_verdict, struct error *error);

#endif
