/* diagnose.c: see diagnose.h. */
#include "sim/study/diagnose.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/study/remedy.h"
#include "sim/study/states.h"

#define WIDEST  64.0 /* a value is scaled by at most this, either way */
#define TURNS   12
#define FIRSTS  6   /* changes that are tried as the first of a pair */
#define ENOUGH  0.1 /* of ln gap: who leaves less explains it alone */
#define FREEDOM 0.1 /* of ln gap, against a value that was fitted for the occasion */

/* ---- gaps
 * ---------------------------------------------------------------------------------------- */

/* A change that has no value to be scaled; at most one of these is set. */
struct change {
    const char *name;
    bool (*apply)(struct machine *machine);
    const struct remedy *remedy;
    const struct mechanism *mechanism;
};

struct search {
    const struct diagnose_job *jobs; /* as they are, or with the first change of a pair */
    size_t job_count;
    const struct change *first; /* NULL: changes are tried alone */
    bool pairs;                 /* whether to try them */
    struct diagnosis pair;      /* the best so far; no name: none */
    double *predicted;          /* of one job */
    struct diagnosis *found;
    size_t found_count;
    double gap; /* as it is, ln */
    const char *key;
    double value; /* of the parameter, unscaled */
    struct error *error;
    enum status status;
};

static double gap_of(struct search *search, const double *predicted, const struct diagnose_job *job)
{
    double sum = 0;
    (void)search;
    for (size_t i = 0; i < job->count; i++)
        sum += fabs(log(predicted[i] / job->measured_s[i]));
    return sum;
}

/* A change that cannot be run (no such path, a hang) explains nothing: INFINITY. */
static double settle(struct search *search, enum status status, double sum, size_t points)
{
    if (status == STATUS_NOMEM)
        search->status = status;
    return status ? (double)INFINITY : sum / (double)points;
}

/* A finished copy of a machine with a change. *ret_applies is false, and no copy made, when there
 * is nothing to change. */
static enum status changed_copy(const struct change *change, const struct machine *from,
                                struct machine *ret_machine, bool *ret_applies, struct error *error)
{
    *ret_applies = false;
    if (change->remedy)
        return remedy_apply(change->remedy, from, ret_machine, ret_applies, error);
    if (!change->apply)
        return STATUS_OK;
    enum status status = machine_copy(from, ret_machine, error);
    if (status)
        return status;
    *ret_applies = change->apply(ret_machine);
    status = machine_finish(ret_machine, error);
    if (!*ret_applies || status)
        machine_free(ret_machine);
    *ret_applies = *ret_applies && !status;
    return status;
}

static double gap_with(struct search *search, const struct change *change)
{
    double sum = 0;
    size_t points = 0;
    bool changed = change->mechanism != NULL;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < search->job_count && !status; i++) {
        const struct diagnose_job *job = &search->jobs[i];
        struct predict_job other = job->job;
        struct machine machine;
        bool applies;
        status = changed_copy(change, job->job.machine, &machine, &applies, search->error);
        if (status)
            break;
        changed = changed || applies;
        other.machine = applies ? &machine : job->job.machine;
        other.mechanism = change->mechanism ? change->mechanism : other.mechanism;
        status = predict_times(&other, NULL, 0, job->sizes_B, job->count, search->predicted,
                               search->error);
        if (!status)
            sum += gap_of(search, search->predicted, job);
        points += job->count;
        if (applies)
            machine_free(&machine);
    }
    return changed ? settle(search, status, sum, points) : (double)INFINITY;
}

/* The gap with one value scaled by e^x. */
static double gap_scaled(double x, void *data)
{
    struct search *search = data;
    struct predict_change change = {search->key, search->value * exp(x)};
    double sum = 0;
    size_t points = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < search->job_count && !status; i++) {
        const struct diagnose_job *job = &search->jobs[i];
        status = predict_times(&job->job, &change, 1, job->sizes_B, job->count, search->predicted,
                               search->error);
        if (!status)
            sum += gap_of(search, search->predicted, job);
        points += job->count;
    }
    double gap = settle(search, status, sum, points);
    return isinf(gap) ? 1e3 : gap; /* the minimizer wants numbers */
}

/* A value can be scaled until it fits, a state cannot: that it fits says more. */
static double rank_of(const struct diagnosis *diagnosis)
{
    bool free = diagnosis->kind == DIAGNOSIS_VALUE || diagnosis->kind == DIAGNOSIS_PAIR;
    return diagnosis->gap + (free ? FREEDOM : 0);
}

