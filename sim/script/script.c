/* script.c: running a script. See script.h. */
#include "sim/script/script.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/core/units.h"
#include "sim/script/expression.h"
#include "sim/script/operations.h"
#include "sim/script/prelude.h"
#include "sim/script/sandbox.h"

/* Lua shortens long chunk names; "=script" keeps messages parseable, the path is put back. */
#define CHUNK_NAME "=script"

/* What a run of the script has made so far: a plan, or one for each range of sizes. */
struct script {
    const struct script_job *job;
    struct builder builder; /* of the plan that is being built */
    enum collective collective;
    struct plan plans[SCRIPT_MAX_SIZES];
    size_t count;
    struct error unfinished; /* why a plan is not one; it has more to say than a Lua error */
};

static int script_print(lua_State *L)
{
    const struct script_job *job = lua_touserdata(L, lua_upvalueindex(1));
    int count = lua_gettop(L);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    for (int i = 1; i <= count; i++) {
        luaL_addstring(&buffer, i > 1 ? "\t" : "");
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&buffer);
    }
    luaL_pushresult(&buffer);
    if (job->print)
        job->print(job->owner, lua_tostring(L, -1));
    return 0;
}

/* ---- running -------------------------------------------------------------------------------- */

/* Call the function at the top with a new p and keep its plan. */
static void run_plan(lua_State *L, struct script *script, int extend)
{
    struct builder *b = &script->builder;
    *b = (struct builder){.job = script->job};
    plan_init(&b->plan, script->job->ranks);
    b->plan.root = script->job->root;
    b->plan.collective = script->collective;
    operations_push(L, b, extend);
    lua_call(L, 1, 0);
    if (plan_finish(&b->plan, &script->unfinished))
        luaL_error(L, "the plan cannot be finished");
    script->plans[script->count++] = b->plan;
    memset(&b->plan, 0, sizeof b->plan);
}

/* by_size = { { up_to = "256 KiB", plan = f }, ..., { plan = g } }; the list is at the top. */
static void run_by_size(lua_State *L, struct script *script, int extend)
{
    const int list = lua_gettop(L);
    lua_Integer count = luaL_len(L, list);
    if (count < 1 || count > SCRIPT_MAX_SIZES)
        luaL_error(L, "script:1: by_size is a list of 1 to %d plans, not of %I", SCRIPT_MAX_SIZES,
                   (LUAI_UACINT)count);
    double above = 0;
    for (lua_Integer i = 1; i <= count; i++) {
        double up_to = 0;
        struct error error;
        if (lua_geti(L, list, i) != LUA_TTABLE)
            luaL_error(L, "script:1: by_size[%I] must be { up_to = \"256 KiB\", plan = f }",
                       (LUAI_UACINT)i);
        int type = lua_getfield(L, -1, "up_to");
        if (type != (i < count ? LUA_TSTRING : LUA_TNIL))
            luaL_error(L,
                       "script:1: by_size[%I]: every plan but the last has an up_to, such as "
                       "up_to = \"256 KiB\"",
                       (LUAI_UACINT)i);
        if (i < count) {
            size_t length;
            const char *size = lua_tolstring(L, -1, &length);
            if (units_parse(size, length, DIM_BYTES, &up_to, &error) || !(up_to > above))
                luaL_error(L,
                           "script:1: by_size[%I].up_to = \"%s\" must be a size such as "
                           "256 KiB, larger than the one before",
                           (LUAI_UACINT)i, size);
        }
        above = up_to;
        if (lua_getfield(L, -2, "plan") != LUA_TFUNCTION)
            luaL_error(L, "script:1: by_size[%I].plan must be a function of p", (LUAI_UACINT)i);
        run_plan(L, script, extend);
        script->plans[script->count - 1].up_to_B = up_to;
        lua_settop(L, list);
    }
}

