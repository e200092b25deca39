/* fuzz_import.c: any text as each of the formats that gdsim imports: mistakes with places, or a
 * scenario that loads. The first byte picks the format, and whether the rest is also laid on a
 * small topology as a second file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/load/import.h"
#include "sim/load/scenario.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char base_text[] =
    "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"0000:17:00.0\" class=\"0x030200\" "
    "link_speed=\"\" link_width=\"0\"/><pci busid=\"0000:18:00.0\" class=\"0x020700\"/></cpu>"
    "</system>";

/* What was written must load. */
static void load(const char *text, size_t length)
{
    char path[64], *rendered = NULL;
    snprintf(path, sizeof path, "/tmp/gdsim-fuzz-import-%ld.yaml", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file)
        return;
    fwrite(text, 1, length, file);
    fclose(file);
    struct scenario_request request = {.path = path, .root = "."};
    struct scenario scenario;
    if (scenario_load(&request, &scenario)) {
        if (!diag_render(&scenario.diag, &rendered))
            fputs(rendered, stderr);
        abort();
    }
    scenario_free(&scenario);
    remove(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct diag_list diag;
    struct topology_settings settings = {.nic_rate_Bps = 0};
    struct topology *topology = topology_new(), *base = topology_new();
    char *text = malloc(size), *written = NULL, *rendered = NULL;
    size_t length;
    if (!topology || !base || !text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    diag_init(&diag);
    enum status status =
        import_read("fuzz", text, size - 1, (enum import_format)(data[0] % (IMPORT_FORMATS + 1)),
                    topology, NULL, &diag);
    if (!status && data[0] & 0x80u) {
        if (import_read("base", base_text, sizeof base_text - 1, IMPORT_NCCL_XML, base, NULL,
                        &diag))
            abort();
        topology_merge(base, topology, &diag);
        struct topology *swap = base;
        base = topology;
        topology = swap;
        status = diag_count(&diag) ? STATUS_INPUT : STATUS_OK;
    }
    if (!status)
        status = topology_settle(topology, &settings, &diag);
    if (!status && !topology_write(topology, "fuzz", &written, &length))
        load(written, length);
    if (diag_render(&diag, &rendered))
        abort();
    free(rendered);
    free(written);
    free(text);
    topology_free(topology);
    topology_free(base);
    diag_free(&diag);
    return 0;
}