static void keep(struct search *search, enum diagnosis_kind kind, const char *what, double gap)
{
    if (!(gap < search->gap - 1e-3))
        return;
    struct diagnosis found = {.kind = kind, .gap = gap};
    if (!search->first) {
        snprintf(found.what, sizeof found.what, "%s", what);
        if (search->found_count < DIAGNOSE_MAX)
            search->found[search->found_count++] = found;
        return;
    }
    found.kind = DIAGNOSIS_PAIR;
    snprintf(found.what, sizeof found.what, "%s, and %s", search->first->name, what);
    if (!search->pair.what[0] || found.gap < search->pair.gap)
        search->pair = found;
}

/* ---- values
 * --------------------------------------------------------------------------------------- */

/* Brent from the best of a coarse grid. */
static double best_scale(struct search *search, double *ret_gap)
{
    double at[] = {-log(WIDEST), -2, -0.7, 0, 0.7, 2, log(WIDEST)}, gap[7];
    size_t best = 3;
    static const size_t order[] = {0, 6, 1, 2, 4, 5};
    gap[3] = search->gap;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        size_t to = order[i];
        gap[to] = gap_scaled(at[to], search);
        if (i == 1 && fabs(gap[0] - gap[3]) < 1e-9 && fabs(gap[6] - gap[3]) < 1e-9) {
            *ret_gap = gap[3]; /* not even the extremes change anything: nothing uses it */
            return 0;
        }
    }
    for (size_t i = 0; i < 7; i++)
        best = gap[i] < gap[best] ? i : best;
    *ret_gap = gap[best];
    if (best == 0 || best == 6 || (best == 3 && !(gap[2] < gap[3] + 1) && !(gap[4] < gap[3] + 1)))
        return at[best];
    gsl_function function = {.function = gap_scaled, .params = search};
    gsl_min_fminimizer *minimizer = gsl_min_fminimizer_alloc(gsl_min_fminimizer_brent);
    if (!minimizer) {
        search->status = STATUS_NOMEM;
        return 0;
    }
    double x = at[best];
    if (!gsl_min_fminimizer_set_with_values(minimizer, &function, x, gap[best], at[best - 1],
                                            gap[best - 1], at[best + 1], gap[best + 1])) {
        for (int turn = 0; turn < TURNS && !gsl_min_fminimizer_iterate(minimizer); turn++)
            ;
        x = gsl_min_fminimizer_x_minimum(minimizer);
        *ret_gap = gsl_min_fminimizer_f_minimum(minimizer);
    }
    gsl_min_fminimizer_free(minimizer);
    return x;
}

static bool can_be_scaled(enum param_id id, double value)
{
    enum dimension dimension = param_info(id)->dimension;
    return (dimension == DIM_TIME || dimension == DIM_RATE || dimension == DIM_FRACTION) &&
           isfinite(value) && value > 0;
}

/* One parameter of all objects of a kind; their first value stands for all. */
static void try_value(struct search *search, const char *key, const char *title, enum param_id id,
                      double value)
{
    char what[160], from[40], to[40];
    double gap;
    if (!can_be_scaled(id, value))
        return;
    search->key = key;
    search->value = value;
    double x = best_scale(search, &gap);
    double limit = param_info(id)->maximum;
    if (value * exp(x) > limit || value * exp(x) < param_info(id)->minimum)
        return;
    snprintf(what, sizeof what, "%s %s instead of %s", title,
             param_format(id, value * exp(x), to, sizeof to),
             param_format(id, value, from, sizeof from));
    keep(search, DIAGNOSIS_VALUE, what, gap);
}

static void try_group(struct search *search, const char *prefix, const char *title,
                      const struct params *params)
{
    enum param_id first;
    size_t count;
    char key[128], name[96];
    param_range(params->kind, &first, &count);
    for (size_t i = 0; i < count && !search->status; i++) {
        enum param_id id = (enum param_id)(first + i);
        snprintf(key, sizeof key, "%s.%s", prefix, param_info(id)->name);
        snprintf(name, sizeof name, "%s %s", title, param_info(id)->name);
        try_value(search, key, name, id, param_get(params, id));
    }
}

/* Each kind of device and link once: "every nic: rate". Where objects of a kind differ, they would
 * all be given the first one's value, so only those that are alike are tried together. */
