/* perf.c: see perf.h. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe/perf.h"

#define DEVICES "/sys/bus/event_source/devices"

const char *const perf_names[PERF_QUANTITIES] = {"dram_read", "dram_write", "iio_in", "iio_out"};

/* Which events of which PMUs are bytes of what. A number at the end of a PMU's or an event's name
 * is an instance or a port: all are added up. */
static const struct {
    const char *pmu, *event;
    enum perf_quantity quantity;
    double default_B; /* a count, when sysfs gives no scale; 0: such an event is left out */
} wanted[] = {
    {"uncore_imc_free_running", "data_read", PERF_DRAM_READ, 0},
    {"uncore_imc_free_running", "data_write", PERF_DRAM_WRITE, 0},
    {"uncore_imc", "cas_count_read", PERF_DRAM_READ, 64},
    {"uncore_imc", "cas_count_write", PERF_DRAM_WRITE, 64},
    {"amd_umc", "umc_cas_cmd.rd", PERF_DRAM_READ, 64},
    {"amd_umc", "umc_cas_cmd.wr", PERF_DRAM_WRITE, 64},
    {"uncore_iio_free_running", "bw_in_port", PERF_IIO_IN, 0},
    {"uncore_iio_free_running", "bw_out_port", PERF_IIO_OUT, 0},
};

/* `name` is `base`, alone or with _N or N behind it. */
static bool is_instance(const char *name, const char *base)
{
    size_t length = strlen(base);
    if (strncmp(name, base, length) != 0)
        return false;
    name += length;
    if (*name == '_')
        name++;
    return strspn(name, "0123456789") == strlen(name);
}

/* Put a value into the bits that a format ("config:0-7,32") names. */
static bool place_bits(const char *format, uint64_t value, uint64_t config[3])
{
    int word = strncmp(format, "config1:", 8) == 0   ? 1
               : strncmp(format, "config2:", 8) == 0 ? 2
               : strncmp(format, "config:", 7) == 0  ? 0
                                                     : -1;
    const char *at = strchr(format, ':');
    while (word >= 0 && at) {
        char *end;
        unsigned long low = strtoul(at + 1, &end, 10), high = low;
        if (*end == '-')
            high = strtoul(end + 1, &end, 10);
        for (unsigned long bit = low; bit <= high && bit < 64; bit++, value >>= 1)
            config[word] |= (value & 1) << bit;
        at = *end == ',' ? end : NULL;
    }
    return word >= 0;
}

/* "event=0x04,umask=0x03" as the bits that the PMU wants. */
static bool encode(const struct sys *sys, const char *pmu, char *terms, uint64_t config[3])
{
    char *rest = NULL;
    for (char *term = strtok_r(terms, ",", &rest); term; term = strtok_r(NULL, ",", &rest)) {
        char path[SYS_PATH], format[64];
        struct why why;
        char *equals = strchr(term, '=');
        uint64_t value = equals ? strtoull(equals + 1, NULL, 0) : 1;
        if (equals)
            *equals = '\0';
        snprintf(path, sizeof path, DEVICES "/%s/format/%.60s", pmu, term);
        if (!sys_line(sys, path, format, sizeof format, &why) || !place_bits(format, value, config))
            return false;
    }
    return true;
}

/* Bytes a count: scale and unit as sysfs has them. */
static double scale_of(const struct sys *sys, const char *pmu, const char *event, double otherwise)
{
    char path[SYS_PATH], text[64], unit[16] = "";
    struct why why;
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.scale", pmu, event);
    if (!sys_line(sys, path, text, sizeof text, &why))
        return otherwise;
    double scale = strtod(text, NULL);
    snprintf(path, sizeof path, DEVICES "/%s/events/%s.unit", pmu, event);
    sys_line(sys, path, unit, sizeof unit, &why);
    return scale * (strcmp(unit, "MiB") == 0 ? 1048576 : strcmp(unit, "KiB") == 0 ? 1024 : 1);
}

