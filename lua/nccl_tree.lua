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
-- A node v is child of v with its lowest set bit moved up by one (to the left of it), or cleared where
-- that leads out of range (to the right); 0 is the root. The second tree is the first one's mirror
-- image, or shifted by one if the nodes are odd in number: leaves of one are inner nodes of the other.
collective = "allreduce"

function plan(p)
  local g, nodes = p.gpus_per_node, p.nodes
  local levels = log2(max(2 * nodes - 1, 1)) -- log2 rounded up
  local nics = max(min(p.nics, 8), 1)
  local chains = 2 * nics -- chain c: NIC c % nics, tree c // nics
  -- A NIC's chain of the first tree begins at the GPU near it and goes upwards, that of the second at
  -- the next GPU and downwards.
  local function gpu(c, place)
    local first, tree = c % nics * g // nics, c // nics
    return (first + tree + (1 - 2 * tree) * place) % g
  end
  p:split(chains)

  local function parent(v)
    local bit = v & -v
    local up = v ~ bit | bit << 1
    if up < nodes then return up end
    return v ~ bit
  end
  -- The GPU at a place of chain c, in the node that is v in the chain's tree.
  local function rank(c, v, place)
    local node = v
    if c >= nics then node = nodes % 2 == 0 and nodes - 1 - v or (v + 1) % nodes end
    return node * g + gpu(c, place)
  end
  -- Where v's message meets its parent's chain.
  local function meets(v)
    if v < parent(v) or g == 1 then return 0 end
    return 1
  end
  -- Each chain has a lane up, one down inside the node and one down to the node's child: the head
  -- serves the left child, the GPU behind it the right one, which a GPU that is alone has a lane for.
  local function child_lane(c, v)
    return (2 + (g == 1 and v > parent(v) and 1 or 0)) * chains + c
  end
  -- All chains of all nodes whose lowest set bit is k, left children first, so that the sends of one
  -- lane follow each other (they are one list of edges then); the root is above all.
  local function each(k, send)
    p:step(function()
      for c = 0, chains - 1 do
        if k == levels then send(c, 0) end
        for side = 0, k < levels and 1 or -1 do
          for v = 1 << k, nodes - 1, 2 << k do
            if (v < parent(v)) == (side == 0) then send(c, v) end
          end
        end
      end
    end)
  end

  for k = 0, levels do
    for place = g - 1, 1, -1 do
      each(k, function(c, v)
        p:send { from = rank(c, v, place), to = rank(c, v, place - 1), chunk = c, reduce = true,
                 lane = c }
      end)
    end
    if k < levels then
      each(k, function(c, v)
        p:send { from = rank(c, v, 0), to = rank(c, parent(v), meets(v)), chunk = c, reduce = true,
                 lane = c }
      end)
    end
  end
  for k = levels, 0, -1 do
    if k < levels then
      each(k, function(c, v)
        p:send { from = rank(c, parent(v), meets(v)), to = rank(c, v, 0), chunk = c,
                 lane = child_lane(c, v) }
      end)
    end
    for place = 0, g - 2 do
      each(k, function(c, v)
        p:send { from = rank(c, v, place), to = rank(c, v, place + 1), chunk = c,
                 lane = chains + c }
      end)
    end
  end
end
