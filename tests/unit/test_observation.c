/* test_observation.c: what is read out of the output of each tool, and what happens to bad ones. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "sim/load/observation.h"

static struct observations all;
static struct diag_list diag;

static int setup(void **state)
{
    (void)state;
    observations_init(&all);
    diag_init(&diag);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    observations_free(&all);
    diag_free(&diag);
    return 0;
}

static enum status read_text(const char *text)
{
    return observe_text("x", text, strlen(text), OBSERVE_FORMATS, &all, &diag);
}

static void near_to(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-12 * fabs(expected)))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void is_point(size_t at, const char *what, const char *variant, double size_B, double time_s)
{
    assert_true(at < all.count);
    assert_string_equal(all.items[at].what, what);
    assert_string_equal(all.items[at].variant, variant);
    near_to(all.items[at].size_B, size_B);
    near_to(all.items[at].time_s, time_s);
}

static void complains(const char *part)
{
    for (size_t i = 0; i < diag_count(&diag); i++)
        if (strstr(diag_get(&diag, i)->message, part))
            return;
    fail_msg("nobody says \"%s\"", part);
}

#define TITLE                                                                                      \
    "#  size  count  type  redop  root  time  algbw  busbw #wrong  time  algbw  busbw #wrong\n"

static void nccl_tests_as_printed(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809\n"
                  "# Collective test starting: all_reduce_perf\n"
                  "# nThread 1 nGpus 2 minBytes 8 maxBytes 8\n"
                  "#  Rank  0 Group  0 Pid 7 on  vm device  0 [0000:00:06] NVIDIA H200\n"
                  "#  Rank  1 Group  0 Pid 7 on  vm device  1 [0000:00:07] NVIDIA H200\n" TITLE
                  " 1048576 262144 float sum -1 30.59 34.28 34.28 0 29.28 35.82 35.82 0\n"
                  "# Avg bus bandwidth    : 43.383 \n"),
        STATUS_OK);
    assert_int_equal(all.count, 2);
    is_point(0, "all_reduce", "out-of-place", 1048576, 30.59e-6);
    is_point(1, "all_reduce", "in-place", 1048576, 29.28e-6);
    near_to(all.items[1].busbw_Bps, 35.82e9);
    assert_int_equal(all.items[0].line, 7);
    const struct observed_run *run = &all.runs[0];
    assert_string_equal(run->version, "2.19.6");
    assert_string_equal(run->device, "NVIDIA H200");
    assert_int_equal(run->ranks, 2);
    assert_int_equal(run->nodes, 1);
    assert_true(run->average_ignored);
    assert_int_equal(diag_count(&diag), 0);
}

/* Prefixes of launchers; columns that old versions lack; N/A; -I; a half only. */
static void nccl_tests_of_all_ages(void **state)
{
    (void)state;
    static const struct {
        const char *row;
        size_t points;
    } rows[] = {
        {TITLE "[1,0]<stdout>: 8 2 float sum -1 27.2 0.0 0.0 0 26.8 0.0 0.0 0\n", 2},
        {TITLE "0: 8 2 float sum 27.2 0.0 0.0 N/A 26.8 0.0 0.0 N/A\n", 2}, /* no root */
        {"8 2 float sum 27.2 0.0 0.0 1e+00 26.8 0.0 0.0 0e+00\n", 2},      /* no title */
        {"8 2 float 27.2 0.0 0.0 26.8 0.0 0.0\n", 2},                      /* neither */
        {"#  size count type redop root time algbw busbw i_min i_max i_p99 i_cv%\n"
         "8 2 bfloat16 sum -1 27.2 0.0 0.0 20.1 99.0 33.3 4.5\n",
         1},
        {"8589934592 2147483648 float none 0 7.1e+04 0.0 0.0 0 26.8 0.0 0.0 0\r\n", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        teardown(NULL);
        setup(NULL);
        assert_int_equal(read_text(rows[i].row), STATUS_OK);
        assert_int_equal(all.count, rows[i].points);
    }
    near_to(all.items[0].time_s, 7.1e-2);
    near_to(all.items[0].size_B, 8589934592.0);
    teardown(NULL);
    setup(NULL);
    assert_int_equal(read_text(rows[4].row), STATUS_OK);
    near_to(all.items[0].low_s, 20.1e-6);
    near_to(all.items[0].high_s, 33.3e-6); /* p99 rather than the maximum */
}

/* Names of known columns make a table of it, whatever words its rows hold; semicolons will do. */
static void tables_are_known_by_their_columns(void **state)
{
    char delimiter;
    (void)state;
    static const char quoted[] = "size_bytes,time_us,note\n1024,5.5,gdr_copy_to_mapping nThread\n";
    static const char european[] = "# by hand\n\"size_bytes\"; time_us\r\n1024;5.5\r\n2048;6,1\r\n";
    static const char list[] = "eggs,milk\n1,2\n";
    assert_int_equal(observe_detect(quoted, sizeof quoted - 1), OBSERVE_CSV);
    assert_false(observe_is_csv(list, sizeof list - 1, &delimiter));
    assert_int_equal(read_text(european), STATUS_OK);
    assert_int_equal(all.count, 1);
    near_to(all.items[0].time_s, 5.5e-6);
    assert_int_equal(diag_count(&diag), 1);
    assert_string_equal(diag_get(&diag, 0)->hint,
                        "decimals begin with a point; the other rows are used");
}

/* A log that ends within a row, or after its head. */
static void a_log_that_ends_early(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(TITLE "8 2 float sum -1 27.2 0.0 0.0 0 26.8 0.0 0.0 0\n16 4 float s"), STATUS_OK);
    assert_int_equal(all.count, 2);
    assert_string_equal(diag_get(&diag, 0)->hint,
                        "the file ends within it; the other rows are used");
    teardown(NULL);
    setup(NULL);
    assert_int_equal(read_text("# nThread 1 nGpus 2 minBytes 8\n" TITLE), STATUS_INPUT);
    assert_string_equal(diag_get(&diag, 0)->hint,
                        "its head is there, but no row: the file may end early");
}

