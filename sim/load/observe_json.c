/* observe_json.c: JSON of nccl-tests (-J), nvbandwidth (-j) and perftest (--out_json).
 *
 *   {"results": [{"size": .., "out_of_place": {"time": .., "alg_bw": .., "bus_bw": ..}, ..}], ..}
 *   {"nvbandwidth": {"testcases": [{"name": .., "status": .., "bandwidth_matrix": [["26.0"]]}]}}
 *   {"test_info": {"test": ..}, "results": {"MsgSize": .., "BW_average": .., "t_avg": ..}}
 *
 * perftest can write a key without quotes (sl:), which is mended first. Numbers may be texts.
 * nvbandwidth says rates in GB/s of buffers whose size it does not print (512 MiB by default).
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/observation.h"

/* A number, or a text that is one. */
static double number(const json_t *value)
{
    double result = (double)NAN;
    if (json_is_number(value))
        return json_number_value(value);
    if (json_is_string(value)) {
        const struct text_word word = {json_string_value(value), json_string_length(value)};
        text_number(&word, &result);
    }
    return result;
}

static void copy_text(const json_t *value, char *to, size_t size)
{
    if (json_is_string(value))
        snprintf(to, size, "%s", json_string_value(value));
}

/* ---- nccl-tests -------------------------------------------------------------------------------
 */

static void nccl_half(struct observations *all, const char *what, const char *variant,
                      double size_B, const json_t *half, struct observed_run *run)
{
    const json_t *spread = json_object_get(half, "per_iter");
    double time_us = number(json_object_get(half, "time"));
    if (!(time_us > 0))
        time_us = number(json_object_get(half, "cpu_time"));
    if (!(time_us > 0))
        return;
    struct observation *item = observe_add(all, 0, what, variant, size_B);
    if (!item)
        return;
    item->time_s = time_us * 1e-6;
    item->algbw_Bps = number(json_object_get(half, "alg_bw")) * 1e9;
    item->busbw_Bps = number(json_object_get(half, "bus_bw")) * 1e9;
    item->low_s = number(json_object_get(spread, "min_us")) * 1e-6;
    item->high_s = number(json_object_get(spread, "p99_us")) * 1e-6;
    double wrong = number(json_object_get(half, "nwrong"));
    run->wrong += wrong > 0 ? (uint32_t)fmin(wrong, 1e9) : 0;
    observe_bound_ranks(run, what, item->algbw_Bps, item->busbw_Bps, item->algbw_Bps * 1e-6);
}

static void read_program(const json_t *root, struct observed_run *run, char *what, size_t size)
{
    static const char *const names[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall",
                                        "broadcast",  "reduce",     "sendrecv",       "gather",
                                        "scatter",    "hypercube"};
    const json_t *args = json_object_get(root, "args");
    char *text = json_dumps(args, JSON_ENCODE_ANY);
    for (size_t i = 0; text && i < sizeof names / sizeof names[0]; i++) {
        char program[32];
        snprintf(program, sizeof program, "%.20s_perf", names[i]);
        const char *at = strstr(text, program);
        if (at && (at == text || strchr("/\" ", at[-1]))) {
            snprintf(run->tool, sizeof run->tool, "%s", program);
            snprintf(what, size, "%s", names[i]);
            break;
        }
    }
    free(text);
}

static size_t devices_of(const json_t *root, struct observed_run *run)
{
    const json_t *devices = json_object_get(root, "devices");
    const json_t *inside = json_object_get(json_object_get(root, "config"), "devices");
    char host[64] = "", other[64] = "";
    size_t index;
    json_t *device;
    if (!json_is_array(devices))
        devices = inside;
    json_array_foreach(devices, index, device)
    {
        copy_text(json_object_get(device, "hostname"), other, sizeof other);
        if (index == 0 || strcmp(host, other) != 0)
            run->nodes++;
        memcpy(host, other, sizeof host);
        copy_text(json_object_get(device, "device_info"), run->device, sizeof run->device);
    }
    return json_array_size(devices);
}

static void read_nccl_tests(const json_t *root, struct observations *all, struct observed_run *run)
{
    char what[32] = "collective";
    size_t index, run_index = all->run_count - 1;
    json_t *row;
    copy_text(json_object_get(root, "nccl_version"), run->version, sizeof run->version);
    read_program(root, run, what, sizeof what);
    run->ranks = (uint32_t)devices_of(root, run);
    run->average_ignored = json_object_get(root, "average_bus_bandwidth") != NULL;
    json_array_foreach(json_object_get(root, "results"), index, row)
    {
        double size_B = number(json_object_get(row, "size"));
        if (!(size_B >= 0))
            continue;
        nccl_half(all, what, "out-of-place", size_B, json_object_get(row, "out_of_place"),
                  &all->runs[run_index]);
        nccl_half(all, what, "in-place", size_B, json_object_get(row, "in_place"),
                  &all->runs[run_index]);
    }
}

