/* help_sample.h: random machines, plans for them, and how to run them. A failure prints the seed;
 * run the case alone by setting SAMPLE_FIRST_SEED to it. */
#ifndef GDSIM_TESTS_HELP_SAMPLE_H
#define GDSIM_TESTS_HELP_SAMPLE_H

#include "tests/unit/help_core.h"

#define SAMPLE_FIRST_SEED UINT64_C(1)
#define SAMPLE_SEEDS      150u

enum plan_shape { RING, EDGES };

/* One random case: a machine, a plan for it, and how to run it. */
struct sample {
    uint64_t seed;
    struct core_spec spec;
    enum plan_shape shape;
    struct plan plan;
    const char *mechanism;
    enum accounting accounting;
    double size_B;
};

void sample_make(uint64_t seed, struct sample *sample);
void sample_run(const struct sample *sample, struct ledger *ret_ledger);
int64_t sample_time(const struct sample *sample);

/* Fail, naming the seed, unless good. */
void sample_hold(const struct sample *sample, bool good, const char *what);

#define FOR_EACH_OF(sample, count)                                                                 \
    for (uint64_t seed_ = SAMPLE_FIRST_SEED; seed_ < SAMPLE_FIRST_SEED + (count); seed_++)         \
        for (bool once_ = (sample_make(seed_, &(sample)), true); once_;                            \
             plan_free(&(sample).plan), once_ = false)
#define FOR_EACH_SAMPLE(sample) FOR_EACH_OF(sample, SAMPLE_SEEDS)

#endif
