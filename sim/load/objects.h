/* objects.h: YAML maps into struct params, by the parameter table. */
#ifndef GDSIM_LOAD_OBJECTS_H
#define GDSIM_LOAD_OBJECTS_H

#include "sim/core/param.h"
#include "sim/load/yaml_tree.h"

/* How values are read: which file is the user's own (all others are catalogue), where mistakes
 * go. */
struct object_reader {
    struct diag_list *diag;
    const char *user_file; /* interned in diag */
};

/* Read the parameters of `params`' kind from `node`, a map that may also hold the keys in
 * `others`. Blank and absent nodes change nothing. A value is a scalar, or a map with `value` and
 * `source` (a citation) and `nominal` (what the data sheet says, never below the value). */
void object_read(const struct object_reader *reader, struct yaml_node *node,
                 const char *const *others, size_t other_count, const char *what,
                 struct params *params);

/* The value of one parameter. */
void object_read_one(const struct object_reader *reader, struct yaml_node *node, enum param_id id,
                     struct params *params);

/* A whole number within limits; 0 with a mistake noted otherwise. */
bool object_integer(const struct object_reader *reader, const struct yaml_node *node,
                    const char *what, double low, double high, double *ret_value);

/* Whether a value lies in the parameter's range; a mistake at `mark` is noted otherwise. */
bool object_in_range(struct diag_list *diag, struct mark mark, enum param_id id, double value);

/* A scalar's text; NULL with a mistake noted when the node is something else. */
const char *object_text(const struct object_reader *reader, const struct yaml_node *node,
                        const char *what);

#endif
