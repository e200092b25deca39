-- Ring allreduce on several rings at once, one a lane, as NCCL's channels. All rings pass the GPUs
-- of a node one after the other and then go to the next node, but each enters a node at another
-- GPU, so that every NIC carries its share. There are as many rings as GPUs in a node, times the
-- NICs that each GPU has for itself; at least two, at most 16.
--
-- The rings keep to their rails. Ring e passes nodes 0, 2, ... upwards, GPUs e, e+1, ... e-1, and
-- nodes 1, 3, ... downwards, e-1, e-2, ... e: it enters a node at the GPU of the same number as the
-- one by which it left the node before. Only where the number of nodes is odd, the way from the
-- last node to the first, both passed upwards, changes from GPU e-1 to GPU e.
collective = "allreduce"

function plan(p)
  local n, g, nodes, r = p.ranks, p.gpus_per_node, p.nodes, p.rank
  local rings = min(max(g * p.rails, 2), 16)
  local node = r // g
  local odd_one = nodes - nodes % 2 -- the last node, if their number is odd
  p:split(n * rings)
  local function each_ring(send)
    p:loop(n - 1, function(k)
      p:step(function()
        for c = 0, rings - 1 do
          local e = c * g // rings
          -- of a rank: its place along the ring in its node, whether the ring leaves the node there
          local up, down = (r - e) % g, (e - 1 - r) % g
          local leaves_up, leaves_down = eq(up, g - 1), eq(down, g - 1)
          local function hop(where, place, leaves, gpu)
            send(c, k, where, node * g + place, (node + leaves) % nodes * g + gpu % g)
          end
          if nodes > 1 then
            hop(both(eq(node % 2, 0), lt(node, odd_one)), up, leaves_up, r + 1 - leaves_up)
            hop(eq(node % 2, 1), down, leaves_down, r - 1 + leaves_down)
          end
          if odd_one < nodes then hop(eq(node, odd_one), up, leaves_up, r + 1) end
        end
      end)
    end)
  end
  each_ring(function(c, k, where, along, to)
    p:send { to = to, chunk = c * n + (along - k) % n, where = where, reduce = true, lane = c }
  end)
  each_ring(function(c, k, where, along, to)
    p:send { to = to, chunk = c * n + (along + 1 - k) % n, where = where, lane = c }
  end)
end