/* One event on every CPU of the PMU's cpumask ("0,24" or "0-1"). */
static void add_event(struct perf *perf, const struct perf_event *event, const char *cpumask)
{
    const char *at = cpumask;
    while (*at >= '0' && *at <= '9') {
        char *end;
        long first = strtol(at, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && perf->count < PERF_EVENTS; cpu++) {
            perf->events[perf->count] = *event;
            perf->events[perf->count++].cpu = (int)cpu;
        }
        at = *end == ',' ? end + 1 : end;
    }
}

static void find_in(const struct sys *sys, const char *pmu, struct perf *perf)
{
    char path[SYS_PATH], cpumask[128] = "0";
    struct why why;
    struct sys_list events;
    long long type;
    snprintf(path, sizeof path, DEVICES "/%s/type", pmu);
    if (!sys_number(sys, path, &type, &why))
        return;
    snprintf(path, sizeof path, DEVICES "/%s/cpumask", pmu);
    sys_line(sys, path, cpumask, sizeof cpumask, &why);
    snprintf(path, sizeof path, DEVICES "/%s/events", pmu);
    if (!sys_list(sys, path, &events, &why))
        return;
    for (size_t i = 0; i < events.count; i++)
        for (size_t k = 0; k < sizeof wanted / sizeof wanted[0]; k++) {
            struct perf_event event = {
                .quantity = wanted[k].quantity, .type = (uint32_t)type, .fd = -1};
            char terms[256];
            if (!is_instance(pmu, wanted[k].pmu) || !is_instance(events.names[i], wanted[k].event))
                continue;
            snprintf(path, sizeof path, DEVICES "/%s/events/%s", pmu, events.names[i]);
            event.scale_B = scale_of(sys, pmu, events.names[i], wanted[k].default_B);
            if (event.scale_B > 0 && sys_line(sys, path, terms, sizeof terms, &why) &&
                encode(sys, pmu, terms, event.config))
                add_event(perf, &event, cpumask);
        }
    sys_list_free(&events);
}

void perf_find(const struct sys *sys, struct perf *ret_perf)
{
    struct sys_list pmus;
    memset(ret_perf, 0, sizeof *ret_perf);
    if (!sys_list(sys, DEVICES, &pmus, &ret_perf->why))
        return;
    for (size_t i = 0; i < pmus.count; i++)
        find_in(sys, pmus.names[i], ret_perf);
    sys_list_free(&pmus);
    if (ret_perf->count == 0)
        why_set(&ret_perf->why, "the kernel offers no PMU of memory or IO (a virtual machine, or "
                                "its driver is not loaded)");
    else if (sys_is_captured(sys))
        why_set(&ret_perf->why, "a captured tree counts nothing");
}

void perf_open(struct perf *perf)
{
    if (perf->why.text[0])
        return;
    for (size_t i = 0; i < perf->count; i++) {
        struct perf_event *event = &perf->events[i];
        struct perf_event_attr attributes = {.type = event->type, .size = sizeof attributes};
        attributes.config = event->config[0];
        attributes.config1 = event->config[1];
        attributes.config2 = event->config[2];
        event->fd = (int)syscall(SYS_perf_event_open, &attributes, -1, event->cpu, -1,
                                 PERF_FLAG_FD_CLOEXEC);
        if (event->fd >= 0)
            continue;
        why_set(&perf->why, "perf events cannot be opened: %s%s", strerror(errno),
                errno == EACCES || errno == EPERM
                    ? " (needs root, CAP_PERFMON or perf_event_paranoid of 0)"
                    : "");
        perf_close(perf);
        return;
    }
    perf->open = true;
}

double perf_read(const struct perf *perf, enum perf_quantity quantity)
{
    double sum = 0;
    bool any = false;
    for (size_t i = 0; perf->open && i < perf->count; i++) {
        uint64_t count;
        if (perf->events[i].quantity != quantity)
            continue;
        if (read(perf->events[i].fd, &count, sizeof count) != (ssize_t)sizeof count)
            return (double)NAN;
        sum += perf->events[i].scale_B * (double)count;
        any = true;
    }
    return any ? sum : (double)NAN;
}

void perf_close(struct perf *perf)
{
    for (size_t i = 0; i < perf->count; i++) {
        if (perf->events[i].fd >= 0)
            close(perf->events[i].fd);
        perf->events[i].fd = -1;
    }
    perf->open = false;
}
