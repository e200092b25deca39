/* test_probe_h200x2.c: what gdprobe observed on two H200s (tests/data/h200x2-probe): the bytes that
 * were counted are those that packet headers make, and the verdicts are the right ones.
 *
 * bench.csv: gdprobe bench. watch-*.csv: gdprobe watch around NCCL allreduces
 * (tests/probe/allreduce.c) over NVLink, shared memory (stores by the SMs, or by the copy engine)
 * and sockets.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "probe/verdict.h"

enum { COLUMNS = 16 };
static const char *const names[COLUMNS] = {
    "experiment", "place", "size_B",  "chunk_B",   "device",  "quantity", "unit",    "value",
    "min",        "p90",   "samples", "payload_B", "seconds", "baseline", "quality", "note"};
enum { EXPERIMENT, PLACE, DEVICE = 4, QUANTITY, VALUE = 7, PAYLOAD = 11 };

/* Call take() for each row; fields up to the note, which alone may have commas. */
static void each_row(const char *name, void (*take)(void *context, char *fields[COLUMNS]),
                     void *context)
{
    char path[128], line[1024];
    bool head = true;
    snprintf(path, sizeof path, "tests/data/h200x2-probe/%s", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char *fields[COLUMNS], *rest = line;
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < COLUMNS; i++) {
            fields[i] = rest;
            rest += i < COLUMNS - 1 ? strcspn(rest, ",") : strlen(rest);
            if (*rest)
                *rest++ = '\0';
            if (head)
                assert_string_equal(fields[i], names[i]);
        }
        if (!head)
            take(context, fields);
        head = false;
    }
    assert_int_equal(strncmp(line, "# complete: yes", 15), 0);
    fclose(file);
}

/* ---- bench ----------------------------------------------------------------------------------- */

static const double CE = 256, SM = 128; /* bytes of payload in a packet */

struct expected {
    const char *experiment, *place, *device, *quantity;
    double factor;
    int seen;
};

static void compare(void *context, char *fields[COLUMNS])
{
    for (struct expected *row = context; row->experiment; row++) {
        if (strcmp(fields[EXPERIMENT], row->experiment) || strcmp(fields[PLACE], row->place) ||
            strcmp(fields[DEVICE], row->device) || strcmp(fields[QUANTITY], row->quantity))
            continue;
        double factor = atof(fields[VALUE]) / atof(fields[PAYLOAD]);
        if (fabs(factor - row->factor) > 0.01 * row->factor + 0.001)
            fail_msg("%s %s %s %s: %.4f, expected %.4f", row->experiment, row->place, row->device,
                     row->quantity, factor, row->factor);
        row->seen++;
    }
}

static void bytes_are_what_packets_make(void **state)
{
    (void)state;
    struct expected rows[] = {
        {"memcpy_pinned", "gpu0>host", "gpu0", "pcie_tx", 1 + 24 / CE, 0}, /* 1.0938 */
        {"memcpy_pinned", "gpu0>host", "gpu0", "pcie_rx", 0, 0},
        {"memcpy_pinned", "host>gpu0", "gpu0", "pcie_rx", 1 + 20 / CE, 0}, /* 1.0781 */
        {"memcpy_pinned", "host>gpu0", "gpu0", "pcie_tx", 24 / CE, 0},     /* 0.0938 */
        {"memcpy_pinned", "host>gpu0", "gpu1", "pcie_rx", 0, 0},
        {"memcpy_pinned", "gpu1>host", "gpu1", "pcie_tx", 1 + 24 / CE, 0},
        {"memcpy_pinned_bidir", "gpu0<>host", "gpu0", "pcie_tx", (1 + 48 / CE) / 2, 0},
        {"kernel_write_host", "gpu0>host", "gpu0", "pcie_tx", 1 + 24 / SM, 0}, /* 1.1875 */
        {"kernel_read_host", "host>gpu0", "gpu0", "pcie_rx", 1 + 20 / SM, 0},  /* 1.1563 */
        {"kernel_read_host", "host>gpu0", "gpu0", "pcie_tx", 24 / SM, 0},      /* 0.1875 */
        {"staged_serial", "gpu0>host>gpu1", "gpu0", "pcie_tx", 1 + 24 / CE, 0},
        {"staged_serial", "gpu0>host>gpu1", "gpu1", "pcie_rx", 1 + 20 / CE, 0},
        {"memcpy_peer_notenabled", "gpu0>gpu1", "gpu0", "pcie_tx", 1 + 24 / CE, 0},
        {"memcpy_peer_notenabled", "gpu0>gpu1", "gpu0", "nvlink_tx", 0, 0},
        {"memcpy_peer_enabled", "gpu0>gpu1", "gpu0", "nvlink_tx", 1, 0},
        {"memcpy_peer_enabled", "gpu0>gpu1", "gpu1", "nvlink_rx", 1, 0},
        {"memcpy_peer_enabled", "gpu0>gpu1", "gpu0", "pcie_tx", 0, 0},
        {"kernel_peer_read", "gpu1>gpu0", "gpu1", "nvlink_tx", 1, 0},
        {NULL, NULL, NULL, NULL, 0, 0},
    };
    each_row("bench.csv", compare, rows);
    for (struct expected *row = rows; row->experiment; row++)
        assert_int_equal(row->seen, 1);
}

