/* nccl_scenario.c: gdsim nccl on a scenario: what NCCL would choose on its machine, beside what is
 * fastest in the engine among those of NCCL's algorithms that lua/ has. See nccl.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/measured.h"
#include "sim/cli/nccl.h"
#include "sim/core/units.h"
#include "sim/report/grid.h"
#include "sim/study/nccl_comm.h"

const struct nccl_script nccl_scripts[] = {
    {NCCL_ALLREDUCE, NCCL_TREE, "nccl_tree", NULL},
    {NCCL_ALLREDUCE, NCCL_RING, "rings", NULL},
    {NCCL_ALLREDUCE, NCCL_COLLNET_DIRECT, "collnet_direct", "sharp"},
    {NCCL_ALLREDUCE, NCCL_COLLNET_CHAIN, "collnet_chain", "sharp"},
    {NCCL_ALLREDUCE, NCCL_NVLS, "nvls", "nvls"},
    {NCCL_ALLREDUCE, NCCL_NVLS_TREE, "nvls_tree", "nvls"},
    {NCCL_ALLGATHER, NCCL_RING, "allgather_rings", NULL},
    {NCCL_ALLGATHER, NCCL_PAT, "pat", NULL},
    {NCCL_REDUCESCATTER, NCCL_RING, "reduce_scatter_rings", NULL},
    {NCCL_REDUCESCATTER, NCCL_PAT, "pat_reduce_scatter", NULL},
    {NCCL_BROADCAST, NCCL_RING, "broadcast_chain", NULL},
    {NCCL_REDUCE, NCCL_RING, "reduce_chain", NULL},
};
const size_t nccl_script_count = sizeof nccl_scripts / sizeof nccl_scripts[0];

/* One algorithm by one protocol, as the engine runs it. */
struct candidate {
    enum nccl_algorithm algorithm;
    enum nccl_protocol protocol;
    struct pair *pair;
    double time_us; /* at the size that is looked at; negative: none */
    int channels;
};

#define CANDIDATES (NCCL_ALGORITHMS * NCCL_PROTOCOLS)

struct comparison {
    struct nccl_job *job;
    const struct scenario *scenario;
    const struct mechanism *mechanism;
    enum nccl_collective collective;
    struct candidate candidates[CANDIDATES];
    size_t count;
    struct text left_out;
    size_t sizes, best; /* sizes compared; those at which NCCL's choice is the engine's fastest */
    double worst, worst_B, worst_formula; /* costs of a choice in %: engine, formula */
    size_t hopeless;                      /* runs left out */
    struct observations measured;
    double floor_us; /* the shortest measured time: what launches alone take */
    size_t judged;   /* measured sizes that take longer in the engine */
    double off;      /* sum of |engine off| at these, in % */
};

/* ---- what there is to compare -----------------------------------------------------------------
 */

static enum status add_candidate(struct comparison *comparison, const struct nccl_script *script,
                                 enum nccl_protocol protocol, struct error *error)
{
    const struct mechanism *mechanism =
        script->mechanism ? mechanism_find(script->mechanism) : comparison->mechanism;
    struct scenario variant = *comparison->scenario;
    struct candidate *candidate = &comparison->candidates[comparison->count];
    struct error why;
    char reason[800];
    param_set(&variant.machine.engine, PARAM_ENGINE_PROTOCOL, protocol_word_of(protocol),
              (struct origin){.kind = ORIGIN_SET, .file = "gdsim nccl"});
    struct pair *pair = calloc(1, sizeof *pair);
    if (!pair)
        return error_set(error, STATUS_NOMEM, "out of memory");
    enum status status = pair_open(pair, &variant, script->script, mechanism, &why);
    if (!status) {
        *candidate =
            (struct candidate){.algorithm = script->algorithm, .protocol = protocol, .pair = pair};
        comparison->count++;
        return STATUS_OK;
    }
    free(pair);
    if (status == STATUS_NOMEM)
        return error_set(error, status, "out of memory");
    cli_reason(&why, reason, sizeof reason);
    text_printf(&comparison->left_out, "# not run in the engine: %s by %s: %s\n",
                nccl_algorithm_name(script->algorithm), nccl_protocol_name(protocol), reason);
    return STATUS_OK;
}

