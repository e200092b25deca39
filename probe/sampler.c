/* sampler.c: see sampler.h. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "probe/child.h"
#include "probe/clock.h"
#include "probe/lib_nvml.h"
#include "probe/sampler.h"

const char *const sampler_names[SAMPLER_COUNTERS] = {"pcie_tx", "pcie_rx", "nvlink_tx", "nvlink_rx",
                                                     "pcie_replays"};
const char *const sampler_units[SAMPLER_COUNTERS] = {"B", "B", "B", "B", "count"};

/* ---- the child ------------------------------------------------------------------------------ */

struct state {
    struct nvml nvml;
    struct sampler_machine machine;
    nvml_device devices[SAMPLER_GPUS];
    struct counter counters[SAMPLER_GPUS][SAMPLER_COUNTERS];
    int status[SAMPLER_GPUS][SAMPLER_COUNTERS];
    double last_round_s, round_s;
    uint64_t rounds;
};

/* Bytes a second of a link, one direction: GT/s with the line code taken off. Gen6 and later use
 * flits, whose overhead is left in: this is the most that it can carry. */
static double pcie_rate(unsigned gen, unsigned width)
{
    static const double gt_per_s[] = {2.5, 5, 8, 16, 32, 64, 128};
    if (gen < 1 || gen > 7 || width < 1)
        return 1.28e11; /* not known: Gen6 x16, so that a doubt is rather raised than not */
    double code = gen <= 2 ? 0.8 : gen <= 5 ? 128.0 / 130 : 1;
    return gt_per_s[gen - 1] * 1e9 / 8 * code * width;
}

static void describe(struct state *state, unsigned index)
{
    const struct nvml *nvml = &state->nvml;
    nvml_device device = state->devices[index];
    struct sampler_gpu *gpu = &state->machine.gpus[index];
    struct nvml_pci pci;
    if (nvml->nvmlDeviceGetName)
        nvml->nvmlDeviceGetName(device, gpu->name, sizeof gpu->name);
    memset(&pci, 0, sizeof pci);
    if (nvml->nvmlDeviceGetPciInfo_v3 && nvml->nvmlDeviceGetPciInfo_v3(device, &pci) == 0)
        snprintf(gpu->busid, sizeof gpu->busid, "%04x:%02x:%02x.0", pci.domain, pci.bus,
                 pci.device);
    if (nvml->nvmlDeviceGetMaxPcieLinkGeneration)
        nvml->nvmlDeviceGetMaxPcieLinkGeneration(device, &gpu->max_gen);
    if (nvml->nvmlDeviceGetMaxPcieLinkWidth)
        nvml->nvmlDeviceGetMaxPcieLinkWidth(device, &gpu->max_width);
    for (unsigned link = 0; link < 36 && nvml->nvmlDeviceGetNvLinkState; link++) {
        unsigned up = 0;
        if (nvml->nvmlDeviceGetNvLinkState(device, link, &up) == 0 && up)
            gpu->nvlinks++;
    }
    gpu->pcie_rate = pcie_rate(gpu->max_gen, gpu->max_width);
}

static bool start(struct state *state)
{
    struct sampler_machine *machine = &state->machine;
    memset(state, 0, sizeof *state);
    memset(state->status, 0xff, sizeof state->status);
    if (!nvml_open(&state->nvml, &machine->why))
        return false;
    const struct nvml *nvml = &state->nvml;
    if (nvml->nvmlSystemGetDriverVersion)
        nvml->nvmlSystemGetDriverVersion(machine->driver, sizeof machine->driver);
    if (nvml->nvmlSystemGetCudaDriverVersion_v2)
        nvml->nvmlSystemGetCudaDriverVersion_v2(&machine->cuda_version);
    int code = nvml->nvmlDeviceGetCount_v2(&machine->gpu_count);
    if (code != 0) {
        why_set(&machine->why, "nvmlDeviceGetCount: %s", nvml_error(nvml, code));
        return false;
    }
    if (machine->gpu_count > SAMPLER_GPUS)
        machine->gpu_count = SAMPLER_GPUS;
    for (unsigned i = 0; i < machine->gpu_count; i++) {
        code = nvml->nvmlDeviceGetHandleByIndex_v2(i, &state->devices[i]);
        if (code == 0)
            describe(state, i);
        else
            snprintf(machine->gpus[i].name, sizeof machine->gpus[i].name, "no handle: %s",
                     nvml_error(nvml, code));
    }
    return true;
}