/* ---- watch ----------------------------------------------------------------------------------- */

static void collect(void *context, char *fields[COLUMNS])
{
    struct evidence *evidence = context;
    unsigned gpu;
    double value = atof(fields[VALUE]);
    if (strcmp(fields[QUANTITY], "net_rx") == 0)
        evidence->net_rx = (isnan(evidence->net_rx) ? 0 : evidence->net_rx) + value;
    if (sscanf(fields[DEVICE], "gpu%u", &gpu) != 1 || !fields[PAYLOAD][0])
        return;
    assert_true(gpu < 2);
    evidence->payload_B = atof(fields[PAYLOAD]);
    if (strcmp(fields[QUANTITY], "pcie_tx") == 0)
        evidence->gpus[gpu].pcie_tx = value;
    if (strcmp(fields[QUANTITY], "pcie_rx") == 0)
        evidence->gpus[gpu].pcie_rx = value;
    if (strcmp(fields[QUANTITY], "nvlink_rx") == 0)
        evidence->gpus[gpu].nvlink_rx = value;
}

static void expect(const char *file, enum verdict_word word, const char *text, double t, double r)
{
    struct evidence evidence = {.payload_B = (double)NAN, .gpu_count = 2};
    struct verdict verdict;
    evidence.dram = evidence.iio = evidence.nic_rx = evidence.net_rx = (double)NAN;
    each_row(file, collect, &evidence);
    for (int i = 0; i < 2; i++) {
        assert_true(fabs(evidence.gpus[i].pcie_tx / evidence.payload_B - t) <= 0.01 * t + 0.001);
        assert_true(fabs(evidence.gpus[i].pcie_rx / evidence.payload_B - r) <= 0.01 * r + 0.001);
    }
    verdict_reach(&evidence, &verdict);
    if (verdict.word != word || !strstr(verdict.text, text))
        fail_msg("%s: %s: %s", file, verdict_words[verdict.word], verdict.text);
}

static void verdicts_of_real_runs(void **state)
{
    (void)state;
    expect("watch-nvlink.csv", VERDICT_DIRECT, "over NVLink: 1.0000 B", 0, 0);
    expect(
        "watch-shm.csv", VERDICT_STAGED,
        "1.000 B written to it by the SMs (packets of 128 B) and 1.000 B read from it by the SMs",
        1.375, 1.15625);
    expect(
        "watch-shm-memcpy.csv", VERDICT_STAGED,
        "written to it by the copy engine (packets of 256 B) and 1.001 B read from it by the SMs",
        1.28125, 1.15625);
    /* NCCL's flags and its small messages beside the payload make 0.6 and 1.5 % more */
    expect("watch-socket.csv", VERDICT_STAGED, "over TCP: network interfaces received 1.001 B",
           1.383, 1.174);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_what_packets_make),
        cmocka_unit_test(verdicts_of_real_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
