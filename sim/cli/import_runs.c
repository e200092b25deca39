/* import_runs.c: measured runs into one tidy table; see measured.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/measured.h"
#include "sim/load/file.h"
#include "sim/report/grid.h"
#include "sim/report/output.h"

void cli_warn(const struct diag_list *diag)
{
    char *text = NULL;
    if (diag_count(diag) > 0 && !diag_render(diag, &text))
        fputs(text, stderr);
    free(text);
}

enum status measured_read(const char *path, struct observations *all, struct diag_list *diag)
{
    struct error error;
    char *text;
    size_t length;
    if (file_read(path, OBSERVE_BYTES, &text, &length, &error))
        return diag_add_error(diag, (struct mark){diag_intern(diag, path), 0, 0}, &error);
    enum status status = observe_text(path, text, length, OBSERVE_FORMATS, all, diag);
    free(text);
    return status;
}

/* "nccl-tests 2.19.6, all_reduce_perf, 2 ranks on 1 node, NVIDIA H200" */
static void describe(const struct observed_run *run, struct text *text)
{
    text_printf(text, "# %s:%u: %s", run->file, run->line, observe_format_name(run->format));
    if (run->version[0])
        text_printf(text, " %s", run->version);
    if (run->tool[0])
        text_printf(text, ", %s", run->tool);
    if (run->ranks)
        text_printf(text, ", %u ranks", run->ranks);
    else if (run->ranks_high && run->ranks_low == run->ranks_high)
        text_printf(text, ", %u ranks by busbw over algbw", run->ranks_low);
    else if (run->ranks_high)
        text_printf(text, ", %u to %u ranks by busbw over algbw", run->ranks_low, run->ranks_high);
    if (run->nodes)
        text_printf(text, " on %u node%s", run->nodes, run->nodes > 1 ? "s" : "");
    if (run->device[0])
        text_printf(text, ", %s", run->device);
    const struct observed_channels *ways = &run->channels;
    if (ways->p2p + ways->shm + ways->net_gdr + ways->net_staged + ways->collnet)
        text_printf(text,
                    "; connections: %u P2P, %u SHM, %u NET with GDRDMA, %u NET without, %u CollNet",
                    ways->p2p, ways->shm, ways->net_gdr, ways->net_staged, ways->collnet);
    if (run->gdr_disabled)
        text_printf(text, "; GPU Direct RDMA disabled for %u NIC lines", run->gdr_disabled);
    if (run->choice_count)
        text_printf(text, "; %zu choices of algorithm and protocol", run->choice_count);
    if (!isnan(run->compat_ops))
        text_printf(text, "; %.0f operations in compatibility mode", run->compat_ops);
    if (!isnan(run->direct_ops))
        text_printf(text, "; %.0f direct operations", run->direct_ops);
    if (run->average_ignored)
        text_printf(text, "; its average over all sizes is not used");
    text_printf(text, "\n");
}

static const struct grid_column columns[] = {
    {.name = "what", .kind = GRID_TEXT},          {.name = "variant", .kind = GRID_TEXT},
    {.name = "size_bytes", .kind = GRID_REAL},    {.name = "time_us", .kind = GRID_REAL},
    {.name = "algbw_GBps", .kind = GRID_REAL},    {.name = "busbw_GBps", .kind = GRID_REAL},
    {.name = "min_us", .kind = GRID_REAL},        {.name = "max_us", .kind = GRID_REAL},
    {.name = "counted_bytes", .kind = GRID_REAL}, {.name = "file", .kind = GRID_TEXT},
    {.name = "line", .kind = GRID_INT},
};

/* As it was printed: units were changed on the way in and out. */
static void set_real(struct grid *grid, size_t column, double value)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%.12g", value);
    if (!isnan(value))
        grid_set_real(grid, column, strtod(digits, NULL));
}

static enum status write(const struct observations *all, struct text *text, struct error *error)
{
    struct grid *grid = grid_new();
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        grid_column(grid, &columns[i]);
    for (size_t i = 0; i < all->run_count; i++)
        describe(&all->runs[i], text);
    for (size_t i = 0; i < all->count; i++) {
        const struct observation *item = &all->items[i];
        grid_row(grid);
        grid_set_text(grid, 0, item->what);
        grid_set_text(grid, 1, item->variant);
        set_real(grid, 2, item->size_B);
        set_real(grid, 3, item->time_s * 1e6);
        set_real(grid, 4, item->algbw_Bps / 1e9);
        set_real(grid, 5, item->busbw_Bps / 1e9);
        set_real(grid, 6, item->low_s * 1e6);
        set_real(grid, 7, item->high_s * 1e6);
        set_real(grid, 8, item->counted);
        grid_set_text(grid, 9, all->runs[item->run].file);
        grid_set_int(grid, 10, item->line);
    }
    enum status status = all->count ? grid_write_csv(grid, text, error) : STATUS_OK;
    grid_free(grid);
    return status;
}

int cli_import_runs(const char *const *files, size_t count, const char *output)
{
    struct observations all;
    struct diag_list diag;
    struct text text = {0};
    struct error error;
    int code = EXIT_FINE;
    observations_init(&all);
    diag_init(&diag);
    for (size_t i = 0; i < count; i++)
        if (measured_read(files[i], &all, &diag))
            code = EXIT_BAD_INPUT;
    cli_warn(&diag);
    if (all.run_count > 0 && (write(&all, &text, &error) ||
                              output_write(output ? output : "-", text.data, text.length, &error)))
        code = cli_fail(&error);
    text_free(&text);
    observations_free(&all);
    diag_free(&diag);
    return code;
}

bool cli_is_run(const char *path)
{
    struct error error;
    char *text;
    size_t length;
    if (file_read(path, OBSERVE_BYTES, &text, &length, &error))
        return false;
    bool is = memchr(text, '\0', length) == NULL && observe_detect(text, length) != OBSERVE_FORMATS;
    free(text);
    return is;
}