static uint64_t field_value(const struct nvml_field *field)
{
    switch (field->value_type) {
    case NVML_DOUBLE:
        return field->value.real > 0 ? (uint64_t)field->value.real : 0;
    case NVML_U32:
        return field->value.u32;
    case NVML_S32:
        return (uint64_t)(int64_t)field->value.s32;
    default:
        return field->value.u64;
    }
}

/* The time that matters is when the counter was read: NVML's own stamp, when it gives one. */
static double field_time_s(const struct nvml_field *field)
{
    return field->timestamp_us > 0 ? 1e-6 * (double)field->timestamp_us : clock_s();
}

static void read_gpu(struct state *state, unsigned gpu)
{
    static const struct {
        uint32_t id, unit;
    } fields[] = {{NVML_PCIE_TX_BYTES, 1},
                  {NVML_PCIE_RX_BYTES, 1},
                  {NVML_NVLINK_DATA_TX_KIB, 1024},
                  {NVML_NVLINK_DATA_RX_KIB, 1024}};
    enum { FIELDS = sizeof fields / sizeof fields[0] };
    const struct nvml *nvml = &state->nvml;
    struct counter *counters = state->counters[gpu];
    int *status = state->status[gpu];
    struct nvml_field values[FIELDS];
    memset(values, 0, sizeof values);
    for (size_t i = 0; i < FIELDS; i++) {
        values[i].id = fields[i].id;
        values[i].scope = i >= SAMPLER_NVLINK_TX ? (uint32_t)NVML_ALL_LINKS : 0;
    }
    int code = nvml->nvmlDeviceGetFieldValues
                   ? nvml->nvmlDeviceGetFieldValues(state->devices[gpu], FIELDS, values)
                   : 13; /* NVML_ERROR_FUNCTION_NOT_FOUND */
    for (size_t i = 0; i < FIELDS; i++) {
        status[i] = code ? code : (int)values[i].status;
        if (status[i] != 0)
            continue;
        double rate = i < SAMPLER_NVLINK_TX ? state->machine.gpus[gpu].pcie_rate : 0;
        if (i >= SAMPLER_NVLINK_TX)
            counters[i].wide = true; /* 64 bits of KiB */
        counter_read(&counters[i], fields[i].unit * field_value(&values[i]),
                     field_time_s(&values[i]), rate);
    }
    unsigned replays = 0;
    status[SAMPLER_REPLAYS] =
        nvml->nvmlDeviceGetPcieReplayCounter
            ? nvml->nvmlDeviceGetPcieReplayCounter(state->devices[gpu], &replays)
            : 13;
    if (status[SAMPLER_REPLAYS] == 0)
        counter_read(&counters[SAMPLER_REPLAYS], replays, clock_s(), 0);
}

static void read_round(struct state *state)
{
    double begin_s = clock_s();
    for (unsigned i = 0; i < state->machine.gpu_count; i++)
        if (state->devices[i])
            read_gpu(state, i);
    state->last_round_s = begin_s;
    state->round_s = clock_s() - begin_s;
    state->rounds++;
}

static void put(int fd, const void *data, size_t bytes)
{
    child_send(&(struct child){.pipe = fd, .record_bytes = bytes}, data);
}

