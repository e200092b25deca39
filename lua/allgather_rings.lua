-- Allgather on several rings at once, one a lane, as NCCL's channels: as many as GPUs in a node, times
-- the NICs that each GPU has for itself; at least two, at most 16. Each rank's block is cut into as
-- many parts. Ring e passes the GPUs of a node from e on and leaves it at e - 1, so that every NIC
-- carries its share; on a rail-aligned fabric that changes the rail.
--
-- In step g a + b a rank passes on the part that began so many places before it on the ring: b places
-- before it in its node, or, where there are not so many, in the node before; and a nodes before that.
collective = "allgather"

function plan(p)
  local g, nodes, node, r = p.gpus_per_node, p.nodes, p.node, p.rank
  local rings = min(max(g * p.rails, 2), 16)
  p:split(p.ranks * rings)
  local function pass_on(a, b)
    p:step(function()
      for c = 0, rings - 1 do
        local place = (r - c * g // rings) % g -- along the ring, in the node
        local owner = (node - a - lt(place, b)) % nodes * g + (r - b) % g
        local to = (node + eq(place, g - 1)) % nodes * g + (r + 1) % g
        p:send { to = to, chunk = owner * rings + c, lane = c }
      end
    end)
  end
  p:loop(nodes - 1, function(a)
    p:loop(g, function(b) pass_on(a, b) end)
  end)
  p:loop(g - 1, function(b) pass_on(nodes - 1, b) end)
end
