/* guide.c: a page of the field guide: what a fault looks like, why, and what it costs here.
 *
 *   guide:
 *     symptom: GPUDirect works, throughput halves
 *     cause: ACS redirect on a port between GPU and NIC
 *     see: lspci -vvv on each hop
 *     fix: disable ACS, or ATS in a VM
 *     healthy: {node.links.sw0-nic0.acs: none}
 *
 * The scenario itself is the broken machine; `healthy` is what to set to have it mended.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim/cli/cli.h"
#include "sim/load/expect.h"
#include "sim/load/objects.h"
#include "sim/report/limit.h"
#include "sim/report/paths.h"

static const char *const keys[] = {"symptom", "cause", "see", "fix", "healthy"};

static enum status run_times(const struct scenario *scenario, const char *algorithm,
                             struct experiment *experiment, struct results *ret,
                             struct error *error)
{
    enum status status = experiment_open(experiment, scenario, algorithm, error);
    if (status)
        return status;
    status = experiment_run(experiment, scenario->accounting, ret, error);
    if (status)
        experiment_close(experiment);
    return status;
}

static void write_costs(struct text *text, const struct results *broken,
                        const struct results *healthy)
{
    text_printf(text, "\n%14s %14s %14s %8s\n", "size B", "as it is us", "mended us", "costs x");
    for (size_t s = 0; s < broken->size_count; s++) {
        double slow = (double)results_at(broken, s, 0)->total_ps / 1e6;
        double fast = (double)results_at(healthy, s, 0)->total_ps / 1e6;
        text_printf(text, "%14.0f %14.2f %14.2f %8.2f\n", broken->sizes_B[s], slow, fast,
                    fast > 0 ? slow / fast : 0);
    }
    size_t last = broken->size_count - 1;
    const struct ledger *ledgers[2] = {results_at(broken, last, 0), results_at(healthy, last, 0)};
    text_printf(text, "limited by: ");
    limit_write(text, ledgers[0], broken->machine);
    text_printf(text, "; mended: ");
    limit_write(text, ledgers[1], healthy->machine);
    text_printf(text, "\n");
}

static enum status compare(const struct options *options, struct scenario *broken,
                           struct scenario *healthy, struct text *text, bool *ret_hangs,
                           struct error *error)
{
    struct experiment experiments[2];
    struct results results[2];
    enum status status = run_times(broken, options->algorithm, &experiments[0], &results[0], error);
    *ret_hangs = status && mechanism_hangs(error);
    if (*ret_hangs) {
        text_printf(text, "\nas it is, %s\n", error->message);
        return STATUS_OK;
    }
    if (status)
        return status;
    status = run_times(healthy, options->algorithm, &experiments[1], &results[1], error);
    if (!status) {
        text_printf(text, "\n");
        paths_write(text, &experiments[0].routes[0]);
        write_costs(text, &results[0], &results[1]);
        experiment_free_results(&results[1]);
        experiment_close(&experiments[1]);
    }
    experiment_free_results(&results[0]);
    experiment_close(&experiments[0]);
    return status;
}

int cli_guide(const struct options *options, struct scenario *scenario, struct text *text,
              bool *ret_hangs)
{
    struct object_reader reader = {&scenario->diag, NULL};
    struct yaml_node *guide = yaml_map_get(scenario->tree->root, "guide");
    struct options mended = *options;
    struct scenario healthy;
    struct error error;
    char *set[EXPECT_MAX_SET];
    mended.quiet = true;
    *ret_hangs = false;
    if (!guide || yaml_check_keys(guide, keys, 5, "guide", &scenario->diag)) {
        if (!guide)
            diag_add(&scenario->diag, scenario->tree->root->mark, NULL,
                     "report: guide needs the block guide");
        return cli_fail_scenario(scenario, STATUS_INPUT);
    }
    for (int i = 0; i < 4; i++) {
        struct yaml_node *node = yaml_map_get(guide, keys[i]);
        const char *words = node ? object_text(&reader, node, keys[i]) : NULL;
        text_printf(text, "%-8s %s\n", keys[i], words ? words : "-");
    }
    size_t count = expect_read_set(scenario, yaml_map_get(guide, "healthy"), set, EXPECT_MAX_SET);
    for (size_t i = 0; i < count && mended.set_count < CLI_MAX_SET; i++)
        mended.set[mended.set_count++] = set[i];
    int code = diag_count(&scenario->diag) ? cli_fail_scenario(scenario, STATUS_INPUT)
                                           : cli_load(&mended, &healthy);
    if (!code) {
        code = compare(options, scenario, &healthy, text, ret_hangs, &error) ? cli_fail(&error)
                                                                             : EXIT_FINE;
        scenario_free(&healthy);
    }
    for (size_t i = 0; i < count; i++)
        free(set[i]);
    return code;
}
