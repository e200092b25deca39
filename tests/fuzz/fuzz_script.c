/* fuzz_script.c: any text as an algorithm script: an error or a plan, never a crash; a plan that
 * is small enough is verified too. */
#include <stddef.h>
#include <stdint.h>

#include "sim/core/verify.h"
#include "sim/script/script.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error error;
    struct plan plan;
    struct verdict verdict;
    struct script_job job = {.name = "fuzz.lua",
                             .text = (const char *)data,
                             .length = size,
                             .ranks = 5,
                             .gpus_per_node = 1};
    if (script_plan(&job, &plan, &error))
        return 0;
    if (plan.steps < 1000 && plan.chunks < 1000)
        (void)verify_plan(&plan, &verdict, &error);
    plan_free(&plan);
    return 0;
}
