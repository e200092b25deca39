/* script.h: run an algorithm script in a sandbox; get a plan back.
 *
 * The interface that scripts see is described in lua/README.md. A script can neither reach files,
 * the clock or random numbers, nor run for ever, nor take all memory; the order in which it could
 * see a table's keys is taken from it too, so the same script always makes the same plan.
 */
#ifndef GDSIM_SCRIPT_SCRIPT_H
#define GDSIM_SCRIPT_SCRIPT_H

#include "sim/core/plan.h"

#define SCRIPT_MEMORY_B     ((size_t)64 << 20)
#define SCRIPT_INSTRUCTIONS ((uint64_t)100 * 1000 * 1000)
#define SCRIPT_MAX_OPS      65536u
#define SCRIPT_MAX_EDGES    (1u << 22)
#define SCRIPT_MAX_SIZES    24

struct script_job {
    const char *name; /* for messages: the path */
    const char *text;
    size_t length;
    uint32_t ranks, gpus_per_node;
    uint32_t rails; /* NICs that one GPU has for itself; 0 counts as 1 */
    uint32_t nics;  /* that the GPUs of a node use; 0 counts as one for each GPU and rail */
    uint32_t root;
    /* Where `print` goes; NULL: nowhere. */
    void (*print)(void *owner, const char *line);
    void *owner;
};

/* Run the script and finish its plan, or its plans for ranges of sizes, which then hang together
 * (see plan_for); *ret_plan is for plan_free. STATUS_INPUT with file and line
 * for everything that is wrong with the script. */
enum status script_plan(const struct script_job *job, struct plan *ret_plan, struct error *error);

#endif