static void reply(struct state *state, uint64_t number, int fd)
{
    struct sampler_reading reading;
    memset(&reading, 0, sizeof reading);
    reading.number = number;
    reading.time_s = state->last_round_s;
    reading.round_s = state->round_s;
    reading.rounds = state->rounds;
    for (unsigned i = 0; i < state->machine.gpu_count; i++)
        for (int k = 0; k < SAMPLER_COUNTERS; k++) {
            struct counter *counter = &state->counters[i][k];
            reading.values[i][k] = (struct sampler_value){.total = counter->total,
                                                          .wraps = counter->wraps,
                                                          .doubts = counter->doubts,
                                                          .hidden = counter->hidden,
                                                          .worst_gap_s = counter->worst_gap_s,
                                                          .status = state->status[i][k]};
            counter->worst_gap_s = 0;
        }
    put(fd, &reading, sizeof reading);
}

/* Rounds until the questions end. A question that waits when a round begins is answered by it. */
static void serve(int ask, int answer, double period_s)
{
    struct state *state = calloc(1, sizeof *state);
    if (!state)
        return;
    bool good = start(state);
    put(answer, &state->machine, sizeof state->machine);
    for (double next_s = clock_s(); good;) {
        double left_s = next_s - clock_s();
        struct pollfd question = {.fd = ask, .events = POLLIN};
        int n = poll(&question, 1, left_s > 0 ? (int)(1e3 * left_s) + 1 : 0);
        uint64_t number = 0;
        if (n > 0 && read(ask, &number, sizeof number) != (ssize_t)sizeof number)
            break; /* nobody is left to ask */
        if (n < 0 && errno != EINTR)
            break;
        read_round(state);
        next_s = state->last_round_s + period_s;
        if (n > 0)
            reply(state, number, answer);
    }
    nvml_close(&state->nvml);
    free(state);
}

/* ---- the parent ----------------------------------------------------------------------------- */

