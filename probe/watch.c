/* watch.c: see watch.h. */
#include <math.h>
#include <string.h>

#include "probe/size.h"
#include "probe/watch.h"

double watch_payload(const struct watch *watch)
{
    double told = watch->marks[MARK_END].payload_B - watch->marks[MARK_BEGIN].payload_B;
    if (!isnan(watch->bytes))
        return watch->bytes;
    return told > 0 ? told : (double)NAN;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static double window_s(const struct watch *watch)
{
    return watch->marks[MARK_END].host.time_s - watch->marks[MARK_BEGIN].host.time_s;
}

static double idle_s(const struct watch *watch)
{
    return watch->marks[MARK_START].host.time_s - watch->marks[MARK_IDLE].host.time_s;
}

/* What the counter would have moved on the idle machine is taken off the value. */
static void take_off(const struct watch *watch, struct observation *row, double idle)
{
    if (isnan(row->value))
        return;
    double idle_seconds = idle_s(watch);
    row->baseline = idle_seconds > 0 && idle > 0 ? idle * window_s(watch) / idle_seconds : 0;
    row->value -= row->baseline;
}

static void gpu_rows(const struct watch *watch,
                     void (*take)(void *context, struct observation *row), void *context)
{
    const struct watch_mark *marks = watch->marks;
    for (unsigned gpu = 0; gpu < watch->sampler.machine.gpu_count; gpu++)
        for (int which = 0; which < SAMPLER_COUNTERS; which++) {
            struct observation row =
                observation("watch", "run", sampler_names[which], sampler_units[which]);
            struct observation idle = row;
            row.payload_B = watch_payload(watch);
            if (marks[MARK_BEGIN].good && marks[MARK_END].good) {
                sampler_difference(&watch->sampler, &marks[MARK_IDLE].gpus, &marks[MARK_START].gpus,
                                   gpu, (enum sampler_counter)which, &idle);
                sampler_difference(&watch->sampler, &marks[MARK_BEGIN].gpus, &marks[MARK_END].gpus,
                                   gpu, (enum sampler_counter)which, &row);
                take_off(watch, &row, idle.value);
            } else {
                snprintf(row.device, sizeof row.device, "gpu%u", gpu);
                row.quality = QUALITY_MISSING;
                snprintf(row.note, sizeof row.note, "%s", watch->gpus_lost.text);
            }
            take(context, &row);
        }
}

static void usage_row(const struct watch *watch, const char *quantity, const char *unit,
                      double value, void (*take)(void *context, struct observation *row),
                      void *context)
{
    struct observation row = observation("watch", "run", quantity, unit);
    snprintf(row.device, sizeof row.device, "command");
    row.value = value;
    row.seconds = watch->seconds;
    if (watch->cut)
        snprintf(row.note, sizeof row.note, "of the whole run, not of the window");
    take(context, &row);
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

void watch_rows(const struct watch *watch, void (*take)(void *context, struct observation *row),
                void *context)
{
    const struct watch_mark *marks = watch->marks;
    gpu_rows(watch, take, context);
    for (size_t i = 0; i < marks[MARK_END].host.count; i++) {
        const struct snapshot_entry *entry = &marks[MARK_END].host.entries[i];
        struct observation row = observation("watch", "run", entry->quantity, entry->unit);
        snprintf(row.device, sizeof row.device, "%s", entry->device);
        row.value = snapshot_difference(&marks[MARK_BEGIN].host, &marks[MARK_END].host, entry);
        if (isnan(row.value))
            continue; /* it came while the program ran */
        row.seconds = window_s(watch);
        if (strcmp(row.unit, "B") == 0)
            row.payload_B = watch_payload(watch);
        take_off(watch, &row,
                 snapshot_difference(&marks[MARK_IDLE].host, &marks[MARK_START].host, entry));
        take(context, &row);
    }
    usage_row(watch, "cpu_user", "s", seconds_of(watch->usage.ru_utime), take, context);
    usage_row(watch, "cpu_system", "s", seconds_of(watch->usage.ru_stime), take, context);
    usage_row(watch, "context_switches", "count",
              (double)(watch->usage.ru_nvcsw + watch->usage.ru_nivcsw), take, context);
}

/* ---- verdict -------------------------------------------------------------------------------- */

static void add_to(double *sum, double value)
{
    *sum = isnan(*sum) ? value : *sum + value;
}

static void take_evidence(void *context, struct observation *row)
{
    struct evidence *evidence = context;
    unsigned gpu;
    if (sscanf(row->device, "gpu%u", &gpu) == 1 && gpu < VERDICT_GPUS) {
        double *slots[] = {&evidence->gpus[gpu].pcie_tx, &evidence->gpus[gpu].pcie_rx,
                           &evidence->gpus[gpu].nvlink_tx, &evidence->gpus[gpu].nvlink_rx};
        if (gpu >= evidence->gpu_count)
            evidence->gpu_count = gpu + 1;
        for (int i = 0; i < SAMPLER_REPLAYS; i++)
            if (strcmp(row->quantity, sampler_names[i]) == 0)
                *slots[i] = row->value;
        if (row->quality == QUALITY_AT_LEAST)
            evidence->unsure = true;
    } else if (strcmp(row->device, "dram") == 0) {
        add_to(&evidence->dram, row->value);
    } else if (strcmp(row->device, "iio") == 0) {
        add_to(&evidence->iio, row->value);
    } else if (strcmp(row->quantity, "port_rx") == 0) {
        add_to(&evidence->nic_rx, row->value);
    } else if (strcmp(row->quantity, "net_rx") == 0) {
        add_to(&evidence->net_rx, row->value);
    }
}

void watch_judge(const struct watch *watch, struct verdict *ret_verdict)
{
    struct evidence evidence;
    memset(&evidence, 0, sizeof evidence);
    evidence.payload_B = watch_payload(watch);
    for (unsigned i = 0; i < VERDICT_GPUS; i++)
        evidence.gpus[i].pcie_tx = evidence.gpus[i].pcie_rx = evidence.gpus[i].nvlink_tx =
            evidence.gpus[i].nvlink_rx = (double)NAN;
    evidence.dram = evidence.iio = evidence.nic_rx = evidence.net_rx = (double)NAN;
    evidence.log = &watch->log;
    watch_rows(watch, take_evidence, &evidence);
    verdict_reach(&evidence, ret_verdict);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void print_amount(FILE *to, const struct observation *row, double amount)
{
    if (strcmp(row->unit, "B") == 0)
        fprintf(to, "%11.4f GB", 1e-9 * amount);
    else if (strcmp(row->unit, "s") == 0)
        fprintf(to, "%11.2f s ", amount);
    else
        fprintf(to, "%11.0f   ", amount);
}

static void print_row(void *context, struct observation *row)
{
    FILE *to = context;
    static const char *const qualities[] = {"", "wrapped", "at least", "missing"};
    bool bytes = strcmp(row->unit, "B") == 0;
    if (row->quality == QUALITY_MISSING) {
        fprintf(to, "  %-14s %-22s missing: %s\n", row->device, row->quantity, row->note);
        return;
    }
    /* Of what is neither of the GPUs nor of memory, only what moved is worth a line. */
    bool always = strncmp(row->device, "gpu", 3) == 0 || strcmp(row->device, "dram") == 0 ||
                  strcmp(row->device, "iio") == 0 || strcmp(row->device, "command") == 0;
    if (strcmp(row->quantity, sampler_names[SAMPLER_REPLAYS]) == 0)
        always = false;
    if (!always && !(row->value > (bytes ? 1e6 : 0)))
        return;
    fprintf(to, "  %-14s %-22s", row->device, row->quantity);
    print_amount(to, row, row->value);
    if (bytes && !isnan(row->payload_B) && row->payload_B > 0)
        fprintf(to, " %10.4f", row->value / row->payload_B);
    else
        fprintf(to, " %10s", "");
    if (!isnan(row->baseline))
        print_amount(to, row, row->baseline);
    else
        fprintf(to, "%14s", "");
    fprintf(to, "  %s%s%s\n", qualities[row->quality], row->note[0] ? ": " : "", row->note);
}

void watch_print(const struct watch *watch, const struct verdict *verdict, FILE *to)
{
    double payload = watch_payload(watch);
    char text[32], label[320];
    fprintf(to, "\ngdprobe watch: %s\n", watch->command);
    fprintf(to, "  %.3f s in all, %.3f s watched, exit code %d; idle baseline of %.3f s\n",
            watch->seconds, window_s(watch), watch->exit_code, idle_s(watch));
    if (isnan(payload))
        fprintf(to, "  payload unknown: give --bytes, or run nccl-tests\n");
    else
        fprintf(to, "  payload %s (%.0f B) a GPU, %s%s\n", size_text(payload, text, sizeof text),
                payload, isnan(watch->bytes) ? "from the table of " : "as said",
                isnan(watch->bytes) ? watch->log.test[0] ? watch->log.test : "nccl-tests" : "");
    if (watch->sampler.machine.why.text[0])
        fprintf(to, "  no GPU counters: %s\n", watch->sampler.machine.why.text);
    if (watch->perf.why.text[0])
        fprintf(to, "  DRAM and IO are not counted: %s\n", watch->perf.why.text);
    fprintf(to, "  %-14s %-22s %13s %10s %13s\n", "device", "counter", "moved", "a byte",
            "idle share");
    watch_rows(watch, print_row, to);
    for (size_t i = 0; i < watch->log.label_count; i++) {
        nccl_label_text(&watch->log.labels[i], label, sizeof label);
        fprintf(to, "  NCCL says: %s\n", label);
    }
    fprintf(to, "verdict: %s: %s\n", verdict_words[verdict->word], verdict->text);
    if (verdict->caution[0])
        fprintf(to, "caution: %s\n", verdict->caution);
    if (verdict->conflict[0])
        fprintf(to, "conflict: %s\n", verdict->conflict);
}

/* ---- for programs ---------------------------------------------------------------------------- */

static void write_row(void *context, struct observation *row)
{
    observe_row(context, row);
}

bool watch_write(const struct watch *watch, const struct verdict *verdict, const char *settings,
                 const struct sys *facts_of, const char *name, struct why *ret_why)
{
    struct observe_file file;
    if (!observe_open(&file, name, NULL, ret_why))
        return false;
    observe_machine(&file, "watch");
    sampler_head(&watch->sampler, &file);
    if (watch->log.version[0])
        observe_head(&file, "nccl", "%s", watch->log.version);
    observe_head(&file, "command", "%s", watch->command);
    observe_head(&file, "exit", "%d", watch->exit_code);
    observe_settings(&file, settings);
    if (watch->perf.why.text[0])
        observe_head(&file, "note", "DRAM and IO are not counted: %s", watch->perf.why.text);
    for (size_t i = 0; i < watch->log.label_count; i++) {
        char label[320];
        nccl_label_text(&watch->log.labels[i], label, sizeof label);
        observe_head(&file, "label", "%s", label);
    }
    observe_head(&file, "verdict", "%s: %s", verdict_words[verdict->word], verdict->text);
    if (verdict->caution[0])
        observe_head(&file, "caution", "%s", verdict->caution);
    if (verdict->conflict[0])
        observe_head(&file, "conflict", "%s", verdict->conflict);
    if (facts_of)
        observe_facts(&file, facts_of, 20);
    watch_rows(watch, write_row, &file);
    return observe_close(&file, watch->gpus_lost.text[0] ? watch->gpus_lost.text : NULL, ret_why);
}