/* A line of NCCL's log that comes in the middle of a row, as in measured logs. */
static void row_cut_by_a_log(void **state)
{
    (void)state;
    assert_int_equal(
        read_text(TITLE
                  "      16   4   float  sum  -1vm:577:577 [0] NCCL INFO AllReduce: opCount 0\n"
                  "vm:577:577 [0] NCCL INFO AllReduce: 16 Bytes -> Algo RING proto LL "
                  "channel{Lo..Hi}={0..3}\n"
                  "   33.20  0.00  0.00  N/Avm:577:577 [0] NCCL INFO more\n"
                  "   31.52  0.00  0.00  N/A\n"
                  "vm:1:2 [1] NCCL INFO Channel 00 : 1[1] -> 0[0] via SHM/direct/direct\n"
                  "vm:1:2 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] [send] via NET/IB/0\n"
                  "vm:1:2 [1] NCCL INFO Channel 01/0 : 1[1] -> 0[0] via NET/IB/0/GDRDMA\n"
                  "vm:1:2 [1] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'm'\n"),
        STATUS_OK);
    assert_int_equal(all.count, 2);
    is_point(0, "collective", "out-of-place", 16, 33.2e-6);
    is_point(1, "collective", "in-place", 16, 31.52e-6);
    assert_int_equal(all.run_count, 2);
    const struct observed_run *log = &all.runs[1];
    assert_int_equal(log->channels.shm, 1);
    assert_int_equal(log->channels.net_staged, 1);
    assert_int_equal(log->channels.net_gdr, 1);
    assert_int_equal(log->gdr_disabled, 1);
    assert_int_equal(log->choice_count, 1);
    assert_string_equal(log->choices[0].protocol, "LL");
    assert_int_equal(log->choices[0].channels, 4);
}

