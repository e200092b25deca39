-- Allreduce by trees as NCCL builds them: the nodes form a double binary tree, half of the message
-- each, and inside a node the GPUs form a chain. What a node has collected comes up its chain to the
-- head, which sends it to the parent node; the sum goes the same way down. A left child's message
-- meets the head of the chain, a right child's the GPU behind it (NCCL's balanced tree), so that a
-- level costs one hop between nodes and only the last node its whole chain.
-- As NCCL's channels, there are two chains a NIC (for 8 NICs at most), one for each tree, so that every
-- NIC carries its share of both.
-- Assumed: a GPU uses the NIC near it. So what the GPU behind the head exchanges with a right child
-- goes by that GPU's NIC; in NCCL's balanced tree it goes by the channel's own NIC (its search counts
-- half of the channel's rate for each of these two GPUs at the one NIC). Each NIC carries the same in
-- both, as the chains of a node begin all round; but where NICs are on rails, right children cross the
-- spine here, and in NCCL they do not.
-- In a tree of nodes 0 is the root. v has the level k of its lowest set bit b; its parent is v + b,
-- to the left of which it is, if that is a node and has level k + 1, else v - b, to the right of which
-- it is. The second tree is the first one's mirror image, or shifted by one if the nodes are odd in
-- number: leaves of one are inner nodes of the other.
collective = "allreduce"

function plan(p)
  local g, nodes = p.gpus_per_node, p.nodes
  local levels = log2(max(2 * nodes - 1, 1)) -- log2 rounded up
  local nics = max(min(p.nics, 8), 1)
  local chains = 2 * nics -- chain c: NIC c % nics, tree c // nics
  p:split(chains)

  -- The GPU at a place of chain c: a NIC's chain of the first tree begins at the GPU near it and goes
  -- upwards, that of the second at the next GPU and downwards.
  local function gpu(c, place)
    local first, tree = c % nics * g // nics, c // nics
    return (first + tree + (1 - 2 * tree) * place) % g
  end
  -- Any rank's node in the tree of chain c, and the rank at a place of a node of that tree.
  local function own(c)
    if c < nics then return p.node end
    return nodes % 2 == 0 and nodes - 1 - p.node or (p.node - 1) % nodes
  end
  local function rank(c, v, place)
    if c >= nics then v = nodes % 2 == 0 and nodes - 1 - v or (v + 1) % nodes end
    return v * g + gpu(c, place)
  end
  -- Where a child's message meets its parent's chain, by its side (0 left, 1 right).
  local function meets(side) return g == 1 and 0 or side end
  -- Each chain has a lane up, one down inside the node and one down to the node's child: the head
  -- serves the left child, the GPU behind it the right one, which a GPU that is alone has a lane for.
  local function child_lane(c, side) return (2 + (g == 1 and side or 0)) * chains + c end

  -- In all nodes at once (level: nil) or in those of a level.
  local function hop(from, to, level, reduce)
    p:step(function()
      for c = 0, chains - 1 do
        local v, here = own(c), eq(p.local_rank, gpu(c, from))
        if level and level < levels then here = both(here, eq(v % (2 << level), 1 << level)) end
        if level == levels then here = both(here, eq(v, 0)) end
        p:send { to = p.node * g + gpu(c, to), chunk = c, reduce = reduce, where = here,
                 lane = reduce and c or chains + c }
      end
    end)
  end
  -- All edges of level k, b = 2^k, by three kinds of child: to the left; to the right; and the one, if
  -- there is one, that would be to the left but for the end of the nodes. For each kind
  -- send(c, v, child, parent, up, side): nodes v of chain c's tree for which `child` holds are children,
  -- those for which `parent` holds have one; v + up is a child's parent.
  local function each_edge(k, send)
    local b = 1 << k
    local last = b + (nodes - 1 - b) // (2 * b) * 2 * b -- the last of its level
    local alone = last % (4 * b) == b and last + b >= nodes
    p:step(function()
      for c = 0, chains - 1 do
        local v = own(c)
        send(c, v, both(eq(v % (4 * b), b), lt(v + b, nodes)), eq(v % (4 * b), 2 * b), b, 0)
        send(c, v, eq(v % (4 * b), 3 * b), both(eq(v % (4 * b), 2 * b), lt(v + b, nodes)), -b, 1)
        if alone then send(c, v, eq(v, last), eq(v, last - b), -b, 1) end
      end
    end)
  end
  for place = g - 1, 2, -1 do hop(place, place - 1, nil, true) end
  for k = 0, levels do
    if g > 1 then hop(1, 0, k, true) end
    if k < levels then
      each_edge(k, function(c, v, child, _, up, side)
        p:send { to = rank(c, v + up, meets(side)), chunk = c, reduce = true, lane = c,
                 where = both(eq(p.local_rank, gpu(c, 0)), child) }
      end)
    end
  end
  for k = levels, 0, -1 do
    if k < levels then
      each_edge(k, function(c, v, _, parent, up, side)
        p:send { to = rank(c, v - up, 0), chunk = c, lane = child_lane(c, side),
                 where = both(eq(p.local_rank, gpu(c, meets(side))), parent) }
      end)
    end
    if g > 1 then hop(0, 1, k, false) end
  end
  for place = 1, g - 2 do hop(place, place + 1, nil, false) end
end
