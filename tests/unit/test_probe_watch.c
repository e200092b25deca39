/* test_probe_watch.c: verdicts from counters, NCCL's log, counters of a captured tree. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "probe/lines.h"
#include "probe/snapshot.h"
#include "probe/verdict.h"

static const double NONE = (double)NAN;

/* Two GPUs that each moved `payload`, with bytes a payload byte: NVLink in, PCIe out and in. */
static struct evidence both(double payload, double v, double t, double r)
{
    struct evidence evidence = {.payload_B = payload, .gpu_count = 2};
    for (int i = 0; i < 2; i++) {
        evidence.gpus[i].nvlink_rx = evidence.gpus[i].nvlink_tx = v * payload;
        evidence.gpus[i].pcie_tx = t * payload;
        evidence.gpus[i].pcie_rx = r * payload;
    }
    evidence.dram = evidence.iio = evidence.nic_rx = evidence.net_rx = NONE;
    return evidence;
}

static void expect(struct evidence evidence, enum verdict_word word, const char *text)
{
    struct verdict verdict;
    verdict_reach(&evidence, &verdict);
    if (verdict.word != word || !strstr(verdict.text, text))
        fail_msg("%s: %s (expected %s: ...%s...)", verdict_words[verdict.word], verdict.text,
                 verdict_words[word], text);
}

/* measured/h200x2: 256 MiB a call. */
static void measured_counters(void **state)
{
    (void)state;
    expect(both(268435456, 1.0000, 0.00001, 0.00004), VERDICT_DIRECT, "over NVLink: 1.0000 B");
    /* SHM: m = 128: R = 1.1566 / 1.15625 = 1.000, W = (1.3753 - 0.1875 R) / 1.1875 = 1.000 */
    expect(both(268435456, 0, 1.3753, 1.1566), VERDICT_STAGED,
           "1.000 B written to it by the SMs (packets of 128 B) and 1.000 B read from it by the "
           "SMs (128 B)");
    /* SHM with the copy engine on the sender's side: R = 1.1575 / 1.15625 = 1.001,
     * W = (1.2820 - 0.1875 R) / 1.09375 = 1.0005; 256 B on both legs would be 0.6 % apart */
    expect(both(73014444032.0, 0, 1.2820, 1.1575), VERDICT_STAGED,
           "1.001 B written to it by the copy engine (packets of 256 B) and 1.001 B read from it "
           "by the SMs (128 B)");
    /* sockets: also over lo, where each GPU's payload was received once */
    struct evidence sockets = both(7516192768.0, 0, 1.3832, 1.1739);
    sockets.net_rx = 15048313632.0;
    expect(sockets, VERDICT_STAGED, "over TCP: network interfaces received 1.001 B");
    /* copy engine, one GPU out and the other in, payload on both: W = R = 0.5, m = 256 */
    struct evidence staged = both(34359738368.0, 0, 0, 0);
    staged.gpus[0].pcie_tx = 37582334416.0;
    staged.gpus[1].pcie_tx = 3222640856.0;
    staged.gpus[1].pcie_rx = 37045036268.0;
    expect(staged, VERDICT_STAGED,
           "0.500 B written to it by the copy engine (packets of 256 B) and 0.500 B read");
    /* D2H alone proves nothing about another end */
    struct evidence out = both(68719476736.0, 0, 0, 0);
    out.gpu_count = 1;
    out.gpus[0].pcie_tx = 75163211168.0;
    expect(out, VERDICT_UNDECIDED, "1.0938 B left the GPU");
}

static void memory_decides_where_it_is_counted(void **state)
{
    (void)state;
    /* two GPUs, D = 1e9 each, so 2e9 B of payload in all */
    struct evidence evidence = both(1e9, 0, 1.1875, 1.1875);
    evidence.dram = 4e9; /* 4e9 / 2e9 = 2: written once, read once */
    evidence.iio = 4e9;
    expect(evidence, VERDICT_STAGED, "2.00 B of DRAM traffic");
    evidence.dram = 2e7; /* 0.01 */
    expect(evidence, VERDICT_REDIRECTED, "(2.00 B there a payload byte)");
    evidence.iio = 1e8; /* 0.05 */
    expect(evidence, VERDICT_DIRECT, "under one PCIe switch");
    evidence.iio = NONE;
    expect(evidence, VERDICT_DIRECT, "without memory of the host: 0.01 B");
}