/* busbw / algbw = 2 (n-1)/n: 234.89 / 134.22 = 1.7500 is 8 ranks, whatever the head says. */
static void the_label_lies(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("# Collective test starting: all_reduce_perf\n"
                  "#  Rank  0 Pid 7 on  vm device  0 [0x06] NVIDIA A100\n" TITLE
                  " 1 1 float sum -1 64000.0 134.22 234.89 0 64000.0 134.22 234.89 0\n"),
        STATUS_OK);
    assert_int_equal(all.runs[0].ranks, 1);
    assert_int_equal(all.runs[0].ranks_low, 8);
    assert_int_equal(all.runs[0].ranks_high, 8);
    complains("lists 1 ranks");
}

static void what_is_broken_loses_nothing_before(void **state)
{
    (void)state;
    assert_int_equal(read_text(TITLE "8 2 float sum -1 27.2 0.0 0.0 0 26.8 0.0 0.0 0\n"
                                     "16 4 float sum -1 27.2 0.0\n"),
                     STATUS_OK);
    assert_int_equal(all.count, 2);
    complains("fewer columns");
    assert_int_equal(diag_get(&diag, 0)->mark.line, 3);
    assert_int_equal(read_text(""), STATUS_INPUT);
    complains("is empty");
    assert_int_equal(observe_text("b", "a\0b", 3, OBSERVE_FORMATS, &all, &diag), STATUS_INPUT);
    complains("NUL bytes");
    assert_int_equal(read_text("hello world\n"), STATUS_INPUT);
    assert_int_equal(read_text("{\"results\": [{\"size\": 8"), STATUS_INPUT);
    assert_int_equal(read_text("a,b\n1,2\n"), STATUS_INPUT);
    complains("no column of these is a size");
    assert_int_equal(all.count, 2);
}

static void json_of_three_tools(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("{\"version\": 3, \"args\": [\"./build/all_gather_perf\", \"-b\", \"8\"],"
                  "\"devices\": [{\"rank\": 0, \"hostname\": \"a\", \"device_info\": \"H100\"},"
                  "{\"rank\": 1, \"hostname\": \"b\", \"device_info\": \"H100\"}],"
                  "\"results\": [{\"size\": 1024, \"out_of_place\": {\"time\": 12.5, \"alg_bw\": "
                  "0.08192, \"bus_bw\": 0.04096, \"nwrong\": \"0\"}, \"in_place\": {\"time\": "
                  "\"nan\"}}]}"),
        STATUS_OK);
    assert_int_equal(all.count, 1);
    is_point(0, "all_gather", "out-of-place", 1024, 12.5e-6);
    assert_int_equal(all.runs[0].ranks, 2);
    assert_int_equal(all.runs[0].nodes, 2);
    assert_int_equal(
        read_text("{\"nvbandwidth\": {\"version\": \"0.8\", \"testcases\": [{\"name\": "
                  "\"device_to_device_memcpy_write_ce\", \"status\": \"Passed\", "
                  "\"bandwidth_matrix\": [[\"N/A\", \"276.1\"], [\"276.2\", \"N/A\"]]}]}}"),
        STATUS_OK);
    assert_int_equal(all.count, 3);
    near_to(all.items[1].algbw_Bps, 276.1e9);
    assert_string_equal(all.items[1].variant, "0 1");
    /* perftest's key without quotes; MiB/s = 2^20. */
    assert_int_equal(read_text("{\"test_info\": {\"test\": \"ib_write_bw\", sl: 0},\n\"results\": "
                               "{\"MsgSize\": 65536, \"BW_average\": 1000.0}}"),
                     STATUS_OK);
    is_point(3, "ib_write_bw", "", 65536, 65536 / (1000 * 1048576.0));
}

