/* operations.c: the object p: what a script calls to build its plan. See operations.h. */
#include "sim/script/operations.h"

#include <lauxlib.h>
#include <string.h>

#include "sim/core/mechanism.h"
#include "sim/core/units.h"
#include "sim/script/expression.h"

static struct builder *builder_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static uint32_t current_line(lua_State *L)
{
    lua_Debug debug;
    if (!lua_getstack(L, 1, &debug))
        return 0;
    lua_getinfo(L, "l", &debug);
    return debug.currentline > 0 ? (uint32_t)debug.currentline : 0;
}

static void must(lua_State *L, enum status status, const struct error *error)
{
    if (status)
        luaL_error(L, "%s", error->message);
}

/* Not so for p.send { ... } in place of p:send { ... }: p alone has a metatable. */
static bool called_on_p(lua_State *L)
{
    bool found = lua_type(L, 1) == LUA_TTABLE && lua_getmetatable(L, 1);
    lua_pop(L, found ? 1 : 0);
    return found;
}

static void need_colon(lua_State *L, const char *function)
{
    if (!called_on_p(L))
        luaL_error(L, "write p:%s, with a colon", function);
}

static lua_Integer plain_number(lua_State *L, const char *what)
{
    int whole = 0;
    lua_Integer value = lua_tointegerx(L, 2, &whole);
    if (!whole || lua_type(L, 2) != LUA_TNUMBER)
        luaL_error(L, "%s must be a whole number, the same for all ranks, got %s", what,
                   lua_isnoneornil(L, 2) ? "nothing" : luaL_tolstring(L, 2, NULL));
    return value;
}

/* ---- p:split, p:loop, p:step ---------------------------------------------------------------- */

static int p_split(lua_State *L)
{
    struct builder *b = builder_of(L);
    need_colon(L, "split(chunks)");
    lua_Integer chunks = plain_number(L, "p:split: the number of chunks");
    if (b->was_split || b->plan.length > 0)
        return luaL_error(L, "p:split is called once, before the first operation");
    if (chunks < 1 || chunks > PLAN_MAX_CHUNKS)
        return luaL_error(L, "p:split: a message has 1 to %d chunks, got %I", (int)PLAN_MAX_CHUNKS,
                          (LUAI_UACINT)chunks);
    b->plan.chunks = (uint32_t)chunks;
    b->was_split = true;
    return 0;
}

static int p_loop(lua_State *L)
{
    struct builder *b = builder_of(L);
    struct error error;
    need_colon(L, "loop(turns, function(k) ... end)");
    lua_Integer count = plain_number(L, "p:loop: the number of turns");
    if (lua_type(L, 3) != LUA_TFUNCTION)
        return luaL_error(L, "p:loop(turns, function(k) ... end) needs a function");
    if (b->in_step)
        return luaL_error(L, "p:loop cannot stand inside p:step: a loop makes steps");
    if (b->depth == RULE_LOOPS)
        return luaL_error(L, "p:loop nests at most %d deep; use a plain for loop inside",
                          RULE_LOOPS);
    if (count <= 0)
        return 0;
    if (count > UINT32_MAX)
        return luaL_error(L, "p:loop: too many turns");
    must(L, plan_begin_loop(&b->plan, (uint32_t)count, (uint32_t)b->depth, &error), &error);
    lua_settop(L, 3);
    expression_push_loop(L, b->depth);
    b->depth++;
    lua_call(L, 1, 0);
    b->depth--;
    must(L, plan_end_loop(&b->plan, &error), &error);
    return 0;
}

static int p_step(lua_State *L)
{
    struct builder *b = builder_of(L);
    struct error error;
    need_colon(L, "step(function() ... end)");
    if (lua_type(L, 2) != LUA_TFUNCTION)
        return luaL_error(L, "p:step(function() ... end) needs a function");
    if (b->in_step)
        return luaL_error(L, "p:step cannot stand inside p:step");
    must(L, plan_begin_step(&b->plan, &error), &error);
    b->in_step = true;
    lua_settop(L, 2);
    lua_call(L, 0, 0);
    b->in_step = false;
    must(L, plan_end_step(&b->plan, &error), &error);
    return 0;
}

static int p_fence(lua_State *L)
{
    struct builder *b = builder_of(L);
    struct error error;
    need_colon(L, "fence()");
    if (b->in_step)
        return luaL_error(L, "p:fence cannot stand inside p:step: it stands between steps");
    must(L, plan_add_fence(&b->plan, &error), &error);
    return 0;
}