/* In a protected call: load, run the top level, check the globals, make the plans. */
static int run(lua_State *L)
{
    struct script *script = lua_touserdata(L, 1);
    const struct script_job *job = script->job;
    expression_open(L);
    lua_pushlightuserdata(L, (void *)(uintptr_t)job);
    lua_pushcclosure(L, script_print, 1);
    lua_setglobal(L, "print");
    prelude_open(L);
    const int extend = lua_gettop(L);
    if (luaL_loadbufferx(L, job->text, job->length, CHUNK_NAME, "t") != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 0);
    if (lua_getglobal(L, "collective") != LUA_TSTRING)
        return luaL_error(L, "script:1: the script must say what it does: "
                             "collective = \"allreduce\" (or another collective)");
    int collective = collective_find(lua_tostring(L, -1));
    if (collective < 0)
        return luaL_error(L,
                          "script:1: unknown collective \"%s\"; one of allreduce, allgather, "
                          "reduce_scatter, broadcast, reduce, alltoall, sendrecv",
                          lua_tostring(L, -1));
    script->collective = (enum collective)collective;
    int by_size = lua_getglobal(L, "by_size");
    if (by_size == LUA_TFUNCTION) {
        struct builder looks = {.job = job}; /* what it is given may be read only */
        operations_push(L, &looks, extend);
        lua_call(L, 1, 1);
        bool built = looks.plan.length > 0 || looks.was_split;
        plan_free(&looks.plan);
        if (built || !lua_istable(L, -1))
            return luaL_error(L, "script:1: by_size(p) returns a list of plans and sends nothing");
    }
    if (by_size == LUA_TFUNCTION || by_size == LUA_TTABLE) {
        run_by_size(L, script, extend);
        return 0;
    }
    if (lua_getglobal(L, "plan") != LUA_TFUNCTION)
        return luaL_error(L,
                          "script:1: the script must have a function plan(p), or a list by_size");
    run_plan(L, script, extend);
    return 0;
}

/* Errors raised in C, or in the prelude, do not know the script's line: give them that of the
 * innermost function of the script. */
static int add_line(lua_State *L)
{
    const char *message = lua_tostring(L, 1);
    lua_Debug debug;
    if (!message || strncmp(message, "script:", 7) == 0)
        return 1;
    int used = 0;
    if (sscanf(message, "prelude:%*u: %n", &used) == 0 && used > 0)
        message += used;
    for (int level = 0; lua_getstack(L, level, &debug); level++) {
        lua_getinfo(L, "Sl", &debug);
        if (debug.currentline > 0 && strcmp(debug.source, CHUNK_NAME) == 0) {
            lua_pushfstring(L, "script:%d: %s", debug.currentline, message);
            return 1;
        }
    }
    lua_pushstring(L, message);
    return 1;
}

/* Split "script:12: text" into line and text. */
static void fill_error(struct error *error, const char *name, const char *message)
{
    unsigned line = 0;
    int used = 0;
    if (sscanf(message, "script:%u: %n", &line, &used) == 1 && used > 0)
        message += used;
    error_set(error, STATUS_INPUT, "%s", message);
    if (!error)
        return;
    snprintf(error->file, sizeof error->file, "%s", name);
    error->line = line;
}

static void name_plan(struct plan *plan, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    snprintf(plan->source, sizeof plan->source, "%s", path);
    snprintf(plan->name, sizeof plan->name, "%s", base);
    char *dot = strrchr(plan->name, '.');
    if (dot && dot != plan->name)
        *dot = '\0';
}

/* Hang the plans together, the first on top. */
static enum status join(struct script *script, struct plan *ret_plan, struct error *error)
{
    for (size_t i = script->count; i-- > 1;) {
        struct plan *larger = malloc(sizeof *larger);
        if (!larger)
            return error_set(error, STATUS_NOMEM, "out of memory");
        *larger = script->plans[i];
        script->plans[i - 1].larger = larger;
        script->count--;
    }
    *ret_plan = script->plans[0];
    script->count = 0;
    return STATUS_OK;
}

enum status script_plan(const struct script_job *job, struct plan *ret_plan, struct error *error)
{
    struct sandbox sandbox;
    struct script *script = calloc(1, sizeof *script);
    if (!script || !sandbox_open(&sandbox, SCRIPT_MEMORY_B, SCRIPT_INSTRUCTIONS)) {
        free(script);
        return error_set(error, STATUS_NOMEM, "out of memory");
    }
    script->job = job;
    lua_pushcfunction(sandbox.L, add_line);
    lua_pushcfunction(sandbox.L, run);
    lua_pushlightuserdata(sandbox.L, script);
    enum status status = STATUS_OK;
    int result = lua_pcall(sandbox.L, 1, 0, 1);
    if (result != LUA_OK) {
        const char *message = lua_tostring(sandbox.L, -1);
        char memory[96];
        snprintf(memory, sizeof memory, "the script needs more than %zu MiB of memory",
                 SCRIPT_MEMORY_B >> 20);
        if (script->unfinished.status && error)
            *error = script->unfinished;
        else
            fill_error(error, job->name,
                       result == LUA_ERRMEM ? memory
                       : message            ? message
                                            : "error without a message");
        if (error && !error->file[0])
            snprintf(error->file, sizeof error->file, "%s", job->name);
        status = STATUS_INPUT;
    }
    sandbox_close(&sandbox);
    for (size_t i = 0; i < script->count; i++)
        name_plan(&script->plans[i], job->name);
    if (!status)
        status = join(script, ret_plan, error);
    plan_free(&script->builder.plan);
    for (size_t i = 0; i < script->count; i++)
        plan_free(&script->plans[i]);
    free(script);
    return status;
}