static enum status add_candidates(struct comparison *comparison, struct error *error)
{
    const struct nccl_comm *comm = &comparison->job->comm;
    for (int a = 0; a < NCCL_ALGORITHMS; a++) {
        const struct nccl_script *script = NULL;
        bool any = false;
        for (size_t i = 0; i < nccl_script_count; i++)
            if (nccl_scripts[i].collective == comparison->collective &&
                (int)nccl_scripts[i].algorithm == a)
                script = &nccl_scripts[i];
        for (int p = 0; p < NCCL_PROTOCOLS; p++) {
            if (nccl_unavailable(comm, comparison->collective, (enum nccl_algorithm)a,
                                 (enum nccl_protocol)p))
                continue;
            any = true;
            enum status status =
                script ? add_candidate(comparison, script, (enum nccl_protocol)p, error)
                       : STATUS_OK;
            if (status)
                return status;
        }
        if (any && !script)
            text_printf(&comparison->left_out,
                        "# not run in the engine: %s, which no script of lua/ is\n",
                        nccl_algorithm_name((enum nccl_algorithm)a));
    }
    return STATUS_OK;
}

/* ---- one size ---------------------------------------------------------------------------------
 */

/* Candidates that NCCL's formula says take more than so many times its choice are not run: it was
 * never off by more than 2.4 times where it could be checked, and they take the longest to run. */
#define HOPELESS 4

static double formula_us(const struct comparison *comparison, const struct candidate *candidate,
                         double size_B)
{
    return nccl_time_us(&comparison->job->comm, &comparison->job->tuning, comparison->collective,
                        candidate->algorithm, candidate->protocol, (uint64_t)size_B, 1);
}

static bool hopeless(const struct comparison *comparison, const struct candidate *candidate,
                     double size_B, const struct nccl_choice *choice)
{
    return formula_us(comparison, candidate, size_B) > HOPELESS * choice->time_us;
}

static enum status run_candidate(const struct comparison *comparison, struct candidate *candidate,
                                 double size_B, struct error *error)
{
    struct nccl_choice choice = {.algorithm = candidate->algorithm,
                                 .protocol = candidate->protocol};
    struct engine_job job;
    struct ledger ledger;
    struct params *engine = &candidate->pair->view.machine.engine;
    nccl_spread(&comparison->job->comm, &comparison->job->tuning, comparison->collective,
                (uint64_t)size_B, &choice);
    candidate->channels = choice.channels;
    if (param_origin(&comparison->scenario->machine.engine, PARAM_ENGINE_CHANNELS)->kind ==
        ORIGIN_DEFAULT)
        param_set(engine, PARAM_ENGINE_CHANNELS, choice.channels,
                  (struct origin){.kind = ORIGIN_SET, .file = "as NCCL would take"});
    enum status status =
        experiment_job(&candidate->pair->experiment, 0, size_B, ACCOUNTING_PIPELINED, &job, error);
    job.trace = false;
    if (!status)
        status = engine_run(&job, &ledger, error);
    if (status)
        return status;
    candidate->time_us = 1e-6 * (double)ledger.total_ps;
    ledger_free(&ledger);
    return STATUS_OK;
}

/* Seconds of a row of the scenario's collective, out of place as NCCL's own table of costs means
 * it; NAN: it is none. */
static double time_of(const struct comparison *comparison, const struct observation *item)
{
    struct dataset own = measured_own(comparison->job->options->measured);
    return strstr(item->variant, "in-place") ? (double)NAN
                                             : measured_value(&own, comparison->scenario, item);
}

/* NAN: that size was not measured. */
static double measured_at(const struct comparison *comparison, double size_B)
{
    const struct observations *measured = &comparison->measured;
    for (size_t i = 0; i < measured->count; i++)
        if (time_of(comparison, &measured->items[i]) > 0 &&
            fabs(measured->items[i].size_B - size_B) < 0.5)
            return time_of(comparison, &measured->items[i]);
    return (double)NAN;
}

