/* sweep_point.c: one point of a sweep: its machine, its run, its row. See sweep.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/sweep.h"
#include "sim/core/protocol.h"

struct sweep_worker {
    struct sweep *sweep;
    const struct variant *variant;
    size_t variant_index;
    struct machine machine; /* the variant's, with the numbers of the last point */
    bool has_machine;
    double numbers[AXES_MAX]; /* of the machine */
    enum status status;       /* of the machine */
    struct error error;
    struct routes *routes; /* by place in the table of mechanisms; with `made`, of this machine */
    bool *made;
    uint32_t
        *room_for; /* groups of a switch's plan that this machine was found to hold; likewise */
    const struct plan_entry **plans; /* by algorithm and mechanism; of this machine */
    struct engine **engines;         /* likewise; each remembers what it found out about its plan,
                                        which the sweep keeps */
    size_t algorithms;
    struct cell *cells;
    char limit[LIMIT_NAME_MAX]; /* in one of them */
    struct cell_memo *memos;    /* of the columns */
    struct settled **settled;   /* likewise, by a protocol; of this machine */
};

struct sweep_worker *sweep_worker_new(struct sweep *sweep)
{
    struct sweep_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return NULL;
    worker->sweep = sweep;
    worker->algorithms =
        sweep->algorithm_axis == SIZE_MAX ? 1 : sweep->axis[sweep->algorithm_axis].from->count;
    worker->routes = calloc(mechanism_count, sizeof *worker->routes);
    worker->made = calloc(mechanism_count, sizeof *worker->made);
    worker->room_for = calloc(mechanism_count, sizeof *worker->room_for);
    worker->plans = calloc(mechanism_count * worker->algorithms, sizeof *worker->plans);
    worker->engines = calloc(mechanism_count * worker->algorithms, sizeof *worker->engines);
    worker->settled = calloc(mechanism_count * worker->algorithms, sizeof *worker->settled);
    worker->cells = calloc(sweep->column_count, sizeof *worker->cells);
    worker->memos = calloc(sweep->column_count, sizeof *worker->memos);
    if (!worker->routes || !worker->made || !worker->room_for || !worker->plans ||
        !worker->engines || !worker->settled || !worker->cells || !worker->memos) {
        sweep_worker_free(worker);
        return NULL;
    }
    return worker;
}

/* What belongs to the machine as it was. */
static void forget_routes(struct sweep_worker *worker)
{
    for (size_t i = 0; i < mechanism_count; i++) {
        if (worker->made[i])
            routes_free(&worker->routes[i]);
        worker->made[i] = false;
        worker->room_for[i] = 0;
    }
    for (size_t i = 0; i < mechanism_count * worker->algorithms; i++)
        settle_free(&worker->settled[i]);
}

void sweep_worker_free(struct sweep_worker *worker)
{
    if (!worker)
        return;
    if (worker->made && worker->room_for && worker->routes && worker->engines && worker->settled)
        forget_routes(worker);
    for (size_t i = 0; worker->engines && i < mechanism_count * worker->algorithms; i++)
        engine_free(worker->engines[i]);
    free(worker->engines);
    free(worker->settled);
    if (worker->has_machine)
        machine_free(&worker->machine);
    free(worker->routes);
    free(worker->made);
    free(worker->room_for);
    free(worker->plans);
    free(worker->cells);
    free(worker->memos);
    free(worker);
}

/* ---- the machine of a point ------------------------------------------------------------------ */

static void set_number(struct sweep_worker *worker, size_t axis, double number)
{
    const struct addresses *all = &worker->variant->numbers[axis];
    for (size_t i = 0; i < all->count; i++) {
        struct params *params = address_params(&worker->machine, &all->at[i]);
        if (params)
            param_set(params, all->at[i].id, number, (struct origin){.kind = ORIGIN_SET});
        else
            worker->machine.node_count = (uint32_t)number;
    }
    worker->numbers[axis] = number;
}

static bool differ(double a, double b)
{
    return memcmp(&a, &b, sizeof a) != 0;
}

