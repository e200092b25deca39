/* calibrate_correlation.c: which fitted values err together: a table for people, and the list that
 * the written file has in its block `calibration`. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/calibrate.h"
#include "sim/report/grid.h"

static double at(const struct calibration_run *run, size_t i, size_t j)
{
    return run->correlation[i * run->count + j];
}

static bool is_fitted(const struct calibration_run *run, size_t parameter)
{
    return run->parameters[parameter].state == FIT_DONE && !isnan(at(run, parameter, parameter));
}

void calibrate_fitted_as(const struct fit_entry *entry, struct text *text)
{
    for (size_t k = 0; k < entry->key_count; k++)
        text_printf(text, "%s%s", k ? ", " : "", entry->keys[k]);
}

enum status calibrate_correlations(const struct calibration_run *run, struct text *text,
                                   struct error *error)
{
    char names[FIT_MAX_PARAMETERS][8];
    struct grid *grid = grid_new();
    size_t number = 0;
    grid_column(grid, &(struct grid_column){.name = "number", .title = "", .kind = GRID_INT});
    grid_column(grid, &(struct grid_column){.name = "value", .kind = GRID_TEXT});
    for (size_t j = 0; j < run->count; j++)
        if (is_fitted(run, j)) {
            snprintf(names[number], sizeof names[number], "%zu", number + 1);
            grid_column(grid, &(struct grid_column){
                                  .name = names[number], .kind = GRID_REAL, .decimals = 2});
            number++;
        }
    number = 0;
    for (size_t i = 0; i < run->count; i++) {
        size_t column = 2;
        if (!is_fitted(run, i))
            continue;
        grid_row(grid);
        grid_set_int(grid, 0, (int64_t)++number);
        grid_set_text(grid, 1, run->parameters[i].name);
        for (size_t j = 0; j <= i; j++)
            if (is_fitted(run, j))
                grid_set_real(grid, column++, at(run, i, j));
    }
    text_printf(text, "\nCorrelation of their errors (of the logarithms):\n");
    enum status status = grid_write_table(grid, text, error);
    grid_free(grid);
    return status;
}

/* A value of a data set alone is not written, so neither is what it errs with. */
static bool is_shared(const struct calibration_run *run, size_t parameter)
{
    return is_fitted(run, parameter) && run->what[parameter].set == EVERY_SET;
}

void calibrate_write_correlation(const struct calibration_run *run, struct text *text)
{
    bool any = false;
    size_t shared = 0;
    for (size_t i = 0; i < run->count; i++)
        shared += is_shared(run, i);
    for (size_t i = 0; i < run->count && shared > 1; i++) {
        if (!is_shared(run, i))
            continue;
        text_printf(text, "%s    - {of: \"", any ? "" : "  correlation:\n");
        calibrate_fitted_as(run->what[i].entry, text);
        text_printf(text, "\"");
        bool first = true;
        for (size_t j = 0; j < i; j++)
            if (is_shared(run, j)) {
                text_printf(text, "%s%.3g", first ? ", with: [" : ", ",
                            rint(1000 * at(run, i, j)) / 1000 + 0.0); /* never -0 */
                first = false;
            }
        text_printf(text, "%s}\n", first ? "" : "]");
        any = true;
    }
}
