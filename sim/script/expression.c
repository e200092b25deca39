/* expression.c: see expression.h. */
#include "sim/script/expression.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#define TYPE "gdsim.expression"

struct expression {
    size_t count;
    struct rule_instruction code[RULE_CODE];
};

static struct expression *push(lua_State *L)
{
    struct expression *e = lua_newuserdatauv(L, sizeof *e, 0);
    e->count = 0;
    luaL_setmetatable(L, TYPE);
    return e;
}

static void push_variable(lua_State *L, enum rule_op op, int64_t value)
{
    struct expression *e = push(L);
    e->code[e->count++] = (struct rule_instruction){op, value};
}

void expression_push_rank(lua_State *L)
{
    push_variable(L, RULE_RANK, 0);
}

void expression_push_loop(lua_State *L, int depth)
{
    push_variable(L, RULE_LOOP, depth);
}

/* Append the operand at `index`: an expression, or a number without fraction. */
static void append(lua_State *L, struct expression *e, int index, const char *what)
{
    const struct expression *from = luaL_testudata(L, index, TYPE);
    int whole = 0;
    if (from) {
        if (e->count + from->count > RULE_CODE)
            luaL_error(L, "%s: the expression has more than %d parts", what, RULE_CODE);
        memcpy(&e->code[e->count], from->code, from->count * sizeof from->code[0]);
        e->count += from->count;
        return;
    }
    lua_Integer value = lua_tointegerx(L, index, &whole);
    if (lua_type(L, index) == LUA_TBOOLEAN)
        luaL_error(L,
                   "%s must be a whole number or an expression, got a boolean: == and ~= answer at "
                   "once, and for no rank in particular; write eq(a, b) or ne(a, b)",
                   what);
    if (!whole || lua_type(L, index) == LUA_TSTRING)
        luaL_error(L, "%s must be a whole number or an expression, got %s", what,
                   lua_type(L, index) == LUA_TNUMBER ? lua_tostring(L, index)
                                                     : luaL_typename(L, index));
    if (e->count == RULE_CODE)
        luaL_error(L, "%s: the expression has more than %d parts", what, RULE_CODE);
    e->code[e->count++] = (struct rule_instruction){RULE_PUSH, value};
}

void expression_to_rule(lua_State *L, int index, const char *what, struct rule *ret_rule)
{
    struct expression e = {0};
    struct error error;
    append(L, &e, index, what);
    if (rule_make(e.code, e.count, ret_rule, &error))
        luaL_error(L, "%s: %s", what, error.message);
}

/* Push the operation on the operands at 1 and 2. Plain numbers are computed at once, so that
 * helpers such as min work on both. */
static int operate(lua_State *L, enum rule_op op)
{
    struct expression e = {0};
    append(L, &e, 1, "the left side");
    if (op != RULE_NOT)
        append(L, &e, 2, "the right side");
    if (e.count == RULE_CODE)
        luaL_error(L, "the expression has more than %d parts", RULE_CODE);
    e.code[e.count++] = (struct rule_instruction){op, 0};
    bool symbolic = luaL_testudata(L, 1, TYPE) || (op != RULE_NOT && luaL_testudata(L, 2, TYPE));
    if (symbolic) {
        *push(L) = e;
        return 1;
    }
    struct rule rule;
    if (rule_make(e.code, e.count, &rule, NULL))
        luaL_error(L, "not a well-formed expression");
    lua_pushinteger(L, rule_eval(&rule, 0, (const int64_t[RULE_LOOPS]){0}));
    return 1;
}

/* One C function per operation; Lua offers no argument to tell them apart but upvalues, which
 * metatables and globals share here. */
static int call(lua_State *L)
{
    enum rule_op op = (enum rule_op)lua_tointeger(L, lua_upvalueindex(1));
    if (lua_toboolean(L, lua_upvalueindex(2))) { /* gt and ge: the other way round */
        lua_settop(L, 2);
        lua_rotate(L, 1, 1);
    }
    operate(L, op);
    if (lua_toboolean(L, lua_upvalueindex(3))) { /* ne */
        lua_replace(L, 1);
        lua_settop(L, 1);
        operate(L, RULE_NOT);
    }
    return 1;
}

