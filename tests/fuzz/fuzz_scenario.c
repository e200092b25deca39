/* fuzz_scenario.c: any text as a scenario file: mistakes with places, or a machine whose routes
 * can be made; never a crash. The text goes through a file, as a user's does; lines behind a byte
 * of value 0xFF are laid on it as by --set. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/core/routes.h"
#include "sim/load/scenario.h"

#define MOST_SETS 4

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void make_routes(const struct machine *machine, const struct mechanism *mechanism)
{
    struct routes routes;
    struct error error;
    if (routes_init(&routes, machine, mechanism, &error))
        return;
    for (size_t slot = 0; slot < routes.slot_count && slot < 64; slot++)
        (void)routes_get(&routes, slot, &error);
    routes_free(&routes);
}

/* Cut a copy of the bytes into lines that end in NUL; how many there are. */
static size_t cut(char *text, const char **ret_lines, size_t most)
{
    size_t count = 0;
    for (char *end; *text && count < most; text = end) {
        end = text + strcspn(text, "\n");
        ret_lines[count++] = text;
        if (*end)
            *end++ = '\0';
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    const char *set[MOST_SETS];
    const uint8_t *behind = size > 0 ? memchr(data, 0xFF, size) : NULL;
    size_t length = behind ? size - (size_t)(behind - data) - 1 : 0;
    char *lines = calloc(length + 1, 1);
    if (!lines)
        return 0;
    if (behind) {
        memcpy(lines, behind + 1, length);
        size = (size_t)(behind - data);
    }
    snprintf(path, sizeof path, "/tmp/gdsim-fuzz-%ld.yaml", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file) {
        free(lines);
        return 0;
    }
    fwrite(data, 1, size, file);
    fclose(file);
    const char *root = getenv("GDSIM_ROOT");
    struct scenario_request request = {.path = path, .root = root ? root : ".", .set = set};
    request.set_count = cut(lines, set, MOST_SETS);
    struct scenario scenario;
    char *text = NULL;
    if (scenario_load(&request, &scenario)) {
        if (!diag_render(&scenario.diag, &text))
            free(text);
    } else {
        for (size_t i = 0; i < scenario.mechanism_count; i++)
            make_routes(&scenario.machine, scenario.mechanisms[i]);
    }
    scenario_free(&scenario);
    remove(path);
    free(lines);
    return 0;
}
