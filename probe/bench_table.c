/* bench_table.c: see bench_table.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probe/bench_table.h"
#include "probe/size.h"

void bench_table_add(struct bench_table *table, const struct observation *row)
{
    if (table->count == table->capacity) {
        size_t capacity = table->capacity ? 2 * table->capacity : 256;
        struct observation *rows = realloc(table->rows, capacity * sizeof *rows);
        if (!rows)
            return; /* the file has it */
        table->rows = rows;
        table->capacity = capacity;
    }
    table->rows[table->count++] = *row;
}

void bench_table_free(struct bench_table *table)
{
    free(table->rows);
    *table = (struct bench_table){0};
}

static bool same_number(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_series(const struct observation *a, const struct observation *b)
{
    return strcmp(a->experiment, b->experiment) == 0 && strcmp(a->place, b->place) == 0 &&
           same_number(a->chunk_B, b->chunk_B);
}

static bool is_time(const struct observation *row)
{
    return strcmp(row->quantity, "time") == 0;
}

/* "gpu0 tx 1.0938, gpu1 rx 1.0781": what moved more than a thousandth of the payload. */
static void print_counters(const struct bench_table *table, const struct observation *series,
                           FILE *to)
{
    const char *device = "";
    int shown = 0;
    for (size_t i = 0; i < table->count; i++) {
        const struct observation *row = &table->rows[i];
        if (!same_series(row, series) || is_time(row) || !(row->value > 1e-3 * row->payload_B))
            continue;
        if (strcmp(device, row->device) != 0)
            fprintf(to, "%s %s", shown ? ";" : " ", row->device);
        fprintf(to, " %s %s%.4f", row->quantity, row->quality == QUALITY_AT_LEAST ? ">=" : "",
                row->value / row->payload_B);
        device = row->device;
        shown++;
    }
}

static void print_series(const struct bench_table *table, size_t first, FILE *to)
{
    const struct observation *small = &table->rows[first], *large = small;
    char name[64], chunk[24];
    for (size_t i = first; i < table->count; i++) {
        const struct observation *row = &table->rows[i];
        if (!same_series(row, small) || !is_time(row))
            continue;
        if (row->quality == QUALITY_MISSING) {
            fprintf(to, "%-23s %-16s missing: %s\n", row->experiment, row->place, row->note);
            if (row == small)
                return;
        } else if (row->size_B > large->size_B) {
            large = row;
        }
    }
    snprintf(name, sizeof name, "%s%s%s", small->experiment, isnan(small->chunk_B) ? "" : " ",
             isnan(small->chunk_B) ? "" : size_text(small->chunk_B, chunk, sizeof chunk));
    fprintf(to, "%-23s %-16s %9.2f", name, small->place, 1e6 * small->value);
    if (large != small) {
        char size[24];
        fprintf(to, " %9s %9.2f %9.1f", size_text(large->size_B, size, sizeof size),
                large->payload_B / large->value * 1e-9,
                100 * (large->p90 - large->min) / large->value);
        print_counters(table, small, to);
    }
    fputc('\n', to);
}

void bench_table_print(const struct bench_table *table, const struct sampler_machine *machine,
                       FILE *to)
{
    for (unsigned i = 0; i < machine->gpu_count; i++)
        fprintf(to, "gpu%u: %s, %s, driver %s\n", i, machine->gpus[i].name, machine->gpus[i].busid,
                machine->driver);
    if (machine->why.text[0])
        fprintf(to, "no GPU counters: %s\n", machine->why.text);
    fprintf(to, "%-23s %-16s %9s %9s %9s %9s  %s\n", "# experiment", "place", "small_us", "at",
            "GB/s", "spread_%", "counted bytes per payload byte");
    for (size_t i = 0; i < table->count; i++) {
        bool first = is_time(&table->rows[i]);
        for (size_t k = 0; k < i && first; k++)
            first = !is_time(&table->rows[k]) || !same_series(&table->rows[k], &table->rows[i]);
        if (first)
            print_series(table, i, to);
    }
}
