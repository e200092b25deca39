/* nccl_tests.h: the table that nccl-tests prints.
 *
 *   #  size  count  type  redop  root  time  algbw  busbw  #wrong  time  algbw  busbw  #wrong
 *   #   (B) (elements)                 (us)  (GB/s) (GB/s)         (us)  (GB/s) (GB/s)
 *     1048576  262144  float  sum  -1  32.26  32.51  32.51  0  31.30  33.50  33.50  0
 *
 * Rows are the lines that start with a size; the first group is out of place. Everything else in
 * the file (NCCL's own lines, comments) is passed over.
 */
#ifndef GDSIM_LOAD_NCCL_TESTS_H
#define GDSIM_LOAD_NCCL_TESTS_H

#include "sim/load/diag.h"

#define NCCL_TESTS_ROWS 512

struct nccl_tests_row {
    uint64_t size_B;
    double time_us, algbw_GBps, busbw_GBps; /* out of place */
};

struct nccl_tests {
    struct nccl_tests_row rows[NCCL_TESTS_ROWS];
    size_t count;
};

/* STATUS_INPUT with a mistake noted when the text has no such row, or too many. */
enum status nccl_tests_read(const char *path, const char *text, struct nccl_tests *ret_tests,
                            struct diag_list *diag);

/* NULL: that size was not measured. */
const struct nccl_tests_row *nccl_tests_find(const struct nccl_tests *tests, double size_B);

#endif
