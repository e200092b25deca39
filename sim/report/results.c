/* results.c: see results.h. */
#include "sim/report/results.h"

double results_algbw_Bps(const struct results *results, size_t size, size_t column)
{
    double seconds = (double)results_at(results, size, column)->total_ps * 1e-12;
    return seconds > 0 ? results->sizes_B[size] / seconds : 0;
}

double results_busbw_Bps(const struct results *results, size_t size, size_t column)
{
    const struct plan *plan = results->columns[column].plan;
    return results_algbw_Bps(results, size, column) *
           collective_busbw_factor(plan->collective, plan->ranks);
}

static double per_byte(const struct results *results, size_t size, size_t column, double bytes)
{
    const struct plan *plan = results->columns[column].plan;
    /* Of a job of transfers the size is the whole, not a rank's. */
    double all =
        results->sizes_B[size] * (plan->collective == COLLECTIVE_TRANSFERS ? 1 : plan->ranks);
    return all > 0 ? bytes / all : 0;
}

double results_crossing_ratio(const struct results *results, size_t size, size_t column)
{
    return per_byte(results, size, column, results_at(results, size, column)->crossing_bytes);
}

double results_wire_ratio(const struct results *results, size_t size, size_t column)
{
    return per_byte(results, size, column, results_at(results, size, column)->wire_bytes);
}

size_t results_crossings_per_step(const struct results *results, size_t size, size_t column)
{
    const struct routes *routes = results->columns[column].routes;
    const struct ledger *ledger = results_at(results, size, column);
    size_t ports = results->machine->node.port_count;
    size_t most[3] = {0, 0, 0}; /* sends, passes up, passes down */
    for (size_t slot = 0; slot < ledger->route_count; slot++) {
        size_t place = slot % (2 * ports * ports + 2 * ports);
        size_t kind = place < 2 * ports * ports ? 0 : place < 2 * ports * ports + ports ? 1 : 2;
        if (!routes->slot[slot] || !(ledger->route_bytes[slot] > 0))
            continue;
        size_t crossings = route_count_legs(routes->slot[slot], LEG_CROSSING);
        if (crossings > most[kind])
            most[kind] = crossings;
    }
    return most[0] + most[1] + most[2];
}

void results_print_MB(struct text *text, double size_B)
{
    text_printf(text, "%.10g", size_B / 1e6);
}

const char *results_untraced(const struct results *results)
{
    const char *why = "";
    for (size_t i = 0; i < results->size_count * results->column_count && !*why; i++)
        why = ledger_untraced(&results->ledgers[i]);
    return why;
}
