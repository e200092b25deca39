/* prelude.c: see prelude.h. lua/README.md describes what the helpers do.
 *
 * Groups: the ranks are cut into groups of `size`, `stride` apart. Rank r has place r // stride %
 * size in its group; its group begins at r - place * stride. The shapes of stride 1 and of groups
 * that span all ranks are written shorter, because an expression has a limited length and the plan
 * of a send to (r + d) % n costs less to run.
 *
 * Trees: vertices 0 .. n-1, root 0. Those whose lowest set bit is 2^k form level k, so that parents
 * are on a higher level than their children. The parent of v in the binomial tree is v without its
 * lowest set bit; in the binary tree, which is NCCL's, v with that bit moved up by one, or without
 * it where that leads out of range. The double tree's second tree is the mirror image of the first,
 * or shifted by one if n is odd.
 *
 * fill_slots: as many blocks, of S/n, travel together as fit into a slot; a power of two, at most
 * half of the ranks, rounded up to one (NCCL's PAT).
 */
#include "sim/script/prelude.h"

#include <lauxlib.h>
#include <string.h>

static const char text[] =
    "function log2_up(x) return log2(max(2 * x - 1, 1)) end\n"
    "function is_power(x) return x > 0 and x & (x - 1) == 0 end\n"
    "\n"
    "local function tree(n, up, rank, vertex)\n"
    "  local t = { levels = log2_up(n) }\n"
    "  function t:parent(r)\n"
    "    local v = vertex(r)\n"
    "    return v > 0 and rank(up(v)) or nil\n"
    "  end\n"
    "  function t:children(r)\n"
    "    local list, v = {}, vertex(r)\n"
    "    for k = 0, self.levels - 1 do\n"
    "      for _, c in ipairs { v - (1 << k), v + (1 << k) } do\n"
    "        if c > 0 and c < n and c & -c == 1 << k and up(c) == v then\n"
    "          list[#list + 1] = rank(c)\n"
    "        end\n"
    "      end\n"
    "    end\n"
    "    return list\n"
    "  end\n"
    "  function t:edges(k)\n"
    "    local list = {}\n"
    "    for side = 0, 1 do\n"
    "      for v = 1 << k, n - 1, 2 << k do\n"
    "        local u = up(v)\n"
    "        if (v > u) == (side == 1) then\n"
    "          list[#list + 1] = { child = rank(v), parent = rank(u), side = side }\n"
    "        end\n"
    "      end\n"
    "    end\n"
    "    return list\n"
    "  end\n"
    "  return t\n"
    "end\n"
    "local function same(v) return v end\n"
    "function binomial_tree(n, root)\n"
    "  root = root or 0\n"
    "  return tree(n, function(v) return v & (v - 1) end,\n"
    "              function(v) return (v + root) % n end, function(r) return (r - root) % n end)\n"
    "end\n"
    "local function binary(n, rank, vertex)\n"
    "  return tree(n, function(v)\n"
    "    local bit = v & -v\n"
    "    local u = v ~ bit | bit << 1\n"
    "    return u < n and u or v ~ bit\n"
    "  end, rank, vertex)\n"
    "end\n"
    "function binary_tree(n) return binary(n, same, same) end\n"
    "function double_tree(n)\n"
    "  local function mirror(v) return n - 1 - v end\n"
    "  if n % 2 == 0 then return { binary_tree(n), binary(n, mirror, mirror) } end\n"
    "  return { binary_tree(n), binary(n, function(v) return (v + 1) % n end,\n"
    "                                  function(r) return (r - 1) % n end) }\n"
    "end\n"
    "\n"
    "function fill_slots(p, slot_B, plan)\n"
    "  local list, together = {}, 1 << log2_up(max((p.ranks + 1) // 2, 1))\n"
    "  while together > 0 do\n"
    "    local most = together\n"
    "    list[#list + 1] = { plan = function(q) plan(q, most) end }\n"
    "    together = together // 2\n"
    "    if together > 0 then list[#list].up_to = p.ranks * slot_B // most .. ' B' end\n"
    "  end\n"
    "  return list\n"
    "end\n"
    "\n"
    "local function colon(self, name)\n"
    "  if type(self) ~= 'table' then error('write ' .. name .. ', with a colon', 3) end\n"
    "end\n"
    "\n"
    "local function groups(p, size, stride)\n"
    "  local r, n = p.rank, p.ranks\n"
    "  local ok = math.type(size) == 'integer' and math.type(stride) == 'integer'\n"
    "             and size > 0 and stride > 0 and n % (size * stride) == 0\n"
    "  if not ok then\n"
    "    error(string.format('p:groups(size, stride): size times stride must divide the %d ranks, "
    "'\n"
    "                        .. 'got %s and %s', n, tostring(size), tostring(stride)), 2)\n"
    "  end\n"
    "  local all = size * stride == n\n"
    "  local place, base = r // stride % size\n"
    "  if stride == 1 then place, base = r % size, r // size * size\n"
    "  elseif all then place, base = r // stride, r % stride\n"
    "  else base = r // (size * stride) * (size * stride) + r % stride end\n"
    "  local g = { size = size, place = place, number = r // (size * stride) * stride + r % stride "
    "}\n"
    "  if stride == 1 then g.number = r // size elseif all then g.number = r % stride end\n"
    "  function g:at(i)\n"
    "    colon(self, 'group:at(i)')\n"
    "    return base + i % size * stride\n"
    "  end\n"
    "  function g:next(d)\n"
    "    colon(self, 'group:next(d)')\n"
    "    if all then return (r + (d or 1) * stride) % n end\n"
    "    return self:at(place + (d or 1))\n"
    "  end\n"
    "  function g:prev(d)\n"
    "    colon(self, 'group:prev(d)')\n"
    "    return self:next(-(d or 1))\n"
    "  end\n"
    "  return g\n"
    "end\n"
    "\n"
    "return function(p)\n"
    "  p.node, p.local_rank = p.rank // p.gpus_per_node, p.rank % p.gpus_per_node\n"
    "  function p:groups(size, stride)\n"
    "    colon(self, 'p:groups(size, stride)')\n"
    "    return groups(self, size, stride or 1)\n"
    "  end\n"
    "  function p:inside()\n"
    "    colon(self, 'p:inside()')\n"
    "    return groups(self, self.gpus_per_node, 1)\n"
    "  end\n"
    "  function p:across()\n"
    "    colon(self, 'p:across()')\n"
    "    return groups(self, self.nodes, self.gpus_per_node)\n"
    "  end\n"
    "end\n";

void prelude_open(lua_State *L)
{
    if (luaL_loadbufferx(L, text, strlen(text), PRELUDE_NAME, "t") != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
}
