-- Allreduce over nodes with NVSwitches, as NCCL's NVLSTree: the NVSwitch of a node adds up, as in
-- nvls.lua, but then the owner of each g-th part passes the node's sum to its likes in the other
-- nodes along a double binary tree over the nodes, as in double_tree.lua, before it stores the result
-- to the switch, which hands it to the node. An owner sends at most 2 S/g by its NIC.
collective = "allreduce"

function plan(p)
  local g, trees = p.gpus_per_node, double_tree(p.nodes)
  p:split(2 * g) -- part i, which GPU i of each node owns: chunks 2i and 2i + 1, one for each tree
  local function each_part(lane, act)
    for i = 0, g > 1 and g - 1 or -1 do
      local function part(who)
        return { chunk = 2 * i, count = 2, group = p.node * g + i, lane = lane + i % 8, where = who }
      end
      act(part, eq(p.local_rank, i))
    end
  end
  local function each_edge(k, send) -- of one level of both trees, for each part
    p:step(function()
      for t, tree in ipairs(trees) do
        for _, edge in ipairs(tree:edges(k)) do
          for i = 0, g - 1 do
            send(t - 1, edge.side, edge.child * g + i, edge.parent * g + i, 2 * i + t - 1)
          end
        end
      end
    end)
  end
  each_part(0, function(part, owner) -- every GPU serves the owner's reads
    p:switch_reduce(part())
    p:switch_multicast(part(owner))
  end)
  for k = 0, trees[1].levels - 1 do
    each_edge(k, function(t, _, child, parent, chunk)
      p:send { from = child, to = parent, chunk = chunk, reduce = true, lane = 16 + 3 * t }
    end)
  end
  for k = trees[1].levels - 1, 0, -1 do
    each_edge(k, function(t, side, child, parent, chunk)
      p:send { from = parent, to = child, chunk = chunk, lane = 17 + 3 * t + side }
    end)
  end
  each_part(8, function(part, owner) -- the owner alone stores; every GPU is handed it
    p:switch_reduce(part(owner))
    p:switch_multicast(part())
  end)
end
