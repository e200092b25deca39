-- Allreduce over nodes of g GPUs with the fabric's switches, as NCCL's CollNet chain: the GPUs of a
-- node form a chain that adds up towards its head; the head sends the node's sum up to the switch,
-- which adds over the nodes, and the result goes back along the chain. There are g chains, one for
-- each part of the message and each with another GPU as head, so that every NIC has its share. Each
-- chain has channels of its own: a lane for the way up, and one for the way down.
collective = "allreduce"

function plan(p)
  local node = p:inside()
  local g, place = node.size, node.place
  p:split(g) -- chunk c goes along the chain whose head has place c
  local function hop(to, far, lane) -- the GPU `far` hops from each head passes its chunk on
    p:step(function()
      for c = 0, g - 1 do
        p:send { to = to, chunk = c, reduce = lane == 0, lane = lane + c % 8,
                 where = eq((place - c) % g, far) }
      end
    end)
  end
  p:loop(g - 1, function(k) hop(node:prev(), g - 1 - k, 0) end) -- the far end first
  if p.nodes > 1 then
    p:switch_reduce { chunk = place, group = place }
    p:switch_multicast { chunk = place, group = place }
  end
  p:loop(g - 1, function(k) hop(node:next(), k, 8) end) -- from the head on
end
