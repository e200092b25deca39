-- Allreduce over nodes of g GPUs with the fabric's switches, as NCCL's CollNet direct: each GPU adds
-- up its g-th part of the message, which all others of the node send it; a switch for each rail adds
-- these sums over the nodes; and every GPU hands the result to all others of its node. Only S/g
-- leaves a GPU by its NIC. What goes to each peer has a lane of its own, so that the first bytes of
-- all arrive first and flow on.
collective = "allreduce"

function plan(p)
  local node = p:inside()
  local g, mine = node.size, node.place
  p:split(g)
  p:step(function()
    for d = 1, g - 1 do
      p:send { to = node:next(d), chunk = (mine + d) % g, reduce = true, lane = (d - 1) % 8 }
    end
  end)
  if p.nodes > 1 then
    p:switch_reduce { chunk = mine, group = mine }
    p:switch_multicast { chunk = mine, group = mine }
  end
  p:step(function()
    for d = 1, g - 1 do
      p:send { to = node:next(d), chunk = mine, lane = (d - 1) % 8 }
    end
  end)
end