static void try_values(struct search *search)
{
    const struct machine *machine = search->jobs[0].job.machine;
    const struct node_type *node = &machine->node;
    char key[96], title[80];
    try_group(search, "software", "software", &machine->software);
    try_group(search, "fabric", "fabric", &machine->fabric);
    for (size_t i = 0; i < node->device_count && !search->status; i++) {
        const char *name = node->devices[i].name;
        size_t stem = strcspn(name, "0123456789");
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || (strncmp(node->devices[j].name, name, stem) == 0 &&
                            strcspn(node->devices[j].name, "0123456789") == stem);
        if (seen)
            continue;
        snprintf(key, sizeof key, "node.devices.%.*s*", (int)stem, name);
        snprintf(title, sizeof title, "every %s:", device_kind_name(node->devices[i].kind));
        try_group(search, key, title, &node->devices[i].params);
    }
    for (size_t i = 0; i < node->link_count && !search->status; i++) {
        const struct link *link = &node->links[i];
        const char *ends[2] = {node->devices[link->end[0]].name, node->devices[link->end[1]].name};
        size_t stem[2] = {strcspn(ends[0], "0123456789"), strcspn(ends[1], "0123456789")};
        bool seen = false;
        for (size_t j = 0; j < i; j++) {
            const struct link *other = &node->links[j];
            bool same = other->kind == link->kind;
            for (int e = 0; e < 2; e++)
                same = same && strncmp(node->devices[other->end[e]].name, ends[e], stem[e]) == 0 &&
                       strcspn(node->devices[other->end[e]].name, "0123456789") == stem[e];
            seen = seen || same;
        }
        if (seen)
            continue;
        snprintf(key, sizeof key, "node.links.%.*s*-%.*s*", (int)stem[0], ends[0], (int)stem[1],
                 ends[1]);
        snprintf(title, sizeof title, "%s links %.*s-%.*s:", link_kind_name(link->kind),
                 (int)stem[0], ends[0], (int)stem[1], ends[1]);
        try_group(search, key, title, &link->params);
    }
}

enum { PATHS_MOST = 32 };

/* Everything that has no value: other ways, states and remedies. Names of ways are in `names`. */
static size_t list_changes(const struct search *search, struct change *ret,
                           char (*names)[sizeof search->found->what])
{
    const struct mechanism *own = search->jobs[0].job.mechanism;
    size_t count = 0;
    for (size_t i = 0; i < mechanism_count && count < PATHS_MOST; i++) {
        const struct mechanism *other = &mechanism_table[i];
        if (other == own || other->algorithm || own->algorithm || other->span == SPAN_DRIVE)
            continue;
        snprintf(names[count], sizeof names[count], "the bytes went another way: %s (mechanism %s)",
                 other->title, other->name);
        ret[count] = (struct change){.name = names[count], .mechanism = other};
        count++;
    }
    for (size_t i = 0; i < state_count; i++)
        ret[count++] = (struct change){.name = state_table[i].name, .apply = state_table[i].apply};
    for (size_t i = 0; i < remedy_count; i++)
        ret[count++] = (struct change){.name = remedy_table[i].name, .remedy = &remedy_table[i]};
    return count;
}

static enum diagnosis_kind kind_of(const struct change *change)
{
    return change->mechanism ? DIAGNOSIS_PATH : change->remedy ? DIAGNOSIS_REMEDY : DIAGNOSIS_STATE;
}

/* The jobs as they would be with a change. False: it cannot be made. Machines are for free_jobs. */
static bool change_jobs(struct search *search, const struct change *change,
                        struct diagnose_job *ret_jobs, struct machine *ret_machines)
{
    bool any = change->mechanism != NULL;
    size_t made = 0;
    enum status status = STATUS_OK;
    for (; made < search->job_count && !status; made++) {
        struct diagnose_job *job = &ret_jobs[made];
        bool applies;
        *job = search->jobs[made];
        status =
            changed_copy(change, job->job.machine, &ret_machines[made], &applies, search->error);
        if (!status && !applies)
            status = machine_copy(job->job.machine, &ret_machines[made], search->error);
        if (!status && !applies)
            status = machine_finish(&ret_machines[made], search->error);
        if (status)
            break;
        any = any || applies;
        job->job.machine = &ret_machines[made];
        job->job.mechanism = change->mechanism ? change->mechanism : job->job.mechanism;
    }
    if (!status && any)
        return true;
    for (size_t i = 0; i < made; i++)
        machine_free(&ret_machines[i]);
    return false;
}

/* The few changes that alone leave least (of those that leave the same, one), each together with
 * every other change and value. Two values fit anything, so one of a pair is always a change
 * without. */
