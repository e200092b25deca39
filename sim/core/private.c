/* private.c: see private.h. */
#include "sim/core/private.h"

#include <stdlib.h>
#include <string.h>

enum status privates_init(struct privates *privates, uint32_t ranks, struct error *error)
{
    privates->ranks = ranks;
    privates->lists = calloc(ranks, sizeof *privates->lists);
    return privates->lists ? STATUS_OK : error_set(error, STATUS_NOMEM, "out of memory");
}

void privates_free(struct privates *privates)
{
    for (uint32_t i = 0; privates->lists && i < privates->ranks; i++)
        free(privates->lists[i].uses);
    free(privates->lists);
    memset(privates, 0, sizeof *privates);
}

struct private_use *private_get(struct privates *privates, uint32_t rank, uint32_t resource,
                                uint32_t owner, struct error *error)
{
    struct private_list *list = &privates->lists[rank];
    for (size_t i = 0; i < list->count; i++)
        if (list->uses[i].resource == resource && list->uses[i].owner == owner)
            return &list->uses[i];
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 4;
        struct private_use *grown = realloc(list->uses, capacity * sizeof *grown);
        if (!grown) {
            error_set(error, STATUS_NOMEM, "out of memory");
            return NULL;
        }
        list->uses = grown;
        list->capacity = capacity;
    }
    list->uses[list->count] = (struct private_use){.resource = resource, .owner = owner};
    return &list->uses[list->count++];
}