/* ---- nvbandwidth ------------------------------------------------------------------------------
 */

static void read_nvbandwidth(const json_t *bench, struct observations *all,
                             struct observed_run *run)
{
    const double buffer_B = 512.0 * 1048576;
    size_t index, r, c;
    json_t *test, *row, *cell;
    snprintf(run->tool, sizeof run->tool, "nvbandwidth");
    copy_text(json_object_get(bench, "version"), run->version, sizeof run->version);
    copy_text(json_array_get(json_object_get(bench, "GPU Device list"), 0), run->device,
              sizeof run->device);
    json_array_foreach(json_object_get(bench, "testcases"), index, test)
    {
        const char *name = json_string_value(json_object_get(test, "name"));
        json_array_foreach(json_object_get(test, "bandwidth_matrix"), r, row)
            json_array_foreach(row, c, cell)
        {
            double value = number(cell);
            char pair[48];
            snprintf(pair, sizeof pair, "%zu %zu", r, c);
            if (!name || !(value > 0))
                continue;
            struct observation *item = observe_add(all, 0, name, pair, buffer_B);
            if (item && strstr(name, "latency"))
                item->time_s = value * 1e-9;
            else if (item)
                item->algbw_Bps = value * 1e9, item->time_s = buffer_B / item->algbw_Bps;
        }
    }
}

/* ---- perftest ---------------------------------------------------------------------------------
 */

static void read_perftest_result(const json_t *result, const char *test, bool gbits,
                                 struct observations *all)
{
    double size_B = number(json_object_get(result, "MsgSize"));
    double rate = number(json_object_get(result, "BW_average"));
    double time_us = number(json_object_get(result, "t_avg"));
    if (!(size_B > 0) || !(rate > 0 || time_us > 0))
        return;
    struct observation *item = observe_add(all, 0, test, "", size_B);
    if (item && rate > 0) {
        item->algbw_Bps = rate * (gbits ? 125e6 : 1048576.0);
        item->time_s = size_B / item->algbw_Bps;
    } else if (item) {
        item->time_s = time_us * 1e-6;
        item->low_s = number(json_object_get(result, "t_min")) * 1e-6;
        item->high_s = number(json_object_get(result, "percentile_99")) * 1e-6;
    }
}

static void read_perftest(const json_t *root, struct observations *all, struct observed_run *run)
{
    const json_t *info = json_object_get(root, "test_info");
    const json_t *results = json_object_get(root, "results");
    const char *test = json_string_value(json_object_get(info, "test"));
    char *text = json_dumps(root, 0);
    bool gbits = text && strstr(text, "Gb/sec");
    size_t index;
    json_t *result;
    free(text);
    snprintf(run->tool, sizeof run->tool, "%s", test ? test : "perftest");
    if (json_is_object(results))
        read_perftest_result(results, test ? test : "perftest", gbits, all);
    json_array_foreach(results, index, result)
        read_perftest_result(result, test ? test : "perftest", gbits, all);
}

/* A copy with the one key quoted that perftest leaves bare. */
static char *mended(const struct observe_input *in)
{
    const char *bare = strstr(in->text, "sl:");
    char *copy = malloc(in->length + 8);
    if (!copy)
        return NULL;
    if (!bare || (bare > in->text && !strchr(" \t\n,{", bare[-1]))) {
        memcpy(copy, in->text, in->length + 1);
        return copy;
    }
    size_t before = (size_t)(bare - in->text);
    memcpy(copy, in->text, before);
    snprintf(copy + before, in->length + 8 - before, "\"sl\":%s", bare + 3);
    return copy;
}

enum status observe_json(const struct observe_input *in, struct observations *all,
                         struct diag_list *diag)
{
    json_error_t wrong;
    char *text = mended(in);
    if (!text)
        return STATUS_NOMEM;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &wrong);
    free(text);
    if (!root) {
        int line = wrong.line < 0 ? 0 : wrong.line, column = wrong.column < 0 ? 0 : wrong.column;
        return diag_add(diag, (struct mark){in->name, (uint32_t)line, (uint32_t)column},
                        "the file may end early", "%s", wrong.text);
    }
    enum status status = STATUS_OK;
    const json_t *bench = json_object_get(root, "nvbandwidth");
    struct observed_run *run = observe_run(all, in, OBSERVE_JSON, 1);
    if (!run)
        status = STATUS_NOMEM;
    else if (bench)
        read_nvbandwidth(bench, all, run);
    else if (json_object_get(root, "test_info"))
        read_perftest(root, all, run);
    else if (json_is_array(json_object_get(root, "results")))
        read_nccl_tests(root, all, run);
    else
        status = diag_add(diag, (struct mark){in->name, 1, 1},
                          "nccl-tests -J, nvbandwidth -j and perftest --out_json are known",
                          "this JSON is of no tool that gdsim knows");
    json_decref(root);
    return status;
}
