/* measured.c: see measured.h. */
#include "sim/cli/measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/calibration.h"
#include "sim/load/file.h"

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

double measured_value(const struct dataset *about, const struct scenario *scenario,
                      const struct observation *item)
{
    if (about->what && strcmp(item->what, about->what) != 0)
        return (double)NAN;
    if (about->variant && strcmp(item->variant, about->variant) != 0)
        return (double)NAN;
    if (item->size_B < about->from_B || item->size_B > about->to_B || !(item->size_B > 0))
        return (double)NAN;
    if (about->counter) /* what is less is background, not ours */
        return item->counted > 1e-3 * item->size_B ? item->counted : (double)NAN;
    if (isnan(item->time_s) && item->busbw_Bps > 0) /* all that the row says */
        return item->size_B / item->busbw_Bps *
               collective_busbw_factor(scenario->collective, machine_ranks(&scenario->machine));
    return item->time_s;
}

/* The collective that a row names ("all_gather", "all_gather_perf"); -1 if none. */
static int collective_of(const struct observation *item)
{
    char name[32];
    size_t length = 0;
    const char *end = strstr(item->what, "_perf");
    for (const char *c = item->what; *c && c != end && length + 1 < sizeof name; c++)
        if (*c != '_')
            name[length++] = *c;
    name[length] = '\0';
    return collective_find(name);
}

/* Whether rows of two variants are of one experiment: nccl-tests' two places are. */
static bool one_thing(const char *variant, const char *other)
{
    return strcmp(variant, other) == 0 || !variant[0] || !other[0] ||
           (strstr(variant, "of-place") && strstr(other, "in-place")) ||
           (strstr(variant, "in-place") && strstr(other, "of-place"));
}

int measured_check_rows(const struct dataset *about, const struct scenario *scenario,
                        const struct observation *items, size_t first, size_t end)
{
    const struct observation *other = NULL;
    if (about->what)
        return EXIT_FINE;
    for (size_t i = first; i < end; i++) {
        int collective = collective_of(&items[i]);
        if (collective >= 0 && collective != (int)scenario->collective) {
            fprintf(stderr,
                    "%s:%u: this is %s, and %s runs %s\n"
                    "  hint: --set collective=%s, with -A and an algorithm for it (gdsim list "
                    "algorithms)\n",
                    about->file, items[i].line, items[i].what,
                    about->scenario ? about->scenario : "the scenario",
                    collective_name(scenario->collective),
                    collective_name((enum collective)collective));
            return EXIT_BAD_INPUT;
        }
        if (collective < 0 && items[i].what[0] && !other)
            other = &items[i];
        if (other && strcmp(other->what, items[i].what) != 0) {
            fprintf(stderr,
                    "%s:%u: \"%s\" and \"%s\" are different experiments, and one job is compared\n"
                    "  hint: name one with `what` in the scenario's block `data` "
                    "(scenarios/README.md)\n",
                    about->file, items[i].line, other->what, items[i].what);
            return EXIT_BAD_INPUT;
        }
        if (!about->variant && !one_thing(items[i].variant, items[first].variant)) {
            fprintf(stderr,
                    "%s:%u: \"%s\" and \"%s\" are different series, and one job is compared\n"
                    "  hint: name one in the scenario: data: [{name: %s, file: %s, variant: %s}]\n",
                    about->file, items[i].line, items[first].variant, items[i].variant,
                    items[first].variant, base_name(about->file), items[first].variant);
            return EXIT_BAD_INPUT;
        }
    }
    return EXIT_FINE;
}

/* Whether --sizes, where it is given, names the size. */
static bool is_asked(const struct scenario *scenario, double size_B)
{
    for (size_t i = 0; i < scenario->size_count; i++)
        if (fabs(scenario->sizes_B[i] - size_B) < 0.5)
            return true;
    return false;
}

/* `some`: only those of the scenario's sizes, which are those of --sizes. */
static enum status add_points(struct measured *measured, struct measured_set *set,
                              size_t first_observation, bool some)
{
    set->first = measured->point_count;
    for (size_t i = first_observation; i < measured->all.count; i++) {
        const struct observation *item = &measured->all.items[i];
        double value = measured_value(&set->about, &set->scenario, item);
        if (!(value > 0) || (some && !is_asked(&set->scenario, item->size_B)))
            continue;
        struct measured_point *grown =
            realloc(measured->points, (measured->point_count + 1) * sizeof *grown);
        double *sizes = realloc(set->sizes_B, (set->size_count + 1) * sizeof *sizes);
        size_t *places = realloc(set->size_of_point, (set->count + 1) * sizeof *places);
        if (grown)
            measured->points = grown;
        if (sizes)
            set->sizes_B = sizes;
        if (places)
            set->size_of_point = places;
        if (!grown || !sizes || !places)
            return STATUS_NOMEM;
        size_t at = 0;
        while (at < set->size_count && (sizes[at] < item->size_B || sizes[at] > item->size_B))
            at++;
        if (at == set->size_count)
            sizes[set->size_count++] = item->size_B;
        places[set->count++] = at;
        measured->points[measured->point_count++] =
            (struct measured_point){.set = (uint32_t)(set - measured->sets),
                                    .observation = (uint32_t)i,
                                    .size_B = item->size_B,
                                    .measured = value,
                                    .predicted = (double)NAN};
    }
    return STATUS_OK;
}