/* ---- operations ----------------------------------------------------------------------------- */

/* The field as a rule, or `fallback` when it is absent. Returns whether it was there. */
static bool field_rule(lua_State *L, const char *name, int64_t fallback, struct rule *ret_rule)
{
    bool there = lua_getfield(L, 2, name) != LUA_TNIL;
    if (there)
        expression_to_rule(L, -1, name, ret_rule);
    else
        *ret_rule = rule_constant(fallback);
    lua_pop(L, 1);
    return there;
}

static lua_Integer field_integer(lua_State *L, const char *name, lua_Integer low, lua_Integer high,
                                 lua_Integer fallback)
{
    int whole = 1;
    lua_Integer value = fallback;
    int type = lua_getfield(L, 2, name);
    if (type != LUA_TNIL)
        value = lua_tointegerx(L, -1, &whole);
    whole = whole && (type == LUA_TNIL || type == LUA_TNUMBER);
    if (!whole || value < low || value > high)
        luaL_error(L, "%s must be a whole number from %I to %I", name, (LUAI_UACINT)low,
                   (LUAI_UACINT)high);
    lua_pop(L, 1);
    return value;
}

/* true, false, or an expression. */
static void field_packed(lua_State *L, struct rule *ret_rule)
{
    int type = lua_getfield(L, 2, "packed");
    if (type == LUA_TNIL || type == LUA_TBOOLEAN)
        *ret_rule = rule_constant(lua_toboolean(L, -1));
    else
        expression_to_rule(L, -1, "packed", ret_rule);
    lua_pop(L, 1);
}

/* Which buffer: "message" (the default) or "result". True for the result. */
static bool field_buffer(lua_State *L, const char *name)
{
    bool result = false;
    if (lua_getfield(L, 2, name) != LUA_TNIL) {
        const char *word = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        result = strcmp(word, "result") == 0;
        if (!result && strcmp(word, "message") != 0)
            luaL_error(L, "%s is \"message\" or \"result\"", name);
    }
    lua_pop(L, 1);
    return result;
}

/* A time with its unit: "2 us". 0 when it is absent. */
static double field_time(lua_State *L, const char *name)
{
    double seconds = 0;
    struct error error;
    int type = lua_getfield(L, 2, name);
    if (type != LUA_TNIL) {
        size_t length = 0;
        const char *text = type == LUA_TSTRING ? lua_tolstring(L, -1, &length) : "";
        if (units_parse(text, length, DIM_TIME, &seconds, &error))
            luaL_error(L, "%s must be %s, in quotes, got %s", name, units_expected(DIM_TIME),
                       luaL_tolstring(L, -1, NULL));
    }
    lua_pop(L, 1);
    return seconds;
}

static bool serves(const struct mechanism *mechanism, bool by_switch)
{
    return by_switch ? mechanism->span == SPAN_SWITCH
                     : mechanism->span == SPAN_NETWORK || mechanism->span == SPAN_PEERS;
}