enum column {
    SIZE,
    ALGORITHM,
    PROTOCOL,
    CHANNELS,
    FORMULA,
    ENGINE,
    BEST_ALGORITHM,
    BEST_PROTOCOL,
    BEST_CHANNELS,
    BEST,
    BEST_FORMULA,
    COST,
    MEASURED,
    OFF
};

static const struct grid_column columns[] = {
    [SIZE] = {.name = "size_B", .title = "size B", .kind = GRID_INT},
    [ALGORITHM] = {.name = "nccl_algorithm", .title = "NCCL takes", .kind = GRID_TEXT},
    [PROTOCOL] = {.name = "nccl_protocol", .title = "by", .kind = GRID_TEXT},
    [CHANNELS] = {.name = "nccl_channels", .title = "channels", .kind = GRID_INT},
    [FORMULA] = {.name = "nccl_time_us", .title = "formula us", .kind = GRID_REAL, .decimals = 2},
    [ENGINE] = {.name = "engine_time_us", .title = "engine us", .kind = GRID_REAL, .decimals = 2},
    [BEST_ALGORITHM] = {.name = "best_algorithm", .title = "engine's best", .kind = GRID_TEXT},
    [BEST_PROTOCOL] = {.name = "best_protocol", .title = "by", .kind = GRID_TEXT},
    [BEST_CHANNELS] = {.name = "best_channels", .title = "channels", .kind = GRID_INT},
    [BEST] = {.name = "best_time_us", .title = "engine us", .kind = GRID_REAL, .decimals = 2},
    [BEST_FORMULA] = {.name = "best_nccl_time_us",
                      .title = "formula us",
                      .kind = GRID_REAL,
                      .decimals = 2},
    [COST] = {.name = "choice_costs", .title = "engine gains %", .kind = GRID_REAL, .decimals = 1},
    [MEASURED] = {.name = "measured_us", .title = "measured us", .kind = GRID_REAL, .decimals = 2},
    [OFF] = {.name = "engine_off", .title = "engine off %", .kind = GRID_REAL, .decimals = 1},
};

static enum status add_row(struct comparison *comparison, struct grid *grid, double size_B,
                           struct error *error)
{
    struct nccl_job *job = comparison->job;
    struct nccl_choice choice;
    const struct candidate *best = NULL, *chosen = NULL;
    bool any =
        nccl_choose(&job->comm, &job->tuning, comparison->collective, (uint64_t)size_B, &choice);
    for (size_t i = 0; i < comparison->count; i++) {
        struct candidate *candidate = &comparison->candidates[i];
        if (any && hopeless(comparison, candidate, size_B, &choice)) {
            comparison->hopeless++;
            continue;
        }
        enum status status = run_candidate(comparison, candidate, size_B, error);
        if (status)
            return status;
        if (!best || candidate->time_us < best->time_us)
            best = candidate;
        if (any && candidate->algorithm == choice.algorithm &&
            candidate->protocol == choice.protocol)
            chosen = candidate;
    }
    grid_row(grid);
    grid_set_int(grid, SIZE, (int64_t)size_B);
    if (any) {
        grid_set_text(grid, ALGORITHM, nccl_algorithm_name(choice.algorithm));
        grid_set_text(grid, PROTOCOL, nccl_protocol_name(choice.protocol));
        grid_set_int(grid, CHANNELS, choice.channels);
        grid_set_real(grid, FORMULA, choice.time_us);
    }
    if (chosen)
        grid_set_real(grid, ENGINE, chosen->time_us);
    double best_us = 0; /* by the formula */
    if (best) {
        best_us = formula_us(comparison, best, size_B);
        grid_set_real(grid, BEST_FORMULA, best_us);
        grid_set_text(grid, BEST_ALGORITHM, nccl_algorithm_name(best->algorithm));
        grid_set_text(grid, BEST_PROTOCOL, nccl_protocol_name(best->protocol));
        grid_set_int(grid, BEST_CHANNELS, best->channels);
        grid_set_real(grid, BEST, best->time_us);
    }
    double measured_us = 1e6 * measured_at(comparison, size_B);
    bool measured = measured_us > 0;
    if (measured)
        grid_set_real(grid, MEASURED, measured_us);
    if (measured && chosen && chosen->time_us > comparison->floor_us) {
        double off = 100 * (chosen->time_us / measured_us - 1);
        grid_set_real(grid, OFF, off);
        comparison->judged++;
        comparison->off += fabs(off);
    }
    if (!chosen || !best)
        return STATUS_OK;
    double cost = 100 * (chosen->time_us / best->time_us - 1);
    grid_set_real(grid, COST, cost);
    comparison->sizes++;
    comparison->best += chosen == best;
    if (cost > comparison->worst) {
        comparison->worst = cost;
        comparison->worst_B = size_B;
        comparison->worst_formula = 100 * (best_us / choice.time_us - 1);
    }
    return STATUS_OK;
}

