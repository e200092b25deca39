/* prelude.h: helpers for scripts that are themselves Lua: groups of ranks and trees. */
#ifndef GDSIM_SCRIPT_PRELUDE_H
#define GDSIM_SCRIPT_PRELUDE_H

#include <lua.h>

#define PRELUDE_NAME "=prelude"

/* Define the global helpers and push the function that adds the others to an object p. */
void prelude_open(lua_State *L);

#endif
