/* ledger.h: where time and bytes of one run went. */
#ifndef GDSIM_CORE_LEDGER_H
#define GDSIM_CORE_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/core/routes.h"
#include "sim/core/status.h"

/* What time on the critical path was spent on: first one category per resource of a node, then
 * these. */
enum ledger_category {
    CATEGORY_STEP_HANDOFF,
    CATEGORY_COPY_HANDOFF,
    CATEGORY_PCIE_LATENCY,
    CATEGORY_WIRE_LATENCY,
    CATEGORY_SETUP,
    CATEGORY_LAUNCH,
    CATEGORY_COUNT
};

/* One resource, taken together over all nodes. */
struct ledger_resource {
    double bytes;    /* payload, all nodes; a memcpy reads and writes: twice its bytes in DRAM */
    int64_t busy_ps; /* all nodes */
    int64_t busy_most_ps;   /* the busiest node */
    uint8_t busy_most_kind; /* of which kind it is */
};

/* Stages and waits of a run whose critical path is followed, at most: 24 bytes each. */
#define LEDGER_MAX_TRACED 1048576

struct ledger {
    int64_t total_ps;
    uint64_t transfers, slices; /* of all ranks */
    uint64_t skipped;           /* slices that repeated others, of those; see steady.h */
    bool queued;                /* through the event queue; else see order.h */
    const char *why_queued;     /* why it could not be without; NULL: not tried */
    uint64_t events;            /* stages of slices, on the simulated nodes */
    uint32_t nodes_alike;       /* nodes that each simulated node stands for; see fold.h */
    double crossing_bytes;      /* payload bytes times PCIe crossings, all ranks */
    double wire_bytes;          /* payload bytes times wire passes, all ranks */
    size_t resource_count;      /* of one node */
    size_t kinds;               /* of nodes */
    struct ledger_resource *resources;
    bool traced;              /* whether critical is filled; */
    const char *why_untraced; /* why not; NULL: too many stages */
    /* resource_count + CATEGORY_COUNT entries; they add up to total_ps. Then, where there are odd
     * nodes, resource_count for each kind of them: the part of it that was spent there. */
    int64_t *critical;
    double *route_bytes; /* payload bytes by slot of struct routes */
    size_t route_count;
};

enum status ledger_init(struct ledger *ledger, const struct routes *routes, struct error *error);
/* Again for another run: keeps its memory where that fits. `ledger` is of ledger_init, or zeros. */
enum status ledger_renew(struct ledger *ledger, const struct routes *routes, struct error *error);
void ledger_free(struct ledger *ledger);

/* Entries of `critical`, and where those of a kind of odd nodes begin. */
static inline size_t ledger_kind(const struct ledger *ledger, size_t kind)
{
    return ledger->resource_count * kind + CATEGORY_COUNT;
}
static inline size_t ledger_critical_count(const struct ledger *ledger)
{
    return ledger_kind(ledger, ledger->kinds);
}

/* Name of a category: a resource of the machine, or the words for the rest. */
const char *ledger_category_name(const struct ledger *ledger, const struct machine *machine,
                                 size_t category);

/* How the run was gone through, in words: what was folded, skipped, queued and why. */
void ledger_how(const struct ledger *ledger, const struct machine *machine, char *ret_text,
                size_t size);

/* Why the critical path has no shares, in words; "" where it has. */
const char *ledger_untraced(const struct ledger *ledger);

/* The one category that holds most of the critical path (or, untraced, the busiest resource). What
 * limits the run, equals taken together: sim/report/limit.h. */
size_t ledger_limit(const struct ledger *ledger);

/* The kind of nodes whose resource takes most of a category's time; 0: usual ones. */
size_t ledger_category_kind(const struct ledger *ledger, size_t category);

#endif
