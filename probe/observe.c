/* observe.c: see observe.h. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "probe/facts.h"
#include "probe/observe.h"

struct observation observation(const char *experiment, const char *place, const char *quantity,
                               const char *unit)
{
    struct observation row;
    memset(&row, 0, sizeof row); /* padding too: it goes through a pipe */
    snprintf(row.experiment, sizeof row.experiment, "%s", experiment);
    snprintf(row.place, sizeof row.place, "%s", place);
    snprintf(row.quantity, sizeof row.quantity, "%s", quantity);
    snprintf(row.unit, sizeof row.unit, "%s", unit);
    row.size_B = row.chunk_B = row.value = row.min = row.p90 = row.samples = (double)NAN;
    row.payload_B = row.seconds = row.baseline = (double)NAN;
    return row;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void observation_summarize(struct observation *row, double *samples, size_t count)
{
    if (count == 0) {
        row->quality = QUALITY_MISSING;
        return;
    }
    qsort(samples, count, sizeof samples[0], ascending);
    row->value = count % 2 ? samples[count / 2] : (samples[count / 2 - 1] + samples[count / 2]) / 2;
    row->min = samples[0];
    row->p90 = samples[(size_t)(0.9 * (double)(count - 1) + 0.5)];
    row->samples = (double)count;
}

bool observe_open(struct observe_file *file, const char *name, FILE *to, struct why *ret_why)
{
    *file = (struct observe_file){.to = to};
    if (name) {
        size_t length = strlen(name) + sizeof ".partial";
        file->name = strdup(name);
        file->partial = malloc(length);
        if (file->name && file->partial) {
            snprintf(file->partial, length, "%s.partial", name);
            file->to = fopen(file->partial, "w");
        }
        if (!file->to) {
            why_set(ret_why, "%s: %s", file->partial ? file->partial : name, strerror(errno));
            free(file->name);
            free(file->partial);
            return false;
        }
    }
    if (file->to)
        fputs("# gdprobe_observations: 1\n", file->to);
    return true;
}

void observe_head(struct observe_file *file, const char *key, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    if (!file->to)
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *at = text; *at; at++)
        if (*at == '\n' || *at == '\r')
            *at = ' ';
    fprintf(file->to, "# %s: %s\n", key, text);
}

/* The value of the first line of /proc/cpuinfo that starts with `key`. */
static void cpuinfo(const struct sys *sys, const char *key, char *buffer, size_t size)
{
    struct why why;
    char *text = sys_text(sys, "/proc/cpuinfo", &why);
    const char *line = text ? strstr(text, key) : NULL;
    const char *colon = line ? strchr(line, ':') : NULL;
    buffer[0] = '\0';
    if (colon)
        snprintf(buffer, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
    free(text);
}

void observe_machine(struct observe_file *file, const char *tool)
{
    struct sys sys;
    struct why why;
    struct utsname name;
    char date[32] = "", model[128], flags[8192];
    time_t now = time(NULL);
    struct tm broken;
    observe_head(file, "tool", "gdprobe %s", tool);
    if (gmtime_r(&now, &broken) && strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &broken))
        observe_head(file, "date", "%s", date);
    if (uname(&name) == 0) {
        observe_head(file, "host", "%s", name.nodename);
        observe_head(file, "kernel", "%s %s %s", name.sysname, name.release, name.machine);
    }
    if (!sys_open(&sys, NULL, &why))
        return;
    cpuinfo(&sys, "model name", model, sizeof model);
    cpuinfo(&sys, "flags", flags, sizeof flags);
    observe_head(file, "machine", "%s, %ld CPUs online%s", model[0] ? model : "unknown CPU",
                 sysconf(_SC_NPROCESSORS_ONLN),
                 strstr(flags, " hypervisor") ? ", virtual machine" : "");
}

extern char **environ;

void observe_settings(struct observe_file *file, const char *options)
{
    static const char *const prefixes[] = {"NCCL_",   "CUDA_",    "UCX_",
                                           "CUFILE_", "NVSHMEM_", "GDPROBE_"};
    if (options && options[0])
        observe_head(file, "settings", "%s", options);
    for (char **at = environ; *at; at++)
        for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
            if (strncmp(*at, prefixes[i], strlen(prefixes[i])) == 0)
                observe_head(file, "environment", "%s", *at);
}

void observe_facts(struct observe_file *file, const struct sys *sys, double timeout_s)
{
    struct facts *facts = file->to ? facts_read(sys, timeout_s) : NULL;
    if (facts)
        facts_write_yaml(facts, file->to, "#| ");
    facts_free(facts);
}

static void text_field(FILE *to, const char *text)
{
    if (!text[strcspn(text, ",\"\n\r")]) {
        fputs(text, to);
        return;
    }
    fputc('"', to);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', to);
        fputc(*text == '\n' || *text == '\r' ? ' ' : *text, to);
    }
    fputc('"', to);
}

static void number_field(FILE *to, double number)
{
    if (!isnan(number))
        fprintf(to, "%.9g", number);
    fputc(',', to);
}

/* Whole bytes of a long run need more than nine digits. */
static void count_field(FILE *to, double number)
{
    if (!isnan(number))
        fprintf(to, "%.15g", number);
    fputc(',', to);
}

void observe_row(struct observe_file *file, const struct observation *row)
{
    static const char *const qualities[] = {"exact", "wrapped", "at_least", "missing"};
    FILE *to = file->to;
    if (!to)
        return;
    if (!file->columns_written)
        fputs("experiment,place,size_B,chunk_B,device,quantity,unit,value,min,p90,samples,"
              "payload_B,seconds,baseline,quality,note\n",
              to);
    file->columns_written = true;
    text_field(to, row->experiment);
    fputc(',', to);
    text_field(to, row->place);
    fputc(',', to);
    count_field(to, row->size_B);
    count_field(to, row->chunk_B);
    text_field(to, row->device);
    fputc(',', to);
    text_field(to, row->quantity);
    fprintf(to, ",%s,", row->unit);
    if (strcmp(row->unit, "s") == 0)
        number_field(to, row->value);
    else
        count_field(to, row->value);
    number_field(to, row->min);
    number_field(to, row->p90);
    count_field(to, row->samples);
    count_field(to, row->payload_B);
    number_field(to, row->seconds);
    count_field(to, row->baseline);
    fprintf(to, "%s,", qualities[row->quality]);
    text_field(to, row->note);
    fputc('\n', to);
    fflush(to);
}

bool observe_close(struct observe_file *file, const char *incomplete, struct why *ret_why)
{
    if (incomplete)
        observe_head(file, "complete", "no, %s", incomplete);
    else
        observe_head(file, "complete", "yes");
    bool good = !file->to || (fflush(file->to) == 0 && !ferror(file->to));
    if (file->name) {
        good = fclose(file->to) == 0 && good;
        good = good && rename(file->partial, file->name) == 0;
    }
    if (!good)
        why_set(ret_why, "%s: %s", file->name ? file->name : "output", strerror(errno));
    free(file->name);
    free(file->partial);
    *file = (struct observe_file){0};
    return good;
}
