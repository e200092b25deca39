-- Allreduce in two levels, for nodes of g GPUs. On a ring inside each node the GPUs add up, after
-- which each holds the node's sum of one g-th of the message; GPUs at the same place of all nodes
-- run a ring allreduce over that part; a ring inside the node hands the parts round. A GPU sends
-- 2(g-1)/g of the message inside the node, and by its NIC only 2(N-1)/N of one g-th (N nodes).
-- As where it is used (Horovod, PyTorch), the three are collectives called one after the other on a
-- stream: a GPU begins the next when all it is sent by the last has arrived.
collective = "allreduce"

function plan(p)
  local inside, across = p:inside(), p:across()
  local g, place, nodes, node = inside.size, inside.place, across.size, across.place
  p:split(g * nodes) -- part i: chunks i * nodes and on
  p:loop(g - 1, function(k) -- reduce-scatter inside the node: this GPU gets part `place`
    p:send { to = inside:next(), chunk = (place - 1 - k) % g * nodes, count = nodes, reduce = true }
  end)
  if nodes > 1 then p:fence() end
  p:loop(nodes - 1, function(k) -- ring allreduce of that part between the nodes
    p:send { to = across:next(), chunk = place * nodes + (node - k) % nodes, reduce = true }
  end)
  p:loop(nodes - 1, function(k)
    p:send { to = across:next(), chunk = place * nodes + (node + 1 - k) % nodes }
  end)
  if nodes > 1 then p:fence() end
  p:loop(g - 1, function(k) -- allgather inside the node
    p:send { to = inside:next(), chunk = (place - k) % g * nodes, count = nodes }
  end)
end
