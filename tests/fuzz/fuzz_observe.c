/* fuzz_observe.c: any text as the output of each benchmark: rows, and mistakes with places. The
 * first byte picks the format. Whatever was read must be finite or absent, and of a known run. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sim/load/observation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct diag_list diag;
    struct observations all;
    char *text = malloc(size), *rendered = NULL;
    if (!text)
        abort();
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    diag_init(&diag);
    observations_init(&all);
    observe_text("fuzz", text, size - 1, (enum observe_format)(data[0] % (OBSERVE_FORMATS + 1)),
                 &all, &diag);
    for (size_t i = 0; i < all.count; i++) {
        const struct observation *item = &all.items[i];
        if (item->run >= all.run_count || !isfinite(item->size_B) || isinf(item->time_s))
            abort();
    }
    if (diag_render(&diag, &rendered))
        abort();
    free(rendered);
    observations_free(&all);
    diag_free(&diag);
    free(text);
    return 0;
}