static void tables_of_other_tools(void **state)
{
    (void)state;
    assert_int_equal(read_text("# OSU MPI-CUDA Latency Test v7.2\n"
                               "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
                               "# Size          Latency (us)\n# Datatype: MPI_CHAR.\n"
                               "1    3.19\n4194304   182.60\n"),
                     STATUS_OK);
    assert_int_equal(all.count, 2);
    is_point(1, "OSU MPI-CUDA Latency Test v7.2", "device to device", 4194304, 182.6e-6);
    assert_int_equal(read_text("          RDMA_Write BW Test\n"
                               " #bytes  #iterations  BW peak[Gb/sec]  BW average[Gb/sec]  "
                               "MsgRate[Mpps]\n 65536  5000  392.0  390.0  0.74\n-----\n"),
                     STATUS_OK);
    is_point(2, "ib_write_bw", "", 65536, 65536 / (390.0 * 125e6));
    assert_int_equal(read_text("Test  Size(B)  Avg.Time(us)\ngdr_copy_to_mapping  1024  0.0890\n"
                               "gdr_copy_from_mapping  1024  1.9\n"),
                     STATUS_OK);
    is_point(4, "gdr_copy_from_mapping", "", 1024, 1.9e-6);
    assert_int_equal(read_text("IoType: READ XferType: GPUD Threads: 8 DataSetSize: 8/8(KiB) "
                               "IOSize: 1024(KiB) Throughput: 6.5 GiB/sec, Avg_Latency: 1200 usecs "
                               "ops: 8 total_time 1 secs\n"),
                     STATUS_OK);
    is_point(5, "gdsio READ", "GPUD", 1048576, 1048576 / (6.5 * 1073741824));
    assert_int_equal(read_text("GDS Version: 1.7\nReads : n=5 ok=5 err=0 readMiB=12\n"
                               "Ops : Read=5 Write=2\nGPU 0 Read: bw=1 posix=3 unalign=0 Write: "
                               "posix=4\n"),
                     STATUS_OK);
    assert_int_equal(all.runs[all.run_count - 1].compat_ops, 7);
    assert_int_equal(all.runs[all.run_count - 1].direct_ops, 7);
    near_to(all.items[6].counted, 12 * 1048576.0);
}

static void tables_with_names(void **state)
{
    (void)state;
    assert_int_equal(read_text("path,direction,bytes,iters,median_us,min_us,p90_us\r\n"
                               "memcpy_pinned,h2d,8,400,6.5,6.4,6.7\r\n"
                               "memcpy_pinned,h2d,~16,400,6.5,6.4,6.7\r\n"),
                     STATUS_OK);
    assert_int_equal(all.count, 1);
    is_point(0, "memcpy_pinned", "h2d", 8, 6.5e-6);
    near_to(all.items[0].high_s, 6.7e-6);
    complains("\"~16\" in column 3 is no number");
    assert_int_equal(diag_get(&diag, 0)->mark.line, 3);
    assert_int_equal(read_text("run,size_bytes,device,counter,bytes_per_call\n"
                               "shm,16777216,gpu0,pcie_tx,23074728.5\n"),
                     STATUS_OK);
    assert_string_equal(all.items[1].variant, "gpu0 pcie_tx");
    near_to(all.items[1].counted, 23074728.5);
    assert_true(isnan(all.items[1].time_s));
    /* A rate that was rounded to nothing says nothing; without a time the row says nothing. */
    assert_int_equal(read_text("size_bytes,time_us,algbw_GBps,busbw_GBps,inplace\n"
                               "8,37.30,0.00,0.00,0\n"),
                     STATUS_OK);
    is_point(2, "", "out-of-place", 8, 37.3e-6);
    assert_true(isnan(all.items[2].algbw_Bps));
    assert_int_equal(read_text("size_bytes,algbw_GBps\n8,0.00\n16,0.01\n"), STATUS_OK);
    assert_int_equal(all.count, 4);
    complains("its rate is not above 0");
}