/* ---- the table --------------------------------------------------------------------------------
 */

static void write_summary(const struct comparison *comparison, struct text *text)
{
    char size[UNITS_TEXT_MAX];
    if (comparison->left_out.length > 0)
        text_printf(text, "%s", comparison->left_out.data);
    if (comparison->hopeless > 0)
        text_printf(text,
                    "# %zu runs left out that the formula says take over %d times NCCL's choice\n",
                    comparison->hopeless, HOPELESS);
    if (comparison->sizes == 0)
        return;
    text_printf(text, "# at %zu of %zu sizes NCCL takes what is fastest in the engine",
                comparison->best, comparison->sizes);
    text_printf(text, "\n");
    if (comparison->worst > 0)
        text_printf(
            text,
            "# where it does not, the engine sees most to gain at %s, %.1f %%, and the formula "
            "%.1f %% to lose: two models that differ, which only a measurement can settle\n",
            units_format(comparison->worst_B, DIM_BYTES, size, sizeof size), comparison->worst,
            comparison->worst_formula);
    if (comparison->job->options->measured)
        text_printf(text,
                    "# %.2f us is the shortest measured time: where the engine says less, launches "
                    "hide the transfer\n",
                    comparison->floor_us);
    if (comparison->judged > 0)
        text_printf(text, "# the engine is off by %.1f %% on average at the %zu sizes above that\n",
                    comparison->off / (double)comparison->judged, comparison->judged);
}

/* Mistakes are printed; the exit code. */
static int read_measured(struct comparison *comparison)
{
    const char *path = comparison->job->options->measured;
    struct dataset own = measured_own(path);
    struct diag_list diag;
    diag_init(&diag);
    enum status status = measured_read(path, &comparison->measured, &diag);
    cli_warn(&diag);
    diag_free(&diag);
    if (status)
        return status == STATUS_NOMEM ? EXIT_RUN_FAILED : EXIT_BAD_INPUT;
    int code = measured_check_rows(&own, comparison->scenario, comparison->measured.items, 0,
                                   comparison->measured.count);
    comparison->floor_us = (double)INFINITY;
    for (size_t i = 0; i < comparison->measured.count; i++)
        if (time_of(comparison, &comparison->measured.items[i]) > 0)
            comparison->floor_us = fmin(comparison->floor_us,
                                        1e6 * time_of(comparison, &comparison->measured.items[i]));
    if (!code && isinf(comparison->floor_us)) {
        fprintf(stderr,
                "%s: no row of it is a measured time out of place\n"
                "  hint: all_reduce_perf -b 8 -e 1G -f 2 > FILE writes such; a CSV needs columns "
                "such as size_bytes,time_us\n",
                path);
        code = EXIT_BAD_INPUT;
    }
    return code;
}

