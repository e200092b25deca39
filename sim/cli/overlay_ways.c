/* overlay_ways.c: see overlay_ways.h. */
#include "sim/cli/overlay_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/nccl.h"
#include "sim/study/nccl_comm.h"

#define SHOWN     2
#define NEAR_BEST 1.1
#define CLOSES    0.5 /* of the gap: where the bytes went another way, one is nearer by chance */
#define LONG      1.5 /* times the shortest: the message counts, not the launch */

static const char *const protocol_words[] = {[PROTOCOL_NONE] = "none",
                                             [PROTOCOL_LL] = "ll",
                                             [PROTOCOL_LL128] = "ll128",
                                             [PROTOCOL_SIMPLE] = "simple",
                                             [PROTOCOL_AUTO] = "auto"};
/* Of equals the first is named. */
static const enum protocol_word protocols[] = {PROTOCOL_AUTO, PROTOCOL_NONE, PROTOCOL_SIMPLE,
                                               PROTOCOL_LL128, PROTOCOL_LL};

struct way {
    const char *script;                /* NULL: as it was predicted */
    const struct mechanism *mechanism; /* NULL: likewise */
    enum protocol_word protocol;
    double gap; /* that is left */
};

static enum protocol_word protocol_as_is(const struct measured_set *set)
{
    return (enum protocol_word)param_get(&set->scenario.machine.engine, PARAM_ENGINE_PROTOCOL);
}

/* Sum of |ln(predicted / measured)| over a job's points. INFINITY: it does not run so. */
static enum status gap_of(const struct measured_set *set, const struct diagnose_job *job,
                          const struct way *way, double *ret_sum, struct error *error)
{
    struct scenario variant = set->scenario;
    struct pair pair;
    double *times_s = calloc(job->count + 1, sizeof *times_s);
    if (!times_s)
        return error_set(error, STATUS_NOMEM, "out of memory");
    param_set(&variant.machine.engine, PARAM_ENGINE_PROTOCOL, way->protocol,
              (struct origin){.kind = ORIGIN_SET, .file = "gdsim overlay"});
    enum status status = pair_open(&pair, &variant, way->script ? way->script : set->pair.algorithm,
                                   way->mechanism ? way->mechanism : set->pair.mechanism, error);
    if (!status) {
        const struct predict_job predicted = experiment_predict_job(&pair.experiment, 0);
        status = predict_times(&predicted, NULL, 0, job->sizes_B, job->count, times_s, error);
        pair_close(&pair);
    }
    for (size_t i = 0; i < job->count && !status; i++)
        *ret_sum += fabs(log(times_s[i] / job->measured_s[i]));
    free(times_s);
    if (status == STATUS_NOMEM)
        return status;
    if (status)
        *ret_sum = (double)INFINITY;
    return STATUS_OK;
}

static enum status try_way(const struct measured *measured, const struct diagnose_job *jobs,
                           size_t job_count, struct way *way, struct error *error)
{
    double sum = 0;
    size_t points = 0, at = 0;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < measured->set_count && at < job_count && isfinite(sum) && !status; i++) {
        if (measured->sets[i].about.counter)
            continue;
        points += jobs[at].count;
        status = gap_of(&measured->sets[i], &jobs[at++], way, &sum, error);
    }
    way->gap = points ? exp(sum / (double)points) : (double)INFINITY;
    return status;
}

/* Whether options may say for all data sets at once what they ran: one collective, and none whose
 * protocol the scenario knows. */
static bool one_job(const struct measured *measured, const struct measured_set **ret_first)
{
    const char key[] = "engine.protocol=";
    *ret_first = NULL;
    for (size_t i = 0; i < measured->set_count; i++) {
        const struct measured_set *set = &measured->sets[i];
        if (set->about.counter)
            continue;
        for (size_t k = 0; k < set->about.set_count; k++)
            if (strncmp(set->about.set[k], key, sizeof key - 1) == 0)
                return false;
        *ret_first = *ret_first ? *ret_first : set;
        if (set->scenario.transfer_count > 0 ||
            set->scenario.collective != (*ret_first)->scenario.collective ||
            protocol_as_is(set) != protocol_as_is(*ret_first))
            return false;
    }
    return *ret_first != NULL;
}

static void name_way(const struct way *way, const struct measured_set *as_is, struct text *text)
{
    const char *between = "";
    if (way->script) {
        text_printf(text, "-A %s", way->script);
        between = " ";
    }
    if (way->mechanism && way->mechanism != as_is->pair.mechanism) {
        text_printf(text, "%s-m %s", between, way->mechanism->name);
        between = " ";
    }
    if (way->protocol != protocol_as_is(as_is))
        text_printf(text, "%s-P %s", between, protocol_words[way->protocol]);
}

/* Put a way among the best ones, behind its equals; but one that is the same run by another name,
 * as gdr inside a node is nvlink, not at all. */
static void keep(struct way best[SHOWN], struct way way)
{
    for (size_t i = 0; i < SHOWN; i++)
        if (way.protocol == best[i].protocol && !(way.gap < best[i].gap) &&
            !(way.gap > best[i].gap))
            return;
    for (size_t i = 0; i < SHOWN; i++)
        if (way.gap < best[i].gap) {
            const struct way other = best[i];
            best[i] = way;
            way = other;
        }
}

