-- Allreduce over nodes of g GPUs with the fabric's switches, as NCCL's CollNet direct: a head for each
-- NIC adds up its part of the message, which all others of the node send it; a switch for each rail
-- adds these sums over the nodes; and every head hands the result to all others of its node. Only
-- one part leaves by a NIC. What goes to each peer has a lane of its own, and so has what goes to
-- the switch: the first bytes of all arrive first and flow on.
collective = "allreduce"

function plan(p)
  local g, r = p.gpus_per_node, p.rank
  local heads = min(p.nics, g)
  if heads < 1 or g % heads ~= 0 then heads = g end
  local share = g // heads -- GPUs for each head, which is the first of them
  local first, place = r // g * g, r % g
  local mine, head = place // share, eq(place % share, 0)
  p:split(heads)
  if g > 1 then
    p:step(function()
      for i = 0, heads - 1 do
        local part = (mine + i) % heads
        p:send { to = first + part * share, chunk = part, where = ne(part * share, place),
                 reduce = true, lane = 1 + i % 7 }
      end
    end)
  end
  if p.nodes > 1 then
    p:switch_reduce { chunk = mine, group = mine, where = head }
    p:switch_multicast { chunk = mine, group = mine, where = head }
  end
  if g > 1 then
    p:step(function()
      for i = 1, g - 1 do
        p:send { to = first + (place + i) % g, chunk = mine, where = head, lane = 8 + i % 8 }
      end
    end)
  end
end
