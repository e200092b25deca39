-- Allreduce by NCCL's double binary tree: half of the message climbs one tree and comes down again,
-- the other half another tree in which the leaves of the first are inner ranks. So no rank sends
-- more than twice the message, in about 2 log2(n) steps. In each tree the way up and the ways down
-- to the left and to the right child run in lanes of their own.
collective = "allreduce"

function plan(p)
  local trees = double_tree(p.ranks)
  local function level(k, send) -- all edges of one level, in both trees
    p:step(function()
      for t, tree in ipairs(trees) do
        for _, edge in ipairs(tree:edges(k)) do send(t - 1, edge) end
      end
    end)
  end
  p:split(2)
  for k = 0, trees[1].levels - 1 do
    level(k, function(t, edge)
      p:send { from = edge.child, to = edge.parent, chunk = t, reduce = true, lane = 3 * t }
    end)
  end
  for k = trees[1].levels - 1, 0, -1 do
    p:step(function()
      for t, tree in ipairs(trees) do
        for side = 0, 1 do -- all to the left, then all to the right: one list of edges each
          for _, edge in ipairs(tree:edges(k)) do
            if edge.side == side then
              p:send { from = edge.parent, to = edge.child, chunk = t - 1, lane = 3 * t - 2 + side }
            end
          end
        end
      end
    end)
  end
end
