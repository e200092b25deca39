-- Allreduce over nodes of g GPUs, with the fabric's switches: each GPU adds up its g-th part of the
-- message inside the node, a switch for each rail adds these sums over the nodes, and the result is
-- handed round inside the node. Only 1/g of the message leaves a GPU by its NIC. What goes to each
-- peer has a lane of its own, so that the first bytes of all arrive first and flow on.
collective = "allreduce"

function plan(p)
  local g, r = p.gpus_per_node, p.rank
  local mine, first = r % g, r // g * g
  p:split(g)
  if g > 1 then
    p:step(function()
      for i = 1, g - 1 do
        local peer = (r + i) % g
        p:send { to = first + peer, chunk = peer, reduce = true, lane = (i - 1) % 8 }
      end
    end)
  end
  if p.nodes > 1 then
    p:switch_reduce { chunk = mine, group = mine }
    p:switch_multicast { chunk = mine, group = mine }
  end
  if g > 1 then
    p:step(function()
      for i = 1, g - 1 do
        p:send { to = first + (r + i) % g, chunk = mine, lane = (i - 1) % 8 }
      end
    end)
  end
end
