/* validate_runs.c: whole measured runs beside what is predicted for them; see validate.h. */
#include <math.h>
#include <stdio.h>

#include "sim/cli/validate.h"

#define SMALL_B 65536.0

static void add_row(struct grid *grid, const char *name, const struct measured *measured,
                    const struct measured_set *set, bool small, double within, struct tally *tally)
{
    size_t count, worst = 0;
    char title[160], wanted[48] = "";
    double error = measured_median_error(measured, set, small ? 0 : SMALL_B,
                                         small ? SMALL_B : (double)INFINITY, &count, &worst);
    if (count == 0)
        return;
    const struct measured_point *point = &measured->points[worst];
    bool good = isnan(within) || error <= within;
    snprintf(title, sizeof title, "%s, %s%s", set->about.name,
             small ? "below 64 KiB" : "from 64 KiB", set->about.check ? " (not fitted)" : "");
    if (!isnan(within))
        snprintf(wanted, sizeof wanted, "median error <= %.3g %%", 100 * within);
    double scale = set->about.counter ? 1e-6 : 1e6;
    grid_row(grid);
    grid_set_text(grid, VALIDATE_CASE, name);
    grid_set_text(grid, VALIDATE_NAME, title);
    grid_set_text(grid, VALIDATE_METRIC,
                  set->about.counter ? "counter MB, worst" : "time us, worst");
    grid_set_real(grid, VALIDATE_PREDICTED, point->predicted * scale);
    grid_set_real(grid, VALIDATE_MEASURED, point->measured * scale);
    grid_set_real(grid, VALIDATE_ERROR, 100 * error);
    grid_set_text(grid, VALIDATE_WANTED, wanted);
    grid_set_text(grid, VALIDATE_VERDICT, isnan(within) ? "not judged" : good ? "meets" : "MISSES");
    char place[64];
    snprintf(place, sizeof place, "worst at %.0f B", point->size_B);
    grid_set_text(grid, VALIDATE_LIMIT, place);
    if (set->about.note)
        grid_set_text(grid, VALIDATE_NOTE, set->about.note);
    bool judged = !isnan(within);
    tally->open += !judged;
    tally->met += good && judged;
    tally->missed += !good;
    tally->unexplained += !good && !set->about.note;
    tally->measured = true;
    tally->worst = 100 * error > fabs(tally->worst) ? 100 * error : tally->worst;
}

int validate_runs(const char *file, const char *name, struct grid *grid, struct tally *tally)
{
    struct options options = {.file = file};
    struct measured measured;
    struct error error;
    int code = measured_open(&options, NULL, 0, &measured);
    for (size_t i = 0; i < measured.set_count && !code; i++)
        if (measured_predict(&measured, &measured.sets[i], NULL, 0, &error))
            code = cli_fail(&error);
    for (size_t i = 0; i < measured.set_count && !code; i++) {
        const struct measured_set *set = &measured.sets[i];
        add_row(grid, name, &measured, set, false, set->about.within, tally);
        if (!set->about.counter)
            add_row(grid, name, &measured, set, true, set->about.within_small, tally);
    }
    measured_close(&measured);
    return code;
}