static void nothing_seen_is_undecided(void **state)
{
    (void)state;
    expect(both(1e9, 0, 0, 0), VERDICT_UNDECIDED, "saw nothing");
    expect(both(1e9, 0.001, 0.001, 0.001), VERDICT_UNDECIDED, "only 0.0020 B");
    expect(both(1e9, NONE, NONE, NONE), VERDICT_UNDECIDED, "could be read");
    struct evidence little = both(1e9, 0, 0, 0);
    little.payload_B = NONE;
    little.gpus[0].pcie_tx = 2e6;
    expect(little, VERDICT_UNDECIDED, "moved only 2.0 MB");
    expect(both(1e9, 0, 1.3, 0.9), VERDICT_UNDECIDED, "fit neither");
    expect(both(1e9, 0.5, 0.6875, 0.578), VERDICT_MIXED, "0.5000 B over NVLink");
}

static void labels_are_compared(void **state)
{
    (void)state;
    struct nccl_log log = {0};
    struct verdict verdict;
    struct evidence evidence = both(1e9, 0, 1.375, 1.15625);
    nccl_log_line(&log, "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via "
                        "NET/IB/0/GDRDMA comm 0x1 nRanks 02");
    assert_int_equal(log.labels[0].class, NCCL_NET_GDR);
    assert_string_equal(log.labels[0].text, "NET/IB/0/GDRDMA");
    evidence.log = &log;
    evidence.nic_rx = 1.05e9;
    verdict_reach(&evidence, &verdict);
    assert_string_equal(verdict.conflict,
                        "NCCL says GPUDirect RDMA, but the bytes went through the host");
    evidence.nic_rx = NONE;
    verdict_reach(&evidence, &verdict);
    assert_non_null(strstr(verdict.conflict, "its ports received only 0.000 B"));
    memset(&log, 0, sizeof log);
    nccl_log_line(&log, "h:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0");
    evidence.nic_rx = 1.05e9;
    verdict_reach(&evidence, &verdict);
    assert_string_equal(verdict.conflict, ""); /* staged, over an RDMA NIC: as said */
}

static void take(void *context, const char *line)
{
    nccl_log_line(context, line);
}

/* W (max + min) + sum 2 size (1 + N A + check)
 * = 5 (1024 + 512) + 2 x 512 x 22 + 2 x 1024 x 22 = 7680 + 22528 + 45056 = 75264 */
static void payload_of_a_table(void **state)
{
    (void)state;
    static const char text[] =
        "# Collective test starting: all_reduce_perf\n"
        "# nThread 1 nGpus 2 minBytes 512 maxBytes 1024 step: 2(factor) warmup iters: 5 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
        "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
        "         512           128     float     sum      -1    55.07    0.01    0.01       0\n"
        "        1024           256     float     sum      -1h:1:1 [0] NCCL INFO AllReduce\n"
        "   20171.5   26.62   26.62    N/A\n";
    struct nccl_log log = {0};
    struct lines lines = {.filled = 0};
    for (size_t i = 0; i < sizeof text - 1; i += 7) /* in pieces */
        lines_feed(&lines, text + i, sizeof text - 1 - i < 7 ? sizeof text - 1 - i : 7, take, &log);
    assert_true(log.payload_B == 75264);
    assert_true(log.rows == 2);
    assert_string_equal(log.test, "all_reduce_perf");
}

/* ---- a captured tree ------------------------------------------------------------------------- */