/* The observations of a file, read once. */
static int read_file(struct measured *measured, const char *path, size_t *ret_first,
                     size_t *ret_end)
{
    for (size_t i = 0; i < measured->all.count; i++)
        if (strcmp(measured->all.runs[measured->all.items[i].run].file, path) == 0) {
            *ret_first = i;
            while (i < measured->all.count &&
                   strcmp(measured->all.runs[measured->all.items[i].run].file, path) == 0)
                i++;
            *ret_end = i;
            return EXIT_FINE;
        }
    struct diag_list diag;
    diag_init(&diag);
    *ret_first = measured->all.count;
    enum status status = measured_read(path, &measured->all, &diag);
    *ret_end = measured->all.count;
    cli_warn(&diag);
    diag_free(&diag);
    return status ? EXIT_BAD_INPUT : EXIT_FINE;
}

/* The calibrated values of the scenario as --set, for a job of another file on the same machine;
 * the caller frees each. Keys that the other machine lacks would be mistakes there, so both are
 * alike. */
static size_t calibrated_sets(struct measured *measured, char **ret_set, size_t limit)
{
    struct calibration calibration;
    size_t count = 0;
    if (calibration_read(&measured->scenario, &calibration))
        calibration.count = 0;
    for (size_t i = 0; i < calibration.count && i < limit; i++) {
        struct address at;
        const char *key = calibration.values[i].key;
        if (!address_first(&measured->scenario.machine, key, &at))
            continue;
        enum dimension dimension = param_info(at.id)->dimension;
        char *set = file_path("%s=%.12g%s", key, address_get(&measured->scenario.machine, &at),
                              dimension == DIM_TIME    ? " s"
                              : dimension == DIM_RATE  ? " B/s"
                              : dimension == DIM_BYTES ? " B"
                                                       : "");
        if (set)
            ret_set[count++] = set;
    }
    calibration_free(&calibration);
    return count;
}

static int open_set(struct measured *measured, const struct options *options,
                    const struct dataset *about)
{
    struct measured_set *set = &measured->sets[measured->set_count];
    struct options own = *options;
    struct error error;
    size_t first = 0, end = 0;
    *set = (struct measured_set){.about = *about};
    own.file = about->scenario ? about->scenario : options->file;
    own.quiet = true; /* what --set changed was said of the scenario itself */
    char *from_main[CALIBRATION_MAX];
    size_t from_main_count =
        about->scenario ? calibrated_sets(measured, from_main, CALIBRATION_MAX) : 0;
    bool fits = own.set_count + from_main_count + about->set_count <= CLI_MAX_SET;
    for (size_t i = 0; i < from_main_count && fits; i++)
        own.set[own.set_count++] = from_main[i];
    own.mechanism = options->mechanism ? options->mechanism : about->mechanism;
    own.accounting = options->accounting ? options->accounting : about->accounting;
    for (size_t i = 0; i < about->set_count && fits; i++)
        own.set[own.set_count++] = about->set[i];
    int code = fits ? read_file(measured, about->file, &first, &end) : EXIT_BAD_INPUT;
    if (!fits)
        fprintf(stderr,
                "%s: \"%s\" would set %zu values, of which %zu are calibrated; %d can be set\n",
                options->file, about->name, own.set_count + from_main_count + about->set_count,
                from_main_count, CLI_MAX_SET);
    code = code ? code : cli_load(&own, &set->scenario);
    for (size_t i = 0; i < from_main_count; i++)
        free(from_main[i]);
    if (code)
        return code;
    measured->set_count++;
    if (pair_open(&set->pair, &set->scenario,
                  options->algorithm ? options->algorithm : about->algorithm,
                  set->scenario.mechanisms[0], &error))
        return cli_fail(&error);
    set->open = true;
    code = measured_check_rows(&set->about, &set->scenario, measured->all.items, first, end);
    if (code)
        return code;
    size_t before = measured->all.count;
    measured->all.count = end; /* of this file only */
    enum status status = add_points(measured, set, first, options->sizes != NULL);
    measured->all.count = before;
    if (status) {
        error_set(&error, STATUS_NOMEM, "out of memory");
        return cli_fail(&error);
    }
    if (set->count == 0) {
        fprintf(stderr,
                "%s: no row of it is a point of \"%s\"%s%s%s%s\n"
                "  hint: gdsim import prints what its rows hold: a size, a time or a counter%s\n",
                about->file, about->name, about->what ? ", what: " : "",
                about->what ? about->what : "", about->variant ? ", variant: " : "",
                about->variant ? about->variant : "",
                options->sizes ? "; --sizes leaves out all but its own" : "");
        return EXIT_BAD_INPUT;
    }
    return EXIT_FINE;
}

