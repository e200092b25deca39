/* param.c: the parameter table. See param.h; the rows are in params.def. */
#include "sim/core/param.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct param_info table[] = {
#define PARAM(id, kind, name, dimension, fallback, minimum, maximum, source, help)                 \
    {KIND_##kind, #name, DIM_##dimension, fallback, minimum, maximum, source, help},
#include "sim/core/params.def"
#undef PARAM
};

const struct param_info *param_info(enum param_id id)
{
    assert(id < PARAM_COUNT);
    return &table[id];
}

const char *param_kind_name(enum param_kind kind)
{
    static const char *const names[KIND_COUNT] = {
        [KIND_ENGINE] = "engine", [KIND_SOFTWARE] = "software", [KIND_FABRIC] = "fabric",
        [KIND_GPU] = "gpu",       [KIND_CPU] = "cpu",           [KIND_PCIE_SWITCH] = "pcie_switch",
        [KIND_NIC] = "nic",       [KIND_PCIE] = "pcie",
    };
    assert(kind < KIND_COUNT);
    return names[kind];
}

const char *origin_kind_name(enum origin_kind kind)
{
    static const char *const names[] = {"default", "catalogue", "user", "--set"};
    return names[kind];
}

void param_range(enum param_kind kind, enum param_id *ret_first, size_t *ret_count)
{
    size_t first = PARAM_COUNT, count = 0;
    for (size_t i = 0; i < PARAM_COUNT; i++)
        if (table[i].kind == kind) {
            if (!count)
                first = i;
            assert(i == first + count); /* rows of a kind stand together */
            count++;
        }
    assert(count <= PARAM_MAX_PER_KIND);
    *ret_first = (enum param_id)first;
    *ret_count = count;
}

void params_init(struct params *params, enum param_kind kind)
{
    enum param_id first;
    size_t count;
    param_range(kind, &first, &count);
    memset(params, 0, sizeof *params);
    params->kind = kind;
    for (size_t i = 0; i < count; i++)
        params->value[i] = table[first + i].fallback;
}

static size_t slot_of(const struct params *params, enum param_id id)
{
    enum param_id first;
    size_t count;
    assert(id < PARAM_COUNT && table[id].kind == params->kind);
    param_range(params->kind, &first, &count);
    return (size_t)id - (size_t)first;
}

double param_get(const struct params *params, enum param_id id)
{
    return params->value[slot_of(params, id)];
}

bool param_is_set(const struct params *params, enum param_id id)
{
    return !isnan(params->value[slot_of(params, id)]);
}

const struct origin *param_origin(const struct params *params, enum param_id id)
{
    return &params->origin[slot_of(params, id)];
}

void param_set(struct params *params, enum param_id id, double value, struct origin origin)
{
    size_t slot = slot_of(params, id);
    params->value[slot] = value;
    params->origin[slot] = origin;
}
