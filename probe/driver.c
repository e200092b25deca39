/* driver.c: the lines of driver.h into structs. */
#include "probe/driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/driver_ask.h"
#include "probe/host.h"

#define CAPTURED "/gdprobe/driver"

/* ---- one line -------------------------------------------------------------------------------- */

static const char *reason_of(const struct driver *driver, const char *what)
{
    for (size_t i = 0; i < driver->reason_count; i++)
        if (strcmp(driver->reasons[i].what, what) == 0)
            return driver->reasons[i].why.text;
    return NULL;
}

static void add_reason(struct driver *driver, const char *what, const char *words)
{
    if (driver->reason_count == DRIVER_REASONS || reason_of(driver, what))
        return;
    snprintf(driver->reasons[driver->reason_count].what,
             sizeof driver->reasons[driver->reason_count].what, "%.11s", what);
    why_set(&driver->reasons[driver->reason_count++].why, "%s", words);
}

/* index is less than DRIVER_GPUS. */
static struct driver_gpu *gpu_at(struct driver *driver, int index)
{
    while (driver->gpu_count <= (size_t)index)
        driver->gpus[driver->gpu_count++] = (struct driver_gpu){.memory_B = -1,
                                                                .bar1_B = -1,
                                                                .bar1_used_B = -1,
                                                                .gdr = UNKNOWN,
                                                                .dmabuf = UNKNOWN,
                                                                .multicast = UNKNOWN,
                                                                .stream_memops = UNKNOWN};
    return &driver->gpus[index];
}

static int yes_no(const char *text)
{
    return strcmp(text, "1") == 0 ? YES : strcmp(text, "0") == 0 ? NO : UNKNOWN;
}

/* A count of bytes; -1 when the text is none. */
static double bytes_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end != text && !*end && value >= 0 && value <= 1e15 ? value : -1;
}

static void set_gpu(struct driver_gpu *gpu, const char *key, const char *value)
{
    if (strcmp(key, "busid") == 0 && !pci_busid(value, gpu->busid))
        gpu->busid[0] = '\0';
    else if (strcmp(key, "name") == 0)
        snprintf(gpu->name, sizeof gpu->name, "%s", value);
    else if (strcmp(key, "sm") == 0)
        gpu->sm = (int)strtol(value, NULL, 10) % 1000;
    else if (strcmp(key, "memory_B") == 0)
        gpu->memory_B = bytes_of(value);
    else if (strcmp(key, "bar1_B") == 0)
        gpu->bar1_B = bytes_of(value);
    else if (strcmp(key, "bar1_used_B") == 0)
        gpu->bar1_used_B = bytes_of(value);
    else if (strcmp(key, "gdr") == 0)
        gpu->gdr = yes_no(value);
    else if (strcmp(key, "dmabuf") == 0)
        gpu->dmabuf = yes_no(value);
    else if (strcmp(key, "multicast") == 0)
        gpu->multicast = yes_no(value);
    else if (strcmp(key, "stream_memops") == 0)
        gpu->stream_memops = yes_no(value);
}

static void add_link(struct driver *driver, struct driver_gpu *gpu, const char *to)
{
    char target[PCI_BUSID];
    int links = 0;
    for (size_t i = 0; i < gpu->link_count; i++)
        links += gpu->links[i].count;
    if (links == DRIVER_LINKS) {
        driver->nvlinks_over = true;
        return;
    }
    if (!pci_busid(to, target))
        strcpy(target, strcmp(to, "nvswitch") == 0 ? "nvswitch" : "other");
    for (size_t i = 0; i < gpu->link_count; i++)
        if (strcmp(gpu->links[i].to, target) == 0) {
            gpu->links[i].count++;
            return;
        }
    strcpy(gpu->links[gpu->link_count].to, target);
    gpu->links[gpu->link_count++].count = 1;
}

