/* fuzz_scenario.c: any text as a scenario file: mistakes with places, or a machine whose routes
 * can be made; never a crash. The text goes through a file, as a user's does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/core/routes.h"
#include "sim/load/scenario.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/gdsim-fuzz-%ld.yaml", (long)getpid());
    FILE *file = fopen(path, "wb");
    if (!file)
        return 0;
    fwrite(data, 1, size, file);
    fclose(file);
    const char *root = getenv("GDSIM_ROOT");
    struct scenario_request request = {.path = path, .root = root ? root : "."};
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
    return 0;
}