/* The sizes of a job that count, in `values`: twice as many as it has. */
static struct diagnose_job judged(const struct diagnose_job *job, double *values)
{
    double shortest_s = (double)INFINITY, longest_s = 0;
    double *sizes_B = values, *times_s = values + job->count;
    struct diagnose_job some = {job->job, sizes_B, times_s, 0};
    for (size_t i = 0; i < job->count; i++) {
        shortest_s = fmin(shortest_s, job->measured_s[i]);
        longest_s = fmax(longest_s, job->measured_s[i]);
    }
    if (longest_s < LONG * shortest_s)
        return *job;
    for (size_t i = 0; i < job->count; i++)
        if (job->measured_s[i] >= LONG * shortest_s) {
            sizes_B[some.count] = job->sizes_B[i];
            times_s[some.count++] = job->measured_s[i];
        }
    return some;
}

struct search {
    const struct measured *measured;
    const struct measured_set *as_is;
    const struct diagnose_job *jobs;
    size_t job_count;
    struct way best[SHOWN];
};

/* One algorithm over one mechanism, by every protocol. */
static enum status try_protocols(struct search *search, const char *script,
                                 const struct mechanism *mechanism, struct error *error)
{
    enum status status = STATUS_OK;
    for (size_t p = 0; p < sizeof protocols / sizeof protocols[0] && !status; p++) {
        struct way way = {script, mechanism, protocols[p], 0};
        if (!script && !mechanism && way.protocol == protocol_as_is(search->as_is))
            continue;
        cli_step("another way: %s/%s by protocol %s",
                 script ? script : search->as_is->pair.algorithm,
                 (mechanism ? mechanism : search->as_is->pair.mechanism)->name,
                 protocol_words[way.protocol]);
        status = try_way(search->measured, search->jobs, search->job_count, &way, error);
        keep(search->best, way);
    }
    return status;
}

/* All ways but the one that was predicted; the best ones come first. */
static enum status try_all(struct search *search, struct error *error)
{
    const struct measured_set *as_is = search->as_is;
    enum nccl_collective collective;
    const bool known = nccl_collective_of(as_is->scenario.collective, &collective);
    enum status status = try_protocols(search, NULL, NULL, error);
    for (size_t i = 0; known && i < nccl_script_count && !status; i++) {
        const struct nccl_script *script = &nccl_scripts[i];
        if (script->collective == collective &&
            strcmp(script->script, as_is->pair.experiment.plans[0].name) != 0)
            status =
                try_protocols(search, script->script,
                              script->mechanism ? mechanism_find(script->mechanism) : NULL, error);
    }
    for (size_t i = 0; i < mechanism_count && !status; i++) {
        const struct mechanism *mechanism = &mechanism_table[i];
        if (mechanism != as_is->pair.mechanism && !mechanism->algorithm)
            status = try_protocols(search, NULL, mechanism, error);
    }
    cli_step_end();
    return status;
}

static void write_ways(const struct way *best, size_t count, const struct way *now, size_t points,
                       size_t of, const struct measured_set *as_is, struct text *text)
{
    text_printf(text, "Another way to run it comes closer");
    if (points < of)
        text_printf(text, " (at the %zu of %zu sizes that took 1.5 times the shortest or more)",
                    points, of);
    text_printf(text, "; as it is, off by a factor of %.2f:\n", now->gap);
    for (size_t i = 0; i < count; i++) {
        text_printf(text, " - ");
        name_way(&best[i], as_is, text);
        text_printf(text, ": then off by a factor of %.2f\n", best[i].gap);
    }
}

enum status overlay_ways(const struct measured *measured, const struct diagnose_job *jobs,
                         size_t job_count, double close, struct text *text, struct error *error)
{
    const struct measured_set *as_is;
    size_t points = 0, of = 0;
    if (!one_job(measured, &as_is))
        return STATUS_OK;
    for (size_t i = 0; i < job_count; i++)
        of += jobs[i].count;
    struct diagnose_job *some = calloc(job_count, sizeof *some);
    double *values = calloc(2 * of + 1, sizeof *values), *at = values;
    enum status status =
        some && values ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
    for (size_t i = 0; i < job_count && !status; i++) {
        some[i] = judged(&jobs[i], at);
        at += 2 * jobs[i].count;
        points += some[i].count;
    }
    struct way now = {.protocol = protocol_as_is(as_is)};
    if (!status)
        status = try_way(measured, some, job_count, &now, error);
    if (!status && now.gap >= close) {
        const double enough = exp((1 - CLOSES) * log(now.gap));
        struct search search = {measured, as_is, some, job_count, {{0}}};
        for (size_t i = 0; i < SHOWN; i++)
            search.best[i].gap = enough;
        status = try_all(&search, error);
        size_t count = 0;
        while (count < SHOWN && search.best[count].gap < enough &&
               search.best[count].gap <= NEAR_BEST * search.best[0].gap)
            count++;
        if (!status && count > 0)
            write_ways(search.best, count, &now, points, of, as_is, text);
    }
    free(values);
    free(some);
    return status;
}