/* Two programs beside each other: 2 us for 1 MiB by the first, 4 GB/s by the second. */
static void tables_of_several_series(void **state)
{
    (void)state;
    assert_int_equal(read_text("size,ours_time_us,ours_min_us,nccl_bw_Gbps,nccl_busbw_GBps,note\n"
                               "1 MiB,2,1.5,32,7,x\n2 MiB,,,32,7,x\n4 MiB,3,,fast,,x\n"),
                     STATUS_OK);
    assert_int_equal(all.count, 4);
    is_point(0, "", "ours", 1048576, 2e-6);
    near_to(all.items[0].low_s, 1.5e-6);
    is_point(1, "", "nccl", 1048576, 1048576 / 4e9);
    near_to(all.items[1].busbw_Bps, 7e9);
    is_point(2, "", "nccl", 2097152, 2097152 / 4e9);
    is_point(3, "", "ours", 4194304, 3e-6);
    assert_int_equal(diag_count(&diag), 1);
    complains("\"fast\" in column 4 is no number");
    assert_int_equal(read_text("size_bytes,samples_s\n8,3\n"), STATUS_INPUT);
    complains("no column of these is a time, rate or count");
}

static void observations_of_gdprobe(void **state)
{
    (void)state;
    assert_int_equal(
        read_text("# gdprobe_observations: 1\n# host: vm\n#| gdprobe_facts: 1\n"
                  "#| gpus: [{name: \"NVIDIA H200\"}]  # a quote in a comment, \" and another\n"
                  "experiment,place,size_B,chunk_B,device,quantity,unit,value,min,p90,samples,"
                  "payload_B,seconds,baseline,quality,note\n"
                  "staged_pipe,gpu0>host>gpu1,1048576,131072,,time,s,6.5e-05,6.3e-05,7e-05,100,"
                  "1048576,,,exact,\n"
                  "memcpy_pinned,gpu0>host,1048576,,gpu0,pcie_tx,B,1146880,,,9,1048576,1,0,exact,\n"
                  "memcpy_pinned,gpu0>host,1048576,,dram,dram_read,B,,,,0,1048576,1,0,missing,x\n"
                  "launch_sync,gpu0,,,,time,s,9.2e-06,8e-06,1e-05,400,,,,exact,\n"
                  "rdma_write,,,,,time,s,,,,,,,,missing,there is no RDMA NIC\n"
                  "# complete: yes\n"),
        STATUS_OK);
    assert_int_equal(all.count, 3);
    is_point(2, "launch_sync", "gpu0", 0, 9.2e-6);
    is_point(0, "staged_pipe", "gpu0>host>gpu1 131072", 1048576, 6.5e-5);
    near_to(all.items[0].low_s, 6.3e-5);
    assert_string_equal(all.items[1].variant, "gpu0>host gpu0 pcie_tx");
    near_to(all.items[1].counted, 1146880);
    assert_int_equal(diag_count(&diag), 0);
}

static void a_million_rows(void **state)
{
    (void)state;
    static const char row[] = "8 2 float sum -1 27.2 0.0 0.0 0 26.8 0.0 0.0 0\n";
    const size_t rows = 1000000, length = sizeof row - 1;
    char *text = malloc(rows * length + 1);
    assert_non_null(text);
    for (size_t i = 0; i < rows; i++)
        memcpy(text + i * length, row, length);
    text[rows * length] = '\0';
    assert_int_equal(observe_text("x", text, rows * length, OBSERVE_FORMATS, &all, &diag),
                     STATUS_OK);
    assert_int_equal(all.count, 2 * rows);
    assert_int_equal(all.items[2 * rows - 1].line, rows);
    free(text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(nccl_tests_as_printed),
        TEST(nccl_tests_of_all_ages),
        TEST(tables_are_known_by_their_columns),
        TEST(a_log_that_ends_early),
        TEST(row_cut_by_a_log),
        TEST(the_label_lies),
        TEST(json_of_three_tools),
        TEST(what_is_broken_loses_nothing_before),
        TEST(tables_of_other_tools),
        TEST(tables_with_names),
        TEST(tables_of_several_series),
        TEST(observations_of_gdprobe),
        TEST(a_million_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
