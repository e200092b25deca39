/* ledger.c: see ledger.h. */
#include "sim/core/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/odd.h"

enum status ledger_init(struct ledger *ledger, const struct routes *routes, struct error *error)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->resource_count = routes->machine->node.resource_count;
    ledger->kinds = routes->kinds;
    ledger->route_count = routes->slot_count;
    ledger->resources = calloc(ledger->resource_count, sizeof *ledger->resources);
    ledger->critical = calloc(ledger_critical_count(ledger), sizeof *ledger->critical);
    ledger->route_bytes = calloc(ledger->route_count, sizeof *ledger->route_bytes);
    if (ledger->resources && ledger->critical && ledger->route_bytes)
        return STATUS_OK;
    ledger_free(ledger);
    return error_set(error, STATUS_NOMEM, "out of memory");
}

enum status ledger_renew(struct ledger *ledger, const struct routes *routes, struct error *error)
{
    if (ledger->resource_count != routes->machine->node.resource_count ||
        ledger->kinds != routes->kinds || ledger->route_count != routes->slot_count) {
        ledger_free(ledger);
        return ledger_init(ledger, routes, error);
    }
    const struct ledger kept = {.resource_count = ledger->resource_count,
                                .kinds = ledger->kinds,
                                .resources = ledger->resources,
                                .critical = ledger->critical,
                                .route_bytes = ledger->route_bytes,
                                .route_count = ledger->route_count};
    *ledger = kept;
    memset(kept.resources, 0, kept.resource_count * sizeof *kept.resources);
    memset(kept.critical, 0, ledger_critical_count(&kept) * sizeof *kept.critical);
    memset(kept.route_bytes, 0, kept.route_count * sizeof *kept.route_bytes);
    return STATUS_OK;
}

void ledger_free(struct ledger *ledger)
{
    if (!ledger)
        return;
    free(ledger->resources);
    free(ledger->critical);
    free(ledger->route_bytes);
    memset(ledger, 0, sizeof *ledger);
}

const char *ledger_category_name(const struct ledger *ledger, const struct machine *machine,
                                 size_t category)
{
    static const char *const names[CATEGORY_COUNT] = {
        [CATEGORY_STEP_HANDOFF] = "software: post a transfer",
        [CATEGORY_COPY_HANDOFF] = "software: change hands at a bounce buffer",
        [CATEGORY_PCIE_LATENCY] = "link and device latency",
        [CATEGORY_WIRE_LATENCY] = "wire and switch latency",
        [CATEGORY_SETUP] = "registration, once",
        [CATEGORY_LAUNCH] = "software: launch of the call",
    };
    if (category < ledger->resource_count)
        return machine->node.resources[category].name;
    return names[category - ledger->resource_count];
}

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)
const char *ledger_untraced(const struct ledger *ledger)
{
    if (!ledger->traced && ledger->why_untraced)
        return ledger->why_untraced;
    return ledger->traced || ledger->total_ps == 0
               ? ""
               : "more than " TEXT(LEDGER_MAX_TRACED) " stages and waits: the critical path is not "
                                                      "followed, and the busiest resource is named";
}

void ledger_how(const struct ledger *ledger, const struct machine *machine, char *ret_text,
                size_t size)
{
    char fold[112] = "", skip[64] = "";
    const uint32_t kept = machine->node_count / ledger->nodes_alike;
    if (ledger->nodes_alike > 1)
        snprintf(fold, sizeof fold, "%u node%s for all %u%s; ", kept,
                 kept == 1 ? " stands" : "s stand", machine->node_count,
                 machine_kind_count(machine) > 1 ? ", in what is used here all are alike" : "");
    if (ledger->skipped > 0)
        snprintf(skip, sizeof skip, "%llu slices only repeat others; ",
                 (unsigned long long)ledger->skipped);
    snprintf(ret_text, size, "%s%s%s%s%s", fold, skip,
             ledger->queued ? "through the event queue" : "no queue needed",
             ledger->why_queued ? ", because " : "", ledger->why_queued ? ledger->why_queued : "");
}

size_t ledger_limit(const struct ledger *ledger)
{
    size_t best = 0;
    if (ledger->traced) {
        for (size_t i = 1; i < ledger->resource_count + CATEGORY_COUNT; i++)
            if (ledger->critical[i] > ledger->critical[best])
                best = i;
        return best;
    }
    for (size_t i = 1; i < ledger->resource_count; i++)
        if (ledger->resources[i].busy_most_ps > ledger->resources[best].busy_most_ps)
            best = i;
    return best;
}

size_t ledger_category_kind(const struct ledger *ledger, size_t category)
{
    if (category >= ledger->resource_count)
        return 0;
    size_t kind = ledger->traced ? 0 : ledger->resources[category].busy_most_kind;
    for (size_t k = 1; k < ledger->kinds && ledger->traced; k++)
        if (2 * ledger->critical[ledger_kind(ledger, k) + category] > ledger->critical[category])
            kind = k;
    return kind;
}
