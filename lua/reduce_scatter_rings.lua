-- Reduce-scatter on several rings at once, one a lane: the rings of allgather_rings.lua. Each part of
-- rank r's block starts behind r, travels round its ring, collects what every rank has, and ends
-- after n-1 steps at r.
collective = "reduce_scatter"

function plan(p)
  local g, nodes, node, r = p.gpus_per_node, p.nodes, p.node, p.rank
  local rings = min(max(g * p.rails, 2), 16)
  p:split(p.ranks * rings)
  local function pass_on(a, b) -- what is for the rank a nodes and b places before, b from 1 to g
    p:step(function()
      for c = 0, rings - 1 do
        local place = (r - c * g // rings) % g -- along the ring, in the node
        local owner = (node - a - lt(place, b)) % nodes * g + (r - b) % g
        local to = (node + eq(place, g - 1)) % nodes * g + (r + 1) % g
        p:send { to = to, chunk = owner * rings + c, reduce = true, lane = c }
      end
    end)
  end
  p:loop(nodes - 1, function(a)
    p:loop(g, function(b) pass_on(a, b + 1) end)
  end)
  p:loop(g - 1, function(b) pass_on(nodes - 1, b + 1) end)
end
