/* diagnose.c: see diagnose.h. */
#include "sim/study/diagnose.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_min.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/study/remedy.h"

#define WIDEST  64.0 /* a value is scaled by at most this, either way */
#define TURNS   12
#define FREEDOM 0.1 /* of ln gap, against a value that was fitted for the occasion */

static const struct origin by_diagnosis = {.kind = ORIGIN_SET, .file = "diagnosis"};

/* ---- states that slow a machine ----------------------------------------------------------------
 */

static bool put(struct params *params, enum param_id id, double value)
{
    double before = param_get(params, id);
    param_set(params, id, value, by_diagnosis);
    return before < value || before > value;
}

static bool no_peermem(struct machine *machine)
{
    bool changed = put(&machine->state, PARAM_STATE_PEERMEM, 0);
    return put(&machine->state, PARAM_STATE_DMABUF, 0) || changed;
}

static bool acs_on(struct machine *machine)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind == LINK_PCIE &&
            machine->node.devices[link->end[0]].kind == DEVICE_PCIE_SWITCH)
            changed = put(&link->params, PARAM_PCIE_ACS, 0x2C) || changed;
    }
    return changed;
}

static bool iommu_translates(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_IOMMU, 2);
}

static bool gdr_never(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_GDR_LEVEL, PATH_LOC);
}

static bool p2p_never(struct machine *machine)
{
    return put(&machine->state, PARAM_STATE_P2P_LEVEL, PATH_LOC);
}

static bool each_nic(struct machine *machine, enum param_id id, double value)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.device_count; i++)
        if (machine->node.devices[i].kind == DEVICE_NIC)
            changed = put(&machine->node.devices[i].params, id, value) || changed;
    return changed;
}

static bool strict_ordering(struct machine *machine)
{
    return each_nic(machine, PARAM_NIC_RELAXED_ORDERING, 0);
}

/* One link of a kind trains to half: the slowest decides, so all of the kind stand for it. */
static bool half_links(struct machine *machine, enum device_kind below)
{
    bool changed = false;
    for (size_t i = 0; i < machine->node.link_count; i++) {
        struct link *link = &machine->node.links[i];
        if (link->kind != LINK_PCIE || machine->node.devices[link->end[1]].kind != below)
            continue;
        double rate = param_get(&link->params, PARAM_PCIE_RATE);
        double width = param_get(&link->params, PARAM_PCIE_WIDTH);
        changed = (rate > 0     ? put(&link->params, PARAM_PCIE_RATE, rate / 2)
                   : width >= 2 ? put(&link->params, PARAM_PCIE_WIDTH, floor(width / 2))
                                : false) ||
                  changed;
    }
    return changed;
}

static bool half_gpu_links(struct machine *machine)
{
    return half_links(machine, DEVICE_GPU);
}

static bool half_nic_links(struct machine *machine)
{
    return half_links(machine, DEVICE_NIC);
}

static bool half_uplinks(struct machine *machine)
{
    return half_links(machine, DEVICE_PCIE_SWITCH);
}

static const struct {
    const char *name;
    bool (*apply)(struct machine *machine);
} states[] = {
    {"neither nvidia_peermem nor dma-buf", no_peermem},
    {"ACS redirects at every switch port", acs_on},
    {"the IOMMU translates", iommu_translates},
    {"GPUDirect RDMA off (NCCL_NET_GDR_LEVEL=LOC)", gdr_never},
    {"P2P off (NCCL_P2P_LEVEL=LOC)", p2p_never},
    {"NICs write in strict order", strict_ordering},
    {"links of the GPUs trained to half", half_gpu_links},
    {"links of the NICs trained to half", half_nic_links},
    {"uplinks of the PCIe switches trained to half", half_uplinks},
};

/* ---- gaps
 * ---------------------------------------------------------------------------------------- */