struct dataset measured_own(const char *file)
{
    return (struct dataset){.name = base_name(file),
                            .file = (char *)(uintptr_t)file,
                            .to_B = (double)INFINITY,
                            .fit_to_B = (double)INFINITY};
}

/* The data sets of one file of --data: those that name it, else the scenario's own job. */
static int open_file(struct measured *measured, const struct options *options, const char *file)
{
    bool found = false;
    int code = EXIT_FINE;
    for (size_t i = 0; i < measured->datasets.count && !code; i++) {
        struct dataset about = measured->datasets.items[i];
        if (strcmp(base_name(about.file), base_name(file)) != 0)
            continue;
        about.file = (char *)(uintptr_t)file; /* the one that was given */
        found = true;
        code = open_set(measured, options, &about);
    }
    if (found || code)
        return code;
    struct dataset own = measured_own(file);
    return open_set(measured, options, &own);
}

int measured_open(const struct options *options, const char *const *files, size_t file_count,
                  struct measured *ret)
{
    struct measured *measured = ret;
    memset(measured, 0, sizeof *measured);
    observations_init(&measured->all);
    int code = cli_load(options, &measured->scenario);
    if (code)
        return code;
    enum status status = datasets_read(&measured->scenario, &measured->datasets);
    if (status)
        return cli_fail_scenario(&measured->scenario, status);
    size_t most = (measured->datasets.count + 1) * (file_count + 1);
    measured->sets = calloc(most, sizeof *measured->sets);
    if (!measured->sets) {
        fprintf(stderr, "gdsim: out of memory\n");
        return EXIT_RUN_FAILED;
    }
    for (size_t i = 0; i < file_count && !code; i++)
        code = open_file(measured, options, files[i]);
    for (size_t i = 0; file_count == 0 && i < measured->datasets.count && !code; i++)
        code = open_set(measured, options, &measured->datasets.items[i]);
    if (!code && measured->set_count == 0) {
        fprintf(stderr, "%s: names no data; give --data FILE\n", options->file);
        code = EXIT_BAD_INPUT;
    }
    return code;
}

void measured_close(struct measured *measured)
{
    for (size_t i = 0; i < measured->set_count; i++) {
        if (measured->sets[i].open)
            pair_close(&measured->sets[i].pair);
        scenario_free(&measured->sets[i].scenario);
        free(measured->sets[i].sizes_B);
        free(measured->sets[i].size_of_point);
        free(measured->sets[i].needed);
    }
    free(measured->sets);
    free(measured->points);
    datasets_free(&measured->datasets);
    observations_free(&measured->all);
    scenario_free(&measured->scenario);
    memset(measured, 0, sizeof *measured);
}

enum status measured_predict(struct measured *measured, struct measured_set *set,
                             const struct predict_change *changes, size_t change_count,
                             struct error *error)
{
    struct predict_job job = experiment_predict_job(&set->pair.experiment, 0);
    double *values = calloc(2 * set->size_count + 1, sizeof *values);
    if (!values)
        return error_set(error, STATUS_NOMEM, "out of memory");
    double *sizes_B = values + set->size_count;
    size_t count = 0;
    for (size_t i = 0; i < set->size_count; i++)
        if (!set->needed || set->needed[i])
            sizes_B[count++] = set->sizes_B[i];
    enum status status =
        set->about.counter
            ? predict_counters(&job, set->about.counter, changes, change_count, sizes_B, count,
                               values, error)
            : predict_times(&job, changes, change_count, sizes_B, count, values, error);
    for (size_t i = set->size_count; i-- > 0 && !status;)
        if (!set->needed || set->needed[i])
            values[i] = values[--count];
    for (size_t i = 0; i < set->count && !status; i++)
        if (!set->needed || set->needed[set->size_of_point[i]])
            measured->points[set->first + i].predicted = values[set->size_of_point[i]];
    free(values);
    return status;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double measured_median_error(const struct measured *measured, const struct measured_set *set,
                             double low_B, double high_B, size_t *ret_count, size_t *ret_worst)
{
    double *errors = malloc((set->count + 1) * sizeof *errors), most = -1, median = (double)NAN;
    size_t count = 0;
    for (size_t i = 0; errors && i < set->count; i++) {
        const struct measured_point *point = &measured->points[set->first + i];
        if (point->size_B < low_B || point->size_B >= high_B)
            continue;
        double off = fabs(point->predicted / point->measured - 1);
        if (off > most && ret_worst)
            *ret_worst = set->first + i;
        most = off > most ? off : most;
        errors[count++] = off;
    }
    if (count > 0) {
        qsort(errors, count, sizeof *errors, by_value);
        median = count % 2 ? errors[count / 2] : (errors[count / 2 - 1] + errors[count / 2]) / 2;
    }
    free(errors);
    if (ret_count)
        *ret_count = count;
    return median;
}