static enum status write_comparison(struct comparison *comparison, struct text *text,
                                    struct error *error)
{
    const struct nccl_options *options = comparison->job->options;
    const struct scenario *scenario = comparison->scenario;
    const char *format = options->shared.format;
    bool human = strcmp(format, "table") == 0;
    enum status status = add_candidates(comparison, error);
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        struct grid_column column = columns[i];
        column.machine_only = i >= MEASURED && !options->measured;
        grid_column(grid, &column);
    }
    for (size_t i = 0; i < scenario->size_count && !status; i++)
        status = scenario->sizes_B[i] >= 1
                     ? add_row(comparison, grid, scenario->sizes_B[i], error)
                     : error_set(error, STATUS_INPUT, "NCCL's formula needs sizes from 1 B on");
    if (!status && human) {
        nccl_write_head(comparison->job, text);
        if (!options->graph)
            text_printf(text, "# graphs: NCCL's search in short; --graph FILE takes its own\n");
        text_printf(text, "# %s over %s; engine: pipelined, by protocol and channels\n",
                    nccl_collective_name(comparison->collective), comparison->mechanism->title);
    }
    if (!status)
        status = human                         ? grid_write_table(grid, text, error)
                 : strcmp(format, "json") == 0 ? grid_write_json(grid, text, error)
                                               : grid_write_csv(grid, text, error);
    if (!status && human)
        write_summary(comparison, text);
    grid_free(grid);
    return status;
}

/* The first of the scenario's mechanisms by which NCCL moves bytes between GPUs. */
static const struct mechanism *mechanism_of(const struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->mechanism_count; i++)
        if (protocol_serves(scenario->mechanisms[i]) &&
            scenario->mechanisms[i]->span != SPAN_SWITCH)
            return scenario->mechanisms[i];
    return mechanism_find("gdr");
}

static enum status settle(struct nccl_job *job, const struct scenario *scenario,
                          const struct mechanism *mechanism, struct error *error)
{
    const struct nccl_options *options = job->options;
    struct nccl_comm *comm = &job->comm;
    struct nccl_comm found;
    enum status status = nccl_comm_of(&scenario->machine, mechanism, &found, error);
    if (status)
        return status;
    if (options->graph)
        memcpy(found.graphs, comm->graphs, sizeof found.graphs);
    *comm = found;
    comm->collnet = comm->collnet_gather = options->collnet || comm->collnet;
    comm->nvls = comm->nvls && !options->no_nvls;
    if (options->version)
        comm->version = options->version;
    job->algo = options->algo;
    job->proto = options->proto;
    if (!nccl_restrict(comm, job->algo, job->proto)) {
        error_set(error, STATUS_INPUT, "--algo or --proto has words that gdsim does not know");
        return error_hint(error, "as in ring,tree or ^ll128 or allreduce:tree");
    }
    comm->channels = (int)param_get(&scenario->machine.engine, PARAM_ENGINE_CHANNELS);
    nccl_tune(comm, &job->tuning);
    job->derived = nccl_channels(comm);
    return STATUS_OK;
}

int nccl_scenario(struct nccl_job *job)
{
    const struct nccl_options *options = job->options;
    struct scenario scenario;
    struct error error;
    struct text text = {0};
    int code = cli_load(&options->shared, &scenario);
    if (code)
        return code;
    struct comparison comparison = {
        .job = job, .scenario = &scenario, .mechanism = mechanism_of(&scenario)};
    enum status status = STATUS_OK;
    if (!nccl_collective_of(scenario.collective, &comparison.collective))
        status = error_set(&error, STATUS_INPUT, "NCCL's formula does not know %s",
                           collective_name(scenario.collective));
    bool told = !status && options->measured && (code = read_measured(&comparison)) != EXIT_FINE;
    if (!status && !told)
        status = settle(job, &scenario, comparison.mechanism, &error);
    if (!status && !told)
        status = write_comparison(&comparison, &text, &error);
    if (!told)
        code = status ? cli_fail(&error) : cli_write(&options->shared, &text);
    for (size_t i = 0; i < comparison.count; i++) {
        pair_close(comparison.candidates[i].pair);
        free(comparison.candidates[i].pair);
    }
    observations_free(&comparison.measured);
    text_free(&comparison.left_out);
    text_free(&text);
    scenario_free(&scenario);
    return code;
}