struct search {
    const struct diagnose_job *jobs;
    size_t job_count;
    double *predicted; /* of one job */
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

static double gap_with(struct search *search, bool (*apply)(struct machine *),
                       const struct remedy *remedy, const struct mechanism *mechanism)
{
    double sum = 0;
    size_t points = 0;
    bool changed = mechanism != NULL;
    enum status status = STATUS_OK;
    for (size_t i = 0; i < search->job_count && !status; i++) {
        const struct diagnose_job *job = &search->jobs[i];
        struct predict_job other = job->job;
        struct machine machine;
        bool applies = false;
        if (remedy) {
            status = remedy_apply(remedy, job->job.machine, &machine, &applies, search->error);
        } else if (apply) {
            status = machine_copy(job->job.machine, &machine, search->error);
            if (!status) {
                applies = apply(&machine);
                status = machine_finish(&machine, search->error);
                if (!applies || status)
                    machine_free(&machine);
            }
        }
        if (status)
            break;
        changed = changed || applies;
        other.machine = applies ? &machine : job->job.machine;
        other.mechanism = mechanism ? mechanism : other.mechanism;
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

static void keep(struct search *search, enum diagnosis_kind kind, const char *what, double gap)
{
    if (!(gap < search->gap - 1e-3) || search->found_count == DIAGNOSE_MAX)
        return;
    struct diagnosis *found = &search->found[search->found_count++];
    found->kind = kind;
    found->gap = gap;
    snprintf(found->what, sizeof found->what, "%s", what);
}

/* ---- values
 * --------------------------------------------------------------------------------------- */

/* Brent from the best of a coarse grid. */
static double best_scale(struct search *search, double *ret_gap)
{
    double at[] = {-log(WIDEST), -2, -0.7, 0, 0.7, 2, log(WIDEST)}, gap[7];
    size_t best = 3;
    gap[3] = search->gap;
    for (size_t i = 0; i < 7; i++) {
        if (i != 3)
            gap[i] = gap_scaled(at[i], search);
        best = gap[i] < gap[best] ? i : best;
    }
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

static void try_paths(struct search *search)
{
    char what[160];
    const struct mechanism *own = search->jobs[0].job.mechanism;
    for (size_t i = 0; i < mechanism_count && !search->status; i++) {
        const struct mechanism *other = &mechanism_table[i];
        if (other == own || other->algorithm || own->algorithm || other->span == SPAN_DRIVE)
            continue;
        snprintf(what, sizeof what, "the bytes went another way: %s (mechanism %s)", other->title,
                 other->name);
        keep(search, DIAGNOSIS_PATH, what, gap_with(search, NULL, NULL, other));
    }
}

/* A value can be scaled until it fits, a state cannot: that it fits says more. */
static double rank_of(const struct diagnosis *diagnosis)
{
    return diagnosis->gap + (diagnosis->kind == DIAGNOSIS_VALUE ? FREEDOM : 0);
}

static int by_gap(const void *a, const void *b)
{
    const struct diagnosis *x = a, *y = b;
    if (rank_of(x) < rank_of(y) - 1e-9 || rank_of(x) > rank_of(y) + 1e-9)
        return rank_of(x) < rank_of(y) ? -1 : 1;
    return x->kind != y->kind ? (x->kind > y->kind) - (x->kind < y->kind)
                              : strcmp(x->what, y->what);
}

enum status diagnose(const struct diagnose_job *jobs, size_t job_count, struct diagnosis *ret,
                     size_t limit, size_t *ret_count, double *ret_gap, struct error *error)
{
    size_t most = 0, points = 0;
    double sum = 0;
    struct search search = {.jobs = jobs, .job_count = job_count, .error = error};
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
        try_paths(&search);
        for (size_t i = 0; i < sizeof states / sizeof states[0] && !search.status; i++)
            keep(&search, DIAGNOSIS_STATE, states[i].name,
                 gap_with(&search, states[i].apply, NULL, NULL));
        for (size_t i = 0; i < remedy_count && !search.status; i++)
            keep(&search, DIAGNOSIS_REMEDY, remedy_table[i].name,
                 gap_with(&search, NULL, &remedy_table[i], NULL));
        try_values(&search);
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
