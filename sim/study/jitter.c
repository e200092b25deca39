/* jitter.c: see jitter.h. */
#include "sim/study/jitter.h"

#include <gsl/gsl_eigen.h>
#include <gsl/gsl_matrix.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A seed for each replica; mt19937 takes 32 bits and treats 0 as another. */
static unsigned long seed_of(unsigned long seed, size_t replica)
{
    uint64_t z = (uint64_t)seed * 0x9E3779B97F4A7C15u + (uint64_t)replica + 1;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (unsigned long)((z ^ z >> 31) & 0x7fffffffu) + 1;
}

/* What is drawn beyond what the parameter can be is put at its bound. */
static double in_range(const struct predict_job *job, const struct jitter_value *from, double value)
{
    struct address at;
    if (!address_first(job->machine, from->key, &at) || at.place == ADDRESS_NODES)
        return value;
    const struct param_info *info = param_info(at.id);
    return fmin(fmax(value, info->minimum), info->maximum);
}

size_t jitter_draws(const struct jitter_values *values)
{
    size_t count = 0;
    for (size_t i = 0; i < values->count; i++)
        count = values->items[i].draw < count ? count : values->items[i].draw + 1;
    return count;
}

/* V sqrt(D) of the correlation, or the unit matrix; STATUS_NOMEM or fine. */
static enum status mixing(const struct jitter_values *values, gsl_matrix **ret)
{
    size_t n = jitter_draws(values);
    gsl_matrix *mix = *ret = gsl_matrix_alloc(n + 1, n + 1); /* GSL refuses a size of 0 */
    if (!mix)
        return STATUS_NOMEM;
    gsl_matrix_set_identity(mix);
    if (!values->correlation || n == 0)
        return STATUS_OK;
    gsl_matrix *copy = gsl_matrix_alloc(n, n);
    gsl_vector *d = gsl_vector_alloc(n);
    gsl_matrix_view v = gsl_matrix_submatrix(mix, 0, 0, n, n);
    gsl_eigen_symmv_workspace *space = gsl_eigen_symmv_alloc(n);
    enum status status = copy && d && space ? STATUS_OK : STATUS_NOMEM;
    for (size_t i = 0; i < n * n && !status; i++)
        gsl_matrix_set(copy, i / n, i % n, values->correlation[i]);
    if (!status)
        gsl_eigen_symmv(copy, d, &v.matrix, space);
    for (size_t j = 0; j < n && !status; j++)
        for (size_t i = 0; i < n; i++)
            *gsl_matrix_ptr(mix, i, j) *= sqrt(fmax(0, gsl_vector_get(d, j)));
    gsl_matrix_free(copy);
    gsl_vector_free(d);
    if (space)
        gsl_eigen_symmv_free(space);
    return status;
}

/* What a run of replicas works with. */
struct replicas {
    gsl_rng *random;
    gsl_matrix *mix;
    double *normal; /* of the standard errors, then mixed, then of the scatter: by draw */
    struct predict_change *changes;
    double *times; /* [size][replica], and one more row by size */
};

static void draw(const struct replicas *all, size_t draws)
{
    double *mixed = all->normal + draws;
    for (size_t i = 0; i < draws; i++)
        all->normal[i] = gsl_ran_gaussian(all->random, 1);
    for (size_t i = 0; i < draws; i++)
        all->normal[2 * draws + i] = gsl_ran_gaussian(all->random, 1);
    for (size_t i = 0; i < draws; i++) {
        mixed[i] = 0;
        for (size_t j = 0; j < draws; j++)
            mixed[i] += gsl_matrix_get(all->mix, i, j) * all->normal[j];
    }
}

static enum status replicate(const struct predict_job *job, const struct jitter_values *values,
                             const double *sizes_B, size_t size_count, size_t replicas,
                             unsigned long seed, const struct replicas *all, struct error *error)
{
    double *one = all->times + size_count * replicas;
    size_t draws = jitter_draws(values);
    for (size_t r = 0; r < replicas; r++) {
        gsl_rng_set(all->random, seed_of(seed, r));
        draw(all, draws);
        for (size_t i = 0; i < values->count; i++) {
            const struct jitter_value *from = &values->items[i];
            double value = from->value * exp(from->sigma * all->normal[draws + from->draw] +
                                             from->scatter * all->normal[2 * draws + from->draw]);
            all->changes[i] = (struct predict_change){from->key, in_range(job, from, value)};
        }
        enum status status =
            predict_times(job, all->changes, values->count, sizes_B, size_count, one, error);
        if (status)
            return status;
        for (size_t s = 0; s < size_count; s++)
            all->times[s * replicas + r] = one[s];
    }
    return STATUS_OK;
}

enum status jitter_run(const struct predict_job *job, const struct jitter_values *values,
                       const double *sizes_B, size_t size_count, size_t replicas,
                       unsigned long seed, struct jitter_interval *ret, struct error *error)
{
    struct replicas all = {
        .random = gsl_rng_alloc(gsl_rng_mt19937),
        .normal = calloc(3 * jitter_draws(values) + 1, sizeof *all.normal),
        .changes = calloc(values->count + 1, sizeof *all.changes),
        .times = calloc((replicas + 1) * size_count + 1, sizeof *all.times),
    };
    enum status status = mixing(values, &all.mix);
    if (status || !all.random || !all.changes || !all.times || !all.normal)
        status = error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = replicate(job, values, sizes_B, size_count, replicas, seed, &all, error);
    for (size_t s = 0; s < size_count && !status; s++) {
        double *sorted = &all.times[s * replicas];
        gsl_sort(sorted, 1, replicas);
        ret[s] = (struct jitter_interval){
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.05),
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.5),
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.95)};
    }
    if (all.random)
        gsl_rng_free(all.random);
    gsl_matrix_free(all.mix);
    free(all.normal);
    free(all.changes);
    free(all.times);
    return status;
}
