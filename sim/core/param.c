/* param.c: the parameter table. See param.h; the rows are in params.def. */
#include "sim/core/param.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"

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
        [KIND_ENGINE] = "engine", [KIND_SOFTWARE] = "software",
        [KIND_FABRIC] = "fabric", [KIND_SHARP] = "sharp",
        [KIND_STATE] = "state",   [KIND_GPU] = "gpu",
        [KIND_CPU] = "cpu",       [KIND_PCIE_SWITCH] = "pcie_switch",
        [KIND_NIC] = "nic",       [KIND_NVME] = "nvme",
        [KIND_PCIE] = "pcie",     [KIND_NVLINK] = "nvlink",
        [KIND_C2C] = "c2c",       [KIND_SOCKET] = "socket",
    };
    assert(kind < KIND_COUNT);
    return names[kind];
}

const char *const *param_words(enum param_id id)
{
    static const char *const iommu[] = {"off", "identity", "translating", NULL};
    static const char *const outcome[] = {"slow", "refused", "hang", NULL};
    /* NCCL's path types, best to worst (graph/topo.h). */
    static const char *const levels[] = {"loc", "nvl", "nvb", "c2c", "pix", "pxb",
                                         "p2c", "pxn", "phb", "sys", "net", NULL};
    /* ACS control register, bit 0 up. */
    static const char *const acs[] = {"SV", "TB", "RR", "CR", "UF", "EC", "DT", NULL};
    static const char *const fabrics[] = {"one_switch", "leaf_spine", "rail", NULL};
    static const char *const routings[] = {"best", "hashed", "worst", NULL};
    static const char *const protocols[] = {"none", "ll", "ll128", "simple", "auto", NULL};
    static const char *const hops[] = {"ring", "tree", NULL};
    static const char *const modes[] = {"auto", "llt", "sat", NULL};
    static const char *const places[] = {"port", "switch", NULL};
    static const char *const full[] = {"falls_back", "waits", NULL};
    static const char *const makers[] = {"intel", "amd", "power", "other", NULL};
    switch (id) {
    case PARAM_CPU_MAKER:
        return makers;
    case PARAM_ENGINE_PROTOCOL:
        return protocols;
    case PARAM_ENGINE_HOPS:
        return hops;
    case PARAM_SHARP_MODE:
        return modes;
    case PARAM_SHARP_SAT_PER:
        return places;
    case PARAM_SHARP_WHEN_FULL:
        return full;
    case PARAM_FABRIC_KIND:
        return fabrics;
    case PARAM_FABRIC_ROUTING:
        return routings;
    case PARAM_STATE_IOMMU:
        return iommu;
    case PARAM_STATE_ACS_OUTCOME:
        return outcome;
    case PARAM_STATE_GDR_LEVEL:
    case PARAM_STATE_P2P_LEVEL:
        return levels;
    case PARAM_PCIE_ACS:
        return acs;
    default:
        return NULL;
    }
}

const char *param_format(enum param_id id, double value, char *buf, size_t size)
{
    const char *const *words = param_words(id);
    if (!words)
        return units_format(value, param_info(id)->dimension, buf, size);
    if (param_info(id)->dimension == DIM_CHOICE) {
        snprintf(buf, size, "%s", words[(size_t)value]);
        return buf;
    }
    size_t used = 0;
    snprintf(buf, size, "none");
    for (size_t i = 0; words[i]; i++)
        if ((unsigned)value >> i & 1u)
            used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? "+" : "", words[i]);
    return buf;
}

static enum status no_word(enum param_id id, const char *text, size_t length, struct error *error)
{
    const char *const *words = param_words(id);
    char list[160] = "";
    for (size_t i = 0, used = 0; words[i]; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", words[i]);
    error_set(error, STATUS_INPUT, "unknown %s \"%.*s\"", param_info(id)->name, (int)length, text);
    return error_hint(error,
                      param_info(id)->dimension == DIM_CHOICE ? "one of %s"
                                                              : "none, or some of %s joined by +",
                      list);
}

static bool find_word(const char *const *words, const char *text, size_t length, size_t *ret_index)
{
    for (size_t i = 0; words[i]; i++)
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0) {
            *ret_index = i;
            return true;
        }
    return false;
}

enum status param_parse(enum param_id id, const char *text, size_t length, double *ret_value,
                        struct error *error)
{
    const char *const *words = param_words(id);
    size_t index = 0;
    unsigned bits = 0;
    if (!words)
        return units_parse(text, length, param_info(id)->dimension, ret_value, error);
    if (param_info(id)->dimension == DIM_CHOICE) {
        if (!find_word(words, text, length, &index))
            return no_word(id, text, length, error);
        *ret_value = (double)index;
        return STATUS_OK;
    }
    for (size_t at = 0; at < length && !(length == 4 && strncmp(text, "none", 4) == 0);) {
        size_t end = at;
        while (end < length && text[end] != '+')
            end++;
        if (!find_word(words, text + at, end - at, &index))
            return no_word(id, text, length, error);
        bits |= 1u << index;
        at = end + 1;
        if (at == length) /* a + with nothing behind it */
            return no_word(id, text, length, error);
    }
    *ret_value = bits;
    return STATUS_OK;
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
    params->first = (uint16_t)first;
    for (size_t i = 0; i < count; i++)
        params->value[i] = table[first + i].fallback;
}

static size_t slot_of(const struct params *params, enum param_id id)
{
    assert(id < PARAM_COUNT && table[id].kind == params->kind);
    return (size_t)id - params->first; /* rows of a kind stand together */
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
