/* overlay_ways.c: see overlay_ways.h. */
#include "sim/cli/overlay_ways.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/nccl.h"
#include "sim/study/nccl_comm.h"

#define SHOWN  2
#define CLOSES 0.5 /* of the gap: where the bytes went another way, one is nearer by chance */
#define LONG   1.5 /* times the shortest: the message counts, not the launch */

static const char *const protocol_words[] = {[PROTOCOL_NONE] = "none",
                                             [PROTOCOL_LL] = "ll",
                                             [PROTOCOL_LL128] = "ll128",
                                             [PROTOCOL_SIMPLE] = "simple",
                                             [PROTOCOL_AUTO] = "auto"};
/* Of equals the first is named. */
static const enum protocol_word protocols[] = {PROTOCOL_AUTO, PROTOCOL_NONE, PROTOCOL_SIMPLE,
                                               PROTOCOL_LL128, PROTOCOL_LL};

struct way {
    const struct nccl_script *script; /* NULL: as it was predicted */
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
    const struct mechanism *mechanism = set->pair.mechanism;
    double *times_s = calloc(job->count + 1, sizeof *times_s);
    if (!times_s)
        return error_set(error, STATUS_NOMEM, "out of memory");
    param_set(&variant.machine.engine, PARAM_ENGINE_PROTOCOL, way->protocol,
              (struct origin){.kind = ORIGIN_SET, .file = "gdsim overlay"});
    if (way->script && way->script->mechanism)
        mechanism = mechanism_find(way->script->mechanism);
    enum status status = pair_open(
        &pair, &variant, way->script ? way->script->script : set->pair.algorithm, mechanism, error);
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
    if (way->script && strcmp(way->script->script, as_is->pair.algorithm) != 0) {
        text_printf(text, "-A %s", way->script->script);
        between = " ";
    }
    if (way->script && way->script->mechanism &&
        mechanism_find(way->script->mechanism) != as_is->pair.mechanism) {
        text_printf(text, "%s-m %s", between, way->script->mechanism);
        between = " ";
    }
    if (way->protocol != protocol_as_is(as_is))
        text_printf(text, "%s-P %s", between, protocol_words[way->protocol]);
}

/* Put a way among the best ones, behind its equals. */
static void keep(struct way best[SHOWN], struct way way)
{
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

/* All ways but the one that was predicted; the best ones come first. */
static enum status try_all(const struct measured *measured, const struct measured_set *as_is,
                           const struct diagnose_job *jobs, size_t job_count,
                           struct way best[SHOWN], struct error *error)
{
    enum nccl_collective collective;
    enum status status = STATUS_OK;
    const bool known = nccl_collective_of(as_is->scenario.collective, &collective);
    for (size_t s = 0; s <= (known ? nccl_script_count : 0) && !status; s++) {
        const struct nccl_script *script = s ? &nccl_scripts[s - 1] : NULL;
        const char *name = script ? script->script : as_is->pair.algorithm;
        if (script && (script->collective != collective ||
                       strcmp(name, as_is->pair.experiment.plans[0].name) == 0))
            continue;
        for (size_t p = 0; p < sizeof protocols / sizeof protocols[0] && !status; p++) {
            struct way way = {script, protocols[p], 0};
            if (!script && way.protocol == protocol_as_is(as_is))
                continue;
            cli_step("another way: %s by protocol %s", name, protocol_words[way.protocol]);
            status = try_way(measured, jobs, job_count, &way, error);
            keep(best, way);
        }
    }
    cli_step_end();
    return status;
}

static void write_ways(const struct way best[SHOWN], const struct way *now, size_t points,
                       size_t of, const struct measured_set *as_is, struct text *text)
{
    for (size_t i = 0; i < SHOWN && best[i].gap < now->gap; i++) {
        if (i == 0) {
            text_printf(text, "Another way to run it comes closer");
            if (points < of)
                text_printf(text,
                            " (at the %zu of %zu sizes at which a launch does not count for most)",
                            points, of);
            text_printf(text, "; as it is, off by a factor of %.2f:\n", now->gap);
        }
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
        struct way best[SHOWN];
        for (size_t i = 0; i < SHOWN; i++)
            best[i] = (struct way){.gap = exp((1 - CLOSES) * log(now.gap))};
        const double enough = best[0].gap;
        status = try_all(measured, as_is, some, job_count, best, error);
        for (size_t i = 0; i < SHOWN; i++)
            if (best[i].gap >= enough)
                best[i].gap = now.gap;
        if (!status)
            write_ways(best, &now, points, of, as_is, text);
    }
    free(values);
    free(some);
    return status;
}
