-- Allreduce by NCCL's double binary tree: half of the message climbs one tree and comes down again,
-- the other half another tree in which the leaves of the first are inner ranks. So no rank sends
-- more than twice the message, in about 2 log2(n) steps. In each tree the way up and the ways down
-- to the left and to the right child run in lanes of their own.
-- In the first tree the parent of v is v with its lowest set bit moved up by one, or cleared where
-- that leads out of range; 0 is the root. The second is its mirror image, or shifted by one if n
-- is odd.
collective = "allreduce"

function plan(p)
  local n = p.ranks
  local levels = log2(max(2 * n - 1, 1)) -- log2 rounded up
  local function parent(v)
    local bit = v & -v
    local up = v ~ bit | bit << 1
    if up < n then return up end
    return v ~ bit
  end
  local function rank(tree, v)
    if tree == 0 then return v end
    if n % 2 == 0 then return n - 1 - v end
    return (v + 1) % n
  end
  local function level(k, send) -- all whose lowest set bit is k, in both trees
    p:step(function()
      for tree = 0, 1 do
        for v = 1 << k, n - 1, 2 << k do send(tree, v, parent(v)) end
      end
    end)
  end
  p:split(2)
  for k = 0, levels - 1 do
    level(k, function(tree, v, up)
      p:send { from = rank(tree, v), to = rank(tree, up), chunk = tree, reduce = true, lane = 3 * tree }
    end)
  end
  for k = levels - 1, 0, -1 do
    level(k, function(tree, v, up)
      local side = 1
      if v > up then side = 2 end
      p:send { from = rank(tree, up), to = rank(tree, v), chunk = tree, lane = 3 * tree + side }
    end)
  end
end
