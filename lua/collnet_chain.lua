-- Allreduce over nodes of g GPUs with the fabric's switches, as NCCL's CollNet chain: the GPUs of a
-- node form a chain that adds up towards its head; the head sends the node's sum up to the switch,
-- which adds over the nodes, and the result goes back along the chain. There are g chains, one for
-- each part of the message and each with another GPU as head, so that every NIC has its share. In
-- each step a GPU has a message of one chain only.
collective = "allreduce"

function plan(p)
  local node = p:inside()
  local g, place = node.size, node.place
  p:split(g) -- chunk c goes along the chain whose head has place c
  p:loop(g - 1, function(k) -- the far end of each chain first
    p:send { to = node:prev(), chunk = (place + 1 + k) % g, reduce = true }
  end)
  if p.nodes > 1 then
    p:switch_reduce { chunk = place, group = place }
    p:switch_multicast { chunk = place, group = place }
  end
  p:loop(g - 1, function(k) -- from the head on
    p:send { to = node:next(), chunk = (place - k) % g }
  end)
end
