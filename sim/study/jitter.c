/* jitter.c: see jitter.h. */
#include "sim/study/jitter.h"

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

static size_t draw_count(const struct jitter_value *values, size_t value_count)
{
    size_t count = 0;
    for (size_t i = 0; i < value_count; i++)
        count = values[i].draw < count ? count : values[i].draw + 1;
    return count;
}

static enum status replicate(const struct predict_job *job, const struct jitter_value *values,
                             size_t value_count, const double *sizes_B, size_t size_count,
                             size_t replicas, unsigned long seed, gsl_rng *random, double *z,
                             struct predict_change *changes, double *times, struct error *error)
{
    double *one = times + size_count * replicas;
    size_t draws = draw_count(values, value_count);
    for (size_t r = 0; r < replicas; r++) {
        gsl_rng_set(random, seed_of(seed, r));
        for (size_t i = 0; i < draws; i++)
            z[i] = gsl_ran_gaussian(random, 1);
        for (size_t i = 0; i < value_count; i++) {
            double value = values[i].value * exp(values[i].sigma * z[values[i].draw]);
            changes[i] = (struct predict_change){values[i].key, in_range(job, &values[i], value)};
        }
        enum status status =
            predict_times(job, changes, value_count, sizes_B, size_count, one, error);
        if (status)
            return status;
        for (size_t s = 0; s < size_count; s++)
            times[s * replicas + r] = one[s];
    }
    return STATUS_OK;
}

enum status jitter_run(const struct predict_job *job, const struct jitter_value *values,
                       size_t value_count, const double *sizes_B, size_t size_count,
                       size_t replicas, unsigned long seed, struct jitter_interval *ret,
                       struct error *error)
{
    gsl_rng *random = gsl_rng_alloc(gsl_rng_mt19937);
    struct predict_change *changes = calloc(value_count + 1, sizeof *changes);
    double *times = calloc((replicas + 1) * size_count + 1, sizeof *times);
    double *z = calloc(draw_count(values, value_count) + 1, sizeof *z);
    enum status status = random && changes && times && z
                             ? STATUS_OK
                             : error_set(error, STATUS_NOMEM, "out of memory");
    if (!status)
        status = replicate(job, values, value_count, sizes_B, size_count, replicas, seed, random, z,
                           changes, times, error);
    for (size_t s = 0; s < size_count && !status; s++) {
        double *sorted = &times[s * replicas];
        gsl_sort(sorted, 1, replicas);
        ret[s] = (struct jitter_interval){
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.05),
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.5),
            gsl_stats_quantile_from_sorted_data(sorted, 1, replicas, 0.95)};
    }
    if (random)
        gsl_rng_free(random);
    free(changes);
    free(z);
    free(times);
    return status;
}
