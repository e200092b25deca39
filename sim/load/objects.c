/* objects.c: see objects.h. */
#include "sim/load/objects.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/core/units.h"

#define MAX_KEYS 64

static struct origin origin_of(const struct object_reader *reader, const struct yaml_node *node,
                               const char *source)
{
    struct origin origin = {.kind = ORIGIN_CATALOGUE,
                            .file = node->mark.file,
                            .line = node->mark.line,
                            .source = source};
    if (node->origin_note)
        origin.kind = ORIGIN_SET;
    else if (node->mark.file == reader->user_file)
        origin.kind = ORIGIN_USER;
    return origin;
}

const char *object_text(const struct object_reader *reader, const struct yaml_node *node,
                        const char *what)
{
    if (node->kind == YAML_TREE_SCALAR && node->length > 0)
        return node->text;
    diag_add(reader->diag, node->mark, NULL, "%s must be a text, got %s", what,
             yaml_kind_name(node));
    return NULL;
}

static bool read_scalar(const struct object_reader *reader, const struct yaml_node *node,
                        const char *expected)
{
    if (node->kind == YAML_TREE_SCALAR)
        return true;
    diag_add(reader->diag, node->mark, NULL, "expected %s, got %s", expected, yaml_kind_name(node));
    return false;
}

static bool read_value(const struct object_reader *reader, const struct yaml_node *node,
                       enum param_id id, double *ret_value)
{
    struct error error;
    if (!read_scalar(reader, node, units_expected(param_info(id)->dimension)))
        return false;
    if (param_parse(id, node->text, node->length, ret_value, &error)) {
        diag_add_error(reader->diag, node->mark, &error);
        return false;
    }
    return true;
}

bool object_integer(const struct object_reader *reader, const struct yaml_node *node,
                    const char *what, double low, double high, double *ret_value)
{
    double value;
    struct error error;
    if (!read_scalar(reader, node, units_expected(DIM_COUNT)))
        return false;
    if (units_parse(node->text, node->length, DIM_COUNT, &value, &error)) {
        diag_add_error(reader->diag, node->mark, &error);
        return false;
    }
    if (value < low || value > high) {
        diag_add(reader->diag, node->mark, NULL, "%s must be %.0f to %.0f, got %.0f", what, low,
                 high, value);
        return false;
    }
    *ret_value = value;
    return true;
}

bool object_in_range(struct diag_list *diag, struct mark mark, enum param_id id, double value)
{
    const struct param_info *info = param_info(id);
    if (value >= info->minimum && (value <= info->maximum || isinf(value)))
        return true;
    char low[UNITS_TEXT_MAX], high[UNITS_TEXT_MAX];
    diag_add(diag, mark, info->help, "%s must be %s to %s", info->name,
             param_format(id, info->minimum, low, sizeof low),
             param_format(id, info->maximum, high, sizeof high));
    return false;
}

/* `rate: {value: 24 GB/s, nominal: 25 GB/s, source: "..."}`: returns the value's node. */
static const struct yaml_node *unwrap(const struct object_reader *reader, struct yaml_node *node,
                                      enum param_id id, const char **ret_source)
{
    static const char *const keys[] = {"value", "nominal", "source"};
    if (node->kind != YAML_TREE_MAP)
        return node;
    yaml_check_keys(node, keys, sizeof keys / sizeof keys[0], "a value with its source",
                    reader->diag);
    struct yaml_node *value = yaml_map_get(node, "value");
    struct yaml_node *nominal = yaml_map_get(node, "nominal");
    struct yaml_node *source = yaml_map_get(node, "source");
    if (!value) {
        diag_add(reader->diag, node->mark, NULL, "a value with its source needs the key \"value\"");
        return NULL;
    }
    if (source)
        *ret_source = object_text(reader, source, "source");
    double achievable, limit;
    if (nominal && read_value(reader, nominal, id, &limit) &&
        read_value(reader, value, id, &achievable) && achievable > limit)
        diag_add(reader->diag, value->mark, NULL,
                 "the value of %s is above what is nominally possible", param_info(id)->name);
    return value;
}

void object_read_one(const struct object_reader *reader, struct yaml_node *node, enum param_id id,
                     struct params *params)
{
    const char *source = NULL;
    double value;
    const struct yaml_node *scalar = unwrap(reader, node, id, &source);
    if (!scalar || !read_value(reader, scalar, id, &value))
        return;
    if (object_in_range(reader->diag, scalar->mark, id, value))
        param_set(params, id, value, origin_of(reader, scalar, source));
}

void object_read(const struct object_reader *reader, struct yaml_node *node,
                 const char *const *others, size_t other_count, const char *what,
                 struct params *params)
{
    const char *allowed[MAX_KEYS];
    enum param_id first;
    size_t count;
    if (!node || yaml_is_blank(node))
        return;
    param_range(params->kind, &first, &count);
    for (size_t i = 0; i < count; i++)
        allowed[i] = param_info((enum param_id)(first + i))->name;
    for (size_t i = 0; i < other_count && count + i < MAX_KEYS; i++)
        allowed[count + i] = others[i];
    yaml_check_keys(node, allowed, count + other_count, what, reader->diag);
    for (size_t i = 0; i < count; i++) {
        struct yaml_node *value = yaml_map_get(node, allowed[i]);
        if (value)
            object_read_one(reader, value, (enum param_id)(first + i), params);
    }
}
