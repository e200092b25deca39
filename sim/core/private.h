/* private.h: resources that someone has for himself.
 *
 * A channel of an SM copy belongs to one lane of a rank; the requests between two peers through a
 * root complex belong to that pair of devices, whichever lanes use it. Nobody else stands in the
 * way there, but the slices of the owner follow each other. Who owns what shows only as the run
 * goes on, so each rank keeps a short list.
 */
#ifndef GDSIM_CORE_PRIVATE_H
#define GDSIM_CORE_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

#include "sim/core/fold.h"
#include "sim/core/trace.h"

struct private_use {
    uint32_t resource; /* of the rank's node */
    uint32_t owner;    /* lane, or the other device */
    int64_t free_ps;
    struct trace_cause cause; /* of its becoming free */
    struct seen seen;
};

struct privates {
    struct private_list {
        struct private_use *uses;
        size_t count, capacity;
    } * lists; /* by rank */
    uint32_t ranks;
};

enum status privates_init(struct privates *privates, uint32_t ranks, struct error *error);
void privates_free(struct privates *privates);

/* The entry, free from time 0 if it is new; good until the next call. NULL: out of memory. */
struct private_use *private_get(struct privates *privates, uint32_t rank, uint32_t resource,
                                uint32_t owner, struct error *error);

#endif