/* The next word of a line; what follows it is at the returned place. */
static const char *next_word(const char *at, char word[32])
{
    at += strspn(at, " ");
    size_t length = strcspn(at, " ");
    snprintf(word, 32, "%.*s", (int)(length < 31 ? length : 31), at);
    at += length;
    return at + strspn(at, " ");
}

/* A GPU's number; -1 when the word is none. */
static int gpu_number(const char *word)
{
    char *end;
    long value = strtol(word, &end, 10);
    return end != word && !*end && value >= 0 && value < DRIVER_GPUS ? (int)value : -1;
}

static void parse_line(struct driver *driver, const char *line)
{
    char word[32], first[32], second[32];
    const char *after_word = next_word(line, word), *after_first = next_word(after_word, first),
               *after_second = next_word(after_first, second);
    int i = gpu_number(first), j = gpu_number(second);
    if (strcmp(word, "gpu") == 0 && i >= 0)
        set_gpu(gpu_at(driver, i), second, after_second);
    else if (strcmp(word, "nvlink") == 0 && i >= 0)
        add_link(driver, gpu_at(driver, i), second);
    else if (strcmp(word, "p2p") == 0 && i >= 0 && j >= 0)
        snprintf(driver->p2p[i][j], sizeof driver->p2p[i][j], "%.23s", after_second);
    else if (strcmp(word, "peer") == 0 && i >= 0 && j >= 0)
        driver->peer[i][j] = (signed char)yes_no(after_second);
    else if (strcmp(word, "why") == 0)
        add_reason(driver, first, after_first);
    else if (strcmp(word, "driver_version") == 0)
        snprintf(driver->version, sizeof driver->version, "%.31s", after_word);
    else if (strcmp(word, "cuda_version") == 0)
        driver->cuda_version = (int)strtol(after_word, NULL, 10);
    else if (strcmp(word, "nvlinks") == 0)
        driver->nvlinks_known = strcmp(after_word, "known") == 0;
    else if (strcmp(word, "verbs_dmabuf") == 0)
        driver->verbs_dmabuf = yes_no(after_word);
}

void driver_parse(const char *text, struct driver *ret_driver)
{
    char line[256];
    *ret_driver = (struct driver){.verbs_dmabuf = UNKNOWN};
    memset(ret_driver->peer, UNKNOWN, sizeof ret_driver->peer);
    while (*text) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1),
                 text);
        parse_line(ret_driver, line);
        text += length + (text[length] == '\n');
    }
    if (ret_driver->nvlinks_over) {
        ret_driver->nvlinks_known = false;
        add_reason(ret_driver, "nvlink", "the driver names more links than any GPU has");
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

void driver_read(const struct sys *sys, double timeout_s, struct driver *ret_driver)
{
    struct why why = {""};
    char *text = sys_is_captured(sys) ? sys_text(sys, CAPTURED, &why) : driver_ask(timeout_s, &why);
    driver_parse(text ? text : "", ret_driver);
    ret_driver->text = text;
    if (!text && sys_is_captured(sys))
        why_set(&why, "the captured tree holds no answers of the driver");
    /* What a hang or a crash cut off has that as its reason. */
    static const char *const all[] = {"nvml", "cuda", "verbs", "gpu", "nvlink", "p2p"};
    for (size_t i = 0; why.text[0] && i < sizeof all / sizeof all[0]; i++)
        add_reason(ret_driver, all[i], why.text);
}

void driver_free(struct driver *driver)
{
    free(driver->text);
    *driver = (struct driver){0};
}

const char *driver_why(const struct driver *driver, const char *what)
{
    const char *reason = reason_of(driver, what);
    if (!reason && strcmp(what, "cuda") != 0 && strcmp(what, "verbs") != 0)
        reason = reason_of(driver, "nvml"); /* who asks the rest */
    return reason ? reason : "the driver did not say";
}

int driver_find(const struct driver *driver, const char *busid)
{
    for (size_t i = 0; i < driver->gpu_count; i++)
        if (strcmp(driver->gpus[i].busid, busid) == 0)
            return (int)i;
    return -1;
}