/* 0: that of the run; else 1 + its row. */
static uint8_t field_mechanism(lua_State *L, bool by_switch)
{
    uint8_t number = 0;
    if (lua_getfield(L, 2, "mechanism") != LUA_TNIL) {
        const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
        const struct mechanism *mechanism = mechanism_find(name);
        luaL_Buffer known;
        luaL_buffinit(L, &known);
        for (size_t i = 0; i < mechanism_count; i++)
            if (serves(&mechanism_table[i], by_switch)) {
                luaL_addchar(&known, ' ');
                luaL_addstring(&known, mechanism_table[i].name);
            }
        luaL_pushresult(&known);
        if (!mechanism || !serves(mechanism, by_switch))
            luaL_error(L, "mechanism \"%s\" moves nothing here; one of%s does", name,
                       lua_tostring(L, -1));
        number = (uint8_t)(1 + (mechanism - mechanism_table));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return number;
}

/* Refuse every key that is not in the list; `known` ends with NULL. */
static void check_keys(lua_State *L, const char *function, const char *const *known)
{
    if (!called_on_p(L))
        luaL_error(L, "write %s { ... }, with a colon", function);
    if (lua_type(L, 2) != LUA_TTABLE)
        luaL_error(L, "%s takes its keys in braces, %s { ... }", function, function);
    lua_pushnil(L);
    while (lua_next(L, 2) != 0) {
        lua_pop(L, 1);
        bool found = false;
        for (size_t i = 0; known[i] && lua_type(L, -1) == LUA_TSTRING; i++)
            found = found || strcmp(known[i], lua_tostring(L, -1)) == 0;
        if (found)
            continue;
        lua_pushvalue(L, -1);
        luaL_Buffer buffer;
        const char *name = luaL_tolstring(L, -1, NULL);
        luaL_buffinit(L, &buffer);
        for (size_t i = 0; known[i]; i++) {
            luaL_addstring(&buffer, i ? ", " : "");
            luaL_addstring(&buffer, known[i]);
        }
        luaL_pushresult(&buffer);
        luaL_error(L, "%s does not know \"%s\"; it takes %s", function, name, lua_tostring(L, -1));
    }
}

static bool same_kind(const struct plan_op *a, const struct plan_op *b)
{
    return a->edge_count > 0 && a->kind == b->kind && a->reduce == b->reduce &&
           a->lane == b->lane && a->mechanism == b->mechanism &&
           a->packed.constant == b->packed.constant && a->cost_s >= b->cost_s &&
           a->cost_s <= b->cost_s && a->from_result == b->from_result &&
           a->to_result == b->to_result && a->count.form == RULE_CONSTANT &&
           b->count.form == RULE_CONSTANT && a->count.constant == b->count.constant;
}

/* A send with a given `from` is an edge; edges of one kind in one step share an operation. */
static void add_edge(lua_State *L, struct builder *b, struct plan_op *op)
{
    struct error error;
    struct plan_edge edge = {0};
    struct plan *plan = &b->plan;
    lua_Integer last = plan->ranks - 1;
    edge.from = (uint32_t)field_integer(L, "from", 0, last, 0);
    edge.to = (uint32_t)field_integer(L, "to", 0, last, -1);
    edge.chunk = (uint32_t)field_integer(L, "chunk", 0, plan->chunks - 1, 0);
    edge.into = (uint32_t)field_integer(L, "into", 0, plan->chunks - 1, edge.chunk);
    op->has_into = true;
    if (op->count.form != RULE_CONSTANT || op->packed.form != RULE_CONSTANT || op->conditional)
        luaL_error(L, "a send with a given `from` takes plain numbers and no `where`");
    if (plan->edge_count >= SCRIPT_MAX_EDGES)
        luaL_error(L, "the plan has more than %d hand-written sends", (int)SCRIPT_MAX_EDGES);
    const struct plan_instruction *step = &plan->program[plan->length - 1];
    bool shares = step->op_count > 0 && same_kind(&plan->ops[plan->op_count - 1], op);
    if (!shares)
        must(L, plan_add_op(plan, op, &error), &error);
    must(L, plan_add_edge(plan, edge, &error), &error);
}

static void add_operation(lua_State *L, struct plan_op *op, bool given_from)
{
    struct builder *b = builder_of(L);
    struct error error;
    bool own_step = !b->in_step;
    op->line = current_line(L);
    op->lane = (uint8_t)field_integer(L, "lane", 0, PLAN_MAX_LANES - 1, 0);
    op->conditional = field_rule(L, "where", 1, &op->where);
    field_rule(L, "count", 1, &op->count);
    op->cost_s = field_time(L, "cost");
    if (op->kind != PLAN_RECEIVE)
        op->mechanism = field_mechanism(L, op->kind != PLAN_SEND);
    if (b->plan.op_count >= SCRIPT_MAX_OPS)
        luaL_error(L,
                   "the plan has more than %d operations; say what repeats with p:loop, and send "
                   "with `from` lane by lane",
                   (int)SCRIPT_MAX_OPS);
    if (own_step)
        must(L, plan_begin_step(&b->plan, &error), &error);
    if (given_from)
        add_edge(L, b, op);
    else
        must(L, plan_add_op(&b->plan, op, &error), &error);
    if (own_step)
        must(L, plan_end_step(&b->plan, &error), &error);
}

static int p_send(lua_State *L)
{
    static const char *const known[] = {"to",    "chunk",  "count",     "reduce", "from",
                                        "where", "lane",   "into",      "read",   "write",
                                        "cost",  "packed", "mechanism", NULL};
    struct plan_op op = {.kind = PLAN_SEND};
    check_keys(L, "p:send", known);
    if (lua_getfield(L, 2, "to") == LUA_TNIL)
        return luaL_error(L, "p:send needs `to`: the rank that receives");
    bool given_from = lua_getfield(L, 2, "from") != LUA_TNIL;
    lua_getfield(L, 2, "reduce");
    if (!lua_isnil(L, -1) && !lua_isboolean(L, -1))
        return luaL_error(L, "reduce is true or false");
    op.reduce = lua_toboolean(L, -1) != 0;
    lua_settop(L, 2);
    field_packed(L, &op.packed);
    op.from_result = field_buffer(L, "read");
    op.to_result = field_buffer(L, "write");
    if (!given_from) {
        field_rule(L, "to", 0, &op.to);
        field_rule(L, "chunk", 0, &op.chunk);
        op.has_into = field_rule(L, "into", 0, &op.into);
    }
    add_operation(L, &op, given_from);
    return 0;
}

static int p_recv(lua_State *L)
{
    static const char *const known[] = {"from", "where", "lane", NULL};
    struct plan_op op = {.kind = PLAN_RECEIVE, .chunk = rule_constant(0)};
    check_keys(L, "p:recv", known);
    if (!field_rule(L, "from", 0, &op.to))
        return luaL_error(L, "p:recv needs `from`: the rank whose message it waits for");
    add_operation(L, &op, false);
    return 0;
}

static int switch_operation(lua_State *L, const char *name, enum plan_op_kind kind)
{
    /* The switch sends down by itself: no software that a cost could be added to. */
    static const char *const known[] = {"chunk", "count",     "where", "lane",
                                        "group", "mechanism", "cost",  NULL};
    static const char *const known_down[] = {"chunk", "count",     "where", "lane",
                                             "group", "mechanism", NULL};
    struct plan_op op = {.kind = kind};
    check_keys(L, name, kind == PLAN_DOWN ? known_down : known);
    field_rule(L, "chunk", 0, &op.chunk);
    field_rule(L, "group", 0, &op.group);
    op.to = rule_constant(0);
    add_operation(L, &op, false);
    return 0;
}

static int p_switch_reduce(lua_State *L)
{
    return switch_operation(L, "p:switch_reduce", PLAN_UP);
}

static int p_switch_multicast(lua_State *L)
{
    return switch_operation(L, "p:switch_multicast", PLAN_DOWN);
}

/* ---- the object p --------------------------------------------------------------------------- */

static int p_unknown(lua_State *L)
{
    return luaL_error(
        L,
        "p has no \"%s\"; it has ranks, rank, nodes, gpus_per_node, rails, nics, root and the "
        "functions split, send, recv, step, loop, switch_reduce, switch_multicast, groups, "
        "inside, across",
        luaL_tolstring(L, 2, NULL));
}

static int p_read_only(lua_State *L)
{
    return luaL_error(L, "p cannot be changed (p.%s = ...)", luaL_tolstring(L, 2, NULL));
}

void operations_push(lua_State *L, struct builder *b, int extend)
{
    static const luaL_Reg functions[] = {
        {"split", p_split},
        {"send", p_send},
        {"recv", p_recv},
        {"step", p_step},
        {"loop", p_loop},
        {"fence", p_fence},
        {"switch_reduce", p_switch_reduce},
        {"switch_multicast", p_switch_multicast},
    };
    uint32_t rails = b->job->rails ? b->job->rails : 1;
    const struct {
        const char *name;
        uint32_t value;
    } numbers[] = {
        {"ranks", b->job->ranks},
        {"gpus_per_node", b->job->gpus_per_node},
        {"nodes", b->job->ranks / b->job->gpus_per_node},
        {"root", b->job->root},
        {"rails", rails},
        {"nics", b->job->nics ? b->job->nics : rails * b->job->gpus_per_node},
    };
    lua_newtable(L);
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        lua_pushlightuserdata(L, b);
        lua_pushcclosure(L, functions[i].func, 1);
        lua_setfield(L, -2, functions[i].name);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        lua_pushinteger(L, numbers[i].value);
        lua_setfield(L, -2, numbers[i].name);
    }
    expression_push_rank(L);
    lua_setfield(L, -2, "rank");
    lua_pushvalue(L, extend);
    lua_pushvalue(L, -2);
    lua_call(L, 1, 0);
    lua_newtable(L);
    lua_pushcfunction(L, p_unknown);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, p_read_only);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
}
