/* expression.h: numbers that a script knows only as "any rank" or "any turn of the loop".
 *
 * Lua's arithmetic on such a value builds a rule (core/rule.h) instead of computing.
 */
#ifndef GDSIM_SCRIPT_EXPRESSION_H
#define GDSIM_SCRIPT_EXPRESSION_H

#include <lua.h>

#include "sim/core/rule.h"

/* Make the type known and register eq, ne, lt, le, gt, ge, both, either, no, min, max, log2. */
void expression_open(lua_State *L);

/* Push a variable: the rank, or a loop's counter. */
void expression_push_rank(lua_State *L);
void expression_push_loop(lua_State *L, int depth);

/* The whole number or expression at `index` as a rule; a Lua error naming `what` otherwise. */
void expression_to_rule(lua_State *L, int index, const char *what, struct rule *ret_rule);

#endif
