/* operations.h: the object p that a script's plan function gets, and the plan it builds.
 *
 * Memory of the plan is owned by the builder in C, never by a frame that a Lua error may leave.
 */
#ifndef GDSIM_SCRIPT_OPERATIONS_H
#define GDSIM_SCRIPT_OPERATIONS_H

#include <lua.h>

#include "sim/script/script.h"

struct builder {
    const struct script_job *job;
    struct plan plan;
    bool in_step, was_split;
    int depth; /* of loops */
};

/* Push the object p; the builder must outlive it. The function at `extend` adds the helpers of the
 * prelude to it. */
void operations_push(lua_State *L, struct builder *builder, int extend);

#endif
