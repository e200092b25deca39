/* script_notes.c: what a run has to say about its scripts; see cli.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/cli.h"
#include "sim/core/units.h"
#include "sim/core/verify.h"

/* Beyond this a proof would take longer than the run. */
#define PROVE_MOST_TRANSFERS 200000u
#define COSTS_MOST           8u

/* Scripts of lua/ are proven by the tests. */
static bool is_ours(const struct plan *plan)
{
    const char *root = cli_root();
    char folder[sizeof plan->source];
    snprintf(folder, sizeof folder, "%s/lua/", root ? root : "");
    return strncmp(plan->source, folder, strlen(folder)) == 0;
}

static void how_to_prove(const struct plan *plan, const char *why)
{
    fprintf(stderr, "# %s is not proven%s: gdsim verify %s --ranks 2-33\n", plan->source, why,
            plan->source);
}

void cli_prove(const struct plan *plan)
{
    if (plan->collective == COLLECTIVE_TRANSFERS || is_ours(plan))
        return;
    for (const struct plan *at = plan; at; at = at->larger) {
        struct verdict verdict;
        struct error error;
        if ((double)at->steps * at->ranks > PROVE_MOST_TRANSFERS) {
            how_to_prove(plan, " here, for so many ranks");
            return;
        }
        if (verify_plan(at, &verdict, &error)) {
            if (error.line == 0) /* else the run itself meets the mistake */
                how_to_prove(plan, "");
            return;
        }
        if (verdict.correct)
            continue;
        fprintf(stderr, "# %s", plan->source);
        if (verdict.line > 0) /* what is missing at the end has none */
            fprintf(stderr, ":%u", verdict.line);
        fprintf(stderr, ": %s for %u ranks, so its times mean little: %s\n",
                verdict.unbounded ? "UNBOUNDED" : "WRONG", at->ranks, verdict.sentence);
        return;
    }
}

static bool costs_before(const struct plan *plan, uint32_t op)
{
    for (uint32_t i = 0; i < op; i++)
        if (plan->ops[i].line == plan->ops[op].line && plan->ops[i].cost_s == plan->ops[op].cost_s)
            return true;
    return false;
}

void cli_costs(struct text *text, const struct plan *plan)
{
    const struct plan *smaller = NULL;
    unsigned said = 0;
    for (const struct plan *at = plan; at; smaller = at, at = at->larger)
        for (uint32_t i = 0; i < at->op_count; i++) {
            char cost[UNITS_TEXT_MAX], size[UNITS_TEXT_MAX];
            if (!(at->ops[i].cost_s > 0) || costs_before(at, i))
                continue;
            if (said++ == COSTS_MOST) {
                text_printf(text, "# %s.lua adds to more transfers\n", plan->name);
                return;
            }
            text_printf(text, "# %s.lua line %u adds %s to each of its transfers", plan->name,
                        at->ops[i].line,
                        units_format(at->ops[i].cost_s, DIM_TIME, cost, sizeof cost));
            if (at->larger)
                text_printf(text, ", up to %s",
                            units_format(at->up_to_B, DIM_BYTES, size, sizeof size));
            else if (smaller)
                text_printf(text, ", above %s",
                            units_format(smaller->up_to_B, DIM_BYTES, size, sizeof size));
            text_printf(text, "\n");
        }
}

bool cli_same_script(const struct experiment *experiment, size_t column)
{
    for (size_t c = 0; c < column; c++)
        if (strcmp(experiment->plans[c].source, experiment->plans[column].source) == 0)
            return true;
    return false;
}