/* Bring the worker's machine to the point; what depends on it is forgotten only if it changes. */
static enum status take_machine(struct sweep_worker *worker, const struct design_value *values)
{
    struct sweep *sweep = worker->sweep;
    size_t index = worker->variant_index;
    bool fresh = !worker->variant, changed = false, ranks = false;
    if (fresh || sweep->variant_count > 1) {
        const struct variant *variant = sweep_variant(sweep, values, &index);
        if (!variant)
            return STATUS_NOMEM;
        fresh = fresh || index != worker->variant_index;
        worker->variant = variant;
    }
    if (fresh) {
        worker->variant_index = index;
        forget_routes(worker);
        if (worker->has_machine)
            machine_free(&worker->machine);
        worker->has_machine = false;
        worker->status = worker->variant->error.status;
        worker->error = worker->variant->error;
        if (!worker->status &&
            machine_copy(&worker->variant->scenario.machine, &worker->machine, &worker->error))
            return STATUS_NOMEM;
        worker->has_machine = !worker->status;
        memset(worker->plans, 0, mechanism_count * worker->algorithms * sizeof *worker->plans);
    }
    for (size_t i = 0; worker->has_machine && i < sweep->count; i++) {
        if (sweep->axis[i].role != ROLE_NUMBER)
            continue;
        double number = sweep_number(&sweep->axis[i], &values[i]);
        if (!fresh && !differ(number, worker->numbers[i]))
            continue;
        changed = true;
        ranks = ranks || worker->variant->numbers[i].at[0].place == ADDRESS_NODES;
        set_number(worker, i, number);
    }
    if (!worker->has_machine || (!fresh && !changed))
        return STATUS_OK;
    forget_routes(worker);
    if (ranks)
        memset(worker->plans, 0, mechanism_count * worker->algorithms * sizeof *worker->plans);
    worker->status = machine_finish(&worker->machine, &worker->error);
    return worker->status == STATUS_NOMEM ? STATUS_NOMEM : STATUS_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* What a point asks for, whether it runs or not. */
struct request {
    const struct mechanism *mechanism;
    const char *algorithm;
    size_t algorithm_index;
    enum accounting accounting;
    double size_B;
};

static struct request request_of(const struct sweep *sweep, const struct design_value *values)
{
    struct request request = {.algorithm = sweep_algorithm(sweep, values),
                              .accounting = sweep->base.accounting};
    const struct sweep_axis *mechanisms = &sweep->axis[sweep->mechanism_axis];
    request.mechanism = mechanisms->mechanisms[values[sweep->mechanism_axis].index];
    request.size_B = sweep_number(&sweep->axis[sweep->size_axis], &values[sweep->size_axis]);
    if (sweep->algorithm_axis != SIZE_MAX)
        request.algorithm_index = values[sweep->algorithm_axis].index;
    if (sweep->accounting_axis != SIZE_MAX)
        request.accounting =
            sweep->axis[sweep->accounting_axis].accountings[values[sweep->accounting_axis].index];
    return request;
}

static void set_text(struct cell *cell, const char *text)
{
    *cell = (struct cell){.present = text != NULL, .as.text = text};
}

/* Columns of the point and its axes. `words` keeps texts of sampled values. */
static void fill_axes(struct sweep_worker *worker, uint64_t point,
                      const struct design_value *values)
{
    const struct sweep *sweep = worker->sweep;
    struct cell *cell = worker->cells;
    *cell++ = (struct cell){.present = true, .as.integer = (int64_t)point};
    for (size_t i = 0; i < sweep->count; i++) {
        const struct sweep_axis *axis = &sweep->axis[i];
        if (!axis->has_column)
            continue;
        if (axis->column.kind == GRID_TEXT)
            set_text(cell, axis->from->values[values[i].index].text);
        else if (axis->column.kind == GRID_INT)
            *cell = (struct cell){.present = true,
                                  .as.integer = (int64_t)sweep_number(axis, &values[i])};
        else
            *cell = (struct cell){.present = true,
                                  .as.real = sweep_number(axis, &values[i]) / axis->unit};
        cell++;
    }
}

static void fill_result(struct sweep_worker *worker, const struct result_column *column,
                        const struct machine *machine, const struct request *request,
                        const struct ledger *ledger)
{
    const struct results results = {.machine = machine,
                                    .accounting = request->accounting,
                                    .columns = column,
                                    .column_count = 1,
                                    .sizes_B = &request->size_B,
                                    .size_count = 1,
                                    .ledgers = ledger};
    struct cell *tidy = &worker->cells[worker->sweep->first_tidy];
    tidy_cells(&results, 0, 0, worker->limit, tidy);
    set_text(&tidy[TIDY_COLUMNS], "ok");
    tidy[TIDY_COLUMNS + 1] = (struct cell){.present = false};
}

/* A point that does not run still says what it was. */
static void fill_refusal(struct sweep_worker *worker, const struct request *request,
                         const struct error *error, char *reason, size_t size)
{
    struct cell *tidy = &worker->cells[worker->sweep->first_tidy];
    memset(tidy, 0, TIDY_COLUMNS * sizeof *tidy);
    set_text(&tidy[0], collective_name(worker->sweep->base.collective));
    set_text(&tidy[1], request->algorithm);
    set_text(&tidy[2], request->mechanism->name);
    set_text(&tidy[3], accounting_name(request->accounting));
    tidy[5] = (struct cell){.present = true, .as.real = request->size_B};
    cli_reason(error, reason, size);
    for (char *c = reason; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    set_text(&tidy[TIDY_COLUMNS], mechanism_hangs(error)           ? "hangs"
                                  : error->status == STATUS_FAILED ? "failed"
                                                                   : "refused");
    set_text(&tidy[TIDY_COLUMNS + 1], reason);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Run the point on the worker's machine. */
static enum status run_point(struct sweep_worker *worker, const struct request *request,
                             struct error *error)
{
    size_t at = (size_t)(request->mechanism - mechanism_table);
    const struct plan_entry **plan =
        &worker->plans[request->algorithm_index * mechanism_count + at];
    if (worker->status) {
        *error = worker->error;
        return error->status;
    }
    if (!*plan)
        *plan = sweep_plan(worker->sweep, worker->variant, &worker->machine,
                           request->algorithm_index, request->mechanism);
    if (!*plan)
        return error_set(error, STATUS_NOMEM, "out of memory");
    uint32_t groups = (*plan)->groups;
    if (groups > 0 && worker->room_for[at] != groups) {
        if (pair_has_room(request->mechanism, &worker->machine, groups, error))
            return error->status;
        worker->room_for[at] = groups;
    }
    if ((*plan)->status) {
        *error = (*plan)->error;
        return error->status;
    }
    if (!worker->made[at]) {
        if (routes_init(&worker->routes[at], &worker->machine, request->mechanism, error))
            return error->status;
        worker->made[at] = true;
    }
    struct routes *routes;
    if (settle_routes(&worker->settled[request->algorithm_index * mechanism_count + at],
                      &worker->routes[at], &(*plan)->plan, request->size_B, &routes, error))
        return error->status;
    const struct engine_job job = {.plan = &(*plan)->plan,
                                   .routes = routes,
                                   .size_B = request->size_B,
                                   .accounting = request->accounting,
                                   .trace = true,
                                   .walk = worker->sweep->base.walk};
    const struct ledger *ledger;
    struct engine **engine = &worker->engines[request->algorithm_index * mechanism_count + at];
    if (!*engine && engine_new(engine, error))
        return error->status;
    enum status status = engine_rerun(*engine, &job, &ledger, error);
    if (status) {
        if (error->line && !error->file[0])
            snprintf(error->file, sizeof error->file, "%s", job.plan->source);
        return status;
    }
    const struct result_column column = {request->mechanism, job.plan, job.routes};
    fill_result(worker, &column, routes->machine, request, ledger);
    return STATUS_OK;
}

/* --plain: read the scenario with all values of the point, open and run it, as `gdsim run` does. */
struct plain_run {
    struct scenario scenario;
    struct pair pair;
    struct results results;
    bool loaded, open, ran;
};

static enum status plain_set(struct sweep_worker *worker, const struct design_value *values,
                             const char **set, size_t *count, struct text *own)
{
    struct sweep *sweep = worker->sweep;
    size_t index, starts[CLI_MAX_SET], first = *count;
    const struct variant *variant = sweep_variant(sweep, values, &index);
    char key[128], number[64];
    for (size_t i = 0; variant && i < sweep->count; i++) {
        const struct sweep_axis *axis = &sweep->axis[i];
        const struct addresses *all = &variant->numbers[i];
        bool structure = axis->role == ROLE_STRUCTURE;
        if (!structure && axis->role != ROLE_NUMBER)
            continue;
        for (size_t s = 0; s < (structure ? 1 : all->count); s++) {
            if (*count == CLI_MAX_SET)
                return STATUS_INPUT;
            if (!structure)
                address_key(&variant->scenario.machine, &all->at[s], key, sizeof key);
            starts[(*count)++] = own->length;
            text_printf(own, "%s=%s%c", structure ? axis->from->key : key,
                        sweep_text(axis, &values[i], number, sizeof number), 0);
        }
    }
    for (size_t i = first; i < *count && !own->failed; i++)
        set[i] = own->data + starts[i];
    return variant && !own->failed ? STATUS_OK : STATUS_NOMEM;
}

static enum status run_plain(struct sweep_worker *worker, const struct design_value *values,
                             struct request *request, struct plain_run *run, struct error *error)
{
    struct sweep *sweep = worker->sweep;
    const struct options *shared = &sweep->options->shared;
    const char *set[CLI_MAX_SET];
    size_t count = shared->set_count;
    struct text own = {0};
    memcpy(set, shared->set, count * sizeof *set);
    enum status status = plain_set(worker, values, set, &count, &own);
    if (status) {
        text_free(&own);
        return status == STATUS_NOMEM
                   ? error_set(error, status, "out of memory")
                   : error_set(error, status, "the point sets more than %d keys", CLI_MAX_SET);
    }
    struct scenario_request read = {
        .path = shared->file, .root = sweep->root, .set = set, .set_count = count};
    status = scenario_load(&read, &run->scenario);
    run->loaded = true;
    text_free(&own);
    if (status) {
        const struct diag *first = diag_get(&run->scenario.diag, 0);
        return error_set(error, status, "%s", first ? first->message : "cannot be read");
    }
    status = pair_open(&run->pair, &run->scenario, request->algorithm, request->mechanism, error);
    if (status)
        return status;
    run->open = true;
    run->pair.view.walk = sweep->base.walk;
    run->pair.view.sizes_B = &request->size_B;
    run->pair.view.size_count = 1;
    status = experiment_run(&run->pair.experiment, request->accounting, &run->results, error);
    run->ran = !status;
    if (!status)
        fill_result(worker, run->results.columns, run->results.machine, request,
                    run->results.ledgers);
    return status;
}

static void plain_close(struct plain_run *run)
{
    if (run->ran)
        experiment_free_results(&run->results);
    if (run->open)
        pair_close(&run->pair);
    if (run->loaded)
        scenario_free(&run->scenario);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static enum status add_row(struct sweep_worker *worker, uint64_t point, struct text *text,
                           double *ret_us)
{
    const struct sweep *sweep = worker->sweep;
    struct design_value values[AXES_MAX];
    struct error error;
    char reason[800];
    struct plain_run plain;
    design_at(&sweep->design, point, values);
    struct request request = request_of(sweep, values);
    error.file[0] = error.hint[0] = '\0';
    error.line = 0;
    enum status status = sweep->options->plain ? STATUS_OK : take_machine(worker, values);
    bool in_full = sweep->options->plain;
    if (in_full) {
        memset(&plain, 0, sizeof plain);
        status = run_plain(worker, values, &request, &plain, &error);
    } else if (!status) {
        status = run_point(worker, &request, &error);
    }
    fill_axes(worker, point, values);
    *ret_us = (double)NAN;
    if (status && status != STATUS_NOMEM)
        fill_refusal(worker, &request, &error, reason, sizeof reason);
    else if (!status)
        *ret_us = worker->cells[sweep->first_tidy + 6].as.real;
    if (status != STATUS_NOMEM && sweep->json)
        cells_json(text, sweep->columns, worker->cells, sweep->column_count);
    else if (status != STATUS_NOMEM)
        cells_csv(text, sweep->columns, worker->cells, sweep->column_count, worker->memos);
    if (in_full)
        plain_close(&plain);
    return status == STATUS_NOMEM || text->failed ? STATUS_NOMEM : STATUS_OK;
}

enum status sweep_rows(struct sweep_worker *worker, struct block block, double until_s,
                       struct text *text, double *time_us, uint64_t *ret_count)
{
    const struct shard *shard = &worker->sweep->shard;
    uint64_t i = 0;
    enum status status = STATUS_OK;
    while (!status && i < block.count && (i == 0 || blocks_clock_s() < until_s)) {
        status = add_row(worker, shard_point(shard, block.first + i), text, &time_us[i]);
        i++;
    }
    *ret_count = i;
    return status;
}

void sweep_header(const struct sweep *sweep, struct text *text)
{
    if (!sweep->json)
        cells_csv_header(text, sweep->columns, sweep->column_count);
}
