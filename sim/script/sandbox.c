/* sandbox.c: see sandbox.h.
 *
 * What is left out, and why: io, os, load, require (reach out); print, collectgarbage (side
 * effects; a print of our own is added by script.c); pairs, next (order of string keys differs
 * from run to run); math.random (not repeatable); string patterns, string.rep, table.move (can
 * run for hours inside one C call, where the instruction limit does not see them); pcall,
 * coroutines (could swallow the limit's error); metatables (could catch the collector).
 */
#include "sim/script/sandbox.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <time.h>

#define HOOK_EVERY 200

/* Lua's allocator contract: new_size 0 frees; otherwise resize. old_size of a new block is a type
 * tag, not a size. */
static void *allocate(void *owner, void *block, size_t old_size, size_t new_size)
{
    struct sandbox *sandbox = owner;
    size_t old = block ? old_size : 0;
    if (new_size == 0) {
        sandbox->used_B -= old;
        free(block);
        return NULL;
    }
    if (new_size > old && sandbox->used_B + (new_size - old) > sandbox->limit_B) {
        sandbox->memory_spent = true;
        return NULL;
    }
    void *grown = realloc(block, new_size);
    if (grown)
        sandbox->used_B = sandbox->used_B - old + new_size;
    return grown;
}

static void on_count(lua_State *L, lua_Debug *debug)
{
    struct sandbox *sandbox = *(struct sandbox **)lua_getextraspace(L);
    /* The count sees nothing of long C calls (joining or comparing long strings, inserting at the
     * front of a long table); the clock does. It is far above what any script needs. */
    bool in_time = (clock() - sandbox->started) / CLOCKS_PER_SEC < SANDBOX_CPU_S;
    if (sandbox->instructions_left > HOOK_EVERY && in_time) {
        sandbox->instructions_left -= HOOK_EVERY;
        return;
    }
    sandbox->instructions_spent = true;
    lua_getinfo(L, "l", debug);
    lua_pushfstring(
        L,
        "script:%d: the script runs too long (does a loop never end? a send for each of "
        "very many ranks takes long too: p.rank stands for all of them)",
        debug->currentline);
    lua_error(L);
}

static void remove_fields(lua_State *L, const char *table, const char *const *names, size_t count)
{
    lua_getglobal(L, table);
    for (size_t i = 0; i < count; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, names[i]);
    }
    lua_pop(L, 1);
}

static int no_pairs(lua_State *L)
{
    return luaL_error(L, "pairs and next are left out, because their order differs from run to "
                         "run; use ipairs or a numeric loop");
}

static int open_libraries(lua_State *L)
{
    static const char *const base[] = {"dofile",         "loadfile",     "load",         "print",
                                       "collectgarbage", "getmetatable", "setmetatable", "rawset",
                                       "rawget",         "rawequal",     "rawlen",       "pcall",
                                       "xpcall",         "warn"};
    static const char *const string[] = {"dump", "find", "match",  "gmatch",  "gsub",
                                         "rep",  "pack", "unpack", "packsize"};
    static const char *const math[] = {"random", "randomseed"};
    static const char *const table[] = {"move"};
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    luaL_requiref(L, LUA_STRLIBNAME, luaopen_string, 1);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    luaL_requiref(L, LUA_TABLIBNAME, luaopen_table, 1);
    lua_settop(L, 0);
    remove_fields(L, LUA_GNAME, base, sizeof base / sizeof base[0]);
    remove_fields(L, LUA_STRLIBNAME, string, sizeof string / sizeof string[0]);
    remove_fields(L, LUA_MATHLIBNAME, math, sizeof math / sizeof math[0]);
    remove_fields(L, LUA_TABLIBNAME, table, sizeof table / sizeof table[0]);
    lua_pushcfunction(L, no_pairs);
    lua_setglobal(L, "pairs");
    lua_pushcfunction(L, no_pairs);
    lua_setglobal(L, "next");
    return 0;
}

bool sandbox_open(struct sandbox *sandbox, size_t memory_B, uint64_t instructions)
{
    *sandbox = (struct sandbox){
        .limit_B = memory_B, .instructions_left = instructions, .started = clock()};
    sandbox->L = lua_newstate(allocate, sandbox);
    if (!sandbox->L)
        return false;
    *(struct sandbox **)lua_getextraspace(sandbox->L) = sandbox;
    lua_pushcfunction(sandbox->L, open_libraries);
    if (lua_pcall(sandbox->L, 0, 0, 0) != LUA_OK) {
        sandbox_close(sandbox);
        return false;
    }
    lua_sethook(sandbox->L, on_count, LUA_MASKCOUNT, HOOK_EVERY);
    return true;
}

void sandbox_close(struct sandbox *sandbox)
{
    if (sandbox->L)
        lua_close(sandbox->L);
    sandbox->L = NULL;
}