static void push_function(lua_State *L, enum rule_op op, bool swap, bool negate)
{
    lua_pushinteger(L, op);
    lua_pushboolean(L, swap);
    lua_pushboolean(L, negate);
    lua_pushcclosure(L, call, 3);
}

static int negate(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushinteger(L, -1);
    return operate(L, RULE_MUL);
}

static int refuse_division(lua_State *L)
{
    return luaL_error(L, "ranks are whole numbers: divide with // (rounds down), not with /");
}

static int refuse_comparison(lua_State *L)
{
    return luaL_error(L, "the value is not known yet (it stands for any rank or turn): "
                         "use where = lt(a, b), le, gt, ge, eq or ne instead of comparing");
}

static int refuse_other(lua_State *L)
{
    return luaL_error(L, "this cannot be done with a value that stands for any rank or turn");
}

static int to_text(lua_State *L)
{
    lua_pushliteral(L, "any rank or turn");
    return 1;
}

static int log2_floor(lua_State *L)
{
    int whole = 0;
    lua_Integer value = lua_tointegerx(L, 1, &whole), result = 0;
    if (!whole || value < 1)
        return luaL_error(L, "a logarithm needs a plain whole number of at least 1, got %s",
                          luaL_tolstring(L, 1, NULL));
    while (value > 1) {
        value >>= 1;
        result++;
    }
    lua_pushinteger(L, result);
    return 1;
}

void expression_open(lua_State *L)
{
    static const struct {
        const char *name;
        enum rule_op op;
        bool swap, negate;
    } globals[] = {
        {"eq", RULE_EQ, false, false},    {"ne", RULE_EQ, false, true},
        {"lt", RULE_LT, false, false},    {"le", RULE_LE, false, false},
        {"gt", RULE_LT, true, false},     {"ge", RULE_LE, true, false},
        {"both", RULE_MIN, false, false}, {"either", RULE_MAX, false, false},
        {"no", RULE_NOT, false, false},   {"min", RULE_MIN, false, false},
        {"max", RULE_MAX, false, false},
    };
    static const struct {
        const char *event;
        enum rule_op op;
    } arithmetic[] = {
        {"__add", RULE_ADD}, {"__sub", RULE_SUB},  {"__mul", RULE_MUL}, {"__idiv", RULE_DIV},
        {"__mod", RULE_MOD}, {"__band", RULE_AND}, {"__bor", RULE_OR},  {"__bxor", RULE_XOR},
        {"__shl", RULE_SHL}, {"__shr", RULE_SHR},
    };
    static const char *const refused[] = {"__pow",   "__concat",   "__len", "__call",
                                          "__index", "__newindex", "__bnot"};
    luaL_newmetatable(L, TYPE);
    for (size_t i = 0; i < sizeof arithmetic / sizeof arithmetic[0]; i++) {
        push_function(L, arithmetic[i].op, false, false);
        lua_setfield(L, -2, arithmetic[i].event);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        lua_pushcfunction(L, refuse_other);
        lua_setfield(L, -2, refused[i]);
    }
    lua_pushcfunction(L, negate);
    lua_setfield(L, -2, "__unm");
    lua_pushcfunction(L, refuse_division);
    lua_setfield(L, -2, "__div");
    lua_pushcfunction(L, refuse_comparison);
    lua_setfield(L, -2, "__lt");
    lua_pushcfunction(L, refuse_comparison);
    lua_setfield(L, -2, "__le");
    lua_pushliteral(L, "any rank or turn");
    lua_setfield(L, -2, "__name");
    lua_pushcfunction(L, to_text);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
    for (size_t i = 0; i < sizeof globals / sizeof globals[0]; i++) {
        push_function(L, globals[i].op, globals[i].swap, globals[i].negate);
        lua_setglobal(L, globals[i].name);
    }
    lua_pushcfunction(L, log2_floor);
    lua_setglobal(L, "log2");
}
