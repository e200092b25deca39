/* nccl_tests.c: see nccl_tests.h. */
#include "sim/load/nccl_tests.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A row of numbers is told from other lines by its shape: five words, then three numbers. */
static bool read_row(const char *line, struct nccl_tests_row *ret)
{
    unsigned long long size, count;
    char type[32], redop[32];
    int root;
    double time, algbw, busbw;
    if (sscanf(line, " %llu %llu %31s %31s %d %lf %lf %lf", &size, &count, type, redop, &root,
               &time, &algbw, &busbw) != 8 ||
        size == 0 || !(time > 0) || !isfinite(time) || !isfinite(algbw) || !isfinite(busbw))
        return false;
    *ret = (struct nccl_tests_row){size, time, algbw, busbw};
    return true;
}

enum status nccl_tests_read(const char *path, const char *text, struct nccl_tests *ret_tests,
                            struct diag_list *diag)
{
    struct nccl_tests_row row;
    struct mark mark = {diag_intern(diag, path), 0, 0};
    ret_tests->count = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        mark.line++;
        if (!read_row(line, &row))
            continue;
        if (ret_tests->count == NCCL_TESTS_ROWS)
            return diag_add(diag, mark, NULL, "more than %d rows", NCCL_TESTS_ROWS);
        ret_tests->rows[ret_tests->count++] = row;
    }
    mark.line = 0;
    return ret_tests->count > 0
               ? STATUS_OK
               : diag_add(diag, mark, "all_reduce_perf -b 8 -e 1G -f 2 > FILE writes one",
                          "no row of an nccl-tests table: size count type redop root time ...");
}

const struct nccl_tests_row *nccl_tests_find(const struct nccl_tests *tests, double size_B)
{
    for (size_t i = 0; i < tests->count; i++)
        if (fabs((double)tests->rows[i].size_B - size_B) < 0.5)
            return &tests->rows[i];
    return NULL;
}