static void put(const char *root, const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(full, 0700);
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

#define IMC "/sys/bus/event_source/devices/uncore_imc_0"
#define IIO "/sys/bus/event_source/devices/uncore_iio_free_running_3"

static void events_as_sysfs_describes_them(void **state)
{
    char root[] = "/tmp/test-probe-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(root));
    put(root, IMC "/type", "14\n");
    put(root, IMC "/cpumask", "0,24\n");
    put(root, IMC "/format/event", "config:0-7\n");
    put(root, IMC "/format/umask", "config:8-15,32\n");
    put(root, IMC "/events/cas_count_read", "event=0x05,umask=0x1cf\n");
    put(root, IMC "/events/cas_count_read.scale", "6.103515625e-5\n");
    put(root, IMC "/events/cas_count_read.unit", "MiB\n");
    put(root, IMC "/events/clockticks", "event=0x01\n");
    put(root, IIO "/type", "40\n");
    put(root, IIO "/format/event", "config:0-7\n");
    put(root, IIO "/format/umask", "config:8-15\n");
    put(root, IIO "/events/bw_in_port2", "event=0xff,umask=0x22\n");
    put(root, IIO "/events/bw_in_port2.scale", "3.814697266e-6\n");
    put(root, IIO "/events/bw_in_port2.unit", "MiB\n");
    put(root, "/proc/stat", "cpu  100 0 50 9 0 0 0 0 0 0\ncpu0 1 1 1 1 1 1 1\nintr 77 1\nctxt 9\n");
    put(root, "/proc/net/dev", "h\n    lo: 1000 1 0 0 0 0 0 0 2000 1 0 0 0 0 0 0\n");
    put(root, "/proc/interrupts",
        "   CPU0 CPU1\n 24:  10  20 IR-PCI-MSI nvidia\n 25: 1 2 x nvidia\n");
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "1000\n");
    put(root, "/proc/driver/nvidia-fs/stats", "x\nOps : Read=5 Write=6 BatchIO=0\n");

    struct sys sys;
    struct why why = {""};
    static struct perf perf;
    static struct snapshot snapshot, later;
    assert_true(sys_open(&sys, root, &why));
    perf_find(&sys, &perf);
    assert_int_equal(perf.count, 3);
    assert_int_equal(perf.events[0].quantity, PERF_IIO_IN);
    assert_true(fabs(perf.events[0].scale_B - 4) < 1e-6); /* 3.814697266e-6 MiB = 4 B */
    /* 0x1cf: the low eight bits at 8 to 15, the ninth at 32 */
    assert_true(perf.events[1].config[0] == (UINT64_C(1) << 32 | 0xcf05));
    assert_int_equal(perf.events[1].cpu, 0);
    assert_int_equal(perf.events[2].cpu, 24);
    assert_true(perf.events[1].scale_B == 64); /* 6.103515625e-5 MiB */
    assert_string_equal(perf.why.text, "a captured tree counts nothing");
    perf_open(&perf);
    assert_true(isnan(perf_read(&perf, PERF_DRAM_READ)));

    snapshot_take(&sys, &perf, &snapshot);
    put(root, "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "251000\n");
    put(root, "/proc/driver/nvidia-fs/stats", "x\nOps : Read=8 Write=6 BatchIO=0\n");
    put(root, "/proc/interrupts",
        "   CPU0 CPU1\n 24:  11  20 IR-PCI-MSI nvidia\n 25: 1 5 x nvidia\n");
    snapshot_take(&sys, &perf, &later);
    size_t found = 0;
    for (size_t i = 0; i < later.count; i++) {
        const struct snapshot_entry *entry = &later.entries[i];
        double moved = snapshot_difference(&snapshot, &later, entry);
        if (strcmp(entry->quantity, "port_rx") == 0) {
            assert_string_equal(entry->device, "nic mlx5_0/1");
            assert_true(moved == 1e6); /* 250000 units of 4 B */
            found++;
        } else if (strcmp(entry->quantity, "direct_reads") == 0) {
            assert_true(moved == 3);
            found++;
        } else if (strcmp(entry->device, "nvidia") == 0) {
            assert_true(moved == 4); /* 1 + 3 */
            found++;
        } else {
            assert_true(moved == 0);
        }
    }
    assert_int_equal(found, 3);
    assert_int_equal(later.count, 4 + 1 + 2 + 1 + 2);
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(measured_counters),
        cmocka_unit_test(memory_decides_where_it_is_counted),
        cmocka_unit_test(nothing_seen_is_undecided),
        cmocka_unit_test(labels_are_compared),
        cmocka_unit_test(payload_of_a_table),
        cmocka_unit_test(events_as_sysfs_describes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