static bool get(int fd, void *data, size_t bytes, double timeout_s, struct why *ret_why)
{
    double deadline = clock_s() + timeout_s;
    for (char *at = data; bytes > 0;) {
        double left = deadline - clock_s();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left <= 0) {
            why_set(ret_why, "NVML did not answer within %g s", timeout_s);
            return false;
        }
        if (poll(&ready, 1, (int)(1e3 * left) + 1) <= 0)
            continue;
        ssize_t n = read(fd, at, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            why_set(ret_why, "the process that reads NVML died");
            return false;
        }
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

void sampler_start(struct sampler *sampler, double period_s, double timeout_s)
{
    int ask[2], answer[2];
    struct why why = {""};
    memset(sampler, 0, sizeof *sampler);
    sampler->ask = sampler->answer = -1;
    if (pipe(ask) != 0) {
        why_set(&sampler->machine.why, "no pipe: %s", strerror(errno));
        return;
    }
    if (pipe(answer) != 0) {
        why_set(&sampler->machine.why, "no pipe: %s", strerror(errno));
        close(ask[0]);
        close(ask[1]);
        return;
    }
    /* The command that watch starts must not keep the questions open. */
    for (int i = 0; i < 2; i++) {
        fcntl(ask[i], F_SETFD, FD_CLOEXEC);
        fcntl(answer[i], F_SETFD, FD_CLOEXEC);
    }
    fflush(NULL);
    sampler->pid = fork();
    if (sampler->pid == 0) {
        close(ask[1]);
        close(answer[0]);
        child_follow_parent();
        signal(SIGINT, SIG_IGN); /* the parent ends it, after its last reading */
        serve(ask[0], answer[1], period_s);
        _exit(0);
    }
    close(ask[0]);
    close(answer[1]);
    sampler->ask = ask[1];
    sampler->answer = answer[0];
    if (sampler->pid < 0) {
        why_set(&why, "no child process: %s", strerror(errno));
        sampler->pid = 0;
    } else if (get(sampler->answer, &sampler->machine, sizeof sampler->machine, timeout_s, &why)) {
        return;
    }
    sampler_stop(sampler);
    memset(&sampler->machine, 0, sizeof sampler->machine);
    sampler->machine.why = why;
}

bool sampler_read(struct sampler *sampler, struct sampler_reading *ret_reading, struct why *ret_why)
{
    memset(ret_reading, 0, sizeof *ret_reading);
    ret_reading->time_s = clock_s();
    if (sampler->machine.why.text[0]) {
        *ret_why = sampler->machine.why;
        return false;
    }
    /* Who asked before and died may have left an answer behind: the number tells. */
    uint64_t number = ((uint64_t)getpid() << 32) + ++sampler->number;
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    bool asked = write(sampler->ask, &number, sizeof number) == (ssize_t)sizeof number;
    signal(SIGPIPE, old);
    if (!asked) {
        why_set(ret_why, "the process that reads NVML died");
        return false;
    }
    do {
        if (!get(sampler->answer, ret_reading, sizeof *ret_reading, 5, ret_why))
            return false;
    } while (ret_reading->number != number);
    return true;
}

void sampler_stop(struct sampler *sampler)
{
    if (sampler->ask >= 0)
        close(sampler->ask);
    if (sampler->answer >= 0)
        close(sampler->answer);
    sampler->ask = sampler->answer = -1;
    if (sampler->pid > 0) {
        struct why why;
        child_end(sampler->pid, 1, &why);
    }
    sampler->pid = 0;
}

void sampler_difference(const struct sampler *sampler, const struct sampler_reading *before,
                        const struct sampler_reading *after, unsigned gpu,
                        enum sampler_counter which, struct observation *row)
{
    const struct sampler_value *a = &before->values[gpu][which], *b = &after->values[gpu][which];
    snprintf(row->device, sizeof row->device, "gpu%u", gpu);
    if (a->status != 0 || b->status != 0 || gpu >= sampler->machine.gpu_count) {
        int status = b->status != 0 ? b->status : a->status;
        row->quality = QUALITY_MISSING;
        snprintf(row->note, sizeof row->note, "NVML gives no such counter here (code %d%s)", status,
                 status == 3 ? ": not supported" : "");
        return;
    }
    uint32_t wraps = b->wraps - a->wraps, doubts = b->doubts - a->doubts;
    row->value = (double)(b->total - a->total);
    row->seconds = after->time_s - before->time_s;
    row->samples = (double)(after->rounds - before->rounds);
    row->quality = doubts ? QUALITY_AT_LEAST : wraps ? QUALITY_WRAPPED : QUALITY_EXACT;
    if (doubts)
        snprintf(row->note, sizeof row->note,
                 "%u of %.0f gaps were long enough to hide 2^32 B (longest %.0f ms): up to %.1f GB "
                 "may be missing; %u wraps counted",
                 doubts, row->samples, 1e3 * b->worst_gap_s, 4.294967296 * (b->hidden - a->hidden),
                 wraps);
    else if (wraps)
        snprintf(row->note, sizeof row->note, "32-bit counter, %u wraps counted", wraps);
}

void sampler_head(const struct sampler *sampler, struct observe_file *file)
{
    const struct sampler_machine *machine = &sampler->machine;
    if (machine->why.text[0]) {
        observe_head(file, "note", "no GPU counters: %s", machine->why.text);
        return;
    }
    observe_head(file, "driver", "%s", machine->driver[0] ? machine->driver : "unknown");
    if (machine->cuda_version > 0)
        observe_head(file, "cuda", "%d.%d", machine->cuda_version / 1000,
                     machine->cuda_version % 1000 / 10);
    for (unsigned i = 0; i < machine->gpu_count; i++) {
        char key[16];
        const struct sampler_gpu *gpu = &machine->gpus[i];
        snprintf(key, sizeof key, "gpu%u", i);
        observe_head(file, key, "%s, %s, PCIe gen %u x%u, %u NVLinks", gpu->name, gpu->busid,
                     gpu->max_gen, gpu->max_width, gpu->nvlinks);
    }
}
