-- Ring allreduce on several rings at once, one a lane, as NCCL's channels. All rings pass the GPUs
-- of a node one after the other and then go to the next node, but each enters and leaves a node at
-- another GPU, so that every NIC carries its share. There are as many rings as GPUs in a node, times
-- the NICs that each GPU has for itself; at least two, at most 16.
collective = "allreduce"

function plan(p)
  local n, g, nodes, r = p.ranks, p.gpus_per_node, p.nodes, p.rank
  local rings = min(max(g * p.rails, 2), 16)
  p:split(n * rings)
  local function each_ring(send)
    p:loop(n - 1, function(k)
      p:step(function()
        for c = 0, rings - 1 do
          local enter = c % g                         -- GPU at which ring c enters a node
          local place = (r % g - enter) % g           -- of this rank in its node, along the ring
          local along = r // g * g + place            -- of this rank in the whole ring
          local leaves = eq(place, g - 1)
          local to = (r // g + leaves) % nodes * g + (r % g + 1) % g
          send(c, k, to, along)
        end
      end)
    end)
  end
  each_ring(function(c, k, to, along)
    p:send { to = to, chunk = c * n + (along - k) % n, reduce = true, lane = c }
  end)
  each_ring(function(c, k, to, along)
    p:send { to = to, chunk = c * n + (along + 1 - k) % n, lane = c }
  end)
end