static void try_pairs(struct search *search, const struct change *changes, const double *gaps,
                      size_t count)
{
    const struct search alone = *search;
    struct diagnose_job *jobs = calloc(search->job_count, sizeof *jobs);
    struct machine *machines = calloc(search->job_count, sizeof *machines);
    size_t tried[FIRSTS], tried_count = 0;
    if (!jobs || !machines)
        search->status = STATUS_NOMEM;
    while (tried_count < FIRSTS && !search->status) {
        size_t best = count;
        for (size_t i = 0; i < count; i++) {
            bool done = false;
            for (size_t k = 0; k < tried_count; k++)
                done = done || tried[k] == i || fabs(gaps[tried[k]] - gaps[i]) < 1e-6;
            if (!done && isfinite(gaps[i]) && (best == count || gaps[i] < gaps[best]))
                best = i;
        }
        if (best == count)
            break;
        tried[tried_count++] = best;
        if (!change_jobs(search, &changes[best], jobs, machines))
            continue;
        search->jobs = jobs;
        search->first = &changes[best];
        search->gap = gaps[best];
        for (size_t i = 0; i < count && !search->status; i++) {
            bool again = i == best || (changes[i].mechanism && changes[best].mechanism);
            for (size_t k = 0; k + 1 < tried_count; k++)
                again = again || tried[k] == i;
            if (!again)
                keep(search, kind_of(&changes[i]), changes[i].name, gap_with(search, &changes[i]));
        }
        try_values(search);
        search->jobs = alone.jobs;
        search->first = NULL;
        search->gap = alone.gap;
        for (size_t i = 0; i < search->job_count; i++)
            machine_free(&machines[i]);
    }
    free(jobs);
    free(machines);
}

static int by_gap(const void *a, const void *b)
{
    const struct diagnosis *x = a, *y = b;
    if (rank_of(x) < rank_of(y) - 1e-9 || rank_of(x) > rank_of(y) + 1e-9)
        return rank_of(x) < rank_of(y) ? -1 : 1;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : strcmp(x->what, y->what);
}

/* Each change alone; where none explains the gap, pairs, of which the best is kept. */
static void try_all(struct search *search)
{
    const size_t most = PATHS_MOST + state_count + remedy_count;
    struct change *changes = calloc(most, sizeof *changes);
    double *gaps = calloc(most, sizeof *gaps), least = search->gap;
    char(*names)[sizeof search->found->what] = calloc(PATHS_MOST, sizeof *names);
    if (!changes || !gaps || !names)
        search->status = STATUS_NOMEM;
    size_t count = search->status ? 0 : list_changes(search, changes, names);
    for (size_t i = 0; i < count && !search->status; i++) {
        gaps[i] = gap_with(search, &changes[i]);
        keep(search, kind_of(&changes[i]), changes[i].name, gaps[i]);
    }
    if (!search->status)
        try_values(search);
    for (size_t i = 0; i < search->found_count; i++)
        least = fmin(least, search->found[i].gap);
    if (!search->status && search->pairs && least > ENOUGH)
        try_pairs(search, changes, gaps, count);
    if (search->pair.what[0] && search->pair.gap < least - ENOUGH &&
        search->found_count < DIAGNOSE_MAX)
        search->found[search->found_count++] = search->pair;
    free(changes);
    free(gaps);
    free(names);
}

enum status diagnose(const struct diagnose_job *jobs, size_t job_count, bool pairs,
                     struct diagnosis *ret, size_t limit, size_t *ret_count, double *ret_gap,
                     struct error *error)
{
    size_t most = 0, points = 0;
    double sum = 0;
    struct search search = {.jobs = jobs, .job_count = job_count, .pairs = pairs, .error = error};
    for (size_t i = 0; i < job_count; i++)
        most = jobs[i].count > most ? jobs[i].count : most;
    gsl_error_handler_t *before = gsl_set_error_handler_off();
    search.predicted = calloc(most + 1, sizeof *search.predicted);
    search.found = calloc(DIAGNOSE_MAX, sizeof *search.found);
    if (!search.predicted || !search.found)
        search.status = error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < job_count && !search.status; i++) {
        search.status = predict_times(&jobs[i].job, NULL, 0, jobs[i].sizes_B, jobs[i].count,
                                      search.predicted, error);
        if (!search.status)
            sum += gap_of(&search, search.predicted, &jobs[i]);
        points += jobs[i].count;
    }
    search.gap = points ? sum / (double)points : 0;
    *ret_count = 0;
    if (!search.status && search.gap > 0) {
        try_all(&search);
        qsort(search.found, search.found_count, sizeof *search.found, by_gap);
        for (size_t i = 0; i < search.found_count && i < limit; i++) {
            ret[i] = search.found[i];
            ret[i].gap = exp(ret[i].gap);
            *ret_count = i + 1;
        }
    }
    *ret_gap = exp(search.gap);
    free(search.predicted);
    free(search.found);
    gsl_set_error_handler(before);
    return search.status;
}
